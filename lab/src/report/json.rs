//! The report for programs.

use super::Report;

/// The whole report, indented, with a line end.
pub fn json(report: &Report) -> String {
    match serde_json::to_string_pretty(report) {
        Ok(text) => text + "\n",
        // Maps with keys that are not strings are the one thing that cannot be written; there is
        // none. The sentence is valid JSON all the same.
        Err(error) => format!("{{\"error\": {:?}}}\n", error.to_string()),
    }
}
