//! Answers of services become frames.

use std::borrow::Cow;

use proto::http2::server::{Server, Unsent};

use exchange::answer::{bodiless, may_be_said};
#[cfg(feature = "tower")]
use exchange::headers;
use exchange::pattern::{PERIOD, PLAIN};
use exchange::response::{Body, Field, Response};

/// A service that sends in pieces is asked for more while no more than this waits.
const PIECES_LOW: usize = 64 * 1024;

/// A stream sends about so many bytes before the next has its turn.
const TURN_BYTES: usize = 32 * 1024;

/// The fields of a response head.
pub(super) struct Fields<'a> {
    response: &'a Response,
    date: &'a [u8; 29],
    /// The length of the body in decimal, right-justified.
    digits: [u8; 20],
    digits_at: usize,
}

impl<'a> Fields<'a> {
    pub(super) fn of(response: &'a Response, date: &'a [u8; 29]) -> Fields<'a> {
        let mut fields = Fields {
            response,
            date,
            digits: [b'0'; 20],
            digits_at: 20,
        };
        if response.body.is_announced() && !bodiless(response.status) {
            let mut left = response.body.len();
            loop {
                fields.digits_at -= 1;
                fields.digits[fields.digits_at] = b'0' + (left % 10) as u8;
                left /= 10;
                if left == 0 {
                    break;
                }
            }
        }
        fields
    }

    /// Names, in any case, and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let response = self.response;
        let length = &self.digits[self.digits_at..];
        let own = response.names("server");
        let first = [
            (!own).then_some((&b"server"[..], &b"ringside"[..])),
            Some((&b"date"[..], &self.date[..])),
            (response.content_type.as_deref())
                .map(|value| (&b"content-type"[..], value.as_bytes())),
        ];
        let further = response.fields.iter();
        let further = further.map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let last = (!length.is_empty()).then_some((&b"content-length"[..], length));
        first.into_iter().flatten().chain(further).chain(last)
    }
}

/// Sends the head of an answer. One that cannot be said becomes a 500 without a body: the client
/// learns whose fault it is.
///
/// # Errors
/// Nothing can follow on this stream.
pub(super) fn head(
    stream: u32,
    response: &Response,
    end: bool,
    date: &[u8; 29],
    machine: &mut Server,
    out: &mut Vec<u8>,
) -> Result<(), Unsent> {
    #[cfg(feature = "tower")]
    if let Some(given) = &response.headers {
        let length = Fields::of(response, date);
        let length = (!end).then_some(&length.digits[length.digits_at..]);
        let length = length.filter(|digits| !digits.is_empty());
        let fields = headers::for_http2(given, response, length, date);
        // Behind an interim head the client would wait for another (RFC 9110 §15.2).
        if let (Some(fields), 200..) = (fields, response.status) {
            match machine.respond_with(stream, response.status, fields, end, out) {
                Err(Unsent::Misuse(_)) => {}
                said => return said,
            }
        }
        machine.respond(stream, 500, &[("content-length", "0")], true, out)?;
        return Err(Unsent::Gone);
    }
    if may_be_said(response) {
        let fields = Fields::of(response, date);
        match machine.respond_with(stream, response.status, fields.iter(), end, out) {
            Err(Unsent::Misuse(_)) => {}
            said => return said,
        }
    }
    let fields = [("server", "ringside"), ("content-length", "0")];
    machine.respond(stream, 500, &fields, true, out)?;
    Err(Unsent::Gone)
}

/// Whether anything follows the head.
pub(super) fn has_body(response: &Response, head_only: bool) -> bool {
    !head_only && !bodiless(response.status) && !response.body.is_empty()
}

/// The whole body of a short answer.
pub(super) fn whole_body(response: &Response, head_only: bool) -> Cow<'_, [u8]> {
    match &response.body {
        _ if !has_body(response, head_only) => Cow::Borrowed(&[]),
        Body::Static(bytes) => Cow::Borrowed(bytes),
        Body::Bytes(bytes) => Cow::Borrowed(bytes),
        #[cfg(feature = "tower")]
        Body::Shared(bytes) => Cow::Borrowed(bytes),
        Body::Pattern(length) | Body::Chunked(length) => {
            let mut bytes = Vec::new();
            let mut source = Source::Pattern {
                left: *length,
                phase: 0,
            };
            while let Some(piece) = source.piece() {
                bytes.extend_from_slice(piece);
                let taken = piece.len();
                source.advance(taken);
            }
            Cow::Owned(bytes)
        }
        // Whoever sends pieces isn't asked.
        _ => Cow::Borrowed(&[]),
    }
}

/// Where the rest of a body comes from.
#[derive(Debug)]
pub(super) enum Source {
    /// Bytes of the program.
    Static(&'static [u8]),
    /// Bytes made for this answer, from a place on.
    Bytes { bytes: Vec<u8>, at: usize },
    /// Bytes that others have, too.
    #[cfg(feature = "tower")]
    Shared(bytes::Bytes),
    /// So many bytes of the pattern, from this place in its period on.
    Pattern { left: u64, phase: usize },
}

/// How far a source came in its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// All of it is sent, and the end of the stream.
    Done,
    /// It goes on when there is credit.
    Blocked,
    /// It goes on in its next turn.
    More,
}

impl Source {
    /// What is left of the body of an answer that has one.
    pub(super) fn of(body: Body) -> Source {
        match body {
            Body::Static(bytes) => Source::Static(bytes),
            Body::Bytes(bytes) => Source::Bytes { bytes, at: 0 },
            #[cfg(feature = "tower")]
            Body::Shared(bytes) => Source::Shared(bytes),
            Body::Pattern(left) | Body::Chunked(left) => Source::Pattern { left, phase: 0 },
            _ => Source::Static(&[]),
        }
    }

    /// Sends as much as one turn and the windows allow.
    pub(super) fn send(
        &mut self,
        stream: u32,
        machine: &mut Server,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Unsent> {
        let start = out.len();
        while out.len() - start < TURN_BYTES {
            let left = self.left();
            let piece = self.piece().unwrap_or_default();
            let (bytes, end) = (piece.len(), piece.len() as u64 == left);
            let taken = machine.data(stream, piece, end, out)?;
            self.advance(taken);
            if taken < bytes {
                return Ok(Progress::Blocked);
            }
            if end {
                return Ok(Progress::Done);
            }
        }
        Ok(Progress::More)
    }

    /// Bytes of memory of its own.
    pub(super) fn memory(&self) -> usize {
        match self {
            Source::Bytes { bytes, .. } => bytes.len(),
            #[cfg(feature = "tower")]
            Source::Shared(bytes) => bytes.len(),
            Source::Static(_) | Source::Pattern { .. } => 0,
        }
    }

    /// Bytes that are not sent yet.
    pub(super) fn left(&self) -> u64 {
        match self {
            Source::Static(bytes) => bytes.len() as u64,
            Source::Bytes { bytes, at } => (bytes.len() - at) as u64,
            #[cfg(feature = "tower")]
            Source::Shared(bytes) => bytes.len() as u64,
            Source::Pattern { left, .. } => *left,
        }
    }

    /// The next bytes, as many as fit a turn. `None` if there are no more.
    fn piece(&self) -> Option<&[u8]> {
        let (bytes, from) = match self {
            Source::Static(bytes) => (*bytes, 0),
            Source::Bytes { bytes, at } => (&bytes[..], *at),
            #[cfg(feature = "tower")]
            Source::Shared(bytes) => (&bytes[..], 0),
            Source::Pattern { phase, .. } => (&PLAIN[..], *phase),
        };
        let length = self.left().min(TURN_BYTES as u64) as usize;
        (length > 0).then(|| &bytes[from..from + length])
    }

    fn advance(&mut self, taken: usize) {
        debug_assert!(
            taken as u64 <= self.left(),
            "{taken} bytes were taken, and {} were left",
            self.left()
        );
        match self {
            Source::Static(bytes) => *bytes = &bytes[taken..],
            Source::Bytes { at, .. } => *at += taken,
            #[cfg(feature = "tower")]
            Source::Shared(bytes) => drop(bytes.split_to(taken)),
            Source::Pattern { left, phase } => {
                *left -= taken as u64;
                *phase = (*phase + taken) % PERIOD;
            }
        }
    }
}

/// A body that its service sends piece by piece.
#[derive(Debug)]
pub(super) struct Pieces {
    /// What the service has sent and the machine has not taken, from a place on.
    bytes: Vec<u8>,
    at: usize,
    /// Bytes that were announced and are not sent by the service yet.
    announced: Option<u64>,
    /// The service has sent everything, and these trailers.
    end: Option<Vec<Field>>,
    /// Since the service was last told that there is room, it has sent something.
    owed: bool,
}

impl Pieces {
    /// Those of an answer that has begun.
    pub(super) fn of(body: &Body) -> Pieces {
        Pieces {
            bytes: Vec::new(),
            at: 0,
            announced: match body {
                Body::Sized(bytes) => Some(*bytes),
                _ => None,
            },
            end: None,
            owed: true,
        }
    }

    /// The service sends more. What is more than was announced, it may not.
    pub(super) fn push(&mut self, mut piece: &[u8]) {
        if self.end.is_some() {
            return;
        }
        if let Some(left) = &mut self.announced {
            let taken = piece
                .len()
                .min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= taken as u64;
            piece = &piece[..taken];
        }
        self.bytes.extend_from_slice(piece);
        self.owed = true;
    }

    /// The service has sent everything. False if that is less than was announced.
    pub(super) fn finish(&mut self, trailers: Vec<Field>) -> bool {
        let whole = self.announced.is_none_or(|left| left == 0);
        if whole {
            self.end.get_or_insert(trailers);
        }
        whole
    }

    /// Whether the service has sent everything.
    pub(super) fn has_ended(&self) -> bool {
        self.end.is_some()
    }

    /// Bytes that the machine has not taken.
    pub(super) fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.bytes.capacity()
    }

    /// Whether the service is to be told that there is room for more, once.
    pub(super) fn take_room(&mut self) -> bool {
        let room = self.owed && self.end.is_none() && self.left() <= PIECES_LOW;
        self.owed &= !room;
        room
    }

    /// Sends as much as one turn and the windows allow, and there is.
    ///
    /// # Errors
    /// Nothing can follow on this stream.
    pub(super) fn send(
        &mut self,
        stream: u32,
        machine: &mut Server,
        out: &mut Vec<u8>,
    ) -> Result<Progress, Unsent> {
        let last = self.end.as_ref().is_some_and(Vec::is_empty);
        let piece = &self.bytes[self.at..];
        let (length, whole) = (piece.len().min(TURN_BYTES), piece.len() <= TURN_BYTES);
        let taken = match length {
            0 if !last => 0,
            _ => machine.data(stream, &piece[..length], whole && last, out)?,
        };
        self.at += taken;
        if taken < length {
            return Ok(Progress::Blocked);
        }
        if !whole {
            return Ok(Progress::More);
        }
        self.bytes.clear();
        self.at = 0;
        match &self.end {
            None => Ok(Progress::Blocked),
            Some(trailers) if trailers.is_empty() => Ok(Progress::Done),
            Some(trailers) => {
                self.say_trailers(stream, machine, out, trailers)?;
                Ok(Progress::Done)
            }
        }
    }

    /// Sends the trailers, or the end alone if they can't be sent.
    fn say_trailers(
        &self,
        stream: u32,
        machine: &mut Server,
        out: &mut Vec<u8>,
        trailers: &[Field],
    ) -> Result<(), Unsent> {
        let lower = |(name, value): &Field| (name.to_ascii_lowercase(), value.clone());
        let fields: Vec<_> = trailers.iter().map(lower).collect();
        let fields: Vec<_> = (fields.iter())
            .map(|(name, value)| (name.as_bytes(), value.as_bytes()))
            .collect();
        match machine.trailers(stream, &fields, out) {
            Err(Unsent::Misuse(_)) => machine.data(stream, &[], true, out).map(|_| ()),
            said => said,
        }
    }
}
