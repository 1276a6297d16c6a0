//! The sequence of messages in the data of a stream (Length-Prefixed-Message).

use super::{Rejection, Status};
use crate::gzip::Gzip;
use crate::{Misuse, Violation};

/// Bytes before every message: whether it is compressed, and its length.
const PREFIX_BYTES: usize = 5;

/// What was read of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A message starts.
    Begin {
        /// Its length in bytes.
        length: u32,
        /// Whether it is compressed by what `grpc-encoding` says; without that field it must not
        /// be, which is [`UNNAMED`].
        compressed: bool,
    },
    /// A piece of the message, never empty.
    Bytes(&'a [u8]),
    /// The message is complete.
    End,
}

/// Reads the messages of one direction of one call. Keeps nothing but five bytes.
#[derive(Clone, Debug)]
pub struct Messages {
    message_bytes_max: u32,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Prefix {
        bytes: [u8; PREFIX_BYTES],
        have: u8,
    },
    /// So many bytes of the message are to come; with 0 the end is to be told.
    Message(u32),
    Failed(&'static Rejection),
}

const BEFORE_PREFIX: State = State::Prefix {
    bytes: [0; PREFIX_BYTES],
    have: 0,
};

impl Messages {
    /// A reader at the start of a call. Longer messages than `message_bytes_max` are refused.
    pub fn new(message_bytes_max: u32) -> Messages {
        Messages {
            message_bytes_max,
            state: BEFORE_PREFIX,
        }
    }

    /// The next event out of `input`, which is advanced past what was used.
    ///
    /// `None` means that all of `input` is used and the event needs more.
    ///
    /// # Errors
    /// What the peer did wrong, which ends the call. Every further call repeats it.
    #[inline]
    pub fn next<'i>(&mut self, input: &mut &'i [u8]) -> Result<Option<Event<'i>>, Rejection> {
        match &mut self.state {
            State::Message(0) => {
                self.state = BEFORE_PREFIX;
                Ok(Some(Event::End))
            }
            _ if input.is_empty() => match self.state {
                State::Failed(rejection) => Err(*rejection),
                _ => Ok(None),
            },
            State::Message(left) => {
                let taken = input.len().min(*left as usize);
                *left -= taken as u32;
                let (bytes, rest) = input.split_at(taken);
                *input = rest;
                Ok(Some(Event::Bytes(bytes)))
            }
            State::Prefix { bytes, have } => {
                if *have == 0
                    && let Some((whole, rest)) = input.split_first_chunk()
                {
                    *input = rest;
                    return self.begin(*whole).map(Some);
                }
                let start = usize::from(*have);
                let taken = input.len().min(PREFIX_BYTES - start);
                let (given, rest) = input.split_at(taken);
                *input = rest;
                bytes[start..start + taken].copy_from_slice(given);
                *have += taken as u8;
                if usize::from(*have) < PREFIX_BYTES {
                    return Ok(None);
                }
                let whole = *bytes;
                self.begin(whole).map(Some)
            }
            State::Failed(rejection) => Err(**rejection),
        }
    }

    /// Whether a message has begun to come, and not all of it is there.
    pub fn is_within(&self) -> bool {
        match self.state {
            State::Prefix { have, .. } => have > 0,
            State::Message(_) => true,
            State::Failed(_) => false,
        }
    }

    /// Says that the peer sends no more.
    ///
    /// # Errors
    /// A message was cut off.
    pub fn ended(&mut self) -> Result<(), Rejection> {
        match self.state {
            State::Prefix { have: 0, .. } => Ok(()),
            State::Prefix { .. } | State::Message(_) => Err(self.fail(&CUT_OFF)),
            State::Failed(rejection) => Err(*rejection),
        }
    }

    #[inline]
    fn begin<'i>(&mut self, prefix: [u8; PREFIX_BYTES]) -> Result<Event<'i>, Rejection> {
        let [flag, length @ ..] = prefix;
        let length = u32::from_be_bytes(length);
        if flag > 1 {
            return Err(self.fail(&FLAG));
        }
        if length > self.message_bytes_max {
            return Err(self.fail(&TOO_LONG));
        }
        self.state = State::Message(length);
        Ok(Event::Begin {
            length,
            compressed: flag == 1,
        })
    }

    #[cold]
    fn fail(&mut self, rejection: &'static Rejection) -> Rejection {
        self.state = State::Failed(rejection);
        *rejection
    }
}

/// The prefix of a message of this length that is not compressed.
#[inline]
pub fn prefix(length: u32) -> [u8; PREFIX_BYTES] {
    let [a, b, c, d] = length.to_be_bytes();
    [0, a, b, c, d]
}

/// Appends a message with its prefix.
///
/// # Errors
/// A message beyond 4 GiB.
pub fn encode(message: &[u8], out: &mut Vec<u8>) -> Result<(), Misuse> {
    let length = u32::try_from(message.len())
        .map_err(|_| Misuse::new("a message is longer than its 32-bit length can say"))?;
    out.extend_from_slice(&prefix(length));
    out.extend_from_slice(message);
    Ok(())
}

/// Appends a message with its prefix, compressed. An empty one stays as it is, as gRPC-Go has it:
/// gzip would only make it longer.
///
/// # Errors
/// A message that is beyond 4 GiB then.
pub fn encode_gzipped(message: &[u8], gzip: &mut Gzip, out: &mut Vec<u8>) -> Result<(), Misuse> {
    if message.is_empty() {
        return encode(message, out);
    }
    let start = out.len();
    out.extend_from_slice(&prefix(0));
    gzip.pack(message, out);
    let Ok(length) = u32::try_from(out.len() - start - PREFIX_BYTES) else {
        out.truncate(start);
        return Err(Misuse::new(
            "a message is longer than its 32-bit length can say, even compressed",
        ));
    };
    let [_, length @ ..] = prefix(length);
    out[start] = 1;
    out[start + 1..start + PREFIX_BYTES].copy_from_slice(&length);
    Ok(())
}

/// What comes of a message that is compressed without an encoding.
pub static UNNAMED: Rejection = Rejection {
    status: Status::Internal,
    violation: Violation {
        clause: "gRPC over HTTP/2, Message-Encoding",
        what: "a message that is compressed, while grpc-encoding names no encoding",
    },
};

/// What comes of one that is compressed in another way than by gzip.
pub static UNOFFERED: Rejection = Rejection {
    status: Status::Internal,
    violation: Violation {
        clause: "gRPC over HTTP/2, Message-Accept-Encoding",
        what: "a message compressed in another way than by gzip, which nobody offered to take",
    },
};

static FLAG: Rejection = Rejection {
    status: Status::Internal,
    violation: Violation {
        clause: "gRPC over HTTP/2, Compressed-Flag",
        what: "a compressed flag that is neither 0 nor 1",
    },
};

static TOO_LONG: Rejection = Rejection {
    status: Status::ResourceExhausted,
    violation: Violation {
        clause: "gRPC over HTTP/2, Message-Length",
        what: "a message longer than the limit",
    },
};

static CUT_OFF: Rejection = Rejection {
    status: Status::Internal,
    violation: Violation {
        clause: "gRPC over HTTP/2, Length-Prefixed-Message",
        what: "a stream that ended inside a message",
    },
};
