//! What goes wrong around handlers, on this server alone: they block, they outlast the server, and
//! their clients take nothing, or tell who they are.

use std::convert::Infallible;
use std::future;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, mpsc};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{ConnectInfo, Request};
use axum::middleware::map_request;
use axum::routing::{any, get};
use futures_util::stream;
use ringside_server::Peer;
use tokio::sync::mpsc::unbounded_channel;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::handlers::{Tells, piece};
use crate::wire::{self, Ask, connect, until, within};
use crate::{LAST, Ours};

/// The messages of this process's warnings.
struct Warnings;

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::WARN && metadata.target().starts_with("ringside_server")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        struct Message(String);
        impl Visit for Message {
            fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        WARNINGS.lock().expect("nobody panicked").push(message.0);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Begins to keep warnings, unless that has begun.
fn listen() {
    static LISTENING: OnceLock<()> = OnceLock::new();
    LISTENING.get_or_init(|| {
        tracing::subscriber::set_global_default(Warnings).expect("nobody else listens");
    });
}

/// The warnings that have this in them.
fn warnings(of: &str) -> Vec<String> {
    let warnings = WARNINGS.lock().expect("nobody panicked");
    warnings
        .iter()
        .filter(|one| one.contains(of))
        .cloned()
        .collect()
}

/// Holds its thread for longer than a second: nothing ever comes.
fn block() {
    let (_sender, receiver) = mpsc::channel::<()>();
    let _ = receiver.recv_timeout(Duration::from_millis(1100));
}

#[test]
fn a_handler_that_blocks_its_worker_is_named() {
    listen();
    let app = || {
        let now = any(async || block());
        let later = any(async || {
            crate::handlers::Elsewhere::default().await;
            block();
        });
        let body = async || {
            Body::from_stream(stream::once(async {
                block();
                Ok::<_, Infallible>("late")
            }))
        };
        Router::new()
            .route("/blocks/now", now)
            .route("/blocks/later", later)
            .route("/blocks/body", any(body))
    };
    for ours in Ours::each(app) {
        for target in ["/blocks/now", "/blocks/later", "/blocks/body"] {
            let before = warnings(&format!("POST {target}.")).len();
            let pieces = [Ask::post(target, "body").pieces().concat(), LAST.into()];
            let heard = wire::http1(ours.address, &pieces);
            assert_eq!(heard.statuses(), [200, 404], "{heard}");
            let named = warnings(&format!("POST {target}."));
            assert_eq!(named.len(), before + 1, "{target} {:?}", warnings(""));
            let said = &named[before];
            assert!(said.contains("a handler blocked its worker"), "{said}");
            assert!(said.contains("for 1."), "{said}");
        }
    }
    assert_eq!(warnings("GET /the-end"), [""; 0]);
}

#[test]
fn a_body_that_fails_is_told_to_whoever_runs_the_server() {
    listen();
    let app = || {
        let failing = async || {
            let error = std::io::Error::other("the disk of this test is gone");
            Body::from_stream(stream::once(future::ready(Err::<&str, _>(error))))
        };
        Router::new().route("/", get(failing))
    };
    for ours in Ours::each(app) {
        let before = warnings("the disk of this test is gone").len();
        let heard = wire::http1(ours.address, &Ask::get("/").pieces());
        assert_eq!(heard.statuses(), [200], "{heard}");
        let told = warnings("the disk of this test is gone");
        assert_eq!(told.len(), before + 1);
        assert!(
            told[before].contains("the body of an answer failed"),
            "{told:?}"
        );
    }
}

/// Until the drain's end a handler may still answer; then its client is cut off, and it's dropped.
#[test]
fn a_handler_that_outlasts_the_drain_is_cut_and_counted() {
    let (tell, mut told) = unbounded_channel();
    let app = move || {
        let tell = tell.clone();
        let never = move || {
            let guard = Tells(tell.clone(), "dropped");
            let tell = tell.clone();
            async move {
                let _guard = guard;
                let _ = tell.send("began");
                future::pending::<()>().await;
            }
        };
        Router::new().route("/", any(never))
    };
    let all = Ours::each_with(app, |config| {
        config.timeouts.drain = Duration::from_millis(50)
    });
    for ours in all {
        let mut stream = connect(ours.address);
        let request = Ask::get("/").pieces().concat();
        stream.write_all(&request).expect("it reads");
        assert_eq!(within(told.recv()), Some("began"));
        let summary = ours.end();
        assert_eq!(within(told.recv()), Some("dropped"));
        assert_eq!((summary.counts.cut, summary.counts.panics), (1, 0));
        // An end, or a reset: no answer.
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        assert_eq!(bytes, b"");
    }
}

/// A handler that is under way when the server stops is still answered.
#[test]
fn who_is_under_way_when_the_server_stops_is_answered() {
    let (tell, mut told) = unbounded_channel();
    let (go, gone) = tokio::sync::watch::channel(false);
    let app = move || {
        let (tell, gone) = (tell.clone(), gone.clone());
        let waits = async move || {
            let mut gone = gone.clone();
            let _ = tell.send("began");
            let _ = gone.wait_for(|gone| *gone).await;
            "answered\n"
        };
        Router::new().route("/", any(waits))
    };
    for ours in Ours::each(app) {
        go.send_replace(false);
        let mut stream = connect(ours.address);
        let request = Ask::get("/").pieces().concat();
        stream.write_all(&request).expect("it reads");
        assert_eq!(within(told.recv()), Some("began"));
        ours.request_stop();
        go.send_replace(true);
        let heard = wire::hear(&stream);
        assert_eq!(heard.statuses(), [200], "{heard}");
        assert!(heard.bytes.ends_with(b"answered\n"), "{heard}");
        assert_eq!(ours.end().counts.cut, 0);
    }
}

/// A body is asked for no more than its client takes, and a client that takes nothing is given up.
#[test]
fn a_client_that_takes_nothing_costs_little_memory_and_is_given_up() {
    const PIECE: usize = 64 * 1024;
    const TAKEN_MAX: usize = 32 << 20;
    let count = Arc::new(AtomicUsize::new(0));
    let (tell, mut told) = unbounded_channel();
    let counted = Arc::clone(&count);
    let app = move || {
        let (tell, counted) = (tell.clone(), Arc::clone(&counted));
        let endless = async move || {
            let guard = Tells(tell.clone(), "dropped");
            let counted = Arc::clone(&counted);
            let pieces = (0..).map(move |at| {
                let _guard = &guard;
                counted.fetch_add(1, Ordering::Relaxed);
                Ok::<_, Infallible>(piece(at, PIECE))
            });
            Body::from_stream(stream::iter(pieces))
        };
        Router::new().route("/", get(endless))
    };
    let all = Ours::each_with(app, |config| {
        config.timeouts.idle = Duration::from_millis(300)
    });
    for ours in all {
        count.store(0, Ordering::Relaxed);
        let mut stream = connect(ours.address);
        let request = Ask::get("/").pieces().concat();
        stream.write_all(&request).expect("it reads");
        until(&mut stream, b"\r\n\r\n");
        assert_eq!(within(told.recv()), Some("dropped"));
        // The kernel keeps some of it; the server a piece or two.
        let taken = count.load(Ordering::Relaxed) * PIECE;
        assert!(taken < TAKEN_MAX, "{taken} bytes were asked for");
        assert_eq!(ours.end().counts.unread, 1);
    }
}

/// A handler whose client leaves is dropped although a request waits behind it for its turn.
#[test]
fn who_leaves_with_a_request_waiting_takes_its_handler_along() {
    let (tell, mut told) = unbounded_channel();
    let app = move || {
        let tell = tell.clone();
        let never = move |request: Request| {
            let guard = Tells(tell.clone(), "dropped");
            let tell = tell.clone();
            async move {
                let _guard = guard;
                let said = if request.method() == "GET" {
                    "began"
                } else {
                    "too early"
                };
                let _ = tell.send(said);
                future::pending::<()>().await;
            }
        };
        Router::new().route("/", any(never))
    };
    for ours in Ours::each(app) {
        for how in [Shutdown::Both, Shutdown::Write] {
            let mut stream = connect(ours.address);
            let get = Ask::get("/").pieces().concat();
            let post = Ask::post("/", "body").pieces().concat();
            stream.write_all(&[get, post].concat()).expect("it reads");
            assert_eq!(within(told.recv()), Some("began"));
            stream.shutdown(how).expect("it's connected");
            assert_eq!(within(told.recv()), Some("dropped"), "{how:?}");
        }
        ours.end();
        assert!(told.try_recv().is_err(), "nothing else was begun");
    }
}

/// Offers what axum's extractor looks for: see the guide.
async fn with_address(mut request: Request) -> Request {
    if let Some(address) = request
        .extensions()
        .get()
        .and_then(|peer: &Peer| peer.address)
    {
        request.extensions_mut().insert(ConnectInfo(address));
    }
    request
}

#[test]
fn a_layer_of_two_lines_offers_the_address_of_the_client() {
    let app = || {
        let tell = async |ConnectInfo(address): ConnectInfo<SocketAddr>| address.to_string();
        Router::new()
            .route("/", get(tell))
            .layer(map_request(with_address))
    };
    for ours in Ours::each_with(app, |config| config.peers = true) {
        let mut stream = connect(ours.address);
        let request = Ask::get("/").pieces().concat();
        stream
            .write_all(&[request, LAST.into()].concat())
            .expect("it reads");
        let own = stream.local_addr().expect("it's connected").to_string();
        let heard = wire::hear(&stream);
        assert_eq!(heard.statuses(), [200, 404], "{heard}");
        assert!(
            heard.has(format!("\r\n\r\n{own}HTTP/1.1 404")),
            "{own} {heard}"
        );
        let answer = wire::http2(ours.address, &Ask::get("/"));
        assert!(answer.body.starts_with(b"127.0.0.1:"), "{answer}");
    }
}
