//! A comparison out of arguments: programs that are started as they would be typed, with what they
//! answer as their declared answers. What comes out is the text of a comparison and its subjects,
//! which go the way of those in files.

use std::collections::BTreeSet;
use std::env;
use std::fmt::Write as _;
use std::path::Path;

use load::Stop;
use supervisor::difference::difference;
use supervisor::subject::Subject;

use crate::check::{self, Found, Options};
use crate::event::Observer;
use crate::scaffold::{Declared, Refused, quoted, text, words, zeros};

/// How long all rounds may take, and how long one round of a row does, with its two parts and the
/// time that they need to settle.
const ROUNDS_S: f64 = 45.0;
const ROUND_S: f64 = 0.95;
/// The rounds of many rows, and of two.
const ROUNDS_MIN: usize = 5;
const ROUNDS_MAX: usize = 15;
/// So much of a program's name stands in that of its row.
const NAME_CHARACTERS: usize = 24;

/// What was given.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// The commands, as people type them; the first is the baseline.
    pub starts: Vec<String>,
    /// The path that all are asked for.
    pub path: String,
    /// Connections of the load; none is the default of files.
    pub connections: Option<u32>,
    /// They may answer differently.
    pub any_answer: bool,
}

/// A comparison that nobody has written down.
#[derive(Clone, Debug)]
pub struct Made {
    /// What its file would say.
    pub(crate) text: String,
    /// The subjects that it names.
    pub(crate) subjects: Vec<Subject>,
    /// How their answers differ, if they do.
    pub(crate) differing: Option<String>,
}

/// Starts each program once to see what it answers, and makes a comparison of them.
///
/// # Errors
/// With a sentence that says what to do: a command that can't be run, a program that doesn't serve,
/// and answers that differ.
pub fn make(
    given: &Given,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Made, Refused> {
    let split = |command: &String| words("--start", command);
    let commands: Vec<Vec<String>> = given.starts.iter().map(split).collect::<Result<_, _>>()?;
    let names = names(&commands);
    let mut answers = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let mut answer = Declared::unseen(&given.path);
        let subject = subject(name, &given.starts[at], &commands[at], &answer)?;
        let asked = check::asked(&subject, options, stop, observer);
        let [first, second] = asked.map_err(|found| match found {
            Found::Failed(what, log) => Refused::Failed(format!("{name} {what}"), log),
            Found::Missing(what) => Refused::Failed(format!("{name}: {what}"), Vec::new()),
            Found::Good(_) | Found::Stopped => Refused::Stopped,
        })?;
        answer
            .take(&first, &second)
            .map_err(|refused| named(name, refused))?;
        answers.push(answer);
    }
    // What varies in one may vary in all, and needn't have done so while it was looked at.
    let vary = given.any_answer || answers.iter().any(|answer| answer.digits_vary);
    for answer in &mut answers {
        answer.digits_vary = vary;
        if vary {
            answer.body = String::from_utf8_lossy(&zeros(answer.body.as_bytes())).into_owned();
        }
    }
    let differing = disagreement(&names, &answers);
    if let (Some(differing), false) = (&differing, given.any_answer) {
        return Err(Refused::Failed(
            format!(
                "{differing}, which is different work: make them answer alike, ask for another \
                 path with --path, or add --any-answer to compare them all the same"
            ),
            Vec::new(),
        ));
    }
    let mut subjects = Vec::new();
    for (at, name) in names.iter().enumerate() {
        let mut subject = subject(name, &given.starts[at], &commands[at], &answers[at])?;
        subject.may_differ = given.any_answer;
        subjects.push(subject);
    }
    Ok(Made {
        text: comparison(given, &names, &answers),
        subjects,
        differing: differing.map(|what| {
            format!("The answers differ, and are compared because of --any-answer: {what}.")
        }),
    })
}

fn named(name: &str, refused: Refused) -> Refused {
    match refused {
        Refused::Failed(what, log) => Refused::Failed(format!("{name}: {what}"), log),
        other => other,
    }
}

/// A program as a subject that runs in the current folder.
fn subject(
    name: &str,
    typed: &str,
    command: &[String],
    answer: &Declared<'_>,
) -> Result<Subject, Refused> {
    let here = env::current_dir()
        .map_err(|error| Refused::Wrong(format!("the current folder can't be read: {error}")))?;
    Subject::made(name, &here, text(typed, command, answer))
        .map_err(|bad| Refused::Wrong(format!("--start {typed:?}: {}", bad.what())))
}

/// How the first answer that isn't as the first one's differs from it, if one does.
fn disagreement(names: &[String], answers: &[Declared<'_>]) -> Option<String> {
    let (first, others) = answers.split_first()?;
    let (baseline, names) = names.split_first()?;
    let path = first.path;
    others.iter().zip(names).find_map(|(other, name)| {
        if other.status != first.status {
            return Some(format!(
                "{name} answers {path} with status {}, and {baseline} with {}",
                other.status, first.status
            ));
        }
        (other.body != first.body).then(|| {
            let how = difference(other.body.as_bytes(), first.body.as_bytes());
            format!("{name} answers {path} differently than {baseline}, with {how}")
        })
    })
}

/// The text of the comparison. It holds no answer, which may be anybody's, but how long each is.
fn comparison(given: &Given, names: &[String], answers: &[Declared<'_>]) -> String {
    let mut text = String::from("# Made of arguments: ringside compare\n");
    // Writing to a string doesn't fail.
    for ((name, typed), answer) in names.iter().zip(&given.starts).zip(answers) {
        let (status, bytes) = (answer.status, answer.body.len());
        let typed = quoted(typed);
        let _ = writeln!(text, "# {name}: {typed}; status {status}, {bytes} bytes");
    }
    let listed: Vec<String> = names.iter().map(|name| quoted(name)).collect();
    let _ = writeln!(
        text,
        "name = {}\nsubjects = [{}]\nrounds = {}\n\n[judge]\nfigures = [\"rate\", \"cpu\"]\n\
         equal_rate = \"auto\"\n\n[workload]\npath = {}\nsettle = \"100ms\"\nwindow = \"350ms\"",
        quoted(&names.join("-")),
        listed.join(", "),
        rounds(names.len()),
        quoted(&given.path),
    );
    if let Some(connections) = given.connections {
        let _ = writeln!(text, "connections = {connections}");
    }
    text
}

/// As many as give a verdict within a minute, the baseline's twin included.
fn rounds(rows: usize) -> usize {
    let fit = ROUNDS_S / (ROUND_S * (rows + 1) as f64);
    (fit as usize).clamp(ROUNDS_MIN, ROUNDS_MAX)
}

/// A name for each command: its program's; where several have the same, the first word in which
/// they differ; and a number where that's the same, too.
fn names(commands: &[Vec<String>]) -> Vec<String> {
    let program = |words: &Vec<String>| words.get(programs_place(words)).map(|word| plain(word));
    let of_programs: Vec<String> = commands.iter().filter_map(program).collect();
    let mut taken = BTreeSet::new();
    let mut names = Vec::new();
    for (at, name) in of_programs.iter().enumerate() {
        let several = of_programs.iter().filter(|other| *other == name).count() > 1;
        let telling = several.then(|| telling(commands, at)).flatten();
        let name = telling.unwrap_or_else(|| name.clone());
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut free = std::iter::once(name.clone()).chain(numbered);
        let name = free.find(|name| !taken.contains(name)).unwrap_or(name);
        taken.insert(name.clone());
        names.push(name);
    }
    names
}

/// Where the program is, behind `env` and what it sets.
fn programs_place(words: &[String]) -> usize {
    let is_env = |word: &String| Path::new(word).file_name() == Some("env".as_ref());
    match words.first() {
        Some(word) if is_env(word) => {
            let program = words.iter().skip(1).position(|word| !word.contains('='));
            program.map_or(0, |at| at + 1)
        }
        _ => 0,
    }
}

/// The first word that no other command has in its place.
fn telling(commands: &[Vec<String>], at: usize) -> Option<String> {
    let own = &commands[at];
    let differs = |place: &usize| {
        let others = commands
            .iter()
            .enumerate()
            .filter(|(other, _)| *other != at);
        let mut others = others.map(|(_, words)| words.get(*place));
        others.all(|other| other != own.get(*place))
    };
    let place = (0..own.len()).find(differs)?;
    let name = plain(&own[place]);
    (!name.is_empty()).then_some(name)
}

/// The last part of a path, of letters, digits, `.`, `_` and `-` only, without its ending.
fn plain(word: &str) -> String {
    let path = Path::new(word);
    let stem = match path.extension() {
        Some(_) => path.file_stem(),
        None => path.file_name(),
    };
    let stem = stem.map_or_else(|| word.into(), |stem| stem.to_string_lossy());
    let fit = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let name: String = stem.chars().map(fit).take(NAME_CHARACTERS).collect();
    match name.trim_matches('-') {
        "" => "server".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_called_by_what_tells_its_command_from_the_others() {
        let named = |commands: &[&str]| {
            let split = |text: &&str| text.split(' ').map(str::to_owned).collect();
            names(&commands.iter().map(split).collect::<Vec<Vec<String>>>())
        };
        assert_eq!(named(&["./v1 {port}", "/a/b/v2.sh {port}"]), ["v1", "v2"]);
        assert_eq!(
            named(&["node a.js {port}", "node b/c.js {port}"]),
            ["a", "c"]
        );
        assert_eq!(
            named(&["env P={port} ./v --fast", "env P={port} ./v --slow"]),
            ["fast", "slow"]
        );
        assert_eq!(named(&["./v {port}", "./v {port}"]), ["v", "v-2"]);
        assert_eq!(named(&["a/v {port}", "b/v {port}"]), ["v", "v-2"]);
        assert_eq!(
            named(&["./ä {port}", "./-- {port}"]),
            ["server", "server-2"]
        );
    }

    #[test]
    fn answers_that_differ_are_told_apart() {
        let answer = |status, body: &str| Declared {
            status,
            body: body.to_owned(),
            ..Declared::unseen("/x")
        };
        let told = |other| {
            let names = ["one".to_owned(), "two".to_owned()];
            disagreement(&names, &[answer(200, "Hello"), other])
        };
        assert_eq!(told(answer(200, "Hello")), None);
        let what = told(answer(201, "Hello")).expect("they differ");
        assert_eq!(what, "two answers /x with status 201, and one with 200");
        let what = told(answer(200, "Hello\n")).expect("they differ");
        assert!(what.contains("`Hello\\n` instead of `Hello`"), "{what}");
    }

    #[test]
    fn two_rows_have_most_rounds_and_many_have_few() {
        assert_eq!(rounds(2), 15);
        assert_eq!(rounds(4), 9);
        assert_eq!(rounds(40), 5);
    }
}
