//! The part of the network that only peers need.

use std::collections::VecDeque;

use measure::time::Time;

use super::super::peer::{Connection, Deed, Peer, Replies};
use super::{EndId, Happening, Listener, Owner, World};
use crate::driver::{Address, SocketOptions};

impl World {
    /// Has a peer listen; returns whether the address was free.
    pub(in crate::sim) fn serve(&mut self, address: &Address, peer: Box<dyn Peer>) -> bool {
        let owner = Owner::Peer {
            index: self.peers.len(),
        };
        self.peers.push(Some(peer));
        self.add_listener(Listener {
            address: address.clone(),
            owner,
            shared: None,
            backlog: usize::MAX,
            options: SocketOptions::default(),
            peers: false,
            waiting: VecDeque::new(),
        })
    }

    /// Has a peer connect.
    pub(in crate::sim) fn dial(&mut self, to: &Address, peer: Box<dyn Peer>) -> Connection {
        let owner = Owner::Peer {
            index: self.peers.len(),
        };
        self.peers.push(Some(peer));
        Connection(self.connect(to, &SocketOptions::default(), owner))
    }

    /// Gives a peer what has arrived for it, unless it does not read.
    pub(in crate::sim) fn let_read(&mut self, index: usize, id: EndId) {
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
    pub(in crate::sim) fn send_unsent(&mut self, id: EndId) {
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
    pub(in crate::sim) fn perform(&mut self, id: EndId, deed: Deed) {
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
    pub(in crate::sim) fn ask(
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
