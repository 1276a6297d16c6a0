//! Known truth: a server that stands still for a tenth of each second must show as the law says,
//! and an answer that is delayed on purpose must come back with that delay.
//!
//! The stalls are made here, by signals, from the server's own core, where nobody else runs while
//! the server stands still. Each lasts as long as it really lasted, the first begins half a second
//! after the generator's start, and the last ends as long before its end, so that all lie within
//! its window whenever exactly that opens.

use std::time::Duration;

use measure::time::{Time, sleep_until};
use rustix::process::Signal;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::json;

use super::child::Child;
use super::law::Stalls;
use super::report::{Findings, Row, Target, number};
use super::runs::{self, Meter, Record, Server};
use super::{Bench, Result, SERVER_CORE};

const RATE: u64 = 10_000;
/// So few that most of what is due in a stall has to wait in the generator: then the service time
/// hides it and the response time must not.
const CONNECTIONS: usize = 20;
/// Requests on their way on each: what piled up during a stall leaves in bursts, so the queue
/// behind it is worked off fast and bends the law little.
const PIPELINE: usize = 4;
/// Requests on their way at most.
const UNDER_WAY: usize = CONNECTIONS * PIPELINE;
const STALL: Duration = Duration::from_millis(100);
const PERIOD: Duration = Duration::from_secs(1);
const FIRST: Duration = Duration::from_millis(500);
const PERIODS: u64 = 30;
const ROUNDS: usize = 3;

/// Delays that are served, in milliseconds.
const DELAYS_MS: [u32; 4] = [1, 5, 20, 100];
/// What a timer's wake-up and the way to an idle server and back add to each delay; both are bound
/// to the host, see the rows of the host itself in `open-loop`.
const TIMER_ERROR_MS: f64 = 0.2;
const DELAY_RATE: &str = "1000";
const DELAY_CONNECTIONS: &str = "200";

/// The stalls, then the delays.
pub(super) fn run(bench: &mut Bench) -> Result<Findings> {
    let mut findings = Findings::default();
    let mut seen = Vec::new();
    let rounds = if bench.options.quick { 1 } else { ROUNDS };
    for round in 1..=rounds {
        eprintln!("  stalls, round {round} of {rounds}");
        let server = Server::start(bench, "uring")?;
        server.warm(bench)?;
        let capacity = capacity(bench, &server)?;
        seen.push(frozen(bench, &server, capacity)?);
    }
    add_stalls(bench, &seen, &mut findings);
    add_delays(bench, &mut findings)?;
    Ok(findings)
}

/// One run against a server that is frozen again and again, and the law for it.
struct Frozen {
    record: Record,
    law: Stalls,
    run: runs::Run,
}

/// Requests a second that the server works off when as many wait as the connections let through.
fn capacity(bench: &mut Bench, server: &Server) -> Result<f64> {
    let (connections, url) = (CONNECTIONS.to_string(), server.url("/"));
    let pipeline = PIPELINE.to_string();
    let words = [
        "-c",
        &connections,
        "--pipeline",
        &pipeline,
        "-d",
        "1s",
        "--engine",
        "uring",
        &url,
    ];
    Ok(runs::ringside(bench, server, &words)?.0.rate)
}

fn frozen(bench: &mut Bench, server: &Server, capacity: f64) -> Result<Frozen> {
    let periods = periods(bench);
    let (rate, connections) = (RATE.to_string(), CONNECTIONS.to_string());
    let (seconds, url) = (format!("{periods}s"), server.url("/"));
    let pipeline = PIPELINE.to_string();
    let load = [
        "-R",
        &rate,
        "-c",
        &connections,
        "--pipeline",
        &pipeline,
        "-d",
        &seconds,
    ];
    let line = runs::ringside_line(&[&load[..], &["--engine", "uring", &url]].concat());
    let child = bench.start(&line)?;
    let meter = Meter::start(server)?;
    let lengths_s = {
        let _there = OnServerCore::new()?;
        freeze(bench, server.child(), &child, periods)?
    };
    let (run, record) = runs::finish_ringside(bench, server, &line, meter, child)?;
    let law = Stalls {
        lengths_s,
        window_s: record.duration_s,
        rate: RATE as f64,
        capacity,
    };
    Ok(Frozen { record, law, run })
}

fn periods(bench: &Bench) -> u64 {
    if bench.options.quick { 3 } else { PERIODS }
}

/// Stops the server once a period, and returns for how long each time.
fn freeze(bench: &Bench, server: &Child, generator: &Child, periods: u64) -> Result<Vec<f64>> {
    let mut lengths = Vec::new();
    let mut next = generator.started() + FIRST;
    for _ in 0..periods {
        if generator.wait_until(next, &bench.stop)? {
            return Err(format!(
                "the generator ended early\n{}",
                generator.last_words()
            ));
        }
        let start = Time::now();
        server.signal(Signal::STOP)?;
        sleep_until(start + STALL);
        server.signal(Signal::CONT)?;
        lengths.push((Time::now() - start).as_secs_f64());
        next = next + PERIOD;
    }
    Ok(lengths)
}

/// This thread stands on the server's core while this lives.
struct OnServerCore(CpuSet);

impl OnServerCore {
    fn new() -> Result<OnServerCore> {
        let complain = |error| format!("sched_setaffinity: {error}");
        let before = sched_getaffinity(None).map_err(complain)?;
        let mut set = CpuSet::new();
        set.set(SERVER_CORE);
        sched_setaffinity(None, &set).map_err(complain)?;
        Ok(OnServerCore(before))
    }
}

impl Drop for OnServerCore {
    fn drop(&mut self) {
        // It was this thread's own mask a moment ago.
        let _ = sched_setaffinity(None, &self.0);
    }
}

fn add_stalls(bench: &Bench, seen: &[Frozen], findings: &mut Findings) {
    let count = periods(bench) as usize;
    let ideal = Stalls::ideal(count, STALL.as_secs_f64(), count as f64, RATE as f64);
    let ms = |figure: fn(&Record) -> Option<f64>| -> Vec<f64> {
        seen.iter()
            .filter_map(|one| Some(figure(&one.record)? / 1000.0))
            .collect()
    };
    let p95 = seen
        .iter()
        .filter_map(|one| Some(p95_us(&one.record)? / 1000.0))
        .collect();
    let p99 = ms(|record| record.response_time_us.p99);
    let (ideal_p95, ideal_p99) = (ideal.response_s(0.95) * 1e3, ideal.response_s(0.99) * 1e3);
    findings.rows.extend([
        Row::target("frozen: response p95", "ms", Target::near(ideal_p95), p95),
        Row::target("frozen: response p99", "ms", Target::near(ideal_p99), p99),
    ]);
    for (name, q, figure) in [
        ("p95", 0.95, p95_us as fn(&Record) -> Option<f64>),
        ("p99", 0.99, |record| record.response_time_us.p99),
        ("p99.9", 0.999, |record| record.response_time_us.p99_9),
    ] {
        let against = |one: &Frozen| Some(figure(&one.record)? / 1e6 / one.law.response_s(q));
        let what = format!("frozen: response {name} ÷ the law with the queue behind each stall");
        let values = seen.iter().filter_map(against).collect();
        findings
            .rows
            .push(Row::target(&what, "×", Target::near(1.0), values));
    }
    let long = ideal.service_s(0.999, UNDER_WAY) * 1e3;
    let service = ms(|record| record.service_time_us.p99_9);
    let short = ms(|record| record.service_time_us.p99);
    findings.rows.extend([
        Row::target("frozen: service p99.9", "ms", Target::near(long), service),
        Row::target("frozen: service p99", "ms", Target::AtMost(5.0), short),
        Row::shown(
            "frozen: response p50",
            "ms",
            ms(|record| record.response_time_us.p50),
        ),
        Row::shown(
            "frozen: response max",
            "ms",
            ms(|record| record.response_time_us.max),
        ),
    ]);
    for one in seen {
        let lengths = &one.law.lengths_s;
        let longest = lengths.iter().copied().fold(0.0, f64::max) * 1e3;
        let capacity = number(one.law.capacity, "/s");
        findings.notes.push(format!(
            "{} stalls, the longest {longest:.2} ms; the server then works {capacity} off",
            lengths.len(),
        ));
        findings.runs.push(json!({
            "stalls_s": lengths,
            "capacity": one.law.capacity,
            "run": one.run,
        }));
    }
    findings.notes.push(format!(
        "At most {UNDER_WAY} requests are on their way: of each stall only these have a long \
         service time, while all that are due in it have a long response time"
    ));
}

/// The record's summary has no 95th percentile; its histogram has them all.
fn p95_us(record: &Record) -> Option<f64> {
    let text = &record.histograms.response_time;
    let histogram = measure::histogram::Histogram::from_hdr_v2_base64(text).ok()?;
    Some(histogram.quantile(0.95) as f64 / 1e3)
}

fn add_delays(bench: &mut Bench, findings: &mut Findings) -> Result<()> {
    let server = Server::start(bench, "uring")?;
    for delay in DELAYS_MS {
        eprintln!("  a delay of {delay} ms");
        let (seconds, url) = (bench.seconds(), server.url(&format!("/delay/{delay}ms")));
        let load = ["-R", DELAY_RATE, "-c", DELAY_CONNECTIONS, "-d", &seconds];
        let words = [&load[..], &["--engine", "uring", &url]].concat();
        let (run, record) = runs::ringside(bench, &server, &words)?;
        let delay = f64::from(delay);
        let more = (delay * 0.05).max(TIMER_ERROR_MS);
        // An answer before its time is as wrong as a late one.
        let target = Target::Within(delay, delay + more);
        let ms = |figure: Option<f64>| figure.map(|us| vec![us / 1e3]).unwrap_or_default();
        let (service, response) = (&record.service_time_us, &record.response_time_us);
        findings.rows.extend([
            Row::target(
                &format!("delay {delay} ms: service p50"),
                "ms",
                target,
                ms(service.p50),
            ),
            Row::shown(
                &format!("delay {delay} ms: service p99"),
                "ms",
                ms(service.p99),
            ),
            Row::shown(
                &format!("delay {delay} ms: response p50"),
                "ms",
                ms(response.p50),
            ),
        ]);
        findings.runs.push(json!({ "delay_ms": delay, "run": run }));
        findings
            .notes
            .extend(runs::disturbances(&format!("delay {delay} ms"), &[run]));
    }
    Ok(())
}
