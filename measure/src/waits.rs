//! Whose is the wait of an exchange between when it was due and when it was sent?
//!
//! While no connection is free, everybody who waits waits for all of them: a moment of waiting is
//! owed to what the worker's connections were doing in it, in equal parts. Two of ten being opened
//! and eight in use make it two tenths *connecting* and eight tenths *busy*. While a connection is
//! free, whatever waits waits for the worker itself: that is *late*. The shares are added up over
//! time, so that the wait of one exchange is a difference of two sums, however long it was; and
//! what the parts of a wait leave over by rounding is *busy*, so that they sum to it exactly.
//!
//! While a server is away, connections are tried again and again, and wait in between. Until the
//! last attempt that failed this is the server's doing, because it was demonstrably away; only what
//! comes behind it, the rest of the last wait and the attempt that succeeds, is the worker's.

use std::collections::VecDeque;

use crate::tally::Waits;
use crate::time::Time;

/// The most stretches that are remembered. Beyond it neighbours are joined, so that a wait which
/// begins within one is told apart a little less well.
const STRETCHES_MAX: usize = 4096;

/// An exchange that waited longer than this for the worker counts as late.
const LATE_NS: u64 = 1_000_000;

/// What the connections of a worker do, but for those in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    /// One of them at least is free.
    pub free: bool,
    /// So many are being opened.
    pub connecting: u32,
    /// So many are being closed.
    pub closing: u32,
    /// So many have failed and aren't tried again yet.
    pub back_off: u32,
}

/// Nanoseconds of waiting since the beginning: late, connecting, closing, back-off.
type Sums = [f64; 4];

/// What the connections of a worker did over time, as far as an exchange still waits.
#[derive(Debug)]
pub struct Watch {
    connections: f64,
    doing: Doing,
    /// Since when they do that, and the sums until then.
    since: Time,
    sums: Sums,
    /// When an attempt to connect failed last, and the sums until then.
    in_vain: (Time, Sums),
    /// When earlier stretches began, and the sums until then; oldest first.
    earlier: VecDeque<(Time, Sums)>,
}

impl Watch {
    /// That of so many connections, from `now` on.
    pub fn new(connections: usize, now: Time) -> Watch {
        Watch {
            connections: connections.max(1) as f64,
            doing: Doing::default(),
            since: now,
            sums: Sums::default(),
            in_vain: (Time(0), Sums::default()),
            earlier: VecDeque::with_capacity(STRETCHES_MAX),
        }
    }

    /// From `now` on the connections do this. The exchange that has waited for longest has been due
    /// since `oldest`.
    #[inline]
    pub fn note(&mut self, now: Time, doing: Doing, oldest: Option<Time>) {
        if doing != self.doing {
            self.turn(now, doing, oldest);
        }
    }

    /// An attempt to connect has failed: until now the server was away.
    pub fn in_vain(&mut self, now: Time) {
        self.in_vain = (now, self.at(now));
    }

    #[cold]
    fn turn(&mut self, now: Time, doing: Doing, oldest: Option<Time>) {
        if oldest.is_none_or(|due| due >= now) {
            self.earlier.clear();
        } else if now > self.since {
            if self.earlier.len() == STRETCHES_MAX {
                let mut keep = false;
                self.earlier.retain(|_| {
                    keep = !keep;
                    keep
                });
            }
            self.earlier.push_back((self.since, self.sums));
        }
        self.sums = self.at(now);
        self.since = now;
        self.doing = doing;
    }

    /// Divides the wait of an exchange that was due at `intended` and is sent, or given up, at
    /// `now`. Exchanges come in the order in which they were due.
    #[inline]
    pub fn divide(&mut self, intended: Time, now: Time, into: &mut Waits) {
        let wait_ns = now.since(intended);
        if intended >= self.since && self.doing.free {
            into.late_ns += wait_ns;
            into.counts.late += u64::from(wait_ns > LATE_NS);
            return;
        }
        let (before, after) = (self.before(intended), self.at(now));
        // What came before the last failure is the server's, what is behind it ours.
        let (failed_at, failed) = self.in_vain;
        let known = if failed_at > intended { failed } else { before };
        let mut left_ns = wait_ns;
        let mut part = |amount: f64, into_ns: &mut u64, count: &mut u64| {
            let part_ns = (amount.round().max(0.0) as u64).min(left_ns);
            left_ns -= part_ns;
            *into_ns += part_ns;
            *count += u64::from(part_ns > 0);
            part_ns
        };
        let counts = &mut into.counts;
        let away = known[1] - before[1] + known[3] - before[3];
        let mut late = 0;
        let late_ns = part(after[0] - before[0], &mut into.late_ns, &mut late);
        counts.late += u64::from(late_ns > LATE_NS);
        part(away, &mut into.unreachable_ns, &mut counts.unreachable);
        let (connecting, back_off) = (after[1] - known[1], after[3] - known[3]);
        part(connecting, &mut into.connecting_ns, &mut counts.connecting);
        part(
            after[2] - before[2],
            &mut into.closing_ns,
            &mut counts.closing,
        );
        part(back_off, &mut into.back_off_ns, &mut counts.back_off);
        into.busy_ns += left_ns;
        counts.busy += u64::from(left_ns > 0);
    }

    /// The sums at a time since the last change.
    fn at(&self, now: Time) -> Sums {
        let passed_ns = now.since(self.since) as f64;
        let shares = if self.doing.free {
            [1.0, 0.0, 0.0, 0.0]
        } else {
            let share = |count: u32| f64::from(count) / self.connections;
            let Doing {
                connecting,
                closing,
                back_off,
                ..
            } = self.doing;
            [0.0, share(connecting), share(closing), share(back_off)]
        };
        let mut sums = self.sums;
        for (sum, share) in sums.iter_mut().zip(shares) {
            *sum += share * passed_ns;
        }
        sums
    }

    /// The sums at a time at which the exchange that has waited for longest fell due.
    fn before(&mut self, intended: Time) -> Sums {
        if intended >= self.since {
            return self.at(intended);
        }
        while self
            .earlier
            .get(1)
            .is_some_and(|(from, _)| *from <= intended)
        {
            self.earlier.pop_front();
        }
        let next = self.earlier.get(1).copied();
        let (until, end) = next.unwrap_or((self.since, self.sums));
        let Some((from, mut sums)) = self.earlier.front().copied() else {
            return self.sums;
        };
        let length_ns = until.since(from).max(1) as f64;
        let into = (intended.since(from) as f64 / length_ns).min(1.0);
        for (sum, end) in sums.iter_mut().zip(end) {
            *sum += (end - *sum) * into;
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IN_USE: Doing = Doing {
        free: false,
        connecting: 0,
        closing: 0,
        back_off: 0,
    };

    fn divided(watch: &mut Watch, intended: u64, now: u64) -> Waits {
        let mut waits = Waits::default();
        watch.divide(Time(intended), Time(now), &mut waits);
        assert_eq!(waits.total_ns(), now - intended);
        let counts = std::mem::take(&mut waits.counts);
        let counted = [
            (waits.busy_ns, counts.busy),
            (waits.connecting_ns, counts.connecting),
            (waits.closing_ns, counts.closing),
            (waits.back_off_ns, counts.back_off),
            (waits.unreachable_ns, counts.unreachable),
        ];
        for (part_ns, count) in counted {
            assert_eq!(count, u64::from(part_ns > 0));
        }
        waits
    }

    #[test]
    fn a_moment_of_waiting_is_owed_to_what_the_connections_did_in_it() {
        let mut watch = Watch::new(10, Time(0));
        let oldest = Some(Time(100));
        watch.note(Time(100), IN_USE, oldest);
        let mixed = Doing {
            connecting: 2,
            closing: 3,
            back_off: 1,
            ..IN_USE
        };
        watch.note(Time(1_100), mixed, oldest);
        let free = Doing {
            free: true,
            ..mixed
        };
        watch.note(Time(2_100), free, oldest);
        let whole = Waits {
            busy_ns: 1_000 + 400,
            connecting_ns: 200,
            closing_ns: 300,
            back_off_ns: 100,
            late_ns: 50,
            ..Waits::default()
        };
        assert_eq!(divided(&mut watch, 100, 2_150), whole);
        // The next in the order of due times: half of the mixed stretch.
        let half = Waits {
            busy_ns: 200,
            connecting_ns: 100,
            closing_ns: 150,
            back_off_ns: 50,
            late_ns: 70,
            ..Waits::default()
        };
        assert_eq!(divided(&mut watch, 1_600, 2_170), half);
        let late = Waits {
            late_ns: 30,
            ..Waits::default()
        };
        assert_eq!(divided(&mut watch, 2_150, 2_180), late);
    }

    #[test]
    fn what_waits_before_the_last_failed_attempt_waits_for_the_server() {
        let mut watch = Watch::new(2, Time(0));
        let oldest = Some(Time(100));
        let down = Doing {
            back_off: 2,
            ..IN_USE
        };
        let trying = Doing {
            back_off: 1,
            connecting: 1,
            ..IN_USE
        };
        watch.note(Time(100), down, oldest);
        watch.note(Time(500), trying, oldest);
        watch.in_vain(Time(600));
        watch.note(Time(600), down, oldest);
        watch.note(Time(1_000), trying, oldest);
        watch.note(Time(1_200), IN_USE, oldest);
        let first = Waits {
            unreachable_ns: 500,
            back_off_ns: 400 + 100,
            connecting_ns: 100,
            busy_ns: 50,
            ..Waits::default()
        };
        assert_eq!(divided(&mut watch, 100, 1_250), first);
        // Due after the last failure: all of it is the worker's.
        let second = Waits {
            back_off_ns: 300 + 100,
            connecting_ns: 100,
            busy_ns: 60,
            ..Waits::default()
        };
        assert_eq!(divided(&mut watch, 700, 1_260), second);
    }

    /// The same by brute force: every stretch there was, and each wait held against all of them.
    struct Slow {
        connections: f64,
        stretches: Vec<(u64, Doing)>,
        failed_at: u64,
    }

    impl Slow {
        /// Late, connecting, closing, back-off, unreachable; what is left over is busy.
        fn divided(&self, intended: u64, now: u64) -> [f64; 5] {
            let mut parts = [0.0; 5];
            let ends = self.stretches.iter().skip(1).map(|(from, _)| *from);
            let stretches = self.stretches.iter().zip(ends.chain([now]));
            for ((from, doing), until) in stretches {
                let (from, until) = ((*from).max(intended), until.min(now));
                // Until the last failure it is the server's.
                let failed_at = self.failed_at.clamp(from, until.max(from));
                let length = |from: u64, until: u64| until.saturating_sub(from) as f64;
                let (before, behind) = (length(from, failed_at), length(failed_at, until));
                if doing.free {
                    parts[0] += before + behind;
                    continue;
                }
                let share = |count: u32| f64::from(count) / self.connections;
                parts[1] += share(doing.connecting) * behind;
                parts[2] += share(doing.closing) * (before + behind);
                parts[3] += share(doing.back_off) * behind;
                parts[4] += share(doing.connecting + doing.back_off) * before;
            }
            parts
        }
    }

    /// Divides a wait in both ways. Where stretches were joined, as much as the one in which it
    /// began is long may be another's.
    fn compare(watch: &mut Watch, slow: &Slow, (due, now): (u64, u64), is_joined: bool) {
        let waits = divided(watch, due, now);
        let stretch_ns = match (watch.earlier.front(), watch.earlier.get(1)) {
            (Some((from, _)), Some((until, _))) if is_joined => until.since(*from),
            _ => 0,
        };
        let told = [
            waits.late_ns,
            waits.connecting_ns,
            waits.closing_ns,
            waits.back_off_ns,
            waits.unreachable_ns,
        ];
        // Rounded, and the last parts take what rounding has left of the wait.
        let most_off = stretch_ns as f64 + 3.0;
        for (told, slow) in told.into_iter().zip(slow.divided(due, now)) {
            let off = (told as f64 - slow).abs();
            assert!(off <= most_off, "{told} for {slow}, {most_off} at most");
        }
    }

    #[test]
    fn however_often_things_change_the_parts_are_what_brute_force_says() {
        let (mut compared, mut joined_compared) = (0, 0);
        for seed in 0..12u64 {
            let mut random = crate::random::Random::new(seed, 0);
            let mut below = |most: u64| (random.unit() * most as f64) as u64;
            let (mut now, mut due) = (1_000u64, 1_000u64);
            let mut watch = Watch::new(7, Time(now));
            let mut slow = Slow {
                connections: 7.0,
                stretches: vec![(now, Doing::default())],
                failed_at: 0,
            };
            let mut is_joined = false;
            // Some have a backlog that grows past what is remembered, others work theirs off.
            let is_growing = seed % 2 == 0;
            for _ in 0..6_000 {
                now += below(1_000);
                let doing = Doing {
                    free: below(10) == 0,
                    connecting: below(3) as u32,
                    closing: below(3) as u32,
                    back_off: below(2) as u32,
                };
                let mut left = match is_growing {
                    true => u64::from(below(10) == 0),
                    false => below(2_000),
                };
                while due <= now && left > 0 && (doing.free || below(3) == 0) {
                    compare(&mut watch, &slow, (due, now), is_joined);
                    (compared, joined_compared) = match is_joined {
                        true => (compared, joined_compared + 1),
                        false => (compared + 1, joined_compared),
                    };
                    left -= 1;
                    due += 1 + below(1_500);
                }
                if below(4) == 0 {
                    watch.in_vain(Time(now));
                    slow.failed_at = now;
                }
                let before = watch.earlier.len();
                watch.note(Time(now), doing, Some(Time(due)));
                is_joined |= watch.earlier.len() < before && due < now;
                is_joined &= !watch.earlier.is_empty();
                slow.stretches.push((now, doing));
                assert!(watch.earlier.len() <= STRETCHES_MAX, "seed {seed}");
            }
        }
        assert!(
            compared > 5_000 && joined_compared > 0,
            "{compared}, {joined_compared}"
        );
    }
}
