//! The agents of a fleet, as a record has them: what each sent, from what machine, and how it
//! ended.

use std::collections::BTreeMap;
use std::fmt::Write as _;

pub use fleet::record::ENGINE;
use fleet::record::{AgentRecord, Record};
use measure::foreign::Foreign;
use measure::histogram::samples_for;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use statistics::format::{per_second, percent, time_us, whole};

use super::json::schema_of;
use super::markdown::marked_off;

/// The agents of a run or a hold (`--agents`): whether the counts are whole, and what each agent
/// had of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    /// What agents and coordinator know.
    #[serde(flatten)]
    pub of: Record,
    /// What each agent reached against a server of its own, in requests per second, where the load
    /// was divided by that (`--weights measured`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reached_per_s: BTreeMap<String, f64>,
    /// The share (0 to 1) of the planned load that is in the figures, where less than all of it
    /// is, and a rate was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent_share: Option<f64>,
}

/// A column of the table of agents: its heading, and whether figures stand in it.
pub(crate) type Heading = (&'static str, bool);

impl Agents {
    /// Those that a record has as `fleet`; none if they can't be read, as those of another version.
    pub fn read(fleet: &Value) -> Option<Agents> {
        Agents::deserialize(fleet).ok()
    }

    /// How many agents there were, and whether what they counted is complete.
    pub fn summary(&self) -> String {
        let of = &self.of;
        let early = of.agents.iter().filter(|agent| agent.ended_early);
        let whole = match (of.complete, early.count()) {
            (true, 0) => "complete: the figures are the sum of all that they counted".to_owned(),
            (true, early) => {
                format!("{early} of which ended early; what they counted is complete")
            }
            (false, _) => format!(
                "NOT complete: some of what agents with {:.1} % of the load counted is missing",
                100.0 * of.missing_share
            ),
        };
        let sent = self.sent_share.map(|share| {
            let percent = 100.0 * share;
            format!("; {percent:.1} % of the planned load is in the figures")
        });
        let lost = of.agents.iter().filter(|agent| agent.lost);
        let lost: Vec<String> = lost.map(|agent| agent.agent.to_string()).collect();
        let lost = match lost.is_empty() {
            true => String::new(),
            false => format!("; lost: {}", lost.join(", ")),
        };
        let agents = match of.agents.len() {
            1 => "1 agent".to_owned(),
            agents => format!("{agents} agents"),
        };
        format!("{agents}, {whole}{}{lost}", sent.unwrap_or_default())
    }

    /// For the terminal, behind the report of a run.
    pub fn text(&self) -> String {
        let agents = &self.of.agents;
        let mut text = format!("\nFleet: {}\n", self.summary());
        let width = agents.iter().map(|agent| agent.agent.to_string().len());
        let width = width.max().unwrap_or(0).max("Agent".len());
        let (standing, ended) = match self.is_hold() {
            true => (format!("  {:>10}", "Standing"), "Answered"),
            false => (String::new(), "Completed"),
        };
        // Nothing fails that writes into a text.
        let _ = writeln!(
            text,
            "  {:width$}  {:>8}{standing}  {ended:>10}  {:>8}  {:>10}  {:>10}  {:>14}  {:8}  Ended",
            "Agent", "Threads", "Failed", "p99", "Of tail", "Clock", "Engine"
        );
        for agent in agents {
            let _ = writeln!(text, "{}", line(agent, width));
        }
        text
    }

    fn is_hold(&self) -> bool {
        self.of.figures.held.is_some()
    }

    /// The columns of the table.
    pub(crate) fn headings(&self) -> [Heading; 9] {
        let (ended, rate) = match self.is_hold() {
            true => ("heartbeats", "standing"),
            false => ("requests", "requests/s"),
        };
        [
            ("agent", false),
            ("host", false),
            ("engine", false),
            ("share", true),
            (ended, true),
            (rate, true),
            ("p99", true),
            ("was the limit", false),
            ("ended", false),
        ]
    }

    /// A row for each agent of a load of so many seconds.
    pub(crate) fn rows(&self, seconds: f64) -> Vec<[String; 9]> {
        let agents = self.of.agents.iter();
        agents.map(|agent| row(agent, seconds)).collect()
    }

    /// The table in Markdown.
    pub fn markdown(&self, seconds: f64) -> String {
        let headings = self.headings();
        let mut text = format!("\nFleet: {}.\n\n|", marked_off(&self.summary()));
        for (heading, _) in headings {
            let _ = write!(text, " {heading} |");
        }
        text.push_str("\n|");
        for (_, is_figure) in headings {
            text.push_str(if is_figure { "--:|" } else { "---|" });
        }
        text.push('\n');
        for row in self.rows(seconds) {
            let cells = row.map(|cell| format!(" {} |", marked_off(&cell)));
            let _ = writeln!(text, "|{}", cells.concat());
        }
        text
    }
}

/// The 99th percentile where there are samples enough.
fn p99_us(agent: &AgentRecord) -> Option<f64> {
    let figures = &agent.figures;
    let is_enough = figures.totals.responses >= samples_for(0.99);
    is_enough.then(|| figures.response_p99_ns as f64 / 1000.0)
}

/// How its load ended, in a few words.
fn ended(agent: &AgentRecord) -> &str {
    match (&agent.ended, agent.lost) {
        (None, true) => "lost",
        (None, false) => "never said",
        (Some(_), _) if !agent.ended_early => "as planned",
        (Some(why), _) => why,
    }
}

/// What machine it was, as far as it said.
fn machine(agent: &AgentRecord) -> Option<String> {
    let host = agent.host.as_ref()?;
    let cpus = host.cpus_online.map(|cpus| format!("{cpus} CPUs"));
    let known = [host.cpu_model.clone(), cpus, host.kernel.clone()];
    let known: Vec<String> = known.into_iter().flatten().collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn row(agent: &AgentRecord, seconds: f64) -> [String; 9] {
    let dash = || "–".to_owned();
    let totals = &agent.figures.totals;
    let rate = match agent.figures.held {
        Some(held) => whole(held.standing),
        None if seconds > 0.0 => per_second(totals.completed as f64 / seconds),
        None => dash(),
    };
    let generator = agent.generator.as_ref();
    [
        agent.agent.to_string(),
        machine(agent).unwrap_or_else(dash),
        generator.map_or_else(dash, |one| {
            format!("{}, ringside {}", one.engine, one.version)
        }),
        agent.share_moved.or(agent.share).map_or_else(dash, percent),
        whole(totals.completed),
        rate,
        p99_us(agent).map_or_else(dash, time_us),
        match &agent.verdict {
            None => dash(),
            Some(verdict) if verdict.limited => format!("yes: {}", verdict.reason),
            Some(_) => "no".to_owned(),
        },
        ended(agent).to_owned(),
    ]
}

fn line(agent: &AgentRecord, width: usize) -> String {
    let tail = agent
        .tail_share
        .map(|share| format!("{:.1} %", 100.0 * share));
    let clock = agent.clock.map(|clock| {
        let error_us = clock.error_ns as f64 / 1000.0;
        format!("± {error_us:.0} µs")
    });
    let standing = agent.figures.held;
    let standing = standing.map(|held| format!("  {:>10}", held.standing));
    let p99 = p99_us(agent).map_or_else(|| "-".to_owned(), |us| format!("{:.2}ms", us / 1000.0));
    let engine = agent
        .generator
        .as_ref()
        .map_or("", |one| one.engine.as_str());
    format!(
        "  {:width$}  {:>8}{}  {:>10}  {:>8}  {p99:>10}  {:>10}  {:>14}  {:8}  {}",
        agent.agent.to_string(),
        agent.workers,
        standing.unwrap_or_default(),
        agent.figures.totals.completed,
        agent.figures.totals.failed,
        tail.unwrap_or_default(),
        clock.unwrap_or_default(),
        // A record may come from anywhere.
        Foreign::new(engine).to_string(),
        Foreign::new(ended(agent)),
    )
}

/// The schema of a run's record, with the agents that it has of a fleet.
pub fn run_schema() -> String {
    with_agents(&load::record_schema())
}

/// The same of a hold.
pub fn hold_schema() -> String {
    with_agents(&load::hold::record_schema())
}

/// A record's schema with one property more.
fn with_agents(record: &str) -> String {
    let read = |text: &str| serde_json::from_str(text).unwrap_or(Value::Null);
    let (mut whole, mut agents): (Value, Value) = (read(record), read(&schema_of::<Agents>()));
    let definitions = agents.as_object_mut().and_then(|agents| {
        agents.remove("$schema");
        agents.remove("title");
        agents.remove("$defs")
    });
    if let (Some(all), Some(Value::Object(more))) = (whole["$defs"].as_object_mut(), definitions) {
        for (name, definition) in more {
            // Both describe a machine, in the same words.
            all.entry(name).or_insert(definition);
        }
    }
    if let Some(properties) = whole["properties"].as_object_mut() {
        properties.insert("fleet".to_owned(), agents);
    }
    format!("{whole:#}\n")
}

#[cfg(test)]
pub(crate) mod tests;
