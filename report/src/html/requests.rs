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
use crate::steps::{InRows, StepFigures, TIMES, by_request, explained, heading};

/// So many requests have their plot in view; a mix may have 65.
const PLOTS_SHOWN_MAX: usize = 6;

/// The section; nothing where all requests are alike.
pub(super) fn requests(report: &Report) -> Option<Section> {
    let all = by_request(report);
    if all.is_empty() {
        return None;
    }
    let mut headings = vec![
        ("request", Stand::Wide),
        ("subject", Stand::Words),
        ("requests/s", Stand::Figures),
    ];
    for metric in TIMES {
        headings.extend([
            (heading(metric), Stand::Figures),
            ("× baseline", Stand::Figures),
        ]);
    }
    headings.push(("errors", Stand::Figures));
    let rows: Vec<Vec<Cell>> = all.iter().flat_map(|one| cells(one, report)).collect();
    let plots: Vec<Markup> = all.iter().filter_map(distribution).collect();
    let (shown, more) = plots.split_at(plots.len().min(PLOTS_SHOWN_MAX));
    let body = html! {
        (table("", &headings, &rows))
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

/// One request in each row that has it.
fn cells(request: &InRows<'_>, report: &Report) -> Vec<Vec<Cell>> {
    let row = |(at, row, step): &(usize, &crate::Row, &StepFigures)| {
        let mut cells = vec![
            Cell::text(request.name),
            Cell::of(swatch(*at, &row.facts.name)),
            figure(step, step.requests_per_second.as_ref(), count),
        ];
        for metric in TIMES {
            cells.push(figure(step, step.time(metric), time_us));
            cells.push(match step.said(metric) {
                Some(said) => ratio_cell(said.ratio.as_ref(), said.verdict.kind),
                None if row.facts.name == report.setup.baseline => {
                    Cell::of(badge(Tone::Calm, "baseline"))
                }
                None => Cell::text("–"),
            });
        }
        let errors = step.errors.iter();
        let kinds = errors.map(|(kind, count)| format!("{} {count}", kind.replace('_', " ")));
        let kinds: Vec<String> = kinds.collect();
        cells.push(Cell::text(step.lost().to_string()).under(kinds.join(", ")));
        cells
    };
    request.rows.iter().map(row).collect()
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
