//! What is printed: data on standard output or into a file, talk on standard error.

mod closes;
pub(crate) mod control;
pub(crate) mod counts;
pub(crate) mod csv;
pub(crate) mod destination;
mod errors;
pub(crate) mod hold;
pub(crate) mod progress;
mod steps;
pub(crate) mod table;
pub(crate) mod terminal;
pub(crate) mod text;
pub(crate) mod thresholds;
mod times;
mod warnings;
pub(crate) mod width;
mod wrk;
