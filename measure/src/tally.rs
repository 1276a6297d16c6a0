//! What one worker recorded in the measured phase. Merging tallies gives the tally of the run.
//!
//! Every method that stands on the path of an exchange adds to counters and histogram cells that
//! were allocated before, and does nothing else. A tally does not read the clock, and does not
//! know why an exchange was due when it was: its owner says so with three times for each exchange,
//! *intended*, *sent* and *done*. Response time = done − intended, service time = done − sent,
//! lateness = sent − intended.

mod good;
mod steps;
mod waits;

use crate::counters::{Closes, ErrorKind, Errors, Statuses};
use crate::due::Due;
use crate::histogram::{Histogram, Place};
use crate::series::{Counts, Row, Series};
use crate::slots::{Seen, Slots};
use crate::time::Time;

pub use steps::StepTally;
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

/// The TLS handshakes of a run, and what was agreed in them.
#[derive(Clone, Debug)]
pub struct Handshakes {
    /// How long full handshakes took.
    pub full: Histogram,
    /// How long resumed handshakes took.
    pub resumed: Histogram,
    /// What the first of them agreed on.
    pub terms: Terms,
}

/// What a TLS handshake agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Terms {
    /// The version, such as `TLSv1.3`.
    pub version: &'static str,
    /// The cipher suite.
    pub cipher: &'static str,
    /// The application protocol (RFC 7301); none where the peer chose none.
    pub alpn: Option<&'static str>,
}

/// What one worker recorded in the measured phase.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Done − intended of every answered exchange, and a lower bound for every censored one.
    pub response: Histogram,
    /// Done − sent of every answered exchange, and a lower bound for every censored one.
    pub service: Histogram,
    /// Sent − intended of every exchange that was sent; empty in a closed loop.
    pub lateness: Histogram,
    /// From the start of a connection's set-up to its first use: TCP, TLS, and what the protocol
    /// has to say before the first exchange.
    pub connect: Histogram,
    /// The part of it in which TCP, or a socket in the file system, was connected, and a proxy
    /// asked for a tunnel.
    pub tcp: Histogram,
    /// TLS handshakes; none where there was not one.
    pub handshakes: Option<Box<Handshakes>>,
    /// Round trips of pings: WebSocket's, or HTTP/2's.
    pub ping: Histogram,
    /// Exchanges with a whole answer of an expected status.
    pub completed: u64,
    /// Of these: sent only after the measured window was over, because no connection was free
    /// before. They are as good as any but for the rate, which an overload must not raise.
    pub completed_late: u64,
    /// The same of those that were answered and failed by what the answer said.
    pub failed_late: u64,
    /// Answers that came inside the window to exchanges from before it.
    pub carried: u64,
    /// Of those: with a status outside 200 to 399.
    pub carried_strange: u64,
    /// Of the completed ones: those that took no longer than `good_within_ns`.
    pub good: u64,
    /// How long a completed exchange may take, from when it was due, to count as good; none: none
    /// is counted.
    pub good_within_ns: Option<u64>,
    /// Exchanges that failed, for any reason; [`Tally::errors`] tells the reasons apart.
    pub failed: u64,
    /// Exchanges that were due, but had neither succeeded nor failed when the run ended.
    pub unfinished: u64,
    /// Of these: never sent, because no connection was free.
    pub never_sent: u64,
    /// Samples that are only lower bounds: the exchange was given up before it was answered.
    pub censored: u64,
    /// Exchanges that fell due in the measured window.
    pub intended: u64,
    /// Connections that were set up, the reopened ones among them.
    pub connections_opened: u64,
    /// Connections that were set up in the place of one that had died.
    pub reconnects: u64,
    /// Connections that were set up in the place of one that the peer had closed in good order.
    pub reopened: u64,
    /// Bytes that came in, inside the window.
    pub bytes_received: u64,
    /// Bytes that went out, inside the window.
    pub bytes_sent: u64,
    /// What happened when the window was over.
    pub drain: Drain,
    /// Whose the waits between due and sent were.
    pub waits: Waits,
    /// Nanoseconds of these waits that are in no response time, because their exchanges failed.
    pub untimed_ns: u64,
    /// Messages that went out as parts of exchanges: of gRPC, of a WebSocket.
    pub messages_sent: u64,
    /// The same for those that came in.
    pub messages_received: u64,
    /// Redirects that exchanges followed.
    pub redirects: u64,
    /// Answers by status.
    pub statuses: Statuses,
    /// gRPC calls by the code of their status; all zero where nothing was called.
    pub grpc_statuses: [u64; GRPC_CODES],
    /// WebSockets that the server closed in the window or the drain.
    pub closes: Closes,
    /// Errors by kind; those of connections, too, so that there may be more than failed exchanges.
    pub errors: Errors,
    /// The same over time.
    pub series: Series,
    /// What fell due over time; nothing in a closed loop.
    pub due: Due,
    /// When answers came, and when none did.
    pub slots: Slots,
    /// Attempts to connect that failed in the window or the drain, with no exchange to fail with
    /// them.
    pub attempts_failed: u64,
    /// All attempts to connect that failed by the server's doing.
    pub attempts_in_vain: u64,
    /// The same exchanges by step, where there are several; empty where all are alike.
    pub steps: Vec<StepTally>,
    /// What had been counted when the window ended, while it is open nothing.
    inside: Option<Inside>,
    kind: Loop,
}

/// What happened when the window was over, besides the exchanges, which are what was counted since.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drain {
    /// How long answers were awaited.
    pub nanoseconds: u64,
    /// Bytes that came in.
    pub bytes_received: u64,
    /// Bytes that went out.
    pub bytes_sent: u64,
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
            response: Histogram::new(),
            service: Histogram::new(),
            lateness: Histogram::new(),
            connect: Histogram::new(),
            tcp: Histogram::new(),
            handshakes: None,
            ping: Histogram::new(),
            completed: 0,
            completed_late: 0,
            failed_late: 0,
            carried: 0,
            carried_strange: 0,
            good: 0,
            good_within_ns: None,
            failed: 0,
            unfinished: 0,
            never_sent: 0,
            censored: 0,
            intended: 0,
            connections_opened: 0,
            reconnects: 0,
            reopened: 0,
            bytes_received: 0,
            bytes_sent: 0,
            drain: Drain::default(),
            waits: Waits::default(),
            untimed_ns: 0,
            messages_sent: 0,
            messages_received: 0,
            redirects: 0,
            statuses: Statuses::default(),
            grpc_statuses: [0; GRPC_CODES],
            closes: Closes::default(),
            errors: Errors::default(),
            series: Series::new(),
            due: Due::new(),
            slots: Slots::new(),
            attempts_failed: 0,
            attempts_in_vain: 0,
            steps: Vec::new(),
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
        Seen {
            answers: self.so_far().answered,
            errors: self.errors.total(),
            in_vain: self.attempts_in_vain,
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
        Inside {
            completed: self.completed,
            failed: self.failed,
            answered: self.answered_exchanges() + self.carried,
            strange: self.statuses.not_2xx_or_3xx() + self.carried_strange,
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
            merge [response, service, lateness, connect, tcp, ping, drain, waits, statuses, closes,
                errors, series, due, slots],
            add [completed, completed_late, failed_late, carried, carried_strange, good, failed,
                unfinished, never_sent, censored, intended, connections_opened, reconnects,
                reopened, bytes_received, bytes_sent, untimed_ns, messages_sent, messages_received,
                redirects, attempts_failed, attempts_in_vain],
            apart [good_within_ns, handshakes, grpc_statuses, steps, inside, kind]);
        self.merge_handshakes(other);
        steps::merge(&mut self.steps, &other.steps);
        for (mine, theirs) in self.grpc_statuses.iter_mut().zip(other.grpc_statuses) {
            *mine += theirs;
        }
        self.good_within_ns = self.good_within_ns.or(other.good_within_ns);
        if other.kind == Loop::Open {
            self.kind = Loop::Open;
        }
        self.check();
    }

    /// Parts are no more than what they are parts of. Who counts checks the whole in a release,
    /// too, and voids what does not add up.
    fn check(&self) {
        let inside = self.inside();
        let parts = [
            ("censored samples", self.censored, self.response.count()),
            ("exchanges never sent", self.never_sent, self.unfinished),
            ("late completions", self.completed_late, self.completed),
            ("completions in time", self.good, self.completed),
            ("late failures", self.failed_late, self.failed),
            ("failures", self.failed, self.errors.total()),
            (
                "strange carried answers",
                self.carried_strange,
                self.carried,
            ),
            ("completions inside", inside.completed, self.completed),
            ("failures inside", inside.failed, self.failed),
            ("strange answers", inside.strange, inside.answered),
            (
                "connections in another's place",
                self.reconnects + self.reopened,
                self.connections_opened,
            ),
        ];
        for (what, part, whole) in parts {
            debug_assert!(part <= whole, "{part} {what} of {whole} were counted");
        }
    }

    fn merge_handshakes(&mut self, other: &Tally) {
        match (&mut self.handshakes, &other.handshakes) {
            // The terms are those of the first.
            (Some(mine), Some(theirs)) => {
                let theirs = &**theirs;
                merge_fields!(Handshakes, mine, theirs,
                    merge [full, resumed], add [], apart [terms]);
            }
            (mine @ None, theirs) => mine.clone_from(theirs),
            (Some(_), None) => {}
        }
    }

    /// Exchanges with a whole answer of any status.
    pub fn answered_exchanges(&self) -> u64 {
        debug_assert!(
            self.censored <= self.response.count(),
            "a lower bound was counted and not recorded"
        );
        self.response.count() - self.censored
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
        Counts {
            completed: self.completed,
            failed: self.failed,
            answered: self.so_far().answered,
            good: self.good,
            bytes_received: self.bytes_received,
        }
    }
}

impl Drain {
    fn merge(&mut self, other: &Drain) {
        merge_fields!(Drain, self, other,
            merge [], add [bytes_received, bytes_sent], apart [nanoseconds]);
        self.nanoseconds = self.nanoseconds.max(other.nanoseconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
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
            version: "TLSv1.3",
            cipher: "TLS13_AES_128_GCM_SHA256",
            alpn: Some("h2"),
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
