//! One run on a subject that serves, and what was seen of it meanwhile.
//!
//! Knows nothing of rounds, of their order, or of what becomes of a record.

use std::path::Path;
use std::time::Duration;

use faults::intervene::apart;
use faults::{Fault, Injected, arrivals, inject};
use load::check::evaluate;
use load::schedule::Schedule;
use load::{LoadError, Plan, Progress, Record};
use measure::record::EndedBy;
use supervisor::generator::{Generated, Generator};
use supervisor::live::Live;
use supervisor::loading::Order;
use supervisor::row::Row;
use supervisor::setting::{Setting, Trouble};
use supervisor::subject::Subject;
use supervisor::watch::{Watch, Watched};

use crate::phase::Phase;
use crate::round::{self, PhaseRun, Round};
use crate::sample::Sample;
use crate::validity::round::{Seen, findings};

/// So often it is tried what a subject can serve.
const PROBES_MAX: u32 = 2;
/// When that is.
const IN_A_PROBE: &str = "in the probe before the first round";

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
    let run = setting.loads.send(&plan, setting.stop, &mut |_| ());
    check(live, run, "during its warm-up").map(|_| ())
}

/// How many requests a second a subject answers in a closed loop of this length, of which nothing
/// is kept. One in which something failed says nothing about that, and is done once more.
pub(super) fn closed_rate(
    live: &mut Live,
    length: Duration,
    setting: &Setting<'_>,
) -> Result<f64, Trouble> {
    let mut plan = live.plan.clone();
    plan.schedule = Schedule::Closed;
    plan.duration_s = Some(length.as_secs_f64());
    let mut what = String::new();
    for _ in 0..PROBES_MAX {
        let run = setting.loads.send(&plan, setting.stop, &mut |_| ());
        let record = check(live, run, IN_A_PROBE)?;
        match failures(&record) {
            None => return Ok(record.achieved_rate),
            Some(failed) => what = failed,
        }
    }
    Err(Trouble::Failed(
        format!("failed {IN_A_PROBE}, so that what it can serve isn't known: {what}"),
        live.process.last_lines(),
    ))
}

/// What went wrong in a run, if something did, by kind.
fn failures(record: &Record) -> Option<String> {
    let failed = record.errors.iter().filter(|(_, count)| **count > 0);
    let failed: Vec<String> = failed
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    (!failed.is_empty()).then(|| failed.join(", "))
}

/// What one round of one row brought.
pub struct Ran {
    /// Of the phase that is compared, where there are phases.
    record: Option<Record>,
    watched: Watched,
    faults: Vec<Injected>,
    phases: Vec<PhaseRan>,
    /// Of a generator that is compared.
    generated: Option<Generated>,
}

/// What one phase brought.
struct PhaseRan {
    phase: Phase,
    connections: u32,
    record: Record,
    watched: Watched,
    faults: Vec<Injected>,
}

impl Ran {
    /// Of a command that was timed.
    pub(super) fn timed(watched: Watched) -> Ran {
        Ran {
            record: None,
            watched,
            faults: Vec::new(),
            phases: Vec::new(),
            generated: None,
        }
    }

    /// Of a generator that is compared.
    pub(super) fn generated((watched, generated): (Watched, Generated)) -> Ran {
        Ran {
            generated: Some(generated),
            ..Ran::timed(watched)
        }
    }

    /// Of one window.
    pub fn of(record: Record, watched: Watched) -> Ran {
        Ran {
            record: Some(record),
            ..Ran::timed(watched)
        }
    }

    /// The round as it is kept.
    pub fn round(self, at: At<'_>) -> Round {
        let generated = self.generated;
        let sample = |record: &Option<Record>, watched: &mut Watched, faults: &[Injected]| {
            watched.subject.others_busy = at.others_busy;
            let (server, round) = (watched.subject, at.round);
            let cores = server.own_cores.map_or(at.cores, |own| own as usize);
            let mut sample = match (record, &generated) {
                (Some(record), _) => Sample::new(round, record, server, cores),
                (None, Some(run)) => Sample::generated(round, run, server, cores),
                (None, None) => Sample::timed(round, server, cores),
            };
            sample.start = at.start;
            sample.findings = findings(Seen {
                sample: &sample,
                watched,
                record: record.as_ref(),
                generated: generated.as_ref(),
                faults,
            });
            sample
        };
        let mut watched = self.watched;
        let own = sample(&self.record, &mut watched, &self.faults);
        let phase = |ran: PhaseRan| {
            let conditions = evaluate(&ran.phase.pass, &ran.record);
            let (record, mut watched) = (Some(ran.record), ran.watched);
            let sample = sample(&record, &mut watched, &ran.faults);
            PhaseRun {
                name: ran.phase.name,
                rate: ran.phase.rate,
                connections: ran.connections,
                compared: ran.phase.compared,
                equal: ran.phase.equal,
                sample,
                watched,
                faults: ran.faults,
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
            faults: self.faults,
            phases: self.phases.into_iter().map(phase).collect(),
            record: self.record,
            generated,
        }
    }
}

/// Which round of which row something was, and what else was there.
#[derive(Clone, Copy)]
pub struct At<'a> {
    /// The row.
    pub row: &'a str,
    /// The round, from 1.
    pub round: u32,
    /// The start of its processes, from 1.
    pub start: u32,
    /// When it began.
    pub began_unix_s: u64,
    /// Processor time of the idle subjects meanwhile, as a share of one core.
    pub others_busy: f64,
    /// How many cores a subject is given.
    pub cores: usize,
}

/// One round of a row's generator.
pub(super) fn by(
    generator: &Generator,
    row: &Row,
    dir: &Path,
    live: &mut Live,
    setting: &Setting<'_>,
    round: u32,
) -> Result<Ran, Trouble> {
    let order = Order {
        row,
        generator,
        dir,
        setting,
        when: &format!("in round {round}"),
    };
    order.carry_out(live).map(Ran::generated)
}

/// What a round on a subject that serves consists of.
pub(super) struct Course<'a> {
    /// Who serves.
    pub(super) subject: &'a Subject,
    /// The phases, one after the other; where there are none, what happens in the one window.
    pub(super) parts: (&'a [Phase], &'a [Fault]),
    /// How long a request may take to be in time.
    pub(super) goodput_within: Option<Duration>,
    /// Where it runs.
    pub(super) setting: &'a Setting<'a>,
}

impl Course<'_> {
    /// One round.
    pub(super) fn run(&self, live: &mut Live, round: u32) -> Result<Ran, Trouble> {
        // Ends the sentence about what may go wrong, as in "died in round 3".
        let when = format!("in round {round}");
        let drawn = |plan, phase| arrivals::drawn_for(plan, self.setting.seed, round, phase);
        let mut plan = live.plan.clone();
        plan.goodput_within_s = self.goodput_within.map(|within| within.as_secs_f64());
        let (phases, faults) = self.parts;
        if phases.is_empty() {
            let (record, watched, faults) = self.window(live, &drawn(plan, 0), faults, &when)?;
            let ran = Ran::of(record, watched);
            return Ok(Ran { faults, ..ran });
        }
        let mut ran = Ran::timed(Watched::default());
        for (at, phase) in phases.iter().enumerate() {
            let plan = drawn(of_phase(&plan, phase), at);
            let when = format!("{when}, phase {}", phase.name);
            let (record, watched, faults) = self.window(live, &plan, &phase.faults, &when)?;
            if phase.compared {
                ran.record = Some(record.clone());
                ran.watched = watched.clone();
                ran.faults = faults.clone();
            }
            ran.phases.push(PhaseRan {
                phase: phase.clone(),
                connections: plan.connections,
                record,
                watched,
                faults,
            });
        }
        Ok(ran)
    }

    /// One window, with what happens to the subject meanwhile.
    fn window(
        &self,
        live: &mut Live,
        plan: &Plan,
        faults: &[Fault],
        when: &str,
    ) -> Result<(Record, Watched, Vec<Injected>), Trouble> {
        let setting = self.setting;
        if faults.is_empty() {
            let (record, watched) = run(live, plan, setting, when)?;
            return Ok((record, watched, Vec::new()));
        }
        let (watch, Some(started)) = apart(live, self.subject, setting) else {
            let what = "was running already, so that no fault can be made of it".to_owned();
            return Err(Trouble::Failed(what, Vec::new()));
        };
        watch.before();
        let (result, injected) = inject(faults, started, setting.stop, watch, |beside, watch| {
            let loads = &setting.loads;
            loads.send(plan, setting.stop, &mut |progress| {
                beside.see(progress, plan.warm_up_s, watch);
                see(watch, progress);
            })
        });
        let watched = watch.after(plan.connections, setting.placement);
        // Before what became of it is looked at: it may not be there because of that.
        let mut injected = injected.map_err(|trouble| match trouble {
            Trouble::Failed(what, log) => Trouble::Failed(format!("{what} {when}"), log),
            Trouble::Stopped => Trouble::Stopped,
        })?;
        let record = check(live, result, when)?;
        faults::cost::count(&mut injected, &record);
        Ok((record, watched, injected))
    }
}

/// The plan of a phase, where `plan` is that of a row.
fn of_phase(plan: &Plan, phase: &Phase) -> Plan {
    let mut plan = plan.clone();
    plan.duration_s = Some(phase.length.as_secs_f64());
    plan.schedule =
        (plan.schedule).in_part(phase.rate, plan.warm_up_s + phase.length.as_secs_f64());
    if let Some(connections) = phase.connections {
        plan.connections = connections.get();
        plan.threads = (plan.cpus.len() as u32).min(plan.connections);
    }
    plan
}

/// One run on a live subject, with what its processes used while the window was open. This is the
/// one place that calls the generator to measure.
pub fn run(
    live: &mut Live,
    plan: &Plan,
    setting: &Setting<'_>,
    when: &str,
) -> Result<(Record, Watched), Trouble> {
    let watch = &mut live.watch;
    watch.before();
    let loads = &setting.loads;
    let result = loads.send(plan, setting.stop, &mut |progress| see(watch, progress));
    let watched = watch.after(plan.connections, setting.placement);
    Ok((check(live, result, when)?, watched))
}

/// Watches a subject as far as its load is.
fn see(watch: &mut Watch, progress: &Progress) {
    match progress.phase {
        load::Phase::WarmUp => {}
        load::Phase::Measure => watch.window(),
        load::Phase::Drain => watch.close(),
    }
}

/// The record of a whole run; or what became of the subject, the generator or the wish to go on.
fn check(live: &mut Live, run: Result<Record, LoadError>, when: &str) -> Result<Record, Trouble> {
    if let Some(death) = live.death(when) {
        return Err(death);
    }
    match run {
        Ok(record) if matches!(record.ended_by, EndedBy::Interrupt | EndedBy::Terminate) => {
            Err(Trouble::Stopped)
        }
        Ok(record) => Ok(record),
        Err(LoadError::Interrupted(_)) => Err(Trouble::Stopped),
        Err(error) => {
            let what = format!("couldn't be measured {when}: {error}");
            Err(Trouble::Failed(what, live.process.last_lines()))
        }
    }
}
