//! Reading a TOML file so that a mistake names its file, its line and what was expected there.
//! Paths in it are relative to the folder that it's in.
//!
//! A line of the file itself is never quoted: it may hold a password.

use std::fmt;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use measure::foreign::Foreign;
use measure::words::{nearest, of_reader, twice};
use serde::de::DeserializeOwned;

/// The largest file that is read: these files are written by hand.
const BYTES_MAX: u64 = 1 << 20;

/// The one list of tables, and what is said where it's written as a table.
const LIST: &str = "route";
pub(super) const SEVERAL: &str = "routes are a list: write [[route]] above each, with two brackets";

/// The text of a file together with its name, for messages about parts of it.
#[derive(Debug)]
pub(super) struct Document {
    name: String,
    text: String,
    folder: PathBuf,
}

impl Document {
    /// Reads a file.
    pub(super) fn read(path: &Path) -> Result<Document, BadConfig> {
        let name = path.display().to_string();
        let bad = |what: String| BadConfig {
            file: path.display().to_string(),
            place: None,
            what,
        };
        let facts = fs::metadata(path).map_err(|error| bad(format!("can't be read: {error}")))?;
        if !facts.is_file() {
            return Err(bad("isn't a file; expected a TOML file".into()));
        }
        if facts.len() > BYTES_MAX {
            let bytes = facts.len();
            return Err(bad(format!("has {bytes} bytes; the limit is {BYTES_MAX}")));
        }
        let bytes = fs::read(path).map_err(|error| bad(format!("can't be read: {error}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| bad("isn't UTF-8 text; expected a TOML file".into()))?;
        Ok(Document::of(&name, path, &text))
    }

    /// A text that is called `name` in messages, and stands in a file at `path`.
    pub(super) fn of(name: &str, path: &Path, text: &str) -> Document {
        Document {
            name: name.to_owned(),
            text: text.to_owned(),
            folder: path.parent().map(Path::to_owned).unwrap_or_default(),
        }
    }

    /// Where a path of this file leads.
    pub(super) fn place_of(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Reads what the text describes.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, BadConfig> {
        toml::from_str(&self.text).map_err(|error| {
            let span = error.span();
            let what = match (error.message().trim_end(), span.clone()) {
                ("duplicate key", Some(at)) => match self.text.get(at.clone()) {
                    Some(LIST) => SEVERAL.to_owned(),
                    _ => twice(&self.text, at),
                },
                (message, _) => explain(message),
            };
            self.fault(span, what)
        })
    }

    /// A message about the bytes `span` of this file.
    pub(super) fn fault(&self, span: Option<Range<usize>>, what: impl Into<String>) -> BadConfig {
        BadConfig {
            file: self.name.clone(),
            place: span.map(|span| place(&self.text, span.start)),
            what: what.into(),
        }
    }
}

/// Line and column, from 1.
fn place(text: &str, offset: usize) -> (usize, usize) {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    let before = &text[..offset];
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    (line, before[start..].chars().count() + 1)
}

/// A configuration that can't be used: where, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadConfig {
    file: String,
    place: Option<(usize, usize)>,
    what: String,
}

impl fmt::Display for BadConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Foreign::new(self.file.clone()))?;
        if let Some((line, column)) = self.place {
            write!(f, ":{line}:{column}")?;
        }
        write!(f, ": {}", Foreign::new(self.what.clone()))
    }
}

impl std::error::Error for BadConfig {}

/// The parser's message on one line, with the nearest expected name to an unexpected one.
fn explain(message: &str) -> String {
    let message = of_reader(message);
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(found) = quoted.next() else {
        return message;
    };
    if !message.starts_with("unknown ") {
        return message;
    }
    match nearest(found, quoted) {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message,
    }
}
