//! Loads whose every instruction can be counted: in virtual time the same plan is the same work.
//!
//! `cargo xtask instructions` runs these under callgrind with two numbers of exchanges and divides
//! the difference by the exchanges between them. By themselves they check that the exchanges asked
//! for are the exchanges done.

use engine::sim::{Connection, Faults, Peer, Replies};
use measure::time::Time;

use super::{ANSWER, MS, intervals, plan, run};
use plan::Plan;
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;

/// How many exchanges a load has, where the caller does not say.
const EXCHANGES: u64 = 2_000;
/// Exchanges a second of what has a rate.
const RATE: f64 = 10_000.0;
const HEAD_END: &[u8] = b"\r\n\r\n";

/// Answers each head at once; a client that sends whole requests is all it knows.
struct Answers {
    delay_ns: u64,
}

impl Peer for Answers {
    fn received(&mut self, _: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        let heads = bytes.windows(4).filter(|four| *four == HEAD_END).count();
        replies.send(self.delay_ns, ANSWER.repeat(heads));
    }
}

fn exchanges() -> u64 {
    let asked = std::env::var("RINGSIDE_COST_EXCHANGES").ok();
    asked.map_or(EXCHANGES, |text| text.parse().expect("a number"))
}

fn closed(connections: u32, pipeline: u32) {
    let mut plan = plan(Schedule::Closed, connections, 1.0);
    plan.duration_s = None;
    plan.count = Some(exchanges());
    plan.pipeline = pipeline;
    let outcome = run(&plan, 1, Faults::none(), Answers { delay_ns: 1_000 });
    assert_eq!(outcome.recorder.tally.completed, exchanges());
    assert_eq!(outcome.recorder.tally.failed, 0);
}

fn at_a_rate() -> Plan {
    let seconds = exchanges() as f64 / RATE;
    plan(Schedule::Constant { rate: RATE }, 64, seconds)
}

#[test]
fn closed_loop() {
    closed(64, 1);
}

#[test]
fn pipelined() {
    closed(64, 16);
}

#[test]
fn open_loop() {
    let outcome = run(&at_a_rate(), 1, Faults::none(), Answers { delay_ns: MS });
    assert_eq!(outcome.recorder.tally.completed, exchanges());
}

/// The load above while a control thread takes what each second counted. What that costs a worker
/// is the difference times [`RATE`]; what the control thread does is the world's.
#[test]
fn watched() {
    let looks_each = 1_000;
    let (_, seen) = intervals::watched(&at_a_rate(), 1, Faults::none(), looks_each, |_, _| MS);
    let completed: u64 = seen.iter().map(|one| one.counted.completed).sum();
    assert_eq!(completed, exchanges());
}

#[test]
fn streams() {
    let mut plan = plan(Schedule::Closed, 4, 1.0);
    plan.duration_s = None;
    plan.count = Some(exchanges());
    let http2 = Http2 {
        streams: 16,
        ..Http2::default()
    };
    plan.protocol = Protocol::Http2 { http2 };
    let server = super::http2::answering(1_000);
    let outcome = run(&plan, 1, Faults::none(), server);
    assert_eq!(outcome.recorder.tally.completed, exchanges());
}
