//! What would have to be written down before servers can be compared, made of what was typed. Here,
//! the folder of a new subject: for a program that is there already, or with a small server to
//! begin with, and it can be checked and compared as it is. In [`given`], a comparison.
//!
//! What an existing program answers is asked of it, twice, so that nobody has to write it down.
#![forbid(unsafe_code)]

pub mod given;
mod naming;

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use lab::Observer;
use lab::check::{self, Found, Options};
use load::{Answer, Stop};
use supervisor::setting::find_program;
use supervisor::subject::{Subject, is_plain_name};

const SERVER: &str = include_str!("server.py");
const SUBJECT: &str = include_str!("subject.toml");

/// Where a command runs: in a directory that is made for it, or in one that is there.
const OWN_FOLDER: &str = "\
# It runs in an empty directory of its own, where words that begin with ./ name files of the
# subject's folder. To run it in another one:
# folder = \"/absolute/path\"
";
const FOLDER: &str = "\
# Where it runs: this is where its command was typed. Without this line it runs in an empty
# directory of its own, where words that begin with ./ name files of the subject's folder.
folder = PLACE
";

/// A longer body doesn't belong into a file that people read.
const BODY_BYTES_MAX: usize = 16 * 1024;

/// What is wanted.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The folder of subjects; it's made where it isn't there.
    pub place: PathBuf,
    /// The name of the new one.
    pub name: String,
    /// The command of a program that is there, as people type it.
    pub command: Option<String>,
    /// The path that it's asked for.
    pub path: String,
}

/// Why there's no new subject.
#[derive(Debug)]
pub enum Refused {
    /// What is wanted makes no sense, or its place can't be written.
    Wrong(String),
    /// The program doesn't do what a subject has to, and the last lines that it wrote.
    Failed(String, Vec<String>),
    /// Somebody asked to stop.
    Stopped,
}

fn wrong(what: impl Into<String>) -> Refused {
    Refused::Wrong(what.into())
}

/// Makes the folder, and returns what is in it now.
///
/// # Errors
/// With a sentence that says what to do. Nothing is left behind then.
pub fn write(
    wanted: &Wanted,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Vec<PathBuf>, Refused> {
    let name = &wanted.name;
    if !is_plain_name(name) {
        return Err(wrong(format!(
            "`{name}` can't name a subject, because it names a folder: use letters, digits, `.`, \
             `_` and `-`"
        )));
    }
    let command = wanted
        .command
        .as_deref()
        .map(|command| words("--command", command))
        .transpose()?;
    let folder = wanted.place.join(name);
    // What is there already stays there.
    let made: Vec<&Path> = wanted
        .place
        .ancestors()
        .take_while(|place| !place.exists() && !place.as_os_str().is_empty())
        .collect();
    fs::create_dir_all(&wanted.place).map_err(|error| unwritable(&wanted.place, &error))?;
    fs::create_dir(&folder).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => wrong(format!(
            "{} is there already: choose another name, or remove it",
            folder.display()
        )),
        _ => unwritable(&folder, &error),
    })?;
    let filled = match command {
        Some(command) => of_program(wanted, &folder, &command, options, stop, observer),
        None => of_ours(&folder),
    };
    if filled.is_err() {
        // Only what was made here. What can't be removed is in nobody's way.
        let _ = fs::remove_dir_all(&folder);
        made.iter().for_each(|place| drop(fs::remove_dir(place)));
    }
    filled
}

fn unwritable(path: &Path, error: &io::Error) -> Refused {
    wrong(format!(
        "can't create {}: {error}; pass another place as --dir",
        path.display()
    ))
}

/// A small server in Python; where that isn't installed, our own, which is there for certain.
fn of_ours(folder: &Path) -> Result<Vec<PathBuf>, Refused> {
    let answer = Declared {
        path: "/",
        status: 200,
        content_type: Some("text/plain".to_owned()),
        body: "Hello, World!".to_owned(),
        is_chunked: false,
        digits_vary: false,
    };
    let (description, command, files): (_, &[&str], &[_]) = match find_program("python3") {
        Some(_) => (
            "A small server in Python",
            &["python3", "./server.py", "{port}"],
            &[("server.py", SERVER)],
        ),
        None => (
            "ringside's own server",
            &[
                "{ringside}",
                "serve",
                "--threads",
                "1",
                "--addr",
                "127.0.0.1:{port}",
            ],
            &[],
        ),
    };
    let command = command
        .iter()
        .map(|word| (*word).to_owned())
        .collect::<Vec<_>>();
    let mut written = Vec::new();
    let text = text(description, &command, None, &answer);
    for (name, text) in [("subject.toml", text.as_str())].iter().chain(files) {
        let file = folder.join(name);
        put(&file, text)?;
        written.push(file);
    }
    Ok(written)
}

/// The description of a program that is there, with what it answers.
fn of_program(
    wanted: &Wanted,
    folder: &Path,
    command: &[String],
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Vec<PathBuf>, Refused> {
    let file = folder.join("subject.toml");
    let description = wanted.command.as_deref().unwrap_or(&wanted.name);
    let mut answer = Declared::unseen(&wanted.path);
    let here = env::current_dir()
        .map_err(|error| wrong(format!("the current folder can't be read: {error}")))?;
    // With an answer that nobody compares: it's the file that is read and started.
    put(&file, &text(description, command, Some(&here), &answer))?;
    let subject = Subject::read(folder).map_err(|bad| wrong(bad.to_string()))?;
    let [first, second] =
        check::asked(&subject, options, stop, observer).map_err(|found| match found {
            Found::Failed(what, log) => Refused::Failed(what, log),
            Found::Missing(what) => Refused::Failed(what, Vec::new()),
            Found::Good(_) | Found::Stopped => Refused::Stopped,
        })?;
    answer.take(&first, &second, BODY_BYTES_MAX)?;
    put(&file, &text(description, command, Some(&here), &answer))?;
    Ok(vec![file])
}

fn put(file: &Path, text: &str) -> Result<(), Refused> {
    fs::write(file, text).map_err(|error| unwritable(file, &error))
}

/// An answer as it's declared.
#[derive(Clone, Debug)]
pub(crate) struct Declared<'a> {
    pub(crate) path: &'a str,
    pub(crate) status: u16,
    pub(crate) content_type: Option<String>,
    pub(crate) body: String,
    pub(crate) is_chunked: bool,
    pub(crate) digits_vary: bool,
}

impl Declared<'_> {
    /// One to `path` that nobody has seen yet.
    pub(crate) fn unseen(path: &str) -> Declared<'_> {
        Declared {
            path,
            status: 200,
            content_type: None,
            body: String::new(),
            is_chunked: false,
            digits_vary: false,
        }
    }

    /// Takes over what was answered twice, if its body isn't longer than `bytes_max`.
    pub(crate) fn take(
        &mut self,
        first: &Answer,
        second: &Answer,
        bytes_max: usize,
    ) -> Result<(), Refused> {
        let failed = |what: String| {
            let what = format!("{} is answered {what}", self.path);
            Refused::Failed(what, Vec::new())
        };
        if !first.is_success() {
            let advice = match first.status {
                500.. => "look at the server's log, or ask for another path, with --path",
                _ => "ask for a path that it serves, with --path",
            };
            return Err(failed(format!("with status {}: {advice}", first.status)));
        }
        let other = "ask for another path, with --path";
        let Ok(body) = String::from_utf8(first.body.clone()) else {
            return Err(failed(format!(
                "with something that isn't UTF-8 text: {other}"
            )));
        };
        if body.len() > bytes_max {
            let length = body.len();
            return Err(failed(format!(
                "with {length} bytes, and an answer that's checked has at most {bytes_max}: {other}"
            )));
        }
        self.digits_vary = first.body != second.body;
        if zeros(&first.body) != zeros(&second.body) {
            return Err(failed(format!(
                "differently each time, and an answer has to stay the same to be checked: {other}"
            )));
        }
        self.status = first.status;
        self.is_chunked = first.field("content-length").is_none() && first.status != 204;
        let content_type = first.field("content-type");
        self.content_type = content_type.and_then(|text| String::from_utf8(text.to_vec()).ok());
        self.body = body;
        Ok(())
    }
}

/// A body without what may differ where digits vary.
pub(crate) fn zeros(body: &[u8]) -> Vec<u8> {
    let zero = |byte: &u8| if byte.is_ascii_digit() { b'0' } else { *byte };
    body.iter().map(zero).collect()
}

/// The whole `subject.toml`, of a command that runs in `folder` if one is given.
pub(crate) fn text(
    description: &str,
    command: &[String],
    folder: Option<&Path>,
    answer: &Declared<'_>,
) -> String {
    let quoted: Vec<String> = command.iter().map(|word| quoted(word)).collect();
    let place = match folder {
        None => OWN_FOLDER.to_owned(),
        Some(folder) => FOLDER.replace("PLACE", &self::quoted(&folder.display().to_string())),
    };
    let mut text = SUBJECT
        .replace("WHERE\n", &place)
        .replace("DESCRIPTION", &self::quoted(description))
        .replace("= COMMAND", &format!("= [{}]", quoted.join(", ")));
    // Writing to a string doesn't fail.
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key} = {value}");
    };
    line("path", self::quoted(answer.path));
    line("status", answer.status.to_string());
    if let Some(kind) = &answer.content_type {
        line("content_type", self::quoted(kind));
    }
    if answer.is_chunked {
        line("chunked", "true".to_owned());
    }
    if answer.digits_vary {
        line("digits_vary", "true".to_owned());
    }
    line("body", self::quoted(&answer.body));
    text
}

/// A text as TOML writes it, on one line.
pub(crate) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            c if c.is_control() => quoted.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted + "\""
}

/// The words of a command, given as `flag`, as a shell would split them, with paths that hold from
/// everywhere.
pub(crate) fn words(flag: &str, command: &str) -> Result<Vec<String>, Refused> {
    let Some(words) = split(command) else {
        return Err(wrong(format!("{flag} {command:?}: a quote isn't closed")));
    };
    let plain: Vec<&str> = words
        .iter()
        .map(|word| if word.is_quoted { "" } else { &*word.text })
        .collect();
    if let Some(what) = for_a_shell(&plain) {
        return Err(wrong(format!("{flag} {command:?}: {what}")));
    }
    let Some(program) = words.first() else {
        return Err(wrong(format!(
            "{flag} is empty: write it like './server {{port}}'"
        )));
    };
    let program = &program.text;
    if find_program(program).is_none() {
        return Err(wrong(format!(
            "there's no program {program} that can be run: check its path, and whether it's \
             executable"
        )));
    }
    if !words.iter().any(|word| word.text.contains("{port}")) {
        return Err(wrong(format!(
            "{flag} {command:?} doesn't say where the port goes: write {{port}} in its place, \
             such as './server --port {{port}}' or 'env PORT={{port}} ./server'"
        )));
    }
    Ok(words.into_iter().map(|word| anchored(word.text)).collect())
}

/// A word of a command.
#[derive(Clone, Debug, Default)]
pub(crate) struct Word {
    pub(crate) text: String,
    /// Some of it stood in quotes, so that a shell wouldn't see more in it than text.
    is_quoted: bool,
}

/// The words of a command, as a shell would split them; none if a quote isn't closed.
pub(crate) fn split(command: &str) -> Option<Vec<Word>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<Word>, None);
    for c in command.chars() {
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default().is_quoted = true;
            }
            (Some(open), c) if open == c => quote = None,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().text.push(c),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// What is wrong with words that mean something to a shell only, if there are some, and what to
/// write. Quoted words are empty.
fn for_a_shell(words: &[&str]) -> Option<String> {
    let first = *words.first()?;
    let is_set = |word: &&&str| {
        let name = word.split_once('=').map_or("", |(name, _)| name);
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(fits)
    };
    let set = words.iter().take_while(is_set).count();
    if set > 0 {
        return Some(format!(
            "no shell is used, which would set {first}; write `env` before it, as in 'env \
             PORT={{port}} ./server'"
        ));
    }
    let (last, others) = words.split_last()?;
    if ["&", ";"].contains(last) && !others.iter().any(|word| is_for_a_shell(word)) {
        return Some(format!(
            "no shell is used, so leave out the `{last}` at its end: the command is ended after \
             the last round"
        ));
    }
    let builtin = ["cd", "export", "source", "ulimit"].contains(&first);
    let found = words.iter().find(|word| is_for_a_shell(word));
    let found = found.or_else(|| builtin.then_some(&first))?;
    Some(format!(
        "no shell is used, and `{found}` means something only to one; write \"sh -c 'cd folder && \
         exec ./server {{port}}'\""
    ))
}

/// Whether a word joins commands, or sends what one writes elsewhere.
fn is_for_a_shell(word: &str) -> bool {
    let joins = ["&", "&&", "|", "||", "|&", ";"].contains(&word) || word.ends_with(';');
    let rest = word.trim_start_matches(|c: char| c.is_ascii_digit());
    joins || word.starts_with("&>") || rest.starts_with(['>', '<'])
}

/// A path that is there from here, as one that is there from everywhere.
fn anchored(word: String) -> String {
    let is_path = word.contains('/') && Path::new(&word).exists();
    match std::path::absolute(&word) {
        Ok(path) if is_path => path.display().to_string(),
        _ => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_split_as_a_shell_splits_them() {
        let split = |text: &str| match words("--command", text) {
            Ok(words) => words,
            Err(Refused::Wrong(what)) => vec![what],
            Err(other) => panic!("{other:?}"),
        };
        assert_eq!(split("sh -c 'a  b' {port}"), ["sh", "-c", "a  b", "{port}"]);
        assert_eq!(
            split("env A=\"b c\" x{port} ''"),
            ["env", "A=b c", "x{port}", ""]
        );
        assert_eq!(split("sh '&' \">\" {port}"), ["sh", "&", ">", "{port}"]);
        assert_eq!(split("/bin/../bin/sh {port}")[0], "/bin/../bin/sh");
        for (text, part) in [
            ("sh 'a", "isn't closed"),
            (" ", "is empty"),
            ("./nowhere {port}", "there's no program ./nowhere"),
            ("sh", "where the port goes"),
            (
                "P={port} sh",
                "no shell is used, which would set P={port}; write `env` before",
            ),
            (
                "cd x && sh {port}",
                "no shell is used, and `&&` means something only to one",
            ),
            (
                "cd {port}",
                "`cd` means something only to one; write \"sh -c 'cd folder &&",
            ),
            ("sh {port} &", "leave out the `&` at its end"),
            ("sh {port} ;", "leave out the `;` at its end"),
            ("sh {port} | cat", "and `|` means"),
            ("sh {port} >log", "and `>log` means"),
            ("sh {port} 2>&1 &", "and `2>&1` means"),
            ("sh {port}; sh", "and `{port};` means"),
            ("sh {port} < x", "and `<` means"),
        ] {
            assert!(split(text)[0].contains(part), "{text}: {:?}", split(text));
        }
    }

    #[test]
    fn what_is_answered_is_declared_as_it_is() {
        let answer = |status, head: &str, body: &str| Answer {
            status,
            head: format!("HTTP/1.1 200 OK\r\n{head}\r\n").into_bytes(),
            body: body.into(),
            ..Answer::default()
        };
        let declared = |first: &Answer, second: &Answer| {
            let mut declared = Declared::unseen("/a");
            declared
                .take(first, second, BODY_BYTES_MAX)
                .map(|()| text("x", &[], None, &declared))
        };
        let typed = "Content-Type: text/html\r\nContent-Length: 9\r\n";
        let one = answer(200, typed, "\"at\" 1\t\\\n");
        let text = declared(&one, &one).expect("an answer");
        let wanted = "path = \"/a\"\nstatus = 200\ncontent_type = \"text/html\"\n\
                      body = \"\\\"at\\\" 1\\t\\\\\\n\"\n";
        assert!(text.ends_with(wanted), "{text}");
        let other = answer(200, "", "at 2");
        let text = declared(&answer(200, "", "at 1"), &other).expect("an answer");
        assert!(
            text.contains("chunked = true\ndigits_vary = true\n"),
            "{text}"
        );
        for (first, second, part) in [
            (
                answer(404, "", "a"),
                answer(404, "", "a"),
                "status 404: ask",
            ),
            (
                answer(500, "", "a"),
                answer(500, "", "a"),
                "status 500: look at the server's log",
            ),
            (
                answer(200, "", "a"),
                answer(200, "", "b"),
                "differently each time",
            ),
            (answer(200, "", &"a".repeat(99_999)), one, "99999 bytes"),
        ] {
            match declared(&first, &second) {
                Err(Refused::Failed(what, _)) => assert!(what.contains(part), "{what}"),
                other => panic!("{other:?}"),
            }
        }
    }
}
