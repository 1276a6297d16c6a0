//! What the words mean that the program prints: checks, verdicts, warnings, kinds of errors, exit
//! codes. And of names that nobody knows, which ones are meant.
//!
//! The texts are the sections of one page of the book, `docs/src/reference/explain.md`, which is a
//! part of the program: what it explains and what the book says is the same text. A section's
//! heading is its word. Below it may stand `Also: ` with other words for the same, and a quote
//! (`> `) of what the program prints, so that a whole warning finds it, too. Then come paragraphs
//! and lists. Knows nothing of checks, records or terminals: whoever prints a word has a test that
//! it is explained.
#![forbid(unsafe_code)]

mod nearest;
mod page;

#[cfg(test)]
mod tests;

pub use nearest::nearest;
pub use page::{Group, Page, Section};

/// The page, from its first line to its last.
const PAGE: &str = include_str!("../../docs/src/reference/explain.md");

/// All that is explained.
pub fn page() -> Page {
    Page::read(PAGE)
}
