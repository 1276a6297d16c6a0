//! The two roles against each other in memory: random traffic, windows, and choppings.

use std::collections::HashMap;

use proto::http2::client::{self, Client, Request};
use proto::http2::hpack::block;
use proto::http2::server::{self, Server, Unsent};
use proto::http2::{Config, ErrorCode, Head};

use measure::random::Random;

/// Bytes on their way from one side to the other.
#[derive(Default)]
struct Wire {
    bytes: Vec<u8>,
}

impl Wire {
    /// Takes a random piece, sometimes all there is.
    fn piece(&mut self, random: &mut Random) -> Vec<u8> {
        let all = self.bytes.len();
        let bytes = match random.index(4) {
            0 => all,
            1 => random.index(10),
            _ => random.index(3000),
        };
        self.bytes.drain(..bytes.min(all)).collect()
    }
}

/// What a client knows of a request under way.
struct Expected {
    body: Vec<u8>,
    got: Vec<u8>,
    head: bool,
    /// Whether the server is asked to answer with trailers.
    trailers: bool,
}

struct Caller {
    client: Client,
    out: Wire,
    under_way: HashMap<u32, Expected>,
    left: usize,
    complete: usize,
    cancelled: usize,
}

/// A response that waits for the rest of its request, or for credit.
#[derive(Default)]
struct Echo {
    body: Vec<u8>,
    sent: usize,
    complete: bool,
    started: bool,
    trailers: bool,
}

struct Callee {
    server: Server,
    out: Wire,
    echoes: HashMap<u32, Echo>,
    head: Head,
    trailers: Head,
}

#[test]
fn every_request_is_answered_whatever_the_windows_and_choppings() {
    for seed in 0..150 {
        run(seed);
    }
}

fn run(seed: u64) {
    let mut random = Random::seeded(seed);
    let (client_config, server_config) = (config(&mut random), config(&mut random));
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let client = Client::new(client_config, &mut to_server);
    let server = Server::new(server_config, &mut to_client);
    let requests = 60;
    let mut caller = Caller {
        client,
        out: Wire { bytes: to_server },
        under_way: HashMap::new(),
        left: requests,
        complete: 0,
        cancelled: 0,
    };
    let head = Head::response(
        200,
        &[("content-type", "text/plain"), ("server", "ringside")],
    );
    let mut callee = Callee {
        server,
        out: Wire { bytes: to_client },
        echoes: HashMap::new(),
        head: head.expect("a valid head"),
        trailers: Head::trailers(&[("grpc-status", "0")]).expect("valid trailers"),
    };
    let mut turns = 0;
    while caller.complete + caller.cancelled < requests {
        caller.act(&mut random, client_config.streams);
        let piece = caller.out.piece(&mut random);
        callee.receive(&piece, &mut random);
        let piece = callee.out.piece(&mut random);
        caller.receive(&piece);
        turns += 1;
        assert!(turns < 200_000, "seed {seed}: no progress");
    }
    assert_eq!(caller.client.outstanding(), 0, "seed {seed}");
    // What was cancelled may still be on its way.
    while !(caller.out.bytes.is_empty() && callee.out.bytes.is_empty()) {
        let piece = std::mem::take(&mut caller.out.bytes);
        callee.receive(&piece, &mut random);
        let piece = std::mem::take(&mut callee.out.bytes);
        caller.receive(&piece);
    }
    assert_eq!(callee.server.open_streams(), 0, "seed {seed}");
    assert_eq!(caller.client.ended(), Ok(()), "seed {seed}");
}

/// Windows from tiny to large, tables from none to large, few streams or many.
fn config(random: &mut Random) -> Config {
    let pick = |random: &mut Random, values: &[u32]| values[random.index(values.len())];
    Config {
        streams: pick(random, &[1, 2, 7, 50]),
        stream_window: pick(random, &[1, 2, 10, 1000, 65_535, 1 << 20]),
        connection_window: pick(random, &[0, 65_535, 100_000, 1 << 24]),
        header_table_bytes: pick(random, &[0, 50, 200, 4096, 65_536]),
        ..Config::default()
    }
}

impl Caller {
    fn act(&mut self, random: &mut Random, streams: u32) {
        let out = &mut self.out.bytes;
        let may = self.client.ready() && self.client.capacity() > 0;
        if self.left > 0 && may && random.index(3) > 0 {
            let free = (0..streams).find(|place| !self.under_way.contains_key(place));
            let place = free.expect("a place for the capacity");
            let (request, expected) = some_request(random);
            let sent = match random.index(2) == 0 {
                true => self.client.request(&request, place, out),
                false => {
                    let block = made_ahead(&request);
                    let body = request.body();
                    self.client.request_block(&block, body, false, place, out)
                }
            };
            sent.expect("capacity");
            self.under_way.insert(place, expected);
            self.left -= 1;
        }
        if random.index(60) == 0 {
            self.client.ping([7; 8], out);
        }
        if random.index(200) == 0
            && let Some(&place) = self.under_way.keys().min()
        {
            self.client.cancel(place, ErrorCode::CANCEL, out);
            self.under_way.remove(&place);
            self.cancelled += 1;
        }
    }

    fn receive(&mut self, piece: &[u8]) {
        let mut input = piece;
        while let Some(event) = self
            .client
            .next(&mut input, &mut self.out.bytes)
            .expect("a valid server")
        {
            let done = match event {
                client::Event::Head {
                    place,
                    status,
                    fields,
                    end,
                } => {
                    let expected = self.under_way.get_mut(&place).expect("a request");
                    assert!(!expected.head);
                    expected.head = true;
                    assert_eq!(status, 200);
                    assert_eq!(fields.get(b"server"), Some(&b"ringside"[..]));
                    end.then_some(place)
                }
                client::Event::Data { place, bytes, end } => {
                    let expected = self.under_way.get_mut(&place).expect("a request");
                    expected.got.extend(bytes);
                    end.then_some(place)
                }
                client::Event::Trailers { place, fields } => {
                    assert_eq!(fields.get(b"grpc-status"), Some(&b"0"[..]));
                    assert!(self.under_way[&place].trailers);
                    Some(place)
                }
                client::Event::Reset { .. } => panic!("{event:?}"),
                client::Event::Pong { payload } => {
                    assert_eq!(payload, [7; 8]);
                    None
                }
                _ => None,
            };
            if let Some(place) = done {
                let expected = self.under_way.remove(&place).expect("a request");
                assert!(expected.got == expected.body, "another body came back");
                self.complete += 1;
            }
        }
    }
}

/// The head of a request as a block that any connection can send.
fn made_ahead(request: &Request) -> Vec<u8> {
    let mut made = Vec::new();
    for (name, value) in request.head().fields().iter() {
        block::field(name, value, &mut made);
    }
    made
}

/// A request with a body that wants it back.
fn some_request(random: &mut Random) -> (Request, Expected) {
    let bytes = [0, 1, 13, 1000, 5000, 70_000][random.index(6)];
    let body: Vec<u8> = (0..bytes).map(|at| (at * 7 + bytes) as u8).collect();
    let number = random.index(30).to_string();
    let trailers = random.index(2) == 0;
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (
            ":path",
            if random.index(2) == 0 {
                "/same"
            } else {
                &number
            },
        ),
        (":authority", "localhost"),
        ("te", if trailers { "trailers" } else { "Trailers" }),
    ];
    let path = format!("/{number}");
    let fields = fields.map(|(name, value)| match name {
        ":path" if value != "/same" => (name, &*path),
        _ => (name, value),
    });
    let request = Request::new(&fields, body.clone()).expect("a valid request");
    let expected = Expected {
        body,
        got: Vec::new(),
        head: false,
        trailers,
    };
    (request, expected)
}

impl Callee {
    fn receive(&mut self, piece: &[u8], random: &mut Random) {
        let mut input = piece;
        while let Some(event) = self
            .server
            .next(&mut input, &mut self.out.bytes)
            .expect("a valid client")
        {
            let stream = match event {
                server::Event::Request {
                    stream,
                    fields,
                    end,
                    ..
                } => {
                    let echo = self.echoes.entry(stream).or_default();
                    echo.complete = end;
                    echo.trailers = fields.get(b"te") == Some(b"trailers");
                    stream
                }
                server::Event::Data { stream, bytes, end } => {
                    let echo = self.echoes.get_mut(&stream).expect("a request");
                    echo.body.extend(bytes);
                    echo.complete = end;
                    stream
                }
                server::Event::Reset { stream, code, .. } => {
                    assert_eq!(code, ErrorCode::CANCEL);
                    self.echoes.remove(&stream);
                    continue;
                }
                server::Event::Writable { stream } => stream,
                _ => continue,
            };
            let eager = random.index(2) == 0;
            self.go_on(stream, eager);
        }
    }

    /// Sends what is there of a response: if `eager` before the request is complete.
    fn go_on(&mut self, stream: u32, eager: bool) {
        let out = &mut self.out.bytes;
        let Some(echo) = self.echoes.get_mut(&stream) else {
            return;
        };
        if !(echo.complete || eager || echo.started) {
            return;
        }
        let gone = |sent: Result<usize, Unsent>| sent.expect("an open stream");
        if !echo.started && echo.complete && !echo.trailers {
            echo.started = true;
            echo.sent = gone(self.server.answer(stream, &self.head, &echo.body, out));
        } else {
            if !echo.started {
                echo.started = true;
                let sent = self.server.respond_kept(stream, &self.head, false, out);
                gone(sent.map(|()| 0));
            }
            let end = echo.complete && !echo.trailers;
            echo.sent += gone(self.server.data(stream, &echo.body[echo.sent..], end, out));
        }
        if echo.complete && echo.sent == echo.body.len() {
            if echo.trailers {
                let sent = self.server.trailers_kept(stream, &self.trailers, out);
                gone(sent.map(|()| 0));
            }
            self.echoes.remove(&stream);
        }
    }
}
