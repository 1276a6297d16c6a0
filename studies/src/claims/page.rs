//! Claim against finding, as a page in Markdown and one in HTML. Both say the same; neither judges.

use std::collections::{BTreeMap, BTreeSet};

use maud::{Markup, html};
use report::html::page::{self, Cell, Column, Found, Section, Tone};
use report::html::plot::{self, Axis, Scale};
use report::markdown::escape;

use super::judge::shown;
use super::{Claim, Finding, Id, Word, little};

/// A claim with what was found about it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The claim.
    pub claim: Claim,
    /// What was found; none where it was not run, or its record cannot be read.
    pub finding: Option<Finding>,
}

impl Entry {
    fn word(&self) -> Option<Word> {
        self.finding.as_ref().map(|finding| finding.word)
    }

    /// The word that a reader sees.
    fn says(&self) -> &'static str {
        self.word().map_or("not run", Word::name)
    }

    /// What was measured, in figures, or else the first sentence.
    fn short(&self) -> String {
        let Some(finding) = &self.finding else {
            return String::new();
        };
        let numbers: Vec<String> = finding
            .judgements
            .iter()
            .filter_map(|judgement| {
                let (measured, published) = (judgement.measured?, judgement.published?);
                Some(format!("{} against {}", measured.words(), shown(published)))
            })
            .collect();
        match numbers.is_empty() {
            true => finding
                .judgements
                .first()
                .map_or(String::new(), |one| one.sentence.clone()),
            false => numbers.join("; "),
        }
    }

    /// Little's law held against what was published.
    fn arithmetic(&self) -> Vec<little::Check> {
        self.claim.rows.iter().filter_map(little::check).collect()
    }
}

/// What all entries together come to: `11 hold, 4 are weaker, …`.
pub fn summary(entries: &[Entry]) -> String {
    let mut counts: BTreeMap<Option<Word>, usize> = BTreeMap::new();
    for entry in entries {
        *counts.entry(entry.word()).or_default() += 1;
    }
    let order = [
        (Some(Word::Holds), "holds", "hold"),
        (
            Some(Word::Stronger),
            "is stronger here",
            "are stronger here",
        ),
        (Some(Word::Weaker), "is weaker", "are weaker"),
        (Some(Word::Undecided), "is undecided", "are undecided"),
        (Some(Word::DoesNotHold), "does not hold", "do not hold"),
        (Some(Word::Void), "is void", "are void"),
        (
            Some(Word::CannotBeTested),
            "cannot be tested here",
            "cannot be tested here",
        ),
        (None, "was not run", "were not run"),
    ];
    let parts: Vec<String> = order
        .iter()
        .filter_map(|(word, one, many)| {
            let count = *counts.get(word)?;
            Some(format!("{count} {}", if count == 1 { one } else { many }))
        })
        .collect();
    format!("Of {} claims, {}.", entries.len(), parts.join(", "))
}

/// The machines that it was measured on.
fn machines(entries: &[Entry]) -> Vec<String> {
    let found = entries.iter().filter_map(|entry| entry.finding.as_ref());
    let machines: BTreeSet<&String> = found.filter_map(|found| found.machine.as_ref()).collect();
    machines.into_iter().cloned().collect()
}

/// How a page says what its words mean.
const RULE: &str = "A claim holds if the published ratio lies within the interval we measured \
                    here, and is stronger if the whole interval lies above it. It is weaker if we \
                    can show the direction, but the whole interval lies below the published ratio. \
                    It does not hold if the interval excludes the published ratio and shows no \
                    difference in that direction. It is undecided if both the published ratio and \
                    no difference at all are possible, whether because of the noise floor or \
                    because the generator was the limit. Void means that the measurement doesn't \
                    count; the sentence says why. A claim with several findings gets the weakest \
                    word, in this order: does not hold, cannot be tested here, void, undecided, \
                    weaker, holds, stronger. Ratios, orders and shapes carry over from one machine \
                    to another; absolute figures do so only roughly.";

/// The page in Markdown. `command` is what writes it, `records` where the records are.
pub fn markdown(entries: &[Entry], command: &str) -> String {
    let mut text = format!(
        "# Claims\n\nFive published posts compare servers under high concurrency. We ran each of \
         their claims here, scaled to this machine, and judged it.\n\n**{}**\n\n{RULE}\n\nMeasured \
         on: {}.\n\nWritten by `{command}`; do not edit.\n\n| claim | what it says | what we found \
         |\n|---|---|---|\n",
        summary(entries),
        machines(entries).join("; ")
    );
    for entry in entries {
        let (id, stem) = (entry.claim.id, entry.claim.id.file_stem());
        text += &format!(
            "| [{id}](#{stem}) | {} | **{}** {} |\n",
            cell(&entry.claim.statement),
            entry.says(),
            cell(&entry.short())
        );
    }
    for entry in entries {
        text += &section_in_markdown(entry);
    }
    text
}

fn cell(text: &str) -> String {
    escape(text)
}

fn section_in_markdown(entry: &Entry) -> String {
    let claim = &entry.claim;
    let mut text = format!(
        "\n## {}\n\n{}\n\n**{}**\n\n",
        claim.id,
        claim.statement,
        entry.says()
    );
    for (name, value) in facts(entry) {
        for value in value {
            text += &format!("- {name}: {value}\n");
        }
    }
    text
}

/// What is said of a claim, by name. Empty values are left out.
fn facts(entry: &Entry) -> Vec<(&'static str, Vec<String>)> {
    let claim = &entry.claim;
    let one = |text: &str| match text.is_empty() {
        true => Vec::new(),
        false => vec![text.to_owned()],
    };
    let finding = entry.finding.as_ref();
    let judgements = finding.iter().flat_map(|finding| &finding.judgements);
    let found = judgements.map(|one| format!("{}: {}", one.word.name(), one.sentence));
    let records = finding.and_then(|finding| {
        let folder = finding.folder.as_ref()?;
        Some(match &finding.began {
            Some(began) => format!("{folder}, measured {began}"),
            None => folder.clone(),
        })
    });
    let arithmetic = entry.arithmetic().into_iter().map(|check| check.sentence);
    let all = vec![
        ("source", one(&claim.source)),
        ("published", one(&claim.published)),
        ("workload there", one(&claim.as_published)),
        ("workload here", one(&claim.as_here)),
        ("found", found.collect()),
        (
            "why that published figure",
            claim.artefact.iter().cloned().collect(),
        ),
        ("arithmetic", arithmetic.collect()),
        ("records", records.into_iter().collect()),
        ("again", vec![format!("ringside claims run {}", claim.id)]),
    ];
    all.into_iter()
        .filter(|(_, values)| !values.is_empty())
        .collect()
}

/// The page in HTML: one file that fetches nothing.
pub fn html(entries: &[Entry], command: &str) -> String {
    let lead = html! {
        (page::kicker(&[vec![command.to_owned()], machines(entries)].concat()))
        h1 { "Published claims about servers under high concurrency, repeated here" }
        (page::verdicts(&[Found {
            tone: Tone::Calm,
            sign: "§",
            says: summary(entries),
            rests: RULE.to_owned(),
        }]))
    };
    let mut sections = vec![Section::new("Ledger", "", ledger(entries))];
    let plot = multiples(entries);
    if !plot.0.is_empty() {
        sections.push(Section::new("Compared with what was published", "", plot));
    }
    sections.extend(entries.iter().map(section));
    page::page("Claims", lead, &sections)
}

fn ledger(entries: &[Entry]) -> Markup {
    let headings = [
        ("claim", Column::Words),
        ("what it says", Column::Wide),
        ("found", Column::Words),
        ("measured", Column::Wide),
    ];
    let rows: Vec<Vec<Cell>> = entries
        .iter()
        .map(|entry| {
            let Claim {
                id,
                statement,
                published,
                ..
            } = &entry.claim;
            vec![
                Cell::of(html! { a href={ "#" (id.file_stem()) } { (id) } }),
                Cell::text(statement.as_str()).under(published.as_str()),
                Cell::of(page::badge(tone(entry.word()), entry.says())),
                Cell::text(entry.short()),
            ]
        })
        .collect();
    page::table("", &headings, &rows)
}

/// Each measured number as a multiple of the published one.
fn multiples(entries: &[Entry]) -> Markup {
    let mut rows = Vec::new();
    for (at, entry) in entries.iter().enumerate() {
        let judgements = entry.finding.iter().flat_map(|finding| &finding.judgements);
        for judgement in judgements {
            let (Some(measured), Some(published)) = (judgement.measured, judgement.published)
            else {
                continue;
            };
            let share = |number: f64| number / published;
            rows.push(plot::Interval {
                name: entry.claim.id.to_string(),
                style: at,
                range: Some((
                    share(measured.low),
                    share(measured.centre),
                    share(measured.high),
                )),
                value: measured.words(),
                more: judgement.word.name().to_owned(),
            });
        }
    }
    let write = |number: f64| format!("{number}");
    let axis = Axis::new(
        "measured, as a multiple of the published figure",
        Scale::Log,
        write,
    );
    plot::intervals(
        "Measured against published",
        "",
        &axis,
        (1.0, "as published"),
        &rows,
    )
}

fn section(entry: &Entry) -> Section {
    let claim = &entry.claim;
    let finding = entry.finding.as_ref();
    let body = html! {
        p { (page::badge(tone(entry.word()), entry.says())) }
        @for judgement in finding.iter().flat_map(|finding| &finding.judgements) {
            (page::note(tone(Some(judgement.word)), judgement.word.name(), &judgement.sentence))
        }
        (page::facts(&rest(entry)))
    };
    Section::new(claim.id.to_string(), claim.statement.as_str(), body)
}

/// The facts but for what was found, which stands above them.
fn rest(entry: &Entry) -> Vec<(&'static str, Markup)> {
    facts(entry)
        .into_iter()
        .filter(|(name, _)| *name != "found")
        .map(|(name, values)| {
            let value = html! { @for value in values { div { (value) } } };
            (name, value)
        })
        .collect()
}

fn tone(word: Option<Word>) -> Tone {
    match word {
        Some(Word::Holds | Word::Stronger) => Tone::Good,
        Some(Word::Weaker | Word::Undecided) => Tone::Warn,
        Some(Word::DoesNotHold) => Tone::Bad,
        Some(Word::Void) => Tone::Void,
        Some(Word::CannotBeTested) | None => Tone::Calm,
    }
}

/// The rows of `ringside claims list`: name, word, statement.
pub fn lines(entries: &[Entry]) -> Vec<(Id, &'static str, &str)> {
    entries
        .iter()
        .map(|entry| (entry.claim.id, entry.says(), entry.claim.statement.as_str()))
        .collect()
}

#[cfg(test)]
mod tests;
