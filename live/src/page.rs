//! What goes on, in the browser: a page that this program serves itself, on a thread of its own.
//!
//! The page is one file with a script and fetches nothing from elsewhere. The script asks for what
//! it hasn't seen; it's answered at once where there is something, and otherwise with the next
//! interval. So a browser that hangs is owed nothing, one that comes late or anew gets the whole
//! history, and nobody holds up the load: what's here reads a mailbox, as all readers do, or is
//! told what to show by whoever measures, when that disturbs nothing.
//!
//! Whoever has the URL may look on and end it, so a token is in it, made anew for each page.
//! Without it, everything is answered with 403 and not a word. Another site that has the browser of
//! somebody who looks on send a request is refused by `Sec-Fetch-Site` and `Origin`.
//!
//! What is shown is a [`view::View`]: a load ([`load`]), of which [`run`] and [`hold`] say what's
//! drawn, or what somebody tells ([`told`]). Everything else is the same for all of them.

mod board;
mod drawing;
mod hold;
mod key;
mod load;
mod run;
mod serving;
mod told;
mod updates;
mod view;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use chart::page::Section;
use measure::hold as held;
use measure::time::{Time, sleep_until};
use server::{
    Address, Config, EngineChoice, Limits, Listening, Running, StartError, Stop, Timeouts, start,
};

use crate::Reader;
use board::{Board, Stage};
use key::Key;
use load::{Load, Loaded};
use serving::{Answering, Site};
use told::Told;
use view::View;

pub use drawing::part;
pub use told::Teller;

/// How long browsers that look on are waited for, until they know that the run is over.
const LINGER_MAX: Duration = Duration::from_secs(3);
const POLL: Duration = Duration::from_millis(20);
/// More wait to be accepted. Each tab takes one, or a few for a moment; the others are there so
/// that somebody without the token who opens some keeps nobody out.
const CONNECTIONS_MAX: usize = 1024;
/// A tab asks each second. Who has said nothing for longer makes room.
const IDLE: Duration = Duration::from_secs(3);
const HEAD: Duration = Duration::from_secs(2);
/// For all answers that browsers haven't taken yet.
const MEMORY_BYTES: u64 = 64 << 20;
/// No request has a body that is read.
const BODY_BYTES: u64 = 1024;
/// A browser that doesn't take what it asked for holds up the end for so long.
const DRAIN: Duration = Duration::from_millis(500);

/// What is known of a load before it begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Title {
    /// What is loaded, and how.
    pub text: String,
    /// The names of the steps, where there are several.
    pub steps: Vec<String>,
    /// Connections that are asked for.
    pub asked: u32,
}

/// Where a page is served.
#[derive(Clone, Debug)]
pub enum Place {
    /// At this address. Port 0 is one that is free.
    At(SocketAddr),
    /// On a socket that listens already.
    On(Listening),
}

/// How it ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct End {
    /// In a sentence.
    pub says: String,
    /// What was found, in sentences.
    pub found: Vec<String>,
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
    /// Serves what `reader` gets of a run; calls `stop` where somebody who looks on wants the end.
    ///
    /// # Errors
    /// Where it can't listen there, or no thread or no token can be had: why, and what to do.
    pub fn of_run(
        place: Place,
        title: Title,
        reader: Reader,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<Page, String> {
        Page::of_load(place, title, reader, stop)
    }

    /// The same of a hold.
    ///
    /// # Errors
    /// As of a run.
    pub fn of_hold(
        place: Place,
        title: Title,
        reader: Reader<held::Counted>,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<Page, String> {
        Page::of_load(place, title, reader, stop)
    }

    fn of_load<C: Load>(
        place: Place,
        title: Title,
        reader: Reader<C>,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<Page, String> {
        let text = title.text.clone();
        let (page, board) = Page::serve(place, &text, Loaded::<C>::new(title), stop)?;
        let sum = move || {
            for interval in reader {
                let now = Time::now();
                board.change(|state| state.view.add(interval, now));
            }
            board.change(|state| state.stage = Stage::Measured);
        };
        let thread = thread::Builder::new().name("page".to_owned()).spawn(sum);
        thread.map_err(|why| format!("can't start a thread for the page: {why}"))?;
        Ok(page)
    }

    /// Serves what the teller is told, of a `noun` such as a comparison, under a title; `sections`
    /// have the [`part`]s that are told.
    ///
    /// # Errors
    /// As of a run.
    pub fn told(
        place: Place,
        (noun, title): (&'static str, &str),
        sections: Vec<Section>,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<(Page, Teller), String> {
        let (page, board) = Page::serve(place, title, Told::new(noun, sections), stop)?;
        Ok((page, Teller(board)))
    }

    /// Serves a view, and who may change it.
    fn serve<V: View>(
        place: Place,
        title: &str,
        view: V,
        stop: impl Fn() + Send + Sync + 'static,
    ) -> Result<(Page, Arc<Board<V>>), String> {
        let key = Key::random().map_err(|why| format!("no token can be made: {why}"))?;
        let token = key.text().to_owned();
        let site = Arc::new(Site::new(key, drawing::page(title, &view), Box::new(stop)));
        let own = Arc::new(Board::new(view));
        let board: Arc<Board> = own.clone();
        let shown = Arc::clone(&board);
        let service = move |_| Answering::new(Arc::clone(&site), Arc::clone(&shown));
        let running = start(config(place), service, &Stop::new());
        let running = running.map_err(|why| why.to_string())?;
        let url = format!("http://{}/?token={token}", reachable(running.address()));
        let page = Page {
            running,
            board,
            url,
        };
        Ok((page, own))
    }

    /// Where it's looked at, with the token.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Says what is going on in a load, and how far that is. Waits for nobody.
    pub fn progress(&self, what: &'static str, elapsed_s: f64, total_s: Option<f64>) {
        *self.board.progress() = view::Progress {
            what,
            elapsed_s,
            total_s,
        };
    }

    /// It's over, and its report is written: tells those who look on, waits until they know
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

/// Begins to listen for a page that another process is to serve.
///
/// # Errors
/// Where it can't: why, and what to do.
pub fn listen(address: SocketAddr) -> Result<Listening, String> {
    let address = Address::Tcp(address);
    let listening = Listening::open(&address, None, CONNECTIONS_MAX as u32);
    listening.map_err(|why| StartError::listening(&address, &why).to_string())
}

/// An address as a browser takes it: one that stands for all is shown by the name of the host.
fn reachable(address: &Address) -> String {
    match address {
        Address::Tcp(address) if address.ip().is_unspecified() => {
            let system = rustix::system::uname();
            format!("{}:{}", system.nodename().to_string_lossy(), address.port())
        }
        address => address.to_string(),
    }
}

fn config(place: Place) -> Config {
    let (address, listening) = match place {
        Place::At(address) => (Address::Tcp(address), Vec::new()),
        Place::On(listening) => (listening.address().clone(), vec![listening]),
    };
    Config {
        listening,
        engine: EngineChoice::Epoll,
        limits: Limits {
            connections: Some(CONNECTIONS_MAX),
            memory_bytes: Some(MEMORY_BYTES),
            body_bytes: BODY_BYTES,
            ..Limits::default()
        },
        timeouts: Timeouts {
            head: HEAD,
            idle: IDLE,
            drain: DRAIN,
            ..Timeouts::default()
        },
        ..Config::new(address)
    }
}
