//! What pages in HTML are made of: the page and its parts, plots, and one style for all.
//!
//! Whatever writes a page (a report, a history, a run that goes on) takes [`page`](page::page())
//! for its frame, [`plot`] for pictures and [`swatch`] for the sign of a series, which is the same
//! in every table and plot. What comes from outside is escaped by the templates. Nothing here
//! knows what it shows.
#![forbid(unsafe_code)]

pub mod page;
pub mod plot;
mod style;

pub use style::swatch;

#[cfg(test)]
#[path = "../../tests/alone.rs"]
mod alone;
#[cfg(test)]
mod tests;
