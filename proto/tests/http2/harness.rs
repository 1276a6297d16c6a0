//! Runs a machine over frames in every kind of chopping and notes what it says and writes.
//!
//! The only thing a chopping may change is where a body is cut, so neighbouring pieces are joined.
//! What the machine writes may not change at all.

use std::fmt::Write;

use proto::Violation;
use proto::http2::client::{self, Client, Request};
use proto::http2::hpack::Decoder;
use proto::http2::server::{self, Server};
use proto::http2::{Config, Fields, Head, Limits};

use crate::choppings::every_chopping;

const SEED: u64 = 0x5eed_9113;

/// Types of frames.
pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const PRIORITY: u8 = 2;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const PUSH_PROMISE: u8 = 5;
pub(crate) const PING: u8 = 6;
pub(crate) const GOAWAY: u8 = 7;
pub(crate) const WINDOW_UPDATE: u8 = 8;
pub(crate) const CONTINUATION: u8 = 9;

/// Flags of frames.
pub(crate) const END: u8 = 0x1;
pub(crate) const ACK: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;
pub(crate) const PADDED: u8 = 0x8;
pub(crate) const WITH_PRIORITY: u8 = 0x20;

/// Names of settings.
pub(crate) const STREAMS: u16 = 3;
pub(crate) const WINDOW: u16 = 4;

/// A field.
pub(crate) type Field = (&'static str, &'static str);

/// A request without a body, and a response.
pub(crate) const GET: &[Field] = &[
    (":method", "GET"),
    (":scheme", "http"),
    (":path", "/"),
    (":authority", "example.org"),
];
pub(crate) const POST: &[Field] = &[(":method", "POST"), (":scheme", "http"), (":path", "/up")];
pub(crate) const OK: &[Field] = &[(":status", "200")];

/// One frame. Written apart from the machine's own, on purpose.
pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// HEADERS with the whole of these fields, and END_STREAM among its flags or not.
pub(crate) fn headers(stream: u32, flags: u8, fields: &[Field]) -> Vec<u8> {
    frame(HEADERS, flags | END_HEADERS, stream, &block(fields))
}

pub(crate) fn data(stream: u32, flags: u8, bytes: &str) -> Vec<u8> {
    frame(DATA, flags, stream, bytes.as_bytes())
}

pub(crate) fn settings(all: &[(u16, u32)]) -> Vec<u8> {
    let payload: Vec<u8> = all
        .iter()
        .flat_map(|(name, value)| [&name.to_be_bytes()[..], &value.to_be_bytes()].concat())
        .collect();
    frame(SETTINGS, 0, 0, &payload)
}

pub(crate) fn number(kind: u8, stream: u32, value: u32) -> Vec<u8> {
    frame(kind, 0, stream, &value.to_be_bytes())
}

pub(crate) fn goaway(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// A field block that no table is needed for: literals without indexing (RFC 7541 §6.2.2).
pub(crate) fn block(fields: &[Field]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        block.push(0);
        for text in [name, value] {
            // Lengths from 127 on go on in further bytes (RFC 7541 §5.1).
            match text.len().checked_sub(127) {
                None => block.push(text.len() as u8),
                Some(mut rest) => {
                    block.push(127);
                    while rest >= 128 {
                        block.push(rest as u8 | 128);
                        rest >>= 7;
                    }
                    block.push(rest as u8);
                }
            }
            block.extend(text.as_bytes());
        }
    }
    block
}

/// What a machine is and does besides reading.
#[derive(Clone, Default)]
pub(crate) enum Side {
    /// A server that answers 200 with `ok` once a request is complete.
    #[default]
    Server,
    /// A server that answers nothing.
    SilentServer,
    /// A client that has sent these requests at the places 0, 1, …
    Client(Vec<Request>),
}

/// One row of a table: what it is about, the frames that come after the preface and empty settings,
/// what is said after `ready`, and what is written after the acknowledgement of the settings.
pub(crate) type Case<'a> = (&'a str, Vec<Vec<u8>>, &'a str, &'a str);

/// Runs a table with the default configuration.
pub(crate) fn check(side: &Side, cases: &[Case<'_>]) {
    check_with(Config::default(), side, cases);
}

/// Runs a table.
pub(crate) fn check_with(config: Config, side: &Side, cases: &[Case<'_>]) {
    for (what, frames, expected_seen, expected_wrote) in cases {
        let input = [settings(&[]), frames.concat()].concat();
        let (seen, wrote) = run_all(config, side, &input);
        assert_eq!(behind(&seen, "ready"), *expected_seen, "{what}: said");
        assert_eq!(
            behind(&wrote, "settings ack"),
            *expected_wrote,
            "{what}: written"
        );
    }
}

/// What a list of words says behind its first.
fn behind<'w>(words: &'w str, first: &str) -> &'w str {
    let rest = words
        .strip_prefix(first)
        .expect("the first is always there");
    rest.strip_prefix(", ").unwrap_or(rest)
}

/// What is said and written for `input`, the same in every chopping. To a server the preface is
/// sent before it.
pub(crate) fn run_all(config: Config, side: &Side, input: &[u8]) -> (String, String) {
    let input = match side {
        Side::Client(_) => input.to_vec(),
        _ => [server::PREFACE, input].concat(),
    };
    let whole = run(config, side, &[&input]);
    for (how, pieces) in every_chopping(&input, SEED) {
        assert_eq!(run(config, side, &pieces), whole, "{how}");
    }
    // What follows must not change what came before it.
    let longer = [&input[..], &[0, 0]].concat();
    assert_eq!(run(config, side, &[&longer]), whole, "with more behind it");
    whole
}

/// What is said and written in one chopping.
pub(crate) fn run(config: Config, side: &Side, pieces: &[&[u8]]) -> (String, String) {
    const MEMORY_BYTES_MAX: usize = 160 * 1024;
    let mut out = Vec::new();
    let mut machine = Machine::new(config, side, &mut out);
    let start = out.len();
    let mut seen = Seen::default();
    for piece in pieces {
        let mut input = *piece;
        loop {
            match machine.next(&mut input, &mut out, &mut seen) {
                Ok(true) => {}
                Ok(false) => break assert!(input.is_empty(), "input is left over"),
                Err(violation) => break seen.failure(violation),
            }
        }
        assert!(
            machine.memory_bytes() <= MEMORY_BYTES_MAX,
            "too much memory is held"
        );
    }
    (seen.text, written(&out[start..]))
}

/// A machine of either role.
enum Machine {
    Client(Client),
    Server { server: Server, answers: bool },
}

impl Machine {
    fn new(config: Config, side: &Side, out: &mut Vec<u8>) -> Machine {
        match side {
            Side::Client(requests) => {
                let mut client = Client::new(config, out);
                for (place, request) in requests.iter().enumerate() {
                    client
                        .request(request, place as u32, out)
                        .expect("the capacity of a new connection");
                }
                Machine::Client(client)
            }
            side => Machine::Server {
                server: Server::new(config, out),
                answers: matches!(side, Side::Server),
            },
        }
    }

    /// Notes the next event; says whether there was one.
    fn next(
        &mut self,
        input: &mut &[u8],
        out: &mut Vec<u8>,
        seen: &mut Seen,
    ) -> Result<bool, Violation> {
        match self {
            Machine::Client(client) => {
                let event = client.next(input, out)?;
                Ok(event.map(|event| seen.client(&event)).is_some())
            }
            Machine::Server { server, answers } => {
                let Some(event) = server.next(input, out)? else {
                    return Ok(false);
                };
                if let Some(stream) = seen.server(&event)
                    && *answers
                {
                    let head = Head::response::<&str, &str>(200, &[]).expect("a valid head");
                    server.answer(stream, &head, b"ok", out).expect("an answer");
                }
                Ok(true)
            }
        }
    }

    fn memory_bytes(&self) -> usize {
        match self {
            Machine::Client(client) => client.memory_bytes(),
            Machine::Server { server, .. } => server.memory_bytes(),
        }
    }
}

/// What a machine said, in words.
#[derive(Default)]
struct Seen {
    text: String,
    /// The stream or place whose piece of body was said last.
    body_of: Option<u32>,
    failed: Option<Violation>,
}

impl Seen {
    fn say(&mut self, words: &str) {
        if !self.text.is_empty() {
            self.text.push_str(", ");
        }
        self.text.push_str(words);
        self.body_of = None;
    }

    fn body(&mut self, of: u32, bytes: &[u8], end: bool) {
        if self.body_of != Some(of) && !bytes.is_empty() {
            self.say(&format!("data {of} "));
        }
        assert!(end || !bytes.is_empty(), "an empty piece of body");
        self.text.push_str(&bytes.escape_ascii().to_string());
        self.body_of = Some(of);
        self.end(of, end);
    }

    fn end(&mut self, of: u32, end: bool) {
        if end {
            self.say(&format!("end {of}"));
        }
    }

    fn failure(&mut self, violation: Violation) {
        match self.failed.replace(violation) {
            Some(before) => assert_eq!(before, violation, "a failure changed"),
            None => self.say(&format!("failed {}", violation.clause)),
        }
    }

    fn client(&mut self, event: &client::Event<'_>) {
        match *event {
            client::Event::Ready => self.say("ready"),
            client::Event::Informational { place, status } => {
                self.say(&format!("interim {place} {status}"));
            }
            client::Event::Head {
                place,
                status,
                fields,
                end,
            } => {
                self.say(&format!("head {place} {status}{}", ordinary(fields)));
                self.end(place, end);
            }
            client::Event::Data { place, bytes, end } => self.body(place, bytes, end),
            client::Event::Trailers { place, fields } => {
                self.say(&format!("trailers {place}{}", ordinary(fields)));
            }
            client::Event::Reset {
                place,
                code,
                unprocessed,
                violation,
            } => {
                let unprocessed = if unprocessed { " unprocessed" } else { "" };
                let why = why(violation);
                self.say(&format!("reset {place} {code}{unprocessed}{why}"));
            }
            client::Event::GoAway { code, last } => self.say(&format!("goaway {last} {code}")),
            client::Event::Pong { payload } => self.pong(payload),
        }
    }

    /// Returns the stream of a request that is complete.
    fn server(&mut self, event: &server::Event<'_>) -> Option<u32> {
        let mut complete = None;
        match *event {
            server::Event::Ready => self.say("ready"),
            server::Event::Request {
                stream,
                method,
                path,
                fields,
                end,
            } => {
                let [method, path] = [method, path].map(String::from_utf8_lossy);
                let fields = ordinary(fields);
                self.say(&format!("{method} {path} {stream}{fields}"));
                self.end(stream, end);
                complete = end.then_some(stream);
            }
            server::Event::Data { stream, bytes, end } => {
                self.body(stream, bytes, end);
                complete = end.then_some(stream);
            }
            server::Event::Trailers { stream, fields } => {
                self.say(&format!("trailers {stream}{}", ordinary(fields)));
                complete = Some(stream);
            }
            server::Event::Reset {
                stream,
                code,
                violation,
            } => self.say(&format!("reset {stream} {code}{}", why(violation))),
            server::Event::Writable { stream } => self.say(&format!("writable {stream}")),
            server::Event::GoAway { code } => self.say(&format!("goaway {code}")),
            server::Event::Pong { payload } => self.pong(payload),
        }
        complete
    }

    fn pong(&mut self, payload: [u8; 8]) {
        self.say(&format!("pong {}", String::from_utf8_lossy(&payload)));
    }
}

/// Fields that are not pseudo-header fields.
fn ordinary(fields: Fields<'_>) -> String {
    let mut text = String::new();
    for (name, value) in fields.iter().filter(|(name, _)| name[0] != b':') {
        let [name, value] = [name, value].map(String::from_utf8_lossy);
        write!(text, " {name}={value}").expect("memory");
    }
    text
}

fn why(violation: Option<&'static Violation>) -> String {
    violation.map_or(String::new(), |violation| {
        format!(" for {}", violation.clause)
    })
}

/// Frames that a machine wrote, in words.
pub(crate) fn written(mut bytes: &[u8]) -> String {
    let mut decoder = Decoder::new(4096);
    let mut words = Vec::new();
    while let Some((header, rest)) = bytes.split_first_chunk::<9>() {
        let payload_bytes = u32::from_be_bytes([0, header[0], header[1], header[2]]) as usize;
        let stream = u32::from_be_bytes([header[5], header[6], header[7], header[8]]);
        let (payload, rest) = rest.split_at(payload_bytes);
        bytes = rest;
        let numbers: Vec<u32> = payload
            .chunks_exact(4)
            .map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
            .collect();
        let end = if header[4] & END != 0 { " end" } else { "" };
        words.push(match header[3] {
            DATA => format!("data {stream} {}{end}", String::from_utf8_lossy(payload)),
            HEADERS => {
                let mut values = String::new();
                let emit = &mut |_: &[u8], value: &[u8]| {
                    write!(values, " {}", String::from_utf8_lossy(value)).expect("memory");
                };
                decoder
                    .decode(payload, 65_536, emit)
                    .expect("a valid block");
                format!("head {stream}{values}{end}")
            }
            RST_STREAM => format!("reset {stream} {}", code(numbers[0])),
            SETTINGS if header[4] & ACK != 0 => "settings ack".to_owned(),
            SETTINGS => "settings".to_owned(),
            PING if header[4] & ACK != 0 => {
                format!("pong {}", String::from_utf8_lossy(payload))
            }
            PING => format!("ping {}", String::from_utf8_lossy(payload)),
            GOAWAY => format!("goaway {} {}", numbers[0], code(numbers[1])),
            WINDOW_UPDATE => format!("credit {stream} {}", numbers[0]),
            other => panic!("a frame of the type {other} was written"),
        });
    }
    assert!(bytes.is_empty(), "half a frame was written");
    words.join(", ")
}

fn code(number: u32) -> String {
    proto::http2::ErrorCode(number).to_string()
}

/// A request to send, from its fields and its body.
pub(crate) fn request(fields: &[Field], body: &str) -> Request {
    Request::new(fields, body.as_bytes()).expect("a valid request")
}

/// The default configuration with other limits.
pub(crate) fn limited(limits: Limits) -> Config {
    Config {
        limits,
        ..Config::default()
    }
}
