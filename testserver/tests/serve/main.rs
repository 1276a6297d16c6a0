//! Whole servers on loopback sockets, with either engine, and clients that know only bytes.

#[path = "../../../tests/broken_requests.rs"]
mod broken_requests;
mod chat;
mod client;
mod events;
mod faults;
mod lifecycle;
mod protocol;
mod routes;
#[path = "../../../tests/skip.rs"]
mod skip;
mod start;
mod websocket;
