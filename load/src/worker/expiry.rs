//! Exchanges that are overdue: given up alone where the protocol can do that, or with their
//! connection.

use engine::Driver;
use measure::counters::ErrorKind;
use measure::time::Time;

use super::Worker;

impl<D: Driver> Worker<'_, D> {
    /// Some exchange of an open connection may be overdue. Where one can be given up alone, the
    /// connection goes on.
    pub(super) fn expire_exchanges(&mut self, index: usize, now: Time) {
        let timeout_ns = self.assignment.timeout_ns;
        self.core.append(index);
        let session = &mut self.core.sessions[index];
        let (mut oldest, mut expired) = (Time::NEVER, false);
        for place in 0..self.assignment.depth {
            let Some(exchange) = self.flights.at(index, session.own.ring, place) else {
                continue;
            };
            let silent_since = self.recorder.silent_since((index, place), &exchange);
            if silent_since.plus(timeout_ns) > now {
                oldest = oldest.min(silent_since);
            } else if session.wire.cancel(place, &mut session.out) {
                self.flights.end(index, &mut session.own.ring, place);
                self.recorder
                    .cut_one((index, place), ErrorKind::Timeout, now);
                self.recorder.failed(&exchange, ErrorKind::Timeout, now);
                expired = true;
            } else {
                return self.lose(index, ErrorKind::Timeout, now);
            }
        }
        if oldest != Time::NEVER {
            self.core.set_timer(index, oldest.plus(timeout_ns));
        } else if session.is_sending() && self.expire_send(index, now) {
            return;
        }
        if expired && self.has_users() {
            self.user_lost(index, ErrorKind::Timeout, now);
        }
        let session = &self.core.sessions[index];
        if expired && session.wire.is_over(session.own.ring.unanswered()) {
            self.retire(index, now);
        } else if expired {
            self.freed(index, now);
        }
    }

    /// A request that was answered early or given up is still being taken, and nothing can be sent
    /// behind it. A peer that does not take it within another timeout will not: the connection is
    /// lost then.
    fn expire_send(&mut self, index: usize, now: Time) -> bool {
        let is_over = std::mem::replace(&mut self.core.sessions[index].own.overdue, true);
        if is_over {
            self.recorder.tally.error(ErrorKind::Timeout);
            self.lose(index, ErrorKind::Timeout, now);
        } else {
            self.core
                .set_timer(index, now.plus(self.assignment.timeout_ns));
        }
        is_over
    }
}
