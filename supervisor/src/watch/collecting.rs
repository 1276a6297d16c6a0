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
    opened: Option<(u64, Time)>,
}

impl Collecting {
    /// Of a process that is started and writes to `log`.
    pub(crate) fn new(runtime: Runtime, log: Log) -> Collecting {
        Collecting {
            runtime,
            log,
            opened: None,
        }
    }

    /// What is written from now on counts.
    pub(crate) fn open(&mut self) {
        self.opened = Some((self.log.bytes(), Time::now()));
    }

    /// What was collected since; nothing if nobody opened it.
    ///
    /// # Errors
    ///
    /// A sentence if the log can't be read, is too long, or has another format.
    pub(crate) fn close(&mut self) -> Result<Option<Collected>, String> {
        let Some((from, opened)) = self.opened.take() else {
            return Ok(None);
        };
        let watched_ns = Time::now().since(opened);
        if self.log.bytes().saturating_sub(from) > LOG_BYTES_MAX {
            return Err(format!(
                "collections aren't counted: it wrote more than {} MiB in the window",
                LOG_BYTES_MAX >> 20
            ));
        }
        let text = self.log.since(from, LOG_BYTES_MAX);
        let text = text.map_err(|why| format!("collections aren't counted: its log: {why}"))?;
        // Some write a line in pieces: the one at the end may not be whole.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        let mut journal = Journal::new(self.runtime);
        whole.lines().for_each(|line| journal.line(line));
        let collected = journal.collected()?;
        Ok(Some(Collected {
            watched_ns,
            ..collected
        }))
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
        assert_eq!(collecting.close(), Ok(None));
        let line = |number: u32| format!("gc {number} @0.2s 1%: 1.0+5.0+2.0 ms clock, 0 ms cpu\n");
        file.write_all(line(1).as_bytes()).expect("writable");
        collecting.open();
        let both = format!("{}served\n{}gc 4 @0.3s 1%: 1.0+", line(2), line(3));
        file.write_all(both.as_bytes()).expect("writable");
        let found = collecting.close().expect("readable").expect("opened");
        assert_eq!((found.collections, found.paused_ns), (2, 6_000_000));
        assert_eq!(found.longest_ns, 2_000_000);
        collecting.open();
        file.write_all(b"\ngc 5 @0.2s 1%: in words\n")
            .expect("writable");
        let strange = collecting.close().expect_err("another format");
        assert!(strange.contains("gc 5 @0.2s 1%: in words"), "{strange}");
    }
}
