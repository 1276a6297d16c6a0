//! Loads that go to several origins: whose connection takes what, and what happens where one of
//! them is slow, comes and goes, or is away.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use engine::sim::{Connection, Faults, Network, Peer, Replies};
use engine::{Address, Config};
use measure::counters::ErrorKind;
use measure::time::Time;

use super::http2::answering;
use super::steps::step;
use super::{MS, plan, recorded, work};
use crate::run::assign;
use crate::worker::{Outcome, sockets_for};
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;
use plan::workload::Pick;
use plan::{Plan, Target, Workload};
use workload::Source;

/// Answers each request after a time, and counts what is under way here and everywhere.
#[derive(Clone)]
struct Site {
    delay_ns: u64,
    /// Until then from the beginning it closes each connection that asks.
    away_until: Time,
    asked: Arc<Mutex<Vec<String>>>,
    unread: BTreeMap<Connection, Vec<u8>>,
    turned_away: BTreeSet<Connection>,
}

impl Site {
    fn new(delay_ns: u64) -> Site {
        Site {
            delay_ns,
            away_until: Time(0),
            asked: Arc::default(),
            unread: BTreeMap::new(),
            turned_away: BTreeSet::new(),
        }
    }
}

impl Peer for Site {
    fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
        if now < self.away_until || self.turned_away.contains(&id) {
            self.turned_away.insert(id);
            return replies.close(0);
        }
        let unread = self.unread.entry(id).or_default();
        unread.extend_from_slice(bytes);
        while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = unread.drain(..end + 4).collect();
            let head = String::from_utf8(head).unwrap();
            let host = head.lines().find(|line| line.starts_with("Host: "));
            let host = host.unwrap_or_else(|| panic!("no host in {head:?}"));
            self.asked.lock().unwrap().push(host.to_owned());
            let answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
            replies.send(self.delay_ns, answer.as_bytes().to_vec());
        }
    }
}

/// Steps of these weights to origins of their own, `a`, `b`, …
fn spread(schedule: Schedule, connections: u32, seconds: f64, weights: &[u32]) -> Plan {
    let mut plan = plan(schedule, connections, seconds);
    let steps = weights.iter().zip('a'..).map(|(weight, name)| {
        let mut step = step(*weight, "GET", &format!("/{name}"));
        step.target = Target::parse(&format!("http://{name}.test/{name}")).unwrap();
        step
    });
    plan.workload = Some(Workload::new(steps.collect()));
    plan.target = Target::parse("http://a.test/").unwrap();
    plan
}

/// One worker of `plan` with a site at each origin, or nobody.
fn visit(plan: &Plan, seed: u64, faults: Faults, sites: &[Option<Site>]) -> Outcome {
    plan.validate().unwrap();
    let network = Network::new(seed, faults);
    let addresses = sites.iter().zip(1..).map(|(site, host)| {
        let address = Address::Tcp(format!("127.0.0.{host}:80").parse().unwrap());
        if let Some(site) = site {
            network.serve(&address, site.clone());
        }
        vec![address]
    });
    let addresses: Vec<_> = addresses.collect();
    let assignment = assign(plan, 0, &addresses, Source::of(plan).unwrap()).unwrap();
    let config = Config {
        sockets: sockets_for(assignment.sessions),
        ..Config::default()
    };
    work(network.driver(&config), assignment)
}

/// Of each step: completed, failed, unfinished.
fn ends(outcome: &Outcome) -> Vec<[u64; 3]> {
    let steps = outcome.recorder.tally.steps.iter();
    let ends = steps.map(|step| [step.completed, step.failed, step.unfinished]);
    ends.collect()
}

#[test]
fn a_request_goes_to_its_own_origin_and_a_mix_keeps_its_weights_in_a_closed_loop() {
    let plan = spread(Schedule::Closed, 10, 10.0, &[6, 3, 1]);
    // The one of the least weight is twenty times as slow as the others.
    let sites = [MS, MS, 20 * MS].map(Site::new);
    let outcome = visit(&plan, 3, Faults::none(), &sites.clone().map(Some));
    let all: u64 = ends(&outcome).iter().map(|ends| ends[0]).sum();
    // Ten at once, of 0.9 · 1 + 0.1 · 20 ms and the network's 20 µs.
    let law = 10.0 * 10.0 / 0.00292;
    assert!((all as f64 / law - 1.0).abs() < 0.02, "{all} for {law}");
    for (site, (ends, share)) in sites
        .iter()
        .zip(ends(&outcome).into_iter().zip([0.6, 0.3, 0.1]))
    {
        let [completed, failed, _] = ends;
        let spread = 6.0 * (all as f64 * share * (1.0 - share)).sqrt();
        let expected = all as f64 * share;
        assert!(
            (completed as f64 - expected).abs() < spread,
            "{completed} for {expected}"
        );
        assert_eq!(failed, 0);
        let asked = site.asked.lock().unwrap();
        assert!(asked.len() as u64 >= completed);
        assert!(asked.iter().all(|host| *host == asked[0]), "{asked:?}");
    }
    let record = recorded(&plan, outcome);
    let origins: Vec<_> = record
        .connections
        .origins
        .iter()
        .map(|of| (&*of.origin, of.opened))
        .collect();
    assert_eq!(
        origins,
        [
            ("http://a.test", 10),
            ("http://b.test", 10),
            ("http://c.test", 10)
        ]
    );
}

#[test]
fn one_origin_that_is_slow_holds_up_no_other_in_an_open_loop() {
    let plan = spread(Schedule::Constant { rate: 2_000.0 }, 4, 10.0, &[1, 1]);
    // The slow one can answer 40 of its 1,000 a second.
    let sites = [MS, 100 * MS].map(Site::new);
    let outcome = visit(&plan, 5, Faults::none(), &sites.map(Some));
    let [quick, slow] = ends(&outcome)[..] else {
        panic!("two steps");
    };
    assert_eq!(quick, [10_000, 0, 0]);
    assert_eq!(slow.iter().sum::<u64>(), 10_000);
    assert!((400..1_000).contains(&slow[0]), "{slow:?}");
    let tally = &outcome.recorder.tally;
    assert!(tally.steps[0].response.quantile(1.0) < 2 * MS);
    assert!(tally.steps[1].response.quantile(0.5) > 3_000 * MS);
    // The generator itself was on time, and the waits are the slow one's.
    assert!(outcome.recorder.own_lateness.max() < MS / 10);
    assert!(tally.waits.busy_ns > 9 * tally.waits.total_ns() / 10);
    assert!(tally.waits.late_ns < 1_000, "{}", tally.waits.late_ns);
}

#[test]
fn an_origin_that_is_away_fails_its_own_requests_in_a_closed_loop() {
    let mut plan = spread(Schedule::Closed, 4, 20.0, &[1, 1, 1]);
    plan.workload.as_mut().unwrap().pick = Pick::InTurn;
    let sites = [Some(Site::new(MS)), None, Some(Site::new(MS))];
    let outcome = visit(&plan, 1, Faults::none(), &sites);
    let ends = ends(&outcome);
    assert!(ends[0][0] > 50 && ends[2][0] > 50, "{ends:?}");
    assert_eq!((ends[0][1], ends[1][0], ends[2][1]), (0, 0, 0));
    assert!(
        ends[1][1] > 50 && ends[1][1].abs_diff(ends[0][0]) <= 4,
        "{ends:?}"
    );
    let record = recorded(&plan, outcome);
    let refused = record.errors[ErrorKind::Refused.name()];
    assert!(refused >= record.exchanges.failed, "{refused}");
    let away = &record.connections.origins[1];
    assert_eq!(away.opened, 0);
    assert!(away.failed_attempts > 10);
    // The count of a counted run is reached.
    (plan.count, plan.duration_s) = (Some(300), None);
    let outcome = visit(&plan, 1, Faults::none(), &sites);
    let tally = &outcome.recorder.tally;
    assert_eq!(tally.completed + tally.failed, 300);
    assert_eq!(outcome.ended_by, crate::worker::EndedBy::Count);
}

#[test]
fn what_is_due_at_an_origin_that_is_away_waits_for_it_in_an_open_loop_but_not_for_ever() {
    let rate = 300.0;
    let plan = spread(Schedule::Constant { rate }, 4, 30.0, &[1, 1, 1]);
    let sites = [Some(Site::new(MS)), None, Some(Site::new(MS))];
    let outcome = visit(&plan, 1, Faults::none(), &sites);
    let ends = ends(&outcome);
    assert_eq!((ends[0], ends[2]), ([3_000, 0, 0], [3_000, 0, 0]));
    let [completed, failed, unfinished] = ends[1];
    assert_eq!((completed, failed + unfinished), (0, 3_000));
    // Those of the first ten seconds fail then, and the others with each attempt.
    assert!(failed > 2_900, "{failed}");
    let longest = outcome.recorder.tally.waits.unreachable_ns;
    assert!(longest > 0, "the server's, and not ours");
}

#[test]
fn the_debt_of_a_warm_up_is_dropped_for_each_origin() {
    let mut plan = spread(Schedule::Constant { rate: 1_000.0 }, 2, 5.0, &[1, 1]);
    plan.warm_up_s = 5.0;
    let sites = [MS, 50 * MS].map(Site::new);
    let outcome = visit(&plan, 2, Faults::none(), &sites.map(Some));
    assert!(outcome.dropped > 2_000, "{}", outcome.dropped);
    let slow = &outcome.recorder.tally.steps[1];
    assert_eq!(slow.completed + slow.failed + slow.unfinished, 2_500);
    assert!(slow.completed > 180, "{}", slow.completed);
}

#[test]
fn nothing_is_lost_or_counted_twice_with_several_origins_whatever_their_peers_do() {
    for seed in 0..400u64 {
        let nth = |of: u64| seed / of;
        let schedule = match nth(1) % 3 {
            0 => Schedule::Closed,
            1 => Schedule::Poisson { rate: 2_000.0 },
            _ => Schedule::Constant { rate: 400.0 },
        };
        let mut plan = spread(schedule, 6, 1.0, &[3, 2, 1]);
        (plan.seed, plan.timeout_s) = (seed, 0.2);
        plan.keep_alive = nth(3) % 3 > 0;
        plan.pipeline = if plan.keep_alive {
            1 + (nth(9) % 3) as u32
        } else {
            1
        };
        plan.warm_up_s = if nth(2) % 2 == 0 { 0.2 } else { 0.0 };
        if nth(5) % 4 == 0 && plan.schedule == Schedule::Closed {
            (plan.count, plan.duration_s) = (Some(500), None);
        }
        let mut sites = [2 * MS, 10 * MS, 30 * MS].map(Site::new);
        sites[1].away_until = Time(1_000 * MS).plus((seed % 7) * 100 * MS);
        let mut sites = sites.map(Some);
        if nth(7) % 3 == 0 {
            sites[2] = None;
        }
        let faults = match nth(11) % 3 {
            0 => Faults::none(),
            _ => Faults::rough(),
        };
        // The laws of conservation are held inside.
        let outcome = visit(&plan, seed, faults, &sites);
        let tally = &outcome.recorder.tally;
        if let Some(count) = plan.count {
            assert_eq!(tally.intended, count, "seed {seed}");
        }
    }
}

#[test]
fn streams_of_http2_are_spread_over_their_origins_too() {
    let mut plan = spread(Schedule::Closed, 2, 1.0, &[1, 1]);
    plan.protocol = Protocol::Http2 {
        http2: Http2 {
            streams: 5,
            ..Http2::default()
        },
    };
    let network = Network::new(1, Faults::none());
    let addresses = ["127.0.0.1:80", "127.0.0.2:80"].map(|address| {
        let address = Address::Tcp(address.parse().unwrap());
        network.serve(&address, answering(5 * MS));
        vec![address]
    });
    let assignment = assign(&plan, 0, &addresses, Source::of(&plan).unwrap()).unwrap();
    let config = Config {
        sockets: sockets_for(assignment.sessions),
        ..Config::default()
    };
    let outcome = work(network.driver(&config), assignment);
    let all = outcome.recorder.tally.completed;
    // Ten at once, each for 5.02 ms.
    assert!((all as f64 / (10.0 / 0.00502) - 1.0).abs() < 0.02, "{all}");
    let ends = ends(&outcome);
    assert!(ends[0][0].abs_diff(ends[1][0]) <= 10, "{ends:?}");
}
