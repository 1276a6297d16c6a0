//! A place from which Prometheus scrapes a run while it goes on.
//!
//! Everything is a sum over the run so far, so that a scrape that is missed loses nothing: counters
//! of what became of the requests, and histograms of their times. Who asks for the protobuf format
//! gets native histograms besides the classic ones; their buckets are 0.54 % wide (schema 7).

mod families;
mod hold_families;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use measure::hold;
use measure::interval::{Interval, Phase};
use measure::time::{Time, sleep_until};
use server::{
    Address, Config, Context, EngineChoice, Reply, Request, Response, Running, Service, Stop,
    Timeouts, start,
};

use crate::Reader;
use families::Shown;

/// How long a last scrape is waited for at most.
const LINGER_MAX: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(20);
/// One that doesn't take what it asked for holds up the end for so long.
const DRAIN: Duration = Duration::from_millis(500);
/// So many of the last times between scrapes are known.
const GAPS: usize = 4;

/// What every sample says of the run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Which run it is.
    pub run: String,
    /// The machine that makes the load.
    pub host: String,
    /// The names of the steps, where there are several.
    pub steps: Vec<String>,
}

/// A place to scrape from, on a thread of its own.
pub struct Metrics {
    running: Running,
    scrapes: Arc<Scrapes>,
}

impl Metrics {
    /// Listens at `address` and shows the sum of what `reader` gets of a run.
    ///
    /// # Errors
    /// Where it can't listen there, or no thread can be had: why, and what to do.
    pub fn start(address: SocketAddr, labels: Labels, reader: Reader) -> Result<Metrics, String> {
        Metrics::of(address, labels, None, reader)
    }

    /// The same of a hold of so many connections.
    ///
    /// # Errors
    /// Those of [`Metrics::start`].
    pub fn of_hold(
        address: SocketAddr,
        labels: Labels,
        asked: u32,
        reader: Reader<hold::Counted>,
    ) -> Result<Metrics, String> {
        Metrics::of(address, labels, Some(asked), reader)
    }

    fn of<C: Shown>(
        address: SocketAddr,
        labels: Labels,
        asked: Option<u32>,
        reader: Reader<C>,
    ) -> Result<Metrics, String> {
        let board = Arc::new(Board::<C>::new(labels, asked));
        let config = Config {
            engine: EngineChoice::Epoll,
            timeouts: Timeouts {
                drain: DRAIN,
                ..Timeouts::default()
            },
            ..Config::new(Address::Tcp(address))
        };
        let shown = Arc::clone(&board);
        let service = move |_| Scraped(Arc::clone(&shown));
        let running = start(config, service, &Stop::new()).map_err(|why| why.to_string())?;
        let summed = Arc::clone(&board);
        let sum = move || reader.for_each(|interval| summed.add(&interval));
        let thread = thread::Builder::new().name("metrics".to_owned()).spawn(sum);
        thread.map_err(|why| format!("can't start a thread for --metrics: {why}"))?;
        let scrapes = Arc::clone(&board.scrapes);
        Ok(Metrics { running, scrapes })
    }

    /// Where it listens.
    pub fn address(&self) -> &Address {
        self.running.address()
    }

    /// Whether [`Metrics::linger`] would wait for a scrape.
    pub fn awaits_one(&self) -> bool {
        !self.scrapes.patience().is_zero() && !self.scrapes.has_shown_the_end()
    }

    /// The run is over, and nothing more comes. If it was scraped before, waits until that has
    /// happened once more, for as long as it took at most between the last scrapes and half of
    /// that, a minute at most, or until `is_enough`.
    pub fn linger(self, is_enough: impl Fn() -> bool) {
        let until = Time::now() + self.scrapes.patience();
        while Time::now() < until && !self.scrapes.has_shown_the_end() && !is_enough() {
            sleep_until(Time::now() + POLL);
        }
        self.running.stop();
        // What it says of its connections is no part of the run.
        drop(self.running.join());
    }
}

/// What is shown.
struct Board<C> {
    labels: Labels,
    sums: Mutex<Sums<C>>,
    scrapes: Arc<Scrapes>,
}

#[derive(Default)]
struct Sums<C> {
    counted: C,
    /// Connections that are to be held.
    asked: Option<u32>,
    offered: Option<u64>,
    connected: u64,
    seconds: f64,
    /// The drain has come, and with it everything.
    is_whole: bool,
}

impl<C: Shown> Board<C> {
    fn new(labels: Labels, asked: Option<u32>) -> Board<C> {
        let sums = Sums {
            asked,
            ..Sums::default()
        };
        Board {
            labels,
            sums: Mutex::new(sums),
            scrapes: Arc::default(),
        }
    }

    fn sums(&self) -> MutexGuard<'_, Sums<C>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, interval: &Interval<C>) {
        let mut sums = self.sums();
        sums.counted.merge(&interval.counted);
        sums.offered = match (sums.offered, interval.offered) {
            (Some(before), Some(more)) => Some(before + more),
            (before, more) => more.or(before),
        };
        sums.connected = interval.connected;
        sums.is_whole |= interval.phase == Phase::Drain;
        if !sums.is_whole {
            sums.seconds = interval.until_ns as f64 / 1e9;
        }
    }
}

/// When somebody came for it.
#[derive(Default)]
struct Scrapes(Mutex<Times>);

#[derive(Default)]
struct Times {
    last: Option<Time>,
    /// How far apart the last ones came: several may come in turns.
    apart: [Duration; GAPS],
    scrapes: usize,
    has_shown_the_end: bool,
}

impl Scrapes {
    fn times(&self) -> MutexGuard<'_, Times> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Somebody scrapes at `now` what is there.
    fn scraped(&self, now: Time, is_whole: bool) {
        let mut times = self.times();
        if let Some(last) = times.last {
            let place = times.scrapes % GAPS;
            times.apart[place] = now - last;
            times.scrapes += 1;
        }
        times.last = Some(now);
        times.has_shown_the_end |= is_whole;
    }

    fn has_shown_the_end(&self) -> bool {
        self.times().has_shown_the_end
    }

    /// How long another scrape is waited for: nobody who never came is.
    fn patience(&self) -> Duration {
        let times = self.times();
        let apart = times.apart.iter().copied().max().unwrap_or_default();
        match times.last {
            None => Duration::ZERO,
            Some(_) if apart.is_zero() => LINGER_MAX,
            Some(_) => (apart * 3 / 2).min(LINGER_MAX),
        }
    }
}

struct Scraped<C>(Arc<Board<C>>);

impl<C: Shown> Service for Scraped<C> {
    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        if !matches!(request.method(), b"GET" | b"HEAD") {
            return Response::empty(405).with_field("Allow", "GET, HEAD").into();
        }
        if request.path() != b"/metrics" {
            return Response::sentence(404, "there is /metrics\n").into();
        }
        let accepts = request.field("accept").unwrap_or_default();
        let (families, is_whole) = {
            let sums = self.0.sums();
            (C::families(&self.0.labels, &sums), sums.is_whole)
        };
        self.0.scrapes.scraped(context.now(), is_whole);
        let (media, bytes) = exposition::encode(&families, accepts);
        Response::of(media, bytes).into()
    }
}
