//! A bus in memory, in simulated time, that does to messages whatever a bus may do: for tests of
//! whatever speaks over one.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::rc::Rc;

use bytes::Bytes;

use measure::random::Random;
use measure::time::Time;

use crate::bus::{Bus, Refused, Subject};
use crate::message::MESSAGE_MAX;

/// What is done to messages, each to itself: a message that many hear may come to some of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// The share of messages (0 to 1) that is lost.
    pub loss: f64,
    /// The share that comes twice.
    pub doubled: f64,
    /// The least time that a message takes.
    pub delay_ns: u64,
    /// A message takes up to so much longer, by chance; so one may overtake another.
    pub jitter_ns: u64,
    /// The share that takes up to a hundred times as long as the jitter.
    pub late: f64,
}

/// The bus itself, without which no message arrives.
#[derive(Clone, Debug)]
pub struct Network(Rc<RefCell<State>>);

/// An end of it.
#[derive(Debug)]
pub struct End {
    number: usize,
    network: Rc<RefCell<State>>,
}

#[derive(Debug)]
struct State {
    now: Time,
    random: Random,
    faults: Faults,
    away_until: Time,
    /// What each end listens at.
    listens: Vec<BTreeSet<Subject>>,
    inboxes: Vec<VecDeque<Bytes>>,
    /// Ends that hear nothing, and that nobody hears.
    cut: BTreeSet<usize>,
    flying: BinaryHeap<Reverse<Flying>>,
    sent: u64,
}

/// A message on its way to one end, ordered by when it comes.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Flying {
    comes: Time,
    number: u64,
    to: usize,
    message: Bytes,
}

impl Network {
    /// A bus with these faults, the same for the same seed.
    pub fn new(seed: u64, faults: Faults) -> Network {
        Network(Rc::new(RefCell::new(State {
            now: Time(0),
            random: Random::seeded(seed),
            faults,
            away_until: Time(0),
            listens: Vec::new(),
            inboxes: Vec::new(),
            cut: BTreeSet::new(),
            flying: BinaryHeap::new(),
            sent: 0,
        })))
    }

    /// A new end.
    pub fn end(&self) -> End {
        let mut state = self.0.borrow_mut();
        state.listens.push(BTreeSet::new());
        state.inboxes.push(VecDeque::new());
        End {
            number: state.inboxes.len() - 1,
            network: Rc::clone(&self.0),
        }
    }

    /// What is done to messages from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.0.borrow_mut().faults = faults;
    }

    /// When the next message comes.
    pub fn next_due(&self) -> Option<Time> {
        let state = self.0.borrow();
        state.flying.peek().map(|Reverse(flying)| flying.comes)
    }

    /// It is `now`: what comes by then is there. Says whose inboxes have something.
    pub fn advance(&self, now: Time) -> BTreeSet<usize> {
        let mut state = self.0.borrow_mut();
        state.now = now;
        while state
            .flying
            .peek()
            .is_some_and(|Reverse(flying)| flying.comes <= now)
            && let Some(Reverse(flying)) = state.flying.pop()
        {
            if !state.cut.contains(&flying.to) {
                state.inboxes[flying.to].push_back(flying.message);
            }
        }
        let inboxes = state.inboxes.iter().enumerate();
        let filled = inboxes.filter(|(_, inbox)| !inbox.is_empty());
        filled.map(|(end, _)| end).collect()
    }

    /// The broker is started again, and back at some time: what is on its way is lost, and so is
    /// what is said until then.
    pub fn restart(&self, until: Time) {
        let mut state = self.0.borrow_mut();
        state.flying.clear();
        state.away_until = until;
    }

    /// Cuts an end off, or connects it again: what it would hear in between is lost.
    pub fn cut(&self, end: usize, is_cut: bool) {
        let mut state = self.0.borrow_mut();
        match is_cut {
            true => state.cut.insert(end),
            false => state.cut.remove(&end),
        };
    }
}

impl State {
    /// How long a message takes.
    fn takes_ns(&mut self) -> u64 {
        let faults = self.faults;
        let reach = match self.random.unit() < faults.late {
            true => faults.jitter_ns.saturating_mul(100),
            false => faults.jitter_ns,
        };
        faults.delay_ns + self.random.below(reach.saturating_add(1))
    }

    fn send(&mut self, to: usize, message: &Bytes) {
        if self.random.unit() < self.faults.loss {
            return;
        }
        let copies = 1 + usize::from(self.random.unit() < self.faults.doubled);
        for _ in 0..copies {
            self.sent += 1;
            let flying = Flying {
                comes: self.now.plus(self.takes_ns()),
                number: self.sent,
                to,
                message: message.clone(),
            };
            self.flying.push(Reverse(flying));
        }
    }
}

impl End {
    /// Which it is, for [`Network::cut`].
    pub fn number(&self) -> usize {
        self.number
    }
}

impl Bus for End {
    fn subscribe(&mut self, subject: &Subject) {
        let mut state = self.network.borrow_mut();
        state.listens[self.number].insert(subject.clone());
    }

    fn unsubscribe(&mut self, subject: &Subject) {
        let mut state = self.network.borrow_mut();
        state.listens[self.number].remove(subject);
    }

    fn publish(&mut self, subject: &Subject, message: Bytes) -> Result<(), Refused> {
        if message.len() > MESSAGE_MAX {
            return Err(Refused::TooLong);
        }
        let mut state = self.network.borrow_mut();
        if state.now < state.away_until || state.cut.contains(&self.number) {
            return Err(Refused::Away);
        }
        for to in 0..state.listens.len() {
            if state.listens[to].contains(subject) {
                state.send(to, &message);
            }
        }
        Ok(())
    }

    fn next(&mut self) -> Option<Bytes> {
        self.network.borrow_mut().inboxes[self.number].pop_front()
    }
}
