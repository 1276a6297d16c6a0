//! Capacities as a page.

use load::check::Threshold;
use maud::{Markup, html as markup};
use report::html::page::{
    Cell, Column, Found as Said, Section, Tone, code, details, facts, kicker, page, sentences,
    table, verdicts,
};
use report::html::plot::{Axis, Line, Scale, Series, lines};
use report::html::swatch;
use statistics::format::{count, per_second, percent, time_us};

use super::{
    BY_REQUEST, OF_REQUEST, capacity, conditions, connections, counted, dashes, failing, knee,
    mixed, of_request, or_dash, scaling, share_failed, shown, shown_objective, times_held,
};
use crate::{Capacities, Conclusion, CurvePoint, Point, RowCapacity};

/// The whole report as one page that fetches nothing.
pub fn html(found: &Capacities) -> String {
    let title = found.question.as_deref().unwrap_or(&found.asked);
    let lead = markup! {
        (kicker(&[
            "Capacity".to_owned(),
            found.asked.clone(),
            found.load.clone(),
            found.began.clone(),
        ]))
        h1 { (title) }
        (verdicts(&said(found)))
    };
    let dashes = dashes(found).map_or(String::new(), |dashes| format!(" {dashes}."));
    let mut sections = vec![Section::new(
        "Capacities",
        format!(
            "{} Response times are shown at 80 % of the capacity.{dashes}",
            conditions(found)
        ),
        capacities(found),
    )];
    if !mixed(found).is_empty() {
        let lead = "Medians of the probes in which that rate held; failed or unfinished ones are \
                    a share of all of them.";
        sections.push(Section::new(BY_REQUEST, lead, by_request(found)));
    }
    let curves = curves(found);
    if !curves.0.is_empty() {
        let lead = "What happens as the offered rate grows. Vertical lines mark the last rate that \
                    held, and horizontal ones the objectives.";
        sections.push(Section::new("Over offered rates", lead, curves));
    }
    let scalings: Vec<String> = found.rows.iter().filter_map(scaling).collect();
    if !scalings.is_empty() {
        let body = markup! { (sentences(&scalings)) (scaling_plot(found)) };
        let lead = "Throughput in a closed loop, and the universal law of scalability.";
        sections.push(Section::new("Over connections", lead, body));
    }
    if !found.reservations.is_empty() || !found.cautions.is_empty() {
        let all: Vec<String> = found
            .cautions
            .iter()
            .chain(&found.reservations)
            .cloned()
            .collect();
        sections.push(Section::new(
            "What cannot be concluded",
            "",
            sentences(&all),
        ));
    }
    sections.push(Section::new("Every probe", "", probes(found)));
    sections.push(Section::new("How it was measured", "", setup(found)));
    page(title, lead, &sections)
}

/// What was found, in large words.
pub fn said(found: &Capacities) -> Vec<Said> {
    let exact = found
        .rows
        .iter()
        .all(|row| row.found.is_none() || row.is_exact());
    let known = found.rows.iter().any(|row| row.capacity().is_some());
    let (tone, sign) = match (exact, known) {
        (true, _) => (Tone::Good, "="),
        (false, true) => (Tone::Warn, "≥"),
        (false, false) => (Tone::Warn, "?"),
    };
    let one = |conclusion: &Conclusion| Said {
        tone,
        sign,
        says: conclusion.says.clone(),
        rests: conclusion.rests.clone(),
    };
    found.conclusions.iter().map(one).collect()
}

fn capacities(found: &Capacities) -> Markup {
    let objectives = found.objectives();
    let names = objectives
        .iter()
        .map(|one| format!("{} at 80\u{a0}%", one.name));
    let names: Vec<String> = names.collect();
    let mut headings = vec![
        ("subject", Column::Words),
        ("holds", Column::Figures),
        ("fails at", Column::Figures),
        ("p50 at 80\u{a0}%", Column::Figures),
        ("p99 at 80\u{a0}%", Column::Figures),
    ];
    headings.extend(names.iter().map(|name| (name.as_str(), Column::Figures)));
    headings.extend([
        ("server CPU per exchange", Column::Figures),
        ("knee (heuristic)", Column::Words),
    ]);
    let row = |(at, row): (usize, &RowCapacity)| {
        let shown = shown(row);
        let cpu = shown.and_then(|point| point.server_cpu_us_per_exchange);
        let name = Cell::of(swatch(at, &row.name));
        let mut cells = vec![
            name.under(row.version.clone().unwrap_or_default()),
            Cell::text(capacity(row)),
            Cell::text(failing(row)),
            Cell::text(or_dash(shown.and_then(|point| point.p50_us), time_us)),
            Cell::text(or_dash(shown.and_then(|point| point.p99_us), time_us)),
        ];
        cells.extend(objectives.iter().map(|one| {
            let value = shown.and_then(|point| row.measured_at(point.rate, &one.name));
            Cell::text(shown_objective(one, value))
        }));
        cells.push(Cell::text(or_dash(cpu, time_us)));
        cells.push(Cell::text(knee(row)));
        cells
    };
    let rows: Vec<Vec<Cell>> = found.rows.iter().enumerate().map(row).collect();
    let failures = found.rows.iter().filter(|row| !row.log.is_empty());
    markup! {
        (table("", &headings, &rows))
        @for row in failures {
            (details(&format!("Output of {}", row.name), code(&row.log.join("\n"))))
        }
    }
}

/// The requests of each row whose requests differ.
fn by_request(found: &Capacities) -> Markup {
    let mut headings = OF_REQUEST.map(|heading| (heading, Column::Figures));
    (headings[0].1, headings[1].1) = (Column::Wide, Column::Words);
    let mut rows = Vec::new();
    for (at, row) in found.rows.iter().enumerate() {
        for step in &row.steps {
            let mut cells: Vec<Cell> = of_request(row, step).map(Cell::text).into();
            cells[1] = Cell::of(swatch(at, &row.name));
            rows.push(cells);
        }
    }
    table("", &headings, &rows)
}

/// The pictures over the offered rate, of what was measured, with the limits that were asked for.
fn curves(found: &Capacities) -> Markup {
    let what = counted(found);
    let picture = |title, y: Axis, limits: &[Limit], of: fn(&CurvePoint) -> Option<f64>| {
        let series = series(found, of);
        let x = Axis::new(format!("offered, {what} a second"), Scale::Log, count);
        let held: Vec<f64> = found
            .rows
            .iter()
            .filter_map(RowCapacity::capacity)
            .collect();
        let at: Vec<f64> = limits.iter().map(|limit| limit.at).collect();
        let (x, y) = (x.holding(&held), y.holding(&at));
        let levels = limits.iter();
        let levels = levels.map(|limit| Line::Level(limit.at, limit.rule.clone()));
        let marks: Vec<Line> = edges(found).into_iter().chain(levels).collect();
        match series.is_empty() {
            true => markup! {},
            false => lines(title, "", (&x, &y), &series, &marks),
        }
    };
    let (slow, failed) = limits(found);
    let axis = Axis::new;
    let answered = |p: &CurvePoint| Some(p.achieved).filter(|achieved| *achieved > 0.0);
    let slowest = axis(
        "99th percentile, from intended to done",
        Scale::Log,
        time_us,
    );
    let a_second = Axis::new(format!("{what} a second"), Scale::Log, count);
    let of_all = Axis::new(format!("of all {what}"), Scale::FromZero, percent);
    let of_cores = axis("of its cores", Scale::FromZero, percent);
    markup! {
        (picture("Response time", slowest, &slow, |p| p.p99_us))
        (picture("Answered", a_second, &[], answered))
        (picture("Failed", of_all, &failed, |p| Some(p.failed_share)))
        (picture("How busy the server was", of_cores, &[], |p| p.server_busy))
    }
}

/// An objective where it is drawn.
struct Limit {
    at: f64,
    rule: String,
}

/// The objectives that the pictures of the 99th percentile, in microseconds, and of the share that
/// failed can show. One on a higher percentile is a limit for the 99th, too; one on a lower is not.
fn limits(found: &Capacities) -> (Vec<Limit>, Vec<Limit>) {
    let (mut slow, mut failed) = (Vec::new(), Vec::new());
    for rule in &found.slo {
        let Ok(objective) = rule.parse::<Threshold>() else {
            continue;
        };
        let quantile = objective.quantile().unwrap_or_default();
        let limit = |at| Limit {
            at,
            rule: rule.clone(),
        };
        match objective.limit_s() {
            Some(seconds) if quantile >= 0.99 && !rule.starts_with("service:") => {
                slow.push(limit(1e6 * seconds));
            }
            None if quantile > 0.0 && objective.is_about_failures() => {
                failed.push(limit(1.0 - quantile));
            }
            _ => {}
        }
    }
    (slow, failed)
}

fn series(found: &Capacities, of: fn(&CurvePoint) -> Option<f64>) -> Vec<Series> {
    let one = |(at, row): (usize, &RowCapacity)| {
        let points = row.curve.iter();
        let points: Vec<(f64, f64)> = points.filter_map(|p| Some((p.rate, of(p)?))).collect();
        (!points.is_empty()).then(|| Series::new(&row.name, at, points))
    };
    found.rows.iter().enumerate().filter_map(one).collect()
}

/// Where each rate last held. The lines of several rows may stand close, so they have no words.
fn edges(found: &Capacities) -> Vec<Line> {
    let several = found.rows.len() > 1;
    let one = |row: &RowCapacity| {
        let held = row.capacity()?;
        let words = match several {
            true => String::new(),
            false => format!("held {}", per_second(held)),
        };
        Some(Line::Upright(held, words))
    };
    found.rows.iter().filter_map(one).collect()
}

fn scaling_plot(found: &Capacities) -> Markup {
    let mut series = Vec::new();
    for (at, row) in found.rows.iter().enumerate() {
        let Some(scaling) = &row.scaling else {
            continue;
        };
        let mut points: Vec<(f64, f64)> = scaling
            .points
            .iter()
            .map(|point| (f64::from(point.connections), point.achieved))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        series.push(Series::new(&row.name, at, points));
    }
    let x = Axis::new("connections", Scale::Log, count);
    let what = format!("answered, {} a second", counted(found));
    let y = Axis::new(what, Scale::FromZero, count);
    lines("Throughput over connections", "", (&x, &y), &series, &[])
}

fn probes(found: &Capacities) -> Markup {
    let objectives = found.objectives();
    let mut headings = vec![
        ("probe", Column::Words),
        ("for", Column::Words),
        ("offered", Column::Figures),
        ("connections", Column::Figures),
        ("answered", Column::Figures),
        ("p50", Column::Figures),
        ("p99", Column::Figures),
    ];
    let names = objectives.iter().map(|one| one.name.as_str());
    headings.extend(names.map(|name| (name, Column::Figures)));
    headings.extend([
        ("failed", Column::Figures),
        ("outcome", Column::Words),
        ("because", Column::Wide),
    ]);
    let one = |point: &Point| {
        let mut cells = vec![
            Cell::text(point.number.to_string()),
            Cell::text(super::text::kind(point.kind)),
            Cell::text(per_second(point.rate)),
            Cell::text(connections(point)),
            Cell::text(per_second(point.achieved.round())),
            Cell::text(or_dash(point.p50_us, time_us)),
            Cell::text(or_dash(point.p99_us, time_us)),
        ];
        cells.extend(objectives.iter().map(|one| {
            let value = point.objectives.get(&one.name).copied();
            Cell::text(shown_objective(one, value))
        }));
        cells.extend([
            Cell::text(share_failed(point)),
            Cell::text(point.outcome()),
            Cell::text(point.reason()),
        ]);
        cells
    };
    let by_rate = |row: &RowCapacity| {
        let held = row.curve.iter().filter(|p| times_held(p) == "held").count();
        format!(
            "{}: {} probes at {} rates, of which {held} held every time",
            row.name,
            row.points.len(),
            row.curve.len()
        )
    };
    markup! {
        @for row in found.rows.iter().filter(|row| !row.points.is_empty()) {
            @let rows: Vec<Vec<Cell>> = row.points.iter().map(one).collect();
            (details(&by_rate(row), table("", &headings, &rows)))
        }
    }
}

fn setup(found: &Capacities) -> Markup {
    let text = |text: String| markup! { (text) };
    let limits = &found.limits;
    let engine = found.engine.clone().unwrap_or_else(|| "unknown".to_owned());
    let mut lines = vec![
        ("ringside", text(found.ringside.clone())),
        ("began", text(found.began.clone())),
        ("asked", text(format!("{}; {}", found.asked, found.load))),
        ("must hold", text(found.slo.join(", "))),
        (
            "search",
            text(format!(
                "from {}, precision {} %, probes of a rate: {}, to confirm an edge: {}, seed {}",
                per_second(limits.from),
                100.0 * limits.precision,
                limits.repeats,
                limits.confirmations,
                found.seed,
            )),
        ),
        ("generator", text(engine)),
        (
            "kernel",
            text(found.host.kernel.clone().unwrap_or_default()),
        ),
    ];
    let network = found.network.as_ref();
    lines.extend(network.map(|network| ("network", text(network.words()))));
    facts(&lines)
}
