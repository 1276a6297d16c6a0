//! `ringside doctor`: what this host costs a measurement, and the command that changes it.
//! It reads, sleeps for a second to see how late it is woken up, and changes nothing.

mod drivers;
mod facts;
mod rules;
mod timers;

use measure::needs::{Connections, Facts as Needs, Need, Over, Spoken};
use schemars::JsonSchema;
use serde::Serialize;

use crate::args::doctor::{Doctor, Format};
use crate::exit::{Exit, Failure};
use crate::output::terminal::{self, Paint};
use crate::output::width;

/// One thing about the host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Finding {
    /// What it belongs to: kernel, io_uring, processor, memory, limits, network or connections.
    area: &'static str,
    /// What was looked at.
    name: String,
    /// Whether it is well.
    state: State,
    /// What was found.
    value: String,
    /// What that costs; none where all is well and there is nothing to know.
    cost: Option<String>,
    /// What changes it; none where nothing has to be changed, or nothing can.
    command: Option<String>,
}

/// Whether something is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    /// It is.
    Ok,
    /// It costs something.
    Warn,
    /// This host does not show it.
    Unknown,
}

/// Everything that was found.
#[derive(Debug, Serialize, JsonSchema)]
struct Report {
    /// The version of this schema.
    schema_version: u32,
    /// How many of the findings are warnings.
    warnings: usize,
    /// All that was looked at, in the order of the areas.
    findings: Vec<Finding>,
    /// Whether the connections of --connections find what they need.
    #[serde(skip_serializing_if = "Option::is_none")]
    connections: Option<Room>,
}

/// Whether so many connections can stand here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
struct Room {
    /// How many connections were asked for.
    number: u32,
    /// None of what they need is missing altogether.
    fit: bool,
    /// How many of the warnings are about them.
    to_fix: usize,
}

impl Room {
    fn of(number: u32, needs: &[Need]) -> Room {
        Room {
            number,
            fit: needs.iter().all(|need| need.refusal().is_none()),
            to_fix: needs.iter().filter(|need| need.lacks.is_some()).count(),
        }
    }

    fn verdict(self) -> String {
        let Room {
            number,
            fit,
            to_fix,
        } = self;
        let things = match to_fix {
            1 => "1 thing".to_owned(),
            _ => format!("{to_fix} things"),
        };
        match (fit, to_fix) {
            (true, 0) => format!("Ready for {number} connections."),
            (true, _) => {
                format!("Ready for {number} connections, with {things} to mind, see above.")
            }
            (false, _) => format!("{number} connections don't fit: {things} to fix, see above."),
        }
    }
}

/// The JSON Schema of what is printed for programs.
pub(crate) fn schema() -> String {
    measure::record::schema_of::<Report>()
}

/// Looks, and prints.
pub(crate) fn run(arguments: &Doctor, no_color: bool) -> Result<Exit, Failure> {
    let mut findings = rules::judge(&facts::Facts::read());
    findings.extend(drivers::judge());
    let mut room = None;
    if let Some(connections) = arguments.connections {
        let (ends, over) = match arguments.one_end {
            true => (1, Over::Network),
            false => (2, Over::Loopback),
        };
        let needs = Needs::read().needs(Connections {
            number: connections.into(),
            ends,
            spoken: Spoken::Http1,
            tls: false,
            over,
        });
        room = Some(Room::of(connections, &needs));
        findings.extend(needs.into_iter().map(rules::of_need));
    }
    findings.sort_by_key(|finding| rules::AREAS.iter().position(|area| *area == finding.area));
    let warnings = findings
        .iter()
        .filter(|finding| finding.state == State::Warn)
        .count();
    let report = Report {
        schema_version: 1,
        warnings,
        findings,
        connections: room,
    };
    let text = match arguments.format {
        Format::Text => text(&report, Paint::for_stdout(no_color)),
        Format::Json => {
            let json = serde_json::to_string_pretty(&report).map_err(Failure::running)?;
            json + "\n"
        }
    };
    terminal::print(&text).map_err(Failure::running)?;
    Ok(Exit::Ok)
}

fn text(report: &Report, paint: Paint) -> String {
    let names = report
        .findings
        .iter()
        .map(|finding| finding.name.chars().count());
    let width = names.max().unwrap_or(0);
    let mut text = String::new();
    let mut area = "";
    for finding in &report.findings {
        if finding.area != area {
            area = finding.area;
            text.push_str(&format!("{}\n", paint.strong(area)));
        }
        let state = match finding.state {
            State::Ok => paint.good("ok  "),
            State::Warn => paint.warning("warn"),
            State::Unknown => "?   ".to_string(),
        };
        let (name, value) = (&finding.name, &finding.value);
        text.push_str(&format!("  {state}  {name:<width$}  {value}\n"));
        if let Some(cost) = &finding.cost {
            text.push_str(&format!("{:MARGIN$}{cost}\n", ""));
        }
        if let Some(command) = &finding.command {
            let room = paint.columns().map(|columns| columns - 2 * MARGIN);
            for (at, line) in width::continued(command, room).iter().enumerate() {
                let sign = if at == 0 { "$ " } else { "" };
                let line = paint.strong(&format!("{sign}{line}"));
                text.push_str(&format!("{:MARGIN$}{line}\n", ""));
            }
        }
    }
    text.push_str(&match report.warnings {
        0 => "Nothing here distorts measurements.\n".to_string(),
        1 => format!("1 warning. {LASTING}\n"),
        count => format!("{count} warnings. {LASTING}\n"),
    });
    if let Some(room) = report.connections {
        text.push_str(&format!("{}\n", paint.strong(&room.verdict())));
    }
    width::wrapped(&text, paint.columns())
}

/// What stands below a finding begins so far to the right.
const MARGIN: usize = 8;

/// How long the commands last.
const LASTING: &str = "What sysctl, ulimit and writing to /sys or /proc change lasts until the \
                       next reboot or logout; files in /etc stay.";

#[cfg(test)]
mod tests {
    use measure::needs::Lack;

    use super::*;

    #[test]
    fn a_warning_is_printed_with_its_cost_and_its_command() {
        let finding = Finding {
            area: "limits",
            name: "descriptors".to_string(),
            state: State::Warn,
            value: "1024".to_string(),
            cost: Some("At most 1,000 connections.".to_string()),
            command: Some("ulimit -n 65536".to_string()),
        };
        let report = Report {
            schema_version: 1,
            warnings: 1,
            findings: vec![finding],
            connections: None,
        };
        assert_eq!(
            text(&report, Paint::PLAIN),
            "limits\n  warn  descriptors  1024\n        At most 1,000 connections.\n        \
             $ ulimit -n 65536\n1 warning. What sysctl, ulimit and writing to /sys or /proc change \
             lasts until the next reboot or logout; files in /etc stay.\n"
        );
    }

    #[test]
    fn the_last_line_says_whether_so_many_connections_fit() {
        let need = |hopeless: Option<bool>| Need {
            what: "memory",
            says: String::new(),
            lacks: hopeless.map(|hopeless| Lack {
                cost: String::new(),
                command: None,
                hopeless,
            }),
        };
        for (needs, verdict) in [
            (vec![need(None)], "Ready for 20000 connections."),
            (
                vec![need(None), need(Some(false))],
                "Ready for 20000 connections, with 1 thing to mind, see above.",
            ),
            (
                vec![need(Some(true)), need(Some(false))],
                "20000 connections don't fit: 2 things to fix, see above.",
            ),
        ] {
            let report = Report {
                schema_version: 1,
                warnings: 0,
                findings: Vec::new(),
                connections: Some(Room::of(20_000, &needs)),
            };
            let text = text(&report, Paint::PLAIN);
            assert_eq!(text.lines().last(), Some(verdict));
        }
    }
}
