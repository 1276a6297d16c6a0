//! The rounds as CSV (RFC 4180 with plain line feeds), a line for each round of each row: for
//! whoever wants to judge them by statistics of his own.

use std::borrow::Cow;

use lab::sample::Sample;
use load::check::Streamed;

use super::{Report, Row, StepFigures};

const HEADER: &str = "row,role,round,start,at_s,counts,requests_per_second,p50_us,p95_us,p99_us,\
                      server_cpu_us_per_exchange,server_busy,server_waited,generator_busy,\
                      memory_peak_bytes,memory_mean_bytes,memory_per_connection_bytes,\
                      system_calls_per_exchange,bytes_per_exchange,completed,failed,others_busy,\
                      findings\n";

/// The columns that a comparison with a mix has behind these.
const OF_STEPS: &str = ",step,equal_rate,unfinished";

/// Every round. Where there is no value the field is empty. System calls were counted once for a
/// row, in a round of their own, and stand in each of its lines.
///
/// Where requests differ there are three columns more, and after the rounds of a row a line for
/// each of its requests in each round: `step` names the request, `equal_rate` is the rate that all
/// rows were offered alike (empty in the load that the other lines are of). Both are empty in
/// lines of whole rounds.
///
/// Where events are timed, a column for each of their figures stands behind all others.
pub fn csv(report: &Report) -> String {
    let is_mix = report.subjects.iter().any(|row| !row.steps.is_empty());
    let mut samples = report.subjects.iter().flat_map(|row| &row.samples);
    let streamed = match samples.any(|sample| !sample.streamed.is_empty()) {
        true => &Streamed::ALL[..],
        false => &[],
    };
    let mut text = HEADER.trim_end().to_owned();
    text.push_str(if is_mix { OF_STEPS } else { "" });
    streamed
        .iter()
        .for_each(|one| text.push_str(&format!(",{}", column(*one))));
    text.push('\n');
    for row in &report.subjects {
        for sample in &row.samples {
            text.push_str(&line(row, sample));
            if is_mix {
                text.push_str(&format!(",,,{}", sample.lost().unfinished));
            }
            text.push_str(&of_events(sample, streamed));
            text.push('\n');
        }
        for step in &row.steps {
            let at_main = step.samples.len() - step.at_equal_rate;
            for (at, sample) in step.samples.iter().enumerate() {
                let rate = report.setup.equal_rate.filter(|_| at >= at_main);
                text.push_str(&of_step(row, step, sample, rate));
                text.push_str(&of_events(sample, streamed));
                text.push('\n');
            }
        }
    }
    text
}

/// Figures of events, behind all others.
fn of_events(sample: &Sample, figures: &[Streamed]) -> String {
    let value = |one| format!(",{}", field(sample.streamed.get(one)));
    figures.iter().map(value).collect()
}

/// The name of a figure with its unit.
fn column(figure: Streamed) -> String {
    let unit = if figure.is_a_time() { "_us" } else { "" };
    format!("{}{unit}", figure.name())
}

/// A request in a round. What is known of the server is of whole rounds.
fn of_step(row: &Row, step: &StepFigures, sample: &Sample, equal_rate: Option<f64>) -> String {
    let none = String::new;
    let fields = [
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        none(),
        sample.completed.to_string(),
        sample.failed.to_string(),
        none(),
        none(),
        quoted(&step.name),
        field(equal_rate),
        sample.lost().unfinished.to_string(),
    ];
    [&head(row, sample)[..], &fields].concat().join(",")
}

/// The first fields of a line, which are known of a request as of a whole round.
fn head(row: &Row, sample: &Sample) -> [String; 10] {
    let lap = row.course.iter().find(|lap| lap.round == sample.round);
    [
        quoted(&row.facts.name),
        row.facts.role.name().to_owned(),
        sample.round.to_string(),
        field(lap.map(|lap| lap.start)),
        field(lap.map(|lap| lap.at_s)),
        sample.void().is_none().to_string(),
        sample.requests_per_second.to_string(),
        field(sample.p50_us),
        field(sample.p95_us),
        field(sample.p99_us),
    ]
}

fn line(row: &Row, sample: &Sample) -> String {
    let lap = row.course.iter().find(|lap| lap.round == sample.round);
    let findings: Vec<&str> = sample
        .findings
        .iter()
        .map(|finding| finding.sentence.as_str())
        .collect();
    let fields = [
        field(sample.server_cpu_us_per_exchange),
        sample.server_busy.to_string(),
        sample.server_waited.to_string(),
        field(sample.generator_busy),
        field(sample.memory_peak_bytes),
        field(lap.and_then(|lap| lap.memory_mean_bytes)),
        field(lap.and_then(|lap| lap.memory_per_connection_bytes)),
        field(row.system_calls().map(|calls| calls.per_exchange)),
        field(sample.bytes_per_exchange),
        sample.completed.to_string(),
        sample.failed.to_string(),
        sample.others_busy.to_string(),
        quoted(&findings.join("; ")),
    ];
    [&head(row, sample)[..], &fields].concat().join(",")
}

/// A value as a field, which is empty where there is none.
pub fn field(value: Option<impl ToString>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}

/// Text as a field: in quotes where a comma, a quote or a line end would break the line, and behind
/// an apostrophe where a spreadsheet would take it for a formula.
pub fn quoted(text: &str) -> String {
    let begins = text.trim_start().starts_with([
        '=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}',
    ]);
    let is_formula = (begins || text.starts_with(['\t', '\r'])) && text.parse::<f64>().is_err();
    let text = match is_formula {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    };
    match text.contains([',', '"', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_is_a_formula_and_every_number_stays_one() {
        for text in [
            "=1+1",
            "+cmd|' /C calc'!A0",
            "-a",
            "@SUM(1)",
            "\t=1",
            "\r=1",
            " =1",
            "＝1",
        ] {
            let field = quoted(text);
            let inside = field.trim_start_matches('"');
            assert!(inside.starts_with('\''), "{text:?}: {field:?}");
        }
        for text in ["-3.2", "+1e9", "a=b", "ringside-uring", "", "1-2"] {
            assert_eq!(quoted(text), text);
        }
        assert_eq!(quoted("=\"a\",b"), "\"'=\"\"a\"\",b\"");
    }
}
