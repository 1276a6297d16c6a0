//! The page as it's written, cut into its sections, and which of them a word means.

use std::collections::BTreeSet;

use crate::nearest;

/// All sections, in groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// In the order of the page.
    pub groups: Vec<Group>,
}

/// Sections that belong together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Their heading.
    pub title: String,
    /// In the order of the page.
    pub sections: Vec<Section>,
}

/// What is said of one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The word, as [`plain`] makes it.
    pub word: String,
    /// Other words for the same, likewise.
    pub also: Vec<String>,
    /// Parts of what the program prints where it's meant.
    pub printed: Vec<String>,
    /// What it means and what to do, a line for each paragraph and for each item of a list, in
    /// Markdown.
    paragraphs: Vec<String>,
}

impl Page {
    /// Reads a page. What stands above its first group is an introduction, and in no section.
    pub(crate) fn read(text: &str) -> Page {
        let mut groups: Vec<Group> = Vec::new();
        // What goes on in a section's text, if the line before can go on.
        let mut open = false;
        for line in text.lines() {
            if let Some(title) = line.strip_prefix("## ") {
                groups.push(Group {
                    title: title.trim().to_owned(),
                    sections: Vec::new(),
                });
                continue;
            }
            let Some(group) = groups.last_mut() else {
                continue;
            };
            if let Some(word) = line.strip_prefix("### ") {
                group.sections.push(Section::of(word));
                open = false;
                continue;
            }
            if let Some(section) = group.sections.last_mut() {
                open = section.take(line, open);
            }
        }
        Page { groups }
    }

    /// Every section, in the order of the page.
    pub fn sections(&self) -> impl Iterator<Item = &Section> {
        self.groups.iter().flat_map(|group| &group.sections)
    }

    /// What is said of a word, in whatever case, with blanks, `_` or `-` in it; or of a whole
    /// warning as it was printed.
    ///
    /// # Errors
    /// The words that may be meant, the likeliest first; none where none is like it.
    pub fn find(&self, asked: &str) -> Result<&Section, Vec<&str>> {
        let word = plain(asked);
        let called = self.sections().find(|section| section.is_called(&word));
        if let Some(section) = called.or_else(|| self.that_prints(asked)) {
            return Ok(section);
        }
        let words = self.sections().flat_map(Section::words);
        Err(nearest(&word, words))
    }

    /// The section with the longest quote that stands in `line`, in whatever case, since a sentence
    /// may begin with it: what is printed of several things is told apart by what is printed of one
    /// alone.
    fn that_prints(&self, line: &str) -> Option<&Section> {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = line.to_lowercase();
        let length = |section: &&Section| {
            let quotes = section.printed.iter();
            let there = quotes.filter(|quote| line.contains(&quote.to_lowercase()));
            there.map(String::len).max()
        };
        let quoted = self.sections().filter(|section| length(section).is_some());
        quoted.max_by_key(length)
    }

    /// Words that more than one section has; none on a page that is well.
    pub fn doubled(&self) -> Vec<&str> {
        let mut seen = BTreeSet::new();
        let words = self.sections().flat_map(Section::words);
        words.filter(|word| !seen.insert(*word)).collect()
    }
}

impl Section {
    fn of(heading: &str) -> Section {
        Section {
            word: plain(heading),
            also: Vec::new(),
            printed: Vec::new(),
            paragraphs: Vec::new(),
        }
    }

    /// Takes a line of the page in, which may go on what the one before was; says whether the next
    /// may go on this one.
    fn take(&mut self, line: &str, open: bool) -> bool {
        let line = line.trim();
        if line.is_empty() {
            return false;
        }
        if let Some(words) = line.strip_prefix("Also: ") {
            let words = words.split(',').map(plain);
            self.also.extend(words.filter(|word| !word.is_empty()));
            return false;
        }
        if let Some(quote) = line.strip_prefix("> ") {
            self.printed.push(quote.trim().to_owned());
            return false;
        }
        match self.paragraphs.last_mut() {
            Some(last) if open && !line.starts_with("- ") => {
                last.push(' ');
                last.push_str(line);
            }
            _ => self.paragraphs.push(line.to_owned()),
        }
        true
    }

    /// Its word, and the others.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.word)
            .chain(&self.also)
            .map(String::as_str)
    }

    fn is_called(&self, word: &str) -> bool {
        self.words().any(|own| own == word)
    }

    /// What it means, in one sentence.
    pub fn summary(&self) -> String {
        let first = self.paragraphs.first().map_or("", String::as_str);
        let text = without_marks(first);
        match text.split_once(". ") {
            Some((sentence, _)) => sentence.to_owned(),
            None => text.trim_end_matches('.').to_owned(),
        }
    }

    /// What it means, why it matters and what to do, for people without Markdown: a line for each
    /// paragraph, with a blank line between two, and for each item of a list.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (at, paragraph) in self.paragraphs.iter().enumerate() {
            if at > 0 && !paragraph.starts_with("- ") {
                text.push('\n');
            }
            text.push_str(&without_marks(paragraph));
            text.push('\n');
        }
        text
    }
}

/// A word as headings have it: in small letters, with `-` where words meet, without quotes and
/// backticks.
fn plain(word: &str) -> String {
    let word = word.trim().to_lowercase();
    let parts =
        word.split(|c: char| c.is_whitespace() || matches!(c, '_' | '-' | '\'' | '`' | '’'));
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

/// A paragraph without what makes links and bold type of it. A link is its text. Code keeps its
/// backticks, because that's how the program prints it, too.
fn without_marks(paragraph: &str) -> String {
    let mut text = String::with_capacity(paragraph.len());
    let mut rest = paragraph;
    while let Some(at) = rest.find("](") {
        let (before, link) = rest.split_at(at);
        let (Some(open), Some(close)) = (before.rfind('['), link.find(')')) else {
            break;
        };
        text.push_str(&before[..open]);
        text.push_str(&before[open + 1..]);
        rest = &link[close + 1..];
    }
    text.push_str(rest);
    text.replace("**", "")
}
