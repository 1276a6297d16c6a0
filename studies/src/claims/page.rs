//! Claim against finding, as a page in Markdown and one in HTML. Both say the same; neither judges.

mod language;
mod summary;
mod told;

use std::collections::BTreeSet;

use maud::{Markup, html};
use report::html::page::{self, Cell, Column, Found, Section, Tone};
use report::html::plot::{self, Axis, Scale};
use report::markdown::escape;

use super::posts::Post;
use super::{Claim, Finding, Run, Word, Words, little};

pub use language::Language;
pub use told::told;

/// All that a page says.
#[derive(Clone, Copy, Debug)]
pub struct Ledger<'a> {
    /// The claims with their findings.
    pub entries: &'a [Entry],
    /// The posts that they are from, as far as they are known.
    pub posts: &'a [Post],
    /// What writes the page.
    pub command: &'a str,
    /// What it is written in.
    pub language: Language,
}

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

    /// What it says, in one sentence.
    fn statement(&self, language: Language) -> &str {
        language.one(&self.claim.statement)
    }

    /// The sentence that the word rests on.
    fn short(&self, language: Language) -> String {
        let Some(finding) = &self.finding else {
            return String::new();
        };
        let all = &finding.judgements;
        let Some(weakest) = all.iter().find(|one| one.word == finding.word) else {
            return String::new();
        };
        let sentence = language.one(&weakest.sentence);
        match all.len() {
            1 => sentence.to_owned(),
            count => language.of(
                format!("{sentence} (the weakest of {count} findings)"),
                format!("{sentence}（{count} 个判定中最弱的一个）"),
            ),
        }
    }

    /// Whether its file was given another meaning after this was measured.
    fn is_newer(&self) -> bool {
        let began = self
            .finding
            .as_ref()
            .and_then(|finding| finding.began.as_ref());
        let written = self.claim.written.as_str();
        began.is_some_and(|began| began.get(..written.len()) < Some(written))
    }

    /// Whether something was measured, and the record doesn't say when.
    fn is_undated(&self) -> bool {
        let finding = self.finding.as_ref();
        finding.is_some_and(|found| found.folder.is_some() && found.began.is_none())
    }

    /// The command that runs it, if there is something to run.
    fn again(&self) -> Option<String> {
        match self.claim.test.as_ref().map(|test| &test.run) {
            Ok(Run::Comparison(_) | Run::Hold(_)) => {
                Some(format!("ringside claims run {}", self.claim.id))
            }
            Ok(Run::Nothing) | Err(_) => None,
        }
    }

    /// Little's law held against what was published.
    fn arithmetic(&self) -> Vec<little::Check> {
        self.claim.rows.iter().filter_map(little::check).collect()
    }
}

/// The machines that it was measured on.
fn machines(entries: &[Entry]) -> Vec<String> {
    let found = entries.iter().filter_map(|entry| entry.finding.as_ref());
    let machines: BTreeSet<&String> = found.filter_map(|found| found.machine.as_ref()).collect();
    machines.into_iter().cloned().collect()
}

impl Ledger<'_> {
    fn summary(&self) -> String {
        let all: Vec<&Entry> = self.entries.iter().collect();
        summary::counts(&all, self.language)
    }

    /// The entries post by post, in the order of their letters.
    fn by_post(&self) -> Vec<(char, Vec<&Entry>)> {
        let letters: BTreeSet<char> = self
            .entries
            .iter()
            .map(|one| one.claim.source.post)
            .collect();
        let of = |letter: char| {
            let entries = self.entries.iter();
            let its = entries.filter(|one| one.claim.source.post == letter);
            (letter, its.collect())
        };
        letters.into_iter().map(of).collect()
    }

    fn post(&self, letter: char) -> Option<&Post> {
        self.posts.iter().find(|post| post.letter == letter)
    }

    /// Whether we wrote the post ourselves.
    fn is_ours(&self, letter: char) -> bool {
        self.post(letter).is_some_and(|post| post.ours)
    }

    /// Whether all of its claims are our own.
    fn is_all_ours(&self) -> bool {
        let mut posts = self.entries.iter().map(|one| one.claim.source.post);
        !self.entries.is_empty() && posts.all(|letter| self.is_ours(letter))
    }

    /// What stands at the head of the page.
    fn opening(&self) -> &'static str {
        match self.is_all_ours() {
            true => self.language.opening_of_ours(),
            false => self.language.opening(),
        }
    }

    /// What is said of a post's claims together: how they turned out, and whose they are where we
    /// judge ourselves.
    fn summary_of(&self, letter: char, entries: &[&Entry]) -> String {
        let found = summary::of_post(entries, self.language);
        match self.is_ours(letter) {
            true => {
                let bias = self.language.bias();
                format!("{bias}{}{found}", self.language.of(" ", ""))
            }
            false => found,
        }
    }

    /// What a post is called on the page: `Post A: Swoole against Go`.
    fn heading(&self, letter: char) -> String {
        let name = match self.is_ours(letter) {
            true => self
                .language
                .of("Our own claims", "我们自己的说法")
                .to_owned(),
            false => format!("{}{letter}", self.language.of("Post ", "文章 ")),
        };
        match self.post(letter) {
            Some(post) => {
                let title = self.language.one(&post.title);
                format!("{name}{}{title}", self.language.of(": ", "："))
            }
            None => name,
        }
    }

    /// Where a claim is from: `post A, section 2.5 (Go in use)`.
    fn source(&self, claim: &Claim) -> String {
        let (cited, language) = (&claim.source, self.language);
        let section = |number: &String| {
            let title = self
                .post(cited.post)
                .and_then(|post| post.section(number))
                .map(|section| language.one(&section.title));
            match title {
                Some(title) => language.of(
                    format!("{number} ({title})"),
                    format!("{number}（{title}）"),
                ),
                None => number.clone(),
            }
        };
        let sections: Vec<String> = cited.sections.iter().map(section).collect();
        let sections = sections.join(language.of(", ", "、"));
        if self.is_ours(cited.post) {
            let (name, section) = (self.heading(cited.post), language.of("section ", "章节 "));
            return format!("{name}{}{section}{sections}", language.of(", ", "，"));
        }
        format!(
            "{}{}{}{sections}",
            language.of("post ", "文章 "),
            cited.post,
            language.of(", section ", "，章节 "),
        )
    }

    /// Whose text is newer than what was measured, and of whom that isn't known; empty if nobody's.
    fn newer(&self) -> String {
        let language = self.language;
        let ids = |chosen: fn(&Entry) -> bool| {
            let chosen = self.entries.iter().filter(|entry| chosen(entry));
            let ids: Vec<String> = chosen.map(|entry| entry.claim.id.to_string()).collect();
            ids.join(language.of(", ", "、"))
        };
        let (newer, undated) = (ids(Entry::is_newer), ids(Entry::is_undated));
        let mut said = Vec::new();
        if !newer.is_empty() {
            said.push(language.of(
                format!(
                    "The text of these claims is newer than the measurement: {newer}. Their rows \
                     were measured before, and are judged here by what the text says now."
                ),
                format!(
                    "下列条目的文字在测量之后有过修改：{newer}。数据是此前测得的，按现在的文字判定。"
                ),
            ));
        }
        if !undated.is_empty() {
            said.push(language.of(
                format!("The records of these don't say when they were measured: {undated}."),
                format!("下列条目的记录没有注明测量时间：{undated}。"),
            ));
        }
        said.join(language.of(" ", ""))
    }

    /// What is said of a claim, by name. Empty values are left out.
    fn facts(&self, entry: &Entry) -> Vec<(&'static str, Vec<String>)> {
        let (claim, language) = (&entry.claim, self.language);
        let finding = entry.finding.as_ref();
        let judgements = finding.iter().flat_map(|finding| &finding.judgements);
        let found = judgements.map(|one| {
            let word = language.word(Some(one.word));
            format!(
                "{word}{}{}",
                language.of(": ", "："),
                language.one(&one.sentence)
            )
        });
        let records = finding.and_then(|finding| records(finding, language));
        let why = claim.why.iter().map(|why| {
            let from = language.ground(why.from);
            let says = language.one(&why.says);
            language.of(
                format!("{says} (From {from}.)"),
                format!("{says}（依据：{from}）"),
            )
        });
        let arithmetic = entry.arithmetic().into_iter();
        let arithmetic = arithmetic.map(|check| language.one(&check.sentence).to_owned());
        let one = |words: &Words| vec![language.one(words).to_owned()];
        let (says, there) = match self.is_ours(claim.source.post) {
            true => (
                language.of("we say", "我们的说法"),
                language.of("how we came to it", "如何得出"),
            ),
            false => (
                language.of("the post says", "原文说法"),
                language.of("how it was measured there", "原文如何测得"),
            ),
        };
        let all = vec![
            (language.of("source", "出处"), vec![self.source(claim)]),
            (says, one(&claim.claimed)),
            (there, one(&claim.measured_there)),
            (
                language.of("run here", "本机如何运行"),
                one(&claim.run_here),
            ),
            (
                language.of("what differs, and why", "有何不同，为什么"),
                one(&claim.changed),
            ),
            (FOUND.of(language), found.collect()),
            (language.of("why", "原因"), why.collect()),
            (language.of("arithmetic", "算术核对"), arithmetic.collect()),
            (
                language.of("records", "记录"),
                records.into_iter().collect(),
            ),
            (
                language.of("again", "重新运行"),
                entry.again().into_iter().collect(),
            ),
        ];
        let said = |(name, mut values): (_, Vec<String>)| {
            values.retain(|value| !value.is_empty());
            (name, values)
        };
        let all = all.into_iter().map(said);
        all.filter(|(_, values)| !values.is_empty()).collect()
    }
}

/// The folder that a finding rests on, and when it was measured.
fn records(finding: &Finding, language: Language) -> Option<String> {
    let folder = finding.folder.as_ref()?;
    let began = finding.began.as_ref().map(|began| {
        let measured = language.of(", measured ", "，测于 ");
        format!("{measured}{began}")
    });
    let short = match finding.short {
        true => language.of(
            ", in short rounds (--quick): a rough result",
            "，短轮次（--quick），结果粗略",
        ),
        false => "",
    };
    Some(format!("{folder}{}{short}", began.unwrap_or_default()))
}

/// The page in Markdown.
pub fn markdown(ledger: &Ledger<'_>) -> String {
    let language = ledger.language;
    let mut text = format!(
        "# {}\n\n{}\n\n**{}**\n\n{}\n\n",
        language.of("Claims", "说法与检验"),
        ledger.opening(),
        ledger.summary(),
        language.rule(),
    );
    let newer = ledger.newer();
    if !newer.is_empty() {
        text += &format!("{newer}\n\n");
    }
    text += &language.of(
        format!(
            "Measured on: {}.\n\nWritten by `{}`; do not edit.\n",
            machines(ledger.entries).join("; "),
            ledger.command
        ),
        format!(
            "测量所用机器：{}。\n\n本页由 `{}` 生成，请勿手工修改。\n",
            machines(ledger.entries).join("；"),
            ledger.command
        ),
    );
    for (letter, entries) in ledger.by_post() {
        text += &format!(
            "\n## {}\n\n{}\n\n{}\n|---|---|---|\n",
            ledger.heading(letter),
            ledger.summary_of(letter, &entries),
            language.of(
                "| claim | what it says | what we found |",
                "| 条目 | 说法 | 检验结果 |"
            )
        );
        for entry in &entries {
            let (id, stem) = (entry.claim.id, entry.claim.id.file_stem());
            text += &format!(
                "| [{id}](#{stem}) | {} | **{}** {} |\n",
                escape(entry.statement(language)),
                language.word(entry.word()),
                escape(&entry.short(language))
            );
        }
        for entry in entries {
            text += &section_in_markdown(ledger, entry);
        }
    }
    text
}

fn section_in_markdown(ledger: &Ledger<'_>, entry: &Entry) -> String {
    let language = ledger.language;
    let mut text = format!(
        "\n### {}\n\n{}\n\n**{}**\n\n",
        entry.claim.id,
        entry.statement(language),
        language.word(entry.word())
    );
    for (name, values) in ledger.facts(entry) {
        for value in values {
            text += &format!("- {name}{}{value}\n", language.of(": ", "："));
        }
    }
    text
}

/// The page in HTML: one file that fetches nothing.
pub fn html(ledger: &Ledger<'_>) -> String {
    let (entries, language) = (ledger.entries, ledger.language);
    let kicker = [vec![ledger.command.to_owned()], machines(entries)].concat();
    let newer = ledger.newer();
    let title = match ledger.is_all_ours() {
        true => language.of(
            "Our own claims, tested here",
            "我们自己的说法，在此逐条检验",
        ),
        false => language.of(
            "Published claims about servers under high concurrency, repeated here",
            "公开文章中关于高并发服务器的说法，在此逐条检验",
        ),
    };
    let lead = html! {
        (page::kicker(&kicker))
        h1 { (title) }
        (page::verdicts(&[Found {
            tone: Tone::Calm,
            sign: "§",
            says: ledger.summary(),
            rests: language.rule().to_owned(),
        }]))
        p { (ledger.opening()) }
        @if !newer.is_empty() { p { (newer) } }
    };
    let mut sections = Vec::new();
    for (letter, entries) in ledger.by_post() {
        let summary = ledger.summary_of(letter, &entries);
        sections.push(Section::new(
            ledger.heading(letter),
            summary,
            table(ledger, &entries),
        ));
    }
    let plot = multiples(ledger);
    if !plot.0.is_empty() {
        let heading = language.of("Compared with what was published", "与原文数值对比");
        sections.push(Section::new(heading, "", plot));
    }
    sections.extend(entries.iter().map(|entry| section(ledger, entry)));
    page::page_in(
        language.code(),
        language.of("Claims", "说法与检验"),
        lead,
        &sections,
    )
}

fn table(ledger: &Ledger<'_>, entries: &[&Entry]) -> Markup {
    let language = ledger.language;
    let headings = [
        (language.of("claim", "条目"), Column::Words),
        (language.of("what it says", "说法"), Column::Wide),
        (FOUND.of(language), Column::Words),
        (language.of("because", "依据"), Column::Wide),
    ];
    let rows: Vec<Vec<Cell>> = entries
        .iter()
        .map(|entry| {
            let Claim { id, claimed, .. } = &entry.claim;
            let word = language.word(entry.word());
            vec![
                Cell::of(html! { a href={ "#" (id.file_stem()) } { (id) } }),
                Cell::text(entry.statement(language)).under(language.one(claimed)),
                Cell::of(page::badge(tone(entry.word()), word)),
                Cell::text(entry.short(language)),
            ]
        })
        .collect();
    page::table("", &headings, &rows)
}

/// Each measured number as a multiple of the published one.
fn multiples(ledger: &Ledger<'_>) -> Markup {
    let language = ledger.language;
    let mut rows = Vec::new();
    for (at, entry) in ledger.entries.iter().enumerate() {
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
                more: language.word(Some(judgement.word)).to_owned(),
            });
        }
    }
    let name = language.of(
        "measured, as a multiple of the published figure",
        "实测值相当于原文数值的倍数",
    );
    let axis = Axis::new(name, Scale::Log, |number: f64| format!("{number}"));
    plot::intervals(
        language.of("Measured against published", "实测与原文"),
        "",
        &axis,
        (1.0, language.of("as published", "与原文相同")),
        &rows,
    )
}

fn section(ledger: &Ledger<'_>, entry: &Entry) -> Section {
    let language = ledger.language;
    let finding = entry.finding.as_ref();
    let body = html! {
        p { (page::badge(tone(entry.word()), language.word(entry.word()))) }
        @for judgement in finding.iter().flat_map(|finding| &finding.judgements) {
            (page::note(
                tone(Some(judgement.word)),
                language.word(Some(judgement.word)),
                language.one(&judgement.sentence),
            ))
        }
        (page::facts(&rest(ledger, entry)))
    };
    Section::new(entry.claim.id.to_string(), entry.statement(language), body)
}

/// The name of what was found, in both languages.
struct Name(&'static str, &'static str);

impl Name {
    fn of(&self, language: Language) -> &'static str {
        language.of(self.0, self.1)
    }
}

const FOUND: Name = Name("found", "检验结果");

/// The facts but for what was found, which stands above them.
fn rest(ledger: &Ledger<'_>, entry: &Entry) -> Vec<(&'static str, Markup)> {
    ledger
        .facts(entry)
        .into_iter()
        .filter(|(name, _)| *name != FOUND.of(ledger.language))
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
        Some(Word::CannotBeTested | Word::NotRun) | None => Tone::Calm,
    }
}

/// The rows of `ringside claims list`: name, word, statement.
pub fn lines(entries: &[Entry], language: Language) -> Vec<[String; 3]> {
    let line = |entry: &Entry| {
        let word = language.word(entry.word()).to_owned();
        [
            entry.claim.id.to_string(),
            word,
            entry.statement(language).to_owned(),
        ]
    };
    entries.iter().map(line).collect()
}

#[cfg(test)]
mod tests;
