//! Servers that follow each other on one listening socket, under load: no client notices.

#[path = "../../tests/skip.rs"]
mod skip;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use ringside_server::{
    Address, Config, Context, EngineChoice, Listening, Reply, Request, Response, Running, Service,
    StartError, Stop, start,
};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

struct Hello;

impl Service for Hello {
    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        if request.path() == b"/late" {
            context.wake_at(context.now() + Duration::from_millis(300), context.ticket());
            return Reply::Later;
        }
        Reply::Always(Response::fixed("text/plain", b"hello\n"))
    }

    fn due(&mut self, ticket: ringside_server::Ticket, context: &mut Context<'_>) {
        context.complete(ticket, Response::fixed("text/plain", b"late\n"));
    }
}

fn listening() -> Listening {
    let address = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    Listening::open(&address, None, 1024).expect("a free port")
}

/// A server on `listening`, or `None` where its engine can't be used here.
fn begin(engine: EngineChoice, listening: &Listening) -> Option<Running> {
    let config = Config {
        engine,
        listening: vec![listening.clone()],
        ..Config::new(listening.address().clone())
    };
    match start(config, |_| Hello, &Stop::new()) {
        Ok(running) => Some(running),
        Err(StartError::Engine(why)) => {
            skip::skip(format!("{engine} can't be used here: {why}"));
            None
        }
        Err(error) => panic!("{engine}: {error}"),
    }
}

fn connect(listening: &Listening) -> TcpStream {
    let Address::Tcp(address) = listening.address() else {
        panic!("not TCP: {}", listening.address());
    };
    let stream = TcpStream::connect(address).expect("somebody listens");
    stream.set_nodelay(true).expect("a socket option");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
}

/// Sends one request and reads its answer; whether the connection goes on.
fn ask(stream: &mut TcpStream, path: &str, body: &str) -> bool {
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .expect("it takes a request");
    let mut answer = Vec::new();
    let mut piece = [0; 1024];
    while !answer.ends_with(body.as_bytes()) {
        let read = stream.read(&mut piece).expect("it answers");
        assert!(read > 0, "it ended: {}", String::from_utf8_lossy(&answer));
        answer.extend_from_slice(&piece[..read]);
    }
    let answer = String::from_utf8(answer).expect("text");
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    !answer.contains("Connection: close")
}

/// Ends the clients with the test, however that ends.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, SeqCst);
    }
}

/// A client that keeps its connections for as long as it's let, until `over`.
fn keeps_asking(listening: &Listening, over: &AtomicBool, asked: &AtomicU64) {
    let mut stream = connect(listening);
    while !over.load(SeqCst) {
        if !ask(&mut stream, "/", "hello\n") {
            stream = connect(listening);
        }
        asked.fetch_add(1, SeqCst);
    }
}

#[test]
fn servers_follow_each_other_and_no_request_is_lost() {
    for engine in [EngineChoice::Uring, EngineChoice::Epoll] {
        let listening = listening();
        let Some(first) = begin(engine, &listening) else {
            continue;
        };
        let (over, asked) = (AtomicBool::new(false), AtomicU64::new(0));
        let last = thread::scope(|scope| {
            let mut current = first;
            let ends = Ends(&over);
            let clients: Vec<_> = (0..4)
                .map(|_| scope.spawn(|| keeps_asking(&listening, &over, &asked)))
                .collect();
            for _ in 0..5 {
                let next = begin(engine, &listening).expect("as before");
                let before = asked.load(SeqCst);
                current.retire();
                // Connections that are kept and new ones are both under way while it ends.
                for _ in 0..50 {
                    ask(&mut connect(&listening), "/", "hello\n");
                }
                current.join().expect("it ends well");
                assert!(asked.load(SeqCst) > before, "{engine}: clients stand still");
                current = next;
            }
            drop(ends);
            for client in clients {
                client.join().expect("no request is lost");
            }
            current
        });
        last.stop();
        last.join().expect("it ends well");
    }
}

#[test]
fn what_is_under_way_is_answered_and_who_waits_in_the_queue_is_served_by_the_next() {
    for engine in [EngineChoice::Uring, EngineChoice::Epoll] {
        let listening = listening();
        let Some(first) = begin(engine, &listening) else {
            continue;
        };
        let mut late = connect(&listening);
        late.write_all(b"GET /late HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("it takes a request");
        let mut idle = connect(&listening);
        assert!(ask(&mut idle, "/", "hello\n"));
        first.retire();
        let mut text = String::new();
        late.read_to_string(&mut text).expect("an answer");
        assert!(text.ends_with("late\n"), "{text}");
        assert!(text.contains("Connection: close"), "{text}");
        // A connection that asks no more is closed once it has been silent.
        assert_eq!(idle.read(&mut [0; 16]).expect("an end"), 0);
        first.join().expect("it ends well");
        // Nobody accepts now, and nobody is refused.
        let mut waits = connect(&listening);
        let second = begin(engine, &listening).expect("as before");
        assert!(ask(&mut waits, "/", "hello\n"));
        second.stop();
        second.join().expect("it ends well");
    }
}

/// Kind, stream and payload of each frame up to the end of the connection (RFC 9113 §4.1).
fn frames(stream: &mut TcpStream) -> Vec<(u8, u8, Vec<u8>)> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("the server ends it");
    let mut rest = &bytes[..];
    let mut all = Vec::new();
    while let [a, b, c, kind, _, _, _, _, id, ..] = rest {
        let length = usize::from(*a) << 16 | usize::from(*b) << 8 | usize::from(*c);
        all.push((*kind, *id, rest[9..9 + length].to_vec()));
        rest = &rest[9 + length..];
    }
    all
}

#[test]
fn a_client_that_begins_http2_with_a_server_that_retires_is_told_in_time() {
    for engine in [EngineChoice::Uring, EngineChoice::Epoll] {
        let listening = listening();
        let Some(server) = begin(engine, &listening) else {
            continue;
        };
        let mut client = connect(&listening);
        // It's accepted before this one.
        assert!(ask(&mut connect(&listening), "/", "hello\n"));
        server.retire();
        let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
        // GET http / x (RFC 7541, appendix A), the whole request.
        let request = [0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, b'x'];
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
        let begins = [&preface[..], &settings, &request].concat();
        client.write_all(&begins).expect("it's still served");
        let frames = frames(&mut client);
        let goaway =
            |(kind, _, payload): &(u8, u8, Vec<u8>)| (*kind == 7).then(|| payload[..4].to_vec());
        let goaways: Vec<_> = frames.iter().filter_map(goaway).collect();
        assert_eq!(
            goaways,
            [[0x7f, 0xff, 0xff, 0xff], [0, 0, 0, 1]],
            "{engine}"
        );
        let answered = frames.iter().any(|(kind, id, _)| (*kind, *id) == (1, 1));
        assert!(answered, "{engine}: {frames:?}");
        drop(client);
        server.join().expect("it ends well");
    }
}

#[test]
fn a_socket_that_does_not_listen_is_not_taken() {
    let listening = listening();
    let stream = connect(&listening);
    let refused = Listening::inherited(stream.into()).expect_err("it doesn't listen");
    assert!(refused.to_string().contains("doesn't listen"), "{refused}");
}
