//! Whether a plan can have users.

use super::Plan;
use crate::invalid::Invalid;
use crate::protocol::Protocol;
use crate::workload::Workload;

impl Plan {
    /// Whether it can have each connection go through the steps of this workload as a user.
    pub(super) fn validate_users(&self, workload: &Workload) -> Result<(), Invalid> {
        let is_forwarded = self.proxy.is_some() && !self.target.is_secure();
        let table = [
            (
                !matches!(self.protocol, Protocol::Http1 | Protocol::Http2 { .. }),
                "a flow is sent over HTTP/1.1 or HTTP/2",
            ),
            (
                self.protocol.http2().is_some() && self.depth() > 1,
                "a user waits for each answer, so -S must be 1: add users (-c)",
            ),
            (
                self.pipeline > 1,
                "a user waits for each answer, so --pipeline must be 1: add users (-c)",
            ),
            (
                !self.keep_alive,
                "a user keeps its connection: drop --no-keepalive, or send `Connection: close`",
            ),
            (
                self.cookies,
                "each user keeps its cookies anyway: drop --cookies",
            ),
            (
                self.follow > 0,
                "a flow follows redirects by itself: write `location: true` in its [Options]",
            ),
            (
                !self.expect.is_empty(),
                "what answers must be stands in the file: write [Asserts], and drop --expect",
            ),
            (
                self.compressed,
                "--compressed is about --expect: write an Accept-Encoding header instead",
            ),
            (
                is_forwarded,
                "http:// requests of a flow can't go through a proxy yet: drop --proxy",
            ),
            (
                workload.origins().0.len() > 1,
                "a run loads one server: give each server a flow of its own",
            ),
        ];
        match table.iter().find(|(is_wrong, _)| *is_wrong) {
            None => Ok(()),
            Some((_, why)) => {
                let file = workload.shown_file().unwrap_or_default();
                Err(Invalid(format!("{file}: {why}")))
            }
        }
    }
}
