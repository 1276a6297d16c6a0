//! What is shown of a hold.

use chart::page::{Section, facts};
use chart::plot::{Blank, Scale};
use maud::{Markup, html};
use measure::hold::Counted;
use statistics::format::{count, digits, per_second, time_us, whole};

use super::Title;
use super::drawing::{Drawn, part, quantile, rounded, tiles, us};
use super::load::{Load, Loaded, errors, late, late_cells, statuses};
use crate::Point;

const TIME: &str = "time since the first attempt to connect";
/// Quantiles of heartbeats' times that are drawn.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 1.0];
/// So many plots are part of the first section.
const OVER_TIME: usize = 4;

impl Load for Counted {
    const NOUN: &'static str = "hold";

    const PLOTS: &'static [Drawn] = &[
        Drawn {
            blank: Blank {
                title: "Connections",
                more: "those that were asked for, and those that stand",
                axes: (TIME, "connections"),
                series: &[("asked for", 7), ("open", 1)],
            },
            scale: Scale::FromZero,
            write: count,
        },
        Drawn {
            blank: Blank {
                title: "What happened to connections",
                more: "nothing is drawn where nothing was lost",
                axes: (TIME, "connections per second"),
                series: &[("opened", 1), ("lost", 2), ("reconnected", 3)],
            },
            scale: Scale::FromZero,
            write: count,
        },
        Drawn {
            blank: Blank {
                title: "Heartbeats",
                more: "those that were due, that were answered, and that failed",
                axes: (TIME, "heartbeats per second"),
                series: &[("due", 7), ("answered", 1), ("failed", 2)],
            },
            scale: Scale::FromZero,
            write: count,
        },
        Drawn {
            blank: Blank {
                title: "Heartbeat time",
                more: "from sending a heartbeat to its answer; each decade takes the same space",
                axes: (TIME, "heartbeat time"),
                series: &[("p50", 1), ("p90", 3), ("p99", 2), ("max", 7)],
            },
            scale: Scale::Log,
            write: time_us,
        },
        Drawn {
            blank: Blank {
                title: "Set-up",
                more: "from the start of an attempt until the connection can be used",
                axes: (TIME, "set-up time"),
                series: &[("mean", 1), ("max", 7)],
            },
            scale: Scale::Log,
            write: time_us,
        },
        late(
            (TIME, "lateness"),
            "from when a heartbeat was due to when it was sent",
        ),
    ];

    fn cells(point: &Point, title: &Title) -> Vec<Option<f64>> {
        let rate = |count| Some(rounded(point.rate(count)));
        let some = |count: u64| (count > 0).then(|| rate(count)).flatten();
        let (times, turnover) = (&point.times, &point.turnover);
        let mut cells = vec![
            Some(f64::from(title.asked)),
            Some(point.connected as f64),
            rate(turnover.opened),
            some(turnover.lost),
            some(turnover.reconnects),
            point.offered.and_then(rate),
            rate(point.completed),
            some(point.failed),
        ];
        let time = |q| (!times.is_empty()).then(|| us(times.quantile(q) as f64));
        cells.extend(QUANTILES.map(time));
        let set_up = &turnover.set_up;
        cells.extend([set_up.mean_ns().map(us), set_up.longest_ns().map(us)]);
        cells.extend(late_cells(point));
        cells
    }

    fn sections(_: &Title, plots: Vec<Markup>) -> Vec<Section> {
        let (over_time, rest) = plots.split_at(OVER_TIME);
        let (set_up, own) = rest.split_at(1);
        vec![
            Section::new("Over time", "", html! { @for plot in over_time { (plot) } }),
            Section::new("Errors", "", part("errors")),
            Section::new(
                "Opening connections",
                "",
                html! { (part("opening")) @for plot in set_up { (plot) } },
            ),
            Section::new(
                "The generator itself",
                "What it adds to the figures above, and what it takes to hold these connections.",
                html! { (part("own")) @for plot in own { (plot) } },
            ),
        ]
    }

    fn parts(load: &Loaded<Counted>) -> Vec<(&'static str, Markup)> {
        vec![
            ("figures", figures(load)),
            ("errors", wrong(load)),
            ("opening", opening(load)),
            ("own", own(load)),
        ]
    }
}

/// What somebody who looks over wants to know first.
fn figures(load: &Loaded<Counted>) -> Markup {
    let (sum, counts) = (&load.sum, &load.sum.counts);
    let time_at = |q| load.times(|counted| &counted.heartbeat, q, "whole hold");
    let ((median, of_median), (p99, of_p99)) = (time_at(0.5), time_at(0.99));
    let answered = per_second(load.rate(|counted| counted.counts.answered));
    let ended = counts.answered + counts.failed;
    let share = 100.0 * counts.failed as f64 / (ended.max(1)) as f64;
    let given_up = format!("{} given up", whole(sum.given_up));
    let survivors = sum.stood.saturating_sub(sum.fallen);
    let survived = match sum.stood {
        0 => "–".to_owned(),
        _ => whole(survivors),
    };
    let left = match sum.unfinished {
        0 => "due, but not sent".to_owned(),
        left => format!("{} unfinished", whole(left)),
    };
    let figures = [
        (
            "open",
            whole(load.connected),
            format!("of {}", whole(u64::from(load.title.asked))),
        ),
        (
            "lost",
            whole(counts.lost()),
            format!("of {} opened", whole(counts.opened)),
        ),
        (
            "survived",
            survived,
            "never lost since its start".to_owned(),
        ),
        ("reconnects", whole(counts.reconnects), given_up),
        (
            "answered",
            whole(counts.answered),
            format!("{answered} in the last second"),
        ),
        (
            "failed",
            whole(counts.failed),
            format!("{} %", digits(share)),
        ),
        ("skipped", whole(sum.skipped), left),
        ("median heartbeat", median, of_median),
        ("99th percentile", p99, of_p99),
    ];
    html! {
        @if load.is_begun { (tiles(&figures)) } @else { p.lead { "Nothing is opened yet." } }
    }
}

/// Why connections were lost, attempts to connect failed, and heartbeats failed.
fn wrong(load: &Loaded<Counted>) -> Markup {
    let sum = &load.sum;
    let closes: Vec<_> = sum.closes.by_code().into_iter().collect();
    let closes: Vec<_> = closes
        .iter()
        .map(|(code, n)| (code, html! { (whole(*n)) }))
        .collect();
    html! {
        div data-errors="losses" {
            h3 { "Connections that were lost" }
            (errors(&sum.counts.losses))
        }
        div data-errors="failed_attempts" {
            h3 { "Attempts to connect that failed" }
            (errors(&sum.attempts))
        }
        div data-errors="heartbeat_errors" {
            h3 { "Heartbeats that failed" }
            (errors(&sum.heartbeat_errors))
        }
        (statuses(&sum.statuses))
        @if !closes.is_empty() {
            h3 { "Close codes" }
            (facts(&closes))
        }
    }
}

/// How connections come to stand, for the first time and again.
fn opening(load: &Loaded<Counted>) -> Markup {
    let sum = &load.sum;
    let times = |times| {
        let at = |q| quantile(times, q);
        let text = format!("{} at the median, {} at p99", at(0.5), at(0.99));
        html! { (text) }
    };
    let counts = &sum.counts;
    let attempts = format!(
        "{}, of which {} led to a connection",
        whole(counts.attempts),
        whole(counts.opened)
    );
    let mut rows = vec![
        ("attempts", html! { (attempts) }),
        ("set up in", times(&sum.set_up)),
    ];
    if !sum.re_establish.is_empty() {
        rows.push(("from loss to reconnect", times(&sum.re_establish)));
    }
    let broadcasts = &sum.broadcasts;
    if !broadcasts.heard_after.is_empty() {
        rows.push(("broadcasts heard after", times(&broadcasts.heard_after)));
    }
    match load.is_begun {
        true => facts(&rows),
        false => html! {},
    }
}

/// What the generator itself does to the figures.
fn own(load: &Loaded<Counted>) -> Markup {
    let late = |q| quantile(&load.sum.lateness, q);
    let text = format!(
        "{} at the median, {} at p99, {} at most",
        late(0.5),
        late(0.99),
        late(1.0)
    );
    let mut rows = vec![("sent late by", html! { (text) })];
    rows.extend(load.takes(|counted| (counted.bytes_received, counted.bytes_sent)));
    match load.is_begun {
        true => facts(&rows),
        false => html! {},
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use measure::counters::ErrorKind;
    use measure::interval::{Interval, Phase};
    use measure::time::Time;

    use super::super::view::View;
    use super::*;

    #[test]
    fn what_stands_what_was_lost_and_why_are_counts_of_all_intervals() {
        let asked = 1_000;
        let title = Title {
            asked,
            ..Title::default()
        };
        let mut load = Loaded::<Counted>::new(title);
        assert!(load.parts()["figures"].contains("Nothing is opened yet"));
        for second in 0..9 {
            let mut counted = Counted::default();
            counted.counts.attempts = 120;
            counted.counts.opened = 100;
            counted.counts.reconnects = second % 2;
            counted.counts.answered = 40;
            (counted.sent, counted.skipped) = (41, 2);
            counted.counts.losses.add(ErrorKind::Reset);
            (0..40).for_each(|n| counted.heartbeat.record(1_000_000 + n * 5_000));
            (0..100).for_each(|_| counted.set_up.record(2_000_000));
            counted.lateness.record(1_000);
            let interval = Interval {
                seq: second,
                joined: 1,
                phase: Phase::Measure,
                from_ns: second * 1_000_000_000,
                until_ns: (second + 1) * 1_000_000_000,
                offered: None,
                connected: 99 * (second + 1),
                counted,
            };
            load.add(Arc::new(interval), Time(second));
        }
        let parts = load.parts();
        for (name, value) in [
            ("open", "891"),
            ("lost", "9"),
            ("reconnects", "4"),
            ("answered", "360"),
            ("skipped", "18"),
        ] {
            let tile = format!("<dt>{name}</dt><dd><b>{value}</b>");
            assert!(
                parts["figures"].contains(&tile),
                "{tile}: {}",
                parts["figures"]
            );
        }
        assert!(parts["errors"].contains("reset"), "{}", parts["errors"]);
        assert!(
            parts["opening"].contains("1,080, of which 900"),
            "{}",
            parts["opening"]
        );
        let rows: Vec<_> = load.rows().iter().collect();
        let cells = [0.5, 1000.0, 99.0, 100.0, 1.0].map(Some);
        assert_eq!(rows[0][..5], cells);
        // None was reconnected, 43 were due, 40 answered, and none failed.
        assert_eq!(rows[0][5..9], [None, Some(43.0), Some(40.0), None]);
        assert!(load.plots().iter().all(Option::is_some));
    }
}
