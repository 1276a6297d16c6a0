//! A run that several machines carry out together. How they do is the business of another program,
//! `ringside-fleet`, which calls this one's library for everything else: arguments, thresholds,
//! report. `ringside run --agents` hands over to it.

use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use engine::signal::Stop;
use load::check;
use load::{Plan, Record};
use serde::Serialize;
use serde_json::Value;

use super::{data, exit, plan, targets, trouble};
use crate::args::fleet::{Fleet, OnLoss as Named};
use crate::args::run::{Format, Run};
use crate::args::values::Agents;
use crate::exit::{Exit, Failure};
use crate::this_program;
use output::destination::Destination;
use output::terminal::Paint;
use output::thresholds;

/// The program that stands beside this one.
const PROGRAM: &str = "ringside-fleet";

/// What is asked of a fleet, besides its load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// How many agents there are to be.
    pub agents: u32,
    /// The broker that they are connected to; none: all of it is started here.
    pub nats: Option<String>,
    /// What the others do when one is lost.
    pub on_loss: OnLoss,
    /// The run that an earlier coordinator began, and was killed in.
    pub resume: Option<String>,
    /// The file with the seed of the nkey that the plan is signed with.
    pub sign: Option<PathBuf>,
    /// The agents that it's signed for.
    pub audience: Option<String>,
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
pub struct Conducted {
    /// The run, as all agents did it together.
    pub record: Record,
    /// What there is to know of each agent, which the record has as `fleet`.
    pub fleet: Value,
    /// The same as text.
    pub text: String,
}

/// Keeps what a fleet did, if that is possible; then agents may forget it.
pub type Keep<'a> = &'a mut dyn FnMut(Conducted) -> Result<(), String>;

/// Whoever has a fleet carry out a plan.
pub trait Conductor {
    /// Has it carried out, and kept, until `stop` asks for the end.
    ///
    /// # Errors
    /// A sentence: why nothing came of it, and what to do.
    fn conduct(
        &mut self,
        asked: &Asked,
        plan: &Plan,
        stop: &Stop,
        keep: Keep<'_>,
    ) -> Result<(), String>;
}

/// Becomes the program beside this one, with the same arguments.
pub(crate) fn hand_over() -> Result<Exit, Failure> {
    let program = this_program()?.with_file_name(PROGRAM);
    let error = Command::new(&program)
        .args(std::env::args_os().skip(1))
        .exec();
    let program = program.display();
    Err(match error.kind() {
        ErrorKind::NotFound => Failure::usage(format!(
            "--agents: {program} isn't there, which speaks to agents: build it with `cargo build \
             --release -p {PROGRAM}`, and put it beside ringside"
        )),
        _ => Failure::running(format!("can't start {program}: {error}")),
    })
}

/// The run, by the hands of a conductor.
pub(crate) fn run(
    arguments: &Run,
    no_color: bool,
    conductor: &mut dyn Conductor,
) -> Result<Exit, Failure> {
    let asked = asked(&arguments.fleet).map_err(Failure::usage)?;
    let mut plan = plan::plan(arguments).map_err(Failure::usage)?;
    if let Some(what) = refusal(arguments, &plan) {
        return Err(Failure::usage(what));
    }
    targets::known_steps("--threshold", &arguments.thresholds, &plan).map_err(Failure::usage)?;
    let destination = Destination::open(arguments.output.as_deref()).map_err(Failure::usage)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    plan::call(&arguments.load, &mut plan, &stop)?;
    let paint = match destination {
        Destination::Stdout => Paint::for_stdout(no_color),
        _ => Paint::PLAIN,
    };
    let mut destination = Some(destination);
    let mut kept = None;
    let conducted = conductor.conduct(&asked, &plan, &stop, &mut |mut conducted| {
        let record = &mut conducted.record;
        record.thresholds = check::judge(&arguments.thresholds, record);
        let text = told(&conducted, arguments, paint)?;
        let written = match destination.take() {
            Some(destination) => destination.write(&text),
            None => Ok(()),
        };
        kept = Some((conducted.record, written.clone()));
        written
    });
    let Some((record, written)) = kept else {
        let why = conducted.err();
        return Err(Failure {
            exit: stop.requested().map_or(Exit::Failed, Exit::Stopped),
            text: why.unwrap_or_else(|| "the fleet left no record".to_owned()),
        });
    };
    let crossed = thresholds::say_crossed(&record.thresholds, Paint::for_stderr(no_color));
    Failure::unless_written(written, exit(&record, crossed))
}

fn asked(fleet: &Fleet) -> Result<Asked, String> {
    let named = std::env::var("NATS_URL").ok().filter(|url| !url.is_empty());
    let (agents, nats) = match (fleet.agents, fleet.nats.clone().or(named)) {
        (Some(Agents::Local(_)), Some(_)) if fleet.nats.is_some() => {
            return Err("--agents local:N starts a NATS server of its own: drop --nats".to_owned());
        }
        (Some(Agents::Local(_)), _) if fleet.resume.is_some() => {
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
            return Err(format!(
                "{PROGRAM} run loads from several machines: give --agents, or use ringside run"
            ));
        }
    };
    Ok(Asked {
        agents,
        nats,
        on_loss: match fleet.on_loss {
            None | Some(Named::Continue) => OnLoss::Continue,
            Some(Named::Stop) => OnLoss::Stop,
            Some(Named::Rebalance) => OnLoss::Rebalance,
        },
        resume: fleet.resume.clone(),
        sign: fleet.sign.clone(),
        audience: fleet.audience.clone(),
    })
}

/// What of the arguments a fleet can't do.
fn refusal(arguments: &Run, plan: &Plan) -> Option<String> {
    let watched = &arguments.watched;
    let mixed = plan.workload.is_some() && plan.protocol.is_mixed();
    let given = [
        (plan.script.is_some(), "-s"),
        (arguments.replay.replay.is_some(), "--replay"),
        (plan.has_users(), "a flow (FILE.hurl)"),
        (arguments.control, "--control"),
        (arguments.live.is_some(), "--live"),
        (watched.intervals.is_some(), "--intervals"),
        (watched.metrics.is_some(), "--metrics"),
        (arguments.export.otlp.is_some(), "--otlp"),
        (plan.proxy.is_some(), "--proxy"),
        (plan.target.unix_socket.is_some(), "--unix-socket"),
        (mixed, "--targets with gRPC calls"),
    ];
    let rebalances = arguments.fleet.on_loss == Some(Named::Rebalance);
    if rebalances && (plan.count.is_some() || plan.is_dealt_once()) {
        return Some(
            "--on-loss rebalance needs a load that ends by time, because nobody knows what an \
             agent that was lost has left of a count: give -d or --stages"
                .to_owned(),
        );
    }
    let (_, flag) = given.iter().find(|(given, _)| *given)?;
    Some(format!(
        "{flag} doesn't work with --agents yet: drop one of them"
    ))
}

/// The report.
fn told(conducted: &Conducted, arguments: &Run, paint: Paint) -> Result<String, String> {
    /// A run's record with one key more.
    #[derive(Serialize)]
    struct Whole<'a> {
        #[serde(flatten)]
        record: &'a Record,
        fleet: &'a Value,
    }
    let Conducted {
        record,
        fleet,
        text,
    } = conducted;
    if arguments.format == Format::Json {
        let whole = serde_json::to_string_pretty(&Whole { record, fleet });
        let whole = whole.map_err(|why| format!("can't write the record as JSON: {why}"))?;
        return Ok(whole + "\n");
    }
    let trouble = trouble(record, None);
    let mut report = data(record, trouble, arguments.format, arguments.latency, paint)?;
    if arguments.format == Format::Text {
        report.push_str(text);
    }
    Ok(report)
}
