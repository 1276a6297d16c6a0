//! What warns of the figures of a run.

use load::Record;

use super::terminal::{self, Paint};

/// Of a record that isn't valid.
pub(super) const DISTRUST: &str = "Don't trust these figures: the warnings say why.";

/// Says them to who reads data that doesn't have them.
pub fn say(record: &Record, paint: Paint) {
    let told = text(record, paint);
    if !told.is_empty() {
        terminal::say(told.trim_end());
    }
}

/// A line for each warning, and that figures which aren't valid mean little.
pub(super) fn text(record: &Record, paint: Paint) -> String {
    let mut text = String::new();
    for warning in &record.warnings {
        text.push_str(&format!("{} {warning}\n", paint.warning("Warning:")));
    }
    if !record.valid {
        text.push_str(&format!("{}\n", paint.error(DISTRUST)));
    }
    text
}
