//! Comparisons of requests that differ: what is asked, what has to be answered before the load, and
//! what makes two of them the same.

use std::fs;
use std::path::Path;

use lab::manifest::Outcome as How;
use lab::{Event, Options};
use load::Stop;
use studies::{Outcome, compare};

use crate::resume::{kept, resuming, stopped_at};
use crate::support::{Arena, beside_others, quick, tiny};

/// A comparison of the rows with this in its `[workload]`.
fn of_mix(arena: &Arena, rows: &[&str], rounds: u32, words: &str) -> Options {
    let text = quick(rows, rounds).replace("[workload]\n", &format!("[workload]\n{words}\n"));
    arena.comparison(&text)
}

fn beside(arena: &Arena, name: &str, text: &str) {
    fs::write(arena.folder.join("comparisons").join(name), text).expect("writable");
}

fn run(options: &Options) -> Outcome {
    let outcome = compare(options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}")
    });
    outcome.unwrap_or_else(|error| panic!("{error}"))
}

fn steps(folder: &Path, row: &str) -> Vec<(String, u64)> {
    let kept = kept(folder);
    let round = kept.rounds.iter().find(|round| round.row == row);
    let record = round.and_then(|round| round.record.as_ref());
    let steps = record.expect("a record").steps.iter();
    steps
        .map(|step| (step.name.clone(), step.completed))
        .collect()
}

const MIX: &str = "### list\nGET http://elsewhere:9/items\n\
                   ### item\nGET http://elsewhere:9/items/{{id}}\n";

#[test]
fn each_row_gets_the_same_mix_at_its_own_server() {
    let _beside = beside_others();
    let arena = Arena::new("mix");
    arena.tiny("one", "").tiny("two", "");
    beside(&arena, "mix.http", MIX);
    beside(&arena, "ids.csv", "id\n1\n2\n");
    let words = "targets = \"mix.http\"\ndata = \"ids.csv\"";
    let outcome = run(&of_mix(&arena, &["one", "two"], 2, words));
    assert_eq!(outcome.end().exit_code(), 0);
    for row in ["one", "two"] {
        let steps = steps(&outcome.folder, row);
        let [(list, first), (item, second)] = steps.as_slice() else {
            panic!("{steps:?}");
        };
        assert_eq!((list.as_str(), item.as_str()), ("list", "item"));
        assert!(first.abs_diff(*second) < 20 && *first > 20, "{steps:?}");
    }
    for row in &outcome.report.subjects {
        let shown: Vec<&str> = row.steps.iter().map(|step| &*step.name).collect();
        assert_eq!(shown, ["list", "item"], "{}", row.facts.name);
        let known = |step: &report::StepFigures| step.rounds == 2 && step.p50_us.is_some();
        assert!(row.steps.iter().all(known), "{:?}", row.steps);
    }
    let text = report::markdown(&outcome.report);
    assert!(text.contains("| item | two | "), "{text}");
    let asked = &outcome.report.setup.asked;
    let begins = "2 requests of mix.http in turn over HTTP/1.1, rows of ids.csv in turn (redacted:";
    assert!(asked.starts_with(begins), "{asked}");
}

#[test]
fn a_request_that_is_not_answered_well_is_named_and_nothing_is_timed() {
    let _beside = beside_others();
    let arena = Arena::new("mix-fails");
    let key = "headers = { Authorization = \"Bearer key\" }\n";
    arena.subject("locked", &(tiny("asks for a key", "") + key));
    let open = "### open\nGET http://x/a\nAuthorization: Bearer key\n";
    beside(
        &arena,
        "mix.http",
        &format!("{open}### shut\nGET http://x/b\n"),
    );
    let outcome = run(&of_mix(&arena, &["locked"], 1, "targets = \"mix.http\""));
    let How::Failed { what, .. } = &outcome.report.subjects[0].facts.outcome else {
        panic!("one of the requests is refused");
    };
    for part in ["the request shut (", "mix.http:5) with status 401"] {
        assert!(what.contains(part), "{what}");
    }
    fs::remove_dir_all(arena.folder.join("out")).expect("its own folder");
    // Fields of the comparison are for requests without their own.
    let words = format!("targets = \"mix.http\"\n{key}");
    let outcome = run(&of_mix(&arena, &["locked"], 1, &words));
    let found = &outcome.report.subjects[0].facts.outcome;
    assert!(matches!(found, How::Measured), "{found:?}");
}

#[test]
fn an_answer_that_is_expected_is_right_whatever_its_status() {
    let _beside = beside_others();
    let arena = Arena::new("mix-expects");
    let key = "headers = { Authorization = \"Bearer key\" }\n";
    arena.subject("locked", &(tiny("asks for a key", "") + key));
    let open = "### open\nGET http://x/a\nAuthorization: Bearer key\n";
    let found = |rule: &str, words: &str| {
        let shut = format!("### shut\n{rule}GET http://x/b\n");
        beside(&arena, "mix.http", &format!("{open}{shut}"));
        let words = format!("targets = \"mix.http\"\n{words}");
        let outcome = run(&of_mix(&arena, &["locked"], 1, &words));
        let steps = match outcome.report.subjects[0].facts.outcome {
            How::Measured => steps(&outcome.folder, "locked"),
            _ => Vec::new(),
        };
        fs::remove_dir_all(arena.folder.join("out")).expect("its own folder");
        let found = outcome.report.subjects[0].facts.outcome.clone();
        (found, steps)
    };
    let (measured, steps) = found("# @expect status=401\n", "");
    assert!(matches!(measured, How::Measured), "{measured:?}");
    assert!(
        steps.iter().all(|(_, completed)| *completed > 20),
        "{steps:?}"
    );
    for (rule, words, part) in [
        (
            "# @expect status=404\n",
            "",
            "the request shut (mix.http:6) with status 401, but status=404 is expected",
        ),
        (
            "# @expect status=401\n",
            "expect = [\"body~no such text\"]\n",
            "the request open (mix.http:2) with status 200, but body~no such text is expected (got",
        ),
        (
            "",
            "expect = [\"status=200\"]\n",
            "with status 401, but status=200 is expected",
        ),
        (
            "# @expect status=4xx\n# @expect header:X-None\n",
            "",
            "but header:X-None is expected",
        ),
    ] {
        let (failed, _) = found(rule, words);
        let How::Failed { what, .. } = &failed else {
            panic!("{rule}{words}: {failed:?}");
        };
        let what = what.replace(&format!("{}/comparisons/", arena.folder.display()), "");
        assert!(what.contains(part), "{what}");
    }
}

#[test]
fn rows_may_have_requests_of_their_own() {
    let _beside = beside_others();
    let arena = Arena::new("mix-rows");
    arena.tiny("x", "");
    beside(&arena, "one.http", "### a\nGET http://x/\n");
    let rows = "[[rows]]\nname = \"plain\"\nsubject = \"x\"\n\
                [[rows]]\nname = \"mixed\"\nsubject = \"x\"\n\
                workload = { targets = \"one.http\" }\n\
                [[rows]]\nname = \"made\"\nsubject = \"x\"\n\
                workload = { template = true, path = \"/{{random 1 9}}\" }\n";
    let text = quick(&["x"], 1).replace("subjects = [\"x\"]\n", "");
    assert_ne!(text, quick(&["x"], 1));
    let (top, sections) = text.split_once("[workload]").expect("a workload");
    let outcome = run(&arena.comparison(&format!("{top}{rows}[workload]{sections}")));
    assert_eq!(outcome.end().exit_code(), 0);
    assert_eq!(steps(&outcome.folder, "plain"), []);
    assert_eq!(steps(&outcome.folder, "mixed")[0].0, "a");
    assert_eq!(steps(&outcome.folder, "made")[0].0, "GET /{{random 1 9}}");
    let asked = |at: usize| outcome.report.subjects[at].facts.asked.clone();
    assert!(asked(1).is_some_and(|asked| asked.starts_with("1 request of one.http")));
}

#[test]
fn what_goes_on_has_the_same_requests_and_rows() {
    let _beside = beside_others();
    let arena = Arena::new("mix-resume");
    arena.tiny("one", "");
    let files = || {
        beside(&arena, "mix.http", MIX);
        beside(&arena, "ids.csv", "id\n1\n2\n");
    };
    files();
    let words = "targets = \"mix.http\"\ndata = \"ids.csv\"";
    let options = of_mix(&arena, &["one"], 3, words);
    let folder = stopped_at(&options, "one", 2).folder;
    let resumed = resuming(&options, &folder);
    for (name, text) in [
        ("ids.csv", "id\n1\n3\n".to_owned()),
        ("mix.http", MIX.replace("/items/", "/item/")),
    ] {
        beside(&arena, name, &text);
        let refused = compare(&resumed, &Stop::new(), &mut |_: &Event<'_>| {});
        let what = refused.map(|_| ()).expect_err(name).to_string();
        assert!(what.contains("a file that the comparison names"), "{what}");
        files();
    }
    assert_eq!(run(&resumed).end().exit_code(), 0);
    assert_eq!(kept(&folder).rounds.len(), 3);
}

#[test]
fn a_mix_that_cannot_be_sent_is_refused_before_anything_starts() {
    let arena = Arena::new("mix-refused");
    arena.tiny("one", "");
    beside(&arena, "mix.http", MIX);
    for (words, part) in [
        ("targets = \"none.http\"", "none.http: can't read"),
        ("targets = \"mix.http\"", "mix.http:4: "),
        (
            "targets = \"mix.http\"\npath = \"/x\"",
            "both `path` and `targets`",
        ),
        ("data = \"none.csv\"", "none.csv"),
    ] {
        let text = quick(&["one"], 1).replace("path = \"/\"\n", "");
        let text = text.replace("[workload]\n", &format!("[workload]\n{words}\n"));
        let options = arena.comparison(&text);
        let read = lab::comparison::Comparison::read(&options.file, None);
        let what = read.map(|_| ()).expect_err(words).to_string();
        assert!(what.contains(part), "{words}: {what}");
    }
}
