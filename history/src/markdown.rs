//! A history for documents.

use std::fmt::Write;

use measure::foreign::document;
use report::markdown::escape;

use crate::model::{Group, History, Point};
use crate::words;

/// The history in Markdown.
pub fn markdown(history: &History) -> String {
    let mut text = String::new();
    for group in &history.groups {
        of_group(&mut text, group);
    }
    if !history.left_out.is_empty() {
        text += "## Left out\n\n";
        for one in &history.left_out {
            let _ = writeln!(text, "- {}: {}", escape(&one.what), escape(&one.why));
        }
    }
    document(text.trim_end()).into_owned() + "\n"
}

// Writing to a string doesn't fail.
fn of_group(text: &mut String, group: &Group) {
    let _ = writeln!(text, "# {}\n", escape(&group.name));
    let _ = writeln!(
        text,
        "{} on {}.\n",
        words::extent(group),
        escape(&group.host)
    );
    for figure in &group.figures {
        for change in &figure.changes {
            let sign = if change.worse { "worse" } else { "better" };
            let says = words::change(group, figure, change);
            let _ = writeln!(text, "- **{sign}**: {}", escape(&says));
        }
        let says = words::unchanged(group, figure);
        if let Some(says) = says.filter(|_| figure.changes.is_empty()) {
            let heading = words::heading(group, figure);
            let _ = writeln!(text, "- {}: {says}", escape(&heading));
        }
    }
    text.push('\n');
    text.push_str("| figure | first session | last session | its figure itself |\n");
    text.push_str("|---|---|---|---|\n");
    for figure in &group.figures {
        let (Some(first), Some(last)) = (figure.points.first(), figure.points.last()) else {
            continue;
        };
        let write = words::value(figure);
        let said = |point: &Point| match point.interval {
            Some((low, high)) => {
                format!("{} ({}–{})", write(point.value), write(low), write(high))
            }
            None => write(point.value),
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} |",
            escape(&words::heading(group, figure)),
            said(first),
            said(last),
            words::absolute(figure.metric)(last.absolute.median)
        );
    }
    text.push('\n');
    for caution in &group.cautions {
        let _ = writeln!(text, "Caution: {}.\n", escape(caution));
    }
}
