//! Pages in HTML: what a comparison, a run and a hold look like on one. What pages are made of, for
//! these and all others, is the crate `chart`.

mod agents;
mod comparison;
mod faulted;
mod hold;
mod ratio;
mod requests;
mod run;
mod trust;

pub use chart::{page, plot, swatch};
pub use comparison::all_found;
pub use comparison::{Enclosed, html};
pub use hold::hold;
pub(crate) use hold::in_words as verdict_of_hold;
pub use ratio::{range, ratio_cell};
pub use run::run;

#[cfg(test)]
mod tests;
