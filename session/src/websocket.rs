//! WebSocket in a session: an exchange is a message and the next message that comes back.
//!
//! In a flow messages differ, and each says how many messages of the server answer it, which may be
//! none. What comes while none is awaited is told, and answers nothing.
//!
//! # Masks
//!
//! A client masks each frame with a key that is new and unpredictable (RFC 6455 §5.3), so that
//! whoever chooses a payload cannot choose the bytes on the wire and make an intermediary take them
//! for a request. Short messages are therefore masked beforehand, hundreds of times with as many
//! random keys, and each send takes frames at a random place of that template: nothing is masked,
//! copied or reported then, as with the requests of HTTP/1.1. This keeps what masking is for, since
//! nobody who chooses the payload knows the keys or the place, and here the payload is the user's
//! own. It does not keep the letter: keys return after a while, and they come from the seed of the
//! plan, so that who knows it knows them. Longer messages are masked one by one, with a new key.

use std::sync::Arc;

use engine::QUIET_BYTES_MAX;
use proto::Violation;
use proto::websocket::client::{Answered, Handshake, Opening};
use proto::websocket::{Event, Limits, Opcode, Reader, Role, Scratch, code, encode, encode_close};

use super::expect::Look;
use super::happening::{Frozen, Happening, Outcome};
use super::memory::Memory;
use super::streams::Listener;
use measure::random::Random;
use plan::protocol::Message;
use plan::{Contact, Invalid};

/// The most frames that a send may begin with, and the most bytes of them.
const FRAMES_MAX: usize = 1024;
/// The most bytes of a message in which those that were said to all are looked for.
const OVERHEARD_MAX: usize = 64 << 10;

/// What stands behind the number of a message that is said to all.
const STOP: char = '.';

/// What the messages that come are: answers to messages that are all alike, …
const ALIKE: u8 = 0;
/// … those of a flow, …
const IN_FLOW: u8 = 1;
/// … or such answers, and what is said to all.
const IN_ROOM: u8 = 2;

/// See [`FRAMES_MAX`].
const TEMPLATE_BYTES_MAX: usize = 256 * 1024;

/// What is said on every connection.
#[derive(Debug)]
pub struct Speech {
    opening: Opening,
    opcode: Opcode,
    payload: Vec<u8>,
    /// Whether messages are sent from a template, so that a connection appends none.
    from_template: bool,
    /// Whether messages are those of a flow.
    in_flow: bool,
    /// By what messages that are said to all are known, where any are.
    mark: Option<Box<str>>,
}

impl Speech {
    /// Encodes what `plan` says.
    pub fn of(contact: &Contact, message: &Message) -> Result<Speech, Invalid> {
        let mut speech = Speech {
            opening: contact.upgrade()?,
            opcode: if message.binary {
                Opcode::Binary
            } else {
                Opcode::Text
            },
            payload: message.payload.clone(),
            from_template: false,
            in_flow: false,
            mark: None,
        };
        let burst = speech.frame([0; 4]).len() * contact.depth as usize;
        speech.from_template = burst <= QUIET_BYTES_MAX;
        Ok(speech)
    }

    /// Has connections say the messages of a flow, by [`Wire::say`] alone.
    pub(crate) fn flow(&mut self) {
        self.in_flow = true;
    }

    /// Has connections listen for messages that hold `mark`.
    pub(crate) fn listen(&mut self, mark: &str) {
        self.mark = Some(mark.into());
    }

    /// Many frames of the message, each with another mask, of which a send takes up to `depth` in a
    /// row. None where connections append their messages.
    pub fn frozen(&self, depth: u32, random: &mut Random) -> Option<Frozen> {
        if !self.from_template {
            return None;
        }
        let bytes_each = self.frame([0; 4]).len();
        let starts = (TEMPLATE_BYTES_MAX / bytes_each).min(FRAMES_MAX);
        let frames = starts + depth as usize - 1;
        Some(Frozen {
            bytes: (0..frames).flat_map(|_| self.frame(key(random))).collect(),
            bytes_each: bytes_each as u32,
            burst: depth,
            starts: starts as u32,
            quiet: true,
        })
    }

    fn frame(&self, key: [u8; 4]) -> Vec<u8> {
        let mut frame = Vec::new();
        encode(&mut frame, self.opcode, true, Some(key), &self.payload);
        frame
    }
}

/// The protocol state of one connection.
#[derive(Debug)]
pub struct Wire {
    stage: Stage,
    speech: Arc<Speech>,
    random: Random,
    /// Messages that were sent and not answered: what comes besides is no answer. In a flow those
    /// of the server that are left to come until the exchange is answered.
    awaited: u32,
    /// In a flow those that will be once what was said is on its way: what has come before can't
    /// be an answer to it.
    owed_answers: u32,
    /// In a flow what is heard.
    flow: Option<Box<Hearing>>,
    /// The beginning of a message that may have been said to all.
    #[allow(clippy::box_collection)] // Most never have one, and all have the word for it.
    overheard: Option<Box<Vec<u8>>>,
    /// The payload of the ping that was not answered yet.
    pinged: Option<[u8; 8]>,
    /// A pong is among what its owner has yet to send.
    pong: bool,
    /// The payload of the last ping that came since: of those that cannot be answered at once only
    /// the latest is (RFC 6455 §5.5.3), or a peer that never reads could fill our memory.
    owed: Option<Vec<u8>>,
    /// A close frame was sent.
    closing: bool,
    /// The peer has closed.
    closed: bool,
}

/// What a connection hears in a flow.
#[derive(Debug, Default)]
struct Hearing {
    /// How many messages were awaited when this one began.
    awaited: u32,
    /// What was seen of it, where answers are held against rules.
    look: Option<Look>,
    /// The step that it answers.
    step: u16,
    /// What is told of the messages that answer, where they are events.
    listener: Listener,
    /// One of those that answer has come, and the last one hasn't.
    has_begun: bool,
}

impl Hearing {
    /// A message comes, or a piece of it.
    #[inline(never)]
    fn take(
        &mut self,
        event: &Event<'_>,
        awaited: &mut u32,
        memory: &mut Memory,
        tell: &mut impl FnMut(Happening),
    ) {
        if matches!(event, Event::Begin(_)) {
            self.awaited = *awaited;
        }
        if memory.listens() && self.awaited > 0 {
            self.time(event, tell);
        }
        // The last one is what the exchange was answered by.
        let look = self.look.as_mut().filter(|_| self.awaited == 1);
        match (event, look) {
            (Event::Begin(_), Some(look)) => {
                memory.see_head(look, (self.step, USUAL), std::iter::empty);
            }
            (Event::Bytes(bytes), Some(look)) => memory.see_body(look, bytes),
            (Event::End, look) => {
                *awaited = (*awaited).saturating_sub(u32::from(self.awaited > 0));
                let verdict = look.and_then(|look| memory.see_end(look).1);
                tell(match (self.awaited, verdict) {
                    (1, Some(verdict)) => Happening::MessageJudged { verdict },
                    (1, None) => Happening::Answered {
                        place: 0,
                        outcome: Outcome::Message,
                    },
                    _ => Happening::Message,
                });
            }
            _ => {}
        }
    }
}

impl Hearing {
    /// What comes is of one of the messages that answer, each of which is an event.
    fn time(&mut self, event: &Event<'_>, tell: &mut impl FnMut(Happening)) {
        match event {
            Event::Begin(_) if !self.has_begun => {
                self.has_begun = true;
                self.listener.begin(true);
            }
            Event::End => {
                self.listener.messages(1);
                if self.awaited == 1 {
                    self.has_begun = false;
                    self.listener.whole(false);
                }
            }
            _ => {}
        }
        if let Some(sign) = self.listener.sign() {
            tell(Happening::Streamed { place: 0, sign });
        }
    }
}

/// A status that no rule is about: a message has none.
const USUAL: u16 = 200;

#[derive(Debug)]
enum Stage {
    Upgrading(Box<Handshake>),
    Open(Reader),
}

impl Wire {
    /// A connection on which nothing was said: the upgrade goes to `out`.
    pub fn new(speech: &Arc<Speech>, random: &mut Random, out: &mut Vec<u8>) -> Wire {
        let mut random = Random::new(random.next(), 0);
        let mut nonce = [0; 16];
        nonce[..8].copy_from_slice(&random.next().to_le_bytes());
        nonce[8..].copy_from_slice(&random.next().to_le_bytes());
        let handshake = speech.opening.begin(nonce, out);
        Wire {
            stage: Stage::Upgrading(Box::new(handshake)),
            speech: Arc::clone(speech),
            random,
            awaited: 0,
            owed_answers: 0,
            flow: speech.in_flow.then(Box::default),
            overheard: None,
            pinged: None,
            pong: false,
            owed: None,
            closing: false,
            closed: false,
        }
    }

    /// Whether the peer has granted the upgrade.
    pub fn is_ready(&self) -> bool {
        matches!(self.stage, Stage::Open(_))
    }

    /// Whether either side has closed or the peer has refused the upgrade, so that no message is
    /// answered any more.
    #[inline]
    pub fn is_over(&self) -> bool {
        self.closing || self.closed
    }

    /// Sends the message, unless that is the owner's to do.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        self.awaited += 1;
        let speech = &self.speech;
        if !speech.from_template {
            let key = key(&mut self.random);
            encode(out, speech.opcode, true, Some(key), &speech.payload);
        }
    }

    /// Says a message of a flow, which so many messages of the server answer. None is awaited.
    pub fn say(&mut self, payload: &[u8], answers: u32, out: &mut Vec<u8>) {
        self.owed_answers += answers;
        let key = key(&mut self.random);
        encode(out, self.speech.opcode, true, Some(key), payload);
    }

    /// Holds what answers the messages of a flow against the rules that its owner's memory has.
    pub fn look(&mut self) {
        if let Some(flow) = &mut self.flow {
            flow.look = Some(Look::default());
        }
    }

    /// The message that is said next is of this step.
    pub fn of_step(&mut self, step: u16) {
        if let Some(flow) = &mut self.flow {
            flow.step = step;
        }
    }

    /// Says the message of this number to all who listen.
    pub fn say_to_all(&mut self, number: u32, out: &mut Vec<u8>) {
        let mark = self.speech.mark.as_deref().unwrap_or_default();
        let text = format!("{mark}{number}{STOP}");
        let key = key(&mut self.random);
        encode(out, Opcode::Text, true, Some(key), text.as_bytes());
    }

    /// Reads what came.
    #[inline]
    pub fn receive(
        &mut self,
        mut input: &[u8],
        memory: &mut Memory,
        out: &mut Vec<u8>,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        if let Stage::Upgrading(handshake) = &mut self.stage {
            match handshake.next(&mut input)? {
                None => return Ok(()),
                Some(Answered::Refused { status }) => {
                    self.closed = true;
                    tell(Happening::UpgradeRefused { status });
                    return Ok(());
                }
                Some(Answered::Upgraded) => {
                    self.stage = Stage::Open(Reader::new(Role::Client, Limits::default()));
                    tell(Happening::Ready);
                }
            }
        }
        if self.flow.is_some() {
            return self.read::<IN_FLOW>(input, memory, out, tell);
        }
        if self.speech.mark.is_some() {
            return self.read::<IN_ROOM>(input, memory, out, tell);
        }
        self.read::<ALIKE>(input, memory, out, tell)
    }

    /// Reads frames, which are of this `KIND`.
    #[inline]
    fn read<const KIND: u8>(
        &mut self,
        mut input: &[u8],
        memory: &mut Memory,
        out: &mut Vec<u8>,
        tell: &mut impl FnMut(Happening),
    ) -> Result<(), Violation> {
        let Stage::Open(reader) = &mut self.stage else {
            return Ok(());
        };
        // What comes from a server is not masked, so this stays without memory.
        let mut scratch = Scratch::default();
        // After a violation the connection is reset; the close frame that the standard would like
        // to see before that (RFC 6455 §7.1.7) would be lost with it.
        while let Some(event) = reader
            .next(&mut input, &mut scratch)
            .map_err(|failure| failure.violation)?
        {
            match (KIND, &mut self.flow, &self.speech.mark) {
                (IN_FLOW, Some(flow), _) => flow.take(&event, &mut self.awaited, memory, tell),
                (IN_ROOM, _, Some(mark)) => overhear(&mut self.overheard, mark, &event, tell),
                _ => {}
            }
            match event {
                Event::Begin(_) | Event::Bytes(_) => {}
                Event::End if KIND == IN_FLOW => {}
                Event::End if self.awaited > 0 => {
                    self.awaited -= 1;
                    tell(Happening::Answered {
                        place: 0,
                        outcome: Outcome::Message,
                    });
                }
                Event::End => {}
                Event::Ping(payload) if self.pong => {
                    let owed = self.owed.get_or_insert_default();
                    owed.clear();
                    owed.extend_from_slice(payload);
                }
                Event::Ping(payload) => {
                    self.pong = true;
                    let key = key(&mut self.random);
                    encode(out, Opcode::Pong, true, Some(key), payload);
                }
                Event::Pong(payload) => {
                    if let Some(pinged) = self.pinged.take_if(|pinged| *pinged == payload) {
                        tell(Happening::Pong { payload: pinged });
                    }
                }
                Event::Close(close) => {
                    self.closed = true;
                    self.owed = None;
                    if !self.closing {
                        self.closing = true;
                        let code = close.as_ref().map(|close| close.code);
                        tell(Happening::Closed { code });
                        let key = Some(key(&mut self.random));
                        match close {
                            Some(close) => encode_close(out, key, close.code, ""),
                            None => encode(out, Opcode::Close, true, key, &[]),
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// The peer sends no more.
    pub fn ended(&self) -> Result<(), Violation> {
        match &self.stage {
            Stage::Open(reader) => reader.ended(),
            Stage::Upgrading(_) => Ok(()),
        }
    }

    /// Its owner is about to send all of `out`.
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        self.pong = false;
        self.awaited += std::mem::take(&mut self.owed_answers);
        if let Some(payload) = self.owed.take() {
            let key = key(&mut self.random);
            encode(out, Opcode::Pong, true, Some(key), &payload);
        }
    }

    /// Sends a ping, unless the last one is still unanswered.
    pub fn ping(&mut self, payload: [u8; 8], out: &mut Vec<u8>) {
        if self.pinged.is_none() {
            self.pinged = Some(payload);
            let key = key(&mut self.random);
            encode(out, Opcode::Ping, true, Some(key), &payload);
        }
    }

    /// Says that this side is done. The server ends the connection then (RFC 6455 §7.1.1).
    pub fn leave(&mut self, out: &mut Vec<u8>) {
        if self.is_ready() && !self.closing {
            self.closing = true;
            self.owed = None;
            let key = key(&mut self.random);
            encode_close(out, Some(key), code::NORMAL, "");
        }
    }
}

/// Reads a message that may hold what was said to all. What the server puts around it, such as who
/// has said it, doesn't matter.
#[inline(never)]
#[allow(clippy::box_collection)]
fn overhear(
    overheard: &mut Option<Box<Vec<u8>>>,
    mark: &str,
    event: &Event<'_>,
    tell: &mut impl FnMut(Happening),
) {
    match event {
        Event::Begin(_) => *overheard = Some(Box::default()),
        Event::Bytes(bytes) => {
            if let Some(message) = overheard {
                let room = OVERHEARD_MAX - message.len();
                message.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
        }
        Event::End => {
            let message = overheard.take().unwrap_or_default();
            marked(&message, mark).for_each(|number| tell(Happening::Heard { number }));
        }
        _ => {}
    }
}

/// The numbers behind each `mark` in a message: a server may pass several on in one.
fn marked<'a>(message: &'a [u8], mark: &'a str) -> impl Iterator<Item = u32> + 'a {
    let marks = memchr::memmem::find_iter(message, mark.as_bytes());
    marks.filter_map(move |at| {
        let behind = &message[at + mark.len()..];
        let end = behind.iter().position(|byte| *byte == STOP as u8)?;
        std::str::from_utf8(&behind[..end]).ok()?.parse().ok()
    })
}

/// A masking key.
fn key(random: &mut Random) -> [u8; 4] {
    let [a, b, c, d, ..] = random.next().to_le_bytes();
    [a, b, c, d]
}
