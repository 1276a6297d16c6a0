//! Models for programs.

use serde::Serialize;

use super::Report;

/// The whole report, indented, with a line end.
pub fn json(report: &Report) -> String {
    indented(report)
}

/// A model, indented, with a line end.
pub(crate) fn indented(model: &impl Serialize) -> String {
    match serde_json::to_string_pretty(model) {
        Ok(text) => text + "\n",
        // Maps with keys that are not strings are the one thing that cannot be written; there is
        // none. The sentence is valid JSON all the same.
        Err(error) => format!("{{\"error\": {:?}}}\n", error.to_string()),
    }
}
