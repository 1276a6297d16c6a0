//! The reverse proxy among the examples, over sockets, on either engine: in front of another
//! ringside server, and of one that follows a script.

#[allow(dead_code)] // Its `main` is the one function that isn't called here.
#[path = "../examples/upstream.rs"]
mod proxy;
#[path = "../../tests/skip.rs"]
mod skip;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use ringside_server::upstream::{Config as Behind, Limits, Place, Protocol, Timeouts};
use ringside_server::{
    Address, Alpn, Body, Certificate, ClientSettings, Config, Context, EngineChoice, Event, Intake,
    Reply, Request, Response, Running, Secure, Service, Stop, Ticket, Trust,
};
use tls::Blocking;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

const ENGINES: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Epoll];
const PROTOCOLS: [Protocol; 2] = [Protocol::Http1, Protocol::Http2];

/// Counts what is sent to `/count`, and sends back what comes to `/echo`, piece by piece.
#[derive(Default)]
struct Origin {
    counted: HashMap<Ticket, u64>,
}

impl Service for Origin {
    fn intake(&mut self, _: &Request<'_>) -> Intake {
        Intake::Stream
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        match request.path() {
            b"/count" => {
                self.counted.insert(context.ticket(), 0);
                Reply::Later
            }
            b"/echo" => Response::of("application/octet-stream", Body::Stream).into(),
            b"/many" => Response::of("application/octet-stream", Body::Pattern(100 << 20)).into(),
            b"/never" => Reply::Later,
            _ => Response::fixed("text/plain", b"hello\n").into(),
        }
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let counted = self.counted.get_mut(&ticket);
        match (event, counted) {
            (Event::Data(bytes), Some(counted)) => *counted += bytes.len() as u64,
            (Event::End, Some(counted)) => {
                let text = format!("{counted}\n");
                context.complete(ticket, Response::of("text/plain", text));
                self.counted.remove(&ticket);
            }
            (Event::Closed, _) => drop(self.counted.remove(&ticket)),
            (Event::Data(bytes), None) => {
                context.send(ticket, bytes);
                context.pause(ticket);
            }
            (Event::Writable, None) => context.resume(ticket),
            (Event::End, None) => context.end(ticket),
            _ => {}
        }
    }
}

fn config(engine: EngineChoice) -> Config {
    let mut config = Config::new(Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))));
    config.engine = engine;
    config.limits.body_bytes = 128 << 20;
    config
}

/// Whether this host has the engine; says so where it hasn't.
fn has(engine: EngineChoice) -> bool {
    match ringside_server::start(config(engine), |_| Origin::default(), &Stop::new()) {
        Ok(running) => {
            running.stop();
            running.join().expect("it served");
            true
        }
        Err(error) => {
            skip::skip(format_args!("{engine:?}: {error}"));
            false
        }
    }
}

fn origin(engine: EngineChoice) -> Running {
    ringside_server::start(config(engine), |_| Origin::default(), &Stop::new()).expect("it starts")
}

fn proxy(engine: EngineChoice, behind: Behind) -> Running {
    proxy::start(config(engine), behind, &Stop::new()).expect("it starts")
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

/// The next answer: its status, and its body, of which only the number of bytes counts beyond a
/// few.
fn answer(stream: &mut TcpStream) -> (u16, u64, String) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).expect("text").to_lowercase();
    let status = head[9..12].parse().expect("a status");
    let length = head.split("content-length: ").nth(1);
    let length = length.and_then(|rest| rest.split("\r\n").next()?.parse::<u64>().ok());
    let (mut bytes, mut text) = (0, String::new());
    let mut take = |stream: &mut TcpStream, length: u64| {
        let mut left = length;
        let mut piece = vec![0; 64 * 1024];
        while left > 0 {
            let most = left.min(piece.len() as u64) as usize;
            let read = stream.read(&mut piece[..most]).expect("a body");
            assert!(read > 0, "{left} of {length} bytes are missing");
            left -= read as u64;
            bytes += read as u64;
            if text.len() < 4096 {
                text.push_str(&String::from_utf8_lossy(&piece[..read.min(4096)]));
            }
        }
    };
    match length {
        Some(length) => take(stream, length),
        None => loop {
            let mut line = Vec::new();
            while !line.ends_with(b"\r\n") {
                let mut byte = [0];
                stream.read_exact(&mut byte).expect("a chunk");
                line.push(byte[0]);
            }
            let line = String::from_utf8(line).expect("text");
            let size = u64::from_str_radix(line.trim(), 16).expect("a size");
            take(stream, size);
            let mut end = [0; 2];
            stream.read_exact(&mut end).expect("the end of a chunk");
            if size == 0 {
                break;
            }
        },
    }
    (status, bytes, text)
}

fn get(stream: &mut TcpStream, path: &str) -> (u16, u64, String) {
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it's read");
    answer(stream)
}

/// The most memory that this process has had so far.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.expect("a number")
}

/// All that these tests do, with each engine and each protocol towards the upstream.
fn everywhere(test: impl Fn(EngineChoice, Protocol)) {
    for engine in ENGINES {
        if has(engine) {
            PROTOCOLS
                .into_iter()
                .for_each(|protocol| test(engine, protocol));
        }
    }
}

#[test]
fn connections_are_kept_and_bodies_pass_both_ways() {
    everywhere(|engine, protocol| {
        let origin = origin(engine);
        let behind = Behind::new([origin.address().clone()]).with_protocol(protocol);
        let proxy = proxy(engine, behind);
        let mut client = connect(&proxy);
        for _ in 0..50 {
            assert_eq!(get(&mut client, "/"), (200, 6, "hello\n".into()));
        }
        let body = "0123456789".repeat(30_000);
        let request = format!(
            "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut sender = client.try_clone().expect("a second handle");
        let sent = std::thread::spawn(move || sender.write_all(request.as_bytes()));
        let (status, bytes, _) = answer(&mut client);
        sent.join().expect("no panic").expect("it's read");
        assert_eq!((status, bytes), (200, body.len() as u64));
        drop(client);
        proxy.stop();
        let counts = proxy.join().expect("it served").counts.upstreams;
        assert_eq!((counts.exchanges, counts.completed), (51, 51), "{counts:?}");
        assert_eq!((counts.connections, counts.reused), (1, 50), "{counts:?}");
        origin.stop();
        assert_eq!(origin.join().expect("it served").counts.connections, 1);
    });
}

#[test]
fn a_hundred_megabytes_pass_either_way_and_are_held_by_nobody() {
    everywhere(|engine, protocol| {
        let origin = origin(engine);
        let behind = Behind::new([origin.address().clone()]).with_protocol(protocol);
        let proxy = proxy(engine, behind);
        let mut client = connect(&proxy);
        let before = peak_kib();
        let (status, bytes, _) = get(&mut client, "/many");
        assert_eq!((status, bytes), (200, 100 << 20));
        let head = format!(
            "POST /count HTTP/1.1\r\nHost: test\r\nContent-Length: {}\r\n\r\n",
            100 << 20
        );
        client.write_all(head.as_bytes()).expect("it's read");
        let piece = vec![b'x'; 1 << 20];
        (0..100).for_each(|_| client.write_all(&piece).expect("it's read"));
        let (status, _, text) = answer(&mut client);
        assert_eq!((status, &*text), (200, "104857600\n"));
        // Other tests of this program hold some of it at the same time.
        let grown = peak_kib() - before;
        assert!(
            grown < 90 << 10,
            "{grown} KiB more were held, {protocol:?} on {engine:?}"
        );
        drop(client);
        proxy.stop();
        assert_eq!(
            proxy.join().expect("it served").counts.upstreams.completed,
            2
        );
        origin.stop();
        origin.join().expect("it served");
    });
}

#[test]
fn an_upstream_that_dies_in_the_middle_ends_the_answer_and_one_that_is_away_is_a_502() {
    for engine in ENGINES.into_iter().filter(|&engine| has(engine)) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let proxy = proxy(engine, Behind::new([Address::Tcp(address)]));
        let mut client = connect(&proxy);
        client
            .write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
            .expect("it's read");
        let (mut upstream, _) = listener.accept().expect("the proxy connects");
        let mut request = [0; 1024];
        let read = upstream.read(&mut request).expect("a request");
        assert!(request[..read].starts_with(b"GET / HTTP/1.1\r\n"));
        upstream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc")
            .expect("it's read");
        drop(upstream);
        let mut said = Vec::new();
        // Whether by a reset or an end, less has come than was announced.
        let _ = client.read_to_end(&mut said);
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.contains("Content-Length: 10\r\n\r\nabc"), "{said}");
        assert!(said.ends_with("abc"), "{said}");
        drop(listener);
        let (status, _, text) = get(&mut connect(&proxy), "/");
        assert_eq!(status, 502);
        assert!(text.contains("refused the connection"), "{text}");
        proxy.stop();
        let counts = proxy.join().expect("it served").counts.upstreams;
        assert_eq!((counts.failures.closed, counts.failures.connect), (1, 1));
    }
}

#[test]
fn what_takes_too_long_is_a_504() {
    everywhere(|engine, protocol| {
        let origin = origin(engine);
        let timeouts = Timeouts {
            head: Duration::from_millis(200),
            ..Timeouts::default()
        };
        let behind = Behind::new([origin.address().clone()]);
        let behind = behind.with_protocol(protocol).with_timeouts(timeouts);
        let proxy = proxy(engine, behind);
        let mut client = connect(&proxy);
        let (status, _, text) = get(&mut client, "/never");
        assert_eq!(
            (status, &*text),
            (504, "the upstream took too long to answer\n")
        );
        assert_eq!(get(&mut client, "/").0, 200);
        proxy.stop();
        let counts = proxy.join().expect("it served").counts.upstreams;
        assert_eq!((counts.failures.head_timeout, counts.completed), (1, 1));
        origin.stop();
        origin.join().expect("it served");
    });
}

#[test]
fn what_finds_no_place_is_a_503_at_once() {
    for engine in ENGINES.into_iter().filter(|&engine| has(engine)) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let limits = Limits {
            connections: 1,
            waiting: 1,
            ..Limits::default()
        };
        let behind = Behind::new([Address::Tcp(address)]).with_limits(limits);
        let proxy = proxy(engine, behind);
        // Three on one connection of the client, so that they come in this order: one is sent, one
        // waits, and one is too many. Answers keep the order, so the first two come first.
        let mut client = connect(&proxy);
        let request = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";
        client
            .write_all(request.repeat(3).as_bytes())
            .expect("it's read");
        let (mut upstream, _) = listener.accept().expect("the proxy connects");
        for body in ["a", "b"] {
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                let mut byte = [0];
                upstream.read_exact(&mut byte).expect("a request");
                request.push(byte[0]);
            }
            let said = format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{body}");
            upstream.write_all(said.as_bytes()).expect("it's read");
        }
        assert_eq!(answer(&mut client), (200, 1, "a".into()));
        assert_eq!(answer(&mut client), (200, 1, "b".into()));
        let (status, _, text) = answer(&mut client);
        let expected = "too many requests wait for the upstream\n";
        assert_eq!((status, &*text), (503, expected));
        proxy.stop();
        let counts = proxy.join().expect("it served").counts.upstreams;
        assert_eq!(
            (counts.connections, counts.reused, counts.failures.full),
            (1, 1, 1)
        );
    }
}

#[test]
fn a_proxy_with_tls_asks_upstreams_in_the_clear() {
    everywhere(|engine, protocol| {
        let origin = origin(engine);
        let behind = Behind::new([origin.address().clone()]).with_protocol(protocol);
        let mut config = config(engine);
        let names = vec!["a.example".to_owned()];
        config.tls = Some(ringside_server::Tls {
            certificate: ringside_server::Certificate::SelfSigned { names },
            client_authorities: None,
        });
        let proxy = proxy::start(config, behind, &Stop::new()).expect("it starts");
        let tls = ClientSettings {
            server_name: "a.example".to_owned(),
            alpn: vec![Alpn::Http11],
            trust: Trust::Anybody,
            identity: None,
            resumption: false,
        };
        let tls = tls.build().expect("settings in order");
        let mut client = Blocking::connect(connect(&proxy), &tls).expect("a handshake");
        let request = "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhello\
                       GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        client.write_all(request.as_bytes()).expect("it's read");
        let mut said = Vec::new();
        client.read_to_end(&mut said).expect("answers and an end");
        let said = String::from_utf8_lossy(&said);
        assert_eq!(said.matches("HTTP/1.1 200 OK").count(), 2, "{said}");
        assert!(
            said.contains("\r\nhello\r\n") && said.ends_with("hello\n"),
            "{said}"
        );
        proxy.stop();
        let counts = proxy.join().expect("it served").counts.upstreams;
        assert_eq!((counts.completed, counts.failures.total()), (2, 0));
        origin.stop();
        origin.join().expect("it served");
    });
}

/// A certificate for `a.example`, in files.
struct Named(tempfile::TempDir);

impl Named {
    fn new() -> Named {
        let folder = tempfile::tempdir().expect("a folder");
        let made = rcgen::generate_simple_self_signed(vec!["a.example".to_owned()]);
        let made = made.expect("a certificate");
        let write = |name: &str, text: String| {
            std::fs::write(folder.path().join(name), text).expect("a file");
        };
        write("chain.pem", made.cert.pem());
        write("key.pem", made.signing_key.serialize_pem());
        Named(folder)
    }

    /// A server that has it.
    fn origin(&self, engine: EngineChoice) -> Running {
        let mut config = config(engine);
        config.tls = Some(ringside_server::Tls {
            certificate: Certificate::Files {
                chain: self.0.path().join("chain.pem"),
                key: self.0.path().join("key.pem"),
            },
            client_authorities: None,
        });
        ringside_server::start(config, |_| Origin::default(), &Stop::new()).expect("it starts")
    }

    /// One who trusts it, if it's of this name.
    fn client(&self, name: &str, protocol: Protocol) -> Secure {
        let settings = ClientSettings {
            server_name: name.to_owned(),
            alpn: vec![match protocol {
                Protocol::Http2 => Alpn::H2,
                _ => Alpn::Http11,
            }],
            trust: Trust::File(self.0.path().join("chain.pem")),
            identity: None,
            resumption: true,
        };
        Secure::new(settings.build().expect("settings in order"))
    }
}

/// A proxy that may ask over TLS, and asks this server.
fn asking(engine: EngineChoice, behind: &Running, secure: Option<Secure>) -> (Config, Behind) {
    let mut config = config(engine);
    config.upstream_tls = true;
    let place = Place {
        secure,
        ..Place::from(behind.address().clone())
    };
    (config, Behind::new([place]))
}

#[test]
fn a_proxy_asks_upstreams_over_tls() {
    everywhere(|engine, protocol| {
        let named = Named::new();
        let origin = named.origin(engine);
        let secure = named.client("a.example", protocol);
        let (config, behind) = asking(engine, &origin, Some(secure));
        let behind = behind.with_protocol(protocol);
        let proxy = proxy::start(config, behind, &Stop::new()).expect("it starts");
        let mut client = connect(&proxy);
        for _ in 0..20 {
            assert_eq!(get(&mut client, "/"), (200, 6, "hello\n".into()));
        }
        let body = "0123456789".repeat(300_000);
        let request = format!("Host: test\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        let request = format!("POST /count HTTP/1.1\r\n{request}");
        client.write_all(request.as_bytes()).expect("it's read");
        assert_eq!(answer(&mut client).2, "3000000\n");
        proxy.stop();
        let counts = proxy.join().expect("it served").counts.upstreams;
        assert_eq!((counts.connections, counts.completed), (1, 21));
        origin.stop();
        origin.join().expect("it served");
    });
}

#[test]
fn nothing_is_sent_to_an_upstream_that_is_not_who_it_should_be() {
    for engine in ENGINES.into_iter().filter(|engine| has(*engine)) {
        let (named, other) = (Named::new(), Named::new());
        let (secured, clear) = (named.origin(engine), origin(engine));
        let of = |named: &Named, name: &str| Some(named.client(name, Protocol::Http1));
        let cases = [
            (&secured, of(&named, "b.example"), true, "different name"),
            (&secured, of(&other, "a.example"), true, "isn't accepted"),
            (&clear, of(&named, "a.example"), true, "TLS handshake"),
            // No driver that secures anything: in the clear it's no connection that was asked for.
            (&secured, of(&named, "a.example"), false, "can't be reached"),
            // One that asks in the clear a server that doesn't.
            (&secured, None, true, "the upstream"),
        ];
        for (behind, secure, upstream_tls, why) in cases {
            let (mut config, behind) = asking(engine, behind, secure);
            config.upstream_tls = upstream_tls;
            let proxy = proxy::start(config, behind, &Stop::new()).expect("it starts");
            let (status, _, text) = get(&mut connect(&proxy), "/");
            assert_eq!(status, 502, "{engine:?} {why}: {text}");
            assert!(text.contains(why), "{engine:?} {why}: {text}");
            proxy.stop();
            proxy.join().expect("it served");
        }
        for origin in [secured, clear] {
            origin.stop();
            assert_eq!(origin.join().expect("it served").counts.requests, 0);
        }
    }
}

#[test]
fn a_server_that_may_ask_over_tls_serves_and_asks_in_the_clear_as_any_other() {
    for engine in ENGINES.into_iter().filter(|engine| has(*engine)) {
        let mut config = config(engine);
        config.upstream_tls = true;
        let maker = |_| Origin::default();
        let origin = ringside_server::start(config, maker, &Stop::new()).expect("it starts");
        let (config, behind) = asking(engine, &origin, None);
        let proxy = proxy::start(config, behind, &Stop::new()).expect("it starts");
        // What is sent out of templates, too, and on connections that come and go.
        assert_eq!(get(&mut connect(&origin), "/many").1, 100 << 20);
        for _ in 0..20 {
            assert_eq!(get(&mut connect(&proxy), "/").2, "hello\n");
        }
        assert_eq!(get(&mut connect(&proxy), "/many").1, 100 << 20);
        for running in [proxy, origin] {
            running.stop();
            running.join().expect("it served");
        }
    }
}
