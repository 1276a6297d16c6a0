//! The record of a run, from what the coordinator knows of its agents.

use super::before::list;
use super::part::Part;
use super::{SILENCE_NOTED_NS, Settings};
use crate::counted::Counted;
use crate::course::Course;
use crate::division::{Place, nobodys};
use crate::record::{AgentRecord, Figures, Generator, Outcome, OwnVerdict, Record};
use crate::words::AgentName;

/// What became of the run.
pub(super) fn outcome(
    settings: &Settings,
    parts: &[Part],
    course: &Course,
    findings: &[String],
) -> Outcome {
    let mut counted = Counted::default();
    let mut findings = findings.to_vec();
    let mut adds_up = true;
    for part in parts {
        if let Err(why) = counted.merge(&part.counted) {
            findings.push(format!("the agents' figures can't be added up: {why}"));
            adds_up = false;
        }
    }
    findings.extend(grouped(parts));
    let unknown = settings.agents.saturating_sub(parts.len() as u32);
    if unknown > 0 {
        findings.push(format!(
            "{unknown} of {} agents never answered the coordinator after it had come back: what \
             they counted is missing",
            settings.agents
        ));
    }
    let figures = Figures::of(&counted);
    let tail = parts
        .iter()
        .map(|part| part.counted.times().above(figures.response_p99_ns));
    let in_tail: u64 = tail.sum();
    let mut agents: Vec<AgentRecord> = parts
        .iter()
        .map(|part| part.record(figures.response_p99_ns, in_tail))
        .collect();
    agents.sort_by(|one, other| one.agent.cmp(&other.agent));
    let whole: f64 = parts
        .iter()
        .filter(|part| part.is_proven())
        .filter_map(|part| part.place)
        .map(|place| place.fraction())
        .sum();
    let complete = adds_up && unknown == 0 && is_whole(parts);
    let limited = agents.iter().filter(|agent| {
        let verdict = agent.verdict.as_ref();
        verdict.is_some_and(|verdict| verdict.limited)
    });
    let limited_by = limited.map(|agent| agent.agent.clone()).collect();
    let record = Record {
        run: settings.run.clone(),
        epoch: settings.epoch.to_string(),
        has_returned: settings.returns,
        halted: parts.iter().any(|part| part.is_halted),
        complete,
        agents_wanted: settings.agents,
        agents_unknown: unknown,
        agents,
        figures,
        missing_share: if complete {
            0.0
        } else {
            (1.0 - whole).max(0.0)
        },
        limited_by,
        findings,
    };
    Outcome {
        record,
        counted,
        course: course.intervals(),
    }
}

/// Whether every worker of the load is some agent's, of whom everything is here.
fn is_whole(parts: &[Part]) -> bool {
    let all = parts
        .iter()
        .find_map(|part| part.place)
        .map(|place| place.all());
    let places = parts.iter().flat_map(Part::places);
    let has_all = all.is_some_and(|all| nobodys(all, places).is_empty());
    has_all && parts.iter().all(Part::is_proven)
}

/// What is to be said of an agent: what stands before and behind who it is.
type Finding = (&'static str, String);

/// What a reader must know of all agents, as sentences: each of them once, whichever agents it's
/// about.
fn grouped(parts: &[Part]) -> Vec<String> {
    let mut groups: Vec<(Finding, Vec<&AgentName>)> = Vec::new();
    for part in parts {
        for finding in part.findings() {
            match groups.iter_mut().find(|(known, _)| *known == finding) {
                Some((_, names)) => names.push(&part.member.agent),
                None => groups.push((finding, vec![&part.member.agent])),
            }
        }
    }
    let sentences = groups.into_iter().map(|((before, behind), names)| {
        let [name] = &names[..] else {
            let (some, all, names) = (names.len(), parts.len(), list(names.into_iter()));
            let each = if behind.starts_with(':') { "" } else { " each" };
            return format!("{before}{some} of {all} agents{names}{each}{behind}");
        };
        format!("{before}agent {name}{behind}")
    });
    sentences.collect()
}

impl Part {
    /// What a reader must know of an agent.
    fn findings(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !self.is_proven() {
            let share = self.place.map_or(0.0, |place| 100.0 * place.fraction());
            let why = match (&self.broken, &self.last) {
                (Some(why), _) => why.clone(),
                (None, Some(_)) => "some of its intervals never came".to_owned(),
                (None, None) => "it never said that its load was over".to_owned(),
            };
            let numbers = match self.chain.length() {
                0 => "none of its intervals are".to_owned(),
                1 => "only its interval 0 is".to_owned(),
                count => format!("only its intervals 0 to {} are", count - 1),
            };
            let what = format!(", with {share:.1} % of the load: {why}; {numbers} in the figures");
            findings.push(("", what));
        }
        if let Some(last) = &self.last {
            if !last.ended.is_planned() {
                findings.push(("", format!(" ended its load early: {}", last.ended)));
            }
            if last.verdict.limited {
                findings.push(("", format!(" was the limit: {}", last.verdict.reason)));
            }
            let troubles = last.troubles.iter();
            findings.extend(troubles.map(|what| ("", format!(": {what}"))));
            if last.silence_ns >= SILENCE_NOTED_NS {
                let silent_s = last.silence_ns as f64 / 1e9;
                let what = format!(" didn't hear the coordinator for {silent_s:.1} s, and went on");
                findings.push(("", what));
            }
        }
        if let Some(jump_ns) = self.clock.jump_ns() {
            let what = format!(
                " jumped by {:.1} ms during the run: its times, and its beginning with the \
                 others, can't be trusted",
                jump_ns as f64 / 1e6
            );
            findings.push(("the clock of ", what));
        }
        if self.silence_ns >= SILENCE_NOTED_NS {
            let silent_s = self.silence_ns as f64 / 1e9;
            findings.push(("", format!(" wasn't heard for {silent_s:.1} s")));
        }
        findings
    }

    fn record(&self, p99_ns: u64, in_tail: u64) -> AgentRecord {
        let above = self.counted.times().above(p99_ns);
        let last = self.last.as_ref();
        let clock = &self.clock;
        AgentRecord {
            agent: self.member.agent.clone(),
            epoch: self.member.epoch.to_string(),
            host: last.and_then(|last| last.verdict.sender.read_host()),
            generator: last.and_then(|last| Generator::of(&last.verdict)),
            workers: self.place.map_or(self.workers, |place| place.workers()),
            share: self.place.map(|place| place.fraction()),
            share_moved: (!self.taken.is_empty()).then(|| self.places().map(Place::fraction).sum()),
            complete: self.is_proven(),
            intervals: self.chain.length(),
            last_number: self.known().checked_sub(1),
            chain: self.chain.digest().to_string(),
            ended: last.map(|last| last.ended.to_string()),
            ended_early: last.is_none_or(|last| !last.ended.is_planned()),
            lost: self.lost.is_some(),
            figures: Figures::of(&self.counted),
            tail_share: (in_tail > 0).then(|| above as f64 / in_tail as f64),
            verdict: last.map(|last| OwnVerdict::of(&last.verdict)),
            clock: clock.first,
            clock_at_end: clock.last,
            clock_drift_ppm: clock
                .first
                .zip(clock.last)
                .and_then(|(first, last)| first.drift_ppm(&last)),
            clock_jumped: clock.jump_ns().is_some(),
            begins_ns: self.begun.map(|begins| begins.0),
            begun_late_ns: last.and_then(|last| last.late_ns),
            duplicates: self.duplicates,
            asked_again: self.asked_again,
            misfits: self.misfits,
            silence_ns: self.silence_ns,
            coordinator_silence_ns: last.map_or(0, |last| last.silence_ns),
            troubles: last.map_or(Vec::new(), |last| {
                last.troubles.iter().map(ToString::to_string).collect()
            }),
        }
    }
}
