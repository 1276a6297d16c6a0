//! One run or hold for pipelines: a summary in Markdown, JUnit's XML, and figures for services that
//! draw them. Made of the record alone, and of what the verb says of its end.

use std::collections::BTreeMap;

use load::{Record, hold};
use measure::histogram::samples_for;
use measure::record::{Judged, Met, Moved, Step, Streams, Times};
use measure::units::{wrk_bytes, wrk_time_us};
use statistics::format::per_second;

use super::agents::Agents;
use super::benchmark::Measure;
use super::html::verdict_of_hold;
use super::junit::{Case, State, Suite, junit};
use super::markdown::marked_off;

/// A run or a hold.
#[derive(Clone, Debug)]
pub struct Single<'r> {
    verb: &'static str,
    /// What was loaded or held: its URL, or the file of its requests.
    of: String,
    /// How, in a few words.
    how: String,
    seconds: f64,
    /// Why its figures don't say what they should; the thresholds apart.
    trouble: Option<String>,
    /// What was found, in a sentence.
    found: String,
    thresholds: &'r [Judged],
    warnings: &'r [String],
    /// What went wrong, by kind, such as `refused: 3`.
    errors: Vec<String>,
    /// What was measured: its name, the value, and what a reader has to know of it.
    lines: Vec<[String; 3]>,
    measures: Vec<Measure>,
    /// Those that sent it, of a fleet.
    agents: Option<Agents>,
}

/// A percentile of response times.
struct Percentile {
    name: &'static str,
    /// Its name in records.
    field: &'static str,
    share: f64,
    of: fn(&Times) -> Option<f64>,
}

const PERCENTILES: [Percentile; 4] = [
    percentile("p50", "p50", 0.5, |times| times.p50),
    percentile("p90", "p90", 0.9, |times| times.p90),
    percentile("p99", "p99", 0.99, |times| times.p99),
    percentile("p99.9", "p99_9", 0.999, |times| times.p99_9),
];

const fn percentile(
    name: &'static str,
    field: &'static str,
    share: f64,
    of: fn(&Times) -> Option<f64>,
) -> Percentile {
    Percentile {
        name,
        field,
        share,
        of,
    }
}

impl Percentile {
    /// Its value where there are samples enough. Older records don't say how many there are.
    fn value(&self, times: &Times) -> Option<f64> {
        let enough = |count: u64| count >= samples_for(self.share);
        (self.of)(times).filter(|_| times.count.is_none_or(enough))
    }
}

impl<'r> Single<'r> {
    /// A run, with why it ended otherwise than well, if so: the thresholds are in the record.
    pub fn of_run(record: &'r Record, trouble: Option<String>) -> Single<'r> {
        let plan = &record.plan;
        let file = plan.workload.as_ref().and_then(|it| it.shown_file());
        let load = match record.offered_rate {
            Some(rate) => format!("{} offered", per_second(rate)),
            None => "closed loop".to_owned(),
        };
        let rate = per_second(record.achieved_rate);
        let p99 = record
            .unspoiled("p99", |times| PERCENTILES[2].value(times))
            .map(|us| format!(", the p99 of their response time is {}", wrk_time_us(us)));
        let of = file.unwrap_or_else(|| plan.url());
        Single {
            verb: "ringside run",
            how: format!("{load}, {} connections", plan.connections),
            seconds: record.duration_s,
            trouble,
            found: format!("{rate} answered{}.", p99.unwrap_or_default()),
            thresholds: &record.thresholds,
            warnings: &record.warnings,
            errors: counts("", &record.errors),
            lines: lines_of_run(record),
            measures: measures_of_run(&of, record),
            agents: None,
            of,
        }
    }

    /// A hold, likewise.
    pub fn of_hold(record: &'r hold::Record, trouble: Option<String>) -> Single<'r> {
        let plan = &record.plan;
        let of = plan.url();
        Single {
            verb: "ringside hold",
            how: format!(
                "{} connections, {} every {} on each",
                plan.connections,
                plan.protocol.heartbeat(),
                wrk_time_us(plan.heartbeat_s * 1e6)
            ),
            seconds: record.duration_s,
            trouble,
            found: format!("{}.", verdict_of_hold(record)),
            thresholds: &record.thresholds,
            warnings: &record.warnings,
            errors: [
                counts("lost, ", &record.losses),
                counts("failed attempt, ", &record.failed_attempts),
                counts("failed heartbeat, ", &record.heartbeat_errors),
            ]
            .concat(),
            lines: lines_of_hold(record),
            measures: measures_of_hold(&of, record),
            agents: None,
            of,
        }
    }

    /// With the agents that sent it, if a fleet did.
    pub fn by(self, agents: Option<Agents>) -> Single<'r> {
        Single { agents, ..self }
    }

    /// The figures that can be trusted.
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// As JUnit's XML: a case for each threshold.
    pub fn junit(&self) -> String {
        let measured = match &self.trouble {
            Some(why) => {
                let all = [&self.errors[..], self.warnings].concat();
                let lines = all.iter().map(|what| format!("\n{what}"));
                Err(format!("{}{}", sentence(why), lines.collect::<String>()))
            }
            None => Ok(self.found.clone()),
        };
        let mut suite = Suite::new(&self.of, None, measured, self.seconds);
        let case = |one: &Judged| {
            let state = match one.outcome {
                Met::Holds => State::Passed,
                Met::Crossed => State::Failed,
                Met::NotJudged => State::Error,
            };
            Case::new(&self.of, &one.rule, state, said(one))
        };
        suite.cases.extend(self.thresholds.iter().map(case));
        junit(self.verb, &[suite])
    }

    /// As a summary in Markdown: the verdict, one table, and what warns of it.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "**{}**\n\n{} for {}: {}. {}\n\n| | measured | |\n|---|--:|---|\n",
            marked_off(&self.verdict()),
            self.verb,
            wrk_time_us(self.seconds * 1e6),
            marked_off(&self.how),
            marked_off(&self.of),
        );
        let thresholds = self.thresholds.iter().map(|one| {
            let measured = one.measured.as_deref().unwrap_or("–").to_owned();
            [one.rule.clone(), measured, word(one)]
        });
        let errors = self.errors.iter().map(|what| line("", "", what));
        for line in thresholds.chain(self.lines.iter().cloned()).chain(errors) {
            let [name, value, remark] = line.map(|cell| marked_off(&cell));
            text.push_str(&format!("| {name} | {value} | {remark} |\n"));
        }
        let agents = self.agents.as_ref();
        text.extend(agents.map(|agents| agents.markdown(self.seconds)));
        if !self.warnings.is_empty() {
            text.push('\n');
        }
        for warning in self.warnings {
            text.push_str(&format!("- Warning: {}\n", marked_off(warning)));
        }
        text
    }

    /// What became of the thresholds, and what keeps anybody from relying on that.
    fn verdict(&self) -> String {
        let all = self.thresholds.len();
        let of = |outcome: Met| {
            self.thresholds
                .iter()
                .filter(move |it| it.outcome == outcome)
        };
        let (crossed, open) = (of(Met::Crossed).count(), of(Met::NotJudged).count());
        let mut sentences = Vec::new();
        if crossed > 0 {
            let rules: Vec<&str> = of(Met::Crossed).map(|one| one.rule.as_str()).collect();
            let rules = rules.join(", ");
            sentences.push(format!("{crossed} of {all} thresholds crossed: {rules}."));
        }
        sentences.extend(self.trouble.as_deref().map(sentence));
        if open > 0 {
            sentences.push(format!("{open} of {all} thresholds couldn't be judged."));
        }
        match (sentences.is_empty(), all) {
            (true, 0) => self.found.clone(),
            (true, 1) => format!("The threshold holds. {}", self.found),
            (true, _) => format!("All {all} thresholds hold. {}", self.found),
            (false, _) => sentences.join(" "),
        }
    }
}

/// How often something happened, by kind; what didn't is left out.
fn counts(of: &str, kinds: &BTreeMap<String, u64>) -> Vec<String> {
    let kinds = kinds.iter().filter(|(_, count)| **count > 0);
    kinds
        .map(|(kind, count)| format!("{of}{kind}: {count}"))
        .collect()
}

/// Words with a capital letter and a full stop.
fn sentence(words: &str) -> String {
    let words = words.trim_end_matches('.');
    let mut letters = words.chars();
    match letters.next() {
        Some(first) => format!("{}{}.", first.to_uppercase(), letters.as_str()),
        None => String::new(),
    }
}

/// What was measured of a threshold, and why that isn't judged, if so.
fn said(one: &Judged) -> String {
    let measured = one.measured.as_deref().map_or_else(
        || "nothing was measured".to_owned(),
        |measured| format!("measured {measured}"),
    );
    match (one.outcome, &one.reason) {
        (Met::NotJudged, Some(reason)) => format!("not judged: {reason} ({measured})"),
        (Met::NotJudged, None) => format!("not judged ({measured})"),
        _ => measured,
    }
}

/// Whether a threshold holds, for a table that has what was measured beside it.
fn word(one: &Judged) -> String {
    match (one.outcome, &one.reason) {
        (Met::Holds, _) => "holds".to_owned(),
        (Met::Crossed, _) => "crossed".to_owned(),
        (Met::NotJudged, Some(reason)) => format!("not judged: {reason}"),
        (Met::NotJudged, None) => "not judged".to_owned(),
    }
}

fn line(name: &str, value: impl Into<String>, remark: impl Into<String>) -> [String; 3] {
    [name.to_owned(), value.into(), remark.into()]
}

fn lines_of_run(record: &Record) -> Vec<[String; 3]> {
    let lost = record.lost();
    let bound = if record.generator.limited {
        "a lower bound: the generator was the limit"
    } else {
        ""
    };
    let rate = per_second(record.achieved_rate);
    let mut lines = vec![line("requests/s", rate, bound)];
    for one in &PERCENTILES {
        let Some(us) = one.value(&record.response_time_us) else {
            continue;
        };
        let remark = match is_void(&record.void, one) {
            true => "the generator's lateness may have moved it",
            false => "",
        };
        lines.push(line(
            &format!("{} response time", one.name),
            wrk_time_us(us),
            remark,
        ));
    }
    lines.extend(
        record
            .streams
            .iter()
            .flat_map(|of| lines_of_streams("", of)),
    );
    let share = lost.share().unwrap_or_default();
    let told = lost.told().join(", ");
    let percent = format!("{:.3} %", 100.0 * share);
    lines.push(line("errors", percent, told));
    // The figures of the only one are those of the run.
    let steps = record.steps.iter().filter(|_| record.steps.len() > 1);
    lines.extend(steps.flat_map(lines_of_step));
    lines
}

/// A request of a mix, or a part of a flow: how long it took, and how often it failed.
fn lines_of_step(step: &Step) -> Vec<[String; 3]> {
    let name = &step.name;
    let ended = step.completed + step.failed;
    let failed = match step.failed {
        0 => String::new(),
        failed => format!("{failed} of {ended} failed"),
    };
    let p99 = &PERCENTILES[2];
    let time = p99.value(&step.response_time_us);
    let time = time.filter(|_| !is_void(&step.void, p99));
    let mut lines = vec![match time {
        Some(us) => line(
            &format!("{name}: p99 response time"),
            wrk_time_us(us),
            failed,
        ),
        None => line(
            &format!("{name}: answered"),
            step.completed.to_string(),
            failed,
        ),
    }];
    if let Some(streams) = step.streams.as_ref().filter(|of| of.streams > 0) {
        lines.extend(lines_of_streams(&format!("{name}: "), streams));
    }
    lines
}

/// What the distributions of streams are called, in their order.
const OF_STREAMS: [&str; 4] = [
    "time to the first byte",
    "time to the first event",
    "gap between events",
    "time per event",
];

/// What was seen inside answers, `of` the run or a step.
fn lines_of_streams(of: &str, streams: &Streams) -> Vec<[String; 3]> {
    let remark = format!("{} events; {} streams", streams.events, streams.streams);
    let rate = per_second(streams.events_per_second);
    let mut lines = vec![line(&format!("{of}events/s"), rate, remark)];
    for (name, times) in OF_STREAMS.into_iter().zip(streams.distributions()) {
        for one in [&PERCENTILES[0], &PERCENTILES[2]] {
            let Some(us) = one.value(times.times) else {
                continue;
            };
            let remark = match times.is_void(one.field) {
                true => "the generator's lateness may have moved it",
                false => "",
            };
            let name = format!("{of}{} {name}", one.name);
            lines.push(line(&name, wrk_time_us(us), remark));
        }
    }
    lines
}

fn is_void(void: &[Moved], percentile: &Percentile) -> bool {
    void.iter().any(|one| one.figure == percentile.field)
}

fn measures_of_run(of: &str, record: &Record) -> Vec<Measure> {
    if !record.valid || record.exchanges.completed == 0 {
        return Vec::new();
    }
    let bound = "a lower bound: the generator was the limit";
    let mut measures = vec![Measure {
        extra: record.generator.limited.then(|| bound.to_owned()),
        ..Measure::bigger(of, "requests/s", "requests/s", record.achieved_rate)
    }];
    let mut add = |step: &str, times: &Times, void: &[Moved]| {
        let trusted = PERCENTILES.iter().filter(|one| !is_void(void, one));
        measures.extend(trusted.filter_map(|one| {
            let name = format!("{step}{} response time", one.name);
            Some(Measure::smaller(of, &name, "µs", one.value(times)?))
        }));
    };
    add("", &record.response_time_us, &record.void);
    // The figures of the only one are those of the run.
    for step in record.steps.iter().filter(|_| record.steps.len() > 1) {
        add(
            &format!("{}: ", step.name),
            &step.response_time_us,
            &step.void,
        );
    }
    if let Some(streams) = record.streams.as_ref().filter(|of| of.events > 0) {
        let rate = streams.events_per_second;
        measures.push(Measure::bigger(of, "events/s", "events/s", rate));
        for (name, times) in OF_STREAMS.into_iter().zip(streams.distributions()) {
            measures.extend(
                [&PERCENTILES[0], &PERCENTILES[2]]
                    .into_iter()
                    .filter_map(|one| {
                        let us = one.value(times.times)?;
                        let name = format!("{} {name}", one.name);
                        let is_trusted = !times.is_void(one.field);
                        is_trusted.then(|| Measure::smaller(of, &name, "µs", us))
                    }),
            );
        }
    }
    measures
}

fn lines_of_hold(record: &hold::Record) -> Vec<[String; 3]> {
    let connections = &record.connections;
    let survived = connections.survival.map_or("–".to_owned(), |share| {
        format!("{:.3} %", (share * 1e5).floor() / 1e3)
    });
    let mut lines = vec![
        line(
            "survival",
            survived,
            format!("{} of {}", connections.survived, connections.asked),
        ),
        line(
            "standing at the end",
            connections.standing.to_string(),
            format!(
                "{} lost, {} given up, {} reconnects",
                connections.lost, connections.given_up, connections.reconnects
            ),
        ),
    ];
    let heartbeats = PERCENTILES.iter().take(3);
    lines.extend(heartbeats.filter_map(|one| {
        let us = one.value(&record.heartbeat_time_us)?;
        let name = format!("{} of heartbeats", one.name);
        Some(line(&name, wrk_time_us(us), ""))
    }));
    let memory = record.memory.told_bytes();
    lines.extend(memory.map(|bytes| {
        let remark = "of ringside itself";
        line("memory per connection", wrk_bytes(bytes), remark)
    }));
    lines
}

fn measures_of_hold(of: &str, record: &hold::Record) -> Vec<Measure> {
    let Some(survival) = record.connections.survival.filter(|_| record.valid) else {
        return Vec::new();
    };
    let (survived, asked) = (record.connections.survived, record.connections.asked);
    let mut measures = vec![Measure {
        extra: Some(format!("{survived} of {asked}")),
        ..Measure::bigger(of, "survival", "%", 100.0 * survival)
    }];
    let times = [
        ("heartbeat", &record.heartbeat_time_us),
        ("set-up", &record.set_up_time_us),
    ];
    for (name, times) in times {
        measures.extend(PERCENTILES.iter().filter_map(|one| {
            let name = format!("{} {name} time", one.name);
            Some(Measure::smaller(of, &name, "µs", one.value(times)?))
        }));
    }
    measures
}

#[cfg(test)]
mod tests;
