//! Open load at three rates: how soon the answer is there after the request was due, and how late
//! the request was sent.

use super::floor;
use super::report::{Findings, Row, Target, number};
use super::runs::{self, Record, Run, Server};
use super::{Bench, Result};

const CONNECTIONS: &str = "50";
/// For connections and caches; not measured.
const WARM_UP: &str = "1s";

/// A figure of a run: what it is, its unit, where it is read.
type Figure = (&'static str, &'static str, fn(&Record) -> Option<f64>);

const P50: Figure = ("response p50", "µs", |record| record.response_time_us.p50);
const P99: Figure = ("response p99", "µs", |record| record.response_time_us.p99);
const P99_9: Figure = ("response p99.9", "µs", |record| {
    record.response_time_us.p99_9
});
const LATENESS: Figure = ("lateness p99", "µs", |record| record.lateness_us.p99);
const ACHIEVED: Figure = ("achieved ÷ offered", "×", |record| {
    Some(record.achieved_rate / record.offered_rate?)
});
const FIGURES: [Figure; 5] = [P50, P99, P99_9, LATENESS, ACHIEVED];

/// A rate and what it has to reach.
struct Rate {
    per_second: u64,
    aims: &'static [(Figure, Target)],
    /// What the best of the others reached once on a machine of this kind. It is in no Debian
    /// package, and so not in the rounds.
    others: &'static str,
}

const RATES: [Rate; 3] = [
    Rate {
        per_second: 2_000,
        aims: &[(P50, Target::AtMost(60.0))],
        others: "p50 65 µs",
    },
    Rate {
        per_second: 50_000,
        aims: &[
            (P99_9, Target::AtMost(500.0)),
            (LATENESS, Target::AtMost(30.0)),
        ],
        others: "p99.9 1.2 ms",
    },
    Rate {
        per_second: 150_000,
        aims: &[
            (ACHIEVED, Target::AtLeast(0.999)),
            (P99, Target::AtMost(1000.0)),
        ],
        others: "p99 48 ms",
    },
];

/// All rates in turn, round after round.
pub(super) fn run(bench: &mut Bench) -> Result<Findings> {
    let mut taken: [Vec<(Run, Record)>; RATES.len()] = Default::default();
    let mut floor: [Vec<f64>; 3] = Default::default();
    for round in 1..=bench.options.pairs {
        let stalls = floor::stalls()?;
        floor[0].push(floor::round_trip_us()?);
        floor[1].push(stalls.longest_us);
        floor[2].push(stalls.share_percent);
        let server = Server::start(bench, "uring")?;
        server.warm(bench)?;
        for (rate, taken) in RATES.iter().zip(&mut taken) {
            let (seconds, url) = (bench.seconds(), server.url("/"));
            let rate = rate.per_second.to_string();
            let load = [
                "-R",
                &rate,
                "-c",
                CONNECTIONS,
                "-d",
                &seconds,
                "--warmup",
                WARM_UP,
            ];
            let words = [&load[..], &["--engine", "uring", &url]].concat();
            taken.push(runs::ringside(bench, &server, &words)?);
            runs::settle(bench)?;
        }
        eprintln!("  round {round} of {}", bench.options.pairs);
    }
    let mut findings = Findings::default();
    for (rate, taken) in RATES.iter().zip(taken) {
        add(&mut findings, rate, taken)?;
    }
    let [round_trip, longest, share] = floor;
    for (what, unit, values) in [
        (
            "a byte there and back each 500 µs: median",
            "µs",
            round_trip,
        ),
        ("two idle loops: longest stall in 2 s", "µs", longest),
        (
            "two idle loops: time in stalls of 100 µs and more",
            "%",
            share,
        ),
    ] {
        let what = format!("the host itself, {what}");
        findings.rows.push(Row::shown(&what, unit, values));
    }
    findings.notes.push(
        "the rows of the host itself are measured in each round before the load, by two threads \
         that use nothing of ringside: what they lose no generator can win"
            .into(),
    );
    Ok(findings)
}

/// Adds the rows of one rate: those with a target first.
fn add(findings: &mut Findings, rate: &Rate, taken: Vec<(Run, Record)>) -> Result<()> {
    let name = number(rate.per_second as f64, "/s");
    let values = |(_, _, figure): &Figure| -> Vec<f64> {
        taken
            .iter()
            .filter_map(|(_, record)| figure(record))
            .collect()
    };
    for (figure, target) in rate.aims {
        let what = format!("{name}: {}", figure.0);
        findings
            .rows
            .push(Row::target(&what, figure.1, *target, values(figure)));
    }
    for figure in FIGURES {
        if rate.aims.iter().all(|(aim, _)| aim.0 != figure.0) {
            let what = format!("{name}: {}", figure.0);
            findings
                .rows
                .push(Row::shown(&what, figure.1, values(&figure)));
        }
    }
    let runs: Vec<Run> = taken.into_iter().map(|(run, _)| run).collect();
    let cpu = runs::column(&runs, |run| run.generator_core_share * 100.0);
    findings
        .rows
        .push(Row::shown(&format!("{name}: generator's core"), "%", cpu));
    findings.notes.extend(runs::disturbances(&name, &runs));
    let others = rate.others;
    findings.notes.push(format!(
        "{name}: the best of the others reached {others}, once"
    ));
    findings.runs.extend(runs::values(&runs)?);
    Ok(())
}
