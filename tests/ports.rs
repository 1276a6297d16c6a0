//! Ports for servers that are told theirs. Included by path from the tests of the crates that start
//! any.

use std::net::TcpListener;
use std::process;
use std::sync::atomic::{AtomicU16, Ordering};

/// Below those that the kernel gives to whoever asks for any (`net.ipv4.ip_local_port_range`), so
/// that nobody is given one between the look at it and the start of its server.
const FIRST: u16 = 12_000;
const COUNT: u16 = 16_000;

/// A port of the loopback at which nobody listens, and which no other test is given.
pub(crate) fn free_port() -> u16 {
    static GIVEN: AtomicU16 = AtomicU16::new(0);
    // Other programs with tests may run beside this one.
    let own = (process::id().wrapping_mul(97) % u32::from(COUNT)) as u16;
    loop {
        let next = GIVEN.fetch_add(1, Ordering::Relaxed);
        assert!(next < COUNT, "no port is free");
        let port = FIRST + (own + next) % COUNT;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
