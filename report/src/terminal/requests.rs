//! The requests of a mix in the report for a terminal: a block of rows for each.

use statistics::Spread;
use statistics::format::{count, give_or_take};

use self::Columns::{Events, Whole};
use super::{Look, bold, ratio_cells, with_spreads, wrap};
use crate::Report;
use crate::steps::{
    InRows, Shown, StepFigures, by_request, explained, of_events, streaming, write,
};

/// A terminal shows so many requests at most; the other formats have all.
const REQUESTS_MAX: usize = 12;
/// A name takes so many columns at most.
const NAME_COLUMNS_MAX: usize = 40;

/// The table, after an empty line; nothing where all requests are alike.
pub(super) fn by_request_table(report: &Report, look: Look, width: usize) -> Vec<String> {
    let all = by_request(report);
    if all.is_empty() {
        return Vec::new();
    }
    let mut text = vec![String::new(), bold("By request", look)];
    let shown: Vec<&InRows<'_>> = all.iter().take(REQUESTS_MAX).collect();
    text.extend(of_columns(&shown, report, &Whole(Shown::times()), look));
    let mut notes = explained(&report.setup);
    notes.extend(more(all.len()));
    text.extend(wrap(&notes.join(" "), width, "", "  "));
    let events = of_events(&all);
    if !events.is_empty() {
        let streaming = streaming(&all);
        let shown = &streaming[..streaming.len().min(REQUESTS_MAX)];
        text.extend([String::new(), bold("Events by request", look)]);
        text.extend(of_columns(shown, report, &Events(events), look));
    }
    text
}

/// Which columns a table has.
enum Columns {
    /// The rate of a request, these, and its errors.
    Whole(Vec<Shown>),
    /// These alone.
    Events(Vec<Shown>),
}

fn of_columns(
    requests: &[&InRows<'_>],
    report: &Report,
    columns: &Columns,
    look: Look,
) -> Vec<String> {
    let mut headings = vec!["request"];
    match columns {
        Whole(shown) => {
            headings.push("requests/s");
            headings.extend(Shown::headings(shown));
            headings.push("errors");
        }
        Events(shown) => headings.extend(Shown::headings(shown)),
    }
    let mut lines = vec![headings.into_iter().map(str::to_owned).collect()];
    for request in requests {
        lines.extend(block(request, report, columns));
    }
    with_spreads(lines, look)
}

/// What is said of those that a terminal doesn't show, if there are any of `all`.
fn more(all: usize) -> Option<String> {
    let more = all.checked_sub(REQUESTS_MAX).filter(|more| *more > 0)?;
    let which = if more == 1 { "request" } else { "requests" };
    Some(format!("{more} more {which} in the report's files."))
}

/// A table whose first column names requests, as a terminal shows it: the headings, and the lines
/// of the first 12 of them; and what is said of the others.
pub fn first_requests(lines: Vec<Vec<String>>) -> (Vec<Vec<String>>, Option<String>) {
    let mut names: Vec<String> = Vec::new();
    let mut shown = Vec::new();
    for (at, mut cells) in lines.into_iter().enumerate() {
        let Some(name) = cells.first_mut().filter(|_| at > 0) else {
            shown.push(cells);
            continue;
        };
        if !names.contains(name) {
            names.push(name.clone());
        }
        if names.iter().take(REQUESTS_MAX).any(|one| one == name) {
            *name = shortened(name);
            shown.push(cells);
        }
    }
    (shown, more(names.len()))
}

/// The name of a request, and under it a line for each row that has it, with its spreads.
fn block(request: &InRows<'_>, report: &Report, columns: &Columns) -> Vec<Vec<String>> {
    let mut lines = vec![vec![shortened(request.name)], vec![String::new()]];
    for (_, row, step) in &request.rows {
        let name = &row.facts.name;
        let (figures, spreads) = cells(step, columns, *name == report.setup.baseline);
        lines.push([vec![format!("  {name}")], figures].concat());
        lines.push([vec![String::new()], spreads].concat());
    }
    let longest = lines.iter().map(Vec::len).max().unwrap_or_default();
    (lines.iter_mut()).for_each(|cells| cells.resize(longest, String::new()));
    lines
}

fn cells(step: &StepFigures, columns: &Columns, is_baseline: bool) -> (Vec<String>, Vec<String>) {
    let (mut figures, mut spreads) = (Vec::new(), Vec::new());
    let mut push = |(figure, spread): (String, String)| {
        figures.push(figure);
        spreads.push(spread);
    };
    let (shown, is_whole) = match columns {
        Whole(shown) => (shown, true),
        Events(shown) => (shown, false),
    };
    if is_whole {
        push(of_spread(step, step.requests_per_second.as_ref(), count));
    }
    for one in shown {
        push(of_spread(step, step.figure(one.metric), write(one.metric)));
        if one.is_judged {
            push(match step.said(one.metric) {
                Some(said) => ratio_cells(&said.verdict, said.ratio.as_ref()),
                None if is_baseline => ("baseline".to_owned(), String::new()),
                None => ("–".to_owned(), String::new()),
            });
        }
    }
    if is_whole {
        push((step.lost().to_string(), String::new()));
    }
    (figures, spreads)
}

/// A figure, and below it by how much it differs between rounds.
fn of_spread(
    step: &StepFigures,
    spread: Option<&Spread>,
    write: fn(f64) -> String,
) -> (String, String) {
    match spread {
        None if step.rounds == 0 => ("void".to_owned(), String::new()),
        None => ("–".to_owned(), String::new()),
        // One round has no spread, which is not a spread of nothing.
        Some(spread) if step.rounds < 2 => (write(spread.median), String::new()),
        Some(spread) => (write(spread.median), give_or_take(spread)),
    }
}

/// A long name without its middle, which tells least of a path.
pub fn shortened(name: &str) -> String {
    let letters: Vec<char> = name.chars().collect();
    if letters.len() <= NAME_COLUMNS_MAX {
        return name.to_owned();
    }
    let half = (NAME_COLUMNS_MAX - 1) / 2;
    let (head, tail) = (&letters[..half], &letters[letters.len() - half..]);
    let [head, tail] = [head, tail].map(|part| part.iter().collect::<String>());
    format!("{head}…{tail}")
}
