//! The server role: requests in, responses out.

use std::collections::VecDeque;
use std::fmt;

use super::connection::{Connection, Incoming};
pub use super::frame::PREFACE;
use super::message::Kind;
pub use super::{Config, Limits};
use super::{ErrorCode, Fields, Head, Role};
use crate::{Misuse, Violation};

/// What was read.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The client's preface and first SETTINGS came.
    Ready,
    /// The head of a request.
    Request {
        /// Its stream, for the answer.
        stream: u32,
        /// The method.
        method: &'a [u8],
        /// The path with its query; empty with CONNECT.
        path: &'a [u8],
        /// All fields, pseudo-header fields first.
        fields: Fields<'a>,
        /// Whether the request is complete: it has no body.
        end: bool,
    },
    /// A piece of the body, empty only if it ends. It may come after the response is complete.
    Data {
        /// The stream.
        stream: u32,
        /// The piece.
        bytes: &'a [u8],
        /// Whether the request is complete.
        end: bool,
    },
    /// Fields behind the body: the request is complete.
    Trailers {
        /// The stream.
        stream: u32,
        /// The fields.
        fields: Fields<'a>,
    },
    /// The stream is gone: nothing more can be sent on it. Only of streams that a `Request` told
    /// of and whose response is not complete, or whose request is not.
    Reset {
        /// The stream.
        stream: u32,
        /// The client's code, or the one the client was told.
        code: ErrorCode,
        /// What the client did wrong, if it was we who gave the stream up.
        violation: Option<&'static Violation>,
    },
    /// A stream on which [`Server::data`] took less than it was given can take more.
    Writable {
        /// The stream.
        stream: u32,
    },
    /// The client will send no more requests.
    GoAway {
        /// Why: `NO_ERROR` for a graceful end.
        code: ErrorCode,
    },
    /// The answer to [`Server::ping`].
    Pong {
        /// What the ping carried.
        payload: [u8; 8],
    },
}

/// Why nothing was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unsent {
    /// The stream is not open for sending: it was reset, or its response is complete.
    Gone,
    /// The caller's fault.
    Misuse(Misuse),
}

impl fmt::Display for Unsent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unsent::Gone => f.write_str("the stream is not open for sending"),
            Unsent::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl std::error::Error for Unsent {}

/// The server role of one connection.
///
/// Small while it idles: what it holds grows with the streams that are open at a time.
#[derive(Debug)]
pub struct Server {
    connection: Connection,
    /// Streams on which less was sent than there was to send, in this order.
    blocked: VecDeque<u32>,
    /// How many of them are to be looked at, since credit came for all.
    to_look_at: usize,
    /// Requests that were answered 431 and not counted yet.
    refused: u64,
}

impl Server {
    /// A connection on which nothing was received yet: writes the settings and the credit of the
    /// connection to `out`. The input starts with [`PREFACE`].
    pub fn new(config: Config, out: &mut Vec<u8>) -> Server {
        Server {
            connection: Connection::new(Role::Server, config, out),
            blocked: VecDeque::new(),
            to_look_at: 0,
            refused: 0,
        }
    }

    /// How many requests this has answered 431 by itself since it was last asked.
    #[inline]
    pub fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.refused)
    }

    /// The next event out of `input`, which is advanced past what was used. What the protocol owes
    /// the client is appended to `out`; malformed requests are answered there and never told.
    ///
    /// `None` means that all of `input` is used and the event needs more.
    ///
    /// # Errors
    /// The client broke the protocol and GOAWAY is in `out`. Every further call repeats it.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, Violation> {
        loop {
            if self.to_look_at > 0
                && let Some(stream) = self.next_writable()
            {
                return Ok(Some(Event::Writable { stream }));
            }
            return Ok(Some(match self.connection.next(input, out) {
                Ok(Some(Incoming::Head { id, end, .. })) => self.request(id, end),
                Ok(Some(Incoming::Data { id, bytes, end, .. })) => Event::Data {
                    stream: id,
                    bytes,
                    end,
                },
                Ok(Some(Incoming::Trailers { id, .. })) => Event::Trailers {
                    stream: id,
                    fields: self.connection.trailers().list().fields(),
                },
                Ok(Some(incoming)) => match self.control(incoming, out) {
                    Some(event) => event,
                    None => continue,
                },
                Ok(None) => return Ok(None),
                Err(fault) => return Err(*fault.violation),
            }));
        }
    }

    /// A whole response of a head that was made before and a body, or as much of the body as the
    /// windows allow: says how many bytes of it, and if not all, [`Server::data`] sends the rest
    /// after [`Event::Writable`].
    ///
    /// Where there can be no body (HEAD, 204, 304) none is sent, and all of it counts as taken.
    ///
    /// # Errors
    /// [`Unsent::Gone`]; a head that is not a final response's, or a stream that has one.
    #[inline]
    pub fn answer(
        &mut self,
        stream: u32,
        head: &Head,
        body: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<usize, Unsent> {
        let place = self.place(stream, Message::Head(head.meaning().status))?;
        if head.meaning().status < 200 {
            return Err(misuse("an interim response is no answer"));
        }
        let end = body.is_empty();
        if self.write_head(place, head, end, out)? {
            return Ok(body.len());
        }
        Ok(self.write_data(place, stream, body, true, out))
    }

    /// The head of a response, which is its `end` too if it has no body.
    ///
    /// An interim response (1xx) has no end, and another head follows. Where there can be no body
    /// (HEAD, 204, 304), the head is the end whatever is said. [`Server::respond_kept`] is cheaper
    /// for heads that repeat.
    ///
    /// # Errors
    /// [`Unsent::Gone`]; a field or status that would make the response malformed.
    pub fn respond<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        stream: u32,
        status: u16,
        fields: &[(N, V)],
        end: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let place = self.place(stream, Message::Head(status))?;
        let ends = self.head_ends(place, status, end)?;
        let sender = self.connection.sender();
        sender
            .write_once(out, (stream, ends), Some(status), fields)
            .map_err(Unsent::Misuse)?;
        self.head_written(place, status, ends);
        Ok(())
    }

    /// [`Server::respond`] with fields whose names may be in any case: they are sent in lower case
    /// (RFC 9113 §8.2.1).
    ///
    /// # Errors
    /// As for [`Server::respond`].
    pub fn respond_with<'f>(
        &mut self,
        stream: u32,
        status: u16,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
        end: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let place = self.place(stream, Message::Head(status))?;
        let ends = self.head_ends(place, status, end)?;
        let sender = self.connection.sender();
        sender
            .write_response(out, (stream, ends), status, fields)
            .map_err(Unsent::Misuse)?;
        self.head_written(place, status, ends);
        Ok(())
    }

    /// [`Server::respond`] with a head that was made before ([`Head::response`]).
    ///
    /// # Errors
    /// As for [`Server::respond`].
    #[inline]
    pub fn respond_kept(
        &mut self,
        stream: u32,
        head: &Head,
        end: bool,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let place = self.place(stream, Message::Head(head.meaning().status))?;
        self.write_head(place, head, end, out)?;
        Ok(())
    }

    /// A piece of a body, or as much of it as the windows allow: says how many bytes. If that is
    /// not all, the end was not sent, and [`Event::Writable`] follows once there is credit.
    ///
    /// # Errors
    /// [`Unsent::Gone`]; a stream without a response head.
    #[inline]
    pub fn data(
        &mut self,
        stream: u32,
        bytes: &[u8],
        end: bool,
        out: &mut Vec<u8>,
    ) -> Result<usize, Unsent> {
        let place = self.place(stream, Message::Rest)?;
        Ok(self.write_data(place, stream, bytes, end, out))
    }

    /// Fields behind the body: the response is complete. All of the body must have been taken.
    ///
    /// # Errors
    /// [`Unsent::Gone`]; a field that may not stand in trailers; a stream without a response head.
    pub fn trailers<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        stream: u32,
        fields: &[(N, V)],
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let place = self.place(stream, Message::Rest)?;
        let sender = self.connection.sender();
        sender
            .write_once(out, (stream, true), None, fields)
            .map_err(Unsent::Misuse)?;
        self.connection.end_out(place);
        Ok(())
    }

    /// [`Server::trailers`] that were made before ([`Head::trailers`]).
    ///
    /// # Errors
    /// As for [`Server::trailers`].
    #[inline]
    pub fn trailers_kept(
        &mut self,
        stream: u32,
        trailers: &Head,
        out: &mut Vec<u8>,
    ) -> Result<(), Unsent> {
        let place = self.place(stream, Message::Rest)?;
        if trailers.kind() != Kind::Trailers {
            return Err(misuse("a head was sent where trailers belong"));
        }
        self.connection.sender().write(out, stream, trailers, true);
        self.connection.end_out(place);
        Ok(())
    }

    /// Stops giving credit for the body of a request, which then ends its flow after at most
    /// [`Config::stream_window`] bytes. Without effect on a stream that is gone.
    pub fn pause(&mut self, stream: u32) {
        let streams = &mut self.connection.streams;
        if let Some(open) = streams.find(stream).and_then(|place| streams.at(place)) {
            open.paused = true;
        }
    }

    /// Gives credit again, and what was held back at once.
    pub fn resume(&mut self, stream: u32, out: &mut Vec<u8>) {
        let streams = &mut self.connection.streams;
        if let Some(place) = streams.find(stream)
            && let Some(open) = streams.at(place)
        {
            open.paused = false;
            self.connection.refill(place, out);
        }
    }

    /// Gives a stream up: RST_STREAM with `code`. Nothing more is told of it. Without effect on a
    /// stream that is gone.
    pub fn reset(&mut self, stream: u32, code: ErrorCode, out: &mut Vec<u8>) {
        if let Some(place) = self.connection.streams.find(stream) {
            self.connection.give_up(place, code, out);
        }
    }

    /// Says that no more requests are taken: GOAWAY with `code` and the last stream that was. Later
    /// ones are refused, those under way go on.
    pub fn go_away(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        self.connection.go_away(code, out);
    }

    /// Says that the connection is going to end, and goes on taking requests: GOAWAY with the
    /// highest number there is, so that a client begins no more of them here, and those on their
    /// way are not lost (RFC 9113 §6.8). [`Server::go_away`] follows when that has arrived.
    pub fn announce_going(&mut self, out: &mut Vec<u8>) {
        self.connection.announce_going(out);
    }

    /// Whether the client has begun any stream so far.
    pub fn has_begun(&self) -> bool {
        self.connection.highest > 0
    }

    /// Asks for a sign of life; [`Event::Pong`] brings `payload` back.
    pub fn ping(&mut self, payload: [u8; 8], out: &mut Vec<u8>) {
        self.connection.ping(payload, out);
    }

    /// Whether a block of fields, or another frame that is kept until it is whole, has begun and is
    /// not complete: a deadline for slow heads applies.
    #[inline]
    pub fn head_started(&self) -> bool {
        self.connection.head_started()
    }

    /// Streams whose request or response is not complete.
    #[inline]
    pub fn open_streams(&self) -> u32 {
        self.connection.streams.open()
    }

    /// Bytes of memory that this connection holds besides itself.
    pub fn memory_bytes(&self) -> usize {
        self.connection.memory_bytes() + self.blocked.capacity() * size_of::<u32>()
    }

    /// Acts upon what is no part of a request; says what the caller is to know of it.
    fn control(&mut self, incoming: Incoming<'_>, out: &mut Vec<u8>) -> Option<Event<'static>> {
        match incoming {
            Incoming::Reset {
                id,
                code,
                violation,
                ..
            } => Some(Event::Reset {
                stream: id,
                code,
                violation,
            }),
            Incoming::Ready => {
                self.to_look_at = self.blocked.len();
                Some(Event::Ready)
            }
            Incoming::Credit { id: 0 } => {
                self.to_look_at = self.blocked.len();
                None
            }
            Incoming::Credit { id } => self.unblock(id).then_some(Event::Writable { stream: id }),
            Incoming::HeadTooLong { id, end } => {
                self.refuse(id, end, out);
                None
            }
            Incoming::GoAway { code, .. } => Some(Event::GoAway { code }),
            Incoming::Pong(payload) => Some(Event::Pong { payload }),
            Incoming::Head { .. } | Incoming::Data { .. } | Incoming::Trailers { .. } => None,
        }
    }

    #[inline]
    fn request(&mut self, stream: u32, end: bool) -> Event<'_> {
        let head = self.connection.head();
        let (list, meaning) = (head.list(), head.meaning());
        Event::Request {
            stream,
            method: list.value(meaning.method),
            path: list.value(meaning.path),
            fields: list.fields(),
            end,
        }
    }

    /// The next blocked stream that can take something now. Each is looked at once for each credit
    /// of the connection; those that wait for their own credit go to the end.
    fn next_writable(&mut self) -> Option<u32> {
        while self.to_look_at > 0 && self.connection.send.left() > 0 {
            self.to_look_at -= 1;
            let id = self.blocked.pop_front()?;
            let streams = &mut self.connection.streams;
            let open = streams.find(id).and_then(|place| streams.at(place));
            match open {
                Some(stream) if stream.send.left() > 0 => {
                    stream.blocked = false;
                    return Some(id);
                }
                Some(_) => self.blocked.push_back(id),
                None => {}
            }
        }
        self.to_look_at = 0;
        None
    }

    /// Takes a stream that got credit out of those that are blocked, if it can take something now.
    fn unblock(&mut self, id: u32) -> bool {
        let core = &mut self.connection;
        let place = core.streams.find(id);
        let open = place.and_then(|place| core.streams.at(place));
        match open {
            Some(stream) if stream.blocked && stream.send.left() > 0 && core.send.left() > 0 => {
                stream.blocked = false;
                self.blocked.retain(|&blocked| blocked != id);
                true
            }
            _ => false,
        }
    }

    /// Where a stream is on which this may be sent now.
    #[inline]
    fn place(&mut self, stream: u32, message: Message) -> Result<u32, Unsent> {
        let streams = &mut self.connection.streams;
        let place = streams.find(stream).ok_or(Unsent::Gone)?;
        let open = streams.at(place).ok_or(Unsent::Gone)?;
        match message {
            _ if open.ended_out => Err(Unsent::Gone),
            Message::Head(_) if open.head_out => Err(misuse("a stream was answered twice")),
            Message::Rest if !open.head_out => Err(misuse("a body was sent before its head")),
            Message::Head(0) => Err(misuse("a head was sent that is no response")),
            _ => Ok(place),
        }
    }

    /// Whether a head with this status ends its stream.
    #[inline]
    fn head_ends(&mut self, place: u32, status: u16, end: bool) -> Result<bool, Unsent> {
        if status < 200 {
            return match end {
                true => Err(misuse("an interim response cannot end a stream")),
                false => Ok(false),
            };
        }
        let stream = self.connection.streams.at(place);
        let head_request = stream.is_some_and(|stream| stream.head_request);
        Ok(end || head_request || matches!(status, 204 | 304))
    }

    /// Writes a head that repeats; says whether it ended the stream.
    #[inline]
    fn write_head(
        &mut self,
        place: u32,
        head: &Head,
        end: bool,
        out: &mut Vec<u8>,
    ) -> Result<bool, Unsent> {
        let status = head.meaning().status;
        let ends = self.head_ends(place, status, end)?;
        let core = &mut self.connection;
        let id = core.streams.at(place).map_or(0, |stream| stream.id);
        core.sender().write(out, id, head, ends);
        self.head_written(place, status, ends);
        Ok(ends)
    }

    #[inline]
    fn head_written(&mut self, place: u32, status: u16, ends: bool) {
        if let Some(stream) = self.connection.streams.at(place) {
            stream.head_out = status >= 200;
        }
        if ends {
            self.connection.end_out(place);
        }
    }

    #[inline]
    fn write_data(
        &mut self,
        place: u32,
        id: u32,
        bytes: &[u8],
        end: bool,
        out: &mut Vec<u8>,
    ) -> usize {
        let taken = self.connection.send_data(place, bytes, end, out);
        if taken < bytes.len()
            && let Some(stream) = self.connection.streams.at(place)
            && !stream.blocked
        {
            debug_assert!(!self.blocked.contains(&id), "stream {id} waits twice");
            stream.blocked = true;
            self.blocked.push_back(id);
        }
        taken
    }

    /// Answers a request whose list of fields is too long (RFC 6585 §5), and does not wait for the
    /// rest of it.
    #[cold]
    fn refuse(&mut self, stream: u32, ended: bool, out: &mut Vec<u8>) {
        const NO_FIELDS: &[(&[u8], &[u8])] = &[];
        self.refused += 1;
        // The stream is new and the head in order, so both are always possible.
        if self.respond(stream, 431, NO_FIELDS, true, out).is_err() || !ended {
            self.reset(stream, ErrorCode::NO_ERROR, out);
        }
    }
}

/// What is to be sent on a stream.
enum Message {
    /// A head with this status.
    Head(u16),
    /// Something behind a head.
    Rest,
}

fn misuse(what: &'static str) -> Unsent {
    Unsent::Misuse(Misuse::new(what))
}
