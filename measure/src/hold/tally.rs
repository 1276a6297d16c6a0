//! What one worker counted while it held its connections. Merging tallies gives that of the hold.

use std::mem;
use std::ops::{Deref, DerefMut};

use super::broadcasts::Broadcasts;
use crate::counters::{Closes, ErrorKind, Errors, Statuses};
use crate::histogram::Histogram;
use crate::interval::{Additive, Counter};
use crate::series::{Gains, Series};
use crate::time::Time;

/// What one worker counted: what it counted, and its course over time.
#[derive(Clone, Debug)]
pub struct Tally {
    /// What was counted since it was last handed over ([`Counter::hand_over`]), or ever.
    counted: Counted,
    /// What had been handed over by then.
    past: Past,
    /// Connections that were open when the hold began and never lost.
    pub survived: u64,
    /// Connections open when the hold ended.
    pub standing: u64,
    /// For all connections together: from their first attempt to the end.
    pub watched_ns: u128,
    /// Heartbeats that the plan made due: one in each interval, on every connection from the end
    /// of its first attempt to the end of the hold. Always `sent` + `skipped`.
    pub due: u64,
    /// What was counted over time.
    pub series: Series<Counts>,
}

/// What was handed over, as far as it matters to what comes.
#[derive(Clone, Copy, Debug, Default)]
struct Past {
    counts: Counts,
    bytes_received: u64,
    bytes_sent: u64,
}

/// What was counted in some span of time: a second of a worker, or a whole hold.
#[derive(Clone, Debug, Default)]
pub struct Counted {
    /// From the start of an attempt until the connection can be used.
    pub set_up: Histogram,
    /// From the loss of a connection until it was open again.
    pub re_establish: Histogram,
    /// From sending a heartbeat to its answer; a lower bound if it was given up. For one that was
    /// skipped because the one before was unanswered: from when it was due until that one was
    /// answered or given up.
    pub heartbeat: Histogram,
    /// From when a heartbeat was due until it was sent.
    pub lateness: Histogram,
    /// Why attempts to connect failed.
    pub attempts: Errors,
    /// Why heartbeats failed.
    pub heartbeat_errors: Errors,
    /// Answers to heartbeats by status; empty where an answer has none.
    pub statuses: Statuses,
    /// WebSockets that the server closed.
    pub closes: Closes,
    /// What was said to all, and who heard it.
    pub broadcasts: Broadcasts,
    /// Connections that were given up after so many attempts in a row.
    pub given_up: u64,
    /// Connections that were open when the hold began, and hadn't been lost by then.
    pub stood: u64,
    /// Of those: lost since then, however often.
    pub fallen: u64,
    /// Heartbeats that were sent, or that could not be.
    pub sent: u64,
    /// Heartbeats with neither answer nor failure when everything was over.
    pub unfinished: u64,
    /// Samples of heartbeats that are only lower bounds.
    pub censored: u64,
    /// Heartbeats that were due and were not sent.
    pub skipped: u64,
    /// Of those: the connection was down.
    pub skipped_down: u64,
    /// Of those: the one before was still unanswered, and failed.
    pub skipped_in_vain: u64,
    /// Bytes that came in.
    pub bytes_received: u64,
    /// Bytes that went out.
    pub bytes_sent: u64,
    /// The counts that have a place in the rows.
    pub counts: Counts,
    /// How long answers were awaited when the hold was over.
    pub drain_ns: u64,
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

impl Counter for Tally {
    type Counted = Counted;

    fn counted(&self) -> &Counted {
        &self.counted
    }

    fn hand_over(&mut self, empty: &mut Counted) {
        let counts = self.sums();
        self.past = Past {
            counts,
            bytes_received: self.past.bytes_received + self.counted.bytes_received,
            bytes_sent: self.past.bytes_sent + self.counted.bytes_sent,
        };
        mem::swap(&mut self.counted, empty);
    }

    fn take_back(&mut self, earlier: &Counted) {
        self.past = Past::default();
        self.counted.merge(earlier);
    }
}

/// Why a heartbeat that was due was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Skipped {
    /// The one before was still unanswered, or not even written, and did not fail.
    Busy,
    /// The one before was still unanswered, and failed.
    InVain,
    /// There was no connection to send it on.
    Down,
}

/// What the rows of a hold count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Attempts to connect that were begun.
    pub attempts: u64,
    /// How often a connection was opened, reconnects included.
    pub opened: u64,
    /// Why open connections were lost.
    pub losses: Errors,
    /// How often a lost one was open again.
    pub reconnects: u64,
    /// Heartbeats answered as expected.
    pub answered: u64,
    /// Heartbeats that failed.
    pub failed: u64,
}

impl Counts {
    /// How often an open connection was lost.
    pub fn lost(&self) -> u64 {
        self.losses.total()
    }
}

impl Gains for Counts {
    fn since(&self, earlier: &Counts) -> Counts {
        debug_assert!(
            self.attempts >= earlier.attempts
                && self.opened >= earlier.opened
                && self.reconnects >= earlier.reconnects
                && self.answered >= earlier.answered
                && self.failed >= earlier.failed,
            "what was counted only grows: {earlier:?}, then {self:?}"
        );
        Counts {
            attempts: self.attempts.saturating_sub(earlier.attempts),
            opened: self.opened.saturating_sub(earlier.opened),
            losses: self.losses.since(&earlier.losses),
            reconnects: self.reconnects.saturating_sub(earlier.reconnects),
            answered: self.answered.saturating_sub(earlier.answered),
            failed: self.failed.saturating_sub(earlier.failed),
        }
    }

    fn add(&mut self, other: &Counts) {
        merge_fields!(Counts, self, other,
            merge [losses], add [attempts, opened, reconnects, answered, failed], apart []);
    }
}

impl Default for Tally {
    fn default() -> Tally {
        Tally::new()
    }
}

impl Tally {
    /// An empty tally; all memory that counting takes is taken here.
    pub fn new() -> Tally {
        Tally {
            counted: Counted::default(),
            past: Past::default(),
            survived: 0,
            standing: 0,
            watched_ns: 0,
            due: 0,
            series: Series::new(),
        }
    }

    /// The counts of the rows in all, no matter what of them was handed over.
    pub fn sums(&self) -> Counts {
        let mut sums = self.past.counts;
        sums.add(&self.counted.counts);
        sums
    }

    /// Heartbeats that were answered and that failed, in all.
    #[inline]
    pub fn ended(&self) -> (u64, u64) {
        (
            self.past.counts.answered + self.counted.counts.answered,
            self.past.counts.failed + self.counted.counts.failed,
        )
    }

    /// So many bytes came in and went out, in all.
    pub fn count_bytes(&mut self, received: u64, sent: u64) {
        self.bytes_received = received.saturating_sub(self.past.bytes_received);
        self.bytes_sent = sent.saturating_sub(self.past.bytes_sent);
    }

    /// The rows begin at `now`, which all workers of a hold give alike.
    pub fn start(&mut self, now: Time) {
        let sums = self.sums();
        self.series.start(now, sums);
    }

    /// A connection stands after `set_up_ns`; `lost_ns` ago it had been lost, if it ever was.
    pub fn stands(&mut self, set_up_ns: u64, lost_ns: Option<u64>) {
        self.set_up.record(set_up_ns);
        self.counts.opened += 1;
        if let Some(lost_ns) = lost_ns {
            self.re_establish.record(lost_ns);
            self.counts.reconnects += 1;
        }
    }

    /// A connection that stood is lost.
    pub fn lost(&mut self, kind: ErrorKind) {
        self.counts.losses.add(kind);
    }

    /// A heartbeat that was due so long ago is sent.
    pub fn sent(&mut self, late_ns: u64) {
        self.sent += 1;
        self.lateness.record(late_ns);
    }

    /// `number` heartbeats were due and were not sent.
    pub fn skip(&mut self, number: u64, why: Skipped) {
        self.skipped += number;
        match why {
            Skipped::Busy => {}
            Skipped::InVain => self.skipped_in_vain += number,
            Skipped::Down => self.skipped_down += number,
        }
    }

    /// `number` heartbeats that were skipped have waited for the one before: the first of them, so
    /// many nanoseconds, and each of the others one interval less. Their answers would have taken
    /// as long at least; without them, the longer a server says nothing, the less it is noticed.
    pub fn waited(&mut self, first_ns: u64, interval_ns: u64, number: u64) {
        for later in 0..number {
            self.censored(first_ns.saturating_sub(later * interval_ns));
        }
    }

    /// A heartbeat was answered as it should be, after `nanoseconds`.
    pub fn answered(&mut self, nanoseconds: u64) {
        self.counts.answered += 1;
        self.timed(nanoseconds);
    }

    /// A heartbeat was answered after `nanoseconds`, but not as it should be.
    pub fn answered_wrongly(&mut self, kind: ErrorKind, nanoseconds: u64) {
        self.failed(kind);
        self.timed(nanoseconds);
    }

    /// A heartbeat failed, or could not be sent.
    pub fn failed(&mut self, kind: ErrorKind) {
        self.counts.failed += 1;
        self.heartbeat_errors.add(kind);
    }

    /// The answer to a heartbeat takes at least `nanoseconds`: it was given up then. Count it as
    /// failed, unfinished or skipped as well.
    pub fn censored(&mut self, nanoseconds: u64) {
        self.censored += 1;
        self.timed(nanoseconds);
    }

    /// Closes the rows that are over at `now`.
    pub fn tick(&mut self, now: Time) {
        if self.series.is_due(now) {
            let sums = self.sums();
            self.series.close_due(now, sums);
        }
    }

    /// When the next row is over.
    pub fn next_tick(&self) -> Time {
        self.series.due()
    }

    /// Nothing more will be counted.
    pub fn finish(&mut self, now: Time) {
        let sums = self.sums();
        self.series.finish(now, sums);
    }

    /// Adds everything that `other` counted. Both are finished.
    pub fn merge(&mut self, other: &Tally) {
        merge_fields!(Tally, self, other,
            merge [counted, series],
            add [survived, standing, watched_ns, due],
            apart [past]);
        self.past.counts.add(&other.past.counts);
        self.check();
    }

    /// What is said of a hold rests on these. Who judges it checks them in a release, too, and
    /// voids what does not add up.
    fn check(&self) {
        debug_assert_eq!(
            self.due,
            self.sent + self.skipped,
            "a heartbeat that was due was sent or skipped"
        );
        debug_assert!(
            self.skipped_down + self.skipped_in_vain <= self.skipped,
            "more heartbeats were skipped for a reason than were skipped"
        );
        debug_assert!(
            self.sums().reconnects <= self.sums().opened
                && self.sums().lost() <= self.sums().opened,
            "a connection was lost, or stood again, that never stood: {:?}",
            self.sums()
        );
    }

    fn timed(&mut self, nanoseconds: u64) {
        self.heartbeat.record(nanoseconds);
        self.series.record(nanoseconds);
    }
}
