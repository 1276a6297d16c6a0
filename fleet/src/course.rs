//! The run over time: what all agents counted in each second, together.

use std::collections::BTreeMap;

use measure::interval::{Packed, Phase};

const SECOND_NS: u64 = 1_000_000_000;

/// Intervals of all agents, by where they end. The seconds that an agent has joined stand where the
/// last of them does.
#[derive(Debug, Default)]
pub(crate) struct Course {
    measured: BTreeMap<u64, Packed>,
    drain: Option<Packed>,
}

impl Course {
    /// Adds an agent's interval.
    ///
    /// # Errors
    /// A sum would be above 2^64; what it was added to is then of no use.
    pub(crate) fn add(&mut self, interval: Packed) -> Result<(), String> {
        let sum = match interval.phase {
            Phase::Drain => &mut self.drain,
            Phase::Measure => {
                let second = interval.until_ns.div_ceil(SECOND_NS);
                match self.measured.get_mut(&second) {
                    Some(sum) => return join(sum, &interval),
                    None => {
                        self.measured.insert(second, interval);
                        return Ok(());
                    }
                }
            }
        };
        match sum {
            Some(sum) => join(sum, &interval),
            None => {
                *sum = Some(interval);
                Ok(())
            }
        }
    }

    /// All of them in their order, numbered anew.
    pub(crate) fn intervals(&self) -> Vec<Packed> {
        let all = self.measured.values().chain(&self.drain);
        let numbered = (0..).zip(all).map(|(seq, interval)| Packed {
            seq,
            joined: 1,
            ..interval.clone()
        });
        numbered.collect()
    }
}

/// Adds what another agent did in the same time.
fn join(sum: &mut Packed, other: &Packed) -> Result<(), String> {
    let add = |mine: u64, theirs: u64| {
        let sum = mine.checked_add(theirs);
        sum.ok_or_else(|| "the sum of what was counted is above 2^64".to_owned())
    };
    sum.from_ns = sum.from_ns.min(other.from_ns);
    sum.until_ns = sum.until_ns.max(other.until_ns);
    sum.connected = add(sum.connected, other.connected)?;
    sum.offered = match (sum.offered, other.offered) {
        (Some(mine), Some(theirs)) => Some(add(mine, theirs)?),
        (mine, theirs) => mine.or(theirs),
    };
    sum.counted.merge(&other.counted)
}
