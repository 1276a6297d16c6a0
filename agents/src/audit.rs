//! What an agent was asked for and did, as lines of JSON that are only ever appended: for the owner
//! of its machine.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use measure::foreign::Foreign;
use measure::time::{unix_seconds, utc_stamp};
use serde::Serialize;

use output::terminal::say;

/// A log; without a file it keeps nothing.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    file: Option<File>,
    /// Why the last line couldn't be written.
    fault: Option<String>,
}

#[derive(Serialize)]
struct Line<'a> {
    at: String,
    event: &'a str,
    run: &'a str,
    what: String,
}

impl Audit {
    /// One that is kept in a file.
    ///
    /// # Errors
    /// A sentence: it can't be written.
    pub(crate) fn open(path: &Path) -> Result<Audit, String> {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|why| format!("can't write the log {}: {why}", path.display()))?;
        Ok(Audit {
            file: Some(file),
            fault: None,
        })
    }

    /// Why it can't be written, if it can't: what isn't written down isn't done.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.fault.as_deref()
    }

    /// Something has happened in a run.
    pub(crate) fn note(&mut self, event: &str, run: &str, what: &str) {
        let Some(file) = &mut self.file else {
            return;
        };
        let line = Line {
            at: utc_stamp(unix_seconds()),
            event,
            run,
            what: Foreign::new(what).to_string(),
        };
        let Ok(mut text) = serde_json::to_string(&line) else {
            return;
        };
        text.push('\n');
        let fault = file.write_all(text.as_bytes()).err();
        let fault = fault.map(|why| format!("its log can't be written: {why}"));
        if let Some(why) = fault.as_ref().filter(|_| self.fault.is_none()) {
            say(why);
        }
        self.fault = fault;
    }
}
