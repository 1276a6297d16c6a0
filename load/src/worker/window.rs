//! The edges of the measured window and of its rows.
//!
//! Before and behind the window there is an edge with each slot's length, too, at which nothing is
//! done but to hold what was counted against the laws.
//!
//! What a turn brings happened at the turn's time, so an edge that has passed is crossed before the
//! turn's completions are looked at: rows, the window and the drain then hold what happened in
//! them, and nothing else.

use engine::signal::Signal;
use engine::{Broken, Completions, Driver, Event};
use measure::interval::Feed;
use measure::process::own_time;
use measure::slots::SLOT_NS;
use measure::time::Time;

use crate::connection::State;
use crate::requests::Requests;

use super::{EndedBy, Outcome, Phase, Worker};

impl<D: Driver> Worker<'_, D> {
    /// An edge has passed: the beginning or the end of the window, or of a row; or it is time to
    /// look whether the laws still hold.
    #[cold]
    pub(super) fn cross(&mut self, now: Time, completions: &Completions) {
        self.check_laws();
        let unread = bytes_of(completions);
        let (start, end) = self.recorder.window();
        if self.phase == Phase::Loading && now >= start {
            if !self.opened {
                self.open_window(unread, now);
            }
            let awaited = self.is_awaiting(now);
            self.recorder.tally.look(now.min(end), awaited);
            // The stall may reach into the slot that begins.
            self.note_blind(now);
            self.count_bytes(unread);
            self.recorder.tally.tick(now.min(end));
            // What is left of the window is handed over with its end.
            if now < end {
                self.pass_on(now);
            } else {
                let until = now.plus(self.assignment.timeout_ns);
                self.drain(end, until, self.assignment.time_end, unread);
            }
        }
        self.edge = self.next_edge();
    }

    /// A turn has begun at `now`: after a long stall nothing is known of the slot it ended in.
    #[cold]
    pub(super) fn note_blind(&mut self, now: Time) {
        if self.core.stalls.was_blind(now) {
            self.recorder.tally.blind();
        }
    }

    /// When an edge is crossed next.
    pub(super) fn next_edge(&self) -> Time {
        let (start, end) = self.recorder.window();
        let in_a_slot = self.core.driver.now().plus(SLOT_NS);
        match self.phase {
            Phase::Loading if !self.opened => start.min(in_a_slot),
            Phase::Loading => {
                let feed = self.assignment.feed.as_ref();
                let passes = feed.map_or(Time::NEVER, Feed::due);
                end.min(self.recorder.tally.next_tick()).min(passes)
            }
            Phase::Draining { .. } => in_a_slot,
            Phase::Connecting { .. } | Phase::Done => Time::NEVER,
        }
    }

    /// Whether an answer is awaited, or would be if there were a connection to ask on.
    fn is_awaiting(&self, now: Time) -> bool {
        let is_due = match self.assignment.marks {
            Some(_) => self.due.is_some_and(|due| due <= now),
            None => self.left_of_quota() != Some(0) && !self.rests(),
        };
        is_due || self.under_way() > 0
    }

    /// Whether every connection that stands rests, as its script or its flow wants: then nothing is
    /// to be answered.
    fn rests(&self) -> bool {
        let Some(Requests::Flow(_) | Requests::Users(_) | Requests::Script(_)) = self.maker else {
            return false;
        };
        let stand = self.core.sessions.iter();
        let mut stand = stand.filter(|session| session.state() == State::Open);
        self.core.counts().connected > 0 && stand.all(|session| session.own.rests)
    }

    /// Notes what had been counted before the measured window. `unread`: bytes that the driver has
    /// counted and nobody has looked at. In an open loop the first exchange is known already.
    pub(super) fn open_window(&mut self, unread: u64, now: Time) {
        self.opened = true;
        let (start, _) = self.recorder.window();
        self.drop_debts(start);
        // All until now were intended before now.
        self.begun_before = self.begun;
        self.recorder.open();
        self.cpu_at_start = own_time();
        match &mut self.maker {
            Some(Requests::Script(script)) => script.begin_window(),
            Some(Requests::Users(users)) => users.open_window(),
            _ => {}
        }
        self.counters_at_start = self.core.driver.counters();
        self.counters_at_start.bytes_received -= unread;
        // What the warm-up owes is not sent any more: its debt would be paid in the window, and a
        // subject that cannot hold the rate would never get to the exchanges that are measured.
        while self.due.is_some_and(|due| due < start) {
            self.dropped += 1;
            if let Some(Requests::Mix(maker)) = &mut self.maker
                && maker.is_of_log()
            {
                // Each of a log's requests has its own time.
                maker.pass_over();
            }
            self.look_ahead();
        }
        let awaited = self.is_awaiting(start);
        self.recorder.tally.open(awaited);
        self.note_blind(now);
    }

    /// The measured window ends at `end`; its answers are awaited until `until`.
    pub(super) fn drain(&mut self, end: Time, until: Time, ended_by: EndedBy, unread: u64) {
        self.recorder.cut(end);
        self.ended_by = ended_by;
        self.cpu_at_end = own_time();
        self.count_bytes(unread);
        if self.due.is_some_and(|due| due >= end) {
            self.due = None;
            self.passed_over += 1;
        }
        let end = match ended_by {
            EndedBy::Count | EndedBy::Rows => self.recorder.last_end,
            _ => end,
        };
        self.recorder.close(end);
        self.pass_on_last(end);
        self.phase = Phase::Draining { until };
        self.edge = self.next_edge();
    }

    /// The time that was lent to the load is over, perhaps while this thread stood still. Others
    /// may send in its place by now, so whatever is due isn't sent.
    #[cold]
    pub(super) fn give_up(
        mut self,
        now: Time,
        completions: &Completions,
    ) -> Result<Outcome, Broken> {
        self.stop.request(Signal::Terminate);
        match self.phase {
            Phase::Loading => {
                let ended_by = EndedBy::Signal(Signal::Terminate);
                self.drain(now.plus(1), now, ended_by, bytes_of(completions));
            }
            _ => self.step_phase(now),
        }
        self.finish()
    }

    /// Hands over what was counted in the second that ends at `now`, where somebody wants that.
    fn pass_on(&mut self, now: Time) {
        let connected = self.core.counts().connected;
        if let Some(feed) = &mut self.assignment.feed
            && now >= feed.due()
        {
            let start = &mut self.counters_at_start;
            let tally = &mut self.recorder.tally;
            let bytes = (tally.bytes_received, tally.bytes_sent);
            if feed.pass(now, tally, connected) {
                start.bytes_received += bytes.0;
                start.bytes_sent += bytes.1;
            }
        }
    }

    /// The window has ended: hands over the rest of it.
    pub(super) fn pass_on_last(&mut self, end: Time) {
        let connected = self.core.counts().connected;
        if let Some(feed) = &mut self.assignment.feed {
            let start = &mut self.counters_at_start;
            let tally = &mut self.recorder.tally;
            start.bytes_received += tally.bytes_received;
            start.bytes_sent += tally.bytes_sent;
            feed.close(end, tally, connected);
        }
    }

    fn count_bytes(&mut self, unread: u64) {
        if !self.opened {
            return;
        }
        let counters = self.core.driver.counters();
        let start = &self.counters_at_start;
        let tally = &mut self.recorder.tally;
        tally.bytes_received = counters.bytes_received - unread - start.bytes_received;
        tally.bytes_sent = counters.bytes_sent - start.bytes_sent;
    }

    /// At the very end: how long the drain took, and the bytes that came and went in it.
    pub(super) fn count_drain(&mut self, now: Time) {
        if !self.opened {
            return;
        }
        let (_, end) = self.recorder.window();
        let counters = self.core.driver.counters();
        let start = &self.counters_at_start;
        let tally = &mut self.recorder.tally;
        let received = counters.bytes_received - start.bytes_received;
        let sent = counters.bytes_sent - start.bytes_sent;
        tally.drain.nanoseconds = now.since(end);
        tally.drain.bytes_received = received.saturating_sub(tally.bytes_received);
        tally.drain.bytes_sent = sent.saturating_sub(tally.bytes_sent);
    }
}

/// The bytes that a turn's completions brought. (Over TLS those that were inside: the few that wrap
/// them are then in the row that ends.)
fn bytes_of(completions: &Completions) -> u64 {
    let each = (0..completions.len()).map(|index| match completions.get(index).event {
        Event::Received(lent) => completions.bytes(lent).len() as u64,
        _ => 0,
    });
    each.sum()
}
