//! A sweep as a page: its curves over the setting, and the figures behind them.

use lab::verdict::Kind;
use maud::{Markup, html};
use report::html::page::{self, Cell, Column, Found, Section, Tone};
use report::html::plot::{Axis, Curve, Scale, Series, lines};
use report::html::swatch;
use statistics::Spread;
use statistics::format;

use super::record::{StepFound, Sweep, written};
use super::{Key, RowFound};

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
    let curves: [(&str, &str, Written, Figure); 4] = [
        ("Throughput", "requests a second", format::count, |row| {
            Some(row.figures.requests_per_second)
        }),
        ("Response time", "99th percentile", format::time_us, |row| {
            row.figures.p99_us
        }),
        (
            "Processor time",
            "of the server, per exchange",
            format::time_us,
            |row| row.figures.server_cpu_us_per_exchange,
        ),
        ("Memory", "peak of the server", mebibytes, |row| {
            row.figures.memory_peak_bytes.map(in_mebibytes)
        }),
    ];
    let plots = html! {
        @for (title, name, write, figure) in curves {
            (plot(sweep, title, name, write, figure))
        }
    };
    let read = "Each point is the median of its rounds; the band goes from the lowest to the \
                highest. Hollow points are void, or limited by the generator.";
    let mut sections = vec![
        Section::new("Curves", read, plots),
        Section::new(
            "Figures",
            "Each value was measured in a comparison of its own.",
            table(sweep),
        ),
    ];
    if !sweep.by_request().is_empty() {
        let lead = "The median of the rounds; below it, half the range from the lowest to the \
                    highest. Failed or unfinished exchanges are those of all rounds.";
        sections.push(Section::new("By request", lead, by_request(sweep)));
    }
    let refused = sweep.refused();
    if !refused.is_empty() {
        let body = page::sentences(&refused);
        sections.push(Section::new("What cannot be concluded", "", body));
    }
    page::page(&sweep.name, lead, &sections)
}

/// What its points make of it together.
pub(crate) fn said(sweep: &Sweep) -> Vec<Found> {
    let one = |(settled, says): (bool, String)| Found {
        tone: if settled { Tone::Good } else { Tone::Warn },
        sign: if settled { "=" } else { "?" },
        says,
        rests: String::new(),
    };
    sweep.concluded().into_iter().map(one).collect()
}

/// Even steps of an axis are even in the unit that is written.
fn in_mebibytes(bytes: Spread) -> Spread {
    const MIB: f64 = 1_048_576.0;
    Spread {
        median: bytes.median / MIB,
        lowest: bytes.lowest / MIB,
        highest: bytes.highest / MIB,
    }
}

fn mebibytes(mib: f64) -> String {
    format!("{} MiB", format::digits(mib))
}

fn plot(sweep: &Sweep, title: &str, name: &str, write: Written, figure: Figure) -> Markup {
    let x = Axis::new(sweep.key.name(), scale(sweep), number(sweep.key));
    let y = Axis::new(name, Scale::FromZero, write);
    let names = sweep.names();
    let series: Vec<Series> = names
        .iter()
        .enumerate()
        .map(|(style, name)| series(sweep, name, style, figure))
        .collect();
    lines(title, "", (&x, &y), &series, &[])
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
        ("subject", Column::Words),
        (sweep.key.name(), Column::Figures),
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
                Cell::of(swatch(style, name)),
                Cell::of(html! {
                    a href={ (point.folder) "/report.html" } { (written(sweep.key, point.value)) }
                }),
                Cell::text(format::count(rate.median)).under(format::give_or_take(rate)),
                time(figures.p50_us),
                time(figures.p99_us),
                time(figures.server_cpu_us_per_exchange),
                Cell::text(match row.kind {
                    Kind::Baseline => "baseline",
                    _ => row.verdict.as_str(),
                }),
            ]);
        }
    }
    page::table("", &headings, &rows)
}

/// The requests of a mix in each row at each point.
fn by_request(sweep: &Sweep) -> Markup {
    let headings = [
        ("request", Column::Wide),
        ("subject", Column::Words),
        (sweep.key.name(), Column::Figures),
        ("requests/s", Column::Figures),
        ("p50", Column::Figures),
        ("p99", Column::Figures),
        ("failed", Column::Figures),
    ];
    let names = sweep.names();
    let one = |(value, row, step): (f64, &RowFound, &StepFound)| {
        let style = names.iter().position(|name| *name == row.name);
        let rate = step.requests_per_second;
        vec![
            Cell::text(&*step.name),
            Cell::of(swatch(style.unwrap_or_default(), &row.name)),
            Cell::text(written(sweep.key, value)),
            rate.map_or_else(Cell::none, |rate| {
                Cell::text(format::count(rate.median)).under(format::give_or_take(&rate))
            }),
            time(step.p50_us),
            time(step.p99_us),
            Cell::text(step.failed.to_string()),
        ]
    };
    let rows: Vec<Vec<Cell>> = sweep.by_request().into_iter().map(one).collect();
    page::table("", &headings, &rows)
}

fn time(spread: Option<Spread>) -> Cell {
    spread.map_or_else(Cell::none, |spread| {
        Cell::text(format::time_us(spread.median)).under(format::give_or_take(&spread))
    })
}
