//! A comparison that nobody measured, as it is kept: for tests of what is made of records. Included
//! by path from the tests of the crates that read them.
#![allow(dead_code)] // Each includer needs some of it.

use std::collections::BTreeSet;

use lab::manifest::{self, Asked, Manifest, Outcome, Role, RowFacts, Setup};
use lab::round::{self, Round, Watched};
use lab::sample::Sample;
use lab::verdict::Metric;
use measure::histogram::Histogram;
use measure::host::Host;
use measure::record::{Facts, Step, Times};
use measure::tally::{Loop, Tally};
use measure::time::Time;

/// How such a comparison is set up.
pub(crate) fn setup() -> Setup {
    Setup {
        name: "example".into(),
        question: "How many requests a second does one core of each server answer?".into(),
        began: "2026-11-21T20:12:54Z".into(),
        ringside: "0.1.0".into(),
        ringside_sha256: None,
        metric: Metric::RequestsPerSecond,
        judged_by: Vec::new(),
        equal_rate: None,
        baseline: "ours".into(),
        rounds: 5,
        order: vec![
            vec!["ours".into(), "slow".into()],
            vec!["slow".into(), "ours".into()],
        ],
        seed: 1,
        smallest_difference: 0.02,
        rounds_per_start: None,
        precision: None,
        budget_s: None,
        asked: "GET / over HTTP/1.1".into(),
        load: "200 connections, pipeline 1".into(),
        rate: None,
        window_s: 1.0,
        settle_s: 0.2,
        warm_up_s: 1.0,
        server_cores: vec![0],
        generator_cores: vec![1],
        engine: "io_uring: auto: the kernel has everything".into(),
        ended_early: None,
    }
}

fn host() -> Host {
    Host {
        kernel: Some("Linux 6.18.0".into()),
        cpu_model: Some("A Processor".into()),
        cpus_online: Some(2),
        congestion_control: Some("cubic".into()),
        loopback_mtu: Some(65536),
        queueing: Some([("lo".into(), vec!["noqueue".into()])].into()),
        virtualised: Some(true),
        ..Host::default()
    }
}

/// Five rounds around a rate, with everything else in proportion.
pub(crate) fn rounds(rate: f64, busy: f64) -> Vec<Sample> {
    let noise = [1.0, 1.01, 0.99, 1.005, 0.995];
    let sample = |(round, noise): (u32, f64)| Sample {
        round,
        requests_per_second: rate * noise,
        p50_us: Some(200.0 / rate * 1e6 / noise),
        p95_us: Some(260.0 / rate * 1e6),
        p99_us: Some(320.0 / rate * 1e6),
        server_cpu_us_per_exchange: Some(busy * 1e6 / rate / noise),
        server_busy: busy,
        generator_busy: Some(0.7),
        memory_peak_bytes: Some(6_400_000),
        bytes_per_exchange: Some(130.0),
        completed: (rate * noise) as u64,
        ..Sample::default()
    };
    (1..).zip(noise).map(sample).collect()
}

/// The generator's record of such a round: few exchanges, and a long tail.
pub(crate) fn record(sample: &Sample) -> load::Record {
    let mut tally = Tally::new(Loop::Closed);
    tally.start(Time(0));
    let p50 = sample.p50_us.expect("every round has one");
    for at in 0..4000 {
        let beyond = 1.0 - (f64::from(at) + 0.5) / 4000.0;
        let us = 0.8 * p50 * beyond.powf(-0.3);
        tally.completed(Time(0), Time(0), Time((1000.0 * us) as u64), 200);
    }
    tally.finish(Time(1_000_000_000));
    let plan = load::Plan::new("http://127.0.0.1:1/").expect("an address");
    let facts = Facts {
        duration_s: 1.0,
        ..Facts::of(plan.recorded())
    };
    load::Record::assemble(&tally, facts)
}

/// A request of a mix in such a record, around this median, of which so many failed.
pub(crate) fn step(name: &str, p50_us: f64, failed: u64) -> Step {
    let mut times = Histogram::new();
    for at in 0..2000 {
        let beyond = 1.0 - (f64::from(at) + 0.5) / 2000.0;
        times.record((800.0 * p50_us * beyond.powf(-0.3)) as u64);
    }
    let reset = (failed > 0).then(|| ("reset".to_owned(), failed));
    Step {
        name: name.to_owned(),
        completed: 2000,
        failed,
        achieved_rate: 2000.0,
        response_time_us: Times::of(&times),
        response_time: times.to_hdr_v2_base64(),
        errors: reset.into_iter().collect(),
        ..Step::default()
    }
}

/// Has the rounds of a row send two requests, the second of which takes so many times as long as
/// the row's median.
pub(crate) fn mixed(rounds: &mut [Round], slower: f64) {
    for round in rounds {
        let p50 = round.sample.p50_us.expect("every round has one");
        let record = round.record.as_mut().expect("every round has one");
        record.steps = vec![step("list", p50, 0), step("create", slower * p50, 0)];
    }
}

pub(crate) fn row(name: &str, outcome: Outcome, samples: Vec<Sample>) -> (RowFacts, Vec<Round>) {
    let facts = RowFacts {
        name: name.into(),
        role: Role::Subject,
        description: format!("the {name} server"),
        version: Some(format!("{name} 1.0")),
        command: "server".into(),
        binaries: Vec::new(),
        source: None,
        outcome,
        asked: None,
        spoilt: None,
        ran_before: None,
        process: None,
        subject: name.into(),
        own_server: false,
        content_type: Some("text/plain".into()),
        link: None,
        cold: None,
        left_behind: BTreeSet::new(),
        profile: None,
        generator: None,
    };
    let round = |sample: Sample| Round {
        schema_version: round::SCHEMA_VERSION,
        row: name.into(),
        round: sample.round,
        start: 1,
        began_unix_s: 1_795_291_974 + 6 * u64::from(sample.round),
        record: Some(record(&sample)),
        sample,
        watched: Watched::default(),
        faults: Vec::new(),
        phases: Vec::new(),
        generated: None,
    };
    (facts, samples.into_iter().map(round).collect())
}

/// A comparison as it is kept.
pub(crate) fn kept(
    setup: Setup,
    cautions: Vec<String>,
    rows: Vec<(RowFacts, Vec<Round>)>,
) -> (Manifest, Vec<Round>) {
    let (rows, rounds): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let manifest = Manifest {
        file_hash: None,
        schema_version: manifest::SCHEMA_VERSION,
        setup,
        host: host(),
        cautions,
        pressure_before: Some(0.012),
        network: None,
        asked: Asked::default(),
        rows,
        looks: None,
        looked: Vec::new(),
        stopped: None,
        spent_s: 0.0,
    };
    (manifest, rounds.concat())
}
