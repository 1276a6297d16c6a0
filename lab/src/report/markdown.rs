//! The report as Markdown, for people who were not there: each figure with its lowest and highest
//! round, and everything needed to do it again.

use measure::host::Host;

use super::format::{bytes, count, digits, percent, time_us};
use super::plot::plot;
use super::{Outcome, Report, Row, Setup};
use crate::cores::List;
use crate::statistics::Spread;
use crate::verdict::Kind;

/// The whole report.
pub fn markdown(report: &Report) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n",
        report.setup.name,
        escape(&report.setup.question)
    );
    list(&mut text, "Caution", &report.cautions);
    text.push_str(&table(&report.subjects));
    text.push_str(
        "\nEach figure is the median of the rounds, with the lowest and the highest round in \
         brackets. The ratio is to the baseline, with its 95 % interval.\n\n",
    );
    let picture = plot(&report.subjects, &report.setup.baseline);
    if !picture.is_empty() {
        text.push_str(&format!(
            "{} as a multiple of {}'s:\n\n```text\n{}\n```\n\n",
            report.setup.metric.name(),
            report.setup.baseline,
            picture.join("\n")
        ));
    }
    list(&mut text, "What can be concluded", &report.conclusions);
    list(&mut text, "What cannot be concluded", &report.limits);
    list(&mut text, "About single subjects", &notes(&report.subjects));
    text.push_str(&failures(&report.subjects));
    text.push_str(&environment(report));
    text
}

fn list(text: &mut String, heading: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    text.push_str(&format!("## {heading}\n\n"));
    for sentence in sentences {
        text.push_str(&format!("- {}\n", escape(sentence)));
    }
    text.push('\n');
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| subject | requests/s | p50 | p99 | server CPU per exchange | peak memory | server's \
         cores busy | generator's busiest core | bytes per exchange | errors | ratio |\n\
         |---|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|\n",
    );
    for row in rows {
        let cells = match &row.figures {
            Some(_) => cells(row),
            None => {
                let state = match row.outcome {
                    Outcome::Missing { .. } => "not installed",
                    Outcome::Failed { .. } => "failed",
                    Outcome::Measured | Outcome::NotReached => "not measured",
                };
                let mut cells = vec![state.to_owned()];
                cells.resize(10, String::new());
                cells
            }
        };
        text.push_str(&format!(
            "| {} | {} |\n",
            escape(&row.name),
            cells.join(" | ")
        ));
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let Some(found) = &row.figures else {
        return Vec::new();
    };
    let cell = |spread: Option<&Spread>, show: fn(f64) -> String| match spread {
        None => "–".to_owned(),
        Some(spread) => format!(
            "{} ({}–{})",
            show(spread.median),
            show(spread.lowest),
            show(spread.highest)
        ),
    };
    let median = |spread: Option<&Spread>, show: fn(f64) -> String| {
        spread.map_or("–".to_owned(), |spread| show(spread.median))
    };
    let ratio = match (&row.ratio, row.verdict.kind) {
        (_, Kind::Baseline) => "baseline".to_owned(),
        (Some(ratio), _) => {
            format!("{:.3} ({:.3}–{:.3})", ratio.centre, ratio.low, ratio.high)
        }
        (None, Kind::Void) => "void".to_owned(),
        (None, _) => "–".to_owned(),
    };
    vec![
        cell(Some(&found.requests_per_second), count),
        cell(found.p50_us.as_ref(), time_us),
        cell(found.p99_us.as_ref(), time_us),
        cell(found.server_cpu_us_per_exchange.as_ref(), time_us),
        cell(found.memory_peak_bytes.as_ref(), bytes),
        median(Some(&found.server_busy), percent),
        median(found.generator_busy.as_ref(), percent),
        median(found.bytes_per_exchange.as_ref(), digits),
        found
            .errors
            .values()
            .sum::<u64>()
            .max(found.failed)
            .to_string(),
        ratio,
    ]
}

fn notes(rows: &[Row]) -> Vec<String> {
    rows.iter()
        .flat_map(|row| {
            row.notes
                .iter()
                .map(move |note| format!("{}: {note}", row.name))
        })
        .collect()
}

fn failures(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        match &row.outcome {
            Outcome::Failed { what, log } => {
                text.push_str(&format!("## {} failed\n\n{}.\n\n", row.name, escape(what)));
                if !log.is_empty() {
                    text.push_str("The last lines that it wrote:\n\n");
                    log.iter()
                        .for_each(|line| text.push_str(&format!("    {line}\n")));
                    text.push('\n');
                }
            }
            Outcome::Missing { install } => {
                text.push_str(&format!(
                    "## {} is not installed\n\n{install}\n\n",
                    row.name
                ));
            }
            Outcome::Measured | Outcome::NotReached => {}
        }
    }
    text
}

fn environment(report: &Report) -> String {
    let mut rows = machine(&report.host);
    rows.extend(procedure(&report.setup));
    for row in &report.subjects {
        if let Some(version) = &row.version {
            rows.push((&row.name, version.clone()));
        }
    }
    let mut table = String::from("## Environment\n\n| | |\n|---|---|\n");
    for (name, value) in rows {
        table.push_str(&format!("| {} | {} |\n", escape(name), escape(&value)));
    }
    let order: Vec<String> = (1..)
        .zip(&report.setup.order)
        .map(|(round, names)| format!("{round}. {}", names.join(", ")))
        .collect();
    format!(
        "{table}\nThe order within the rounds:\n\n{}\n",
        order.join("\n")
    )
}

fn machine(host: &Host) -> Vec<(&'static str, String)> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    let number = |value: Option<u64>| value.map_or("unknown".to_owned(), |value| value.to_string());
    vec![
        ("kernel", text(&host.kernel)),
        ("processor", text(&host.cpu_model)),
        ("processors online", number(host.cpus_online.map(u64::from))),
        ("governor", text(&host.governor)),
        ("clock source", text(&host.clocksource)),
        ("mitigations", text(&host.mitigations)),
        ("congestion control", text(&host.congestion_control)),
        ("loopback MTU", number(host.loopback_mtu.map(u64::from))),
        (
            "listen backlog limit",
            number(host.somaxconn.map(u64::from)),
        ),
        ("descriptor limit", number(host.descriptor_limit)),
    ]
}

fn procedure(setup: &Setup) -> Vec<(&'static str, String)> {
    let load = |seconds: f64| format!("{} s of load", digits(seconds));
    let rate = setup
        .rate
        .map_or("closed loop".to_owned(), |rate| format!("{rate}/s"));
    let window = format!(
        "{} s in each of {} rounds",
        digits(setup.window_s),
        setup.rounds
    );
    let fresh = if setup.fresh_each_round { "yes" } else { "no" };
    vec![
        ("began", setup.began.clone()),
        ("ringside", setup.ringside.clone()),
        ("server cores", List(&setup.server_cores).to_string()),
        ("generator cores", List(&setup.generator_cores).to_string()),
        ("generator engine", setup.engine.clone()),
        ("asked", setup.asked.clone()),
        ("load", setup.load.clone()),
        ("rate", rate),
        ("window", window),
        ("before each window", load(setup.settle_s)),
        ("on each new process", load(setup.warm_up_s)),
        ("new processes each round", fresh.to_owned()),
        ("seed", setup.seed.to_string()),
    ]
}

/// Text that Markdown takes as it stands.
fn escape(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('<', "&lt;")
        .replace('\n', " ")
}
