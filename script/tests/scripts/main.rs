//! Scripts as people have them: wrk's own, those of other projects, and the traps in between.

mod errors;
mod examples;
mod modules;
mod support;
mod traps;
