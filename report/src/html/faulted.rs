//! What faults that were made on purpose cost, as a table and second by second.

use maud::html;
use statistics::format::{count, time_us};

use super::page::{Cell, Column as Stand, Section, table};
use super::plot::{Axis, Line, Scale, Series, lines};
use crate::faulted::{self, EXPLAINED};
use crate::{Report, Row, Second};

/// Nothing where there were none.
pub(super) fn faults(report: &Report) -> Option<Section> {
    let mut rows = faulted::table(&report.subjects).into_iter();
    let names = rows.next()?;
    let words = ["fault", "subject", "errors stopped", "p99 back"];
    let stand = |name: &str| match words.contains(&name) {
        true => Stand::Words,
        false => Stand::Figures,
    };
    let names = names.iter().map(String::as_str);
    let headings: Vec<(&str, Stand)> = names.map(|name| (name, stand(name))).collect();
    let cells = |row: Vec<String>| row.into_iter().map(Cell::text).collect();
    let rows: Vec<Vec<Cell>> = rows.map(cells).collect();
    let body = html! {
        (table("", &headings, &rows))
        (over_time(report, "Completed requests per second", Scale::FromZero, count, |second| {
            Some(second.completed)
        }))
        (over_time(report, "Failed requests per second", Scale::FromZero, count, |second| {
            Some(second.failed)
        }))
        (over_time(report, "p99 of the response time", Scale::Log, time_us, |second| {
            second.p99_us
        }))
    };
    Some(Section::new("Faults", EXPLAINED, body))
}

/// A figure second by second, with the faults marked.
fn over_time(
    report: &Report,
    title: &str,
    scale: Scale,
    write: fn(f64) -> String,
    figure: fn(&Second) -> Option<f64>,
) -> maud::Markup {
    let series = |(at, row): (usize, &Row)| {
        let points = row.seconds.iter();
        let points = points.filter_map(|second| Some((second.at_s, figure(second)?)));
        Series::new(&row.facts.name, at, points.collect())
    };
    let drawn = report.subjects.iter().enumerate();
    let drawn = drawn.filter(|(_, row)| !row.seconds.is_empty());
    let series: Vec<Series> = drawn.map(series).collect();
    if series.is_empty() {
        return html! {};
    }
    // The same for all rows.
    let first = report.subjects.iter().find(|row| !row.faults.is_empty());
    let marks = first
        .into_iter()
        .flat_map(|row| &row.faults)
        .flat_map(|fault| {
            let begin = Line::Upright(fault.at_s, fault.what.clone());
            let end = fault.at_s + fault.for_s;
            let end = (fault.for_s > 0.0).then(|| Line::Upright(end, "over".to_owned()));
            [Some(begin), end].into_iter().flatten()
        });
    let marks: Vec<Line> = marks.collect();
    let x = Axis::new("seconds since the window began", Scale::Linear, |second| {
        let text = format!("{second:.1}");
        text.trim_end_matches(".0").to_owned()
    });
    let more = "The median of the rounds in each second. Upright lines are where faults begin and \
                end.";
    lines(
        title,
        more,
        (&x, &Axis::new("", scale, write)),
        &series,
        &marks,
    )
}
