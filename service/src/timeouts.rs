//! How long clients and handlers may take.

use std::time::Duration;

/// How long things may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// From the first byte of a request head to its last: 408, over HTTP/2 GOAWAY with
    /// `ENHANCE_YOUR_CALM`.
    pub head: Duration,
    /// A request body, or a message of gRPC or WebSocket, from its beginning to its last byte, and
    /// a second more for each 1,000 bytes of it: 408, `DEADLINE_EXCEEDED`, close code 1001.
    pub body: Duration,
    /// Without a byte either way: between requests the connection is closed, in a request body it
    /// is answered with 408, and a client that takes no bytes of its answer is reset. Over HTTP/2
    /// each stream counts for itself.
    pub idle: Duration,
    /// From the wish to stop until connections that are still busy are cut, whatever their handlers
    /// do. As long do threads of `spawn_blocking` have to end before they're left behind.
    pub drain: Duration,
}

impl Default for Timeouts {
    fn default() -> Timeouts {
        Timeouts {
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_secs(75),
            drain: Duration::from_secs(10),
        }
    }
}
