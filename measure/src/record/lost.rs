//! What of a load came to nothing: the one account of it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What of the load came to nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lost {
    /// Exchanges that failed, and those that were never answered.
    pub failed: u64,
    /// Exchanges that were due and had neither succeeded nor failed at the end.
    pub unfinished: u64,
    /// Of these: never sent, because no connection was free.
    pub never_sent: u64,
    /// Of these: they waited for a server that could not be reached.
    #[serde(default)]
    pub never_sent_away: u64,
    /// Attempts of a closed loop to connect that failed in the window or the drain.
    pub attempts: u64,
    /// Exchanges of an open loop that were answered after they had waited for a server that could
    /// not be reached.
    #[serde(default)]
    pub unreachable: u64,
    /// These together with what was completed.
    pub of: u64,
    /// The share of a closed loop's window in which nobody was asked because of an outage.
    pub outage_share: f64,
}

impl Lost {
    /// How many.
    pub fn count(&self) -> u64 {
        self.failed + self.unfinished + self.attempts + self.unreachable
    }

    /// Its parts in words, such as `3 failed`; nothing where all went well.
    pub fn told(&self) -> Vec<String> {
        let outage = (self.outage_share > 0.0).then(|| {
            let percent = self.outage_share * 100.0;
            format!("no answers for {percent:.1} % of the time")
        });
        let counts = [
            (self.failed, "failed"),
            (self.unfinished - self.never_sent, "never answered"),
            (
                self.never_sent_away,
                "never sent because the server was unreachable",
            ),
            (
                self.never_sent - self.never_sent_away,
                "never sent because no connection was free",
            ),
            (self.attempts, "failed attempts to connect"),
            (
                self.unreachable,
                "answered only after waiting for a server that couldn't be reached",
            ),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let told = counts.map(|(count, what)| format!("{count} {what}"));
        told.chain(outage).collect()
    }

    /// The share of the load that came to nothing: of exchanges that would have come evenly over
    /// the window. A closed loop asks next to nothing of a server that is gone, so that there the
    /// time of outages counts as time in which everything failed. None where there was no load.
    pub fn share(&self) -> Option<f64> {
        let failed = (self.of > 0).then(|| self.count() as f64 / self.of as f64)?;
        Some(1.0 - (1.0 - self.outage_share) * (1.0 - failed))
    }
}
