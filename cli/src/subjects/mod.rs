//! `ringside subjects`: the servers that a comparison can name; listed, built, checked, and new
//! ones written.

mod new;

use std::io::ErrorKind;
use std::time::Duration;

use engine::signal::Stop;
use lab::Event;
use lab::check::{self, Found, Options, Readiness};
use measure::time::Time;
use supervisor::subject::Subject;

use crate::args::subjects::{Action, Subjects};
use crate::this_program;
use exit::{Exit, Failure};
use output::progress::Line;
use output::table;
use output::terminal::{self, Paint};

/// Does with the chosen subjects what was asked for.
pub(crate) fn run(arguments: &Subjects, no_color: bool) -> Result<Exit, Failure> {
    let host = arguments.network.host_network.then_some(network::ASKED);
    let options = Options {
        ringside: this_program()?,
        cache: None,
    };
    if arguments.action == Action::New {
        if arguments.command.is_some()
            && let Some(end) = network::privately(host, None)?
        {
            return Ok(end);
        }
        return new::write(arguments, &options);
    }
    let of_new = [
        ("--command", &arguments.command),
        ("--path", &arguments.path),
    ];
    if let Some((flag, _)) = of_new.iter().find(|(_, given)| given.is_some()) {
        let what = format!("{flag} is for `ringside subjects new NAME`: leave it out");
        return Err(Failure::usage(what));
    }
    let (subjects, faults) = chosen(arguments)?;
    if arguments.action == Action::Check
        && let Some(end) = network::privately(host, None)?
    {
        return Ok(end);
    }
    let done = match arguments.action {
        Action::List => list(&subjects, &options),
        action => examine(action, &subjects, &options, no_color),
    };
    match faults.as_slice() {
        [] => done,
        // The others were dealt with all the same.
        faults => done.and(Err(Failure::usage(faults.join("\n")))),
    }
}

/// The subjects that are named, and sentences about those that cannot be read.
fn chosen(arguments: &Subjects) -> Result<(Vec<Subject>, Vec<String>), Failure> {
    let Subjects {
        action, names, all, ..
    } = arguments;
    if *action != Action::List && names.is_empty() && !all {
        let what = "name the subjects, or pass --all; `ringside subjects` lists them";
        return Err(Failure::usage(what));
    }
    let place = arguments.dir.display();
    let mut found = Subject::all(&arguments.dir).map_err(|error| {
        Failure::usage(match error.kind() {
            ErrorKind::NotFound => format!(
                "there are no subjects in {place}; run this from a ringside checkout, or pass --dir"
            ),
            _ => {
                format!("can't read the subjects in {place}: {error}; pass another place as --dir")
            }
        })
    })?;
    let known = |wanted: &String| found.iter().any(|(name, _)| name == wanted);
    if let Some(unknown) = names.iter().find(|name| !known(name)) {
        let what =
            format!("there's no subject `{unknown}` in {place}; `ringside subjects` lists them");
        return Err(Failure::usage(what));
    }
    found.retain(|(name, _)| names.is_empty() || names.contains(name));
    let mut faults = Vec::new();
    let subjects = found
        .into_iter()
        .filter_map(|(_, subject)| subject.map_err(|bad| faults.push(bad.to_string())).ok())
        .collect();
    Ok((subjects, faults))
}

fn list(subjects: &[Subject], options: &Options) -> Result<Exit, Failure> {
    let mut rows = Vec::new();
    let mut missing = Vec::new();
    for subject in subjects {
        let readiness = check::readiness(subject, options)
            .map_err(|error| Failure::running(format!("can't write temporary files: {error}")))?;
        let state = match readiness {
            Readiness::Ready => "ready",
            Readiness::Built => "built",
            Readiness::Unbuilt => "not built",
            Readiness::Missing(sentence) => {
                missing.push([subject.name.clone(), sentence]);
                "not installed"
            }
        };
        let state = state.to_owned();
        rows.push([subject.name.clone(), state, subject.description.clone()]);
    }
    let mut text = table::left("", &rows);
    if !missing.is_empty() {
        text.push_str("\nTo run the others:\n");
        text.push_str(&table::left("  ", &missing));
    }
    terminal::print(&text).map_err(Failure::running)?;
    Ok(Exit::Ok)
}

/// Builds or checks one after the other, and says of each what was found.
fn examine(
    action: Action,
    subjects: &[Subject],
    options: &Options,
    no_color: bool,
) -> Result<Exit, Failure> {
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let paint = Paint::for_stderr(no_color);
    let mut rows = Vec::new();
    let mut found = Vec::new();
    for subject in subjects {
        let mut line = Line::on_stderr();
        let mut tell = |event: &Event<'_>| line.show(&event.to_string());
        let began = Time::now();
        let one = match action {
            Action::Build => check::build(subject, options, &stop, &mut tell),
            Action::New | Action::List | Action::Check => {
                check::check(subject, options, &stop, &mut tell)
            }
        };
        drop(line);
        if one == Found::Stopped {
            break;
        }
        if let Found::Failed(what, log) = &one {
            terminal::say(&paint.error(&format!("{} {what}", subject.name)));
            log.iter()
                .for_each(|line| terminal::say(&format!("  {line}")));
        }
        rows.push(row(subject, &one, Time::now() - began));
        found.push(one);
    }
    terminal::print(&table::left("", &rows)).map_err(Failure::running)?;
    Ok(check::end(stop.requested(), &found).into())
}

/// A subject, what was found of it, how long that took, and what there is to say about it.
fn row(subject: &Subject, found: &Found, took: Duration) -> [String; 4] {
    let (state, remark) = match found {
        Found::Good(version) => ("ok", version.clone().unwrap_or_default()),
        Found::Missing(sentence) => ("not installed", sentence.clone()),
        Found::Failed(what, _) => ("failed", what.clone()),
        Found::Stopped => ("stopped", String::new()),
    };
    let took = format!("{:.1} s", took.as_secs_f64());
    [subject.name.clone(), state.to_owned(), took, remark]
}
