//! Connections that go through the steps of a flow, each by itself: the messages of a WebSocket.

use engine::Driver;
use measure::time::Time;

use super::Worker;
use crate::requests::Requests;
use session::Exchange;
use workload::Next;

impl<D: Driver> Worker<'_, D> {
    /// Of `count` exchanges that a connection of a flow may send, how many it does now. What comes
    /// before that is done: messages that nothing answers are sent, and it rests.
    pub(super) fn of_flow(&mut self, index: usize, count: u32, now: Time) -> u32 {
        let own = &self.core.sessions[index].own;
        if count == 0 || own.rests || own.ring.unanswered() > 0 {
            return 0;
        }
        self.core.append(index);
        let Some(Requests::Flow(flows)) = &mut self.maker else {
            return count;
        };
        let session = &mut self.core.sessions[index];
        loop {
            match flows.next(index) {
                Next::Exchange => return 1,
                Next::Message(said) => {
                    session.wire.say(0, said, &mut session.out);
                    self.recorder.sent_messages(&Exchange::new(now, now), 1);
                }
                Next::Rest(rest_ns) => {
                    session.own.rests = true;
                    self.core.set_timer(index, now.plus(rest_ns));
                    return 0;
                }
                Next::Over => break,
            }
        }
        if flows.is_over() {
            self.no_more(0);
        }
        0
    }

    /// A connection of a flow is lost: it begins with the first step when it's opened again.
    pub(super) fn start_over(&mut self, index: usize) {
        if let Some(Requests::Flow(flows)) = &mut self.maker {
            flows.start_over(index);
            if flows.is_over() {
                self.no_more(0);
            }
        }
    }
}
