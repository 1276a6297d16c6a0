//! Which requests of one connection may be under way at the same time.
//!
//! Pipelined requests may be worked on together as long as all of their methods are safe
//! (RFC 9112 §9.3.2). So one whose method isn't safe waits until those before it are answered, and
//! those behind it wait until it is. One that asks for another protocol waits, too, as nothing can
//! follow its answer. Whoever waits is held unread; this looks at no more of it than its method and
//! the names of its fields.

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

/// Whether a head is here as a whole, its method is safe, and it has no field `Upgrade`. An empty
/// line may stand before it (RFC 9112 §2.2).
fn begins_safely(input: &[u8]) -> bool {
    let head = input.strip_prefix(b"\r\n").unwrap_or(input);
    let method = head.split(|byte| *byte == b' ').next();
    if !method.is_some_and(|method| method.len() < head.len() && is_safe(method)) {
        return false;
    }
    let mut lines = head.split_inclusive(|byte| *byte == b'\n').skip(1);
    loop {
        match lines.next() {
            None => return false, // There may be such a field in what hasn't come.
            Some(b"\r\n") => return true,
            Some(line) if asks_for_upgrade(line) => return false,
            Some(_) => {}
        }
    }
}

fn asks_for_upgrade(line: &[u8]) -> bool {
    let name = line.split(|byte| *byte == b':').next();
    name.is_some_and(|name| name.eq_ignore_ascii_case(b"upgrade"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_head_that_is_there_as_a_whole_is_safe() {
        for safe in [
            "GET / HTTP/1.1\r\n\r\n",
            "HEAD / HTTP/1.1\r\nHost: a\r\n\r\nPOST /",
            "\r\nOPTIONS * HTTP/1.1\r\nX: upgrade\r\n\r\n",
            "TRACE / HTTP/1.1\r\n\r\nUpgrade: a\r\n",
        ] {
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
            "GET / HTTP/1.1\r\n",
            "GET / HTTP/1.1\r\nHost: a\r\n",
            "GET / HTTP/1.1\r\nuPgrade: a\r\n\r\n",
        ] {
            assert!(!begins_safely(other.as_bytes()), "{other:?}");
        }
    }
}
