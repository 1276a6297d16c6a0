//! The client role: requests out, responses in.

use std::sync::Arc;

use super::connection::{Connection, Incoming};
use super::streams::Stream;
pub use super::{Config, Limits};
use super::{ErrorCode, Fields, Head, Role, faults};
use crate::{Misuse, Violation};

/// The highest number of a stream (RFC 9113 §5.1.1).
const STREAM_MAX: u32 = u32::MAX >> 1;

/// A request that is made once and sent as often as needed, on any number of connections.
#[derive(Clone, Debug)]
pub struct Request {
    head: Head,
    body: Arc<[u8]>,
    ended_by_data: bool,
}

impl Request {
    /// A request with these fields, pseudo-header fields first, and this body; empty means none.
    ///
    /// # Errors
    /// A head that [`Head::request`] refuses; a `content-length` that is not the body's; CONNECT,
    /// whose tunnel nobody here could follow.
    pub fn new<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        fields: &[(N, V)],
        body: impl Into<Arc<[u8]>>,
    ) -> Result<Request, Misuse> {
        let head = Head::request(fields)?;
        let body = body.into();
        let meaning = head.meaning();
        if meaning.connect {
            return Err(Misuse::new(
                "CONNECT makes a tunnel, which nobody here could follow",
            ));
        }
        if let Some(length) = meaning.content_length
            && length != body.len() as u64
        {
            return Err(Misuse::new(format!(
                "content-length is {length}, but the body has {} bytes",
                body.len()
            )));
        }
        Ok(Request {
            head,
            body,
            ended_by_data: false,
        })
    }

    /// The same request, with its end in a DATA frame even if the body is empty. gRPC demands it of
    /// all requests (PROTOCOL-HTTP2.md, EOS), and a server in Go waits for it without end.
    pub fn ended_by_data(self) -> Request {
        Request {
            ended_by_data: true,
            ..self
        }
    }

    /// The head.
    pub fn head(&self) -> &Head {
        &self.head
    }

    /// The body; empty means none.
    pub fn body(&self) -> &[u8] {
        &self.body
    }
}

/// What was read. A *place* is the caller's own number for a request, as given to
/// [`Client::request`]; it is free again after an event with `end`, after `Trailers`, and after
/// `Reset`.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The server's first SETTINGS came: its limits are known from now on.
    Ready,
    /// An interim response; the final one follows (RFC 9110 §15.2).
    Informational {
        /// Whose.
        place: u32,
        /// 100 to 199, never 101.
        status: u16,
    },
    /// The head of the final response.
    Head {
        /// Whose.
        place: u32,
        /// 200 to 599.
        status: u16,
        /// All of its fields, `:status` among them.
        fields: Fields<'a>,
        /// Whether the response is complete: it has no body.
        end: bool,
    },
    /// A piece of the body, empty only if it ends.
    Data {
        /// Whose.
        place: u32,
        /// The piece.
        bytes: &'a [u8],
        /// Whether the response is complete.
        end: bool,
    },
    /// Fields behind the body: the response is complete.
    Trailers {
        /// Whose.
        place: u32,
        /// The fields.
        fields: Fields<'a>,
    },
    /// The stream was given up and nothing more comes of it.
    Reset {
        /// Whose.
        place: u32,
        /// The server's code, or the one the server was told.
        code: ErrorCode,
        /// Whether the server says that it did nothing for the request (RFC 9113 §8.7): it can be
        /// sent again elsewhere.
        unprocessed: bool,
        /// What the server did wrong, if it was we who gave the stream up.
        violation: Option<&'static Violation>,
    },
    /// The server takes no more requests on this connection. Those above `last` follow as `Reset`
    /// with `unprocessed`; the others go on.
    GoAway {
        /// Why: `NO_ERROR` for a graceful end.
        code: ErrorCode,
        /// The highest stream the server did or may do something for.
        last: u32,
    },
    /// The answer to [`Client::ping`].
    Pong {
        /// What the ping carried.
        payload: [u8; 8],
    },
}

/// The client role of one connection.
///
/// Small, since there may be many: about a kilobyte with everything that is allocated, until more
/// than a few streams are open at a time.
#[derive(Debug)]
pub struct Client {
    connection: Connection,
    /// The number of the next stream.
    next_id: u32,
    /// Requests whose bodies did not fit the windows.
    uploads: Vec<Upload>,
    /// The server said GOAWAY.
    going: bool,
    /// The places from this on are still to be searched for streams above the last of GOAWAY.
    refused: Option<Refused>,
}

/// The rest of a body that waits for credit.
#[derive(Debug)]
struct Upload {
    place: u32,
    id: u32,
    body: Arc<[u8]>,
    sent: usize,
}

/// The search for streams that a GOAWAY leaves unprocessed.
#[derive(Clone, Copy, Debug)]
struct Refused {
    above: u32,
    from_place: u32,
}

impl Client {
    /// A connection on which nothing was sent yet: writes the preface, the settings and the credit
    /// of the connection to `out`.
    pub fn new(config: Config, out: &mut Vec<u8>) -> Client {
        Client {
            connection: Connection::new(Role::Client, config, out),
            next_id: 1,
            uploads: Vec::new(),
            going: false,
            refused: None,
        }
    }

    /// Whether the server's first SETTINGS came. Requests may be sent before, but the server may
    /// refuse what goes beyond its limits.
    #[inline]
    pub fn ready(&self) -> bool {
        self.connection.ready
    }

    /// How many more requests may be sent now. 0 for ever once either side said GOAWAY, the numbers
    /// of streams are used up or the connection failed.
    #[inline]
    pub fn capacity(&self) -> u32 {
        let core = &self.connection;
        if self.going || core.closing || self.next_id > STREAM_MAX {
            return 0;
        }
        let streams_max = core.config.streams.min(core.peer_streams);
        streams_max.saturating_sub(core.streams.open())
    }

    /// Requests without a complete answer.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        self.connection.streams.open()
    }

    /// Sends a request and calls it `place`, a number below [`Config::streams`] that no request
    /// under way has. Its body leaves as far as the server's windows allow, the rest by and by.
    ///
    /// # Errors
    /// No capacity, or a place that is taken or too high. Then nothing was written.
    #[inline(always)]
    pub fn request(
        &mut self,
        request: &Request,
        place: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Misuse> {
        let id = self.begin(place)?;
        let core = &mut self.connection;
        let ends = request.body.is_empty() && !request.ended_by_data;
        core.sender().write(out, id, &request.head, ends);
        self.open(place, id, request.head.meaning().head_request, ends);
        if !ends {
            let sent = self.connection.send_data(place, &request.body, true, out);
            if sent < request.body.len() {
                self.keep(place, id, Arc::clone(&request.body), sent);
            }
        }
        Ok(())
    }

    /// Sends a request whose head was made by [`hpack::block`](super::hpack::block), and calls it
    /// `place`, as [`Client::request`] does. `head_request` says whether it is HEAD, whose answer
    /// has no body. What the fields of the block are is the caller's business: they are not checked
    /// again. No body is no DATA.
    ///
    /// Allocates only for what of the body the server's windows don't take at once.
    ///
    /// # Errors
    /// No capacity, or a place that is taken or too high. Then nothing was written.
    #[inline]
    pub fn request_block(
        &mut self,
        block: &[u8],
        body: &[u8],
        head_request: bool,
        place: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Misuse> {
        let id = self.begin(place)?;
        let core = &mut self.connection;
        let ends = body.is_empty();
        core.sender().write_block(out, id, block, ends);
        self.open(place, id, head_request, ends);
        if !ends {
            let sent = self.connection.send_data(place, body, true, out);
            if sent < body.len() {
                self.keep(place, id, Arc::from(&body[sent..]), 0);
            }
        }
        Ok(())
    }

    /// Begins a request whose body follows by [`Client::data`], as [`Client::request_block`] does
    /// one whose body is there.
    ///
    /// # Errors
    /// No capacity, or a place that is taken or too high. Then nothing was written.
    pub fn begin_block(
        &mut self,
        block: &[u8],
        head_request: bool,
        place: u32,
        out: &mut Vec<u8>,
    ) -> Result<(), Misuse> {
        let id = self.begin(place)?;
        self.connection.sender().write_block(out, id, block, false);
        self.open(place, id, head_request, false);
        Ok(())
    }

    /// Sends as much of a piece of the body of a request as the server's windows allow, and says
    /// how many bytes that is. The end is sent behind the last of them. Credit that comes is no
    /// event: who has more to send tries again when something was received.
    ///
    /// Without effect on a place that has no request.
    pub fn data(&mut self, place: u32, bytes: &[u8], end: bool, out: &mut Vec<u8>) -> usize {
        match self.connection.streams.at(place) {
            Some(stream) if !stream.ended_out => self.connection.send_data(place, bytes, end, out),
            _ => 0,
        }
    }

    /// Stops giving credit for the body of a response, which then ends its flow after at most
    /// [`Config::stream_window`] bytes. Without effect on a place that has no request.
    pub fn pause(&mut self, place: u32) {
        if let Some(stream) = self.connection.streams.at(place) {
            stream.paused = true;
        }
    }

    /// Gives credit again, and what was held back at once.
    pub fn resume(&mut self, place: u32, out: &mut Vec<u8>) {
        if let Some(stream) = self.connection.streams.at(place) {
            stream.paused = false;
            self.connection.refill(place, out);
        }
    }

    /// The next event out of `input`, which is advanced past what was used. What the protocol owes
    /// the server is appended to `out`.
    ///
    /// `None` means that all of `input` is used and the event needs more.
    ///
    /// # Errors
    /// The server broke the protocol and GOAWAY is in `out`. Every further call repeats it.
    #[inline]
    pub fn next<'a, 'i: 'a>(
        &'a mut self,
        input: &mut &'i [u8],
        out: &mut Vec<u8>,
    ) -> Result<Option<Event<'a>>, Violation> {
        loop {
            if let Some(refused) = self.refused
                && let Some(place) = self.next_refused(refused)
            {
                return Ok(Some(Event::Reset {
                    place,
                    code: ErrorCode::REFUSED_STREAM,
                    unprocessed: true,
                    violation: None,
                }));
            }
            return Ok(Some(match self.connection.next(input, out) {
                Ok(Some(Incoming::Head { place, end, .. })) => {
                    self.answered(place, end, out);
                    self.head(place, end)
                }
                Ok(Some(Incoming::Data {
                    place, bytes, end, ..
                })) => {
                    self.answered(place, end, out);
                    Event::Data { place, bytes, end }
                }
                Ok(Some(Incoming::Trailers { place, .. })) => {
                    self.answered(place, true, out);
                    let fields = self.connection.trailers().list().fields();
                    Event::Trailers { place, fields }
                }
                Ok(Some(incoming)) => match self.control(incoming, out) {
                    Some(event) => event,
                    None => continue,
                },
                Ok(None) => return Ok(None),
                Err(fault) => return Err(*fault.violation),
            }));
        }
    }

    /// Gives a request up: RST_STREAM with `code`. Nothing more is told of it and its place is
    /// free. Without effect if the place has no request.
    pub fn cancel(&mut self, place: u32, code: ErrorCode, out: &mut Vec<u8>) {
        if let Some(&mut Stream { id, .. }) = self.connection.streams.at(place) {
            self.connection.give_up(place, code, out);
            self.drop_upload(id);
        }
    }

    /// Asks for a sign of life; [`Event::Pong`] brings `payload` back.
    pub fn ping(&mut self, payload: [u8; 8], out: &mut Vec<u8>) {
        self.connection.ping(payload, out);
    }

    /// Says that this side goes: GOAWAY with `code`. Requests under way are still answered, new
    /// ones are not possible.
    pub fn close(&mut self, code: ErrorCode, out: &mut Vec<u8>) {
        self.connection.go_away(code, out);
    }

    /// Says that the server ended the connection.
    ///
    /// # Errors
    /// It did so inside a frame, or with requests unanswered.
    pub fn ended(&mut self) -> Result<(), Violation> {
        self.going = true;
        match self.connection.failed() {
            Some(fault) => Err(*fault.violation),
            None if !self.connection.between_frames() => Err(*faults::CUT_OFF.violation),
            None if self.outstanding() > 0 => Err(*faults::UNANSWERED.violation),
            None => Ok(()),
        }
    }

    /// Bytes of request bodies that wait for credit, which whoever began the requests may share.
    pub fn unsent_bytes(&self) -> usize {
        let left = |upload: &Upload| upload.body.len() - upload.sent;
        self.uploads.iter().map(left).sum()
    }

    /// Bytes of memory that this connection holds besides itself, request bodies not counted.
    pub fn memory_bytes(&self) -> usize {
        self.connection.memory_bytes() + self.uploads.capacity() * size_of::<Upload>()
    }

    /// Acts upon what is no part of a response; says what the caller is to know of it.
    fn control(&mut self, incoming: Incoming<'_>, out: &mut Vec<u8>) -> Option<Event<'static>> {
        match incoming {
            Incoming::Reset {
                place,
                id,
                code,
                violation,
            } => {
                self.drop_upload(id);
                Some(Event::Reset {
                    place,
                    code,
                    unprocessed: code == ErrorCode::REFUSED_STREAM && violation.is_none(),
                    violation,
                })
            }
            Incoming::Ready => {
                self.upload(0, out);
                Some(Event::Ready)
            }
            Incoming::Credit { id } => {
                self.upload(id, out);
                None
            }
            Incoming::GoAway { last, code } => {
                self.going = true;
                self.refused = Some(Refused {
                    above: last,
                    from_place: 0,
                });
                Some(Event::GoAway { code, last })
            }
            Incoming::Pong(payload) => Some(Event::Pong { payload }),
            // The others are parts of responses, or of requests to a server.
            _ => None,
        }
    }

    /// The number of the stream for a request at `place`, if there can be one.
    #[inline]
    fn begin(&mut self, place: u32) -> Result<u32, Misuse> {
        if self.capacity() == 0 {
            return Err(Misuse::new(
                "a request was sent on a connection without capacity for it",
            ));
        }
        let core = &mut self.connection;
        if place >= core.config.streams || core.streams.at(place).is_some() {
            return Err(Misuse::new(
                "a request was given a place that is taken or too high",
            ));
        }
        let id = self.next_id;
        self.next_id += 2;
        core.highest = id;
        Ok(id)
    }

    /// The head of a request was written.
    #[inline]
    fn open(&mut self, place: u32, id: u32, head_request: bool, ends: bool) {
        let core = &mut self.connection;
        let mut stream = core.new_stream(id);
        stream.head_request = head_request;
        stream.ended_out = ends;
        core.streams.put(place, stream);
    }

    /// Keeps a body of which the windows have taken `sent` bytes.
    fn keep(&mut self, place: u32, id: u32, body: Arc<[u8]>, sent: usize) {
        debug_assert!(
            self.uploads.iter().all(|upload| upload.id != id),
            "the body of stream {id} is sent twice"
        );
        self.uploads.push(Upload {
            place,
            id,
            body,
            sent,
        });
    }

    #[inline]
    fn head(&mut self, place: u32, end: bool) -> Event<'_> {
        let head = self.connection.head();
        let status = head.meaning().status;
        if status < 200 {
            return Event::Informational { place, status };
        }
        Event::Head {
            place,
            status,
            fields: head.list().fields(),
            end,
        }
    }

    /// After the `end` of a response the rest of its request is not wanted (RFC 9113 §8.1).
    #[inline]
    fn answered(&mut self, place: u32, end: bool, out: &mut Vec<u8>) {
        if end {
            self.cancel(place, ErrorCode::CANCEL, out);
        }
    }

    /// Sends what the windows allow now, on one stream or, if `id` is 0, on all: those first that
    /// waited for longest.
    fn upload(&mut self, id: u32, out: &mut Vec<u8>) {
        let core = &mut self.connection;
        self.uploads.retain_mut(|upload| {
            if id != 0 && upload.id != id {
                return true;
            }
            let rest = &upload.body[upload.sent..];
            debug_assert!(
                core.streams
                    .at(upload.place)
                    .is_some_and(|stream| stream.id == upload.id),
                "a body goes on whose stream {} is gone",
                upload.id
            );
            upload.sent += core.send_data(upload.place, rest, true, out);
            upload.sent < upload.body.len()
        });
    }

    fn drop_upload(&mut self, id: u32) {
        self.uploads.retain(|upload| upload.id != id);
    }

    /// Drops the next stream that the server says it did nothing for.
    fn next_refused(&mut self, refused: Refused) -> Option<u32> {
        let core = &mut self.connection;
        for place in refused.from_place..core.streams.places() {
            if let Some(&mut Stream { id, .. }) = core.streams.at(place)
                && id > refused.above
            {
                core.forget(place, id);
                self.drop_upload(id);
                self.refused = Some(Refused {
                    from_place: place + 1,
                    ..refused
                });
                return Some(place);
            }
        }
        self.refused = None;
        None
    }
}
