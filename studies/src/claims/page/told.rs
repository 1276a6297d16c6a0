//! What was found about a few claims, for a terminal: every finding with its reason, where its
//! records are, and what comes next.

use std::path::Path;

use super::super::FOLDER;
use super::{Entry, Language, records};

/// The claims that were asked for by name, one below the other. `folder` is that of the records.
pub fn told(entries: &[Entry], folder: &Path, language: Language) -> String {
    let all: Vec<String> = entries
        .iter()
        .map(|entry| one(entry, folder, language))
        .collect();
    let mut text = all.join("\n");
    let is_recorded = |entry: &Entry| {
        let finding = entry.finding.as_ref();
        finding.is_some_and(|finding| finding.folder.is_some())
    };
    if entries.iter().any(is_recorded) {
        let (folder, flag) = (folder.display(), language.of("", " --lang zh"));
        text += &format!(
            "\n{}ringside claims page {folder}{flag}\n",
            language.of("page: ", "网页：")
        );
    }
    text
}

fn one(entry: &Entry, folder: &Path, language: Language) -> String {
    let (word, statement) = (language.word(entry.word()), entry.statement(language));
    let mut text = format!("{}  {word}  {statement}\n", entry.claim.id);
    let colon = language.of(": ", "：");
    let finding = entry.finding.as_ref();
    for judgement in finding.iter().flat_map(|finding| &finding.judgements) {
        let word = language.word(Some(judgement.word));
        let sentence = language.one(&judgement.sentence);
        text += &format!("    {word}{colon}{sentence}\n");
    }
    if let Some(records) = finding.and_then(|finding| records(finding, language)) {
        let name = language.of("records", "记录");
        text += &format!("    {name}{colon}{}\n", folder.join(records).display());
    }
    if let (None, Some(again)) = (finding, entry.again()) {
        let into = match folder == Path::new(FOLDER) {
            true => String::new(),
            false => format!(" -o {}", folder.display()),
        };
        text += &format!(
            "    {}{colon}{again}{into}\n",
            language.of("run it", "运行")
        );
    }
    text
}
