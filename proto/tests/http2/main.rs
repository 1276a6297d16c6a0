//! HTTP/2 from outside: tables of frames and what they mean, and the two roles against each other.

#[path = "../support/choppings.rs"]
mod choppings;
mod client;
mod encoders;
mod frames;
mod harness;
mod limits;
mod messages;
#[path = "../support/random.rs"]
mod random;
mod server;
mod together;
