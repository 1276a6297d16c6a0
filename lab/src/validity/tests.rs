//! Each check is shown rounds that are well, and rounds of which one thing is wrong.

use load::{Plan, Record};
use measure::quota::Quota;
use measure::record::{Facts, Generator, Lost, Moved};
use measure::tally::{Loop, Tally};
use supervisor::generator::Generated;
use supervisor::generator::said::Said;
use supervisor::watch::Watched;
use supervisor::watch::host::Other;

use super::round::Seen;
use super::*;
use crate::manifest::{Cold, Outcome, Role, RowFacts};
use crate::sample::Sample;

mod connections;
mod faulted;

/// A round in which nothing is wrong: the server is full, the generator is not.
fn well() -> Round {
    let plan = Plan::new("http://127.0.0.1:1/").expect("a URL");
    let generator = Generator {
        limited_reason: "the busiest worker used 60 % of its CPU".into(),
        cpu_share_max: Some(0.6),
        run_queue_share_max: Some(0.001),
        littles_law_gap: Some(0.004),
        ..Generator::default()
    };
    let facts = Facts {
        host: Host {
            port_range: Some((32_768, 60_999)),
            ..Host::default()
        },
        generator,
        duration_s: 1.0,
        ..Facts::of(plan.recorded())
    };
    let mut record: Record = Record::assemble(&Tally::new(Loop::Closed), facts);
    record.status = BTreeMap::from([("200".to_owned(), 50_000)]);
    record.achieved_rate = 50_000.0;
    let mut watched = Watched::default();
    watched.subject.wall_ns = 1_000_000_000;
    watched.subject.cpu_ns = 990_000_000;
    watched.host.wall_ns = 1_000_000_000;
    watched.host.busy_ns = Some(1_600_000_000);
    watched.host.steal_ns = Some(0);
    watched.host.unattributed = Some(0.01);
    watched.host.pressure = Some(0.01);
    watched.host.throttled_ns = Some(0);
    watched.host.quota = Some(Quota::Unlimited);
    watched.host.network.tcp = counters(&[("OutSegs", 100_000), ("RetransSegs", 0)]);
    watched.host.network.softnet_dropped = Some(0);
    watched.host.network.sockets = Some(150);
    Round {
        schema_version: crate::round::SCHEMA_VERSION,
        row: "plain".into(),
        round: 1,
        start: 1,
        began_unix_s: 0,
        sample: Sample {
            round: 1,
            requests_per_second: 50_000.0,
            completed: 50_000,
            server_busy: 0.99,
            generator_busy: Some(0.6),
            bytes_per_exchange: Some(130.0),
            ..Sample::default()
        },
        watched,
        faults: Vec::new(),
        record: Some(record),
        phases: Vec::new(),
        generated: None,
    }
}

fn counters(all: &[(&str, u64)]) -> BTreeMap<String, u64> {
    let zeroes = ["ListenDrops", "ListenOverflows", "TCPBacklogDrop"];
    let zeroes = zeroes.iter().map(|name| ((*name).to_owned(), 0));
    let given = all.iter().map(|(name, count)| ((*name).to_owned(), *count));
    zeroes.chain(given).collect()
}

fn found(round: &Round) -> Vec<(Check, Severity)> {
    let findings = round::findings(Seen::of(round)).into_iter();
    findings
        .map(|finding| (finding.check, finding.severity))
        .collect()
}

/// What is found when one thing about a good round is changed.
fn after(change: impl FnOnce(&mut Round)) -> Vec<(Check, Severity)> {
    let mut round = well();
    change(&mut round);
    found(&round)
}

fn record(round: &mut Round) -> &mut Record {
    round.record.as_mut().expect("a round has one")
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(found(&well()), []);
    let looked = round::look(Seen::of(&well()));
    let unknown = |(_, looked): &&(Check, Looked)| matches!(looked, Looked::Unknown(_));
    assert_eq!(looked.iter().filter(unknown).count(), 0, "{looked:?}");
}

#[test]
fn rounds_without_a_success_or_with_many_failures_count_for_nothing() {
    let void = [(Check::Errors, Severity::Void)];
    assert_eq!(after(|round| round.sample.completed = 0), void);
    assert_eq!(after(|round| round.sample.failed = 1_000), void);
    // The record's account counts what no exchange failed with: a server that was gone.
    let dead = |round: &mut Round| {
        round.sample.failed = 4;
        round.sample.lost = Some(Lost {
            failed: 4,
            attempts: 6,
            of: 50_010,
            outage_share: 0.3,
            ..Lost::default()
        });
    };
    assert_eq!(after(dead), void);
    let said = round::findings(Seen::of(&{
        let mut round = well();
        dead(&mut round);
        round
    }));
    let expected = "30.0 % of the load was lost: 4 failed, 6 failed attempts to connect, no \
                    answers for 30.0 % of the time";
    assert_eq!(said[0].sentence, expected);
    let unanswered = |round: &mut Round| {
        round.sample.lost = Some(Lost {
            unfinished: 2_000,
            of: 52_000,
            ..Lost::default()
        });
    };
    assert_eq!(after(unanswered), void);
    let few = after(|round| round.sample.failed = 3);
    assert_eq!(few, [(Check::Errors, Severity::Caution)]);
    let invalid = after(|round| {
        record(round).valid = false;
        record(round).warnings = vec!["the completion queue overflowed".into()];
    });
    assert_eq!(invalid, [(Check::Record, Severity::Void)]);
}

#[test]
fn a_generator_at_its_limit_is_a_bound_unless_the_server_was_full_too() {
    let limited = |round: &mut Round| {
        let generator = &mut record(round).generator;
        generator.limited = true;
        generator.littles_law_gap = Some(0.08);
        generator.cpu_share_max = Some(0.99);
        generator.run_queue_share_max = Some(0.12);
    };
    assert_eq!(after(limited), []);
    let bounds = [
        Check::Generator,
        Check::LittlesLaw,
        Check::GeneratorBusy,
        Check::RunQueue,
    ];
    let idle = after(|round| {
        limited(round);
        round.sample.server_busy = 0.7;
    });
    assert_eq!(idle, bounds.map(|check| (check, Severity::Bound)));
    let near = after(|round| {
        record(round).generator.cpu_share_max = Some(0.9);
        record(round).generator.littles_law_gap = Some(0.03);
        record(round).generator.run_queue_share_max = Some(0.03);
        round.sample.server_busy = 0.7;
    });
    let mild = [Check::LittlesLaw, Check::GeneratorBusy, Check::RunQueue];
    assert_eq!(near, mild.map(|check| (check, Severity::Caution)));
}

#[test]
fn at_a_fixed_rate_lateness_and_an_unreached_rate_are_seen() {
    let fixed = |round: &mut Round| {
        let record = record(round);
        record.offered_rate = Some(50_000.0);
        record.generator.littles_law_gap = None;
        record.response_time_us.p50 = Some(100.0);
        record.lateness_us.p99 = Some(12.0);
    };
    assert_eq!(after(fixed), []);
    let late = after(|round| {
        fixed(round);
        record(round).lateness_us.p99 = Some(51.0);
    });
    assert_eq!(late, [(Check::Lateness, Severity::Caution)]);
    let slow = after(|round| {
        fixed(round);
        record(round).achieved_rate = 45_000.0;
    });
    assert_eq!(slow, [(Check::OfferedRate, Severity::Caution)]);
    // However busy the server was: the times are the generator's.
    let limited = after(|round| {
        fixed(round);
        record(round).generator.limited = true;
    });
    assert_eq!(limited, [(Check::Generator, Severity::Bound)]);
    // A small number of random arrivals may be a few short of the rate by chance.
    let chance = after(|round| {
        fixed(round);
        record(round).offered_rate = Some(400.0);
        record(round).achieved_rate = 360.0;
    });
    assert_eq!(chance, []);
}

#[test]
fn a_subject_that_leaves_its_cores_is_seen() {
    let may = after(|round| round.watched.subject.threads_on_generator_cores = 2);
    assert_eq!(may, [(Check::Cores, Severity::Caution)]);
    let does = after(|round| {
        round.watched.subject.threads_on_generator_cores = 2;
        round.sample.server_busy = 1.4;
    });
    assert_eq!(does, [(Check::Cores, Severity::Void)]);
}

#[test]
fn of_a_server_that_was_running_already_only_what_was_seen_is_judged() {
    let seen = |threads| {
        after(|round| {
            let subject = &mut round.watched.subject;
            (subject.own_cores, subject.processes) = (Some(2), 1);
            subject.threads_on_generator_cores = threads;
        })
    };
    assert_eq!(seen(0), []);
    assert_eq!(seen(3), [(Check::Cores, Severity::Caution)]);
    let mut unseen = well();
    unseen.watched.subject.own_cores = Some(0);
    // It includes what the server used.
    unseen.watched.host.unattributed = Some(0.9);
    assert_eq!(found(&unseen), []);
    let looked = round::look(Seen::of(&unseen)).into_iter();
    let unknown = looked.filter(|(_, looked)| matches!(looked, Looked::Unknown(_)));
    let unknown: Vec<Check> = unknown.map(|(check, _)| check).collect();
    let wanted = [Check::Cores, Check::Unattributed, Check::IdleSubjects];
    assert_eq!(unknown, wanted);
}

#[test]
fn a_disturbed_host_is_seen() {
    type Change = fn(&mut Round);
    let disturbances: [(Check, Change); 10] = [
        (Check::Unattributed, |round| {
            round.watched.host.unattributed = Some(0.3)
        }),
        (Check::IdleSubjects, |round| round.sample.others_busy = 0.04),
        (Check::Pressure, |round| {
            round.watched.host.pressure = Some(0.4)
        }),
        (Check::Steal, |round| {
            round.watched.host.steal_ns = Some(40_000_000)
        }),
        (Check::Quota, |round| {
            round.watched.host.throttled_ns = Some(5_000_000)
        }),
        (Check::Retransmits, |round| {
            round.watched.host.network.tcp = counters(&[("OutSegs", 100_000), ("RetransSegs", 90)]);
        }),
        (Check::ListenDrops, |round| {
            round.watched.host.network.tcp =
                counters(&[("OutSegs", 1), ("RetransSegs", 0), ("ListenDrops", 3)]);
        }),
        (Check::PacketDrops, |round| {
            round.watched.host.network.softnet_dropped = Some(2)
        }),
        (Check::Ports, |round| {
            round.watched.host.network.sockets = Some(27_000)
        }),
        (Check::Errors, |round| round.sample.failed = 1),
    ];
    for (check, change) in disturbances {
        assert_eq!(after(change), [(check, Severity::Caution)], "{check:?}");
    }
    let throttled = after(|round| round.watched.host.throttled_ns = Some(100_000_000));
    assert_eq!(throttled, [(Check::Quota, Severity::Void)]);
}

#[test]
fn a_quota_that_cannot_be_seen_is_not_called_none() {
    let looked = |throttled_ns, quota: Option<Quota>| {
        let mut round = well();
        round.watched.host.throttled_ns = throttled_ns;
        round.watched.host.quota = quota;
        let all = round::look(Seen::of(&round)).into_iter();
        let mut quotas = all.filter(|(check, _)| *check == Check::Quota);
        quotas.next().expect("it is looked at").1
    };
    let passed = |found: &Looked| matches!(found, Looked::Passed(_));
    let hidden = || Some(Quota::Unknown("the groups above aren't visible".into()));
    for throttled in [None, Some(0)] {
        assert!(passed(&looked(throttled, Some(Quota::Unlimited))));
        assert!(matches!(looked(throttled, hidden()), Looked::Unknown(_)));
    }
    assert!(passed(&looked(Some(0), Some(Quota::Millicpus(500)))));
    assert!(passed(&looked(Some(0), None)));
    for quota in [Some(Quota::Millicpus(500)), None] {
        assert!(matches!(looked(None, quota), Looked::Unknown(_)));
    }
    let void = |found| matches!(found, Looked::Found(Severity::Void, _));
    assert!(void(looked(Some(100_000_000), hidden())));
}

#[test]
fn lateness_takes_the_figures_that_it_could_have_moved_and_no_others() {
    let mut round = well();
    let record = record(&mut round);
    record.offered_rate = Some(50_000.0);
    record.response_time_us.mean = Some(1_100.0);
    record.response_time_us.p50 = Some(1_000.0);
    record.response_time_us.p99 = Some(9_000.0);
    record.lateness_us.p99 = Some(20.0);
    record.exchanges.completed = 50_000;
    let figures = |record: &Record| {
        let sample = Sample::new(1, record, Default::default(), 1);
        (sample.mean_us, sample.p50_us, sample.p99_us)
    };
    assert_eq!(
        figures(record),
        (Some(1_100.0), Some(1_000.0), Some(9_000.0))
    );
    record.void = vec![Moved {
        figure: "p99".into(),
        by_us: 7_000.0,
        allowed_us: 450.0,
    }];
    assert_eq!(figures(record), (Some(1_100.0), Some(1_000.0), None));
    assert_eq!(found(&round), [(Check::Lateness, Severity::Caution)]);
}

#[test]
fn strangers_are_named_and_the_idle_subjects_are_none() {
    let mut round = well();
    round.watched.host.unattributed = Some(0.3);
    let other = |name: &str, share| Other {
        name: name.into(),
        processes: 1,
        share,
    };
    round.watched.host.others = vec![other("rustc", 0.2), other("sshd", 0.02)];
    let findings = round::findings(Seen::of(&round));
    let sentence = &findings[0].sentence;
    assert_eq!(
        sentence,
        "something else used 30.0 % of a core, `rustc` 20.0 %, `sshd` 2.0 %"
    );
    // What the subjects that waited for their turn used has a check of its own.
    round.watched.subject.others_busy = 0.28;
    assert_eq!(found(&round), []);
}

#[test]
fn what_cannot_be_seen_is_said_and_is_no_finding() {
    let blind = after(|round| {
        round.watched = Watched::default();
        round.record = None;
    });
    assert_eq!(blind, []);
    let mut round = well();
    round.watched = Watched::default();
    round.record = None;
    let looked = round::look(Seen::of(&round));
    let unknown = |check: Check| {
        let (_, looked) = looked
            .iter()
            .find(|(found, _)| *found == check)
            .expect("looked at");
        matches!(looked, Looked::Unknown(_))
    };
    for check in [
        Check::Generator,
        Check::Cores,
        Check::Steal,
        Check::Ports,
        Check::Pressure,
    ] {
        assert!(unknown(check), "{check:?}");
    }
}

fn manifest(baseline: &str, rows: Vec<RowFacts>) -> Manifest {
    Manifest {
        file_hash: None,
        schema_version: crate::manifest::SCHEMA_VERSION,
        setup: Setup {
            judged_by: Vec::new(),
            equal_rate: None,
            name: "example".into(),
            question: "Which is faster?".into(),
            began: String::new(),
            ringside: String::new(),
            ringside_sha256: None,
            metric: crate::verdict::Metric::RequestsPerSecond,
            baseline: baseline.into(),
            rounds: 3,
            order: Vec::new(),
            seed: 1,
            smallest_difference: 0.02,
            rounds_per_start: None,
            precision: None,
            budget_s: None,
            asked: String::new(),
            load: String::new(),
            rate: None,
            window_s: 1.0,
            settle_s: 0.2,
            warm_up_s: 0.5,
            server_cores: vec![0],
            generator_cores: vec![1],
            engine: "auto".into(),
            ended_early: None,
        },
        host: Host::default(),
        pressure_before: Some(0.01),
        network: None,
        asked: Default::default(),
        cautions: Vec::new(),
        rows,
        looks: None,
        looked: Vec::new(),
        stopped: None,
        spent_s: 0.0,
    }
}

fn facts(name: &str) -> RowFacts {
    RowFacts {
        name: name.into(),
        role: Role::Subject,
        description: String::new(),
        version: None,
        command: String::new(),
        binaries: Vec::new(),
        source: None,
        outcome: Outcome::Measured,
        asked: None,
        spoilt: None,
        ran_before: None,
        process: None,
        subject: name.into(),
        own_server: false,
        content_type: Some("text/plain".into()),
        link: None,
        cold: None,
        left_behind: Default::default(),
        profile: None,
        generator: None,
    }
}

/// A row's name, what is special about it, and its rounds.
type Given<'a> = (&'a str, &'a dyn Fn(&mut RowFacts), Vec<Round>);

/// What is found about rows, the first of which is the baseline.
fn beside(rows: &[Given<'_>]) -> BTreeMap<String, Vec<Finding>> {
    let changed = rows.iter().map(|(name, change, _)| {
        let mut facts = facts(name);
        change(&mut facts);
        facts
    });
    let manifest = manifest(rows[0].0, changed.collect());
    let rounds = rows.iter().flat_map(|(name, _, rounds)| {
        rounds.iter().zip(1..).map(|(round, number)| {
            let mut round = round.clone();
            round.row = (*name).into();
            (round.round, round.sample.round) = (number, number);
            round
        })
    });
    let rounds: Vec<Round> = rounds.collect();
    rows::findings(&manifest, &rounds)
}

fn same(_: &mut RowFacts) {}

fn three(change: impl Fn(&mut Round)) -> Vec<Round> {
    let mut round = well();
    change(&mut round);
    vec![round.clone(), round.clone(), round]
}

fn checks(found: &BTreeMap<String, Vec<Finding>>, row: &str) -> Vec<(Check, Severity)> {
    let findings = found.get(row).map(Vec::as_slice).unwrap_or_default();
    findings
        .iter()
        .map(|finding| (finding.check, finding.severity))
        .collect()
}

#[test]
fn unequal_work_shows_beside_the_baseline_only() {
    let other_work = three(|round| {
        record(round).status = BTreeMap::from([("404".to_owned(), 50_000)]);
        round.sample.bytes_per_exchange = Some(900.0);
    });
    let html = |facts: &mut RowFacts| facts.content_type = Some("text/html".into());
    let rows = beside(&[
        ("plain", &same, three(|_| {})),
        ("other", &html, other_work.clone()),
        ("equal", &same, three(|_| {})),
    ]);
    let expected = [
        (Check::Status, Severity::Void),
        (Check::Bytes, Severity::Caution),
        (Check::ContentType, Severity::Caution),
    ];
    assert_eq!(checks(&rows, "other"), expected);
    assert_eq!(checks(&rows, "plain"), []);
    assert_eq!(checks(&rows, "equal"), []);
    // Whoever is asked something else may answer something else.
    let asked = |facts: &mut RowFacts| facts.asked = Some("GET /missing".into());
    let rows = beside(&[
        ("plain", &same, three(|_| {})),
        ("other", &asked, other_work),
    ]);
    assert_eq!(checks(&rows, "other"), []);
}

#[test]
fn near_the_ceiling_a_figure_is_a_bound_unless_the_server_was_plainly_the_limit() {
    let at = |rate: f64, busy: f64, generator: f64| {
        three(|round| {
            round.sample.requests_per_second = rate;
            round.sample.server_busy = busy;
            round.sample.generator_busy = Some(generator);
        })
    };
    let ceiling = |facts: &mut RowFacts| facts.role = Role::Ceiling;
    let rows = beside(&[
        ("slow", &same, at(60_000.0, 0.99, 0.5)),
        ("fast", &same, at(80_000.0, 0.80, 0.9)),
        ("full", &same, at(80_000.0, 0.99, 0.9)),
        ("both", &same, at(80_000.0, 0.99, 0.99)),
        ("ringside", &ceiling, at(100_000.0, 0.99, 0.9)),
    ]);
    assert_eq!(checks(&rows, "slow"), []);
    assert_eq!(checks(&rows, "fast"), [(Check::Ceiling, Severity::Bound)]);
    assert_eq!(checks(&rows, "full"), []);
    assert_eq!(checks(&rows, "both"), [(Check::Ceiling, Severity::Bound)]);
}

#[test]
fn a_stranger_that_works_in_the_rounds_of_one_row_only_works_for_it() {
    let with = |name: &'static str, share| {
        three(move |round| {
            round.watched.host.others = vec![Other {
                name: name.into(),
                processes: 1,
                share,
            }];
        })
    };
    let rows = beside(&[
        ("plain", &same, with("worker", 0.01)),
        ("leaky", &same, with("worker", 0.6)),
        ("noisy", &same, with("rustc", 0.6)),
        ("other", &same, with("rustc", 0.5)),
    ]);
    assert_eq!(checks(&rows, "leaky"), [(Check::Elsewhere, Severity::Void)]);
    assert_eq!(checks(&rows, "plain"), []);
    assert_eq!(
        checks(&rows, "noisy"),
        [],
        "it was busy beside another row, too"
    );
    let mild = beside(&[
        ("plain", &same, three(|_| {})),
        ("leaky", &same, with("worker", 0.1)),
    ]);
    assert_eq!(
        checks(&mild, "leaky"),
        [(Check::Elsewhere, Severity::Caution)]
    );
    let two = |share| {
        with("worker", share)
            .into_iter()
            .take(2)
            .collect::<Vec<_>>()
    };
    let few = beside(&[("plain", &same, two(0.0)), ("leaky", &same, two(0.6))]);
    assert_eq!(
        checks(&few, "leaky"),
        [(Check::Elsewhere, Severity::Caution)]
    );
    let again = |facts: &mut RowFacts| facts.subject = "leaky".into();
    let twice = beside(&[
        ("leaky", &same, with("worker", 0.6)),
        ("leaky-again", &again, with("worker", 0.6)),
        ("plain", &same, three(|_| {})),
    ]);
    assert_eq!(
        checks(&twice, "leaky"),
        [(Check::Elsewhere, Severity::Void)]
    );
}

#[test]
fn what_was_measured_cold_is_void() {
    let cold = |facts: &mut RowFacts| {
        let (needed_s, given_s) = (100.0, 5.0);
        facts.cold = Some(Cold { needed_s, given_s });
    };
    let rows: [Given<'_>; 2] = [
        ("warm", &|_| {}, vec![well()]),
        ("cold", &cold, vec![well()]),
    ];
    let found = beside(&rows);
    let of = |row: &str| found[row].iter().find(|one| one.check == Check::WarmUp);
    assert_eq!(of("warm"), None);
    let void = of("cold").expect("it is said");
    assert_eq!(void.severity, Severity::Void);
    assert!(
        void.sentence.contains("5 s of load instead of the 100 s"),
        "{void:?}"
    );
}

#[test]
fn who_was_left_behind_is_named() {
    let left = |facts: &mut RowFacts| {
        facts.left_behind = ["sleep".to_owned(), "worker".to_owned()].into();
    };
    let rows = beside(&[("plain", &left, three(|_| {}))]);
    let sentence = &rows["plain"][0].sentence;
    assert!(sentence.ends_with("`sleep`, `worker`"), "{sentence}");
}

/// These disciplines on the loopback interface.
fn loopback(kinds: &[&str]) -> Option<BTreeMap<String, Vec<String>>> {
    let kinds = kinds.iter().map(|kind| (*kind).to_owned());
    Some([("lo".to_owned(), kinds.collect())].into())
}

#[test]
fn a_host_that_paces_packets_or_changes_its_clock_is_seen() {
    let usual = Host {
        congestion_control: Some("cubic".into()),
        governor: Some("performance".into()),
        loopback_mtu: Some(65_536),
        queueing: loopback(&["noqueue"]),
        ..Host::default()
    };
    let found = |facts: &Host, pressure: Option<f64>| -> Vec<Check> {
        let looked = host(facts, pressure).into_iter();
        let found = looked.filter(|(_, looked)| matches!(looked, Looked::Found(..)));
        found.map(|(check, _)| check).collect()
    };
    assert_eq!(found(&usual, Some(0.01)), []);
    assert_eq!(found(&usual, Some(0.2)), [Check::PressureBefore]);
    assert_eq!(found(&Host::default(), None), [], "not known is not found");
    let special = Host {
        congestion_control: Some("bbr".into()),
        governor: Some("powersave".into()),
        loopback_mtu: Some(1500),
        queueing: loopback(&["prio", "netem"]),
        ..Host::default()
    };
    let expected = [
        Check::Mtu,
        Check::Queueing,
        Check::CongestionControl,
        Check::Governor,
    ];
    assert_eq!(found(&special, Some(0.01)), expected);
}

#[test]
fn every_check_has_a_line_and_the_worst_of_its_rounds_stands_in_it() {
    let manifest = manifest("plain", vec![facts("plain")]);
    let rounds: Vec<Round> = [0, 3, 40_000]
        .iter()
        .map(|failed| {
            let mut round = well();
            round.sample.failed = *failed;
            round
        })
        .collect();
    let lines = all(&manifest, &rounds);
    let errors = lines
        .iter()
        .find(|line| line.check == Check::Errors)
        .expect("looked at");
    assert_eq!((errors.found, errors.of), (2, 3));
    assert!(
        matches!(errors.looked, Looked::Found(Severity::Void, _)),
        "{errors:?}"
    );
    let mut seen: Vec<Check> = lines.iter().map(|line| line.check).collect();
    assert!(seen.is_sorted());
    seen.dedup();
    assert_eq!(seen.len(), 30, "{seen:?}");
    assert!(seen.iter().all(|check| !check.asks().is_empty()));
}

/// A round of a generator that says what it did, of which the server counted `counted`.
fn generated(counted: u64, said: Option<Said>) -> Round {
    let mut round = well();
    round.record = None;
    round.generated = Some(Generated {
        command: "wrk http://127.0.0.1:1/".into(),
        counted,
        counted_in_window: counted / 2,
        window_s: 2.0,
        alive_s: 5.1,
        cpu_ns: 4_000_000_000,
        user_ns: 1_000_000_000,
        system_ns: 3_000_000_000,
        busy: 0.8,
        memory_peak_bytes: None,
        under_way: 200,
        said,
        wrote: Vec::new(),
    });
    round
}

#[test]
fn what_a_generator_says_is_held_against_what_the_server_counted() {
    let said = |requests, failed, seconds| {
        Some(Said {
            requests,
            seconds,
            failed,
            p50_us: None,
            p99_us: None,
        })
    };
    let looked = |round: &Round| {
        let looked = round::look(round::Seen::of(round));
        let own = looked.into_iter().find(|(check, _)| *check == Check::Says);
        own.expect("it is asked of generators").1
    };
    for (counted, said, expected) in [
        (100_000, said(100_000, 0, 5.0), None),
        // Those under way, and one percent.
        (100_000, said(98_801, 0, 5.0), None),
        (
            100_000,
            said(98_799, 0, 5.0),
            Some("it says 19,760/s, and the server counted 20,000/s (98799 and 100000 requests)"),
        ),
        (100_000, said(102_000, 0, 5.0), Some("it says 20,400/s")),
        // What failed may have reached the server or not.
        (100_000, said(90_000, 10_000, 5.0), None),
        (90_000, said(100_000, 10_000, 5.0), None),
        (100_000, said(100_000, 0, 0.0), Some("it says 0/s")),
        (
            100_000,
            said(100_000, 0, 6.0),
            Some("it says that it ran for 6.00 s, and it was alive for 5.10 s"),
        ),
    ] {
        match (looked(&generated(counted, said)), expected) {
            (Looked::Passed(_), None) => {}
            (Looked::Found(Severity::Caution, found), Some(expected)) => {
                assert!(found.starts_with(expected), "{found}");
            }
            (other, _) => panic!("{said:?}: {other:?}"),
        }
    }
    let silent = looked(&generated(1, None));
    assert!(matches!(silent, Looked::Unknown(_)), "{silent:?}");
}

#[test]
fn rounds_of_generators_are_asked_what_means_something_there() {
    let full = generated(100_000, None);
    let looked = round::look(round::Seen::of(&full));
    let found = looked.iter().find(|(check, _)| *check == Check::ServerBusy);
    let (_, Looked::Found(Severity::Caution, sentence)) = found.expect("it is looked at") else {
        panic!("its cores were 99 % busy: {found:?}");
    };
    assert!(sentence.contains("99.0 % busy"), "{sentence}");
    let asked = |check| looked.iter().any(|(one, _)| *one == check);
    assert!(!asked(Check::LittlesLaw) && !asked(Check::Lateness));
    let ours = round::look(round::Seen::of(&well())).into_iter();
    let of_generators = [Check::Says, Check::ServerBusy];
    assert!(
        ours.map(|(check, _)| check)
            .all(|check| !of_generators.contains(&check))
    );
}
