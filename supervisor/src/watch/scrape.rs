//! The subject's own metrics, asked for before and after a round, never inside of it.
//!
//! Reads the text format of Prometheus, version 0.0.4
//! (<https://prometheus.io/docs/instrumenting/exposition_formats/>). What a metric means is the
//! subject's word.

use std::collections::BTreeMap;
use std::time::Duration;

use load::Plan;
use serde::{Deserialize, Serialize};

/// The most series that are read.
const SERIES_MAX: usize = 5_000;
/// The most series that are kept, of those that moved.
const CHANGES_MAX: usize = 200;
/// The longest name with its labels that is kept.
const NAME_BYTES_MAX: usize = 300;
/// How long an answer may take.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How a metric of the subject moved in a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Change {
    /// Its value before the load.
    pub before: f64,
    /// Its value after it.
    pub after: f64,
}

/// Values by name with labels.
pub(crate) type Metrics = BTreeMap<String, f64>;

/// Where a subject's metrics are.
#[derive(Clone, Debug)]
pub(crate) struct Scrape {
    /// One request for them.
    plan: Plan,
}

impl Scrape {
    pub(crate) fn new(plan: Plan) -> Scrape {
        Scrape { plan }
    }

    /// Asks for them. The error is a sentence.
    pub(crate) fn fetch(&self) -> Result<Metrics, String> {
        let failed = |what: String| format!("the subject's metrics couldn't be read: {what}");
        let answer = load::probe(&self.plan, TIMEOUT).map_err(|error| failed(error.to_string()))?;
        if !answer.is_success() {
            return Err(failed(format!("answered with {}", answer.ending())));
        }
        let text = String::from_utf8_lossy(&answer.body);
        let metrics = parse(&text);
        match metrics.is_empty() {
            true => Err(failed(
                "the answer isn't in the Prometheus text format".to_owned(),
            )),
            false => Ok(metrics),
        }
    }
}

/// The metrics that are in both and moved.
pub(crate) fn changes(before: &Metrics, after: &Metrics) -> BTreeMap<String, Change> {
    let moved = after.iter().filter_map(|(name, after)| {
        let before = *before.get(name)?;
        let change = Change {
            before,
            after: *after,
        };
        (before != *after).then(|| (name.clone(), change))
    });
    moved.take(CHANGES_MAX).collect()
}

/// `name{label="value",…} value [timestamp]` a line; `#` begins a comment. Lines that are nothing
/// of the kind are passed over, and so are values that are no finite numbers.
fn parse(text: &str) -> Metrics {
    text.lines().filter_map(series).take(SERIES_MAX).collect()
}

fn series(line: &str) -> Option<(String, f64)> {
    let line = line.trim();
    let first = line.chars().next()?;
    if !(first.is_ascii_alphabetic() || first == '_' || first == ':') {
        return None;
    }
    let end = name_end(line)?;
    let (name, rest) = line.split_at(end);
    let value: f64 = rest.split_whitespace().next()?.parse().ok()?;
    (value.is_finite() && name.len() <= NAME_BYTES_MAX).then(|| (name.trim().to_owned(), value))
}

/// Where the name and its labels end. A label's value may hold blanks and braces, and a quotation
/// mark behind a backslash.
fn name_end(line: &str) -> Option<usize> {
    let brace = line.find('{');
    let blank = line.find([' ', '\t'])?;
    let Some(open) = brace.filter(|brace| *brace < blank) else {
        return Some(blank);
    };
    let (mut quoted, mut escaped) = (false, false);
    for (at, c) in line[open..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            '}' if !quoted => return Some(open + at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From the documentation of the format, with a line of a Go program.
    const TEXT: &str = r#"
# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
http_requests_total{method="post",code="400"}    3 1395066363000
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Not found:\n\"F\" }"} 1.4e9
metric_without_timestamp_and_labels 12.47
something_weird{problem="division by zero"} +Inf -3982045
go_gc_duration_seconds_sum 0.004
"#;

    #[test]
    fn the_text_format_is_read_with_its_labels_and_escapes() {
        let found = parse(TEXT);
        assert_eq!(found.len(), 5, "{found:?}");
        assert_eq!(
            found.get(r#"http_requests_total{method="post",code="200"}"#),
            Some(&1027.0)
        );
        assert_eq!(
            found.get("metric_without_timestamp_and_labels"),
            Some(&12.47)
        );
        let file = found.iter().find(|(name, _)| name.starts_with("msdos"));
        let (name, value) = file.expect("a label may hold anything");
        assert!(name.ends_with(r#"\"F\" }"}"#), "{name}");
        assert_eq!(*value, 1.4e9);
    }

    #[test]
    fn what_is_no_metric_is_passed_over() {
        for text in [
            "",
            "<html>",
            "{\"a\": 1}",
            "name",
            "name{a=\"b\" 1",
            "name NaN",
            "1 2",
        ] {
            assert!(parse(text).is_empty(), "{text}: {:?}", parse(text));
        }
    }

    #[test]
    fn only_what_moved_is_kept() {
        let metrics = |all: &[(&str, f64)]| -> Metrics {
            let owned = all.iter().map(|(name, value)| ((*name).to_owned(), *value));
            owned.collect()
        };
        let before = metrics(&[("a", 1.0), ("b", 2.0)]);
        let after = metrics(&[("a", 1.0), ("b", 5.0), ("c", 9.0)]);
        let change = Change {
            before: 2.0,
            after: 5.0,
        };
        assert_eq!(
            changes(&before, &after),
            BTreeMap::from([("b".to_owned(), change)])
        );
    }
}
