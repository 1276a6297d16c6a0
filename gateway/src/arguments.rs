//! What was typed.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use measure::words::nearest;

/// More worker processes are a mistake.
const PROCESSES_MAX: usize = 1024;

/// What `--help` says.
pub(crate) const HELP: &str = "\
A reverse proxy and gateway

Usage: ringside-gateway --config FILE [--processes N]
       ringside-gateway --config FILE [--processes N] --check
       ringside-gateway --example [--listen IP:PORT]

Options:
  -c, --config FILE      Serve what this TOML file says; SIGHUP reads it again
      --processes N      Serve as a master and N worker processes
      --check            Check the file and exit
      --example          Serve an example, with an upstream of its own
      --listen IP:PORT   Where the example listens (default: 127.0.0.1:8080)
  -V, --version          Print the version
  -h, --help             Print this help
";

/// The flags that take a value, in full.
const TAKE_VALUES: [&str; 3] = ["--config", "--processes", "--listen"];

/// All of them.
const FLAGS: [&str; 7] = [
    "--config",
    "--processes",
    "--check",
    "--example",
    "--listen",
    "--version",
    "--help",
];

/// What nginx, HAProxy, Envoy, Caddy and Traefik call otherwise, or have a flag for, with what to
/// do here.
const ELSEWHERE: [(&[&str], &str); 9] = [
    (
        &["-t", "-T", "--test", "--validate", "--mode", "--dry-run"],
        "did you mean --check?",
    ),
    (
        &["-f", "--file", "--config-path", "--configFile"],
        "did you mean --config FILE?",
    ),
    (
        &["--workers", "--worker-processes", "--nbproc"],
        "did you mean --processes N?",
    ),
    (
        &["--threads", "--nbthread", "--concurrency"],
        "the file says `threads` under [listen]",
    ),
    (
        &["--port", "--address", "--bind"],
        "the file says `address` under [listen]",
    ),
    (
        &["-s", "--signal", "--reload"],
        "SIGHUP has the file read again, and SIGTERM ends the gateway: kill -HUP PID",
    ),
    (
        &["-D", "--daemon", "--background"],
        "a service manager such as systemd puts it into the background",
    ),
    (
        &["-p", "--pidfile"],
        "there is no pid file; for a port, the file says `address` under [listen]",
    ),
    (&["-v"], "did you mean --version?"),
];

/// What is to be done.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Help,
    Version,
    Check(PathBuf),
    Serve(PathBuf),
    Example,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Arguments {
    pub(crate) verb: Verb,
    /// Where the example listens.
    pub(crate) listen: String,
    /// Worker processes, if there are to be any.
    pub(crate) processes: Option<usize>,
}

/// Reads arguments.
///
/// # Errors
/// A sentence that says what is wrong.
pub(crate) fn parse(words: impl Iterator<Item = OsString>) -> Result<Arguments, String> {
    let (mut config, mut check, mut example, mut listen) = (None, false, false, None);
    let mut processes = None;
    let mut words = words;
    while let Some(word) = words.next() {
        let word = word.to_string_lossy().into_owned();
        let mut value = |name: &str| words.next().ok_or(format!("{name} takes a value"));
        match &*word {
            "--help" | "-h" => return Ok(of(Verb::Help)),
            "--version" | "-V" => return Ok(of(Verb::Version)),
            "--config" | "-c" => config = Some(file(&word, value("--config")?)?),
            "--processes" => processes = Some(number(&value("--processes")?)?),
            "--check" => check = true,
            "--example" => example = true,
            "--listen" => listen = Some(value("--listen")?.to_string_lossy().into_owned()),
            _ => return Err(unknown(&word)),
        }
    }
    let verb = match (config, example, check) {
        (Some(path), false, true) => Verb::Check(path),
        (Some(path), false, false) => Verb::Serve(path),
        (None, true, false) => Verb::Example,
        _ => return Err("give --config FILE or --example; see --help".into()),
    };
    match (&verb, &listen) {
        (Verb::Serve(_) | Verb::Check(_), Some(_)) => {
            Err("--listen is for --example; a file says it under [listen]".into())
        }
        (Verb::Example, _) if processes.is_some() => {
            Err("--processes is for a file of --config".into())
        }
        _ => Ok(Arguments {
            verb,
            processes,
            listen: listen.unwrap_or_else(|| "127.0.0.1:8080".into()),
        }),
    }
}

fn of(verb: Verb) -> Arguments {
    Arguments {
        verb,
        listen: String::new(),
        processes: None,
    }
}

/// The file behind --config. Elsewhere `-c` means to check.
fn file(flag: &str, word: OsString) -> Result<PathBuf, String> {
    if word.to_string_lossy().starts_with('-') {
        return Err(format!(
            "{flag} takes a file, and not `{}`: did you mean --config FILE --check?",
            word.to_string_lossy()
        ));
    }
    Ok(PathBuf::from(word))
}

/// A number of processes.
fn number(word: &OsStr) -> Result<usize, String> {
    let number = word.to_str().and_then(|text| text.parse().ok());
    let number = number.filter(|number| (1..=PROCESSES_MAX).contains(number));
    number.ok_or_else(|| {
        let word = word.to_string_lossy();
        format!("--processes takes a number from 1 to {PROCESSES_MAX}, and not `{word}`")
    })
}

/// What is said of a word that is none of the flags, and what to write.
fn unknown(word: &str) -> String {
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(value)),
        None => (word, None),
    };
    let elsewhere = ELSEWHERE.iter().find(|(there, _)| there.contains(&name));
    let tip = match (elsewhere, value) {
        (Some((_, tip)), _) => (*tip).to_owned(),
        (None, Some(value)) if TAKE_VALUES.contains(&name) => {
            format!("write `{name} {value}`, with a space between them")
        }
        (None, Some(_)) if FLAGS.contains(&name) => "it takes no value".into(),
        _ if !word.starts_with('-') => "a file goes behind --config".into(),
        _ => match nearest(name, FLAGS) {
            Some(flag) => format!("did you mean {flag}?"),
            None => "see --help".into(),
        },
    };
    format!("unknown argument {word}: {tip}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Result<Verb, String> {
        parse(words.iter().map(OsString::from)).map(|arguments| arguments.verb)
    }

    #[test]
    fn what_is_typed_is_understood_or_told() {
        let file = || PathBuf::from("a.toml");
        assert_eq!(parsed(&["--config", "a.toml"]), Ok(Verb::Serve(file())));
        assert_eq!(
            parsed(&["-c", "a.toml", "--check"]),
            Ok(Verb::Check(file()))
        );
        assert_eq!(
            parsed(&["--example", "--listen", "127.0.0.1:1"]),
            Ok(Verb::Example)
        );
        assert_eq!(
            parsed(&["-c", "a.toml", "--processes", "4"]),
            Ok(Verb::Serve(file()))
        );
        assert_eq!(
            parsed(&["-c", "a.toml", "--processes", "2", "--check"]),
            Ok(Verb::Check(file()))
        );
        let wrong: [&[&str]; 11] = [
            &["-c", "a", "--processes"],
            &["-c", "a", "--processes", "0"],
            &["-c", "a", "--processes", "-1"],
            &["-c", "a", "--processes", "1025"],
            &["--example", "--processes", "2"],
            &[],
            &["--config"],
            &["--check"],
            &["--config", "a", "--example"],
            &["--config", "a", "--listen", "b"],
            &["--confg", "a"],
        ];
        for words in wrong {
            assert!(parsed(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn the_help_has_every_flag() {
        let words = |line: &str| {
            line.split([',', ' '])
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let shown: Vec<String> = HELP.lines().flat_map(words).collect();
        for flag in FLAGS.iter().chain(&["-c", "-V", "-h"]) {
            assert!(shown.iter().any(|word| word == flag), "{flag}");
            assert!(!parsed(&[*flag]).is_err_and(|told| told.contains("unknown")));
        }
    }

    #[test]
    fn what_makes_no_sense_is_answered_with_what_would() {
        for (words, tip) in [
            ("-t -c a", "unknown argument -t: did you mean --check?"),
            ("-c a -T", "did you mean --check?"),
            (
                "-c a --chek",
                "unknown argument --chek: did you mean --check?",
            ),
            ("-f a", "did you mean --config FILE?"),
            (
                "--workers 2x -c a",
                "unknown argument --workers: did you mean --processes N?",
            ),
            ("--workers=2 -c a", "did you mean --processes N?"),
            ("--process 2 -c a", "did you mean --processes?"),
            (
                "-c a --processes 2x",
                "a number from 1 to 1024, and not `2x`",
            ),
            ("-c a --processes --check", "and not `--check`"),
            (
                "-c a --processes=2",
                "write `--processes 2`, with a space between them",
            ),
            (
                "-c a --check=yes",
                "unknown argument --check=yes: it takes no value",
            ),
            ("-c a --threads 2", "the file says `threads` under [listen]"),
            ("-s reload", "kill -HUP PID"),
            ("-c -f a", "-c takes a file, and not `-f`"),
            ("-p 8080 -c a", "for a port, the file says `address`"),
            (
                "a.toml",
                "unknown argument a.toml: a file goes behind --config",
            ),
            ("-c a --weather", "unknown argument --weather: see --help"),
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            let told = parsed(&words).expect_err("it makes no sense");
            assert!(told.contains(tip), "{words:?}: {told}");
        }
        // None of them is a flag of ours, which would be taken for it.
        for (there, _) in ELSEWHERE {
            for word in there {
                assert!(parsed(&[*word]).is_err_and(|told| told.contains("unknown")));
            }
        }
    }
}
