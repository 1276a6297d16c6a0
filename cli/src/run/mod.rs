//! `ringside run`: a plan out of the arguments, the run, and its record as text, JSON or CSV.

pub(crate) mod addresses;
pub(crate) mod fleet;
pub(crate) mod flows;
mod http2;
mod message;
pub(crate) mod plan;
pub(crate) mod replayed;
pub(crate) mod route;
pub(crate) mod sender;
pub(crate) mod targets;
pub(crate) mod watching;

use std::sync::{Arc, Mutex, PoisonError};

use engine::signal::{Signal, Stop};
use load::check;
use load::plan::workload::WHOLE;
use load::{Finish, Hang, Plan, Record};
use measure::record::EndedBy;
use otlp::figures_of_a_run;
use report::agents::Agents;
use report::benchmark;
use report::single::Single;
use serde_json::Value;

use crate::args::run::{Format, Run};
use crate::args::values::Live;
use crate::exported::Outcome;
use crate::page;
use crate::watching::{Seen, give_back};
use exit::{Exit, Failure};
use output::destination::Destination;
use output::terminal::{self, Paint};
use output::{counts, csv, text, thresholds, warnings};
use watching::Watching;

/// Loads, and reports.
pub(crate) fn run(arguments: &Run, no_color: bool) -> Result<Exit, Failure> {
    let mut plan = plan::plan(arguments).map_err(Failure::usage)?;
    if let Some(refusal) = control::refusal(&plan).filter(|_| arguments.control) {
        return Err(Failure::usage(refusal));
    }
    let is_data = arguments.format != Format::Text;
    if let Some(refusal) = (arguments.watched).refusal(is_data, arguments.output.as_deref()) {
        return Err(Failure::usage(refusal));
    }
    let known = targets::known_steps("--threshold", &arguments.thresholds, &plan);
    known.map_err(Failure::usage)?;
    let destination = place(arguments, &plan).map_err(Failure::usage)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    plan::call(&arguments.load, &mut plan, &stop)?;
    let asked = (&arguments.watched, &arguments.export);
    let mut watching = Watching::start(asked, Seen::of_run(&plan), &stop)?;
    let destination = Arc::new(Mutex::new(Some(destination)));
    let hung = broken_off(Arc::clone(&destination), arguments);
    let ran = load::run_watched(&plan, &stop, &mut watching, hung);
    let (mut record, finish) = match ran {
        Ok(ran) => ran,
        Err(why) => return watching.failed(plan.target.origin(), why.into(), &stop),
    };
    let Some(destination) = taken(&destination) else {
        return Err(Failure::running("the script didn't come back"));
    };
    let interrupted = match arguments.control && stop.requested().is_none() {
        true => controlled(&mut record, &plan, &mut watching, &stop),
        false => None,
    };
    let (watched, mut onlookers) = watching.finish();
    record.thresholds = check::judge(&arguments.thresholds, &record);
    let paint = match destination {
        Destination::Stdout => Paint::for_stdout(no_color),
        _ => Paint::PLAIN,
    };
    let trouble = trouble(&record, interrupted);
    let shown = trouble.clone();
    let how = (arguments.format, arguments.latency, paint);
    let data = data(&record, shown, how, None);
    let data = data.map_err(Failure::running)?;
    let written = destination.write(&data);
    if arguments.format.lacks_warnings() {
        warnings::say(&record, Paint::for_stderr(no_color));
    }
    let crossed = thresholds::say_crossed(&record.thresholds, Paint::for_stderr(no_color));
    // It prints what it prints behind the report.
    let own = match interrupted {
        Some(signal) => Exit::Stopped(signal),
        None => exit(&record, crossed).unwrap_or_else(|failure| failure.exit),
    };
    onlookers.export(|| outcome(&plan, &record, (own, trouble.clone())));
    let done = |finish: Finish| finish.done(&stop, own.code(), given_up);
    finish.map_or(Ok(()), done).map_err(Failure::running)?;
    let end = match interrupted {
        Some(signal) => Ok(Exit::Stopped(signal)),
        None => exit(&record, crossed),
    };
    let ended = (record.ended_by, &*record.warnings);
    let told = || page::end_of_load("run", ended, &record.thresholds, trouble.as_deref());
    onlookers.leave(told, &stop);
    Failure::unless_written(written.and(watched), end)
}

/// Makes the control of a run, for its record; the signal that ended it before its time.
fn controlled(
    record: &mut Record,
    plan: &Plan,
    watching: &mut Watching,
    stop: &Stop,
) -> Option<Signal> {
    let mut before = None;
    let control = control::run(plan, stop, &mut |now| {
        watching.show("control", now, &mut before);
    });
    let interrupted = stop.requested();
    match control {
        _ if interrupted.is_some() => {
            let why = "there's no control: it was interrupted";
            record.warnings.push(why.to_owned());
        }
        Ok(control) => record.control = Some(control),
        Err(why) => record.warnings.push(format!("there's no control: {why}")),
    }
    interrupted
}

/// Where the report goes; what a script prints is no part of data.
fn place(arguments: &Run, plan: &Plan) -> Result<Destination, String> {
    if arguments.watched.takes_stdout() && arguments.output.is_none() {
        return Destination::stderr();
    }
    let is_data = arguments.format != Format::Text && arguments.output.is_none();
    match plan.script.is_some() && is_data {
        true => Destination::apart(),
        false => Destination::open(arguments.output.as_deref()),
    }
}

/// What is done where a script doesn't come back: the record of what is known is written, and the
/// process ends.
fn broken_off(
    destination: Arc<Mutex<Option<Destination>>>,
    arguments: &Run,
) -> impl FnOnce(Record) + Send + 'static {
    let format = arguments.format;
    let is_live = arguments.watched.live == Some(Live::Terminal);
    move |record| {
        if is_live {
            give_back();
        }
        let told = record.warnings.join("; ");
        let data = match format {
            Format::Text => Ok(counts::text(&record)),
            _ => data(
                &record,
                Some(told.clone()),
                (format, false, Paint::PLAIN),
                None,
            ),
        };
        let write = |destination: Destination| destination.write(&data?);
        if let Err(why) = taken(&destination).map_or(Ok(()), write) {
            terminal::say(&why);
        }
        terminal::say(&told);
        let exit = match record.ended_by {
            EndedBy::Interrupt => Exit::Stopped(Signal::Interrupt),
            EndedBy::Terminate => Exit::Stopped(Signal::Terminate),
            _ => Exit::Failed,
        };
        std::process::exit(exit.code().into());
    }
}

/// What is done where a script's `done` doesn't come back: the report is there.
fn given_up(told: String, hang: Hang) {
    terminal::say(&told);
    let exit = match hang {
        Hang::TooLong => Exit::Failed,
        Hang::Stopped(signal) => Exit::Stopped(signal),
    };
    std::process::exit(exit.code().into());
}

/// A record in a format, with why the run ended otherwise than well, and the agents of a fleet.
fn data(
    record: &Record,
    trouble: Option<String>,
    (format, latency, paint): (Format, bool, Paint),
    fleet: Option<&Value>,
) -> Result<String, String> {
    let agents = fleet.and_then(Agents::read);
    let single = Single::of_run(record, trouble.clone()).by(agents.clone());
    let of_agents = || agents.as_ref().map_or_else(String::new, Agents::text);
    Ok(match format {
        Format::Text => text::text(record, latency, paint) + &of_agents(),
        Format::Json => fleet::json(record, fleet)?,
        Format::Csv => csv::csv(record),
        Format::Html => report::html::run(record, trouble.as_deref(), agents.as_ref()),
        Format::Markdown => single.markdown(),
        Format::Junit => single.junit(),
        Format::SmallerIsBetter => benchmark::smaller_is_better(single.measures()),
        Format::BiggerIsBetter => benchmark::bigger_is_better(single.measures()),
        Format::Bencher => benchmark::bencher(single.measures()),
    })
}

/// What is printed of the record of a run that was made before.
pub(crate) fn again(
    record: &Record,
    format: Format,
    paint: Paint,
    fleet: Option<&Value>,
) -> Result<String, String> {
    data(record, trouble(record, None), (format, false, paint), fleet)
}

/// What a receiver is told of a run that ended like this.
fn outcome(plan: &Plan, record: &Record, (exit, trouble): (Exit, Option<String>)) -> Outcome {
    Outcome {
        verb: "run",
        origin: plan.target.origin(),
        figures: figures_of_a_run(record),
        warnings: record.warnings.clone(),
        thresholds: record.thresholds.clone(),
        exit,
        trouble,
    }
}

/// Why a run ended otherwise than well, its thresholds apart.
fn trouble(record: &Record, interrupted: Option<Signal>) -> Option<String> {
    match exit(record, false) {
        _ if interrupted.is_some() => Some("its control was interrupted".to_owned()),
        Err(failure) => Some(failure.text),
        Ok(end) => end.trouble(record.valid),
    }
}

/// What is there, for whoever comes first.
fn taken<T>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// A signal says more than a threshold, a threshold more than an empty run, and that more than a
/// void one.
fn exit(record: &Record, crossed: bool) -> Result<Exit, Failure> {
    match record.ended_by {
        EndedBy::Interrupt => Ok(Exit::Stopped(Signal::Interrupt)),
        EndedBy::Terminate => Ok(Exit::Stopped(Signal::Terminate)),
        _ if crossed => Ok(Exit::Threshold),
        EndedBy::Script if record.exchanges.completed == 0 && record.exchanges.failed == 0 => Err(
            Failure::running("nothing was measured; the warnings say why"),
        ),
        _ if record.plan.has_users() && nobody_was_asked(record) && !record.only_streamed() => {
            Err(Failure::running(
                "no request was sent: the flow skips all of them, or waits for their delays; see \
                 its [Options], or give it more time (-d)",
            ))
        }
        _ if nothing_was_sent(record) => Err(Failure::running(
            "no request was sent: every connection waited, as the file or the script says \
             (`=== wait`, delay()); give it more time (-d)",
        )),
        _ if record.exchanges.completed == 0 && !record.only_streamed() => Err(Failure::running(
            "no request got the expected answer; the errors say why",
        )),
        _ if all_flows_failed(record) => Err(Failure::running(
            "no flow got to its end; the errors say why",
        )),
        _ if !record.valid || thresholds::some_not_judged(&record.thresholds) => Ok(Exit::Void),
        _ => Ok(Exit::Ok),
    }
}

/// Whether a closed loop ended without anything that failed, and without anything sent.
fn nothing_was_sent(record: &Record) -> bool {
    let is_closed = record.offered_rate.is_none();
    is_closed && record.exchanges.unfinished == 0 && nobody_was_asked(record)
}

/// Whether nothing came and nothing failed: what was due in an open loop counts as unfinished.
fn nobody_was_asked(record: &Record) -> bool {
    let none = record.exchanges.completed + record.exchanges.failed == 0;
    none && record.errors.is_empty() && record.duration_s > 0.0
}

/// Whether users failed, and none got through its flow.
fn all_flows_failed(record: &Record) -> bool {
    let mut steps = record.steps.iter().filter(|_| record.plan.has_users());
    steps.any(|step| step.name == WHOLE && step.completed == 0 && step.failed > 0)
}

#[cfg(test)]
mod tests {
    use measure::record::Facts;
    use measure::tally::{Loop, Tally};

    use super::*;

    #[test]
    fn a_void_run_is_not_well_whatever_its_thresholds_say() {
        let ended = |valid, completed, ended_by, crossed| {
            let facts = Facts {
                duration_s: 1.0,
                valid,
                ended_by,
                ..Facts::of(load::Plan::new("http://127.0.0.1:1/").unwrap().recorded())
            };
            let mut record = Record::assemble(&Tally::new(Loop::Open), facts);
            record.exchanges.completed = completed;
            exit(&record, crossed).unwrap_or_else(|failure| failure.exit)
        };
        let over = EndedBy::Duration;
        assert_eq!(ended(true, 9, over, false), Exit::Ok);
        assert_eq!(ended(false, 9, over, false), Exit::Void);
        assert_eq!(ended(false, 9, over, true), Exit::Threshold);
        assert_eq!(ended(false, 0, over, false), Exit::Failed);
        let stopped = Exit::Stopped(Signal::Interrupt);
        assert_eq!(ended(false, 9, EndedBy::Interrupt, true), stopped);
    }
}
