//! What a rule has to say about a place.

use std::fmt;

/// A place that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// Path, relative to the workspace.
    pub(crate) path: String,
    /// From 1; zero where the whole file is meant.
    pub(crate) line: usize,
    /// What is wrong and what to do.
    pub(crate) text: String,
}

impl Complaint {
    /// A complaint about one line.
    pub(crate) fn at(path: &str, line: usize, text: impl Into<String>) -> Complaint {
        Complaint {
            path: path.to_string(),
            line,
            text: text.into(),
        }
    }

    /// A complaint about a whole file.
    pub(crate) fn about(path: &str, text: impl Into<String>) -> Complaint {
        Complaint::at(path, 0, text)
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.text),
            line => write!(f, "{}:{line}: {}", self.path, self.text),
        }
    }
}
