//! Claims as their users see them: files in, what they rest on is run once, findings out.

use std::fs;
use std::path::{Path, PathBuf};

use lab::comparison::Comparison;
use lab::{Event, Source};
use load::Stop;
use report::pack::Records;
use studies::claims::page::{self, Entry, Language, Ledger};
use studies::claims::posts::{self, Post};
use studies::claims::{self, Claim, Id, Options, Ran, Run, Word};
use supervisor::document::BadFile;

use crate::support::{Arena, alone, beside_others, left_behind, quick};

pub(crate) const GOOD: &str = r#"id = "A1"
written = "2026-11-22"
source = { post = "A", sections = ["1"] }
claimed = "5 s against 1 s"
measured_there = "Some machine."
run_here = "This one."
changed = "The machine."

[statement]
en = "The slow one takes five times as long."
zh = "慢的那个用时是五倍。"

[[why]]
from = "text"
says = "It sleeps."

[zh]
claimed = "5 秒对 1 秒"
measured_there = "某台机器。"
run_here = "这台机器。"
changed = "机器。"
why = ["它在睡眠。"]

[[row]]
name = "slow"
rate = 10
connections = 10
mean_ms = 1000.0

[run]
comparison = "../comparisons/test.toml"

[[judge]]
ratio = { metric = "seconds", of = "slow", to = "fast", published = 5 }
"#;

const COMPARISON: &str = r#"name = "test"
question = "Which takes longer?"
subjects = ["fast", "slow"]
rounds = 3
aa = false
"#;

fn write(arena: &Arena, name: &str, text: &str) -> PathBuf {
    let folder = arena.folder.join("claims");
    let file = folder.join(name);
    fs::create_dir_all(file.parent().expect("a folder")).expect("writable");
    fs::write(&file, text).expect("writable");
    file
}

/// A command that sleeps so long.
fn sleeper(arena: &Arena, name: &str, seconds: &str) {
    arena.subject(
        name,
        &format!(
            "description = \"sleeps\"\nkind = \"command\"\noutput = \"\"\n[start]\n\
             command = [\"/bin/sh\", \"-c\", \"sleep {seconds}\"]\n"
        ),
    );
}

pub(crate) fn run(arena: &Arena, claims: &[Claim]) -> Ran {
    let options = Options {
        folder: arena.folder.join("records"),
        ringside: "/nonexistent/ringside".into(),
        cache: Some(arena.folder.join("cache")),
        subjects: Some(arena.folder.join("subjects")),
        ..Options::default()
    };
    let tell = &mut |event: &Event<'_>| println!("{event}");
    let ran = claims::run(claims, &options, &Stop::new(), &mut |_| (), tell);
    assert_eq!(
        left_behind(&arena.folder),
        Vec::<u32>::new(),
        "processes were left"
    );
    ran
}

/// What is written, what instead, and words of the message.
const MISTAKES: &[(&str, &str, &str)] = &[
    ("\"A1\"", "\"first\"", "expected a letter and a number"),
    ("\"A1\"", "\"A2\"", "expected a2.toml"),
    ("claimed", "claimd", "did you mean `claimed`?"),
    ("\nen =", "\neng =", "unknown field `eng`"),
    ("zh = \"慢的那个用时是五倍。\"\n", "", "missing field `zh`"),
    (
        "why = [\"它在睡眠。\"]",
        "",
        "expected `why` in both languages",
    ),
    (
        "changed = \"机器。\"\n",
        "",
        "expected `changed` in both languages",
    ),
    (
        "measured_there = \"某台机器。\"\n",
        "",
        "missing field `measured_there`",
    ),
    ("post = \"A\"", "post = \"B\"", "expected post = \"A\""),
    ("[\"1\"]", "[]", "at least one of the post's `sections`"),
    ("2026-11-22", "yesterday", "such as \"2026-11-23\""),
    ("\"text\"", "\"hearsay\"", "unknown variant `hearsay`"),
    ("run_here = \"This one.\"\n", "", "expected `run_here`"),
    ("changed = \"The machine.\"\n", "", "expected `changed`"),
    (
        "comparison =",
        "comparision =",
        "did you mean `comparison`?",
    ),
    ("[run]", "cannot = \"No.\"\n[run]", "unknown field `cannot`"),
    (
        "written = \"2026-11-22\"",
        "written = \"2026-11-22\"\ncannot = \"No.\"",
        "expected `cannot` in both languages",
    ),
    (
        "written = \"2026-11-22\"",
        "written = \"2026-11-22\"\nnot_run = \"No.\"\ncannot = \"No.\"",
        "expected one of `cannot` and `not_run`",
    ),
    ("ratio = {", "ration = {", "did you mean `ratio`?"),
    ("\"seconds\"", "\"second\"", "did you mean `seconds`?"),
    (
        "published = 5 }",
        "published = 0 }",
        "expected a published multiple above zero",
    ),
    (
        "published = 5 }",
        "published = [\"+20%\", \"-20%\"] }",
        "the least and the most of these, both above 1",
    ),
    (
        "published = 5 }",
        "published = \"5 - 1\" }",
        "a number, figures such as",
    ),
    (
        "ratio = {",
        "errors = { of = \"slow\", published = \"few\" }\nratio = {",
        "`few` isn't a share",
    ),
    (
        "[run]\ncomparison = \"../comparisons/test.toml\"\n",
        "",
        "without [run], only `arithmetic`",
    ),
    (
        "published = 5 }",
        "published = 1 }",
        "`within` goes with a published ratio of 1",
    ),
    (
        "[[judge]]\nratio",
        "[[judge]]\npass = {}\nratio",
        "expected one of `ratio`",
    ),
    ("rate = 10", "rate = -1", "-1 isn't above zero"),
];

#[test]
fn a_claim_that_cannot_be_read_says_where_and_what_was_expected() {
    let arena = Arena::new("claim-faults");
    for (from, to, words) in MISTAKES {
        assert!(GOOD.contains(from), "nothing to replace: {from}");
        let file = write(&arena, "a1.toml", &GOOD.replacen(from, to, 1));
        let message = match Claim::read(&file) {
            Ok(_) => panic!("{from} -> {to} was accepted"),
            Err(bad) => bad.to_string(),
        };
        assert!(message.contains("claims/a1.toml"), "{message}");
        assert!(message.contains(words), "{from} -> {to}: {message}");
    }
    let (head, _) = GOOD.split_once("[[row]]").expect("rows");
    let bad = Claim::read(&write(&arena, "a1.toml", head)).expect_err("nothing is judged");
    assert!(
        bad.to_string().contains("expected [run], or `cannot`"),
        "{bad}"
    );
    let said = "cannot = \"It is about what no test shows.\"\nchanged =";
    let english = head.replacen("changed =", said, 1);
    let bad = Claim::read(&write(&arena, "a1.toml", &english)).expect_err("only in English");
    assert!(
        bad.to_string()
            .contains("expected `cannot` in both languages"),
        "{bad}"
    );
    let both = |text: &str| {
        let text = text.replacen("changed =", said, 1);
        text.replacen("[zh]\n", "[zh]\ncannot = \"没有测试能说明。\"\n", 1)
    };
    let bad = Claim::read(&write(&arena, "a1.toml", &both(GOOD))).expect_err("and is run");
    assert!(bad.to_string().contains("nothing to run"), "{bad}");
    let claim = Claim::read(&write(&arena, "a1.toml", &both(head))).expect("a claim");
    let finding =
        claims::find(&claim, &Source::of(&arena.folder), None).expect("no record is read");
    assert_eq!(finding.expect("a finding").word, Word::CannotBeTested);
    let not_run = both(head).replace("cannot =", "not_run =");
    let claim = Claim::read(&write(&arena, "a1.toml", &not_run)).expect("a claim");
    let finding = claims::find(&claim, &Source::of(&arena.folder), None).expect("no record");
    assert_eq!(finding.expect("a finding").word, Word::NotRun);
}

#[test]
fn what_a_claim_cites_and_quotes_is_looked_up() {
    let arena = Arena::new("claim-cites");
    let post = r#"letter = "A"
title = { en = "x", zh = "x" }

[[section]]
number = "1"
title = { en = "x", zh = "x" }
mark = "1 "
figures = ["5s", "1s", "10", "1000ms"]
"#;
    write(&arena, "posts/a.toml", post);
    let folder = arena.folder.join("claims");
    let (posts, faults) = posts::read_all(&folder.join("posts")).expect("a folder");
    assert_eq!(faults, Vec::<BadFile>::new());
    let quotient = GOOD.replace("published = 5 }", "published = \"5 / 1\" }");
    for (from, to, words) in [
        (
            "5 s against",
            "6 s against",
            Some("A1: claimed says 6, which"),
        ),
        (
            "用时是五倍",
            "用时是 7 倍",
            Some("A1: statement.zh says 7, which"),
        ),
        (
            "Some machine.",
            "Some 8 cores.",
            Some("A1: measured_there says 8, which"),
        ),
        ("5 秒对", "3 秒对", Some("A1: zh.claimed says 3, which")),
        ("5 / 1", "5 / 2", Some("A1: [[judge]] says 2, which")),
        (
            "mean_ms = 1000.0",
            "mean_ms = 1001",
            Some("A1: [[row]] says 1001, which"),
        ),
        ("[\"1\"]", "[\"2\"]", Some("A1: post A has no section 2")),
        ("This one.", "This one, in 9 s.", None),
    ] {
        assert!(quotient.contains(from), "nothing to replace: {from}");
        let file = write(&arena, "a1.toml", &quotient.replacen(from, to, 1));
        let claim = Claim::read(&file).expect("a claim");
        let wrong = posts::check(std::slice::from_ref(&claim), &posts);
        match words {
            Some(words) => assert!(wrong[0].starts_with(words), "{from} -> {to}: {wrong:?}"),
            None => assert_eq!(wrong, [""; 0], "{from} -> {to}"),
        }
        assert_eq!(posts::check(&[claim], &[]), ["A1: there's no post A"]);
    }
    write(&arena, "posts/b.toml", post);
    let (_, faults) = posts::read_all(&folder.join("posts")).expect("a folder");
    let says = faults[0].to_string();
    assert!(
        says.contains("b.toml:1:10: post A is in b.toml; expected a.toml"),
        "{says}"
    );
}

#[test]
fn published_figures_are_held_against_each_other_without_a_run() {
    let arena = Arena::new("claim-arithmetic");
    let (head, _) = GOOD.split_once("run_here").expect("a head");
    let (_, tail) = GOOD.split_once("[statement]").expect("a statement");
    let (statement, _) = tail.split_once("[[row]]").expect("rows");
    let statement = statement.replace("run_here = \"这台机器。\"\nchanged = \"机器。\"\n", "");
    let judge = |published: &str| {
        format!(
            "{head}[statement]{statement}[[judge]]\n[judge.arithmetic]\nwhat = {{ en = \"bytes\", \
             zh = \"字节\" }}\n\
             from = \"12 / 3\"\ntimes = 100\npublished = \"{published}\"\n"
        )
    };
    for (published, word) in [("410", Word::Holds), ("250 + 50", Word::DoesNotHold)] {
        let file = write(&arena, "a1.toml", &judge(published));
        let claim = Claim::read(&file).expect("a claim");
        let ran = run(&arena, std::slice::from_ref(&claim));
        assert_eq!(
            (ran.carried_out, ran.there.len(), ran.failed.len()),
            (0, 0, 0)
        );
        let found = claims::find(&claim, &Source::of(&arena.folder), None).expect("no record");
        assert_eq!(found.expect("a finding").word, word, "{published}");
    }
}

#[test]
fn claims_that_rest_on_one_comparison_run_it_once_and_never_again() {
    // It wants a verdict, which strangers can make void.
    let _alone = alone();
    let arena = Arena::new("claims-run");
    sleeper(&arena, "fast", "0.05");
    sleeper(&arena, "slow", "0.3");
    arena.comparison(COMPARISON);
    write(&arena, "a1.toml", GOOD);
    let other = GOOD
        .replace("\"A1\"", "\"A2\"")
        .replace("published = 5 }", "published = 50 }");
    write(&arena, "a2.toml", &other);
    let missing = GOOD
        .replace("\"A1\"", "\"B1\"")
        .replace("post = \"A\"", "post = \"B\"")
        .replace("test.toml", "absent.toml");
    write(&arena, "b1.toml", &missing);
    let (ledger, faults) = claims::read_all(&arena.folder.join("claims")).expect("a folder");
    assert_eq!(faults, Vec::<BadFile>::new());
    let ran = run(&arena, &ledger);
    assert_eq!((ran.carried_out, ran.there.len()), (1, 0), "{ran:?}");
    let failed: Vec<&Vec<Id>> = ran.failed.iter().map(|(ids, _)| ids).collect();
    assert_eq!(failed, [&vec![Id::parse("B1").expect("a name")]]);
    let records = arena.folder.join("records");
    let find =
        |claim: &Claim| claims::find(claim, &Source::of(&records), None).expect("a good record");
    let found = find(&ledger[0]).expect("it was run");
    assert!(found.word >= Word::Weaker, "{found:?}");
    let measured = found.judgements[0].measured.expect("a ratio");
    // Six times as long at the most, and a busy machine makes the interval wide.
    let holds = 1.0 < measured.low && measured.low < 6.5 && 2.0 < measured.high;
    assert!(holds, "{measured:?}");
    assert_eq!(find(&ledger[1]).map(|found| found.word), Some(Word::Weaker));
    assert!(find(&ledger[2]).is_none(), "there is no record");
    let again = run(&arena, &ledger);
    assert_eq!((again.carried_out, again.there.len()), (0, 1), "{again:?}");
    // A comparison that says something else now is not what was measured.
    arena.comparison(&COMPARISON.replace("rounds = 3", "rounds = 4"));
    let refused = claims::find(&ledger[0], &Source::of(&records), None).expect_err(
        "a different \
                                                                                    file",
    );
    assert!(
        refused.contains("was measured with a different"),
        "{refused}"
    );
    assert_eq!(run(&arena, &ledger).failed.len(), 2);
}

#[test]
fn a_server_that_is_missing_makes_a_claim_one_that_cannot_be_tested() {
    let _beside = beside_others();
    let arena = Arena::new("claims-missing");
    let requires = "[[requires]]\nprogram = \"no-such-program\"\ninstall = \"Install it so.\"\n";
    arena
        .tiny("fast", "")
        .subject("slow", &crate::support::tiny("", requires));
    arena.comparison(&quick(&["fast", "slow"], 3));
    let judged = GOOD.replace("\"seconds\"", "\"requests_per_second\"");
    let claim = Claim::read(&write(&arena, "a1.toml", &judged)).expect("a claim");
    run(&arena, std::slice::from_ref(&claim));
    let records = arena.folder.join("records");
    let found = claims::find(&claim, &Source::of(&records), None).expect("a record");
    let found = found.expect("it was run");
    assert_eq!(found.word, Word::CannotBeTested);
    assert!(
        found.judgements[0].sentence.en.ends_with("Install it so"),
        "{:?}",
        found.judgements
    );
}

#[test]
fn a_stopped_run_goes_on_where_it_was() {
    let _beside = beside_others();
    let arena = Arena::new("claims-stop");
    sleeper(&arena, "fast", "0.01");
    sleeper(&arena, "slow", "0.05");
    arena.comparison(COMPARISON);
    let claim = Claim::read(&write(&arena, "a1.toml", GOOD)).expect("a claim");
    let options = Options {
        folder: arena.folder.join("records"),
        cache: Some(arena.folder.join("cache")),
        subjects: Some(arena.folder.join("subjects")),
        ..Options::default()
    };
    let stop = Stop::new();
    let asker = stop.clone();
    let tell = &mut |event: &Event<'_>| {
        if matches!(event, Event::Measuring { round: 2, .. }) {
            asker.request(load::Signal::Interrupt);
        }
    };
    claims::run(
        std::slice::from_ref(&claim),
        &options,
        &stop,
        &mut |_| (),
        tell,
    );
    assert_eq!(
        left_behind(&arena.folder),
        Vec::<u32>::new(),
        "processes were left"
    );
    let records = arena.folder.join("records");
    let find = || claims::find(&claim, &Source::of(&records), None).expect("a record");
    assert!(find().is_none(), "it was not run to its end");
    let first = fs::read(records.join("test/rounds/slow/001.json")).expect("kept");
    let ran = claims::run(
        std::slice::from_ref(&claim),
        &options,
        &Stop::new(),
        &mut |_| (),
        &mut |event: &Event<'_>| println!("{event}"),
    );
    assert_eq!((ran.carried_out, ran.failed.len()), (1, 0), "{ran:?}");
    assert!(find().is_some(), "now it was");
    let now = fs::read(records.join("test/rounds/slow/001.json")).expect("kept");
    assert_eq!(first, now, "what was measured before the stop stays");
}

#[test]
fn every_claim_of_the_repository_can_be_read_and_judges_rows_that_are_there() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (ledger, faults) = claims::read_all(&repository.join("claims")).expect("the folder");
    assert_eq!(faults, Vec::<BadFile>::new());
    assert_eq!(ledger.len(), 50);
    let (posts, faults) = posts::read_all(&repository.join("claims/posts")).expect("the folder");
    assert_eq!((posts.len(), faults), (5, Vec::new()));
    assert_eq!(posts::check(&ledger, &posts), [""; 0]);
    assert_eq!(rows_that_are_missing(&ledger, &repository), [""; 0]);
}

/// The rows that claims judge and their comparisons don't have.
fn rows_that_are_missing(ledger: &[Claim], repository: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for claim in ledger {
        let Ok(test) = &claim.test else { continue };
        let Run::Comparison(file) = &test.run else {
            continue;
        };
        let comparison = Comparison::read(file, Some(&repository.join("subjects")));
        let comparison = match comparison {
            Ok(comparison) => comparison,
            Err(bad) => {
                wrong.push(format!("{}: {bad}", claim.id));
                continue;
            }
        };
        let known = |row: &&str| comparison.rows.iter().any(|known| known.name == **row);
        let absent = test.judges.iter().flat_map(|judge| judge.rows());
        wrong.extend(
            absent
                .filter(|row| !known(row))
                .map(|row| format!("{}: {} has no row {row}", claim.id, file.display())),
        );
    }
    wrong
}

#[test]
fn claims_of_our_own_stand_apart_and_say_what_our_guide_says() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = repository.join("claims/ours");
    let (ledger, faults) = claims::read_all(&folder).expect("the folder");
    assert_eq!(faults, Vec::<BadFile>::new());
    assert!(!ledger.is_empty());
    let (posts, faults) = posts::read_all(&folder.join("posts")).expect("the folder");
    assert_eq!((posts.len(), faults), (1, Vec::new()));
    assert_eq!(posts::check(&ledger, &posts), [""; 0]);
    assert_eq!(rows_that_are_missing(&ledger, &repository), [""; 0]);
    let guide = repository.join("docs/src/guides/axum.md");
    let guide = fs::read_to_string(guide).expect("the guide");
    assert!(posts[0].ours);
    assert_eq!(posts[0].against(&guide), [""; 0]);
    // None of the posts of others is called ours, and none has our letter.
    let (others, _) = posts::read_all(&repository.join("claims/posts")).expect("the folder");
    let apart = |post: &Post| !post.ours && post.letter != posts[0].letter;
    assert!(others.iter().all(apart));
}

#[test]
fn the_kept_ledger_says_what_its_records_say_by_the_rules_of_now() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let (ledger, _) = claims::read_all(&repository.join("claims")).expect("the folder");
    let place = "records/2026-11-23-2core-kvm-6.18/claims.tar.xz";
    let records = Records::open(&repository.join(place), &Stop::new()).expect("a good pack");
    let entries: Vec<Entry> = ledger
        .into_iter()
        .map(|claim| Entry {
            finding: claims::find(&claim, records.source(), None).expect("a good record"),
            claim,
        })
        .collect();
    let word = |name: &str| {
        let id = Id::parse(name).expect("a name");
        let entry = entries.iter().find(|entry| entry.claim.id == id);
        let finding = entry.and_then(|entry| entry.finding.as_ref());
        finding.map(|finding| finding.word)
    };
    // Of its findings one doesn't hold, and the rest is stronger.
    assert_eq!(word("A1"), Some(Word::DoesNotHold));
    // A million connections, held.
    assert_eq!(word("A6"), Some(Word::Holds));
    // Nineteen thousand connections aren't twenty.
    assert_eq!(word("A12"), Some(Word::CannotBeTested));
    // A part of it needs 72 hours, whatever the rest is.
    assert_eq!(word("A10"), Some(Word::CannotBeTested));
    // What was published and no difference are both possible of its means.
    assert_eq!(word("B6"), Some(Word::Undecided));
    // A command that has to end well, and did each time.
    assert_eq!(word("B9"), Some(Word::Holds));
    // System calls that were counted after the rounds.
    assert_eq!(word("E7"), Some(Word::Holds));
    let (posts, _) = posts::read_all(&repository.join("claims/posts")).expect("the folder");
    for (language, flag, file) in [
        (Language::English, "", "CLAIMS.md"),
        (Language::Chinese, " --lang zh", "CLAIMS.zh.md"),
    ] {
        let ledger = Ledger {
            entries: &entries,
            posts: &posts,
            command: &format!("ringside claims page {place}{flag}"),
            language,
        };
        let kept = fs::read_to_string(records.pages().join(file)).expect("the page");
        assert!(
            kept == page::markdown(&ledger),
            "{file} is not what `{}` writes now",
            ledger.command
        );
    }
}

#[test]
fn a_hold_that_was_stopped_is_none_and_one_of_something_else_is_refused() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let place = "records/2026-11-23-2core-kvm-6.18/claims.tar.xz";
    let records = Records::open(&repository.join(place), &Stop::new()).expect("a good pack");
    let arena = Arena::new("hold-records");
    let (folder, file) = (arena.folder.join("a6"), "a6/hold.json");
    fs::create_dir_all(folder).expect("writable");
    let kept = fs::read_to_string(records.folder().join(file)).expect("the record");
    let claim = |written: &str| {
        let text = fs::read_to_string(repository.join("claims/a6.toml")).expect("the claim");
        let path = write(
            &arena,
            "a6.toml",
            &text.replace("heartbeat = \"60s\"", written),
        );
        Claim::read(&path).expect("a good claim")
    };
    let find = |record: &str, claim: &Claim| {
        fs::write(arena.folder.join(file), record).expect("writable");
        claims::find(claim, &Source::of(&arena.folder), None)
    };
    let asked = claim("heartbeat = \"60s\"");
    let found = find(&kept, &asked)
        .expect("a good record")
        .expect("a finding");
    assert_eq!(found.word, Word::Holds);
    let stopped = kept.replace("\"ended_by\": \"duration\"", "\"ended_by\": \"interrupt\"");
    assert_ne!(stopped, kept);
    assert!(find(&stopped, &asked).expect("a good record").is_none());
    let refused = find(&kept, &claim("heartbeat = \"61s\"")).expect_err("another heartbeat");
    assert!(
        refused.contains("other settings of [run.hold]"),
        "{refused}"
    );
}
