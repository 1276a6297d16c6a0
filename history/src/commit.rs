//! Which commit a session is of, and lists of commits.

use std::ops::RangeInclusive;

/// The lengths of a commit's hash: from what git abbreviates to at least, to all of it.
const COMMIT: RangeInclusive<usize> = 7..=40;

/// The commits of a list with one in each line, as `git log --reverse --oneline` writes it.
///
/// # Errors
/// A line that begins with no commit, by its number.
pub fn commits(text: &str) -> Result<Vec<String>, String> {
    let lines = (1..).zip(text.lines());
    let filled = lines.filter(|(_, line)| !line.trim().is_empty());
    filled
        .map(|(number, line)| {
            let word = line.split_whitespace().next().unwrap_or_default();
            match COMMIT.contains(&word.len()) && word.bytes().all(|c| c.is_ascii_hexdigit()) {
                true => Ok(word.to_ascii_lowercase()),
                false => Err(format!(
                    "line {number} doesn't begin with a commit's hash; write the list with git \
                     log --reverse --format=%H"
                )),
            }
        })
        .collect()
}

/// The commit in a name, such as `hello-4e1f9ab.tar.xz`: the last word of it that is a hash and
/// no number or word of people.
pub(crate) fn commit_in(name: &str) -> Option<String> {
    let mut words = name.split(|c: char| !c.is_ascii_alphanumeric());
    let is_hash = |word: &&str| {
        let hex = |c: u8| c.is_ascii_digit() || (b'a'..=b'f').contains(&c);
        COMMIT.contains(&word.len())
            && word.bytes().all(hex)
            && word.bytes().any(|c| c.is_ascii_digit())
            && word.bytes().any(|c| c.is_ascii_alphabetic())
    };
    words.rfind(is_hash).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_in_a_name_is_told_from_dates_versions_and_words() {
        for (name, expected) in [
            ("hello-4e1f9ab.tar.xz", Some("4e1f9ab")),
            ("2026-11-22-2core-kvm-6.18", None),
            ("20261122-defaced", None),
            ("nightly_20261122_51e335a5", Some("51e335a5")),
            ("4e1f9a", None),
            ("", None),
        ] {
            assert_eq!(commit_in(name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn a_list_of_commits_is_what_git_writes() {
        let listed = commits("4e1f9ab a subject\n\n51E335a5\n").expect("a list");
        assert_eq!(listed, ["4e1f9ab", "51e335a5"]);
        let wrong = commits("4e1f9ab\nHEAD\n").expect_err("no hash");
        assert!(wrong.starts_with("line 2 "), "{wrong}");
    }
}
