//! What a server has counted, read from outside while it runs.
//!
//! Each worker posts its figures where everybody may read them, a tenth of a second after something
//! has changed at the latest, and once a second otherwise, which shows that it isn't stuck. It
//! locks nothing for that and waits for nobody, and a server that has no place for its figures
//! posts none.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use crate::summary::{COUNTS, Counts};

/// What a running server has counted, for metrics and health checks: give a clone of it to
/// `Config::live`, keep another, and [read](LiveCounts::read) that from any
/// thread, whenever you like.
///
/// Figures are at most 100 ms behind, and exact once `Running::join` has
/// returned. Each is right by itself; two of them may be of different moments. If several servers
/// get the same one, they are counted together.
///
/// ```
/// use axum::{Router, extract::State, routing::get};
/// use ringside_server::{Address, Config, LiveCounts, Stop, tower};
///
/// /// In the text format of Prometheus.
/// async fn metrics(State(live): State<LiveCounts>) -> String {
///     let now = live.read();
///     format!(
///         "http_requests_total {}\nhttp_connections {}\nhttp_held_bytes {}\n",
///         now.counts.requests, now.connections, now.held_bytes
///     )
/// }
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let live = LiveCounts::new();
/// let app = Router::new().route("/metrics", get(metrics)).with_state(live.clone());
/// let config = Config {
///     live: Some(live.clone()),
///     ..Config::new(Address::Tcp("127.0.0.1:0".parse()?))
/// };
/// let running = tower::start(config, move |_worker| app.clone(), &Stop::new())?;
/// # running.stop();
/// let summary = running.join()?;
/// assert_eq!(live.read().counts, summary.counts);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct LiveCounts(Arc<Mutex<Vec<Arc<Posted>>>>);

/// What all workers of a server have posted, added up: see [`LiveCounts::read`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Live {
    /// What was counted since the start.
    pub counts: Counts,
    /// Connections that are open.
    pub connections: u64,
    /// Bytes that clients make the server hold, of the
    /// `Limits::memory_bytes` they may.
    pub held_bytes: u64,
    /// Connections that ended in their TLS handshake, as it failed, took too long, or the server
    /// stopped.
    pub handshakes_failed: u64,
}

impl Live {
    /// What one worker posts.
    #[doc(hidden)]
    pub fn new(counts: Counts, others: [u64; OTHERS]) -> Live {
        let [connections, held_bytes, handshakes_failed] = others;
        Live {
            counts,
            connections,
            held_bytes,
            handshakes_failed,
        }
    }
}

/// Figures of a worker beside its counts: see [`Live`].
const OTHERS: usize = 3;
const FIGURES: usize = COUNTS + OTHERS;

/// What one worker has posted. On cache lines of its own, so that no worker slows another down.
#[derive(Debug)]
#[repr(align(128))]
pub struct Posted {
    figures: [AtomicU64; FIGURES],
    /// How often it has posted; [`ENDED`] once it has for the last time.
    beats: AtomicU64,
}

/// No worker posts so often.
const ENDED: u64 = u64::MAX;

impl LiveCounts {
    /// One that no server has been given yet.
    pub fn new() -> LiveCounts {
        LiveCounts::default()
    }

    /// What the server has counted. No worker is asked, or waited for.
    pub fn read(&self) -> Live {
        let workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Live::default();
        for posted in &*workers {
            let figures = posted.figures.each_ref().map(|figure| figure.load(Relaxed));
            let [counts @ .., connections, held_bytes, handshakes_failed] = figures;
            all.counts += Counts::of_figures(counts);
            all.connections += connections;
            all.held_bytes += held_bytes;
            all.handshakes_failed += handshakes_failed;
        }
        all
    }

    /// How often each worker has posted: a worker whose number stays the same for seconds is stuck.
    /// None of one that has ended.
    pub fn beats(&self) -> Vec<Option<u64>> {
        let workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let beats = workers.iter().map(|posted| posted.beats.load(Relaxed));
        beats
            .map(|beats| (beats != ENDED).then_some(beats))
            .collect()
    }

    /// A place for the figures of another worker.
    #[doc(hidden)]
    pub fn place(&self) -> Arc<Posted> {
        let posted = Arc::new(Posted {
            figures: std::array::from_fn(|_| AtomicU64::new(0)),
            beats: AtomicU64::new(0),
        });
        let mut workers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        workers.push(Arc::clone(&posted));
        posted
    }
}

impl Posted {
    /// Posts figures over those that were there.
    pub fn post(&self, live: &Live) {
        let counts = live.counts.figures();
        let others = [live.connections, live.held_bytes, live.handshakes_failed];
        let figures = counts.into_iter().chain(others);
        for (place, figure) in self.figures.iter().zip(figures) {
            place.store(figure, Relaxed);
        }
        self.beats.fetch_add(1, Relaxed);
    }

    /// Says that this was the last time.
    pub fn end(&self) {
        self.beats.store(ENDED, Relaxed);
    }
}

/// Whether they are clones of the same.
impl PartialEq for LiveCounts {
    fn eq(&self, other: &LiveCounts) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for LiveCounts {}

impl fmt::Debug for LiveCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LiveCounts").field(&self.read()).finish()
    }
}
