//! The highest rate that a subject holds under conditions on its answers.

pub mod search;
