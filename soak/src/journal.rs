//! The samples of a soak in a file, a line for each, written as they come: whatever ends the
//! program or the machine, what was written stays. A line that wasn't written whole is taken back,
//! and the file can be read at any time.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use lab::Source;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::sample::Sample;

/// The file, in the folder of a soak.
pub const SAMPLES: &str = "samples.ndjson";

/// A file that lines are added to.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    /// How long it is as far as its lines are whole.
    whole: u64,
    /// Lines that could not be written yet.
    waiting: Vec<u8>,
    /// Why not.
    trouble: Option<String>,
}

impl Journal {
    /// Begins one, or goes on with it, behind its last whole line. It's this program's alone until
    /// it's dropped: two soaks in one file would be taken for one.
    ///
    /// # Errors
    /// `WouldBlock` where another program writes to it.
    pub(crate) fn open(folder: &Path) -> io::Result<Journal> {
        let path = folder.join(SAMPLES);
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        // Not every file system has locks: what else fails is none of them.
        let locked = flock(&file, FlockOperation::NonBlockingLockExclusive);
        if locked == Err(Errno::WOULDBLOCK) {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let whole = whole_lines(&fs::read(&path)?).len() as u64;
        file.set_len(whole)?;
        Ok(Journal {
            file,
            whole,
            waiting: Vec::new(),
            trouble: None,
        })
    }

    /// Adds a sample. What can't be written now is kept, and written with a later one; the reason
    /// is returned once.
    pub(crate) fn add(&mut self, sample: &Sample) -> Option<String> {
        match serde_json::to_vec(sample) {
            Ok(line) => {
                self.waiting.extend(line);
                self.waiting.push(b'\n');
            }
            Err(error) => return Some(format!("a sample can't be written as JSON: {error}")),
        }
        self.write()
    }

    /// Writes what waits; the reason why that isn't possible, if it is a new one.
    pub(crate) fn write(&mut self) -> Option<String> {
        match self.file.write_all(&self.waiting) {
            Ok(()) => {
                self.whole += self.waiting.len() as u64;
                self.waiting.clear();
                self.trouble = None;
                None
            }
            Err(error) => {
                // What is there of it may be half a line. Shortening a file needs no room.
                let _ = self.file.set_len(self.whole);
                let is_new = self.trouble.is_none();
                let why = format!("{SAMPLES}: {error}");
                self.trouble = Some(why.clone());
                is_new.then_some(why)
            }
        }
    }

    /// Why lines are missing in the file, if some are.
    pub(crate) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// What has been written stays, even if the machine stops now.
    pub(crate) fn settle(&self) {
        // Where that isn't possible, whoever reads it later has a few samples less.
        let _ = self.file.sync_data();
    }
}

fn whole_lines(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|byte| *byte == b'\n');
    &bytes[..end.map_or(0, |at| at + 1)]
}

/// The samples in a folder; what stands behind the last whole line is left out.
///
/// # Errors
/// A sentence that names the line that is none of a soak's.
pub fn read(folder: &Source) -> Result<Vec<Sample>, String> {
    let file = folder.join(SAMPLES);
    let bytes = fs::read(file.path()).map_err(|error| format!("{file}: {error}"))?;
    let text = String::from_utf8_lossy(whole_lines(&bytes)).into_owned();
    let read = |(at, line): (usize, &str)| {
        serde_json::from_str(line)
            .map_err(|error| format!("{file}, line {}: not a sample: {error}", at + 1))
    };
    text.lines().enumerate().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(completed: u64) -> Sample {
        Sample {
            completed,
            ..Sample::default()
        }
    }

    #[test]
    fn what_was_written_is_read_again_and_half_a_line_is_not_in_the_way() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = || read(&Source::of(folder.path()));
        assert!(read().is_err_and(|why| why.contains(SAMPLES)));
        let mut journal = Journal::open(folder.path()).expect("a file");
        assert_eq!(journal.add(&sample(1)), None);
        drop(journal);
        let path = folder.path().join(SAMPLES);
        let mut bytes = fs::read(&path).expect("it is there");
        bytes.extend(b"{\"unix_s\":1.0,\"sec");
        fs::write(&path, bytes).expect("written");
        assert_eq!(read(), Ok(vec![sample(1)]));
        let mut journal = Journal::open(folder.path()).expect("a file");
        assert_eq!(journal.add(&sample(2)), None);
        assert_eq!(read(), Ok(vec![sample(1), sample(2)]));
        fs::write(&path, "{}\n").expect("written");
        assert!(read().is_err_and(|why| why.contains("line 1")));
    }

    #[test]
    fn two_soaks_do_not_write_to_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut first = Journal::open(folder.path()).expect("a file");
        let second = Journal::open(folder.path());
        let kind = second.map(|_| ()).map_err(|error| error.kind());
        assert_eq!(kind, Err(io::ErrorKind::WouldBlock));
        assert_eq!(first.add(&sample(1)), None);
        drop(first);
        assert!(Journal::open(folder.path()).is_ok());
        let all = read(&Source::of(folder.path()));
        assert_eq!(all, Ok(vec![sample(1)]));
    }

    #[test]
    fn a_full_disk_is_said_once_and_costs_no_line_that_was_written() {
        let full = OpenOptions::new().append(true).open("/dev/full");
        let mut journal = Journal {
            file: full.expect("full(4)"),
            whole: 0,
            waiting: Vec::new(),
            trouble: None,
        };
        let why = journal.add(&sample(1)).expect("there is no room");
        assert!(why.starts_with(SAMPLES), "{why}");
        assert_eq!(journal.add(&sample(2)), None);
        assert!(journal.trouble().is_some());
        let folder = tempfile::tempdir().expect("a folder");
        journal.file = Journal::open(folder.path()).expect("a file").file;
        assert_eq!(journal.add(&sample(3)), None);
        assert_eq!(journal.trouble(), None);
        let all = read(&Source::of(folder.path()));
        assert_eq!(all, Ok(vec![sample(1), sample(2), sample(3)]));
    }
}
