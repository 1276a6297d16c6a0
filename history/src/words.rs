//! What a history says, in sentences that every format shares.

use std::path::PathBuf;

use lab::verdict::{Metric, times};
use measure::time::{utc_date, utc_time_of_day};
use statistics::change::{Course, VALUES_MIN};
use statistics::format;

use crate::model::{Change, Figure, Group, LeftOut, Program, SessionFacts};

/// So much of what was left out is named in an error.
const NAMED_MAX: usize = 3;

/// From this ratio on, and below its inverse, a change is a factor and no percentage.
const FACTOR_FROM: f64 = 2.0;

/// Why nothing can be said, and what was expected.
pub(crate) fn nothing(places: &[PathBuf], left_out: &[LeftOut]) -> String {
    let places: Vec<String> = places.iter().map(|one| one.display().to_string()).collect();
    let mut text = format!(
        "no two sessions in {} can be compared; give a directory with the directories or packs of \
         the same comparison, or with records of the same run (--format json)",
        places.join(", ")
    );
    for one in left_out.iter().take(NAMED_MAX) {
        text += &format!("\n  {}: {}", one.what, one.why);
    }
    if left_out.len() > NAMED_MAX {
        text += &format!("\n  and {} more", left_out.len() - NAMED_MAX);
    }
    text
}

/// `p99 response time of go-nethttp, relative to nginx`.
pub(crate) fn name(group: &Group, figure: &Figure) -> String {
    let (metric, row) = (figure.metric.name(), &figure.row);
    match (&group.baseline, figure.relative) {
        _ if group.baseline.is_none() => metric.to_owned(),
        (Some(baseline), true) => format!("{metric} of {row}, relative to {baseline},"),
        _ => format!("{metric} of {row}"),
    }
}

/// The same as a heading.
pub(crate) fn heading(group: &Group, figure: &Figure) -> String {
    name(group, figure).trim_end_matches(',').to_owned()
}

/// A change in a sentence without a full stop.
pub(crate) fn change(group: &Group, figure: &Figure, change: &Change) -> String {
    let (from, to) = (&group.sessions[change.from], &group.sessions[change.to]);
    let commit = |facts: &SessionFacts| {
        let commit = facts.commit.as_ref();
        commit.map_or(String::new(), |commit| format!(" (commit {commit})"))
    };
    let (when, since) = spans(from, to);
    let mut text = format!(
        "{} {} {} between {when} and {since}{}",
        name(group, figure),
        verb(change),
        by_how_much(change),
        match change.course {
            Course::Step => commit(to),
            Course::Drift => String::new(),
        }
    );
    text += &match &change.program {
        Program::Same => {
            ", though it's the same program: something else changed, such as the host".to_owned()
        }
        Program::Other(why) => format!("; {why}"),
        Program::Unknown(_) => String::new(),
    };
    for what in &change.besides {
        text += &format!("; {what}");
    }
    if !change.matters {
        let percent = trimmed(100.0 * group.smallest, 1);
        text += &format!(" (it may be less than the {percent} % that matter)");
    }
    text
}

/// How a figure went.
pub(crate) fn verb(change: &Change) -> &'static str {
    match (change.course, change.ratio >= 1.0) {
        (Course::Step, true) => "rose",
        (Course::Step, false) => "fell",
        (Course::Drift, true) => "drifted up",
        (Course::Drift, false) => "drifted down",
    }
}

/// `by 12 % (9–15 %)`, `to 3.1 × (2.9–3.3 ×)`.
pub(crate) fn by_how_much(change: &Change) -> String {
    let is_factor = !(FACTOR_FROM.recip()..FACTOR_FROM).contains(&change.ratio);
    let at = match change.confidence {
        0.95.. => String::new(),
        less => format!(" at {} % confidence", trimmed(100.0 * less, 0)),
    };
    if is_factor {
        let range = format!("{}–{}", trimmed(change.low, 2), times(change.high));
        return format!("to {} ({range}{at})", times(change.ratio));
    }
    // Percent in the direction of the change.
    let sign = if change.ratio < 1.0 { -1.0 } else { 1.0 };
    let percent = |ratio: f64| sign * 100.0 * (ratio - 1.0);
    let ends = [percent(change.low), percent(change.high)];
    let (least, most) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    let decimals = usize::from(most - least < 10.0);
    let centre = trimmed(percent(change.ratio), decimals);
    let (least, most) = (trimmed(least, decimals), trimmed(most, decimals));
    let range = match least.starts_with('-') {
        true => format!("−{} … +{most} %", &least[1..]),
        false => format!("{least}–{most} %"),
    };
    format!("by {centre} % ({range}{at})")
}

/// So many decimals, without zeros at the end.
fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// When two sessions were: the dates, with the times of one date.
fn spans(from: &SessionFacts, to: &SessionFacts) -> (String, String) {
    let date = |facts: &SessionFacts| utc_date(facts.unix_s);
    match date(from) == date(to) {
        true => (moment(from.unix_s), moment(to.unix_s)),
        false => (date(from), date(to)),
    }
}

/// `2026-11-22 07:32`.
pub(crate) fn moment(unix_s: u64) -> String {
    let time = utc_time_of_day(unix_s);
    format!("{} {}", utc_date(unix_s), &time[..5])
}

/// What is said of a figure that has no change, without a full stop; nothing where it isn't judged
/// because it's the baseline's.
pub(crate) fn unchanged(group: &Group, figure: &Figure) -> Option<String> {
    if group.baseline.is_some() && !figure.relative {
        return None;
    }
    Some(match (figure.p_value, figure.judged) {
        (Some(_), count) => format!("no change shown in {count} sessions"),
        (None, 1) => format!("can't tell from 1 session; it takes {VALUES_MIN} or more"),
        (None, count) => format!("can't tell from {count} sessions; it takes {VALUES_MIN} or more"),
    })
}

/// A figure itself, with its unit.
pub(crate) fn absolute(metric: Metric) -> fn(f64) -> String {
    match metric {
        Metric::RequestsPerSecond | Metric::RequestsDriven | Metric::Capacity => format::count,
        Metric::Streamed(figure) if !figure.is_a_time() => format::count,
        Metric::ResponseTimeP99
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::ResponseTimeMean
        | Metric::Streamed(_)
        | Metric::ServerCpuPerExchange
        | Metric::GeneratorCpuPerExchange => format::time_us,
        Metric::Seconds => |seconds| format::time_us(seconds * 1e6),
        Metric::MemoryPeak => format::bytes,
    }
}

/// A point's value as it's written: a ratio, or the figure itself.
pub(crate) fn value(figure: &Figure) -> fn(f64) -> String {
    match figure.relative {
        true => format::ratio,
        false => absolute(figure.metric),
    }
}

/// How many sessions from when to when.
pub(crate) fn extent(group: &Group) -> String {
    let times = || group.sessions.iter().map(|session| session.unix_s);
    let first = times().min().map_or(String::new(), utc_date);
    let last = times().max().map_or(String::new(), utc_date);
    format!("{} sessions from {first} to {last}", group.sessions.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(ratio: f64, low: f64, high: f64, confidence: f64) -> String {
        by_how_much(&Change {
            course: Course::Step,
            from: 0,
            to: 1,
            ratio,
            low,
            high,
            confidence,
            p_value: 0.001,
            worse: true,
            matters: true,
            shown_since: 3,
            program: Program::Same,
            besides: Vec::new(),
        })
    }

    #[test]
    fn a_change_is_a_percentage_until_a_factor_is_plainer() {
        assert_eq!(change(1.12, 1.05, 1.21, 0.95), "by 12 % (5–21 %)");
        assert_eq!(change(1.021, 1.018, 1.024, 0.96), "by 2.1 % (1.8–2.4 %)");
        assert_eq!(change(0.8, 0.7, 0.9, 0.95), "by 20 % (10–30 %)");
        assert_eq!(change(1.04, 0.99, 1.09, 0.95), "by 4 % (−1 … +9 %)");
        assert_eq!(change(3.1, 2.9, 3.3, 0.95), "to 3.1 × (2.9–3.3 ×)");
        let few = change(1.12, 1.05, 1.21, 0.9);
        assert_eq!(few, "by 12 % (5–21 % at 90 % confidence)");
    }
}
