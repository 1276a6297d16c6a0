//! What is printed: data on standard output or into a file, talk on standard error.
//!
//! A [`Record`](load::Record) comes in, and text comes out: the tables of a run and of a hold,
//! wrk's block, CSV. What is painted, and what is cut to the terminal's width, is here, too.
#![forbid(unsafe_code)]

mod closes;
pub mod control;
pub mod counts;
pub mod csv;
pub mod destination;
mod errors;
pub mod hold;
pub mod progress;
mod steps;
mod streams;
pub mod table;
pub mod terminal;
pub mod text;
pub mod thresholds;
mod times;
pub mod warnings;
pub mod width;
mod wrk;
