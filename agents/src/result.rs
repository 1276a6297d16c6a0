//! What a fleet's run came to, as the record and the text of a run.

use cli::Conducted;
use engine::signal::Signal;
use fleet::counted::{self, Interval as Packed};
use fleet::record::{AgentRecord, ENGINE, Outcome, Record as Of};
use load::{Plan, Progress, Record, grpc_status};
use measure::host::Host;
use measure::interval::{Interval, Phase};
use measure::record::{Control, EndedBy, Facts, Generator, StepFacts, StreamFacts};
use measure::series::Row;
use measure::tally::{Counted, Loop, Tally};
use measure::time::Time;
use serde_json::Value;

use crate::VERSION;
use crate::sight::Onlooker;

/// Whoever waits for a control.
pub(crate) struct OfControl<'a> {
    plan: &'a Plan,
    /// What came of it.
    pub(crate) control: Option<Control>,
}

impl<'a> OfControl<'a> {
    pub(crate) fn new(plan: &'a Plan) -> OfControl<'a> {
        OfControl {
            plan,
            control: None,
        }
    }
}

impl Onlooker for OfControl<'_> {
    fn note(&mut self, _: &str) {}

    fn progress(&mut self, _: &Progress) {}

    fn interval(&mut self, _: &Packed) -> Result<(), String> {
        Ok(())
    }

    fn keep(&mut self, outcome: &Outcome, stopped: Option<Signal>) -> Result<(), String> {
        let record = conducted(self.plan, outcome, stopped)?.record;
        self.control = Some(record.as_control());
        Ok(())
    }
}

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
    let Seen {
        tally,
        rows,
        length_ns,
    } = seen(plan, &outcome.course)?;
    let duration_s = length_ns as f64 / 1e9;
    let mut whole = plan.clone();
    whole.threads = of.agents.iter().map(|agent| agent.workers).sum();
    let mut record = Record::assemble(
        &tally,
        Facts {
            host: Host::read(),
            generator: generator(of, whole.threads),
            duration_s,
            offered_rate: offered_rate(plan, of, &tally, duration_s),
            steps: steps(plan, &tally),
            streams: plan.events.then(StreamFacts::default),
            grpc_status: grpc_status(tally.grpc_statuses),
            valid: is_valid(of),
            warnings: of.findings.clone(),
            ended_by: ended_by(plan, stopped),
            ..Facts::of(whole.recorded())
        },
    );
    record.series = rows;
    let mut fleet = of_agents(of)?;
    if let Some(share) = sent_share(plan, of, &tally) {
        fleet["sent_share"] = share.into();
    }
    Ok(Conducted { record, fleet })
}

/// What there is to know of each agent, for the record.
pub(crate) fn of_agents(of: &Of) -> Result<Value, String> {
    serde_json::to_value(of)
        .map_err(|why| format!("the agents' figures can't be written as JSON: {why}"))
}

/// What all agents counted, with the drain apart, and the run over time.
struct Seen {
    tally: Tally,
    rows: Vec<Row>,
    length_ns: u64,
}

/// Adds the seconds up, of which each is whole for a moment only: whole ones are large.
fn seen(plan: &Plan, course: &[Packed]) -> Result<Seen, String> {
    let mut tally = Tally::new(match plan.schedule.is_open() {
        true => Loop::Open,
        false => Loop::Closed,
    });
    tally.good_within_ns = plan.goodput_within_s.map(|seconds| (seconds * 1e9) as u64);
    let mut sums = [Counted::new(), Counted::new()];
    let (mut rows, mut length_ns) = (Vec::new(), 0);
    for packed in course {
        let interval = counted::run(packed)?;
        let is_drain = interval.phase == Phase::Drain;
        sums[usize::from(is_drain)].merge(&interval.counted);
        if !is_drain {
            length_ns = length_ns.max(interval.until_ns);
            rows.push(row(plan, &interval));
        }
    }
    let [measured, drained] = sums;
    tally.start(Time(0));
    tally.take_back(&measured);
    tally.finish(Time(0));
    Counted::merge(&mut tally, &drained);
    Ok(Seen {
        tally,
        rows,
        length_ns,
    })
}

/// Whether the figures are those of the load that was asked for.
pub(crate) fn is_valid(of: &Of) -> bool {
    let spoilt = |agent: &AgentRecord| agent.ended_early || agent.clock_jumped;
    let early = of.agents.iter().any(spoilt);
    of.complete && of.limited_by.is_empty() && !early
}

pub(crate) fn generator(of: &Of, threads: u32) -> Generator {
    let limited = of.limited_by.iter().map(ToString::to_string);
    let limited: Vec<String> = limited.collect();
    Generator {
        version: VERSION.to_owned(),
        engine: ENGINE.to_owned(),
        engine_reason: match of.agents.len() {
            1 => "an agent sent the load".to_owned(),
            agents => format!("{agents} agents sent the load together"),
        },
        threads,
        limited: !limited.is_empty(),
        limited_reason: match limited.is_empty() {
            true if of.agents.iter().any(|agent| agent.verdict.is_none()) => String::new(),
            true => "each agent says so of itself".to_owned(),
            false => format!("by their own verdict: {}", limited.join(", ")),
        },
        ..Generator::default()
    }
}

/// What was due, per second; where agents were lost or ended early, with what they would have sent.
fn offered_rate(plan: &Plan, of: &Of, tally: &Tally, duration_s: f64) -> Option<f64> {
    if !plan.schedule.is_open() || duration_s <= 0.0 {
        return None;
    }
    let offered = tally.intended as f64 / duration_s;
    let asked = mean_rate(plan, duration_s).filter(|_| is_short(of));
    Some(asked.map_or(offered, |asked| offered.max(asked)))
}

/// Whether something that an agent was to send wasn't sent, or isn't in the figures.
fn is_short(of: &Of) -> bool {
    !of.complete || of.agents.iter().any(|agent| agent.ended_early)
}

/// The mean of the rate that was asked for in so many measured seconds. Rates of users are those of
/// flows, and what is counted are their requests.
fn mean_rate(plan: &Plan, measured_s: f64) -> Option<f64> {
    let schedule = &plan.schedule;
    let length_s = schedule.length_s().unwrap_or(f64::INFINITY);
    let all = |seconds: f64| Some(schedule.mean_rate(seconds)? * seconds.min(length_s));
    let measured = all(plan.warm_up_s + measured_s)? - all(plan.warm_up_s).unwrap_or(0.0);
    let counts_requests = !plan.has_users() && measured_s > 0.0;
    counts_requests.then(|| measured / measured_s)
}

/// The share (0 to 1) of what was planned that is in the figures, where less than all of it is.
fn sent_share(plan: &Plan, of: &Of, tally: &Tally) -> Option<f64> {
    let profile_s = plan.schedule.length_s().map(|all_s| all_s - plan.warm_up_s);
    let length_s = plan.duration_s.or(profile_s).filter(|_| is_short(of))?;
    let planned = mean_rate(plan, length_s)? * length_s;
    (planned > 0.0).then(|| (tally.intended as f64 / planned).min(1.0))
}

fn steps(plan: &Plan, tally: &Tally) -> Vec<StepFacts> {
    let names = plan.workload.as_ref().map(|workload| workload.names().0);
    let of_each = names.unwrap_or_default().into_iter().zip(&tally.steps);
    let facts = of_each.map(|(name, step)| StepFacts {
        name: plan.redaction.scrub(&name).into_owned(),
        void: Vec::new(),
        grpc_status: grpc_status(step.grpc_statuses),
        streams: StreamFacts::default(),
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

/// A second of the run.
fn row(plan: &Plan, interval: &Interval) -> Row {
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
        events: plan.events.then_some(counted.streams.events),
        bytes_received: counted.bytes_received,
        response_p50_us: us(times.quantile(0.5)),
        response_p99_us: us(times.quantile(0.99)),
        response_max_us: us(times.max()),
    }
}

#[cfg(test)]
mod tests {
    use fleet::Name;
    use fleet::record::Figures;

    use super::*;

    /// An interval in which so many exchanges took a millisecond each.
    fn interval(phase: Phase, (from_s, until_s): (u64, u64), completed: u64) -> Packed {
        let mut tally = Tally::new(Loop::Open);
        tally.start(Time(0));
        for _ in 0..completed {
            tally.completed(Time(0), Time(0), Time(1_000_000), 200);
        }
        tally.intended = completed;
        counted::of_run(&Interval {
            seq: 0,
            joined: 1,
            phase,
            from_ns: from_s * 1_000_000_000,
            until_ns: until_s * 1_000_000_000,
            offered: Some(completed),
            connected: 1,
            counted: tally.counted().clone(),
        })
    }

    fn outcome(spoil: impl FnOnce(&mut Of)) -> Outcome {
        let course = vec![
            interval(Phase::Measure, (0, 1), 10),
            interval(Phase::Measure, (1, 2), 20),
            interval(Phase::Drain, (2, 2), 3),
        ];
        let mut counted = counted::Counted::default();
        for one in &course {
            counted.merge(&one.counted).unwrap();
        }
        let mut record = Of {
            run: Name::new("a-run").unwrap(),
            epoch: "1-2".to_owned(),
            has_returned: false,
            halted: false,
            complete: true,
            agents_wanted: 0,
            agents_unknown: 0,
            agents: Vec::new(),
            figures: Figures::of(&counted),
            missing_share: 0.0,
            limited_by: Vec::new(),
            findings: vec!["something happened".to_owned()],
        };
        spoil(&mut record);
        Outcome {
            record,
            counted,
            course,
        }
    }

    fn plan() -> Plan {
        let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
        plan.schedule = load::schedule::Schedule::Poisson { rate: 15.0 };
        plan.duration_s = Some(2.0);
        plan
    }

    #[test]
    fn a_record_has_the_seconds_of_all_agents_and_the_drain_behind_them() {
        let record = conducted(&plan(), &outcome(|_| {}), None).unwrap().record;
        assert_eq!(record.exchanges.completed, 33);
        assert_eq!(record.drain.map(|drain| drain.completed), Some(3));
        let rows = record.series.iter();
        let rows: Vec<_> = rows
            .map(|row| (row.at_s, row.completed, row.offered))
            .collect();
        assert_eq!(rows, [(0.0, 10, Some(10)), (1.0, 20, Some(20))]);
        assert_eq!((record.duration_s, record.offered_rate), (2.0, Some(16.5)));
        assert_eq!(
            record.series[0].response_p50_us,
            record.response_time_us.p50
        );
        assert!(record.valid);
        assert_eq!(record.ended_by, EndedBy::Duration);
        assert_eq!(record.warnings, ["something happened"]);
    }

    #[test]
    fn a_record_is_valid_only_if_it_is_whole_and_nobody_was_the_limit() {
        let spoils: [fn(&mut Of); 2] = [
            |of| of.complete = false,
            |of| of.limited_by = vec![Name::new("slow").unwrap()],
        ];
        for spoil in spoils {
            let conducted = conducted(&plan(), &outcome(spoil), None).unwrap();
            assert!(!conducted.record.valid, "{}", conducted.fleet);
        }
        let interrupted = conducted(&plan(), &outcome(|_| {}), Some(Signal::Interrupt)).unwrap();
        assert_eq!(interrupted.record.ended_by, EndedBy::Interrupt);
        let missing = outcome(|of| (of.complete, of.missing_share) = (false, 0.25));
        let fleet = conducted(&plan(), &missing, None).unwrap().fleet;
        assert_eq!(fleet["missing_share"], 0.25);
        assert_eq!(fleet["complete"], false);
    }

    #[test]
    fn what_a_lost_agent_would_have_sent_was_offered_and_is_missing_from_what_was_sent() {
        // Two of four seconds were sent: 30 requests of 60.
        let mut plan = plan();
        plan.duration_s = Some(4.0);
        let lost = outcome(|of| (of.complete, of.missing_share) = (false, 0.5));
        let short = conducted(&plan, &lost, None).unwrap();
        // More was due in its two seconds than at the mean rate.
        assert_eq!(short.record.offered_rate, Some(16.5));
        let share = short.fleet["sent_share"].as_f64().unwrap();
        assert!((share - 0.55).abs() < 1e-9, "{share}");
        plan.schedule = load::schedule::Schedule::Constant { rate: 30.0 };
        let short = conducted(&plan, &lost, None).unwrap();
        assert_eq!(short.record.offered_rate, Some(30.0));
        let whole = conducted(&plan, &outcome(|_| {}), None).unwrap();
        assert_eq!(whole.record.offered_rate, Some(16.5));
        assert!(whole.fleet.get("sent_share").is_none(), "{}", whole.fleet);
    }
}
