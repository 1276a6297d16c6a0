//! Searches so far, on a page.

use maud::{Markup, html};
use report::html::page::{Cell, Column, Tone, badge, note, table};
use report::html::plot::{Axis, Line, Scale, Series, lines};
use report::html::swatch;
use statistics::Spread;
use statistics::format::{count, per_second, time_us};

use super::{Search, Searches, Tried};

impl Searches {
    /// What is known by now.
    pub(crate) fn markup(&self) -> Markup {
        html! {
            @for (at, search) in self.0.iter().enumerate() { (search.markup(at)) }
            (self.curves())
        }
    }

    /// The 99th percentile over the rates that were tried, of each subject.
    fn curves(&self) -> Markup {
        let series: Vec<Series> = self.0.iter().enumerate().map(Search::curve).collect();
        let held = self.0.iter().filter_map(|search| {
            let held = search.bracket().0?;
            Some(Line::Upright(held, format!("held at {}", per_second(held))))
        });
        let x = Axis::new("offered rate per second", Scale::Linear, count);
        let y = Axis::new("response time", Scale::Log, time_us);
        lines(
            "99th percentile over the offered rate",
            "the median of the probes of each rate; upright: the highest rate that held so far",
            (&x, &y),
            &series,
            &held.collect::<Vec<_>>(),
        )
    }
}

impl Search {
    fn markup(&self, at: usize) -> Markup {
        let headings = [
            ("rate", Column::Figures),
            ("outcome", Column::Words),
            ("answered", Column::Figures),
            ("p50", Column::Figures),
            ("p99", Column::Figures),
            ("why", Column::Wide),
        ];
        // The newest are those that somebody who looks over wants to see.
        let rows: Vec<Vec<Cell>> = self.tried.iter().rev().map(Tried::cells).collect();
        html! {
            h3 { (swatch(at, &self.name)) }
            p.lead {
                (self.found())
                @if let Some(rate) = self.now { "; now " (per_second(rate)) }
            }
            @if let Some(what) = &self.failed { (note(Tone::Bad, "", what)) }
            @if !rows.is_empty() { (table("", &headings, &rows)) }
        }
    }

    fn curve((at, search): (usize, &Search)) -> Series {
        let tried = search.tried.iter();
        let mut points: Vec<(f64, f64)> = tried
            .filter_map(|tried| Some((tried.rate, tried.p99_us?)))
            .collect();
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let of_a_rate = points.chunk_by(|one, other| one.0 == other.0);
        let middles = of_a_rate.filter_map(|probes| {
            let p99s = Spread::of(probes.iter().map(|(_, p99_us)| *p99_us))?;
            Some((probes[0].0, p99s.median))
        });
        Series::new(&*search.name, at, middles.collect())
    }
}

impl Tried {
    fn cells(&self) -> Vec<Cell> {
        let time = |us: Option<f64>| Cell::text(us.map_or_else(|| "–".to_owned(), time_us));
        let (tone, word) = match self.held {
            Some(true) => (Tone::Good, "held"),
            Some(false) => (Tone::Bad, "failed"),
            None => (Tone::Warn, "unknown"),
        };
        let why = match self.held {
            Some(true) => Cell::none(),
            _ => Cell::text(&self.why),
        };
        vec![
            Cell::text(per_second(self.rate)),
            Cell::of(badge(tone, word)),
            // As the report has it.
            Cell::text(per_second(self.achieved.round())),
            time(self.p50_us),
            time(self.p99_us),
            why,
        ]
    }
}
