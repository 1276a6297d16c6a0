//! What a server holds for its clients, how it ends, and what it says of itself meanwhile, over
//! sockets and on both engines.
//!
//! Whoever waits, waits for something to become true; [`PATIENCE`] only turns a hang into a
//! failure.

#[path = "../../tests/skip.rs"]
mod skip;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::{Arc, Mutex, MutexGuard, mpsc};
use std::thread;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ws::{WebSocket, WebSocketUpgrade};
use axum::extract::{Request, State};
use axum::routing::{any, get, post};
use bytes::Bytes;
use futures_util::stream;
use ringside_server::{
    Address, Certificate, Config, Context, EngineChoice, Limits, Live, LiveCounts, Reply, Running,
    Service, StartError, Stop, Summary, Time, Timeouts, Tls, tower,
};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const ENGINES: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Epoll];

const MEMORY_BYTES: u64 = 4 << 20;

/// A server that is watched.
struct Watched {
    running: Running,
    live: LiveCounts,
    engine: EngineChoice,
}

impl Watched {
    fn each(app: impl Fn() -> Router) -> impl Iterator<Item = Watched> {
        let start = move |engine| {
            let live = LiveCounts::new();
            let app = app();
            let config = config(engine, &live);
            let started = tower::start(config, move |_worker| app.clone(), &Stop::new());
            Watched::of(engine, started, live)
        };
        ENGINES.into_iter().filter_map(start)
    }

    fn of(
        engine: EngineChoice,
        started: Result<Running, StartError>,
        live: LiveCounts,
    ) -> Option<Watched> {
        match started {
            Ok(running) => Some(Watched {
                running,
                live,
                engine,
            }),
            Err(StartError::Engine(error)) => {
                skip::skip(format!("{engine} cannot be used here: {error}"));
                None
            }
            Err(error) => panic!("{engine}: {error}"),
        }
    }

    fn connect(&self) -> TcpStream {
        let Address::Tcp(address) = self.running.address() else {
            panic!("not a TCP server: {}", self.running.address());
        };
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("an option");
        stream.set_write_timeout(Some(PATIENCE)).expect("an option");
        stream
    }

    /// Connections that have sent this, and read nothing. Who is reset meanwhile isn't missed.
    fn besiege(&self, clients: usize, bytes: &[u8]) -> Vec<TcpStream> {
        let one = |_| {
            let mut stream = self.connect();
            stream.set_nonblocking(true).expect("an option");
            let mut left = bytes;
            while let Ok(count) = stream.write(left) {
                left = &left[count..];
                if left.is_empty() {
                    break;
                }
            }
            stream
        };
        (0..clients).map(one).collect()
    }

    /// What it says of itself once `enough`; at no time may it hold more than it may.
    fn watch(&self, what: &str, enough: impl Fn(&Live) -> bool) -> Live {
        let began = Time::now();
        loop {
            let now = self.live.read();
            assert!(
                now.held_bytes <= MEMORY_BYTES,
                "{}, {what}: {now:?}",
                self.engine
            );
            if enough(&now) {
                return now;
            }
            assert!(
                Time::now() - began < PATIENCE,
                "{}, {what}: {now:?}",
                self.engine
            );
            thread::park_timeout(Duration::from_millis(2));
        }
    }

    /// The answer to a small request, whose connection it ends.
    fn ask(&self, path: &str) -> String {
        let mut stream = self.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    }

    fn end(self) -> Summary {
        self.running.stop();
        let (sender, ended) = mpsc::channel();
        let running = self.running;
        thread::spawn(move || drop(sender.send(running.join())));
        let joined = ended.recv_timeout(PATIENCE).expect("it ends in time");
        joined.expect("its driver works")
    }
}

fn config(engine: EngineChoice, live: &LiveCounts) -> Config {
    Config {
        engine,
        limits: Limits {
            memory_bytes: Some(MEMORY_BYTES),
            ..Limits::default()
        },
        timeouts: Timeouts {
            drain: Duration::from_millis(200),
            ..Timeouts::default()
        },
        live: Some(live.clone()),
        ..Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()))
    }
}

fn app() -> Router {
    Router::new()
        .route("/", get(async || "hello"))
        .route("/hold", post(hold))
        .route("/whole", post(hold))
        .route("/big", get(big))
        .route("/deaf", any(deaf))
}

/// Keeps a body that it doesn't read.
async fn hold(request: Request) {
    let _body = request.into_body();
    std::future::pending().await
}

/// Endless, in big pieces.
async fn big() -> Body {
    let piece = Bytes::from(vec![b'x'; 256 * 1024]);
    Body::from_stream(stream::repeat_with(move || {
        Ok::<_, std::convert::Infallible>(piece.clone())
    }))
}

/// A WebSocket that nobody reads.
async fn deaf(upgrade: WebSocketUpgrade) -> axum::response::Response {
    upgrade.on_upgrade(async |socket: WebSocket| {
        let _socket = socket;
        std::future::pending().await
    })
}

const UPGRADE: &str = "GET /deaf HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\n\
                       Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

fn post_of(path: &str, length: usize) -> Vec<u8> {
    let head = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    [head.into_bytes(), vec![b'b'; length]].concat()
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    [&head, payload].concat()
}

/// So many requests of HTTP/2 for `/big`, with all the credit there is.
fn requests_for_big(streams: u32) -> Vec<u8> {
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, &[0, 4, 0x7f, 0xff, 0xff, 0xff]));
    bytes.extend(frame(8, 0, 0, &0x7fff_0000_u32.to_be_bytes()));
    // `:method: GET`, `:scheme: http` (RFC 7541, Appendix A), `:path` and `:authority`.
    let block = [&[0x82, 0x86, 0x04, 4][..], b"/big", &[0x01, 1], b"a"].concat();
    for stream in 0..streams {
        bytes.extend(frame(1, 5, 2 * stream + 1, &block));
    }
    bytes
}

/// A chunk has one byte, and takes more than that where it waits.
fn tiny_chunks(count: usize) -> Vec<u8> {
    let head = "POST /hold HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    [head.as_bytes(), &b"1\r\nb\r\n".repeat(count)].concat()
}

/// A binary message of a WebSocket, with a mask of zeros, that has only begun.
fn endless_message(bytes: usize) -> Vec<u8> {
    let head = [&[0x02, 0xff][..], &(1_u64 << 30).to_be_bytes(), &[0; 4]].concat();
    [UPGRADE.as_bytes(), &head, &vec![0; bytes]].concat()
}

#[test]
fn handlers_that_do_not_read_hold_no_more_for_their_clients_than_is_allowed() {
    let sieges = [
        ("uploads", 200, post_of("/hold", 64 << 10)),
        ("bodies that came whole", 500, post_of("/whole", 16 << 10)),
        ("tiny chunks", 200, tiny_chunks(5000)),
        ("answers over HTTP/2", 20, requests_for_big(20)),
        ("WebSockets", 200, endless_message(100 << 10)),
    ];
    for (what, clients, bytes) in sieges {
        for server in Watched::each(app) {
            let besiegers = server.besiege(clients, &bytes);
            let held = server.watch(what, |now| now.counts.relieved >= clients as u64 / 8);
            assert_eq!(held.counts.panics, 0, "{what}");
            assert!(server.ask("/").ends_with("hello"), "{what}");
            drop(besiegers);
            let live = server.live.clone();
            server.end();
            let now = live.read();
            assert_eq!((now.connections, now.held_bytes), (0, 0), "{what}");
        }
    }
}

#[test]
fn who_speaks_no_tls_is_counted() {
    for engine in ENGINES {
        let live = LiveCounts::new();
        let mut config = config(engine, &live);
        let names = vec!["a.example".to_owned()];
        config.tls = Some(Tls {
            certificate: Certificate::SelfSigned { names },
            client_authorities: None,
        });
        let started = tower::start(config, |_worker| app(), &Stop::new());
        let Some(server) = Watched::of(engine, started, live) else {
            continue;
        };
        let in_the_clear = server.besiege(2, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        drop(server.besiege(1, b"")); // It leaves before it says anything.
        let now = server.watch("handshakes", |now| now.handshakes_failed == 3);
        assert_eq!((now.counts.connections, now.connections), (0, 0));
        drop(in_the_clear);
        assert_eq!(server.end().engine.handshakes_failed, 3);
    }
}

#[test]
fn who_is_given_up_for_want_of_memory_is_told() {
    for server in Watched::each(app) {
        let besiegers = server.besiege(200, &post_of("/hold", 60 << 10));
        server.watch("uploads", |now| now.counts.requests == 200);
        server.watch("uploads", |now| now.counts.relieved >= 100);
        server.running.stop();
        let told = besiegers.into_iter().filter(|stream| {
            stream.set_nonblocking(false).expect("an option");
            let mut head = [0; 12];
            let mut stream: &TcpStream = stream;
            stream.read_exact(&mut head).is_ok() && head.starts_with(b"HTTP/1.1 503")
        });
        let told = told.count() as u64;
        assert_eq!(told, server.end().counts.relieved);
    }
}

/// Panics as it's dropped.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        assert!(thread::panicking(), "as it's meant to");
    }
}

#[test]
fn handlers_that_panic_as_the_drain_drops_them_are_counted() {
    async fn armed() {
        let _bomb = Bomb;
        std::future::pending().await
    }
    for server in Watched::each(|| Router::new().route("/", get(armed))) {
        let _client = server.besiege(1, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        server.watch("its request", |now| now.counts.requests == 1);
        let live = server.live.clone();
        assert_eq!(server.end().counts.panics, 1);
        assert_eq!(live.read().counts.panics, 1);
    }
}

/// Behind a request whose upgrade wasn't granted nothing is read: hyper, which has the connection
/// by then, knows no limits of ours.
#[test]
fn a_connection_whose_upgrade_is_not_granted_ends() {
    for server in Watched::each(app) {
        let mut stream = server.connect();
        let asked = "GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: another\r\n\r\n";
        let more = post_of("/hold", 4 << 10);
        stream
            .write_all(&[asked.as_bytes(), &more].concat())
            .expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it ends");
        assert!(
            text.starts_with("HTTP/1.1 200 OK") && text.ends_with("hello"),
            "{text}"
        );
        assert_eq!(text.matches("HTTP/1.1").count(), 1, "{text}");
        assert_eq!(server.end().counts.requests, 1);
    }
}

/// Handlers that never end, a task, a thread, and a WebSocket: all of them are there when it's told
/// to stop.
#[test]
fn a_server_ends_in_time_whatever_its_handlers_do() {
    let (sender, begun) = mpsc::channel();
    let (_held, never) = mpsc::channel::<()>();
    let never = Arc::new(Mutex::new(never));
    let busy = move |sender: mpsc::Sender<()>, never: Arc<Mutex<_>>| async move {
        tokio::spawn(std::future::pending::<()>());
        tokio::task::spawn_blocking(move || {
            let never: MutexGuard<'_, mpsc::Receiver<()>> = never.lock().expect("no panic");
            let _ = never.recv();
        });
        let _ = sender.send(());
        std::future::pending::<()>().await;
    };
    let app = || {
        let (sender, never) = (sender.clone(), never.clone());
        app().route("/busy", get(move || busy(sender.clone(), never.clone())))
    };
    for server in Watched::each(app) {
        let mut waiting = server.connect();
        waiting
            .write_all(b"GET /busy HTTP/1.1\r\nHost: a\r\n\r\n")
            .expect("it reads");
        begun.recv_timeout(PATIENCE).expect("the handler begins");
        let mut upgraded = server.connect();
        upgraded.write_all(UPGRADE.as_bytes()).expect("it reads");
        let mut head = [0; 12];
        upgraded.read_exact(&mut head).expect("it answers");
        assert_eq!(&head, b"HTTP/1.1 101");
        assert_eq!(server.end().counts.cut, 2);
    }
}

#[test]
fn a_native_service_that_never_answers_does_not_keep_its_server_either() {
    struct Never;
    impl Service for Never {
        fn call(&mut self, _: &ringside_server::Request<'_>, _: &mut Context<'_>) -> Reply {
            Reply::Later
        }
    }
    for engine in ENGINES {
        let live = LiveCounts::new();
        let started = ringside_server::start(config(engine, &live), |_| Never, &Stop::new());
        let Some(server) = Watched::of(engine, started, live.clone()) else {
            continue;
        };
        let mut stream = server.connect();
        stream
            .write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            .expect("it reads");
        let now = server.watch("a request", |now| now.counts.requests == 1);
        assert_eq!((now.connections, now.counts.connections), (1, 1));
        let summary = server.end();
        assert_eq!(summary.counts.cut, 1);
        let last = live.read();
        assert_eq!((last.counts, last.connections), (summary.counts, 0));
    }
}

#[test]
fn an_application_says_what_its_server_has_counted() {
    async fn metrics(State(live): State<LiveCounts>) -> String {
        format!("requests {}", live.read().counts.requests)
    }
    for engine in ENGINES {
        let live = LiveCounts::new();
        let app = Router::new().route("/metrics", get(metrics));
        let app = app.with_state(live.clone());
        let config = Config {
            threads: 2,
            ..config(engine, &live)
        };
        let started = tower::start(config, move |_worker| app.clone(), &Stop::new());
        let Some(server) = Watched::of(engine, started, live.clone()) else {
            continue;
        };
        for asked in 0..10 {
            // Those before it are there after a while, whichever worker had them.
            server.watch("requests", |now| now.counts.requests == asked);
            let text = server.ask("/metrics");
            assert!(
                text.ends_with(&format!("requests {asked}")),
                "{engine}: {text}"
            );
        }
        assert_eq!(server.end().counts, live.read().counts);
    }
}
