//! The line that is drawn anew while a run goes on. Only where standard error is a terminal.

use std::io::{self, IsTerminal, Write};

use measure::time::Time;

use super::{terminal, width};

/// How often something is said to whom the line isn't drawn for.
const SAID_EVERY_NS: u64 = 10_000_000_000;

/// Draws over itself on standard error; gone again when it is dropped.
#[derive(Debug)]
pub(crate) struct Line {
    on: bool,
    drawn: bool,
}

impl Line {
    /// A line, or nothing at all where nobody could watch it.
    pub(crate) fn new() -> Line {
        Line {
            on: io::stderr().is_terminal(),
            drawn: false,
        }
    }

    /// Whether anybody sees it.
    pub(crate) fn is_shown(&self) -> bool {
        self.on
    }

    /// Shows `text` in place of what was there.
    pub(crate) fn show(&mut self, text: &str) {
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
    pub(crate) fn clear(&mut self) {
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

/// What is said of a long wait where there is no terminal to draw on: a line every ten seconds.
#[derive(Debug)]
pub(crate) struct Patience {
    on: bool,
    since: Time,
    next: Time,
}

impl Patience {
    /// The wait begins at `now`.
    pub(crate) fn new(now: Time) -> Patience {
        Patience {
            on: !io::stderr().is_terminal(),
            since: now,
            next: now.plus(SAID_EVERY_NS),
        }
    }

    /// The seconds that the wait has taken by `now`, where it is time to say something of it.
    pub(crate) fn is_due(&mut self, now: Time) -> Option<u64> {
        if !self.on || now < self.next {
            return None;
        }
        self.next = now.plus(SAID_EVERY_NS);
        Some((now - self.since).as_secs())
    }
}

fn flush() -> io::Result<()> {
    io::stderr().flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_wait_is_told_every_ten_seconds_where_nothing_can_be_drawn() {
        let at = |seconds: u64| Time(5_000_000_000 + seconds * 1_000_000_000);
        let mut patience = Patience::new(at(0));
        patience.on = true;
        let said: Vec<_> = (0..36).filter_map(|s| patience.is_due(at(s))).collect();
        assert_eq!(said, [10, 20, 30]);
        // After a pause it goes on from there.
        assert_eq!(patience.is_due(at(55)), Some(55));
        assert_eq!(patience.is_due(at(60)), None);
        // The line is drawn.
        patience.on = false;
        assert_eq!(patience.is_due(at(90)), None);
    }
}
