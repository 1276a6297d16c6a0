//! Reading a TOML file so that a mistake names its file, its line and what was expected there.
//!
//! Knows nothing of what the files mean: whoever reads a subject or a comparison does.

mod counts;

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::redaction::guessed;
use measure::foreign::{Foreign, screened};
use measure::words::{self, nearest, of_reader};
use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};

/// The largest file that is read: these files are written by hand.
const BYTES_MAX: u64 = 1 << 20;

/// The text of a file together with where it came from, for messages about parts of it.
#[derive(Debug)]
pub struct Document {
    path: PathBuf,
    text: String,
}

impl Document {
    /// Reads a file and what it describes.
    pub fn read<T: DeserializeOwned>(path: &Path) -> Result<(T, Document), BadFile> {
        let text = read_text(path).map_err(|what| BadFile {
            file: path.to_owned(),
            place: None,
            what,
        })?;
        Document::of(path, text)
    }

    /// Reads what a text describes, which is called `path` in messages.
    pub fn of<T: DeserializeOwned>(path: &Path, text: String) -> Result<(T, Document), BadFile> {
        let document = Document {
            path: path.to_owned(),
            text,
        };
        match toml::from_str(&document.text) {
            Ok(value) => Ok((value, document)),
            Err(error) => {
                let span = error.span();
                let what = match (error.message().trim_end(), span.clone()) {
                    ("duplicate key", Some(key)) => words::twice(&document.text, key),
                    (message, _) => explain(message),
                };
                Err(document.fault(span, what))
            }
        }
    }

    /// The file as it was read.
    pub fn bytes(&self) -> Vec<u8> {
        self.text.clone().into_bytes()
    }

    /// A message about the bytes `span` of this file.
    pub fn fault(&self, span: Option<Range<usize>>, what: impl Into<String>) -> BadFile {
        BadFile {
            file: self.path.clone(),
            place: span.map(|span| Place::of(&self.text, span.start)),
            what: guessed(&what.into()).into_owned(),
        }
    }
}

fn read_text(path: &Path) -> Result<String, String> {
    let facts = fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if facts.is_dir() {
        return Err("is a folder; expected a TOML file".into());
    }
    if facts.len() > BYTES_MAX {
        return Err(format!(
            "has {} bytes; the limit is {BYTES_MAX}",
            facts.len()
        ));
    }
    let bytes = fs::read(path).map_err(|error| format!("can't be read: {error}"))?;
    String::from_utf8(bytes).map_err(|_| "isn't UTF-8 text; expected a TOML file".into())
}

/// Why a file can't be read. Those that examples name are looked for elsewhere, too.
fn unreadable(path: &Path, error: &io::Error) -> String {
    let is_ours = path.starts_with(OURS) && !Path::new(OURS).is_dir();
    let is_url = path.to_str().is_some_and(|path| path.contains("://"));
    match error.kind() {
        ErrorKind::NotFound if is_url => {
            "is a URL, and not a file: give each server that runs with --url".to_owned()
        }
        ErrorKind::NotFound if is_ours => format!(
            "isn't here: the folder {OURS} belongs to a checkout of ringside's source, so change \
             to that, or compare servers without a file, with --start or --url"
        ),
        _ => format!("can't be read: {error}"),
    }
}

/// A file that cannot be used: which, where, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadFile {
    file: PathBuf,
    place: Option<Place>,
    what: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    column: usize,
    text: String,
}

impl Place {
    fn of(text: &str, offset: usize) -> Place {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &text[..offset];
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: text[start..offset].chars().count() + 1,
            text: guessed(text[start..].lines().next().unwrap_or("")).into_owned(),
        }
    }
}

impl BadFile {
    /// What is wrong, without where.
    pub fn what(&self) -> &str {
        &self.what
    }
}

impl fmt::Display for BadFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Foreign::new(self.file.display().to_string()))?;
        if let Some(place) = &self.place {
            write!(f, ":{}:{}", place.line, place.column)?;
        }
        write!(f, ": {}", screened(&self.what))?;
        match &self.place {
            Some(place) if !place.text.trim().is_empty() => {
                let text = Foreign::new(place.text.replace('\t', " "));
                write!(f, "\n  {} | {text}", place.line)
            }
            _ => Ok(()),
        }
    }
}

impl std::error::Error for BadFile {}

/// The folder of comparisons in a checkout.
const OURS: &str = "comparisons";

/// Keys that are looked for by the names of flags, with those that mean the same in a file.
const ALIASES: [(&str, &str); 1] = [("duration", "window")];

/// The parser's message in words for people, with the nearest expected word to an unexpected one.
fn explain(message: &str) -> String {
    let message = of_reader(message);
    let mut quoted = message.split('`').skip(1).step_by(2);
    let Some(found) = quoted.next() else {
        return message;
    };
    if !message.starts_with("unknown ") {
        return message;
    }
    let known: Vec<&str> = quoted.collect();
    if found == "limits" && known.contains(&"rows") {
        return format!("{message}; limits are those of a row, or stand in its subject.toml");
    }
    let alias = ALIASES
        .iter()
        .find(|(other, ours)| *other == found && known.contains(ours));
    let meant = alias.map(|(_, ours)| *ours);
    match meant.or_else(|| nearest(found, known)) {
        Some(near) => format!("{message}; did you mean `{near}`?"),
        None => message,
    }
}

/// Reads JSON that says which version of its schema it is, and in which every number can be a
/// count. `what` names it for the sentence.
pub fn versioned<T: DeserializeOwned>(text: &str, known: u32, what: &str) -> Result<T, String> {
    #[derive(serde::Deserialize)]
    struct Version {
        schema_version: u32,
    }
    let foreign = |error: serde_json::Error| format!("this isn't a ringside {what}: {error}");
    let version = serde_json::from_str::<Version>(text)
        .map_err(foreign)?
        .schema_version;
    if version > known {
        return Err(format!(
            "this {what} has schema version {version}, but this ringside knows {known}: use a \
             newer ringside"
        ));
    }
    counts::check(text)?;
    serde_json::from_str(text).map_err(foreign)
}

/// The one of `all` that has this name. For words that a derived reading can't list, such as those
/// of an untagged part of an enum.
///
/// # Errors
///
/// A sentence as serde's, with the names that there are.
pub fn named<T, E: serde::de::Error>(
    name: &str,
    all: impl IntoIterator<Item = (impl AsRef<str>, T)>,
) -> Result<T, E> {
    let mut names = Vec::new();
    for (known, one) in all {
        if known.as_ref() == name {
            return Ok(one);
        }
        names.push(format!("`{}`", known.as_ref()));
    }
    let names = names.join(", ");
    Err(E::custom(format!(
        "unknown variant `{name}`, expected one of {names}"
    )))
}

/// Reads a length of time: `"1s"`, `"200ms"`.
pub fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    match Amount::deserialize(from)? {
        Amount::Text(text) => words::duration(&text).map_err(D::Error::custom),
        Amount::Number(number) => Err(D::Error::custom(words::without_unit(number))),
    }
}

/// What is mostly a number with a unit, in a text.
#[derive(serde::Deserialize)]
#[serde(untagged, expecting = "expected a text, such as \"2s\" or \"10k\"")]
enum Amount {
    Text(String),
    Number(f64),
}

/// Reads a length of time that is not zero.
pub fn some_duration<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let length = duration(from)?;
    if length.is_zero() {
        return Err(D::Error::custom("the time is zero; write it like \"2s\""));
    }
    Ok(length)
}

/// Reads a rate a second: `"50k"`, `"100/s"`.
pub fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let text = match Amount::deserialize(from)? {
        Amount::Text(text) => text,
        Amount::Number(number) => number.to_string(),
    };
    measure::units::parse_rate(&text)
        .map(Some)
        .map_err(D::Error::custom)
}

/// Reads a share: `"2%"`.
pub fn percent<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let text = String::deserialize(from)?;
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.trim().parse::<f64>().ok());
    match number {
        Some(number) if (0.0..100.0).contains(&number) => Ok(number / 100.0),
        _ => Err(D::Error::custom(format!(
            "`{text}` isn't a share; expected a percentage below 100, such as \"2%\""
        ))),
    }
}

/// A model, indented, with a line end.
pub fn indented(model: &impl Serialize) -> String {
    match serde_json::to_string_pretty(model) {
        Ok(text) => text + "\n",
        // Maps with keys that are not strings are the one thing that cannot be written; there is
        // none. The sentence is valid JSON all the same.
        Err(error) => format!("{{\"error\": {:?}}}\n", error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_called_like_a_flag_is_answered_with_its_own_name() {
        let told = explain("unknown field `duration`, expected one of `path`, `window`");
        assert!(told.ends_with("did you mean `window`?"), "{told}");
        let told = explain("unknown field `duration`, expected one of `path`, `rate`");
        assert!(!told.contains("window"), "{told}");
    }

    #[test]
    fn limits_of_a_whole_comparison_are_sent_to_a_row() {
        let told = explain("unknown field `limits`, expected one of `title`, `rows`");
        assert!(told.ends_with("or stand in its subject.toml"), "{told}");
    }

    #[test]
    fn numbers_without_a_unit_and_keys_that_stand_twice_are_told_apart() {
        #[derive(Debug, serde::Deserialize)]
        struct Read {
            #[serde(default, deserialize_with = "rate")]
            rate: Option<f64>,
            #[serde(default, deserialize_with = "duration")]
            at: Duration,
        }
        let read = |text: &str| Document::of::<Read>(Path::new("f"), text.to_owned());
        let told = |text: &str| match read(text) {
            Ok((read, _)) => panic!("{read:?}"),
            Err(wrong) => wrong.to_string(),
        };
        for text in ["rate = 1000", "rate = 1e3", "rate = \"1k\""] {
            let (found, _) = read(text).expect("a rate");
            assert_eq!((found.rate, found.at), (Some(1000.0), Duration::ZERO));
        }
        let bare = told("at = 3");
        let what = "expected a time with a unit: write \"3ms\" or \"3s\"";
        assert!(bare.contains("f:1:6") && bare.contains(what), "{bare}");
        let bare = told("at = \"3\"");
        assert!(bare.contains("f:1:6") && bare.contains(what), "{bare}");
        let twice = told("at = \"1s\"\nat = \"2s\"");
        let what = "`at` stands twice";
        assert!(twice.contains("f:2:1") && twice.contains(what), "{twice}");
    }

    #[test]
    fn a_place_is_counted_in_lines_and_characters() {
        let place = Place::of("a = 1\nß = two\n", 11);
        assert_eq!(
            (place.line, place.column, place.text.as_str()),
            (2, 5, "ß = two")
        );
        let beyond = Place::of("a", 99);
        assert_eq!((beyond.line, beyond.column), (1, 2));
    }
}
