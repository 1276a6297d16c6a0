//! Header compression from outside: blocks of other encoders, and our own with random fields.

mod properties;
mod stories;
