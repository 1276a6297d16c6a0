//! `ringside gate`: what is wanted out of the arguments, what it tells while it runs, and what it
//! found.

use std::io;
use std::path::{Path, PathBuf};

use engine::signal::Stop;
use gate::{Asked, Found, GateFile, Gated, Verdict, Wanted, formats, is_directory, subject_folder};
use lab::Event;
use load::Redaction;
use netns::wants_host;
use scaffold::Refused;
use supervisor::loads::Loads;

use crate::args::gate::{Format, Gate};
use crate::compare::{Talk, look, say_unwritten};
use crate::run::fleet::{self, Conductor};
use crate::run::sender::Sender;
use crate::this_program;
use exit::{Exit, Failure};
use output::terminal::{self, Paint};
use output::width;
use report::benchmark::{self, Measure};
/// The same with loads that agents on this machine send.
pub(crate) fn on_fleet(
    arguments: &Gate,
    no_color: bool,
    conductor: &mut dyn Conductor,
) -> Result<Exit, Failure> {
    let asked = fleet::asked_for_many(&arguments.fleet, true).map_err(Failure::usage)?;
    let sender = Sender::new(conductor, asked);
    run_from(arguments, no_color, Loads::by(&sender))
}

/// Measures both sides, and says whether the second is slower.
pub(crate) fn run(arguments: &Gate, no_color: bool) -> Result<Exit, Failure> {
    run_from(arguments, no_color, Loads::HERE)
}

fn run_from(arguments: &Gate, no_color: bool, loads: Loads<'_>) -> Result<Exit, Failure> {
    let asked = asked(arguments);
    let subject = subject(arguments, &asked)?;
    let beside = match &asked {
        // The head's own file, as it is.
        Asked::Named {
            head: Some(head), ..
        } if is_directory(head) => Some(PathBuf::from(head)),
        _ => subject.clone(),
    };
    let file = GateFile::find(arguments.file.as_deref(), beside.as_deref());
    if let Some(end) = network::privately(in_host(arguments, file.as_deref()), None)? {
        return Ok(end);
    }
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    if arguments.budget.is_some_and(|budget| budget.is_zero()) {
        return Err(Failure::usage("the budget is zero; write it like 3m"));
    }
    let redaction = arguments.secrets.hide(Redaction::default());
    terminal::hide(&redaction);
    let wanted = Wanted {
        asked,
        subject,
        file: GateFile::read(file.as_deref()).map_err(Failure::usage)?,
        path: arguments.path.clone(),
        connections: arguments.connections,
        any_answer: arguments.any_answer,
        smallest: arguments.smallest,
        budget: arguments.budget,
        out: arguments.output.clone(),
        ringside: this_program()?,
        redaction,
    };
    let mut talk = Talk::new(no_color);
    let mut observer = |event: &Event<'_>| talk.tell(event);
    let gated = gate::gate_from(&wanted, (&stop, loads), &mut observer);
    drop(talk);
    let gated = match gated {
        Ok(gated) => gated,
        Err(refused) => {
            if let Refused::Failed(why, log) = &refused {
                tell_failed(&wanted.asked, (why, log), arguments.format)?;
            }
            return Err(failure(refused, &stop));
        }
    };
    tell(&gated, arguments.format, no_color)?;
    Ok(end(&gated))
}

/// The two sides.
fn asked(arguments: &Gate) -> Asked {
    match (&arguments.base_start, &arguments.head_start) {
        (Some(base), Some(head)) => Asked::Started {
            base: base.clone(),
            head: head.clone(),
        },
        _ => Asked::Named {
            base: arguments.base.clone().unwrap_or_default(),
            head: arguments.head.clone(),
        },
    }
}

/// The folder of the subject, where revisions are compared.
fn subject(arguments: &Gate, asked: &Asked) -> Result<Option<PathBuf>, Failure> {
    match asked {
        Asked::Started { .. } => Ok(None),
        Asked::Named {
            base,
            head: Some(head),
        } if is_directory(base) || is_directory(head) => match &arguments.subject {
            None => Ok(None),
            Some(_) => Err(Failure::usage(
                "--base and --head name directories, which have a subject.toml each: leave SUBJECT \
                 out",
            )),
        },
        Asked::Named { .. } => subject_folder(arguments.subject.as_deref())
            .map(Some)
            .map_err(Failure::usage),
    }
}

/// Why everything has to run in the host's network, if so.
fn in_host(arguments: &Gate, file: Option<&Path>) -> Option<&'static str> {
    match arguments.network.host_network {
        true => Some(network::ASKED),
        false if arguments.fleet.agents.is_some() => Some(network::FLEET),
        false => file.is_some_and(wants_host).then_some(network::WRITTEN),
    }
}

/// Why nothing was measured, as the end of the program.
pub(crate) fn failure(refused: Refused, stop: &Stop) -> Failure {
    match refused {
        Refused::Wrong(what) => Failure::usage(what),
        Refused::Failed(what, log) => {
            let lines: String = log.iter().map(|line| format!("\n  {line}")).collect();
            Failure::running(format!("{what}{lines}"))
        }
        Refused::Stopped => Failure {
            exit: stop.requested().map_or(Exit::Failed, Exit::Stopped),
            text: "stopped before anything was measured".to_owned(),
        },
    }
}

/// Prints that nothing could be measured, for whoever reads a document and not messages.
fn tell_failed(
    asked: &Asked,
    (why, log): (&str, &[String]),
    format: Format,
) -> Result<(), Failure> {
    if format == Format::Text {
        return Ok(());
    }
    let labels = match asked {
        Asked::Started { .. } => ["base", "head"],
        Asked::Named { base, head } => [&**base, head.as_deref().unwrap_or("the working tree")],
    };
    let failed = Found::failed(labels, why, log);
    terminal::print(&document(&failed, &[], format)).map_err(unprinted)
}

/// What was found, for programs and documents.
fn document(found: &Found, measures: &[Measure], format: Format) -> String {
    match format {
        Format::Text | Format::Markdown => formats::markdown(found),
        Format::Json => formats::json(found),
        Format::Junit => formats::junit(found),
        Format::SmallerIsBetter => benchmark::smaller_is_better(measures),
        Format::BiggerIsBetter => benchmark::bigger_is_better(measures),
        Format::Bencher => benchmark::bencher(measures),
    }
}

fn unprinted(why: io::Error) -> Failure {
    Failure::running(format!("can't write to standard output: {why}"))
}

/// Prints what was found, and says where the rest is.
fn tell(gated: &Gated, format: Format, no_color: bool) -> Result<(), Failure> {
    let paint = Paint::for_stdout(no_color);
    let text = match format {
        Format::Text => width::wrapped(
            &formats::terminal(&gated.found, look(paint)),
            paint.columns(),
        ),
        format => document(&gated.found, &gated.measures, format),
    };
    terminal::print(&text).map_err(unprinted)?;
    if let Some(folder) = &gated.folder {
        terminal::say(&format!("records and reports: {}", folder.display()));
    }
    say_unwritten(&gated.unwritten);
    Ok(())
}

fn end(gated: &Gated) -> Exit {
    if let Some(signal) = gated.stopped {
        return Exit::Stopped(signal);
    }
    match gated.found.verdict {
        Verdict::Regression => Exit::Threshold,
        Verdict::Failed | Verdict::Stopped => Exit::Failed,
        Verdict::Void => Exit::Void,
        Verdict::CannotTell => Exit::CannotTell,
        _ if !gated.unwritten.is_empty() => Exit::SubjectFailed,
        Verdict::NoRegression | Verdict::NotProven | Verdict::NothingToCompare => Exit::Ok,
    }
}
