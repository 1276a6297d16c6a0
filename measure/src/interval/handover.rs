//! What workers count, brought together second by second while they go on.
//!
//! At the end of each second a worker swaps the buffer that it counts in for an empty one and goes
//! on; the control thread adds up what it is given, makes an [`Interval`] of what all workers have
//! counted by the same time, and gives the buffer back. Neither waits for the other: a worker that
//! finds no empty buffer goes on with its own for another second, and an interval is then as much
//! longer. Nothing is lost either way, and the result of the run is the sum of what was handed
//! over.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use super::{Additive, Counter, Interval, Phase};
use crate::tally::Counted;
use crate::time::Time;

const SECOND_NS: u64 = 1_000_000_000;
/// Empty buffers of a worker, besides the one that it counts in.
const SPARE: usize = 2;

/// What a worker hands over.
#[derive(Debug)]
struct Part<C> {
    counted: C,
    phase: Phase,
    from: Time,
    until: Time,
    /// The window ends with it, for this worker.
    is_last: bool,
    connected: u64,
}

impl<C: Additive> Part<C> {
    fn like(tally: &C) -> Box<Part<C>> {
        Box::new(Part {
            counted: tally.like(),
            phase: Phase::Measure,
            from: Time(0),
            until: Time(0),
            is_last: false,
            connected: 0,
        })
    }
}

/// A worker's side.
#[derive(Debug)]
pub struct Feed<C = Counted> {
    empty: Receiver<Box<Part<C>>>,
    full: SyncSender<Box<Part<C>>>,
    /// What is counted now began then; [`Time::NEVER`] before the window.
    from: Time,
    start: Time,
    next: Time,
    is_closed: bool,
}

impl<C: Additive> Feed<C> {
    /// The measured window begins at `start`.
    pub fn begin(&mut self, start: Time) {
        (self.start, self.from) = (start, start);
        self.next = start.plus(SECOND_NS);
    }

    /// When something is to be handed over next.
    pub fn due(&self) -> Time {
        self.next
    }

    /// A second is over, or several are: hands over what was counted in them, if there's an empty
    /// buffer. Takes no memory and waits for nobody. Whether it did.
    pub fn pass(
        &mut self,
        now: Time,
        tally: &mut impl Counter<Counted = C>,
        connected: u64,
    ) -> bool {
        if self.is_closed || now < self.next {
            return false;
        }
        let whole = now.since(self.start) / SECOND_NS;
        let until = self.start.plus(whole * SECOND_NS);
        self.next = until.plus(SECOND_NS);
        let Ok(part) = self.empty.try_recv() else {
            return false;
        };
        self.hand_over(part, (Phase::Measure, until), tally, connected);
        true
    }

    /// The window is over at `end`: hands over the rest of it. From here on memory may be taken.
    pub fn close(&mut self, end: Time, tally: &mut impl Counter<Counted = C>, connected: u64) {
        if self.is_closed {
            return;
        }
        self.next = Time::NEVER;
        self.is_closed = true;
        if self.from == Time::NEVER {
            (self.start, self.from) = (end, end);
        }
        let part = self.buffer(tally);
        let until = end.max(self.from);
        self.hand_over(part, (Phase::Measure, until), tally, connected);
    }

    /// All is over: hands over what the drain brought.
    pub fn finish(&mut self, now: Time, tally: &mut impl Counter<Counted = C>, connected: u64) {
        let part = self.buffer(tally);
        let until = now.max(self.from);
        self.hand_over(part, (Phase::Drain, until), tally, connected);
    }

    fn buffer(&self, tally: &impl Counter<Counted = C>) -> Box<Part<C>> {
        let empty = self.empty.try_recv();
        empty.unwrap_or_else(|_| Part::like(tally.counted()))
    }

    fn hand_over(
        &mut self,
        mut part: Box<Part<C>>,
        (phase, until): (Phase, Time),
        tally: &mut impl Counter<Counted = C>,
        connected: u64,
    ) {
        tally.hand_over(&mut part.counted);
        (part.phase, part.from, part.until) = (phase, self.from, until);
        part.is_last = self.is_closed && phase == Phase::Measure;
        part.connected = connected;
        self.from = until;
        // There is room for all that a worker can have; nobody listens once the run has failed.
        drop(self.full.try_send(part));
    }
}

/// Says how many more of a worker's exchanges fall due until so many nanoseconds from the start of
/// the measured window; it's asked for times that rise.
pub type Due = Box<dyn FnMut(u64) -> u64>;

/// What is known of one worker.
struct Side<C> {
    empty: SyncSender<Box<Part<C>>>,
    full: Receiver<Box<Part<C>>>,
    /// What has come and is in no interval yet.
    parts: VecDeque<Box<Part<C>>>,
    /// What has come in all.
    whole: C,
    /// When its window ended.
    ended: Option<Time>,
    drain: Option<Box<Part<C>>>,
    connected: u64,
    due: Option<Due>,
}

impl<C: Additive> Side<C> {
    fn new(whole: C, due: Option<Due>) -> (Side<C>, Feed<C>) {
        let (give_empty, empty) = sync_channel(SPARE + 2);
        let (give_full, full) = sync_channel(SPARE + 4);
        for _ in 0..SPARE {
            drop(give_empty.try_send(Part::like(&whole)));
        }
        let feed = Feed {
            empty,
            full: give_full,
            from: Time::NEVER,
            start: Time::NEVER,
            next: Time::NEVER,
            is_closed: false,
        };
        let side = Side {
            empty: give_empty,
            full,
            parts: VecDeque::new(),
            whole,
            ended: None,
            drain: None,
            connected: 0,
            due,
        };
        (side, feed)
    }

    fn take(&mut self) {
        while let Ok(part) = self.full.try_recv() {
            self.whole.merge(&part.counted);
            if part.is_last {
                self.ended = Some(part.until);
            }
            match part.phase {
                Phase::Measure => self.parts.push_back(part),
                Phase::Drain => self.drain = Some(part),
            }
        }
    }

    /// Whether all that it counted before `time` has come, and nothing of what it counted later is
    /// in the same part.
    fn reaches(&self, time: Time) -> bool {
        let ended = self.ended.is_some_and(|end| end <= time);
        ended || self.parts.iter().any(|part| part.until == time)
    }

    /// Adds what it counted before `time` to `sum`.
    fn add_until(&mut self, time: Time, sum: &mut C) {
        while self.parts.front().is_some_and(|part| part.until <= time)
            && let Some(mut part) = self.parts.pop_front()
        {
            sum.merge(&part.counted);
            self.connected = part.connected;
            part.counted.clear();
            drop(self.empty.try_send(part));
        }
    }
}

/// The control thread's side.
pub struct Collector<C = Counted> {
    sides: Vec<Side<C>>,
    /// When the window began, and the last interval ended.
    start: Option<Time>,
    from: Time,
    seq: u64,
    is_over: bool,
}

impl<C: Additive> Collector<C> {
    /// For as many workers as there are pairs of an empty buffer for all that it counts, and, in an
    /// open loop, of what falls due for it. Each gets one of the feeds, in this order.
    pub fn new(workers: impl Iterator<Item = (C, Option<Due>)>) -> (Collector<C>, Vec<Feed<C>>) {
        let (sides, feeds) = workers.map(|(empty, due)| Side::new(empty, due)).unzip();
        let collector = Collector {
            sides,
            start: None,
            from: Time(0),
            seq: 0,
            is_over: false,
        };
        (collector, feeds)
    }

    /// Takes what has come, and gives away what is complete.
    pub fn turn(&mut self, give: &mut dyn FnMut(Interval<C>)) {
        self.sides.iter_mut().for_each(Side::take);
        if self.start.is_none() {
            let firsts = self.sides.iter().filter_map(|side| side.parts.front());
            let Some(first) = firsts.map(|part| part.from).min() else {
                return;
            };
            (self.start, self.from) = (Some(first), first);
        }
        while let Some(until) = self.complete() {
            let interval = self.until(until);
            give(interval);
        }
        let ended = self.sides.iter().all(|side| side.drain.is_some());
        if ended && !self.is_over {
            self.is_over = true;
            give(self.drain());
        }
    }

    /// The next time until which everything has come.
    fn complete(&self) -> Option<Time> {
        let parts = self.sides.iter().flat_map(|side| &side.parts);
        let times = parts.map(|part| part.until);
        times
            .filter(|time| self.sides.iter().all(|side| side.reaches(*time)))
            .min()
    }

    fn until(&mut self, until: Time) -> Interval<C> {
        let start = self.start.unwrap_or(until);
        let mut counted = C::default();
        let mut offered = None;
        for side in &mut self.sides {
            side.add_until(until, &mut counted);
            let by = side.ended.map_or(until, |end| end.min(until));
            if let Some(due) = &mut side.due {
                offered = Some(offered.unwrap_or(0) + due(by.since(start)));
            }
        }
        let interval = self.next(Phase::Measure, until, offered, counted);
        self.from = until;
        interval
    }

    fn drain(&mut self) -> Interval<C> {
        let mut counted = C::default();
        let mut offered = None;
        for side in &mut self.sides {
            offered = offered.or(side.due.as_ref().map(|_| 0));
            if let Some(part) = side.drain.take() {
                counted.merge(&part.counted);
                side.connected = part.connected;
            }
        }
        let until = self.from.plus(counted.drained_ns());
        self.next(Phase::Drain, until, offered, counted)
    }

    fn next(&mut self, phase: Phase, until: Time, offered: Option<u64>, counted: C) -> Interval<C> {
        let start = self.start.unwrap_or(self.from);
        self.seq += 1;
        Interval {
            seq: self.seq - 1,
            joined: 1,
            phase,
            from_ns: self.from.since(start),
            until_ns: until.since(start),
            offered,
            connected: self.sides.iter().map(|side| side.connected).sum(),
            counted,
        }
    }

    /// All workers have ended: gives away what is left. What each of them handed over in all, in
    /// their order.
    pub fn finish(mut self, give: &mut dyn FnMut(Interval<C>)) -> Vec<C> {
        self.turn(give);
        self.sides.into_iter().map(|side| side.whole).collect()
    }
}
