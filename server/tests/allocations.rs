//! A worker allocates nothing for a request that is like those before it, whether its answer is
//! kept, made by the service, or waits for a body.
#![allow(unsafe_code)] // An allocator is an unsafe trait; this one only counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use ringside_server::{
    Address, Config, Context, EngineChoice, Intake, Reply, Request, Response, Running, Service,
    Stop,
};

struct Counting;

thread_local! {
    /// Allocations of this thread. Const-initialised, so that counting allocates nothing.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more, and nobody to ask for it.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Requests that are counted, and as many before them.
const REQUESTS: u32 = 500;

/// Of answers that are kept, HTTP/2 makes the heads anew in every second.
const ALLOCATIONS_MAX: u64 = REQUESTS as u64 / 20;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

// Types and flags of frames (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Says how often its worker has allocated. Every answer has eight bytes.
struct Steady;

impl Service for Steady {
    fn intake(&mut self, head: &Request<'_>) -> Intake {
        match head.path() {
            b"/whole" => Intake::Whole,
            b"/ahead" => Intake::Ahead,
            _ => Intake::Discard,
        }
    }

    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        let seen = (request.field("x-a"), request.host(), request.body());
        let expected = match request.path() {
            b"/whole" => &b"hello"[..],
            _ => b"",
        };
        match request.path() {
            b"/count" => {
                let count = ALLOCATIONS.get();
                Response::of("text/plain", format!("{count:8}")).into()
            }
            b"/kept" => Reply::Always(Response::fixed("text/plain", b"answered")),
            _ if seen == (Some(&b"b"[..]), Some(&b"test"[..]), expected) => {
                Response::fixed("text/plain", b"answered").into()
            }
            _ => Response::empty(400).into(),
        }
    }
}

/// A client that asks one thing after the other.
trait Client {
    /// The body of the answer: eight bytes.
    fn ask(&mut self, path: &str, body: &[u8]) -> [u8; 8];
}

struct Http1(TcpStream);

impl Client for Http1 {
    fn ask(&mut self, path: &str, body: &[u8]) -> [u8; 8] {
        let length = match body {
            [] => String::new(),
            body => format!("Content-Length: {}\r\n", body.len()),
        };
        let method = if body.is_empty() { "GET" } else { "POST" };
        let head = format!("{method} {path} HTTP/1.1\r\nHost: test\r\nX-A: b\r\n{length}\r\n");
        self.0
            .write_all(&[head.as_bytes(), body].concat())
            .expect("the server reads");
        let mut answer = Vec::new();
        let mut byte = [0];
        while !answer.ends_with(b"\r\n\r\n") {
            self.0.read_exact(&mut byte).expect("a head");
            answer.push(byte[0]);
        }
        assert!(
            answer.starts_with(b"HTTP/1.1 200 "),
            "{}",
            answer.escape_ascii()
        );
        let mut body = [0; 8];
        self.0.read_exact(&mut body).expect("a body");
        body
    }
}

struct Http2 {
    stream: TcpStream,
    next: u32,
}

fn frame(kind: u8, flags: u8, id: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags];
    [&head[..], &id.to_be_bytes(), payload].concat()
}

impl Client for Http2 {
    fn ask(&mut self, path: &str, body: &[u8]) -> [u8; 8] {
        let method = if body.is_empty() { "GET" } else { "POST" };
        let mut block = Vec::new();
        for (name, value) in [
            (":method", method),
            (":scheme", "http"),
            (":path", path),
            (":authority", "test"),
            ("x-a", "b"),
        ] {
            // Literal fields that are not remembered (RFC 7541 §6.2.2).
            block.extend([0, name.len() as u8]);
            block.extend(name.bytes());
            block.push(value.len() as u8);
            block.extend(value.bytes());
        }
        let id = self.next;
        self.next += 2;
        let end = if body.is_empty() { END_STREAM } else { 0 };
        let mut request = frame(HEADERS, END_HEADERS | end, id, &block);
        if !body.is_empty() {
            request.extend(frame(DATA, END_STREAM, id, body));
        }
        self.stream.write_all(&request).expect("the server reads");
        let mut answer = Vec::new();
        loop {
            let mut head = [0; 9];
            self.stream.read_exact(&mut head).expect("a frame");
            let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
            let mut payload = vec![0; length as usize];
            self.stream.read_exact(&mut payload).expect("its payload");
            if head[3] == DATA {
                answer.extend(payload);
            }
            if head[3] <= HEADERS && head[4] & END_STREAM != 0 {
                return answer
                    .try_into()
                    .expect("eight bytes: the service was content");
            }
        }
    }
}

fn connect(running: &Running) -> TcpStream {
    let Address::Tcp(address) = running.address() else {
        panic!("not a TCP server: {}", running.address());
    };
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("a socket option");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
}

/// How often the worker allocates while it answers [`REQUESTS`] requests.
fn allocations(client: &mut dyn Client, path: &str, body: &[u8]) -> u64 {
    let count = |client: &mut dyn Client| {
        for _ in 0..REQUESTS {
            client.ask(path, body);
        }
        let count = client.ask("/count", b"");
        let count = String::from_utf8_lossy(&count).trim().parse::<u64>();
        count.expect("a number")
    };
    let before = count(client);
    count(client) - before
}

#[test]
fn a_request_like_those_before_it_allocates_nothing() {
    let config = Config {
        engine: EngineChoice::Epoll,
        ..Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()))
    };
    let running = ringside_server::start(config, |_| Steady, &Stop::new()).expect("it starts");
    for (path, body) in [
        ("/kept", &b""[..]),
        ("/now", b""),
        ("/whole", b"hello"),
        ("/discard", b"hello"),
        ("/ahead", b"hello"),
    ] {
        let mut http1 = Http1(connect(&running));
        let mut http2 = Http2 {
            stream: connect(&running),
            next: 1,
        };
        let opening = [
            &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
            &frame(SETTINGS, 0, 0, b""),
        ];
        http2
            .stream
            .write_all(&opening.concat())
            .expect("the server reads");
        let clients: [(&str, &mut dyn Client); 2] =
            [("HTTP/1.1", &mut http1), ("HTTP/2", &mut http2)];
        for (version, client) in clients {
            // What comes by chance, such as a date that changes, doesn't come every time.
            let counts = [(); 5].map(|()| allocations(client, path, body));
            let least = counts.iter().min();
            assert!(
                least.is_some_and(|count| *count <= ALLOCATIONS_MAX),
                "{path} over {version}: {counts:?}"
            );
        }
    }
    running.stop();
    running.join().expect("it ends well");
}
