//! The posts that claims are from, as far as a claim's file can be held against them without their
//! texts: which sections each has, and which figures stand there. The texts are not ours to keep;
//! whoever has them can hold these lists against them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use supervisor::document::{BadFile, Document};
use toml::Spanned;

use super::stated::{Letters, numbers};
use super::{Claim, Judge, Words};

/// A post, from its file in `claims/posts/`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Post {
    /// What claims call it; also the name of its file, in small letters.
    pub letter: char,
    /// What it is about, in our words.
    pub title: Words,
    /// Whether we wrote it ourselves, about what we made: pages say so.
    #[serde(default)]
    pub ours: bool,
    /// All its sections, in its order.
    #[serde(rename = "section")]
    pub sections: Vec<Section>,
}

/// A section of a post.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// What claims cite: a chapter `"1"`, or a section `"2.5"`.
    pub number: String,
    /// What it is about, in our words.
    pub title: Words,
    /// How its heading begins in the post.
    pub mark: String,
    /// The figures there that claims use, as they are written there.
    #[serde(default)]
    pub figures: Vec<String>,
}

impl Post {
    fn read(file: &Path) -> Result<Post, BadFile> {
        #[derive(Deserialize)]
        struct Letter {
            letter: Spanned<char>,
        }
        let (post, document) = Document::read::<Post>(file)?;
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        let expected = post.letter.to_ascii_lowercase();
        if stem == expected.to_string() && post.letter.is_ascii_uppercase() {
            return Ok(post);
        }
        let text = String::from_utf8_lossy(&document.bytes()).into_owned();
        let place = toml::from_str::<Letter>(&text).ok();
        let place = place.map(|place| place.letter.span());
        let what = format!(
            "post {} is in {stem}.toml; expected {expected}.toml",
            post.letter
        );
        Err(document.fault(place, what))
    }

    /// The section of that number.
    pub fn section(&self, number: &str) -> Option<&Section> {
        self.sections
            .iter()
            .find(|section| section.number == number)
    }

    /// Holds this list against the post's own text: what is not there as it says. Each section
    /// reaches from its heading to the next.
    pub fn against(&self, text: &str) -> Vec<String> {
        let mut wrong = Vec::new();
        let mut begins = Vec::new();
        let mut from = 0;
        for section in &self.sections {
            match heading(&text[from..], &section.mark) {
                Some(at) => {
                    begins.push((section, from + at));
                    from += at + section.mark.len();
                }
                None => wrong.push(format!(
                    "post {}: no heading begins with `{}` where section {} should be",
                    self.letter, section.mark, section.number
                )),
            }
        }
        for (at, (section, start)) in begins.iter().enumerate() {
            let end = begins.get(at + 1).map_or(text.len(), |next| next.1);
            let absent = section
                .figures
                .iter()
                .filter(|figure| !stands_in(&text[*start..end], figure));
            wrong.extend(absent.map(|figure| {
                format!(
                    "post {}: `{figure}` isn't in section {}",
                    self.letter, section.number
                )
            }));
        }
        wrong
    }
}

/// Where the first line begins that begins with `mark`, or else where the mark first is.
fn heading(text: &str, mark: &str) -> Option<usize> {
    if text.starts_with(mark) {
        return Some(0);
    }
    let line = text.find(&format!("\n{mark}")).map(|at| at + 1);
    line.or_else(|| text.find(mark))
}

/// Whether a figure is in a text by itself, and not as part of a longer number.
fn stands_in(text: &str, figure: &str) -> bool {
    let digits =
        |chars: &mut dyn Iterator<Item = char>| chars.take_while(char::is_ascii_digit).count();
    // A comma joins thousands, or else it ends a number.
    let joins = |sign: Option<char>, digits_after: usize| match sign {
        Some('.') => digits_after > 0,
        Some(',') => digits_after == 3,
        _ => false,
    };
    let leading = digits(&mut figure.chars());
    let trailing = digits(&mut figure.chars().rev());
    text.match_indices(figure).any(|(at, _)| {
        let (before, after) = (&text[..at], &text[at + figure.len()..]);
        let mut before = before.chars().rev().peekable();
        let mut after = after.chars().peekable();
        let digit = |c: Option<&char>| c.is_some_and(char::is_ascii_digit);
        let longer_before = leading > 0 && {
            let next = before.next();
            digit(next.as_ref()) || (digit(before.peek()) && joins(next, leading))
        };
        let longer_after = trailing > 0 && {
            let next = after.next();
            digit(next.as_ref()) || joins(next, digits(&mut after))
        };
        !longer_before && !longer_after
    })
}

/// All posts of a folder, in the order of their letters; none where there is no such folder.
///
/// # Errors
/// If the folder cannot be read.
pub fn read_all(folder: &Path) -> io::Result<(Vec<Post>, Vec<BadFile>)> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
        entries => entries?,
    };
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
    files.sort();
    let (mut posts, mut faults) = (Vec::new(), Vec::new());
    for file in files {
        match Post::read(&file) {
            Ok(post) => posts.push(post),
            Err(fault) => faults.push(fault),
        }
    }
    Ok((posts, faults))
}

/// Holds claims against the lists: what a claim cites that isn't listed, or quotes that isn't a
/// figure of a section that it cites.
pub fn check(claims: &[Claim], posts: &[Post]) -> Vec<String> {
    claims
        .iter()
        .flat_map(|claim| wrong(claim, posts))
        .collect()
}

fn wrong(claim: &Claim, posts: &[Post]) -> Vec<String> {
    let (id, cited) = (claim.id, &claim.source);
    let Some(post) = posts.iter().find(|post| post.letter == cited.post) else {
        return vec![format!("{id}: there's no post {}", cited.post)];
    };
    let (mut wrong, mut figures) = (Vec::new(), Vec::new());
    for number in &cited.sections {
        match post.section(number) {
            Some(section) => figures.extend(&section.figures),
            None => wrong.push(format!("{id}: post {} has no section {number}", cited.post)),
        }
    }
    let known: Vec<f64> = figures
        .into_iter()
        .flat_map(|figure| numbers(figure, Letters::Count))
        .collect();
    let is_known = |number: f64| {
        known
            .iter()
            .any(|known| (known / number - 1.0).abs() < 1e-9)
    };
    for (place, numbers) in quoted(claim) {
        let absent = numbers.into_iter().filter(|number| !is_known(*number));
        wrong.extend(absent.map(|number| {
            format!(
                "{id}: {place} says {number}, which claims/posts doesn't list as a figure of post \
                 {}, section {}",
                cited.post,
                cited.sections.join(" or ")
            )
        }));
    }
    wrong
}

/// The figures that a claim says are the post's, by where it says so. Zero is not looked up.
fn quoted(claim: &Claim) -> Vec<(&'static str, Vec<f64>)> {
    let text = |text: &str| numbers(text, Letters::Name);
    let rows = claim.rows.iter().flat_map(|row| {
        let pipeline = (row.pipeline > 1).then(|| row.pipeline.into());
        let connections = row.connections.map(f64::from);
        let figures = [
            Some(row.rate),
            connections,
            pipeline,
            row.mean_ms,
            row.p99_ms,
        ];
        figures.into_iter().flatten()
    });
    let judges = claim.test.iter().flat_map(|test| &test.judges);
    let published = judges.flat_map(|judge| match judge {
        Judge::Ratio(ratio) if ratio.within.is_some() => Vec::new(),
        Judge::Ratio(ratio) => ratio.published.figures.clone(),
        Judge::Figure(figure) => figure.published.figures(),
        Judge::Printed(printed) => printed.published.figures.clone(),
        Judge::Errors(errors) => errors.published.figures.clone(),
        Judge::Arithmetic(sum) => [sum.from.figures(), sum.published.figures()].concat(),
        Judge::SystemCalls(calls) => {
            let published = calls.published.as_ref();
            published.map_or_else(Vec::new, |published| published.figures.clone())
        }
        Judge::Order(_) | Judge::Pass(_) | Judge::Completes(_) | Judge::Cannot(_) => Vec::new(),
    });
    let mut all = vec![
        ("statement.en", text(&claim.statement.en)),
        ("statement.zh", text(&claim.statement.zh)),
        ("claimed", text(&claim.claimed.en)),
        ("measured_there", text(&claim.measured_there.en)),
        ("zh.claimed", text(&claim.claimed.zh)),
        ("zh.measured_there", text(&claim.measured_there.zh)),
        ("[[row]]", rows.collect()),
        ("[[judge]]", published.collect()),
    ];
    for (_, numbers) in &mut all {
        numbers.retain(|number| *number != 0.0);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn post(figures: &[&str]) -> Post {
        let section = |number: &str, mark: &str, figures: &[&str]| Section {
            number: number.into(),
            title: Words::default(),
            mark: mark.into(),
            figures: figures.iter().map(|&figure| figure.to_owned()).collect(),
        };
        Post {
            letter: 'A',
            title: Words::default(),
            ours: false,
            sections: vec![section("1", "One", &[]), section("1.1", "1.1 ", figures)],
        }
    }

    const TEXT: &str =
        "Posted in\nOne\nsee 1.1 at 99,000\n1.1 Results\n98,432 rps, 4ms, 1.5%, at 5.5,6 of\n";

    #[test]
    fn a_list_is_held_against_the_text_section_by_section() {
        assert_eq!(
            post(&["98,432", "4ms", "1.5%", "5.5", "6"]).against(TEXT),
            [""; 0]
        );
        // In another section, part of a longer number, and nowhere.
        for figure in ["99,000", "8,432", "432", "98", "98,4", "1.5%%", "5%", "7"] {
            let expected = format!("post A: `{figure}` isn't in section 1.1");
            assert_eq!(post(&[figure]).against(TEXT), [expected]);
        }
        let wrong = post(&[]).against("One\n2.1 Results");
        assert_eq!(
            wrong,
            ["post A: no heading begins with `1.1 ` where section 1.1 should be"]
        );
    }
}
