//! Scripted peers: the other side of a connection, written as answers to what happens.

use measure::time::Time;

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
