//! What a gateway counts besides what its server does, and all of it as Prometheus reads it.
//!
//! Each worker counts into figures of its own, which nobody else writes. They're read from outside
//! one by one, so that nothing is locked. When a worker takes up another configuration, what it
//! counted so far is added to what is past, by names: counts never go back, but those of servers
//! and tables of users that no configuration has any more are forgotten.

mod servers;
mod users;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use ::users::counts::Snapshot;
use exposition::{Family, Times};
use measure::foreign::screened;
use measure::histogram::Histogram;
use server::{Live, LiveCounts};

use crate::config::Config;
pub(crate) use servers::Place;
use servers::{OfServer, Servers};

/// Upper ends of the buckets of response times, in microseconds; the last bucket has no end.
const BUCKETS_US: [u64; 12] = [
    500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
    5_000_000,
];
const BUCKETS: usize = BUCKETS_US.len() + 1;

/// The same in seconds.
const BUCKETS_S: [f64; BUCKETS_US.len()] = [
    0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
];

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
    /// By route: all response times, once anybody wants native histograms.
    fine: Vec<OnceLock<Mutex<Histogram>>>,
    /// Whether anybody does.
    is_fine: Arc<AtomicBool>,
}

/// Adds to a figure that only this thread writes.
fn add(figure: &AtomicU64, count: u64) {
    figure.store(figure.load(Relaxed).wrapping_add(count), Relaxed);
}

impl Figures {
    fn new(config: &Config, is_fine: &Arc<AtomicBool>) -> Figures {
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
            fine: config.routes.iter().map(|_| OnceLock::new()).collect(),
            is_fine: Arc::clone(is_fine),
        }
    }

    /// A request of a route was answered, after so long; status 0 if its client left.
    pub(crate) fn answered(&self, route: usize, status: u16, took: Duration) {
        let micros = took.as_micros() as u64;
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
        if self.is_fine.load(Relaxed) {
            // Whoever reads them takes that lock, too, once in some seconds.
            let times = self.fine[route].get_or_init(Mutex::default);
            let mut times = times.lock().unwrap_or_else(PoisonError::into_inner);
            times.record(took.as_nanos() as u64);
        }
    }

    /// The response times of a route since anybody wanted native histograms.
    fn fine(&self, route: usize) -> Option<Times> {
        let times = self.fine[route].get()?;
        let times = times.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Times::within(&times, &BUCKETS_S))
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
pub(crate) struct Metrics {
    inner: Mutex<Inner>,
    /// Whether anybody wants native histograms.
    fine: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Inner {
    /// By worker: what it counts now, and for which configuration.
    now: BTreeMap<usize, (Arc<Config>, Arc<Figures>)>,
    past: Sums,
}

/// Figures by names.
#[derive(Clone, Debug, Default)]
struct Sums {
    routes: BTreeMap<String, OfRoute>,
    upstreams: BTreeMap<String, [u64; UPSTREAM.len()]>,
    servers: Servers,
    unrouted: u64,
}

/// Figures of one route.
#[derive(Clone, Debug)]
struct OfRoute {
    figures: [u64; OF_ROUTE],
    fine: Times,
}

impl Default for OfRoute {
    fn default() -> OfRoute {
        OfRoute {
            figures: [0; OF_ROUTE],
            fine: Times::none(&BUCKETS_S),
        }
    }
}

impl OfRoute {
    /// The response times as they're counted all the time.
    fn classic(&self) -> Times {
        let buckets = &self.figures[CLASSES.len() + REFUSALS.len()..OF_ROUTE - 1];
        let mut times = Times::none(&BUCKETS_S);
        for (at, n) in buckets.iter().enumerate() {
            times.count += n;
            if let Some((_, so_far)) = times.classic.get_mut(at) {
                *so_far = times.count;
            }
        }
        times.sum_s = self.figures[OF_ROUTE - 1] as f64 / 1e6;
        times
    }
}

impl Sums {
    fn add(&mut self, config: &Config, figures: &Figures) {
        for (at, (route, counted)) in config.routes.iter().zip(&figures.routes).enumerate() {
            let sums = self.routes.entry(route.name.clone()).or_default();
            let pairs = sums.figures.iter_mut().zip(counted);
            pairs.for_each(|(sum, figure)| *sum += figure.load(Relaxed));
            if let Some(times) = figures.fine(at) {
                sums.fine.merge(&times);
            }
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
        let figures = Arc::new(Figures::new(config, &self.fine));
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
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
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = inner.past.clone();
        for (config, figures) in inner.now.values() {
            sums.add(config, figures);
        }
        sums
    }

    /// All of it. Whoever wants native histograms gets the response times that were recorded since
    /// that was first so, and others those of all requests in [`BUCKETS_US`].
    pub(crate) fn families(
        &self,
        live: &LiveCounts,
        log_dropped: Option<u64>,
        users: &[(&str, Snapshot)],
        native: bool,
    ) -> Vec<Family> {
        if native {
            self.fine.store(true, Relaxed);
        }
        let sums = self.sums();
        let mut families = Vec::from(of_routes(&sums, native));
        families.push(of_upstreams(&sums));
        families.extend(sums.servers.families());
        families.extend(users::families(users));
        families.extend(of_server(&live.read(), sums.unrouted, log_dropped));
        families
    }
}

/// What the server counts, and what isn't of a route.
fn of_server(live: &Live, unrouted: u64, log_dropped: Option<u64>) -> Vec<Family> {
    let counts = &live.counts;
    let upstreams = &counts.upstreams;
    let counter = |name, help, n| Family::counters(name, help, [(Vec::new(), n)]);
    let gauge = |name, help, n| Family::gauges(name, help, [(Vec::new(), n)]);
    vec![
        counter(
            "ringside_gateway_unrouted_total",
            "Requests that no route took.",
            unrouted,
        ),
        counter(
            "ringside_gateway_http_requests_total",
            "Requests whose head was read.",
            counts.requests,
        ),
        counter(
            "ringside_gateway_connections_total",
            "Connections of clients that were accepted.",
            counts.connections,
        ),
        counter(
            "ringside_gateway_connections_cut_total",
            "Connections of clients that were cut off at the end of the drain.",
            counts.cut,
        ),
        gauge(
            "ringside_gateway_connections",
            "Connections of clients that are open.",
            live.connections,
        ),
        gauge(
            "ringside_gateway_held_bytes",
            "Bytes that clients make the gateway hold.",
            live.held_bytes,
        ),
        counter(
            "ringside_gateway_tls_handshakes_failed_total",
            "Connections of clients that ended in their TLS handshake.",
            live.handshakes_failed,
        ),
        counter(
            "ringside_gateway_relieved_total",
            "Connections that had something given up, because clients took too much memory.",
            counts.relieved,
        ),
        counter(
            "ringside_gateway_log_dropped_total",
            "Lines of the access log that the disk didn't take in time.",
            log_dropped.unwrap_or(0),
        ),
        counter(
            "ringside_gateway_upstream_connections_total",
            "Connections to upstreams that were opened.",
            upstreams.connections,
        ),
        counter(
            "ringside_gateway_upstream_exchanges_total",
            "Exchanges with upstreams that began, health checks among them.",
            upstreams.exchanges,
        ),
        counter(
            "ringside_gateway_upstream_completed_total",
            "Exchanges with upstreams whose answer came whole.",
            upstreams.completed,
        ),
        of_failures(&upstreams.failures),
    ]
}

/// Why exchanges with upstreams failed.
fn of_failures(failures: &server::upstream::Failures) -> Family {
    let each = [
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
    ];
    Family::counters(
        "ringside_gateway_upstream_failures_total",
        "Exchanges with upstreams that failed, by why.",
        each.map(|(why, n)| (vec![("why", why.to_owned())], n)),
    )
}

/// What happened at upstreams.
fn of_upstreams(sums: &Sums) -> Family {
    let each = sums.upstreams.iter().flat_map(|(name, figures)| {
        let events = UPSTREAM.iter().zip(figures);
        events.map(|(event, n)| {
            let tags = vec![("upstream", label(name)), ("event", (*event).to_owned())];
            (tags, *n)
        })
    });
    Family::counters(
        "ringside_gateway_upstream_events_total",
        "What happened at upstreams.",
        each,
    )
}

fn of_routes(sums: &Sums, native: bool) -> [Family; 3] {
    let counted = |name: &'static str, words: &'static [&'static str], from: usize| {
        sums.routes.iter().flat_map(move |(route, sums)| {
            let each = words.iter().zip(&sums.figures[from..]);
            each.map(move |(word, n)| {
                (
                    vec![("route", label(route)), (name, (*word).to_owned())],
                    *n,
                )
            })
        })
    };
    let times = sums.routes.iter().map(|(route, sums)| {
        let times = match native {
            true => sums.fine.clone(),
            false => sums.classic(),
        };
        (vec![("route", label(route))], times)
    });
    [
        Family::counters(
            "ringside_gateway_requests_total",
            "Answers by the class of their status; gone: the client left before.",
            counted("class", &CLASSES, 0),
        ),
        Family::counters(
            "ringside_gateway_refused_total",
            "Requests that were refused, by why.",
            counted("why", &REFUSALS, CLASSES.len()),
        ),
        Family::histograms(
            "ringside_gateway_request_seconds",
            "From when a request came to the end of its answer.",
            times.collect(),
        ),
    ]
}

/// The value of a label, which may come from outside.
fn label(text: &str) -> String {
    screened(text).into_owned()
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
        one.answered(0, 200, Duration::from_micros(700));
        one.answered(0, 0, Duration::from_secs(90));
        other.answered(0, 503, Duration::from_micros(1_000));
        other.happened(0, Happened::Retried);
        other.refused(0, Refusal::Overload);
        let text = text_of;
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
        next.answered(0, 200, Duration::from_micros(10));
        let said = text(&metrics);
        for line in expected {
            assert!(said.lines().any(|one| one == line), "{line} in\n{said}");
        }
        let quoted = "ringside_gateway_requests_total{route=\"new \\\"x\\\"\",class=\"2xx\"} 1";
        assert!(said.contains(quoted), "{said}");
    }

    fn text_of(metrics: &Metrics) -> String {
        exposition::text(&metrics.families(&LiveCounts::new(), None, &[], false))
    }

    #[test]
    fn who_wants_native_histograms_gets_all_times_from_then_on_and_reloads_keep_them() {
        let metrics = Metrics::default();
        let old = config("old");
        let figures = metrics.figures(0, &old);
        let native = || {
            let families = metrics.families(&LiveCounts::new(), None, &[], true);
            let mut all = families.into_iter().map(|family| family.samples);
            let found = all.find_map(|samples| match samples {
                exposition::Samples::Histograms(mut samples) => samples.pop(),
                _ => None,
            });
            found.expect("a route").1
        };
        figures.answered(0, 200, Duration::from_millis(3));
        assert_eq!(native().count, 0, "nobody wanted that");
        figures.answered(0, 200, Duration::from_millis(3));
        metrics.figures(1, &old).answered(0, 200, Duration::ZERO);
        let next = metrics.figures(0, &old);
        next.answered(0, 200, Duration::from_millis(700));
        let times = native();
        assert_eq!((times.count, times.zeros, times.native.len()), (3, 1, 2));
        let within_s = |end: f64| {
            times
                .classic
                .iter()
                .find(|one| one.0 == end)
                .map(|one| one.1)
        };
        assert_eq!(
            (within_s(0.005), within_s(0.5), within_s(1.0)),
            (Some(2), Some(2), Some(3))
        );
        let counted = "ringside_gateway_request_seconds_count{route=\"old\"} 4\n";
        assert!(text_of(&metrics).contains(counted), "{}", text_of(&metrics));
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
        let said = || text_of(&metrics);
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
