//! Subjects by themselves: what is said of one that is well, wrong, missing or cannot be built.

use lab::check::{self, Found, Options, Readiness};
use lab::{Event, Observer};
use load::Stop;
use supervisor::subject::Subject;

use crate::support::{Arena, beside_others, left_behind, tiny};

fn options(arena: &Arena) -> Options {
    Options {
        ringside: "/nonexistent/ringside".into(),
        cache: Some(arena.folder.join("cache")),
    }
}

fn read(arena: &Arena, name: &str) -> Subject {
    Subject::read(&arena.folder.join("subjects").join(name)).expect("written by this test")
}

fn checked(arena: &Arena, name: &str) -> Found {
    let mut aloud = |event: &Event<'_>| println!("{event}");
    let found = check::check(
        &read(arena, name),
        &options(arena),
        &Stop::new(),
        &mut aloud,
    );
    assert_eq!(
        left_behind(&arena.folder),
        Vec::<u32>::new(),
        "{name} was left behind"
    );
    found
}

#[test]
fn a_subject_that_answers_as_declared_is_good_and_gone_afterwards() {
    let _beside = beside_others();
    let arena = Arena::new("check-good");
    arena.subject("good", &tiny("", "version = [\"echo\", \"tiny 1.0\"]"));
    let version = Some("tiny 1.0".to_owned());
    assert_eq!(checked(&arena, "good"), Found::Good(version));
}

#[test]
fn a_wrong_answer_a_missing_program_and_an_early_end_are_told_apart() {
    let _beside = beside_others();
    let arena = Arena::new("check-bad");
    let needs = "[[requires]]\nprogram = \"no-such-program\"\ninstall = \"Write it.\"";
    arena
        .tiny("wrong", "wrong")
        .subject("missing", &tiny("", needs))
        .subject(
            "mute",
            &tiny("", "").replace("\"tiny_server\"", "\"no_such_test\""),
        );
    match checked(&arena, "wrong") {
        Found::Failed(what, _) => assert!(what.contains("with `Goodbye`"), "{what}"),
        other => panic!("{other:?}"),
    }
    match checked(&arena, "missing") {
        Found::Missing(what) => assert_eq!(what, "`no-such-program` is not installed. Write it."),
        other => panic!("{other:?}"),
    }
    match checked(&arena, "mute") {
        Found::Failed(what, log) => {
            assert!(what.contains("exited before it was ready"), "{what}");
            assert!(log.iter().any(|line| line.contains("0 passed")), "{log:?}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_answer_says_its_length_or_is_declared_to_come_in_chunks() {
    let _beside = beside_others();
    let arena = Arena::new("check-length");
    let declared = |fault: &str| tiny(fault, "") + "chunked = true\n";
    arena
        .tiny("silent", "chunks")
        .subject("chunks", &declared("chunks"))
        .subject("says", &declared(""));
    assert_eq!(checked(&arena, "chunks"), Found::Good(None));
    for (name, words) in [
        ("silent", "write `chunked = true` into its [[answer]]"),
        (
            "says",
            "with a Content-Length, although it's declared as `chunked",
        ),
    ] {
        match checked(&arena, name) {
            Found::Failed(what, _) => assert!(what.contains(words), "{what}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn a_subject_that_leaves_somebody_behind_is_not_well() {
    let _beside = beside_others();
    let arena = Arena::new("check-left");
    // It says that it is done when what it leaves is out of its group.
    let script = "setsid sleep 1000 >/dev/null 2>&1 & \
                  until grep -q sleep /proc/$!/comm; do :; done; echo done";
    let command = format!(
        "description = \"a script\"\nkind = \"command\"\noutput = \"done\\n\"\n[start]\n\
         command = [\"/bin/sh\", \"-c\", {script:?}]\n"
    );
    arena.subject("leaves", &command);
    match checked(&arena, "leaves") {
        Found::Failed(what, _) => assert!(what.ends_with("`sleep`"), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_build_is_kept_and_a_broken_one_shows_what_it_wrote() {
    let arena = Arena::new("check-build");
    let built = |script: &str| {
        let program = "[build]\ncommands = [[\"/bin/sh\", \"-c\"";
        tiny("", "") + &format!("\n{program}, '{script}']]\n")
    };
    arena
        .subject("kept", &built("echo made > {build}/made"))
        .subject("broken", &built("echo no luck; exit 4"));
    let options = options(&arena);
    let mut built = Vec::new();
    let mut build = |name: &str| {
        let mut count = |event: &Event<'_>| {
            if let Event::Building { subject } = event {
                built.push((*subject).to_owned());
            }
        };
        let observer: &mut dyn Observer = &mut count;
        check::build(&read(&arena, name), &options, &Stop::new(), observer)
    };
    let readiness = || check::readiness(&read(&arena, "kept"), &options).expect("writable");
    assert_eq!(readiness(), Readiness::Unbuilt);
    assert_eq!(build("kept"), Found::Good(None));
    assert_eq!(readiness(), Readiness::Built);
    assert_eq!(build("kept"), Found::Good(None));
    match build("broken") {
        Found::Failed(what, log) => {
            assert!(what.contains("it exited with status 4"), "{what}");
            assert_eq!(log, ["no luck"]);
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(built, ["kept", "broken"]);
}

#[test]
fn a_build_can_be_that_of_another_subject() {
    let arena = Arena::new("check-shared");
    let script = "[build]\ncommands = [[\"/bin/sh\", \"-c\", 'echo made > {build}/made']]";
    let starts_it = |top: &str| {
        let start = tiny("", top) + "\n[build]\nof = \"maker\"\n";
        start.replace("\"tiny_server\"", "\"tiny_server\", \"{build}/made\"")
    };
    arena
        .subject("maker", &(tiny("", "") + script))
        .subject("user", &starts_it(""))
        .subject(
            "lost",
            &starts_it("").replace("of = \"maker\"", "of = \"user\""),
        );
    let options = options(&arena);
    let built = |name: &str| {
        let mut silent = |_: &Event<'_>| ();
        check::build(&read(&arena, name), &options, &Stop::new(), &mut silent)
    };
    assert_eq!(built("user"), Found::Good(None));
    let maker = check::readiness(&read(&arena, "maker"), &options);
    assert_eq!(maker.expect("writable"), Readiness::Built);
    let kept = std::fs::read_dir(arena.folder.join("cache")).expect("made by the build");
    assert_eq!(kept.count(), 1);
    let lost = Subject::read(&arena.folder.join("subjects/lost"));
    let message = lost.expect_err("`of` an `of`").to_string();
    assert!(
        message.contains("must name a subject that has some"),
        "{message}"
    );
}
