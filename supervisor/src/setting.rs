//! What everything that is started has in common: where it runs, its environment, the port that it
//! is given, and how the lab sees that somebody answers there.
//!
//! Knows nothing of rows, of rounds, or of what an answer should be.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::num::NonZeroU32;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::{LoadError, Redaction, Stop};
use measure::time::{Time, sleep_until};
use statistics::Random;

use crate::cores::{List, Placement};
use crate::loads::Loads;
use crate::process::{LOOK_AGAIN, Process};
use crate::subject::{Subject, Values};
use crate::ways::Ways;
use crate::workload::{At, Protocol, Question, UrlPath};
use netns::hint;

/// How long one question may take before the lab asks again.
pub(crate) const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// The most bytes by which the environment of a start is longer than that of another.
const PADDING_MAX: usize = 4096;

/// The variable that makes the environment of a start longer.
const PADDING: &str = "RINGSIDE_PADDING";
/// Why a subject does not serve, or no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// What went wrong, and the last lines that the subject wrote.
    Failed(String, Vec<String>),
    /// Somebody asked to stop.
    Stopped,
}

/// What all subjects of a comparison are started with.
#[derive(Debug)]
pub struct Setting<'a> {
    /// Where subjects and generator run.
    pub placement: &'a Placement,
    /// The generator's engine.
    pub engine: &'a str,
    /// Decides every random choice.
    pub seed: u64,
    /// How often processes were started, this time included; 0 for those that are not measured.
    pub start: u32,
    /// The program that is running.
    pub ringside: &'a Path,
    /// Tells when somebody asks to stop.
    pub stop: &'a Stop,
    /// Who sends loads.
    pub loads: Loads<'a>,
}

impl Setting<'_> {
    /// What the placeholders stand for before there is a port.
    pub fn values(&self, subject: &Subject) -> Values {
        Values {
            cpus: List(&self.placement.server).to_string(),
            workers: match subject.workers {
                Some(workers) => workers.get(),
                None => self.placement.server.len() as u32,
            },
            padding: match self.start {
                0 => 0,
                start => padding(self.seed, start),
            },
            subject: subject.folder.clone(),
            ringside: self.ringside.to_owned(),
            ..Values::default()
        }
    }
}

/// A port that nobody listens on now: the kernel's choice for port 0.
pub(crate) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

/// How many bytes the environment of a start is longer than it need be: the size of the
/// environment moves the stack, which alone makes programs faster or slower (Mytkowicz et al.,
/// "Producing wrong data without doing anything obviously wrong!", ASPLOS 2009). It is another one
/// in each start, and the same for all rows in one.
fn padding(seed: u64, start: u32) -> usize {
    let mut random = Random::new(seed ^ (u64::from(start) << 32));
    random.below(PADDING_MAX)
}

/// The environment of a subject: small, and of the same size for all that are started together.
pub(crate) fn environment(subject: &Subject, values: &Values) -> BTreeMap<String, String> {
    let mut environment = surroundings();
    if values.padding > 0 {
        environment.insert(PADDING.into(), "x".repeat(values.padding));
    }
    for (name, value) in &subject.start.environment {
        environment.insert(name.clone(), value.fill(values));
    }
    environment
}

/// The environment that everything is started with.
pub fn surroundings() -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    for name in ["HOME", "USER", "LANG", "TMPDIR"] {
        if let Ok(value) = env::var(name) {
            environment.insert(name.to_owned(), value);
        }
    }
    environment.insert("PATH".into(), search_path().to_string_lossy().into_owned());
    environment
}

/// Where programs are looked for: `PATH`, and where the system's own servers are, which an
/// ordinary user's `PATH` on Debian leaves out.
pub(crate) fn search_path() -> OsString {
    let mut places: Vec<PathBuf> =
        env::split_paths(&env::var_os("PATH").unwrap_or_default()).collect();
    for place in [
        "/usr/local/sbin",
        "/usr/sbin",
        "/sbin",
        "/usr/local/bin",
        "/usr/bin",
        "/bin",
    ] {
        if !places.iter().any(|known| known == Path::new(place)) {
            places.push(place.into());
        }
    }
    env::join_paths(places).unwrap_or_default()
}

/// The file that `program` names, as a shell would find it.
pub fn find_program(program: &str) -> Option<PathBuf> {
    let executable = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|facts| facts.is_file() && facts.permissions().mode() & 0o111 != 0)
    };
    if program.contains('/') {
        return executable(Path::new(program)).then(|| program.into());
    }
    env::split_paths(&search_path())
        .map(|place| place.join(program))
        .find(|path| executable(path))
}

/// The question that somebody who serves answers, whatever the answer.
pub fn ready_question(path: &UrlPath, protocol: Protocol) -> Question {
    Question {
        path: path.as_str().to_owned(),
        protocol,
        method: None,
        headers: BTreeMap::new(),
        message: None,
        repeat: NonZeroU32::MIN,
        proto: None,
        mix: None,
        expect: Vec::new(),
        ways: Ways::default(),
        script: None,
        named: Vec::new(),
        redaction: Redaction::default(),
    }
}

/// Asks again and again until there is an answer, at most for `limit`.
pub(crate) fn wait_until_answered(
    question: &Question,
    tls: bool,
    port: u16,
    limit: Duration,
    process: &mut Process,
    stop: &Stop,
) -> Result<(), Trouble> {
    let plan = question
        .plan(At {
            host: None,
            address: None,
            port,
            tls,
            trust: None,
        })
        .map_err(|what| Trouble::Failed(what, Vec::new()))?;
    let deadline = Time::now() + limit;
    let mut doubted = false;
    loop {
        let left = deadline - Time::now();
        let refused = match load::probe(&plan, PROBE_TIMEOUT.min(left.max(LOOK_AGAIN))) {
            Ok(_) => match process.ended_in_words() {
                None => return Ok(()),
                Some(how) => return Err(died(&how, process)),
            },
            Err(error) => error,
        };
        if let Some(how) = process.ended_in_words() {
            return Err(died(&how, process));
        }
        if stop.requested().is_some() {
            return Err(Trouble::Stopped);
        }
        // Somebody is there, and says something else.
        if matches!(refused, LoadError::Probe(_) | LoadError::Unsecured(_)) && !doubted {
            doubted = true;
            if load::speaks_otherwise(&plan) {
                let what = spoken_otherwise(tls);
                return Err(Trouble::Failed(what, process.last_lines()));
            }
        }
        if Time::now() >= deadline {
            let seconds = limit.as_secs();
            let (what, log) = (
                format!("wasn't ready within {seconds} s: "),
                process.last_lines(),
            );
            if let Some(why) = process.kept_by_limits() {
                return Err(Trouble::Failed(what + &why, log));
            }
            return Err(match elsewhere(&process.listening(), port) {
                Some(where_else) => Trouble::Failed(what + &where_else, log),
                None => hinted(format!("{what}{refused}"), log),
            });
        }
        sleep_until(Time::now() + LOOK_AGAIN);
    }
}

fn died(how: &str, process: &mut Process) -> Trouble {
    let failed = process.exited().is_some_and(|status| !status.success());
    let what = format!("exited before it was ready: {how}");
    // Who ran out of memory didn't miss a network.
    let held = process.held();
    let starved = held
        .is_some_and(|held| held.out_of_memory().is_some() || held.short_of_addresses().is_some());
    match failed && !starved {
        true => hinted(what, process.last_lines()),
        false => Trouble::Failed(what, process.last_lines()),
    }
}

/// That something did not come up, with what it wrote, which mostly says why; then with what else
/// may have been the matter.
pub(crate) fn hinted(what: String, log: Vec<String>) -> Trouble {
    with_hint(hint(), what, log)
}

fn with_hint(hint: &str, mut what: String, mut log: Vec<String>) -> Trouble {
    match (hint.is_empty(), log.is_empty()) {
        (true, _) => {}
        (false, true) => what = format!("{what} {hint}"),
        (false, false) => log.push(hint.to_owned()),
    }
    Trouble::Failed(what, log)
}

/// What to say of somebody who listens, and not on the `port` that was given.
fn elsewhere(listening: &BTreeSet<u16>, port: u16) -> Option<String> {
    let last = listening.last().filter(|_| !listening.contains(&port))?;
    Some(format!(
        "it listens on port {last} and not on {port}, which {{port}} stood for: write {{port}} \
         where its command takes the port"
    ))
}

/// Of a subject that speaks TLS where its description says otherwise, or the other way round.
fn spoken_otherwise(tls: bool) -> String {
    match tls {
        true => "doesn't use TLS on its port: remove `tls = true` from its subject.toml",
        false => "uses TLS on its port: write `tls = true` into its subject.toml",
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_program_wrote_comes_before_a_hint() {
        let told = |hint, log: &[&str]| {
            let log = log.iter().map(|line| (*line).to_owned()).collect();
            match with_hint(hint, "exited".to_owned(), log) {
                Trouble::Failed(what, log) => (what, log.join("|")),
                Trouble::Stopped => panic!("it failed"),
            }
        };
        let pair = |what: &str, log: &str| (what.to_owned(), log.to_owned());
        assert_eq!(told("(why)", &["a", "b"]), pair("exited", "a|b|(why)"));
        assert_eq!(told("(why)", &[]), pair("exited (why)", ""));
        assert_eq!(told("", &["a"]), pair("exited", "a"));
    }

    #[test]
    fn starts_differ_in_the_size_of_their_environment() {
        let sizes: BTreeSet<usize> = (1..=20).map(|start| padding(1, start)).collect();
        assert!(sizes.len() > 15, "{sizes:?}");
        assert!(sizes.iter().all(|bytes| *bytes < PADDING_MAX));
        assert_eq!(padding(1, 3), padding(1, 3));
    }
}
