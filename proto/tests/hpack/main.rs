//! Header compression from outside: blocks of other encoders, and our own with random fields.

mod properties;
#[path = "../support/random.rs"]
mod random;
mod stories;
