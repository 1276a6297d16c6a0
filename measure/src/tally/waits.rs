//! What exchanges waited for before they were sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Nanoseconds that exchanges of the window waited after they were due, until they were sent or
/// given up, by what they waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// Every connection was in use.
    pub busy_ns: u64,
    /// Connections were being opened.
    pub connecting_ns: u64,
    /// Connections were being closed.
    pub closing_ns: u64,
    /// Connections that had failed weren't retried yet.
    pub back_off_ns: u64,
    /// The server was away: connections failed, up to the last failed attempt.
    pub unreachable_ns: u64,
    /// A connection was free: the generator was late.
    pub late_ns: u64,
    /// The server had been sent it and did not process it. While such an exchange is with the
    /// server this is short of the time at which it was sent, so it may wrap in between.
    pub refused_ns: u64,
    /// How many exchanges waited for each.
    pub counts: WaitCounts,
}

/// How many of the window's exchanges waited for what. One that waited for several things counts
/// for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitCounts {
    /// A connection in use.
    pub busy: u64,
    /// One that was being opened.
    pub connecting: u64,
    /// One that was being closed.
    pub closing: u64,
    /// One that had failed and was not tried again yet.
    pub back_off: u64,
    /// A server that was away.
    pub unreachable: u64,
    /// Of these: never sent until the end.
    #[serde(default)]
    pub unreachable_never_sent: u64,
    /// The generator, for more than a millisecond.
    pub late: u64,
    /// Being sent again, after the server had refused them.
    pub refused: u64,
}

impl Waits {
    /// All of it.
    pub fn total_ns(&self) -> u64 {
        let ours = [self.connecting_ns, self.closing_ns, self.back_off_ns];
        let others = self.busy_ns + self.unreachable_ns + self.late_ns;
        let sum = others + ours.iter().sum::<u64>();
        sum.wrapping_add(self.refused_ns)
    }

    /// By cause. What the server refused isn't among it: that is known only when those exchanges
    /// are sent again.
    pub fn by_cause(&self) -> [(&'static str, u64); 6] {
        [
            ("busy", self.busy_ns),
            ("connecting", self.connecting_ns),
            ("closing", self.closing_ns),
            ("back_off", self.back_off_ns),
            ("unreachable", self.unreachable_ns),
            ("late", self.late_ns),
        ]
    }

    /// Adds what `other` has.
    pub fn merge(&mut self, other: &Waits) {
        merge_fields!(Waits, self, other,
            merge [counts],
            add [busy_ns, connecting_ns, closing_ns, back_off_ns, unreachable_ns, late_ns],
            apart [refused_ns]);
        self.refused_ns = self.refused_ns.wrapping_add(other.refused_ns);
    }
}

impl WaitCounts {
    fn merge(&mut self, other: &WaitCounts) {
        merge_fields!(WaitCounts, self, other,
            merge [],
            add [busy, connecting, closing, back_off, unreachable, unreachable_never_sent, late,
                refused],
            apart []);
    }
}
