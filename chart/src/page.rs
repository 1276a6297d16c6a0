//! A page that stands by itself: one file, no script, nothing fetched, readable on a phone, on
//! paper, in light and in dark. It knows nothing of what it shows; whoever writes a page says what
//! its parts mean. A page that goes on ([`scripted`]) looks the same and has a script besides.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use measure::foreign::document;

use crate::style::{self, SHEET};

/// What the browser may do with a page: apply its style sheet and show pictures that are in it.
/// A page that somebody else's words got into could not run or fetch anything either.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// A table of more columns than this stands closer.
const COLUMNS_ROOMY_MAX: usize = 8;

/// A part of a page under a heading.
#[derive(Clone, Debug)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// A sentence or two under it that say how to read what follows; may be empty.
    pub lead: String,
    /// What it shows.
    pub body: Markup,
}

impl Section {
    /// A section with a heading, a lead (may be empty) and a body.
    pub fn new(heading: impl Into<String>, lead: impl Into<String>, body: Markup) -> Section {
        Section {
            heading: heading.into(),
            lead: lead.into(),
            body,
        }
    }
}

/// The name that links to a heading lead to: its letters and digits.
pub fn anchor(heading: &str) -> String {
    let plain = |c: char| if c.is_alphanumeric() { c } else { ' ' };
    let words: String = heading.to_ascii_lowercase().chars().map(plain).collect();
    words.split_whitespace().collect::<Vec<_>>().join("-")
}

/// How something is meant: it decides a colour, and never says anything alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// As it should be, or more.
    Good,
    /// Less, worse, failed.
    Bad,
    /// To be read with care.
    Warn,
    /// Says nothing at all.
    Void,
    /// Neither good nor bad.
    Calm,
}

impl Tone {
    /// The class that sets its colours.
    pub(super) fn class(self) -> &'static str {
        match self {
            Tone::Good => "tone-good",
            Tone::Bad => "tone-bad",
            Tone::Warn => "tone-warn",
            Tone::Void => "tone-void",
            Tone::Calm => "tone-calm",
        }
    }
}

/// A whole page as text: `title` for the browser, `lead` at the top (the answer, see
/// [`verdicts`]), then the sections, with links to them if there are more than three.
pub fn page(title: &str, lead: Markup, sections: &[Section]) -> String {
    page_in("en", title, lead, sections)
}

/// The same in another language, by its code.
pub fn page_in(language: &str, title: &str, lead: Markup, sections: &[Section]) -> String {
    let head = html! {
        meta http-equiv="Content-Security-Policy" content=(POLICY);
        title { (title) }
        style { (PreEscaped(SHEET)) }
    };
    let foot = html! {
        "Written by ringside " (env!("CARGO_PKG_VERSION"))
        ". This page runs no script and fetches nothing."
    };
    whole(language, head, lead, sections, foot)
}

/// What a page has that changes while somebody looks at it. What it may do is not said in it: its
/// server says that in `Content-Security-Policy`.
#[derive(Clone, Copy, Debug)]
pub struct Script<'a> {
    /// Its styles, besides those of all pages.
    pub sheet: &'a str,
    /// The program.
    pub text: &'a str,
    /// What stands at the end of the page.
    pub foot: &'a str,
}

/// A page with a script.
pub fn scripted(title: &str, lead: Markup, sections: &[Section], script: &Script<'_>) -> String {
    let head = html! {
        title { (title) }
        style { (PreEscaped(SHEET)) (PreEscaped(script.sheet)) }
    };
    let foot = html! {
        (script.foot)
        script { (PreEscaped(script.text)) }
    };
    whole("en", head, lead, sections, foot)
}

fn whole(language: &str, head: Markup, lead: Markup, sections: &[Section], foot: Markup) -> String {
    let page = html! {
        (DOCTYPE)
        html lang=(language) {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                (head)
            }
            body {
                (style::shapes())
                main {
                    header.top {
                        (lead)
                        @if sections.len() > 3 { (contents(sections)) }
                    }
                    @for section in sections {
                        section id=(anchor(&section.heading)) {
                            h2 { (section.heading) }
                            @if !section.lead.is_empty() { p.lead { (section.lead) } }
                            div.body { (section.body) }
                        }
                    }
                    footer { (foot) }
                }
            }
        }
    };
    document(&page.into_string()).into_owned() + "\n"
}

fn contents(sections: &[Section]) -> Markup {
    html! {
        nav.contents aria-label="Contents" {
            @for section in sections {
                a href={ "#" (anchor(&section.heading)) } { (section.heading) }
            }
        }
    }
}

/// The line above everything: short facts, the first of them strong.
pub fn kicker(facts: &[String]) -> Markup {
    html! {
        p.kicker {
            @for (at, fact) in facts.iter().enumerate() {
                @if at == 0 { b { (fact) } } @else { span { (fact) } }
            }
        }
    }
}

/// One thing that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// How it is meant.
    pub tone: Tone,
    /// A letter or two that stand for it, such as `≈` or `×`.
    pub sign: &'static str,
    /// The sentence.
    pub says: String,
    /// What it rests on; may be empty.
    pub rests: String,
}

/// What was found, in large words. Up to two stand larger still.
pub fn verdicts(found: &[Found]) -> Markup {
    let few = found.len() <= 2;
    html! {
        ul.verdicts.few[few] {
            @for one in found {
                li.(one.tone.class()) {
                    span.sign aria-hidden="true" { (one.sign) }
                    p.says { (one.says) }
                    @if !one.rests.is_empty() { p.rests { (one.rests) } }
                }
            }
        }
    }
}

/// A sentence that must not be overlooked.
pub fn note(tone: Tone, word: &str, sentence: &str) -> Markup {
    html! {
        p.note.(tone.class()) { @if !word.is_empty() { b { (word) } " " } (sentence) }
    }
}

/// A word or two in a coloured box.
pub fn badge(tone: Tone, word: &str) -> Markup {
    html! { span.badge.(tone.class()) { (word) } }
}

/// Text as it would be typed or as a program wrote it.
pub fn code(text: &str) -> Markup {
    html! { pre tabindex="0" { code { (text.trim_end()) } } }
}

/// Sentences as a list.
pub fn sentences(sentences: &[String]) -> Markup {
    html! { ul.plain { @for sentence in sentences { li { (sentence) } } } }
}

/// Something that most readers can do without, behind a line that opens it.
pub fn details(summary: &str, body: Markup) -> Markup {
    html! { details { summary { (summary) } div { (body) } } }
}

/// Names and values.
pub fn facts<N: AsRef<str>>(rows: &[(N, Markup)]) -> Markup {
    html! {
        dl.facts {
            @for (name, value) in rows { dt { (name.as_ref()) } dd { (value) } }
        }
    }
}

/// A cell of a table.
#[derive(Clone, Debug)]
pub struct Cell {
    /// What stands in it.
    pub main: Markup,
    /// What stands under that, small; may be empty.
    pub small: String,
}

impl Cell {
    /// Some text, or a figure that is text already.
    pub fn text(text: impl Into<String>) -> Cell {
        let text = text.into();
        Cell::of(html! { (text) })
    }

    /// Anything.
    pub fn of(main: Markup) -> Cell {
        Cell {
            main,
            small: String::new(),
        }
    }

    /// Nothing: an empty cell, which a phone leaves out.
    pub fn none() -> Cell {
        Cell::of(PreEscaped(String::new()))
    }

    /// With something small under it.
    pub fn under(mut self, small: impl Into<String>) -> Cell {
        self.small = small.into();
        self
    }

    fn is_none(&self) -> bool {
        self.main.0.is_empty() && self.small.is_empty()
    }
}

/// How a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// Words, to the left.
    Words,
    /// Words that take a line of their own on a phone.
    Wide,
    /// Figures, to the right.
    Figures,
}

/// A table: `headings` with how their columns stand, then rows whose first cell names the row. On
/// a phone each row is a card. The caption may be empty.
pub fn table(caption: &str, headings: &[(&str, Column)], rows: &[Vec<Cell>]) -> Markup {
    let class = |column: Column| match column {
        Column::Words => "",
        Column::Wide => "wide",
        Column::Figures => "number",
    };
    html! {
        div.scroll.cards.dense[headings.len() > COLUMNS_ROOMY_MAX] tabindex="0" {
            table {
                @if !caption.is_empty() { caption { (caption) } }
                thead {
                    tr {
                        @for (heading, column) in headings {
                            th.(class(*column)) scope="col" { (heading) }
                        }
                    }
                }
                tbody {
                    @for row in rows {
                        tr {
                            @for (at, (cell, (heading, column))) in
                                row.iter().zip(headings).enumerate()
                            {
                                @if at == 0 {
                                    th.(class(*column)) scope="row" { (inside(cell)) }
                                } @else {
                                    td.(class(*column)).none[cell.is_none()] data-label=(heading) {
                                        (inside(cell))
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn inside(cell: &Cell) -> Markup {
    html! { (cell.main) @if !cell.small.is_empty() { small { (cell.small) } } }
}

/// A bar as long as `share` of its cell, in the colour of the `index`-th series.
pub fn bar(share: f64, index: usize) -> Markup {
    let part = format!("--part:{:.1}%", 100.0 * share.clamp(0.0, 1.0));
    html! { span.bar.(style::class(index)) aria-hidden="true" { i style=(part) {} } }
}

/// How a check went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Nothing was found.
    Passed,
    /// Something was found, and how bad that is.
    Found(Tone),
    /// This machine does not tell.
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug)]
pub struct Checked {
    /// What was looked at.
    pub what: String,
    /// How it went.
    pub state: State,
    /// What was found, a sentence each, or why it is not known; of one that passed, what passing
    /// means.
    pub found: Vec<String>,
}

/// Checks with their outcomes: passed, found, or not known here.
pub fn checks(checked: &[Checked]) -> Markup {
    html! {
        ul.checks {
            @for check in checked {
                @let (tone, mark, word) = sign(&check.state);
                li.(tone.class()) {
                    span.mark title=(word) aria-label=(word) role="img" { (mark) }
                    span.what { (check.what) }
                    span.found {
                        @match check.found.as_slice() {
                            [] => { (word) }
                            [one] => { (one) }
                            several => { ul { @for one in several { li { (one) } } } }
                        }
                    }
                }
            }
        }
    }
}

fn sign(state: &State) -> (Tone, &'static str, &'static str) {
    match state {
        State::Passed => (Tone::Good, "✓", "passed"),
        State::Found(tone) => match tone {
            Tone::Void => (Tone::Void, "✕", "void"),
            Tone::Bad => (Tone::Bad, "✕", "failed"),
            _ => (*tone, "!", "found"),
        },
        State::Unknown => (Tone::Calm, "?", "unknown here"),
    }
}
