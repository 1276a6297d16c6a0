//! What a fleet's run came to, as the record and the text of a run.

use std::fmt::Write as _;

use cli::Conducted;
use engine::signal::Signal;
use fleet::record::{AgentRecord, Outcome, Record as Of};
use load::{Plan, Record, grpc_status};
use measure::host::Host;
use measure::interval::{Interval, Phase};
use measure::record::{EndedBy, Facts, Generator, StepFacts};
use measure::series::Row;
use measure::tally::{Counted, Loop, Tally};
use measure::time::Time;

use crate::VERSION;

/// The record of a plan that a fleet carried out, until a signal ended it, if one did.
///
/// # Errors
/// A sentence: what was counted can't be put together.
pub(crate) fn conducted(
    plan: &Plan,
    outcome: &Outcome,
    stopped: Option<Signal>,
) -> Result<Conducted, String> {
    let of = &outcome.record;
    let course = outcome.course.iter().map(|interval| interval.unpack());
    let course: Vec<Interval> = course.collect::<Result<_, _>>()?;
    let tally = tally(plan, &course);
    let measured = course.iter().filter(|one| one.phase == Phase::Measure);
    let length_ns = measured.map(|one| one.until_ns).max().unwrap_or(0);
    let duration_s = length_ns as f64 / 1e9;
    let mut whole = plan.clone();
    whole.threads = of.agents.iter().map(|agent| agent.workers).sum();
    let mut record = Record::assemble(
        &tally,
        Facts {
            host: Host::read(),
            generator: generator(of, whole.threads),
            duration_s,
            offered_rate: offered_rate(plan, &tally, duration_s),
            steps: steps(plan, &tally),
            grpc_status: grpc_status(tally.grpc_statuses),
            valid: is_valid(of),
            warnings: of.findings.clone(),
            ended_by: ended_by(plan, stopped),
            ..Facts::of(whole.recorded())
        },
    );
    record.series = rows(plan, &course);
    let fleet = serde_json::to_value(of)
        .map_err(|why| format!("the agents' figures can't be written as JSON: {why}"))?;
    Ok(Conducted {
        record,
        fleet,
        text: text(of),
    })
}

/// What all agents counted, with the drain apart.
fn tally(plan: &Plan, course: &[Interval]) -> Tally {
    let mut tally = Tally::new(match plan.schedule.is_open() {
        true => Loop::Open,
        false => Loop::Closed,
    });
    tally.good_within_ns = plan.goodput_within_s.map(|seconds| (seconds * 1e9) as u64);
    let mut sums = [Counted::new(), Counted::new()];
    for interval in course {
        sums[usize::from(interval.phase == Phase::Drain)].merge(&interval.counted);
    }
    let [measured, drained] = sums;
    tally.start(Time(0));
    tally.take_back(&measured);
    tally.finish(Time(0));
    Counted::merge(&mut tally, &drained);
    tally
}

/// Whether the figures are those of the load that was asked for.
fn is_valid(of: &Of) -> bool {
    let early = of.agents.iter().any(|agent| agent.ended_early);
    of.complete && of.limited_by.is_empty() && !early
}

fn generator(of: &Of, threads: u32) -> Generator {
    let limited = of.limited_by.iter().map(ToString::to_string);
    let limited: Vec<String> = limited.collect();
    Generator {
        version: VERSION.to_owned(),
        engine: "fleet".to_owned(),
        engine_reason: format!("{} agents sent the load together", of.agents.len()),
        threads,
        limited: !limited.is_empty(),
        limited_reason: match limited.is_empty() {
            true => String::new(),
            false => format!("by their own verdict: {}", limited.join(", ")),
        },
        ..Generator::default()
    }
}

fn offered_rate(plan: &Plan, tally: &Tally, duration_s: f64) -> Option<f64> {
    let is_open = plan.schedule.is_open() && duration_s > 0.0;
    is_open.then(|| tally.intended as f64 / duration_s)
}

fn steps(plan: &Plan, tally: &Tally) -> Vec<StepFacts> {
    let names = plan.workload.as_ref().map(|workload| workload.names().0);
    let of_each = names.unwrap_or_default().into_iter().zip(&tally.steps);
    let facts = of_each.map(|(name, step)| StepFacts {
        name: plan.redaction.scrub(&name).into_owned(),
        void: Vec::new(),
        grpc_status: grpc_status(step.grpc_statuses),
    });
    facts.collect()
}

fn ended_by(plan: &Plan, stopped: Option<Signal>) -> EndedBy {
    match stopped {
        Some(Signal::Interrupt) => EndedBy::Interrupt,
        Some(Signal::Terminate) => EndedBy::Terminate,
        None if plan.schedule.length_s().is_some() => EndedBy::Stages,
        None if plan.is_dealt_once() => EndedBy::Rows,
        None if plan.duration_s.is_none() => EndedBy::Count,
        None => EndedBy::Duration,
    }
}

/// The run over time.
fn rows(plan: &Plan, course: &[Interval]) -> Vec<Row> {
    let measured = course.iter().filter(|one| one.phase == Phase::Measure);
    let row = |interval: &Interval| {
        let counted = &interval.counted;
        let times = &counted.response;
        let us = |ns: u64| (times.count() > 0).then_some(ns as f64 / 1000.0);
        Row {
            at_s: interval.from_ns as f64 / 1e9,
            seconds: interval.seconds(),
            completed: counted.completed,
            failed: counted.failed,
            answered: Some(counted.sums().answered),
            offered: interval.offered,
            good: plan.goodput_within_s.map(|_| counted.good),
            bytes_received: counted.bytes_received,
            response_p50_us: us(times.quantile(0.5)),
            response_p99_us: us(times.quantile(0.99)),
            response_max_us: us(times.max()),
        }
    };
    measured.map(row).collect()
}

/// What each agent did, for people.
fn text(of: &Of) -> String {
    let whole = match of.complete {
        true => "complete: the figures are the sum of all that they counted".to_owned(),
        false => format!(
            "NOT complete: {:.1} % of the load is missing, or can't be proven",
            100.0 * of.missing_share
        ),
    };
    let mut text = format!("\nFleet: {} agents, {whole}\n", of.agents.len());
    let width = of.agents.iter().map(|agent| agent.agent.to_string().len());
    let width = width.max().unwrap_or(0).max("Agent".len());
    // Nothing fails that writes into a text.
    let _ = writeln!(
        text,
        "  {:width$}  {:>8}  {:>10}  {:>8}  {:>10}  {:>10}  {:>14}",
        "Agent", "Threads", "Completed", "Failed", "p99", "Of tail", "Clock"
    );
    for agent in &of.agents {
        let _ = writeln!(text, "{}", line(agent, width));
    }
    text
}

fn line(agent: &AgentRecord, width: usize) -> String {
    let tail = agent
        .tail_share
        .map(|share| format!("{:.1} %", 100.0 * share));
    let clock = agent.clock.map(|clock| {
        let error_us = clock.error_ns as f64 / 1000.0;
        format!("± {error_us:.0} µs")
    });
    let p99_ms = agent.figures.response_p99_ns as f64 / 1e6;
    format!(
        "  {:width$}  {:>8}  {:>10}  {:>8}  {:>10}  {:>10}  {:>14}{}",
        agent.agent.to_string(),
        agent.workers,
        agent.figures.totals.completed,
        agent.figures.totals.failed,
        format!("{p99_ms:.2}ms"),
        tail.unwrap_or_default(),
        clock.unwrap_or_default(),
        match agent.lost {
            true => "  lost",
            false => "",
        }
    )
}
