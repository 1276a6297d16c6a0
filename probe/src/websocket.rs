//! One message over WebSocket, and the message that answers it.

use measure::foreign::Foreign;
use proto::websocket::client::Answered;
use proto::websocket::{Event, Limits, Opcode, Reader, Role, Scratch, code, encode, encode_close};

use super::conversation::Conversation;
use super::{Answer, keep};
use crate::LoadError;
use measure::random::Random;
use plan::Contact;
use plan::protocol::Message;

/// The status of an upgrade (RFC 9110 §15.2.2).
const SWITCHING_PROTOCOLS: u16 = 101;

/// A connection that is upgraded.
pub(super) struct WebSocket {
    peer: Conversation,
    reader: Reader,
    received: Vec<u8>,
    random: Random,
}

impl WebSocket {
    /// Asks for the upgrade, with the plan's headers.
    pub(super) fn open(contact: &Contact, mut peer: Conversation) -> Result<WebSocket, LoadError> {
        let opening = contact.upgrade()?;
        let mut random = Random::new(contact.seed, 0);
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&random.next().to_le_bytes());
        nonce[8..].copy_from_slice(&random.next().to_le_bytes());
        let mut out = Vec::new();
        let mut handshake = opening.begin(nonce, &mut out);
        peer.send(&out)?;
        let mut received = Vec::new();
        loop {
            if !peer.receive(&mut received)? {
                return Err(peer
                    .broken("the server closed the connection instead of answering the upgrade"));
            }
            let mut input = &received[..];
            let answered = handshake.next(&mut input).map_err(|violation| {
                peer.broken(format!("the WebSocket upgrade failed: {violation}"))
            })?;
            let left = input.len();
            received.drain(..received.len() - left);
            match answered {
                None => {}
                Some(Answered::Upgraded) => break,
                Some(Answered::Refused { status }) => {
                    return Err(peer.broken(format!(
                        "the server refused the WebSocket upgrade with status {status}: check the \
                         path, and that it speaks WebSocket there"
                    )));
                }
            }
        }
        Ok(WebSocket {
            peer,
            reader: Reader::new(Role::Client, Limits::default()),
            received,
            random,
        })
    }

    /// Sends the message, and reads the one that answers it.
    pub(super) fn exchange(mut self, message: &Message) -> Result<Answer, LoadError> {
        let opcode = if message.binary {
            Opcode::Binary
        } else {
            Opcode::Text
        };
        let key = self.key();
        let mut out = Vec::new();
        encode(&mut out, opcode, true, Some(key), &message.payload);
        self.peer.send(&out)?;
        let mut answer = Answer {
            status: SWITCHING_PROTOCOLS,
            ..Answer::default()
        };
        while !self.read(&mut answer)? {
            if !self.peer.receive(&mut self.received)? {
                return Err(self
                    .peer
                    .broken("the server closed the connection without answering"));
            }
        }
        self.close();
        Ok(answer)
    }

    /// Reads what was received. True once a message is whole.
    fn read(&mut self, answer: &mut Answer) -> Result<bool, LoadError> {
        let received = std::mem::take(&mut self.received);
        let mut input = &received[..];
        let mut scratch = Scratch::default();
        loop {
            let key = self.random.next().to_le_bytes();
            let event = self.reader.next(&mut input, &mut scratch);
            match event.map_err(|failure| self.peer.broken(failure.violation))? {
                None => return Ok(false),
                Some(Event::Bytes(bytes)) => {
                    keep(&mut answer.body, bytes).map_err(|why| self.peer.broken(why))?;
                }
                Some(Event::End) => return Ok(true),
                Some(Event::Ping(payload)) => {
                    let key = [key[0], key[1], key[2], key[3]];
                    let mut out = Vec::new();
                    encode(&mut out, Opcode::Pong, true, Some(key), payload);
                    self.peer.send(&out)?;
                }
                Some(Event::Close(said)) => {
                    let said = said.map_or_else(String::new, |close| {
                        let reason = Foreign::new(close.reason);
                        format!(" with code {} {reason:?}", close.code)
                    });
                    let why = format!("the server closed the WebSocket{said} without answering");
                    return Err(self.peer.broken(why));
                }
                Some(Event::Begin(_) | Event::Pong(_)) => {}
            }
        }
    }

    /// Says that this side is done. A peer that is gone already was answered well before.
    pub(super) fn close(mut self) {
        let key = self.key();
        let mut out = Vec::new();
        encode_close(&mut out, Some(key), code::NORMAL, "");
        let _ = self.peer.send(&out);
    }

    fn key(&mut self) -> [u8; 4] {
        let [a, b, c, d, ..] = self.random.next().to_le_bytes();
        [a, b, c, d]
    }
}
