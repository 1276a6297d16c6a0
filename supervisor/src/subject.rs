//! A subject: a server that can be built, started, asked and ended, or a command that is timed,
//! described by `subjects/<name>/subject.toml`. The folder is the registry; no Rust is needed for a
//! new one.
//!
//! This file knows the description and what its placeholders mean. It starts nothing.

pub mod companion;
mod file_name;

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use groups::Limits;
use load::Redaction;
use measure::words::nearest;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use self::companion::{Companion, Place};
pub use self::file_name::FileName;
use crate::difference::{difference, difference_but_for};
use crate::document::{self, BadFile, Document};
use crate::running::Running;
use crate::watch::Wanted;
use crate::ways::Ways;
use crate::workload::{self, At, Protocol, Question, UrlPath, Workload};

/// What a `subject.toml` says, with the folder it was found in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// The name of its folder.
    #[serde(skip)]
    pub name: String,
    /// The folder, absolute.
    #[serde(skip)]
    pub folder: PathBuf,
    /// How many workers `{workers}` stands for; none is one for each core it is given.
    #[serde(skip)]
    pub workers: Option<NonZeroU32>,
    /// It may be compared with others that answer otherwise.
    #[serde(skip)]
    pub may_differ: bool,
    /// It runs already, and isn't started.
    #[serde(skip)]
    pub running: Option<Running>,
    /// What it is, in a few words; the name where nobody says it.
    #[serde(default)]
    pub description: String,
    /// What is compared of it.
    #[serde(skip)]
    pub kind: Kind,
    /// The same as it stands in the file. Who says what it prints is a command.
    #[serde(default, rename = "kind")]
    written_kind: Option<Kind>,
    /// It speaks TLS and nothing else, with a certificate that it makes itself.
    #[serde(default)]
    pub tls: bool,
    /// The command whose first line of output is the version.
    #[serde(default)]
    pub version: Option<Command>,
    /// Programs that must be installed.
    #[serde(default)]
    pub requires: Vec<Requirement>,
    /// How it is built, if it must be.
    #[serde(default)]
    pub build: Option<Build>,
    /// How it is started.
    pub start: Start,
    /// How long it is loaded, at least, before anything is timed: a compiler that works while the
    /// program runs needs longer than the comparison's own warm-up.
    #[serde(default, deserialize_with = "document::duration")]
    pub warm_up: Duration,
    /// How the lab knows that a server serves: by an answer to the first one that it declares,
    /// where nobody says otherwise.
    #[serde(default)]
    pub ready: Option<Ready>,
    /// What a server must answer before anything is timed.
    #[serde(default, rename = "answer")]
    pub answers: Vec<Answer>,
    /// All that a timed command writes; a run that writes anything else has failed.
    #[serde(default)]
    pub output: Option<String>,
    /// What it needs beside it, in the order of starting.
    #[serde(default, rename = "companion")]
    pub companions: Vec<Companion>,
    /// What else can be seen of it.
    #[serde(default)]
    pub watch: Wanted,
    /// What its processes may use at most.
    #[serde(default)]
    pub limits: Limits,
}

/// What is compared of a subject.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// It serves HTTP; the generator is ours.
    #[default]
    Server,
    /// It runs and ends; how long that takes is compared.
    Command,
}

/// Something that must be there, and what to do where it is not.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// Its name, looked up as a shell does.
    pub program: String,
    /// A command that succeeds where the program is as it is needed: recent enough, with what it
    /// loads. Without it, to be installed is enough.
    #[serde(default)]
    pub check: Option<Command>,
    /// A sentence that says what is missing where `check` fails, if that isn't the program.
    #[serde(default)]
    pub fails: Option<String>,
    /// A sentence that says how to install it.
    #[serde(default)]
    pub install: String,
}

/// How a subject is built, into a folder outside its source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Build {
    /// The subject beside this one whose build this one starts: then it has no commands itself.
    #[serde(default)]
    pub of: Option<FileName>,
    /// That subject, as it was read.
    #[serde(skip)]
    pub maker: Option<Box<Subject>>,
    /// Run one after the other, in the subject's folder. The result must not mind being moved.
    #[serde(default)]
    pub commands: Vec<Command>,
    /// Added to the environment of these commands.
    #[serde(default)]
    pub environment: BTreeMap<String, Template>,
    /// Folders besides its own that hold a part of the source, relative to its own.
    #[serde(default)]
    pub sources: Vec<PathBuf>,
}

/// How a subject is started: in its run directory, on its own core, in its own process group.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// The program and its arguments.
    pub command: Command,
    /// Its environment, besides `PATH`, `HOME`, `USER`, `LANG` and `TMPDIR`.
    #[serde(default)]
    pub environment: BTreeMap<String, Template>,
    /// Files of the subject's folder that are copied into `{dir}` with placeholders filled in.
    #[serde(default)]
    pub files: Vec<FileName>,
    /// Where it runs, unless that is its run directory.
    pub folder: Option<PathBuf>,
}

/// How the lab knows that a subject serves.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ready {
    /// Any answer to this path, whatever its status, says so.
    pub path: UrlPath,
    /// What is spoken.
    #[serde(default)]
    pub protocol: Protocol,
    /// How long it may take from the start, in seconds.
    #[serde(default = "ready_seconds")]
    pub within_seconds: u32,
}

fn ready_seconds() -> u32 {
    20
}

/// What a subject must answer to a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The path asked.
    pub path: UrlPath,
    /// What is spoken.
    #[serde(default)]
    pub protocol: Protocol,
    /// The method of an HTTP request; POST where there is a message, else GET.
    #[serde(default)]
    pub method: Option<String>,
    /// Fields of the request besides those that ringside sets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What is sent: a request's body, a WebSocket message, or gRPC messages as JSON.
    #[serde(default)]
    pub message: Option<String>,
    /// The `.proto` file of a gRPC method, relative to the subject's folder.
    #[serde(default)]
    pub proto: Option<PathBuf>,
    /// The expected status of an HTTP response. A gRPC call is expected to end with OK.
    #[serde(default = "status_ok")]
    pub status: u16,
    /// The expected `Content-Type`, if it matters.
    #[serde(default)]
    pub content_type: Option<String>,
    /// The expected body or message; of gRPC the messages as JSON, compared as JSON.
    pub body: String,
    /// It comes in chunks, and its length is not said beforehand, on purpose. Otherwise an answer
    /// over HTTP/1.1 has to have a `Content-Length`: chunks are other bytes and other work.
    #[serde(default)]
    pub chunked: bool,
    /// Any digit may stand where `body` has one, as in the time of day. The length is fixed.
    #[serde(default)]
    pub digits_vary: bool,
}

impl Answer {
    /// What is asked to get it. Files are looked for beside `folder`.
    pub(crate) fn question(&self, folder: &Path) -> Result<Question, String> {
        Ok(Question {
            path: self.path.as_str().to_owned(),
            protocol: self.protocol,
            method: self.method.clone(),
            headers: self.headers.clone(),
            message: workload::message(self.message.as_deref(), folder)?,
            repeat: NonZeroU32::MIN,
            proto: self.proto.as_ref().map(|file| folder.join(file)),
            mix: None,
            expect: Vec::new(),
            ways: Ways::default(),
            script: None,
            named: Vec::new(),
            redaction: Redaction::default(),
        })
    }

    /// Has `redaction` know the secrets that asking for it sends.
    pub fn tell_secrets(&self, redaction: &Redaction) {
        let fields = self.headers.iter().map(|(name, value)| (&**name, &**value));
        redaction.learn(fields, self.path.as_str());
    }

    /// This answer for a payload of so many bytes.
    pub(crate) fn with_payload(&self, bytes: u64) -> Answer {
        let fill = |text: &String| workload::with_payload(text, bytes);
        Answer {
            path: self.path.with_payload(bytes),
            message: self.message.as_ref().map(fill),
            body: fill(&self.body),
            ..self.clone()
        }
    }

    /// What is wrong with a body that was `found`.
    pub(crate) fn difference(&self, found: &[u8], declared: &[u8]) -> String {
        let digits = |a: u8, b: u8| a == b || a.is_ascii_digit() && b.is_ascii_digit();
        match self.digits_vary {
            true => difference_but_for(found, declared, digits),
            false => difference(found, declared),
        }
    }

    /// A body without what may differ from answer to answer: equal ones mean the same.
    pub(crate) fn lasting(&self, body: &[u8]) -> Vec<u8> {
        let lasts = |byte: u8| match byte.is_ascii_digit() && self.digits_vary {
            true => b'0',
            false => byte,
        };
        body.iter().copied().map(lasts).collect()
    }
}

fn status_ok() -> u16 {
    200
}

impl Subject {
    /// Reads `folder/subject.toml`, and that of the subject whose build it starts.
    pub fn read(folder: &Path) -> Result<Subject, BadFile> {
        let (mut subject, document) = Subject::read_alone(folder)?;
        let Some(build) = &mut subject.build else {
            return Ok(subject);
        };
        let Some(of) = &build.of else {
            return match build.commands.is_empty() {
                true => Err(document.fault(None, "[build] has neither commands nor `of`")),
                false => Ok(subject),
            };
        };
        let (maker, _) = Subject::read_alone(&subject.folder.join("..").join(of.as_str()))?;
        let makes = |build: &Build| build.of.is_none() && !build.commands.is_empty();
        if !build.commands.is_empty() || !maker.build.as_ref().is_some_and(makes) {
            let what = "`of` in [build] replaces commands, and must name a subject that has some";
            return Err(document.fault(None, what));
        }
        for needed in &maker.requires {
            let known = |own: &Requirement| own.program == needed.program;
            if !subject.requires.iter().any(known) {
                subject.requires.push(needed.clone());
            }
        }
        build.maker = Some(Box::new(maker));
        Ok(subject)
    }

    fn read_alone(folder: &Path) -> Result<(Subject, Document), BadFile> {
        let file = folder.join("subject.toml");
        let (mut subject, document) = Document::read::<Subject>(&file)?;
        subject.settle(folder, &document)?;
        subject.name = match subject.folder.file_name() {
            Some(name) => name.to_string_lossy().into_owned(),
            None => return Err(document.fault(None, "its folder has no name")),
        };
        subject.fill_in();
        Ok((subject, document))
    }

    /// One that nobody has written down: `text` is what its file would say. It runs in `folder`
    /// itself, as if it had been typed there.
    pub fn made(name: &str, folder: &Path, text: String) -> Result<Subject, BadFile> {
        let (mut subject, document) = Document::of::<Subject>(Path::new(name), text)?;
        subject.settle(folder, &document)?;
        subject.start.folder = Some(subject.folder.clone());
        name.clone_into(&mut subject.name);
        subject.fill_in();
        Ok(subject)
    }

    /// Checks what was read, and takes it to be in `folder`.
    fn settle(&mut self, folder: &Path, document: &Document) -> Result<(), BadFile> {
        let subject = self;
        subject.kind = subject.written_kind.unwrap_or(match subject.output {
            Some(_) => Kind::Command,
            None => Kind::Server,
        });
        subject.check().map_err(|what| document.fault(None, what))?;
        let needs_build = subject
            .start
            .command
            .0
            .iter()
            .any(|part| part.0.contains("{build}"));
        if needs_build && subject.build.is_none() {
            return Err(document.fault(None, "uses {build}, so it needs a [build] section"));
        }
        subject.folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let runs_in = subject.start.folder.take();
        subject.start.folder = runs_in.map(|place| subject.folder.join(place));
        Ok(())
    }

    /// What follows from the rest where the file doesn't say it.
    fn fill_in(&mut self) {
        if self.description.is_empty() {
            self.description.clone_from(&self.name);
        }
        for needed in &mut self.requires {
            if needed.install.is_empty() && needed.fails.is_none() {
                needed.install = format!("Install {}.", needed.program);
            }
        }
        if let (None, Some(first)) = (&self.ready, self.answers.first()) {
            self.ready = Some(Ready {
                path: first.path.clone(),
                protocol: first.protocol,
                within_seconds: ready_seconds(),
            });
        }
    }

    /// What the parts do not say one by one.
    fn check(&self) -> Result<(), String> {
        let is_idle = |needed: &&Requirement| needed.fails.is_some() && needed.check.is_none();
        if let Some(needed) = self.requires.iter().find(is_idle) {
            return Err(format!(
                "`fails` says what a failed check of `{}` means, and there's none: add `check`",
                needed.program
            ));
        }
        let serves = self.ready.is_some() || !self.answers.is_empty();
        match self.kind {
            Kind::Server if self.output.is_some() => {
                return Err(
                    "`output` is what a command prints: expected `kind = \"command\"`".into(),
                );
            }
            Kind::Server if self.answers.is_empty() => {
                let what =
                    "expected at least one [[answer]], because we time only answers we can verify";
                return Err(what.into());
            }
            Kind::Command if serves => {
                return Err(
                    "a command doesn't serve: [ready] and [[answer]] are for servers".into(),
                );
            }
            Kind::Command if self.output.is_none() => {
                let what = "expected `output` (everything it prints), because we time only what we \
                            can verify";
                return Err(what.into());
            }
            Kind::Server | Kind::Command => {}
        }
        companion::check(&self.companions)?;
        let mut own = self.start.command.templates();
        own.extend(self.start.environment.values());
        companion::known(&own, self.companions.iter())
    }

    /// Where it is asked, if it was started at `port`.
    pub fn at(&self, port: u16) -> At<'_> {
        match &self.running {
            Some(running) => At {
                host: Some(&running.host),
                address: running.address,
                port: running.port,
                tls: running.tls.is_some(),
                trust: running.tls.as_ref(),
            },
            None => At {
                host: None,
                address: None,
                port,
                tls: self.tls,
                trust: None,
            },
        }
    }

    /// It may use at most what `limits` say, and where they don't, what its file says; it's
    /// described so.
    pub fn limit(&mut self, limits: Limits) {
        self.limits = limits.or(self.limits);
        if !self.limits.is_none() {
            let limits = self.limits.in_words();
            self.description = format!("{}; limited to {limits}", self.description);
        }
    }

    /// Whether it is the server of the program that is running.
    pub fn is_own_server(&self) -> bool {
        self.start.command.words().next() == Some("{ringside}")
    }

    /// What it declares to answer to `path` over `protocol`.
    pub fn answer(&self, path: &str, protocol: Protocol) -> Option<&Answer> {
        self.answers
            .iter()
            .find(|answer| answer.path.as_str() == path && answer.protocol == protocol)
    }

    /// It as a workload asks for it: with so many workers, with the answers to its payload.
    pub fn suited(mut self, workload: &Workload) -> Subject {
        self.workers = workload.workers.or(self.workers);
        if let Some(bytes) = workload.payload {
            let fill = |answer: &Answer| answer.with_payload(bytes);
            self.answers = self.answers.iter().map(fill).collect();
        }
        self
    }

    /// Whether how it is started depends on the number of workers. Files that it copies are not
    /// looked into: it may.
    pub fn takes_workers(&self) -> bool {
        let start = &self.start;
        let mut words = start
            .command
            .words()
            .chain(start.environment.values().map(|text| text.0.as_str()));
        words.any(|word| word.contains("{workers}")) || !start.files.is_empty()
    }

    /// All subjects of a folder of subjects, by name. Files that cannot be read are reported one
    /// by one, so that one mistake does not hide the rest.
    pub fn all(folder: &Path) -> std::io::Result<Vec<(String, Result<Subject, BadFile>)>> {
        let mut found = Vec::new();
        for entry in fs::read_dir(folder)? {
            let path = entry?.path();
            if path.join("subject.toml").is_file() {
                let name = path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                found.push((name, Subject::read(&path)));
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }
}

/// The words that may stand in braces, besides `{companion.NAME.port}` and `{companion.NAME.dir}`.
const PLACEHOLDERS: [&str; 7] = [
    "port", "cpus", "workers", "dir", "build", "subject", "ringside",
];

/// What the placeholders stand for in one start (or one build) of a subject.
#[derive(Clone, Debug, Default)]
pub struct Values {
    /// `{port}`: the port to listen on.
    pub port: u16,
    /// `{cpus}`: the cores it runs on, as `0,2-3`.
    pub cpus: String,
    /// `{workers}`: how many workers it has.
    pub workers: u32,
    /// How many bytes its environment is longer than it need be.
    pub padding: usize,
    /// `{dir}`: its run directory, absolute.
    pub dir: PathBuf,
    /// `{build}`: where its build put things, absolute.
    pub build: PathBuf,
    /// `{subject}`: its folder, absolute.
    pub subject: PathBuf,
    /// `{ringside}`: the program that is running.
    pub ringside: PathBuf,
    /// `{companion.NAME.port}`, `{companion.NAME.dir}`: where each companion is.
    pub companions: BTreeMap<String, Place>,
}

impl Values {
    /// `text` with every known placeholder filled in; other braces stay as they are.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            filled.push_str(&rest[..open]);
            rest = &rest[open + 1..];
            let known = rest
                .split_once('}')
                .and_then(|(word, after)| Some((self.value(word)?, after)));
            match known {
                Some((value, after)) => {
                    filled.push_str(&value);
                    rest = after;
                }
                None => filled.push('{'),
            }
        }
        filled + rest
    }

    /// `./server` as the path of a file that is there, if it is.
    fn found(&self, word: String) -> String {
        let Some(file) = word.strip_prefix("./") else {
            return word;
        };
        let own = self.subject.join(file);
        match self.subject.is_absolute() && !self.dir.join(file).exists() && own.exists() {
            true => own.display().to_string(),
            false => word,
        }
    }

    fn value(&self, word: &str) -> Option<String> {
        let path = |path: &Path| path.display().to_string();
        Some(match word {
            "port" => self.port.to_string(),
            "cpus" => self.cpus.clone(),
            "workers" => self.workers.to_string(),
            "dir" => path(&self.dir),
            "build" => path(&self.build),
            "subject" => path(&self.subject),
            "ringside" => path(&self.ringside),
            word => {
                let (name, what) = word.strip_prefix("companion.")?.rsplit_once('.')?;
                let place = self.companions.get(name)?;
                match what {
                    "port" => place.port.to_string(),
                    "dir" => path(&place.dir),
                    _ => return None,
                }
            }
        })
    }
}

/// A text that may hold placeholders such as `{port}`; others than the known ones are refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// The text as it stands in the file.
    pub fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn fill(&self, values: &Values) -> String {
        values.fill(&self.0)
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Template, D::Error> {
        let text = String::deserialize(from)?;
        let mut rest = text.as_str();
        while let Some(open) = rest.find('{') {
            rest = &rest[open + 1..];
            let word = rest
                .split(|c: char| !c.is_ascii_lowercase())
                .next()
                .unwrap_or("");
            let closed = rest[word.len()..].starts_with('}');
            if closed && !word.is_empty() && !PLACEHOLDERS.contains(&word) {
                return Err(D::Error::custom(unknown_placeholder(word)));
            }
        }
        Ok(Template(text))
    }
}

fn unknown_placeholder(word: &str) -> String {
    let known: Vec<String> = PLACEHOLDERS
        .iter()
        .map(|word| format!("{{{word}}}"))
        .collect();
    let hint = match nearest(word, PLACEHOLDERS) {
        Some(near) => format!("; did you mean {{{near}}}?"),
        None => String::new(),
    };
    format!(
        "unknown placeholder {{{word}}}, expected one of {}{hint}",
        known.join(", ")
    )
}

/// A program and its arguments, as a list: no shell reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command(Vec<Template>);

impl Command {
    /// The program and its arguments with placeholders filled in. Where a word begins with `./`
    /// and nothing of that name is in the run directory, what is in the subject's folder is meant.
    pub fn fill(&self, values: &Values) -> (String, Vec<String>) {
        let mut words = self.0.iter().map(|word| values.found(word.fill(values)));
        (words.next().unwrap_or_default(), words.collect())
    }

    /// Its words as they stand in the file.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        self.0.iter().collect()
    }

    /// Adds an argument without placeholders.
    pub fn add(&mut self, argument: &str) {
        self.0.push(Template(argument.to_owned()));
    }

    /// As it stands in the file, for people.
    pub fn shown(&self) -> String {
        let words: Vec<&str> = self.words().collect();
        words.join(" ")
    }

    /// Everything it says, for a hash of how something is built.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|word| word.0.as_str())
    }
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Command, D::Error> {
        from.deserialize_any(Words)
    }
}

/// Reads a list of words; a command line in one text would need a shell to read it.
struct Words;

impl<'de> Visitor<'de> for Words {
    type Value = Command;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a list such as [\"program\", \"argument\"]")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Command, E> {
        let words: Vec<String> = text
            .split_whitespace()
            .map(|word| format!("{word:?}"))
            .collect();
        Err(E::custom(format!(
            "a command is a list, because no shell reads it; expected [{}]",
            words.join(", ")
        )))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Command, A::Error> {
        let mut words: Vec<Template> = Vec::new();
        while let Some(word) = items.next_element()? {
            words.push(word);
        }
        match words.first() {
            Some(program) if !program.0.is_empty() => Ok(Command(words)),
            _ => Err(A::Error::custom(
                "the command is empty; expected a list such as [\"program\", \"argument\"]",
            )),
        }
    }
}

/// Whether `text` names something in the folder at hand and nothing elsewhere.
pub fn is_plain_name(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !text.is_empty() && !text.starts_with('.') && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests;
