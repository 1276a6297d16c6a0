//! A sweep as text: for a terminal, as Markdown, and as CSV.

use lab::manifest::Role;
use report::Look;
use report::csv::{field, quoted};
use report::markdown::{escape, list, rows};
use report::terminal::{aligned, first_requests, plain, under, wrap};
use statistics::Spread;
use statistics::format::{self, time_us};

use super::RowFound;
use super::record::{StepFound, Sweep, written};

/// The figures as a table, a line for each row at each point, and what they make of it together.
pub fn terminal(sweep: &Sweep, look: Look) -> String {
    let mut lines = wrap(&sweep.question, look.width, "", "");
    lines.push(String::new());
    lines.extend(aligned(table(sweep), look));
    if let Some(requests) = by_request(sweep) {
        lines.extend([String::new(), "By request".to_owned()]);
        let (shown, more) = first_requests(requests);
        lines.extend(aligned(shown, look));
        lines.extend(more);
    }
    lines.extend(under("What can be concluded", &concluded(sweep), look));
    lines.extend(under("What cannot be concluded", &sweep.refused(), look));
    plain(&lines, look)
}

/// The same as Markdown.
pub fn markdown(sweep: &Sweep) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n",
        escape(&sweep.name),
        escape(&sweep.question)
    );
    rows(&mut text, &table(sweep));
    if let Some(requests) = by_request(sweep) {
        text.push_str("## By request\n\n");
        rows(&mut text, &requests);
    }
    list(&mut text, "What can be concluded", &concluded(sweep));
    list(&mut text, "What cannot be concluded", &sweep.refused());
    let order: Vec<String> = sweep.order.iter().map(ToString::to_string).collect();
    text.push_str(&format!(
        "## How it was measured\n\n- began {}\n- each value in a comparison of its own, in the \
         order {}\n",
        sweep.began,
        order.join(", ")
    ));
    text
}

/// What can be concluded from all points together, in sentences.
pub fn concluded(sweep: &Sweep) -> Vec<String> {
    let concluded = sweep.concluded().into_iter();
    concluded.map(|(_, says)| says).collect()
}

fn table(sweep: &Sweep) -> Vec<Vec<String>> {
    let key = sweep.key.name();
    let headings = [
        "subject",
        key,
        "requests/s",
        "p50",
        "p99",
        "CPU/exchange",
        "× baseline",
    ];
    let mut lines = vec![headings.map(str::to_owned).to_vec()];
    for (value, row) in subjects(sweep) {
        let figures = &row.figures;
        let time = |spread: Option<Spread>| {
            spread.map_or("–".to_owned(), |spread| time_us(spread.median))
        };
        lines.push(vec![
            row.name.clone(),
            written(sweep.key, value),
            format::count(figures.requests_per_second.median),
            time(figures.p50_us),
            time(figures.p99_us),
            time(figures.server_cpu_us_per_exchange),
            beside(sweep, row),
        ]);
    }
    lines
}

/// The requests of a mix, a line for each row at each point; none where all are alike.
fn by_request(sweep: &Sweep) -> Option<Vec<Vec<String>>> {
    let found = sweep.by_request();
    if found.is_empty() {
        return None;
    }
    let key = sweep.key.name();
    let headings = [
        "request",
        "subject",
        key,
        "requests/s",
        "p50",
        "p99",
        "failed",
    ];
    let mut lines = vec![headings.map(str::to_owned).to_vec()];
    let figure = |spread: Option<Spread>, write: fn(f64) -> String| {
        spread.map_or("–".to_owned(), |spread| write(spread.median))
    };
    for (value, row, step) in found {
        lines.push(vec![
            step.name.clone(),
            row.name.clone(),
            written(sweep.key, value),
            figure(step.requests_per_second, format::count),
            figure(step.p50_us, time_us),
            figure(step.p99_us, time_us),
            step.failed.to_string(),
        ]);
    }
    Some(lines)
}

/// The rows that are compared, by value.
fn subjects(sweep: &Sweep) -> impl Iterator<Item = (f64, &RowFound)> {
    sweep.points.iter().flat_map(|point| {
        let rows = point.rows.iter().filter(|row| row.role == Role::Subject);
        rows.map(|row| (point.value, row))
    })
}

fn beside(sweep: &Sweep, row: &RowFound) -> String {
    let mut words = match row.ratio {
        _ if row.name == sweep.baseline => "baseline".to_owned(),
        Some(ratio) => format!("{:.3} ({:.3}–{:.3})", ratio.centre, ratio.low, ratio.high),
        None => "–".to_owned(),
    };
    if row.doubtful {
        words.push_str(", doubtful");
    }
    words
}

/// Every row at every point as a line of CSV (RFC 4180 with plain line feeds), times in
/// microseconds. Where requests differ there's a column more, `step`, and behind the rows a line
/// for each request of each.
pub fn csv(sweep: &Sweep) -> String {
    let mut text = format!(
        "{},row,requests_per_second,lowest,highest,p50_us,p99_us,server_cpu_us_per_exchange,\
         memory_peak_bytes,ratio,ratio_low,ratio_high,doubtful",
        sweep.key.name()
    );
    let requests = sweep.by_request();
    let none = if requests.is_empty() { "" } else { "," };
    text.push_str(if requests.is_empty() { "\n" } else { ",step\n" });
    for (value, row) in subjects(sweep) {
        let figures = &row.figures;
        let rate = &figures.requests_per_second;
        let median = |spread: Option<Spread>| field(spread.map(|spread| spread.median));
        let fields = [
            value.to_string(),
            quoted(&row.name),
            rate.median.to_string(),
            rate.lowest.to_string(),
            rate.highest.to_string(),
            median(figures.p50_us),
            median(figures.p99_us),
            median(figures.server_cpu_us_per_exchange),
            median(figures.memory_peak_bytes),
            field(row.ratio.map(|ratio| ratio.centre)),
            field(row.ratio.map(|ratio| ratio.low)),
            field(row.ratio.map(|ratio| ratio.high)),
            row.doubtful.to_string(),
        ];
        text.push_str(&format!("{}{none}\n", fields.join(",")));
    }
    for (value, row, step) in requests {
        text.push_str(&format!("{}\n", of_step(value, row, step).join(",")));
    }
    text
}

/// A request in a row at a point. What is known of the server is of whole rows.
fn of_step(value: f64, row: &RowFound, step: &StepFound) -> [String; 14] {
    let rate = step.requests_per_second;
    let none = String::new;
    [
        value.to_string(),
        quoted(&row.name),
        field(rate.map(|rate| rate.median)),
        field(rate.map(|rate| rate.lowest)),
        field(rate.map(|rate| rate.highest)),
        field(step.p50_us.map(|time| time.median)),
        field(step.p99_us.map(|time| time.median)),
        none(),
        none(),
        none(),
        none(),
        none(),
        row.doubtful.to_string(),
        quoted(&step.name),
    ]
}
