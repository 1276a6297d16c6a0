//! What rows mean: what fell due in a second stands in that second's row, whatever the server does,
//! and rows and drain sum to the whole.

use std::collections::BTreeMap;

use engine::sim::{Connection, Faults, Network, Peer, Replies};
use measure::series::Row;
use measure::tally::Tally;
use measure::time::Time;
use proto::websocket::{self, Opcode, Reader, Role, Scratch, encode, encode_close};

use super::conservation::say;
use super::rogue::{Spoken, upgrade};
use super::{ANSWER, MS, Server, http2, plan, run_worker};
use crate::worker::sockets_for;
use plan::Plan;
use plan::schedule::{Arrivals, Marks, Schedule, Stage};

/// A server's way to behave: how long the n-th answer takes, of one processor, at a time in ns.
#[derive(Clone, Copy, Debug)]
enum Way {
    Quick,
    Slow,
    Dead,
    Stalls,
    DiesSlowly,
}

impl Way {
    fn delay_ns(self, n: u64, now_ns: u64) -> u64 {
        match self {
            Way::Quick => 50_000,
            Way::Slow => 10 * MS,
            Way::Dead => 3_600_000 * MS,
            Way::Stalls => 1_000 + (400 * MS).saturating_sub(now_ns % (1000 * MS)),
            Way::DiesSlowly => n * n * 1_000,
        }
    }
}

/// A WebSocket server that answers each message in this way, and a close with a close.
struct Messages {
    way: Way,
    served: u64,
    /// Of each connection: its reader behind the upgrade, and what of that has come so far.
    talks: BTreeMap<Connection, (Option<Reader>, Vec<u8>)>,
}

impl Peer for Messages {
    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        let (reader, head) = self.talks.entry(id).or_default();
        let Some(reader) = reader else {
            head.extend_from_slice(bytes);
            if head.ends_with(b"\r\n\r\n") {
                let mut out = Vec::new();
                upgrade(head, &mut out);
                *reader = Some(Reader::new(Role::Server, websocket::Limits::default()));
                replies.send(0, out);
            }
            return;
        };
        let (mut input, mut scratch) = (bytes, Scratch::default());
        while let Some(event) = reader.next(&mut input, &mut scratch).unwrap() {
            let mut out = Vec::new();
            match event {
                websocket::Event::End => {
                    encode(&mut out, Opcode::Text, true, None, b"ok");
                    replies.send(self.way.delay_ns(self.served, now.0), out);
                    self.served += 1;
                }
                websocket::Event::Close(_) => {
                    encode_close(&mut out, None, websocket::code::NORMAL, "");
                    replies.send(0, out);
                    replies.close(0);
                }
                _ => {}
            }
        }
    }

    fn reset(&mut self, id: Connection, _: Time) {
        self.talks.remove(&id);
    }
}

/// The tally of all workers of a plan, each on a network of its own, over HTTP/1.1.
fn tally_of(plan: &Plan, seed: u64, faults: &Faults, way: Way) -> Tally {
    tally_over(Spoken::Http1, plan, seed, faults, way)
}

/// The same over another protocol.
fn tally_over(spoken: Spoken, plan: &Plan, seed: u64, faults: &Faults, way: Way) -> Tally {
    let mut sum: Option<Tally> = None;
    for worker in 0..plan.threads {
        let server: Box<dyn Peer> = match spoken {
            Spoken::Http1 => Box::new(Server::new(move |n, now| way.delay_ns(n, now.0))),
            Spoken::WebSocket => Box::new(Messages {
                way,
                served: 0,
                talks: BTreeMap::new(),
            }),
            Spoken::Http2 | Spoken::Grpc => Box::new(http2::Server::new(move |n, now: Time| {
                http2::Fate::Answer(way.delay_ns(n, now.0))
            })),
        };
        let seed = seed * 10 + u64::from(worker);
        let network = Network::new(seed, faults.clone());
        let sockets = sockets_for(plan.connections as usize);
        let outcome = run_worker(plan, worker, sockets, network, Boxed(server));
        let tally = outcome.recorder.tally;
        match &mut sum {
            Some(sum) => sum.merge(&tally),
            None => sum = Some(tally),
        }
    }
    sum.expect("a plan has a worker")
}

/// A server of any protocol.
struct Boxed(Box<dyn Peer>);

impl Peer for Boxed {
    fn opened(&mut self, id: Connection, now: Time, replies: &mut Replies) {
        self.0.opened(id, now, replies);
    }

    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        self.0.received(id, bytes, now, replies);
    }

    fn ended(&mut self, id: Connection, now: Time, replies: &mut Replies) {
        self.0.ended(id, now, replies);
    }

    fn reset(&mut self, id: Connection, now: Time) {
        self.0.reset(id, now);
    }
}

/// What the schedule says by itself: how much is due in each second of the window.
fn due_by_second(plan: &Plan, seconds: f64) -> Vec<u64> {
    let mut rows = vec![0; seconds.ceil() as usize];
    for worker in 0..plan.threads {
        let mut marks = Marks::new(&plan.schedule, plan.seed, worker, plan.threads).unwrap();
        while let Some(at_ns) = marks.peek() {
            let at_s = at_ns as f64 / 1e9 - plan.warm_up_s;
            if at_s >= seconds {
                break;
            }
            if at_s >= 0.0 {
                rows[at_s as usize] += 1;
            }
            marks.advance();
        }
    }
    rows
}

fn schedules() -> Vec<Schedule> {
    let stage = |from, to, seconds| Stage { from, to, seconds };
    let stages = vec![
        stage(100.0, 900.0, 1.5),
        stage(0.0, 0.0, 0.7),
        stage(800.0, 50.0, 1.1),
    ];
    vec![
        Schedule::Constant { rate: 700.0 },
        Schedule::Poisson { rate: 500.0 },
        Schedule::Stages {
            arrivals: Arrivals::Constant,
            stages: stages.clone(),
        },
        Schedule::Stages {
            arrivals: Arrivals::Poisson,
            stages,
        },
    ]
}

/// Rows and drain are the whole, and the whole is what was due.
fn assert_sums(tally: &Tally, case: &str) {
    let rows = tally.rows();
    let sum = |field: fn(&Row) -> u64| rows.iter().map(field).sum::<u64>();
    let inside = tally.inside();
    assert_eq!(sum(|row| row.completed), inside.completed, "{case}");
    assert_eq!(sum(|row| row.failed), inside.failed, "{case}");
    assert_eq!(
        sum(|row| row.bytes_received),
        tally.bytes_received,
        "{case}"
    );
    assert_eq!(
        sum(|row| row.offered.unwrap_or(0)),
        tally.intended,
        "{case}"
    );
    let ended = tally.completed + tally.failed + tally.unfinished;
    assert_eq!(ended, tally.intended, "{case}");
}

/// Every schedule, every way of a server and every fault: each row holds what was due in its
/// second.
fn assert_rows_over(spoken: Spoken) {
    let resets = Faults {
        reset: 0.05,
        refuse: 0.2,
        accept_failure: 0.1,
        ..Faults::rough()
    };
    let (mut cases, mut answered) = (0, 0);
    for (nth, schedule) in schedules().iter().enumerate() {
        for way in [
            Way::Quick,
            Way::Slow,
            Way::Dead,
            Way::Stalls,
            Way::DiesSlowly,
        ] {
            for faults in [Faults::none(), Faults::rough(), resets.clone()] {
                cases += 1;
                let seed = cases;
                let mut plan = plan(schedule.clone(), 1 + seed as u32 % 5, 3.25);
                plan.threads = 1 + (seed as u32 / 3) % plan.connections.min(3);
                plan.keep_alive = seed % 4 != 0;
                (plan.timeout_s, plan.seed) = (0.8, seed);
                let depth = if plan.keep_alive {
                    1 + seed as u32 % 4
                } else {
                    1
                };
                if spoken != Spoken::Http1 {
                    say(&mut plan, spoken, depth, 0);
                }
                if nth < 2 && seed % 2 == 0 {
                    plan.warm_up_s = 0.75;
                }
                let seconds = schedule.length_s().unwrap_or(3.25).min(3.25);
                let case = format!("seed {seed}: {way:?}, {faults:?}, {plan:?}");
                let tally = tally_over(spoken, &plan, seed, &faults, way);
                answered += tally.completed;
                let offered: Vec<u64> = tally.rows().iter().filter_map(|row| row.offered).collect();
                assert_eq!(offered, due_by_second(&plan, seconds), "{case}");
                assert_sums(&tally, &case);
            }
        }
    }
    assert!(answered > 10_000, "{spoken:?}: {answered}");
}

#[test]
fn what_was_due_in_a_second_stands_in_its_row_whatever_the_server_does() {
    assert_rows_over(Spoken::Http1);
}

#[test]
fn what_was_due_in_a_second_stands_in_its_row_over_http2() {
    assert_rows_over(Spoken::Http2);
}

#[test]
fn what_was_due_in_a_second_stands_in_its_row_over_websocket() {
    assert_rows_over(Spoken::WebSocket);
}

#[test]
fn an_overload_shows_in_each_row_as_what_was_due_and_what_was_possible() {
    // A connection and 10 ms an answer: 100 a second of the 1,000 asked for.
    let plan = plan(Schedule::Constant { rate: 1_000.0 }, 1, 5.0);
    let tally = tally_of(&plan, 1, &Faults::none(), Way::Slow);
    for row in tally.rows() {
        assert_eq!((row.offered, row.seconds), (Some(1_000), 1.0));
        assert!((99..=100).contains(&row.completed), "{row:?}");
        assert_eq!(row.bytes_received, row.completed * ANSWER.len() as u64);
    }
    let inside = tally.inside();
    let drained = tally.completed - inside.completed;
    // The drain lasts for the time limit of two seconds.
    assert!((195..=201).contains(&drained), "{drained}");
    assert_eq!(tally.drain.nanoseconds / MS, 2_000);
    assert_eq!(tally.drain.bytes_received, drained * ANSWER.len() as u64);
    assert!((drained - 1..=drained).contains(&tally.completed_late));
}

#[test]
fn the_bytes_and_the_answers_of_a_window_are_those_that_came_inside_it() {
    // Twenty connections, 10 ms, and a window of 350 ms behind a warm-up: what is under way at the
    // edges is a good part of it.
    let mut plan = plan(Schedule::Closed, 20, 0.35);
    plan.warm_up_s = 0.13;
    for way in [Way::Quick, Way::Slow] {
        let tally = tally_of(&plan, 1, &Faults::none(), way);
        let inside = tally.inside();
        assert!(tally.carried > 0 && tally.completed > inside.completed);
        assert_eq!(tally.bytes_received, inside.answered * ANSWER.len() as u64);
        assert_eq!(inside.answered, inside.completed + tally.carried);
        if let Way::Slow = way {
            assert!(
                (680..=701).contains(&inside.answered),
                "{}",
                inside.answered
            );
        }
    }
}

#[test]
fn a_closed_loop_has_the_same_rows_and_drain() {
    for seed in 0..30 {
        let faults = Faults {
            reset: 0.02,
            ..Faults::rough()
        };
        let mut plan = plan(Schedule::Closed, 7, 2.5);
        (plan.keep_alive, plan.timeout_s) = (seed % 2 == 0, 0.5);
        if seed % 3 == 0 {
            (plan.duration_s, plan.count) = (None, Some(700));
        }
        let tally = tally_of(&plan, seed, &faults, Way::Stalls);
        let (rows, inside) = (tally.rows(), tally.inside());
        let completed: u64 = rows.iter().map(|row| row.completed).sum();
        assert_eq!(completed, inside.completed, "seed {seed}");
        let bytes: u64 = rows.iter().map(|row| row.bytes_received).sum();
        assert_eq!(bytes, tally.bytes_received, "seed {seed}");
        let ended = tally.completed + tally.failed + tally.unfinished;
        assert_eq!(ended, tally.intended, "seed {seed}");
    }
}
