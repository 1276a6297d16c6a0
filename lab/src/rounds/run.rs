//! One run on a subject that serves, and what was seen of it meanwhile.
//!
//! Knows nothing of rounds, of their order, or of what becomes of a record.

use std::fs;
use std::time::Duration;

use load::{Phase, Progress, Record, RunError};
use measure::process::{Usage, tree};
use measure::record::EndedBy;
use measure::time::Time;

use crate::live::{Live, Setting, Trouble};
use crate::sample::ServerUse;

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

/// One run on a live subject, with what its processes used while the window was open. This is the
/// one place that calls the generator to measure.
/// `when` ends the sentence about what may go wrong, as in "died in round 3".
pub(crate) fn run(
    live: &mut Live,
    setting: &Setting<'_>,
    when: &str,
) -> Result<(Record, ServerUse), Trouble> {
    let (watch, pid) = (&mut live.watch, live.process.pid());
    let mut edge = || (watch.sample(), Time::now());
    let mut open: Option<(Usage, Time)> = None;
    let mut closed: Option<(Usage, Time)> = None;
    let result = load::run(
        &live.plan,
        setting.stop,
        &mut |progress: &Progress| match progress.phase {
            Phase::Measure if open.is_none() => {
                reset_memory_peaks(pid);
                open = Some(edge());
            }
            Phase::Drain if closed.is_none() => closed = Some(edge()),
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
