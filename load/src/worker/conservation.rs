//! No exchange is lost, and none is counted twice, whatever the peer does.
//!
//! The laws are checked in every run, ten times a second from the beginning of the load to the end
//! of the drain, and at its end, from counters that are kept apart: the schedule's, the worker's,
//! those of the places where exchanges lie, the recorder's.
//!
//! - *due = sent + waiting + given up*: of what the schedule has handed out every exchange has
//!   begun, or is the next one, or was dropped with the warm-up, or fell due after the end.
//! - *sent = done + failed + unfinished*: of what has begun every exchange has ended once, or lies
//!   at a place of its connection, or waits to be sent again. (One that waits for a connection of
//!   its own has begun and lies at that connection's place.)
//! - The same holds for each step of a workload, and the steps add up to the whole.
//! - No connection has more exchanges than it has places.
//! - While an exchange waits to be sent, some connection stands, or is to be opened; where there
//!   are several origins, one to its own.
//!
//! A broken law is a bug of ours, never the peer's doing. The run goes on to its end, because what
//! it has measured may tell what went wrong, and its record is invalid and names the law. Tests on
//! the simulator fail at once.

use engine::Driver;
use measure::tally::{Counted, StepTally, Tally};

use super::{Outcome, Session, Worker};
use crate::connection::State;

#[cfg(test)]
thread_local! {
    /// When the laws were checked, by the workers of this thread.
    pub(crate) static CHECKED: std::cell::RefCell<Vec<measure::time::Time>> = const {
        std::cell::RefCell::new(Vec::new())
    };
}

/// What is known of a worker's exchanges.
#[derive(Clone, Copy, Debug, Default)]
struct Account {
    /// Handed out by the schedule of an open loop, or by users who go on in it; none where answers
    /// make exchanges due.
    due: Option<u64>,
    begun: u64,
    /// The next one of the schedule.
    waiting: u64,
    /// Never begun: of the warm-up, and after the end.
    given_up: u64,
    /// Answered, failed, or left unfinished.
    ended: u64,
    /// At the places of connections, and to be sent again.
    under_way: u64,
    again: u64,
    /// Begun on a connection that had no place left.
    overrun: u64,
}

impl Account {
    /// Which law does not hold.
    fn broken(&self) -> Option<String> {
        let Account {
            begun,
            waiting,
            given_up,
            ended,
            under_way,
            again,
            ..
        } = *self;
        if let Some(due) = self.due
            && due != begun + waiting + given_up
        {
            return Some(format!(
                "{due} requests were due, but {begun} were begun, {waiting} waited and {given_up} \
                 were given up"
            ));
        }
        if begun != ended + under_way + again {
            return Some(format!(
                "{begun} requests were begun, but {ended} had ended, {under_way} were under way \
                 and {again} waited to be sent again"
            ));
        }
        (self.overrun > 0).then(|| {
            format!(
                "{} requests were begun on connections that had no room for them",
                self.overrun
            )
        })
    }
}

impl<D: Driver> Worker<'_, D> {
    /// At each edge, between two turns: holds what was counted, and the connections, against the
    /// laws.
    pub(super) fn check_laws(&mut self) {
        #[cfg(test)]
        CHECKED.with_borrow_mut(|checked| checked.push(self.core.driver.now()));
        self.core.check();
        self.check_counts();
        if self.is_stranded() {
            let again = self.again.len();
            let due = u64::from(self.due.is_some());
            self.breach.get_or_insert_with(|| {
                format!(
                    "{due} due requests and {again} to be sent again were waiting, but no \
                     connection was open or about to be opened"
                )
            });
        }
    }

    fn check_counts(&mut self) {
        if self.breach.is_none() {
            self.breach = self.account().broken();
        }
    }

    /// At the end, before the last exchanges are taken from their places: looks at each of them.
    pub(super) fn check_places(&mut self) {
        self.check_laws();
        let depth = self.assignment.depth;
        let (mut found, mut told, mut fullest) = (0, 0, 0);
        for (index, session) in self.core.sessions.iter().enumerate() {
            let taken = |place: &u32| self.flights.at(index, session.own.ring, *place).is_some();
            found += (0..depth).filter(taken).count() as u64;
            told += u64::from(session.own.ring.unanswered());
            fullest = fullest.max(session.own.ring.unanswered());
        }
        let total = self.flights.total();
        if (found, told) != (total, total) || fullest > depth {
            self.breach.get_or_insert_with(|| {
                format!(
                    "{total} requests were under way, but {told} by the count of their connections \
                     and {found} by their places, with {fullest} of at most {depth} on one \
                     connection"
                )
            });
        }
    }

    /// Whether an exchange waits to be sent, and no connection stands or ever will.
    fn is_stranded(&self) -> bool {
        let waits = self.due.is_some() || !self.again.is_empty();
        let is_idle = |session: &Session| session.state() == State::Down && !session.has_timer();
        let sessions = &self.core.sessions;
        let is_stranded = match &self.pools {
            None => waits && sessions.iter().all(is_idle),
            Some(pools) => pools.is_stranded(|index| is_idle(&sessions[index]), sessions.len()),
        };
        is_stranded && self.assignment.keep_alive
    }

    /// At the very end: nothing is left.
    pub(super) fn check_end(&mut self) {
        self.check_counts();
        let left = self.under_way();
        if left > 0 {
            self.breach
                .get_or_insert_with(|| format!("{left} requests were left behind"));
        }
    }

    fn account(&self) -> Account {
        Account {
            due: self.assignment.marks.is_some().then_some(self.handed_out),
            begun: self.begun,
            // Where the backlog was cut, its last one has begun already.
            waiting: u64::from(self.due.is_some() && !self.backlog_cut),
            given_up: self.dropped + self.passed_over,
            ended: self.recorder.ended,
            under_way: self.flights.total(),
            again: self.under_way() - self.flights.total(),
            overrun: self.flights.overrun(),
        }
    }
}

impl Outcome {
    /// It has all that it counted, or gets back what of it was handed over `earlier`: whether that
    /// adds up.
    pub(crate) fn settle(&mut self, earlier: Option<&Counted>) {
        if let Some(earlier) = earlier {
            self.recorder.tally.take_back(earlier);
        }
        let broken = uneven(&self.recorder.tally, self.recorder.exchange_steps());
        let broken = broken.or_else(|| self.recorder.check_waits());
        self.breach = self.breach.take().or(broken);
    }
}

/// What the tally of a run that is over says of its window, if it does not add up.
/// `steps`: those of it that are exchanges.
fn uneven(tally: &Tally, steps: &[StepTally]) -> Option<String> {
    let Counted {
        intended,
        completed,
        failed,
        unfinished,
        ..
    } = *tally.counted();
    if intended != completed + failed + unfinished {
        return Some(format!(
            "{intended} requests were due in the window, but {completed} were answered, {failed} \
             failed and {unfinished} were unfinished"
        ));
    }
    let strange = steps.iter().find(|step| step.intended != step.ended());
    if let Some(step) = strange {
        let (due, ended) = (step.intended, step.ended());
        return Some(format!(
            "{due} requests of a step were due in the window, but {ended} ended"
        ));
    }
    let due: u64 = steps.iter().map(|step| step.intended).sum();
    (!steps.is_empty() && due != intended).then(|| {
        format!("{intended} requests were due in the window, but {due} by the count of their steps")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVEN: Account = Account {
        due: Some(10),
        begun: 7,
        waiting: 1,
        given_up: 2,
        ended: 4,
        under_way: 2,
        again: 1,
        overrun: 0,
    };

    #[test]
    fn each_law_is_named_when_it_is_broken() {
        assert_eq!(EVEN.broken(), None);
        let closed = Account { due: None, ..EVEN };
        assert_eq!(closed.broken(), None);
        let lost = Account {
            given_up: 1,
            ..EVEN
        };
        assert!(lost.broken().unwrap().starts_with("10 requests were due"));
        let lost = Account { ended: 3, ..EVEN };
        assert!(lost.broken().unwrap().starts_with("7 requests were begun"));
        let overrun = Account { overrun: 1, ..EVEN };
        assert!(overrun.broken().unwrap().contains("no room for them"));
    }

    #[test]
    fn a_tally_that_does_not_add_up_is_told() {
        let mut tally = Tally::new(measure::tally::Loop::Open);
        (tally.intended, tally.unfinished) = (3, 3);
        assert_eq!(uneven(&tally, &tally.steps), None);
        tally.completed = 1;
        assert!(uneven(&tally, &tally.steps).is_some());
        tally.completed = 0;
        tally.steps.resize_with(2, Default::default);
        assert!(
            uneven(&tally, &tally.steps)
                .unwrap()
                .contains("by the count of their steps")
        );
        (tally.steps[1].intended, tally.steps[1].unfinished) = (3, 2);
        assert!(uneven(&tally, &tally.steps).unwrap().contains("of a step"));
        tally.steps[1].unfinished = 3;
        assert_eq!(uneven(&tally, &tally.steps), None);
    }
}
