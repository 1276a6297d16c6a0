//! The report for a terminal: a table with the spread under each figure, a picture of the
//! intervals, and what can and cannot be concluded.

mod requests;

pub use requests::{first_requests, shortened};

use lab::finding::Check;
use lab::manifest::{Outcome, RanBefore, Role};
use lab::verdict::{Kind, Metric, Verdict};
use statistics::Ratio;
use statistics::format::{ascii, digits, give_or_take, per_second};
use supervisor::cores::List;

use super::checks::{State, Summary, count_in_words, summaries};
use super::clue;
use super::faulted;
use super::figures::{Column, columns, judged_by, of_two_loads, written};
use super::plot::{confidence, plot};
use super::{Note, Report, Row};

/// Who used less of a core than this, in percent, is nobody to be ended.
const CULPRIT_MIN: f64 = 10.0;

/// Sentences are not broken at fewer columns.
const WIDTH_MIN: usize = 40;
/// A table is divided only for readers with fewer columns: a pipe has so many, and no edge.
const WIDTH_WHOLE: usize = 100;

/// How a terminal wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// Letters beyond ASCII may be used.
    pub unicode: bool,
    /// Bold and dim may be used.
    pub colour: bool,
    /// Columns that sentences are broken at, and tables and pictures if they are few.
    pub width: usize,
}

/// The whole report as lines of text.
pub fn terminal(report: &Report, look: Look) -> String {
    let mut text = String::new();
    let mut push = |line: &str| {
        text.push_str(line.trim_end());
        text.push('\n');
    };
    let width = look.width.max(WIDTH_MIN);
    wrap(&report.setup.question, width, "", "")
        .iter()
        .for_each(|line| push(line));
    for sentence in &report.ranking {
        for line in wrap(sentence, width, "", "  ") {
            push(&bold(&line, look));
        }
    }
    for line in wrap(&facts(report), width, "", "  ") {
        push(&line);
    }
    push("");
    table(report, look).iter().for_each(|line| push(line));
    let shared = shared(&report.subjects);
    for (says, names) in &shared {
        let text = format!("{}: {says}", names.join(", "));
        let lines = wrap(&text, width, "", "    ");
        lines.iter().for_each(|line| push(line));
    }
    for row in &report.subjects {
        let lines = troubles(row, &shared, width);
        lines.iter().for_each(|line| push(line));
    }
    // The two loads of an equal rate are in the table.
    let told = |_: &&Row| report.setup.equal_rate.is_none();
    for row in report.subjects.iter().filter(told) {
        for phase in &row.phases {
            let text = format!("{}, {}", row.facts.name, phase.words());
            wrap(&text, width, "", "    ")
                .iter()
                .for_each(|line| push(line));
        }
    }
    let by_request = requests::by_request_table(report, look, width);
    by_request.iter().for_each(|line| push(line));
    let picture = plot(&report.subjects, &report.setup.baseline, width);
    if !picture.is_empty() {
        push("");
        let heading = format!(
            "{} as a multiple of {}'s, {}",
            report.setup.metric.name(),
            report.setup.baseline,
            confidence(&report.subjects).unwrap_or_default()
        );
        wrap(&heading, width, "", "")
            .iter()
            .for_each(|line| push(line));
        picture.iter().for_each(|line| push(line));
    }
    lists(report, look).iter().for_each(|line| push(line));
    // Escape sequences and line ends are ASCII themselves.
    if look.unicode { text } else { ascii(&text) }
}

/// What there is to say in sentences.
fn lists(report: &Report, look: Look) -> Vec<String> {
    let lists = [
        (
            "What the faults cost",
            &faulted::sentences(&report.subjects),
        ),
        ("Caution", &report.cautions),
        ("What can be concluded", &report.conclusions),
        ("What cannot be concluded", &report.limits),
        ("What they used", &used(report)),
        ("Where to look next", &clue::in_short(&report.subjects)),
        ("Checks", &checks(report)),
    ];
    let under = |(heading, sentences): (&str, &Vec<String>)| under(heading, sentences, look);
    lists.into_iter().flat_map(under).collect()
}

/// What the rows that are compared used; the whole table is in the other reports.
fn used(report: &Report) -> Vec<String> {
    let compared = |row: &&Row| row.facts.role == Role::Subject;
    let rows = report.subjects.iter().filter(compared);
    rows.filter_map(Row::used_in_words).collect()
}

/// How the checks went; what exactly they found is in the other reports.
fn checks(report: &Report) -> Vec<String> {
    let summaries = summaries(&report.checks);
    let found = summaries
        .iter()
        .filter(|one| matches!(one.state, State::Found(_)));
    let mut sentences: Vec<String> = found
        .map(|one| match one.rows.is_empty() {
            true => format!("Not passed: {}: {}.", one.check.asks(), one.said.join("; ")),
            false => format!(
                "Not passed: {} ({}).{}",
                one.check.asks(),
                one.rows.join(", "),
                culprit(one).unwrap_or_default()
            ),
        })
        .collect();
    if !summaries.is_empty() {
        sentences.push(format!(
            "{}; all are in the report.",
            count_in_words(&summaries)
        ));
    }
    sentences
}

/// Who used the CPUs most meanwhile, if that was a program and worth a word, and what to do about
/// it.
fn culprit(summary: &Summary) -> Option<String> {
    if summary.check != Check::Unattributed {
        return None;
    }
    // "… a core, `rustc` 74 %, `kworker/0:1` 3 % (in 5 of 8 rounds)"
    let named = summary.said.iter().flat_map(|said| {
        let each = said.split(", `").skip(1);
        each.filter_map(|one| {
            let (name, rest) = one.split_once("` ")?;
            let percent: f64 = rest.split_once(" %")?.0.parse().ok()?;
            Some((name, percent))
        })
    });
    // A thread of the kernel, which nobody can end, has a slash in its name.
    let ended = named.filter(|(name, percent)| !name.contains('/') && *percent >= CULPRIT_MIN);
    let (name, percent) = ended.max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        " `{name}` used {percent} % of a core: end it and compare again."
    ))
}

fn facts(report: &Report) -> String {
    let setup = &report.setup;
    let kernel = report.host.kernel.as_deref().unwrap_or("unknown kernel");
    let congestion = report
        .host
        .congestion_control
        .as_deref()
        .unwrap_or("unknown");
    let network = report.network.as_ref();
    let network = network.map_or(String::new(), |network| {
        format!(", in {}", network.phrase())
    });
    let offered = setup.rate.map(|rate| {
        let rate = per_second(rate);
        format!("offered {rate} at random times, ")
    });
    let load = offered.unwrap_or_default() + &setup.load;
    let rounds = setup.rounds;
    let mut rows = report.subjects.iter().map(|row| &row.facts);
    let started = rows.any(|row| row.role == Role::Subject && row.ran_before.is_none());
    let server = match setup.server_cores.is_empty() {
        true if started => "servers on any core".to_owned(),
        true => "servers already running".to_owned(),
        false => {
            let core = format!("server on core {}", List(&setup.server_cores));
            let unassigned = unassigned(report, "on any core that it may use");
            [core]
                .into_iter()
                .chain(unassigned)
                .collect::<Vec<_>>()
                .join(", ")
        }
    };
    if setup.metric == Metric::Seconds {
        // A command has no window, and no generator.
        let cores = List(&setup.server_cores);
        return format!("{load}, {rounds} rounds; commands on core {cores}; {kernel}{network}");
    }
    format!(
        "{load}, {rounds} rounds of {} s; {server}, generator on core {}; \
         {kernel}, {congestion}{network}",
        digits(setup.window_s),
        List(&setup.generator_cores),
    )
}

/// The rows whose servers ran before, and weren't assigned any cores, each with what is said of
/// those that are `here`.
fn unassigned(report: &Report, here: &str) -> Vec<String> {
    let subjects = report.subjects.iter().map(|row| &row.facts);
    let subjects = subjects.filter(|facts| facts.role == Role::Subject);
    let places = subjects.filter_map(|facts| {
        let place = match facts.ran_before? {
            RanBefore::Here => here,
            RanBefore::Elsewhere => "elsewhere",
        };
        Some(format!("{} {place}", facts.name))
    });
    places.collect()
}

fn table(report: &Report, look: Look) -> Vec<String> {
    if report.setup.equal_rate.is_some() {
        return judged_table(report, look);
    }
    let mut columns = columns(&report.subjects);
    columns.retain(|column| column.short.is_some());
    let mut headings = vec!["subject"];
    headings.extend(columns.iter().filter_map(|column| column.short));
    headings.push("errors");
    headings.push(match report.setup.metric {
        Metric::ResponseTimeP99 => "p99 × baseline",
        Metric::Seconds => "time × baseline",
        Metric::GeneratorCpuPerExchange => "CPU × baseline",
        Metric::RequestsPerSecond
        | Metric::RequestsDriven
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::Streamed(_)
        | Metric::ServerCpuPerExchange
        | Metric::MemoryPeak
        | Metric::Capacity => "× baseline",
    });
    let headings = headings.into_iter().map(str::to_owned);
    let mut lines: Vec<Vec<String>> = vec![headings.collect()];
    for row in &report.subjects {
        let (figures, spreads) = cells(row, &columns);
        lines.push(figures);
        lines.push(spreads);
    }
    with_spreads(lines, look)
}

/// A table in which under every line of figures there is one of their spreads.
fn with_spreads(lines: Vec<Vec<String>>, look: Look) -> Vec<String> {
    let height = lines.len();
    let mut text = aligned(lines, look);
    for (at, line) in text.iter_mut().enumerate() {
        // Each part of it has all the lines.
        let at = at % height;
        if at > 0 && at.is_multiple_of(2) {
            *line = dim(line, look);
        }
    }
    text.retain(|line| !line.is_empty());
    text
}

/// Each figure that rows are judged by with its ratio, a pair of columns each: the figures of two
/// loads side by side, which the table above has no room for.
fn judged_table(report: &Report, look: Look) -> Vec<String> {
    let setup = &report.setup;
    let rows = &report.subjects;
    let metrics = judged_by(setup);
    let failed = rows.iter().any(|row| row.errors() > 0);
    let mut headings = vec!["subject".to_owned()];
    headings.extend(failed.then(|| "errors".to_owned()));
    for metric in &metrics {
        headings.extend([short(*metric).to_owned(), "× baseline".to_owned()]);
    }
    let width = headings.len();
    let mut lines = vec![headings];
    for row in rows {
        let mut figures = vec![row.facts.name.clone()];
        let mut spreads = vec![String::new()];
        if row.figures.is_none() {
            figures.push(state(row).to_owned());
        } else {
            figures.extend(failed.then(|| row.errors().to_string()));
            spreads.extend(failed.then(String::new));
            for metric in &metrics {
                let spread = row.figure(*metric);
                figures.push(spread.map_or("–".to_owned(), |one| written(*metric)(one.median)));
                spreads.push(spread.map(give_or_take).unwrap_or_default());
                let said = row.said(*metric, setup);
                let cells = said.map(|said| ratio_cells(said.verdict, said.ratio));
                let (ratio, interval) = cells.unwrap_or_default();
                figures.push(ratio);
                spreads.push(interval);
            }
        }
        figures.resize(width, String::new());
        spreads.resize(width, String::new());
        lines.extend([figures, spreads]);
    }
    let mut text = with_spreads(lines, look);
    if let Some(rate) = setup.equal_rate {
        let width = look.width.max(WIDTH_MIN);
        let lines = wrap(&of_two_loads(rate), width, "", "  ").into_iter();
        text.extend(lines.map(|line| dim(&line, look)));
    }
    text
}

/// A figure's heading where there is little room.
fn short(metric: Metric) -> &'static str {
    match metric {
        Metric::RequestsPerSecond | Metric::RequestsDriven => "requests/s",
        Metric::ResponseTimeP99 => "p99",
        Metric::ResponseTimeP95 => "p95",
        Metric::ResponseTimeP50 => "p50",
        Metric::ResponseTimeMean => "mean",
        Metric::Streamed(figure) => figure.short(),
        Metric::ServerCpuPerExchange => "CPU/exch.",
        Metric::MemoryPeak => "memory",
        Metric::Seconds => "time",
        Metric::Capacity => "capacity",
        Metric::GeneratorCpuPerExchange => "CPU/req.",
    }
}

/// Sentences as a list under a heading, after a line that is empty; nothing where there are none.
pub fn under(heading: &str, sentences: &[String], look: Look) -> Vec<String> {
    if sentences.is_empty() {
        return Vec::new();
    }
    let width = look.width.max(WIDTH_MIN);
    let list = sentences.iter();
    let list = list.flat_map(|sentence| wrap(sentence, width, "- ", "  "));
    [String::new(), bold(heading, look)]
        .into_iter()
        .chain(list)
        .collect()
}

/// Lines as one text, in letters that the terminal has.
pub fn plain(lines: &[String], look: Look) -> String {
    let text = lines.join("\n") + "\n";
    match look.unicode {
        true => text,
        // Colours are left alone: their escapes are ASCII, too.
        false => ascii(&text),
    }
}

/// Lines of cells as a table under its headings, which are the first of them. The first and the
/// last column stand to the left, figures between them to the right. A reader with few columns has
/// them in several parts, each with a line for every line.
pub fn aligned(mut lines: Vec<Vec<String>>, look: Look) -> Vec<String> {
    if !look.unicode {
        lines
            .iter_mut()
            .flatten()
            .for_each(|cell| *cell = ascii(cell));
    }
    let columns = lines[0].len();
    let width = |column: usize| lines.iter().map(|line| length(&line[column])).max();
    let widths: Vec<usize> = (0..columns).filter_map(width).collect();
    let one = |line: &Vec<String>, part: &[usize]| {
        let cells = part.iter().map(|&column| {
            let cell = &line[column];
            let pad = " ".repeat(widths[column] - length(cell));
            if column == 0 || column + 1 == columns {
                cell.clone() + &pad
            } else {
                pad + cell
            }
        });
        let cells: Vec<String> = cells.collect();
        cells.join("  ").trim_end().to_owned()
    };
    let mut text = Vec::new();
    for part in parts(&widths, look.width) {
        let mut lines = lines.iter().map(|line| one(line, &part));
        text.extend(lines.next().map(|heads| bold(&heads, look)));
        text.extend(lines);
    }
    text
}

/// Which columns of these widths stand beside each other: all of them, unless the reader has few
/// columns. The first one stands in every part.
fn parts(widths: &[usize], room: usize) -> Vec<Vec<usize>> {
    let room = match room < WIDTH_WHOLE {
        true => room.max(WIDTH_MIN),
        false => usize::MAX,
    };
    let mut parts: Vec<Vec<usize>> = vec![vec![0]];
    let mut taken = widths[0];
    for (column, width) in widths.iter().enumerate().skip(1) {
        let last = parts.len() - 1;
        if taken + 2 + width > room && parts[last].len() > 1 {
            parts.push(vec![0, column]);
            taken = widths[0] + 2 + width;
        } else {
            parts[last].push(column);
            taken += 2 + width;
        }
    }
    parts
}

/// A row's figures, and the spreads that stand under them.
fn cells(row: &Row, columns: &[&Column]) -> (Vec<String>, Vec<String>) {
    let mut figures = vec![row.facts.name.clone()];
    let mut spreads = vec![String::new()];
    let Some(found) = &row.figures else {
        figures.push(state(row).to_owned());
        figures.resize(columns.len() + 3, String::new());
        spreads.resize(columns.len() + 3, String::new());
        return (figures, spreads);
    };
    for column in columns {
        let spread = (column.of)(found);
        figures.push(spread.map_or("–".to_owned(), |spread| (column.write)(spread.median)));
        // One round has no spread, which is not a spread of nothing.
        let spread = spread.filter(|_| found.rounds > 1 && column.spreads);
        spreads.push(spread.as_ref().map(give_or_take).unwrap_or_default());
    }
    figures.push(found.errors().to_string());
    spreads.push(String::new());
    let (ratio, interval) = ratio_cells(&row.verdict, row.ratio.as_ref());
    figures.push(ratio);
    spreads.push(interval);
    (figures, spreads)
}

/// Why a row has no figures.
fn state(row: &Row) -> &'static str {
    match row.facts.outcome {
        Outcome::Missing { .. } => "not installed",
        Outcome::Cannot { .. } => "can't be measured",
        Outcome::Failed { .. } => "failed",
        Outcome::Measured | Outcome::NotReached => "not measured",
    }
}

fn ratio_cells(verdict: &Verdict, ratio: Option<&Ratio>) -> (String, String) {
    match (ratio, verdict.kind) {
        (_, Kind::Baseline) => ("baseline".to_owned(), String::new()),
        (Some(ratio), kind) => {
            let bound = match kind {
                Kind::AtLeast => "≥ ",
                Kind::AtMost => "≤ ",
                Kind::Undecided => "? ",
                _ => "",
            };
            let interval = format!("{:.3}–{:.3}", ratio.low, ratio.high);
            (format!("{bound}{:.3}", kind.figure(ratio)), interval)
        }
        (None, Kind::Void) => ("void".to_owned(), String::new()),
        (None, _) => ("–".to_owned(), String::new()),
    }
}

/// What must be known about several rows alike, with their names.
fn shared(rows: &[Row]) -> Vec<(&str, Vec<&str>)> {
    let mut shared: Vec<(&str, Vec<&str>)> = Vec::new();
    for (row, note) in rows
        .iter()
        .flat_map(|row| row.notes.iter().map(move |note| (row, note)))
    {
        let name = row.facts.name.as_str();
        match shared.iter_mut().find(|(says, _)| *says == note.says) {
            Some((_, names)) => names.push(name),
            None => shared.push((&note.says, vec![name])),
        }
    }
    shared.retain(|(_, names)| names.len() > 1);
    shared
}

/// What went wrong with a subject, and what must be known about its figures besides what is
/// `shared`.
fn troubles(row: &Row, shared: &[(&str, Vec<&str>)], width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    let mut say = |what: &str| {
        lines.extend(wrap(
            &format!("{}: {what}", row.facts.name),
            width,
            "",
            "    ",
        ));
    };
    match &row.facts.outcome {
        Outcome::Missing { install: why } | Outcome::Cannot { why } => say(why),
        Outcome::Failed { what, .. } => say(what),
        Outcome::Measured | Outcome::NotReached => {}
    }
    let own = |note: &&Note| shared.iter().all(|(says, _)| *says != note.says);
    let own = row.notes.iter().filter(own);
    own.for_each(|note| say(&note.to_string()));
    if let Outcome::Failed { log, .. } = &row.facts.outcome {
        lines.extend(log.iter().flat_map(|line| logged(line, width)));
    }
    lines
}

/// A line of a program's output, as it is unless it is too long.
pub fn logged(line: &str, width: usize) -> Vec<String> {
    const SIGN: &str = "    | ";
    match SIGN.len() + length(line) <= width {
        true => vec![format!("{SIGN}{line}")],
        false => wrap(line, width, SIGN, SIGN),
    }
}

/// Breaks a sentence at blanks.
pub fn wrap(text: &str, width: usize, first: &str, rest: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut line = first.to_owned();
    let mut empty = true;
    for word in text.split_whitespace() {
        if !empty && length(&line) + 1 + length(word) > width {
            lines.push(std::mem::replace(&mut line, rest.to_owned()));
            empty = true;
        }
        if !empty {
            line.push(' ');
        }
        line.push_str(word);
        empty = false;
    }
    lines.push(line);
    lines
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn bold(text: &str, look: Look) -> String {
    if look.colour {
        format!("\x1b[1m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

fn dim(text: &str, look: Look) -> String {
    if look.colour && !text.is_empty() {
        format!("\x1b[2m{text}\x1b[0m")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use lab::finding::Severity;

    use super::*;

    #[test]
    fn a_reader_with_few_columns_has_a_table_in_parts() {
        let row = |name: &str| {
            [name, "1234567", "12345678", "x"]
                .map(str::to_owned)
                .to_vec()
        };
        let look = |width| Look {
            unicode: true,
            colour: false,
            width,
        };
        let wide = |name: &str| {
            let mut cells = row(name);
            cells.insert(2, "y".repeat(25));
            cells
        };
        let lines = vec![wide("subject"), wide("a")];
        assert_eq!(aligned(lines.clone(), look(100)).len(), 2);
        let parts = aligned(lines.clone(), look(45));
        assert_eq!(parts.len(), 4, "{parts:?}");
        assert!(parts.iter().all(|line| length(line) <= 45), "{parts:?}");
        assert!(parts[2].starts_with("subject"), "{parts:?}");
        assert!(parts[3].starts_with("a ") && parts[3].ends_with("12345678  x"));
    }

    #[test]
    fn who_used_the_cpus_is_named_with_what_to_do() {
        let mut summary = Summary {
            check: Check::Unattributed,
            state: State::Found(Severity::Caution),
            said: vec![
                "a: something else used 80 % of a core, `kworker/0:1` 90 %, `rustc` 74 %, `sh` \
                 1.5 % (in 5 of 8 rounds)"
                    .to_owned(),
            ],
            rows: vec!["a".to_owned()],
        };
        let told = culprit(&summary).expect("a name");
        let wanted = " `rustc` used 74 % of a core: end it and compare again.";
        assert_eq!(told, wanted);
        summary.said = vec!["a: something else used 7 % of a core, `sh` 7 %".to_owned()];
        assert_eq!(culprit(&summary), None);
    }
}
