//! What a proxy has counted.

use std::fmt;

use serde::Serialize;

/// What has happened since the proxy was started. Serialises under these names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Counters {
    /// Connections that were accepted, those refused among them.
    pub accepted: u64,
    /// Connections that were reset right after they were accepted, by the fault of that name.
    pub refused: u64,
    /// Connections that were cut, by the fault of that name or because all were reset.
    pub cut: u64,
    /// Connections that were reset because the upstream couldn't be reached.
    pub upstream_failed: u64,
    /// Bytes of clients that the kernel has taken for the upstream.
    pub bytes_up: u64,
    /// Bytes of the upstream that the kernel has taken for clients.
    pub bytes_down: u64,
    /// Connections that are open now.
    pub open: u64,
}

impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "accepted {} connections: {} refused, {} cut, {} without upstream, {} still open; \
             passed {} bytes up and {} down",
            self.accepted,
            self.refused,
            self.cut,
            self.upstream_failed,
            self.open,
            self.bytes_up,
            self.bytes_down
        )
    }
}
