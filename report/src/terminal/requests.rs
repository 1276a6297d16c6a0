//! The requests of a mix in the report for a terminal: a block of rows for each.

use statistics::format::{count, give_or_take, time_us};

use super::{Look, bold, ratio_cells, with_spreads, wrap};
use crate::Report;
use crate::steps::{InRows, StepFigures, TIMES, by_request, explained, heading};

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
    let mut headings = vec!["request".to_owned(), "requests/s".to_owned()];
    for metric in TIMES {
        headings.extend([heading(metric).to_owned(), "× baseline".to_owned()]);
    }
    headings.push("errors".to_owned());
    let columns = headings.len();
    let mut lines = vec![headings];
    for request in all.iter().take(REQUESTS_MAX) {
        lines.extend(block(request, report, columns));
    }
    let mut text = vec![String::new(), bold("By request", look)];
    text.extend(with_spreads(lines, look));
    let mut notes = explained(&report.setup);
    notes.extend(more(all.len()));
    text.extend(wrap(&notes.join(" "), width, "", "  "));
    text
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
fn block(request: &InRows<'_>, report: &Report, columns: usize) -> Vec<Vec<String>> {
    let alone = |text: String| {
        let mut cells = vec![text];
        cells.resize(columns, String::new());
        cells
    };
    let mut lines = vec![alone(shortened(request.name)), alone(String::new())];
    for (_, row, step) in &request.rows {
        let name = &row.facts.name;
        let (figures, spreads) = cells(step, *name == report.setup.baseline);
        lines.push([vec![format!("  {name}")], figures].concat());
        lines.push([vec![String::new()], spreads].concat());
    }
    lines
}

fn cells(step: &StepFigures, is_baseline: bool) -> (Vec<String>, Vec<String>) {
    let (mut figures, mut spreads) = (Vec::new(), Vec::new());
    let mut push = |figure: String, spread: String| {
        figures.push(figure);
        spreads.push(spread);
    };
    let none = || match step.rounds {
        0 => "void".to_owned(),
        _ => "–".to_owned(),
    };
    // One round has no spread, which is not a spread of nothing.
    let spread = |of: &statistics::Spread| match step.rounds {
        0 | 1 => String::new(),
        _ => give_or_take(of),
    };
    let rate = step.requests_per_second.as_ref();
    push(
        rate.map_or_else(none, |one| count(one.median)),
        rate.map(spread).unwrap_or_default(),
    );
    for metric in TIMES {
        let time = step.time(metric);
        push(
            time.map_or_else(none, |one| time_us(one.median)),
            time.map(spread).unwrap_or_default(),
        );
        let (ratio, interval) = match step.said(metric) {
            Some(said) => ratio_cells(&said.verdict, said.ratio.as_ref()),
            None if is_baseline => ("baseline".to_owned(), String::new()),
            None => ("–".to_owned(), String::new()),
        };
        push(ratio, interval);
    }
    push(step.lost().to_string(), String::new());
    (figures, spreads)
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
