//! What changed in series: which stretch of one is judged, at which level, and what that means.

use std::ops::Range;

use lab::verdict::Metric;
use statistics::change::{self, VALUES_MIN};
use statistics::{ALPHA, holm};
use studies::diff::Difference;

use crate::model::{Change, Figure, Program};
use crate::session::Session;

/// The same records give the same history.
const SEED: u64 = 1;

/// A part of a figure's points that is judged as one series.
struct Stretch {
    figure: usize,
    points: Range<usize>,
    p_value: f64,
}

/// Judges the figures of a group. All of them together may err in a share of [`ALPHA`] of cases
/// where nothing changed (Holm's method).
pub(crate) fn judge(figures: &mut [Figure], sessions: &[Session], smallest: f64) {
    let with_baseline = sessions.iter().any(|session| session.baseline.is_some());
    let mut stretches = Vec::new();
    for (at, figure) in figures.iter_mut().enumerate() {
        if with_baseline && !figure.relative {
            continue; // What the baseline itself did can't be told from the host.
        }
        for points in cut(figure, sessions) {
            figure.judged = figure.judged.max(points.len());
            if points.len() < VALUES_MIN {
                continue;
            }
            stretches.push(Stretch {
                figure: at,
                p_value: change::p_value(&logs(figure, &points), SEED),
                points,
            });
        }
    }
    let p_values: Vec<f64> = stretches.iter().map(|stretch| stretch.p_value).collect();
    let levels = holm::levels(&p_values, ALPHA, |level| level);
    for (stretch, level) in stretches.iter().zip(levels) {
        let figure = &mut figures[stretch.figure];
        if figure.p_value.is_none_or(|known| stretch.p_value < known) {
            (figure.p_value, figure.level) = (Some(stretch.p_value), Some(level));
        }
        if stretch.p_value > level {
            continue;
        }
        let values = logs(figure, &stretch.points);
        let found = change::changes(&values, level, SEED);
        let changes = found
            .iter()
            .map(|one| told(one, figure, stretch, sessions, smallest));
        let changes: Vec<Change> = changes.collect();
        figure.changes.extend(changes);
    }
}

/// Equal ratios are equal distances.
fn logs(figure: &Figure, points: &Range<usize>) -> Vec<f64> {
    let points = figure.points[points.clone()].iter();
    points.map(|point| point.value.ln()).collect()
}

/// A figure's points between the sessions at which the baseline became another program: what is
/// held against another program is another figure.
fn cut(figure: &Figure, sessions: &[Session]) -> Vec<Range<usize>> {
    let mut cuts = vec![0];
    for at in 1..figure.points.len() {
        let (before, after) = (figure.points[at - 1].session, figure.points[at].session);
        let other = |session: &Session| session.facts.other_baseline.is_some();
        if sessions[before + 1..=after].iter().any(other) {
            cuts.push(at);
        }
    }
    let ends = cuts.iter().skip(1).copied().chain([figure.points.len()]);
    cuts.iter()
        .zip(ends)
        .map(|(start, end)| *start..end)
        .collect()
}

fn told(
    found: &change::Change,
    figure: &Figure,
    stretch: &Stretch,
    sessions: &[Session],
    smallest: f64,
) -> Change {
    let session = |at: usize| figure.points[stretch.points.start + at].session;
    let (from, to) = match found.course {
        change::Course::Step => (found.before.end - 1, found.after.start),
        change::Course::Drift => (found.before.start, found.after.end - 1),
    };
    let (from, to) = (session(from), session(to));
    let shift = found.shift;
    let (low, high) = (shift.low.exp(), shift.high.exp());
    Change {
        course: found.course,
        from,
        to,
        ratio: shift.centre.exp(),
        low,
        high,
        confidence: shift.confidence,
        p_value: found.p_value,
        worse: is_worse(figure.metric, shift.centre),
        matters: low.max(high.recip()) > 1.0 + smallest,
        program: program(&figure.row, &sessions[from], &sessions[to]),
        besides: {
            let (from, to) = (&sessions[from].measured, &sessions[to].measured);
            from.surroundings(to)
        },
    }
}

fn is_worse(metric: Metric, log: f64) -> bool {
    match metric.more_is_better() {
        true => log < 0.0,
        false => log > 0.0,
    }
}

/// Whether a row is the same program in two sessions.
fn program(row: &str, before: &Session, after: &Session) -> Program {
    let of = |session: &Session| {
        let rows = session.measured.rows.iter();
        rows.clone().find(|known| known.name == row).cloned()
    };
    let (Some(before), Some(after)) = (of(before), of(after)) else {
        return Program::Unknown("one of the sessions doesn't have it".to_owned());
    };
    match before.difference(&after) {
        None => Program::Same,
        Some(Difference::Seen(why)) => Program::Other(why.to_owned()),
        Some(Difference::Unknown(why)) => Program::Unknown(why.to_owned()),
    }
}
