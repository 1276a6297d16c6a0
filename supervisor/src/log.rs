//! What a process writes: a file to which each start adds a part of its own.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use measure::foreign::Foreign;

/// The most that is read of what a process wrote.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;
/// The lines that are shown of it, and how far from the end they are looked for.
const TAIL_LINES: usize = 12;
const TAIL_BYTES: u64 = 8 * 1024;
/// What is kept of a long part: its beginning and its end.
const KEPT_BYTES: (u64, u64) = (64 * 1024, 256 * 1024);

/// The part of one start.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    path: PathBuf,
    start: u64,
}

impl Log {
    /// A new part behind what is in the file already, and the file to write it to.
    pub(crate) fn open(path: &Path) -> io::Result<(Log, File)> {
        let file = File::options().create(true).append(true).open(path)?;
        let log = Log {
            path: path.to_owned(),
            start: file.metadata()?.len(),
        };
        Ok((log, file))
    }

    /// How long it is by now.
    pub(crate) fn bytes(&self) -> u64 {
        let whole = fs::metadata(&self.path).map_or(0, |facts| facts.len());
        whole.saturating_sub(self.start)
    }

    /// Its first megabyte.
    pub(crate) fn beginning(&self) -> io::Result<Vec<u8>> {
        self.part(0, OUTPUT_BYTES_MAX)
    }

    /// What was written behind its first `from` bytes, `limit` of it at most.
    pub(crate) fn since(&self, from: u64, limit: u64) -> io::Result<String> {
        let bytes = self.part(from, limit)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Its last megabyte, from the beginning of a line.
    pub(crate) fn end(&self) -> io::Result<String> {
        self.tail(OUTPUT_BYTES_MAX)
    }

    /// The last lines, fit for a terminal.
    pub(crate) fn last_lines(&self) -> Vec<String> {
        let from = self.bytes().saturating_sub(TAIL_BYTES);
        let bytes = self.part(from, TAIL_BYTES).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let clean = |line: &str| Foreign::new(line.replace('\t', " ")).to_string();
        let lines: Vec<String> = text
            .lines()
            .map(clean)
            .filter(|line| !line.is_empty())
            .collect();
        lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec()
    }

    /// Keeps the beginning and the end of it, as `clean` makes them, once nobody writes any more.
    pub(crate) fn settle(&self, clean: impl Fn(&str) -> String) -> io::Result<()> {
        let (first, last) = KEPT_BYTES;
        let bytes = self.bytes();
        let text = if bytes <= first + last {
            String::from_utf8_lossy(&self.part(0, bytes)?).into_owned()
        } else {
            let (beginning, end) = (self.part(0, first)?, self.tail(last)?);
            let beginning = String::from_utf8_lossy(whole_lines(&beginning)).into_owned();
            let left_out = bytes - (beginning.len() + end.len()) as u64;
            format!("{beginning}\n[ringside left out {left_out} bytes here]\n{end}")
        };
        let cleaned = clean(&text);
        let mut file = File::options().write(true).open(&self.path)?;
        file.set_len(self.start)?;
        file.seek(SeekFrom::Start(self.start))?;
        file.write_all(cleaned.as_bytes())
    }

    /// Its last bytes, from the beginning of a line.
    fn tail(&self, limit: u64) -> io::Result<String> {
        let from = self.bytes().saturating_sub(limit);
        let bytes = self.part(from, limit)?;
        let line = bytes.iter().position(|byte| *byte == b'\n');
        let start = line.filter(|_| from > 0).map_or(0, |at| at + 1);
        Ok(String::from_utf8_lossy(&bytes[start..]).into_owned())
    }

    fn part(&self, from: u64, limit: u64) -> io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.start + from))?;
        let mut bytes = Vec::new();
        file.take(limit).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// Without the line that is not whole at the end, unless there is no other.
fn whole_lines(bytes: &[u8]) -> &[u8] {
    let last = bytes.iter().rposition(|byte| *byte == b'\n');
    &bytes[..last.unwrap_or(bytes.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log that has a part from before, and of this start what `text` says.
    fn written(text: &[u8]) -> (tempfile::TempDir, Log) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("log");
        fs::write(&path, "from before\n").expect("writable");
        let (log, mut file) = Log::open(&path).expect("there");
        file.write_all(text).expect("writable");
        (folder, log)
    }

    fn whole(log: &Log) -> String {
        fs::read_to_string(&log.path).expect("there")
    }

    #[test]
    fn of_a_long_part_the_beginning_and_the_end_are_kept() {
        let text = format!("first\n{}last\n", "in between\n".repeat(1 << 17));
        let (_folder, log) = written(text.as_bytes());
        assert!(log.end().expect("there").ends_with("in between\nlast\n"));
        log.settle(str::to_owned).expect("writable");
        let kept = whole(&log);
        assert!(kept.len() < 400_000, "{} bytes", kept.len());
        assert!(kept.starts_with("from before\nfirst\nin between\n"));
        assert!(kept.ends_with("in between\nlast\n"));
        let note = kept.lines().find(|line| line.starts_with("[ringside"));
        let note = note.expect("it is said");
        let left_out = text.len() + "from before\n".len() + note.len() + 2 - kept.len();
        assert!(
            note.contains(&format!("left out {left_out} bytes")),
            "{note}"
        );
        let (_folder, one_line) = written(&vec![b'x'; 1 << 22]);
        one_line.settle(str::to_owned).expect("writable");
        assert!(whole(&one_line).len() < 400_000);
    }

    #[test]
    fn what_is_kept_is_cleaned_and_what_stood_before_is_not_touched() {
        let (_folder, log) = written(b"a before b\xff\n");
        log.settle(|text| text.replace("before", "…"))
            .expect("writable");
        assert_eq!(whole(&log), "from before\na … b\u{fffd}\n");
    }
}
