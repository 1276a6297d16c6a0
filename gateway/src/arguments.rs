//! What was typed.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

/// More worker processes are a mistake.
const PROCESSES_MAX: usize = 1024;

/// What `--help` says.
pub(crate) const HELP: &str = "\
A reverse proxy and gateway

Usage: ringside-gateway --config FILE [--processes N]
       ringside-gateway --config FILE [--processes N] --check
       ringside-gateway --example [--listen IP:PORT]

Options:
  --config FILE     Serve what this TOML file says; SIGHUP reads it again
  --processes N     Serve as a master and N worker processes
  --check           Check the file and exit
  --example         Serve an example, with an upstream of its own
  --listen IP:PORT  Where the example listens (default: 127.0.0.1:8080)
  --version         Print the version
  --help            Print this help
";

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
            "--config" | "-c" => config = Some(PathBuf::from(value("--config")?)),
            "--processes" => processes = Some(number(&value("--processes")?)?),
            "--check" => check = true,
            "--example" => example = true,
            "--listen" => listen = Some(value("--listen")?.to_string_lossy().into_owned()),
            _ => return Err(format!("unknown argument {word}; see --help")),
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

/// A number of processes.
fn number(word: &OsStr) -> Result<usize, String> {
    let number = word.to_str().and_then(|text| text.parse().ok());
    let number = number.filter(|number| (1..=PROCESSES_MAX).contains(number));
    number.ok_or_else(|| format!("--processes takes a number from 1 to {PROCESSES_MAX}"))
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
}
