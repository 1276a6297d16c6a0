//! A hold that several machines carry out together, by the hands of a conductor.

use engine::signal::Stop;
use load::hold::{Plan, Record};
use load::{Progress, Watcher};
use measure::hold::Counted;
use measure::interval::Interval;
use output::destination::Destination;
use output::terminal;

use super::{Reported, outcome, place, plan, report};
use crate::args::hold::{Format, Hold};
use crate::export::receiver;
use crate::exported::{Exported, Outcome};
use crate::run::fleet::{Conducted, Conductor, Seer, asked, nothing_kept};
use crate::watching::{Onlookers, Seen, Watching};
use exit::{Exit, Failure};

/// Has connections held by a fleet, and reports.
pub(crate) fn run(
    arguments: &Hold,
    no_color: bool,
    conductor: &mut dyn Conductor,
) -> Result<Exit, Failure> {
    let asked =
        asked(&arguments.fleet, arguments.again.resume.as_deref()).map_err(Failure::usage)?;
    let plan = plan::plan(arguments).map_err(Failure::usage)?;
    let is_data = arguments.format != Format::Text;
    let refusal = refusal(&plan).or_else(|| {
        let watched = &arguments.watched;
        watched.refusal(is_data, arguments.output.as_deref())
    });
    if let Some(what) = refusal {
        return Err(Failure::usage(what));
    }
    let receiver = receiver(&arguments.export)?;
    let destination = place(arguments).map_err(Failure::usage)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let watched = &arguments.watched;
    let started = Watching::<Counted>::start(watched, Seen::of_hold(&plan), &stop, |seen, hub| {
        let name = arguments.watched.run_name.as_deref();
        Exported::start(receiver, name, seen, hub)
    });
    let (watching, exported) = started?;
    let mut reporter = Reporter {
        arguments,
        no_color,
        watching: Some(watching),
        destination: Some(destination),
        kept: None,
    };
    let conducted = conductor.hold(&asked, &plan, &stop, &mut reporter);
    let Some(kept) = reporter.kept else {
        let failure = nothing_kept(conducted, &stop);
        let Some(mut watching) = reporter.watching else {
            return Err(failure);
        };
        let (_, onlookers) = watching.finish();
        let failed = Outcome::failed("hold", plan.target.origin(), &failure);
        if let Some(exported) = exported {
            exported.finish(watching.given(), failed);
        }
        return onlookers.leave_failed("hold", failure, &stop);
    };
    let Kept {
        record,
        reported,
        watched,
        onlookers,
        given,
    } = kept;
    let (end, told) = reported.end(&record, watched);
    if let Some(exported) = exported {
        exported.finish(given, outcome(&plan, record));
    }
    onlookers.leave(|| told, &stop);
    end
}

/// What of the plan a fleet can't do.
fn refusal(plan: &Plan) -> Option<String> {
    plan.broadcast_s.map(|_| {
        "--broadcast is timed by one clock, and agents have one each: hold with one process, \
         without --agents"
            .to_owned()
    })
}

/// Whoever shows a fleet's hold, and writes its report.
struct Reporter<'a> {
    arguments: &'a Hold,
    no_color: bool,
    /// Until there is a record.
    watching: Option<Watching<Counted>>,
    destination: Option<Destination>,
    kept: Option<Kept>,
}

/// What there is once a hold is over.
struct Kept {
    record: Record,
    reported: Reported,
    /// What whoever watched didn't get.
    watched: Result<(), String>,
    onlookers: Onlookers,
    given: u64,
}

impl Watcher<Counted> for Reporter<'_> {
    fn progress(&mut self, now: &Progress) {
        if let Some(watching) = &mut self.watching {
            watching.progress(now);
        }
    }

    fn wants_intervals(&self) -> bool {
        let watching = self.watching.as_ref();
        watching.is_some_and(Watcher::wants_intervals)
    }

    fn interval(&mut self, interval: Interval<Counted>) {
        if let Some(watching) = &mut self.watching {
            watching.interval(interval);
        }
    }
}

impl Seer<Counted, Record> for Reporter<'_> {
    fn note(&mut self, what: &str) {
        match &mut self.watching {
            Some(watching) => watching.note(what),
            None => terminal::say(what),
        }
    }

    fn keep(&mut self, conducted: Conducted<Record>) -> Result<(), String> {
        let (Some(mut watching), Some(destination)) =
            (self.watching.take(), self.destination.take())
        else {
            return Err("the hold has a record already".to_owned());
        };
        let (watched, onlookers) = watching.finish();
        let Conducted { mut record, fleet } = conducted;
        let reported = report(
            &mut record,
            self.arguments,
            destination,
            self.no_color,
            Some(&fleet),
        );
        let written = reported.written.clone();
        self.kept = Some(Kept {
            record,
            reported,
            watched,
            onlookers,
            given: watching.given(),
        });
        written
    }
}
