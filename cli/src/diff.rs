//! `ringside diff`: two measurements at different times, for people and for what builds software.

use engine::signal::Stop;

use crate::args::diff::Diff;
use exit::{Exit, Failure};
use output::terminal;

/// Says what became of what was measured before.
pub(crate) fn run(arguments: &Diff) -> Result<Exit, Failure> {
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let Diff {
        before,
        after,
        smallest,
        ..
    } = arguments;
    let diff = studies::diff::diff(before, after, *smallest, &stop);
    let diff = diff.map_err(|what| Failure::reading(what, &stop))?;
    if let Some(signal) = stop.requested() {
        return Ok(Exit::Stopped(signal));
    }
    terminal::print(&diff.words())
        .map_err(|error| Failure::running(format!("can't write to standard output: {error}")))?;
    Ok(match (diff.has_regression(), diff.is_open()) {
        (true, _) => Exit::Threshold,
        (false, true) => Exit::CannotTell,
        (false, false) => Exit::Ok,
    })
}
