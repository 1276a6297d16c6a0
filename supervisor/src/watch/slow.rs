//! Slow queries of companions, as they count them themselves.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::process::{Launch, Process};

/// What counts the slow queries of a companion.
#[derive(Debug)]
pub(crate) struct SlowQueries {
    /// The companion's name.
    pub(crate) of: String,
    pub(crate) program: String,
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) folder: PathBuf,
    pub(crate) cores: Vec<usize>,
}

impl SlowQueries {
    /// How many there were until now.
    ///
    /// # Errors
    /// A sentence that says why that isn't known.
    pub(crate) fn count(&self) -> Result<u64, String> {
        let log = self.folder.join("slow.log");
        // Only the last answer counts, and there may be none.
        let _ = fs::remove_file(&log);
        let process = Process::to_its_end(&Launch {
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            folder: &self.folder,
            log: &log,
            cores: &self.cores,
        });
        let output = process.and_then(|process| process.output().ok());
        let output = output.unwrap_or_default();
        last_number(&String::from_utf8_lossy(&output)).ok_or_else(|| {
            let (of, program) = (&self.of, &self.program);
            format!("not visible here: slow queries of {of}, because `{program}` printed no number")
        })
    }
}

/// How many more there are than `before`, by companion, and why that isn't known of the others.
pub(super) fn more_than(
    before: Vec<Result<u64, String>>,
    all: &[SlowQueries],
    missing: &mut Vec<String>,
) -> BTreeMap<String, u64> {
    let mut more = BTreeMap::new();
    for (queries, before) in all.iter().zip(before) {
        match before.and_then(|before| Ok((before, queries.count()?))) {
            Ok((before, now)) => {
                more.insert(queries.of.clone(), now.saturating_sub(before));
            }
            Err(what) => missing.push(what),
        }
    }
    more
}

/// The last number in a text.
fn last_number(text: &str) -> Option<u64> {
    let words = text.split(|c: char| !c.is_ascii_digit());
    let mut numbers = words.filter(|word| !word.is_empty());
    numbers.next_back()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_the_last_number_that_is_printed() {
        for (text, count) in [
            ("3\n", Some(3)),
            ("Slow_queries\t17\n", Some(17)),
            ("(integer) 0", Some(0)),
            ("warning 1: none\n250\n", Some(250)),
            ("ERR unknown command", None),
            ("99999999999999999999999", None),
            ("", None),
        ] {
            assert_eq!(last_number(text), count, "{text}");
        }
    }
}
