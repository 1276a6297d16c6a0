//! A history as lines for a terminal: one for each change, and for each figure without one.

use measure::foreign::document;
use report::Look;
use statistics::format::ascii;

use crate::model::{Group, History};
use crate::words;

/// So many of the files that were left out are named.
const LEFT_OUT_MAX: usize = 10;

/// The history for a terminal.
pub fn text(history: &History, look: Look) -> String {
    let mut lines = Vec::new();
    for group in &history.groups {
        if !lines.is_empty() {
            lines.push(String::new());
        }
        lines.extend(of_group(group));
    }
    if !history.left_out.is_empty() {
        lines.push(String::new());
        let named = history.left_out.iter().take(LEFT_OUT_MAX);
        lines.extend(named.map(|one| format!("left out: {}: {}", one.what, one.why)));
        let more = history.left_out.len().saturating_sub(LEFT_OUT_MAX);
        if more > 0 {
            lines.push(format!("and {more} more, which --format json names"));
        }
    }
    let text = lines.join("\n") + "\n";
    let text = document(&text);
    match look.unicode {
        true => text.into_owned(),
        false => ascii_lines(&text),
    }
}

fn of_group(group: &Group) -> Vec<String> {
    let mut lines = vec![
        format!("{}: {}", group.name, words::extent(group)),
        format!("on {}", group.host),
    ];
    for figure in &group.figures {
        let changes = figure.changes.iter();
        let signed = changes.map(|change| {
            let sign = match change.worse {
                true => "WORSE",
                false => "BETTER",
            };
            format!("{sign} {}", words::change(group, figure, change))
        });
        match figure.changes.is_empty() {
            true => lines.extend(words::unchanged(group, figure).map(|says| {
                let heading = words::heading(group, figure);
                format!("{heading}: {says}")
            })),
            false => lines.extend(signed),
        }
    }
    lines.extend(group.cautions.iter().map(|what| format!("caution: {what}")));
    lines
}

/// In letters that every terminal has, line by line.
fn ascii_lines(text: &str) -> String {
    let plain: Vec<String> = text.split('\n').map(ascii).collect();
    plain.join("\n")
}
