//! A run that several machines carry out together. How they do is the business of another program,
//! `ringside-fleet`, which calls this one's library for everything else: arguments, thresholds,
//! report. `ringside run --agents` hands over to it.

use std::fmt;
use std::path::PathBuf;

use engine::signal::Stop;
use load::check;
use load::{Plan, Progress, Record, Watcher, hold};
use measure::foreign::json as document_json;
use measure::hold::Counted as Held;
use measure::interval::Interval;
use measure::tally::Counted;
use serde::Serialize;
use serde_json::Value;

use super::watching::{Onlookers, Watching};
use super::{data, exit, flows, outcome, place, plan, targets, trouble};
use crate::args::agents::{Fleet, OnLoss as Named};
use crate::args::run::{Format, Run};
use crate::args::values::{Agents, Weight};
use crate::page;
use crate::watching::Seen;
use exit::{Exit, Failure};
use output::destination::Destination;
use output::terminal::{self, Paint};
use output::thresholds;

/// What is asked of a fleet, besides its load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// How many agents there are to be.
    pub agents: u32,
    /// The broker that they are connected to; none: all of it is started here.
    pub nats: Option<String>,
    /// Weights of agents by their names; of the others their threads are.
    pub weights: Vec<(String, u32)>,
    /// Weights are what agents reach against a server of their own, which is measured first.
    pub weighs: bool,
    /// The same load is sent first by each agent to a server of its own.
    pub control: bool,
    /// What the others do when one is lost.
    pub on_loss: OnLoss,
    /// The run that an earlier coordinator began, and was killed in.
    pub resume: Option<String>,
    /// The file with the seed of the nkey that the plan is signed with.
    pub sign: Option<PathBuf>,
    /// The agents that it's signed for.
    pub audience: Option<String>,
    /// Variables of users whose values are secrets.
    pub secrets: Secrets,
}

/// Names and values, of which the latter are shown nowhere.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secrets(pub Vec<(String, String)>);

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

/// What the others do when an agent is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnLoss {
    /// They go on with their shares.
    Continue,
    /// They end.
    Stop,
    /// They take its share over.
    Rebalance,
}

/// What a fleet did.
#[derive(Debug)]
pub struct Conducted<R = Record> {
    /// The load, as all agents did it together.
    pub record: R,
    /// What there is to know of each agent, which the record has as `fleet`.
    pub fleet: Value,
}

/// Whoever looks on while a fleet carries out a plan, and keeps what came of it.
pub trait Seer<C = Counted, R = Record>: Watcher<C> {
    /// Something that a user should know now.
    fn note(&mut self, what: &str);

    /// All load of all agents was ended (`ringside fleet stop`), and no more is wanted.
    fn halted(&mut self) {}

    /// Keeps what a fleet did, if that is possible; then agents may forget it.
    ///
    /// # Errors
    /// A sentence: it can't be kept.
    fn keep(&mut self, conducted: Conducted<R>) -> Result<(), String>;
}

/// Whoever has a fleet carry out a plan.
pub trait Conductor: Send {
    /// Has it carried out, seen and kept, until `stop` asks for the end.
    ///
    /// # Errors
    /// A sentence: why nothing came of it, and what to do.
    fn conduct(
        &mut self,
        asked: &Asked,
        plan: &Plan,
        stop: &Stop,
        seer: &mut dyn Seer,
    ) -> Result<(), String>;

    /// The same of connections that are to be held.
    ///
    /// # Errors
    /// As for [`Conductor::conduct`].
    fn hold(
        &mut self,
        asked: &Asked,
        plan: &hold::Plan,
        stop: &Stop,
        seer: &mut dyn Seer<Held, hold::Record>,
    ) -> Result<(), String>;
}

/// The run, by the hands of a conductor.
pub(crate) fn run(
    arguments: &Run,
    no_color: bool,
    conductor: &mut dyn Conductor,
) -> Result<Exit, Failure> {
    let mut asked =
        asked(&arguments.fleet, arguments.again.resume.as_deref()).map_err(Failure::usage)?;
    let mut plan = plan::plan(arguments).map_err(Failure::usage)?;
    let is_data = arguments.format != Format::Text;
    let refusal = refusal(arguments, &plan);
    let refusal = refusal.or_else(|| {
        let watched = &arguments.watched;
        watched.refusal(is_data, arguments.output.as_deref())
    });
    if let Some(what) = refusal {
        return Err(Failure::usage(what));
    }
    asked.control = arguments.control;
    if plan.has_users() {
        let secrets = flows::secrets(&arguments.flows).map_err(Failure::usage)?;
        asked.secrets = Secrets(secrets);
    }
    if plan.script.is_some() {
        terminal::say(
            "note: each agent calls the script's setup() for all threads, and nobody its done()",
        );
    }
    targets::known_steps("--threshold", &arguments.thresholds, &plan).map_err(Failure::usage)?;
    let destination = place(arguments, &plan).map_err(Failure::usage)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    plan::call(&arguments.load, &mut plan, &stop)?;
    let watched = (&arguments.watched, &arguments.export);
    let watching = Watching::start(watched, Seen::of_run(&plan), &stop)?;
    let mut reporter = Reporter {
        arguments,
        no_color,
        watching: Some(watching),
        destination: Some(destination),
        kept: None,
    };
    let conducted = conductor.conduct(&asked, &plan, &stop, &mut reporter);
    let Some(kept) = reporter.kept else {
        let failure = nothing_kept(conducted, &stop);
        return match reporter.watching {
            Some(watching) => watching.failed(plan.target.origin(), failure, &stop),
            None => Err(failure),
        };
    };
    let Kept {
        record,
        written,
        mut onlookers,
    } = kept;
    let crossed = thresholds::say_crossed(&record.thresholds, Paint::for_stderr(no_color));
    let end = exit(&record, crossed);
    let trouble = trouble(&record, None);
    let own = exit(&record, crossed).unwrap_or_else(|failure| failure.exit);
    onlookers.export(|| outcome(&plan, &record, (own, trouble.clone())));
    let ended = (record.ended_by, &*record.warnings);
    let told = || page::end_of_load("run", ended, &record.thresholds, trouble.as_deref());
    onlookers.leave(told, &stop);
    Failure::unless_written(written, end)
}

/// Why a fleet left no record.
pub(crate) fn nothing_kept(conducted: Result<(), String>, stop: &Stop) -> Failure {
    let why = conducted.err();
    Failure {
        exit: stop.requested().map_or(Exit::Failed, Exit::Stopped),
        text: why.unwrap_or_else(|| "the fleet left no record".to_owned()),
    }
}

/// Whoever shows a fleet's run, and writes its report.
struct Reporter<'a> {
    arguments: &'a Run,
    no_color: bool,
    /// Until there is a record.
    watching: Option<Watching>,
    destination: Option<Destination>,
    kept: Option<Kept>,
}

/// What there is once a run is over.
struct Kept {
    record: Record,
    written: Result<(), String>,
    onlookers: Onlookers,
}

impl Watcher for Reporter<'_> {
    fn progress(&mut self, now: &Progress) {
        if let Some(watching) = &mut self.watching {
            watching.progress(now);
        }
    }

    fn wants_intervals(&self) -> bool {
        let watching = self.watching.as_ref();
        watching.is_some_and(Watcher::wants_intervals)
    }

    fn interval(&mut self, interval: Interval) {
        if let Some(watching) = &mut self.watching {
            watching.interval(interval);
        }
    }
}

impl Seer for Reporter<'_> {
    fn note(&mut self, what: &str) {
        match &mut self.watching {
            Some(watching) => watching.note(what),
            None => terminal::say(what),
        }
    }

    fn keep(&mut self, mut conducted: Conducted) -> Result<(), String> {
        let (Some(watching), Some(destination)) = (self.watching.take(), self.destination.take())
        else {
            return Err("the run has a record already".to_owned());
        };
        // The terminal is as it was from here on.
        let (watched, onlookers) = watching.finish();
        let paint = match destination {
            Destination::Stdout => Paint::for_stdout(self.no_color),
            _ => Paint::PLAIN,
        };
        let record = &mut conducted.record;
        record.thresholds = check::judge(&self.arguments.thresholds, record);
        let text = told(&conducted, self.arguments, paint);
        let written = text.and_then(|text| destination.write(&text));
        self.kept = Some(Kept {
            record: conducted.record,
            written: written.clone().and(watched),
            onlookers,
        });
        written
    }
}

pub(crate) fn asked(fleet: &Fleet, resume: Option<&str>) -> Result<Asked, String> {
    let named = std::env::var("NATS_URL").ok().filter(|url| !url.is_empty());
    let (agents, nats) = match (fleet.agents, fleet.nats.clone().or(named)) {
        (Some(Agents::Local(_)), Some(_)) if fleet.nats.is_some() => {
            return Err("--agents local:N starts a NATS server of its own: drop --nats".to_owned());
        }
        (Some(Agents::Local(_)), _) if resume.is_some() => {
            return Err(
                "--agents local:N ends with its coordinator, so there's nothing to resume: start \
                 the run again"
                    .to_owned(),
            );
        }
        (Some(Agents::Local(agents)), _) => (agents, None),
        (Some(Agents::Elsewhere(agents)), Some(nats)) => (agents, Some(nats)),
        (Some(Agents::Elsewhere(agents)), None) => {
            return Err(format!(
                "--agents {agents} needs the NATS server that they are connected to: give --nats \
                 URL, or start agents here with --agents local:{agents}"
            ));
        }
        (None, _) => {
            return Err(
                "ringside-fleet loads from several machines: give --agents, or use ringside itself"
                    .to_owned(),
            );
        }
    };
    let weighs = fleet.weights.contains(&Weight::Measured);
    if weighs && fleet.weights.len() > 1 {
        return Err(
            "--weights measured gives all agents their weights: drop the others".to_owned(),
        );
    }
    let weights = fleet.weights.iter().filter_map(|weight| match weight {
        Weight::Measured => None,
        Weight::Of(name, weight) => Some((name.clone(), *weight)),
    });
    let weights = weights.collect();
    Ok(Asked {
        agents,
        nats,
        weights,
        weighs,
        control: false,
        on_loss: match fleet.on_loss {
            None | Some(Named::Continue) => OnLoss::Continue,
            Some(Named::Stop) => OnLoss::Stop,
            Some(Named::Rebalance) => OnLoss::Rebalance,
        },
        resume: resume.map(str::to_owned),
        sign: fleet.sign.clone(),
        audience: fleet.audience.clone(),
        secrets: Secrets::default(),
    })
}

/// What is asked of a fleet that sends many loads, to servers that may be started on this machine.
pub(crate) fn asked_for_many(fleet: &Fleet, starts_servers: bool) -> Result<Asked, String> {
    let asked = asked(fleet, None)?;
    if asked.on_loss == OnLoss::Rebalance {
        return Err(
            "--on-loss rebalance is for run and hold: an agent's share is taken over 15 s after \
             it was heard last, which is longer than each of these loads; drop it"
                .to_owned(),
        );
    }
    match &asked.nats {
        Some(_) if starts_servers => Err(
            "--agents: the servers are started on this machine's loopback interface, where only \
             agents on it reach them: use --agents local:N, or start the servers yourself and \
             give their URLs"
                .to_owned(),
        ),
        _ => Ok(asked),
    }
}

/// What of the arguments a fleet can't do.
fn refusal(arguments: &Run, plan: &Plan) -> Option<String> {
    let rebalances = arguments.fleet.on_loss == Some(Named::Rebalance);
    if rebalances && (plan.count.is_some() || plan.is_dealt_once()) {
        return Some(
            "--on-loss rebalance needs a load that ends by time, because nobody knows what an \
             agent that was lost has left of a count: give -d or --stages"
                .to_owned(),
        );
    }
    match arguments.control {
        true if arguments.again.resume.is_some() => Some(
            "--control comes before the load, and --resume goes on with one: drop it".to_owned(),
        ),
        true => control::refusal(plan),
        false => None,
    }
}

/// A record as JSON, with one key more of a fleet.
pub(crate) fn json<R: Serialize>(record: &R, fleet: Option<&Value>) -> Result<String, String> {
    #[derive(Serialize)]
    struct Whole<'a, R> {
        #[serde(flatten)]
        record: &'a R,
        #[serde(skip_serializing_if = "Option::is_none")]
        fleet: Option<&'a Value>,
    }
    let whole = serde_json::to_string_pretty(&Whole { record, fleet });
    let whole = whole.map_err(|why| format!("can't write the record as JSON: {why}"))?;
    // Agents tell of themselves, and of what servers said.
    Ok(document_json(&(whole + "\n")).into_owned())
}

/// The report.
fn told(conducted: &Conducted, arguments: &Run, paint: Paint) -> Result<String, String> {
    let Conducted { record, fleet } = conducted;
    let how = (arguments.format, arguments.latency, paint);
    data(record, trouble(record, None), how, Some(fleet))
}
