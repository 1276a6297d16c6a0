//! Requests that a script makes: when a connection may send one, and what the script is told.

use engine::Driver;
use measure::time::Time;

use super::Worker;
use crate::requests::Requests;

impl<D: Driver> Worker<'_, D> {
    /// Of `count` requests how many a script lets a connection send now: as many as one of its
    /// calls returns, once the last of these are answered; and none while the connection waits.
    pub(super) fn of_script(&mut self, index: usize, count: u32, now: Time) -> u32 {
        let Some(Requests::Script(script)) = &mut self.maker else {
            return count;
        };
        let needs = script.needs();
        if !needs.delay && needs.per_call == 1 {
            return count;
        }
        let own = &mut self.core.sessions[index].own;
        if own.ring.unanswered() > 0 || own.rests || count == 0 {
            return 0;
        }
        if needs.delay && !std::mem::take(&mut own.rested) {
            let wait_ns = script.delay_ns();
            if wait_ns > 0 {
                own.rests = true;
                self.core.set_timer(index, now.plus(wait_ns));
                return 0;
            }
        }
        match needs.per_call {
            1 => 1,
            _ => count.min(script.batch()),
        }
    }

    /// A script that wants them is told of the answers that have come.
    pub(super) fn tell_script(&mut self) {
        if let (Some(Requests::Script(script)), Some(heard)) =
            (&mut self.maker, self.memory.heard())
        {
            heard.tell(|status, fields, body| script.answered(status, fields, body));
        }
    }
}
