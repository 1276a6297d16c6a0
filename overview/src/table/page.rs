//! A comparison so far, on a page.

use lab::verdict::{Kind, Metric};
use maud::{Markup, html};
use report::html::page::{Cell, Column, Tone, badge, note, sentences, table};
use report::html::plot::{Axis, Interval, Scale, intervals};
use report::html::{range, ratio_cell, swatch};
use report::written;
use statistics::format::{give_or_take, percent, ratio};

use super::{Row, Table};

impl Table {
    /// What is known by now.
    pub(crate) fn markup(&self) -> Markup {
        let Some(metric) = self.metric else {
            return html! { p.lead { "Nothing is measured yet." } };
        };
        let headings = [
            ("subject", Column::Words),
            ("rounds", Column::Figures),
            (metric.name(), Column::Figures),
            ("× baseline", Column::Figures),
            ("generator", Column::Figures),
        ];
        let rows = self.rows.iter().enumerate();
        let rows: Vec<Vec<Cell>> = rows.map(|(at, row)| self.cells(at, row, metric)).collect();
        let trouble: Vec<String> = self.rows.iter().filter_map(Row::trouble).collect();
        html! {
            @if !self.point.is_empty() { p.lead { "At " (self.point) "." } }
            (table("", &headings, &rows))
            (self.says())
            @if !trouble.is_empty() {
                div.notes { @for what in &trouble { (note(Tone::Warn, "", what)) } }
            }
            (self.ratios(metric))
        }
    }

    /// How much of it is over, as a share of its rounds; less may do, with `--precision`.
    pub(crate) fn share(&self) -> Option<f64> {
        self.share
    }

    fn cells(&self, at: usize, row: &Row, metric: Metric) -> Vec<Cell> {
        let is_current = self.current.as_ref() == Some(&row.name);
        let name = html! {
            (swatch(at, &row.name)) @if is_current { " " (badge(Tone::Calm, "now")) }
        };
        let figure = row.figure.map_or_else(
            || Cell::text("–"),
            |spread| {
                let median = Cell::text(written(metric)(spread.median));
                match row.rounds {
                    // One round has no spread, which isn't a spread of nothing.
                    0 | 1 => median,
                    _ => median.under(give_or_take(&spread)),
                }
            },
        );
        vec![
            Cell::of(name).under(row.role),
            Cell::text(format!("{}/{}", row.rounds, self.rounds)),
            figure,
            ratio_cell(row.ratio.as_ref(), row.kind),
            Cell::text(row.generator_busy.map_or_else(|| "–".to_owned(), percent)),
        ]
    }

    /// What could be said if nothing more came, or what the report says.
    fn says(&self) -> Markup {
        let said = self.rows.iter().filter(|row| row.says_something());
        let said: Vec<String> = said.map(|row| row.says.clone()).collect();
        html! {
            @if !said.is_empty() {
                h3 {
                    @if self.is_over { "What can be said" }
                    @else { "Preliminary, as of the rounds so far" }
                }
                (sentences(&said))
            }
        }
    }

    /// The ratios with their confidence intervals, which grow narrower with each round.
    fn ratios(&self, metric: Metric) -> Markup {
        if self.rows.iter().all(|row| row.ratio.is_none()) {
            return html! {};
        }
        let rows: Vec<Interval> = self.rows.iter().enumerate().map(Row::interval).collect();
        let title = format!("{} as a multiple of {}'s", metric.name(), self.baseline);
        let more = "Dot: the ratio. Whiskers: its confidence interval by now, which grows narrower \
                    with more rounds. One that crosses the dotted line shows no difference.";
        let better = match metric.more_is_better() {
            true => "further right is more, and better",
            false => "further right is more, and worse",
        };
        let means = format!("as {}", self.baseline);
        let axis = Axis::new(better, Scale::Log, plain);
        intervals(&title, more, &axis, (1.0, &*means), &rows)
    }
}

impl Row {
    fn interval((at, row): (usize, &Row)) -> Interval {
        let found = row.ratio.as_ref();
        let is_baseline = row.kind == Kind::Baseline && row.figure.is_some();
        Interval {
            name: row.name.clone(),
            style: at,
            range: match found {
                Some(found) => Some((found.low, found.centre, found.high)),
                None => is_baseline.then_some((1.0, 1.0, 1.0)),
            },
            value: match (found, row.kind) {
                (Some(found), _) => ratio(found.centre),
                (None, Kind::Baseline) => "1".to_owned(),
                (None, Kind::Void) => "void".to_owned(),
                (None, Kind::Ceiling) => "ceiling".to_owned(),
                (None, _) => "not known yet".to_owned(),
            },
            more: found.map_or_else(String::new, range),
        }
    }
}

/// A number without zeros at its end.
fn plain(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
