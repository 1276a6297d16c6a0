//! Words that say a thing is not finished. What is not finished is not landed.

use crate::complaint::Complaint;
use crate::workspace::{File, Workspace};

/// The words, put together so that this file does not hold them itself.
const WORDS: [&str; 6] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X"),
    concat!("unimpl", "emented!"),
    concat!("to", "do!"),
    concat!("#[ign", "ore"),
];

/// Looks for the words in every text file.
pub(super) fn check(workspace: &Workspace) -> Vec<Complaint> {
    workspace.files.iter().flat_map(in_file).collect()
}

fn in_file(file: &File) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for word in WORDS.iter().filter(|word| holds(line, word)) {
            let text = format!("`{word}`: finish it, or leave it out");
            complaints.push(Complaint::at(&file.path, index + 1, text));
        }
    }
    complaints
}

/// Whether `line` holds `word` by itself, not as a part of a longer word.
fn holds(line: &str, word: &str) -> bool {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        let after = line[start + word.len()..].chars().next();
        let open = word.starts_with('#') || !before.is_some_and(letter);
        open && (!word.ends_with(letter) || !after.is_some_and(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{made_of, texts};
    use super::*;

    #[test]
    fn each_word_is_caught_in_code_and_in_documents() {
        for word in WORDS {
            let text = format!("fine\nand {word} later");
            let found = texts(&check(&made_of(&[("a.md", &text)])));
            assert_eq!(
                found,
                [format!("a.md:2: `{word}`: finish it, or leave it out")]
            );
        }
    }

    #[test]
    fn a_longer_word_is_another_word() {
        let text = concat!("mktemp /tmp/run.XX", "XX", "XX\nMETHO", "DO\n#[derive]");
        assert_eq!(check(&made_of(&[("a.sh", text)])), []);
    }
}
