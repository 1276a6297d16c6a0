//! `/metrics`: what this server has counted since its start, all workers together, in the text
//! format of Prometheus (<https://prometheus.io/docs/instrumenting/exposition_formats/>).
//!
//! Each worker keeps numbers of its own, and puts them on a board that all can read before it sends
//! the answers of a turn: whoever has an answer finds it counted. Nobody waits for anybody.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use server::{Body, Context, Counts, Reply, Response, TaskCounts};

use super::chat::Room;
use super::task::Pool;
use crate::route::{Answerer, Asked};

const CONTENT_TYPE: &str = "text/plain; version=0.0.4";

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
    tasks: Arc<Pool>,
    chat: Arc<Room>,
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
    pub(super) fn new(tasks: &Arc<Pool>, chat: &Arc<Room>) -> Board {
        Board {
            workers: Mutex::default(),
            tasks: Arc::clone(tasks),
            chat: Arc::clone(chat),
        }
    }

    /// A place for another worker.
    pub(super) fn place(&self) -> Arc<Posted> {
        let posted = Arc::<Posted>::default();
        let mut all = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(Arc::clone(&posted));
        posted
    }

    /// All metrics, a line each below its description.
    fn text(&self) -> String {
        let all = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        for (name, help, of) in METRICS {
            let sum: u64 = all.iter().map(|posted| of(posted).load(Relaxed)).sum();
            describe(&mut text, (name, "counter"), help);
            // A text takes whatever is written to it.
            let _ = writeln!(text, "{name} {sum}");
        }
        self.describe_tasks(&mut text);
        self.describe_chat(&mut text);
        text
    }
}

impl Board {
    fn describe_tasks(&self, text: &mut String) {
        let counts = self.tasks.counts();
        let name = "ringside_tasks_total";
        describe(
            text,
            (name, "counter"),
            "Tasks of /task/N by what became of them.",
        );
        for (outcome, of) in TASKS {
            let _ = writeln!(text, "{name}{{outcome=\"{outcome}\"}} {}", of(&counts));
        }
        for (name, help, count) in [
            ("ringside_tasks_waiting", "Tasks that wait.", counts.waiting),
            ("ringside_tasks_running", "Tasks that run.", counts.running),
        ] {
            describe(text, (name, "gauge"), help);
            let _ = writeln!(text, "{name} {count}");
        }
    }

    fn describe_chat(&self, text: &mut String) {
        for (name, kind, help, count) in [
            (
                "ringside_chat_members",
                "gauge",
                "Connections in /chat.",
                self.chat.members(),
            ),
            (
                "ringside_chat_told_total",
                "counter",
                "Messages of /chat, each counted for every member that it was told.",
                self.chat.told(),
            ),
        ] {
            describe(text, (name, kind), help);
            let _ = writeln!(text, "{name} {count}");
        }
    }
}

/// What stands above the values of a metric.
fn describe(text: &mut String, (name, kind): (&str, &str), help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
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
    fn call(&mut self, _: &Asked<'_>, _: &mut Context<'_>) -> Reply {
        let body = Body::Bytes(self.0.text().into_bytes());
        Reply::Now(Response::of(CONTENT_TYPE, body))
    }
}
