//! What others write, as they tell it: nothing is read, summed or drawn here.

use std::sync::Arc;

use chart::page::Section;

use super::board::{Board, Stage};
use super::view::{Parts, Plot, Progress, Rows, View};

/// What was told last.
pub(super) struct Told {
    noun: &'static str,
    sections: Vec<Section>,
    rows: Rows,
    what: String,
    share: Option<f64>,
    parts: Parts,
}

impl Told {
    /// Nothing yet; `sections` have places for what is told.
    pub(super) fn new(noun: &'static str, sections: Vec<Section>) -> Told {
        Told {
            noun,
            sections,
            rows: Rows::new(0),
            what: "Starting".to_owned(),
            share: None,
            parts: Parts::new(),
        }
    }
}

impl View for Told {
    fn noun(&self) -> &'static str {
        self.noun
    }

    fn sections(&self) -> Vec<Section> {
        self.sections.clone()
    }

    fn rows(&self) -> &Rows {
        &self.rows
    }

    fn plots(&self) -> Vec<Option<Plot>> {
        Vec::new()
    }

    fn status(&self, _: &Progress) -> String {
        self.what.clone()
    }

    fn share(&self, _: &Progress) -> Option<f64> {
        self.share
    }

    fn parts(&self) -> Parts {
        self.parts.clone()
    }

    fn has_a_clock(&self) -> bool {
        false
    }
}

/// Whoever says what a page shows. Once this is dropped, nothing more is measured.
pub struct Teller(pub(super) Arc<Board<Told>>);

impl Teller {
    /// Shows `what` is going on, how much of it all is over, if that's known, and what there is by
    /// now: HTML by the names of the parts. Waits for nobody.
    pub fn tell(&self, what: &str, share: Option<f64>, parts: Parts) {
        self.0.change(|state| {
            what.clone_into(&mut state.view.what);
            state.view.share = share;
            state.view.parts = parts;
        });
    }
}

impl Drop for Teller {
    fn drop(&mut self) {
        self.0.change(|state| state.stage = Stage::Measured);
    }
}
