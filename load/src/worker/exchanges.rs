//! Sending requests and taking answers: the hot path.

use engine::{Driver, Payload, QUIET_BYTES_MAX};
use measure::counters::ErrorKind;
use measure::time::Time;

use super::{BACKLOG_ENTRIES_MAX, Phase, Worker};
use crate::session::{Exchange, State};

/// The most bytes that one send carries.
const BURST_BYTES_MAX: usize = 64 * 1024;

/// How many requests one template holds, and whether all that can be unanswered on a connection
/// fits into any send buffer, so that sends need no completion.
pub(super) fn burst(request_bytes: usize, pipeline: u32) -> (u32, bool) {
    let whole = request_bytes.saturating_mul(pipeline as usize);
    if whole <= QUIET_BYTES_MAX {
        return (pipeline, true);
    }
    let copies = (BURST_BYTES_MAX / request_bytes.max(1)).clamp(1, pipeline as usize);
    (copies as u32, false)
}

impl<D: Driver> Worker<'_, D> {
    /// Bytes came on a connection.
    #[inline]
    pub(super) fn received(&mut self, index: usize, bytes: &[u8], now: Time) {
        let session = &mut self.sessions[index];
        let (ring, flights, recorder) = (&mut session.ring, &mut self.flights, &mut self.recorder);
        let (mut answers, mut goes_on) = (0, true);
        let read = session.wire.receive(bytes, &mut self.memo, |status, end| {
            if let Some(exchange) = flights.pop(index, ring) {
                recorder.answered(&exchange, now, status);
                answers += 1;
                goes_on &= end.keep_alive;
            }
        });
        if answers > 0 {
            session.failures = 0;
        }
        match read {
            Err(violation) => {
                self.violation.get_or_insert(violation);
                self.lose(index, ErrorKind::ProtocolViolation, now);
            }
            Ok(()) if answers == 0 => {}
            Ok(()) if goes_on && self.assignment.keep_alive => self.more(index, now),
            Ok(()) => self.retire(index, now),
        }
    }

    /// A send that was too large to be quiet is with the kernel whole.
    pub(super) fn send_finished(&mut self, index: usize, now: Time) {
        self.sessions[index].sending = false;
        if self.sessions[index].state == State::Open {
            self.more(index, now);
        }
    }

    /// A connection can take an exchange: gives it one, or puts it where the schedule finds it.
    #[inline]
    pub(super) fn more(&mut self, index: usize, now: Time) {
        if self.assignment.marks.is_some() {
            self.offer(index);
        } else {
            self.refill(index, now);
        }
    }

    /// Closed loop: sends as many requests as the connection has room for.
    #[inline]
    pub(super) fn refill(&mut self, index: usize, now: Time) {
        if self.phase != Phase::Loading {
            return;
        }
        let session = &self.sessions[index];
        let mut count = self.flights.room(session.ring).min(self.copies);
        if let Some(quota) = self.assignment.quota {
            count = u64::from(count).min(quota - self.begun) as u32;
        }
        if count == 0 || session.sending {
            return;
        }
        match session.state {
            State::Open => self.send(index, count, now),
            State::Down if !self.assignment.keep_alive => self.send_anew(index, now, now),
            _ => {}
        }
    }

    /// Open loop: the connection waits its turn in the queue of free ones.
    #[inline]
    pub(super) fn offer(&mut self, index: usize) {
        let session = &mut self.sessions[index];
        let usable = match session.state {
            State::Open => !session.sending && self.flights.room(session.ring) > 0,
            State::Down => !self.assignment.keep_alive && session.timer.is_none(),
            State::Connecting(_) | State::Closing => false,
        };
        if usable && !session.queued {
            session.queued = true;
            self.free.push_back(index as u32);
        }
    }

    /// Open loop: sends everything that is due, on the connections that are free.
    pub(super) fn dispatch(&mut self, now: Time) {
        while let Some(intended) = self.due.filter(|due| *due <= now) {
            let Some(index) = self.free.pop_front() else {
                self.blocked_at = now;
                return;
            };
            let index = index as usize;
            let session = &mut self.sessions[index];
            session.queued = false;
            match session.state {
                State::Open if !session.sending && self.flights.room(session.ring) > 0 => {
                    self.send_due(index, now);
                    self.offer(index);
                }
                State::Down if !self.assignment.keep_alive && session.timer.is_none() => {
                    self.recorder
                        .dispatched(intended, now, intended <= self.blocked_at);
                    self.send_anew(index, intended, now);
                    self.look_ahead();
                }
                _ => continue,
            }
            self.last_activity = now;
        }
    }

    /// Sends the exchange that is due; and where every connection was busy, so that exchanges pile
    /// up, as many in one send as the connection has room for.
    fn send_due(&mut self, index: usize, now: Time) {
        let piled_up = self.due.is_some_and(|due| due <= self.blocked_at);
        let room = self.flights.room(self.sessions[index].ring);
        let most = if piled_up { room.min(self.copies) } else { 1 };
        let mut count = 0;
        while count < most
            && let Some(intended) = self.due.filter(|due| *due <= now)
        {
            let blocked = intended <= self.blocked_at;
            self.recorder.dispatched(intended, now, blocked);
            self.begin_exchange(
                index,
                Exchange {
                    intended,
                    sent: now,
                },
            );
            self.look_ahead();
            count += 1;
        }
        self.transmit(index, count, now);
    }

    /// Finds out when the next exchange is due.
    pub(super) fn look_ahead(&mut self) {
        let over = self
            .assignment
            .quota
            .is_some_and(|quota| self.begun >= quota);
        let (_, end) = self.recorder.window();
        self.due = match self.assignment.marks.as_mut().filter(|_| !over) {
            Some(marks) => marks.peek().map(|offset| self.origin.plus(offset)),
            None => None,
        };
        if let Some(marks) = self.assignment.marks.as_mut() {
            marks.advance();
        }
        if self.due.is_some_and(|due| due >= end) {
            self.due = None;
        }
    }

    /// Closed loop: sends `count` requests on an open connection.
    #[inline]
    fn send(&mut self, index: usize, count: u32, now: Time) {
        for _ in 0..count {
            let (intended, sent) = (now, now);
            self.begin_exchange(index, Exchange { intended, sent });
        }
        self.transmit(index, count, now);
    }

    #[inline]
    fn begin_exchange(&mut self, index: usize, exchange: Exchange) {
        let ring = &mut self.sessions[index].ring;
        self.flights.push(index, ring, exchange);
        self.recorder.begun(&exchange);
        self.begun += 1;
    }

    /// Hands `count` requests over, whose exchanges have begun.
    #[inline]
    fn transmit(&mut self, index: usize, count: u32, now: Time) {
        let session = &mut self.sessions[index];
        let Some(token) = session.socket else { return };
        session.wire.sent(count, self.assignment.answer);
        session.sending = !self.quiet;
        if session.timer.is_none() {
            self.set_timer(index, now.plus(self.assignment.timeout_ns));
        }
        self.hand_over(index, token, count, now);
    }

    /// Opens a connection for one exchange, which waits for it.
    fn send_anew(&mut self, index: usize, intended: Time, now: Time) {
        let sent = Time::NEVER;
        self.begin_exchange(index, Exchange { intended, sent });
        self.open(index, now);
    }

    /// The connection that an exchange waited for stands.
    pub(super) fn send_waiting(&mut self, index: usize, now: Time) {
        let session = &mut self.sessions[index];
        let Some(token) = session.socket else { return };
        if let Some(exchange) = self.flights.oldest_mut(index, session.ring) {
            exchange.sent = now;
        }
        session.wire.sent(1, self.assignment.answer);
        session.sending = !self.quiet;
        self.hand_over(index, token, 1, now);
    }

    fn hand_over(&mut self, index: usize, token: engine::Token, count: u32, now: Time) {
        let end = self.template.len() as u32 / self.copies * count;
        let (template, quiet) = (self.template, self.quiet);
        let payload = Payload::Template {
            template,
            start: 0,
            end,
            quiet,
        };
        if self.driver.send(token, payload).is_err() {
            // The driver knows already that the socket is dead; its completion may come too late.
            self.lose(index, ErrorKind::BrokenPipe, now);
        }
    }

    /// At the end: exchanges that were due in the window and never sent. Each is a sample of at
    /// least the time it has waited; past a bound the rest is entered as copies of the last one.
    pub(super) fn enter_backlog(&mut self, now: Time) {
        let mut entered = 0;
        while let Some(intended) = self.due {
            let exchange = Exchange {
                intended,
                sent: Time::NEVER,
            };
            self.recorder.begun(&exchange);
            self.recorder.unfinished(&exchange, now);
            self.begun += 1;
            entered += 1;
            if entered == BACKLOG_ENTRIES_MAX {
                self.backlog_cut = true;
                return;
            }
            self.look_ahead();
        }
    }
}
