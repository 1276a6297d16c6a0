//! Reading frames: bytes from the peer become messages and control frames.

use super::faults::{self, Fault};
use super::frame::{CONTROL_BYTES_MAX, HEADER_BYTES_MAX, Header, Opcode, Situation, mask};
use super::utf8::Utf8;
use super::{Failure, Kind, Role, may_be_sent};
use crate::Violation;
use crate::http1::take;

/// Bytes that are unmasked at a time; pieces of payload are no longer in the server role.
const SCRATCH_BYTES: usize = 4096;

/// Bounds on what a peer may send. Payload is lent as it comes, so neither is memory of the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of payload in one data frame.
    pub frame_bytes: u64,
    /// Bytes of payload in all fragments of one message.
    pub message_bytes: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            frame_bytes: 64 << 20,
            message_bytes: 64 << 20,
        }
    }
}

/// What was read. Fragments do not show: a message is one, however it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message begins.
    Begin(Kind),
    /// A piece of it, never empty. Text is checked so far, but may be cut inside a character.
    Bytes(&'a [u8]),
    /// The message is complete.
    End,
    /// To be answered with a pong of the same payload (RFC 6455 §5.5.2).
    Ping(&'a [u8]),
    /// A pong, asked for or not.
    Pong(&'a [u8]),
    /// The peer sends no more, and wants a close frame back if it has not had one (RFC 6455
    /// §5.5.1). `None`: it gave no code. All further input is discarded.
    Close(Option<Close<'a>>),
}

/// What a close frame said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Close<'a> {
    /// A code that may be sent, see [`may_be_sent`].
    pub code: u16,
    /// Words for humans, perhaps none.
    pub reason: &'a str,
}

/// Room in which payload is unmasked. One serves all connections of a thread; it has memory once a
/// masked frame was read.
#[derive(Debug, Default)]
pub struct Scratch {
    bytes: Vec<u8>,
}

/// The reading side of one connection, after the upgrade.
///
/// Small, since there may be millions: about a hundred bytes, and memory for the payload of a
/// control frame only once one was cut.
#[derive(Debug)]
pub struct Reader {
    role: Role,
    limits: Limits,
    state: State,
    /// Payload of the current frame that has not come, and the mask as it applies to that.
    left: u64,
    key: [u8; 4],
    /// Whether the current frame ends its message.
    last: bool,
    /// The message that has begun.
    message: Option<Kind>,
    message_bytes: u64,
    utf8: Utf8,
    /// The beginning of a header whose end has not come.
    header: [u8; HEADER_BYTES_MAX],
    header_bytes: u8,
    /// The beginning of a control frame's payload, unmasked; all of it until it is replaced.
    control: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// Before or inside a frame header.
    Header,
    /// Inside the payload of a data frame.
    Data,
    /// Inside the payload of a control frame.
    Control(Opcode),
    /// A close frame came.
    Closed,
    Failed(Fault),
}

/// What a step came to, and where its bytes are.
enum Step<'i> {
    /// All input is used.
    More,
    Begin(Kind),
    Bytes(Place<'i>),
    End,
    Control(Opcode, Place<'i>),
}

#[derive(Clone, Copy)]
enum Place<'i> {
    Input(&'i [u8]),
    /// The first so many bytes of the scratch.
    Scratch(usize),
    Collected,
}

impl<'i> Place<'i> {
    fn bytes<'a>(self, scratch: &'a Scratch, collected: &'a [u8]) -> &'a [u8]
    where
        'i: 'a,
    {
        match self {
            Place::Input(bytes) => bytes,
            Place::Scratch(bytes) => &scratch.bytes[..bytes],
            Place::Collected => collected,
        }
    }
}

impl Reader {
    /// A connection on which no frame was received yet.
    pub fn new(role: Role, limits: Limits) -> Reader {
        Reader {
            role,
            limits,
            state: State::Header,
            left: 0,
            key: [0; 4],
            last: false,
            message: None,
            message_bytes: 0,
            utf8: Utf8::default(),
            header: [0; HEADER_BYTES_MAX],
            header_bytes: 0,
            control: Vec::new(),
        }
    }

    /// The next event out of `input`, which is advanced past what was used.
    ///
    /// `None` means that all of `input` is used and the event needs more.
    ///
    /// # Errors
    /// The connection has to be failed. Every further call repeats it.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        scratch: &'a mut Scratch,
    ) -> Result<Option<Event<'a>>, Failure> {
        let step = match self.step(input, scratch) {
            Ok(step) => step,
            Err(fault) => return Err(self.fail(fault)),
        };
        let (opcode, place) = match step {
            Step::More => return Ok(None),
            Step::Begin(kind) => return Ok(Some(Event::Begin(kind))),
            Step::End => return Ok(Some(Event::End)),
            Step::Bytes(place) => (Opcode::Continuation, place),
            Step::Control(opcode, place) => (opcode, place),
        };
        let payload = place.bytes(scratch, &self.control);
        Ok(Some(match opcode {
            Opcode::Ping => Event::Ping(payload),
            Opcode::Pong => Event::Pong(payload),
            Opcode::Close => match close(payload) {
                Ok(close) => {
                    self.state = State::Closed;
                    Event::Close(close)
                }
                Err(fault) => {
                    self.state = State::Failed(fault);
                    return Err(*fault);
                }
            },
            Opcode::Continuation | Opcode::Text | Opcode::Binary => Event::Bytes(payload),
        }))
    }

    /// Says that the peer ended the connection.
    ///
    /// # Errors
    /// It did so without a close frame.
    pub fn ended(&self) -> Result<(), Violation> {
        match self.state {
            State::Closed => Ok(()),
            State::Failed(fault) => Err(fault.violation),
            State::Header | State::Data | State::Control(_) => Err(faults::ENDED.violation),
        }
    }

    /// Whether a message has begun and is not complete.
    pub fn in_message(&self) -> bool {
        self.message.is_some()
    }

    /// Bytes of memory that this connection holds besides itself: at most 125.
    pub fn memory_bytes(&self) -> usize {
        self.control.capacity()
    }

    #[inline]
    fn step<'i>(&mut self, input: &mut &'i [u8], scratch: &mut Scratch) -> Result<Step<'i>, Fault> {
        loop {
            match self.state {
                State::Header => {
                    let Some(header) = self.read_header(input)? else {
                        return Ok(Step::More);
                    };
                    if let Some(kind) = self.enter(&header) {
                        return Ok(Step::Begin(kind));
                    }
                }
                State::Data if self.left == 0 => {
                    self.state = State::Header;
                    if self.last {
                        return self.finish();
                    }
                }
                State::Data if input.is_empty() => return Ok(Step::More),
                State::Data => {
                    let place = self.data(input, scratch)?;
                    return Ok(Step::Bytes(place));
                }
                State::Control(opcode) => {
                    let Some(place) = self.collect(input, scratch) else {
                        return Ok(Step::More);
                    };
                    self.state = State::Header;
                    return Ok(Step::Control(opcode, place));
                }
                State::Closed => {
                    *input = &[];
                    return Ok(Step::More);
                }
                State::Failed(fault) => return Err(fault),
            }
        }
    }

    #[inline]
    fn read_header(&mut self, input: &mut &[u8]) -> Result<Option<Header>, Fault> {
        let situation = Situation {
            role: self.role,
            in_message: self.message.is_some(),
            frame_bytes: self.limits.frame_bytes,
            message_bytes_left: self.limits.message_bytes - self.message_bytes,
        };
        if self.header_bytes == 0
            && let Some(header) = Header::read(input, &situation)?
        {
            take(input, header.bytes);
            return Ok(Some(header));
        }
        self.read_cut_header(input, &situation)
    }

    #[inline(never)]
    fn read_cut_header(
        &mut self,
        input: &mut &[u8],
        situation: &Situation,
    ) -> Result<Option<Header>, Fault> {
        while !input.is_empty() {
            self.header[self.header_bytes as usize] = take(input, 1)[0];
            self.header_bytes += 1;
            let bytes = &self.header[..self.header_bytes as usize];
            if let Some(header) = Header::read(bytes, situation)? {
                self.header_bytes = 0;
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// Enters the frame with this header; tells of the message that begins with it.
    #[inline]
    fn enter(&mut self, header: &Header) -> Option<Kind> {
        self.left = header.payload_bytes;
        self.key = header.key;
        let begins = match header.opcode {
            Opcode::Close | Opcode::Ping | Opcode::Pong => {
                self.state = State::Control(header.opcode);
                self.control.clear();
                return None;
            }
            Opcode::Continuation => None,
            Opcode::Text => Some(Kind::Text),
            Opcode::Binary => Some(Kind::Binary),
        };
        self.state = State::Data;
        self.last = header.last;
        debug_assert!(
            begins.is_some() != self.message.is_some(),
            "a message begins inside another, or goes on without one"
        );
        self.message_bytes += header.payload_bytes;
        debug_assert!(
            self.message_bytes <= self.limits.message_bytes,
            "a frame was entered that is longer than its message may be"
        );
        self.message = begins.or(self.message);
        begins
    }

    /// The next piece of a data frame, of which there is some in `input`.
    #[inline]
    fn data<'i>(
        &mut self,
        input: &mut &'i [u8],
        scratch: &mut Scratch,
    ) -> Result<Place<'i>, Fault> {
        let place = self.unmasked(input, scratch);
        if self.message != Some(Kind::Text) {
            return Ok(place);
        }
        let bytes = place.bytes(scratch, &self.control);
        let accepted = self.utf8.check(bytes);
        if accepted == bytes.len() {
            return Ok(place);
        }
        if accepted == 0 {
            return Err(&faults::NOT_UTF8);
        }
        // What was good up to there is told first, as it would be had the input been cut there.
        self.state = State::Failed(&faults::NOT_UTF8);
        Ok(match place {
            Place::Input(bytes) => Place::Input(&bytes[..accepted]),
            Place::Scratch(_) | Place::Collected => Place::Scratch(accepted),
        })
    }

    /// Takes payload off `input` as far as it goes, or as far as the scratch does.
    #[inline]
    fn unmasked<'i>(&mut self, input: &mut &'i [u8], scratch: &mut Scratch) -> Place<'i> {
        let available = input
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if self.role == Role::Client {
            self.left -= available as u64;
            return Place::Input(take(input, available));
        }
        debug_assert!(
            scratch.bytes.is_empty() || scratch.bytes.len() == SCRATCH_BYTES,
            "the scratch has another length than all of it or none"
        );
        let bytes = available.min(SCRATCH_BYTES);
        self.left -= bytes as u64;
        if scratch.bytes.is_empty() {
            scratch.bytes.resize(SCRATCH_BYTES, 0);
        }
        let room = &mut scratch.bytes[..bytes];
        room.copy_from_slice(take(input, bytes));
        mask(room, self.key);
        self.key.rotate_left(bytes % 4);
        Place::Scratch(bytes)
    }

    /// The payload of a control frame, once it is whole.
    fn collect<'i>(&mut self, input: &mut &'i [u8], scratch: &mut Scratch) -> Option<Place<'i>> {
        if self.control.is_empty() && input.len() as u64 >= self.left {
            return Some(self.unmasked(input, scratch));
        }
        if self.control.capacity() == 0 {
            self.control.reserve_exact(CONTROL_BYTES_MAX);
        }
        let piece = self.unmasked(input, scratch);
        self.control.extend_from_slice(piece.bytes(scratch, &[]));
        debug_assert!(
            self.control.len() <= CONTROL_BYTES_MAX,
            "a control frame of {} bytes was let in",
            self.control.len()
        );
        (self.left == 0).then_some(Place::Collected)
    }

    /// Leaves a message that is complete.
    #[inline]
    fn finish<'i>(&mut self) -> Result<Step<'i>, Fault> {
        if !self.utf8.is_whole() {
            return Err(&faults::NOT_UTF8);
        }
        debug_assert!(
            self.message.is_some() && self.left == 0,
            "a message ends that has not begun, or is not whole"
        );
        self.message = None;
        self.message_bytes = 0;
        Ok(Step::End)
    }

    #[cold]
    fn fail(&mut self, fault: Fault) -> Failure {
        self.state = State::Failed(fault);
        *fault
    }
}

/// What the payload of a close frame says.
fn close(payload: &[u8]) -> Result<Option<Close<'_>>, Fault> {
    let Some((code, reason)) = payload.split_first_chunk() else {
        return match payload {
            [] => Ok(None),
            _ => Err(&faults::CLOSE_LENGTH),
        };
    };
    let code = u16::from_be_bytes(*code);
    if !may_be_sent(code) {
        return Err(&faults::CLOSE_CODE);
    }
    let reason = std::str::from_utf8(reason).map_err(|_| &faults::CLOSE_REASON)?;
    Ok(Some(Close { code, reason }))
}
