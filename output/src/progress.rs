//! The line that is drawn anew while a run goes on. Only where standard error is a terminal.

use std::io::{self, IsTerminal, Write};

use super::{terminal, width};

/// Draws over itself on standard error; gone again when it is dropped.
#[derive(Debug)]
pub struct Line {
    on: bool,
    drawn: bool,
}

impl Line {
    /// A line, or nothing at all where nobody could watch it.
    pub fn on_stderr() -> Line {
        Line {
            on: io::stderr().is_terminal(),
            drawn: false,
        }
    }

    /// Whether anybody sees it.
    pub fn is_shown(&self) -> bool {
        self.on
    }

    /// Shows `text` in place of what was there.
    pub fn show(&mut self, text: &str) {
        if self.on {
            self.drawn = true;
            // A line that the terminal breaks could not be drawn over.
            let room = width::of(io::stderr()).map_or(usize::MAX, |columns| columns - 1);
            let text = terminal::fit(text).replace('\n', " ");
            let text: String = text.chars().take(room).collect();
            // Whoever watches can do without a frame that could not be drawn.
            let _ = write!(io::stderr().lock(), "\r\x1b[K{text}").and_then(|()| flush());
        }
    }

    /// Wipes it off.
    pub fn clear(&mut self) {
        if self.drawn {
            self.drawn = false;
            let _ = write!(io::stderr().lock(), "\r\x1b[K").and_then(|()| flush());
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.clear();
    }
}

fn flush() -> io::Result<()> {
    io::stderr().flush()
}
