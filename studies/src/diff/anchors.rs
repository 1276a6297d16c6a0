//! What two sessions measured unchanged. Between two sessions a host drifts: its clock, its
//! neighbours. A row that is the same program in both shows by how much, and what changed is
//! compared through it: each figure as a multiple of the anchors' in the same round, before and
//! after. The anchors' own noise is then in the interval.
//!
//! An anchor has to be *known* to be the same: the same executables by their hashes, the same
//! source, version and command.

use lab::manifest::Role;
use lab::sample::Sample;
use lab::verdict::{Metric, Side, limit};
use statistics::ROUNDS_MIN;

use super::side::{Measured, MeasuredRow};

/// A row of both sessions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Both<'a> {
    pub(super) before: &'a MeasuredRow,
    pub(super) after: &'a MeasuredRow,
}

impl Both<'_> {
    pub(super) fn name(&self) -> &str {
        &self.after.name
    }

    /// Whether the generator was the limit for it, so that it shows less than it could.
    fn limited(&self) -> bool {
        let limited = |row: &MeasuredRow| {
            let side = Side {
                samples: &row.samples,
                ..Side::named(&row.name)
            };
            limit(side).is_some()
        };
        limited(self.before) || limited(self.after)
    }
}

/// The rows that both sessions measured unchanged.
#[derive(Debug)]
pub(super) struct Anchors<'a> {
    /// Those that others are held against.
    rows: Vec<Both<'a>>,
    /// All that are the same program, whether they are held against or not.
    same: Vec<&'a str>,
    /// Why a row is not known to be the same, row by row.
    pub(super) changed: Vec<String>,
    /// What a reader must know of the anchors.
    pub(super) caution: Option<String>,
}

impl<'a> Anchors<'a> {
    /// Those of two sessions. One that the generator bounded, as it does our own server, shows what
    /// changed for the generator more than what did for servers: it counts where no other is there.
    pub(super) fn of(old: &'a Measured, new: &'a Measured) -> Anchors<'a> {
        let (mut rows, mut changed) = (Vec::new(), Vec::new());
        for after in &new.rows {
            let Some(before) = old.row(&after.name).filter(|row| row.role == after.role) else {
                continue;
            };
            let few = [before, after]
                .iter()
                .any(|row| row.counting() < ROUNDS_MIN);
            let why = match before.changed(after) {
                None if few => Some("too few of its rounds are valid".to_owned()),
                why => why,
            };
            match why {
                None => rows.push(Both { before, after }),
                Some(why) => changed.push(format!(
                    "{} can't serve as a reference between the two sessions: {why}",
                    after.name
                )),
            }
        }
        let same = rows.iter().map(|row| row.after.name.as_str()).collect();
        let free = |row: &Both<'_>| row.after.role != Role::Ceiling && !row.limited();
        let mut caution = None;
        match rows.iter().any(free) {
            true => rows.retain(free),
            false if rows.is_empty() => (),
            false => {
                caution = Some(
                    "the generator was the limit for every row that didn't change, so they don't \
                     show what changed for the servers"
                        .to_owned(),
                );
            }
        }
        Anchors {
            rows,
            same,
            changed,
            caution,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Whether a row is the same program in both sessions.
    pub(super) fn is_same(&self, row: &str) -> bool {
        self.same.contains(&row)
    }

    /// Whether others are held against this row.
    pub(super) fn holds(&self, row: &str) -> bool {
        self.rows.iter().any(|anchor| anchor.name() == row)
    }

    /// Each of them beside the others, if there are others.
    pub(super) fn each(&self) -> impl Iterator<Item = (Both<'a>, Anchors<'a>)> {
        let alone = self.rows.len() < 2;
        let rows = self.rows.iter().filter(move |_| !alone);
        rows.map(|one| {
            let others = self.rows.iter().filter(|row| row.name() != one.name());
            let others = Anchors {
                rows: others.copied().collect(),
                same: Vec::new(),
                changed: Vec::new(),
                caution: None,
            };
            (*one, others)
        })
    }

    /// `nginx and nginx-again`.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self
            .rows
            .iter()
            .map(|row| row.after.name.as_str())
            .collect();
        match names.split_last() {
            Some((last, [])) => (*last).to_owned(),
            Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
            None => String::new(),
        }
    }

    /// A row's figures of the session before, each as a multiple of the anchors' geometric mean in
    /// the same round, with its start.
    pub(super) fn before(&self, row: &MeasuredRow, metric: Metric) -> Vec<(u32, f64)> {
        let anchors: Vec<&MeasuredRow> = self.rows.iter().map(|row| row.before).collect();
        relative(row, &anchors, metric)
    }

    /// The same of the session after.
    pub(super) fn after(&self, row: &MeasuredRow, metric: Metric) -> Vec<(u32, f64)> {
        let anchors: Vec<&MeasuredRow> = self.rows.iter().map(|row| row.after).collect();
        relative(row, &anchors, metric)
    }
}

fn relative(row: &MeasuredRow, anchors: &[&MeasuredRow], metric: Metric) -> Vec<(u32, f64)> {
    let in_round = |row: &MeasuredRow, round: u32| {
        let sample = row.samples.iter().find(|sample| sample.round == round)?;
        Some((sample.start, figure(sample, metric)?))
    };
    let one = |sample: &Sample| {
        let own = figure(sample, metric)?;
        let (mut start, mut logs) = (sample.start, 0.0);
        for anchor in anchors {
            let (its_start, its) = in_round(anchor, sample.round)?;
            start = start.max(its_start);
            logs += its.ln();
        }
        let level = (logs / anchors.len() as f64).exp();
        Some((start, own / level))
    };
    row.samples.iter().filter_map(one).collect()
}

/// A round's figure, if it counts and can be a part of a ratio.
pub fn figure(sample: &Sample, metric: Metric) -> Option<f64> {
    let counts = sample.void().is_none();
    let figure = metric.of(sample).filter(|_| counts)?;
    (figure > 0.0 && figure.is_finite()).then_some(figure)
}
