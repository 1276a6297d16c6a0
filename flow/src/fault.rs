//! Why a user's session ended before its end.

use std::fmt;

use measure::foreign::Foreign;

/// What kind of a [`Fault`] it is: what is counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The request couldn't be made: a variable without a value, for example.
    Request,
    /// No answer came.
    Transport,
    /// Redirects lead nowhere, or to more than are followed.
    Redirect,
    /// The answer isn't what the file expects.
    Assert,
    /// A capture found nothing.
    Capture,
}

/// What went wrong with one request of one user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which request of the file, from 1 on.
    pub entry: u32,
    /// The line that says what was wanted.
    pub line: u32,
    /// Its kind.
    pub kind: FaultKind,
    /// What happened: one line without secrets, control characters and a full stop, of bounded
    /// length.
    pub what: String,
}

impl Fault {
    /// One whose text is free of secrets already.
    pub(crate) fn new(entry: usize, line: u32, kind: FaultKind, what: &str) -> Fault {
        Fault {
            entry: entry as u32 + 1,
            line,
            kind,
            what: Foreign::new(what).to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "request {}, line {}: {}",
            self.entry, self.line, self.what
        )
    }
}
