//! A soak as a page: what can be concluded, and each figure over time. Made of the record and the
//! samples alone.

use chart::page::{self, Cell, Column, Found, Section, Tone};
use chart::plot::{Axis, Line, Scale, Series, lines};
use maud::{Markup, html};
use measure::time::{utc_date, utc_time_of_day};

use crate::found::{Figure, Kind, Soak, Verdict};
use crate::sample::Sample;
use crate::words;

/// So many points of a curve are drawn at most.
const POINTS_MAX: usize = 600;
/// So many findings are marked on a plot.
const MARKS_MAX: usize = 8;

const HOUR_S: f64 = 3600.0;

/// The whole page.
pub fn page(soak: &Soak, samples: &[Sample]) -> String {
    let asked = &soak.asked;
    let kicker = [
        asked.subject.clone(),
        asked.question.clone(),
        format!(
            "{} for {} of {}",
            statistics::format::per_second(asked.rate),
            words::length(soak.measured_s),
            words::length(asked.length_s)
        ),
    ];
    let lead = html! {
        (page::kicker(&kicker))
        h1 { "What grows under load" }
        (page::verdicts(&found(soak)))
    };
    let plots = html! {
        @for figure in &soak.figures { (plot(soak, figure, samples)) }
    };
    let read = "Each point is the median of some samples; the warm-up of a process is drawn and \
                doesn't count. Upright lines are what happened.";
    let mut sections = vec![
        Section::new("Figures", "", figures(soak)),
        Section::new("Over time", read, plots),
    ];
    if !soak.findings.is_empty() {
        let says: Vec<String> = soak.findings.iter().map(|one| one.says.clone()).collect();
        sections.push(Section::new("What happened", "", page::sentences(&says)));
    }
    let cautions = words::cautions(soak);
    if !cautions.is_empty() {
        let body = page::sentences(&cautions);
        sections.push(Section::new("Caveats", "", body));
    }
    sections.push(Section::new("Looks", LOOKS, looks(soak)));
    page::page(&format!("Soak of {}", asked.subject), lead, &sections)
}

const LOOKS: &str = "When ringside checked for a proven leak. What is said at all of them, over \
                     all figures, is wrong in at most 5 of 100 soaks in which nothing grows.";

fn found(soak: &Soak) -> Vec<Found> {
    let (tone, sign) = match soak.verdict {
        Verdict::Leak => (Tone::Bad, "▲"),
        Verdict::NoLeak => (Tone::Good, "="),
        Verdict::CannotTell | Verdict::NotWatched => (Tone::Warn, "?"),
        Verdict::NothingMeasured => (Tone::Bad, "×"),
    };
    let says = soak.says.iter().map(|says| Found {
        tone,
        sign,
        says: says.clone(),
        rests: String::new(),
    });
    says.collect()
}

fn figures(soak: &Soak) -> Markup {
    let headings = [
        ("figure", Column::Words),
        ("at first", Column::Figures),
        ("at last", Column::Figures),
        ("what can be said", Column::Wide),
    ];
    let row = |figure: &Figure| {
        vec![
            Cell::text(figure.kind.name()),
            Cell::text(figure.kind.value(figure.first)),
            Cell::text(figure.kind.value(figure.last)),
            Cell::text(&figure.says).under(words::in_a_word(figure)),
        ]
    };
    let rows: Vec<Vec<Cell>> = soak.figures.iter().map(row).collect();
    page::table("", &headings, &rows)
}

fn plot(soak: &Soak, figure: &Figure, samples: &[Sample]) -> Markup {
    let kind = figure.kind;
    let hours = |unix_s: f64| (unix_s - soak.began_unix_s as f64) / HOUR_S;
    let x = Axis::new(
        "hours since it began",
        Scale::Linear,
        statistics::format::digits,
    );
    let name = match kind {
        Kind::Memory | Kind::GroupMemory => "bytes",
        Kind::Descriptors | Kind::Threads => "number",
        Kind::P99 => "response time",
        Kind::Throughput => "requests/s",
    };
    let write: fn(f64) -> String = match kind {
        Kind::Memory | Kind::GroupMemory => |value| Kind::Memory.value(value),
        Kind::Descriptors | Kind::Threads => |value| Kind::Threads.value(value),
        Kind::P99 => |value| Kind::P99.value(value),
        Kind::Throughput => |value| Kind::Throughput.value(value),
    };
    let y = Axis::new(name, Scale::Linear, write);
    let readings = samples.iter();
    let readings: Vec<(f64, f64)> = readings
        .filter_map(|sample| Some((hours(sample.unix_s), kind.of(sample)?)))
        .collect();
    let joined = readings.len().div_ceil(POINTS_MAX).max(1);
    let middle = |part: &[(f64, f64)]| {
        let values: Vec<f64> = part.iter().map(|(_, value)| *value).collect();
        (part[part.len() / 2].0, statistics::median(&values))
    };
    let points: Vec<(f64, f64)> = readings.chunks(joined).map(middle).collect();
    let findings = soak.findings.iter().take(MARKS_MAX);
    let marks: Vec<Line> = findings
        .map(|one| Line::Upright(hours(one.at_unix_s), words::short(one.kind).to_owned()))
        .collect();
    let series = [Series::new(kind.name(), 0, points)];
    lines(kind.name(), &figure.says, (&x, &y), &series, &marks)
}

fn looks(soak: &Soak) -> Markup {
    let headings = [
        ("at, UTC", Column::Words),
        ("after", Column::Figures),
        ("error", Column::Figures),
        ("proven", Column::Wide),
    ];
    let row = |look: &crate::found::Look| {
        let at = look.at_unix_s.max(0.0) as u64;
        vec![
            Cell::text(format!("{} {}", utc_date(at), utc_time_of_day(at))),
            Cell::text(words::length(look.measured_s)),
            Cell::text(format!("{:.3} %", 100.0 * look.alpha)),
            Cell::text(look.says.join("; ")),
        ]
    };
    let rows: Vec<Vec<Cell>> = soak.looks.iter().map(row).collect();
    page::table("", &headings, &rows)
}
