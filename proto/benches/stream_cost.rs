//! What a small exchange over HTTP/2 costs either role, once everything has come before.
//!
//! `cargo bench -p proto --bench stream_cost` prints nanoseconds per exchange: the fastest of many
//! rounds, since on a machine that does other things too everything else is noise added on top. The
//! exchanges of a round go out together and are answered together, as on a busy connection.
#![allow(missing_docs)]

use std::hint::black_box;

use measure::time::Time;
use proto::http2::client::{self, Client, Request};
use proto::http2::server::{self, PREFACE, Server};
use proto::http2::{Config, Head};

const STREAMS: u32 = 100;
const BODY: &[u8] = b"Hello, World!";
const GRPC: &[u8] = b"\0\0\0\0\x0dHello, World!";

fn main() {
    let get = request("GET", b"");
    let post = request("POST", GRPC);
    for (what, request, call) in [("GET", &get, false), ("gRPC", &post, true)] {
        let (server_ns, client_ns) = exchanges(request, call);
        println!("{client_ns:8.1} ns  client, {what}");
        println!("{server_ns:8.1} ns  server, {what}");
    }
}

fn request(method: &str, body: &[u8]) -> Request {
    let fields = [
        (":method", method),
        (":scheme", "http"),
        (":authority", "127.0.0.1:8080"),
        (":path", "/ringside.Echo/Echo"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
    ];
    Request::new(&fields, body).expect("a valid request")
}

/// A server, and the two heads that it answers with.
struct Answering {
    server: Server,
    head: Head,
    trailers: Head,
}

/// Nanoseconds per exchange in the fastest round: of the server, of the client.
fn exchanges(request: &Request, call: bool) -> (f64, f64) {
    const ROUNDS: u32 = 20_000;
    let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
    let config = Config::default();
    let mut client = Client::new(config, &mut to_server);
    let fields = [
        ("content-type", "text/plain"),
        ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
        ("server", "ringside"),
    ];
    let mut answering = Answering {
        server: Server::new(config, &mut to_client),
        head: Head::response(200, &fields).expect("a valid head"),
        trailers: Head::trailers(&[("grpc-status", "0")]).expect("valid trailers"),
    };
    assert!(to_server.starts_with(PREFACE), "the preface is first");
    let (mut server_ns, mut client_ns) = (u64::MAX, u64::MAX);
    for round in 0..ROUNDS {
        let start = Time::now();
        answering.answer_all(&to_server, &mut to_client, call);
        to_server.clear();
        let answered = Time::now();
        read_all(&mut client, &to_client, &mut to_server);
        to_client.clear();
        for place in 0..STREAMS {
            let sent = client.request(request, place, &mut to_server);
            sent.expect("capacity");
        }
        let end = Time::now();
        // The first rounds fill the tables and learn the heads.
        if round > 10 {
            server_ns = server_ns.min(answered.since(start));
            client_ns = client_ns.min(end.since(answered));
        }
    }
    let per_exchange = |ns: u64| ns as f64 / f64::from(STREAMS);
    (per_exchange(server_ns), per_exchange(client_ns))
}

impl Answering {
    fn answer_all(&mut self, input: &[u8], out: &mut Vec<u8>, call: bool) {
        let mut input = black_box(input);
        while let Some(event) = self.server.next(&mut input, out).expect("a valid client") {
            let stream = match event {
                server::Event::Request {
                    stream, end: true, ..
                } => stream,
                server::Event::Data {
                    stream, end: true, ..
                } => stream,
                _ => continue,
            };
            if call {
                let (head, trailers) = (&self.head, &self.trailers);
                let sent = self.server.respond_kept(stream, head, false, out);
                sent.expect("an open stream");
                let sent = self.server.data(stream, GRPC, false, out);
                black_box(sent).expect("an open stream");
                let sent = self.server.trailers_kept(stream, trailers, out);
                sent.expect("an open stream");
            } else {
                let sent = self.server.answer(stream, &self.head, BODY, out);
                black_box(sent).expect("an open stream");
            }
        }
    }
}

fn read_all(client: &mut Client, input: &[u8], out: &mut Vec<u8>) {
    let mut input = black_box(input);
    while let Some(event) = client.next(&mut input, out).expect("a valid server") {
        if let client::Event::Head { status, .. } = event {
            assert_eq!(status, 200);
        }
        black_box(event);
    }
}
