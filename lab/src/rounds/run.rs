//! One run on a subject that serves, and what was seen of it meanwhile.
//!
//! Knows nothing of rounds, of their order, or of what becomes of a record.

use std::fs;
use std::time::Duration;

use load::check::evaluate;
use load::schedule::Schedule;
use load::{Plan, Progress, Record, RunError};
use measure::process::{Usage, tree};
use measure::record::EndedBy;
use measure::time::Time;

use crate::live::{Live, Setting, Trouble};
use crate::phase::Phase;
use crate::round::{self, PhaseRun, Round, Watched};
use crate::sample::{Sample, ServerUse};

/// Loads a subject for as long as `length`, and keeps nothing of it.
pub(crate) fn warm_up(
    live: &mut Live,
    length: Duration,
    setting: &Setting<'_>,
) -> Result<(), Trouble> {
    if length.is_zero() {
        return Ok(());
    }
    let mut plan = live.plan.clone();
    plan.warm_up_s = 0.0;
    plan.duration_s = Some(length.as_secs_f64());
    let run = load::run(&plan, setting.stop, &mut |_| ());
    check(live, run, "while it was warmed up").map(|_| ())
}

/// What one round of one row brought.
pub(super) struct Ran {
    /// Of the phase that is compared, where there are phases.
    record: Option<Record>,
    server: ServerUse,
    phases: Vec<PhaseRan>,
}

/// What one phase brought.
struct PhaseRan {
    phase: Phase,
    connections: u32,
    record: Record,
    server: ServerUse,
}

impl Ran {
    /// Of a command that was timed.
    pub(super) fn timed(server: ServerUse) -> Ran {
        Ran {
            record: None,
            server,
            phases: Vec::new(),
        }
    }

    /// The round as it is kept.
    pub(super) fn round(self, at: At<'_>) -> Round {
        let sample = |record: &Option<Record>, mut server: ServerUse| {
            server.others_busy = at.others_busy;
            let sample = match record {
                Some(record) => Sample::new(at.round, record, server, at.cores),
                None => Sample::timed(at.round, server, at.cores),
            };
            let start = at.start;
            (Sample { start, ..sample }, Watched { subject: server })
        };
        let (own, watched) = sample(&self.record, self.server);
        let phase = |ran: PhaseRan| {
            let conditions = evaluate(&ran.phase.pass, &ran.record);
            let record = Some(ran.record);
            let (sample, watched) = sample(&record, ran.server);
            PhaseRun {
                name: ran.phase.name,
                rate: ran.phase.rate,
                connections: ran.connections,
                compared: ran.phase.compared,
                sample,
                watched,
                conditions,
                record: record.filter(|_| !ran.phase.compared),
            }
        };
        Round {
            schema_version: round::SCHEMA_VERSION,
            row: at.row.to_owned(),
            round: at.round,
            start: at.start,
            began_unix_s: at.began_unix_s,
            sample: own,
            watched,
            phases: self.phases.into_iter().map(phase).collect(),
            record: self.record,
        }
    }
}

/// Which round of which row something was, and what else was there.
#[derive(Clone, Copy)]
pub(super) struct At<'a> {
    pub(super) row: &'a str,
    pub(super) round: u32,
    pub(super) start: u32,
    pub(super) began_unix_s: u64,
    /// Processor time of the idle subjects meanwhile, as a share of one core.
    pub(super) others_busy: f64,
    /// How many cores the subject has.
    pub(super) cores: usize,
}

/// One round on a subject that serves: one window, or the phases one after the other. `when` ends
/// the sentence about what may go wrong, as in "died in round 3".
pub(super) fn all(
    live: &mut Live,
    phases: &[Phase],
    setting: &Setting<'_>,
    when: &str,
) -> Result<Ran, Trouble> {
    let plan = live.plan.clone();
    if phases.is_empty() {
        let (record, server) = run(live, &plan, setting, when)?;
        return Ok(Ran {
            record: Some(record),
            server,
            phases: Vec::new(),
        });
    }
    let mut ran = Ran::timed(ServerUse::default());
    for phase in phases {
        let plan = of_phase(&plan, phase);
        let when = format!("{when}, phase {}", phase.name);
        let (record, server) = run(live, &plan, setting, &when)?;
        if phase.compared {
            ran.record = Some(record.clone());
            ran.server = server;
        }
        ran.phases.push(PhaseRan {
            phase: phase.clone(),
            connections: plan.connections,
            record,
            server,
        });
    }
    Ok(ran)
}

/// The plan of a phase, where `plan` is that of a row.
fn of_phase(plan: &Plan, phase: &Phase) -> Plan {
    let mut plan = plan.clone();
    plan.duration_s = Some(phase.length.as_secs_f64());
    plan.schedule = match phase.rate {
        Some(rate) => Schedule::Poisson { rate },
        None => Schedule::Closed,
    };
    if let Some(connections) = phase.connections {
        plan.connections = connections.get();
        plan.threads = (plan.cpus.len() as u32).min(plan.connections);
    }
    plan
}

/// One run on a live subject, with what its processes used while the window was open. This is the
/// one place that calls the generator to measure.
pub(crate) fn run(
    live: &mut Live,
    plan: &Plan,
    setting: &Setting<'_>,
    when: &str,
) -> Result<(Record, ServerUse), Trouble> {
    let (watch, pid) = (&mut live.watch, live.process.pid());
    let mut edge = || (watch.sample(), Time::now());
    let mut open: Option<(Usage, Time)> = None;
    let mut closed: Option<(Usage, Time)> = None;
    let result = load::run(
        plan,
        setting.stop,
        &mut |progress: &Progress| match progress.phase {
            load::Phase::Measure if open.is_none() => {
                reset_memory_peaks(pid);
                open = Some(edge());
            }
            load::Phase::Drain if closed.is_none() => closed = Some(edge()),
            _ => {}
        },
    );
    let closed = closed.unwrap_or_else(edge);
    let memory = live.watch.memory().peak_bytes;
    let mut server = ServerUse {
        memory_peak_bytes: (memory > 0).then_some(memory),
        ..ServerUse::default()
    };
    if let Some((usage, since)) = open {
        server.wait_ns = closed.0.wait_ns.saturating_sub(usage.wait_ns);
        server.cpu_ns = closed.0.cpu_ns.saturating_sub(usage.cpu_ns);
        server.wall_ns = closed.1.since(since);
    }
    Ok((check(live, result, when)?, server))
}

/// Starts the peak of resident memory anew (proc(5), clear_refs, value 5), so that the peak is one
/// of the window and not of the start. Where it may not be written the peak since the start stands.
fn reset_memory_peaks(root: u32) {
    for pid in tree(root) {
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

/// The record of a whole run; or what became of the subject, the generator or the wish to go on.
fn check(live: &mut Live, run: Result<Record, RunError>, when: &str) -> Result<Record, Trouble> {
    if let Some(death) = live.death(when) {
        return Err(death);
    }
    match run {
        Ok(record) if matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate) => {
            Err(Trouble::Stopped)
        }
        Ok(record) => Ok(record),
        Err(error) => {
            let what = format!("could not be measured {when}: {error}");
            Err(Trouble::Failed(what, live.process.last_lines()))
        }
    }
}
