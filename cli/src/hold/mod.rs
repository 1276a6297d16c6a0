//! `ringside hold`: a plan out of the arguments, the hold, and its record as text, JSON, CSV or a
//! page.

pub(crate) mod fleet;
mod plan;

use engine::signal::{Signal, Stop};
use live::page::End;
use load::check;
use load::hold::{Plan, Record};
use measure::hold::Counted;
use measure::record::{EndedBy, Met};
use otlp::figures_of_a_hold;
use report::agents::Agents;
use report::benchmark;
use report::single::Single;
use serde_json::Value;

use crate::args::hold::{Format, Hold};
use crate::export::receiver;
use crate::exported::{Exported, Outcome};
use crate::page;
use crate::run;
use crate::watching::{Seen, Watching};
use exit::{Exit, Failure};
use output::destination::Destination;
use output::terminal::{self, Paint};
use output::{hold as shown, thresholds};

/// Holds, and reports.
pub(crate) fn run(arguments: &Hold, no_color: bool) -> Result<Exit, Failure> {
    let plan = plan::plan(arguments).map_err(Failure::usage)?;
    let is_data = arguments.format != Format::Text;
    if let Some(refusal) = (arguments.watched).refusal(is_data, arguments.output.as_deref()) {
        return Err(Failure::usage(refusal));
    }
    let receiver = receiver(&arguments.export)?;
    let destination = place(arguments).map_err(Failure::usage)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let hold = load::hold::prepare(&plan, &stop)?;
    for sentence in hold.says() {
        terminal::say(sentence);
    }
    let asked = &arguments.watched;
    let seen = Seen::of_hold(&plan);
    let started = Watching::<Counted>::start(asked, seen, &stop, |seen, hub| {
        let name = arguments.watched.run_name.as_deref();
        Exported::start(receiver, name, seen, hub)
    });
    let (mut watching, exported) = started?;
    let reported = hold.carry_out(&stop, &mut watching, |mut record, watching| {
        let (watched, onlookers) = watching.finish();
        let reported = report(&mut record, arguments, destination, no_color, None);
        let (end, told) = reported.end(&record, watched);
        (end, told, onlookers, outcome(&plan, record))
    });
    let given = watching.given();
    let export = |outcome| exported.map_or((), |exported| exported.finish(given, outcome));
    let (end, told, onlookers, outcome) = match reported {
        Ok(reported) => reported,
        Err(why) => {
            let (_, onlookers) = watching.finish();
            let why = Failure::from(why);
            export(Outcome::failed("hold", plan.target.origin(), &why));
            return onlookers.leave_failed("hold", why, &stop);
        }
    };
    export(outcome);
    onlookers.leave(|| told, &stop);
    end
}

/// Where the report goes.
fn place(arguments: &Hold) -> Result<Destination, String> {
    match arguments.watched.takes_stdout() && arguments.output.is_none() {
        true => Destination::stderr(),
        false => Destination::open(arguments.output.as_deref()),
    }
}

/// What pipelines are told of a hold.
pub(crate) fn single(record: &Record) -> Single<'_> {
    Single::of_hold(record, trouble(record))
}

/// What a receiver is told of a hold that has been judged.
fn outcome(plan: &Plan, record: Record) -> Outcome {
    let crossed = (record.thresholds.iter()).any(|judged| judged.outcome == Met::Crossed);
    Outcome {
        verb: "hold",
        origin: plan.target.origin(),
        figures: figures_of_a_hold(&record),
        exit: exit(&record, crossed).unwrap_or_else(|failure| failure.exit),
        trouble: trouble(&record),
        warnings: record.warnings,
        thresholds: record.thresholds,
    }
}

/// Why a hold ended otherwise than well, its thresholds apart.
fn trouble(record: &Record) -> Option<String> {
    match exit(record, false) {
        Err(failure) => Some(failure.text),
        Ok(end) => end.trouble(record.valid),
    }
}

/// What became of a report.
struct Reported {
    written: Result<(), String>,
    crossed: bool,
    told: End,
}

impl Reported {
    /// How the program ends, and what those who look on are told. `watched`: what whoever watched
    /// didn't get.
    fn end(self, record: &Record, watched: Result<(), String>) -> (Result<Exit, Failure>, End) {
        let end = exit(record, self.crossed);
        let end = Failure::unless_written(self.written.and(watched), end);
        (end, self.told)
    }
}

/// Prints and judges what was held.
fn report(
    record: &mut Record,
    arguments: &Hold,
    destination: Destination,
    no_color: bool,
    fleet: Option<&Value>,
) -> Reported {
    record.thresholds = check::judge(&arguments.thresholds, &*record);
    let paint = match destination {
        Destination::Stdout => Paint::for_stdout(no_color),
        _ => Paint::PLAIN,
    };
    let ended = (record.ended_by, &*record.warnings);
    let told = page::end_of_load(
        "hold",
        ended,
        &record.thresholds,
        trouble(record).as_deref(),
    );
    let data = data(record, arguments.format, paint, fleet);
    let written = data.and_then(|data| destination.write(&data));
    let paint = Paint::for_stderr(no_color);
    let crossed = thresholds::say_crossed(&record.thresholds, paint);
    if record.connections.survival.is_none() && arguments.format != Format::Text {
        // The text says it itself; other forms are read by programs.
        for warning in &record.warnings {
            terminal::say(warning);
        }
    }
    Reported {
        written,
        crossed,
        told,
    }
}

/// The report in a format, with the agents of a fleet.
pub(crate) fn data(
    record: &Record,
    format: Format,
    paint: Paint,
    fleet: Option<&Value>,
) -> Result<String, String> {
    let agents = fleet.and_then(Agents::read);
    let single = single(record).by(agents.clone());
    let of_agents = || agents.as_ref().map_or_else(String::new, Agents::text);
    Ok(match format {
        Format::Text => shown::text(record, paint) + &of_agents(),
        Format::Json => run::fleet::json(record, fleet)?,
        Format::Csv => shown::csv(record),
        Format::Html => report::html::hold(record, agents.as_ref()),
        Format::Markdown => single.markdown(),
        Format::Junit => single.junit(),
        Format::SmallerIsBetter => benchmark::smaller_is_better(single.measures()),
        Format::BiggerIsBetter => benchmark::bigger_is_better(single.measures()),
        Format::Bencher => benchmark::bencher(single.measures()),
    })
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
