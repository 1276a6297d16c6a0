//! Heartbeats: sending them at their times, and taking their answers.

use engine::{Driver, QUIET_BYTES_MAX};
use measure::counters::ErrorKind;
use measure::hold::Skipped;
use measure::time::Time;
use proto::Violation;

use super::{Heartbeat, Phase, State, Worker};
use session::{Happening, Outcome};

/// What the bytes that came in one piece have brought.
struct Brought {
    /// What is waited for; a message that comes by itself is no pong.
    heartbeat: Heartbeat,
    ready: bool,
    /// What became of the heartbeat; the last word counts.
    answer: Option<Answer>,
    /// What the peer says is wrong with the connection.
    erred: Option<ErrorKind>,
    /// The peer closes, with this code where it gives one.
    closed: Option<Option<u16>>,
    /// Broadcasts that were heard.
    heard: Vec<u32>,
    /// How it broke the protocol, in an answer alone.
    violation: Option<Violation>,
}

#[derive(Clone, Copy)]
enum Answer {
    Outcome(Outcome),
    Failure(ErrorKind),
    /// The pong to the ping that was sent then.
    Pong(Time),
}

impl Brought {
    fn nothing(heartbeat: Heartbeat) -> Brought {
        Brought {
            heartbeat,
            ready: false,
            answer: None,
            erred: None,
            closed: None,
            heard: Vec::new(),
            violation: None,
        }
    }

    fn take(&mut self, happening: Happening) {
        match happening {
            Happening::Ready => self.ready = true,
            Happening::Answered { outcome, .. } => self.answer(Answer::Outcome(outcome)),
            // A hold expects nothing that rules say, and goes nowhere.
            Happening::Followed { .. }
            | Happening::Whole
            | Happening::MessageJudged { .. }
            | Happening::Message
            | Happening::Streamed { .. } => {}
            Happening::Judged { status, .. } => {
                self.answer(Answer::Outcome(Outcome::Status(status)));
            }
            Happening::Reset { .. } => self.answer(Answer::Failure(ErrorKind::StreamReset)),
            Happening::Broken { violation, .. } => {
                self.answer(Answer::Failure(ErrorKind::ProtocolViolation));
                self.violation = Some(violation);
            }
            Happening::Refused { .. } => self.answer(Answer::Failure(ErrorKind::StreamGivenUp)),
            Happening::Erred { kind } => self.erred = Some(kind),
            Happening::UpgradeRefused { .. } => self.erred = Some(ErrorKind::UpgradeRefused),
            Happening::Closed { code } => self.closed = Some(code),
            Happening::Heard { number } => self.heard.push(number),
            Happening::Pong { payload } => {
                self.answer(Answer::Pong(Time(u64::from_be_bytes(payload))));
            }
        }
    }

    fn answer(&mut self, answer: Answer) {
        let is_pong = matches!(answer, Answer::Pong(_));
        if is_pong == (self.heartbeat == Heartbeat::Ping) {
            self.answer = Some(answer);
        }
    }
}

impl<D: Driver> Worker<'_, D> {
    /// The first time at which a heartbeat of this connection could be due, whether it is or not:
    /// its place among the heartbeats of all.
    fn first_due(&self, index: usize) -> Time {
        let share = &self.assignment;
        let (number, all) = (
            u128::from(self.number(index)),
            u128::from(share.connections),
        );
        let phase_ns = (u128::from(share.heartbeat_ns) * number / all) as u64;
        share.origin.plus(phase_ns)
    }

    /// How many times of heartbeats lie up to `time`, from the first on. It tells from the plan
    /// alone what is due, so that what was done can be held against it.
    fn dues_until(&self, index: usize, time: Time) -> u64 {
        let first = self.first_due(index);
        if time < first {
            return 0;
        }
        time.since(first) / self.assignment.heartbeat_ns + 1
    }

    /// How many heartbeats the plan makes due on this connection: from its first attempt's end to
    /// the hold's, whether it stands or not.
    pub(super) fn dues(&self, index: usize) -> u64 {
        match self.core.sessions[index].tried_at() {
            Some(tried) if tried < self.end => {
                self.dues_until(index, self.end) - self.dues_until(index, tried)
            }
            _ => 0,
        }
    }

    /// The first attempt at a connection has ended: from now on heartbeats are due on it.
    pub(super) fn begin_heartbeats(&mut self, index: usize, now: Time) {
        let rounds = self.dues_until(index, now);
        let after_ns = rounds * self.assignment.heartbeat_ns;
        self.core.sessions[index].own.due = self.first_due(index).plus(after_ns);
    }

    /// A connection stands, for the first time or anew.
    pub(super) fn schedule_heartbeat(&mut self, index: usize, now: Time) {
        self.skip_missed(index, now, Skipped::Down);
        let due = self.core.sessions[index].own.due;
        self.core.set_timer(index, due);
    }

    /// Counts the heartbeats that were due until `now` and could not be sent. What is due after
    /// the hold is none of its business.
    pub(super) fn skip_missed(&mut self, index: usize, now: Time, why: Skipped) {
        let last = match self.phase {
            Phase::Opening { .. } => now,
            Phase::Holding { until } => now.min(until),
            Phase::Draining { .. } | Phase::Done => now.min(self.end),
        };
        let session = &mut self.core.sessions[index];
        let first = session.own.due;
        if first > last {
            return;
        }
        let interval_ns = self.assignment.heartbeat_ns;
        let missed = last.since(first) / interval_ns + 1;
        session.own.due = first.plus(missed * interval_ns);
        self.tally.skip(missed, why);
        if why != Skipped::Down {
            self.tally.waited(now.since(first), interval_ns, missed);
        }
    }

    /// The hold ends at `end`: sends what fell due since timers were last looked at.
    pub(super) fn beat_last(&mut self, end: Time, now: Time) {
        for index in 0..self.core.sessions.len() {
            let session = &self.core.sessions[index];
            let is_free = session.state() == State::Open && session.own.sent == Time::NEVER;
            if is_free && session.own.due <= end {
                self.beat(index, now);
            }
        }
    }

    /// The hold ends at `end`: counts what was due on each connection and has not been sent. What
    /// waits behind an unanswered one goes on waiting for what becomes of that.
    pub(super) fn settle_heartbeats(&mut self, end: Time) {
        for index in 0..self.core.sessions.len() {
            let session = &self.core.sessions[index];
            let why = match session.state() {
                State::Open if session.own.sent != Time::NEVER => continue,
                State::Open => Skipped::Busy,
                _ => Skipped::Down,
            };
            self.skip_missed(index, end, why);
        }
    }

    /// A heartbeat is due on a connection that stands, and none is unanswered.
    pub(super) fn beat(&mut self, index: usize, now: Time) {
        let due = self.core.sessions[index].own.due;
        let is_past = matches!(self.phase, Phase::Holding { until } if due > until);
        if is_past || self.is_over() {
            return;
        }
        let session = &mut self.core.sessions[index];
        session.own.due = due.plus(self.assignment.heartbeat_ns);
        // What was to be sent before finds no room, although its answer came; or the peer allows
        // no stream at all.
        let no_room = match self.assignment.heartbeat {
            Heartbeat::Request => session.is_sending(),
            Heartbeat::Call => session.wire.room() == 0,
            Heartbeat::Ping => false,
        };
        if no_room {
            self.tally.skip(1, Skipped::Busy);
            // In its place goes the next one, at the earliest.
            let interval_ns = self.assignment.heartbeat_ns;
            self.tally.waited(interval_ns, interval_ns, 1);
            let next = session.own.due;
            return self.core.set_timer(index, next);
        }
        session.own.sent = now;
        self.unanswered += 1;
        self.tally.sent(now.since(due));
        self.core
            .set_timer(index, now.plus(self.assignment.heartbeat_timeout_ns));
        match self.assignment.heartbeat {
            Heartbeat::Request => self.send_request(index, now),
            Heartbeat::Call => {
                self.core.append(index);
                let session = &mut self.core.sessions[index];
                session.wire.begin(0, &mut session.out);
            }
            Heartbeat::Ping => {
                self.core.append(index);
                let session = &mut self.core.sessions[index];
                session.wire.ping(now.0.to_be_bytes(), &mut session.out);
            }
        }
    }

    fn send_request(&mut self, index: usize, now: Time) {
        let Some(template) = self.template else {
            return;
        };
        let session = &mut self.core.sessions[index];
        session.wire.begin(0, &mut session.out);
        let whole = (0, template.len() as u32);
        let quiet = template.len() <= QUIET_BYTES_MAX;
        let sent = self.core.send_template(index, template, whole, quiet);
        if sent.is_err() {
            // The driver knows already that the socket is dead; its completion may come too late.
            self.ended(index, ErrorKind::BrokenPipe, now);
        }
    }

    /// Bytes came on a connection.
    pub(super) fn received(&mut self, index: usize, bytes: &[u8], now: Time) {
        self.core.append(index);
        let session = &mut self.core.sessions[index];
        let mut brought = Brought::nothing(self.assignment.heartbeat);
        if let Some(broadcasting) = &mut self.broadcasting {
            brought.heard = std::mem::take(&mut broadcasting.came);
        }
        let (wire, out) = (&mut session.wire, &mut session.out);
        let read = wire.receive(bytes, &mut self.memory, out, &mut |happening| {
            brought.take(happening);
        });
        self.violation = self.violation.take().or(brought.violation);
        if let Some(code) = brought.closed.filter(|_| !self.is_over()) {
            self.tally.closes.add(code);
        }
        if brought.ready {
            self.usable(index, now);
        }
        if self.broadcasting.is_some() {
            self.hear(index, &mut brought.heard, now);
        }
        if let Some(answer) = brought.answer {
            self.answered(index, answer, now);
        }
        let session = &self.core.sessions[index];
        let unanswered = u32::from(session.own.sent != Time::NEVER);
        match read {
            Err(violation) => {
                self.violation.get_or_insert(violation);
                self.ended(index, ErrorKind::ProtocolViolation, now);
            }
            // The peer has said that it closes.
            Ok(()) if session.wire.is_over(unanswered) => {
                let kind = brought.erred.unwrap_or(ErrorKind::EarlyClose);
                self.ended(index, kind, now);
            }
            Ok(()) => {}
        }
    }

    /// The peer sends no more, which may be what completes an answer.
    pub(super) fn take_end(&mut self, index: usize, now: Time) {
        let mut brought = Brought::nothing(self.assignment.heartbeat);
        let wire = &mut self.core.sessions[index].wire;
        // A violation leaves the heartbeat unanswered, which says all.
        let memory = &mut self.memory;
        let _ = wire.ended(memory, &mut |happening| brought.take(happening));
        if let Some(answer) = brought.answer {
            self.answered(index, answer, now);
        }
    }

    fn answered(&mut self, index: usize, answer: Answer, now: Time) {
        let session = &mut self.core.sessions[index];
        let sent = session.own.sent;
        if sent == Time::NEVER || matches!(answer, Answer::Pong(of) if of != sent) {
            return;
        }
        session.own.sent = Time::NEVER;
        session.failures = 0;
        self.unanswered -= 1;
        let round_trip_ns = now.since(sent);
        let failed_before = self.tally.counts.failed;
        match answer {
            Answer::Pong(_) => self.tally.answered(round_trip_ns),
            Answer::Failure(kind) => self.tally.failed(kind),
            Answer::Outcome(outcome) => {
                if let Some(status) = outcome.http_status() {
                    self.tally.statuses.add(status);
                }
                match outcome.error() {
                    None => self.tally.answered(round_trip_ns),
                    Some(kind) => self.tally.answered_wrongly(kind, round_trip_ns),
                }
            }
        }
        let why = match self.tally.counts.failed == failed_before {
            true => Skipped::Busy,
            false => Skipped::InVain,
        };
        self.skip_missed(index, now, why);
        if self.is_over() {
            return;
        }
        let due = self.core.sessions[index].own.due;
        self.core.set_timer(index, due);
    }
}
