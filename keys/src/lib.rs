//! The keys of the TOML files, as JSON Schemas: for editors, which complete and check what is
//! written, and for programs that write such files.
//!
//! They are made of the tables of the reference (`docs/src/reference/`), so an editor shows what
//! the book says. That the book says what the readers take is held by the tests of `studies`, and
//! that the schemas do by those of `cli`. A schema never refuses what a reader takes; what depends
//! on several keys, the readers alone say. Knows no reader and no file but those pages.
#![forbid(unsafe_code)]

mod page;
mod schema;

#[cfg(test)]
mod tests;

use page::Page;
use schema::{Made, Section};

/// The schema of a comparison, indented, with a line feed at its end.
pub fn comparison() -> String {
    of_comparison().text("comparison.toml")
}

/// The schema of a `subject.toml`, likewise.
pub fn subject() -> String {
    let page = Page::read(include_str!("../../docs/src/reference/subject.md"));
    let mut made = Made::of(&page);
    made.put("companion.ready", Section::ready());
    made.text("subject.toml")
}

/// The schema of a `gate.toml`, likewise: a comparison without what no gate takes.
pub fn gate() -> String {
    let mut made = of_comparison();
    for refused in ["capacity", "faults", "phase", "sweep"] {
        made.leave_out(refused);
    }
    made.text("gate.toml")
}

/// What a comparison may say, with the section that is a gate's.
fn of_comparison() -> Made {
    let page = Page::read(include_str!("../../docs/src/reference/comparison.md"));
    let of_gates = Page::read(include_str!("../../docs/src/reference/gate.md"));
    let mut made = Made::of(&page);
    if let Some(table) = of_gates.table("[gate]") {
        made.put("gate", Section::of("[gate]", table));
    }
    // A row differs in everything but what all have to share.
    let shared = ["rate", "settle", "speed", "timeout", "warm_up", "window"];
    if let Some(table) = page.table("[workload]") {
        made.put("rows.workload", Section::difference(table, &shared));
    }
    if let Some(table) = page.table("[network]") {
        made.put("rows.network", Section::difference(table, &["private"]));
    }
    made
}
