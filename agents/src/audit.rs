//! What an agent was asked for and did, as lines of JSON that are only ever appended: for the owner
//! of its machine.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use measure::foreign::Foreign;
use measure::time::{unix_seconds, utc_stamp};
use serde::Serialize;

use output::terminal::say;

/// A log; none keeps nothing.
#[derive(Debug, Default)]
pub(crate) struct Audit(Option<File>);

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
        Ok(Audit(Some(file)))
    }

    /// Something has happened in a run.
    pub(crate) fn note(&mut self, event: &str, run: &str, what: &str) {
        let Some(file) = &mut self.0 else {
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
        if let Err(why) = file.write_all(text.as_bytes()) {
            say(&format!("the log can't be written any more: {why}"));
            self.0 = None;
        }
    }
}
