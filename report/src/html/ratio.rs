//! Ratios as they stand in tables.

use lab::verdict::Kind;
use statistics::Ratio;
use statistics::format::ratio as ratio_figure;

use super::page::{Cell, Tone, badge};

/// A row's ratio as a cell, with its interval under it.
pub fn ratio_cell(ratio: Option<&Ratio>, kind: Kind) -> Cell {
    match (ratio, kind) {
        (_, Kind::Baseline) => Cell::of(badge(Tone::Calm, "baseline")),
        (_, Kind::Ceiling) => Cell::of(badge(Tone::Calm, "ceiling")),
        (Some(ratio), kind) => {
            let bound = match kind {
                Kind::AtLeast => "≥ ",
                Kind::AtMost => "≤ ",
                Kind::Undecided => "? ",
                _ => "",
            };
            let text = format!("{bound}{}", ratio_figure(kind.figure(ratio)));
            Cell::text(text).under(range(ratio))
        }
        (None, Kind::Void) => Cell::of(badge(Tone::Void, "void")),
        (None, _) => Cell::text("–"),
    }
}

/// From its lower end to its upper.
pub fn range(ratio: &Ratio) -> String {
    format!("{}–{}", ratio_figure(ratio.low), ratio_figure(ratio.high))
}
