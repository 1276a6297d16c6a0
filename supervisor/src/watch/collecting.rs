//! What a subject's log says of collecting garbage while a window is open.

use garbage::{Collected, Journal, Runtime};
use measure::time::Time;

use crate::log::Log;

/// The most that is read of what a subject writes in a window.
const LOG_BYTES_MAX: u64 = 32 << 20;

/// Reads the log of one start.
#[derive(Debug)]
pub(crate) struct Collecting {
    runtime: Runtime,
    log: Log,
    /// The log had a line about a collection.
    is_read: bool,
    opened: Option<Edge>,
    closed: Option<Edge>,
}

/// An edge of a window: how long the log was, and when.
#[derive(Clone, Copy, Debug)]
struct Edge {
    bytes: u64,
    at: Time,
}

impl Collecting {
    /// Of a process that is started and writes to `log`.
    pub(crate) fn new(runtime: Runtime, log: Log) -> Collecting {
        Collecting {
            runtime,
            log,
            is_read: false,
            opened: None,
            closed: None,
        }
    }

    fn edge(&self) -> Option<Edge> {
        let (bytes, at) = (self.log.bytes(), Time::now());
        Some(Edge { bytes, at })
    }

    /// What is written from now on counts.
    pub(crate) fn open(&mut self) {
        self.opened = self.edge();
    }

    /// What is written from now on doesn't. Reading is for later: it would be in the window.
    pub(crate) fn close(&mut self) {
        self.closed = self.edge();
    }

    /// What was collected between the edges; nothing of a window without them.
    ///
    /// # Errors
    ///
    /// A sentence if the log can't be read, is too long, has another format, or has had no line
    /// about a collection so far: that it's none can't be told from a log that isn't written then.
    pub(crate) fn collected(&mut self) -> Result<Option<Collected>, String> {
        let (Some(opened), Some(closed)) = (self.opened.take(), self.closed.take()) else {
            return Ok(None);
        };
        let collected = self.within(opened.bytes, closed.bytes)?;
        self.is_read = self.is_read || collected.collections > 0 || {
            let before = opened.bytes.saturating_sub(LOG_BYTES_MAX);
            self.within(before, opened.bytes)?.collections > 0
        };
        if !self.is_read {
            return Err(format!(
                "collections aren't counted: its log has no line about one, so either there was \
                 none since it was started, or it doesn't write them: {}",
                self.runtime.how_to()
            ));
        }
        Ok(Some(Collected {
            watched_ns: closed.at.since(opened.at),
            ..collected
        }))
    }

    /// What the log says between two of its lengths.
    fn within(&self, from: u64, to: u64) -> Result<Collected, String> {
        let bytes = to.saturating_sub(from);
        if bytes > LOG_BYTES_MAX {
            return Err(format!(
                "collections aren't counted: it wrote more than {} MiB in the window",
                LOG_BYTES_MAX >> 20
            ));
        }
        let text = self.log.since(from, bytes);
        let text = text.map_err(|why| format!("collections aren't counted: its log: {why}"))?;
        // Some write a line in pieces: the one at the end may not be whole.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut journal = Journal::new(self.runtime);
        whole.lines().for_each(|line| journal.line(line));
        journal.collected()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_is_written_in_the_window_counts_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let (log, mut file) = Log::open(&folder.path().join("log")).expect("a log");
        let mut collecting = Collecting::new(Runtime::Go, log);
        assert_eq!(collecting.collected(), Ok(None));
        let line = |number: u32| format!("gc {number} @0.2s 1%: 1.0+5.0+2.0 ms clock, 0 ms cpu\n");
        file.write_all(line(1).as_bytes()).expect("writable");
        collecting.open();
        let both = format!("{}served\n{}gc 4 @0.3s 1%: 1.0+", line(2), line(3));
        file.write_all(both.as_bytes()).expect("writable");
        collecting.close();
        file.write_all(b"5.0+2.0 ms clock\n").expect("writable");
        let found = collecting.collected().expect("readable").expect("opened");
        assert_eq!((found.collections, found.paused_ns), (2, 6_000_000));
        assert_eq!(found.longest_ns, 2_000_000);
        collecting.open();
        file.write_all(b"\ngc 5 @0.2s 1%: in words\n")
            .expect("writable");
        collecting.close();
        let strange = collecting.collected().expect_err("another format");
        assert!(strange.contains("gc 5 @0.2s 1%: in words"), "{strange}");
    }

    #[test]
    fn none_in_a_window_is_told_from_a_log_without_any() {
        let folder = tempfile::tempdir().expect("a folder");
        let (log, mut file) = Log::open(&folder.path().join("log")).expect("a log");
        let mut collecting = Collecting::new(Runtime::Go, log);
        let window = |collecting: &mut Collecting| {
            collecting.open();
            collecting.close();
            collecting.collected()
        };
        file.write_all(b"listening\n").expect("writable");
        let unknown = window(&mut collecting).expect_err("nobody knows whether it writes any");
        assert!(
            unknown.contains("start it with GODEBUG=gctrace=1"),
            "{unknown}"
        );
        file.write_all(b"gc 1 @0.2s 1%: 1.0+5.0+2.0 ms clock, 0 ms cpu\n")
            .expect("writable");
        for _ in 0..2 {
            let none = window(&mut collecting).expect("readable").expect("opened");
            assert_eq!(none.collections, 0);
        }
    }
}
