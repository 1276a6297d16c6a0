//! Subjects by themselves: can they run here, can they be built, do they answer what they declare,
//! and is nothing of them left when they have ended.
//!
//! Compares nothing and times nothing.

use std::io;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use load::{Answer, Signal, Stop};
use measure::time::{Time, sleep_until};
use supervisor::build::{self, Unbuilt};
use supervisor::cache::Cache;
use supervisor::command::TimedCommand;
use supervisor::cores::{Choice, Placement};
use supervisor::live::{Serving, ask_running};
use supervisor::loads::Loads;
use supervisor::process::{GRACE, Process};
use supervisor::setting::{Setting, Trouble};
use supervisor::subject::{Kind, Subject, Values};
use tempfile::TempDir;

use crate::end::End;
use crate::event::{Event, Observer};
use crate::validity;

/// With what subjects are built and started.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The program that `{ringside}` stands for: usually the one running now.
    pub ringside: PathBuf,
    /// Where builds are kept; none is `ringside/builds` in the user's cache. A folder that others
    /// could write to is refused.
    pub cache: Option<PathBuf>,
}

impl Options {
    fn cache(&self) -> Cache {
        Cache::new(self.cache.as_deref())
    }
}

/// How far a subject is from being started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// There is nothing to build.
    Ready,
    /// It was built before.
    Built,
    /// It is built when it is needed.
    Unbuilt,
    /// Programs are missing; the text says what to install.
    Missing(String),
}

/// Looks what a subject needs before it can be started. Starts no more than the commands by which
/// a subject checks what it requires.
///
/// # Errors
/// If the folder of temporary files cannot be written.
pub fn readiness(subject: &Subject, options: &Options) -> io::Result<Readiness> {
    let dir = run_directory(&subject.name)?;
    let values = Values {
        dir: dir.path().to_path_buf(),
        subject: subject.folder.clone(),
        ringside: options.ringside.clone(),
        ..Values::default()
    };
    Ok(look(subject, options, &values))
}

fn look(subject: &Subject, options: &Options, values: &Values) -> Readiness {
    match build::missing(subject, values, &values.dir.join("check.log")) {
        Some(sentence) => Readiness::Missing(sentence),
        None if subject.build.is_none() => Readiness::Ready,
        None if build::is_built(subject, &options.cache()) => Readiness::Built,
        None => Readiness::Unbuilt,
    }
}

/// What became of a subject that was built or checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// All is well; the first line that its version command wrote, if it has one.
    Good(Option<String>),
    /// Programs are missing; the text says what to install.
    Missing(String),
    /// What went wrong, and the last lines that it or its build wrote.
    Failed(String, Vec<String>),
    /// Somebody asked to stop.
    Stopped,
}

/// The whole, if all that can run here is well; a part, if some are and some failed.
pub fn end<'a>(stopped: Option<Signal>, found: impl IntoIterator<Item = &'a Found>) -> End {
    let (mut good, mut failed) = (false, false);
    for found in found {
        good |= matches!(found, Found::Good(_));
        failed |= matches!(found, Found::Failed(..));
    }
    End::of(stopped, good, !failed)
}

/// Builds a subject, unless it was built like this before.
pub fn build(
    subject: &Subject,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Found {
    examine(subject, options, stop, observer, |_, _, _, _| Ok(()))
}

/// Builds a subject, starts it, asks for every answer that it declares, ends it, and looks for
/// what is left of it.
pub fn check(
    subject: &Subject,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Found {
    let then = match subject.kind {
        Kind::Server => serve_and_end,
        Kind::Command => run_to_the_end,
    };
    examine(subject, options, stop, observer, then)
}

/// Builds a subject, starts it, and asks it twice for the first answer that it declares, whatever
/// it answers.
///
/// # Errors
/// What kept it from answering.
pub fn asked(
    subject: &Subject,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<[Answer; 2], Found> {
    if let Some(running) = &subject.running {
        let name = &subject.name;
        observer.event(&Event::Joining { subject: name });
        return ask_running(subject, running).map_err(|what| {
            let what = what.trim_start_matches("without an answer: ");
            broken(format!("couldn't be asked: {what}"))
        });
    }
    let mut answers = None;
    let ask =
        |subject: &Subject, values: &Values, setting: &Setting<'_>, observer: &mut dyn Observer| {
            observer.event(&Event::Starting {
                subject: &subject.name,
            });
            let (mut process, asked) =
                Serving::raise_and_ask(subject, &values.build, &values.dir, setting)?;
            answers = Some(asked);
            ended(&mut process)
        };
    let found = examine(subject, options, stop, observer, ask);
    match (found, answers) {
        (Found::Good(_), Some(answers)) => Ok(answers),
        (found, _) => Err(found),
    }
}

/// Ends what was started, and says what is left of it.
fn ended(process: &mut Process) -> Result<(), Found> {
    let left = process.end(GRACE);
    match left.is_empty() {
        true => Ok(()),
        false => {
            let what = format!("was stopped, but its processes {left:?} are still running");
            Err(Found::Failed(what, process.last_lines()))
        }
    }
}

fn run_to_the_end(
    subject: &Subject,
    values: &Values,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<(), Found> {
    observer.event(&Event::Starting {
        subject: &subject.name,
    });
    let mut command = TimedCommand::raise(subject, &values.build, &values.dir, setting)?;
    command.run_once(setting)?;
    // Nobody asks those whom a command has left to end; they shall have ended with it.
    match validity::rows::left(command.end()) {
        None => Ok(()),
        Some(sentence) => Err(broken(sentence)),
    }
}

/// How long the kernel may take to close what an ended process had open: sockets of an io_uring
/// are closed only after its process is gone.
const CLOSED_MAX: Duration = Duration::from_secs(5);
/// How often that is looked at.
const CLOSED_LOOK: Duration = Duration::from_millis(20);

/// Waits until a port can be listened on again.
fn wait_for_port(port: u16) -> io::Result<()> {
    let deadline = Time::now() + CLOSED_MAX;
    loop {
        match TcpListener::bind(("127.0.0.1", port)) {
            Err(error) if Time::now() >= deadline => return Err(error),
            Err(_) => sleep_until(Time::now() + CLOSED_LOOK),
            Ok(_) => return Ok(()),
        }
    }
}

fn serve_and_end(
    subject: &Subject,
    values: &Values,
    setting: &Setting<'_>,
    observer: &mut dyn Observer,
) -> Result<(), Found> {
    observer.event(&Event::Starting {
        subject: &subject.name,
    });
    let Serving {
        mut process, port, ..
    } = Serving::raise(subject, &values.build, &values.dir, setting)?;
    ended(&mut process)?;
    wait_for_port(port).map_err(|error| {
        let what = format!("was stopped, but its port {port} is still in use: {error}");
        Found::Failed(what, process.last_lines())
    })
}

/// Builds a subject in a run directory that is gone afterwards, and does with it what `then` says.
fn examine(
    subject: &Subject,
    options: &Options,
    stop: &Stop,
    observer: &mut dyn Observer,
    then: impl FnOnce(&Subject, &Values, &Setting<'_>, &mut dyn Observer) -> Result<(), Found>,
) -> Found {
    let name = &subject.name;
    let run = || -> Result<Option<String>, Found> {
        let placement = Placement::decide(&Choice::Auto, &Choice::Auto).map_err(broken)?;
        let setting = Setting {
            start: 0,
            placement: &placement,
            engine: "auto",
            seed: 1,
            ringside: &options.ringside,
            stop,
            loads: Loads::HERE,
        };
        let dir = run_directory(name).map_err(broken)?;
        let mut values = setting.values(subject);
        values.dir = dir.path().to_path_buf();
        if look(subject, options, &values) == Readiness::Unbuilt {
            observer.event(&Event::Building { subject: name });
        }
        let log = dir.path().join("build.log");
        values.build = build::build(subject, &options.cache(), &values, &log, stop)?;
        then(subject, &values, &setting, observer)?;
        Ok(build::version(subject, &values, dir.path()))
    };
    run().map_or_else(|found| found, Found::Good)
}

fn broken(what: impl ToString) -> Found {
    Found::Failed(what.to_string(), Vec::new())
}

impl From<Unbuilt> for Found {
    fn from(unbuilt: Unbuilt) -> Found {
        match unbuilt {
            Unbuilt::Missing(sentence) => Found::Missing(sentence),
            Unbuilt::Failed(why, log) => Found::Failed(format!("can't be built: {why}"), log),
            Unbuilt::Stopped => Found::Stopped,
        }
    }
}

impl From<Trouble> for Found {
    fn from(trouble: Trouble) -> Found {
        match trouble {
            Trouble::Failed(what, log) => Found::Failed(what, log),
            Trouble::Stopped => Found::Stopped,
        }
    }
}

/// A folder of its own under the system's folder of temporary files, gone with its owner.
fn run_directory(name: &str) -> io::Result<TempDir> {
    let prefix = format!("ringside-{name}-");
    tempfile::Builder::new().prefix(&prefix).tempdir()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_installed_is_no_failure_unless_nothing_else_is_there() {
        let good = Found::Good(None);
        let failed = Found::Failed("broke".into(), Vec::new());
        let missing = Found::Missing("Install it.".into());
        assert_eq!(end(None, [&good, &missing]), End::Whole);
        assert_eq!(end(None, [&good, &failed, &missing]), End::Part);
        assert_eq!(end(None, [&failed, &missing]), End::Nothing);
        assert_eq!(end(None, [&missing]), End::Nothing);
    }
}
