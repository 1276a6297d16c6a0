//! A run in the browser while it goes on: a page that this program serves itself, on a thread of
//! its own.
//!
//! The page is one file with a script and fetches nothing from elsewhere. The script asks for what
//! it hasn't seen; it's answered at once where there is something, and otherwise with the next
//! interval. So a browser that hangs is owed nothing, one that comes late or anew gets the whole
//! history, and nobody holds up the load: what's here reads a mailbox, as all readers do.
//!
//! Whoever has the URL may look on and end the run, so a token is in it, made anew for each run.
//! Without it, everything is answered with 403 and not a word. Another site that has the browser of
//! somebody who looks on send a request is refused by `Sec-Fetch-Site` and `Origin`.

mod board;
mod drawing;
mod key;
mod serving;
mod updates;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use measure::time::{Time, sleep_until};
use server::{Address, Config, EngineChoice, Limits, Running, Stop, Timeouts, start};

use crate::Reader;
use board::{Board, Stage};
use key::Key;
use serving::{Answering, Site};

/// How long browsers that look on are waited for, until they know that the run is over.
const LINGER_MAX: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(20);
/// More wait to be accepted. Each tab takes one, or a few for a moment.
const CONNECTIONS_MAX: usize = 64;
/// For all answers that browsers haven't taken yet.
const MEMORY_BYTES: u64 = 64 << 20;
/// No request has a body that is read.
const BODY_BYTES: u64 = 1024;
/// A browser that doesn't take what it asked for holds up the end for so long.
const DRAIN: Duration = Duration::from_millis(500);

/// What is known of the run before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Title {
    /// What is loaded, and how.
    pub text: String,
    /// The names of the steps, where there are several.
    pub steps: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// In a sentence.
    pub says: String,
    /// What to know about it and its figures.
    pub notes: Vec<String>,
}

/// A page in the browser. See the module.
pub struct Page {
    running: Running,
    board: Arc<Board>,
    url: String,
}

impl Page {
    /// Serves what `reader` gets at `address`, under `title`; calls `stop` where somebody who looks
    /// on wants the run to end.
    ///
    /// # Errors
    /// Where it can't listen there, or no thread or no token can be had: why, and what to do.
    pub fn start(
        address: SocketAddr,
        title: &Title,
        reader: Reader,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<Page, String> {
        let key = Key::random().map_err(|why| format!("no token can be made: {why}"))?;
        let token = key.text().to_owned();
        let site = Arc::new(Site::new(key, title, Box::new(stop)));
        let board = Arc::new(Board::new());
        let shown = Arc::clone(&board);
        let service = move |_| Answering::new(Arc::clone(&site), Arc::clone(&shown));
        let running = start(config(address), service, &Stop::new());
        let running = running.map_err(|why| why.to_string())?;
        let summed = Arc::clone(&board);
        let sum = move || {
            for interval in reader {
                let now = Time::now();
                summed.change(|state| state.add(&interval, now));
            }
            summed.change(|state| state.stage = Stage::Measured);
        };
        let thread = thread::Builder::new().name("page".to_owned()).spawn(sum);
        thread.map_err(|why| format!("can't start a thread for the page: {why}"))?;
        let url = format!("http://{}/?token={token}", running.address());
        Ok(Page {
            running,
            board,
            url,
        })
    }

    /// Where it's looked at, with the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Says what is going on, and how far that is. Waits for nobody.
    pub fn progress(&self, what: &'static str, elapsed_s: f64, total_s: Option<f64>) {
        *self.board.progress() = board::Progress {
            what,
            elapsed_s,
            total_s,
        };
    }

    /// The run is over, and its report is written: tells those who look on, waits until they know
    /// or `is_enough`, three seconds at most, and serves nothing more.
    pub fn finish(self, end: End, is_enough: impl Fn() -> bool) {
        let until = Time::now() + LINGER_MAX;
        let mut end = Some(end);
        loop {
            let now = Time::now();
            // What is still in the mailbox comes first.
            if end.is_some() && self.board.state().stage == Stage::Measured {
                self.board.change(|state| {
                    state.end = end.take();
                    state.stage = Stage::Over;
                });
            }
            let all_know = end.is_none() && self.board.state().all_know_the_end(now);
            if all_know || is_enough() || now >= until {
                break;
            }
            sleep_until(now + POLL);
        }
        self.running.stop();
        // What it says of its connections is no part of the run.
        drop(self.running.join());
    }
}

fn config(address: SocketAddr) -> Config {
    Config {
        engine: EngineChoice::Epoll,
        limits: Limits {
            connections: Some(CONNECTIONS_MAX),
            memory_bytes: Some(MEMORY_BYTES),
            body_bytes: BODY_BYTES,
            ..Limits::default()
        },
        timeouts: Timeouts {
            drain: DRAIN,
            ..Timeouts::default()
        },
        ..Config::new(Address::Tcp(address))
    }
}
