//! The agents of a fleet, on the page of what they sent.

use super::page::{Cell, Column, Section, table};
use crate::agents::Agents;

/// The agents of a load of so many seconds.
pub(super) fn agents(agents: &Agents, seconds: f64) -> Section {
    let headings = agents.headings().map(|(heading, is_figure)| {
        let column = match is_figure {
            true => Column::Figures,
            false => Column::Words,
        };
        (heading, column)
    });
    let rows = agents.rows(seconds).into_iter();
    let rows: Vec<Vec<Cell>> = rows.map(|row| row.map(Cell::text).to_vec()).collect();
    let lead = format!("{}.", agents.summary());
    Section::new("Agents", lead, table("", &headings, &rows))
}
