//! What connections of every protocol have in common.
//!
//! A [`Speech`] is what a plan says on each of its connections, encoded once. A [`Wire`] is the
//! protocol state of one connection: bytes in, [`Happening`]s out, and what it wants sent appended
//! to a buffer that its owner sends. Knows neither sockets nor schedules, so that whoever holds
//! connections can use it.

use std::sync::Arc;

use engine::QUIET_BYTES_MAX;
use proto::Violation;
use proto::http1::client::Answer;

use super::flights::Order;
use super::happening::{Frozen, Happening};
use super::memory::Memory;
use super::{http1, http2, websocket};
use measure::random::Random;
use plan::protocol::Protocol;
use plan::{Contact, Invalid};
use workload::Said;
use workload::visit::Habits;

/// The most bytes that one send carries, but for the last request in it.
pub const BURST_BYTES_MAX: usize = 64 * 1024;

/// What is said on every connection of a plan.
#[derive(Clone, Debug)]
pub enum Speech {
    /// HTTP/1.1: the bytes of one request, which never change, and how its answer is framed.
    Http1 {
        /// The bytes of the request.
        request: Arc<[u8]>,
        /// How its answer is framed.
        answer: Answer,
    },
    /// HTTP/2.
    Http2(Arc<http2::Speech>),
    /// WebSocket, whose messages may lie with the driver: see [`websocket::Speech::frozen`].
    WebSocket(Arc<websocket::Speech>),
}

/// How many requests one send carries, and whether that is all that can be unanswered and fits into
/// any send buffer.
fn burst(request_bytes: usize, depth: u32) -> (u32, bool) {
    let whole = request_bytes.saturating_mul(depth as usize);
    if whole <= QUIET_BYTES_MAX {
        return (depth, true);
    }
    let copies = (BURST_BYTES_MAX / request_bytes.max(1)).clamp(1, depth as usize);
    (copies as u32, false)
}

/// The protocol state of one connection.
#[derive(Debug, Default)]
pub enum Wire {
    /// No connection stands.
    #[default]
    Silent,
    /// HTTP/1.1, whose requests are no part of what is appended where they never change: see
    /// [`Speech::Http1`].
    Http1(http1::Wire),
    /// HTTP/2.
    Http2(Box<http2::Wire>),
    /// WebSocket.
    WebSocket(Box<websocket::Wire>),
}

impl Speech {
    /// Encodes what is said to `contact`.
    pub fn of(contact: &Contact) -> Result<Speech, Invalid> {
        match &contact.protocol {
            Protocol::Http1 => Ok(Speech::Http1 {
                request: contact.http1()?.into(),
                answer: Answer::to(&contact.request.method),
            }),
            Protocol::Http2 { http2 } | Protocol::Grpc { http2, .. } => {
                let speech = http2::Speech::of(contact, http2)?;
                Ok(Speech::Http2(Arc::new(speech)))
            }
            Protocol::WebSocket { message } => {
                let speech = websocket::Speech::of(contact, message)?;
                Ok(Speech::WebSocket(Arc::new(speech)))
            }
        }
    }

    /// The same for a request of HTTP/1.1 that somebody else has written.
    pub fn of_bytes(request: &[u8]) -> Speech {
        Speech::Http1 {
            request: request.into(),
            answer: Answer::to_bytes(request),
        }
    }

    /// The requests where they never change, for connections that may have `depth` of them
    /// unanswered; none where each connection appends its own.
    pub fn frozen(&self, depth: u32, random: &mut Random) -> Option<Frozen> {
        match self {
            Speech::Http1 { request, .. } => {
                let (burst, quiet) = burst(request.len(), depth);
                Some(Frozen {
                    bytes: request.repeat(burst as usize),
                    bytes_each: request.len() as u32,
                    burst,
                    starts: 1,
                    quiet,
                })
            }
            Speech::Http2(_) => None,
            Speech::WebSocket(speech) => speech.frozen(depth, random),
        }
    }

    /// The same where connections say the messages of a flow, by [`Wire::say`] alone.
    pub fn in_flow(mut self) -> Speech {
        if let Speech::WebSocket(speech) = &mut self
            && let Some(speech) = Arc::get_mut(speech)
        {
            speech.flow();
        }
        self
    }

    /// The same where connections say messages to all, by [`Wire::say_to_all`], and listen for
    /// those that hold this `mark`. It's for WebSocket, and others don't heed it.
    pub fn in_room(mut self, mark: &str) -> Speech {
        if let Speech::WebSocket(speech) = &mut self
            && let Some(speech) = Arc::get_mut(speech)
        {
            speech.listen(mark);
        }
        self
    }

    /// In which order answers come.
    pub fn order(&self) -> Order {
        match self {
            Speech::Http1 { .. } | Speech::WebSocket(_) => Order::Kept,
            Speech::Http2(_) => Order::Free,
        }
    }
}

impl Wire {
    /// A connection that stands, and appends to `out` what must be said on it first. `random` is
    /// for protocols that ask for chance, which is different on each connection.
    pub fn open(speech: &Speech, random: &mut Random, out: &mut Vec<u8>) -> Wire {
        match speech {
            Speech::Http1 { answer, .. } => Wire::Http1(http1::Wire::new(*answer)),
            Speech::Http2(speech) => Wire::Http2(Box::new(http2::Wire::new(speech, out))),
            Speech::WebSocket(speech) => {
                let wire = websocket::Wire::new(speech, random, out);
                Wire::WebSocket(Box::new(wire))
            }
        }
    }

    /// Holds answers against the rules that its owner's memory has, and has these `habits`, which
    /// HTTP alone has.
    pub fn look(&mut self, habits: Option<&Arc<Habits>>) {
        match self {
            Wire::Http1(wire) => wire.look(habits),
            Wire::Http2(wire) => wire.look(habits),
            Wire::WebSocket(wire) => wire.look(),
            Wire::Silent => {}
        }
    }

    /// The exchange at `place`, which is said next, is one of this step: of use where answers are
    /// held against rules.
    #[inline(never)]
    pub fn of_step(&mut self, place: u32, step: u16) {
        match self {
            Wire::Http1(wire) => wire.of_step(step),
            Wire::Http2(wire) => wire.of_step(place, step),
            Wire::WebSocket(wire) => wire.of_step(step),
            Wire::Silent => {}
        }
    }

    /// Whether exchanges can begin. If not, [`Happening::Ready`] will tell.
    pub fn is_ready(&self) -> bool {
        match self {
            Wire::Silent => false,
            Wire::Http1(_) => true,
            Wire::Http2(wire) => wire.is_ready(),
            Wire::WebSocket(wire) => wire.is_ready(),
        }
    }

    /// How many more exchanges the peer allows; the plan may allow fewer.
    #[inline]
    pub fn room(&self) -> u32 {
        match self {
            Wire::Silent => 0,
            Wire::Http1(_) | Wire::WebSocket(_) => u32::MAX,
            Wire::Http2(wire) => wire.room(),
        }
    }

    /// Begins an exchange, to be called `place`. There must be room.
    #[inline]
    pub fn begin(&mut self, place: u32, out: &mut Vec<u8>) {
        match self {
            Wire::Silent => {}
            Wire::Http1(wire) => wire.begin(out),
            Wire::Http2(wire) => wire.begin(place, out),
            Wire::WebSocket(wire) => wire.begin(out),
        }
    }

    /// The same where requests differ: this is the one that it says.
    #[inline]
    pub fn say(&mut self, place: u32, said: Said<'_>, out: &mut Vec<u8>) {
        match (self, said) {
            (Wire::Http1(wire), Said::Http1(request, answer)) => wire.say(request, answer, out),
            (Wire::Http2(wire), Said::Http2(request)) => wire.say(request, place, out),
            (
                Wire::Http2(wire),
                Said::Http2Block {
                    block,
                    body,
                    is_head,
                },
            ) => wire.say_block((block, body, is_head), place, out),
            (Wire::Http2(wire), Said::Call(call, request)) => {
                wire.of_call(place, call.answers_many);
                wire.say(request, place, out);
            }
            (Wire::Http2(wire), Said::CallBlock(call, block, body)) => {
                wire.of_call(place, call.answers_many);
                wire.say_block((block, body, false), place, out);
            }
            (Wire::WebSocket(wire), Said::Message { payload, answers }) => {
                wire.say(payload, answers, out);
            }
            (Wire::Silent | Wire::WebSocket(_) | Wire::Http1(_) | Wire::Http2(_), _) => {
                debug_assert!(false, "a workload speaks what its plan speaks");
            }
        }
    }

    /// Reads what came. `memory` is that of its owner, for all connections.
    ///
    /// # Errors
    /// The peer broke the protocol: the connection is of no use any more.
    #[inline]
    pub fn receive(
        &mut self,
        input: &[u8],
        memory: &mut Memory,
        out: &mut Vec<u8>,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        match self {
            Wire::Silent => Ok(()),
            Wire::Http1(wire) => wire.receive(input, memory, out, tell),
            Wire::Http2(wire) => wire.receive(input, memory, out, tell),
            Wire::WebSocket(wire) => wire.receive(input, memory, out, tell),
        }
    }

    /// The peer sends no more, which may end an answer rightly.
    pub fn ended(
        &mut self,
        memory: &mut Memory,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        match self {
            Wire::Silent => Ok(()),
            Wire::Http1(wire) => wire.ended(memory, tell),
            Wire::Http2(wire) => wire.ended(),
            Wire::WebSocket(wire) => wire.ended(),
        }
    }

    /// Whether no exchange can begin on this connection any more and none that is `unanswered` will
    /// be answered.
    #[inline]
    pub fn is_over(&self, unanswered: u32) -> bool {
        match self {
            Wire::Silent => false,
            Wire::Http1(wire) => wire.is_leaving(),
            Wire::Http2(wire) => unanswered == 0 && wire.is_leaving(),
            Wire::WebSocket(wire) => wire.is_over(),
        }
    }

    /// Asks for a sign of life: [`Happening::Pong`] brings `payload` back. False where the protocol
    /// has none.
    pub fn ping(&mut self, payload: [u8; 8], out: &mut Vec<u8>) -> bool {
        match self {
            Wire::Silent | Wire::Http1(_) => false,
            Wire::Http2(wire) => {
                wire.ping(payload, out);
                true
            }
            Wire::WebSocket(wire) => {
                wire.ping(payload, out);
                true
            }
        }
    }

    /// Says the message of this number to all who listen; [`Happening::Heard`] tells of it wherever
    /// it comes. For connections that are [`Speech::in_room`].
    pub fn say_to_all(&mut self, number: u32, out: &mut Vec<u8>) {
        if let Wire::WebSocket(wire) = self {
            wire.say_to_all(number, out);
        }
    }

    /// Its owner is about to send all of `out`, which may have to be added to before.
    #[inline]
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if let Wire::WebSocket(wire) = self {
            wire.flush(out);
        }
    }

    /// Says that this side is done, where the protocol has a word for it.
    pub fn leave(&mut self, out: &mut Vec<u8>) {
        match self {
            Wire::Silent | Wire::Http1(_) => {}
            Wire::Http2(wire) => wire.leave(out),
            Wire::WebSocket(wire) => wire.leave(out),
        }
    }

    /// Whether the peer is the one to end a connection that has been left: the server of HTTP/1.1
    /// that was asked to (RFC 9112 §9.6), and that of a WebSocket (RFC 6455 §7.1.1). In HTTP/2
    /// whoever has said GOAWAY ends it when the last stream is closed (RFC 9113 §6.8).
    pub fn peer_ends(&self) -> bool {
        match self {
            Wire::Silent | Wire::Http1(_) | Wire::WebSocket(_) => true,
            Wire::Http2(_) => false,
        }
    }

    /// Gives the exchange at `place` up, alone. False where the protocol cannot do that.
    pub fn cancel(&mut self, place: u32, out: &mut Vec<u8>) -> bool {
        match self {
            Wire::Silent | Wire::Http1(_) | Wire::WebSocket(_) => false,
            Wire::Http2(wire) => {
                wire.cancel(place, out);
                true
            }
        }
    }
}
