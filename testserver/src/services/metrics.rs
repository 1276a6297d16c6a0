//! `/metrics`: what this server has counted since its start, all workers together, and how long its
//! answers took since this was first asked for, as Prometheus reads it ([`exposition`]).
//!
//! Each worker keeps numbers of its own, and puts them on a board that all can read before it sends
//! the answers of a turn: whoever has an answer finds it counted. Nobody waits for anybody.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use exposition::{Family, Times};
use server::{Context, Counts, Reply, Response, ResponseTimes, TaskCounts};

use super::chat::Room;
use super::task::Pool;
use crate::counted::Counted;
use crate::route::{Answerer, Asked};

/// A metric: its name, what it counts, and where it stands.
type Metric = (&'static str, &'static str, fn(&Posted) -> &AtomicU64);

const METRICS: [Metric; 3] = [
    (
        "ringside_connections_total",
        "Connections accepted.",
        |posted| &posted.connections,
    ),
    (
        "ringside_requests_total",
        "Requests whose head was read, without this one.",
        |posted| &posted.requests,
    ),
    (
        "ringside_websocket_messages_total",
        "WebSocket messages read.",
        |posted| &posted.messages,
    ),
];

/// What became of tasks, which all workers hand to one pool.
type TaskMetric = (&'static str, fn(&TaskCounts) -> u64);

const TASKS: [TaskMetric; 4] = [
    ("done", |counts| counts.done),
    ("panicked", |counts| counts.panicked),
    ("refused", |counts| counts.refused),
    ("expired", |counts| counts.expired),
];

/// What every worker of a server has counted, their task workers, and their chat.
#[derive(Debug)]
pub(super) struct Board {
    workers: Mutex<Vec<Arc<Posted>>>,
    times: ResponseTimes,
    tasks: Arc<Pool>,
    chat: Arc<Room>,
    counted: Option<Arc<Counted>>,
}

/// What one worker has counted, as the others see it. On cache lines of its own, so that no worker
/// slows another down.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Posted {
    connections: AtomicU64,
    requests: AtomicU64,
    messages: AtomicU64,
}

impl Board {
    /// One without workers yet.
    pub(super) fn new(
        (tasks, chat): (&Arc<Pool>, &Arc<Room>),
        times: &ResponseTimes,
        counted: Option<&Arc<Counted>>,
    ) -> Board {
        Board {
            workers: Mutex::default(),
            times: times.clone(),
            tasks: Arc::clone(tasks),
            chat: Arc::clone(chat),
            counted: counted.cloned(),
        }
    }

    /// A place for another worker.
    pub(super) fn place(&self) -> Arc<Posted> {
        let posted = Arc::<Posted>::default();
        let mut all = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::clone(&posted));
        posted
    }

    /// All metrics.
    fn families(&self) -> Vec<Family> {
        let all = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = METRICS.map(|(name, help, of)| {
            let sum = all.iter().map(|posted| of(posted).load(Relaxed)).sum();
            Family::counters(name, help, [(Vec::new(), sum)])
        });
        let mut families = Vec::from(counted);
        families.push(response_times(&self.times));
        families.extend(self.of_tasks());
        families.extend(self.of_chat());
        families.extend(self.counted.as_ref().map(|counted| counted.family()));
        families
    }

    fn of_tasks(&self) -> [Family; 3] {
        let counts = self.tasks.counts();
        let outcomes = TASKS.map(|(outcome, of)| (vec![("outcome", outcome.into())], of(&counts)));
        let gauge = |name, help, count| Family::gauges(name, help, [(Vec::new(), count)]);
        [
            Family::counters(
                "ringside_tasks_total",
                "Tasks of /task/N by what became of them.",
                outcomes,
            ),
            gauge("ringside_tasks_waiting", "Tasks that wait.", counts.waiting),
            gauge("ringside_tasks_running", "Tasks that run.", counts.running),
        ]
    }

    fn of_chat(&self) -> [Family; 2] {
        [
            Family::gauges(
                "ringside_chat_members",
                "Connections in /chat.",
                [(Vec::new(), self.chat.members())],
            ),
            Family::counters(
                "ringside_chat_told_total",
                "Messages of /chat, each counted for every member that it was told.",
                [(Vec::new(), self.chat.told())],
            ),
        ]
    }
}

/// How long answers took since this was called for the first time.
pub fn response_times(times: &ResponseTimes) -> Family {
    Family::histograms(
        "ringside_serve_response_time_seconds",
        "From the turn that read a request to its answer, since metrics were first asked for.",
        vec![(Vec::new(), Times::of(&times.read()))],
    )
}

impl Posted {
    /// Shows what the worker has counted until now.
    #[inline]
    pub(crate) fn post(&self, counts: &Counts) {
        self.connections.store(counts.connections, Relaxed);
        self.requests.store(counts.requests, Relaxed);
        self.messages.store(counts.messages, Relaxed);
    }
}

pub(super) struct Metrics(Arc<Board>);

/// Makes the service of each worker. All show the same board.
pub(super) fn showing(board: &Arc<Board>) -> impl Fn() -> Metrics + Send + Sync + 'static {
    let board = Arc::clone(board);
    move || Metrics(Arc::clone(&board))
}

impl Answerer for Metrics {
    fn call(&mut self, asked: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        let accepts = asked.request.field("accept").unwrap_or_default();
        let (media, bytes) = exposition::encode(&self.0.families(), accepts);
        Reply::Now(Response::of(media, bytes))
    }
}
