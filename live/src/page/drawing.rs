//! The page around whatever it shows, and what all of them have: how far it is, how it ended, and
//! what plots need. It's made of what reports are made of.

use std::ops::Range;

use chart::page::{Script, Tone, bar, note, scripted};
use chart::plot::{Axis, Blank, Scale, fitted};
use maud::{Markup, html};
use measure::histogram::Histogram;
use statistics::format::time_us;

use super::board::{Stage, State};
use super::view::{Parts, Plot, Progress, Rows, View};

/// What the page does in the browser.
pub(super) const SCRIPT: &str = include_str!("page.js");
const SHEET: &str = include_str!("page.css");

/// A plot of the page, and how it draws its columns of the rows.
pub(super) struct Drawn {
    pub blank: Blank<'static>,
    pub scale: Scale,
    pub write: fn(f64) -> String,
}

/// The whole page under a title, with nothing of what it shows in it yet.
pub(super) fn page(title: &str, view: &impl View) -> String {
    let noun = view.noun();
    let lead = html! {
        p.kicker { b { "Live" } span { (title) } }
        h1.large #status { "Connecting" }
        (part("progress"))
        p.controls {
            button #stop type="button" data-noun=(noun) hidden { "End the " (noun) }
            span #said role="status" {}
        }
        noscript { (note(Tone::Warn, "No script.", "This page shows nothing without its script.")) }
        (part("notes"))
        (part("figures"))
    };
    let foot = format!(
        "Served by ringside for as long as the {noun} goes on. This page asks nobody else for \
         anything; what it shows stays until you close it."
    );
    let script = Script {
        sheet: SHEET,
        text: SCRIPT,
        foot: &foot,
    };
    let name = format!("{title} – ringside");
    scripted(&name, lead, &view.sections(), &script)
}

/// A place on a page that updates fill.
pub fn part(name: &str) -> Markup {
    html! { div data-part=(name) {} }
}

/// Which columns of the rows each plot draws: they follow each other, behind the time.
fn columns(plots: &[Drawn]) -> impl Iterator<Item = (Range<usize>, &Drawn)> {
    let mut next = 1;
    plots.iter().map(move |drawn| {
        let first = next;
        next += drawn.blank.series.len();
        (first..next, drawn)
    })
}

/// How many columns there are, with the time.
pub(super) fn width(plots: &[Drawn]) -> usize {
    columns(plots).last().map_or(1, |(columns, _)| columns.end)
}

/// The plots, without curves yet.
pub(super) fn blanks(plots: &[Drawn]) -> Vec<Markup> {
    let place = |(columns, drawn): (Range<usize>, &Drawn)| {
        let columns: Vec<String> = columns.map(|column| column.to_string()).collect();
        html! { div hidden data-columns=(columns.join(" ")) { (drawn.blank.markup()) } }
    };
    columns(plots).map(place).collect()
}

/// The axes of all plots.
pub(super) fn axes(plots: &[Drawn], rows: &Rows) -> Vec<Option<Plot>> {
    let until_s = rows.iter().next_back().and_then(|row| row[0]);
    let until_s = until_s.unwrap_or(0.0);
    let (unit_s, across) = time_axis(until_s);
    let of = |(columns, drawn): (Range<usize>, &Drawn)| {
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
    columns(plots).map(of).collect()
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
pub(super) fn parts<V: View + ?Sized>(state: &State<V>, progress: &Progress) -> Parts {
    let mut parts = state.view.parts();
    let status = html! { (status(state, progress)) };
    for (name, part) in [
        ("status", status),
        ("progress", how_far(state, progress)),
        ("notes", notes(state)),
    ] {
        parts.insert(name, part.into_string());
    }
    parts
}

fn status<V: View + ?Sized>(state: &State<V>, progress: &Progress) -> String {
    let noun = state.view.noun();
    match state.stage {
        Stage::Running => state.view.status(progress),
        Stage::Ending => format!("Ending the {noun}"),
        Stage::Measured if !progress.what.is_empty() => {
            format!("{}: {}", progress.what, so_far(progress))
        }
        Stage::Measured => format!("The {noun} is over; its report is being written"),
        Stage::Over => {
            let end = state.end.as_ref().map(|end| end.says.clone());
            end.unwrap_or_else(|| format!("The {noun} is over"))
        }
    }
}

/// How far a load is in time, in words.
pub(super) fn so_far(progress: &Progress) -> String {
    let elapsed = in_time(progress.elapsed_s);
    match progress.total_s {
        _ if progress.elapsed_s <= 0.0 => "Opening connections".to_owned(),
        Some(total_s) => format!("{elapsed} of {}", in_time(total_s)),
        None => format!("{elapsed} so far"),
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

fn how_far<V: View + ?Sized>(state: &State<V>, progress: &Progress) -> Markup {
    let share = match state.stage {
        Stage::Over | Stage::Measured => Some(1.0),
        Stage::Running | Stage::Ending => state.view.share(progress),
    };
    share.map_or_else(|| html! {}, |share| bar(share, 1))
}

fn notes<V: View + ?Sized>(state: &State<V>) -> Markup {
    let Some(end) = &state.end else {
        return html! {};
    };
    let found = end.found.iter().map(|sentence| (Tone::Calm, sentence));
    let notes = end.notes.iter().map(|sentence| (Tone::Warn, sentence));
    let mut all = found.chain(notes).peekable();
    html! {
        @if all.peek().is_some() {
            div.notes { @for (tone, sentence) in all { (note(tone, "", sentence)) } }
        }
    }
}

/// What somebody who looks over wants to know first: names, figures, and what is small below.
pub(super) fn tiles(tiles: &[(&str, String, String)]) -> Markup {
    html! {
        dl.figures {
            @for (name, value, more) in tiles {
                div { dt { (name) } dd { b { (value) } small { (more) } } }
            }
        }
    }
}

/// A quantile of times.
pub(super) fn quantile(times: &Histogram, q: f64) -> String {
    match times.is_empty() {
        true => "–".to_owned(),
        false => time_us(times.quantile(q) as f64 / 1000.0),
    }
}

/// Microseconds as they're drawn.
pub(super) fn us(ns: f64) -> f64 {
    rounded(ns / 1000.0)
}

/// What is drawn needs no more digits.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
