//! A load as its intervals come: sums over all of it, the last interval, and a row for each point
//! of its history.

use std::sync::Arc;

use chart::page::{Cell, Column, Section, facts, table};
use chart::plot::{Blank, Scale};
use maud::{Markup, html};
use measure::counters::{Errors, Statuses};
use measure::histogram::Histogram;
use measure::interval::{Interval, Phase};
use measure::time::Time;
use statistics::format::{bytes, digits, time_us, whole};

use super::Title;
use super::drawing::{self, Drawn, quantile, rounded, us};
use super::view::{Parts, Plot, Progress, Rows, View};
use crate::history::is_sliver;
use crate::own::Own;
use crate::{Course, History, Point};

/// A kind of load, and how it's shown.
pub(super) trait Load: Course {
    /// What it is, in a word.
    const NOUN: &'static str;
    /// The plots; what they draw stands in the rows in their order.
    const PLOTS: &'static [Drawn];

    /// What the plots draw of a point.
    fn cells(point: &Point, title: &Title) -> Vec<Option<f64>>;

    /// The sections of the page, of which `plots` are to be part.
    fn sections(title: &Title, plots: Vec<Markup>) -> Vec<Section>;

    /// The parts that change.
    fn parts(load: &Loaded<Self>) -> Vec<(&'static str, Markup)>;
}

/// See the module.
pub(super) struct Loaded<C: Load> {
    pub title: Title,
    /// All of it.
    pub sum: C,
    /// Requests that fell due in it; none in a closed loop.
    pub offered: Option<u64>,
    /// The last interval of the measured window.
    pub last: Option<Arc<Interval<C>>>,
    /// Connections that stand.
    pub connected: u64,
    /// This process.
    pub own: Own,
    pub is_begun: bool,
    /// The drain has come: nothing more is measured.
    pub is_over: bool,
    rows: Rows,
    history: History,
}

impl<C: Load> Loaded<C> {
    /// Nothing yet.
    pub(super) fn new(title: Title) -> Loaded<C> {
        Loaded {
            title,
            sum: C::default(),
            offered: None,
            last: None,
            connected: 0,
            own: Own::default(),
            is_begun: false,
            is_over: false,
            rows: Rows::new(drawing::width(C::PLOTS)),
            history: History::new(),
        }
    }

    /// One more interval, which came at `now`.
    pub(super) fn add(&mut self, interval: Arc<Interval<C>>, now: Time) {
        self.is_begun = true;
        self.sum.merge(&interval.counted);
        self.offered = match (self.offered, interval.offered) {
            (Some(before), Some(more)) => Some(before + more),
            (before, more) => more.or(before),
        };
        self.connected = interval.connected;
        if interval.phase == Phase::Drain {
            self.is_over = true;
            return;
        }
        self.own = self.own.follow(now);
        self.history.add(&interval);
        match &mut self.last {
            // What the window ends with may be a moment of which no rate means anything.
            Some(last) if is_sliver(interval.from_ns, interval.until_ns) => {
                Arc::make_mut(last).join(&interval);
            }
            last => *last = Some(interval),
        }
        let each_s = self.history.each_s();
        if self.rows.each_s != each_s {
            self.rows.each_s = each_s;
            self.rows.clear();
        }
        // The last one may have grown.
        self.rows.pop();
        for point in &self.history.points()[self.rows.len()..] {
            let middle_s = (point.from_ns + point.until_ns) as f64 / 2e9;
            let mut row = vec![Some(rounded(middle_s))];
            row.extend(C::cells(point, &self.title));
            self.rows.push(&row);
        }
    }

    /// How many cells its distributions over time have.
    #[cfg(test)]
    pub(super) fn cells(&self) -> usize {
        let points = self.history.points().iter();
        points.map(Point::cells).sum()
    }

    /// How often something happened in a second of the last interval.
    pub(super) fn rate(&self, of: impl Fn(&C) -> u64) -> f64 {
        let last = self.last.as_deref();
        last.map_or(0.0, |last| {
            of(&last.counted) as f64 / last.seconds().max(1e-9)
        })
    }

    /// How often something happened in a second of the whole measured window.
    pub(super) fn mean_rate(&self, count: u64) -> f64 {
        let until_ns = self.last.as_deref().map_or(0, |last| last.until_ns);
        count as f64 / (until_ns as f64 / 1e9).max(1e-9)
    }

    /// A quantile of times, for a tile, and what it's of: of the last interval, with that of the
    /// whole; when all is over of the whole alone.
    pub(super) fn times(
        &self,
        of: impl Fn(&C) -> &Histogram,
        q: f64,
        whole: &str,
    ) -> (String, String) {
        let all = quantile(of(&self.sum), q);
        match self.is_over {
            true => (all, whole.to_owned()),
            false => (self.lately(of, q), format!("{whole} {all}")),
        }
    }

    /// A quantile of times in the last interval.
    pub(super) fn lately(&self, of: impl Fn(&C) -> &Histogram, q: f64) -> String {
        let last = self.last.as_deref();
        last.map_or_else(|| "–".to_owned(), |last| quantile(of(&last.counted), q))
    }

    /// What this process takes, and `received, sent` as those of the sum are.
    pub(super) fn takes(&self, bytes_of: impl Fn(&C) -> (u64, u64)) -> Vec<(&'static str, Markup)> {
        let mut rows = Vec::new();
        if let Some(cpus) = self.own.cpus {
            let spins = match self.offered {
                Some(_) => "; its workers spin before they send",
                None => "",
            };
            rows.push(("processors in use", html! { (digits(cpus)) (spins) }));
        }
        if let Some(resident) = self.own.resident_bytes {
            rows.push(("memory", html! { (bytes(resident as f64)) }));
        }
        let per_s = |rate: f64| format!("{}/s", bytes(rate));
        let (received, sent) = (
            per_s(self.rate(|counted| bytes_of(counted).0)),
            per_s(self.rate(|counted| bytes_of(counted).1)),
        );
        rows.push(("received, sent", html! { (received) ", " (sent) }));
        rows
    }
}

impl<C: Load> View for Loaded<C> {
    fn noun(&self) -> &'static str {
        C::NOUN
    }

    fn sections(&self) -> Vec<Section> {
        C::sections(&self.title, drawing::blanks(C::PLOTS))
    }

    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn plots(&self) -> Vec<Option<Plot>> {
        drawing::axes(C::PLOTS, &self.rows)
    }

    fn status(&self, progress: &Progress) -> String {
        let so_far = drawing::so_far(progress);
        match progress.what {
            "" => so_far,
            what => format!("{so_far}, {what}"),
        }
    }

    fn share(&self, progress: &Progress) -> Option<f64> {
        let total_s = progress.total_s.filter(|total_s| *total_s > 0.0)?;
        Some(progress.elapsed_s / total_s)
    }

    fn parts(&self) -> Parts {
        let parts = C::parts(self).into_iter();
        parts
            .map(|(name, part)| (name, part.into_string()))
            .collect()
    }

    fn has_a_clock(&self) -> bool {
        true
    }
}

/// The plot of how late things are sent that have a due time.
pub(super) const fn late(axes: (&'static str, &'static str), more: &'static str) -> Drawn {
    Drawn {
        blank: Blank {
            title: "Lateness",
            more,
            axes,
            series: &[("mean", 1), ("max", 7)],
        },
        scale: Scale::Log,
        write: time_us,
    }
}

/// What it draws.
pub(super) fn late_cells(point: &Point) -> [Option<f64>; 2] {
    let late = &point.lateness;
    [late.mean_ns().map(us), late.longest_ns().map(us)]
}

/// What went wrong, most of it first.
pub(super) fn errors(errors: &Errors) -> Markup {
    let mut kinds: Vec<_> = errors.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let rows: Vec<Vec<Cell>> = kinds
        .into_iter()
        .map(|(kind, count)| {
            vec![
                Cell::text(kind.name().replace('_', " ")),
                Cell::text(whole(count)),
                Cell::text(kind.text()),
            ]
        })
        .collect();
    let headings = [
        ("kind", Column::Words),
        ("how many", Column::Figures),
        ("what it means", Column::Wide),
    ];
    html! {
        @if rows.is_empty() { p.small { "None so far." } } @else { (table("", &headings, &rows)) }
    }
}

/// Answers by status; nothing where none has one.
pub(super) fn statuses(statuses: &Statuses) -> Markup {
    let rows: Vec<_> = statuses
        .iter()
        .map(|(status, n)| (status.to_string(), html! { (whole(n)) }))
        .collect();
    html! {
        @if !rows.is_empty() {
            h3 { "Answers by status" }
            (facts(&rows))
        }
    }
}
