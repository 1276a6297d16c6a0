//! The binary `ringside`: arguments in, wiring, words out.
#![forbid(unsafe_code)]

fn main() {}
