//! No exchange is lost, and none is counted twice: every protocol, every schedule and every fault,
//! at random. The run itself holds what it counted against the laws of `worker::conservation`.
//!
//! `RINGSIDE_SEEDS=10000 cargo test -p load --lib conservation` takes so many seeds;
//! `RINGSIDE_SEEDS=17..18` takes one again that has failed.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use engine::signal::{Signal, Stop};
use engine::sim::{Connection, Faults, Network, Peer, Replies};
use engine::{Address, Config};
use measure::slots::SLOT_NS;
use measure::time::Time;

use super::rogue::{Rogue, Spoken, Troubles};
use super::{MS, Server, plan, run};
use crate::gate::Gate;
use crate::run::assign;
use crate::worker::conservation::CHECKED;
use crate::worker::{EndedBy, Outcome, Worker, sockets_for};
use measure::random::Random;
use plan::method::Encoder;
use plan::protocol::{Call, CallKind, Http2, Message, Protocol};
use plan::schedule::{Arrivals, Schedule, Stage};
use plan::workload::Pick;
use plan::{Flow, Plan, Request, Step, Turn, Workload};
use workload::Source;

/// Seeds that every test run takes.
const SEEDS: u64 = 300;
/// Within so many seeds every protocol meets every fault in every kind of run.
const SEEDS_THAT_REACH_ALL: u64 = 10_000;
/// A run that has not ended after this long hangs: it should take a second or two.
const HANGS_NS: u64 = 300_000 * MS;

/// One run, drawn from its seed.
#[derive(Debug)]
struct Case {
    spoken: Spoken,
    keep_alive: bool,
    sockets: usize,
    troubles: Troubles,
    faults: Faults,
    plan: Plan,
}

/// Draws what a case is made of.
pub(super) struct Draw(pub(super) Random);

impl Draw {
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    pub(super) fn one_of<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    pub(super) fn coin(&mut self) -> bool {
        self.below(2) == 0
    }

    /// Mostly nothing, and else a share of up to `most`.
    fn share(&mut self, most: f64) -> f64 {
        match self.below(3) {
            0 => self.0.unit() * most,
            _ => 0.0,
        }
    }

    pub(super) fn troubles(&mut self) -> Troubles {
        Troubles {
            delay_ns: self.one_of(&[MS, 5 * MS, 40 * MS]),
            never: self.share(0.1),
            refused: self.share(0.3),
            reset: self.share(0.2),
            ended: self.share(0.2),
            early: self.share(1.0),
            unread: self.share(1.0),
            left: self.share(0.3),
            slow: self.share(1.0),
            kept: self.share(1.0),
            stalled: self.share(0.5),
            unasked: self.share(0.5),
            moved: 0.0,
        }
    }

    pub(super) fn faults(&mut self) -> Faults {
        let calm = match self.coin() {
            true => Faults::none(),
            false => Faults::rough(),
        };
        Faults {
            reset: self.share(0.05),
            refuse: self.share(0.5),
            accept_failure: self.share(0.3),
            ..calm
        }
    }
}

/// The request of a plan beside smaller ones.
fn mix(plan: &mut Plan, pick: Pick) {
    let whole = (plan.target.clone(), plan.request.clone());
    let mut empty = whole.clone();
    empty.1.body.clear();
    empty.0.path = "/{{seq}}".to_owned();
    let steps = [(whole, 3), (empty, 1)];
    let steps = steps.into_iter().map(|((target, request), weight)| Step {
        name: format!("{} bytes", request.body.len()),
        weight,
        target,
        request,
        body_is_template: false,
        expect: Vec::new(),
        at: None,
    });
    let mut workload = Workload::new(steps.collect());
    workload.pick = pick;
    plan.workload = Some(workload);
}

/// The same of calls: the one of a plan beside others, of which those past `most` can't be made.
fn mix_of_calls(plan: &mut Plan, pick: Pick, most: u64) {
    let Protocol::Grpc { call, .. } = &mut plan.protocol else {
        return;
    };
    let body = call.messages.concat();
    *call = Call::of_workload(call.deadline_s);
    plan.target.scheme = "grpc".to_owned();
    plan.request.body = body;
    mix(plan, pick);
    let Some(workload) = &mut plan.workload else {
        return;
    };
    let numbered = &mut workload.steps[1];
    numbered.target.path.clone_from(&plan.target.path);
    numbered.request.headers = vec![("x-id".to_owned(), "{{newUuid}}".to_owned())];
    (numbered.request.body, numbered.body_is_template) = (b"{{seq}}".to_vec(), true);
    let up_to = UpTo(CallKind::Unary, most);
    workload.methods.add(&plan.target.path, Arc::new(up_to));
    plan.request.body.clear();
}

/// A method whose messages are what a step says, up to this number.
#[derive(Debug)]
pub(super) struct UpTo(pub(super) CallKind, pub(super) u64);

impl Encoder for UpTo {
    fn kind(&self) -> CallKind {
        self.0
    }

    fn messages(&self, json: &[u8], _: bool) -> Result<Vec<Vec<u8>>, String> {
        let number = std::str::from_utf8(json)
            .ok()
            .and_then(|text| text.parse::<u64>().ok());
        match number.is_some_and(|number| number > self.1) {
            true => Err("it is too many".to_owned()),
            false => Ok(json
                .split(|byte| *byte == b',')
                .map(<[u8]>::to_vec)
                .collect()),
        }
    }
}

/// The message of a plan beside others, which follow each other on each connection.
fn flow(plan: &mut Plan, draw: &mut Draw) {
    plan.pipeline = 1;
    let Protocol::WebSocket { message } = &plan.protocol else {
        return;
    };
    let bodies = [message.payload.clone(), b"{{seq}}".to_vec(), Vec::new()];
    let steps = bodies.into_iter().map(|body| Step {
        name: format!("{} bytes", body.len()),
        weight: 1,
        target: plan.target.clone(),
        request: Request {
            body,
            ..plan.request.clone()
        },
        body_is_template: true,
        expect: Vec::new(),
        at: None,
    });
    let mut workload = Workload::new(steps.collect());
    let turns = (0..3).map(|at| Turn {
        rest_s: draw.one_of(&[0.0, 0.0, 0.002, 0.05]),
        answers: if at == 1 { 1 } else { draw.below(3) as u32 },
    });
    workload.flow = Some(Flow {
        turns: turns.collect(),
        rest_s: draw.one_of(&[0.0, 0.01]),
    });
    plan.workload = Some(workload);
}

/// Has what a plan sends differ, now and then.
fn differ(plan: &mut Plan, spoken: Spoken, draw: &mut Draw) {
    let is_closed = plan.schedule == Schedule::Closed;
    let goes_on = plan.keep_alive && is_closed;
    if !draw.coin() || spoken == Spoken::WebSocket && !goes_on {
        return;
    }
    let pick = draw.one_of(&[Pick::InTurn, Pick::Weighted, Pick::Random]);
    match spoken {
        Spoken::Http1 | Spoken::Http2 => mix(plan, pick),
        Spoken::Grpc => mix_of_calls(plan, pick, draw.one_of(&[u64::MAX, u64::MAX, 1, 9])),
        Spoken::WebSocket => flow(plan, draw),
    }
}

/// Has a plan follow redirects, if it can; the share of answers that are some.
fn move_on(plan: &mut Plan, spoken: Spoken, draw: &mut Draw) -> f64 {
    let may = spoken == Spoken::Http2 || spoken == Spoken::Http1 && plan.pipeline == 1;
    if !plan.keep_alive || !may || draw.coin() {
        return 0.0;
    }
    plan.follow = 1 + draw.below(3) as u32;
    plan.cookies = draw.coin();
    0.5
}

impl Case {
    fn of(seed: u64) -> Case {
        let mut draw = Draw(Random::new(seed, 7));
        let spoken = draw.one_of(&[
            Spoken::Http1,
            Spoken::Http2,
            Spoken::Grpc,
            Spoken::WebSocket,
        ]);
        let keep_alive = draw.coin();
        let arrivals = draw.one_of(&[Arrivals::Constant, Arrivals::Poisson]);
        let schedule = draw.one_of(&[
            Schedule::Closed,
            Schedule::Constant { rate: 300.0 },
            Schedule::Poisson { rate: 300.0 },
            Schedule::Stages {
                arrivals,
                stages: [(100.0, 500.0, 0.2), (0.0, 0.0, 0.05), (300.0, 300.0, 0.05)]
                    .map(|(from, to, seconds)| Stage { from, to, seconds })
                    .to_vec(),
            },
        ]);
        let staged = matches!(schedule, Schedule::Stages { .. });
        let connections = 1 + draw.below(5) as u32;
        let mut plan = super::plan(schedule, connections, 0.3);
        if draw.coin() {
            (plan.duration_s, plan.count) = (None, Some(1 + draw.below(60)));
        }
        if !staged {
            plan.warm_up_s = draw.one_of(&[0.0, 0.0, 0.1]);
        }
        plan.timeout_s = draw.one_of(&[0.03, 0.1, 0.3]);
        (plan.keep_alive, plan.seed) = (keep_alive, seed);
        let depth = if keep_alive {
            1 + draw.below(8) as u32
        } else {
            1
        };
        // Longer than what is under way, now and then.
        let body_bytes = draw.one_of(&[0, 10, 100, 3_000, 0, 10, 100, 600_000]);
        say(&mut plan, spoken, depth, body_bytes);
        let sockets = match draw.below(3) {
            0 => 1 + draw.below(u64::from(connections)) as usize,
            1 => connections as usize + 1,
            _ => sockets_for(connections as usize),
        };
        let mut troubles = draw.troubles();
        if body_bytes > 10_000 {
            // Or copying is all that is done.
            troubles.delay_ns = 40 * MS;
        }
        let faults = draw.faults();
        plan.threads = draw.one_of(&[1, 1, 1, 2, 3]).min(connections);
        differ(&mut plan, spoken, &mut draw);
        troubles.moved = move_on(&mut plan, spoken, &mut draw);
        Case {
            spoken,
            keep_alive,
            sockets,
            troubles,
            faults,
            plan,
        }
    }

    /// How it is to end.
    fn ending(&self) -> &'static str {
        match self.plan.schedule {
            _ if self.plan.count.is_some() => "count",
            Schedule::Closed => "closed",
            _ => "open",
        }
    }

    /// What can go wrong in it.
    fn wrongs(&self) -> Vec<&'static str> {
        let (troubles, faults) = (&self.troubles, &self.faults);
        let shares = [
            ("never", troubles.never),
            ("refused", troubles.refused),
            ("reset", troubles.reset),
            ("ended", troubles.ended),
            ("early", troubles.early),
            ("left", troubles.left),
            ("slow", troubles.slow),
            ("kept", troubles.kept),
            ("stalled", troubles.stalled),
            ("unasked", troubles.unasked),
            ("network resets", faults.reset),
            ("network refuses", faults.refuse),
            ("accepts fail", faults.accept_failure),
            ("rough", faults.chop),
        ];
        let some = shares.into_iter().filter(|(_, share)| *share > 0.0);
        let mut wrongs: Vec<&str> = some.map(|(name, _)| name).collect();
        if self.sockets <= self.plan.connections as usize {
            wrongs.push("few sockets");
        }
        wrongs.retain(|name| can_go_wrong(self.spoken, name));
        // An answer comes early where there is something of a request left to be sent.
        if self.plan.request.body.is_empty() {
            wrongs.retain(|name| *name != "early");
        }
        wrongs
    }

    /// One worker's run, alone on its network, and its share of the count.
    fn run(&self, worker: u32, seed: u64) -> (Outcome, Option<u64>) {
        let plan = &self.plan;
        plan.validate().unwrap();
        let seed = seed + u64::from(worker) * 1_000_003;
        let network = Network::new(seed, self.faults.clone());
        let [address, clock] =
            ["127.0.0.1:80", "127.0.0.1:81"].map(|text| Address::Tcp(text.parse().unwrap()));
        let rogue = Rogue::new(self.spoken, !self.keep_alive, self.troubles, seed);
        network.serve(&address, rogue);
        let stop = Stop::new();
        network.serve(&clock, Clock(stop.clone()));
        network.dial(&clock, Silent);
        let mut assignment =
            assign(plan, worker, &[vec![address]], Source::of(plan).unwrap()).unwrap();
        // Alone at its gate.
        assignment.worker = 0;
        // A run by time ends by itself; where only answers end it, it may be long.
        assignment.time_end = EndedBy::Duration;
        let driver = network.driver(&Config {
            sockets: self.sockets.min(sockets_for(assignment.sessions)),
            ..Config::default()
        });
        let gate = Gate::new(1);
        let quota = assignment.quota;
        let worker = Worker::new(driver, &gate, stop, assignment).unwrap();
        (worker.run().unwrap(), quota)
    }

    fn check(&self, seed: u64) {
        let workers = 0..self.plan.threads;
        let quotas: Vec<Option<u64>> = workers
            .map(|worker| self.check_worker(worker, seed))
            .collect();
        let asked: Option<u64> = quotas.into_iter().sum();
        assert_eq!(asked, self.plan.count);
    }

    fn check_worker(&self, worker: u32, seed: u64) -> Option<u64> {
        let (outcome, quota) = self.run(worker, seed);
        assert_eq!(outcome.breach, None);
        assert_ne!(
            outcome.ended_by,
            EndedBy::Signal(Signal::Terminate),
            "it hangs"
        );
        let tally = &outcome.recorder.tally;
        assert_eq!(
            tally.intended,
            tally.completed + tally.failed + tally.unfinished
        );
        if outcome.ended_by == EndedBy::Count {
            assert_eq!(Some(tally.intended), quota);
            assert_eq!(tally.unfinished, 0);
        }
        assert!(tally.response.count() <= tally.intended);
        quota
    }
}

/// What can go wrong at all.
const WRONGS: [&str; 15] = [
    "never",
    "refused",
    "reset",
    "ended",
    "early",
    "left",
    "slow",
    "kept",
    "stalled",
    "unasked",
    "network resets",
    "network refuses",
    "accepts fail",
    "rough",
    "few sockets",
];

/// Whether it means anything to a protocol: only HTTP/1.1 is answered before a request is whole,
/// and only there nothing comes that nobody asked for.
fn can_go_wrong(spoken: Spoken, wrong: &str) -> bool {
    match wrong {
        "early" => spoken == Spoken::Http1,
        "unasked" => spoken != Spoken::Http1,
        "refused" => matches!(spoken, Spoken::Http2 | Spoken::Grpc),
        _ => true,
    }
}

/// Puts what is spoken into a plan.
pub(super) fn say(plan: &mut Plan, spoken: Spoken, depth: u32, body_bytes: usize) {
    let http2 = Http2 {
        streams: depth,
        header_table_bytes: 0,
        ..Http2::default()
    };
    let body = vec![b'x'; body_bytes];
    match spoken {
        Spoken::Http1 => {
            plan.pipeline = depth;
            if body_bytes > 0 {
                (plan.request.method, plan.request.body) = ("POST".to_owned(), body);
            }
        }
        Spoken::Http2 => {
            plan.request.body = body;
            plan.protocol = Protocol::Http2 { http2 };
        }
        Spoken::Grpc => {
            plan.target.path = "/ringside.Echo/Echo".to_owned();
            let call = Call {
                kind: CallKind::Unary,
                messages: vec![body],
                deadline_s: None,
            };
            plan.protocol = Protocol::Grpc { http2, call };
        }
        Spoken::WebSocket => {
            plan.pipeline = depth;
            let message = Message {
                payload: body,
                binary: true,
                ping_every_s: None,
            };
            plan.protocol = Protocol::WebSocket { message };
        }
    }
}

/// Ends a run that does not end by itself.
struct Clock(Stop);

impl Peer for Clock {
    fn opened(&mut self, _: Connection, _: Time, replies: &mut Replies) {
        replies.close(HANGS_NS);
    }

    fn received(&mut self, _: Connection, _: &[u8], _: Time, _: &mut Replies) {}

    fn ended(&mut self, _: Connection, _: Time, _: &mut Replies) {
        self.0.request(Signal::Terminate);
    }
}

struct Silent;

impl Peer for Silent {
    fn received(&mut self, _: Connection, _: &[u8], _: Time, _: &mut Replies) {}
}

fn seeds() -> Range<u64> {
    let Ok(text) = std::env::var("RINGSIDE_SEEDS") else {
        return 0..SEEDS;
    };
    let (first, end) = text.split_once("..").unwrap_or(("0", &text));
    first.parse().unwrap()..end.parse().unwrap()
}

#[test]
fn no_exchange_is_lost_whatever_goes_wrong() {
    let seeds = seeds();
    let mut failed = Vec::new();
    for seed in seeds.clone() {
        let case = Case::of(seed);
        if catch_unwind(AssertUnwindSafe(|| case.check(seed))).is_err() {
            eprintln!("seed {seed}: {case:#?}");
            failed.push(seed);
        }
    }
    assert!(
        failed.is_empty(),
        "of {seeds:?} these seeds failed: {failed:?}; take one again with \
         RINGSIDE_SEEDS={}..{}",
        failed[0],
        failed[0] + 1
    );
}

#[test]
fn the_seeds_of_a_run_reach_every_protocol_with_every_fault_in_every_kind_of_run() {
    let name = |spoken: Spoken, keep_alive: bool, ending: &str, wrong: &str| {
        format!("{spoken:?}, keep-alive {keep_alive}, {ending}, {wrong}")
    };
    let mut missing = BTreeSet::new();
    for spoken in [
        Spoken::Http1,
        Spoken::Http2,
        Spoken::Grpc,
        Spoken::WebSocket,
    ] {
        let wrongs = WRONGS.into_iter();
        let wrongs = wrongs.filter(|wrong| can_go_wrong(spoken, wrong));
        for wrong in wrongs {
            for keep_alive in [true, false] {
                for ending in ["closed", "open", "count"] {
                    missing.insert(name(spoken, keep_alive, ending, wrong));
                }
            }
        }
    }
    // Four protocols, two ways to keep connections, three kinds of run; and thirteen faults of
    // HTTP/1.1 and WebSocket, fourteen of the others.
    assert_eq!(missing.len(), 2 * 3 * (2 * 13 + 2 * 14));
    let mut workers = BTreeSet::new();
    for seed in 0..SEEDS_THAT_REACH_ALL {
        let case = Case::of(seed);
        workers.insert(case.plan.threads);
        for wrong in case.wrongs() {
            missing.remove(&name(case.spoken, case.keep_alive, case.ending(), wrong));
        }
        if missing.is_empty() && workers.len() == 3 {
            break;
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert_eq!(workers, BTreeSet::from([1, 2, 3]));
}

#[test]
fn the_laws_are_checked_ten_times_a_second_from_the_warm_up_to_the_drain() {
    // So long that nothing else happens in it, in the drain above all.
    let answer_ns = 3_500 * MS;
    for schedule in [Schedule::Closed, Schedule::Constant { rate: 2.0 }] {
        let mut plan = plan(schedule, 10, 2.0);
        (plan.warm_up_s, plan.timeout_s) = (2.0, 10.0);
        CHECKED.take();
        let outcome = run(&plan, 1, Faults::none(), Server::new(move |_, _| answer_ns));
        let checked = CHECKED.take();
        let begun = Time(outcome.start.0 - 2_000 * MS);
        assert!(checked[0] <= begun.plus(SLOT_NS + MS), "{checked:?}");
        let last = checked[checked.len() - 1];
        assert!(last >= outcome.end.plus(1_000 * MS), "{checked:?}");
        let latest = checked.windows(2).map(|two| two[1].since(two[0])).max();
        assert!(latest <= Some(SLOT_NS + MS), "{checked:?}");
    }
}
