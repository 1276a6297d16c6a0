//! Workloads of several steps: what is sent, how it is answered, and whose figures it is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::sim::{Connection, Faults, Network, Peer, Replies};
use measure::time::Time;

use super::http2::answering;
use super::{MS, plan, recorded, run, run_worker};
use crate::worker::sockets_for;
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;
use plan::workload::Pick;
use plan::{Plan, Request, Step, Target, Workload};

/// The request lines that a server has read, in that order.
type Seen = Arc<Mutex<Vec<String>>>;

/// Answers each request after 1 ms, but `/slow` after 20, in the order of a connection's requests;
/// with 404 what is not there, and a HEAD without a body.
#[derive(Default)]
struct Pages {
    unread: BTreeMap<Connection, Vec<u8>>,
    last: BTreeMap<Connection, Time>,
    seen: Seen,
}

impl Peer for Pages {
    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        let unread = self.unread.entry(id).or_default();
        unread.extend_from_slice(bytes);
        while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = unread.drain(..end + 4).collect();
            let head = String::from_utf8(head).unwrap();
            let line = head.lines().next().unwrap().to_owned();
            let status = if line.contains("/gone") { 404 } else { 200 };
            let delay_ns = if line.contains("/slow") { 20 } else { 1 } * MS;
            let last = self.last.entry(id).or_default();
            *last = now.plus(delay_ns).max(*last);
            let delay_ns = last.since(now);
            let body = if line.starts_with("HEAD") { "" } else { "ok" };
            let answer = format!("HTTP/1.1 {status} X\r\nContent-Length: 2\r\n\r\n{body}");
            replies.send(delay_ns, answer.into_bytes());
            if head.contains("Connection: close") {
                replies.close(delay_ns);
            }
            self.seen.lock().unwrap().push(line);
        }
    }
}

pub(super) fn step(weight: u32, method: &str, path: &str) -> Step {
    Step {
        name: format!("{method} {path}"),
        weight,
        target: Target::parse(&format!("http://127.0.0.1{path}")).unwrap(),
        request: Request {
            method: method.to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        body_is_template: false,
        expect: Vec::new(),
        at: None,
    }
}

fn mixed(schedule: Schedule, connections: u32, seconds: f64) -> Plan {
    let mut plan = plan(schedule, connections, seconds);
    plan.workload = Some(Workload::new(vec![
        step(6, "GET", "/"),
        step(3, "HEAD", "/slow"),
        step(1, "GET", "/gone"),
    ]));
    plan
}

#[test]
fn each_step_has_its_own_figures_and_they_add_up() {
    let plan = mixed(Schedule::Constant { rate: 1_000.0 }, 50, 10.0);
    let record = recorded(&plan, run(&plan, 1, Faults::none(), Pages::default()));
    let [quick, slow, gone] = record.steps.as_slice() else {
        panic!("three steps, and not {:?}", record.steps);
    };
    assert_eq!(
        [&*quick.name, &*slow.name, &*gone.name],
        ["GET /", "HEAD /slow", "GET /gone"]
    );
    // Six standard deviations of a binomial law of 10,000.
    for (step, expected) in [(quick, 6_000.0), (slow, 3_000.0), (gone, 1_000.0)] {
        let share: f64 = expected / 10_000.0;
        let off = 6.0 * (expected * (1.0 - share)).sqrt();
        let ended = (step.completed + step.failed) as f64;
        assert!((ended - expected).abs() < off, "{}: {ended}", step.name);
    }
    let completed: u64 = record.steps.iter().map(|step| step.completed).sum();
    assert_eq!(completed, record.exchanges.completed);
    assert_eq!(gone.failed, record.exchanges.failed);
    assert_eq!((gone.completed, quick.failed + slow.failed), (0, 0));
    assert_eq!(gone.status.get("404"), Some(&gone.failed));
    assert_eq!(gone.errors.get("unexpected_status"), Some(&gone.failed));
    // Each has its own law, and the run has the mixture of them.
    for (step, law_us) in [(quick, 1_000.0), (slow, 20_000.0), (gone, 1_000.0)] {
        let median = step.response_time_us.p50.unwrap();
        assert!(
            (median / law_us - 1.0).abs() < 0.03,
            "{}: {median}",
            step.name
        );
    }
    assert!(record.response_time_us.p75.unwrap() > 19_000.0);
    let rates: f64 = record.steps.iter().map(|step| step.achieved_rate).sum();
    assert!((rates - record.achieved_rate).abs() < 1e-6);
}

#[test]
fn the_same_seed_sends_the_same_requests_and_another_does_not() {
    let seen = |seed: u64, keep_alive: bool| {
        let mut plan = mixed(Schedule::Constant { rate: 500.0 }, 30, 1.0);
        (plan.seed, plan.keep_alive) = (seed, keep_alive);
        let pages = Pages::default();
        let seen = Arc::clone(&pages.seen);
        run(&plan, 1, Faults::none(), pages);
        let seen = seen.lock().unwrap();
        seen.clone()
    };
    let first = seen(1, true);
    assert_eq!(first.len(), 500);
    assert_eq!(first, seen(1, true));
    assert_ne!(first, seen(2, true));
    assert_eq!(first, seen(1, false), "on connections of their own, too");
}

#[test]
fn steps_in_turn_are_sent_in_turn_by_all_workers_together() {
    let mut plan = mixed(Schedule::Constant { rate: 300.0 }, 8, 1.0);
    plan.threads = 2;
    if let Some(workload) = &mut plan.workload {
        workload.pick = Pick::InTurn;
    }
    let mut counts = BTreeMap::new();
    for worker in 0..2 {
        let pages = Pages::default();
        let seen = Arc::clone(&pages.seen);
        let network = Network::new(1, Faults::none());
        run_worker(&plan, worker, sockets_for(4), network, pages);
        for line in seen.lock().unwrap().iter() {
            *counts.entry(line.clone()).or_insert(0) += 1;
        }
    }
    assert_eq!(counts.into_values().collect::<Vec<_>>(), [100, 100, 100]);
}

#[test]
fn a_closed_loop_with_a_pipeline_reads_each_answer_as_what_it_is() {
    let mut plan = mixed(Schedule::Closed, 4, 1.0);
    plan.pipeline = 8;
    let record = recorded(&plan, run(&plan, 1, Faults::rough(), Pages::default()));
    assert_eq!(record.errors.len(), 1, "{:?}", record.errors);
    let gone = &record.steps[2];
    assert_eq!(record.errors.get("unexpected_status"), Some(&gone.failed));
    assert!(
        record
            .steps
            .iter()
            .all(|step| step.completed + step.failed > 20)
    );
}

#[test]
fn steps_go_over_http2_too() {
    let mut plan = mixed(Schedule::Constant { rate: 1_000.0 }, 2, 1.0);
    let http2 = Http2 {
        streams: 50,
        ..Http2::default()
    };
    plan.protocol = Protocol::Http2 { http2 };
    let record = recorded(&plan, run(&plan, 1, Faults::none(), answering(MS)));
    assert_eq!(record.exchanges.completed, 1_000);
    let completed = record.steps.iter().map(|step| step.completed);
    assert_eq!(completed.sum::<u64>(), 1_000);
}
