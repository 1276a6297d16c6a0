//! `ringside doctor`: what this host costs a measurement, and the command that changes it.
//! It reads, sleeps for a second to see how late it is woken up, and changes nothing.

mod drivers;
mod facts;
mod rules;
mod timers;

use measure::needs::{Connections, Facts as Needs, Over};
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
}

/// The JSON Schema of what is printed for programs.
pub(crate) fn schema() -> String {
    measure::record::schema_of::<Report>()
}

/// Looks, and prints.
pub(crate) fn run(arguments: &Doctor, no_color: bool) -> Result<Exit, Failure> {
    let mut findings = rules::judge(&facts::Facts::read());
    findings.extend(drivers::judge());
    if let Some(connections) = arguments.connections {
        let (ends, over) = match arguments.one_end {
            true => (1, Over::Network),
            false => (2, Over::Loopback),
        };
        let needs = Needs::read().needs(Connections {
            number: connections.into(),
            ends,
            tls: false,
            over,
        });
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
    width::wrapped(&text, paint.columns())
}

/// What stands below a finding begins so far to the right.
const MARGIN: usize = 8;

/// How long the commands last.
const LASTING: &str = "What sysctl, ulimit and writing to /sys or /proc change lasts until the \
                       next reboot or logout; files in /etc stay.";

#[cfg(test)]
mod tests {
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
        };
        assert_eq!(
            text(&report, Paint::PLAIN),
            "limits\n  warn  descriptors  1024\n        At most 1,000 connections.\n        \
             $ ulimit -n 65536\n1 warning. What sysctl, ulimit and writing to /sys or /proc change \
             lasts until the next reboot or logout; files in /etc stay.\n"
        );
    }
}
