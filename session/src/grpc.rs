//! gRPC on an HTTP/2 stream: what a response means to the call that it answers.
//!
//! A call ends well if HTTP says 200 and gRPC says 0, in trailers or in a head without a body, and
//! if as many messages came as its kind asks for. What a response without a status means is told by
//! the specification's table of HTTP statuses. Compressed messages are counted as they came: nobody
//! looks into them.

use proto::Violation;
use proto::grpc::{Event, GZIP, Messages, Rejection, Status, UNNAMED, UNOFFERED};
use proto::http2::Fields;

use super::happening::Outcome;
use super::streams::Listener;
use plan::protocol::CallKind;

/// Messages are counted and not kept, so they may be as long as their length can say.
const MESSAGE_BYTES_MAX: u32 = u32::MAX;

/// What was read of the answer to one call.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    http_status: u16,
    /// The status, where it is known before the end.
    decided: Option<Status>,
    reader: Messages,
    messages: u32,
    coding: Coding,
}

/// In which encoding compressed messages come (`grpc-encoding`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    /// None is named.
    None,
    /// This one can be read. Servers that compress on their own account use it unasked, too.
    Gzip,
    Other,
}

impl Coding {
    fn of(fields: Fields<'_>) -> Coding {
        match fields.get(b"grpc-encoding") {
            None | Some(b"identity") => Coding::None,
            Some(name) if name == GZIP.as_bytes() => Coding::Gzip,
            Some(_) => Coding::Other,
        }
    }

    /// What is wrong about a compressed message.
    fn refuses(self) -> Option<&'static Rejection> {
        match self {
            Coding::None => Some(&UNNAMED),
            Coding::Gzip => None,
            Coding::Other => Some(&UNOFFERED),
        }
    }
}

impl Answer {
    /// Nothing came yet.
    pub(crate) fn new() -> Answer {
        Answer {
            http_status: 0,
            decided: None,
            reader: Messages::new(MESSAGE_BYTES_MAX),
            messages: 0,
            coding: Coding::None,
        }
    }

    /// The head came; with `end` it is all there is.
    #[inline]
    pub(crate) fn head(&mut self, http_status: u16, fields: Fields<'_>, end: bool) {
        let (content_type, status) = (fields.get(b"content-type"), fields.get(b"grpc-status"));
        *self = Answer {
            http_status,
            decided: Status::of_head(http_status, content_type, status, end),
            coding: Coding::of(fields),
            ..Answer::new()
        };
    }

    /// A piece of the body came.
    ///
    /// # Errors
    /// It is no sequence of messages; the call can only be given up.
    #[inline]
    pub(crate) fn data(&mut self, mut bytes: &[u8]) -> Result<(), Violation> {
        if self.decided.is_some() {
            // What follows a refusal of HTTP is a page for people.
            return Ok(());
        }
        loop {
            match self.reader.next(&mut bytes) {
                Ok(Some(Event::End)) => self.messages += 1,
                Ok(Some(Event::Begin {
                    compressed: true, ..
                })) => {
                    if let Some(rejection) = self.coding.refuses() {
                        return Err(self.fail(rejection));
                    }
                }
                Ok(Some(_)) => {}
                Ok(None) => return Ok(()),
                Err(rejection) => return Err(self.fail(&rejection)),
            }
        }
    }

    #[cold]
    fn fail(&mut self, rejection: &Rejection) -> Violation {
        self.decided = Some(rejection.status);
        rejection.violation
    }

    /// The trailers came.
    #[inline]
    pub(crate) fn trailers(&mut self, fields: Fields<'_>) {
        let told = || Status::of_trailers(fields.get(b"grpc-status"));
        self.decided.get_or_insert_with(told);
    }

    /// How a call was answered, now that nothing more comes; whether `many` messages may have.
    #[inline]
    pub(crate) fn outcome(&mut self, many: bool) -> Outcome {
        let told = self.decided.unwrap_or_else(|| Status::of_trailers(None));
        let whole = self.reader.ended().is_ok() && (self.messages == 1 || many);
        let status = match told {
            Status::Ok if !whole => Status::Internal,
            told => told,
        };
        Outcome::Call {
            http_status: self.http_status,
            status,
            messages: self.messages,
        }
    }
}

/// The answer to a call whose messages are events.
#[derive(Clone, Debug)]
pub(crate) struct Timed {
    /// It may have any number of messages, and so be a stream.
    pub(crate) many: bool,
    answer: Answer,
    pub(crate) listener: Listener,
}

impl Timed {
    /// Nothing came yet of the answer to a call of this kind.
    pub(crate) fn new(kind: CallKind) -> Timed {
        Timed {
            many: kind.answers_many(),
            answer: Answer::new(),
            listener: Listener::default(),
        }
    }

    /// The head came. One that refuses the call begins no stream.
    #[inline(never)]
    pub(crate) fn head(&mut self, http_status: u16, fields: Fields<'_>, end: bool) {
        self.answer.head(http_status, fields, end);
        let is_stream = self.many && self.answer.decided.is_none();
        self.listener.begin(is_stream);
    }

    /// A piece of the body came.
    #[inline(never)]
    pub(crate) fn data(&mut self, bytes: &[u8]) -> Result<(), Violation> {
        let before = self.answer.messages;
        let read = self.answer.data(bytes);
        if self.many {
            self.listener.messages(self.answer.messages - before);
        }
        read
    }

    /// The trailers came.
    pub(crate) fn trailers(&mut self, fields: Fields<'_>) {
        self.answer.trailers(fields);
    }

    /// How the call was answered.
    pub(crate) fn outcome(&mut self) -> Outcome {
        self.listener.whole(self.answer.reader.ended().is_err());
        self.answer.outcome(self.many)
    }
}
