//! Users who go through a flow, one on each connection: when they begin, and what they send.
//!
//! Every request of theirs is an exchange. In a closed loop the next user of a connection begins
//! when the one before is through; in an open loop the schedule says when, and the user takes the
//! connection that has been free for longest. Where none is free the flow waits, and its wait is in
//! its time and in that of its first request. The other requests are due when their user can send
//! them. What has begun goes on in the drain.

use engine::Driver;
use measure::counters::ErrorKind;
use measure::record::Unmet;
use measure::time::Time;
use session::{Exchange, Passage, Verdict};
use workload::{Answered, Came, Does, Ended, Users};

use super::{Phase, Worker};
use crate::connection::State;
use crate::requests::Requests;

impl<D: Driver> Worker<'_, D> {
    /// The users, where there are some.
    #[inline]
    fn users(&mut self) -> Option<&mut Users> {
        match &mut self.maker {
            Some(Requests::Users(users)) => Some(users),
            _ => None,
        }
    }

    /// Whether connections are users.
    #[inline]
    pub(super) fn has_users(&self) -> bool {
        matches!(self.maker, Some(Requests::Users(_)))
    }

    /// Users who are in the middle of their flows.
    pub(super) fn users_under_way(&self) -> u64 {
        match &self.maker {
            Some(Requests::Users(users)) => users.under_way() as u64,
            _ => 0,
        }
    }

    /// The user of a connection does what is next, if the connection can take it. `due`: when its
    /// first request was, and whether its flow had to wait for a user.
    pub(super) fn user_goes_on(&mut self, index: usize, mut due: Option<(Time, bool)>, now: Time) {
        let session = &self.core.sessions[index];
        if session.state() != State::Open || session.own.rests || self.room(session) == 0 {
            return;
        }
        let is_open = self.assignment.marks.is_some();
        let is_loading = self.phase == Phase::Loading;
        while let Some(users) = self.users() {
            match users.next(index, now) {
                Does::Send => {
                    let (intended, waited) = due.take().unwrap_or((now, false));
                    return self.send_of_user(index, (intended, waited), now);
                }
                Does::Rest(until) => {
                    self.core.sessions[index].own.rests = true;
                    return self.core.set_timer(index, until);
                }
                Does::Listen => return,
                Does::Ended(ended) => self.flow_ended(&ended, now),
                Does::Nobody if is_open => {
                    if self.free.is_empty() {
                        // Whatever fell due since the last turn did so while everybody was busy.
                        self.blocked_at = now;
                    }
                    return self.offer(index);
                }
                Does::Nobody if !is_loading => return,
                Does::Nobody => {
                    if !users.begin(index, now, now) {
                        return self.look_for_end();
                    }
                    self.recorder.flow_due(now, now, false);
                }
            }
        }
    }

    /// Open loop: the flow that is due begins on a connection that is free, if there is one to
    /// begin.
    pub(super) fn begin_due(&mut self, index: usize, now: Time) {
        let Some(due) = self.due.filter(|due| *due <= now) else {
            return self.offer(index);
        };
        // From now on its requests are counted, each by itself.
        self.handed_out -= 1;
        if !self
            .users()
            .is_some_and(|users| users.begin(index, due, now))
        {
            self.due = None;
            return self.look_for_end();
        }
        let waited = due <= self.blocked_at;
        self.recorder.flow_due(due, now, waited);
        self.look_ahead();
        if self.users().is_some_and(|users| !users.may_begin()) {
            // The schedule goes no further.
            self.handed_out -= u64::from(self.due.take().is_some());
        }
        self.user_goes_on(index, Some((due, waited)), now);
    }

    /// Sends the request that a user has made.
    fn send_of_user(&mut self, index: usize, (intended, waited): (Time, bool), now: Time) {
        let mut exchange = match self.refused_of(index, now) {
            Some(refused) => refused,
            None => self.new_of_user(index, (intended, waited), now),
        };
        self.last_activity = now;
        self.core.append(index);
        exchange.sent = now;
        let session = &mut self.core.sessions[index];
        let place = self.flights.begin(index, &mut session.own.ring, exchange);
        if let Some(Requests::Users(users)) = &self.maker {
            session.wire.say(place, users.say(), &mut session.out);
        }
        self.transmit(index, 1, now);
    }

    /// An exchange that begins with this request.
    fn new_of_user(
        &mut self,
        index: usize,
        (intended, waited): (Time, bool),
        now: Time,
    ) -> Exchange {
        let step = self.users().map_or(0, |users| users.step(index));
        let exchange = Exchange::new(intended, Time::NEVER).of_step(step);
        self.recorder.step_begun(&exchange);
        self.begun += 1;
        if self.assignment.marks.is_some() {
            self.handed_out += 1;
            self.recorder.fell_due(intended);
            self.recorder.dispatched(&exchange, now, waited);
        }
        exchange
    }

    /// The exchange of a connection's user that the peer has refused, which is taken up again.
    fn refused_of(&mut self, index: usize, now: Time) -> Option<Exchange> {
        let at = self.refused.iter().position(|(whose, _)| *whose == index)?;
        let (_, refused) = self.refused.swap_remove(at);
        self.recorder.taken_again(&refused, now);
        Some(refused)
    }

    /// The user of a connection has its answer.
    #[inline(never)]
    pub(super) fn user_answered(&mut self, index: usize, now: Time) {
        let ring = &mut self.core.sessions[index].own.ring;
        let Some(exchange) = self.flights.end(index, ring, 0) else {
            return;
        };
        let took_ns = now.since(exchange.sent);
        let judged = match (&mut self.maker, self.memory.heard()) {
            (Some(Requests::Users(users)), Some(heard)) => heard.judge(|told| {
                let came = Came {
                    status: told.status,
                    is_old: told.is_old,
                    body: told.body,
                    is_cut: told.is_cut,
                    is_broken: told.is_broken,
                };
                let answered = users.answered(index, (now, took_ns), came, told.fields());
                (told.status, answered)
            }),
            _ => None,
        };
        let Some((status, answered)) = judged else {
            return self.recorder.failed(&exchange, ErrorKind::Other, now);
        };
        let verdict = match answered {
            Answered::Well | Answered::Redirected => Verdict::Met,
            Answered::Strange => Verdict::Strange,
            Answered::Unmet(rule) => Verdict::Unmet(rule),
        };
        self.recorder.judged(&exchange, now, (status, verdict));
        if answered == Answered::Redirected {
            self.recorder.followed(&exchange);
        }
        self.settle(index, now);
    }

    /// The exchange of a connection's user was lost.
    pub(super) fn user_lost(&mut self, index: usize, kind: ErrorKind, now: Time) {
        if let Some(users) = self.users() {
            users.lost(index, kind, now);
            self.settle(index, now);
        }
    }

    /// The exchange of a connection's user ended without an answer, and the connection stands. One
    /// that the peer refused waits for this connection, or for the one that is opened in its place,
    /// since it's this user's; one that was refused too often has failed.
    pub(super) fn user_refused(&mut self, index: usize, failed: Option<ErrorKind>, now: Time) {
        let Some(refused) = self.again.pop_back() else {
            let kind = failed.unwrap_or(ErrorKind::StreamGivenUp);
            return self.user_lost(index, kind, now);
        };
        self.refused.push((index, refused));
        if let Some(users) = self.users() {
            users.again(index);
        }
    }

    /// Counts the flow of a connection, if that is over: its next user may come much later.
    fn settle(&mut self, index: usize, now: Time) {
        if let Some(users) = self.users()
            && users.is_through(index)
            && let Does::Ended(ended) = users.next(index, now)
        {
            self.flow_ended(&ended, now);
        }
    }

    fn flow_ended(&mut self, ended: &Ended, now: Time) {
        let Ended {
            due, began, done, ..
        } = *ended;
        self.recorder
            .flow_ended(Passage { due, began, done }, ended.failed);
        if let (Some(kind), Some(rule)) = (ended.failed, ended.unmade) {
            self.recorder.unmade(kind, rule, now);
        }
        self.look_for_end();
    }

    /// The run is over where there is nobody, and nobody will come.
    fn look_for_end(&mut self) {
        if self.users().is_some_and(|users| users.is_over()) {
            self.no_more(0);
        }
    }

    /// What users have found wrong, by line.
    pub(super) fn faults(&self) -> Vec<Unmet> {
        match &self.maker {
            Some(Requests::Users(users)) => users.told(&self.recorder.unmet),
            _ => Vec::new(),
        }
    }

    /// At the end: enters the flows that are under way.
    pub(super) fn enter_passages(&mut self, now: Time) {
        if let Some(Requests::Users(users)) = &self.maker {
            for (due, began) in users.passages() {
                self.recorder.flow_unfinished(due, Some(began), now);
            }
        }
    }
}
