//! `ringside subjects`: the servers that a comparison can name.

use lab::subject::Subject;

use crate::args::subjects::Subjects;
use crate::exit::{Exit, Failure};
use crate::output::{table, terminal};

/// Lists them.
pub(crate) fn run(arguments: &Subjects) -> Result<Exit, Failure> {
    let folder = &arguments.dir;
    let found = Subject::all(folder).map_err(|error| {
        let place = folder.display();
        Failure::usage(format!(
            "{place}: {error}; give the folder of subjects with --dir"
        ))
    })?;
    let mut rows = Vec::new();
    let mut faults = Vec::new();
    for (name, subject) in found {
        match subject {
            Ok(subject) => rows.push([name, subject.description]),
            Err(fault) => faults.push(fault.to_string()),
        }
    }
    terminal::print(&table::left("", &rows)).map_err(Failure::running)?;
    if faults.is_empty() {
        return Ok(Exit::Ok);
    }
    Err(Failure::usage(faults.join("\n")))
}
