use super::*;

/// What a closed loop of one second says whose only worker ran and waited for so long.
fn closed(run_ms: u64, wait_ms: u64) -> (Vec<String>, Vec<String>) {
    let time = ThreadTime {
        run_ns: run_ms * 1_000_000,
        wait_ns: wait_ms * 1_000_000,
    };
    let share = |part: fn(ThreadTime) -> u64| share_max([Some(time)].into_iter(), 1.0, part);
    let mut verdict = Verdict {
        cpu_share_max: share(|cpu| cpu.run_ns),
        run_queue_share_max: share(|cpu| cpu.wait_ns),
        ..unsaid()
    };
    let room = Room::here(1);
    let mut signs = busy(&mut verdict, ([Some(time)].into_iter(), None), 1.0, room);
    match kept_waiting(verdict.run_queue_share_max, room) {
        Some(Kept::TooLong(sentence)) => signs.push(sentence),
        Some(Kept::Awhile(warning)) => verdict.warnings.push(warning),
        None => {}
    }
    (signs, verdict.warnings)
}

#[test]
fn a_worker_that_waited_a_little_was_disturbed_and_one_that_was_never_idle_was_the_limit() {
    let (signs, warnings) = closed(600, 10);
    assert!(signs.is_empty() && warnings.is_empty());
    let (signs, warnings) = closed(600, 30);
    assert!(signs.is_empty());
    assert!(
        warnings[0].contains("for 3.0 % of the time"),
        "{warnings:?}"
    );
    let (signs, _) = closed(600, 110);
    assert!(signs[0].contains("for 11.0 % of the time"), "{signs:?}");
    let (signs, _) = closed(900, 60);
    assert!(
        signs[0].ends_with("used 90 % of its CPU and waited 6 % for it"),
        "{signs:?}"
    );
}

/// What an open loop says of its own waits when they are this part of a response time of 100 s.
fn owed(waits: Waits, keep_alive: bool) -> Option<String> {
    let mut plan = Plan::new("http://127.0.0.1:80/").unwrap();
    plan.schedule = Schedule::Constant { rate: 100.0 };
    plan.keep_alive = keep_alive;
    let owed = Owed {
        waits,
        response_ns: 100e9,
        count: 1_000,
        is_closed_each: false,
    };
    owed.ours(&plan)
}

/// One of the parts of the waits.
type Part = fn(&mut Waits) -> &mut u64;

#[test]
fn waits_of_our_own_make_the_generator_the_limit_from_a_twentieth_of_the_response_time() {
    let second = 1_000_000_000;
    let cases: [(&str, Part); 3] = [
        ("for connections to be opened again", |waits| {
            &mut waits.connecting_ns
        }),
        ("for connections to be closed", |waits| {
            &mut waits.closing_ns
        }),
        ("before failed connections were retried", |waits| {
            &mut waits.back_off_ns
        }),
    ];
    for (what, part) in cases {
        let told = |part_ns: u64| {
            let mut waits = Waits::default();
            *part(&mut waits) = part_ns;
            owed(waits, true)
        };
        assert_eq!(told(5 * second), None, "{what}");
        let expected =
            format!("6.0 % of the response time was spent waiting in the generator: 6.0 % {what}");
        assert_eq!(told(6 * second), Some(expected));
    }
    // Together they are too much, and each is named.
    let some = Waits {
        connecting_ns: 2 * second,
        closing_ns: 2 * second,
        back_off_ns: 2 * second,
        ..Waits::default()
    };
    let told = owed(some, true).unwrap();
    for (what, _) in cases {
        assert!(told.contains(&format!("2.0 % {what}")), "{told}");
    }
    // Where each exchange has a connection of its own, opening it is what was asked for.
    assert_eq!(owed(some, false), None);
    // What the server or the load makes requests wait for is not ours.
    let theirs = Waits {
        busy_ns: 40 * second,
        unreachable_ns: 40 * second,
        refused_ns: 20 * second,
        ..Waits::default()
    };
    assert_eq!(owed(theirs, true), None);
}

#[test]
fn lateness_is_a_wait_of_our_own_where_it_is_most_of_the_response_time() {
    let late = |late_ns| {
        let waits = Waits {
            late_ns,
            ..Waits::default()
        };
        owed(waits, true)
    };
    assert_eq!(late(50_000_000_000), None);
    let told = late(51_000_000_000).unwrap();
    assert!(
        told.ends_with("51.0 % because the generator was late"),
        "{told}"
    );
}

/// Why a generator with these signs was late.
fn why_late(
    stall: Option<Stall>,
    run_queue_share_max: Option<f64>,
    disturbance: Disturbance,
) -> String {
    let verdict = Verdict {
        run_queue_share_max,
        longest_stall: stall,
        ..unsaid()
    };
    causes(&verdict, disturbance)
}

/// Of a run of which nothing is known yet.
fn unsaid() -> Verdict {
    Verdict {
        limited: false,
        reason: String::new(),
        valid: true,
        warnings: Vec::new(),
        cpu_share_max: None,
        run_queue_share_max: None,
        littles_law_gap: None,
        few_answers: None,
        void: Vec::new(),
        longest_stall: None,
    }
}

#[test]
fn a_generator_that_was_the_limit_is_told_how_its_load_gets_slower() {
    let told = |schedule| {
        let mut plan = Plan::new("http://127.0.0.1:1/").expect("a URL");
        plan.schedule = schedule;
        let mut verdict = Verdict {
            limited: true,
            ..unsaid()
        };
        check_validity(&mut verdict, &plan, &[], (false, Room::here(1)));
        verdict.warnings.join("; ")
    };
    let rate = told(Schedule::Constant { rate: 100.0 });
    assert!(rate.contains("alone: lower the rate, or"), "{rate}");
    let replay = told(Schedule::Trace {
        file: "access.log".into(),
        speed: 10.0,
        passes: 1,
        requests: 100,
        seconds: 10.0,
        left_out: Default::default(),
        trace: Default::default(),
    });
    assert!(
        replay.contains("alone: replay it more slowly (--speed), or"),
        "{replay}"
    );
}

#[test]
fn whoever_kept_the_generator_from_its_schedule_is_named() {
    let nobody = Disturbance::default();
    let unknown = "nothing on this machine explains it";
    assert_eq!(why_late(None, None, nobody), unknown);
    let traces = Disturbance {
        steal_share: Some(0.001),
        throttled_ns: Some(0),
    };
    assert_eq!(why_late(None, Some(0.001), traces), unknown);
    let stall = Stall {
        length_us: 12_340.0,
        at_s: 1.26,
    };
    assert_eq!(
        why_late(Some(stall), None, nobody),
        "its longest stall took 12.3 ms, until second 1.3"
    );
    assert_eq!(
        why_late(None, Some(0.25), nobody),
        "other processes had its CPU for 25.0 % of the time"
    );
    // Never more than all of it, however the kernel rounds.
    assert_eq!(
        why_late(None, Some(1.002), nobody),
        "other processes had its CPU for 100.0 % of the time"
    );
    let steal = Disturbance {
        steal_share: Some(0.034),
        throttled_ns: None,
    };
    assert_eq!(
        why_late(None, None, steal),
        "the hypervisor took 3.4 % of the machine's time"
    );
    let quota = Disturbance {
        steal_share: None,
        throttled_ns: Some(120_400_000),
    };
    assert_eq!(
        why_late(None, None, quota),
        "a CPU quota paused it for 120 ms"
    );
    let all = Disturbance {
        steal_share: Some(0.034),
        throttled_ns: Some(120_400_000),
    };
    assert_eq!(
        why_late(Some(stall), Some(0.25), all),
        "its longest stall took 12.3 ms, until second 1.3, other processes had its CPU for 25.0 % \
         of the time, the hypervisor took 3.4 % of the machine's time, a CPU quota paused it for \
         120 ms"
    );
}
