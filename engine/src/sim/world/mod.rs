//! The network itself: what is under way, and the two ends of each connection.
//!
//! Knows drivers only by number and tells them through notes; knows no completions, buffers or
//! slots. An *end* is one side of a connection. Its number is never used again, so whatever
//! arrives for one that is gone finds nothing.

mod listeners;
mod peers;

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::net::SocketAddr;

use measure::random::Random;
use measure::time::Time;

use super::Faults;
use super::peer::{Connection, Deed, Peer};
use crate::driver::{Address, Broken, Fault, Share, SocketOptions, Token};

/// Somebody listens.
pub(super) struct Listener {
    pub(super) address: Address,
    pub(super) owner: Owner,
    pub(super) shared: Option<Share>,
    pub(super) backlog: usize,
    pub(super) options: SocketOptions,
    /// Whether its driver asks where its peers are.
    pub(super) peers: bool,
    /// Connections that stand and wait to be accepted.
    pub(super) waiting: VecDeque<EndId>,
}

/// Buffer sizes where the options leave them to the system.
pub(super) const BUFFER_BYTES: usize = 256 * 1024;
/// The most pieces into which a send is chopped.
const PIECES_MAX: usize = 64;

pub(super) type EndId = u64;

pub(super) struct World {
    pub(super) now: Time,
    pub(super) faults: Faults,
    pub(super) drivers: Vec<Attendance>,
    /// How often any driver waited.
    pub(super) turns: u64,
    random: Random,
    under_way: BinaryHeap<Reverse<Scheduled>>,
    scheduled: u64,
    pub(super) ends: HashMap<EndId, End>,
    ends_made: EndId,
    pub(super) listeners: Vec<Listener>,
    pub(super) ports_given: u16,
    pub(super) peers: Vec<Option<Box<dyn Peer>>>,
    /// When drivers stand still next, and for how long.
    pub(super) halts: VecDeque<(Time, u64)>,
}

/// What the network knows of a driver.
#[derive(Debug)]
pub(super) struct Attendance {
    pub(super) alive: bool,
    /// It was given something, or opened, and has not waited since.
    pub(super) busy: bool,
    /// Until when it last wanted to sleep.
    pub(super) deadline: Time,
    /// The turn in which it last waited.
    pub(super) turn: u64,
    /// What happened to its sockets.
    pub(super) notes: VecDeque<(Token, Note)>,
}

/// What happened to a socket of a driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// A connection waits at this listener.
    Incoming,
    Connected,
    Refused(Fault),
    /// Bytes, the end or a reset.
    Readable,
    /// There is room to send again.
    Room,
}

/// What an end has to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Readable {
    Bytes,
    End,
    Reset,
    Nothing,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Owner {
    Driver {
        index: usize,
        socket: Token,
    },
    Peer {
        index: usize,
    },
    /// Stands at a listener, nobody has taken it yet.
    Waiting,
    /// Closed by its owner.
    Gone,
}

#[derive(Debug)]
pub(super) struct End {
    /// Itself, until somebody answers its connect.
    pub(super) other: EndId,
    /// Where the other is, on an accepted end of a listener that asks.
    pub(super) peer: Option<SocketAddr>,
    pub(super) owner: Owner,
    pub(super) inbox: VecDeque<u8>,
    pub(super) ended: bool,
    pub(super) reset: bool,
    /// Its driver has shut it down: the other side's end is under way, or has come.
    shut: bool,
    /// Bytes sent from here that the other side has not read, and how many there may be.
    outstanding: usize,
    pub(super) window: usize,
    /// A send from here waits for room.
    blocked: bool,
    /// Nothing sent from here arrives earlier.
    pub(super) arrival: Time,
    pub(super) script: Script,
}

/// What only the end of a scripted peer has.
#[derive(Debug)]
pub(super) struct Script {
    /// Waits for room.
    pub(super) unsent: VecDeque<u8>,
    /// The end follows the unsent bytes.
    pub(super) closing: bool,
    /// The end was sent.
    pub(super) closed: bool,
    pub(super) reading: bool,
    /// The peer knows of the other side's end.
    pub(super) knows_end: bool,
}

struct Scheduled {
    at: Time,
    order: u64,
    what: Happening,
}

pub(super) enum Happening {
    /// A connect arrives at an address.
    Knock {
        from: EndId,
        to: Address,
        options: SocketOptions,
    },
    /// Its answer arrives.
    Answer {
        end: EndId,
        refused: Option<Fault>,
    },
    Bytes {
        end: EndId,
        bytes: Vec<u8>,
    },
    End {
        end: EndId,
    },
    Reset {
        end: EndId,
    },
    Room {
        end: EndId,
    },
    Deed {
        end: EndId,
        deed: Deed,
    },
    /// The network has other faults.
    Change {
        faults: Faults,
    },
}

impl World {
    pub(super) fn new(seed: u64, faults: Faults) -> World {
        World {
            now: Time(1_000_000_000),
            faults,
            drivers: Vec::new(),
            turns: 0,
            random: Random::seeded(seed),
            under_way: BinaryHeap::new(),
            scheduled: 0,
            ends: HashMap::new(),
            ends_made: 0,
            listeners: Vec::new(),
            ports_given: 0,
            peers: Vec::new(),
            halts: VecDeque::new(),
        }
    }

    /// When the next thing happens.
    pub(super) fn next_at(&self) -> Option<Time> {
        self.under_way.peek().map(|Reverse(next)| next.at)
    }

    /// Lets everything happen that is due.
    pub(super) fn settle(&mut self) {
        while self.next_at().is_some_and(|at| at <= self.now) {
            if let Some(Reverse(next)) = self.under_way.pop() {
                self.happen(next.what);
            }
        }
    }

    /// Where a driver is to stand still by now: lets that time pass, with all that happens in it.
    pub(super) fn halt(&mut self) {
        let next = self.halts.front().copied();
        let Some((_, length_ns)) = next.filter(|(at, _)| *at <= self.now) else {
            return;
        };
        self.halts.pop_front();
        let until = self.now.plus(length_ns);
        while let Some(next) = self.next_at().filter(|at| *at <= until) {
            self.now = self.now.max(next);
            self.settle();
        }
        self.now = until;
    }

    /// How far a driver may move time without passing over what the others have to do; `None` where
    /// one of them has to do something now. Drivers that nobody has called since this one's last
    /// turn are left out, for they are not being driven.
    pub(super) fn others_bound(&self, index: usize) -> Option<Time> {
        let since = self.drivers[index].turn;
        let mut bound = Time::NEVER;
        for (other, driver) in self.drivers.iter().enumerate() {
            if other == index || !driver.alive || driver.turn < since {
                continue;
            }
            if driver.busy || !driver.notes.is_empty() || driver.deadline <= self.now {
                return None;
            }
            bound = bound.min(driver.deadline);
        }
        Some(bound)
    }

    /// Nothing is under way, and nobody has a deadline. With others that may yet do something this
    /// is an early end of a sleep; alone it would be a sleep for ever.
    pub(super) fn stands_still(&self, index: usize) -> Result<(), Broken> {
        let mut others = self
            .drivers
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != index);
        if others.any(|(_, driver)| driver.alive) {
            return Ok(());
        }
        let what = "the simulated network stands still: nothing is under way in it, and its only \
                    driver waits without a deadline";
        Err(Broken(what.to_owned()))
    }

    /// Says whose an end is from now on. Returns where its peer is, if the listener asked.
    pub(super) fn adopt(&mut self, end: EndId, owner: Owner) -> Option<SocketAddr> {
        let end = self.ends.get_mut(&end)?;
        end.owner = owner;
        end.peer
    }

    /// Sends as much as there is room for, and says how much that was. If it was not all, a note
    /// comes when there is room again. A send that `may_be_short` can be so without need.
    pub(super) fn send(&mut self, from: EndId, bytes: &[u8], may_be_short: bool) -> usize {
        let Some(end) = self.ends.get(&from) else {
            return bytes.len();
        };
        let room = end.window.saturating_sub(end.outstanding);
        let mut taken = bytes.len().min(room);
        if taken > 1 && may_be_short && self.chance(self.faults.short_send) {
            taken = 1 + self.below(taken - 1);
            self.schedule(self.faults.latency_ns, Happening::Room { end: from });
        }
        if let Some(end) = self.ends.get_mut(&from) {
            end.blocked = taken < bytes.len();
            end.outstanding += taken;
            debug_assert!(
                taken == 0 || end.outstanding <= end.window,
                "{} bytes are under way, and the peer has room for {}",
                end.outstanding,
                end.window
            );
        }
        if taken > 0 {
            self.put_under_way(from, &bytes[..taken]);
        }
        taken
    }

    /// What there is to read at an end.
    pub(super) fn readable(&self, end: EndId) -> Readable {
        match self.ends.get(&end) {
            None => Readable::Reset,
            Some(end) if end.reset => Readable::Reset,
            Some(end) if !end.inbox.is_empty() => Readable::Bytes,
            Some(end) if end.ended => Readable::End,
            Some(_) => Readable::Nothing,
        }
    }

    /// Whether an end was reset, which a sender sees even if nobody reads.
    pub(super) fn is_reset(&self, end: EndId) -> bool {
        self.readable(end) == Readable::Reset
    }

    /// Reads into `buffer`; says how much.
    pub(super) fn read(&mut self, id: EndId, buffer: &mut [u8]) -> usize {
        let Some(end) = self.ends.get_mut(&id) else {
            return 0;
        };
        let length = buffer.len().min(end.inbox.len());
        for (place, byte) in buffer.iter_mut().zip(end.inbox.drain(..length)) {
            *place = byte;
        }
        self.has_read(id, length);
        length
    }

    /// Ends what is sent from one side: what was sent arrives, then the end.
    pub(super) fn shut(&mut self, id: EndId) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        if !end.reset && !std::mem::replace(&mut end.shut, true) {
            self.schedule_behind(id, |other| Happening::End { end: other });
        }
    }

    /// Ends a connection from one side: what was sent arrives, then the end.
    pub(super) fn close(&mut self, id: EndId) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        end.owner = Owner::Gone;
        if end.reset || end.other == id {
            // Reset already, or never connected.
            self.ends.remove(&id);
        } else if !end.shut {
            self.schedule_behind(id, |other| Happening::End { end: other });
        } else if end.ended {
            let other = end.other;
            self.forget(id, other);
        }
    }

    /// Resets a connection from one side.
    pub(super) fn reset(&mut self, id: EndId) {
        let Some(end) = self.ends.get(&id) else {
            return;
        };
        if !end.reset && end.other != id {
            self.schedule_behind(id, |other| Happening::Reset { end: other });
        }
        self.ends.remove(&id);
    }

    pub(super) fn new_end(&mut self, owner: Owner) -> EndId {
        self.ends_made += 1;
        let end = End {
            other: self.ends_made,
            peer: None,
            owner,
            inbox: VecDeque::new(),
            ended: false,
            reset: false,
            shut: false,
            outstanding: 0,
            window: BUFFER_BYTES,
            blocked: false,
            arrival: self.now,
            script: Script {
                unsent: VecDeque::new(),
                closing: false,
                closed: false,
                reading: true,
                knows_end: false,
            },
        };
        let before = self.ends.insert(self.ends_made, end);
        debug_assert!(before.is_none(), "an end has the number of another");
        self.ends_made
    }

    fn happen(&mut self, what: Happening) {
        match what {
            Happening::Knock { from, to, options } => self.knock(from, to, options),
            Happening::Answer { end, refused } => self.answered(end, refused),
            Happening::Bytes { end, bytes } => self.arrive(end, &bytes),
            Happening::End { end } => self.end_arrives(end),
            Happening::Reset { end } => self.reset_arrives(end),
            Happening::Room { end } => self.room(end),
            Happening::Deed { end, deed } => self.perform(end, deed),
            Happening::Change { faults } => self.faults = faults,
        }
    }

    fn arrive(&mut self, id: EndId, bytes: &[u8]) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        if end.owner == Owner::Gone {
            // Nobody is there to read it (RFC 1122 §4.2.2.13).
            return self.reset(id);
        }
        end.inbox.extend(bytes);
        self.tell(id);
    }

    fn end_arrives(&mut self, id: EndId) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        end.ended = true;
        let (owner, other) = (end.owner, end.other);
        if owner == Owner::Gone {
            return self.forget(id, other);
        }
        self.tell(id);
        if self
            .ends
            .get(&id)
            .is_some_and(|end| end.script.closed && end.script.knows_end)
        {
            self.forget(id, other);
        }
    }

    /// Forgets an end that both sides have closed, and the other one if it knows that too.
    fn forget(&mut self, id: EndId, other: EndId) {
        self.ends.remove(&id);
        if self
            .ends
            .get(&other)
            .is_some_and(|end| end.owner == Owner::Gone && end.ended)
        {
            self.ends.remove(&other);
        }
    }

    pub(super) fn reset_arrives(&mut self, id: EndId) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        end.reset = true;
        end.inbox.clear();
        end.script.unsent.clear();
        match end.owner {
            Owner::Gone => drop(self.ends.remove(&id)),
            Owner::Peer { index } => {
                self.ends.remove(&id);
                self.ask(index, id, |peer, now, _| peer.reset(Connection(id), now));
            }
            Owner::Driver { .. } | Owner::Waiting => self.tell(id),
        }
    }

    /// Tells the owner of an end that there is something to read.
    fn tell(&mut self, id: EndId) {
        let owner = self.ends.get(&id).map(|end| end.owner);
        match owner {
            Some(Owner::Driver { index, socket }) => {
                self.drivers[index]
                    .notes
                    .push_back((socket, Note::Readable));
            }
            Some(Owner::Peer { index }) => self.let_read(index, id),
            Some(Owner::Waiting | Owner::Gone) | None => {}
        }
    }

    /// There is room to send again, perhaps.
    fn room(&mut self, id: EndId) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        match end.owner {
            Owner::Driver { index, socket } => {
                if std::mem::take(&mut end.blocked) {
                    self.drivers[index].notes.push_back((socket, Note::Room));
                }
            }
            Owner::Peer { .. } => self.send_unsent(id),
            Owner::Waiting | Owner::Gone => {}
        }
    }

    /// The owner of an end has taken bytes out: the other side has room again.
    pub(super) fn has_read(&mut self, id: EndId, length: usize) {
        let Some(other) = self.ends.get(&id).map(|end| end.other) else {
            return;
        };
        if let Some(sender) = self.ends.get_mut(&other) {
            debug_assert!(
                sender.outstanding >= length,
                "{length} bytes were read, and {} were sent",
                sender.outstanding
            );
            sender.outstanding = sender.outstanding.saturating_sub(length);
            if sender.blocked || !sender.script.unsent.is_empty() {
                let delay = self.delay();
                self.schedule(delay, Happening::Room { end: other });
            }
        }
    }

    /// Sends bytes on their way, whole or in pieces, or resets the connection.
    fn put_under_way(&mut self, from: EndId, bytes: &[u8]) {
        if self.chance(self.faults.reset) {
            self.schedule_behind(from, |other| Happening::Reset { end: other });
            let delay = self.delay();
            return self.schedule(delay, Happening::Reset { end: from });
        }
        let mut rest = bytes;
        if self.chance(self.faults.chop) {
            for _ in 1..PIECES_MAX {
                if rest.len() < 2 {
                    break;
                }
                // Of any magnitude, so that single bytes are as likely as long pieces.
                let magnitude = self.below(rest.len().ilog2() as usize + 1);
                let length = 1 + self.below((rest.len() - 1).min(1 << magnitude));
                let (piece, after) = rest.split_at(length);
                let bytes = piece.to_vec();
                self.schedule_behind(from, |other| Happening::Bytes { end: other, bytes });
                rest = after;
            }
        }
        let bytes = rest.to_vec();
        self.schedule_behind(from, |other| Happening::Bytes { end: other, bytes });
    }

    /// Sends something on its way to the other end, behind all that was sent before.
    pub(super) fn schedule_behind(&mut self, from: EndId, what: impl FnOnce(EndId) -> Happening) {
        let delay = self.delay();
        let now = self.now;
        if let Some(end) = self.ends.get_mut(&from) {
            end.arrival = end.arrival.max(now.plus(delay));
            let (at, other) = (end.arrival, end.other);
            self.schedule(at.since(now), what(other));
        }
    }

    pub(super) fn schedule(&mut self, after_ns: u64, what: Happening) {
        self.scheduled += 1;
        let (at, order) = (self.now.plus(after_ns), self.scheduled);
        self.under_way.push(Reverse(Scheduled { at, order, what }));
    }

    /// How long something is under way this time.
    pub(super) fn delay(&mut self) -> u64 {
        let jitter = match self.faults.jitter_ns {
            0 => 0,
            jitter => self.random.below(jitter + 1),
        };
        self.faults.latency_ns + jitter
    }

    /// Whether something of this probability happens now.
    pub(super) fn chance(&mut self, probability: f64) -> bool {
        // Nothing is drawn for what never happens.
        probability > 0.0 && self.random.unit() < probability
    }

    pub(super) fn below(&mut self, bound: usize) -> usize {
        if bound < 2 {
            0
        } else {
            self.random.index(bound)
        }
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Scheduled) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Scheduled) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Scheduled) -> Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
