//! Every kind of load in every kind of comparison: what answers lead to, mixes, rows of data and
//! scripts, in rounds, phases, sweeps and claims.

use std::fs;

use lab::comparison::Comparison;
use lab::manifest::Outcome as How;
use lab::{Event, Options};
use load::Stop;
use studies::{Outcome, compare, sweep};

use crate::resume::kept;
use crate::support::{Arena, beside_others, quick, tiny};

/// A comparison of `x` and `y` with this in its `[workload]`, and these sections.
fn written(arena: &Arena, words: &str, sections: &str) -> Options {
    let text = quick(&["x", "y"], 1).replace("path = \"/\"\n", &format!("{words}\n"));
    arena.comparison(&format!("{text}{sections}"))
}

fn run(options: &Options) -> Outcome {
    let tell = &mut |event: &Event<'_>| println!("{event}");
    let outcome = compare(options, &Stop::new(), tell);
    let outcome = outcome.unwrap_or_else(|error| panic!("{error}"));
    for row in &outcome.report.subjects {
        let found = &row.facts.outcome;
        assert!(matches!(found, How::Measured), "{found:?}");
    }
    outcome
}

/// An arena with a mix of two requests, rows for them, and a script.
fn arena(name: &str) -> Arena {
    let arena = Arena::new(name);
    arena.tiny("x", "").tiny("y", "");
    let beside = |name: &str, text: &str| {
        fs::write(arena.folder.join("comparisons").join(name), text).expect("writable");
    };
    beside(
        "mix.http",
        "### list\nGET http://z/\n### item\nGET http://z/{{id}}\n",
    );
    beside("ids.csv", "id\n1\n2\n");
    beside(
        "load.lua",
        "local n = 0\nfunction init(args) n = tonumber(args[1]) end\n\
         function request() n = n + 1 return wrk.format('GET', '/' .. n) end\n",
    );
    arena
}

const LOADS: [&str; 3] = [
    "targets = \"mix.http\"\ndata = \"ids.csv\"",
    "path = \"/{{id}}\"\ndata = \"ids.csv\"",
    "script = \"load.lua\"\nscript_args = [\"7\"]",
];

#[test]
fn what_answers_lead_to_is_part_of_the_exchange_in_every_row() {
    let _beside = beside_others();
    let arena = Arena::new("loads-answers");
    let moved = "\n[[answer]]\npath = \"/old\"\nstatus = 302\ncontent_type = \"text/plain\"\n\
                 body = \"Hello, World!\"\n";
    for name in ["x", "y"] {
        arena.subject(name, &(tiny("moves", "") + moved));
    }
    let words = "path = \"/old\"\nfollow = 1\ncookies = true\ncompressed = true\n\
                 user = \"ann:canary-2\"\nexpect = [\"status=200\", \"body~Hello\"]";
    let outcome = run(&written(&arena, words, ""));
    assert_eq!(outcome.end().exit_code(), 0);
    for round in &kept(&outcome.folder).rounds {
        let record = round.record.as_ref().expect("a record");
        assert_eq!(record.exchanges.failed, 0, "{:?}", record.errors);
        assert!(record.redirects >= record.exchanges.completed);
        let plan = &record.plan;
        let asked = plan.request.headers.iter();
        let asked: Vec<&str> = asked.map(|(name, _)| &**name).collect();
        assert_eq!(asked, ["Authorization", "Accept-Encoding"]);
        assert_eq!(
            (plan.follow, plan.cookies, plan.compressed),
            (1, true, true)
        );
    }
    let asked = &outcome.report.setup.asked;
    assert!(
        asked.contains("following up to 1 redirect, with cookies"),
        "{asked}"
    );
    let kept = fs::read_to_string(outcome.folder.join("comparison.toml")).expect("a copy");
    assert!(!kept.contains("canary"), "{kept}");
}

#[test]
fn phases_have_any_load() {
    let _beside = beside_others();
    let phases = "\n[[phase]]\nname = \"steady\"\nfor = \"60ms\"\npass = [\"errors<1%\"]\n\
                  [[phase]]\nname = \"spike\"\nfor = \"60ms\"\nrate = \"2k\"\n";
    for (at, words) in LOADS.iter().enumerate() {
        let arena = arena(&format!("loads-phases-{at}"));
        let options = written(&arena, words, phases);
        let text = fs::read_to_string(&options.file).expect("written");
        let text = text.replace("window = \"60ms\"\n", "");
        let outcome = run(&arena.comparison(&text));
        assert_eq!(outcome.end().exit_code(), 0, "{words}");
        let rounds = kept(&outcome.folder).rounds;
        assert_eq!(rounds[0].phases.len(), 2, "{words}");
    }
}

#[test]
fn sweeps_have_any_load() {
    let _beside = beside_others();
    let swept = "\n[sweep]\nconnections = [2, 3]\n";
    for (at, words) in LOADS.iter().enumerate() {
        let arena = arena(&format!("loads-sweep-{at}"));
        let options = written(&arena, words, swept);
        let found = sweep(&options, &Stop::new(), &mut |_: &Event<'_>| {});
        let found = found.unwrap_or_else(|error| panic!("{words}: {error}"));
        let found = found.expect("a sweep").sweep;
        let points = &found.points;
        assert_eq!(points.len(), 2, "{words}");
        assert!(points.iter().all(|point| point.rows.len() == 2), "{words}");
        let by_request = found.by_request();
        let is_mix = words.contains("mix.http");
        assert_eq!(by_request.len(), if is_mix { 8 } else { 0 }, "{words}");
        let formats = [
            studies::sweep::markdown(&found),
            studies::sweep::page(&found),
        ];
        for text in formats {
            assert_eq!(text.contains("By request"), is_mix, "{text}");
        }
        let table = studies::sweep::csv(&found);
        let lines: Vec<&str> = table.lines().collect();
        assert_eq!(lines.len(), if is_mix { 13 } else { 5 }, "{table}");
        assert_eq!(table.contains(",item\n"), is_mix, "{table}");
        let columns = |line: &str| line.split(',').count();
        assert!(
            lines.iter().all(|line| columns(line) == columns(lines[0])),
            "{table}"
        );
    }
}

#[test]
fn a_row_has_a_load_of_its_own() {
    let arena = arena("loads-rows");
    let rows = "[[rows]]\nname = \"plain\"\nsubject = \"x\"\n\
                [[rows]]\nname = \"other\"\nsubject = \"y\"\n\
                workload = { follow = 2, cookies = true, user = \"a:b\" }\n";
    let text = format!("{rows}[workload]\nexpect = [\"status=200\"]\n");
    let comparison = Comparison::read(&arena.comparison(&text).file, None).expect("it can be read");
    let asked = |at: usize| comparison.rows[at].question.words();
    assert_eq!(asked(0), "GET / over HTTP/1.1, expecting status=200");
    assert_eq!(
        asked(1),
        "GET / over HTTP/1.1, Authorization given, following up to 2 redirects, with cookies, \
         expecting status=200"
    );
}

#[test]
fn a_row_starts_its_subject_in_its_own_way_and_hides_secrets() {
    let arena = arena("loads-starts");
    let text = "[[rows]]\nname = \"plain\"\nsubject = \"x\"\n\
                [[rows]]\nname = \"other\"\nsubject = \"x\"\n\
                start = { arguments = [\"--on\", \"{port}\"], \
                environment = { A = \"1\", API_KEY = \"opensesame\" } }\n";
    let comparison = Comparison::read(&arena.comparison(text).file, None).expect("it can be read");
    let [plain, other] = &comparison.rows[..] else {
        panic!("{:?}", comparison.rows);
    };
    let (as_written, added) = (&plain.subject.start, &other.subject.start);
    assert_eq!(
        added.command.shown(),
        format!("{} --on {{port}}", as_written.command.shown())
    );
    let more = added.environment.len() - as_written.environment.len();
    assert_eq!((more, added.environment.contains_key("API_KEY")), (2, true));
    let said = &other.subject.description;
    assert!(
        said.ends_with(" --on {port}") && said.contains("A=1"),
        "{said}"
    );
    assert!(!said.contains("opensesame"), "{said}");
    let bad = text.replace("{port}", "{prot}");
    let bad = Comparison::read(&arena.comparison(&bad).file, None).map(drop);
    assert!(
        bad.expect_err("no placeholder")
            .to_string()
            .contains("prot")
    );
}

#[test]
fn searches_have_any_load_and_tell_each_request() {
    let _beside = beside_others();
    let slo = "\n[capacity]\nslo = [\"errors<5%\"]\n";
    for (at, words) in LOADS.iter().enumerate() {
        let arena = arena(&format!("loads-capacity-{at}"));
        let compare = written(&arena, words, slo);
        let options = capacity::Options {
            from: Some(100.0),
            to: Some(200.0),
            window: Some(std::time::Duration::from_millis(300)),
            repeats: Some(1),
            confirmations: Some(1),
            out: compare.out,
            cache: compare.cache,
            ..capacity::Options::new(
                capacity::Whose::File(compare.file),
                Vec::new(),
                compare.ringside,
            )
        };
        let found = capacity::capacity(&options, &Stop::new(), &mut |_: &Event<'_>| {});
        let found = found
            .unwrap_or_else(|error| panic!("{words}: {error}"))
            .found;
        for row in found.rows.iter().filter(|row| row.capacity().is_some()) {
            let names: Vec<&str> = row.steps.iter().map(|step| &*step.name).collect();
            let is_mix = words.contains("mix.http");
            assert_eq!(
                names,
                if is_mix { &["list", "item"][..] } else { &[] },
                "{words}"
            );
        }
        assert!(
            found.rows.iter().all(|row| !row.points.is_empty()),
            "{found:?}"
        );
    }
}

#[test]
fn claims_rest_on_any_load() {
    let _beside = beside_others();
    for (at, words) in LOADS.iter().enumerate() {
        let arena = arena(&format!("loads-claims-{at}"));
        written(&arena, words, "");
        let claim = crate::claims::GOOD
            .replace("name = \"slow\"", "name = \"x\"")
            .replace("metric = \"seconds\", of = \"slow\", to = \"fast\"", JUDGED);
        let file = arena.folder.join("claims/a1.toml");
        fs::create_dir_all(arena.folder.join("claims")).expect("writable");
        fs::write(&file, claim).expect("writable");
        let claim = studies::claims::Claim::read(&file).unwrap_or_else(|bad| panic!("{bad}"));
        let ran = crate::claims::run(&arena, std::slice::from_ref(&claim));
        assert_eq!(
            (ran.carried_out, ran.failed.len()),
            (1, 0),
            "{words}: {ran:?}"
        );
    }
}

const JUDGED: &str = "metric = \"requests_per_second\", of = \"x\", to = \"y\"";
