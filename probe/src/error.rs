//! Why a load could not take place.

use std::fmt;

use engine::signal::Signal;
use measure::foreign::screened;
use plan::Invalid;

/// A run, a hold or a first contact could not take place, or broke. Each variant holds a sentence
/// that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The plan does not hold together.
    Invalid(String),
    /// The target's name has no address.
    Unresolved(String),
    /// Nobody can be connected to.
    Unreachable(String),
    /// Somebody is there and shakes no hands: it may not be TLS that is spoken.
    Unsecured(String),
    /// A limit of this host forbids it.
    Limits(String),
    /// The engine could not be opened, or broke.
    Engine(String),
    /// A single exchange failed.
    Probe(String),
    /// Somebody asked for the end before anything was measured.
    Interrupted(Signal),
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LoadError::Invalid(text)
            | LoadError::Unresolved(text)
            | LoadError::Unreachable(text)
            | LoadError::Unsecured(text)
            | LoadError::Limits(text)
            | LoadError::Engine(text)
            | LoadError::Probe(text) => f.write_str(&screened(text)),
            LoadError::Interrupted(signal) => {
                write!(f, "interrupted by {signal} before anything was measured")
            }
        }
    }
}

impl std::error::Error for LoadError {}

impl LoadError {
    /// Whether somebody is there who says something else than what was hoped for, or nothing.
    pub(crate) fn was_answered(&self) -> bool {
        matches!(self, LoadError::Unsecured(_) | LoadError::Probe(_))
    }
}

impl From<Invalid> for LoadError {
    fn from(invalid: Invalid) -> LoadError {
        LoadError::Invalid(invalid.0)
    }
}
