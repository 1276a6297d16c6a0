//! What a gateway counts besides what its server does, and all of it as text for Prometheus.
//!
//! Each worker counts into figures of its own, which nobody else writes. They're read from outside
//! one by one, so that nothing is locked. When a worker takes up another configuration, what it
//! counted so far is added to what is past, by names: counts never go back, but those of servers
//! and tables of users that no configuration has any more are forgotten.

mod servers;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use measure::foreign::screened;
use server::LiveCounts;
use users::counts::{CAUSES, Snapshot};

use crate::config::Config;
pub(crate) use servers::Place;
use servers::{OfServer, Servers};

/// Upper ends of the buckets of response times, in microseconds; the last bucket has no end.
const BUCKETS_US: [u64; 12] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    5_000_000,
];
const BUCKETS: usize = BUCKETS_US.len() + 1;

/// Answers by the first digit of their status, and requests whose client left before.
const CLASSES: [&str; 5] = ["gone", "2xx", "3xx", "4xx", "5xx"];

/// Why requests of a route are refused.
const REFUSALS: [&str; 4] = ["rate", "overload", "token", "user"];

/// Figures of a route: classes, refusals, buckets, and the sum of response times in microseconds.
const OF_ROUTE: usize = CLASSES.len() + REFUSALS.len() + BUCKETS + 1;

/// Figures of an upstream.
const UPSTREAM: [&str; 3] = ["retries", "ejections", "mirrored"];

/// Why a request was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    Rate,
    Overload,
    Token,
    User,
}

/// What happened at an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    Retried,
    Ejected,
    Mirrored,
}

/// The figures of one worker for one configuration.
#[derive(Debug)]
pub(crate) struct Figures {
    routes: Vec<[AtomicU64; OF_ROUTE]>,
    upstreams: Vec<[AtomicU64; UPSTREAM.len()]>,
    /// By upstream: of its servers.
    servers: Vec<Vec<OfServer>>,
    /// Requests that no route took.
    unrouted: AtomicU64,
}

/// Adds to a figure that only this thread writes.
fn add(figure: &AtomicU64, count: u64) {
    figure.store(figure.load(Relaxed).wrapping_add(count), Relaxed);
}

impl Figures {
    fn new(config: &Config) -> Figures {
        fn zeros<const N: usize>(count: usize) -> Vec<[AtomicU64; N]> {
            let all = (0..count).map(|_| std::array::from_fn(|_| AtomicU64::new(0)));
            all.collect()
        }
        Figures {
            routes: zeros(config.routes.len()),
            upstreams: zeros(config.upstreams.len()),
            servers: (config.upstreams.iter())
                .map(|one| one.servers.iter().map(|_| OfServer::default()).collect())
                .collect(),
            unrouted: AtomicU64::new(0),
        }
    }

    /// A request of a route was answered, after so long; status 0 if its client left.
    pub(crate) fn answered(&self, route: usize, status: u16, micros: u64) {
        let figures = &self.routes[route];
        let class = match status / 100 {
            class @ 2..=5 => class as usize - 1,
            _ => 0,
        };
        add(&figures[class], 1);
        let bucket = BUCKETS_US.iter().position(|&end| micros <= end);
        let bucket = bucket.unwrap_or(BUCKETS - 1);
        add(&figures[CLASSES.len() + REFUSALS.len() + bucket], 1);
        add(&figures[OF_ROUTE - 1], micros);
    }

    /// A request of a route was refused.
    pub(crate) fn refused(&self, route: usize, why: Refusal) {
        add(&self.routes[route][CLASSES.len() + why as usize], 1);
    }

    /// No route took a request.
    pub(crate) fn unrouted(&self) {
        add(&self.unrouted, 1);
    }

    /// Something happened at an upstream.
    pub(crate) fn happened(&self, upstream: usize, what: Happened) {
        add(&self.upstreams[upstream][what as usize], 1);
    }
}

/// The figures of all workers, and what is past.
#[derive(Debug, Default)]
pub(crate) struct Metrics(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// By worker: what it counts now, and for which configuration.
    now: BTreeMap<usize, (Arc<Config>, Arc<Figures>)>,
    past: Sums,
}

/// Figures by names.
#[derive(Clone, Debug, Default)]
struct Sums {
    routes: BTreeMap<String, [u64; OF_ROUTE]>,
    upstreams: BTreeMap<String, [u64; UPSTREAM.len()]>,
    servers: Servers,
    unrouted: u64,
}

impl Sums {
    fn add(&mut self, config: &Config, figures: &Figures) {
        for (route, figures) in config.routes.iter().zip(&figures.routes) {
            let sums = self
                .routes
                .entry(route.name.clone())
                .or_insert([0; OF_ROUTE]);
            let pairs = sums.iter_mut().zip(figures);
            pairs.for_each(|(sum, figure)| *sum += figure.load(Relaxed));
        }
        for (upstream, figures) in config.upstreams.iter().zip(&figures.upstreams) {
            let sums = self.upstreams.entry(upstream.name.clone()).or_default();
            let pairs = sums.iter_mut().zip(figures);
            pairs.for_each(|(sum, figure)| *sum += figure.load(Relaxed));
        }
        self.servers.add(config, figures);
        self.unrouted += figures.unrouted.load(Relaxed);
    }
}

impl Metrics {
    /// Figures for a worker that takes up this configuration.
    pub(crate) fn figures(&self, worker: usize, config: &Arc<Config>) -> Arc<Figures> {
        let figures = Arc::new(Figures::new(config));
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let next = (Arc::clone(config), Arc::clone(&figures));
        if let Some((config, figures)) = inner.now.insert(worker, next) {
            figures.withdraw();
            let Inner { now, past } = &mut *inner;
            past.add(&config, &figures);
            past.servers.keep(now.values().map(|(config, _)| &**config));
        }
        figures
    }

    fn sums(&self) -> Sums {
        let inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = inner.past.clone();
        for (config, figures) in inner.now.values() {
            sums.add(config, figures);
        }
        sums
    }

    /// All of it in the text format of Prometheus (0.0.4).
    pub(crate) fn text(
        &self,
        live: &LiveCounts,
        log_dropped: Option<u64>,
        users: &[(&str, Snapshot)],
    ) -> String {
        let mut text = String::with_capacity(8192);
        let sums = self.sums();
        of_routes(&mut text, &sums);
        of_upstreams(&mut text, &sums);
        sums.servers.write(&mut text);
        of_users(&mut text, users);
        let live = live.read();
        let counts = &live.counts;
        let plain = [
            ("unrouted_total", "counter", sums.unrouted),
            ("http_requests_total", "counter", counts.requests),
            ("connections_total", "counter", counts.connections),
            ("connections_cut_total", "counter", counts.cut),
            ("connections", "gauge", live.connections),
            ("held_bytes", "gauge", live.held_bytes),
            (
                "tls_handshakes_failed_total",
                "counter",
                live.handshakes_failed,
            ),
            ("relieved_total", "counter", counts.relieved),
            ("log_dropped_total", "counter", log_dropped.unwrap_or(0)),
            (
                "upstream_connections_total",
                "counter",
                counts.upstreams.connections,
            ),
            (
                "upstream_exchanges_total",
                "counter",
                counts.upstreams.exchanges,
            ),
            (
                "upstream_completed_total",
                "counter",
                counts.upstreams.completed,
            ),
        ];
        for (name, of_kind, figure) in plain {
            kind(&mut text, name, of_kind);
            line(&mut text, name, "", figure);
        }
        let failures = counts.upstreams.failures;
        kind(&mut text, "upstream_failures_total", "counter");
        for (why, figure) in [
            ("connect", failures.connect),
            ("connect_timeout", failures.connect_timeout),
            ("full", failures.full),
            ("head_timeout", failures.head_timeout),
            ("deadline", failures.deadline),
            ("closed", failures.closed),
            ("declined", failures.declined),
            ("malformed", failures.malformed),
            ("memory", failures.memory),
            ("client_gone", failures.client_gone),
        ] {
            let labels = format!("why=\"{why}\"");
            line(&mut text, "upstream_failures_total", &labels, figure);
        }
        screened(&text).into_owned()
    }
}

/// What happened at upstreams.
fn of_upstreams(text: &mut String, sums: &Sums) {
    kind(text, "upstream_events_total", "counter");
    for (name, figures) in &sums.upstreams {
        for (event, figure) in UPSTREAM.iter().zip(figures) {
            let labels = format!("upstream=\"{}\",event=\"{event}\"", label(name));
            line(text, "upstream_events_total", &labels, figure);
        }
    }
}

/// Where users were found, and how the stores are.
fn of_users(text: &mut String, users: &[(&str, Snapshot)]) {
    if users.is_empty() {
        return;
    }
    of_each(
        text,
        ("users_total", "counter", "outcome"),
        users,
        |counts| {
            [
                ("memory", counts.memory),
                ("stale", counts.stale),
                ("redis", counts.redis),
                ("database", counts.database),
                ("nobody", counts.nobody),
                ("unavailable", counts.unavailable),
            ]
        },
    );
    of_each(
        text,
        ("users_events_total", "counter", "event"),
        users,
        |counts| {
            [
                ("redis_failed", counts.redis_failed),
                ("database_failed", counts.database_failed),
                ("nonsense", counts.nonsense),
                ("revoked", counts.revoked),
                ("revocations_lost", counts.overtaken),
            ]
        },
    );
    let kinds = ("users_store_errors_total", "counter", "error");
    of_each(text, kinds, users, |counts| {
        std::array::from_fn::<_, { CAUSES.len() }, _>(|at| (CAUSES[at], counts.causes[at]))
    });
    of_each(text, ("users_state", "gauge", "state"), users, |counts| {
        [
            ("entries", counts.entries),
            ("tasks", counts.tasks),
            ("redis_breaker_open", u64::from(counts.redis_open)),
            ("redis_lost", u64::from(counts.redis_lost)),
            ("database_breaker_open", u64::from(counts.database_open)),
            ("hears_revocations", u64::from(counts.hears)),
        ]
    });
}

/// A metric with a line for each figure of each table of users.
fn of_each<const N: usize>(
    text: &mut String,
    (metric, of_kind, of_what): (&str, &str, &str),
    users: &[(&str, Snapshot)],
    figures: impl Fn(&Snapshot) -> [(&'static str, u64); N],
) {
    kind(text, metric, of_kind);
    for (name, counts) in users {
        for (what, figure) in figures(counts) {
            let labels = format!("users=\"{}\",{of_what}=\"{what}\"", label(name));
            line(text, metric, &labels, figure);
        }
    }
}

fn of_routes(text: &mut String, sums: &Sums) {
    kind(text, "requests_total", "counter");
    for (name, figures) in &sums.routes {
        for (class, figure) in CLASSES.iter().zip(figures) {
            let labels = format!("route=\"{}\",class=\"{class}\"", label(name));
            line(text, "requests_total", &labels, figure);
        }
    }
    kind(text, "refused_total", "counter");
    for (name, figures) in &sums.routes {
        for (why, figure) in REFUSALS.iter().zip(&figures[CLASSES.len()..]) {
            let labels = format!("route=\"{}\",why=\"{why}\"", label(name));
            line(text, "refused_total", &labels, figure);
        }
    }
    kind(text, "request_seconds", "histogram");
    for (name, figures) in &sums.routes {
        let name = label(name);
        let buckets = &figures[CLASSES.len() + REFUSALS.len()..OF_ROUTE - 1];
        let mut so_far = 0;
        for (at, figure) in buckets.iter().enumerate() {
            so_far += figure;
            let end = match BUCKETS_US.get(at) {
                Some(end) => (*end as f64 / 1e6).to_string(),
                None => "+Inf".into(),
            };
            let labels = format!("route=\"{name}\",le=\"{end}\"");
            line(text, "request_seconds_bucket", &labels, so_far);
        }
        let labels = format!("route=\"{name}\"");
        let sum = figures[OF_ROUTE - 1] as f64 / 1e6;
        line(text, "request_seconds_sum", &labels, sum);
        line(text, "request_seconds_count", &labels, so_far);
    }
}

fn kind(text: &mut String, name: &str, kind: &str) {
    let _ = writeln!(text, "# TYPE ringside_gateway_{name} {kind}");
}

fn line(text: &mut String, name: &str, labels: &str, figure: impl std::fmt::Display) {
    let _ = match labels.is_empty() {
        true => writeln!(text, "ringside_gateway_{name} {figure}"),
        false => writeln!(text, "ringside_gateway_{name}{{{labels}}} {figure}"),
    };
}

/// The value of a label, with what the format wants escaped.
fn label(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
    escaped.replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::health::State;

    fn config(name: &str) -> Arc<Config> {
        let text = format!(
            "[upstream.a]\nservers = [\"127.0.0.1:1\"]\n\
             [[route]]\nname = '{name}'\nupstream = \"a\"\n"
        );
        Arc::new(Config::of("test", &text).expect("it's in order"))
    }

    #[test]
    fn counts_of_all_workers_are_added_and_never_go_back() {
        let metrics = Metrics::default();
        let old = config("old");
        let (one, other) = (metrics.figures(0, &old), metrics.figures(1, &old));
        one.answered(0, 200, 700);
        one.answered(0, 0, 90_000_000);
        other.answered(0, 503, 1_000);
        other.happened(0, Happened::Retried);
        other.refused(0, Refusal::Overload);
        let text = |metrics: &Metrics| metrics.text(&LiveCounts::new(), None, &[]);
        let expected = [
            "ringside_gateway_requests_total{route=\"old\",class=\"gone\"} 1",
            "ringside_gateway_requests_total{route=\"old\",class=\"2xx\"} 1",
            "ringside_gateway_requests_total{route=\"old\",class=\"5xx\"} 1",
            "ringside_gateway_refused_total{route=\"old\",why=\"overload\"} 1",
            "ringside_gateway_request_seconds_bucket{route=\"old\",le=\"0.0005\"} 0",
            "ringside_gateway_request_seconds_bucket{route=\"old\",le=\"0.001\"} 2",
            "ringside_gateway_request_seconds_bucket{route=\"old\",le=\"+Inf\"} 3",
            "ringside_gateway_request_seconds_count{route=\"old\"} 3",
            "ringside_gateway_upstream_events_total{upstream=\"a\",event=\"retries\"} 1",
        ];
        let said = text(&metrics);
        for line in expected {
            assert!(said.lines().any(|one| one == line), "{line} in\n{said}");
        }
        let next = metrics.figures(0, &config("new \"x\""));
        next.answered(0, 200, 10);
        let said = text(&metrics);
        for line in expected {
            assert!(said.lines().any(|one| one == line), "{line} in\n{said}");
        }
        let quoted = "ringside_gateway_requests_total{route=\"new \\\"x\\\"\",class=\"2xx\"} 1";
        assert!(said.contains(quoted), "{said}");
    }

    fn behind(servers: &str) -> Arc<Config> {
        let text = format!("[upstream.a]\nservers = [{servers}]\n[[route]]\nupstream = \"a\"\n");
        Arc::new(Config::of("test", &text).expect("it's in order"))
    }

    #[test]
    fn a_server_is_up_if_all_workers_find_it_so_and_one_that_is_gone_is_not_told_of() {
        let metrics = Metrics::default();
        let both = behind("\"127.0.0.1:1\", \"127.0.0.1:2\"");
        let workers = [metrics.figures(0, &both), metrics.figures(1, &both)];
        let server = |port: u16| format!("{{upstream=\"a\",server=\"127.0.0.1:{port}\"");
        let said = || metrics.text(&LiveCounts::new(), None, &[]);
        let has = |line: String| said().lines().any(|one| one == line);
        let up = |port, up| has(format!("ringside_gateway_server_up{}}} {up}", server(port)));
        let are = |port, state, count| {
            let name = "ringside_gateway_server_workers";
            has(format!(
                "{name}{},state=\"{state}\"}} {count}",
                server(port)
            ))
        };
        assert!(!said().contains("server_up{"), "nobody has an opinion yet");
        for figures in &workers {
            figures.server_is((0, 0), Some(State::Up));
            figures.server_is((0, 1), Some(State::Up));
        }
        assert!(up(1, 1) && up(2, 1) && are(2, "up", 2) && are(2, "ejected", 0));
        workers[1].server_is((0, 1), Some(State::Ejected));
        assert!(up(1, 1) && up(2, 0) && are(2, "up", 1) && are(2, "ejected", 1));
        workers[0].server_is((0, 1), Some(State::Unhealthy));
        assert!(up(2, 0) && are(2, "unhealthy", 1));
        workers[0].checked((0, 1), false);
        workers[0].judged((0, 1), true);
        workers[1].judged((0, 1), false);
        let counted = |name: &str, outcome: &str, count| {
            let name = format!("ringside_gateway_server_{name}_total{}", server(2));
            has(format!("{name},outcome=\"{outcome}\"}} {count}"))
        };
        let all = || {
            let checks = counted("checks", "unhealthy", 1) && counted("checks", "healthy", 0);
            checks && counted("requests", "ok", 1) && counted("requests", "failed", 1)
        };
        assert!(all(), "{}", said());
        // Another place, and an opinion that is still to come.
        let next = behind("\"127.0.0.1:2\"");
        let first = metrics.figures(0, &next);
        assert!(
            all() && are(2, "unhealthy", 0) && are(2, "ejected", 1),
            "{}",
            said()
        );
        first.server_is((0, 0), Some(State::Up));
        metrics.figures(1, &next);
        assert!(all() && up(2, 1) && are(2, "up", 1), "{}", said());
        assert!(!said().contains("127.0.0.1:1"), "{}", said());
        first.server_is((0, 0), None);
        assert!(all() && !said().contains("server_up{"), "{}", said());
    }
}
