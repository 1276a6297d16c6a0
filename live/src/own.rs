//! What this process takes while it drives load: a generator that is at its own limit measures
//! itself.

use measure::process;
use measure::time::Time;

/// Between two looks there is at least so much; nearer ones say nothing.
const APART_NS: u64 = 100_000_000;

/// What it took up to some moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Own {
    /// Processors that it kept busy since the moment before; none at the first.
    pub(crate) cpus: Option<f64>,
    /// Its memory at that moment.
    pub(crate) resident_bytes: Option<u64>,
    cpu_ns: Option<u64>,
    at: Option<Time>,
}

impl Own {
    /// What it takes at `now`, after this was the last look. Where intervals come all at once, the
    /// first counts.
    pub(crate) fn follow(&self, now: Time) -> Own {
        if self.at.is_some_and(|at| now.since(at) < APART_NS) {
            return *self;
        }
        let cpu_ns = process::own_cpu_ns();
        let used = cpu_ns.zip(self.cpu_ns).zip(self.at);
        let cpus = used.map(|((later, before), at)| {
            later.saturating_sub(before) as f64 / (now.since(at).max(1)) as f64
        });
        Own {
            cpus,
            resident_bytes: process::own_resident_bytes(),
            cpu_ns,
            at: Some(now),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_between_two_looks() {
        let first = Own::default().follow(Time(5));
        assert_eq!(first.cpus, None);
        assert!(first.resident_bytes.is_some_and(|bytes| bytes > 0));
        let mut sum = 0u64;
        while process::own_cpu_ns() == first.cpu_ns {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert_eq!(first.follow(Time(5).plus(1)), first);
        let second = first.follow(Time(5).plus(APART_NS));
        assert!(second.cpus.is_some_and(|cpus| cpus > 0.0), "{second:?}");
    }
}
