//! Checks that CI runs: import directions, sizes, generated documents.
#![forbid(unsafe_code)]

fn main() {}
