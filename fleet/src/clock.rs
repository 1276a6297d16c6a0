//! How far an agent's monotonic clock is ahead of the coordinator's, from round trips.
//!
//! An agent says what its clock showed when it was asked. If the way there and the way back took
//! equally long, that was halfway through the round trip; if not, it was off by no more than half
//! of it. So the shortest of several round trips is the best, and the error is known.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use measure::time::Time;

/// How many round trips are taken each time.
pub const ROUNDS: u32 = 32;

/// How far an agent's clock is ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offset {
    /// The agent's clock less the coordinator's.
    pub ahead_ns: i64,
    /// At most this much more or less.
    pub error_ns: u64,
    /// When that was, by the coordinator's clock.
    pub at_ns: u64,
}

impl Offset {
    /// What the agent's clock shows when the coordinator's shows `time`; none where no clock does.
    pub fn theirs(&self, time: Time) -> Option<Time> {
        time.0.checked_add_signed(self.ahead_ns).map(Time)
    }

    /// How much faster the agent's clock goes, in millionths; none where both were taken at the
    /// same moment.
    pub fn drift_ppm(&self, later: &Offset) -> Option<f64> {
        let between = later.at_ns.checked_sub(self.at_ns).filter(|ns| *ns > 0)?;
        let gained = i128::from(later.ahead_ns) - i128::from(self.ahead_ns);
        Some(gained as f64 / between as f64 * 1e6)
    }
}

/// Round trips, of which the shortest counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    taken: u32,
    best: Option<Offset>,
}

impl Rounds {
    /// One that was sent and came back at these times; `heard_ns` is what the agent's clock showed.
    pub fn add(&mut self, sent: Time, back: Time, heard_ns: u64) {
        let trip_ns = back.since(sent);
        let middle = i128::from(sent.0) + i128::from(trip_ns / 2);
        let Ok(ahead_ns) = i64::try_from(i128::from(heard_ns) - middle) else {
            return;
        };
        self.taken += 1;
        let error_ns = trip_ns.div_ceil(2);
        if self.best.is_none_or(|best| error_ns < best.error_ns) {
            self.best = Some(Offset {
                ahead_ns,
                error_ns,
                at_ns: back.0,
            });
        }
    }

    /// How many there were.
    pub fn taken(&self) -> u32 {
        self.taken
    }

    /// What the shortest of them says.
    pub fn offset(&self) -> Option<Offset> {
        self.best
    }
}
