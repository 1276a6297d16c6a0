//! HTTP/1 from outside: tables of bytes and what they mean.

mod bounds;
mod client;
mod encoders;
mod harness;
mod oracle;
mod server;
