//! What is shown of a run.

use chart::page::{Cell, Column, Section, facts, table};
use chart::plot::{Blank, Scale};
use maud::{Markup, html};
use measure::tally::Counted;
use statistics::format::{count, digits, per_second, time_us, whole};

use super::Title;
use super::drawing::{Drawn, part, quantile, rounded, tiles, us};
use super::load::{Load, Loaded, errors, late, late_cells, statuses};
use crate::{Events, Point};

const TIME: &str = "time since the start of the measured window";
/// Quantiles of response times that are drawn.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];
/// Those of streams' times.
const OF_EVENTS: [f64; 3] = [0.5, 0.99, 1.0];
/// So many plots are of the load; those behind them are of the generator.
const OVER_TIME: usize = 6;

impl Load for Counted {
    const NOUN: &'static str = "run";

    const PLOTS: &'static [Drawn] = &[
        Drawn {
            blank: Blank {
                title: "Rate",
                more: "requests that were due, that were answered, and that failed",
                axes: (TIME, "requests per second"),
                series: &[("due", 7), ("answered", 1), ("failed", 2)],
            },
            scale: Scale::FromZero,
            write: count,
        },
        Drawn {
            blank: Blank {
                title: "Response time",
                more: "from when a request was due to its answer; each decade takes the same space",
                axes: (TIME, "response time"),
                series: &[("p50", 1), ("p90", 3), ("p99", 2), ("max", 7)],
            },
            scale: Scale::Log,
            write: time_us,
        },
        Drawn {
            blank: Blank {
                title: "Connections",
                more: "",
                axes: (TIME, "connections that stand"),
                series: &[("connections", 1)],
            },
            scale: Scale::FromZero,
            write: count,
        },
        Drawn {
            blank: Blank {
                title: "Events",
                more: "inside answers, or messages of streams",
                axes: (TIME, "events per second"),
                series: &[("events", 1)],
            },
            scale: Scale::FromZero,
            write: count,
        },
        of_events(
            "First event",
            "from when a stream was due to its first event",
            (TIME, "time to the first event"),
        ),
        of_events(
            "Event gaps",
            "from each event of a stream to the next",
            (TIME, "time between events"),
        ),
        late(
            (TIME, "lateness"),
            "from when a request was due to when it was sent",
        ),
    ];

    fn cells(point: &Point, _: &Title) -> Vec<Option<f64>> {
        let rate = |count| Some(rounded(point.rate(count)));
        let times = &point.times;
        let mut cells = vec![
            point.offered.and_then(rate),
            rate(point.completed),
            // Nothing is drawn where nothing failed.
            (point.failed > 0).then(|| rate(point.failed)).flatten(),
        ];
        let time = |q| (!times.is_empty()).then(|| us(times.quantile(q) as f64));
        cells.extend(QUANTILES.map(time));
        cells.push(Some(point.connected as f64));
        cells.extend(event_cells(&point.events, |count| point.rate(count)));
        cells.extend(late_cells(point));
        cells
    }

    fn sections(title: &Title, plots: Vec<Markup>) -> Vec<Section> {
        let mut plots = plots.into_iter();
        let over_time = plots.by_ref().take(OVER_TIME);
        let over_time = html! { @for plot in over_time { (plot) } };
        let mut sections = vec![
            Section::new("Over time", "", over_time),
            Section::new("Errors", "", part("errors")),
        ];
        if !title.steps.is_empty() {
            let lead = "Rates and times are those of the last interval.";
            sections.push(Section::new("Requests", lead, part("steps")));
        }
        sections.push(Section::new(
            "The generator itself",
            "What it adds to the figures above, and what it takes to make this load.",
            html! { (part("own")) @for plot in plots { (plot) } },
        ));
        sections
    }

    fn parts(load: &Loaded<Counted>) -> Vec<(&'static str, Markup)> {
        let wrong = html! { (errors(&load.sum.errors)) (statuses(&load.sum.statuses)) };
        let mut parts = vec![
            ("figures", figures(load)),
            ("errors", wrong),
            ("own", own(load)),
        ];
        if !load.title.steps.is_empty() {
            parts.push(("steps", steps(load)));
        }
        parts
    }
}

/// A plot of times in streams; it's hidden where there are none.
const fn of_events(
    title: &'static str,
    more: &'static str,
    axes: (&'static str, &'static str),
) -> Drawn {
    Drawn {
        blank: Blank {
            title,
            more,
            axes,
            series: &[("p50", 1), ("p99", 2), ("max", 7)],
        },
        scale: Scale::Log,
        write: time_us,
    }
}

/// What the plots of streams draw: their rate, and both times.
fn event_cells(events: &Events, rate: impl Fn(u64) -> f64) -> Vec<Option<f64>> {
    let is_any = events.count > 0;
    let mut cells = vec![is_any.then(|| rounded(rate(events.count)))];
    for times in [&events.first, &events.gaps] {
        let time = |q| (!times.is_empty()).then(|| us(times.quantile(q) as f64));
        cells.extend(OF_EVENTS.map(time));
    }
    cells
}

/// What somebody who looks over wants to know first.
fn figures(load: &Loaded<Counted>) -> Markup {
    let sum = &load.sum;
    let last = load.last.as_deref();
    let lately = last.and_then(|last| Some(last.offered? as f64 / last.seconds().max(1e-9)));
    let offered = match load.is_over {
        true => load.offered.map(|offered| load.mean_rate(offered)),
        false => lately,
    };
    let due = match offered {
        Some(rate) => format!("of {} due", per_second(rate)),
        None => "closed loop".to_owned(),
    };
    let time_at = |q| load.times(|counted| &counted.response, q, "whole run");
    let ((median, of_median), (p99, of_p99)) = (time_at(0.5), time_at(0.99));
    let ended = sum.completed + sum.failed;
    let share = 100.0 * sum.failed as f64 / (ended.max(1)) as f64;
    let left = match sum.unfinished {
        0 => "since the start".to_owned(),
        left => format!("{} unfinished", whole(left)),
    };
    let rate = match load.is_over {
        true => load.mean_rate(sum.completed.saturating_sub(sum.completed_late)),
        false => load.rate(|counted| counted.completed),
    };
    let rate = per_second(rate);
    let reconnects = format!("{} reconnects", whole(sum.reconnects));
    let figures = [
        ("rate", rate, due),
        ("median response", median, of_median),
        ("99th percentile", p99, of_p99),
        ("answered", whole(sum.completed), left),
        ("failed", whole(sum.failed), format!("{} %", digits(share))),
        ("connections", whole(load.connected), reconnects),
    ];
    let figures: Vec<_> = figures.into_iter().chain(of_streams(load)).collect();
    html! {
        @if load.is_begun { (tiles(&figures)) } @else { p.lead { "Nothing is measured yet." } }
    }
}

/// The same of events inside answers; nothing where nobody looks for them.
fn of_streams(load: &Loaded<Counted>) -> Vec<(&'static str, String, String)> {
    let streams = &load.sum.streams;
    if streams.is_empty() {
        return Vec::new();
    }
    let rate = match load.is_over {
        true => load.mean_rate(streams.events),
        false => load.rate(|counted| counted.streams.events),
    };
    let all = format!("{} in all", whole(streams.events));
    let (first, of_first) = load.times(|counted| &counted.streams.first_event, 0.99, "whole run");
    let (gap, of_gap) = load.times(|counted| &counted.streams.event_gap, 0.99, "whole run");
    vec![
        ("events", per_second(rate), all),
        ("p99 of first event", first, of_first),
        ("p99 of event gaps", gap, of_gap),
    ]
}

fn steps(load: &Loaded<Counted>) -> Markup {
    let headings = [
        ("request", Column::Words),
        ("answered", Column::Figures),
        ("failed", Column::Figures),
        ("per second", Column::Figures),
        ("p50", Column::Figures),
        ("p99", Column::Figures),
        ("p99, whole run", Column::Figures),
    ];
    let rows = load.title.steps.iter().enumerate().map(|(place, name)| {
        let last = load.last.as_deref();
        let last = last.and_then(|last| last.counted.steps.get(place));
        let sum = load.sum.steps.get(place);
        let nothing = || "–".to_owned();
        let lately = |q| last.map_or_else(nothing, |step| quantile(&step.response, q));
        let answered = load.rate(|counted| {
            let step = counted.steps.get(place);
            step.map_or(0, |step| step.completed)
        });
        vec![
            Cell::text(name),
            Cell::text(whole(sum.map_or(0, |step| step.completed))),
            Cell::text(whole(sum.map_or(0, |step| step.failed))),
            Cell::text(per_second(answered)),
            Cell::text(lately(0.5)),
            Cell::text(lately(0.99)),
            Cell::text(sum.map_or_else(nothing, |step| quantile(&step.response, 0.99))),
        ]
    });
    table("", &headings, &rows.collect::<Vec<_>>())
}

/// What the generator itself does to the figures.
fn own(load: &Loaded<Counted>) -> Markup {
    let sum = &load.sum;
    let mut rows: Vec<(&str, Markup)> = Vec::new();
    if load.offered.is_some() {
        let late = |q| quantile(&sum.lateness, q);
        let text = format!(
            "{} at the median, {} at p99, {} at most",
            late(0.5),
            late(0.99),
            late(1.0)
        );
        rows.push(("sent late by", html! { (text) }));
    }
    let waits = &sum.waits.counts;
    let causes = [
        (waits.busy, "while every connection was busy"),
        (waits.connecting, "for connections that were being opened"),
        (waits.closing, "for connections that were being closed"),
        (
            waits.back_off,
            "for connections that had failed and weren't retried yet",
        ),
        (waits.unreachable, "for a server that was away"),
        (
            waits.refused,
            "for being sent again, since the server had refused them",
        ),
        (waits.late, "for the generator, for more than a millisecond"),
    ];
    let waited = causes.iter().filter(|(n, _)| *n > 0);
    let waited: Vec<_> = waited
        .map(|(n, why)| format!("{} {why}", whole(*n)))
        .collect();
    let text = match waited.is_empty() {
        true => "none".to_owned(),
        false => waited.join("; "),
    };
    rows.push(("requests that waited", html! { (text) }));
    rows.extend(load.takes(|counted| (counted.bytes_received, counted.bytes_sent)));
    match load.is_begun {
        true => facts(&rows),
        false => html! {},
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use measure::interval::{Interval, Phase};
    use measure::time::Time;

    use super::super::view::View;
    use super::*;
    use crate::POINTS_MAX;

    fn interval(second: u64, phase: Phase) -> Arc<Interval> {
        let mut counted = Counted::new();
        counted.completed = 3;
        counted.failed = second % 2;
        for n in 0..3 {
            counted.response.record(1_000_000 + second * 1_000 + n);
            counted.lateness.record(n);
        }
        Arc::new(Interval {
            seq: second,
            joined: 1,
            phase,
            from_ns: second * 1_000_000_000,
            until_ns: (second + 1) * 1_000_000_000,
            offered: Some(4),
            connected: 7,
            counted,
        })
    }

    fn rows(load: &Loaded<Counted>) -> Vec<Vec<Option<f64>>> {
        load.rows().iter().map(<[_]>::to_vec).collect()
    }

    #[test]
    fn every_row_is_that_of_its_point_and_hours_keep_within_bounds() {
        const SECONDS: u64 = POINTS_MAX as u64 + 11;
        let mut load = Loaded::<Counted>::new(Title::default());
        let mut was = Vec::new();
        for second in 0..SECONDS {
            let each_s = load.rows().each_s;
            load.add(interval(second, Phase::Measure), Time(second));
            // What a browser has may be kept up to its last row, as long as rows are as long.
            let now = rows(&load);
            if load.rows().each_s == each_s && !was.is_empty() {
                let kept = was.len() - 1;
                assert_eq!(now[..kept], was[..kept], "{second}");
            }
            was = now;
        }
        load.add(interval(SECONDS, Phase::Drain), Time(SECONDS));
        assert_eq!(load.rows().each_s, 2);
        assert!(was.len() <= POINTS_MAX);
        assert_eq!(was, rows(&load), "the drain has no row");
        assert_eq!(load.sum.completed, 3 * (SECONDS + 1));
        assert_eq!(load.offered, Some(4 * (SECONDS + 1)));
        // In the middle of its two seconds: due, answered, and of one of them a failure.
        assert_eq!(was[0][..4], [1.0, 4.0, 3.0, 0.5].map(Some));
    }
}
