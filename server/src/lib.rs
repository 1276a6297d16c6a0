//! The server: services and connections on the same engine.
#![forbid(unsafe_code)]
