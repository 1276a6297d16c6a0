//! What is measured after what, and how long that takes. Pure functions of a comparison.

use std::time::Duration;

use faults::arrivals;
use statistics::Random;
use supervisor::loading::load_s;
use supervisor::row::Row;

use crate::comparison::Comparison;
use crate::manifest::Role;

use super::ceiling;

/// Rows besides the comparison's own that make the measuring longer have to be asked for.
const FURTHER_TIME_MAX: Duration = Duration::from_secs(60);

/// Who is measured after whom: for each round, positions in the list of subjects. Every second
/// round is the round before it backwards, so that over such a pair nobody is earlier on average
/// and a drift of the machine, if it is even, cancels.
pub fn order(subjects: usize, rounds: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut random = Random::new(seed);
    let mut order: Vec<usize> = (0..subjects).collect();
    (0..rounds)
        .map(|round| {
            match round % 2 {
                0 => random.shuffle(&mut order),
                _ => order.reverse(),
            }
            order.clone()
        })
        .collect()
}

/// The rows that are measured: those of the comparison, the baseline once more (A/A), and our own
/// server for the generator's ceiling; the latter two where they are asked for or take no long
/// time. The sentences say what is left out and why.
pub fn rows(comparison: &Comparison) -> (Vec<(Role, Row)>, Vec<String>) {
    let subjects = comparison.rows.iter();
    let mut rows: Vec<(Role, Row)> = subjects.map(|row| (Role::Subject, row.clone())).collect();
    let mut left_out = Vec::new();
    // A lone subject is compared with nothing, so there is nothing to hold the noise against.
    let several = comparison.rows.len() > 1;
    let again = again(comparison).filter(|_| several || comparison.aa == Some(true));
    let ceiling = ceiling::row(comparison, &rows);
    let further = [
        (
            Role::Again,
            again,
            comparison.aa,
            "The baseline isn't measured against itself",
            "we don't know how much two identical subjects differ here; --aa measures that anyway.",
        ),
        (
            Role::Ceiling,
            ceiling,
            comparison.ceiling,
            "Our own server isn't measured under the same load",
            "we don't know the most the generator can do; --ceiling measures that anyway.",
        ),
    ];
    for (role, row, asked, what, unknown) in further {
        let Some(row) = row.filter(|_| asked != Some(false)) else {
            continue;
        };
        rows.push((role, row));
        let time = expected(comparison, &rows);
        if asked == Some(true) || time <= FURTHER_TIME_MAX {
            continue;
        }
        rows.pop();
        left_out.push(format!(
            "{what}, because the measurement would then take {} s: {unknown}",
            time.as_secs()
        ));
    }
    (rows, left_out)
}

fn again(comparison: &Comparison) -> Option<Row> {
    let mut rows = comparison.rows.iter();
    let baseline = rows.find(|row| row.name == comparison.baseline)?;
    Some(Row {
        name: again_name(comparison),
        ..baseline.clone()
    })
}

fn again_name(comparison: &Comparison) -> String {
    let taken = |name: &String| comparison.rows.iter().any(|row| row.name == *name);
    let name = format!("{}-again", comparison.baseline);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !taken(name)).unwrap_or(name)
}

/// How long the load on these rows takes, without builds and starts.
pub fn expected(comparison: &Comparison, rows: &[(Role, Row)]) -> Duration {
    let starts = match comparison.rounds_per_start {
        Some(each) => comparison.rounds.div_ceil(each.get()),
        None => 1,
    };
    let one = |(role, row): &(Role, Row)| {
        let each = match row.generator {
            Some(_) => Duration::from_secs(load_s(&row.workload)),
            None => round_of_one(comparison),
        };
        each * role.rounds(comparison.rounds) + row.warm_up() * starts.min(role.rounds(starts))
    };
    let whole: Duration = rows.iter().map(one).sum();
    comparison.budget.map_or(whole, |budget| whole.min(budget))
}

/// How long one round of one row takes.
pub(crate) fn round_of_one(comparison: &Comparison) -> Duration {
    let workload = &comparison.workload;
    let one = |length: Duration, rate: Option<f64>| {
        let later = match rate {
            Some(_) => Duration::ZERO,
            None => arrivals::later(length),
        };
        workload.settle + later + length
    };
    match comparison.phases.as_slice() {
        [] => one(workload.window, workload.rate),
        phases => phases
            .iter()
            .map(|phase| one(phase.length, phase.rate))
            .sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_visits_everybody_once_and_pairs_of_rounds_are_balanced() {
        let order = order(5, 8, 42);
        assert_eq!(order.len(), 8);
        for round in &order {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
        }
        for pair in order.chunks(2) {
            let backwards: Vec<usize> = pair[0].iter().rev().copied().collect();
            assert_eq!(pair[1], backwards);
        }
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(order(5, 6, 7), order(5, 6, 7));
        assert_ne!(order(5, 6, 7), order(5, 6, 8));
    }
}
