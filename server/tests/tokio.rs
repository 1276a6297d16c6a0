//! What handlers use of tokio, over sockets and on both engines: timers, tasks, sockets, threads,
//! upgrades; and that neither requests nor wakes starve the other.

#[path = "../../tests/skip.rs"]
mod skip;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::extract::{Path, Request, State};
use axum::routing::{any, get, post};
use ringside_server::{Address, Config, EngineChoice, Running, Stop, Summary, Time, tower};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const ENGINES: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Epoll];

/// The engines that this host lets a program use.
fn engines() -> Vec<EngineChoice> {
    let usable = |choice: &EngineChoice| match engine::decide(*choice) {
        Ok(_) => true,
        Err(why) => {
            skip::skip(format!("{choice} cannot be used here: {why}"));
            false
        }
    };
    ENGINES.into_iter().filter(usable).collect()
}

fn config(engine: EngineChoice, threads: usize) -> Config {
    Config {
        engine,
        threads,
        ..Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()))
    }
}

fn serve(engine: EngineChoice, threads: usize, app: &Router) -> Running {
    let app = app.clone();
    tower::start(
        config(engine, threads),
        move |_worker| app.clone(),
        &Stop::new(),
    )
    .expect("it starts")
}

fn address(running: &Running) -> SocketAddr {
    match running.address() {
        Address::Tcp(address) => *address,
        other => panic!("not a TCP server: {other}"),
    }
}

fn connect(running: &Running) -> TcpStream {
    connect_to(address(running))
}

fn connect_to(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("an option");
    stream
}

/// One request on its own connection, and all that comes back.
fn ask(running: &Running, path: &str) -> String {
    let mut stream = connect(running);
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n");
    stream
        .write_all(request.as_bytes())
        .expect("the server reads");
    let mut text = String::new();
    stream
        .read_to_string(&mut text)
        .expect("the server answers and closes");
    text
}

/// So many requests one after the other on one connection; how many were answered with `body`.
fn ask_often(stream: &mut TcpStream, path: &str, body: &str, times: usize) -> usize {
    let request = format!("GET {path} HTTP/1.1\r\nHost: test\r\n\r\n");
    let mut right = 0;
    let mut text = Vec::new();
    for _ in 0..times {
        stream
            .write_all(request.as_bytes())
            .expect("the server reads");
        text.clear();
        while !text.ends_with(body.as_bytes()) {
            let mut bytes = [0; 4096];
            let read = stream.read(&mut bytes).expect("the server answers");
            assert!(
                read > 0,
                "the server has closed behind {}",
                String::from_utf8_lossy(&text)
            );
            text.extend_from_slice(&bytes[..read]);
        }
        right += usize::from(text.starts_with(b"HTTP/1.1 200 OK\r\n"));
    }
    right
}

/// Says what it has counted.
fn end(running: Running) -> Summary {
    running.stop();
    running.join().expect("it ends well")
}

/// What needn't be sent to another thread.
async fn local() -> String {
    let local = tokio::task::spawn_local(async {
        let count = std::rc::Rc::new(std::cell::Cell::new(1));
        let other = std::rc::Rc::clone(&count);
        tokio::task::yield_now().await;
        other.set(other.get() + 1);
        count.get()
    });
    format!("{} on this thread", local.await.expect("no panic"))
}

/// Asks a server of its own, over loopback.
async fn socket() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port");
    let address = listener.local_addr().expect("an address");
    let other = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        let mut text = String::new();
        stream.read_to_string(&mut text).await.expect("text");
        text
    });
    let mut stream = tokio::net::TcpStream::connect(address)
        .await
        .expect("it listens");
    stream
        .write_all(b"across a socket")
        .await
        .expect("it reads");
    stream.shutdown().await.expect("an end");
    other.await.expect("no panic")
}

#[test]
fn timers_tasks_threads_and_sockets_work_in_handlers() {
    async fn timer() -> &'static str {
        tokio::time::sleep(Duration::from_millis(5)).await;
        "slept"
    }
    async fn task() -> String {
        let tasks = (0..10).map(|one| tokio::spawn(async move { one }));
        let mut sum = 0;
        for task in tasks {
            sum += task.await.expect("no panic");
        }
        format!("{sum}")
    }
    async fn thread() -> &'static str {
        let blocking = tokio::task::spawn_blocking(|| "blocked");
        blocking.await.expect("no panic")
    }
    async fn limited() -> &'static str {
        let never = std::future::pending::<()>();
        match tokio::time::timeout(Duration::from_millis(5), never).await {
            Ok(()) => "came",
            Err(_) => "too late",
        }
    }
    let app = Router::new()
        .route("/timer", get(timer))
        .route("/task", get(task))
        .route("/local", get(local))
        .route("/thread", get(thread))
        .route("/limited", get(limited))
        .route("/socket", get(socket));
    for engine in engines() {
        let running = serve(engine, 2, &app);
        for (path, body) in [
            ("/timer", "slept"),
            ("/task", "45"),
            ("/local", "2 on this thread"),
            ("/thread", "blocked"),
            ("/limited", "too late"),
            ("/socket", "across a socket"),
        ] {
            let text = ask(&running, path);
            assert!(
                text.ends_with(&format!("\r\n\r\n{body}")),
                "{engine:?}: {text}"
            );
        }
        end(running);
    }
}

#[test]
fn what_is_spawned_goes_on_behind_its_answer_and_while_nobody_asks() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let app = Router::new().route(
        "/",
        get(move || {
            let sender = sender.clone();
            async move {
                tokio::spawn(async move {
                    for step in 0..20 {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                        sender.send(step).expect("somebody listens");
                    }
                });
                "begun"
            }
        }),
    );
    for engine in engines() {
        let running = serve(engine, 1, &app);
        assert!(ask(&running, "/").ends_with("begun"));
        for expected in 0..20 {
            assert_eq!(receiver.recv_timeout(PATIENCE), Ok(expected), "{engine:?}");
        }
        end(running);
    }
}

#[test]
fn another_thread_can_give_an_idle_worker_work() {
    let (sender, handles) = std::sync::mpsc::channel();
    let config = |engine| Config {
        engine,
        ..Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()))
    };
    for engine in engines() {
        let sender = sender.clone();
        let make = move |_worker| {
            let handle = tokio::runtime::Handle::current();
            sender.send(handle).expect("somebody listens");
            Router::new()
        };
        let running = tower::start(config(engine), make, &Stop::new()).expect("it starts");
        let handle = handles
            .recv_timeout(PATIENCE)
            .expect("the worker has a runtime");
        for round in 0..50 {
            let (done, is_done) = std::sync::mpsc::channel();
            handle.spawn(async move { done.send(round) });
            assert_eq!(is_done.recv_timeout(PATIENCE), Ok(round), "{engine:?}");
        }
        end(running);
    }
}

/// Says that something is over, even if what it stands beside panics.
struct AtLast<'a>(&'a AtomicBool);

impl Drop for AtLast<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn a_storm_of_requests_does_not_starve_timers() {
    let ticks = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&ticks);
    let count = move || async move {
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        "counting"
    };
    let app = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/count", get(count));
    for engine in engines() {
        let running = serve(engine, 1, &app);
        assert!(ask(&running, "/count").ends_with("counting"));
        let before = ticks.load(Ordering::Relaxed);
        // Always more than one turn reads, so that the worker is never idle.
        let over = AtomicBool::new(false);
        let storm = "GET / HTTP/1.1\r\nHost: test\r\n\r\n".repeat(200);
        let at = address(&running);
        std::thread::scope(|scope| {
            let _over = AtLast(&over);
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut writer = connect_to(at);
                    let mut reader = writer.try_clone().expect("a second handle");
                    scope.spawn(move || {
                        let mut bytes = [0; 65536];
                        while reader.read(&mut bytes).is_ok_and(|read| read > 0) {}
                    });
                    while !over.load(Ordering::Relaxed) {
                        writer
                            .write_all(storm.as_bytes())
                            .expect("the server reads");
                    }
                    let _ = writer.shutdown(std::net::Shutdown::Both);
                });
            }
            // The storm ends when the timer has come, and the test fails if it doesn't.
            let mut asked = connect(&running);
            for _ in 0..200_000 {
                if ticks.load(Ordering::Relaxed) >= before + 20 {
                    break;
                }
                ask_often(&mut asked, "/", "hello", 1);
            }
        });
        let came = ticks.load(Ordering::Relaxed) - before;
        assert!(came >= 20, "{engine:?}: {came} ticks came");
        end(running);
    }
}

#[test]
fn a_storm_of_wakes_does_not_starve_requests() {
    /// Wakes itself for ever, in handlers and in tasks.
    async fn spin() {
        loop {
            tokio::task::yield_now().await;
        }
    }
    let app = Router::new().route("/", get(|| async { "hello" })).route(
        "/spin",
        get(|| async {
            tokio::spawn(spin());
            spin().await;
            "never"
        }),
    );
    for engine in engines() {
        let running = serve(engine, 1, &app);
        let mut spinning = connect(&running);
        let request = "GET /spin HTTP/1.1\r\nHost: test\r\n\r\n";
        spinning
            .write_all(request.as_bytes())
            .expect("the server reads");
        let mut stream = connect(&running);
        assert_eq!(
            ask_often(&mut stream, "/", "hello", 2000),
            2000,
            "{engine:?}"
        );
        drop(spinning);
        drop(stream);
        end(running);
    }
}

/// Every wait of it is over at once, and it never ends by itself.
async fn hog() -> &'static str {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let sends_itself = async {
        while sender.send(()).is_ok() {
            receiver.recv().await;
        }
    };
    match tokio::time::timeout(Duration::from_millis(300), sends_itself).await {
        Ok(()) => "ended",
        Err(_) => "timed out",
    }
}

#[test]
fn handlers_that_never_wait_let_others_go_on_and_time_out() {
    let app = Router::new()
        .route("/", get(|| async { "hello" }))
        .route("/hog", get(hog))
        .route(
            "/waits",
            get(|| async {
                tokio::time::sleep(Duration::from_millis(1)).await;
                "waited"
            }),
        );
    for engine in engines() {
        let running = serve(engine, 1, &app);
        let mut hogs: Vec<TcpStream> = (0..3).map(|_| connect(&running)).collect();
        for hog in &mut hogs {
            hog.write_all(b"GET /hog HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
                .expect("the server reads");
        }
        let mut stream = connect(&running);
        assert_eq!(ask_often(&mut stream, "/", "hello", 50), 50, "{engine:?}");
        assert_eq!(ask_often(&mut stream, "/waits", "waited", 5), 5);
        for mut hog in hogs {
            let mut text = String::new();
            hog.read_to_string(&mut text).expect("an answer");
            assert!(text.ends_with("timed out"), "{engine:?}: {text}");
        }
        end(running);
    }
}

/// Spawns a task when it's dropped, which needs a runtime.
struct Parting(Arc<AtomicU64>);

impl Drop for Parting {
    fn drop(&mut self) {
        let parted = Arc::clone(&self.0);
        drop(tokio::spawn(async {}));
        parted.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn what_an_application_drops_last_is_dropped_inside_of_its_runtime() {
    let parted = Arc::new(AtomicU64::new(0));
    for engine in engines() {
        let here = Arc::clone(&parted);
        let make = move |_| {
            let parting = Arc::new(Parting(Arc::clone(&here)));
            Router::new().route(
                "/",
                get(move || async move {
                    drop(parting);
                    "hello"
                }),
            )
        };
        let running = tower::start(config(engine, 1), make, &Stop::new()).expect("it starts");
        assert!(ask(&running, "/").ends_with("hello"));
        end(running);
    }
    assert_eq!(parted.load(Ordering::Relaxed), engines().len() as u64);
}

/// Says hello, and panics when it's cloned once it has been asked.
struct Touchy(bool);

impl Clone for Touchy {
    fn clone(&self) -> Touchy {
        assert!(!self.0, "it doesn't want to be cloned");
        Touchy(false)
    }
}

impl ::tower::Service<axum::http::Request<tower::Body>> for Touchy {
    type Response = axum::http::Response<String>;
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: axum::http::Request<tower::Body>) -> Self::Future {
        self.0 = true;
        std::future::ready(Ok(axum::http::Response::new("hello".into())))
    }
}

#[test]
fn a_service_that_panics_as_an_upgrade_clones_it_is_a_500_and_its_worker_goes_on() {
    for engine in engines() {
        let running =
            tower::start(config(engine, 1), |_| Touchy(false), &Stop::new()).expect("it starts");
        assert!(ask(&running, "/").ends_with("hello"));
        let mut stream = connect(&running);
        let upgrade = "GET / HTTP/1.1\r\nHost: test\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
        stream.write_all(upgrade.as_bytes()).expect("it reads");
        let mut status = [0; 12];
        stream.read_exact(&mut status).expect("an answer");
        assert_eq!(&status, b"HTTP/1.1 500", "{engine:?}");
        assert!(ask(&running, "/").ends_with("hello"));
        let summary = end(running);
        assert_eq!(summary.counts.panics, 1, "{engine:?}");
    }
}

/// For how long each engine is under stress, if that's said: `RINGSIDE_STRESS_SECONDS=180`.
fn stress_ns() -> Option<u64> {
    let seconds = std::env::var("RINGSIDE_STRESS_SECONDS").ok()?;
    let seconds: u64 = seconds
        .parse()
        .expect("RINGSIDE_STRESS_SECONDS is a number");
    Some(seconds * 1_000_000_000)
}

/// Requests that are woken from another thread, each at once, so that the wake meets a worker that
/// is about to sleep. A wake that is lost is a request that is never answered.
///
/// For minutes: `RINGSIDE_STRESS_SECONDS=180 cargo test -p ringside-server --test tokio
/// no_wake_is_lost -- --nocapture`.
#[test]
fn no_wake_is_lost() {
    const ROUND: usize = 5000;
    type Woken = mpsc::UnboundedSender<Arc<Notify>>;
    async fn woken(State(others): State<Woken>) -> &'static str {
        let notify = Arc::new(Notify::new());
        others
            .send(Arc::clone(&notify))
            .expect("the other thread runs");
        notify.notified().await;
        "woken"
    }
    for engine in engines() {
        let (sender, mut receiver) = mpsc::unbounded_channel::<Arc<Notify>>();
        let waking = std::thread::spawn(move || {
            while let Some(notify) = receiver.blocking_recv() {
                notify.notify_one();
            }
        });
        let app = Router::new().route("/", get(woken)).with_state(sender);
        let running = serve(engine, 1, &app);
        let at = address(&running);
        let (began, count) = (Time::now(), AtomicU64::new(0));
        let goes_on = || stress_ns().is_some_and(|ns| Time::now().since(began) < ns);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut stream = connect_to(at);
                    loop {
                        let woken = ask_often(&mut stream, "/", "woken", ROUND);
                        assert_eq!(woken, ROUND, "{engine:?}");
                        count.fetch_add(ROUND as u64, Ordering::Relaxed);
                        if !goes_on() {
                            return;
                        }
                    }
                });
            }
        });
        let seconds = Time::now().since(began) as f64 / 1e9;
        println!("{engine}: {count:?} requests were woken in {seconds:.1} s, and none was lost");
        end(running);
        drop(app);
        waking.join().expect("no panic");
    }
}

#[test]
fn a_client_that_leaves_takes_its_handler_with_it() {
    struct Dropped(std::sync::mpsc::Sender<&'static str>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            let _ = self.0.send("dropped");
        }
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    let app = Router::new().route(
        "/",
        get(move || {
            let dropped = Dropped(sender.clone());
            async move {
                let _ = dropped.0.send("waiting");
                tokio::time::sleep(PATIENCE * 100).await;
            }
        }),
    );
    for (engine, resets) in engines()
        .into_iter()
        .flat_map(|one| [(one, false), (one, true)])
    {
        let running = serve(engine, 1, &app);
        let mut stream = connect(&running);
        let request = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n";
        stream.write_all(request).expect("the server reads");
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok("waiting"));
        if resets {
            let now = Some(Duration::ZERO);
            rustix::net::sockopt::set_socket_linger(&stream, now).expect("an option");
        }
        drop(stream);
        assert_eq!(receiver.recv_timeout(PATIENCE), Ok("dropped"), "{engine:?}");
        end(running);
    }
}

#[test]
fn uploads_wait_for_their_handler_and_come_whole() {
    async fn slow(request: Request) -> String {
        let mut body = request.into_body().into_data_stream();
        let mut sum = 0_u64;
        while let Some(piece) = futures_util::StreamExt::next(&mut body).await {
            let piece = piece.expect("all of it comes");
            sum += piece.iter().map(|byte| u64::from(*byte)).sum::<u64>();
            tokio::task::yield_now().await;
        }
        format!("sum {sum}")
    }
    let app = Router::new().route("/", post(slow));
    let body = vec![3_u8; 900_000];
    for engine in engines() {
        let running = serve(engine, 1, &app);
        let mut stream = connect(&running);
        let head = "POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n";
        let head = format!("{head}Content-Length: {}\r\n\r\n", body.len());
        stream.write_all(head.as_bytes()).expect("the server reads");
        stream.write_all(&body).expect("the server reads");
        let mut text = String::new();
        stream
            .read_to_string(&mut text)
            .expect("the server answers");
        assert!(text.ends_with("sum 2700000"), "{engine:?}: {text}");
        end(running);
    }
}

/// A frame of a client, with a mask of zeros (RFC 6455 §5.2).
fn masked(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0x80 | opcode];
    match payload.len() {
        length @ 0..126 => bytes.push(0x80 | length as u8),
        length => {
            bytes.push(0xff);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend([0; 4]);
    bytes.extend_from_slice(payload);
    bytes
}

#[test]
fn a_websocket_of_axum_speaks_and_its_connection_ends_with_it() {
    async fn chat(Path(name): Path<String>, upgrade: WebSocketUpgrade) -> axum::response::Response {
        upgrade.on_upgrade(async move |mut socket| {
            let greeting = Message::text(format!("hello {name}"));
            socket.send(greeting).await.expect("the client listens");
            while let Some(Ok(message)) = socket.recv().await {
                if matches!(message, Message::Text(_) | Message::Binary(_))
                    && socket.send(message).await.is_err()
                {
                    return;
                }
            }
        })
    }
    let app = Router::new().route("/chat/{name}", any(chat));
    let ask = "GET /chat/you HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\n\
               Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
               Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    for engine in engines() {
        let running = serve(engine, 1, &app);
        let mut stream = connect(&running);
        let long = vec![b'x'; 300_000];
        let begin = [ask.as_bytes(), &masked(1, b"one"), &masked(2, &long)].concat();
        stream.write_all(&begin).expect("the server reads");
        stream
            .write_all(&masked(8, &[0x03, 0xe8]))
            .expect("the server reads");
        let mut bytes = Vec::new();
        stream
            .read_to_end(&mut bytes)
            .expect("the server closes in good order");
        let at = bytes
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head")
            + 4;
        let head = String::from_utf8_lossy(&bytes[..at]).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        assert!(
            head.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo="),
            "{head}"
        );
        let mut expected = vec![0x81, 9];
        expected.extend(b"hello you");
        expected.extend([0x81, 3]);
        expected.extend(b"one");
        expected.extend([0x82, 127]);
        expected.extend((long.len() as u64).to_be_bytes());
        expected.extend(&long);
        expected.extend([0x88, 2, 0x03, 0xe8]);
        assert!(
            bytes[at..] == expected,
            "{engine:?}: {} bytes came",
            bytes.len() - at
        );
        end(running);
    }
}

#[test]
fn who_refuses_an_upgrade_answers_as_ever_and_the_connection_ends() {
    let app = Router::new().route("/", get(|| async { "plain" }));
    let asks = "GET / HTTP/1.1\r\nHost: test\r\nConnection: upgrade\r\nUpgrade: other\r\n\r\n";
    let last = "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
    for engine in engines() {
        let running = serve(engine, 1, &app);
        let mut stream = connect(&running);
        let requests = [asks, asks, last].concat();
        stream
            .write_all(requests.as_bytes())
            .expect("the server reads");
        let mut text = String::new();
        stream
            .read_to_string(&mut text)
            .expect("the server answers and closes");
        assert_eq!(
            text.matches("HTTP/1.1 200 OK").count(),
            1,
            "{engine:?}: {text}"
        );
        assert_eq!(
            text.matches("\r\n\r\nplain").count(),
            1,
            "{engine:?}: {text}"
        );
        end(running);
    }
}
