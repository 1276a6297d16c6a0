//! Trials as text: for a terminal, as Markdown, as CSV, and as a page.

use maud::html as markup;
use report::csv::{field, quoted};
use report::html::page::{Cell, Column, Found, Section, Tone, kicker, page, table, verdicts};
use report::markdown::{escape, list};
use statistics::format;

use super::{Finding, Trial, Trials};

/// The trials in a few lines for people.
pub fn terminal(trials: &Trials) -> String {
    trials.words().join("\n") + "\n"
}

/// The same as Markdown.
pub fn markdown(trials: &Trials) -> String {
    let mut text = format!("# {}, repeated\n\n", escape(&trials.comparison));
    list(&mut text, "What was found", &trials.words());
    text
}

/// What each comparison said of each subject, as a line of CSV (RFC 4180 with plain line feeds).
pub fn csv(trials: &Trials) -> String {
    let mut text = String::from("trial,seconds,subject,verdict,ratio,low,high,cpu_ratio\n");
    for (trial, finding) in findings(trials) {
        let ratio = finding.ratio;
        let fields = [
            trial.number.to_string(),
            trial.seconds.to_string(),
            quoted(&finding.subject),
            quoted(&finding.sentence),
            field(ratio.map(|ratio| ratio.centre)),
            field(ratio.map(|ratio| ratio.low)),
            field(ratio.map(|ratio| ratio.high)),
            field(finding.cpu_ratio),
        ];
        text.push_str(&fields.join(","));
        text.push('\n');
    }
    text
}

/// The whole report as one page that fetches nothing.
pub fn html(trials: &Trials) -> String {
    let lead = markup! {
        (kicker(&["Trials".to_owned(), trials.comparison.clone(), trials.began.clone()]))
        h1 { (question(trials)) }
        (verdicts(&said(trials)))
    };
    let headings = [
        ("trial", Column::Figures),
        ("subject", Column::Words),
        ("ratio", Column::Figures),
        ("verdict", Column::Wide),
    ];
    let row = |(trial, finding): (&Trial, &Finding)| {
        let folder = super::folder(trial.number);
        let ratio = finding.ratio.map_or_else(Cell::none, |ratio| {
            let interval = format!("{:.3}–{:.3}", ratio.low, ratio.high);
            Cell::text(format::ratio(ratio.centre)).under(interval)
        });
        vec![
            Cell::of(markup! { a href={ (folder) "/report.html" } { (trial.number) } }),
            Cell::text(finding.subject.clone()),
            ratio,
            Cell::text(finding.sentence.clone()),
        ]
    };
    let rows: Vec<Vec<Cell>> = findings(trials).map(row).collect();
    let lead_of_table = "Each trial is a comparison of its own, with new processes.";
    let sections = [Section::new(
        "Every trial",
        lead_of_table,
        table("", &headings, &rows),
    )];
    page(&trials.comparison, lead, &sections)
}

/// What the trials ask.
pub(crate) fn question(trials: &Trials) -> &'static str {
    match trials.against_itself {
        true => "How often does a subject seem to differ from itself?",
        false => "How often is a difference found?",
    }
}

/// What was found, in large words.
pub(crate) fn said(trials: &Trials) -> Vec<Found> {
    let one = |says| Found {
        tone: Tone::Calm,
        sign: "=",
        says,
        rests: String::new(),
    };
    trials.words().into_iter().map(one).collect()
}

fn findings(trials: &Trials) -> impl Iterator<Item = (&Trial, &Finding)> {
    trials
        .trials
        .iter()
        .flat_map(|trial| trial.findings.iter().map(move |finding| (trial, finding)))
}
