//! The reports of a fixed set of samples, compared with what is kept in `snapshots/`.

mod faulted;
mod mix;

use lab::finding::{Check, Finding, Severity};
use lab::judging::{CLOSED, EQUAL};
use lab::manifest::{Outcome, Profile, RanBefore, Role};
use lab::round::{PhaseRun, Watched};
use netns::link::Link;
use profiles::calls::Calls;
use supervisor::watch::subject::SharedPages;

use super::*;
use crate::alone::stands_alone;
use crate::made_up::{kept, rounds, row, setup};
use crate::snapshot;

fn report(setup: Setup, cautions: Vec<String>, rows: Vec<(RowFacts, Vec<Round>)>) -> Report {
    let (manifest, rounds) = kept(setup, cautions, rows);
    Report::new(&manifest, &rounds)
}

/// What was seen of so many processes of a row.
fn used(rounds: &mut [Round], processes: u32) {
    for round in rounds {
        let subject = &mut round.watched.subject;
        subject.processes = processes;
        subject.memory_idle_bytes = Some(5_000_000);
        subject.memory_mean_bytes = Some(6_000_000 + u64::from(round.round));
        subject.memory_peak_bytes = Some(6_400_000);
        subject.memory_per_connection_bytes = Some(5_000);
        if processes > 1 {
            subject.shared_pages = SharedPages::Divided;
        }
    }
}

/// One subject for each kind of row.
fn example() -> Report {
    let mut limited = rounds(410_000.0, 0.61);
    for sample in &mut limited {
        sample.findings = vec![Finding {
            check: Check::Generator,
            severity: Severity::Bound,
            sentence: "its worker was busy".into(),
        }];
        sample.generator_busy = Some(0.99);
    }
    let mut flawed = rounds(100_000.0, 0.99);
    flawed[1].failed = 12;
    flawed[1].errors = [("reset".to_owned(), 12)].into();
    flawed[3].others_busy = 0.07;
    let died = Outcome::Failed {
        what: "died in round 2: it exited with status 7".into(),
        log: vec!["serving".into(), "panic: out of luck".into()],
    };
    let missing = Outcome::Missing {
        install: "`go` is not installed. Install Go 1.21 or later.".into(),
    };
    let similar = rounds(301_000.0, 0.985).into_iter().rev().zip(1..);
    let similar = similar
        .map(|(sample, round)| Sample { round, ..sample })
        .collect();
    let mut ours = row("ours", Outcome::Measured, rounds(300_000.0, 0.99));
    used(&mut ours.1, 1);
    ours.0.profile = Some(Profile {
        calls: Some(Calls {
            per_exchange: 1.5,
            by_name: [("read", 1.0), ("futex", 0.001), ("write", 0.5)]
                .map(|(name, each)| (name.to_owned(), each))
                .into(),
        }),
        missing: vec!["no flame graph: perf saw ours on no processor".into()],
        ..Profile::default()
    });
    let mut similar = row("similar", Outcome::Measured, similar);
    used(&mut similar.1, 3);
    let mut again = row("ours-again", Outcome::Measured, rounds(299_500.0, 0.99));
    again.0.role = Role::Again;
    report(
        setup(),
        vec!["Something else was running.".into()],
        vec![
            ours,
            similar,
            row("limited", Outcome::Measured, limited),
            row("slow", Outcome::Measured, flawed),
            row("dead", died, rounds(50_000.0, 0.99)[..1].to_vec()),
            row("go", missing, Vec::new()),
            again,
        ],
    )
}

/// Rounds with a closed loop and a rate that all are offered alike, at which a request costs so
/// many microseconds.
fn at_two_loads(name: &str, rate: f64, cpu_us: f64) -> (RowFacts, Vec<Round>) {
    let (facts, mut all) = row(name, Outcome::Measured, rounds(rate, 0.99));
    for round in &mut all {
        let closed = round.sample.clone();
        let share = closed.requests_per_second / rate;
        let equal = Sample {
            requests_per_second: 33_000.0,
            p50_us: Some(10.0 * cpu_us),
            p95_us: Some(20.0 * cpu_us),
            p99_us: Some(30.0 * cpu_us * share),
            server_cpu_us_per_exchange: Some(cpu_us / share),
            server_busy: 33e3 * cpu_us / 1e6,
            ..closed.clone()
        };
        let phase = |name: &str, rate, sample| PhaseRun {
            name: name.into(),
            rate,
            connections: 200,
            compared: rate.is_none(),
            equal: rate.is_some(),
            sample,
            watched: Watched::default(),
            faults: Vec::new(),
            conditions: Vec::new(),
            record: None,
        };
        round.phases = vec![
            phase(CLOSED, None, closed),
            phase(EQUAL, Some(33_000.0), equal),
        ];
    }
    (facts, all)
}

/// A comparison of a closed loop and an equal rate, in which the generator was the limit for two.
fn equal_example() -> Report {
    let mut full = at_two_loads("ours", 300_000.0, 3.3);
    let mut also = at_two_loads("similar", 299_000.0, 3.31);
    for round in full.1.iter_mut().chain(&mut also.1) {
        round.sample.findings = vec![Finding {
            check: Check::Generator,
            severity: Severity::Bound,
            sentence: "its worker was busy".into(),
        }];
        round.sample.generator_busy = Some(0.99);
    }
    let mut again = at_two_loads("ours-again", 299_500.0, 3.3);
    again.0.role = Role::Again;
    let setup = Setup {
        judged_by: vec![
            Metric::RequestsPerSecond,
            Metric::ServerCpuPerExchange,
            Metric::ResponseTimeP99,
            Metric::MemoryPeak,
        ],
        equal_rate: Some(33_000.0),
        ..setup()
    };
    let half = at_two_loads("half", 150_000.0, 6.7);
    let slow = at_two_loads("slow", 66_000.0, 15.1);
    report(setup, Vec::new(), vec![full, also, half, slow, again])
}

#[test]
fn two_loads_stand_side_by_side_under_one_ranking() {
    let look = Look {
        unicode: true,
        colour: false,
        width: 100,
    };
    let found = equal_example();
    let text = terminal(&found, look);
    check("equal.txt", &text);
    let widest = text.lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(110), "{text}");
    let said = "For the same 33,000/s, half takes 2.03 × and slow 4.58 × the CPU time of ours; no \
                difference from similar that matters.";
    assert_eq!(found.ranking[1], said);
    assert!(found.ranking[0].starts_with("ours answers at least 2 × the requests of half"));
    // A reason that holds for several is said once.
    let reason = "lower bound: the generator was the limit";
    assert_eq!(text.matches(reason).count(), 1, "{text}");
    check("equal.md", &markdown(&found));
    let page = html(&found, &Enclosed::default());
    stands_alone(&page);
    assert!(page.contains(said), "{page}");
    assert!(page.contains("Side by side"));
}

#[test]
fn rows_without_a_verdict_on_a_figure_share_a_sentence_and_two_have_their_own() {
    let without_p99 = |name: &str| {
        let (facts, mut rounds) = at_two_loads(name, 150_000.0, 6.7);
        for phase in rounds.iter_mut().flat_map(|round| &mut round.phases) {
            phase.sample.p99_us = None;
        }
        (facts, rounds)
    };
    let concluded = |rows: &[&str]| {
        let setup = Setup {
            judged_by: vec![
                Metric::RequestsPerSecond,
                Metric::ServerCpuPerExchange,
                Metric::ResponseTimeP99,
            ],
            equal_rate: Some(33_000.0),
            ..setup()
        };
        let rows = rows.iter().map(|name| without_p99(name));
        let ours = at_two_loads("ours", 300_000.0, 3.3);
        let all = std::iter::once(ours).chain(rows).collect();
        report(setup, Vec::new(), all).conclusions
    };
    let three = concluded(&["a", "b", "c"]);
    let shared: Vec<&String> = three.iter().filter(|it| it.contains("p99")).collect();
    assert_eq!(shared.len(), 1, "{three:?}");
    assert!(
        shared[0].starts_with("No verdict on p99 response time for a, b and c. Of a: "),
        "{shared:?}"
    );
    let two = concluded(&["a", "b"]);
    let own = two.iter().filter(|it| it.contains("no verdict on p99"));
    assert_eq!(own.count(), 2, "{two:?}");
}

fn check(name: &str, text: &str) {
    snapshot::check(".", name, text);
}

#[test]
fn the_terminal_shows_every_kind_of_row() {
    let look = Look {
        unicode: true,
        colour: false,
        width: 100,
    };
    let text = terminal(&example(), look);
    check("terminal.txt", &text);
    assert!(
        text.lines().all(|line| line.chars().count() <= 110),
        "{text}"
    );
}

#[test]
fn a_plain_terminal_gets_plain_letters() {
    let look = Look {
        unicode: false,
        colour: false,
        width: 80,
    };
    let text = terminal(&example(), look);
    assert!(text.is_ascii(), "{text}");
    check("plain.txt", &text);
}

#[test]
fn colours_are_used_only_where_wanted() {
    let look = |colour| Look {
        unicode: true,
        colour,
        width: 100,
    };
    assert!(terminal(&example(), look(true)).contains("\x1b[1m"));
    assert!(!terminal(&example(), look(false)).contains('\x1b'));
}

#[test]
fn markdown_shows_every_kind_of_row() {
    check("report.md", &markdown(&example()));
}

#[test]
fn what_was_used_is_told_with_how_it_was_counted_or_that_it_was_not() {
    let text = markdown(&example());
    let line = |name: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with(&format!("| {name} |")));
        line.unwrap_or_else(|| panic!("no line `{name}` in {text}"))
    };
    let calls = line("system calls per exchange");
    assert!(calls.contains("| 1.50 | not measured |"), "{calls}");
    let pages = line("shared pages in memory");
    assert!(pages.contains("| one process | divided (PSS) |"), "{pages}");
    let peak = line("memory, peak");
    assert!(peak.contains("| 6.10 MiB | ≤ 6.10 MiB |"), "{peak}");
    assert!(line("memory, mean").contains("| 5.72 MiB | 5.72 MiB |"));
    assert!(line("memory per connection").contains("| 4.88 KiB | 4.88 KiB |"));
    let page = html(&example(), &Enclosed::default());
    assert!(
        page.contains("1.50<small>read 1.00</small><small>write 0.500</small>"),
        "{page}"
    );
    let unseen = "ours: no flame graph: perf saw ours on no processor";
    assert!(page.contains(unseen), "{page}");
}

#[test]
fn limits_are_told_and_explain_why_threads_waited() {
    let (_, mut kept) = row("ours", Outcome::Measured, rounds(300_000.0, 0.99));
    used(&mut kept, 1);
    let seen = |kept: &[Round]| {
        let all: Vec<&Round> = kept.iter().collect();
        let resources = Resources::of(&all);
        let mut notes = limited(&all, resources.as_ref());
        notes.push(waited_for_a_core(0.84, &all, 1));
        notes.iter().map(Note::to_string).collect::<Vec<String>>()
    };
    let free = seen(&kept);
    assert_eq!(free.len(), 1, "{free:?}");
    assert!(free[0].ends_with("or with something else"), "{free:?}");
    for round in &mut kept {
        let limited = round.watched.limited.get_or_insert_default();
        limited.millicpus = Some(100);
        limited.memory_bytes = Some(4 << 20);
        limited.wall_ns = 1_000_000_000;
        limited.throttled_ns = 760_000_000;
    }
    let held = seen(&kept);
    assert_eq!(held[0], "limited to 0.1 CPUs and 4.00 MiB of memory");
    assert!(
        held[1].contains("peak memory is above its limit"),
        "{held:?}"
    );
    let why = "84 % of the time: its CPU limit held it back for 76 % of the time";
    assert!(held[2].ends_with(why), "{held:?}");
}

#[test]
fn a_subject_that_closes_each_connection_says_so_on_its_row_and_where_to_look_next() {
    let (facts, mut kept) = row("ours", Outcome::Measured, rounds(300_000.0, 0.5));
    let answers = |round: &Round| {
        round
            .record
            .as_ref()
            .and_then(|it| it.response_time_us.count)
    };
    let of_one = kept
        .first()
        .and_then(answers)
        .expect("a record has answers");
    for round in &mut kept {
        let connections = &mut round.record.as_mut().expect("each has one").connections;
        connections.opened = of_one + 2;
        connections.reopened = of_one - 8;
    }
    let of_all = kept.len() as u64;
    let report = report(setup(), Vec::new(), vec![(facts, kept)]);
    let told = format!(
        "{} opened for {} answers",
        whole((of_one + 2) * of_all),
        whole(of_one * of_all)
    );
    let notes: Vec<String> = report.subjects[0]
        .notes
        .iter()
        .map(Note::to_string)
        .collect();
    let note = format!("closes each connection: {told}");
    assert!(notes.contains(&note), "{notes:?}");
    let next = clue::told(&report.subjects);
    let clue = format!("Each connection is closed after its answer: ours ({told}).");
    assert!(next.iter().any(|one| one.starts_with(&clue)), "{next:?}");
}

#[test]
fn at_a_rate_a_generator_that_is_held_up_bounds_times_from_above() {
    let mut held_up = rounds(200.0, 0.1);
    for sample in &mut held_up {
        sample.findings = vec![Finding {
            check: Check::RunQueue,
            severity: Severity::Bound,
            sentence: "a worker was ready but waited for its core 40 % of the time".into(),
        }];
        sample.generator_busy = Some(0.09);
    }
    let (facts, mut kept) = row("ours", Outcome::Measured, held_up);
    for round in &mut kept {
        round.record.as_mut().expect("each has one").offered_rate = Some(200.0);
    }
    let setup = Setup {
        rate: Some(200.0),
        metric: Metric::ResponseTimeP99,
        ..setup()
    };
    let report = report(setup, Vec::new(), vec![(facts, kept)]);
    let look = Look {
        unicode: true,
        colour: false,
        width: 200,
    };
    let text = terminal(&report, look);
    let note = "upper bound of its response times: the generator was held up (a worker was ready";
    assert!(
        text.contains(note) && !text.contains("lower bound"),
        "{text}"
    );
    assert!(text.contains("offered 200/s at random times, "), "{text}");
    let due = "random times (Poisson): mostly 172 to 228 in a window.";
    assert!(report.limits.iter().any(|one| one.ends_with(due)), "{text}");
}

#[test]
fn json_holds_everything() {
    let text = json(&example());
    check("report.json", &text);
    let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(value["schema_version"], SCHEMA_VERSION);
    assert_eq!(value["subjects"][4]["outcome"]["state"], "failed");
    assert_eq!(value["subjects"][0]["name"], "ours");
    assert_eq!(
        value["subjects"][0]["profile"]["calls"]["per_exchange"],
        1.5
    );
}

#[test]
fn a_comparison_that_ended_early_says_so_first() {
    let mut setup = setup();
    setup.ended_early = Some("it was interrupted".into());
    let ours = row("ours", Outcome::NotReached, Vec::new());
    let report = report(setup, Vec::new(), vec![ours]);
    assert!(report.conclusions[0].contains("it was interrupted"));
    assert!(!report.complete() && !report.has_figures());
}

#[test]
fn our_own_server_alone_is_nothing_that_was_measured() {
    let mut ours = row("ceiling", Outcome::Measured, rounds(500_000.0, 0.9));
    ours.0.role = Role::Ceiling;
    let why = "it can't be laid".to_owned();
    let far = row("far", Outcome::Cannot { why }, Vec::new());
    assert!(!report(setup(), Vec::new(), vec![far, ours]).has_figures());
}

/// A page without its style sheet, a line for each element that begins one.
fn body(page: &str) -> String {
    let (_, body) = page.split_once("</style>").expect("a style sheet");
    body.replace("<section", "\n<section")
        .replace("<tr", "\n<tr")
        .replace("<figure", "\n<figure")
        .replace("<li", "\n<li")
}

#[test]
fn the_page_shows_every_kind_of_row_and_stands_alone() {
    let page = html(&example(), &Enclosed::default());
    stands_alone(&page);
    check("report.html", &body(&page));
    let first = page.find("No difference shown").expect("a verdict");
    assert!(first < page.find("<table").expect("a table"));
    assert!(page.len() < 200_000, "{} bytes", page.len());
}

#[test]
fn every_round_is_a_line_of_the_csv() {
    let text = csv(&example());
    check("report.csv", &text);
    let columns = |line: &str| line.split(',').count();
    let first = columns(text.lines().next().expect("headings"));
    assert!(text.lines().all(|line| columns(line) == first), "{text}");
    assert_eq!(text.lines().count(), 1 + 5 * 5 + 1);
}

#[test]
fn junit_has_a_case_for_each_subject_and_figure_and_none_fails_for_what_changes_no_exit_code() {
    let text = junit::comparison(&example());
    check("junit.xml", &text);
    let read = quick_junit::Report::deserialize_from_str(&text).expect("JUnit");
    // Of seven rows one died and one isn't installed; the baseline is there twice to compare with.
    let counts = (read.tests, read.failures, read.errors, read.skipped);
    assert_eq!(counts, (6, 0, 1, 1), "{text}");
    for open in [Kind::Undecided, Kind::Void, Kind::NotMeasured] {
        assert_eq!(junit::state(open), junit::State::Skipped, "{open:?}");
    }
    let mut early = setup();
    early.ended_early = Some("it was interrupted".into());
    let ours = row("ours", Outcome::Measured, rounds(300_000.0, 0.99));
    let late = row("late", Outcome::NotReached, Vec::new());
    let text = junit::comparison(&report(early, Vec::new(), vec![ours, late]));
    let read = quick_junit::Report::deserialize_from_str(&text).expect("JUnit");
    assert_eq!((read.errors, read.skipped), (1, 1), "{text}");
    let nothing = junit::comparison(&report(setup(), Vec::new(), Vec::new()));
    assert!(
        nothing.contains("<error message=\"Nothing was measured.\">"),
        "{nothing}"
    );
}

#[test]
fn figures_for_services_have_one_direction_a_file_and_the_ranges_of_rounds_and_ratios() {
    let measures = benchmark::comparison(&example());
    let read = |text: &str| -> Vec<serde_json::Value> { serde_json::from_str(text).expect("JSON") };
    let smaller = benchmark::smaller_is_better(&measures);
    let bigger = benchmark::bigger_is_better(&measures);
    check("smaller-is-better.json", &smaller);
    check("bigger-is-better.json", &bigger);
    check("bencher.json", &benchmark::bencher(&measures));
    let units = |text: &str| {
        let all = read(text);
        let units = all
            .iter()
            .map(|one| one["unit"].as_str().expect("a unit").to_owned());
        units.collect::<BTreeSet<String>>()
    };
    assert_eq!(
        units(&bigger),
        ["requests/s", "×"].map(str::to_owned).into()
    );
    assert_eq!(units(&smaller), ["bytes", "µs"].map(str::to_owned).into());
    let all = [read(&smaller), read(&bigger)].concat();
    let names: BTreeSet<String> = all.iter().map(|one| one["name"].to_string()).collect();
    assert_eq!(names.len(), all.len(), "each has a history of its own");
    assert!(
        all.iter()
            .all(|one| one["range"].as_str().is_some_and(|it| it.contains('–')))
    );
}

#[test]
fn the_same_records_make_the_same_files_byte_for_byte() {
    let enclosed = Enclosed::default();
    assert_eq!(files(&example(), &enclosed), files(&example(), &enclosed));
}

#[test]
fn what_stands_in_a_folder_cannot_break_out_of_the_page() {
    let mut hostile = setup();
    hostile.name = "</title><script>alert(1)</script>".into();
    let ours = row(
        "<img src=x onerror=alert(1)>",
        Outcome::Measured,
        rounds(3e5, 0.9),
    );
    hostile.baseline = ours.0.name.clone();
    let report = report(hostile, vec!["</style><b>".into()], vec![ours]);
    let svg = "<svg onload=\"alert(1)\"><script>\"'%</script></svg>";
    let enclosed = Enclosed {
        file: "</code></pre><script>".into(),
        flames: [(report.subjects[0].facts.name.clone(), svg.into())].into(),
    };
    let page = html(&report, &enclosed);
    stands_alone(&page);
    assert!(
        page.contains("data:image/svg+xml,%3Csvg onload=%22"),
        "{page}"
    );
}

#[test]
fn what_intervals_cover_is_what_the_rounds_were_started_as() {
    let covered = |starts: [u32; 2]| {
        let started = |rate| {
            let mut all = rounds(rate, 0.99);
            for (at, round) in all.iter_mut().enumerate() {
                round.start = starts[usize::from(at > 2)];
            }
            all
        };
        let ours = row("ours", Outcome::Measured, started(300_000.0));
        let other = row("other", Outcome::Measured, started(310_000.0));
        let report = report(setup(), Vec::new(), vec![ours, other]);
        let mut limits = report.limits.into_iter();
        limits.find(|one| one.starts_with("Intervals cover"))
    };
    let single = covered([1, 1]).expect("what they cover");
    assert!(single.contains("rounds of a single start"), "{single}");
    let resumed = covered([1, 2]).expect("what they cover");
    assert!(resumed.contains("between 2 starts"), "{resumed}");
}

#[test]
fn servers_that_ran_before_are_reported_where_they_were() {
    let limits = |places: [Option<RanBefore>; 2]| {
        let rows = ["ours", "other"].into_iter().zip(places);
        let rows = rows.map(|(name, place)| {
            let mut row = row(name, Outcome::Measured, rounds(300_000.0, 0.99));
            row.0.ran_before = place;
            row
        });
        let report = report(setup(), Vec::new(), rows.collect());
        report.limits.join("\n")
    };
    let (here, elsewhere) = (Some(RanBefore::Here), Some(RanBefore::Elsewhere));
    let on_this_host = "ran on this one host, over loopback";
    let told = limits([here, here]);
    assert!(
        told.contains(&format!("Both sides {on_this_host}")),
        "{told}"
    );
    assert!(told.contains("aren't started anew"), "{told}");
    let told = limits([None, elsewhere]);
    assert!(told.starts_with("other ran on another machine"), "{told}");
    let others = format!("The other rows and the generator {on_this_host}");
    assert!(told.contains(&others), "{told}");
    let told = limits([elsewhere, elsewhere]);
    assert!(told.starts_with("ours, other ran on another"), "{told}");
    assert!(!told.contains(on_this_host), "{told}");
}

#[test]
fn a_row_that_cannot_be_measured_here_says_why_in_every_format_and_a_link_is_told() {
    let why = "this kernel has no netem: `modprobe sch_netem`, or another kernel";
    let cannot = Outcome::Cannot {
        why: why.to_owned(),
    };
    let mut narrow = row("narrow", Outcome::Measured, rounds(300_000.0, 0.99));
    narrow.0.link = Some(Link {
        bandwidth_bits_per_s: Some(100_000_000),
        ..Link::USUAL
    });
    let mut far = row("far", cannot, Vec::new());
    far.0.link = Some(Link {
        loss: Some(0.01),
        ..Link::USUAL
    });
    let report = report(setup(), Vec::new(), vec![narrow, far]);
    assert!(report.complete() && report.has_figures());
    let look = Look {
        unicode: true,
        colour: false,
        width: 100,
    };
    let text = terminal(&report, look);
    assert!(text.contains("far: this kernel has no netem"), "{text}");
    assert!(text.contains("narrow: reached over 100 Mbit/s"), "{text}");
    assert!(!text.contains("reached over 1 %"), "nothing was: {text}");
    let text = markdown(&report);
    assert!(text.contains("## far can't be measured here"), "{text}");
    let page = html(&report, &Enclosed::default());
    assert!(page.contains("Can't be measured here:"), "{page}");
    let text = junit::comparison(&report);
    let read = quick_junit::Report::deserialize_from_str(&text).expect("JUnit");
    // The other one is skipped, too: there's nothing to compare it with.
    assert_eq!((read.errors, read.skipped), (0, 2), "{text}");
    let record: serde_json::Value = serde_json::from_str(&json(&report)).expect("JSON");
    let outcome = serde_json::json!({"state": "cannot", "why": why});
    assert_eq!(record["subjects"][1]["outcome"], outcome);
    let link = &record["subjects"][0]["link"];
    assert_eq!(link["bandwidth_bits_per_s"], 100_000_000);
}

#[test]
fn what_was_used_under_a_generator_is_the_servers() {
    let mut wrk = row("wrk", Outcome::Measured, rounds(300_000.0, 0.99));
    used(&mut wrk.1, 1);
    for round in &mut wrk.1 {
        round.sample.generator = Some(lab::sample::Generating::default());
    }
    let other = row("other", Outcome::Measured, rounds(310_000.0, 0.99));
    let report = report(setup(), Vec::new(), vec![wrk, other]);
    let look = Look {
        unicode: true,
        colour: false,
        width: 100,
    };
    let text = terminal(&report, look);
    assert!(text.contains("\n- the server under wrk: "), "{text}");
    let text = markdown(&report);
    assert!(
        text.contains("| | the server under wrk | other |"),
        "{text}"
    );
}

#[test]
fn a_figure_that_one_round_lacks_is_that_of_the_others() {
    let mut samples = rounds(100_000.0, 0.9);
    let whole = Figures::of(&samples).and_then(|figures| figures.p50_us);
    let whole = whole.expect("every round has one");
    samples[0].p50_us = None;
    let others = Figures::of(&samples).and_then(|figures| figures.p50_us);
    assert!(others.is_some_and(|others| others.highest == whole.highest));
    for sample in &mut samples {
        sample.p50_us = None;
    }
    let none = Figures::of(&samples).expect("there are rounds");
    assert!(none.p50_us.is_none(), "nobody measured it");
}
