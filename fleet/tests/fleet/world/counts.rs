//! What loads of the simulator count: seconds of runs and of holds, no two alike.

use std::ops::Range;
use std::sync::LazyLock;

use fleet::counted::{Counted, Ends, Interval, of_hold, of_run};
use measure::counters::ErrorKind;
use measure::hold;
use measure::interval::{self, Counter as _, Phase};
use measure::random::Random;
use measure::tally::{Loop, Tally};
use measure::time::Time;

use super::SECOND;

/// Where those of runs are among [`SECONDS`].
pub(crate) const RUN: Range<usize> = 0..32;
/// The same of holds.
pub(crate) const HELD: Range<usize> = 32..64;
/// The same of what holds count after their end.
pub(crate) const ENDS: Range<usize> = 64..72;

/// All of them.
pub(crate) static SECONDS: LazyLock<Vec<Interval>> = LazyLock::new(|| {
    let seed = |at: usize| at as u64;
    let runs = RUN.map(|at| run(seed(at)));
    let holds = HELD.map(|at| held(seed(at), Phase::Measure));
    let ends = ENDS.map(|at| ends(seed(at)));
    runs.chain(holds).chain(ends).collect()
});

fn interval<C>(seq: u64, phase: Phase, counted: C) -> interval::Interval<C> {
    interval::Interval {
        seq,
        joined: 1,
        phase,
        from_ns: match phase {
            Phase::Measure => 0,
            Phase::Drain => SECOND,
        },
        until_ns: SECOND,
        offered: None,
        connected: 1,
        counted,
    }
}

fn run(seed: u64) -> Interval {
    let mut random = Random::seeded(seed);
    let start = Time(SECOND);
    let mut tally = Tally::new(Loop::Open);
    tally.start(start);
    for _ in 0..1 + random.below(20) {
        let done = start.plus(random.length(26));
        match random.below(8) {
            0 => tally.failed(ErrorKind::Timeout),
            _ => tally.completed(start, start, done, 200),
        }
        tally.bytes_received += random.below(1000);
    }
    of_run(&interval(seed, Phase::Measure, tally.counted().clone()))
}

fn held(seed: u64, phase: Phase) -> Interval {
    let mut random = Random::seeded(seed);
    let mut tally = hold::Tally::new();
    for _ in 0..1 + random.below(20) {
        tally.counts.attempts += 1;
        if random.below(8) == 0 {
            tally.attempts.add(ErrorKind::Refused);
            continue;
        }
        tally.stands(random.length(24), None);
        tally.sent(random.length(16));
        match random.below(8) {
            0 => tally.failed(ErrorKind::Timeout),
            1 => tally.unfinished += 1,
            _ => tally.answered(random.length(26)),
        }
        tally.bytes_received += random.below(1000);
    }
    of_hold(&interval(seed, phase, tally.counted().clone()))
}

fn ends(seed: u64) -> Interval {
    let mut last = held(seed, Phase::Drain);
    let mut random = Random::new(seed, 1);
    if let Counted::Hold(held) = &mut last.counted {
        held.ends = Some(Ends {
            survived: random.below(50),
            standing: random.below(50),
            watched_ns: u128::from(random.length(60)),
            due: random.below(1000),
            opening_ns: random.length(32),
            held_ns: random.length(36),
        });
    }
    last
}
