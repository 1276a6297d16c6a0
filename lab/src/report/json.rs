//! Models for programs.

use super::Report;
use crate::document::indented;

/// The whole report, indented, with a line end.
pub fn json(report: &Report) -> String {
    indented(report)
}
