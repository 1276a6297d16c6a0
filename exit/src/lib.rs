//! How the program ends. The codes are a promise to scripts.
#![forbid(unsafe_code)]

use std::io;
use std::process::ExitCode;

use engine::signal::{Signal, Stop};
use lab::CannotBegin;
use load::LoadError;

/// The codes, as every `--help` shows them.
pub const TABLE: &str = "\
Exit codes:
  0    done
  1    no measurements: nothing answered as it should, or nothing could start;
       serve, fault-proxy: couldn't listen, or broke
  2    wrong usage: a flag, a value, a file
  3    some rows failed, the subject of a soak died, or a file could not be
       written; the rest was measured
  4    run, hold: the figures are void (the warnings say why), or thresholds
       could not be judged; capacity: --at-least could not be judged; gate: no
       figure could be judged; soak: the rate wasn't held
  5    diff, gate: can't tell whether there is a regression; soak: whether
       anything leaks
  99   run, hold: a threshold was crossed; capacity: --at-least was not reached;
       diff, gate: a regression is shown; history: --fail-within found one;
       soak: a leak is proven
  130  stopped by SIGINT, with a report of what was measured
  143  stopped by SIGTERM, likewise";

/// An end of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Ok,
    /// Nothing could be measured, or the server broke.
    Failed,
    /// A flag, a value or a file is wrong.
    Usage,
    /// A subject of a comparison failed, or a file could not be written.
    SubjectFailed,
    /// The figures of a run or a hold do not mean what they say.
    Void,
    /// What was measured does not answer the question.
    CannotTell,
    /// A threshold was crossed.
    Threshold,
    /// Ended early by a signal.
    Stopped(Signal),
    /// As the process that did it in a private network has ended.
    Passed(u8),
}

impl Exit {
    /// Its number in [`TABLE`].
    pub fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::SubjectFailed => 3,
            Exit::Void => 4,
            Exit::CannotTell => 5,
            Exit::Threshold => 99,
            Exit::Stopped(signal) => signal.exit_code(),
            Exit::Passed(code) => code,
        }
    }

    /// Why a run or a hold with this end isn't all that was asked for, if it isn't: its thresholds
    /// apart, each of which says so itself.
    pub fn trouble(self, valid: bool) -> Option<String> {
        let why = match self {
            Exit::Stopped(_) => "it was interrupted before its end",
            _ if !valid => "the figures can't be trusted: the warnings say why",
            _ => return None,
        };
        Some(why.to_owned())
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

impl From<lab::End> for Exit {
    fn from(end: lab::End) -> Exit {
        match end {
            lab::End::Whole => Exit::Ok,
            lab::End::Part => Exit::SubjectFailed,
            lab::End::Nothing => Exit::Failed,
            lab::End::Stopped(signal) => Exit::Stopped(signal),
        }
    }
}

/// Why a verb ended without what was asked for: the end and the sentence for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// How the program ends.
    pub exit: Exit,
    /// What is wrong, and what to do.
    pub text: String,
}

impl Failure {
    /// Records that could not be read. A signal says more than what it kept from being read.
    pub fn reading(text: impl ToString, stop: &Stop) -> Failure {
        let exit = stop.requested().map_or(Exit::Usage, Exit::Stopped);
        let text = text.to_string();
        Failure { exit, text }
    }

    /// Wrong use. The text says what to do instead.
    pub fn usage(text: impl ToString) -> Failure {
        Failure {
            exit: Exit::Usage,
            text: text.to_string(),
        }
    }

    /// A name that nobody knows: what is wrong, the names that may be meant, and where all are.
    pub fn unknown(what: &str, near: &[&str], all: &str) -> Failure {
        let meant = match near {
            [] => String::new(),
            [one] => format!("; did you mean {one}?"),
            [first @ .., last] => format!("; did you mean {} or {last}?", first.join(", ")),
        };
        Failure::usage(format!("{what}{meant} ({all})"))
    }

    /// Standard output that takes nothing.
    pub fn printing(error: io::Error) -> Failure {
        Failure::running(format!("can't write to standard output: {error}"))
    }

    /// Signals that cannot be caught.
    pub fn signals(error: io::Error) -> Failure {
        Failure::running(format!("can't install signal handlers: {error}"))
    }

    /// A failure while running.
    pub fn running(text: impl ToString) -> Failure {
        Failure {
            exit: Exit::Failed,
            text: text.to_string(),
        }
    }

    /// The end of what has been reported. A report that could not be written says more than most
    /// ends, and less than a signal or a crossed threshold.
    pub fn unless_written(
        written: Result<(), impl ToString>,
        end: Result<Exit, Failure>,
    ) -> Result<Exit, Failure> {
        let Err(why) = written else {
            return end;
        };
        let exit = match end {
            Ok(end @ (Exit::Threshold | Exit::Stopped(_))) => end,
            _ => Exit::SubjectFailed,
        };
        let text = why.to_string();
        Err(Failure { exit, text })
    }
}

impl From<LoadError> for Failure {
    fn from(error: LoadError) -> Failure {
        match error {
            LoadError::Invalid(_) => Failure::usage(error),
            LoadError::Interrupted(signal) => Failure {
                exit: Exit::Stopped(signal),
                text: error.to_string(),
            },
            _ => Failure::running(error),
        }
    }
}

impl From<CannotBegin> for Failure {
    fn from(why: CannotBegin) -> Failure {
        match why {
            CannotBegin::Target(error) => error.into(),
            CannotBegin::BadFile(_) | CannotBegin::Impossible(_) => Failure::usage(why),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_code() {
        let stopped = [Signal::Interrupt, Signal::Terminate].map(Exit::Stopped);
        let ends = [
            Exit::Ok,
            Exit::Failed,
            Exit::Usage,
            Exit::SubjectFailed,
            Exit::Void,
            Exit::CannotTell,
            Exit::Threshold,
        ];
        for end in ends.into_iter().chain(stopped) {
            let start = format!("  {:<5}", end.code());
            assert!(
                TABLE.lines().any(|line| line.starts_with(&start)),
                "{end:?}"
            );
        }
    }
}
