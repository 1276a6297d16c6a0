//! Whole servers on loopback sockets, with either engine, and clients that know only bytes.

mod client;
mod faults;
mod lifecycle;
mod protocol;
mod routes;
mod start;
mod websocket;
