//! The report as Markdown, for people who were not there: each figure with its lowest and highest
//! round, and everything needed to do it again.

use lab::finding::Severity;
use lab::manifest::Outcome;
use lab::validity::Line;
use lab::verdict::Kind;
use measure::foreign::document;
use statistics::format::count;
use statistics::{Ratio, Spread};

use super::checks::{State, count_in_words, summaries};
use super::clue;
use super::environment::{machine, procedure};
use super::faulted;
use super::figures::{Column, columns, judged_by, of_two_loads, written};
use super::plot::{confidence, plot};
use super::resources::Table;
use super::steps::{InRows, Shown, StepFigures};
use super::{Figures, Report, Row, standing, steps};

/// The whole report.
pub fn markdown(report: &Report) -> String {
    let mut text = format!(
        "# {}\n\n{}\n\n",
        escape(&report.setup.name),
        escape(&report.setup.question)
    );
    for sentence in &report.ranking {
        text.push_str(&format!("**{}**\n\n", escape(sentence)));
    }
    list(&mut text, "What can be concluded", &report.conclusions);
    list(&mut text, "Caution", &report.cautions);
    text.push_str(&side_by_side(report));
    text.push_str("## Figures\n\n");
    text.push_str(&table(&report.subjects));
    if report.setup.equal_rate.is_some() {
        text.push_str("\nThese are the figures of the closed loop.");
    }
    text.push_str(
        "\nEach figure is the median of the rounds, with the lowest and the highest round in \
         brackets.",
    );
    if let Some(confidence) = confidence(&report.subjects) {
        text.push_str(&format!(
            " Ratios are relative to the baseline, {confidence}."
        ));
    }
    text.push_str("\n\n");
    let picture = plot(&report.subjects, &report.setup.baseline, usize::MAX);
    if !picture.is_empty() {
        text.push_str(&format!(
            "{} as a multiple of {}'s:\n\n```text\n{}\n```\n\n",
            report.setup.metric.name(),
            escape(&report.setup.baseline),
            picture.join("\n")
        ));
    }
    text.push_str(&by_request(report));
    text.push_str(&of_faults(report));
    list(&mut text, "What cannot be concluded", &report.limits);
    list(
        &mut text,
        "Notes on individual subjects",
        &notes(&report.subjects),
    );
    text.push_str(&failures(&report.subjects));
    text.push_str(&phases(&report.subjects));
    text.push_str(&resources(&report.subjects));
    list(
        &mut text,
        "Where to look next",
        &clue::told(&report.subjects),
    );
    text.push_str(&checks(&report.checks));
    text.push_str(&environment(report));
    text
}

/// Sentences as a list under a heading; nothing where there are none.
pub fn list(text: &mut String, heading: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    text.push_str(&format!("## {heading}\n\n"));
    for sentence in sentences {
        text.push_str(&format!("- {}\n", escape(sentence)));
    }
    text.push('\n');
}

/// Cells as a table under its headings, which are the first line. The first and the last column
/// stand to the left, figures between them to the right.
pub fn rows(text: &mut String, lines: &[Vec<String>]) {
    for (at, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line.iter().map(|cell| escape(cell)).collect();
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
        if at == 0 {
            let figures = "--:|".repeat(line.len().saturating_sub(2));
            text.push_str(&format!("|---|{figures}---|\n"));
        }
    }
    text.push('\n');
}

fn table(rows: &[Row]) -> String {
    let columns = columns(rows);
    let names: Vec<&str> = columns.iter().map(|column| column.name).collect();
    let mut text = format!(
        "| subject | ratio | {} | errors |\n|---|---|{}--:|\n",
        names.join(" | "),
        "--:|".repeat(columns.len())
    );
    for row in rows {
        let mut cells = vec![escape(&row.facts.name)];
        match &row.figures {
            Some(found) => {
                cells.push(ratio(row.ratio.as_ref(), row.verdict.kind));
                cells.extend(columns.iter().map(|column| cell(found, column)));
                cells.push(found.errors().to_string());
            }
            None => {
                let state = match row.facts.outcome {
                    Outcome::Missing { .. } => "not installed",
                    Outcome::Cannot { .. } => "can't be measured here",
                    Outcome::Failed { .. } => "failed",
                    Outcome::Measured | Outcome::NotReached => "not measured",
                };
                cells.push(state.to_owned());
                cells.resize(columns.len() + 3, String::new());
            }
        }
        text.push_str(&format!("| {} |\n", cells.join(" | ")));
    }
    text
}

/// Each figure that rows are judged by with its ratio, where they are of two loads.
fn side_by_side(report: &Report) -> String {
    let setup = &report.setup;
    let Some(rate) = setup.equal_rate else {
        return String::new();
    };
    let metrics = judged_by(setup);
    let mut lines = vec![vec!["subject".to_owned()]];
    for metric in &metrics {
        lines[0].extend([metric.name().to_owned(), "× baseline".to_owned()]);
    }
    for row in &report.subjects {
        let mut cells = vec![row.facts.name.clone()];
        for metric in &metrics {
            let write = written(*metric);
            let spread = row.figure(*metric);
            cells.push(spread.map_or("–".to_owned(), |one| write(one.median)));
            let said = row.said(*metric, setup);
            cells.push(said.map_or(String::new(), |said| ratio(said.ratio, said.verdict.kind)));
        }
        lines.push(cells);
    }
    let lead = standing(&of_two_loads(rate), &[]);
    let mut text = format!("## Side by side\n\n{lead}\n\n");
    self::rows(&mut text, &lines);
    text
}

fn cell(found: &Figures, column: &Column) -> String {
    let write = column.write;
    match (column.of)(found) {
        None => "–".to_owned(),
        Some(spread) if !column.spreads => write(spread.median),
        Some(spread) => ranged(&spread, write),
    }
}

/// A figure with the lowest and the highest round in brackets.
fn ranged(spread: &Spread, write: fn(f64) -> String) -> String {
    let [middle, low, high] = [spread.median, spread.lowest, spread.highest].map(write);
    format!("{middle} ({low}–{high})")
}

fn ratio(ratio: Option<&Ratio>, kind: Kind) -> String {
    match (ratio, kind) {
        (_, Kind::Baseline) => "baseline".to_owned(),
        (Some(ratio), _) => {
            format!("{:.3} ({:.3}–{:.3})", ratio.centre, ratio.low, ratio.high)
        }
        (None, Kind::Void) => "void".to_owned(),
        (None, _) => "–".to_owned(),
    }
}

/// The requests of a mix, a line for each in each row that has it; nothing where all are alike.
fn by_request(report: &Report) -> String {
    let all = steps::by_request(report);
    if all.is_empty() {
        return String::new();
    }
    let figure = |spread: Option<&Spread>, write: fn(f64) -> String| {
        spread.map_or("–".to_owned(), |spread| ranged(spread, write))
    };
    let compared = |row: &Row, step: &StepFigures, shown: &[Shown]| {
        let mut cells = Vec::new();
        for one in shown {
            let metric = one.metric;
            cells.push(figure(step.figure(metric), steps::write(metric)));
            cells.extend(one.is_judged.then(|| match step.said(metric) {
                Some(said) => ratio(said.ratio.as_ref(), said.verdict.kind),
                None if row.facts.name == report.setup.baseline => "baseline".to_owned(),
                None => "–".to_owned(),
            }));
        }
        cells
    };
    let times = Shown::times();
    let headings = ["requests/s"].into_iter().chain(Shown::headings(&times));
    let headings = headings.chain(["exchanges", "failed", "unfinished"]);
    let whole = all.iter().flat_map(|request| {
        lines_of(request, |row, step| {
            let mut cells = vec![figure(step.requests_per_second.as_ref(), count)];
            cells.extend(compared(row, step, &times));
            let counts = [step.completed + step.lost(), step.failed, step.unfinished];
            cells.extend(counts.map(|count| count.to_string()));
            cells
        })
    });
    let mut text = String::from("## By request\n\n");
    text.push_str(&of_requests(headings, whole));
    text.push_str(&format!(
        "\nEach figure is the median of the rounds that count, with the lowest and the highest in \
         brackets; exchanges, failed and unfinished ones are of all rounds. {}\n\n",
        escape(&steps::explained(&report.setup).join(" "))
    ));
    let events = steps::of_events(&all);
    if !events.is_empty() {
        let streaming = steps::streaming(&all).into_iter();
        let lines = streaming
            .flat_map(|request| lines_of(request, |row, step| compared(row, step, &events)));
        text.push_str("Events by request:\n\n");
        text.push_str(&of_requests(Shown::headings(&events), lines));
        text.push('\n');
    }
    text
}

/// A request in each row that has it, with what `cells` has of it.
fn lines_of(
    request: &InRows<'_>,
    cells: impl Fn(&Row, &StepFigures) -> Vec<String>,
) -> Vec<Vec<String>> {
    let line = |(_, row, step): &(usize, &Row, &StepFigures)| {
        let names = vec![request.name.to_owned(), row.facts.name.clone()];
        [names, cells(row, step)].concat()
    };
    request.rows.iter().map(line).collect()
}

/// A table with a line for each request in each row.
fn of_requests<'a>(
    headings: impl Iterator<Item = &'a str>,
    lines: impl Iterator<Item = Vec<String>>,
) -> String {
    let headings = ["request", "subject"].into_iter().chain(headings);
    let headings: Vec<String> = headings.map(str::to_owned).collect();
    let rule = format!("|---|---|{}\n", "--:|".repeat(headings.len() - 2));
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| escape(cell)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut text = line(&headings) + &rule;
    lines.for_each(|cells| text.push_str(&line(&cells)));
    text
}

/// What faults that were made on purpose cost; nothing where there were none.
fn of_faults(report: &Report) -> String {
    let lines = faulted::table(&report.subjects);
    if lines.is_empty() {
        return String::new();
    }
    let mut text = String::from("## Faults\n\n");
    rows(&mut text, &lines);
    text + faulted::EXPLAINED + "\n\n"
}

fn notes(rows: &[Row]) -> Vec<String> {
    rows.iter()
        .flat_map(|row| {
            row.notes
                .iter()
                .map(move |note| format!("{}: {note}", row.facts.name))
        })
        .collect()
}

/// Which phase went how for whom.
fn phases(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows.iter().filter(|row| !row.phases.is_empty()) {
        text.push_str(&format!("## Phases of {}\n\n", escape(&row.facts.name)));
        for phase in &row.phases {
            text.push_str(&format!("- {}\n", escape(&phase.words())));
        }
        text.push('\n');
    }
    text
}

/// What the subjects used: a line for each figure, since there are more figures than subjects.
fn resources(rows: &[Row]) -> String {
    let Some(used) = Table::of(rows) else {
        return String::new();
    };
    let names: Vec<String> = used.rows.iter().map(|name| escape(name)).collect();
    let mut text = format!(
        "## Resources\n\n| | {} |\n|---|{}\n",
        names.join(" | "),
        "--:|".repeat(names.len())
    );
    for line in &used.lines {
        let figures: Vec<&str> = line.cells.iter().map(|cell| cell.figure.as_str()).collect();
        text.push_str(&format!("| {} | {} |\n", line.name, figures.join(" | ")));
    }
    let counted = "`compare --profile` counts system calls, in a round that is never timed.";
    text + "\n" + counted + "\n\n"
}

/// Every check, each once.
fn checks(lines: &[Line]) -> String {
    let summaries = summaries(lines);
    if summaries.is_empty() {
        return String::new();
    }
    let mut text = format!("## Checks\n\n{}.\n\n", count_in_words(&summaries));
    for summary in &summaries {
        let word = match summary.state {
            State::Passed => "passed",
            State::Unknown => "unknown here",
            State::Found(Severity::Void) => "void",
            State::Found(_) => "found",
        };
        let said = summary.said.join("; ");
        text.push_str(&format!(
            "- {word}: {} ({})\n",
            summary.check.asks(),
            escape(&said)
        ));
    }
    text.push('\n');
    text
}

fn failures(rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        match &row.facts.outcome {
            Outcome::Failed { what, log } => {
                text.push_str(&format!(
                    "## {} failed\n\n{}.\n\n",
                    escape(&row.facts.name),
                    escape(what)
                ));
                if !log.is_empty() {
                    text.push_str("The last lines of its output:\n\n");
                    log.iter()
                        .for_each(|line| text.push_str(&format!("    {}\n", document(line))));
                    text.push('\n');
                }
            }
            Outcome::Missing { install } => {
                text.push_str(&format!(
                    "## {} is not installed\n\n{}\n\n",
                    escape(&row.facts.name),
                    escape(install)
                ));
            }
            Outcome::Cannot { why } => {
                text.push_str(&format!(
                    "## {} can't be measured here\n\n{}.\n\n",
                    escape(&row.facts.name),
                    escape(why)
                ));
            }
            Outcome::Measured | Outcome::NotReached => {}
        }
    }
    text
}

fn environment(report: &Report) -> String {
    let mut rows = machine(&report.host, report.network.as_ref());
    rows.extend(procedure(&report.setup));
    for row in &report.subjects {
        if let Some(version) = &row.facts.version {
            rows.push((&row.facts.name, version.clone()));
        }
    }
    let mut table = String::from("## Environment\n\n| | |\n|---|---|\n");
    for (name, value) in rows {
        table.push_str(&format!("| {} | {} |\n", escape(name), escape(&value)));
    }
    let order: Vec<String> = (1..)
        .zip(&report.setup.order)
        .map(|(round, names)| format!("{round}. {}", escape(&names.join(", "))))
        .collect();
    format!(
        "{table}\nThe order within each round:\n\n{}\n",
        order.join("\n")
    )
}

/// Text that Markdown takes as it stands: no cell, tag, link or picture begins in it, no line ends,
/// and nobody is told that they're named.
pub fn escape(text: &str) -> String {
    let text = text.replace(['\n', '\r', '\t'], " ");
    document(&text)
        .into_owned()
        .replace('|', "\\|")
        .replace('<', "&lt;")
        .replace("](", "]\\(")
        .replace('@', NOBODY)
}

/// An `@` of which nobody is told who is named behind it.
const NOBODY: &str = "&#64;";

/// Text in which Markdown finds nothing of its own, as GitHub and GitLab read it: what a server or
/// a file says is shown as it is, on one line, in a comment or a cell.
pub fn marked_off(text: &str) -> String {
    let text = text.replace(['\n', '\r', '\t'], " ");
    let text: Vec<char> = document(&text).chars().collect();
    let is_of_word = |at: usize| text.get(at).is_some_and(|c| c.is_alphanumeric());
    let mut made = String::with_capacity(text.len());
    for (at, c) in text.iter().enumerate() {
        match c {
            '<' => made.push_str("&lt;"),
            '&' => made.push_str("&amp;"),
            '@' => made.push_str(NOBODY),
            // Between letters it marks nothing, and addresses stay whole without a backslash.
            '_' if at > 0 && is_of_word(at - 1) && is_of_word(at + 1) => made.push('_'),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '~' | '$' => made.extend(['\\', *c]),
            c => made.push(*c),
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_that_is_marked_off_has_no_markup_of_its_own() {
        let nasty = "a|b\\|c `d` **e** <img src=x> [f](g) &lt; h_i _j_ ~k~ $l$ @m\n\x1b[0m";
        let expected = "a\\|b\\\\\\|c \\`d\\` \\*\\*e\\*\\* &lt;img src=x> \\[f\\](g) &amp;lt; h_i \
                        \\_j\\_ \\~k\\~ \\$l\\$ &#64;m \\\\u{1b}\\[0m";
        assert_eq!(marked_off(nasty), expected);
    }

    #[test]
    fn no_text_becomes_a_link_a_picture_a_tag_or_a_cell() {
        let nasty = "![x](http://a/) [y](b) <img src=c> d | e\n# f @g \x1b[2J";
        let expected = "![x]\\(http://a/) [y]\\(b) &lt;img src=c> d \\| e # f &#64;g \\u{1b}[2J";
        assert_eq!(escape(nasty), expected);
    }
}
