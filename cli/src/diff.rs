//! `ringside diff`: two measurements at different times, for people and for what builds software.

use crate::args::diff::Diff;
use crate::exit::{Exit, Failure};
use crate::output::terminal;

/// Says what became of what was measured before.
pub(crate) fn run(arguments: &Diff) -> Result<Exit, Failure> {
    let diff = lab::diff::diff(&arguments.before, &arguments.after, arguments.smallest);
    let diff = diff.map_err(Failure::usage)?;
    terminal::print(&diff.words())
        .map_err(|error| Failure::running(format!("standard output cannot be written: {error}")))?;
    Ok(match (diff.has_regression(), diff.is_open()) {
        (true, _) => Exit::Threshold,
        (false, true) => Exit::CannotTell,
        (false, false) => Exit::Ok,
    })
}
