//! `ringside soak`: whom out of the arguments, what it tells while it goes on, and its report.

use std::path::{Path, PathBuf};

use engine::signal::Stop;
use lab::Event;
use load::plan::workload::Order;
use load::protocol::Tls;
use load::{Plan, Redaction};
use netns::wants_host;
use soak::found::Verdict;
use soak::{Options, Outcome, Told, Whom};

use crate::args::report;
use crate::args::soak::{Format, Soak};
use crate::compare::{Talk, keep, look};
use crate::page;
use crate::run::route::secure;
use crate::run::{plan, targets};
use crate::this_program;
use exit::{Exit, Failure};
use output::progress::Line;
use output::terminal::{self, Paint};
use output::width;

/// A URL that only serves to see what the flags about a load would make of it.
const ANY: &str = "http://localhost/";

/// Soaks, and reports.
pub(crate) fn run(arguments: &Soak, no_color: bool) -> Result<Exit, Failure> {
    // A target is wherever it is; a row's subject is started here.
    if !is_target(arguments)
        && let Some(end) = network::privately(in_host(arguments), None)?
    {
        return Ok(end);
    }
    let mut options = options(arguments)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    if let Whom::Target { plan, .. } = &mut options.whom {
        plan::call(&arguments.load, plan, &stop)?;
    }
    let mut talk = Talk::new(no_color);
    let paint = Paint::for_stderr(no_color);
    let mut line = Line::on_stderr();
    let outcome = soak::soak(
        &options,
        &stop,
        &mut |event: &Event<'_>| talk.tell(event),
        &mut |told| tell(told, &mut line, paint),
    );
    line.clear();
    drop(talk);
    let outcome = outcome.map_err(|refused| crate::gate::failure(refused, &stop))?;
    report(&outcome, arguments.format, no_color)?;
    Ok(end(&outcome))
}

/// Whether a server is loaded that somebody else runs.
fn is_target(arguments: &Soak) -> bool {
    arguments.targets.is_given() || whom(arguments).contains("://")
}

/// The URL or the file; nothing where there are only targets.
fn whom(arguments: &Soak) -> &str {
    arguments.whom.as_deref().unwrap_or_default()
}

/// Why everything has to run in the host's network, if so.
fn in_host(arguments: &Soak) -> Option<&'static str> {
    match arguments.network.host_network {
        true => Some(network::ASKED),
        false => wants_host(Path::new(whom(arguments))).then_some(network::WRITTEN),
    }
}

fn options(arguments: &Soak) -> Result<Options, Failure> {
    let whom = match is_target(arguments) {
        true => target(arguments),
        false => row(arguments),
    };
    let redaction = arguments.load.secrets.hide(Redaction::default());
    terminal::hide(&redaction);
    Ok(Options {
        whom: whom.map_err(Failure::usage)?,
        rate: arguments.rate,
        length: arguments.length,
        warm_up: arguments.warm_up,
        smallest_bytes: arguments.smallest as f64,
        out: arguments.output.clone(),
        resume: arguments.resume.clone(),
        ringside: this_program()?,
        redaction,
    })
}

fn target(arguments: &Soak) -> Result<Whom, String> {
    if let Some(name) = &arguments.row {
        return Err(format!(
            "--row {name} goes with a FILE: a URL is that of one server"
        ));
    }
    let given = &arguments.targets;
    given.check()?;
    if given.data_order == Some(Order::Once) {
        return Err(
            "--data-order once: a soak sends requests for as long as it takes, so its rows can't \
             be used up; use in-turn, random or zipf:1.1"
                .to_owned(),
        );
    }
    let url = arguments.whom.as_deref();
    let mut plan = match url {
        Some(url) if !given.is_given() => plan::base(url, &arguments.load, Redaction::default())?,
        url => targets::plan(url, given, &arguments.load, |origin| {
            plan::without_request(origin, &arguments.load, Redaction::default())
        })?,
    };
    plan.script = given.script();
    if plan.has_flow() {
        return Err(
            "--targets: a soak sets the rate, and the waits between the messages of a WebSocket \
             set it, too: leave the waits out"
                .to_owned(),
        );
    }
    plan::check(&plan)?;
    let mut tls = Tls::default();
    let is_secure = plan.target.is_secure().then_some(&mut tls);
    secure(&arguments.load.tls, is_secure, &plan.target.scheme)?;
    Ok(Whom::Target {
        url: url.map_or_else(|| plan.target.origin(), str::to_owned),
        plan: Box::new(plan),
        pid: arguments.pid,
        tls: Box::new(tls),
    })
}

/// A comparison says itself how its rows are loaded.
fn row(arguments: &Soak) -> Result<Whom, String> {
    let file = whom(arguments);
    if arguments.pid.is_some() {
        return Err(
            "--pid goes with a URL: a file's subject is started, and known by that".to_owned(),
        );
    }
    let usual = Plan::new(ANY).map_err(|invalid| invalid.to_string())?;
    match plan::base(ANY, &arguments.load, Redaction::default()) {
        Ok(plan) if plan == usual && arguments.load.connections.is_none() => Ok(Whom::Row {
            file: PathBuf::from(file),
            name: arguments.row.clone(),
        }),
        _ => Err(format!(
            "{file} is a comparison file, which sets its own requests and connections: put these \
             options into its [workload], or give a URL instead"
        )),
    }
}

fn tell(told: &Told<'_>, line: &mut Line, paint: Paint) {
    if let Told::Now(text) = told {
        return line.show(text);
    }
    line.clear();
    match told {
        Told::Begun(folder, text) => {
            terminal::say(&format!("{text}; records in {}", folder.display()));
        }
        Told::Found(text) => terminal::say(text),
        Told::Caution(text) => terminal::say(&paint.warning(text)),
        Told::Now(_) => {}
    }
}

fn report(outcome: &Outcome, format: Format, no_color: bool) -> Result<(), Failure> {
    let paint = Paint::for_stdout(no_color);
    let soak = &outcome.soak;
    let text = match format {
        Format::Json => soak.json(),
        Format::Text => in_words(soak, paint),
    };
    if let Some(why) = &outcome.failed {
        terminal::say(&Paint::for_stderr(no_color).error(why));
    }
    let printed = terminal::print(&text).map_err(Failure::printing);
    let way_out = format!(
        "free some disk space, then go on with the same command and --resume {}",
        outcome.folder.display()
    );
    let kept = keep(&outcome.folder, &outcome.unwritten, &way_out, || {
        soak.json()
    });
    printed.and(kept)
}

/// Makes the report of a soak again from what is in its directory, and prints it.
pub(crate) fn again(
    folder: &Path,
    format: report::Format,
    no_color: bool,
) -> Result<Exit, Failure> {
    let (soak, samples) = soak::read(folder).map_err(Failure::usage)?;
    let text = match format {
        report::Format::Text => in_words(&soak, Paint::for_stdout(no_color)),
        report::Format::Json => soak.json(),
        _ => {
            let what = "the report of a soak is text or json: give --format text or json";
            return Err(Failure::usage(what));
        }
    };
    terminal::print(&text).map_err(Failure::printing)?;
    let file = folder.join(soak::PAGE);
    Ok(page::keep(&file, &soak::page::page(&soak, &samples)))
}

fn in_words(soak: &soak::found::Soak, paint: Paint) -> String {
    let text = soak::words::terminal(soak, look(paint).unicode);
    width::wrapped(&text, paint.columns())
}

/// A leak says more than what ended the soak early, unless somebody asked for that.
fn end(outcome: &Outcome) -> Exit {
    if let Some(signal) = outcome.stopped {
        return Exit::Stopped(signal);
    }
    let soak = &outcome.soak;
    match soak.verdict {
        Verdict::NothingMeasured => Exit::Failed,
        Verdict::Leak => Exit::Threshold,
        _ if soak.exchanges.completed == 0 => Exit::Failed,
        _ if outcome.failed.is_some() || !outcome.unwritten.is_empty() => Exit::SubjectFailed,
        _ if !soak.is_held() => Exit::Void,
        Verdict::CannotTell => Exit::CannotTell,
        Verdict::NoLeak | Verdict::NotWatched => Exit::Ok,
    }
}
