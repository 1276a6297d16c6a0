//! Applications of axum on this server and on `axum::serve`: the same requests, and the same bytes
//! back, but for the value of `date`.
//!
//! Each file has one kind of scenario. A scenario starts its application three times: on either
//! engine of ours, and on hyper in a current-thread runtime of tokio. What each says to a request
//! is compared as bytes over HTTP/1, and as decoded heads, bodies and trailers over HTTP/2. Where
//! they differ and should, a test says so by both answers.
//!
//! Content decides, never time: whoever waits, waits for an event, and [`wire::PATIENCE`] only
//! turns a hang into a failure.

#[path = "../../../tests/skip.rs"]
mod skip;

mod answers;
mod connections;
mod corners;
mod endings;
mod extractors;
mod failures;
mod handlers;
mod hardships;
mod layers;
mod routing;
mod sockets;
mod streams;
mod tls;
mod uploads;
mod wire;

use std::fmt::Debug;
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};

use axum::Router;
use axum::serve::Listener;
use ringside_server::{Address, Config, EngineChoice, Limits, Running, Stop, Summary};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use wire::{Answer, Ask, Heard};

/// What follows a request on its connection, to see that it goes on, and to end it.
const LAST: &str = "GET /the-end HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

/// One application on all servers.
pub(crate) struct Servers {
    ours: Vec<Ours>,
    theirs: Theirs,
}

/// An application on our server.
pub(crate) struct Ours {
    pub(crate) engine: EngineChoice,
    pub(crate) address: SocketAddr,
    running: Option<Running>,
}

/// An application on hyper.
struct Theirs {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Servers {
    /// Starts what `app` makes, once for each server.
    pub(crate) fn of(app: impl Fn() -> Router) -> Servers {
        Servers {
            ours: Ours::each(&app),
            theirs: Theirs::start(app()),
        }
    }

    /// Those of ours.
    pub(crate) fn ours(&self) -> &[Ours] {
        &self.ours
    }

    /// The same, to be ended.
    pub(crate) fn into_ours(self) -> Vec<Ours> {
        self.ours
    }

    /// Where they listen.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        let ours = self.ours.iter().map(|one| one.address);
        ours.chain([self.theirs.address])
    }

    /// What all say to a request over HTTP/1.1, behind which the connection goes on, and over
    /// HTTP/2; both with this status.
    pub(crate) fn both(&self, ask: &Ask, status: u16) -> (Heard, Answer) {
        (self.http1(ask, status), self.http2(ask, status))
    }

    /// [`Servers::both`] over HTTP/1.1 alone.
    pub(crate) fn http1(&self, ask: &Ask, status: u16) -> Heard {
        let mut pieces = ask.pieces();
        match pieces.last_mut() {
            Some(last) => last.extend_from_slice(LAST.as_bytes()),
            None => unreachable!("a request has a head"),
        }
        let heard = self.raw_in(&pieces);
        let statuses = heard.statuses();
        assert_eq!(statuses.first(), Some(&status), "{ask:?}\n{heard}");
        assert_eq!(statuses.len(), 2, "it doesn't go on: {ask:?}\n{heard}");
        heard
    }

    /// [`Servers::both`] where it's up to the server how a body is cut into chunks.
    pub(crate) fn both_merged(&self, ask: &Ask, status: u16) {
        let mut pieces = ask.pieces();
        pieces.push(LAST.into());
        let theirs = wire::http1(self.theirs.address, &pieces).merged();
        for ours in &self.ours {
            let said = wire::http1(ours.address, &pieces).merged();
            let what = format!("{ask:?} over HTTP/1.1, {}", ours.engine);
            same(&what, &said.to_string(), &theirs.to_string());
        }
        assert_eq!(theirs.statuses(), [status, 404], "{ask:?}\n{theirs}");
        self.http2(ask, status);
    }

    /// [`Servers::both`] over HTTP/2 alone.
    pub(crate) fn http2(&self, ask: &Ask, status: u16) -> Answer {
        let theirs = wire::http2(self.theirs.address, ask);
        for ours in &self.ours {
            let said = wire::http2(ours.address, ask);
            let what = format!("{ask:?} over HTTP/2, {}", ours.engine);
            same(&what, &said.to_string(), &theirs.to_string());
        }
        assert_eq!(theirs.status, status, "{ask:?}\n{theirs}");
        theirs
    }

    /// What all say to these bytes, up to the end of the connection; the answers have these
    /// statuses.
    pub(crate) fn raw(&self, bytes: impl AsRef<[u8]>, statuses: &[u16]) -> Heard {
        let heard = self.raw_in(&[bytes.as_ref().to_vec()]);
        assert_eq!(heard.statuses(), statuses, "{heard}");
        heard
    }

    /// The same, with each piece in a write of its own.
    pub(crate) fn raw_in(&self, pieces: &[Vec<u8>]) -> Heard {
        let theirs = wire::http1(self.theirs.address, pieces);
        for ours in &self.ours {
            let said = wire::http1(ours.address, pieces);
            let sent = shown(&pieces.concat());
            let what = format!("{}, asked\n{sent}", ours.engine);
            same(&what, &said.to_string(), &theirs.to_string());
        }
        theirs
    }

    /// What ours say to these bytes, which is the same with either engine, and what hyper says.
    pub(crate) fn apart(&self, bytes: impl AsRef<[u8]>) -> (Heard, Heard) {
        self.apart_in(&[bytes.as_ref().to_vec()])
    }

    /// The same, with each piece in a write of its own.
    pub(crate) fn apart_in(&self, pieces: &[Vec<u8>]) -> (Heard, Heard) {
        let theirs = wire::http1(self.theirs.address, pieces);
        let mut ours = self.ours.iter().map(|one| wire::http1(one.address, pieces));
        let first = ours.next().expect("epoll is always there");
        for other in ours {
            same("both engines", &other.to_string(), &first.to_string());
        }
        (first, theirs)
    }

    /// [`Servers::apart`] over HTTP/2.
    pub(crate) fn apart_http2(&self, ask: &Ask) -> (Answer, Answer) {
        let theirs = wire::http2(self.theirs.address, ask);
        let mut ours = self.ours.iter().map(|one| wire::http2(one.address, ask));
        let first = ours.next().expect("epoll is always there");
        for other in ours {
            same("both engines", &other.to_string(), &first.to_string());
        }
        (first, theirs)
    }
}

impl Ours {
    /// Starts what `app` makes with each engine that can be had here.
    pub(crate) fn each(app: impl Fn() -> Router) -> Vec<Ours> {
        Ours::each_with(app, |_| ())
    }

    /// The same, with other settings.
    pub(crate) fn each_with(app: impl Fn() -> Router, change: impl Fn(&mut Config)) -> Vec<Ours> {
        let engines = [EngineChoice::Uring, EngineChoice::Epoll].into_iter();
        engines
            .filter_map(|engine| Ours::start(engine, app(), &change))
            .collect()
    }

    fn start(engine: EngineChoice, app: Router, change: impl Fn(&mut Config)) -> Option<Ours> {
        let address = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
        let mut config = Config {
            engine,
            limits: Limits {
                head_bytes: 64 * 1024,
                body_bytes: 64 << 20,
                connections: Some(64),
                ..Limits::default()
            },
            ..Config::new(address)
        };
        change(&mut config);
        let running =
            match ringside_server::tower::start(config, move |_worker| app.clone(), &Stop::new()) {
                Ok(running) => running,
                Err(error) => {
                    skip::skip(format!("{engine} cannot be used here: {error}"));
                    return None;
                }
            };
        let Address::Tcp(address) = *running.address() else {
            panic!("not a TCP server: {}", running.address());
        };
        let running = Some(running);
        Some(Ours {
            engine,
            address,
            running,
        })
    }

    /// Has it stop, without waiting for that.
    pub(crate) fn request_stop(&self) {
        self.running.as_ref().expect("it runs").stop();
    }

    /// Ends it, and says what it did.
    pub(crate) fn end(mut self) -> Summary {
        self.stop().expect("it's ended once")
    }

    /// Tells it to end, and doesn't wait.
    pub(crate) fn ask_to_stop(&self) {
        if let Some(running) = &self.running {
            running.stop();
        }
    }

    fn stop(&mut self) -> Option<Summary> {
        let running = self.running.take()?;
        running.stop();
        Some(running.join().expect("its driver works"))
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        if !thread::panicking() {
            self.stop();
        }
    }
}

impl Theirs {
    fn start(app: Router) -> Theirs {
        Theirs::start_on(app, |listener| listener)
    }

    /// The same, with what `wrap` makes of its listener.
    fn start_on<L>(app: Router, wrap: impl FnOnce(TcpListener) -> L + Send + 'static) -> Theirs
    where
        L: Listener,
        L::Addr: Debug,
    {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.set_nonblocking(true).expect("a socket option");
        let address = listener.local_addr().expect("it has an address");
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let listener = wrap(TcpListener::from_std(listener).expect("a listener"));
                tokio::select! {
                    served = axum::serve(listener, app) => served.expect("it serves"),
                    _ = stopped => {}
                }
            });
        });
        Theirs {
            address,
            stop: Some(stop),
            thread: Some(thread),
        }
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(thread::panicking() || ended.is_some_and(|ended| ended.is_ok()));
    }
}

/// Bytes as lines of text, in which many equal bytes in a row are counted.
pub(crate) fn shown(bytes: &[u8]) -> String {
    const COUNTED_MIN: usize = 32;
    let mut text = String::new();
    for run in bytes.chunk_by(|a, b| a == b) {
        match run {
            [byte, ..] if run.len() >= COUNTED_MIN => {
                text += &format!("<{} × {}>", run.len(), byte.escape_ascii());
            }
            run => text += &run.escape_ascii().to_string(),
        }
    }
    text.replace("\\n", "\\n\n")
}

/// Holds our answer to theirs.
fn same(what: &str, ours: &str, theirs: &str) {
    let cut = |text: &str| text.chars().take(4000).collect::<String>();
    assert!(
        ours == theirs,
        "{}\n--- ours says\n{}\n--- hyper says\n{}\n---",
        cut(what),
        cut(ours),
        cut(theirs)
    );
}
