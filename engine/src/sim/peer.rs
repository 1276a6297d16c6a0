//! Scripted peers: the other side of a connection, written as answers to what happens.

use std::collections::VecDeque;

use measure::time::Time;

use super::listeners::Listener;
use super::world::{EndId, Happening, Owner, World};
use crate::driver::{Address, SocketOptions};

/// Names one connection of a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Connection(pub(super) u64);

/// Who accepts or makes connections in the simulated network without being a driver.
///
/// A peer says what it will do, and when, by [`Replies`]. It must not call its network.
pub trait Peer {
    /// A connection stands, whoever began it.
    fn opened(&mut self, connection: Connection, now: Time, replies: &mut Replies) {
        let _ = (connection, now, replies);
    }

    /// Bytes came, in whatever pieces.
    fn received(&mut self, connection: Connection, bytes: &[u8], now: Time, replies: &mut Replies);

    /// The other side will send no more. A peer that does not say otherwise closes too.
    fn ended(&mut self, connection: Connection, now: Time, replies: &mut Replies) {
        let _ = (connection, now);
        replies.close(0);
    }

    /// The connection is gone: reset, or never taken.
    fn reset(&mut self, connection: Connection, now: Time) {
        let _ = (connection, now);
    }
}

/// What a peer will do on the connection it was asked about. Each deed has its delay; deeds at the
/// same time are done in the order given. A peer that gives none stalls.
#[derive(Debug, Default)]
pub struct Replies {
    pub(super) deeds: Vec<(u64, Deed)>,
}

/// One deed of a peer.
#[derive(Debug)]
pub(super) enum Deed {
    Send(Vec<u8>),
    Close,
    Reset,
    Read(bool),
}

impl Replies {
    /// Sends `bytes`, `after_ns` from now. What does not fit under way waits for room.
    pub fn send(&mut self, after_ns: u64, bytes: impl Into<Vec<u8>>) {
        self.deeds.push((after_ns, Deed::Send(bytes.into())));
    }

    /// Ends its half of the connection, behind all that it has sent.
    pub fn close(&mut self, after_ns: u64) {
        self.deeds.push((after_ns, Deed::Close));
    }

    /// Resets the connection.
    pub fn reset(&mut self, after_ns: u64) {
        self.deeds.push((after_ns, Deed::Reset));
    }

    /// Stops reading, so that the other side's sends find no room in the end.
    pub fn stop_reading(&mut self, after_ns: u64) {
        self.deeds.push((after_ns, Deed::Read(false)));
    }

    /// Reads again.
    pub fn start_reading(&mut self, after_ns: u64) {
        self.deeds.push((after_ns, Deed::Read(true)));
    }
}

/// The part of the network that only peers need.
impl World {
    /// Has a peer listen; returns whether the address was free.
    pub(super) fn serve(&mut self, address: &Address, peer: Box<dyn Peer>) -> bool {
        let owner = Owner::Peer {
            index: self.peers.len(),
        };
        self.peers.push(Some(peer));
        self.add_listener(Listener {
            address: address.clone(),
            owner,
            shared: false,
            backlog: usize::MAX,
            options: SocketOptions::default(),
            waiting: VecDeque::new(),
        })
    }

    /// Has a peer connect.
    pub(super) fn dial(&mut self, to: &Address, peer: Box<dyn Peer>) -> Connection {
        let owner = Owner::Peer {
            index: self.peers.len(),
        };
        self.peers.push(Some(peer));
        Connection(self.connect(to, &SocketOptions::default(), owner))
    }

    /// Gives a peer what has arrived for it, unless it does not read.
    pub(super) fn let_read(&mut self, index: usize, id: EndId) {
        let Some(end) = self.ends.get_mut(&id).filter(|end| end.script.reading) else {
            return;
        };
        let bytes: Vec<u8> = end.inbox.drain(..).collect();
        let ended = end.ended && !std::mem::replace(&mut end.script.knows_end, end.ended);
        if !bytes.is_empty() {
            self.has_read(id, bytes.len());
            self.ask(index, id, |peer, now, replies| {
                peer.received(Connection(id), &bytes, now, replies);
            });
        }
        if ended {
            self.ask(index, id, |peer, now, replies| {
                peer.ended(Connection(id), now, replies);
            });
        }
    }

    /// Sends what has waited for room, and the end behind it.
    pub(super) fn send_unsent(&mut self, id: EndId) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        let mut unsent = std::mem::take(&mut end.script.unsent);
        let taken = self.send(id, unsent.make_contiguous(), true);
        unsent.drain(..taken);
        let all = unsent.is_empty();
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        end.script.unsent = unsent;
        if all && end.script.closing && !end.script.closed {
            end.script.closed = true;
            if end.ended {
                end.owner = Owner::Gone;
            }
            self.schedule_behind(id, |other| Happening::End { end: other });
        }
    }

    /// A peer does what it said it would.
    pub(super) fn perform(&mut self, id: EndId, deed: Deed) {
        let Some(end) = self.ends.get_mut(&id) else {
            return;
        };
        match deed {
            // What comes after its own end is a slip of the script, and has nowhere to go.
            Deed::Send(bytes) if !end.script.closing => {
                end.script.unsent.extend(bytes);
                self.send_unsent(id);
            }
            Deed::Send(_) => {}
            Deed::Close => {
                end.script.closing = true;
                self.send_unsent(id);
            }
            Deed::Reset => self.reset(id),
            Deed::Read(reading) => {
                end.script.reading = reading;
                if let Owner::Peer { index } = end.owner {
                    self.let_read(index, id);
                }
            }
        }
    }

    /// Asks a peer and takes down what it will do.
    pub(super) fn ask(
        &mut self,
        index: usize,
        end: EndId,
        question: impl FnOnce(&mut dyn Peer, Time, &mut Replies),
    ) {
        let Some(mut peer) = self.peers.get_mut(index).and_then(Option::take) else {
            return;
        };
        let mut replies = Replies::default();
        question(&mut *peer, self.now, &mut replies);
        self.peers[index] = Some(peer);
        for (after_ns, deed) in replies.deeds {
            self.schedule(after_ns, Happening::Deed { end, deed });
        }
    }
}
