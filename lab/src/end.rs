//! How what the lab carries out ends, and why it does not begin: the same for comparisons, sweeps,
//! trials, searches for capacities and checks of subjects.

use std::fmt;

use load::{LoadError, Signal};
use supervisor::document::BadFile;

/// How something ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With all that was asked for.
    Whole,
    /// With a part of it: something failed, or could not be written, and the rest is there.
    Part,
    /// With nothing that was measured.
    Nothing,
    /// Early, because of this.
    Stopped(Signal),
}

impl End {
    /// That of something of which a part was measured or not, and the whole or not. A signal says
    /// more than both.
    pub fn of(stopped: Option<Signal>, measured: bool, whole: bool) -> End {
        match (stopped, measured, whole) {
            (Some(signal), _, _) => End::Stopped(signal),
            (None, false, _) => End::Nothing,
            (None, true, true) => End::Whole,
            (None, true, false) => End::Part,
        }
    }

    /// 0 for the whole, 3 for a part, 1 for nothing; 130 or 143 after a signal.
    pub fn exit_code(self) -> u8 {
        match self {
            End::Whole => 0,
            End::Nothing => 1,
            End::Part => 3,
            End::Stopped(signal) => signal.exit_code(),
        }
    }
}

/// Why something did not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CannotBegin {
    /// A comparison or a subject cannot be read.
    BadFile(BadFile),
    /// What was asked for is not possible here; the sentence says why and what to do.
    Impossible(String),
    /// The target cannot be loaded.
    Target(LoadError),
}

impl fmt::Display for CannotBegin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotBegin::BadFile(bad) => bad.fmt(f),
            CannotBegin::Impossible(what) => f.write_str(what),
            CannotBegin::Target(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for CannotBegin {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_says_more_than_a_failure_and_nothing_measured_is_never_a_success() {
        let interrupt = Some(Signal::Interrupt);
        for (stopped, measured, whole, code) in [
            (None, true, true, 0),
            (None, false, true, 1),
            (None, false, false, 1),
            (None, true, false, 3),
            (interrupt, true, true, 130),
            (Some(Signal::Terminate), false, false, 143),
        ] {
            assert_eq!(End::of(stopped, measured, whole).exit_code(), code);
        }
    }
}
