//! The limit of open files (getrlimit(2), `RLIMIT_NOFILE`).
//!
//! It holds for the numbers of a process, and for the file table of each io_uring by itself. The
//! soft limit is low on many systems only for the sake of programs that use select(2), so whoever
//! needs more raises it as far as the hard limit lets him.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to `wanted`, or as near to it as this process may; never lowers it.
/// Returns what it is then; `u64::MAX` where there is none.
pub fn raise_limit(wanted: u64) -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let current = limit.current.unwrap_or(u64::MAX);
    let raised = wanted.min(limit.maximum.unwrap_or(u64::MAX));
    let wish = Rlimit {
        current: Some(raised),
        maximum: limit.maximum,
    };
    if raised > current && setrlimit(Resource::Nofile, wish).is_ok() {
        raised
    } else {
        current
    }
}

/// So much shorter is a ring than its table of files may be: who accepts keeps some for itself.
const TABLE_SPARE: u64 = 128;

/// A ring has no more places than this, where the limit allows more: what it sets aside for them
/// costs memory before they are used.
const RING_MOST: u64 = 1 << 16;

/// How many sockets an io_uring has places for under such a limit.
pub fn places_of_a_ring(limit: u64) -> usize {
    limit.saturating_sub(TABLE_SPARE).clamp(1, RING_MOST) as usize
}
