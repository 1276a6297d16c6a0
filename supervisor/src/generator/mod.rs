//! A load generator that is compared: a command that loads the subject of its row.
//!
//! What it does is counted by the server that it loads ([`crate::loading`]), and what it says of
//! itself ([`said`]) is only shown beside that. Our own generator takes the same way here: it is
//! started as a command like any other, so that nothing is counted of it that isn't counted of the
//! others.
//!
//! This file knows the description and what its placeholders mean. It starts nothing.

pub mod said;

use std::path::{Path, PathBuf};

use load::Redaction;
use measure::words::nearest;
use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};

use crate::watch::subject::SubjectUse;
use crate::workload::{Protocol, Question, Workload};

use said::{Format, Said};

/// The words that may stand in braces in a generator's command.
const PLACEHOLDERS: [&str; 10] = [
    "url",
    "host",
    "port",
    "path",
    "connections",
    "streams",
    "threads",
    "window_s",
    "folder",
    "ringside",
];

/// A generator as a comparison describes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generator {
    /// The program and its arguments.
    #[serde(deserialize_with = "command")]
    command: Vec<Word>,
    /// How to read what it prints about itself; none: that is not read.
    reads: Option<Format>,
    /// The command whose first line of output is its version.
    #[serde(default)]
    version: Vec<String>,
}

/// A word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    /// As it stands.
    Text(String),
    /// With placeholders to be filled in.
    Template(String),
    /// The flag of our own that sends a file, with the file that holds the row's message.
    Message(&'static str),
}

fn command<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Word>, D::Error> {
    let words = Vec::<String>::deserialize(from)?;
    if words.first().is_none_or(String::is_empty) {
        let what = "an empty command; expected a list such as [\"wrk\", \"{url}\"]";
        return Err(D::Error::custom(what));
    }
    if let Some(word) = words.iter().find_map(|word| unknown(word)) {
        let known: Vec<String> = PLACEHOLDERS
            .iter()
            .map(|one| format!("{{{one}}}"))
            .collect();
        let hint = match nearest(word, PLACEHOLDERS) {
            Some(near) => format!("; did you mean {{{near}}}?"),
            None => String::new(),
        };
        return Err(D::Error::custom(format!(
            "unknown placeholder {{{word}}}, expected one of {}{hint}",
            known.join(", ")
        )));
    }
    Ok(words.into_iter().map(Word::Template).collect())
}

/// The first word in braces that is no placeholder. Other braces, as in JSON, mean themselves.
fn unknown(text: &str) -> Option<&str> {
    let mut parts = text.split('{').skip(1);
    parts.find_map(|part| {
        let (word, _) = part.split_once('}')?;
        let is_word = word
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        (is_word && !word.is_empty() && !PLACEHOLDERS.contains(&word)).then_some(word)
    })
}

/// What the placeholders stand for in one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    /// `{url}` of a server that speaks TLS begins with https.
    pub(crate) tls: bool,
    pub(crate) port: u16,
    pub(crate) protocol: Protocol,
    pub(crate) path: String,
    pub(crate) connections: u32,
    pub(crate) streams: u32,
    pub(crate) threads: usize,
    pub(crate) window_s: u64,
    /// Where the comparison's file is.
    pub(crate) folder: PathBuf,
    pub(crate) ringside: PathBuf,
    /// The file that holds the row's message.
    pub(crate) message: PathBuf,
}

impl Values {
    /// The value of a placeholder.
    fn value(&self, word: &str) -> Option<String> {
        Some(match word {
            "url" => {
                let scheme = match (self.protocol, self.tls) {
                    (Protocol::WebSocket, false) => "ws",
                    (Protocol::WebSocket, true) => "wss",
                    (_, false) => "http",
                    (_, true) => "https",
                };
                format!("{scheme}://127.0.0.1:{}{}", self.port, self.path)
            }
            "host" => "127.0.0.1".to_owned(),
            "port" => self.port.to_string(),
            "path" => self.path.clone(),
            "connections" => self.connections.to_string(),
            "streams" => self.streams.to_string(),
            "threads" => self.threads.to_string(),
            "window_s" => self.window_s.to_string(),
            "folder" => self.folder.display().to_string(),
            "ringside" => self.ringside.display().to_string(),
            _ => return None,
        })
    }

    fn fill(&self, text: &str) -> String {
        let mut parts = text.split('{');
        let mut filled = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let known = part
                .split_once('}')
                .and_then(|(word, after)| Some((self.value(word)?, after)));
            match known {
                Some((value, after)) => filled.extend([value.as_str(), after]),
                None => filled.extend(["{", part]),
            }
        }
        filled
    }
}

impl Generator {
    /// Our own generator under a row's workload, as the command that anybody would type.
    ///
    /// # Errors
    /// The workload is one that the command line of `ringside run` has no words for.
    pub fn ours(
        question: &Question,
        workload: &Workload,
        tls: bool,
        engine: &str,
    ) -> Result<Generator, String> {
        if question.repeat.get() > 1 {
            let what = "`repeat` has no place in the command of ringside itself: give the row a \
                        `generator` with its whole command";
            return Err(what.to_owned());
        }
        let template = |text: &str| Word::Template(text.to_owned());
        let text = |text: &str| Word::Text(text.to_owned());
        let mut words: Vec<Word> = [
            "{ringside}",
            "run",
            "-t",
            "{threads}",
            "-c",
            "{connections}",
            "-d",
            "{window_s}s",
        ]
        .map(template)
        .into();
        words.extend(["--engine", engine, "--format", "json"].map(text));
        match question.protocol {
            Protocol::Http2 => words.extend(["--http2", "-S", "{streams}"].map(template)),
            Protocol::Grpc => words.extend(["-S", "{streams}"].map(template)),
            Protocol::Http1 | Protocol::WebSocket => {
                words.extend([text("--pipeline"), text(&workload.pipeline.to_string())]);
            }
        }
        if !workload.keep_alive {
            words.push(text("--no-keepalive"));
        }
        if tls {
            words.push(text("--insecure"));
        }
        // In one word with its flag, no value is taken for a flag.
        if let Some(method) = &question.method {
            words.push(text(&format!("--method={method}")));
        }
        for (name, value) in &question.headers {
            words.push(text(&format!("--header={name}: {value}")));
        }
        words.extend(sent(question));
        if let Some(proto) = &question.proto {
            // It runs in a directory of its own.
            let proto = std::path::absolute(proto).unwrap_or_else(|_| proto.clone());
            words.push(text(&format!("--proto={}", proto.display())));
        }
        words.push(template(match (question.protocol, tls) {
            (Protocol::Grpc, false) => "grpc://{host}:{port}{path}",
            (Protocol::Grpc, true) => "grpcs://{host}:{port}{path}",
            _ => "{url}",
        }));
        Ok(Generator {
            command: words,
            reads: Some(Format::Ringside),
            version: Vec::new(),
        })
    }

    /// The program and its arguments with placeholders filled in.
    pub(crate) fn fill(&self, values: &Values) -> (String, Vec<String>) {
        let mut words = self.command.iter().map(|word| match word {
            Word::Text(text) => text.clone(),
            Word::Template(text) => values.fill(text),
            Word::Message(flag) => format!("{flag}=@{}", values.message.display()),
        });
        (words.next().unwrap_or_default(), words.collect())
    }

    /// The program, before there is a server.
    pub fn program(&self, ringside: &Path) -> String {
        let values = Values {
            ringside: ringside.to_owned(),
            ..Values::default()
        };
        self.fill(&values).0
    }

    /// Has `redaction` know the secrets in its command.
    pub fn tell_secrets(&self, redaction: &Redaction) {
        for word in self.words() {
            redaction.learn_word(&word);
        }
    }

    /// The command as it stands in the file, for people: without secrets.
    pub fn shown(&self, redaction: &Redaction) -> String {
        shown(&self.words().collect::<Vec<String>>(), redaction)
    }

    /// The words of its command as they stand in the file.
    fn words(&self) -> impl Iterator<Item = String> {
        self.command.iter().map(|word| match word {
            Word::Text(text) | Word::Template(text) => text.clone(),
            Word::Message(flag) => format!("{flag}=@MESSAGE"),
        })
    }

    /// What it is called in sentences: the name of its program.
    pub(crate) fn name(&self) -> String {
        let words = self.words().next().unwrap_or_default();
        let program = words.split(' ').next().unwrap_or_default();
        let name = program.rsplit('/').next().unwrap_or(program);
        name.trim_matches(['{', '}']).to_owned()
    }

    /// The command that says its version, if there is one.
    pub fn version(&self) -> Option<(&String, &[String])> {
        self.version.split_first()
    }

    /// Whether its command names the file that holds the row's message.
    pub(crate) fn wants_message(&self) -> bool {
        let mut words = self.command.iter();
        words.any(|word| matches!(word, Word::Message(_)))
    }

    pub(crate) fn reads(&self) -> Option<Format> {
        self.reads
    }
}

/// The words of a command as people see them: without secrets.
pub(crate) fn shown(words: &[String], redaction: &Redaction) -> String {
    let shown: Vec<_> = words.iter().map(|word| redaction.word(word)).collect();
    redaction.scrub(&shown.join(" ")).into_owned()
}

/// What `ringside run` is told to send: a file, since a message may be longer than an argument may
/// be, and may begin with the sign of a file.
fn sent(question: &Question) -> Vec<Word> {
    let Some(message) = &question.message else {
        return Vec::new();
    };
    let flag = match question.protocol {
        Protocol::WebSocket => "--message",
        _ => "--body",
    };
    let mut words = vec![match message.is_empty() {
        true => Word::Text(format!("{flag}=")),
        false => Word::Message(flag),
    }];
    let named = |name: &String| name.eq_ignore_ascii_case("content-type");
    if question.protocol == Protocol::Http1 && !question.headers.keys().any(named) {
        words.push(Word::Text("--header=Content-Type: application/json".into()));
    }
    words
}

/// What a generator did in one round, counted by the server that it loaded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Generated {
    /// Its command, with placeholders filled in.
    pub command: String,
    /// Exchanges that the server counted from before its start to after its end.
    pub counted: u64,
    /// Exchanges that the server counted in the window.
    pub counted_in_window: u64,
    /// The window in seconds, between the two moments at which the server was asked.
    pub window_s: f64,
    /// From its start to its end, in seconds.
    pub alive_s: f64,
    /// Processor time of it and of all that it started, from its start to its end.
    pub cpu_ns: u64,
    /// The part of it in user mode, in ticks of the kernel.
    pub user_ns: u64,
    /// The part of it in the kernel, in ticks of the kernel.
    pub system_ns: u64,
    /// Its processor time in the window as a share of the cores that it was given.
    pub busy: f64,
    /// The peak of its resident memory, as it was seen last.
    pub memory_peak_bytes: Option<u64>,
    /// Exchanges that may be under way at once, so that what is counted may differ by as many.
    pub under_way: u64,
    /// What it says of itself; null where nobody reads that.
    pub said: Option<Said>,
    /// The last lines that it wrote.
    pub wrote: Vec<String>,
}

impl Generated {
    /// Exchanges a second in the window.
    pub fn rate(&self) -> f64 {
        self.counted_in_window as f64 / self.window_s.max(f64::MIN_POSITIVE)
    }

    /// Its processor time for each exchange, in microseconds; none where none was counted.
    pub fn cpu_us_per_exchange(&self) -> Option<f64> {
        (self.counted > 0).then(|| self.cpu_ns as f64 / 1e3 / self.counted as f64)
    }

    /// The server's processor time for each exchange in the window, in microseconds.
    pub fn server_cpu_us(&self, server: &SubjectUse) -> Option<f64> {
        let share = server.cpu_ns as f64 / server.wall_ns.max(1) as f64;
        let us = share * self.window_s * 1e6;
        (self.counted_in_window > 0).then(|| us / self.counted_in_window as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::ready_question;
    use crate::workload::UrlPath;

    fn values() -> Values {
        Values {
            port: 8080,
            path: "/json".to_owned(),
            connections: 200,
            threads: 2,
            window_s: 3,
            folder: "/a/comparisons".into(),
            ringside: "/b/ringside".into(),
            ..Values::default()
        }
    }

    fn read(text: &str) -> Result<Generator, toml::de::Error> {
        toml::from_str(text)
    }

    #[test]
    fn placeholders_are_filled_in_and_other_braces_stay() {
        let text = "command = ['wrk', '-t{threads}', '-c{connections}', '-d{window_s}s', '-s', \
                    '{folder}/x.lua', '{\"a\": {port}}', '{url}']\nreads = 'wrk'";
        let generator = read(text).expect("it can be read");
        let (program, arguments) = generator.fill(&values());
        assert_eq!(program, "wrk");
        assert_eq!(
            arguments,
            [
                "-t2",
                "-c200",
                "-d3s",
                "-s",
                "/a/comparisons/x.lua",
                "{\"a\": 8080}",
                "http://127.0.0.1:8080/json"
            ]
        );
        assert_eq!(
            (generator.name().as_str(), generator.reads),
            ("wrk", Some(Format::Wrk))
        );
    }

    #[test]
    fn a_value_that_looks_like_a_placeholder_is_not_filled_in_again() {
        let values = Values {
            folder: "/x/{port}".into(),
            ..values()
        };
        assert_eq!(values.fill("{folder}/{port}"), "/x/{port}/8080");
    }

    #[test]
    fn a_message_is_sent_from_a_file_and_no_value_is_taken_for_a_flag() {
        let mut question = ready_question(&UrlPath::root(), Protocol::Http1);
        question.message = Some("@/etc/hostname".to_owned());
        question.headers.insert("-X".into(), "-5".into());
        let generator = Generator::ours(&question, &Workload::of_commands(), false, "auto");
        let values = Values {
            message: "/run/message".into(),
            ..values()
        };
        let (_, arguments) = generator.expect("it has words").fill(&values);
        for word in [
            "--body=@/run/message",
            "--header=-X: -5",
            "--header=Content-Type: application/json",
        ] {
            assert!(arguments.iter().any(|one| one == word), "{arguments:?}");
        }
        assert!(!arguments.iter().any(|one| one.contains("hostname")));
    }

    #[test]
    fn what_is_no_generator_is_refused_with_what_was_expected() {
        for (text, expected) in [
            ("command = []", "an empty command"),
            ("command = ['']", "an empty command"),
            ("command = ['wrk', '{uri}']", "did you mean {url}?"),
            (
                "command = ['wrk', '-d{window}']",
                "did you mean {window_s}?",
            ),
            (
                "command = ['wrk']\nreads = 'vegeta'",
                "unknown variant `vegeta`",
            ),
            (
                "command = ['wrk']\nprints = 'wrk'",
                "unknown field `prints`",
            ),
            ("reads = 'wrk'", "missing field `command`"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
