//! What went wrong, by kind.

use std::collections::BTreeMap;

use measure::counters::ErrorKind;
use measure::foreign::Foreign;
use measure::record::Unmet;

use super::terminal::Paint;
use super::wrk;

/// What is known of the answers that errors are about.
#[derive(Clone, Copy)]
pub(super) struct Answers<'r> {
    /// How many came with each status.
    pub(super) statuses: &'r BTreeMap<String, u64>,
    /// How a body began, by its unexpected status.
    pub(super) bodies: &'r BTreeMap<String, String>,
    /// What was expected of them.
    pub(super) unmet: &'r [Unmet],
    /// What users of a flow have found wrong, by line.
    pub(super) lines: &'r [Unmet],
    /// Where one redirect led, by the kind of error that it is.
    pub(super) locations: &'r BTreeMap<String, String>,
}

/// What went wrong, a line for each kind with what it means; nothing where nothing did. Below
/// unexpected statuses stands how one body of each began, below unexpected answers what was
/// expected, and what came, below redirects that weren't followed where one of them led, and at the
/// end the lines of a flow that weren't met.
pub(super) fn errors(
    title: &str,
    counts: &BTreeMap<String, u64>,
    answers: Answers<'_>,
    paint: Paint,
) -> String {
    let mut text = String::new();
    let counted = answers.statuses;
    let statuses = counted.iter().filter(|(code, _)| wrk::is_strange(code));
    let statuses: Vec<String> = statuses.map(|(code, n)| format!("{code}: {n}")).collect();
    for kind in ErrorKind::all() {
        if let Some(count) = counts.get(kind.name()).filter(|count| **count > 0) {
            let name = paint.error(&format!("{count} {}", kind.name()));
            let which = match kind {
                ErrorKind::UnexpectedStatus if !statuses.is_empty() => {
                    format!(" ({})", statuses.join(", "))
                }
                _ => String::new(),
            };
            let is_fault = statuses.iter().any(|one| one.starts_with('5'));
            let advice = match kind {
                ErrorKind::UnexpectedStatus if counted.contains_key("426") => {
                    "; 426 asks for another protocol: of a WebSocket write ws://"
                }
                ErrorKind::UnexpectedStatus if is_fault => "; look at the server's log",
                _ => "",
            };
            text.push_str(&format!("  {name}{which}: {}{advice}\n", kind.text()));
            if kind == ErrorKind::UnexpectedStatus {
                let told = answers
                    .bodies
                    .iter()
                    .filter(|(code, _)| counted.contains_key(*code));
                told.for_each(|(code, body)| text.push_str(&format!("    {code}: {body}\n")));
            }
            if kind == ErrorKind::UnexpectedAnswer {
                let unmet = answers.unmet.iter();
                unmet.for_each(|one| text.push_str(&told_unmet(one)));
            }
            if let Some(location) = answers.locations.get(kind.name()) {
                text.push_str(&format!("    e.g. Location: {location}\n"));
            }
        }
    }
    for one in answers.lines {
        text.push_str(&told_line(one));
    }
    if text.is_empty() {
        text
    } else {
        format!("{title}\n{text}")
    }
}

/// Which line of a flow wasn't met, how often, and what came once.
fn told_line(unmet: &Unmet) -> String {
    let step = unmet.step.as_ref().map(Foreign::new);
    let step = step.map_or_else(String::new, |step| format!(", {step}"));
    let came = unmet.came.as_ref().map(|came| format!(": e.g. {came}"));
    let (line, came) = (Foreign::new(&unmet.expected), came.unwrap_or_default());
    format!("    {line}{step} ({}){came}\n", unmet.failed)
}

/// What was expected of answers, how many did not meet it, and what came in one of them.
fn told_unmet(unmet: &Unmet) -> String {
    let Unmet {
        expected,
        step,
        failed,
        came,
    } = unmet;
    let expected = Foreign::new(expected);
    let step = step
        .as_ref()
        .map(|step| format!("{}: ", Foreign::new(step)));
    let came = came.as_ref().map(|came| format!(", e.g. got {came}"));
    let (step, came) = (step.unwrap_or_default(), came.unwrap_or_default());
    format!("    {step}expected {expected} ({failed}){came}\n")
}
