//! `ringside doctor`: what this host costs a measurement, and the command that changes it.
//! What is found is the crate `doctor`'s; this prints it.

use doctor::{Asked, Report, State};
use netns::namespace::Refused;

use crate::args::doctor::{Doctor, Format};
use exit::{Exit, Failure};
use output::terminal::{self, Paint};
use output::width;

/// Looks, and prints.
pub(crate) fn run(arguments: &Doctor, no_color: bool) -> Result<Exit, Failure> {
    let private = network::possible().map_err(|Refused(why)| why);
    let connections = arguments.connections.map(|number| Asked {
        number,
        one_end: arguments.one_end,
    });
    let report = Report::read(private, connections);
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
    use doctor::Finding;

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
}
