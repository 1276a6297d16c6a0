//! What a measurement is: time, histograms, counters, series, the run record and its
//! merge, host facts, units, how foreign text is shown, and what words of commands and files were
//! meant to be. Knows nothing of sockets, protocols or load.
//!
//! A worker records into a [`tally::Tally`] of its own; merging the tallies of all workers gives
//! the tally of the run, and [`record::Record::assemble`] makes the record of it. Nothing here
//! reads the clock but [`time`], and nothing reads the machine but [`host`], [`process`] and
//! [`quota`].
#![forbid(unsafe_code)]

/// Adds what one struct of counters has to another: by `merge`, by `+=`, or `apart`, which its
/// caller does itself. It names every field, so that a new one that is in no list doesn't compile.
#[macro_export]
macro_rules! merge_fields {
    ($of:ident, $mine:ident, $theirs:ident, merge [$($merge:ident),*], add [$($add:ident),*],
     apart [$($apart:ident),*]) => {
        let $of { $($merge,)* $($add,)* $($apart: _,)* } = $theirs;
        $($mine.$merge.merge($merge);)*
        $($mine.$add += $add;)*
    };
}

/// Empties a struct of counters without giving memory back: by `clear`, by its default value, or
/// `apart`, which its caller does itself. It names every field, too.
macro_rules! clear_fields {
    ($of:ident, $mine:ident, clear [$($clear:ident),*], zero [$($zero:ident),*],
     apart [$($apart:ident),*]) => {
        let $of { $($clear,)* $($zero,)* $($apart: _,)* } = $mine;
        $($clear.clear();)*
        $(*$zero = Default::default();)*
    };
}

pub mod counters;
pub mod cpu;
pub mod descriptors;
pub mod due;
pub mod foreign;
pub mod histogram;
pub mod hold;
pub mod host;
pub mod interval;
pub mod needs;
pub mod process;
pub mod quota;
pub mod random;
pub mod record;
pub mod series;
pub mod slots;
pub mod tally;
pub mod time;
pub mod units;
pub mod waits;
pub mod words;

#[cfg(test)]
#[path = "../../tests/skip.rs"]
mod skip;
