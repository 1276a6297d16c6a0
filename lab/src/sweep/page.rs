//! A sweep as a page: its curves over the setting, and the figures behind them.

use maud::{Markup, html};

use super::record::Sweep;
use super::{Key, RowFound};
use crate::report::format;
use crate::report::html::page::{self, Cell, Column, Found, Section, Tone};
use crate::report::html::plot::{Axis, Curve, Scale, Series, lines};
use crate::report::html::swatch;
use crate::statistics::Spread;

/// What a curve is drawn of.
type Figure = fn(&RowFound) -> Option<Spread>;

/// How it is written.
type Written = fn(f64) -> String;

/// The whole page.
pub fn page(sweep: &Sweep) -> String {
    let over = format!("over {}", sweep.key.name());
    let lead = html! {
        (page::kicker(&[sweep.name.clone(), over, sweep.began.clone()]))
        h1 { (sweep.question) }
        (page::verdicts(&said(sweep)))
    };
    let curves: [(&str, Written, Figure); 4] = [
        ("requests a second", format::count, |row| {
            Some(row.figures.requests_per_second)
        }),
        ("response time p99", format::time_us, |row| {
            row.figures.p99_us
        }),
        (
            "the server's processor time per exchange",
            format::time_us,
            |row| row.figures.server_cpu_us_per_exchange,
        ),
        ("peak memory of the server", format::bytes, |row| {
            row.figures.memory_peak_bytes
        }),
    ];
    let plots = html! {
        @for (name, write, figure) in curves { (plot(sweep, name, write, figure)) }
    };
    let read = "Each point is the median of its rounds, the band reaches from the lowest to the \
                highest. Hollow points are the generator's as much as the subject's, or void.";
    let sections = [
        Section::new("Curves", read, plots),
        Section::new(
            "Figures",
            "Each value was a comparison of its own.",
            table(sweep),
        ),
    ];
    page::page(&sweep.name, lead, &sections)
}

/// What its points make of it together.
pub(crate) fn said(sweep: &Sweep) -> Vec<Found> {
    let one = |says| Found {
        tone: Tone::Calm,
        sign: "=",
        says,
        rests: String::new(),
    };
    sweep.conclusions().into_iter().map(one).collect()
}

fn plot(sweep: &Sweep, name: &str, write: fn(f64) -> String, figure: Figure) -> Markup {
    let x = Axis::new(sweep.key.name(), scale(sweep), number(sweep.key));
    let y = Axis::new(name, Scale::FromZero, write);
    let names = sweep.names();
    let series: Vec<Series> = names
        .iter()
        .enumerate()
        .map(|(style, name)| series(sweep, name, style, figure))
        .collect();
    lines(name, "", (&x, &y), &series, &[])
}

/// One curve: sound points are joined, doubtful ones stand hollow by themselves.
fn series(sweep: &Sweep, name: &str, style: usize, figure: Figure) -> Series {
    let mut sound = Curve::default();
    let mut doubtful = Vec::new();
    for (value, row) in sweep.of(name) {
        let Some(spread) = figure(row) else {
            continue;
        };
        let point = (value, spread.median);
        if row.doubtful {
            doubtful.push(Curve {
                points: vec![point],
                hollow: true,
                ..Curve::default()
            });
            continue;
        }
        sound.points.push(point);
        sound.band.push((value, spread.lowest, spread.highest));
    }
    let mut series = Series::new(name, style, Vec::new());
    series.curves = doubtful;
    if !sound.points.is_empty() {
        series.curves.insert(0, sound);
    }
    series
}

/// Values that span more than a power of ten are read better by their ratios.
fn scale(sweep: &Sweep) -> Scale {
    let values = || sweep.points.iter().map(|point| point.value);
    let lowest = values().fold(f64::INFINITY, f64::min);
    let highest = values().fold(0.0, f64::max);
    match lowest > 0.0 && highest > 10.0 * lowest {
        true => Scale::Log,
        false => Scale::Linear,
    }
}

fn number(key: Key) -> fn(f64) -> String {
    match key {
        Key::Payload => format::bytes,
        Key::Connections | Key::Rate | Key::Streams | Key::Workers => format::count,
    }
}

fn table(sweep: &Sweep) -> Markup {
    let headings = [
        (sweep.key.name(), Column::Figures),
        ("subject", Column::Words),
        ("requests/s", Column::Figures),
        ("p50", Column::Figures),
        ("p99", Column::Figures),
        ("CPU per exchange", Column::Figures),
        ("beside the baseline", Column::Wide),
    ];
    let names = sweep.names();
    let mut rows = Vec::new();
    for point in &sweep.points {
        for (style, name) in names.iter().enumerate() {
            let Some(row) = point.rows.iter().find(|row| row.name == *name) else {
                continue;
            };
            let figures = &row.figures;
            let rate = &figures.requests_per_second;
            rows.push(vec![
                Cell::of(html! { a href={ (point.folder) "/report.html" } { (point.value) } }),
                Cell::of(swatch(style, name)),
                Cell::text(format::count(rate.median)).under(format::give_or_take(rate)),
                time(figures.p50_us),
                time(figures.p99_us),
                time(figures.server_cpu_us_per_exchange),
                Cell::text(row.verdict.as_str()),
            ]);
        }
    }
    page::table("", &headings, &rows)
}

fn time(spread: Option<Spread>) -> Cell {
    spread.map_or_else(Cell::none, |spread| {
        Cell::text(format::time_us(spread.median)).under(format::give_or_take(&spread))
    })
}
