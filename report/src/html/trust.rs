//! What lies behind the figures of a comparison: what its subjects used, and what was looked at to
//! see whether the figures mean what they say.

use lab::finding::Severity;
use maud::{Markup, html};
use statistics::format::digits;

use super::page::{
    Cell, Checked, Column as Stand, Section, State, Tone, checks, details, sentences, table,
};
use crate::checks::{self as summed, count_in_words, summaries};
use crate::clue;
use crate::resources::{self as used, Line, Table};
use crate::{Report, Row};

/// The heading of the section about checks, which the top of the page leads to.
const TRUST: &str = "Can this be trusted?";

/// What the subjects used.
pub(super) fn resources(report: &Report) -> Option<Section> {
    let whole = Table::of(&report.subjects)?;
    let mut headings = vec![("", Stand::Wide)];
    headings.extend(
        whole
            .rows
            .iter()
            .map(|name| (name.as_str(), Stand::Figures)),
    );
    let figure = |cell: &used::Cell| {
        Cell::of(html! { (cell.figure) @for more in &cell.more { small { (more) } } })
    };
    let line = |line: &Line| {
        let figures = line.cells.iter().map(figure);
        std::iter::once(Cell::text(line.name))
            .chain(figures)
            .collect()
    };
    let rows: Vec<Vec<Cell>> = whole.lines.iter().map(line).collect();
    let lead = "Totals of the whole process tree, in the measured windows only; system calls come \
                from an extra round that is never timed (compare --profile). This shows where a \
                difference comes from.";
    let body = html! {
        (table("", &headings, &rows))
        @for row in &report.subjects {
            @if !row.scraped.is_empty() {
                @let name = &row.facts.name;
                (details(&format!("{name}: its own metrics in the last round"), scraped(row)))
            }
        }
    };
    Some(Section::new("Resources", lead, body))
}

/// What the subjects' state suggests to look at.
pub(super) fn clues(report: &Report) -> Option<Section> {
    let told = clue::told(&report.subjects);
    let lead = "How the subjects spent their time, and what limits did to them. This spoils no \
                figure; it says where a faster server may be found.";
    let body = sentences(&told);
    (!told.is_empty()).then(|| Section::new("Where to look next", lead, body))
}

/// How a subject's own metrics moved.
fn scraped(row: &Row) -> Markup {
    let headings = [
        ("metric", Stand::Wide),
        ("before", Stand::Figures),
        ("after", Stand::Figures),
        ("difference", Stand::Figures),
    ];
    let rows: Vec<Vec<Cell>> = row
        .scraped
        .iter()
        .map(|(name, change)| {
            let figures = [change.before, change.after, change.after - change.before];
            let mut cells = vec![Cell::of(html! { code { (name) } })];
            cells.extend(figures.map(|figure| Cell::text(digits(figure))));
            cells
        })
        .collect();
    table("", &headings, &rows)
}

/// Every check.
pub(super) fn trust(report: &Report) -> Option<Section> {
    if report.checks.is_empty() {
        return None;
    }
    let summaries = summaries(&report.checks);
    let checked: Vec<Checked> = summaries
        .iter()
        .map(|summary| Checked {
            what: summary.check.asks().to_owned(),
            state: match summary.state {
                summed::State::Passed => State::Passed,
                summed::State::Unknown => State::Unknown,
                summed::State::Found(Severity::Void) => State::Found(Tone::Void),
                summed::State::Found(_) => State::Found(Tone::Warn),
            },
            found: summary.said.clone(),
        })
        .collect();
    let lead = format!(
        "{}. Checks that found something, or couldn't run, come first; the verdicts take the \
         findings into account.",
        count_in_words(&summaries)
    );
    let body = html! {
        (checks(&checked))
        @if !report.unseen.is_empty() {
            (details("What we couldn't see here", sentences(&report.unseen)))
        }
    };
    Some(Section::new(TRUST, lead, body))
}

/// How the checks went, in a line that leads to them.
pub(super) fn trust_in_short(report: &Report) -> Markup {
    html! {
        @if !report.checks.is_empty() {
            p.lead.short {
                (count_in_words(&summaries(&report.checks))) ". "
                a href={ "#" (super::page::anchor(TRUST)) } { "What we checked" }
            }
        }
    }
}
