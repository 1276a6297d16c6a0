//! The page, and the parts of it that change. It's made of what reports are made of.

use std::collections::BTreeMap;

use chart::page::{Cell, Column, Script, Section, Tone, bar, facts, note, scripted, table};
use chart::plot::{Axis, Blank, Scale, fitted};
use maud::{Markup, html};
use measure::histogram::Sparse;
use serde::Serialize;
use statistics::format::{bytes, count, digits, per_second, time_us, whole};

use super::Title;
use super::board::{CONNECTED_AT, LATENESS_AT, Progress, RATES_AT, RESPONSE_AT, Row, Stage, State};

/// What the page does in the browser.
pub(super) const SCRIPT: &str = include_str!("page.js");
const SHEET: &str = include_str!("page.css");

/// A plot of the page: which columns of rows it draws, and how.
struct Drawn {
    blank: Blank<'static>,
    first: usize,
    scale: Scale,
    write: fn(f64) -> String,
}

const TIME: &str = "time since the start of the measured window";
const PLOTS: [Drawn; 4] = [
    Drawn {
        blank: Blank {
            title: "Rate",
            more: "requests that were due, that were answered, and that failed",
            axes: (TIME, "requests per second"),
            series: &[("due", 7), ("answered", 1), ("failed", 2)],
        },
        first: RATES_AT,
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
        first: RESPONSE_AT,
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
        first: CONNECTED_AT,
        scale: Scale::FromZero,
        write: count,
    },
    Drawn {
        blank: Blank {
            title: "Lateness",
            more: "from when a request was due to when it was sent",
            axes: (TIME, "lateness"),
            series: &[("mean", 1), ("max", 7)],
        },
        first: LATENESS_AT,
        scale: Scale::Log,
        write: time_us,
    },
];

/// The whole page, with nothing of the run in it yet.
pub(super) fn page(title: &Title) -> String {
    let lead = html! {
        p.kicker { b { "Live" } span { (title.text) } }
        h1.large #status { "Connecting" }
        (part("progress"))
        p.controls {
            button #stop type="button" hidden { "End the run" }
            span #said role="status" {}
        }
        noscript { (note(Tone::Warn, "No script.", "This page shows nothing without its script.")) }
        (part("notes"))
        (part("figures"))
    };
    let [rate, response, connections, lateness] = [0, 1, 2, 3].map(plot);
    let mut sections = vec![
        Section::new("Over time", "", html! { (rate) (response) (connections) }),
        Section::new("Errors", "", part("errors")),
    ];
    if !title.steps.is_empty() {
        let lead = "Rates and times are those of the last interval.";
        sections.push(Section::new("Requests", lead, part("steps")));
    }
    sections.push(Section::new(
        "The generator itself",
        "What it adds to the figures above, and what it takes to make this load.",
        html! { (part("own")) (lateness) },
    ));
    let script = Script {
        sheet: SHEET,
        text: SCRIPT,
        foot: "Served by ringside for as long as the run goes on. This page asks nobody else for \
               anything; what it shows stays until you close it.",
    };
    let name = format!("{} – ringside", title.text);
    scripted(&name, lead, &sections, &script)
}

/// A place that updates fill.
fn part(name: &str) -> Markup {
    html! { div data-part=(name) {} }
}

fn plot(place: usize) -> Markup {
    let drawn = &PLOTS[place];
    let columns = drawn.first..drawn.first + drawn.blank.series.len();
    let columns: Vec<String> = columns.map(|column| column.to_string()).collect();
    html! { div hidden data-columns=(columns.join(" ")) { (drawn.blank.markup()) } }
}

/// What a plot needs besides rows.
#[derive(Serialize)]
pub(super) struct Plot {
    axes: String,
    x: (f64, f64),
    y: (f64, f64),
    log: bool,
}

/// The axes of all plots.
pub(super) fn plots(rows: &[Row]) -> Vec<Option<Plot>> {
    let until_s = rows.last().and_then(|row| row[0]).unwrap_or(0.0);
    let (unit_s, across) = time_axis(until_s);
    let of = |drawn: &Drawn| {
        let columns = drawn.first..drawn.first + drawn.blank.series.len();
        let values = rows.iter().flat_map(|row| row[columns.clone()].iter());
        let upwards = Axis::new("", drawn.scale, drawn.write);
        let times = [0.0, until_s / unit_s];
        let fitted = fitted((&across, &upwards), times, values.copied().flatten())?;
        Some(Plot {
            axes: fitted.axes,
            x: (fitted.x.0 * unit_s, fitted.x.1 * unit_s),
            y: fitted.y,
            log: fitted.is_log,
        })
    };
    PLOTS.iter().map(of).collect()
}

/// How long its unit is in seconds, and the axis in that.
fn time_axis(until_s: f64) -> (f64, Axis) {
    let axis = |write| Axis::new("", Scale::Linear, write);
    match until_s {
        7200.0.. => (3600.0, axis(|hours| format!("{} h", plain(hours)))),
        180.0.. => (60.0, axis(|minutes| format!("{} min", plain(minutes)))),
        _ => (1.0, axis(|seconds| format!("{} s", plain(seconds)))),
    }
}

fn plain(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Everything but the plots, by the names of the parts.
pub(super) fn parts(
    state: &State,
    progress: &Progress,
    steps: &[String],
) -> BTreeMap<&'static str, String> {
    let mut parts = BTreeMap::from([
        ("status", html! { (status(state, progress)) }),
        ("progress", how_far(state, progress)),
        ("notes", notes(state)),
        ("figures", figures(state)),
        ("errors", errors(state)),
        ("own", own(state)),
    ]);
    if !steps.is_empty() {
        parts.insert("steps", of_steps(state, steps));
    }
    let written = parts.into_iter();
    written
        .map(|(name, part)| (name, part.into_string()))
        .collect()
}

fn status(state: &State, progress: &Progress) -> String {
    let elapsed = in_time(progress.elapsed_s);
    let so_far = match progress.total_s {
        _ if progress.elapsed_s <= 0.0 => "Opening connections".to_owned(),
        Some(total_s) => format!("{elapsed} of {}", in_time(total_s)),
        None => format!("{elapsed} so far"),
    };
    match state.stage {
        Stage::Running if !progress.what.is_empty() => format!("{so_far}, {}", progress.what),
        Stage::Running => so_far,
        Stage::Ending => "Ending the run".to_owned(),
        Stage::Measured if !progress.what.is_empty() => format!("{}: {so_far}", progress.what),
        Stage::Measured => "The run is over; its report is being written".to_owned(),
        Stage::Over => {
            let end = state.end.as_ref().map(|end| end.says.clone());
            end.unwrap_or_else(|| "The run is over".to_owned())
        }
    }
}

/// `12 s`, `2 min 5 s`, `1 h 20 min`.
fn in_time(seconds: f64) -> String {
    let whole = seconds.max(0.0) as u64;
    match (whole / 3600, whole / 60 % 60, whole % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) => format!("{min} min {s} s"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

fn how_far(state: &State, progress: &Progress) -> Markup {
    let share = match (state.stage, progress.total_s) {
        (Stage::Over | Stage::Measured, _) => 1.0,
        (_, Some(total_s)) if total_s > 0.0 => progress.elapsed_s / total_s,
        _ => return html! {},
    };
    bar(share, 1)
}

fn notes(state: &State) -> Markup {
    let Some(end) = &state.end else {
        return html! {};
    };
    html! {
        @if !end.notes.is_empty() {
            div.notes { @for sentence in &end.notes { (note(Tone::Warn, "", sentence)) } }
        }
    }
}

/// What somebody who looks over wants to know first.
fn figures(state: &State) -> Markup {
    let (sum, last) = (&state.sum, &state.last);
    let rate = |count: u64| per_second(count as f64 / last.seconds.max(1e-9));
    let due = match last.offered {
        Some(offered) => format!("of {} due", rate(offered)),
        None => "closed loop".to_owned(),
    };
    let whole_run = |q| time(sum.response.quantile(q), sum.response.is_empty());
    let time_at = |q| time(last.response.quantile(q), last.response.is_empty());
    let ended = sum.completed + sum.failed;
    let share = 100.0 * sum.failed as f64 / (ended.max(1)) as f64;
    let left = match sum.unfinished {
        0 => "since the start".to_owned(),
        left => format!("{} unfinished", whole(left)),
    };
    let tiles = [
        ("rate", rate(last.completed), due),
        (
            "median response",
            time_at(0.5),
            format!("whole run {}", whole_run(0.5)),
        ),
        (
            "99th percentile",
            time_at(0.99),
            format!("whole run {}", whole_run(0.99)),
        ),
        ("answered", whole(sum.completed), left),
        ("failed", whole(sum.failed), format!("{} %", digits(share))),
        (
            "connections",
            whole(last.connected),
            format!("{} reconnects", whole(sum.reconnects)),
        ),
    ];
    html! {
        @if state.is_begun {
            dl.figures {
                @for (name, value, more) in tiles {
                    div { dt { (name) } dd { b { (value) } small { (more) } } }
                }
            }
        } @else {
            p.lead { "Nothing is measured yet." }
        }
    }
}

fn time(ns: u64, is_empty: bool) -> String {
    match is_empty {
        true => "–".to_owned(),
        false => time_us(ns as f64 / 1000.0),
    }
}

fn errors(state: &State) -> Markup {
    let mut kinds: Vec<_> = state.sum.errors.iter().collect();
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
    let statuses = state.sum.statuses.iter();
    let statuses: Vec<_> = statuses
        .map(|(status, n)| (status.to_string(), html! { (whole(n)) }))
        .collect();
    html! {
        @if rows.is_empty() { p.small { "None so far." } } @else { (table("", &headings, &rows)) }
        @if !statuses.is_empty() {
            h3 { "Answers by status" }
            (facts(&statuses))
        }
    }
}

fn of_steps(state: &State, names: &[String]) -> Markup {
    let headings = [
        ("request", Column::Words),
        ("answered", Column::Figures),
        ("failed", Column::Figures),
        ("per second", Column::Figures),
        ("p50", Column::Figures),
        ("p99", Column::Figures),
        ("p99, whole run", Column::Figures),
    ];
    let nothing = Sparse::default();
    let rows = names.iter().enumerate().map(|(place, name)| {
        let last = state.last.steps.get(place);
        let sum = state.sum.steps.get(place);
        let response = last.map_or(&nothing, |step| &step.response);
        let answered = last.map_or(0, |step| step.completed);
        let lately = |q| time(response.quantile(q), response.is_empty());
        let p99 = sum.map_or_else(
            || "–".to_owned(),
            |step| time(step.response.quantile(0.99), step.response.is_empty()),
        );
        vec![
            Cell::text(name),
            Cell::text(whole(sum.map_or(0, |step| step.completed))),
            Cell::text(whole(sum.map_or(0, |step| step.failed))),
            Cell::text(per_second(answered as f64 / state.last.seconds.max(1e-9))),
            Cell::text(lately(0.5)),
            Cell::text(lately(0.99)),
            Cell::text(p99),
        ]
    });
    table("", &headings, &rows.collect::<Vec<_>>())
}

/// What the generator itself does to the figures.
fn own(state: &State) -> Markup {
    let (sum, last) = (&state.sum, &state.last);
    let mut rows: Vec<(&str, Markup)> = Vec::new();
    if state.offered.is_some() {
        let late = |q| time(sum.lateness.quantile(q), sum.lateness.is_empty());
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
    if let Some(cpus) = last.cpus {
        let spins = match state.offered {
            Some(_) => "; its workers spin before they send",
            None => "",
        };
        rows.push(("processors in use", html! { (digits(cpus)) (spins) }));
    }
    if let Some(resident) = last.resident_bytes {
        rows.push(("memory", html! { (bytes(resident as f64)) }));
    }
    let per_s = |n: u64| format!("{}/s", bytes(n as f64 / last.seconds.max(1e-9)));
    rows.push((
        "received, sent",
        html! { (per_s(last.bytes_received)) ", " (per_s(last.bytes_sent)) },
    ));
    match state.is_begun {
        true => facts(&rows),
        false => html! {},
    }
}
