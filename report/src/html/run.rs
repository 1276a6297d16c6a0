//! What became of a load, as a page.

use load::Record;
use maud::{Markup, html};
use measure::histogram::samples_for;
use measure::record::{Met, Moved, Step, StreamTimes, Streams, Times};
use measure::series::Row;
use statistics::format::{count, digits, per_second, time_us, whole};

use super::agents::agents as of_agents;
use super::hold::{dash, has_points, measured_by, thresholds, words};
use super::page::{
    Cell, Column, Found, Section, Tone, facts, kicker, page, sentences, table, verdicts,
};
use super::plot::{Axis, Scale, Series, lines, percentiles};
use crate::agents::Agents;
use crate::distribution::Distribution;

/// The record of a run as one page that fetches nothing. `trouble`: why it ended otherwise than
/// well, the thresholds apart.
pub fn run(record: &Record, trouble: Option<&str>, agents: Option<&Agents>) -> String {
    let plan = &record.plan;
    let file = plan.workload.as_ref().and_then(|it| it.shown_file());
    let of = file.unwrap_or_else(|| plan.url());
    let load = match record.offered_rate {
        Some(rate) => format!("{} offered", per_second(rate)),
        None => "closed loop".to_owned(),
    };
    let connections = format!("{} connections", plan.connections);
    let lead = html! {
        (kicker(&["Run".to_owned(), load, connections, time_us(record.duration_s * 1e6)]))
        h1 { (of) }
        (verdicts(&[verdict(record, trouble)]))
    };
    let mut sections = vec![
        Section::new("Over time", "", over_time(record)),
        Section::new("Times", OF_TIMES, times(record)),
    ];
    if let Some(streams) = &record.streams {
        let body = of_streams(record, streams);
        sections.push(Section::new("Streams", told(streams), body));
    }
    if record.steps.len() > 1 {
        sections.push(Section::new("By request", "", steps(record)));
    }
    sections.extend(agents.map(|agents| of_agents(agents, record.duration_s)));
    let wrong = wrong(record);
    if !wrong.is_empty() {
        let headings = [("error", Column::Words), ("how often", Column::Figures)];
        let body = table("", &headings, &wrong);
        sections.push(Section::new("What went wrong", "", body));
    }
    if !record.thresholds.is_empty() {
        let body = thresholds(&record.thresholds);
        sections.push(Section::new("Thresholds", "", body));
    }
    if !record.warnings.is_empty() {
        let body = sentences(&record.warnings);
        sections.push(Section::new("What to know", "", body));
    }
    sections.push(Section::new("How it was measured", "", setup(record)));
    page("A run of ringside", lead, &sections)
}

const OF_TIMES: &str = "Response times count from when a request was due, service times from when \
                        it was sent. A figure of too few samples is a dash.";

fn verdict(record: &Record, trouble: Option<&str>) -> Found {
    let lost = record.lost();
    let told = match lost.told() {
        none if none.is_empty() => "No errors.".to_owned(),
        told => format!("{}.", told.join(", ")),
    };
    let rate = per_second(record.achieved_rate);
    let crossed = record.thresholds.iter();
    let crossed = crossed.filter(|judged| judged.outcome == Met::Crossed);
    let crossed: Vec<&str> = crossed.map(|judged| &*judged.rule).collect();
    let (tone, sign, says) = match trouble {
        Some(why) => (Tone::Void, "∅", why.to_owned()),
        None if !crossed.is_empty() => (Tone::Bad, "✕", format!("Not met: {}", crossed.join(", "))),
        None if record.generator.limited => (Tone::Warn, "≥", format!("At least {rate} answered")),
        None if lost.count() > 0 => (Tone::Warn, "!", format!("{rate} answered")),
        None => (Tone::Good, "=", format!("{rate} answered")),
    };
    let streams = record.streams.as_ref().filter(|streams| streams.events > 0);
    let streams = streams.map_or_else(String::new, first_and_next);
    Found {
        tone,
        sign,
        says,
        rests: format!("{streams}{told}"),
    }
}

/// What somebody who waits for a stream sees, in a sentence.
fn first_and_next(streams: &Streams) -> String {
    let [_, first, gap, _] = streams.distributions();
    let told = [("First event", first), ("event gap", gap)].map(|(name, of)| {
        let p50 = of.times.p50.map_or_else(dash, time_us);
        let p99 = of.times.p99.map_or_else(dash, time_us);
        format!("{name} p50 {p50}, p99 {p99}")
    });
    format!("{}. ", told.join("; "))
}

fn over_time(record: &Record) -> Markup {
    let of = |name: &str, at, y: &dyn Fn(&Row) -> Option<f64>| {
        let points = rows(record);
        let points = points.filter_map(|row| Some((row.at_s + row.seconds, y(row)?)));
        Series::new(name, at, points.collect())
    };
    let a_second =
        |of: fn(&Row) -> Option<u64>| move |row: &Row| Some(of(row)? as f64 / row.seconds);
    let rates = vec![
        of("due", 2, &a_second(|row| row.offered)),
        of("answered", 0, &a_second(|row| Some(row.completed))),
        of(
            "failed",
            1,
            &a_second(|row| Some(row.failed).filter(|failed| *failed > 0)),
        ),
    ];
    let response = vec![
        of("p50", 0, &|row| row.response_p50_us),
        of("p99", 1, &|row| row.response_p99_us),
        of("longest", 2, &|row| row.response_max_us),
    ];
    let events = vec![of("events", 0, &a_second(|row| row.events))];
    let counted = |name| Axis::new(name, Scale::FromZero, count);
    let time = Axis::new("response time", Scale::Log, time_us);
    html! {
        (picture("Requests", counted("a second"), rates))
        (picture("Response times", time, response))
        (picture("Events", counted("events a second"), events))
    }
}

/// Something over the seconds of the run; nothing where there is nothing to draw.
fn picture(title: &str, y: Axis, series: Vec<Series>) -> Markup {
    let seconds = |second| digits(second);
    let x = Axis::new(
        "seconds since the measured window began",
        Scale::Linear,
        seconds,
    );
    let series: Vec<Series> = series.into_iter().filter(has_points).collect();
    match series.is_empty() {
        true => html! {},
        false => lines(title, "", (&x, &y), &series, &[]),
    }
}

/// All rows but a last one that's too short to have rates.
fn rows(record: &Record) -> impl Iterator<Item = &Row> {
    let whole = record.series.first().map_or(1.0, |row| row.seconds);
    let rows = record.series.iter();
    rows.filter(move |row| row.seconds > 0.0 && 2.0 * row.seconds >= whole)
}

/// A distribution: its name, its summary, itself, and which of its figures lateness moved.
type Timed<'r> = (&'static str, &'r Times, &'r str, &'r [Moved]);

/// A table of distributions, and a plot of them.
fn distributions(title: &str, all: &[Timed<'_>]) -> Markup {
    let headings = [
        ("", Column::Words),
        ("samples", Column::Figures),
        ("mean", Column::Figures),
        ("p50", Column::Figures),
        ("p90", Column::Figures),
        ("p99", Column::Figures),
        ("p99.9", Column::Figures),
        ("longest", Column::Figures),
    ];
    let rows: Vec<Vec<Cell>> = all.iter().map(cells).collect();
    let curves = all
        .iter()
        .enumerate()
        .filter_map(|(at, (name, _, text, _))| {
            let of = Distribution::of(std::iter::once(*text))?;
            Some(Series::new(*name, at, of.points()))
        });
    let curves: Vec<Series> = curves.filter(has_points).collect();
    let y = Axis::new("within", Scale::Log, time_us);
    html! {
        (table("", &headings, &rows))
        @if !curves.is_empty() { (percentiles(title, "", &y, &curves)) }
    }
}

fn cells((name, times, _, void): &Timed<'_>) -> Vec<Cell> {
    let shown = |figure, share, value| shown(times, void, figure, share, value);
    vec![
        Cell::text(*name),
        Cell::text(times.count.map_or_else(dash, whole)),
        shown("mean", 0.0, times.mean),
        shown("p50", 0.5, times.p50),
        shown("p90", 0.9, times.p90),
        shown("p99", 0.99, times.p99),
        shown("p99_9", 0.999, times.p99_9),
        shown("max", 0.0, times.max),
    ]
}

/// A figure of these times; a dash where they are too few, and with a word where lateness could
/// have moved it.
fn shown(times: &Times, void: &[Moved], figure: &str, share: f64, value: Option<f64>) -> Cell {
    let enough = times.count.is_none_or(|count| count >= samples_for(share));
    let text = value.filter(|_| enough).map_or_else(dash, time_us);
    match void.iter().any(|one| one.figure == figure) {
        true => Cell::text(text).under("moved by lateness"),
        false => Cell::text(text),
    }
}

fn times(record: &Record) -> Markup {
    let histograms = &record.histograms;
    let (response, service) = (&histograms.response_time, &histograms.service_time);
    let all: [Timed<'_>; 2] = [
        (
            "response time",
            &record.response_time_us,
            response,
            &record.void,
        ),
        ("service time", &record.service_time_us, service, &[]),
    ];
    distributions("Distributions of times", &all)
}

/// What was seen inside answers.
fn of_streams(record: &Record, streams: &Streams) -> Markup {
    let names = ["first byte", "first event", "event gap", "time per event"];
    let all: Vec<Timed<'_>> = names
        .into_iter()
        .zip(streams.distributions())
        .map(|(name, of)| (name, of.times, of.histogram, void_of(&of)))
        .collect();
    let (begun, then) = all.split_at(2);
    let by_step = record.steps.iter().filter(|_| record.steps.len() > 1);
    let by_step: Vec<Vec<Cell>> = by_step.filter_map(streams_of).collect();
    let headings = [
        ("request", Column::Wide),
        ("streams", Column::Figures),
        ("events", Column::Figures),
        ("first event p50", Column::Figures),
        ("first event p99", Column::Figures),
        ("gap p50", Column::Figures),
        ("gap p99", Column::Figures),
    ];
    html! {
        (distributions("Until the first event", begun))
        (distributions("Between events", then))
        @if !by_step.is_empty() { (table("By request", &headings, &by_step)) }
    }
}

/// The figures that lateness could have moved.
fn void_of<'r>(of: &StreamTimes<'r>) -> &'r [Moved] {
    of.void.map_or(&[], Vec::as_slice)
}

/// The streams of a request, where it has some.
fn streams_of(step: &Step) -> Option<Vec<Cell>> {
    let streams = step.streams.as_ref().filter(|of| of.streams > 0)?;
    let time = |of: StreamTimes<'_>, figure: &str, share: f64, value| {
        shown(of.times, void_of(&of), figure, share, value)
    };
    let p50 = |of: StreamTimes<'_>| time(of, "p50", 0.5, of.times.p50);
    let p99 = |of: StreamTimes<'_>| time(of, "p99", 0.99, of.times.p99);
    let [_, first, gap, _] = streams.distributions();
    Some(vec![
        Cell::text(&step.name),
        Cell::text(whole(streams.streams)),
        Cell::text(whole(streams.events)),
        p50(first),
        p99(first),
        p50(gap),
        p99(gap),
    ])
}

/// How many streams and events there were, and how they ended.
fn told(streams: &Streams) -> String {
    let mut text = format!(
        "{} streams were due in the window, in which {} events came: {}.",
        whole(streams.streams),
        whole(streams.events),
        per_second(streams.events_per_second),
    );
    let ends = [
        (streams.done, "ended with [DONE]"),
        (streams.empty, "ended without an event"),
        (streams.torn, "ended in the middle of an event"),
        (streams.cut_off, "still went on at the end of the run"),
        (
            streams.censored,
            "had no first event: their waits are lower bounds",
        ),
        (streams.censored_gaps, "had no next event: likewise"),
    ];
    for (count, what) in ends.into_iter().filter(|(count, _)| *count > 0) {
        text.push_str(&format!(" {} {what}.", whole(count)));
    }
    text
}

fn steps(record: &Record) -> Markup {
    let headings = [
        ("request", Column::Wide),
        ("answered", Column::Figures),
        ("failed", Column::Figures),
        ("unfinished", Column::Figures),
        ("requests/s", Column::Figures),
        ("p50", Column::Figures),
        ("p99", Column::Figures),
        ("longest", Column::Figures),
    ];
    let row = |step: &Step| {
        let of = cells(&("", &step.response_time_us, "", &step.void));
        let [_, _, _, p50, _, p99, _, longest] = <[Cell; 8]>::try_from(of).ok()?;
        Some(vec![
            Cell::text(&step.name),
            Cell::text(whole(step.completed)),
            Cell::text(whole(step.failed)),
            Cell::text(whole(step.unfinished)),
            Cell::text(digits(step.achieved_rate)),
            p50,
            p99,
            longest,
        ])
    };
    let rows: Vec<Vec<Cell>> = record.steps.iter().filter_map(row).collect();
    table("", &headings, &rows)
}

fn wrong(record: &Record) -> Vec<Vec<Cell>> {
    let kinds = record.errors.iter().filter(|(_, count)| **count > 0);
    let row = |(kind, count): (&String, &u64)| vec![words(kind), whole(*count)];
    let cells = |row: Vec<String>| -> Vec<Cell> { row.into_iter().map(Cell::text).collect() };
    kinds.map(row).map(cells).collect()
}

fn setup(record: &Record) -> Markup {
    facts(&measured_by(&record.generator, &record.host))
}
