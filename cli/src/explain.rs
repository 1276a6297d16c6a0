//! `ringside explain`: what a word means that the program prints, and what to do.

use explain::{Page, Section, page};
use measure::foreign::Foreign;

use crate::args::explain::Explain;
use exit::{Exit, Failure};
use output::terminal::{self, Paint};
use output::width;

/// Explains the word, or lists all of them.
pub(crate) fn run(arguments: &Explain, no_color: bool) -> Result<Exit, Failure> {
    let page = page();
    let paint = Paint::for_stdout(no_color);
    let text = match arguments.words.is_empty() {
        true => list(&page, paint),
        false => {
            let asked = arguments.words.join(" ");
            told(
                page.find(&asked).map_err(|near| unknown(&asked, &near))?,
                paint,
            )
        }
    };
    let text = width::wrapped(&text, paint.columns());
    terminal::print(&text).map_err(Failure::printing)?;
    Ok(Exit::Ok)
}

fn told(section: &Section, paint: Paint) -> String {
    let (word, text) = (paint.strong(&section.word), section.text());
    format!("{word}\n\n{text}")
}

/// The words, a line for each.
fn list(page: &Page, paint: Paint) -> String {
    let words = page.sections().map(|section| section.word.len());
    let width = words.max().unwrap_or(0);
    let mut text = String::new();
    for group in &page.groups {
        text.push_str(&format!("{}\n", paint.strong(&group.title)));
        for section in &group.sections {
            let (word, summary) = (&section.word, section.summary());
            text.push_str(&format!("  {word:<width$}  {summary}\n"));
        }
    }
    text
}

fn unknown(asked: &str, near: &[&str]) -> Failure {
    Failure::unknown(
        &format!("nothing is known of {:?}", Foreign::new(asked).to_string()),
        near,
        "ringside explain lists all words",
    )
}
