//! Pages in HTML: the page and its parts, plots, and what a comparison looks like on one.
//!
//! Whatever writes a page (comparisons, capacity, sweeps, claims) takes [`page`](page::page()) for
//! its frame, [`plot`] for pictures and [`swatch`] for the sign of a subject, which is the same in
//! every table and plot. What comes from outside is escaped by the templates.

mod comparison;
mod faulted;
mod hold;
pub mod page;
pub mod plot;
mod ratio;
mod requests;
mod style;
mod trust;

pub use comparison::all_found;
pub use comparison::{Enclosed, html};
pub use hold::hold;
pub(crate) use hold::in_words as verdict_of_hold;
pub use style::swatch;

#[cfg(test)]
mod tests;
