//! What stands in a subject's description of the programs that it needs beside it.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::path::PathBuf;

use measure::words::nearest;
use serde::Deserialize;

use super::{Command, Template, is_plain_name};
use crate::workload::UrlPath;

/// A program that runs beside a subject. In its commands `{port}` and `{dir}` are its own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Companion {
    /// What placeholders call it: `{companion.NAME.port}`.
    pub name: String,
    /// Run to their ends before it is started, one after the other: to make a database's files.
    #[serde(default)]
    pub prepare: Vec<Command>,
    /// The program and its arguments.
    pub command: Command,
    /// Its environment, besides what a subject is given.
    #[serde(default)]
    pub environment: BTreeMap<String, Template>,
    /// How the lab knows that it can be used.
    pub ready: Sign,
    /// A command that prints how many slow queries there were since its start: the last number of
    /// its output.
    #[serde(default)]
    pub slow: Option<Command>,
    /// Where it runs.
    #[serde(default)]
    pub cores: Side,
    /// The subject's connections to it go through a proxy, which can break them.
    #[serde(skip)]
    pub proxied: bool,
}

/// How the lab knows that a companion can be used: by an answer, or by a command that succeeds.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sign {
    /// Any answer over HTTP/1.1 to this path says so.
    #[serde(default)]
    pub path: Option<UrlPath>,
    /// This command says so when it succeeds; until then it is run again and again.
    #[serde(default)]
    pub command: Option<Command>,
    /// How long it may take from the start, in seconds.
    #[serde(default = "ready_seconds")]
    pub within_seconds: u32,
}

fn ready_seconds() -> u32 {
    20
}

/// Whose cores a companion runs on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Beside the generator, which idles while a command is timed.
    #[default]
    Generator,
    /// Beside the subject, as on a machine of its own that holds both.
    Server,
}

/// Where a companion is, for placeholders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Where the subject finds it: its own port, or that of a proxy.
    pub(crate) port: u16,
    pub(crate) own_port: u16,
    pub(crate) dir: PathBuf,
}

/// What the companions of one subject do not say each by itself; says what is wrong.
pub(crate) fn check(companions: &[Companion]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for (at, companion) in companions.iter().enumerate() {
        let name = &companion.name;
        if !is_plain_name(name) {
            return Err(format!(
                "the companion's name is `{name}`; expected letters, digits, `.`, `_` and `-`"
            ));
        }
        if !seen.insert(name) {
            return Err(format!("two companions are called `{name}`"));
        }
        let sign = &companion.ready;
        if sign.path.is_some() == sign.command.is_some() {
            return Err(format!(
                "the companion `{name}` needs either `ready.path` or `ready.command`"
            ));
        }
        let commands = [&companion.command].into_iter().chain(&companion.prepare);
        let mut templates: Vec<&Template> = commands.flat_map(Command::templates).collect();
        let asked = sign.command.iter().chain(&companion.slow);
        templates.extend(asked.flat_map(Command::templates));
        templates.extend(companion.environment.values());
        known(&templates, companions[..at].iter())?;
    }
    Ok(())
}

/// Whether every `{companion.…}` in `templates` names one that is there by then.
pub(crate) fn known<'a>(
    templates: &[&Template],
    there: impl Iterator<Item = &'a Companion>,
) -> Result<(), String> {
    let known: Vec<String> = there
        .flat_map(|companion| ["port", "dir"].map(|what| format!("{}.{what}", companion.name)))
        .collect();
    for text in templates.iter().map(|template| template.text()) {
        for word in text.split("{companion.").skip(1) {
            let word = word.split('}').next().unwrap_or_default();
            if known.iter().any(|known| known == word) {
                continue;
            }
            let hint = match nearest(word, known.iter().map(String::as_str)) {
                Some(near) => format!("; did you mean {{companion.{near}}}?"),
                None => String::new(),
            };
            return Err(format!(
                "{{companion.{word}}} isn't the port or folder of a companion listed before this \
                 one{hint}"
            ));
        }
    }
    Ok(())
}
