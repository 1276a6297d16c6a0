//! What an answer of HTTP/2 says about a gRPC call.

use std::fmt;

use measure::foreign::Foreign;
use proto::grpc::{self, Event, GZIP, Messages, Status, decode_message};
use proto::gzip::{self, Unpacked};

use super::http2::Trailers;
use super::{Answer, BODY_BYTES_MAX};
use crate::LoadError;
use plan::Contact;

/// What a gRPC call came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallEnd {
    /// How it ended.
    pub status: Status,
    /// What the server said about that; empty: nothing.
    pub message: Foreign,
    /// The messages of the answer, encoded, and decompressed if they came compressed.
    pub messages: Vec<Vec<u8>>,
}

impl CallEnd {
    /// The name of the status, such as `OK` or `NOT_FOUND`.
    pub fn status_name(&self) -> &'static str {
        self.status.name()
    }
}

impl fmt::Display for CallEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.status.name())?;
        if self.message.is_empty() {
            return Ok(());
        }
        write!(f, ": {}", self.message)
    }
}

/// Reads the messages and the status of a call.
pub(super) fn read(
    contact: &Contact,
    mut answer: Answer,
    trailers: &Trailers,
) -> Result<Answer, LoadError> {
    let broken = |why: String| LoadError::Probe(format!("{}: {why}", contact.url()));
    let content_type = answer.field("content-type");
    if !content_type.is_some_and(grpc::is_content_type) {
        let content_type = content_type.map_or(Foreign::new("none"), Foreign::of_bytes);
        return Err(broken(format!(
            "the server speaks HTTP/2 but not gRPC: it answers with status {} and content-type \
             {}; check the port and the path",
            answer.status, content_type
        )));
    }
    // Without trailers the head is all there is (Trailers-Only).
    let named = |name: &str| match trailers.iter().find(|(found, _)| found == name.as_bytes()) {
        Some((_, value)) => Some(&**value),
        None => answer.field(name).filter(|_| trailers.is_empty()),
    };
    let status = match named("grpc-status") {
        None if answer.status != 200 => Status::of_http(answer.status),
        value => Status::of_trailers(value),
    };
    let message = named("grpc-message").map(|value| Foreign::new(decode_message(value)));
    let coding = Coding::of(answer.field("grpc-encoding"));
    let messages = messages(&answer.body, &coding).map_err(broken)?;
    answer.grpc = Some(CallEnd {
        status,
        message: message.unwrap_or_default(),
        messages,
    });
    Ok(answer)
}

/// What compressed messages are compressed by.
enum Coding {
    /// Nothing is said.
    Unnamed,
    /// This one can be read, also where nobody asked for it, as some servers don't wait for that.
    Gzip,
    Other(Foreign),
}

impl Coding {
    fn of(named: Option<&[u8]>) -> Coding {
        match named {
            None | Some(b"identity") => Coding::Unnamed,
            Some(name) if name == GZIP.as_bytes() => Coding::Gzip,
            Some(name) => Coding::Other(Foreign::of_bytes(name)),
        }
    }

    fn unpack(&self, message: &[u8]) -> Result<Vec<u8>, String> {
        let why = match self {
            Coding::Unnamed => {
                "the server compressed a message without saying how: its head has no grpc-encoding"
            }
            Coding::Other(name) => {
                return Err(format!(
                    "the server compressed a message by {name}, and only gzip can be read"
                ));
            }
            Coding::Gzip => {
                let mut plain = Vec::new();
                match gzip::unpack(message, BODY_BYTES_MAX, &mut plain) {
                    Ok(()) => return Ok(plain),
                    Err(Unpacked::Broken) => {
                        "the server sent a message that isn't gzip, although it says so"
                    }
                    Err(Unpacked::TooLong) => {
                        return Err(format!(
                            "a message of the answer is longer than the {BODY_BYTES_MAX} bytes we \
                             keep, once it's decompressed"
                        ));
                    }
                }
            }
        };
        Err(why.into())
    }
}

/// The messages in a body (Length-Prefixed-Message).
fn messages(body: &[u8], coding: &Coding) -> Result<Vec<Vec<u8>>, String> {
    let mut reader = Messages::new(BODY_BYTES_MAX as u32);
    let mut input = body;
    let mut messages = Vec::new();
    let mut packed = false;
    while let Some(event) = reader.next(&mut input).map_err(|why| why.to_string())? {
        match event {
            Event::Begin { compressed, .. } => {
                packed = compressed;
                messages.push(Vec::new());
            }
            Event::Bytes(bytes) => {
                if let Some(message) = messages.last_mut() {
                    message.extend_from_slice(bytes);
                }
            }
            Event::End => {
                if let Some(message) = messages.last_mut().filter(|_| packed) {
                    *message = coding.unpack(message)?;
                }
            }
        }
    }
    reader.ended().map_err(|why| why.to_string())?;
    Ok(messages)
}
