//! What one worker recorded in the measured phase. Merging tallies gives the tally of the run.
//!
//! Every method that stands on the path of an exchange adds to counters and histogram cells that
//! were allocated before, and does nothing else. A tally does not read the clock, and does not
//! know why an exchange was due when it was: its owner says so with three times for each exchange,
//! *intended*, *sent* and *done*. Response time = done − intended, service time = done − sent,
//! lateness = sent − intended.

mod counted;
mod good;
pub mod packed;
mod steps;
mod streams;
mod waits;

use std::mem;
use std::ops::{Deref, DerefMut};

use crate::counters::ErrorKind;
use crate::due::Due;
use crate::histogram::{Histogram, Place};
use crate::series::{Counts, Row, Series};
use crate::slots::{Seen, Slots};
use crate::time::Time;

pub use counted::{Counted, Drain, Handshakes, Sums, Terms};
pub use packed::Packed;
pub use steps::StepTally;
pub use streams::StreamTally;
pub use waits::{WaitCounts, Waits};

/// What decides when the next exchange is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loop {
    /// The answer to the one before: there is no offered rate and no lateness.
    Closed,
    /// A schedule, no matter what the peer does.
    Open,
}

/// What a new connection replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opened {
    /// Nothing: it is the first, or serves a single exchange.
    Anew,
    /// One that the peer closed in an orderly way.
    AfterClose,
    /// One that broke.
    AfterDeath,
}

/// How many codes a gRPC call can end with: 0, which is OK, to 16.
pub const GRPC_CODES: usize = 17;

/// Where a code is counted: one that gRPC does not know as UNKNOWN.
fn grpc_code(code: u8) -> usize {
    const UNKNOWN: usize = 2;
    let code = usize::from(code);
    if code < GRPC_CODES { code } else { UNKNOWN }
}

/// What one worker recorded in the measured phase: what it counted, and its course over time.
#[derive(Clone, Debug)]
pub struct Tally {
    /// What was counted since it was last handed over ([`Tally::hand_over`]), or ever.
    counted: Counted,
    /// What had been handed over by then.
    past: Sums,
    /// How long a completed exchange may take, from when it was due, to count as good; none: none
    /// is counted.
    pub good_within_ns: Option<u64>,
    /// What was counted over time.
    pub series: Series,
    /// What fell due over time; nothing in a closed loop.
    pub due: Due,
    /// When answers came, and when none did.
    pub slots: Slots,
    /// What had been counted when the window ended, while it is open nothing.
    inside: Option<Inside>,
    kind: Loop,
}

impl Deref for Tally {
    type Target = Counted;

    fn deref(&self) -> &Counted {
        &self.counted
    }
}

impl DerefMut for Tally {
    fn deref_mut(&mut self) -> &mut Counted {
        &mut self.counted
    }
}

/// What had been counted when the window ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// Exchanges that were completed inside the window.
    pub completed: u64,
    /// Exchanges that failed inside it.
    pub failed: u64,
    /// Whole answers that came inside it, whatever they said and whenever they were asked for: what
    /// the processor time and the bytes of the window went into.
    pub answered: u64,
    /// Of those: with a status outside 200 to 399.
    pub strange: u64,
}

impl Tally {
    /// An empty tally; all memory of the hot path is taken here.
    pub fn new(kind: Loop) -> Tally {
        Tally {
            counted: Counted::new(),
            past: Sums::default(),
            good_within_ns: None,
            series: Series::new(),
            due: Due::new(),
            slots: Slots::new(),
            inside: None,
            kind,
        }
    }

    /// The measured window begins at `now`. All workers of a run give the same time, because their
    /// rows are merged by their distance from it. What was counted before stays counted (the set-up
    /// of connections happens before the window), but is in no row.
    pub fn start(&mut self, now: Time) {
        let counts = self.counts();
        self.series.start(now, counts);
        self.due.start(now);
        self.slots.start(now);
        self.inside = None;
    }

    /// An exchange has its whole answer, and `status` is an expected one.
    #[inline]
    pub fn completed(&mut self, intended: Time, sent: Time, done: Time, status: u16) {
        self.completed += 1;
        self.answered(intended, sent, done, status);
    }

    /// An exchange has its whole answer, but `status` is not an expected one: a failure whose times
    /// are as good as any.
    #[inline]
    pub fn unexpected(&mut self, intended: Time, sent: Time, done: Time, status: u16) {
        self.failed(ErrorKind::UnexpectedStatus);
        self.answered(intended, sent, done, status);
    }

    /// An exchange has its whole answer, but that isn't what it should be, whatever its `status`,
    /// for the reason that `kind` says: the same.
    pub fn unmet(&mut self, kind: ErrorKind, times: (Time, Time, Time), status: u16) {
        let (intended, sent, done) = times;
        self.failed(kind);
        self.answered(intended, sent, done, status);
    }

    /// A gRPC call has its whole answer: HTTP's `status`, and the `code` of its own. One other than
    /// OK is a failure whose times are as good as any. A code that gRPC does not know counts as
    /// UNKNOWN, as the specification of gRPC over HTTP/2 asks for.
    #[inline]
    pub fn called(&mut self, intended: Time, sent: Time, done: Time, status: u16, code: u8) {
        if code == 0 {
            self.grpc_statuses[0] += 1;
            self.completed += 1;
        } else {
            self.call_reset(code);
        }
        self.answered(intended, sent, done, status);
    }

    /// A gRPC call failed with the `code` that the end of its stream stands for, without an answer.
    pub fn call_reset(&mut self, code: u8) {
        self.grpc_statuses[grpc_code(code)] += 1;
        self.failed(ErrorKind::GrpcStatus);
    }

    /// A message has its answer, which has no status.
    #[inline]
    pub fn echoed(&mut self, intended: Time, sent: Time, done: Time) {
        self.completed += 1;
        self.responded(intended, done);
        self.sent(intended, sent, done);
    }

    /// A message was answered by another one that isn't what it should be: a failure whose times
    /// are as good as any.
    pub fn echoed_otherwise(&mut self, intended: Time, sent: Time, done: Time) {
        self.failed(ErrorKind::UnexpectedAnswer);
        self.responded(intended, done);
        self.sent(intended, sent, done);
    }

    /// An exchange failed. If it had waited for its answer, [`Tally::censored`] says how long.
    #[inline]
    pub fn failed(&mut self, kind: ErrorKind) {
        self.failed += 1;
        self.errors.add(kind);
    }

    /// Something went wrong that is no exchange: setting up a connection, for instance.
    #[inline]
    pub fn error(&mut self, kind: ErrorKind) {
        self.errors.add(kind);
    }

    /// An exchange was given up at `given_up`: its times are at least this long. Leaving them out
    /// would make the slowest exchanges invisible. `sent` is none for one that still waited for a
    /// connection; then only its response time is known. Counts a sample, not an exchange: call
    /// [`Tally::failed`] or add to `unfinished` as well. The end of a run is no reason to give an
    /// exchange up before its time limit: a bound of a microsecond says nothing and drags the
    /// percentiles down, so drain first.
    #[inline]
    pub fn censored(&mut self, intended: Time, sent: Option<Time>, given_up: Time) {
        self.censored += 1;
        self.responded(intended, given_up);
        if let Some(sent) = sent {
            self.sent(intended, sent, given_up);
        }
    }

    /// A connection was set up in `nanoseconds`, for the first time or in the place of another.
    #[inline]
    pub fn connected(&mut self, nanoseconds: u64, why: Opened) {
        self.connect.record(nanoseconds);
        self.connections_opened += 1;
        self.reconnects += u64::from(why == Opened::AfterDeath);
        self.reopened += u64::from(why == Opened::AfterClose);
    }

    /// A TLS handshake took `nanoseconds`. The first one takes memory.
    pub fn shook_hands(&mut self, nanoseconds: u64, resumed: bool, terms: Terms) {
        let handshakes = self.handshakes.get_or_insert_with(|| {
            Box::new(Handshakes {
                full: Histogram::new(),
                resumed: Histogram::new(),
                terms,
            })
        });
        if resumed {
            handshakes.resumed.record(nanoseconds);
        } else {
            handshakes.full.record(nanoseconds);
        }
    }

    /// Closes the rows of the series that are over at `now`. Call it about once a second, before
    /// the exchanges of a turn are counted; it may allocate.
    #[inline]
    pub fn tick(&mut self, now: Time) {
        if self.series.is_due(now) {
            let counts = self.counts();
            self.series.close_due(now, counts);
        }
    }

    /// The window opens; `awaited`: whether an answer is awaited from its beginning on. What was
    /// answered and what failed before is in no slot.
    pub fn open(&mut self, awaited: bool) {
        self.slots.open(self.seen(awaited));
    }

    /// Closes the slots that are over at `now`; `awaited`: whether an answer is awaited then.
    pub fn look(&mut self, now: Time, awaited: bool) {
        let seen = self.seen(awaited);
        self.slots.close_due(now, seen);
    }

    /// Nobody could tell for a while whether answers came: nothing is known of the slot that is
    /// under way.
    pub fn blind(&mut self) {
        self.slots.blind();
    }

    fn seen(&self, awaited: bool) -> Seen {
        let sums = self.sums();
        Seen {
            // Whoever streams gives a sign of life with each event.
            answers: sums.answered + sums.events,
            errors: sums.errors,
            in_vain: sums.in_vain,
            awaited,
        }
    }

    /// When the next row or slot is over: from then on [`Tally::tick`] or [`Tally::look`] has
    /// something to do.
    pub fn next_tick(&self) -> Time {
        self.series.due().min(self.slots.due())
    }

    /// The window ends at `now`: closes the last row, which may be shorter than the others. What is
    /// counted from here on is of the drain, and in no row. Only the first call does anything.
    pub fn finish(&mut self, now: Time) {
        if self.inside.is_some() {
            return;
        }
        let counts = self.counts();
        self.series.finish(now, counts);
        self.inside = Some(self.so_far());
    }

    /// What was counted inside the window.
    pub fn inside(&self) -> Inside {
        self.inside.unwrap_or_else(|| self.so_far())
    }

    fn so_far(&self) -> Inside {
        let sums = self.sums();
        Inside {
            completed: sums.completed,
            failed: sums.failed,
            answered: sums.answered,
            strange: sums.strange,
        }
    }

    /// The rows of the window: what was counted inside it, and what fell due.
    pub fn rows(&self) -> Vec<Row> {
        let mut rows = self
            .series
            .rows((self.kind == Loop::Open).then_some(&self.due));
        if self.good_within_ns.is_none() {
            rows.iter_mut().for_each(|row| row.good = None);
        }
        if self.streams.is_empty() {
            rows.iter_mut().for_each(|row| row.events = None);
        }
        rows
    }

    /// Adds everything that `other` counted. Both are finished. Associative and commutative.
    pub fn merge(&mut self, other: &Tally) {
        let (mine, theirs) = (self.inside(), other.inside());
        self.inside = Some(Inside {
            completed: mine.completed + theirs.completed,
            failed: mine.failed + theirs.failed,
            answered: mine.answered + theirs.answered,
            strange: mine.strange + theirs.strange,
        });
        merge_fields!(Tally, self, other,
            merge [counted, past, series, due, slots],
            add [],
            apart [good_within_ns, inside, kind]);
        self.good_within_ns = self.good_within_ns.or(other.good_within_ns);
        if other.kind == Loop::Open {
            self.kind = Loop::Open;
        }
        self.check();
    }

    /// Parts are no more than what they are parts of. Who counts checks the whole in a release,
    /// too, and voids what does not add up.
    fn check(&self) {
        let (inside, all) = (self.inside(), self.sums());
        let parts = [
            ("completions", inside.completed, all.completed),
            ("failures", inside.failed, all.failed),
            ("answers", inside.answered, all.answered),
            ("strange answers", inside.strange, inside.answered),
        ];
        for (what, part, whole) in parts {
            debug_assert!(
                part <= whole,
                "{part} {what} inside of {whole} were counted"
            );
        }
        self.counted.check();
    }

    /// What was counted in all, no matter what of it was handed over.
    pub fn sums(&self) -> Sums {
        let mut sums = self.counted.sums();
        sums.merge(&self.past);
        sums
    }

    /// Exchanges that were completed and that failed, in all.
    #[inline]
    pub fn ended(&self) -> (u64, u64) {
        (
            self.past.completed + self.counted.completed,
            self.past.failed + self.counted.failed,
        )
    }

    /// Hands over what was counted since the last time, in exchange for a buffer in which nothing
    /// is: counting goes on there. The course over time stays. Takes no memory.
    pub fn hand_over(&mut self, empty: &mut Counted) {
        debug_assert!(empty.sums() == Sums::default(), "counted on top of others");
        self.past = self.sums();
        mem::swap(&mut self.counted, empty);
    }

    /// Takes back all that was handed over, added up.
    pub fn take_back(&mut self, earlier: &Counted) {
        self.past = Sums::default();
        self.counted.merge(earlier);
    }

    /// What was counted since it was last handed over, or ever.
    pub fn counted(&self) -> &Counted {
        &self.counted
    }

    /// Which loop made the exchanges.
    pub fn kind(&self) -> Loop {
        self.kind
    }

    #[inline]
    fn answered(&mut self, intended: Time, sent: Time, done: Time, status: u16) {
        self.statuses.add(status);
        if self.kind == Loop::Closed && sent == intended {
            // As almost always in a closed loop: one length, in both.
            let nanoseconds = done.since(sent);
            let place = Place::of(nanoseconds);
            self.response.add(place, 1);
            self.service.add(place, 1);
            return self.series.record(nanoseconds);
        }
        self.responded(intended, done);
        self.sent(intended, sent, done);
    }

    #[inline]
    fn responded(&mut self, intended: Time, done: Time) {
        let nanoseconds = done.since(intended);
        self.response.record(nanoseconds);
        self.series.record(nanoseconds);
    }

    #[inline]
    fn sent(&mut self, intended: Time, sent: Time, done: Time) {
        self.service.record(done.since(sent));
        if self.kind == Loop::Open {
            self.lateness.record(sent.since(intended));
        }
    }

    fn counts(&self) -> Counts {
        let sums = self.sums();
        Counts {
            completed: sums.completed,
            failed: sums.failed,
            answered: sums.answered,
            good: sums.good,
            events: sums.events,
            bytes_received: sums.bytes_received,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Errors;
    use crate::random::Random;

    const START: Time = Time(1_000_000_000);
    const OPENED: [Opened; 3] = [Opened::Anew, Opened::AfterClose, Opened::AfterDeath];

    /// Everything that can be seen of a tally.
    type Seen = ([Histogram; 8], [u64; 33], Vec<(u16, u64)>, Errors, Vec<Row>);

    fn seen(tally: &Tally) -> Seen {
        let handshakes = tally.handshakes.as_ref().unwrap();
        let histograms = [
            &tally.response,
            &tally.service,
            &tally.lateness,
            &tally.connect,
            &tally.tcp,
            &tally.ping,
            &handshakes.full,
            &handshakes.resumed,
        ];
        let single = [
            tally.completed,
            tally.failed,
            tally.unfinished,
            tally.censored,
            tally.intended,
            tally.connections_opened,
            tally.reconnects,
            tally.bytes_received,
            tally.bytes_sent,
            tally.messages_sent,
            tally.messages_received,
            tally.inside().completed,
            tally.inside().failed,
            tally.inside().answered,
            tally.inside().strange,
            tally.reopened,
        ];
        let mut counters = [0; 33];
        counters[..16].copy_from_slice(&single);
        counters[16..].copy_from_slice(&tally.grpc_statuses);
        (
            histograms.map(Clone::clone),
            counters,
            tally.statuses.iter().collect(),
            tally.errors,
            tally.rows(),
        )
    }

    /// A worker's tally of some seconds in which everything happened.
    fn tally_of(seed: u64) -> Tally {
        let mut random = Random::seeded(seed);
        let mut tally = Tally::new(Loop::Open);
        let mut now = START;
        let _ = OPENED.map(|why| tally.connected(random.length(30), why));
        let terms = Terms {
            version: "TLSv1.3".into(),
            cipher: "TLS13_AES_128_GCM_SHA256".into(),
            alpn: Some("h2".into()),
        };
        tally.shook_hands(random.length(20), random.below(2) == 0, terms);
        tally.start(now);
        for _ in 0..2000 {
            now = now.plus(random.below(5_000_000));
            tally.tick(now);
            tally.intended += 1;
            tally.due.add(now);
            tally.bytes_received += random.below(1000);
            tally.bytes_sent += 10;
            tally.messages_sent += 1;
            tally.messages_received += random.below(3);
            tally.tcp.record(random.length(20));
            tally.ping.record(random.length(20));
            let (sent, done) = (now.plus(random.length(20)), now.plus(random.length(34)));
            match random.below(10) {
                0 => tally.failed(ErrorKind::Reset),
                1 => {
                    tally.failed(ErrorKind::Timeout);
                    tally.censored(now, Some(sent), done);
                }
                2 => tally.unexpected(now, sent, done, 404),
                3 => {
                    tally.unfinished += 1;
                    tally.censored(now, None, done);
                }
                4 => tally.error(ErrorKind::Refused),
                5 => tally.called(now, sent, done, 200, random.below(17) as u8),
                6 => tally.echoed(now, sent, done),
                _ => tally.completed(now, sent, done, 200),
            }
        }
        tally.finish(now.plus(random.below(1_000_000_000)));
        for _ in 0..random.below(100) {
            tally.completed(now, now, now.plus(random.length(20)), 200);
        }
        tally
    }

    #[test]
    fn the_order_of_merging_does_not_matter() {
        for seed in 0..5 {
            let parts = [seed, seed + 100, seed + 200].map(tally_of);
            let merged = |order: [usize; 3]| {
                let mut sum = Tally::new(Loop::Open);
                order.iter().for_each(|part| sum.merge(&parts[*part]));
                seen(&sum)
            };
            let mut tail = parts[1].clone();
            tail.merge(&parts[2]);
            let mut nested = parts[0].clone();
            nested.merge(&tail);
            assert!(merged([0, 1, 2]) == merged([2, 0, 1]), "seed {seed}");
            assert!(merged([0, 1, 2]) == seen(&nested), "seed {seed}");
            assert!(
                merged([0, 1, 2]) != merged([0, 1, 1]),
                "seed {seed}: all look alike"
            );
        }
    }

    #[test]
    fn rows_sum_to_what_was_counted_inside_the_window_and_the_drain_is_in_none() {
        let mut tally = tally_of(42);
        let rows = tally.rows();
        assert!(rows.len() > 3);
        let sum = |field: fn(&Row) -> u64| rows.iter().map(field).sum::<u64>();
        let inside = tally.inside();
        assert!(inside.completed < tally.completed, "nothing was drained");
        assert_eq!(sum(|row| row.completed), inside.completed);
        assert_eq!(sum(|row| row.failed), inside.failed);
        assert_eq!(sum(|row| row.offered.unwrap_or(0)), tally.intended);
        assert_eq!(sum(|row| row.bytes_received), tally.bytes_received);
        tally.unexpected(START, START, Time::NEVER, 404);
        tally.finish(Time::NEVER);
        assert_eq!((tally.rows(), tally.inside()), (rows, inside));
    }

    #[test]
    fn the_three_clocks_give_three_times() {
        let mut tally = Tally::new(Loop::Open);
        tally.start(START);
        tally.completed(Time(2_000), Time(2_300), Time(3_000), 200);
        assert_eq!(tally.response.max(), 1_000);
        assert_eq!(tally.service.max(), 700);
        assert_eq!(tally.lateness.max(), 300);
        assert_eq!((tally.completed, tally.failed), (1, 0));
        assert_eq!(tally.statuses.count(200), 1);
    }

    #[test]
    fn an_unexpected_status_is_a_failure_whose_times_count() {
        let mut tally = Tally::new(Loop::Closed);
        tally.start(START);
        tally.unexpected(Time(2_000), Time(2_000), Time(3_000), 503);
        assert_eq!(
            (tally.completed, tally.failed, tally.answered_exchanges()),
            (0, 1, 1)
        );
        assert_eq!(tally.errors.count(ErrorKind::UnexpectedStatus), 1);
        assert_eq!(tally.statuses.count(503), 1);
        assert_eq!((tally.response.count(), tally.service.count()), (1, 1));
    }

    #[test]
    fn a_call_that_does_not_end_with_ok_is_a_failure_by_its_code() {
        let mut tally = Tally::new(Loop::Closed);
        tally.start(START);
        for code in [0, 14, 14, 99] {
            tally.called(Time(2_000), Time(2_000), Time(3_000), 200, code);
        }
        assert_eq!((tally.completed, tally.failed), (1, 3));
        assert_eq!(tally.errors.count(ErrorKind::GrpcStatus), 3);
        let counts = [0, 2, 14].map(|code: usize| tally.grpc_statuses[code]);
        assert_eq!(counts, [1, 1, 2]);
        assert_eq!((tally.statuses.count(200), tally.response.count()), (4, 4));
    }

    #[test]
    fn a_message_that_was_answered_has_times_and_no_status() {
        let mut tally = Tally::new(Loop::Closed);
        tally.start(START);
        tally.echoed(Time(2_000), Time(2_000), Time(3_000));
        assert_eq!((tally.completed, tally.statuses.total()), (1, 0));
        assert_eq!((tally.response.max(), tally.service.max()), (1_000, 1_000));
    }

    #[test]
    fn a_censored_sample_is_in_the_histograms_but_is_no_answer() {
        let mut tally = Tally::new(Loop::Open);
        tally.start(START);
        tally.censored(Time(2_000), Some(Time(2_500)), Time(9_000));
        tally.censored(Time(2_000), None, Time(5_000));
        assert_eq!((tally.censored, tally.answered_exchanges()), (2, 0));
        assert_eq!((tally.response.count(), tally.response.max()), (2, 7_000));
        assert_eq!((tally.service.count(), tally.service.max()), (1, 6_500));
        assert_eq!(tally.lateness.count(), 1);
        assert_eq!(
            (tally.completed, tally.failed, tally.statuses.total()),
            (0, 0, 0)
        );
    }

    #[test]
    fn a_closed_loop_has_no_lateness() {
        let mut tally = Tally::new(Loop::Closed);
        tally.start(START);
        tally.completed(Time(2_000), Time(2_000), Time(3_000), 200);
        tally.finish(START.plus(1));
        assert!(tally.lateness.is_empty());
        assert_eq!(tally.rows()[0].offered, None);
    }
}
