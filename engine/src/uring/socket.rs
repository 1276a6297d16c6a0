//! What the driver knows of one socket, and how completions are tagged with it.

use super::ring::File;
use crate::driver::Token;
use crate::payloads::Outgoing;
use crate::writing::Writing;

/// State of one socket. Small: there may be very many.
#[derive(Debug)]
pub(super) struct Socket {
    pub(super) file: File,
    pub(super) phase: Phase,
    /// Operations whose last completion has not come. The slot is free when there are none.
    pub(super) operations: u8,
    /// Whether a receive is under way.
    pub(super) receiving: bool,
    /// Whether the owner wants to receive.
    pub(super) wanted: bool,
    /// Whether the owner may send.
    pub(super) writing: Writing,
    /// Whether a shutdown is under way.
    pub(super) shutting: bool,
    /// Whether the owner has been told that it failed. He hears nothing more of it.
    pub(super) failed: bool,
    /// What is left of the unfinished send; it keeps the bytes in place for the kernel.
    pub(super) sending: Option<Outgoing>,
}

/// What a socket is at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It listens.
    Listening,
    /// It connects.
    Connecting,
    /// It is connected.
    Connected,
    /// It is connected, and the peer has sent its last.
    Ended,
    /// It will be closed when its send or its shutdown has ended.
    Finishing,
    /// It is being closed.
    Closing,
}

impl Socket {
    /// A socket in `phase` on which nothing happens yet.
    pub(super) fn new(file: File, phase: Phase) -> Socket {
        Socket {
            file,
            phase,
            operations: 0,
            receiving: false,
            wanted: true,
            writing: Writing::Open,
            shutting: false,
            failed: false,
            sending: None,
        }
    }
}

/// What an operation is, as far as its completion is concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    /// Receiving on a connection, many times.
    Receive,
    /// Sending on a connection, with completion.
    Send,
    /// Sending on a connection that completes only in failure.
    QuietSend,
    /// Ending this side of a connection.
    Shutdown,
    /// Connecting.
    Connect,
    /// Accepting; the slot is the place in the driver's list of accepts.
    Accept,
    /// Closing a socket.
    Close,
    /// Closing an accepted file that never became a socket; the slot is the file.
    CloseFile,
    /// Something whose completion is of no interest.
    Ignored,
    /// The waker's poll.
    Wake,
    /// The poll of the bell that other rings of this thread ring.
    Bell,
    /// Cancelling everything, at the end.
    CancelAll,
}

const KINDS: [Kind; 12] = [
    Kind::Receive,
    Kind::Send,
    Kind::QuietSend,
    Kind::Shutdown,
    Kind::Connect,
    Kind::Accept,
    Kind::Close,
    Kind::CloseFile,
    Kind::Ignored,
    Kind::Wake,
    Kind::Bell,
    Kind::CancelAll,
];

/// The most slots that a tag can tell apart.
pub(super) const SLOTS_MAX: usize = 1 << SLOT_BITS;

const SLOT_BITS: u32 = 24;
const KIND_SHIFT: u32 = 56;

/// The `user_data` of an operation of `kind` on `socket`: kind, generation and slot.
#[inline]
pub(super) fn tag(kind: Kind, socket: Token) -> u64 {
    debug_assert!(
        socket.slot() < SLOTS_MAX,
        "a tag has no room for slot {}",
        socket.slot()
    );
    let generation = u64::from(socket.generation()) << SLOT_BITS;
    (kind as u64) << KIND_SHIFT | generation | socket.slot() as u64
}

/// The `user_data` of an operation of `kind` on no socket, with a number of its own.
pub(super) fn tag_number(kind: Kind, number: u32) -> u64 {
    tag(kind, Token::new(number, 0))
}

/// What a tag says. An unknown kind, which cannot be, is of no interest.
#[inline]
pub(super) fn untag(tag: u64) -> (Kind, Token) {
    let kind = KINDS
        .get((tag >> KIND_SHIFT) as usize)
        .copied()
        .unwrap_or(Kind::Ignored);
    let slot = tag as u32 & (SLOTS_MAX as u32 - 1);
    (kind, Token::new(slot, (tag >> SLOT_BITS) as u32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_reads_back_as_what_it_was_made_of() {
        for kind in KINDS {
            for (slot, generation) in [(0, 0), (SLOTS_MAX as u32 - 1, u32::MAX), (7, 1 << 31)] {
                let token = Token::new(slot, generation);
                assert_eq!(untag(tag(kind, token)), (kind, token));
            }
        }
        assert_eq!(untag(u64::MAX).0, Kind::Ignored);
    }

    #[test]
    fn a_socket_stays_small() {
        assert!(size_of::<Socket>() <= 64, "{} bytes", size_of::<Socket>());
    }
}
