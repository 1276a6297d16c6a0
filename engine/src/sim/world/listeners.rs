//! Who listens where, and how a connection comes to stand.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use measure::time::Time;

use super::super::peer::Connection;
use super::{BUFFER_BYTES, EndId, Happening, Listener, Note, Owner, World};
use crate::driver::{Address, Fault, Listen, Share, SocketOptions};

/// How long a connect waits before it knocks again at a full listener.
const KNOCK_NS: u64 = 1_000_000;
/// The first port that is given out.
const PORT_FIRST: u16 = 32_768;

impl World {
    /// Opens a listener of a driver; says where, or `None` if the address is taken.
    pub(in crate::sim) fn listen(&mut self, listen: &Listen, owner: Owner) -> Option<Address> {
        let address = match &listen.address {
            Address::Tcp(address) if address.port() == 0 => {
                let mut address = *address;
                address.set_port(PORT_FIRST.wrapping_add(self.ports_given));
                self.ports_given = self.ports_given.wrapping_add(1);
                Address::Tcp(address)
            }
            other => other.clone(),
        };
        let free = self.add_listener(Listener {
            address: address.clone(),
            owner,
            shared: listen.share_port,
            backlog: (listen.backlog as usize).max(1),
            options: listen.options.clone(),
            peers: listen.peers,
            waiting: VecDeque::new(),
        });
        free.then_some(address)
    }

    /// Adds a listener unless its address is taken by one that it can't join.
    pub(in crate::sim) fn add_listener(&mut self, new: Listener) -> bool {
        let mut others = self
            .listeners
            .iter()
            .filter(|other| other.address == new.address);
        let free = others.all(|other| other.shared.is_some() && new.shared == Some(Share::Next));
        if free {
            self.listeners.push(new);
        }
        free
    }

    /// Closes a listener; who waits there is reset.
    pub(in crate::sim) fn close_listener(&mut self, owner: Owner) {
        if let Some(position) = self.listeners.iter().position(|other| other.owner == owner) {
            for end in self.listeners.remove(position).waiting {
                self.reset(end);
            }
        }
    }

    /// Takes the next connection that waits at a listener.
    pub(in crate::sim) fn take_waiting(&mut self, listener: Owner) -> Option<EndId> {
        loop {
            let end = self.listener_of(listener)?.waiting.pop_front()?;
            if self.chance(self.faults.accept_failure) {
                self.reset(end);
            } else if self.ends.get(&end).is_some_and(|end| !end.reset) {
                return Some(end);
            } else {
                self.ends.remove(&end);
            }
        }
    }

    /// Starts a connection.
    pub(in crate::sim) fn connect(
        &mut self,
        to: &Address,
        options: &SocketOptions,
        owner: Owner,
    ) -> EndId {
        let from = self.new_end(owner);
        let (to, options) = (to.clone(), options.clone());
        let delay = self.delay();
        self.schedule(delay, Happening::Knock { from, to, options });
        from
    }

    /// A connect arrives at an address.
    pub(in crate::sim) fn knock(&mut self, from: EndId, to: Address, options: SocketOptions) {
        if !self.ends.contains_key(&from) {
            return;
        }
        let delay = self.delay();
        let sharing = self
            .listeners
            .iter()
            .filter(|listener| listener.address == to)
            .count();
        if sharing == 0 || self.chance(self.faults.refuse) {
            let refused = Some(Fault::Refused);
            return self.schedule(delay, Happening::Answer { end: from, refused });
        }
        let chosen = self.below(sharing);
        let mut sharing = self
            .listeners
            .iter()
            .filter(|listener| listener.address == to);
        let Some(listener) = sharing.nth(chosen) else {
            return;
        };
        if listener.waiting.len() >= listener.backlog {
            return self.schedule(KNOCK_NS, Happening::Knock { from, to, options });
        }
        let bytes = |size: Option<usize>| size.unwrap_or(BUFFER_BYTES);
        let there = bytes(options.send_buffer_bytes) + bytes(listener.options.receive_buffer_bytes);
        let back = bytes(listener.options.send_buffer_bytes) + bytes(options.receive_buffer_bytes);
        let owner = listener.owner;
        let peer = listener.peers.then(|| made_up(from, &to, options.source));
        let end = self.new_end(Owner::Waiting);
        if let Some(end) = self.ends.get_mut(&end) {
            end.peer = peer.flatten();
        }
        self.schedule(
            delay,
            Happening::Answer {
                end: from,
                refused: None,
            },
        );
        self.join((from, there), (end, back), self.now.plus(delay));
        match owner {
            Owner::Driver { index, socket } => {
                if let Some(listener) = self.listener_of(owner) {
                    listener.waiting.push_back(end);
                }
                self.drivers[index]
                    .notes
                    .push_back((socket, Note::Incoming));
            }
            Owner::Peer { index } => {
                self.adopt(end, owner);
                self.ask(index, end, |peer, now, replies| {
                    peer.opened(Connection(end), now, replies);
                });
            }
            Owner::Waiting | Owner::Gone => {}
        }
    }

    /// The answer to a connect arrives.
    pub(in crate::sim) fn answered(&mut self, id: EndId, refused: Option<Fault>) {
        let Some(owner) = self.ends.get(&id).map(|end| end.owner) else {
            return;
        };
        match (owner, refused) {
            (Owner::Driver { index, socket }, None) => {
                self.drivers[index]
                    .notes
                    .push_back((socket, Note::Connected));
            }
            (Owner::Driver { index, socket }, Some(fault)) => {
                self.ends.remove(&id);
                self.drivers[index]
                    .notes
                    .push_back((socket, Note::Refused(fault)));
            }
            (Owner::Peer { index }, None) => {
                self.ask(index, id, |peer, now, replies| {
                    peer.opened(Connection(id), now, replies);
                });
            }
            (Owner::Peer { .. }, Some(_)) => self.reset_arrives(id),
            (Owner::Waiting | Owner::Gone, _) => {}
        }
    }

    /// Makes two ends, each with its window, those of one connection. What is sent from the
    /// accepted one arrives behind the answer to the connect.
    fn join(&mut self, from: (EndId, usize), accepted: (EndId, usize), answered: Time) {
        if let Some(end) = self.ends.get_mut(&from.0) {
            (end.other, end.window) = (accepted.0, from.1);
        }
        if let Some(end) = self.ends.get_mut(&accepted.0) {
            (end.other, end.window) = (from.0, accepted.1);
            end.arrival = answered;
        }
    }

    fn listener_of(&mut self, owner: Owner) -> Option<&mut Listener> {
        self.listeners
            .iter_mut()
            .find(|listener| listener.owner == owner)
    }
}

/// Where an end that connects is: at its source or on loopback, at a port of its own.
fn made_up(from: EndId, to: &Address, source: Option<IpAddr>) -> Option<SocketAddr> {
    let loopback = match to {
        Address::Tcp(SocketAddr::V4(_)) => IpAddr::from(Ipv4Addr::LOCALHOST),
        Address::Tcp(SocketAddr::V6(_)) => IpAddr::from(Ipv6Addr::LOCALHOST),
        Address::Unix(_) => return None,
    };
    let port = PORT_FIRST + (from % u64::from(PORT_FIRST)) as u16;
    Some(SocketAddr::new(source.unwrap_or(loopback), port))
}
