//! Every command that the documents and the help show is one that this program takes.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use super::{Parsed, help, parse, verbs};

#[test]
fn every_command_in_the_documents_and_in_the_help_can_be_parsed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut pages = vec![root.join("README.md"), root.join("METHODOLOGY.md")];
    collect(&root.join("docs/src"), &mut pages);
    let mut texts: Vec<(String, String)> = pages
        .iter()
        .map(|page| {
            (
                page.display().to_string(),
                fs::read_to_string(page).unwrap(),
            )
        })
        .collect();
    for verb in verbs() {
        texts.push((format!("{verb} --help"), help(Some(&verb)).unwrap()));
    }
    let (mut tried, mut wrong) = (0, Vec::new());
    for (place, text) in &texts {
        for command in commands(text) {
            tried += 1;
            if let Parsed::Wrong(why) = parse(words(&command)) {
                wrong.push(format!("{place}: {command}\n{why}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried >= 80, "only {tried} commands were found");
}

fn collect(folder: &Path, pages: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, pages);
        } else if path.extension().is_some_and(|end| end == "md") {
            pages.push(path);
        }
    }
}

/// The commands of a text: lines that begin with `ringside VERB`, and code in backticks that does.
fn commands(text: &str) -> Vec<String> {
    // A backslash continues a line.
    let parts: Vec<&str> = text.split("\\\n").map(str::trim).collect();
    let joined = parts.join(" ");
    let mut found = Vec::new();
    for line in joined.lines() {
        let line = line.trim_start_matches([' ', '|']);
        let spans = line.split('`').skip(1).step_by(2);
        found.extend(spans.chain([line]).filter(|one| begins_with_a_verb(one)));
    }
    found.into_iter().map(str::to_owned).collect()
}

fn begins_with_a_verb(text: &str) -> bool {
    let mut words = text.split_whitespace();
    // A verb alone is a name in a sentence, and prose about it has no flag, address or file.
    let (program, verb) = (words.next(), words.next());
    let rest: Vec<&str> = words.collect();
    let tells = |word: &&str| word.starts_with('-') || word.contains("://") || word.contains('.');
    program == Some("ringside")
        && verb.is_some_and(|verb| verbs().iter().any(|known| known == verb))
        && rest
            .first()
            .is_some_and(|word| tells(word) || word.chars().all(char::is_uppercase))
}

/// The words of a command as a shell would split it, without what follows ` #`, ` &` or two spaces.
fn words(command: &str) -> Vec<OsString> {
    let command = command.split(" #").next().unwrap_or_default();
    let command = command.trim_end_matches([' ', '&', '\\']);
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    let mut before = ' ';
    for c in command.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted && before == ' ' && words.len() > 2 => break,
            ' ' if !quoted => words.extend((!word.is_empty()).then(|| std::mem::take(&mut word))),
            c => word.push(c),
        }
        before = c;
    }
    words.extend((!word.is_empty()).then_some(word));
    words.into_iter().map(OsString::from).collect()
}

#[test]
fn a_command_that_is_wrong_would_be_found() {
    let found =
        commands("Use `ringside run --nonsense URL` here.\n    ringside hold -c1 \\\n  x.y  so\n");
    assert_eq!(found[0], "ringside run --nonsense URL");
    assert!(matches!(parse(words(&found[0])), Parsed::Wrong(_)));
    assert_eq!(
        words(&found[1]),
        ["ringside", "hold", "-c1", "x.y"].map(OsString::from)
    );
    assert!(commands("ringside run ends here").is_empty());
}
