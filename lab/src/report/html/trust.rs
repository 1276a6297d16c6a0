//! What lies behind the figures of a comparison: what its subjects used, and what was looked at to
//! see whether the figures mean what they say.

use maud::{Markup, html};

use super::page::{
    Cell, Checked, Column as Stand, Section, State, Tone, checks, details, sentences, table,
};
use crate::finding::Severity;
use crate::report::checks::{self as summed, count_in_words, summaries};
use crate::report::format::{digits, give_or_take};
use crate::report::resources::{Column, columns};
use crate::report::{Report, Resources, Row};

/// The heading of the section about checks, which the top of the page leads to.
const TRUST: &str = "Can this be trusted?";

/// What the subjects used.
pub(super) fn resources(report: &Report) -> Option<Section> {
    let columns = columns(&report.subjects);
    if columns.is_empty() {
        return None;
    }
    // A line for each figure: there are more figures than subjects.
    let measured: Vec<(&str, &Resources)> = report
        .subjects
        .iter()
        .filter_map(|row| Some((row.name.as_str(), row.resources.as_ref()?)))
        .collect();
    let mut headings = vec![("", Stand::Wide)];
    headings.extend(measured.iter().map(|(name, _)| (*name, Stand::Figures)));
    let cell = |column: &Column, used: &Resources| match (column.of)(used) {
        Some(spread) => Cell::text((column.write)(spread.median)).under(give_or_take(&spread)),
        None => Cell::text("–"),
    };
    let rows: Vec<Vec<Cell>> = columns
        .iter()
        .map(|column| {
            let figures = measured.iter().map(|(_, used)| cell(column, used));
            std::iter::once(Cell::text(column.name))
                .chain(figures)
                .collect()
        })
        .collect();
    let lead = "Of the whole process tree, in the measured windows only. This is where a \
                difference comes from.";
    let body = html! {
        (table("", &headings, &rows))
        @for row in &report.subjects {
            @if !row.scraped.is_empty() {
                (details(&format!("{}: its own metrics in the last round", row.name), scraped(row)))
            }
        }
    };
    Some(Section::new("Resources", lead, body))
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
        "{}. What was found and what could not be looked at stand first; what was found is in the \
         verdicts.",
        count_in_words(&summaries)
    );
    let body = html! {
        (checks(&checked))
        @if !report.unseen.is_empty() {
            (details("What could not be seen here", sentences(&report.unseen)))
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
                a href={ "#" (super::page::anchor(TRUST)) } { "What was looked at" }
            }
        }
    }
}
