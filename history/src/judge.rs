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

/// The same change may be found so many sessions to either side of where it's found later.
const NEAR: usize = 5;

/// Judges the figures of a group. All of them together may err in a share of [`ALPHA`] of cases
/// where nothing changed (Holm's method).
pub(crate) fn judge(figures: &mut [Figure], sessions: &[Session], smallest: f64) {
    find(figures, sessions, smallest);
    let since: Vec<Vec<usize>> = (0..figures.len())
        .map(|at| {
            let changes = figures[at].changes.iter();
            let since = changes.map(|one| shown_since(one, at, figures, sessions, smallest));
            since.collect()
        })
        .collect();
    for (figure, since) in figures.iter_mut().zip(since) {
        for (change, since) in figure.changes.iter_mut().zip(since) {
            change.shown_since = since;
        }
    }
}

/// The session with which a change of figure `at` was first shown: the shortest history that shows
/// it is looked for by halves, as whatever shows it is taken to go on doing so.
fn shown_since(
    change: &Change,
    at: usize,
    figures: &[Figure],
    sessions: &[Session],
    smallest: f64,
) -> usize {
    let is_shown_by = |count: usize| {
        let mut earlier: Vec<Figure> = figures.iter().map(|one| until(one, count)).collect();
        find(&mut earlier, &sessions[..count], smallest);
        earlier[at].changes.iter().any(|one| is_same(one, change))
    };
    let (mut too_few, mut enough) = (change.from + 1, sessions.len());
    while enough - too_few > 1 {
        let count = too_few.midpoint(enough);
        match is_shown_by(count) {
            true => enough = count,
            false => too_few = count,
        }
    }
    enough - 1
}

/// A figure as the first `count` sessions have it, not judged.
fn until(figure: &Figure, count: usize) -> Figure {
    let points = figure.points.iter().filter(|point| point.session < count);
    Figure {
        row: figure.row.clone(),
        metric: figure.metric,
        relative: figure.relative,
        points: points.cloned().collect(),
        judged: 0,
        p_value: None,
        level: None,
        changes: Vec::new(),
    }
}

/// Whether a change that fewer sessions show is the same as `later`.
fn is_same(one: &Change, later: &Change) -> bool {
    let is_near = one.from <= later.to + NEAR && later.from <= one.to + NEAR;
    is_near && one.worse == later.worse && one.matters >= later.matters
}

fn find(figures: &mut [Figure], sessions: &[Session], smallest: f64) {
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
        shown_since: sessions.len() - 1,
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
