//! Models for programs.

use super::Report;
use supervisor::document::indented;

/// The whole report, indented, with a line end.
pub fn json(report: &Report) -> String {
    indented(report)
}
