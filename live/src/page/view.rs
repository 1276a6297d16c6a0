//! What a page shows, whatever that is: what stands on it from the beginning, and what there is by
//! now.

use std::collections::BTreeMap;

use chart::page::Section;
use serde::Serialize;

/// The parts of a page that change, by their names, as HTML.
pub(super) type Parts = BTreeMap<&'static str, String>;

/// See the module.
pub(super) trait View: Send + 'static {
    /// What goes on, in a word: `run`, `hold`.
    fn noun(&self) -> &'static str;

    /// The sections of the page, with places for its parts and plots.
    fn sections(&self) -> Vec<Section>;

    /// Its course over time, as it's drawn.
    fn rows(&self) -> &Rows;

    /// What the plots of the page need besides rows; null where there is nothing to draw.
    fn plots(&self) -> Vec<Option<Plot>>;

    /// What is going on, in words.
    fn status(&self, progress: &Progress) -> String;

    /// How much of it is over, if that's known, as a share.
    fn share(&self, progress: &Progress) -> Option<f64>;

    /// Everything else that changes.
    fn parts(&self) -> Parts;

    /// Whether what it says changes by itself, as the time does.
    fn has_a_clock(&self) -> bool;
}

/// How far a load is, in time.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Progress {
    /// What is going on.
    pub what: &'static str,
    /// Since the load began.
    pub elapsed_s: f64,
    /// Its length with its warm-up, where time ends it.
    pub total_s: Option<f64>,
}

/// The points of a course: of each its time in seconds, and what is drawn of it. What isn't there
/// isn't drawn.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// How many seconds a row stands for.
    pub each_s: u64,
    /// How many cells a row has.
    columns: usize,
    cells: Vec<Option<f64>>,
}

impl Rows {
    /// None yet, of so many columns.
    pub(super) fn new(columns: usize) -> Rows {
        Rows {
            each_s: 1,
            columns,
            cells: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.cells.len() / self.columns.max(1)
    }

    /// All of them, in order.
    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &[Option<f64>]> {
        self.cells.chunks(self.columns.max(1))
    }

    pub(super) fn push(&mut self, row: &[Option<f64>]) {
        debug_assert_eq!(row.len(), self.columns, "a row of another length");
        self.cells.extend(row);
    }

    /// Takes the last one away.
    pub(super) fn pop(&mut self) {
        let kept = self.len().saturating_sub(1);
        self.cells.truncate(kept * self.columns);
    }

    pub(super) fn clear(&mut self) {
        self.cells.clear();
    }
}

/// What a plot needs besides rows.
#[derive(Serialize)]
pub(super) struct Plot {
    /// The lines and numbers of its axes, as SVG.
    pub axes: String,
    /// The values at their ends.
    pub x: (f64, f64),
    pub y: (f64, f64),
    /// Whether places between those of `y` go by the logarithm.
    pub log: bool,
}
