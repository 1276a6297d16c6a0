//! What a comparison found, as a page: the answer, then what it rests on, then how to doubt it.

use std::collections::BTreeMap;

use lab::manifest::{Outcome, Role};
use lab::verdict::{Kind, Metric, Verdict};
use maud::{Markup, html};
use statistics::format::{bytes, count, digits, give_or_take, ratio as ratio_figure, time_us};
use statistics::{Method, Ratio, Spread};

use super::faulted::faults;
use super::page::{
    Cell, Column as Stand, Found, Section, Tone, badge, bar, code, details, facts, kicker, note,
    page, sentences, table, verdicts,
};
use super::plot::{
    Axis, Curve, Interval, Line, Reference, Scale, Series, intervals, multiples, percentiles,
};
use super::ratio::{range, ratio_cell};
use super::requests::requests;
use super::swatch;
use super::trust::{clues, resources, trust, trust_in_short};
use crate::course::middle;
use crate::environment::{command, machine, procedure};
use crate::figures::{Column, columns, judged_by, of_two_loads, written};
use crate::{Figures, Note, PhaseFound, Report, Row, as_sentence, standing};

/// A reason that is longer than this does not stand in large letters.
const REASON_MAX: usize = 40;

/// A comparison that takes longer is drawn in minutes.
const SECONDS_MAX: f64 = 180.0;

/// What stands in a comparison's folder beside the records and belongs into its page.
#[derive(Clone, Debug, Default)]
pub struct Enclosed {
    /// The comparison's file, as it was read.
    pub file: String,
    /// Pictures of where the time went, as SVG, by row.
    pub flames: BTreeMap<String, String>,
}

/// The whole page.
pub fn html(report: &Report, enclosed: &Enclosed) -> String {
    let sections: Vec<Section> = [
        side_by_side(report),
        figures(report),
        ratios(report),
        phases(report),
        faults(report),
        distributions(report),
        requests(report),
        course(report),
        resources(report),
        clues(report),
        flames(report, enclosed),
        single(report),
        trust(report),
        limits(report),
        setup(report),
        again(report, enclosed),
    ]
    .into_iter()
    .flatten()
    .collect();
    page(&report.setup.name, lead(report), &sections)
}

fn lead(report: &Report) -> Markup {
    let setup = &report.setup;
    let facts = [
        setup.name.clone(),
        setup.began.replace('T', " ").replace('Z', " UTC"),
        setup.asked.clone(),
        setup.load.clone(),
    ];
    html! {
        (kicker(&facts))
        h1 { (setup.question) }
        @for sentence in &report.ranking { p.ranking { (sentence) } }
        (verdicts(&all_found(report)))
        (trust_in_short(report))
        div.notes {
            @if let Some(why) = &setup.ended_early {
                (note(Tone::Warn, "Ended early:", &format!("{why}. This report covers the rounds \
                                                            before that.")))
            }
            @if let Some(why) = &report.stopped {
                (note(Tone::Calm, "Fewer rounds, as asked for:", why))
            }
            @for caution in &report.cautions { (note(Tone::Warn, "Caution:", caution)) }
        }
    }
}

/// What was found of every row that is compared.
pub fn all_found(report: &Report) -> Vec<Found> {
    report
        .subjects
        .iter()
        .filter(|row| !row.is_for_the_measuring())
        .flat_map(|row| found(report, row))
        .collect()
}

/// What was found of a row, by what is compared and by whatever else was judged.
fn found(report: &Report, row: &Row) -> Vec<Found> {
    if let Some(line) = row.line(&report.setup, &[]) {
        let signs = said(report, decided(row), None);
        return vec![Found {
            says: line,
            rests: String::new(),
            ..signs
        }];
    }
    let main = (&row.verdict, row.ratio.as_ref());
    let further = row.further.iter();
    let further = further.map(|judgement| (&judgement.verdict, judgement.ratio.as_ref()));
    std::iter::once(main)
        .chain(further)
        .map(|(verdict, ratio)| said(report, verdict, ratio))
        .collect()
}

/// The first of a row's verdicts that says something, for the sign of all.
fn decided(row: &Row) -> &Verdict {
    let further = row.further.iter().map(|judgement| &judgement.verdict);
    let mut all = std::iter::once(&row.verdict).chain(further);
    let open = |verdict: &&Verdict| !matches!(verdict.kind, Kind::Undecided | Kind::Void);
    all.find(open).unwrap_or(&row.verdict)
}

/// A verdict in large words. The sign says what kind of statement it is, not who is good: a
/// difference, none, a bound, an open question, nothing.
fn said(report: &Report, verdict: &Verdict, ratio: Option<&Ratio>) -> Found {
    let (tone, sign) = match verdict.kind {
        Kind::Baseline | Kind::Noise | Kind::Ceiling => (Tone::Calm, "="),
        Kind::Higher | Kind::Lower => (Tone::Good, ">"),
        Kind::NoDifference | Kind::TooSmall => (Tone::Calm, "≈"),
        Kind::AtLeast | Kind::AtMost => (Tone::Warn, "≥"),
        Kind::Undecided => (Tone::Warn, "?"),
        Kind::Void => (Tone::Void, "∅"),
        Kind::NotMeasured => (Tone::Void, "–"),
    };
    let (says, why) = divided(verdict, &report.subjects);
    let rests = ratio.map(|ratio| rests(report, ratio)).unwrap_or_default();
    let parts = [why, rests].into_iter().filter(|part| !part.is_empty());
    Found {
        tone,
        sign,
        says,
        rests: parts.collect::<Vec<_>>().join(" "),
    }
}

/// A verdict, and what it rests on as a sentence of its own where that is long: large letters are
/// for what was found.
fn divided(verdict: &Verdict, subjects: &[Row]) -> (String, String) {
    match &verdict.rests_on {
        Some(why) if why.len() > REASON_MAX => {
            (standing(&verdict.says, subjects), standing(why, &[]))
        }
        _ => (as_sentence(verdict, subjects), String::new()),
    }
}

/// The interval that a verdict rests on; its rounds, its starts and how sure the interval is are in
/// its own words.
fn rests(report: &Report, ratio: &Ratio) -> String {
    let method = match ratio.method {
        Method::Bootstrap => "bootstrap",
        Method::StudentT => "Student's t",
        Method::Welch => "Welch's t",
    };
    format!(
        "{} [{}, {}] × {}, by {method}.",
        ratio_figure(ratio.centre),
        ratio_figure(ratio.low),
        ratio_figure(ratio.high),
        report.setup.baseline,
    )
}

fn figures(report: &Report) -> Option<Section> {
    let columns = columns(&report.subjects);
    let mut headings = vec![("subject", Stand::Wide), ("× baseline", Stand::Figures)];
    headings.extend(columns.iter().map(|column| (column.name, Stand::Figures)));
    headings.push(("errors", Stand::Figures));
    let rows: Vec<Vec<Cell>> = (0..)
        .zip(&report.subjects)
        .map(|(at, row)| cells(report, at, row, &columns))
        .collect();
    let title = match report.setup.equal_rate {
        Some(_) => "Figures of the closed loop",
        None => "Figures",
    };
    let lead = "The median of the rounds; below it, half the range from the lowest to the highest. \
                Response times count from when a request was due.";
    Some(Section::new(title, lead, table("", &headings, &rows)))
}

/// Each figure that rows are judged by with its ratio, where they are of two loads.
fn side_by_side(report: &Report) -> Option<Section> {
    let setup = &report.setup;
    let rate = setup.equal_rate?;
    let metrics = judged_by(setup);
    let mut headings = vec![("subject", Stand::Wide)];
    for metric in &metrics {
        headings.extend([
            (metric.name(), Stand::Figures),
            ("× baseline", Stand::Figures),
        ]);
    }
    let row = |(at, row): (usize, &Row)| {
        let mut cells = vec![Cell::of(swatch(at, &row.facts.name))];
        for metric in &metrics {
            let write = written(*metric);
            cells.push(row.figure(*metric).map_or_else(Cell::none, |spread| {
                Cell::text(write(spread.median)).under(give_or_take(spread))
            }));
            let said = row.said(*metric, setup);
            let cell = said.map(|said| ratio_cell(said.ratio, said.verdict.kind));
            cells.push(cell.unwrap_or_else(Cell::none));
        }
        cells
    };
    let rows: Vec<Vec<Cell>> = report.subjects.iter().enumerate().map(row).collect();
    let lead = standing(&of_two_loads(rate), &[]);
    Some(Section::new(
        "Side by side",
        &lead,
        table("", &headings, &rows),
    ))
}

fn cells(report: &Report, at: usize, row: &Row, columns: &[&Column]) -> Vec<Cell> {
    let under = match row.facts.role {
        Role::Subject => row.facts.version.clone().unwrap_or_default(),
        Role::Again => "the baseline measured again, to see what is noise".to_owned(),
        Role::Ceiling => "our own server, to see what the generator can do".to_owned(),
    };
    let mut cells = vec![Cell::of(swatch(at, &row.facts.name)).under(under)];
    match &row.figures {
        Some(found) => {
            cells.push(ratio_cell(row.ratio.as_ref(), row.verdict.kind));
            cells.extend((0..).zip(columns).map(|(place, column)| {
                let cell = figure(found, column);
                match place {
                    0 => with_bar(cell, report, at, column),
                    _ => cell,
                }
            }));
            cells.push(Cell::text(found.errors().to_string()));
        }
        None => {
            let state = match row.facts.outcome {
                Outcome::Missing { .. } => badge(Tone::Void, "not installed"),
                Outcome::Cannot { .. } => badge(Tone::Void, "can't be measured here"),
                Outcome::Failed { .. } => badge(Tone::Bad, "failed"),
                Outcome::Measured | Outcome::NotReached => badge(Tone::Void, "not measured"),
            };
            cells.push(Cell::of(state));
            cells.resize_with(columns.len() + 3, Cell::none);
        }
    }
    cells
}

fn figure(found: &Figures, column: &Column) -> Cell {
    match (column.of)(found) {
        None => Cell::text("–"),
        // One round has no spread, which is not a spread of nothing.
        Some(spread) if found.rounds < 2 || !column.spreads => {
            Cell::text((column.write)(spread.median))
        }
        Some(spread) => Cell::text((column.write)(spread.median)).under(give_or_take(&spread)),
    }
}

/// The first figure has a bar under it, as long as it is beside the largest of all rows.
fn with_bar(mut cell: Cell, report: &Report, at: usize, column: &Column) -> Cell {
    let median = |row: &Row| Some((column.of)(row.figures.as_ref()?)?.median);
    let most = report
        .subjects
        .iter()
        .filter_map(median)
        .fold(0.0, f64::max);
    if let Some(own) = median(&report.subjects[at]).filter(|_| most > 0.0) {
        cell.main = html! { (cell.main) (bar(own / most, at)) };
    }
    cell
}

/// A row's ratio as an interval.
fn interval((at, row): (usize, &Row)) -> Interval {
    let ends = match (&row.ratio, row.verdict.kind) {
        (Some(ratio), _) => Some((ratio.low, ratio.centre, ratio.high)),
        (None, Kind::Baseline) => Some((1.0, 1.0, 1.0)),
        (None, _) => None,
    };
    let value = match (&row.ratio, row.verdict.kind) {
        (Some(ratio), _) => ratio_figure(ratio.centre),
        (None, Kind::Baseline) => "1".to_owned(),
        (None, Kind::Void) => "void".to_owned(),
        (None, Kind::Ceiling) => "ceiling".to_owned(),
        (None, _) => "not measured".to_owned(),
    };
    let more = row.ratio.as_ref();
    Interval {
        name: row.facts.name.clone(),
        style: at,
        range: ends,
        value,
        more: more.map_or(String::new(), range),
    }
}

/// A number without zeros at its end.
fn plain(number: f64) -> String {
    let text = format!("{number:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn ratios(report: &Report) -> Option<Section> {
    let setup = &report.setup;
    let rows: Vec<Interval> = report.subjects.iter().enumerate().map(interval).collect();
    let known = |row: &Row| row.ratio.is_some();
    if !report.subjects.iter().any(known) {
        return None;
    }
    let name = format!(
        "{} as a multiple of {}'s",
        setup.metric.name(),
        setup.baseline
    );
    let better = match setup.metric.more_is_better() {
        true => "further right is more, and better",
        false => "further right is more, and worse",
    };
    let axis = Axis::new(better, Scale::Log, plain);
    // What a difference must exceed to be called one.
    let nothing = report
        .noise_floor
        .unwrap_or(0.0)
        .max(setup.smallest_difference);
    let floor = match report.noise_floor {
        Some(floor) => format!(
            ", and the baseline differed from itself by up to {} % when measured twice",
            digits(100.0 * floor)
        ),
        None => String::new(),
    };
    let more = format!(
        "Dot: the ratio. Whiskers: its confidence interval. An interval that crosses the dotted \
         line shows no difference. Nothing within the grey band counts as a difference: less than \
         {} % doesn't matter{floor}.",
        digits(100.0 * setup.smallest_difference)
    );
    let picture = intervals(
        &name,
        &more,
        &axis,
        Reference {
            at: 1.0,
            means: format!("as {}", setup.baseline),
            band: (1.0 / (1.0 + nothing), 1.0 + nothing),
        },
        &rows,
    );
    Some(Section::new("How sure", "", picture))
}

/// Which phase went how for whom.
fn phases(report: &Report) -> Option<Section> {
    let names = report
        .subjects
        .iter()
        .map(|row| &row.phases)
        .max_by_key(|all| all.len())?;
    if names.is_empty() {
        return None;
    }
    let mut headings = vec![("phase", Stand::Wide)];
    headings.extend(
        report
            .subjects
            .iter()
            .map(|row| (row.facts.name.as_str(), Stand::Words)),
    );
    let row = |phase: &PhaseFound| {
        let mut cells = vec![Cell::text(&phase.name).under(phase.asked())];
        cells.extend(report.subjects.iter().map(|row| {
            let own = row.phases.iter().find(|own| own.name == phase.name);
            own.map_or_else(Cell::none, phase_cell)
        }));
        cells
    };
    let rows: Vec<Vec<Cell>> = names.iter().map(row).collect();
    let lead = "Each phase is a run of its own, right after the one before. It passes if every \
                condition was met in every round.";
    Some(Section::new("Phases", lead, table("", &headings, &rows)))
}

fn phase_cell(phase: &PhaseFound) -> Cell {
    let figure = |spread: Option<&Spread>, write: fn(f64) -> String| {
        spread.map_or("–".to_owned(), |spread| write(spread.median))
    };
    let found = phase.figures.as_ref();
    let rate = found.map(|found| &found.requests_per_second);
    let mean = found.and_then(|found| found.mean_us.as_ref());
    let p99 = found.and_then(|found| found.p99_us.as_ref());
    let (tone, word) = match phase.passed() {
        _ if phase.conditions.is_empty() => (Tone::Calm, "no condition"),
        true => (Tone::Good, "passed"),
        false => (Tone::Bad, "failed"),
    };
    Cell::of(html! {
        (badge(tone, word))
        div { (figure(rate, count)) "/s, mean " (figure(mean, time_us)) ", p99 "
            (figure(p99, time_us)) }
        @if let Some(goodput) = phase.goodput_in_words() { div { (goodput) } }
        @for condition in &phase.conditions { small { (condition.words()) } }
    })
}

fn distributions(report: &Report) -> Option<Section> {
    let series: Vec<Series> = (0..)
        .zip(&report.subjects)
        .filter(|(_, row)| row.facts.role == Role::Subject)
        .filter_map(|(at, row)| {
            let distribution = row.distribution.as_ref()?;
            Some(Series::new(&row.facts.name, at, distribution.points()))
        })
        .collect();
    if series.is_empty() {
        return None;
    }
    let y = Axis::new(
        "response time, each step up a multiple",
        Scale::Log,
        time_us,
    );
    let picture = percentiles(
        "Share of exchanges done within a response time",
        "All valid rounds, with their histograms merged. A curve ends where fewer than three \
         exchanges lie beyond it.",
        &y,
        &series,
    );
    let lead = match report.setup.rate {
        Some(_) => {
            "From when each request was due to its answer, at the same rate for all: what users \
             wait."
        }
        None => {
            "From sending to the answer, in a closed loop: what a connection waits while its \
             server works at its limit. Users see other times at a lower load."
        }
    };
    Some(Section::new("Response times", lead, picture))
}

/// Every round of every row on one time. Each is drawn as its distance from the middle of its row,
/// since rows differ by far more than their rounds do.
fn course(report: &Report) -> Option<Section> {
    let laps = report.subjects.iter().flat_map(|row| &row.course);
    let last_s = laps.map(|lap| lap.at_s).fold(0.0, f64::max);
    let (unit, unit_s) = match last_s {
        ..SECONDS_MAX => ("seconds", 1.0),
        _ => ("minutes", 60.0),
    };
    let series: Vec<Series> = (0..)
        .zip(&report.subjects)
        .filter_map(|(at, row)| course_of(at, row, report.setup.metric, unit_s))
        .collect();
    if series.is_empty() {
        return None;
    }
    let x = Axis::new(
        format!("{unit} since the first round"),
        Scale::Linear,
        |time| {
            let text = format!("{time:.1}");
            text.trim_end_matches(".0").to_owned()
        },
    );
    let y = Axis::new(
        format!(
            "{}, relative to the median of its rounds",
            report.setup.metric.name()
        ),
        Scale::Linear,
        |share| match format!("{:+.1} %", 100.0 * share) {
            text if text == "+0.0 %" || text == "-0.0 %" => "0 %".to_owned(),
            text => text.replace('-', "−"),
        },
    );
    let y = y.holding(&[-0.02, 0.02]);
    let picture = multiples(
        "Every round, by when it was measured",
        "Filled shapes count, hollow ones don't. Lines show what happened within a round, if its \
         window is longer than a second.",
        (&x, &y),
        &series,
        &[Line::Level(0.0, String::new())],
    );
    let lead = "Rounds are interleaved, so whatever slows the whole machine moves all rows at \
                once. A slope is drift; a lone point is an outlier.";
    Some(Section::new("Every round", lead, picture))
}

fn course_of(at: usize, row: &Row, metric: Metric, unit_s: f64) -> Option<Series> {
    let middle = middle(&row.course)?;
    let away = |figure: f64| figure / middle - 1.0;
    let time = |seconds: f64| seconds / unit_s;
    let name = format!("{}, middle {}", row.facts.name, written(metric)(middle));
    let mut series = Series::new(name, at, Vec::new());
    series.curves.clear();
    for lap in &row.course {
        series.curves.push(Curve {
            points: vec![(time(lap.at_s), away(lap.figure))],
            hollow: !lap.counts,
            ..Curve::default()
        });
        if metric == Metric::RequestsPerSecond && !lap.rates.is_empty() {
            let within = lap.rates.iter();
            let point = |(at_s, rate): &(f64, f64)| (time(lap.at_s + at_s), away(*rate));
            series.curves.push(Curve {
                points: within.map(point).collect(),
                plain: true,
                ..Curve::default()
            });
        }
    }
    Some(series)
}

fn flames(report: &Report, enclosed: &Enclosed) -> Option<Section> {
    if enclosed.flames.is_empty() {
        return None;
    }
    let picture = |row: &Row| {
        let svg = enclosed.flames.get(&row.facts.name)?;
        let own = row
            .facts
            .profile
            .as_ref()
            .and_then(|seen| seen.pprof.as_ref());
        let by = match own {
            Some(file) => format!("as it saw itself ({})", file.display()),
            None => "as perf saw it".to_owned(),
        };
        let name = format!("Where the CPU time of {} went, {by}", row.facts.name);
        Some(html! {
            figure.plot {
                figcaption { (name) }
                img.flame alt=(name) src=(data_address(svg));
            }
        })
    };
    let pictures: Vec<Markup> = report.subjects.iter().filter_map(picture).collect();
    let lead = "From one extra round of each, which is in no figure above. The wider a box, the \
                more samples had that function on the stack.";
    let body = html! { @for picture in pictures { (picture) } };
    Some(Section::new("Where the time went", lead, body))
}

/// A picture as an address that holds it: what is in it can neither run nor fetch.
fn data_address(svg: &str) -> String {
    let mut address = String::with_capacity(svg.len() + svg.len() / 4);
    address.push_str("data:image/svg+xml,");
    for byte in svg.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b' '
            | b'='
            | b'/'
            | b':'
            | b'.'
            | b','
            | b'-'
            | b'_'
            | b'('
            | b')'
            | b';'
            | b'\''
            | b'!'
            | b'*' => address.push(byte as char),
            _ => address.push_str(&format!("%{byte:02X}")),
        }
    }
    address
}

fn written_out(notes: &[Note]) -> Vec<String> {
    notes.iter().map(Note::to_string).collect()
}

/// What must be known about single subjects, and what went wrong with them.
fn single(report: &Report) -> Option<Section> {
    let told = |row: &&Row| {
        !row.notes.is_empty()
            || matches!(
                row.facts.outcome,
                Outcome::Failed { .. } | Outcome::Missing { .. } | Outcome::Cannot { .. }
            )
    };
    let rows: Vec<&Row> = report.subjects.iter().filter(told).collect();
    if rows.is_empty() {
        return None;
    }
    let body = html! {
        @for row in rows {
            div.prose {
                h3 { (row.facts.name) }
                @if !row.notes.is_empty() { (sentences(&written_out(&row.notes))) }
                @match &row.facts.outcome {
                    Outcome::Missing { install } => {
                        (note(Tone::Void, "Not installed.", install))
                    }
                    Outcome::Cannot { why } => {
                        (note(Tone::Void, "Can't be measured here:", why))
                    }
                    Outcome::Failed { what, log } => {
                        (note(Tone::Bad, "Failed:", what))
                        @if !log.is_empty() {
                            p.small { "The last lines of its output:" }
                            (code(&log.join("\n")))
                        }
                    }
                    Outcome::Measured | Outcome::NotReached => {}
                }
            }
        }
    };
    Some(Section::new("Notes on individual subjects", "", body))
}

fn limits(report: &Report) -> Option<Section> {
    let body = sentences(&report.limits);
    Some(Section::new("What this doesn't show", "", body))
}

fn setup(report: &Report) -> Option<Section> {
    let text = |rows: Vec<(&'static str, String)>| -> Vec<(&'static str, Markup)> {
        rows.into_iter()
            .map(|(name, value)| (name, html! { (value) }))
            .collect()
    };
    let described = |row: &Row| (row.facts.name.clone(), described(row));
    let subjects: Vec<(String, Markup)> = report.subjects.iter().map(described).collect();
    let order: Vec<Vec<Cell>> = (1..)
        .zip(&report.setup.order)
        .map(|(round, names)| {
            vec![
                Cell::text(format!("round {round}")),
                Cell::text(names.join(", ")),
            ]
        })
        .collect();
    let headings = [
        ("round", Stand::Wide),
        ("measured one after another", Stand::Wide),
    ];
    let body = html! {
        h3 { "The machine" }
        (facts(&text(machine(&report.host, report.network.as_ref()))))
        h3 { "The measurement" }
        (facts(&text(procedure(&report.setup))))
        h3 { "The subjects" }
        (facts(&subjects))
        (details("The order within each round", table("", &headings, &order)))
    };
    Some(Section::new("Setup", "", body))
}

/// What a subject is, how it is started, and which programs those were.
fn described(row: &Row) -> Markup {
    html! {
        (row.facts.description)
        @if let Some(version) = &row.facts.version { div { (version) } }
        @if !row.facts.command.is_empty() { div { code { (row.facts.command) } } }
        @for binary in &row.facts.binaries {
            div.hash {
                (binary.path.display()) ", " (bytes(binary.bytes as f64)) ", SHA-256 "
                code { (binary.sha256) }
            }
        }
    }
}

fn again(report: &Report, enclosed: &Enclosed) -> Option<Section> {
    let command = command("comparison.toml", &report.asked);
    let body = html! {
        (code(&command))
        p.small {
            "Save the file below as comparison.toml next to the subjects folder, and run it on \
             this kind of machine; the seed is in the file. " code { "ringside report DIR" }
            " writes this page again from the records in DIR."
        }
        @if !enclosed.file.is_empty() { (details("comparison.toml", code(&enclosed.file))) }
    };
    Some(Section::new("Repeat it", "", body))
}
