//! What is read becomes something to do. Nothing is sent here: the bytes of an event are still the
//! machine's.

use std::collections::VecDeque;

use engine::Token;
use measure::time::Time;
use proto::grpc::call::{self, Refusal};
use proto::grpc::{self as rpc, Status};
use proto::http2::Fields;
use proto::http2::server::Event;

use super::streams::{State, Stream, Streams, Upload};
use crate::{Arrival, Serving, Shared};
use exchange::grpc;
use exchange::request;
use exchange::response::Response;
use service::{self, Intake, Reply, Service, Ticket};

/// What the streams of a connection may hold in memory together, unless a body may be longer, …
const MEMORY_BYTES_MAX: usize = 32 << 20;

/// … which is looked at where one of them holds more than this.
const MEMORY_FREE_BYTES: usize = 64 * 1024;

/// Everything of a connection but the machine.
#[derive(Debug)]
pub(super) struct Talk {
    socket: Token,
    pub(super) streams: Streams,
    /// Streams that could send, in the order of their turns.
    pub(super) turns: VecDeque<u32>,
    /// When the first of the streams wants to be looked at again, or earlier.
    pub(super) due: Time,
    /// Since when the limit of a body or a message is to be minded, or earlier; [`Time::NEVER`] if
    /// none is coming.
    pub(super) body_since: Time,
}

/// What is to be done about an event, once the machine has its bytes back.
#[derive(Debug)]
pub(super) enum Next {
    Nothing,
    /// The kept answer at this place.
    Kept(u32, usize),
    /// What a service says, and what it calls the request. The client may wait to be told that it
    /// may send the body.
    Reply {
        stream: u32,
        reply: Reply,
        head_only: bool,
        tag: u32,
        invites: bool,
    },
    /// The request can't go on, nor its answer.
    Abort(u32),
    /// An answer before the request is complete; the client need not send the rest.
    Early {
        stream: u32,
        response: Response,
        head_only: bool,
    },
    /// The client waits to be told that it may send the body.
    Continue(u32),
    /// A call may have something to say.
    Speak(u32),
    /// A call ends at its head. Is the request complete?
    Refuse {
        stream: u32,
        status: Status,
        text: &'static str,
        complete: bool,
    },
}

/// The fields of a request that matter here.
#[derive(Default)]
struct Wanted<'a> {
    content_type: Option<&'a [u8]>,
    timeout: Option<&'a [u8]>,
    encoding: Option<&'a [u8]>,
    accept_encoding: Option<&'a [u8]>,
    length: Option<&'a [u8]>,
    expect_continue: bool,
}

impl<'a> Wanted<'a> {
    fn of(fields: Fields<'a>) -> Wanted<'a> {
        let mut wanted = Wanted::default();
        for (name, value) in fields.iter() {
            match name {
                b"content-type" => wanted.content_type = Some(value),
                b"content-length" => wanted.length = Some(value),
                b"grpc-timeout" => wanted.timeout = Some(value),
                b"grpc-encoding" => wanted.encoding = Some(value),
                b"grpc-accept-encoding" => wanted.accept_encoding = Some(value),
                b"expect" => wanted.expect_continue = value.eq_ignore_ascii_case(b"100-continue"),
                _ => {}
            }
        }
        wanted
    }

    /// The announced length of the body. The machine holds the client to it.
    fn length(&self) -> u64 {
        let digits = self
            .length
            .and_then(|value| std::str::from_utf8(value).ok());
        digits.and_then(|digits| digits.parse().ok()).unwrap_or(0)
    }
}

/// A request whose head was read.
#[derive(Clone, Copy)]
struct Request<'a> {
    stream: u32,
    method: &'a [u8],
    path: &'a [u8],
    fields: Fields<'a>,
    /// It has no body.
    end: bool,
}

impl Talk {
    pub(super) fn new(socket: Token) -> Talk {
        Talk {
            socket,
            streams: Streams::default(),
            turns: VecDeque::new(),
            due: Time::NEVER,
            body_since: Time::NEVER,
        }
    }

    #[inline]
    pub(super) fn happened<S: Service>(
        &mut self,
        event: Event<'_>,
        serving: &mut Serving<S>,
    ) -> Next {
        match event {
            Event::Request {
                stream,
                method,
                path,
                fields,
                end,
            } => {
                serving.counts.requests += 1;
                if end && let Some(place) = serving.kept_http2.find(method, path) {
                    serving.answered.at_once += 1;
                    return Next::Kept(stream, place);
                }
                let request = Request {
                    stream,
                    method,
                    path,
                    fields,
                    end,
                };
                let wanted = Wanted::of(fields);
                if !serving.methods().is_empty()
                    && wanted.content_type.is_some_and(rpc::is_content_type)
                {
                    return self.begin_call(request, &wanted, serving);
                }
                self.begin(request, &wanted, serving)
            }
            Event::Data { stream, bytes, end } => self.data(stream, bytes, end, serving),
            Event::Trailers { stream, fields } => {
                if let Some(ticket) = self.listens(stream) {
                    let fields = request::Fields::of_http2(fields);
                    serving.tell(ticket, service::Event::Trailers(fields));
                }
                self.data(stream, &[], true, serving)
            }
            Event::Reset { stream, .. } => {
                self.drop(stream, serving);
                Next::Nothing
            }
            Event::Writable { stream } => {
                self.list(stream);
                Next::Nothing
            }
            Event::Ready | Event::GoAway { .. } | Event::Pong { .. } => Next::Nothing,
        }
    }

    fn begin<S: Service>(
        &mut self,
        request: Request<'_>,
        wanted: &Wanted<'_>,
        serving: &mut Serving<S>,
    ) -> Next {
        let Request {
            stream,
            method,
            path,
            fields,
            end,
        } = request;
        let head_only = method == b"HEAD";
        let head = request::Request::of_http2(method, path, fields);
        if end {
            let (reply, tag) = serving.call(&head, self.socket, stream);
            let shared: &mut Shared = serving;
            if let Reply::Always(response) = &reply
                && let Some(place) =
                    shared
                        .kept_http2
                        .keep(method, path, response, &shared.site.date)
            {
                return Next::Kept(stream, place);
            }
            return Next::Reply {
                stream,
                reply,
                head_only,
                tag,
                invites: false,
            };
        }
        self.begin_body(request, &head, wanted, serving)
    }

    /// A request begins that has a body.
    fn begin_body<S: Service>(
        &mut self,
        request: Request<'_>,
        head: &request::Request<'_>,
        wanted: &Wanted<'_>,
        serving: &mut Serving<S>,
    ) -> Next {
        let stream = request.stream;
        let head_only = request.method == b"HEAD";
        if wanted.length() > serving.limits.body_bytes {
            return too_long(stream, head_only, serving);
        }
        let mut incoming = serving.incoming();
        match serving.intake(head) {
            Intake::Refuse(response) if wanted.expect_continue => {
                serving.recycle(incoming);
                return Next::Early {
                    stream,
                    response,
                    head_only,
                };
            }
            Intake::Ahead => {
                serving.recycle(incoming);
                let (reply, tag) = serving.call(head, self.socket, stream);
                return Next::Reply {
                    stream,
                    reply,
                    head_only,
                    tag,
                    invites: false,
                };
            }
            Intake::Stream => {
                serving.recycle(incoming);
                return self.begin_streamed((stream, head_only), head, wanted, serving);
            }
            Intake::Refuse(response) => incoming.refuse(response),
            Intake::Whole => incoming.begin(head, true),
            Intake::Discard => incoming.begin(head, false),
        }
        self.wait(stream, State::Receiving(incoming), head_only, serving.now);
        if wanted.expect_continue {
            return Next::Continue(stream);
        }
        Next::Nothing
    }

    /// A request begins whose service is told of the body as it comes.
    fn begin_streamed<S: Service>(
        &mut self,
        (id, head_only): (u32, bool),
        head: &request::Request<'_>,
        wanted: &Wanted<'_>,
        serving: &mut Serving<S>,
    ) -> Next {
        let (reply, tag) = serving.call(head, self.socket, id);
        let goes_on = match &reply {
            Reply::Later => true,
            Reply::Now(response) => response.body.is_in_pieces() && !head_only,
            _ => false,
        };
        let ticket = Ticket::new(self.socket, id, tag);
        let waits = wanted.expect_continue && goes_on && serving.agenda.has_paused(ticket);
        self.wait(id, State::Waiting, head_only, serving.now);
        if let Some(stream) = self.streams.find(id) {
            stream.tag = tag;
            stream.set_upload(
                match waits {
                    true => Upload::Paused { expected: true },
                    false => Upload::Coming,
                },
                serving.now,
            );
            self.body_since = self.body_since.min(stream.arrival.since);
        }
        Next::Reply {
            stream: id,
            reply,
            head_only,
            tag,
            invites: wanted.expect_continue && goes_on && !waits,
        }
    }

    /// The ticket of a request whose service is told of its body, and has not answered whole.
    fn listens(&mut self, id: u32) -> Option<Ticket> {
        let socket = self.socket;
        let stream = self.streams.find(id)?;
        let listens = stream.upload != Upload::None && stream.is_open();
        listens.then(|| Ticket::new(socket, id, stream.tag))
    }

    /// A piece of a body that the service is told of, or its end.
    fn uploaded<S: Service>(
        &mut self,
        id: u32,
        bytes: &[u8],
        end: bool,
        serving: &mut Serving<S>,
    ) -> Next {
        let told = self.listens(id);
        let Some(stream) = self.streams.find(id) else {
            return Next::Nothing;
        };
        let head_only = stream.head_only;
        stream.received += bytes.len() as u64;
        if stream.received > serving.limits.body_bytes {
            if !matches!(stream.state, State::Waiting) {
                serving.counts.rejections.count(413);
                return Next::Abort(id);
            }
            self.drop(id, serving);
            return too_long(id, head_only, serving);
        }
        if end {
            stream.upload = Upload::None;
        }
        stream.came(bytes.len(), serving.now);
        if let Some(ticket) = told {
            if !bytes.is_empty() {
                serving.tell(ticket, service::Event::Data(bytes));
            }
            if end {
                serving.tell(ticket, service::Event::End);
            }
        }
        Next::Nothing
    }

    fn begin_call<S: Service>(
        &mut self,
        request: Request<'_>,
        wanted: &Wanted<'_>,
        serving: &mut Serving<S>,
    ) -> Next {
        let Request {
            stream,
            method: http_method,
            path,
            fields,
            end,
        } = request;
        let head = call::Head {
            http_method,
            path,
            content_type: wanted.content_type,
            timeout: wanted.timeout,
            encoding: wanted.encoding,
            accept_encoding: wanted.accept_encoding,
        };
        let called = match head.call() {
            Ok(called) => called,
            // Such as a GET that names the content type of a body that it does not have.
            Err(Refusal::Http(_)) => return self.begin(request, wanted, serving),
            Err(Refusal::Status(status, text)) => {
                return Next::Refuse {
                    stream,
                    status,
                    text,
                    complete: end,
                };
            }
        };
        let Some(method) = grpc::find(serving.methods(), path) else {
            return Next::Refuse {
                stream,
                status: Status::Unimplemented,
                text: "this server has no such method",
                complete: end,
            };
        };
        let deadline = called
            .timeout
            .map_or(Time::NEVER, |timeout| serving.now + timeout);
        self.due = self.due.min(deadline);
        let message_bytes_max = u32::try_from(serving.limits.body_bytes).unwrap_or(u32::MAX);
        let head = request::Request::of_http2(http_method, path, fields);
        let call = serving.open_call(method, &head);
        let (single, now) = (method.takes_one(), serving.now);
        let mut rpc = serving.rpcs.begin(
            call,
            (single, called.compression),
            (now, deadline),
            message_bytes_max,
        );
        if end {
            rpc.receive(&[], true, serving.rpcs.press());
        }
        self.wait(stream, State::Calling(rpc), false, serving.now);
        Next::Speak(stream)
    }

    #[inline]
    fn data<S: Service>(
        &mut self,
        id: u32,
        bytes: &[u8],
        end: bool,
        serving: &mut Serving<S>,
    ) -> Next {
        let Some(stream) = self.streams.find(id) else {
            return Next::Nothing;
        };
        match &mut stream.state {
            State::Calling(rpc) => {
                let before = rpc.messages();
                rpc.receive(bytes, end, serving.rpcs.press());
                if rpc.messages() != before {
                    stream.arrival = Arrival::NONE; // What is coming now is another one.
                }
                stream.came(bytes.len(), serving.now);
                self.body_since = self.body_since.min(stream.arrival.since);
                Next::Speak(id)
            }
            State::Receiving(_) => self.body(id, bytes, end, serving),
            _ if stream.upload != Upload::None => self.uploaded(id, bytes, end, serving),
            _ => Next::Nothing,
        }
    }

    fn body<S: Service>(
        &mut self,
        id: u32,
        bytes: &[u8],
        end: bool,
        serving: &mut Serving<S>,
    ) -> Next {
        let Some(stream) = self.streams.find(id) else {
            return Next::Nothing;
        };
        let head_only = stream.head_only;
        stream.received += bytes.len() as u64;
        if stream.received > serving.limits.body_bytes {
            self.drop(id, serving);
            return too_long(id, head_only, serving);
        }
        if let State::Receiving(incoming) = &mut stream.state {
            incoming.take(bytes);
        }
        stream.came(bytes.len(), serving.now);
        if self.is_full(id, serving) {
            self.drop(id, serving);
            let text = "this connection is already uploading too many large bodies\n";
            return Next::Early {
                stream: id,
                response: Response::sentence(503, text),
                head_only,
            };
        }
        if !end {
            return Next::Nothing;
        }
        let Some(State::Receiving(mut incoming)) = self.streams.remove(id).map(|s| s.state) else {
            return Next::Nothing;
        };
        let (reply, tag) = serving.answer(&mut incoming, self.socket, id);
        serving.recycle(incoming);
        Next::Reply {
            stream: id,
            reply,
            head_only,
            tag,
            invites: false,
        }
    }

    /// A stream has to wait for something. Of one that waits already, the body goes on.
    pub(super) fn wait(&mut self, id: u32, state: State, head_only: bool, now: Time) {
        if let Some(stream) = self.streams.find(id) {
            stream.state = state;
            return;
        }
        let stream = Stream::new(state, head_only, now);
        self.body_since = self.body_since.min(stream.arrival.since);
        self.streams.insert(id, stream);
    }

    /// A stream gets its turn to send.
    pub(super) fn list(&mut self, id: u32) {
        if let Some(stream) = self.streams.find(id)
            && !stream.listed
        {
            stream.listed = true;
            self.turns.push_back(id);
        }
    }

    /// A stream is over. What it kept goes back to its store.
    pub(super) fn drop(&mut self, id: u32, shared: &mut Shared) {
        let stream = self.streams.remove(id);
        if let Some(stream) = stream.as_ref().filter(|stream| stream.is_open()) {
            let ticket = Ticket::new(self.socket, id, stream.tag);
            shared.agenda.closed(ticket);
        }
        match stream.map(|stream| stream.state) {
            Some(State::Receiving(incoming)) => shared.recycle(incoming),
            Some(State::Calling(rpc)) => shared.rpcs.recycle(rpc),
            _ => {}
        }
    }

    /// The tickets whose services have not said everything.
    pub(super) fn open(&self) -> impl Iterator<Item = Ticket> {
        let open = self.streams.iter().filter(|(_, stream)| stream.is_open());
        open.map(|(id, stream)| Ticket::new(self.socket, id, stream.tag))
    }

    /// The ticket of a request.
    pub(super) fn ticket(&self, id: u32, tag: u32) -> Ticket {
        Ticket::new(self.socket, id, tag)
    }

    /// Whether the streams hold more memory than they may, and this one its share of it.
    pub(super) fn is_full(&mut self, id: u32, shared: &Shared) -> bool {
        let mine = self.streams.find(id).map_or(0, |stream| stream.memory());
        if mine <= MEMORY_FREE_BYTES {
            return false;
        }
        let body_bytes = match shared.limits.body_bytes {
            u64::MAX => 0, // There is no limit, and nobody collects bodies.
            bytes => usize::try_from(bytes).unwrap_or(usize::MAX),
        };
        let most = MEMORY_BYTES_MAX.max(body_bytes.saturating_mul(2));
        let all: usize = self.streams.iter().map(|(_, s)| s.memory()).sum();
        all > most
    }
}

fn too_long(stream: u32, head_only: bool, shared: &mut Shared) -> Next {
    shared.counts.rejections.count(413);
    let text = "the body is longer than this server accepts\n";
    Next::Early {
        stream,
        response: Response::sentence(413, text),
        head_only,
    }
}
