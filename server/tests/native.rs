//! The example of the native interface, over sockets.

#[allow(dead_code)] // Its `main` is the one function that isn't called here.
#[path = "../examples/native.rs"]
mod native;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use proto::http2::hpack::Decoder;
use ringside_server::{
    Address, Config, Context, LiveCounts, Reply, Request, Response, Running, Service, StartError,
    Stop, Time,
};
use serde_json::{Value, json};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(10);

// Types and flags of frames (RFC 9113 §6).
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

fn started() -> Running {
    let arguments = ["--addr", "127.0.0.1:0", "--threads", "2"];
    let arguments = arguments.map(String::from).into_iter();
    let config = native::arguments::config(arguments).expect("valid arguments");
    native::start(config, &Stop::new()).expect("it starts")
}

fn connect(running: &Running) -> TcpStream {
    let Address::Tcp(address) = running.address() else {
        panic!("not a TCP server: {}", running.address());
    };
    let stream = TcpStream::connect(address).expect("the server listens");
    stream
        .set_read_timeout(Some(PATIENCE))
        .expect("a socket option");
    stream
}

/// Head and body of each answer on a connection that the server closes.
fn http1(running: &Running, requests: &str) -> String {
    let mut stream = connect(running);
    stream
        .write_all(requests.as_bytes())
        .expect("the server reads");
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .expect("the server answers and closes");
    text
}

fn frame(kind: u8, flags: u8, id: u8, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [length[1], length[2], length[3], kind, flags, 0, 0, 0, id];
    [&head, payload].concat()
}

/// The fields and the body of the answer on stream 1.
fn http2(running: &Running, fields: &[(&str, &str)], body: &[u8]) -> (Vec<String>, Vec<u8>) {
    let mut block = Vec::new();
    for (name, value) in fields {
        // Literal fields that are not remembered (RFC 7541 §6.2.2).
        block.extend([0, name.len() as u8]);
        block.extend(name.bytes());
        block.push(value.len() as u8);
        block.extend(value.bytes());
    }
    let mut stream = connect(running);
    let request = [
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        frame(SETTINGS, 0, 0, &[]),
        frame(HEADERS, END_HEADERS, 1, &block),
        frame(DATA, END_STREAM, 1, body),
    ];
    stream
        .write_all(&request.concat())
        .expect("the server reads");
    let (mut said, mut data) = (Vec::new(), Vec::new());
    let mut decoder = Decoder::new(4096);
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).expect("a frame");
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).expect("its payload");
        match head[3] {
            HEADERS => {
                let mut push = |name: &[u8], value: &[u8]| {
                    said.push(String::from_utf8_lossy(&[name, b": ", value].concat()).into_owned());
                };
                decoder
                    .decode(&payload, 1 << 16, &mut push)
                    .expect("a block in order");
            }
            DATA => data.extend(payload),
            _ => continue,
        }
        if head[4] & END_STREAM != 0 {
            return (said, data);
        }
    }
}

#[test]
fn the_example_answers_http1() {
    let running = started();
    let requests = "GET / HTTP/1.1\r\nHost: a\r\n\r\n\
                    HEAD / HTTP/1.1\r\nHost: a\r\n\r\n\
                    POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\
                    GET /none HTTP/1.1\r\nHost: a\r\n\r\n\
                    POST /echo?q HTTP/1.1\r\nHost: a:1\r\nX-Y: z\r\nConnection: close\r\n\
                    Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    let text = http1(&running, requests);
    let statuses: Vec<_> = text
        .split("HTTP/1.1 ")
        .skip(1)
        .map(|one| &one[..3])
        .collect();
    assert_eq!(statuses, ["200", "200", "405", "404", "200"], "{text}");
    assert!(
        text.contains("Content-Length: 6\r\n\r\nhello\nHTTP/1.1 200"),
        "{text}"
    );
    assert!(
        text.contains("Content-Length: 6\r\n\r\nHTTP/1.1 405"),
        "HEAD has no body: {text}"
    );
    assert!(text.contains("\r\nAllow: GET, HEAD\r\n"), "{text}");
    assert!(text.contains("\r\nX-Echoes: 1\r\n"), "{text}");
    let (_, body) = text.rsplit_once("\r\n\r\n").expect("a head");
    let expected = json!({
        "version": "HTTP/1.1", "method": "POST", "path": "/echo", "query": "q", "host": "a:1",
        "fields": {
            "host": "a:1", "x-y": "z", "connection": "close", "transfer-encoding": "chunked",
        },
        "body": "abc",
    });
    assert_eq!(serde_json::from_str::<Value>(body).expect("JSON"), expected);
    running.stop();
    let summary = running.join().expect("it ends well");
    assert_eq!(
        (summary.counts.requests, summary.counts.connections),
        (5, 1)
    );
}

#[test]
fn the_example_answers_http2() {
    let running = started();
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/echo?q"),
        (":authority", "a:1"),
        ("x-y", "z"),
    ];
    let (said, body) = http2(&running, &fields, b"abc");
    assert_eq!(said[0], ":status: 200");
    assert!(said.contains(&"x-echoes: 1".to_owned()), "{said:?}");
    assert!(
        said.contains(&"content-type: application/json".to_owned()),
        "{said:?}"
    );
    let expected = json!({
        "version": "HTTP/2", "method": "POST", "path": "/echo", "query": "q", "host": "a:1",
        "fields": { "x-y": "z" }, "body": "abc",
    });
    assert_eq!(
        serde_json::from_slice::<Value>(&body).expect("JSON"),
        expected
    );
    running.stop();
    running.join().expect("it ends well");
}

#[test]
fn the_example_says_how_it_is_used() {
    for arguments in [
        &["--port", "1"][..],
        &["--addr"],
        &["--threads", "x"],
        &["--addr", "x"],
    ] {
        let arguments = arguments.iter().map(|one| one.to_string());
        assert!(native::arguments::config(arguments).is_err());
    }
}

struct Unable;

impl Service for Unable {
    fn is_ready(&mut self, _: Time) -> Result<bool, String> {
        Err("there are no keys".into())
    }

    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        Response::empty(204).into()
    }
}

#[test]
fn a_service_that_cannot_begin_keeps_its_server_from_starting() {
    let address = Address::Tcp(([127, 0, 0, 1], 0).into());
    let started = ringside_server::start(Config::new(address), |_| Unable, &Stop::new());
    match started {
        Err(StartError::Service(why)) => assert_eq!(why, "there are no keys"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_worker_that_is_stuck_posts_nothing_while_others_go_on() {
    struct Blocks(mpsc::Sender<()>, Arc<Mutex<mpsc::Receiver<()>>>);
    impl Service for Blocks {
        fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
            self.0.send(()).expect("the test listens");
            let release = self.1.lock().expect("no panic");
            let _ = release.recv_timeout(PATIENCE);
            Response::sentence(200, "released").into()
        }
    }
    let live = LiveCounts::new();
    let config = Config {
        threads: 2,
        live: Some(live.clone()),
        ..Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()))
    };
    let (entered, enters) = mpsc::channel();
    let (release, releases) = mpsc::channel();
    let releases = Arc::new(Mutex::new(releases));
    let make = move |_| Blocks(entered.clone(), Arc::clone(&releases));
    let running = ringside_server::start(config, make, &Stop::new()).expect("it starts");
    let mut client = connect(&running);
    let request = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    client.write_all(request).expect("it reads");
    enters.recv_timeout(PATIENCE).expect("it's called");
    let before = live.beats();
    let began = Time::now();
    let mut after = before.clone();
    while !after
        .iter()
        .zip(&before)
        .any(|(now, then)| *now >= then.map(|then| then + 3))
    {
        assert!(Time::now() - began < PATIENCE, "{before:?} {after:?}");
        std::thread::park_timeout(Duration::from_millis(5));
        after = live.beats();
    }
    let stuck = after.iter().zip(&before).filter(|(now, then)| now == then);
    assert_eq!((after.len(), stuck.count()), (2, 1), "{before:?} {after:?}");
    release.send(()).expect("it waits");
    let mut text = String::new();
    client.read_to_string(&mut text).expect("it answers");
    assert!(text.ends_with("released"), "{text}");
    running.stop();
    running.join().expect("its driver works");
    assert_eq!(live.beats(), [None, None], "they have ended");
}
