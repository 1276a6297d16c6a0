//! How late this machine wakes up a thread that sleeps until a time, as the generator of an open
//! loop does before each send.

use std::thread;
use std::time::Duration;

use measure::cpu;
use measure::histogram::Histogram;
use measure::time::{Time, sleep_until};

/// For how long it is looked.
const LOOKED: Duration = Duration::from_secs(1);
/// How far apart the times are to which is slept.
const APART_NS: u64 = 1_000_000;

/// How late a thread woke up, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lateness {
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
    pub(super) max_us: f64,
}

/// Sleeps a thousand times on the CPU that a generator would take first; none where that fails.
pub(super) fn lateness() -> Option<Lateness> {
    let sleeper = thread::spawn(|| {
        if let Some(processor) = cpu::allowed().last() {
            cpu::pin(*processor).ok()?;
        }
        cpu::sharpen_sleep();
        Some(measure(Time::now() + LOOKED))
    });
    sleeper
        .join()
        .ok()
        .flatten()
        .filter(|seen| !seen.is_empty())
        .map(|seen| {
            let us = |ns: u64| ns as f64 / 1000.0;
            Lateness {
                p50_us: us(seen.quantile(0.5)),
                p99_us: us(seen.quantile(0.99)),
                max_us: us(seen.max()),
            }
        })
}

fn measure(end: Time) -> Histogram {
    let mut seen = Histogram::new();
    let mut now = Time::now();
    while now < end {
        let wanted = now.plus(APART_NS);
        sleep_until(wanted);
        now = Time::now();
        seen.record(now.since(wanted));
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_wakes_up_too_early() {
        let seen = lateness().expect("this machine sleeps");
        assert!(
            seen.p50_us <= seen.p99_us && seen.p99_us <= seen.max_us,
            "{seen:?}"
        );
        assert!(seen.max_us > 0.0, "{seen:?}");
    }
}
