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
        // What it says of errors may have numbers, too, such as that of an error.
        let output = Process::answer(&Launch {
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            folder: &self.folder,
            log: &log,
            cores: &self.cores,
        });
        let output = output.ok_or_else(|| self.unseen("failed"))?;
        let number = last_number(&String::from_utf8_lossy(&output));
        number.ok_or_else(|| self.unseen("printed no number"))
    }

    fn unseen(&self, what: &str) -> String {
        let (of, program) = (&self.of, &self.program);
        format!("not visible here: slow queries of {of}, because `{program}` {what}")
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
        let grown = before.and_then(|before| {
            let grown = queries.count()?.checked_sub(before);
            grown.ok_or_else(|| queries.unseen("counted from the beginning again"))
        });
        match grown {
            Ok(grown) => {
                more.insert(queries.of.clone(), grown);
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

    fn said(folder: &std::path::Path, script: &str) -> SlowQueries {
        SlowQueries {
            of: "database".into(),
            program: "sh".into(),
            arguments: vec!["-c".into(), script.into()],
            environment: std::env::vars().collect(),
            folder: folder.to_owned(),
            cores: Vec::new(),
        }
    }

    #[test]
    fn only_the_answer_of_a_command_that_succeeds_is_a_count() {
        let folder = tempfile::tempdir().expect("a folder");
        let count = |script: &str| said(folder.path(), script).count();
        assert_eq!(count("echo 324; echo 'a warning (111)' >&2"), Ok(324));
        let failed = count("echo \"ERROR 2002 (HY000): can't connect (111)\" >&2; exit 1");
        let why = "slow queries of database, because `sh` ";
        for (found, what) in [
            (failed, "failed"),
            (count("echo 324; exit 1"), "failed"),
            (count("echo 'no errors: 0' >&2"), "printed no number"),
        ] {
            let said = found.expect_err(what);
            assert!(said.ends_with(&format!("{why}{what}")), "{said}");
        }
    }

    #[test]
    fn a_count_that_begins_anew_is_not_visible_instead_of_zero() {
        let folder = tempfile::tempdir().expect("a folder");
        let all = [said(folder.path(), "echo 5")];
        let mut missing = Vec::new();
        let more = more_than(vec![Ok(3)], &all, &mut missing);
        assert_eq!((more["database"], missing.len()), (2, 0));
        assert!(more_than(vec![Ok(7)], &all, &mut missing).is_empty());
        assert!(
            missing[0].ends_with("counted from the beginning again"),
            "{missing:?}"
        );
    }

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
