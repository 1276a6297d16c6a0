//! Protocol machines: bytes to events and back. No sockets, no clock, no randomness.
#![forbid(unsafe_code)]
