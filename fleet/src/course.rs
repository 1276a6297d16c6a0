//! The run over time: what all agents counted in each second, together.

use std::collections::BTreeMap;

use measure::interval::Phase;

use crate::counted::Interval;

const SECOND_NS: u64 = 1_000_000_000;

/// Intervals of all agents, by where they end. The seconds that an agent has joined stand where the
/// last of them does.
#[derive(Debug, Default)]
pub(crate) struct Course {
    measured: BTreeMap<u64, Interval>,
    drain: Option<Interval>,
    /// The seconds up to this one, and what came for them later.
    shown: u64,
    late: Option<Interval>,
    /// How many intervals were shown, and where the last one ended.
    count: u64,
    ended_ns: u64,
}

/// The second that an interval ends in, counted from 1.
pub(crate) fn second(interval: &Interval) -> u64 {
    interval.until_ns.div_ceil(SECOND_NS)
}

impl Course {
    /// Adds an agent's interval.
    ///
    /// # Errors
    /// A sum would be above 2^64; what it was added to is then of no use.
    pub(crate) fn add(&mut self, interval: Interval) -> Result<(), String> {
        let sum = match interval.phase {
            Phase::Drain => &mut self.drain,
            Phase::Measure => {
                let second = second(&interval);
                if second <= self.shown {
                    add(&mut self.late, interval.clone())?;
                }
                match self.measured.get_mut(&second) {
                    Some(sum) => return join(sum, &interval),
                    None => {
                        self.measured.insert(second, interval);
                        return Ok(());
                    }
                }
            }
        };
        add(sum, interval)
    }

    /// Shows the seconds up to this one to whoever looks on, each once. What has come for those
    /// that were shown is in the next.
    pub(crate) fn show(&mut self, second: u64) -> Vec<Interval> {
        let mut shown = Vec::new();
        if second <= self.shown {
            return shown;
        }
        let seconds: Vec<(u64, Interval)> = self
            .measured
            .range(self.shown + 1..=second)
            .map(|(second, interval)| (*second, interval.clone()))
            .collect();
        for (second, mut interval) in seconds {
            if let Some(late) = self.late.take() {
                // A sum that is too large is none; the record says so.
                let _too_large = join(&mut interval, &late);
            }
            self.shown = second;
            shown.push(self.numbered(interval));
        }
        shown
    }

    /// Shows what is left, the drain among it.
    pub(crate) fn show_rest(&mut self) -> Vec<Interval> {
        if self.shown == u64::MAX {
            return Vec::new();
        }
        let mut shown = self.show(u64::MAX);
        let late = self.late.take().map(|late| Interval {
            until_ns: late.until_ns.max(self.ended_ns),
            ..late
        });
        let drain = self.drain.clone();
        let rest: Vec<Interval> = late.into_iter().chain(drain).collect();
        shown.extend(rest.into_iter().map(|interval| self.numbered(interval)));
        self.shown = u64::MAX;
        shown
    }

    /// One after the other, without gaps or overlaps in the window.
    fn numbered(&mut self, interval: Interval) -> Interval {
        let seq = self.count;
        self.count += 1;
        let from_ns = match interval.phase {
            Phase::Measure => std::mem::replace(&mut self.ended_ns, interval.until_ns),
            Phase::Drain => interval.from_ns,
        };
        Interval {
            seq,
            joined: 1,
            from_ns,
            ..interval
        }
    }

    /// All of them in their order, numbered anew.
    pub(crate) fn intervals(&self) -> Vec<Interval> {
        let all = self.measured.values().chain(&self.drain);
        let numbered = (0..).zip(all).map(|(seq, interval)| Interval {
            seq,
            joined: 1,
            ..interval.clone()
        });
        numbered.collect()
    }
}

fn add(sum: &mut Option<Interval>, interval: Interval) -> Result<(), String> {
    match sum {
        Some(sum) => join(sum, &interval),
        None => {
            *sum = Some(interval);
            Ok(())
        }
    }
}

/// Adds what another agent did in the same time.
fn join(sum: &mut Interval, other: &Interval) -> Result<(), String> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counted::Counted;

    /// What an agent completed until the end of a second.
    fn interval(second: u64, completed: u64) -> Interval {
        let mut counted = measure::tally::Packed::default();
        counted.completed = completed;
        Interval {
            seq: 0,
            joined: 1,
            phase: Phase::Measure,
            from_ns: (second - 1) * SECOND_NS,
            until_ns: second * SECOND_NS,
            offered: None,
            connected: 1,
            counted: Counted::Run(Box::new(counted)),
        }
    }

    #[test]
    fn whoever_looks_on_sees_everything_once() {
        let mut course = Course::default();
        course.add(interval(1, 1)).unwrap();
        course.add(interval(2, 10)).unwrap();
        let seen = course.show(1);
        assert_eq!(seen.len(), 1);
        assert_eq!((seen[0].seq, seen[0].counted.ended().0), (0, 1));
        assert!(course.show(1).is_empty());
        // An agent whose interval comes later than anybody waited.
        course.add(interval(1, 100)).unwrap();
        course.add(interval(3, 1000)).unwrap();
        let seen = course.show(3);
        let seen: Vec<_> = seen
            .iter()
            .map(|one| (one.seq, one.from_ns / SECOND_NS, one.counted.ended().0))
            .collect();
        assert_eq!(seen, [(1, 1, 110), (2, 2, 1000)]);
        course.add(interval(3, 5)).unwrap();
        let mut drain = interval(3, 7);
        drain.phase = Phase::Drain;
        course.add(drain).unwrap();
        let rest = course.show_rest();
        let rest: Vec<_> = rest
            .iter()
            .map(|one| (one.seq, one.phase, one.counted.ended().0))
            .collect();
        assert_eq!(rest, [(3, Phase::Measure, 5), (4, Phase::Drain, 7)]);
        assert!(course.show_rest().is_empty());
    }
}
