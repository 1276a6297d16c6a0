//! Capacities that nobody searched, as they are kept: for tests of what is made of such records.
//! Included by path from the tests of the crates that read them.
#![allow(dead_code)] // Each includer needs some of it.

use std::collections::BTreeMap;

use capacity::search::{Limits, Probe, Search, Step, Verdict};
use capacity::{Capacities, Point, RowCapacity, SCHEMA_VERSION};
use load::schedule::Arrivals;
use measure::host::Host;

/// Where such a search looks.
pub(crate) const LIMITS: Limits = Limits {
    from: 1000.0,
    lowest: 1.0,
    to: 1e6,
    precision: 0.01,
    repeats: 3,
    confirmations: 5,
    probes_max: 200,
};

/// What a search finds of a subject that holds up to `limit`; response times take off there.
pub(crate) fn searched(name: &str, limit: f64) -> RowCapacity {
    let mut search = Search::new(LIMITS);
    let mut points = Vec::new();
    let found = loop {
        let probe = match search.step() {
            Step::Probe(probe) => probe,
            Step::Done(found) => break found,
        };
        let held = probe.rate <= limit;
        let verdict = match held {
            true => Verdict::Pass,
            false => Verdict::Fail,
        };
        search.answer(verdict.clone());
        points.push(point(points.len() as u32 + 1, probe, limit, verdict));
    };
    RowCapacity {
        name: name.to_owned(),
        description: Some(format!("{name} of this test")),
        version: Some("1.0".to_owned()),
        failed: None,
        log: Vec::new(),
        found: Some(found),
        points,
        curve: Vec::new(),
        steps: Vec::new(),
        knee: None,
        no_knee: None,
        scaling: None,
        connections: Some(10),
        limited_by_connections: None,
        no_more_connections: None,
        streams_at_once: None,
    }
}

fn point(number: u32, probe: Probe, limit: f64, verdict: Verdict) -> Point {
    let busy = probe.rate / limit;
    let wait = 100.0 / (1.0 - busy.min(0.995));
    let failed = (probe.rate - limit).max(0.0) as u64;
    Point {
        number,
        kind: probe.kind,
        rate: probe.rate,
        connections: 10,
        offered: probe.rate,
        achieved: probe.rate.min(limit),
        seconds: 1.0,
        completed: probe.rate.min(limit) as u64,
        failed,
        errors: BTreeMap::from([("unexpected_status".to_owned(), failed)]),
        steps: Vec::new(),
        p50_us: Some(wait),
        p99_us: Some(5.0 * wait),
        objectives: BTreeMap::new(),
        streams_at_once: None,
        server_cpu_us_per_exchange: Some(1e6 / limit),
        server_busy: Some(busy.min(1.0)),
        generator_limited: None,
        remarks: vec!["every connection was busy".to_owned()],
        verdict,
        why: "errors<0.1%: \"0.04%\"".to_owned(),
    }
}

/// A comparison of these rows, the first of which is the baseline.
pub(crate) fn capacities(rows: Vec<RowCapacity>) -> Capacities {
    let mut found = Capacities {
        schema_version: SCHEMA_VERSION,
        ringside: env!("CARGO_PKG_VERSION").to_owned(),
        began: "2026-11-21T20:12:54Z".to_owned(),
        name: "test".to_owned(),
        question: None,
        asked: "GET / over HTTP/1.1".to_owned(),
        load: "10 connections".to_owned(),
        arrivals: Arrivals::Poisson,
        of_flows: false,
        replayed: false,
        slo: vec!["p99<10ms".to_owned()],
        at_least: None,
        window_s: 1.0,
        settle_s: 0.2,
        limits: LIMITS,
        seed: 1,
        engine: None,
        host: Host::default(),
        network: None,
        cautions: Vec::new(),
        baseline: Some(rows[0].name.clone()),
        rows,
        ratios: Vec::new(),
        conclusions: Vec::new(),
        reservations: Vec::new(),
        ended_early: None,
    };
    found.conclude();
    found
}
