//! The help of each verb is what the committed files say. `cargo xtask docs` writes them.

use std::fs;
use std::path::Path;

use super::child::{assert_says, ringside};

#[test]
fn the_help_of_every_verb_is_the_committed_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/help");
    let verbs = cli::verbs();
    let known = [
        "run",
        "hold",
        "serve",
        "fault-proxy",
        "compare",
        "capacity",
        "soak",
        "gate",
        "diff",
        "history",
        "claims",
        "report",
        "pack",
        "doctor",
        "subjects",
        "fleet",
        "explain",
        "schema",
    ];
    assert_eq!(verbs, known);
    for verb in std::iter::once("ringside").chain(verbs.iter().map(String::as_str)) {
        let words = if verb == "ringside" {
            vec!["--help"]
        } else {
            vec![verb, "--help"]
        };
        let ended = ringside(&words);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{verb}");
        let committed = fs::read_to_string(folder.join(format!("{verb}.txt"))).unwrap();
        assert_eq!(ended.stdout, committed, "run `cargo xtask docs`");
    }
}

#[test]
fn help_is_a_word_for_those_who_are_used_to_it() {
    assert_eq!(ringside(&["help"]).stdout, ringside(&["--help"]).stdout);
    let (word, flag) = (ringside(&["help", "run"]), ringside(&["run", "--help"]));
    assert_eq!((word.code, &word.stdout), (Some(0), &flag.stdout));
    assert_eq!(ringside(&["run", "help"]).stdout, flag.stdout);
    assert_says(&flag.stdout, "What a run can't do: ");
}

#[test]
fn the_help_names_every_exit_code() {
    let help = ringside(&["--help"]).stdout;
    for code in ["0 ", "1 ", "2 ", "3 ", "99 ", "130 ", "143 "] {
        assert_says(&help, &format!("\n  {code}"));
    }
}

#[test]
fn the_version_is_data() {
    for flag in ["-v", "-V", "--version"] {
        let ended = ringside(&[flag]);
        let commit = env!("RINGSIDE_BUILT_FROM");
        assert_eq!(
            ended.stdout,
            format!("ringside {} ({commit})\n", env!("CARGO_PKG_VERSION"))
        );
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    }
}
