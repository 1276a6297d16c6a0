//! What is kept of one connection: rustls' machine, and bytes that are under way.

use measure::time::Time;
use rustls::Error;

use super::machine::{Machine, missing};
use engine::Token;
use engine::payloads::{Outgoing, Payloads};

/// How much ciphertext of one connection may wait for the inner driver.
pub(super) const AHEAD_BYTES: usize = 64 * 1024;
/// The most that is kept of records, or of a handshake message in several records, that have not
/// come whole. rustls allows messages of 64 KiB.
const PARTIAL_BYTES_MAX: usize = 128 * 1024;
/// What an idle connection has on the heap at most, rustls' state included. Checked by a test.
pub const IDLE_BYTES_MAX: usize = 5 * 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Connects or shakes hands; the owner knows its token.
    Connecting,
    /// Shakes hands; the owner has not heard of it.
    Accepted {
        listener: Token,
    },
    Open,
    /// Its failure was reported; the owner will close it.
    Dead,
    /// The owner has closed it, and not everything was handed over.
    Leaving,
}

impl Stage {
    pub(super) fn is_handshake(self) -> bool {
        matches!(self, Stage::Connecting | Stage::Accepted { .. })
    }
}

pub(super) struct Connection {
    pub(super) token: Token,
    pub(super) stage: Stage,
    pub(super) machine: Machine,
    /// What came of a record that is not whole yet.
    partial: Vec<u8>,
    /// What the owner has sent and is not encrypted yet.
    pub(super) outgoing: Option<Outgoing>,
    /// What is to be handed to the inner driver.
    pub(super) ciphertext: Vec<u8>,
    /// When the connection stood and the handshake began.
    pub(super) began: Time,
    pub(super) handshake_ns: u64,
    /// When the patience with it ends; never, where it is the owner's business.
    pub(super) patience: Time,
    /// The inner driver has a send of it unfinished.
    pub(super) sending: bool,
    /// The end of a send is still to be reported.
    pub(super) owes_sent: bool,
    /// When a part of it was last taken whole by the inner driver.
    pub(super) taken_at: Time,
    /// Stands in the list of those with ciphertext.
    pub(super) in_outbox: bool,
    /// The owner wants to receive.
    pub(super) armed: bool,
    /// The peer's end was reported, or will be.
    pub(super) ended: bool,
    /// Whole records came after the handshake.
    pub(super) heard: bool,
    /// The owner has sent its last.
    pub(super) shut_down: bool,
    /// close_notify is among the ciphertext.
    said_goodbye: bool,
    /// Of no use unless ALPN chooses a protocol.
    pub(super) needs_alpn: bool,
}

impl Connection {
    /// One that this side opens.
    pub(super) fn outgoing(token: Token, machine: Machine, needs_alpn: bool) -> Connection {
        Connection {
            token,
            stage: Stage::Connecting,
            machine,
            partial: Vec::new(),
            outgoing: None,
            ciphertext: Vec::new(),
            began: Time(0),
            handshake_ns: 0,
            patience: Time::NEVER,
            sending: false,
            owes_sent: false,
            taken_at: Time::NEVER,
            in_outbox: false,
            armed: true,
            ended: false,
            heard: false,
            shut_down: false,
            said_goodbye: false,
            needs_alpn,
        }
    }

    /// One that `listener` has taken.
    pub(super) fn incoming(token: Token, machine: Machine, listener: Token) -> Connection {
        Connection {
            stage: Stage::Accepted { listener },
            ..Connection::outgoing(token, machine, false)
        }
    }

    /// Whether the token means this connection to the owner.
    pub(super) fn is_known(&self) -> bool {
        matches!(self.stage, Stage::Connecting | Stage::Open | Stage::Dead)
    }

    /// Whether the owner has to wait before it sends again.
    pub(super) fn is_sending(&self) -> bool {
        self.owes_sent || self.outgoing.is_some()
    }

    /// Whether nothing that came is cut in the middle.
    #[inline]
    pub(super) fn has_whole_records(&self) -> bool {
        self.partial.is_empty()
    }

    /// Whether the tickets of a server may still be under way to a client that leaves.
    pub(super) fn awaits_tickets(&self) -> bool {
        self.stage == Stage::Leaving
            && !self.heard
            && !self.ended
            && self.armed
            && self.machine.is_client_of_tls13()
    }

    /// Encrypts what the owner has sent, as far as it may run ahead of the inner driver, and says
    /// goodbye behind the last byte of one that leaves or was shut down.
    #[inline]
    pub(super) fn encrypt(&mut self, payloads: &mut Payloads) -> Result<(), Error> {
        while let Some(mut outgoing) = self.outgoing.take() {
            let room = AHEAD_BYTES.saturating_sub(self.ciphertext.len());
            if room == 0 {
                self.outgoing = Some(outgoing);
                return Ok(());
            }
            let bytes = payloads.bytes(&outgoing);
            let piece = &bytes[..bytes.len().min(room)];
            let length = piece.len();
            let out = &mut self.ciphertext;
            self.machine.encrypt(piece, &mut self.partial, out)?;
            outgoing.advance(length);
            if outgoing.len() == 0 {
                payloads.finish(outgoing);
            } else {
                self.outgoing = Some(outgoing);
            }
        }
        if (self.stage == Stage::Leaving || self.shut_down) && !self.said_goodbye {
            self.said_goodbye = true;
            self.machine
                .close_notify(&mut self.partial, &mut self.ciphertext)?;
        }
        Ok(())
    }

    /// Encrypts bytes beside those of the owner's sends.
    #[cfg(test)]
    pub(super) fn say(&mut self, bytes: &[u8]) -> Result<(), Error> {
        let out = &mut self.ciphertext;
        self.machine.encrypt(bytes, &mut self.partial, out)
    }

    /// Takes ciphertext, appends plaintext to `plain`. Whole records are decrypted where they lie;
    /// only those that come in parts are put together first.
    #[inline]
    pub(super) fn receive(&mut self, mut input: &mut [u8], plain: &mut Vec<u8>) -> Option<Error> {
        while !self.partial.is_empty() && !input.is_empty() {
            let wanted = missing(&self.partial).min(input.len());
            let (piece, rest) = input.split_at_mut(wanted);
            self.partial.extend_from_slice(piece);
            input = rest;
            let mut partial = std::mem::take(&mut self.partial);
            let (used, error) = self.advance(&mut partial, plain);
            partial.drain(..used);
            self.partial = partial;
            if self.partial.len() > PARTIAL_BYTES_MAX {
                return Some(Error::PeerSentOversizedRecord);
            }
            if error.is_some() || self.ended {
                return error;
            }
        }
        if input.is_empty() {
            if self.partial.is_empty() {
                self.partial = Vec::new();
            }
            return None;
        }
        let (used, error) = self.advance(input, plain);
        if used < input.len() && error.is_none() && !self.ended {
            self.partial.extend_from_slice(&input[used..]);
        } else {
            self.partial = Vec::new();
        }
        error
    }

    #[inline]
    fn advance(&mut self, input: &mut [u8], plain: &mut Vec<u8>) -> (usize, Option<Error>) {
        let received = self.machine.receive(input, plain, &mut self.ciphertext);
        self.ended |= received.closed;
        (received.used, received.error)
    }
}
