//! Answers that come bit by bit: what came of them, and when.
//!
//! A [`Listener`] is the part of a session that looks into an answer; it knows no clock, and says
//! what came as a [`Sign`]. [`Clocks`] are its owner's, which knows when, and has a tally.
//!
//! Events and gaps count where they come inside the window, whatever exchange they belong to: a
//! stream without end may have begun long before. All else is of the exchanges of the window.

use measure::counters::ErrorKind;
use measure::tally::{StepTally, StreamTally};
use measure::time::Time;
use stream::{Reader, Seen};

use super::Exchange;

/// What came of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sign {
    /// Its head.
    pub head: bool,
    /// It is a stream of events.
    pub is_stream: bool,
    /// So many events, and whether one says that no other follows.
    pub seen: Seen,
    /// It is whole.
    pub is_whole: bool,
    /// It is whole, and ended in the middle of an event.
    pub is_torn: bool,
}

/// What looks into one answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Listener {
    /// None where the answer is no stream.
    reader: Option<Reader>,
    /// What came and wasn't asked for yet.
    sign: Sign,
}

impl Listener {
    /// The head of an answer with these `fields` came.
    pub(crate) fn head<'f>(&mut self, fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) {
        self.reader = Reader::of(fields);
        self.begin(self.reader.is_some());
    }

    /// An answer began, which is a stream or not.
    pub(crate) fn begin(&mut self, is_stream: bool) {
        self.sign = Sign {
            head: true,
            is_stream,
            ..Sign::default()
        };
    }

    /// So many messages of it came, each of which is an event.
    #[inline]
    pub(crate) fn messages(&mut self, count: u32) {
        self.sign.seen.add(Seen {
            events: count,
            done: false,
        });
    }

    /// A piece of its body came.
    #[inline]
    pub(crate) fn body(&mut self, bytes: &[u8]) {
        if let Some(reader) = &mut self.reader {
            self.sign.seen.add(reader.feed(bytes));
        }
    }

    /// It is whole.
    pub(crate) fn end(&mut self) {
        let mut is_torn = false;
        if let Some(mut reader) = self.reader.take() {
            self.sign.seen.add(reader.end());
            is_torn = reader.is_torn();
        }
        self.whole(is_torn);
    }

    /// It is whole, and ended in the middle of an event or not.
    pub(crate) fn whole(&mut self, is_torn: bool) {
        self.sign.is_whole = true;
        self.sign.is_torn = is_torn;
    }

    /// What came since this was last asked, if anything did.
    #[inline]
    pub(crate) fn sign(&mut self) -> Option<Sign> {
        let sign = std::mem::take(&mut self.sign);
        (sign != Sign::default()).then_some(sign)
    }
}

/// Where what came is counted: among the figures of the whole run, and among those of a step.
#[derive(Debug)]
pub struct Books<'a> {
    /// Those of the run.
    pub whole: &'a mut StreamTally,
    /// Those of steps, where there are several.
    pub steps: &'a mut [StepTally],
}

impl Books<'_> {
    /// Counts something that is of this step, if it's of any.
    fn count(&mut self, step: Option<u16>, count: impl Fn(&mut StreamTally)) {
        count(self.whole);
        let step = step.and_then(|step| self.steps.get_mut(usize::from(step)));
        if let Some(step) = step {
            count(step.streams.get_or_insert_default());
        }
    }
}

/// What is known of the answer that comes at one place.
#[derive(Clone, Copy, Debug, Default)]
struct Clock {
    is_stream: bool,
    /// The figures of its step, where there are several.
    step: Option<u16>,
    /// It answers an exchange of the window.
    is_measured: bool,
    is_done: bool,
    events: u64,
    /// When the first event came, and the last one so far.
    first: Time,
    last: Time,
    longest_gap_ns: u64,
}

/// When what came of the answers of all sessions of an owner.
#[derive(Debug)]
pub struct Clocks {
    clocks: Vec<Clock>,
    /// How many answers may come on one connection at once.
    each: usize,
    /// They are messages, before which no head comes.
    of_messages: bool,
}

impl Clocks {
    /// For `sessions` on each of which so many answers may come at once.
    pub fn new(sessions: usize, each: u32) -> Clocks {
        Clocks {
            clocks: vec![Clock::default(); sessions * each as usize],
            each: each as usize,
            of_messages: false,
        }
    }

    /// Answers are messages of a WebSocket.
    #[must_use]
    pub fn of_messages(self, of_messages: bool) -> Clocks {
        Clocks {
            of_messages,
            ..self
        }
    }

    /// Whether an exchange that failed like this ended in a stream whose first event was still to
    /// come, and that the peer, or the way to it, broke off.
    pub(crate) fn cut_before_first(&self, exchange: &Exchange, kind: ErrorKind) -> bool {
        use ErrorKind::{EarlyClose, Reset, StreamCut, StreamReset};
        let is_cut = matches!(kind, EarlyClose | Reset | StreamCut | StreamReset);
        let has_begun = self.of_messages || exchange.has_answer_begun();
        is_cut && has_begun && exchange.awaits_event()
    }

    /// Where answers come in order, the one that comes is that of the only place.
    fn slot(&self, (session, place): (usize, u32)) -> usize {
        session * self.each + place as usize % self.each
    }

    /// Something came of the answer to `exchange`, whose figures are those of `step`, at `now`.
    pub fn sign(
        &mut self,
        at: (usize, u32),
        (exchange, step): (&mut Exchange, Option<u16>),
        (sign, now): (Sign, Time),
        window: (Time, Time),
        mut books: Books<'_>,
    ) {
        let within = |time: Time| time >= window.0 && time < window.1;
        let slot = self.slot(at);
        let clock = &mut self.clocks[slot];
        if sign.head {
            *clock = Clock {
                is_stream: sign.is_stream,
                step,
                is_measured: within(exchange.intended),
                ..Clock::default()
            };
            exchange.answer_begun(sign.is_stream);
            if clock.is_measured {
                let waited_ns = now.since(exchange.intended);
                books.count(step, |tally| {
                    tally.first_byte.record(waited_ns);
                    tally.streams += u64::from(sign.is_stream);
                });
            }
        }
        if sign.seen.events > 0 {
            let is_first = clock.events == 0;
            clock.events(sign.seen.events, now, window, &mut books);
            exchange.event_came();
            if is_first && clock.is_measured {
                let (waited_ns, took_ns) = (now.since(exchange.intended), now.since(exchange.sent));
                books.count(clock.step, |tally| {
                    tally.first_event.record(waited_ns);
                    tally.first_event_service.record(took_ns);
                });
            }
        }
        clock.is_done |= sign.seen.done;
        if sign.is_whole {
            std::mem::take(clock).over(sign.is_torn, &mut books);
        }
    }

    /// When the last event came that has come of the answer at a place; the beginning of time where
    /// none has.
    pub fn last_event(&self, at: (usize, u32)) -> Time {
        self.clocks[self.slot(at)].last
    }

    /// Whether a stream is under way in a session.
    pub fn is_streaming(&self, session: usize) -> bool {
        let first = session * self.each;
        let mut clocks = self.clocks[first..first + self.each].iter();
        clocks.any(|clock| clock.is_stream && !clock.is_done)
    }

    /// The answers at all places of a session end at `now` before they were whole: because of
    /// `kind`, or with the run.
    pub fn cut(
        &mut self,
        session: usize,
        kind: Option<ErrorKind>,
        now: Time,
        window: (Time, Time),
        mut books: Books<'_>,
    ) {
        let first = session * self.each;
        for clock in &mut self.clocks[first..first + self.each] {
            std::mem::take(clock).cut(kind, now, window, &mut books);
        }
    }

    /// The same of one place, whose exchange is given up alone.
    pub fn cut_one(
        &mut self,
        at: (usize, u32),
        kind: ErrorKind,
        now: Time,
        window: (Time, Time),
        mut books: Books<'_>,
    ) {
        let slot = self.slot(at);
        std::mem::take(&mut self.clocks[slot]).cut(Some(kind), now, window, &mut books);
    }
}

impl Clock {
    /// So many events came at `now`, in one piece. They count if that is inside the window; and a
    /// silence that began inside it, if it's the longest of its stream.
    fn events(&mut self, count: u32, now: Time, (start, end): (Time, Time), books: &mut Books<'_>) {
        let within = |time: Time| time >= start && time < end;
        let others = u64::from(count) - 1;
        let gap_ns = match self.events {
            0 => None,
            _ => Some(now.since(self.last)),
        };
        if within(now) {
            books.count(self.step, |tally| {
                tally.events += u64::from(count);
                if others > 0 {
                    tally.event_gap.record_n(0, others);
                }
                if let Some(gap_ns) = gap_ns {
                    tally.event_gap.record(gap_ns);
                }
            });
        } else if let Some(gap_ns) = gap_ns.filter(|gap| *gap > self.longest_gap_ns)
            && within(self.last)
        {
            books.count(self.step, |tally| tally.event_gap.record(gap_ns));
        }
        if self.events == 0 {
            self.first = now;
        }
        self.longest_gap_ns = self.longest_gap_ns.max(gap_ns.unwrap_or(0));
        self.events += u64::from(count);
        self.last = now;
    }

    /// The answer is whole.
    fn over(self, is_torn: bool, books: &mut Books<'_>) {
        if !self.is_stream || !self.is_measured {
            return;
        }
        books.count(self.step, |tally| {
            tally.empty += u64::from(self.events == 0);
            tally.done += u64::from(self.is_done);
            tally.torn += u64::from(is_torn);
        });
        self.time_per_event(books);
    }

    /// The answer isn't whole, and never will be. An event that was awaited came no sooner than
    /// now: where the run ends, or the peer closes, that tells something only if it's longer than
    /// all gaps before, since such an end comes at any time.
    fn cut(
        self,
        kind: Option<ErrorKind>,
        now: Time,
        (start, end): (Time, Time),
        books: &mut Books<'_>,
    ) {
        if !self.is_stream {
            return;
        }
        let waited_ns = now.since(self.last);
        let is_given_up = kind.is_some_and(ErrorKind::is_timeout);
        let tells = is_given_up || waited_ns > self.longest_gap_ns;
        let is_awaited = self.events > 0 && !self.is_done;
        if is_awaited && tells && self.last >= start && self.last < end {
            books.count(self.step, |tally| {
                tally.event_gap.record(waited_ns);
                tally.censored_gaps += 1;
            });
        }
        if self.is_measured {
            let is_cut_off = kind.is_none() && self.events > 0;
            books.count(self.step, |tally| tally.cut_off += u64::from(is_cut_off));
            self.time_per_event(books);
        }
    }

    fn time_per_event(self, books: &mut Books<'_>) {
        if self.events > 1 {
            let each_ns = self.last.since(self.first) / (self.events - 1);
            books.count(self.step, |tally| tally.time_per_event.record(each_ns));
        }
    }
}

/// An exchange of the window was given up at `now`: what had not come of its answer by then took at
/// least so long.
pub(crate) fn never_came(exchange: &Exchange, now: Time, tally: &mut StreamTally) {
    let waited_ns = now.since(exchange.intended);
    if !exchange.has_answer_begun() {
        tally.first_byte.record(waited_ns);
        tally.censored_heads += 1;
    }
    if exchange.awaits_event() {
        tally.first_event.record(waited_ns);
        tally.censored += 1;
        if exchange.sent != Time::NEVER {
            tally.first_event_service.record(now.since(exchange.sent));
        }
    }
}

/// What whoever reads the figures of streams must know.
pub fn told(tally: &StreamTally, answers: u64) -> Option<String> {
    (tally.streams == 0 && tally.events == 0 && answers > 0).then(|| {
        "--events: no answer was a stream of events (its Content-Type would be text/event-stream \
         or application/x-ndjson, or text/plain without a Content-Length; a gRPC method has to \
         answer with a stream), or all were compressed: check the URL, and what the request asks \
         for (for language models \"stream\": true)"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ms: u64) -> Time {
        Time(1_000 * MS + ms * MS)
    }

    fn events(events: u32) -> Sign {
        Sign {
            seen: Seen {
                events,
                done: false,
            },
            ..Sign::default()
        }
    }

    const HEAD: Sign = Sign {
        head: true,
        is_stream: true,
        seen: Seen {
            events: 0,
            done: false,
        },
        is_whole: false,
        is_torn: false,
    };

    const END: Sign = Sign {
        head: false,
        is_stream: false,
        seen: Seen {
            events: 0,
            done: true,
        },
        is_whole: true,
        is_torn: false,
    };

    /// Books of a load whose requests are all alike.
    fn books(whole: &mut StreamTally) -> Books<'_> {
        let steps = &mut [];
        Books { whole, steps }
    }

    /// What a stream leaves whose signs come at these times, in a window from 0 to 1,000 ms.
    fn told(intended: u64, signs: &[(u64, Sign)]) -> (StreamTally, Exchange, Clocks) {
        let (mut clocks, mut tally) = (Clocks::new(2, 1), StreamTally::default());
        let mut exchange = Exchange::new(at(intended), at(intended + 1));
        for (ms, sign) in signs {
            let window = (at(0), at(1_000));
            let exchange = (&mut exchange, None);
            clocks.sign(
                (1, 0),
                exchange,
                (*sign, at(*ms)),
                window,
                books(&mut tally),
            );
        }
        (tally, exchange, clocks)
    }

    #[test]
    fn a_stream_is_told_by_its_head_its_events_and_its_end() {
        let signs = [
            (10, HEAD),
            (30, events(1)),
            (40, events(3)),
            (60, events(1)),
            (61, END),
        ];
        let (tally, exchange, _) = told(0, &signs);
        assert_eq!(tally.first_byte.max(), 10 * MS);
        assert_eq!(tally.first_event.max(), 30 * MS);
        assert_eq!(tally.first_event_service.max(), 29 * MS);
        let gaps: Vec<(u64, u64)> = tally.event_gap.lengths().collect();
        assert_eq!((gaps[0], tally.event_gap.count()), ((0, 2), 4), "{gaps:?}");
        assert_eq!(tally.event_gap.max(), 20 * MS);
        assert_eq!(tally.time_per_event.max(), 30 * MS / 4);
        let counts = (tally.streams, tally.events, tally.done, tally.empty);
        assert_eq!(counts, (1, 5, 1, 0));
        assert!(!exchange.awaits_event() && exchange.has_answer_begun());
    }

    #[test]
    fn events_count_where_they_come_and_all_else_where_its_exchange_was_due() {
        let signs = [
            (10, HEAD),
            (20, events(1)),
            (30, events(1)),
            (1_100, events(1)),
        ];
        let (tally, ..) = told(0, &signs);
        // The silence that began in the window counts, and the event behind it doesn't.
        assert_eq!((tally.events, tally.event_gap.count()), (2, 2));
        assert_eq!(tally.event_gap.min(), 10 * MS, "none came in one piece");
        // One that began in the warm-up, which is before the window.
        let (mut clocks, mut tally) = (Clocks::new(1, 1), StreamTally::default());
        let mut exchange = Exchange::new(at(0), at(0));
        let window = (at(15), at(1_000));
        for (ms, sign) in signs {
            let exchange = (&mut exchange, None);
            clocks.sign((0, 0), exchange, (sign, at(ms)), window, books(&mut tally));
        }
        assert_eq!((tally.events, tally.event_gap.count()), (2, 2));
        assert_eq!((tally.streams, tally.first_event.count()), (0, 0));
    }

    #[test]
    fn an_event_that_never_came_is_a_lower_bound() {
        let window = (at(0), at(1_000));
        let signs = [(10, HEAD), (20, events(1)), (30, events(1))];
        let cut = |kind, ms| {
            let (mut tally, _, mut clocks) = told(0, &signs);
            clocks.cut(1, kind, at(ms), window, books(&mut tally));
            (tally.event_gap.max(), tally.censored_gaps, tally.cut_off)
        };
        assert_eq!(cut(Some(ErrorKind::Timeout), 530), (500 * MS, 1, 0));
        // Whoever closes after a silence has kept somebody waiting; at once, nobody.
        assert_eq!(cut(Some(ErrorKind::StreamCut), 530), (500 * MS, 1, 0));
        assert_eq!(cut(Some(ErrorKind::StreamCut), 38), (10 * MS, 0, 0));
        // The end of the run comes at any time: it says something of a stream that had stopped.
        assert_eq!(cut(None, 35), (10 * MS, 0, 1));
        assert_eq!(cut(None, 2_030), (2_000 * MS, 1, 1));
    }

    #[test]
    fn what_never_came_of_an_answer_took_at_least_as_long_as_it_was_awaited() {
        let left = |signs: &[(u64, Sign)]| {
            let (mut tally, exchange, _) = told(0, signs);
            never_came(&exchange, at(500), &mut tally);
            (
                tally.first_byte.max(),
                tally.first_event.max(),
                (tally.censored_heads, tally.censored),
            )
        };
        assert_eq!(left(&[]), (500 * MS, 500 * MS, (1, 1)));
        assert_eq!(left(&[(10, HEAD)]), (10 * MS, 500 * MS, (0, 1)));
        let whole = [(10, HEAD), (20, events(1))];
        assert_eq!(left(&whole), (10 * MS, 20 * MS, (0, 0)));
        let other = Sign {
            is_stream: false,
            ..HEAD
        };
        assert_eq!(
            left(&[(10, other)]),
            (10 * MS, 0, (0, 0)),
            "no stream, no event"
        );
    }

    #[test]
    fn a_stream_says_when_it_last_gave_a_sign_until_it_is_over() {
        let (_, _, clocks) = told(0, &[(10, HEAD), (20, events(1))]);
        assert!(clocks.is_streaming(1) && !clocks.is_streaming(0));
        assert_eq!(clocks.last_event((1, 5)), at(20));
        let (_, _, clocks) = told(0, &[(10, HEAD), (20, events(1)), (30, END)]);
        assert!(!clocks.is_streaming(1));
        assert_eq!(clocks.last_event((1, 0)), Time(0));
    }

    #[test]
    fn what_came_counts_for_its_step_as_well_and_for_no_other() {
        let (mut clocks, mut whole) = (Clocks::new(2, 1), StreamTally::default());
        let mut steps = vec![StepTally::default(); 2];
        let window = (at(0), at(1_000));
        for (session, step, ms) in [(0, Some(0), 0), (1, Some(1), 5)] {
            let mut exchange = Exchange::new(at(0), at(0));
            for (after, sign) in [(10, HEAD), (20, events(1)), (30, events(2))] {
                let books = Books {
                    whole: &mut whole,
                    steps: &mut steps,
                };
                let came = (sign, at(ms + after));
                clocks.sign((session, 0), (&mut exchange, step), came, window, books);
            }
        }
        let books = Books {
            whole: &mut whole,
            steps: &mut steps,
        };
        clocks.cut(1, None, at(40), window, books);
        let of_step = |step: usize| steps[step].streams.as_deref().unwrap();
        for streams in [of_step(0), of_step(1)] {
            assert_eq!(
                (streams.streams, streams.events, streams.event_gap.count()),
                (1, 3, 2)
            );
        }
        assert_eq!(
            (of_step(0).first_event.max(), of_step(1).first_event.max()),
            (20 * MS, 25 * MS)
        );
        assert_eq!(
            (of_step(0).cut_off, of_step(1).cut_off, whole.cut_off),
            (0, 1, 1)
        );
        assert_eq!(
            (whole.streams, whole.events, whole.event_gap.count()),
            (2, 6, 4)
        );
    }
}
