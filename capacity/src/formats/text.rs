//! Capacities as text: for a terminal, as Markdown, and as CSV.

use report::csv::{field, quoted};
use report::markdown::{escape, list, rows};
use report::terminal::{Look, aligned, first_requests, logged, plain, under, wrap};
use statistics::format::{per_second, percent, time_us};

use super::{
    BY_REQUEST, OF_REQUEST, capacity, conditions, connections, dashes, failed_share, failing, knee,
    mixed, of_request, or_dash, scaling, share_failed, shown, shown_objective,
};
use crate::search::Kind;
use crate::{Capacities, Conclusion, CurvePoint, Objective, Point, Reach, RowCapacity, StepFound};

const HEADINGS: [&str; 7] = [
    "subject",
    "holds",
    "fails at",
    "p50 at 80 %",
    "p99 at 80 %",
    "CPU/exch.",
    "knee (heuristic)",
];

const CURVE: [&str; 7] = [
    "offered", "answered", "p50", "p99", "failed", "server", "outcome",
];

const PROBES: [&str; 9] = [
    "probe",
    "for",
    "offered",
    "connections",
    "answered",
    "p99",
    "failed",
    "outcome",
    "because",
];

/// The whole report as lines of text.
pub fn terminal(found: &Capacities, look: Look) -> String {
    let mut lines = Vec::new();
    lines.extend(
        found
            .question
            .iter()
            .flat_map(|text| wrap(text, look.width, "", "")),
    );
    let asked = format!("{}; {}", found.asked, found.load);
    lines.extend(wrap(&asked, look.width, "", "  "));
    lines.extend(wrap(&conditions(found), look.width, "", "  "));
    lines.push(String::new());
    lines.extend(aligned(table(found), look));
    for row in &found.rows {
        lines.extend(row.log.iter().flat_map(|line| logged(line, look.width)));
        if found.rows.len() == 1 && !row.points.is_empty() {
            lines.push(String::new());
            lines.extend(aligned(curve(found, row), look));
            lines.push(String::new());
            lines.extend(listed(found, row, look));
        }
    }
    if !mixed(found).is_empty() {
        lines.extend([String::new(), BY_REQUEST.to_owned()]);
        let (shown, more) = first_requests(by_request(found));
        lines.extend(aligned(shown, look));
        lines.extend(more);
    }
    if let Some(dashes) = dashes(found) {
        lines.push(String::new());
        lines.extend(wrap(&dashes, look.width, "", "   "));
    }
    let scalings: Vec<String> = found.rows.iter().filter_map(scaling).collect();
    for (heading, sentences) in [
        ("Caution", &found.cautions),
        ("What can be concluded", &concluded(found)),
        ("Scalability", &scalings),
        ("What cannot be concluded", &found.reservations),
    ] {
        lines.extend(under(heading, sentences, look));
    }
    plain(&lines, look)
}

/// What is to be known first, a sentence each: whether what has to be reached is, and what was
/// found of each subject.
fn verdicts(found: &Capacities) -> Vec<String> {
    let reached = found.at_least.map(|rate| {
        let least = per_second(rate);
        match found.at_least(rate) {
            Reach::Shown => format!("At least {least} is shown."),
            Reach::Below => format!("At least {least} isn't shown."),
            Reach::NotKnown(why) => format!("At least {least} can't be judged: {why}."),
        }
    });
    let says = found.conclusions.iter().map(|one| one.says.clone());
    reached.into_iter().chain(says).collect()
}

fn concluded(found: &Capacities) -> Vec<String> {
    found.conclusions.iter().map(Conclusion::words).collect()
}

/// Where the figures of the conditions stand in each table: behind the 99th percentile.
const BEHIND_P99: [usize; 3] = [5, 4, 6];

/// The columns of a table with those of the conditions' figures among them.
fn with_objectives(headings: &[&str], found: &Capacities, at: usize, more: &str) -> Vec<String> {
    let mut headings: Vec<String> = headings.iter().map(|one| (*one).to_owned()).collect();
    let objectives = found.objectives().into_iter();
    headings.splice(at..at, objectives.map(|one| format!("{}{more}", one.name)));
    headings
}

fn table(found: &Capacities) -> Vec<Vec<String>> {
    let objectives = found.objectives();
    let [behind, ..] = BEHIND_P99;
    let mut lines = vec![with_objectives(&HEADINGS, found, behind, " at 80 %")];
    lines.extend(found.rows.iter().map(|row| {
        let at = shown(row);
        let cpu = at.and_then(|point| point.server_cpu_us_per_exchange);
        let mut cells = vec![
            row.name.clone(),
            capacity(row),
            failing(row),
            or_dash(at.and_then(|point| point.p50_us), time_us),
            or_dash(at.and_then(|point| point.p99_us), time_us),
            or_dash(cpu, time_us),
            knee(row),
        ];
        let measured = objectives.iter().map(|one| {
            let value = at.and_then(|point| row.measured_at(point.rate, &one.name));
            shown_objective(one, value)
        });
        cells.splice(behind..behind, measured);
        cells
    }));
    lines
}

/// The requests of each row whose requests differ.
fn by_request(found: &Capacities) -> Vec<Vec<String>> {
    let mut lines = vec![OF_REQUEST.map(str::to_owned).to_vec()];
    for row in mixed(found) {
        lines.extend(row.steps.iter().map(|step| of_request(row, step).to_vec()));
    }
    lines
}

fn curve(found: &Capacities, row: &RowCapacity) -> Vec<Vec<String>> {
    let objectives = found.objectives();
    let [_, behind, _] = BEHIND_P99;
    let mut lines = vec![with_objectives(&CURVE, found, behind, "")];
    lines.extend(row.curve.iter().map(|point| {
        let measured = objectives
            .iter()
            .map(|one| shown_objective(one, row.measured_at(point.rate, &one.name)));
        let mut cells = curve_cells(point);
        cells.splice(behind..behind, measured);
        cells
    }));
    lines
}

fn curve_cells(point: &CurvePoint) -> Vec<String> {
    vec![
        per_second(point.rate),
        per_second(point.achieved.round()),
        or_dash(point.p50_us, time_us),
        or_dash(point.p99_us, time_us),
        failed_share(point.failed_share),
        or_dash(point.server_busy, percent),
        super::times_held(point),
    ]
}

/// Every probe of a row, in the order in which they were made.
fn probes(found: &Capacities, row: &RowCapacity) -> Vec<Vec<String>> {
    let objectives = found.objectives();
    let [.., behind] = BEHIND_P99;
    let mut lines = vec![with_objectives(&PROBES, found, behind, "")];
    lines.extend(row.points.iter().map(|point| {
        let mut cells = vec![
            point.number.to_string(),
            kind(point.kind).to_owned(),
            per_second(point.rate),
            connections(point),
            per_second(point.achieved.round()),
            or_dash(point.p99_us, time_us),
            share_failed(point),
            point.outcome().to_owned(),
            point.reason(),
        ];
        let measured = objectives
            .iter()
            .map(|one| shown_objective(one, point.objectives.get(&one.name).copied()));
        cells.splice(behind..behind, measured);
        cells
    }));
    lines
}

/// The same for a terminal. The reason, which may be long, stands below what is known in figures
/// where the line has no room for it.
fn listed(found: &Capacities, row: &RowCapacity, look: Look) -> Vec<String> {
    let mut cells = probes(found, row);
    let reasons: Vec<String> = cells.iter_mut().filter_map(Vec::pop).collect();
    let figures = aligned(cells, look);
    // Where they stand in several parts, the reasons go with the last.
    let (before, last) = figures.split_at(figures.len() - reasons.len());
    let mut lines = before.to_vec();
    for (at, (line, reason)) in last.iter().zip(&reasons).enumerate() {
        let one = format!("{line}  {reason}");
        // The headings may be bold, which takes no room.
        if at == 0 || one.chars().count() <= look.width {
            lines.push(one);
            continue;
        }
        lines.push(line.clone());
        lines.extend(wrap(reason, look.width, "       ", "       "));
    }
    lines
}

/// The whole report as Markdown.
pub fn markdown(found: &Capacities) -> String {
    let title = found.question.as_deref().unwrap_or(&found.asked);
    let mut text = format!("# Capacity: {}\n\n", escape(title));
    for sentence in verdicts(found) {
        text.push_str(&format!("**{}**\n\n", escape(&sentence)));
    }
    text.push_str(&format!(
        "{}; {}. {}\n\n",
        escape(&found.asked),
        escape(&found.load),
        escape(&conditions(found))
    ));
    list(&mut text, "Caution", &found.cautions);
    rows(&mut text, &table(found));
    if !mixed(found).is_empty() {
        text.push_str(&format!("## {BY_REQUEST}\n\n"));
        rows(&mut text, &by_request(found));
    }
    if let Some(dashes) = dashes(found) {
        text.push_str(&format!("{}.\n\n", escape(&dashes)));
    }
    list(&mut text, "What can be concluded", &concluded(found));
    let scalings: Vec<String> = found.rows.iter().filter_map(scaling).collect();
    list(&mut text, "Scalability", &scalings);
    list(&mut text, "What cannot be concluded", &found.reservations);
    for row in found.rows.iter().filter(|row| !row.curve.is_empty()) {
        // A summary or a comment shows them folded.
        let name = escape(&row.name);
        text.push_str(&format!(
            "<details><summary>{name} over offered rates, and every probe</summary>\n\n"
        ));
        rows(&mut text, &curve(found, row));
        rows(&mut text, &probes(found, row));
        text.push_str("</details>\n\n");
    }
    let engine = found.engine.as_deref().unwrap_or("unknown");
    text.push_str(&format!(
        "## How it was measured\n\n- ringside {}, began {}, seed {}\n- generator on {}\n- {} \
         probes, whose records are in `rounds/`\n",
        found.ringside,
        found.began,
        found.seed,
        escape(engine),
        found.rows.iter().map(|row| row.points.len()).sum::<usize>(),
    ));
    text
}

/// Every probe as a line of CSV (RFC 4180 with plain line feeds), times in microseconds. A figure
/// of the conditions that has no column anyway gets one behind the others. Where requests differ
/// there's another one, `step`, and behind each probe a line for each request.
pub fn csv(found: &Capacities) -> String {
    let mut text = String::from(
        "subject,probe,kind,rate,connections,offered,achieved,seconds,completed,failed,p50_us,\
         p99_us,server_cpu_us_per_exchange,server_busy,outcome,why",
    );
    let points = || found.rows.iter().flat_map(|row| &row.points);
    let is_mix = points().any(|point| !point.steps.is_empty());
    let none = if is_mix { "," } else { "" };
    let objectives = found.objectives();
    for one in &objectives {
        text.push_str(&format!(",{}", one.column()));
    }
    text.push_str(if is_mix { ",step\n" } else { "\n" });
    for row in &found.rows {
        for point in &row.points {
            let line = probe(&row.name, point, &objectives).join(",");
            text.push_str(&format!("{line}{none}\n"));
            for step in &point.steps {
                let line = of_step(&row.name, point, &objectives, step).join(",");
                text.push_str(&format!("{line}\n"));
            }
        }
    }
    text
}

/// A request in a probe. What is known of the server and the search is of whole probes.
fn of_step(name: &str, point: &Point, all: &[Objective], step: &StepFound) -> Vec<String> {
    let mut fields = probe(name, point, all);
    let none = String::new;
    fields[5] = none();
    fields[6] = step.achieved.to_string();
    fields[8] = step.completed.to_string();
    fields[9] = step.failed.to_string();
    fields[10] = field(step.p50_us);
    fields[11] = field(step.p99_us);
    fields[12..].fill_with(none);
    fields.push(quoted(&step.name));
    fields
}

fn probe(name: &str, point: &Point, objectives: &[Objective]) -> Vec<String> {
    let measured = |one: &Objective| field(point.objectives.get(&one.name).copied());
    let fields = [
        quoted(name),
        point.number.to_string(),
        kind(point.kind).to_owned(),
        point.rate.to_string(),
        point.connections.to_string(),
        point.offered.to_string(),
        point.achieved.to_string(),
        point.seconds.to_string(),
        point.completed.to_string(),
        point.failed.to_string(),
        field(point.p50_us),
        field(point.p99_us),
        field(point.server_cpu_us_per_exchange),
        field(point.server_busy),
        quoted(point.outcome()),
        quoted(&point.reason()),
    ];
    let fields = fields.into_iter();
    fields.chain(objectives.iter().map(measured)).collect()
}

/// What a probe was for, in a word.
pub(super) fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Ramp => "ramp",
        Kind::Bisect => "bisect",
        Kind::Control => "control",
        Kind::Confirm => "confirm",
        Kind::Connections => "connections",
        Kind::Curve => "curve",
        Kind::Answers => "answers",
    }
}
