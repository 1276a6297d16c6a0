//! Models for programs.

use supervisor::document::indented;

use super::Report;

/// The whole report, indented, with a line end.
pub fn json(report: &Report) -> String {
    indented(report)
}
