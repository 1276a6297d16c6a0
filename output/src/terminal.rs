//! Whom we are talking to: a terminal, a pipe or a file; with colour or without.

use std::borrow::Cow;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use load::Redaction;
use measure::foreign;

use super::width;

/// Those who know secrets that no text may hold, whoever made it.
static SECRETS: Mutex<Vec<Redaction>> = Mutex::new(Vec::new());

/// Lets nothing be printed that `redaction` knows to be a secret, now or later.
pub fn hide(redaction: &Redaction) {
    let mut known = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    known.push(redaction.clone());
}

/// A text as it may be printed, or written to a file: without secrets, and without what would
/// command a terminal, but for colours of our own.
pub fn fit(text: &str) -> String {
    let text = scrubbed(text);
    match text.starts_with(['{', '[']) {
        true => foreign::json(&text).into_owned(),
        false => foreign::screened(&text).into_owned(),
    }
}

fn scrubbed(text: &str) -> Cow<'_, str> {
    let known = SECRETS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = Cow::Borrowed(text);
    for redaction in known.iter() {
        if let Cow::Owned(scrubbed) = redaction.scrub(&text) {
            text = Cow::Owned(scrubbed);
        }
    }
    text
}

/// Colours a line, or leaves it alone; and knows how wide lines may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    on: bool,
    columns: Option<usize>,
}

impl Paint {
    /// Never colours, and leaves lines as long as they are.
    pub const PLAIN: Paint = Paint {
        on: false,
        columns: None,
    };

    /// The same for a reader with so many columns.
    #[cfg(test)]
    pub const fn narrow(columns: usize) -> Paint {
        Paint {
            on: false,
            columns: Some(columns),
        }
    }

    /// Colours what goes to standard output if that is a terminal and nobody objects
    /// (<https://no-color.org>: NO_COLOR set to anything but the empty string).
    pub fn for_stdout(no_color: bool) -> Paint {
        Paint {
            on: io::stdout().is_terminal() && colour_is_welcome(no_color),
            columns: width::of(io::stdout()),
        }
    }

    /// Likewise for standard error.
    pub fn for_stderr(no_color: bool) -> Paint {
        Paint {
            on: io::stderr().is_terminal() && colour_is_welcome(no_color),
            columns: width::of(io::stderr()),
        }
    }

    /// Whether it colours.
    pub fn colours(self) -> bool {
        self.on
    }

    /// The columns that lines may have; none where they may have any number.
    pub fn columns(self) -> Option<usize> {
        self.columns
    }

    /// What a reader looks for first.
    pub fn strong(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What is fine.
    pub fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What needs attention.
    pub fn warning(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// What went wrong.
    pub fn error(self, text: &str) -> String {
        self.paint("31", text)
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}

fn colour_is_welcome(no_color: bool) -> bool {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    !(no_color || refused || dumb)
}

/// Writes data to standard output. A reader that has gone, as `| head` does, is no error: it has
/// what it wanted.
pub fn print(text: &str) -> io::Result<()> {
    let text = fit(text);
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes a line of talk to standard error. Nobody listening is no reason to stop.
pub fn say(text: &str) {
    let text = width::wrapped(&fit(text), width::of(io::stderr()));
    let _ = writeln!(io::stderr().lock(), "{text}");
}
