//! `ringside pack`: the records of a measurement in one file.

use engine::signal::Stop;
use measure::foreign::Foreign;

use crate::args::pack::Pack;
use exit::{Exit, Failure};
use output::terminal;

/// Packs, and says what became of it.
pub(crate) fn run(arguments: &Pack) -> Result<Exit, Failure> {
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let packed = report::pack::pack(&arguments.folder, arguments.output.as_deref(), &stop);
    let packed = packed.map_err(|what| Failure::reading(what, &stop))?;
    for what in &packed.left_out {
        terminal::say(&format!("left out: {what}"));
    }
    let kib = |bytes: u64| bytes.div_ceil(1024);
    terminal::say(&format!(
        "packed: {} ({} files, {} KiB, were {} KiB)",
        Foreign::new(packed.file.display().to_string()),
        packed.files,
        kib(packed.packed_bytes),
        kib(packed.bytes)
    ));
    Ok(Exit::Ok)
}
