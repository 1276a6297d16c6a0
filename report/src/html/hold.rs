//! What became of the connections that were held, as a page.

use std::collections::{BTreeMap, BTreeSet};

use load::hold::Record;
use maud::{Markup, html};
use measure::hold::Row;
use measure::host::Host;
use measure::record::{EndedBy, Generator, Judged, Met, Times};
use statistics::format::{bytes, count, digits, per_second, percent, time_us, whole};

use super::agents::agents as of_agents;
use super::page::{
    Cell, Checked, Column, Found, Section, State, Tone, checks, facts, kicker, page, sentences,
    table, verdicts,
};
use super::plot::{Axis, Line, Scale, Series, lines, percentiles};
use crate::agents::{Agents, ENGINE};
use crate::distribution::Distribution;
use crate::environment;

/// The record of a hold as one page that fetches nothing.
pub fn hold(record: &Record, agents: Option<&Agents>) -> String {
    let plan = &record.plan;
    let title = format!("{} connections", whole(record.connections.asked));
    let lead = html! {
        (kicker(&[
            "Hold".to_owned(),
            plan.url(),
            heartbeat(record),
            format!("opened at {}", per_second(plan.open_rate)),
        ]))
        h1 { (title) }
        (verdicts(&[verdict(record)]))
    };
    let mut sections = vec![
        Section::new("Over time", OVER_TIME, over_time(record)),
        Section::new("Times", paced(record), times(record)),
    ];
    sections.extend(agents.map(|agents| of_agents(agents, record.duration_s)));
    let reasons = reasons(record);
    if !reasons.is_empty() {
        let headings = [
            ("what", Column::Words),
            ("why", Column::Words),
            ("how often", Column::Figures),
        ];
        let body = table("", &headings, &reasons);
        sections.push(Section::new("What went wrong", "", body));
    }
    if !record.thresholds.is_empty() {
        sections.push(Section::new(
            "Thresholds",
            "",
            thresholds(&record.thresholds),
        ));
    }
    if !record.warnings.is_empty() {
        let body = sentences(&record.warnings);
        sections.push(Section::new("What to know", "", body));
    }
    sections.push(Section::new("How it was measured", "", setup(record)));
    page(&title, lead, &sections)
}

const OVER_TIME: &str = "From the first attempt to connect on. The upright line is where every \
                         connection had been tried, and the hold began.";

/// What of the times is our own.
fn paced(record: &Record) -> String {
    match record.connections.reconnects {
        0 => String::new(),
        _ => record.plan.pacing(),
    }
}

fn heartbeat(record: &Record) -> String {
    let every = time_us(record.plan.heartbeat_s * 1e6);
    let what = record.plan.protocol.heartbeat();
    format!("{what} every {every} on each")
}

/// What became of the connections, without a full stop.
pub(crate) fn in_words(record: &Record) -> String {
    verdict(record).says
}

fn verdict(record: &Record) -> Found {
    let connections = &record.connections;
    let held = time_us(record.duration_s * 1e6);
    let lost = format!(
        "{} lost, {} given up, {} reconnects; {} open at the end.",
        whole(connections.lost),
        whole(connections.given_up),
        whole(connections.reconnects),
        whole(connections.standing),
    );
    let (tone, sign, says) = match connections.survival {
        None => (Tone::Void, "∅", "Nothing was held".to_owned()),
        Some(_) if !record.valid => (
            Tone::Void,
            "∅",
            "These figures can't be trusted: the warnings say why".to_owned(),
        ),
        Some(_) if record.heartbeats.sent > 0 && record.heartbeats.answered == 0 => (
            Tone::Bad,
            "×",
            "No heartbeat got the expected answer".to_owned(),
        ),
        Some(_) if connections.survived == connections.asked => (
            Tone::Good,
            "=",
            format!("All {} survived {held}", whole(connections.asked)),
        ),
        Some(survival) => (
            Tone::Bad,
            "×",
            format!(
                "{:.4} % survived {held}: {} of {}",
                // So that what isn't all never looks like all.
                (survival * 1e6).floor() / 1e4,
                whole(connections.survived),
                whole(connections.asked)
            ),
        ),
    };
    Found {
        tone,
        sign,
        says,
        rests: match record.ended_by {
            EndedBy::Interrupt | EndedBy::Terminate => {
                format!("{lost} A signal ended it before its time.")
            }
            _ => lost,
        },
    }
}

fn over_time(record: &Record) -> Markup {
    let marks = match record.connections.survival {
        Some(_) => vec![Line::Upright(record.opening_s, "held from here".to_owned())],
        None => Vec::new(),
    };
    let picture = |title: &str, y: Axis, series: Vec<Series>| {
        let seconds = |second| digits(second);
        let x = Axis::new("seconds since the first attempt", Scale::Linear, seconds);
        let series: Vec<Series> = series.into_iter().filter(has_points).collect();
        match series.is_empty() {
            true => html! {},
            false => lines(title, "", (&x, &y), &series, &marks),
        }
    };
    let a_second =
        |of: fn(&Row) -> Option<u64>| move |row: &Row| Some(of(row)? as f64 / row.seconds);
    let of = |name: &str, at, y: &dyn Fn(&Row) -> Option<f64>| {
        let points = rows(record);
        let points = points.filter_map(|row| Some((row.at_s + row.seconds, y(row)?)));
        Series::new(name, at, points.collect())
    };
    let counted = |name| Axis::new(name, Scale::FromZero, count);
    let opening = vec![
        of("attempts", 0, &a_second(|row| row.attempts)),
        of("opened", 1, &a_second(|row| Some(row.opened))),
        of("reconnected", 2, &a_second(|row| Some(row.reconnects))),
    ];
    let beats = vec![
        of("answered", 0, &a_second(|row| Some(row.answered))),
        of("failed", 1, &a_second(|row| Some(row.failed))),
    ];
    let round_trips = vec![
        of("p50", 0, &|row| row.heartbeat_p50_us),
        of("p99", 1, &|row| row.heartbeat_p99_us),
        of("longest", 2, &|row| row.heartbeat_max_us),
    ];
    let standing = vec![of("open", 0, &|row| Some(row.standing as f64))];
    let resident = vec![of("resident", 0, &|row| Some(row.resident_bytes? as f64))];
    let memory = Axis::new("resident memory", Scale::FromZero, bytes);
    let time = Axis::new("round trip", Scale::Log, time_us);
    html! {
        (picture("Connections", counted("open"), standing))
        (picture("Attempts and openings", counted("a second"), opening))
        (picture("Losses by cause", counted("a second"), losses(record)))
        (picture("Heartbeats", counted("a second"), beats))
        (picture("Round trips of heartbeats", time, round_trips))
        (picture("Broadcasts", Axis::new("after it was due", Scale::Log, time_us), heard(record)))
        (picture("Memory of this process", memory, resident))
    }
}

/// When the last listener had heard each broadcast.
fn heard(record: &Record) -> Vec<Series> {
    let each = record.broadcasts.iter().flat_map(|heard| &heard.each);
    let last = each.filter_map(|one| Some((record.opening_s + one.at_s, one.last_us?)));
    vec![Series::new("heard by the last", 0, last.collect())]
}

/// All rows but a last one that's too short to have rates.
fn rows(record: &Record) -> impl Iterator<Item = &Row> {
    let whole = record.series.first().map_or(1.0, |row| row.seconds);
    let rows = record.series.iter();
    rows.filter(move |row| row.seconds > 0.0 && 2.0 * row.seconds >= whole)
}

pub(super) fn has_points(series: &Series) -> bool {
    series.curves.iter().any(|curve| !curve.points.is_empty())
}

/// A curve for each cause that there was.
fn losses(record: &Record) -> Vec<Series> {
    let causes: BTreeSet<&String> = record
        .series
        .iter()
        .flat_map(|row| row.losses.keys())
        .collect();
    let curve = |(at, cause): (usize, &String)| {
        let lost = |row: &Row| row.losses.get(cause).copied().unwrap_or_default() as f64;
        let points = rows(record).map(|row| (row.at_s + row.seconds, lost(row) / row.seconds));
        Series::new(words(cause), at, points.collect())
    };
    causes.into_iter().enumerate().map(curve).collect()
}

/// A cause as it's said.
pub(super) fn words(cause: &str) -> String {
    cause.replace('_', " ")
}

fn times(record: &Record) -> Markup {
    let headings = [
        ("", Column::Words),
        ("mean", Column::Figures),
        ("p50", Column::Figures),
        ("p90", Column::Figures),
        ("p99", Column::Figures),
        ("p99.9", Column::Figures),
        ("longest", Column::Figures),
    ];
    let row = |(name, times): (&str, &Times)| {
        let figures = [
            times.mean,
            times.p50,
            times.p90,
            times.p99,
            times.p99_9,
            times.max,
        ];
        let cell = |figure: Option<f64>| Cell::text(figure.map_or_else(dash, time_us));
        let mut cells = vec![Cell::text(name)];
        cells.extend(figures.map(cell));
        cells
    };
    let rows: Vec<Vec<Cell>> = record.times().into_iter().map(row).collect();
    let heard = record.broadcasts.as_ref();
    let histograms = &record.histograms;
    let curves = [
        ("heartbeat", Some(&histograms.heartbeat_time)),
        ("broadcast", heard.map(|heard| &heard.heard_after)),
        ("set-up", Some(&histograms.set_up_time)),
        ("re-establish", Some(&histograms.re_establish_time)),
    ];
    let curves = curves
        .into_iter()
        .enumerate()
        .filter_map(|(at, (name, text))| {
            let of = Distribution::of(std::iter::once(text?.as_str()))?;
            Some(Series::new(name, at, of.points()))
        });
    let curves: Vec<Series> = curves.collect();
    let y = Axis::new("within", Scale::Log, time_us);
    html! {
        (table("", &headings, &rows))
        @if !curves.is_empty() { (percentiles("Distributions", "", &y, &curves)) }
    }
}

pub(super) fn dash() -> String {
    "–".to_owned()
}

fn reasons(record: &Record) -> Vec<Vec<Cell>> {
    let rows = |what: &'static str, counts: &BTreeMap<String, u64>| {
        let rows = counts.iter().map(move |(cause, number)| {
            let cells = [what.to_owned(), words(cause), whole(*number)];
            cells.map(Cell::text).to_vec()
        });
        rows.collect::<Vec<_>>()
    };
    [
        rows("connection lost", &record.losses),
        rows("attempt failed", &record.failed_attempts),
        rows("heartbeat failed", &record.heartbeat_errors),
    ]
    .concat()
}

/// What became of each threshold.
pub(super) fn thresholds(all: &[Judged]) -> Markup {
    let one = |judged: &Judged| Checked {
        what: judged.rule.clone(),
        state: match judged.outcome {
            Met::Holds => State::Passed,
            Met::Crossed => State::Found(Tone::Bad),
            Met::NotJudged => State::Unknown,
        },
        found: judged
            .reason
            .iter()
            .chain(&judged.measured)
            .cloned()
            .collect(),
    };
    let all: Vec<Checked> = all.iter().map(one).collect();
    checks(&all)
}

fn setup(record: &Record) -> Markup {
    let text = |text: String| html! { (text) };
    let heartbeats = &record.heartbeats;
    let memory = record.memory.told_bytes();
    let mut rows = vec![
        (
            "heartbeats",
            text(format!(
                "{} due, {} answered, {} failed, {} not sent, {} unfinished",
                whole(heartbeats.due),
                whole(heartbeats.answered),
                whole(heartbeats.failed),
                whole(heartbeats.skipped),
                whole(heartbeats.unfinished),
            )),
        ),
        (
            "broadcasts",
            text(record.broadcasts.as_ref().map_or_else(dash, |heard| {
                format!(
                    "{} said, heard by {} of {} listeners",
                    whole(heard.said),
                    whole(heard.heard),
                    whole(heard.listeners),
                )
            })),
        ),
        (
            "memory per connection",
            text(memory.map_or_else(|| "unknown, or too few connections".to_owned(), bytes)),
        ),
    ];
    rows.extend(measured_by(&record.generator, &record.host));
    facts(&rows)
}

/// What loaded, and on what machine.
pub(super) fn measured_by(generator: &Generator, host: &Host) -> Vec<(&'static str, Markup)> {
    let loaded = format!(
        "ringside {}, {} ({}), {} threads, {}",
        generator.version,
        generator.engine,
        generator.engine_reason,
        generator.threads,
        generator.limited_reason,
    );
    let busiest = generator.cpu_share_max.map_or_else(dash, percent);
    let mut rows = vec![("generator", loaded), ("busiest thread", busiest)];
    if generator.engine == ENGINE {
        let whose = "the coordinator's, which sent nothing of the load; see the agents for theirs";
        rows.push(("machine", whose.to_owned()));
    }
    rows.extend(environment::machine(host, None));
    let shown = rows
        .into_iter()
        .map(|(name, value)| (name, html! { (value) }));
    shown.collect()
}
