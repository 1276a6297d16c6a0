//! Which requests of one connection may be under way at the same time.
//!
//! Pipelined requests may be worked on together as long as all of their methods are safe
//! (RFC 9112 §9.3.2). So one whose method isn't safe waits until those before it are answered, and
//! those behind it wait until it is. Whoever waits is held unread; this looks at no more of it than
//! its method.

use proto::http1::server::Server;

use super::{Http1, Talk};

/// While a request waits, so many bytes of it and of what is behind it are still received: only who
/// listens hears that its client leaves.
const HELD_MAX: usize = 16 * 1024;

impl Http1 {
    /// Whether a connection that holds something back goes on to listen.
    pub(super) fn hears_on(&self) -> bool {
        self.held.len() <= HELD_MAX && self.talk.must_wait(&self.machine, &self.held)
    }
}

impl Talk {
    /// Whether what comes next begins a request that has to wait for others.
    #[inline]
    pub(super) fn must_wait(&self, machine: &Server, input: &[u8]) -> bool {
        self.out.waits_anywhere()
            && machine.between_requests()
            && self.out.open().next().is_some()
            && (self.alone || !begins_safely(input))
    }
}

/// Whether a method is known to change nothing (RFC 9110 §9.2.1).
pub(super) fn is_safe(method: &[u8]) -> bool {
    matches!(method, b"GET" | b"HEAD" | b"OPTIONS" | b"TRACE")
}

/// Whether the method of a head is here as a whole, and safe. An empty line may stand before it
/// (RFC 9112 §2.2).
fn begins_safely(input: &[u8]) -> bool {
    let line = input.strip_prefix(b"\r\n").unwrap_or(input);
    let method = line.split(|byte| *byte == b' ').next();
    method.is_some_and(|method| method.len() < line.len() && is_safe(method))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_method_that_is_there_as_a_whole_is_safe() {
        for safe in ["GET / HTTP/1.1", "HEAD ", "\r\nOPTIONS * ", "TRACE /"] {
            assert!(begins_safely(safe.as_bytes()), "{safe:?}");
        }
        for other in [
            "",
            "\r",
            "\r\n",
            "G",
            "GET",
            "get /",
            "POST /",
            "\r\n\r\nGET /",
            " GET /",
        ] {
            assert!(!begins_safely(other.as_bytes()), "{other:?}");
        }
    }
}
