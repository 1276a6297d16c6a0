use super::*;

/// Two cores for one second, both half busy.
fn calm() -> Seen {
    Seen {
        round: 1,
        wall_s: 1.0,
        cores: 2,
        user_s: 0.8,
        system_s: 0.2,
        waited_s: 0.1,
        switches: Some((4000, 100)),
        major_faults: Some(0),
        ..Seen::default()
    }
}

fn struck(times: u64, first_s: f64) -> Option<Struck> {
    Some(Struck {
        times,
        first_s,
        last_s: first_s,
    })
}

fn limited(change: fn(&mut Strained)) -> Option<Strained> {
    let mut limited = Strained {
        millicpus: Some(500),
        memory_bytes: Some(64 << 20),
        wall_ns: 1_000_000_000,
        ..Strained::default()
    };
    change(&mut limited);
    Some(limited)
}

#[test]
fn a_calm_subject_gives_no_clue() {
    assert_eq!(of(&[calm(), calm()]), []);
    assert_eq!(of(&[]), []);
    assert_eq!(of(&[Seen::default()]), []);
    let within = Seen {
        limited: limited(|_| {}),
        ..calm()
    };
    assert_eq!(of(&[within]), []);
}

type Change = fn(&mut Seen);

/// What meets a rule, with what is then told.
const CASES: [(Change, &str, &str); 14] = [
    (|seen| seen.user_s = 1.9, "(user): a 95 %.", "--profile"),
    (
        |seen| seen.system_s = 0.9,
        "(system): a 45 %.",
        "system calls",
    ),
    (
        |seen| seen.switches = Some((9000, 3000)),
        "per second and core: a 6,000 (75 % voluntary).",
        "threads and locks",
    ),
    (
        |seen| seen.waited_s = 3.0,
        "(run queue): a 1.50 each.",
        "how many workers",
    ),
    (
        |seen| seen.major_faults = Some(40),
        "(major faults): a 40.0/s.",
        "warm up",
    ),
    (
        |seen| seen.closes_each = Some((1722, 1712)),
        "closed after its answer: a (1,722 opened for 1,712 answers).",
        "keep-alive",
    ),
    (
        |seen| seen.refused = 7,
        "accept queue full: a 7 times.",
        "net.core.somaxconn",
    ),
    (
        |seen| seen.dropped = 1,
        "socket's queue full: a once.",
        "tcp_rmem",
    ),
    (
        |seen| seen.slow = [("redis".into(), 3), ("mariadb".into(), 0)].into(),
        "Slow queries: a (3 of redis).",
        "SLOWLOG GET",
    ),
    (
        |seen| {
            seen.limited = limited(|limited| {
                limited.throttled = struck(6, 0.5);
                limited.throttled_ns = 800_000_000; // Of two cores.
            });
        },
        "CPU limit: a (0.5 CPUs) for 40 % of the time, 6 times, first within 0.500 s in \
         round 1.",
        "throttled time",
    ),
    (
        |seen| seen.limited = limited(|limited| limited.killed = struck(1, 2.0)),
        "(OOM): a (64.0 MiB of memory) once, first within 2.00 s in round 1.",
        "raise `memory` in [limits]",
    ),
    (
        |seen| seen.limited = limited(|limited| limited.killed_before = 2),
        "(OOM): a (64.0 MiB of memory) 2 times before the window.",
        "raise `memory`",
    ),
    (
        |seen| seen.limited = limited(|limited| limited.reclaimed = struck(30, 1.0)),
        "reclaimed: a (64.0 MiB of memory) 30 times, first within 1.00 s",
        "what it caches",
    ),
    (
        |seen| seen.limited = limited(|limited| limited.by_address_space = true),
        "(RLIMIT_AS), because no control group can limit memory here: a 64.0 MiB.",
        "reserves more than it uses",
    ),
];

#[test]
fn every_rule_that_is_met_is_told_with_its_figure_and_where_to_look_next() {
    for (change, figure, next) in CASES {
        let mut seen = calm();
        change(&mut seen);
        let clues = of(&[seen]);
        let told = told([("a", &*clues)].into_iter());
        assert_eq!(told.len(), 1, "{figure}: {told:?}");
        assert!(
            told[0].contains(figure) && told[0].contains(next),
            "{told:?}"
        );
    }
}

#[test]
fn threads_that_a_limit_holds_back_are_no_queue_for_a_core() {
    let mut waiting = calm();
    waiting.waited_s = 40.0;
    let kinds = |seen: &Seen| {
        of(std::slice::from_ref(seen))
            .iter()
            .map(|it| it.kind)
            .collect::<Vec<_>>()
    };
    assert_eq!(kinds(&waiting), [Kind::RunQueue]);
    waiting.limited = limited(|limited| {
        limited.millicpus = Some(100);
        limited.throttled = struck(6, 0.5);
        limited.throttled_ns = 800_000_000;
    });
    assert_eq!(kinds(&waiting), [Kind::Throttled]);
}

#[test]
fn rows_that_met_one_rule_share_a_sentence_and_rounds_are_put_together() {
    let busy = |user_s| Seen { user_s, ..calm() };
    let a = of(&[busy(1.84), busy(1.90), busy(0.2)]);
    let mut later = calm();
    later.round = 2;
    later.limited = limited(|limited| limited.throttled = struck(2, 0.5));
    let mut once_more = later.clone();
    once_more.round = 3;
    let b = of(&[calm(), later, once_more]);
    let c = of(&[busy(2.0)]);
    let told = told([("a", &*a), ("b", &*b), ("c", &*c)].into_iter());
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].contains("b (0.5 CPUs) for 0 % of the time, 4 times"),
        "{told:?}"
    );
    assert!(told[0].contains("in round 2"), "{told:?}");
    assert!(told[1].contains("(user): a 92 %, c 100 %. "), "{told:?}");
}

#[test]
fn where_there_is_little_room_the_first_are_told_and_how_many_more_there_are() {
    let mut strained = calm();
    strained.user_s = 1.9;
    strained.system_s = 0.7;
    strained.switches = Some((20_000, 0));
    strained.waited_s = 4.0;
    strained.major_faults = Some(90);
    let all = of(&[strained]);
    assert_eq!(all.len(), 5, "{all:?}");
    let rows = |count: usize| ["a", "b", "c", "d", "e"][..count].iter();
    let short = in_short(rows(5).map(|name| (*name, &*all)));
    assert_eq!(short.len(), 5, "{short:?}");
    assert!(
        short[0].contains("a 95 %, b 95 %, c 95 % and 2 more. "),
        "{short:?}"
    );
    assert_eq!(short[4], "1 more: see the page.");
    // Leaving one out saves nothing.
    let user = &all[..1];
    let four = || rows(4).map(|name| (*name, user));
    assert_eq!(in_short(four()), told(four()));
}
