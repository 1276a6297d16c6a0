//! What a gate judged: it stands beside the report of what it measured, and in its place where
//! pipelines read what was judged.

use std::fs;
use std::path::Path;

use report::pages::{File, GATE_CASES, Page};

/// What a gate judged whose records are in this folder, if they are one's.
pub(crate) fn cases_of_a_gate(folder: &Path) -> Option<String> {
    fs::read_to_string(folder.join(GATE_CASES)).ok()
}

/// A file of a report; where a gate has judged, its cases are those of the gate.
pub(crate) fn written(file: File, text: String, cases: Option<&str>) -> String {
    match cases.filter(|_| file.name() == Page::JUNIT.file()) {
        Some(cases) => cases.to_owned(),
        None => text,
    }
}
