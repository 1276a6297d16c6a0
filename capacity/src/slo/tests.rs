use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use load::Plan;
use measure::histogram::Histogram;
use measure::host::Host;
use measure::record::{
    Bytes, Connections, EndedBy, Exchanges, Generator, Histograms, Messages, Stall, Step, Times,
    Unmet, Waits,
};
use measure::time::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::*;

/// A second at `offered` a second, of which so many failed by an answer; each of the others
/// took `ms`.
fn record(offered: u64, failed: u64, ms: u64) -> Record {
    let mut times = Histogram::new();
    for _ in 0..offered {
        times.record(ms * 1_000_000);
    }
    let text = times.to_hdr_v2_base64();
    Record {
        schema_version: 1,
        plan: Plan::new("http://localhost/").expect("a URL").recorded(),
        host: Host::default(),
        generator: Generator::default(),
        exchanges: Exchanges {
            completed: offered - failed,
            failed,
            ..Exchanges::default()
        },
        drain: None,
        duration_s: 1.0,
        offered_rate: Some(offered as f64),
        achieved_rate: (offered - failed) as f64,
        availability: None,
        goodput: None,
        bytes: Bytes::default(),
        response_time_us: Times::of(&times),
        service_time_us: Times::of(&times),
        lateness_us: Times::default(),
        waits: None,
        ping_time_us: Times::default(),
        streams: None,
        steps: Vec::new(),
        status: BTreeMap::new(),
        unfollowed_redirects: BTreeMap::new(),
        unexpected_bodies: BTreeMap::new(),
        unexpected_answers: Vec::new(),
        redirects: 0,
        grpc_status: BTreeMap::new(),
        close_codes: BTreeMap::new(),
        messages: Messages::default(),
        errors: BTreeMap::from([("unexpected_status".to_owned(), failed)]),
        connections: Connections::default(),
        series: Vec::new(),
        histograms: Histograms {
            unit: "ns".to_owned(),
            response_time: text.clone(),
            service_time: text,
            lateness: None,
        },
        valid: true,
        void: Vec::new(),
        control: None,
        warnings: Vec::new(),
        thresholds: Vec::new(),
        ended_by: EndedBy::Duration,
    }
}

fn late(record: Record) -> Record {
    Record {
        generator: Generator {
            limited: true,
            limited_reason: "sent late".to_owned(),
            ..Generator::default()
        },
        ..record
    }
}

fn stalled_for(record: Record, length_us: f64) -> Record {
    let mut record = record;
    record.generator.longest_stall = Some(Stall {
        length_us,
        at_s: 0.5,
    });
    record
}

/// Half of all response times were waits.
fn waited(record: Record, waits: Waits) -> Record {
    Record {
        waits: Some(Waits {
            total_us: 100.0,
            share_of_response: Some(0.5),
            ..waits
        }),
        ..record
    }
}

/// The same, but from sent to done each took `ms` only.
fn served_in(record: Record, ms: u64) -> Record {
    let fast = self::record(record.exchanges.completed, 0, ms);
    let mut record = record;
    record.service_time_us = fast.service_time_us;
    record.histograms.service_time = fast.histograms.service_time;
    record
}

/// The same, and so many more took so long.
fn of_which_slow(record: Record, count: u64, ms: u64) -> Record {
    let mut times =
        Histogram::from_hdr_v2_base64(&record.histograms.response_time).expect("its own text");
    for _ in 0..count {
        times.record(ms * 1_000_000);
    }
    let mut record = record;
    record.response_time_us = Times::of(&times);
    record.histograms.response_time = times.to_hdr_v2_base64();
    record
}

#[test]
fn a_stall_that_alone_may_have_broken_a_condition_spoils_the_probe() {
    let slo = ["p99<10ms", "errors<1%"].map(|text| text.parse().expect("a condition"));
    let after = |record, stall_us| judge(&slo, &stalled_for(record, stall_us)).verdict;
    // 15,000 of 17,494, as after a stall of 150 ms.
    let behind = Record {
        achieved_rate: 15_000.0,
        ..record(17_494, 0, 5)
    };
    let Verdict::Unknown(why) = after(behind.clone(), 150_000.0) else {
        panic!("the subject has not failed");
    };
    assert!(why.contains("stalled for 150 ms"), "{why}");
    assert_eq!(after(behind.clone(), 200.0), Verdict::Fail);
    // Half a second is missing, which a stall of 150 ms does not explain.
    let far_behind = Record {
        achieved_rate: 9_000.0,
        ..behind
    };
    assert_eq!(after(far_behind, 150_000.0), Verdict::Fail);
    // Too short to make a 99th percentile of it, whatever it did to a few.
    let slow = of_which_slow(record(17_494, 0, 5), 500, 35);
    assert_eq!(after(slow.clone(), 3_000.0), Verdict::Fail);
    assert!(matches!(after(slow.clone(), 30_000.0), Verdict::Unknown(_)));
    // Nothing is delayed by more than the generator stood still.
    let very_slow = of_which_slow(record(17_494, 0, 5), 500, 60);
    assert_eq!(after(very_slow, 30_000.0), Verdict::Fail);
    // A subject that refuses half of all has failed, whatever the generator did.
    assert_eq!(after(record(17_494, 9_000, 11), 30_000.0), Verdict::Fail);
    // So has one that refuses more than fell due in the stall, and was sent in one go after it.
    assert_eq!(after(record(17_494, 1_000, 5), 30_000.0), Verdict::Fail);
    let burst = after(record(17_494, 400, 5), 30_000.0);
    assert!(matches!(burst, Verdict::Unknown(_)), "{burst:?}");
    assert_eq!(after(record(17_494, 0, 5), 30_000.0), Verdict::Pass);
}

#[test]
fn one_condition_that_nothing_excuses_is_enough_to_fail() {
    let slo = ["max<20ms", "p50<4ms"].map(|text| text.parse().expect("a condition"));
    let slow = of_which_slow(record(5000, 0, 5), 1, 45);
    let verdict = judge(&slo, &stalled_for(slow.clone(), 30_000.0)).verdict;
    assert_eq!(verdict, Verdict::Fail, "the median is too long by itself");
    let verdict = judge(&slo[..1], &stalled_for(slow, 30_000.0)).verdict;
    assert!(matches!(verdict, Verdict::Unknown(_)), "{verdict:?}");
}

#[test]
fn timeouts_are_the_generators_only_if_it_was_late_by_as_much() {
    let lost = Record {
        errors: BTreeMap::from([("timeout".to_owned(), 2500)]),
        ..late(record(5000, 2500, 5))
    };
    assert_eq!(
        verdict(&lost),
        Verdict::Fail,
        "of the two seconds it had none"
    );
    // A generator that loses half of them itself knows nothing of the subject.
    let unknown = Verdict::Unknown("sent late".to_owned());
    assert_eq!(verdict(&stalled_for(lost.clone(), 1_200_000.0)), unknown);
    let mut late = lost;
    let counters = &mut late.generator.counters;
    counters.insert("own_lateness_max_us".to_owned(), 1_200_000);
    assert_eq!(verdict(&late), unknown);
}

/// Answers whatever comes on each connection for so many milliseconds; then closes them all.
fn serve_for(listener: &TcpListener, ms: u64) {
    let end = Time::now().plus(ms * 1_000_000);
    listener.set_nonblocking(true).expect("it can be set");
    let mut connections: Vec<TcpStream> = Vec::new();
    let mut read = [0; 4096];
    while Time::now() < end {
        if let Ok((connection, _)) = listener.accept() {
            connection.set_nonblocking(true).expect("it can be set");
            connections.push(connection);
        }
        for connection in &mut connections {
            if connection.read(&mut read).is_ok_and(|count| count > 0) {
                let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
                let _ = connection.write_all(answer);
            }
        }
        let sockets = connections
            .iter()
            .map(|one| PollFd::new(one, PollFlags::IN));
        let listening = PollFd::new(listener, PollFlags::IN);
        let mut all: Vec<PollFd<'_>> = sockets.chain([listening]).collect();
        let _ = poll(&mut all, Some(&milliseconds(10)));
    }
}

fn milliseconds(ms: i64) -> Timespec {
    Timespec {
        tv_sec: 0,
        tv_nsec: ms * 1_000_000,
    }
}

#[test]
fn no_stall_excuses_a_server_that_was_away() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("it has one");
    let mut plan = Plan::new(&format!("http://{address}/")).expect("a URL");
    plan.schedule = load::schedule::Schedule::Constant { rate: 500.0 };
    (plan.connections, plan.duration_s) = (4, Some(1.2));
    let server = std::thread::spawn(move || {
        serve_for(&listener, 300);
        drop(listener);
        let _ = poll(&mut [], Some(&milliseconds(500)));
        let again = TcpListener::bind(address).expect("its port is free again");
        serve_for(&again, 1500);
    });
    let record = load::run(&plan, &load::Stop::new(), &mut |_| ()).expect("it runs");
    server.join().expect("it ends");
    let lost = record.lost();
    assert!(lost.unreachable > 100, "{lost:?}");
    let slo = ["errors<1%".parse().expect("a condition")];
    let of = |record: Record| judge(&slo, &record).verdict;
    // Whatever else was the matter in those 1.2 seconds.
    assert_eq!(of(stalled_for(record.clone(), 100_000.0)), Verdict::Fail);
    assert_eq!(
        of(late(stalled_for(record.clone(), 300_000.0))),
        Verdict::Fail
    );
    // Nor where nothing but the rate itself is asked for.
    let all = Record {
        achieved_rate: 300.0,
        ..late(stalled_for(record, 300_000.0))
    };
    let slo = ["p50<10s".parse().expect("a condition")];
    assert_eq!(judge(&slo, &all).verdict, Verdict::Fail);
}

#[test]
fn waiting_for_a_connection_is_told_from_a_slow_subject() {
    let slo = ["p99<10ms".parse().expect("a condition")];
    let of = |record: &Record| judge(&slo, record);
    let busy = Waits {
        busy_us: 90.0,
        late_us: 10.0,
        ..Waits::default()
    };
    let queued = waited(record(5000, 0, 40), busy);
    let judgement = of(&served_in(queued.clone(), 3));
    assert_eq!(
        (judgement.verdict, judgement.by_connections),
        (Verdict::Fail, true)
    );
    assert!(judgement.why.contains("every connection was busy"));
    // The answers themselves were too slow.
    assert!(!of(&served_in(queued, 11)).by_connections);
    // Nobody waited for a connection.
    assert!(!of(&served_in(record(5000, 0, 40), 3)).by_connections);
    // A connection for each request: that it is being opened is a wait for it, too.
    let connecting = Waits {
        connecting_us: 60.0,
        late_us: 40.0,
        ..Waits::default()
    };
    assert!(of(&served_in(waited(record(5000, 0, 40), connecting), 3)).by_connections);
    // More connections do nothing about these.
    for waits in [
        Waits {
            back_off_us: 90.0,
            busy_us: 10.0,
            ..Waits::default()
        },
        Waits {
            refused_us: 90.0,
            busy_us: 10.0,
            ..Waits::default()
        },
        Waits {
            late_us: 90.0,
            busy_us: 10.0,
            ..Waits::default()
        },
    ] {
        let record = waited(record(5000, 0, 40), waits);
        assert!(!of(&served_in(record, 3)).by_connections, "{waits:?}");
    }
}

fn verdict(record: &Record) -> Verdict {
    let slo = ["p99<10ms", "errors<0.1%"].map(|text| text.parse().expect("a condition"));
    judge(&slo, record).verdict
}

#[test]
fn a_rate_holds_if_all_conditions_do() {
    assert_eq!(verdict(&record(5000, 0, 5)), Verdict::Pass);
    assert_eq!(verdict(&record(5000, 4, 5)), Verdict::Pass);
    assert_eq!(verdict(&record(5000, 6, 5)), Verdict::Fail);
    assert_eq!(verdict(&record(5000, 0, 11)), Verdict::Fail);
}

#[test]
fn what_was_due_and_not_answered_was_not_served() {
    let behind = Record {
        achieved_rate: 4900.0,
        ..record(5000, 0, 5)
    };
    let judgement = judge(&["errors<1%".parse().expect("a condition")], &behind);
    assert_eq!(judgement.verdict, Verdict::Fail);
    assert_eq!(
        judgement.why,
        "only 98.0 % of the requests that were due were answered"
    );
}

#[test]
fn failures_are_answers_only_where_conditions_say_how_many_may_fail() {
    let slo = ["p99<10ms", "errors<50%"].map(|text| text.parse().expect("a condition"));
    let of = |slo: &[Threshold], failed| judge(slo, &record(5000, failed, 5)).verdict;
    assert_eq!(of(&slo[..1], 0), Verdict::Pass);
    assert_eq!(of(&slo[..1], 100), Verdict::Fail);
    assert_eq!(of(&slo[..1], 5000), Verdict::Fail);
    assert_eq!(of(&slo, 100), Verdict::Pass);
    let slo = ["errors<=99.9%".parse().expect("a condition")];
    assert_eq!(of(&slo, 5000), Verdict::Fail, "nothing was served");
}

#[test]
fn a_time_that_the_time_limit_cut_off_is_not_known_to_hold() {
    let slo = ["p99<10ms", "errors<5%"].map(|text| text.parse().expect("a condition"));
    let mut record = record(5000, 100, 5);
    record.errors = BTreeMap::from([("timeout".to_owned(), 100)]);
    record.exchanges.censored = 100;
    let Verdict::Unknown(why) = judge(&slo, &record).verdict else {
        panic!("two in a hundred took longer than the time limit");
    };
    assert!(why.contains("--timeout"), "{why}");
}

#[test]
fn few_exchanges_say_nothing_about_a_rare_one() {
    let Verdict::Unknown(why) = verdict(&record(2000, 0, 5)) else {
        panic!("2,000 exchanges cannot show fewer than 0.1 % of errors");
    };
    assert!(why.contains("2995") && why.contains("--duration"), "{why}");
    let mean = ["mean<1ms".parse().expect("a condition")];
    assert_eq!(exchanges_min(&mean, None), Ok(1));
}

#[test]
fn a_late_generator_spoils_a_failure_and_not_a_pass() {
    assert_eq!(verdict(&late(record(5000, 0, 5))), Verdict::Pass);
    let unknown = Verdict::Unknown("sent late".to_owned());
    assert_eq!(verdict(&late(record(5000, 0, 11))), unknown);
    // A few refusals may come of its bursts; half of all do not.
    assert_eq!(verdict(&late(record(5000, 50, 5))), unknown);
    assert_eq!(verdict(&late(record(5000, 2500, 5))), Verdict::Fail);
}

/// The same record, of which half was a step with so many failures whose answers took `ms`, of
/// which `service_ms` on the way; the other half was another step, without any.
fn in_steps(whole: Record, failed: u64, ms: u64, service_ms: u64) -> Record {
    let count = whole.exchanges.completed + whole.exchanges.failed;
    let of = |name: &str, failed: u64, ms: u64, service_ms: u64| {
        let times = |ms: u64| {
            let mut times = Histogram::new();
            (0..count / 2).for_each(|_| times.record(ms * 1_000_000));
            times
        };
        Step {
            name: name.to_owned(),
            completed: count / 2 - failed,
            failed,
            response_time_us: Times::of(&times(ms)),
            service_time_us: Times::of(&times(service_ms)),
            response_time: times(ms).to_hdr_v2_base64(),
            errors: BTreeMap::from([("unexpected_status".to_owned(), failed)]),
            ..Step::default()
        }
    };
    Record {
        steps: vec![of("item", failed, ms, service_ms), of("list", 0, 5, 5)],
        ..whole
    }
}

#[test]
fn a_condition_on_a_step_is_held_against_that_step_alone() {
    let of =
        |rule: &str, record: &Record| judge(&[rule.parse().expect("a condition")], record).verdict;
    let slow = in_steps(record(8000, 0, 5), 0, 30, 30);
    assert_eq!(of("p99{item}<20ms", &slow), Verdict::Fail);
    assert_eq!(of("p99{list}<20ms", &slow), Verdict::Pass);
    // Of all, a half is enough; of the step it isn't.
    let few = in_steps(record(500, 0, 5), 0, 5, 5);
    assert_eq!(of("p99<20ms", &few), Verdict::Pass);
    let Verdict::Unknown(why) = of("p99{item}<20ms", &few) else {
        panic!("250 exchanges are too few");
    };
    assert!(why.contains("250 exchanges of item"), "{why}");
    let failing = in_steps(record(8000, 400, 5), 400, 5, 5);
    assert_eq!(of("errors{item}<5%", &failing), Verdict::Fail);
    assert_eq!(of("errors{item}<20%", &failing), Verdict::Pass);
    // What may fail of one step says nothing of the other.
    assert_eq!(of("errors{list}<20%", &failing), Verdict::Fail);
}

#[test]
fn the_generator_has_the_same_excuses_where_a_step_is_concerned() {
    let slo = ["p99{item}<20ms".parse().expect("a condition")];
    let busy = Waits {
        busy_us: 100.0,
        ..Waits::default()
    };
    let by_connections = |service_ms| {
        let queued = in_steps(waited(record(8000, 0, 40), busy), 0, 40, service_ms);
        judge(&slo, &queued).by_connections
    };
    assert!(by_connections(3) && !by_connections(21));
    let slo = ["errors{item}<1%".parse().expect("a condition")];
    let of = |failed, record| judge(&slo, &in_steps(record, failed, 5, 5)).verdict;
    let unknown = Verdict::Unknown("sent late".to_owned());
    assert_eq!(of(200, late(record(8000, 200, 5))), unknown);
    assert_eq!(of(2000, late(record(8000, 2000, 5))), Verdict::Fail);
}

#[test]
fn a_rare_step_takes_more_exchanges_to_judge() {
    let step = |name: &str, weight| load::plan::Step {
        name: name.to_owned(),
        weight,
        target: load::plan::Target::parse("http://x/").expect("a URL"),
        request: load::plan::Request {
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: Vec::new(),
        },
        body_is_template: false,
        expect: Vec::new(),
        at: None,
    };
    let workload = Workload::new(vec![step("often", 9), step("rare", 1), step("never", 0)]);
    let of = |rule: &str| exchanges_min(&[rule.parse().expect("a condition")], Some(&workload));
    assert_eq!(of("p99<1s"), Ok(299));
    assert_eq!(of("p99{rare}<1s"), Ok(2990));
    assert_eq!(of("mean{rare}<1s"), Ok(10));
    for rule in ["p99{never}<1s", "p99{other}<1s"] {
        let why = of(rule).expect_err("it's never sent");
        assert!(why.contains("ever sent"), "{why}");
    }
}

/// Of 300 answers so many were wrong in each of these ways: step, kind, status.
fn wrong(ways: &[(&str, &str, &str, u64)]) -> Record {
    let failed = ways.iter().map(|way| way.3).sum();
    let mut record = record(300, failed, 5);
    record.errors = BTreeMap::new();
    for (name, kind, status, count) in ways {
        *record.errors.entry((*kind).to_owned()).or_default() += count;
        *record.status.entry((*status).to_owned()).or_default() += count;
        if !name.is_empty() {
            record.steps.push(Step {
                name: (*name).to_owned(),
                failed: *count,
                errors: BTreeMap::from([((*kind).to_owned(), *count)]),
                status: BTreeMap::from([((*status).to_owned(), *count)]),
                ..Step::default()
            });
        }
    }
    if record.steps.len() == 1 {
        let name = "home".to_owned();
        record.steps.push(Step {
            name,
            ..Step::default()
        });
    }
    record
}

#[test]
fn wrong_answers_are_told_by_request_and_by_what_is_wrong() {
    let (status, unmet) = ("unexpected_status", "unexpected_answer");
    let mut refused = wrong(&[("", status, "404", 300)]);
    let body = ("404".to_owned(), "Not\nFound".to_owned());
    refused.unexpected_bodies = BTreeMap::from([body]);
    let mut ruled = wrong(&[("made", unmet, "200", 100)]);
    ruled.unexpected_answers = vec![Unmet {
        expected: "status=201".to_owned(),
        step: Some("made".to_owned()),
        failed: 100,
        came: Some("200: done".to_owned()),
    }];
    let table = [
        (refused, "every answer was a 404, e.g. Not\\nFound"),
        (
            wrong(&[("", status, "404", 200), ("", status, "500", 100)]),
            "every answer was wrong: 404 (200); 500 (100)",
        ),
        (
            wrong(&[("gone", status, "404", 100)]),
            "100 of 300 answers were wrong: gone: 404 (100)",
        ),
        (
            ruled,
            "100 of 300 answers were wrong: made: expected status=201 (100), e.g. got 200: done",
        ),
        (
            wrong(&[("", "redirect_elsewhere", "302", 30)]),
            "30 of 300 answers were wrong: redirect_elsewhere (30)",
        ),
        (
            wrong(&[
                ("a", status, "404", 1),
                ("b", status, "404", 2),
                ("c", status, "404", 4),
                ("d", status, "404", 3),
            ]),
            "10 of 300 answers were wrong: c: 404 (4); d: 404 (3); b: 404 (2); and 1 more",
        ),
    ];
    for (record, told) in table {
        let found = Wrong::of(&record).map(|wrong| wrong.what().to_owned());
        assert_eq!(found.as_deref(), Some(told));
    }
    assert_eq!(Wrong::of(&record(300, 0, 5)), None);
}

#[test]
fn wrong_answers_are_what_failed_and_no_generator_is_their_excuse() {
    let slo: [Threshold; 1] = ["p99<10ms"].map(|text| text.parse().expect("a condition"));
    let errors = ["p99<10ms", "errors<1%"].map(|text| text.parse().expect("a condition"));
    let all = || wrong(&[("", "unexpected_status", "404", 300)]);
    let third = || wrong(&[("gone", "unexpected_status", "404", 100)]);
    let told = "100 of 300 answers were wrong: gone: 404 (100)";
    let with_errors = format!("errors<1%: 33.333%, {told}");
    for (slo, record, why) in [
        (&slo[..], all(), "every answer was a 404"),
        (&slo[..], late(all()), "every answer was a 404"),
        (&slo[..], third(), told),
        (&slo[..], late(third()), told),
        (&errors[..], third(), &with_errors),
    ] {
        let judged = judge(slo, &record);
        assert_eq!((judged.verdict, &*judged.why), (Verdict::Fail, why));
    }
    // What a late generator's bursts may have made is excused, and requests that nobody answered.
    let few = late(wrong(&[("", "unexpected_status", "503", 20)]));
    assert!(matches!(judge(&slo, &few).verdict, Verdict::Unknown(_)));
    let mut unanswered = third();
    unanswered.offered_rate = Some(600.0);
    let why = judge(&slo, &unanswered).why;
    let half = "only 50.0 % of the requests that were due were answered, ";
    assert_eq!(why, format!("{half}{told}"));
}

#[test]
fn nothing_that_succeeded_is_a_failure_unless_the_generator_was_late() {
    let slo = ["p99<10s".parse().expect("a condition")];
    let mut record = record(300, 300, 5);
    record.errors = BTreeMap::from([("timeout".to_owned(), 300)]);
    assert_eq!(judge(&slo, &record).verdict, Verdict::Fail);
    let late = judge(&slo, &late(record)).verdict;
    assert_eq!(late, Verdict::Unknown("sent late".to_owned()));
}

#[test]
fn a_share_of_wrong_answers_that_the_rate_makes_is_less_at_a_lower_one() {
    let of = |right: u64, wrong: u64| {
        let mut record = record(right + wrong, wrong, 5);
        record.exchanges.completed = right;
        Wrong::of(&record).expect("some are wrong")
    };
    for (high, low, is_same) in [
        (of(0, 500), of(0, 2), true),
        (of(0, 500), of(0, 1), false),
        (of(333, 167), of(66, 34), true),
        (of(333, 167), of(72, 28), true),
        (of(333, 167), of(6, 3), false),
        // One in a hundred a second is let through, or ten, or all but ten.
        (of(1, 499), of(1, 99), false),
        (of(10, 490), of(10, 90), false),
        (of(490, 10), of(98, 2), true),
        (of(400, 100), of(98, 2), false),
        (of(0, 500), of(1, 99), false),
    ] {
        assert_eq!(high.is_same_at(&low), is_same, "{high:?} and {low:?}");
    }
}

#[test]
fn a_probe_that_lost_agents_says_nothing_of_its_rate() {
    let slo: [Threshold; 1] = ["p99<100ms"].map(|text| text.parse().expect("a condition"));
    let mut whole = record(1000, 0, 1);
    whole.generator.engine = "fleet".to_owned();
    assert_eq!(judge(&slo, &whole).verdict, Verdict::Pass);
    let lost = Record {
        valid: false,
        warnings: vec!["agent two was lost".to_owned()],
        ..whole.clone()
    };
    let Verdict::Unknown(why) = judge(&slo, &lost).verdict else {
        panic!("half of the rate is no rate");
    };
    assert!(why.contains("agent two was lost"), "{why}");
    // However late a generator was, what passes passes.
    let mut limited = late(whole);
    limited.generator.engine = "fleet".to_owned();
    limited.valid = false;
    assert_eq!(judge(&slo, &limited).verdict, Verdict::Pass);
    // Only a fleet's record is spoilt by whoever sent it.
    let alone = Record {
        valid: false,
        ..record(1000, 0, 1)
    };
    assert_eq!(judge(&slo, &alone).verdict, Verdict::Pass);
}
