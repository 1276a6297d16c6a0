//! The requests of a mix on the page of a comparison: a table of all of them in all rows, and a
//! plot for each.

use maud::{Markup, html};
use statistics::Spread;
use statistics::format::{count, give_or_take, time_us};

use super::page::{Cell, Column as Stand, Section, Tone, badge, details, table};
use super::plot::{Axis, Scale, Series, percentiles};
use super::ratio::ratio_cell;
use super::swatch;
use crate::Report;
use crate::steps::{
    InRows, Shown, StepFigures, by_request, explained, of_events, streaming, write,
};

/// So many requests have their plot in view; a mix may have 65.
const PLOTS_SHOWN_MAX: usize = 6;

/// The section; nothing where all requests are alike.
pub(super) fn requests(report: &Report) -> Option<Section> {
    let all = by_request(report);
    if all.is_empty() {
        return None;
    }
    let times = Shown::times();
    let mut headings = vec![("requests/s", Stand::Figures)];
    headings.extend(Shown::headings(&times).map(|name| (name, Stand::Figures)));
    headings.push(("errors", Stand::Figures));
    let rows = all.iter().flat_map(|one| {
        rows_of(one, |row, step| {
            let mut cells = vec![figure(step, step.requests_per_second.as_ref(), count)];
            cells.extend(compared(row, step, &times, &report.setup.baseline));
            cells.push(errors(step));
            cells
        })
    });
    let table = of_requests(headings, rows.collect());
    let plots: Vec<Markup> = all.iter().filter_map(distribution).collect();
    let (shown, more) = plots.split_at(plots.len().min(PLOTS_SHOWN_MAX));
    let body = html! {
        (table)
        (events(&all, report))
        @for plot in shown { (plot) }
        @if !more.is_empty() {
            (details("The response times of the other requests", html! {
                @for plot in more { (plot) }
            }))
        }
    };
    let lead = format!(
        "The median of the rounds; below it, half the range from the lowest to the highest. \
         Errors: failed or unfinished, in all rounds. {}",
        explained(&report.setup).join(" ")
    );
    Some(Section::new("By request", lead, body))
}

/// The events in answers of those requests that are streams; nothing where none is.
fn events(all: &[InRows<'_>], report: &Report) -> Markup {
    let shown = of_events(all);
    if shown.is_empty() {
        return html! {};
    }
    let headings = Shown::headings(&shown).map(|name| (name, Stand::Figures));
    let baseline = &report.setup.baseline;
    let of = |row: &crate::Row, step: &StepFigures| compared(row, step, &shown, baseline);
    let rows = streaming(all).into_iter().flat_map(|one| rows_of(one, of));
    html! { h3 { "Events" } (of_requests(headings.collect(), rows.collect())) }
}

/// A table of these columns, behind the name of the request and of the row.
fn of_requests(columns: Vec<(&str, Stand)>, rows: Vec<Vec<Cell>>) -> Markup {
    let mut headings = vec![("request", Stand::Wide), ("subject", Stand::Words)];
    headings.extend(columns);
    table("", &headings, &rows)
}

/// One request in each row that has it, with what `cells` has of it.
fn rows_of(
    request: &InRows<'_>,
    cells: impl Fn(&crate::Row, &StepFigures) -> Vec<Cell>,
) -> Vec<Vec<Cell>> {
    let row = |(at, row, step): &(usize, &crate::Row, &StepFigures)| {
        let mut line = vec![
            Cell::text(request.name),
            Cell::of(swatch(*at, &row.facts.name)),
        ];
        line.extend(cells(row, step));
        line
    };
    request.rows.iter().map(row).collect()
}

/// Figures of a request, and beside those that are judged what is said of them.
fn compared(row: &crate::Row, step: &StepFigures, shown: &[Shown], baseline: &str) -> Vec<Cell> {
    let mut cells = Vec::new();
    for one in shown {
        cells.push(figure(step, step.figure(one.metric), write(one.metric)));
        if one.is_judged {
            cells.push(match step.said(one.metric) {
                Some(said) => ratio_cell(said.ratio.as_ref(), said.verdict.kind),
                None if row.facts.name == baseline => Cell::of(badge(Tone::Calm, "baseline")),
                None => Cell::text("–"),
            });
        }
    }
    cells
}

/// What came to nothing, with its kinds.
fn errors(step: &StepFigures) -> Cell {
    let errors = step.errors.iter();
    let kinds = errors.map(|(kind, count)| format!("{} {count}", kind.replace('_', " ")));
    let kinds: Vec<String> = kinds.collect();
    Cell::text(step.lost().to_string()).under(kinds.join(", "))
}

fn figure(step: &StepFigures, spread: Option<&Spread>, write: fn(f64) -> String) -> Cell {
    match spread {
        None if step.rounds == 0 => Cell::of(badge(Tone::Void, "void")),
        None => Cell::text("–"),
        // One round has no spread, which is not a spread of nothing.
        Some(spread) if step.rounds < 2 => Cell::text(write(spread.median)),
        Some(spread) => Cell::text(write(spread.median)).under(give_or_take(spread)),
    }
}

/// How long a request took in each row.
fn distribution(request: &InRows<'_>) -> Option<Markup> {
    let series = |(at, row, step): &(usize, &crate::Row, &StepFigures)| {
        let distribution = step.distribution.as_ref()?;
        Some(Series::new(&row.facts.name, *at, distribution.points()))
    };
    let series: Vec<Series> = request.rows.iter().filter_map(series).collect();
    if series.is_empty() {
        return None;
    }
    let y = Axis::new(
        "response time, each step up a multiple",
        Scale::Log,
        time_us,
    );
    Some(percentiles(
        &format!("{}: share done within a response time", request.name),
        "All valid rounds, with their histograms merged. A curve ends where fewer than three \
         exchanges lie beyond it.",
        &y,
        &series,
    ))
}
