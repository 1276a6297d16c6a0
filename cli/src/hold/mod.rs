//! `ringside hold`: a plan out of the arguments, the hold, and its record as text, JSON, CSV or a
//! page.

mod plan;

use std::cell::RefCell;

use engine::signal::{Signal, Stop};
use load::check;
use load::hold::Record;
use load::{Phase, Progress};
use measure::record::EndedBy;
use measure::time::Time;
use report::benchmark;
use report::single::Single;

use crate::args::hold::{Format, Hold};
use crate::exit::{Exit, Failure};
use output::destination::Destination;
use output::progress::Line;
use output::terminal::{self, Paint};
use output::{hold as shown, thresholds};

/// Holds, and reports.
pub(crate) fn run(arguments: &Hold, no_color: bool) -> Result<Exit, Failure> {
    let plan = plan::plan(arguments).map_err(Failure::usage)?;
    let destination = Destination::open(arguments.output.as_deref()).map_err(Failure::usage)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let hold = load::hold::prepare(&plan, &stop)?;
    for sentence in hold.says() {
        terminal::say(sentence);
    }
    let line = RefCell::new(Line::on_stderr());
    let began = Time::now();
    let mut watch = |now: &Progress| {
        let opening_s = (Time::now() - began).as_secs();
        line.borrow_mut()
            .show(&progress_text(now, plan.connections, opening_s));
    };
    hold.carry_out(&stop, &mut watch, |record| {
        line.borrow_mut().clear();
        report(record, arguments, destination, no_color)
    })?
}

/// What pipelines are told of a hold.
pub(crate) fn single(record: &Record) -> Single<'_> {
    let trouble = match exit(record, false) {
        Err(failure) => Some(failure.text),
        Ok(end) => end.trouble(record.valid),
    };
    Single::of_hold(record, trouble)
}

/// Prints and judges what was held.
fn report(
    mut record: Record,
    arguments: &Hold,
    destination: Destination,
    no_color: bool,
) -> Result<Exit, Failure> {
    record.thresholds = check::judge(&arguments.thresholds, &record);
    let paint = match destination {
        Destination::Stdout => Paint::for_stdout(no_color),
        _ => Paint::PLAIN,
    };
    let single = single(&record);
    let data = match arguments.format {
        Format::Text => shown::text(&record, paint),
        Format::Json => record.to_json().map_err(Failure::running)?,
        Format::Csv => shown::csv(&record),
        Format::Html => report::html::hold(&record),
        Format::Markdown => single.markdown(),
        Format::Junit => single.junit(),
        Format::SmallerIsBetter => benchmark::smaller_is_better(single.measures()),
        Format::BiggerIsBetter => benchmark::bigger_is_better(single.measures()),
        Format::Bencher => benchmark::bencher(single.measures()),
    };
    let written = destination.write(&data);
    let paint = Paint::for_stderr(no_color);
    let crossed = thresholds::say_crossed(&record.thresholds, paint);
    if record.connections.survival.is_none() && arguments.format != Format::Text {
        // The text says it itself; other forms are read by programs.
        for warning in &record.warnings {
            terminal::say(warning);
        }
    }
    Failure::unless_written(written, exit(&record, crossed))
}

/// A signal says more than a threshold, a threshold more than an empty hold, and that more than a
/// void one.
fn exit(record: &Record, crossed: bool) -> Result<Exit, Failure> {
    match record.ended_by {
        EndedBy::Interrupt => Ok(Exit::Stopped(Signal::Interrupt)),
        EndedBy::Terminate => Ok(Exit::Stopped(Signal::Terminate)),
        _ if crossed => Ok(Exit::Threshold),
        _ if record.connections.opened == 0 => Err(Failure::running(
            "no connection could be opened; the failed attempts say why",
        )),
        _ if record.heartbeats.sent > 0 && record.heartbeats.answered == 0 => Err(
            Failure::running("no heartbeat got the expected answer; the failed heartbeats say why"),
        ),
        _ if !record.valid || thresholds::some_not_judged(&record.thresholds) => Ok(Exit::Void),
        _ => Ok(Exit::Ok),
    }
}

/// `opening_s`: since when connections are being opened, if they still are.
fn progress_text(now: &Progress, asked: u32, opening_s: u64) -> String {
    let beats = format!("{} heartbeats, {} failed", now.completed, now.failed);
    match (now.phase, now.total_s) {
        (Phase::WarmUp, _) => format!(
            "opening for {opening_s}s  {} of {asked} open  {beats}",
            now.connected
        ),
        (_, Some(total)) => format!(
            "{:.0}s of {total:.0}s  {} of {asked} open  {beats}",
            now.elapsed_s.floor(),
            now.connected
        ),
        (_, None) => format!("{} of {asked} open  {beats}", now.connected),
    }
}
