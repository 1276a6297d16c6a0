//! `ringside soak`: whom out of the arguments, what it tells while it goes on, and its report.

use std::path::{Path, PathBuf};

use ::report::pack::Records;
use engine::signal::Stop;
use lab::Event;
use live::page::End;
use load::plan::workload::Order;
use load::protocol::Tls;
use load::{Plan, Progress, Redaction, Watcher};
use measure::interval::Interval;
use measure::record::EndedBy;
use netns::wants_host;
use otlp::Value;
use soak::found::Verdict;
use soak::{Onlooker, Options, Outcome, Told, Whom};

use crate::args::report;
use crate::args::soak::{Format, Soak};
use crate::args::values::Live;
use crate::compare::{Talk, keep, look};
use crate::export::receiver;
use crate::run::route::secure;
use crate::run::watching::Watching;
use crate::run::{plan, targets};
use crate::watching::{Seen, give_back};
use crate::{exported, page, this_program};
use exit::{Exit, Failure};
use output::terminal::{self, Paint};
use output::width;

/// A URL that only serves to see what the flags about a load would make of it.
const ANY: &str = "http://localhost/";

/// Soaks, and reports.
pub(crate) fn run(arguments: &Soak, no_color: bool) -> Result<Exit, Failure> {
    if let Some(refusal) = refusal(arguments) {
        return Err(Failure::usage(refusal));
    }
    receiver(&arguments.export)?;
    // A target is wherever it is; a row's subject is started here.
    if !is_target(arguments)
        && let Some(end) =
            network::privately(in_host(arguments), page::address(arguments.watched.live))?
    {
        return Ok(end);
    }
    let mut options = options(arguments)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    if let Whom::Target { plan, .. } = &mut options.whom {
        plan::call(&arguments.load, plan, &stop)?;
    }
    let mut talk = Talk::new(no_color);
    let mut onlooking = Onlooking {
        arguments,
        stop: &stop,
        paint: Paint::for_stderr(no_color),
        watching: None,
        found: String::new(),
    };
    let told = &mut |event: &Event<'_>| talk.tell(event);
    let outcome = soak::soak(&options, &stop, told, &mut onlooking);
    let watching = onlooking.watching;
    drop(talk);
    // Who looks on got nothing of what failed before there was any load.
    let outcome = outcome.map_err(|refused| crate::gate::failure(refused, &stop))?;
    let watched = watching.map(Watching::finish);
    let reported = report(&outcome, arguments.format, no_color);
    let end = end(&outcome);
    let Some((written, mut onlookers)) = watched else {
        return reported.map(|()| end);
    };
    onlookers.export(|| exported(&outcome, end));
    onlookers.leave(|| told_at_the_end(&outcome), &stop);
    reported.and_then(|()| Failure::unless_written(written, Ok(end)))
}

/// What of those who watch doesn't go together.
fn refusal(arguments: &Soak) -> Option<String> {
    if arguments.watched.takes_stdout() {
        return Some(
            "--intervals - and the report would both go to standard output; name a file".to_owned(),
        );
    }
    let named = [
        arguments.watched.metrics.map(|_| "--metrics"),
        arguments.export.otlp.as_ref().map(|_| "--otlp"),
    ];
    let named = named.into_iter().flatten().next()?;
    (!is_target(arguments) && in_host(arguments).is_none()).then(|| {
        format!(
            "{named}: the subject of a FILE is loaded in a private network, which nobody outside \
             gets at; add --host-network, or watch it with --live=PORT"
        )
    })
}

/// Who looks on: whoever reads what the program says, and whom the arguments ask for, from when the
/// load begins.
struct Onlooking<'a> {
    arguments: &'a Soak,
    stop: &'a Stop,
    paint: Paint,
    watching: Option<Watching>,
    /// What was found last, in a few words, for a screen, on which nothing stays.
    found: String,
}

impl Onlooker for Onlooking<'_> {
    fn tell(&mut self, told: &Told<'_>) {
        let text = match told {
            Told::Begun(folder, text) => format!("{text}; records in {}", folder.display()),
            Told::Caution(text) => self.paint.warning(text),
            Told::Found(text, _) | Told::Now(text) => (*text).to_owned(),
        };
        let is_drawn = self.arguments.watched.live == Some(Live::Terminal);
        if let (true, Told::Found(_, brief)) = (is_drawn, told) {
            // What comes last may be cut off.
            self.found = format!("{brief}  ").trim_start().to_owned();
        }
        match (&mut self.watching, told) {
            (None, _) => terminal::say(&text),
            (Some(watching), Told::Now(_)) => watching.say(&format!("{}{text}", self.found)),
            (Some(watching), _) => watching.note(&text),
        }
    }

    fn begins(&mut self, subject: &str, part: u32, plan: &Plan) -> Result<(), String> {
        let Soak {
            watched, export, ..
        } = self.arguments;
        let title = match part {
            1 => subject.to_owned(),
            _ => format!("{subject}, part {part}"),
        };
        let seen = Seen::of_soak(title, plan);
        let watching = Watching::start((watched, export), seen, self.stop);
        self.watching = Some(watching.map_err(|failure| failure.text)?);
        Ok(())
    }
}

impl Watcher for Onlooking<'_> {
    fn progress(&mut self, now: &Progress) {
        if let Some(watching) = &mut self.watching {
            watching.progress(now);
        }
    }

    fn wants_intervals(&self) -> bool {
        (self.watching.as_ref()).is_some_and(|watching| watching.wants_intervals())
    }

    fn interval(&mut self, interval: Interval) {
        if let Some(watching) = &mut self.watching {
            watching.interval(interval);
        }
    }
}

/// What those who look on are told at the end.
fn told_at_the_end(outcome: &Outcome) -> End {
    let ended_by = match outcome.stopped {
        Some(_) => EndedBy::Interrupt,
        None => EndedBy::Duration,
    };
    let trouble = outcome.failed.as_deref();
    End {
        found: outcome.soak.says.clone(),
        ..page::end_of_load("soak", (ended_by, &*outcome.notes()), &[], trouble)
    }
}

/// What a receiver is told of a soak that ended like this.
fn exported(outcome: &Outcome, exit: Exit) -> exported::Outcome {
    let soak = &outcome.soak;
    let figures: [(&str, Value); 4] = [
        ("exchanges.completed", soak.exchanges.completed.into()),
        ("exchanges.failed", soak.exchanges.failed.into()),
        ("duration_s", soak.measured_s.into()),
        ("verdict", soak.verdict.word().into()),
    ];
    let figures = figures.map(|(name, value)| (format!("ringside.{name}"), value));
    exported::Outcome {
        verb: "soak",
        origin: soak.asked.subject.clone(),
        figures: figures.into(),
        warnings: outcome.notes(),
        thresholds: Vec::new(),
        exit,
        trouble: outcome.trouble().or_else(|| exit.trouble(soak.is_held())),
    }
}

/// Whether a server is loaded that somebody else runs.
fn is_target(arguments: &Soak) -> bool {
    let whom = whom(arguments);
    let is_file = whom.ends_with(".toml") || Path::new(whom).exists();
    arguments.targets.is_given() || whom.contains("://") || !is_file && whom.contains(':')
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
        before_exit: give_back,
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

/// Makes the report of a soak again from its directory or a pack of it, and prints it.
pub(crate) fn again(
    records: &Records,
    format: report::Format,
    no_color: bool,
) -> Result<Exit, Failure> {
    let (soak, samples) = soak::read(records.source()).map_err(Failure::usage)?;
    let text = match format {
        report::Format::Text => in_words(&soak, Paint::for_stdout(no_color)),
        report::Format::Json => soak.json(),
        _ => {
            let what = "the report of a soak is text or json: give --format text or json";
            return Err(Failure::usage(what));
        }
    };
    terminal::print(&text).map_err(Failure::printing)?;
    // That of a pack goes beside it. Where there's no room for it, the page says so.
    let _ = std::fs::create_dir_all(records.pages());
    let file = records.pages().join(soak::PAGE);
    Ok(page::keep(&file, &soak::page::page(&soak, &samples)))
}

fn in_words(soak: &soak::found::Soak, paint: Paint) -> String {
    let text = soak::words::terminal(soak, look(paint).unicode);
    width::wrapped(&text, paint.columns())
}

/// A leak says more than what ended the soak early: it's as sure then as at the end, and whoever
/// has seen enough may stop. Nothing else is decided before the end.
fn end(outcome: &Outcome) -> Exit {
    let soak = &outcome.soak;
    match (soak.verdict, outcome.stopped) {
        (Verdict::Leak, _) => Exit::Threshold,
        (_, Some(signal)) => Exit::Stopped(signal),
        (Verdict::NothingMeasured, _) => Exit::Failed,
        _ if soak.exchanges.completed == 0 => Exit::Failed,
        _ if outcome.failed.is_some() || !outcome.unwritten.is_empty() => Exit::SubjectFailed,
        _ if !soak.is_held() => Exit::Void,
        (Verdict::CannotTell, _) => Exit::CannotTell,
        (Verdict::NoLeak | Verdict::NotWatched, _) => Exit::Ok,
    }
}
