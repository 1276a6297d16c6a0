//! One load, many machines: which of all workers each agent runs.
//!
//! A run of N·W workers on one machine numbers them from 0, and what each of them does follows from
//! its number and how many there are: its due times ([`plan::schedule::Marks`]), its part of the
//! requests and connections ([`plan::share()`]), its rows of data. A fleet numbers the workers of
//! all agents in the same way. So it sends exactly what one machine with all of these workers would
//! have sent, and nothing has to be divided a second time.

use std::iter::once;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use plan::{Invalid, share};

/// The most workers of a fleet.
pub const WORKERS_MAX: u32 = 1_000_000;

/// An agent's place: its workers among all workers of the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Numbers")]
pub struct Place {
    first: u32,
    workers: u32,
    all: u32,
}

/// A place that came from outside.
#[derive(Deserialize)]
struct Numbers {
    first: u32,
    workers: u32,
    all: u32,
}

impl TryFrom<Numbers> for Place {
    type Error = &'static str;

    fn try_from(numbers: Numbers) -> Result<Place, &'static str> {
        let Numbers {
            first,
            workers,
            all,
        } = numbers;
        let end = first.checked_add(workers);
        if workers == 0 || all > WORKERS_MAX || end.is_none_or(|end| end > all) {
            return Err("there is no such place among workers");
        }
        Ok(Place {
            first,
            workers,
            all,
        })
    }
}

impl Place {
    /// How many workers the agent has.
    pub fn workers(&self) -> u32 {
        self.workers
    }

    /// How many there are in the fleet.
    pub fn all(&self) -> u32 {
        self.all
    }

    /// The numbers of the agent's workers among all: what [`plan::schedule::Marks::new`] and
    /// [`plan::share()`] are given for each of them, with [`Place::all`].
    pub fn numbers(&self) -> Range<u32> {
        self.first..self.first + self.workers
    }

    /// How much of a `whole` that is counted in ones (requests, connections, rows) is the agent's.
    pub fn part(&self, whole: u64) -> u64 {
        let workers = self.numbers();
        workers.map(|worker| share(whole, worker, self.all)).sum()
    }

    /// The agent's share of everything that can be cut as finely as one likes, such as a rate.
    pub fn fraction(&self) -> f64 {
        f64::from(self.workers) / f64::from(self.all)
    }
}

/// The places of agents that have so many workers each, in their order.
///
/// # Errors
/// Where an agent has none, or all have more than [`WORKERS_MAX`].
pub fn places(workers: &[u32]) -> Result<Vec<Place>, Invalid> {
    let all = workers.iter().try_fold(0u32, |sum, n| sum.checked_add(*n));
    let all = all.filter(|all| *all <= WORKERS_MAX).ok_or_else(|| {
        Invalid(format!(
            "a fleet can have at most {WORKERS_MAX} workers: use fewer threads for each agent"
        ))
    })?;
    if workers.contains(&0) {
        return Err(Invalid("an agent has no workers".into()));
    }
    let mut first = 0;
    let places = workers.iter().map(|workers| {
        let place = Place {
            first,
            workers: *workers,
            all,
        };
        first += workers;
        place
    });
    Ok(places.collect())
}

/// The numbers of all workers that nobody has, where these do what `has` says.
pub fn nobodys<'a>(all: u32, has: impl Iterator<Item = &'a Place>) -> Vec<Range<u32>> {
    let mut theirs: Vec<Range<u32>> = has.map(Place::numbers).collect();
    theirs.sort_by_key(|numbers| numbers.start);
    let (mut gaps, mut from) = (Vec::new(), 0);
    for numbers in theirs.into_iter().chain(once(all..all)) {
        if numbers.start > from {
            gaps.push(from..numbers.start.min(all));
        }
        from = from.max(numbers.end);
    }
    gaps
}

/// Deals these workers, out of `all`, to agents that run so many each: whoever runs the fewest gets
/// one more where they can't all get as many.
pub fn deal(gaps: Vec<Range<u32>>, all: u32, run: &[u32]) -> Vec<Vec<Place>> {
    let agents = u32::try_from(run.len()).unwrap_or(u32::MAX);
    let whole: u64 = gaps.iter().map(|gap| u64::from(gap.end - gap.start)).sum();
    let mut order: Vec<usize> = (0..run.len()).collect();
    order.sort_by_key(|agent| run[*agent]);
    let mut dealt = vec![Vec::new(); run.len()];
    let mut gaps = gaps.into_iter().rev().collect::<Vec<_>>();
    for (rank, agent) in (0..agents).zip(order) {
        let mut wanted = share(whole, rank, agents) as u32;
        while wanted > 0
            && let Some(gap) = gaps.pop()
        {
            let workers = wanted.min(gap.end - gap.start);
            dealt[agent].push(Place {
                first: gap.start,
                workers,
                all,
            });
            wanted -= workers;
            if gap.start + workers < gap.end {
                gaps.push(gap.start + workers..gap.end);
            }
        }
    }
    dealt
}

/// How many of `workers` agents with these weights get: each at least one, and otherwise as near to
/// its weight as whole workers allow (by largest remainders). Nothing is left over.
///
/// # Errors
/// Where there are fewer workers than agents, or a weight is 0.
pub fn by_weight(workers: u32, weights: &[u32]) -> Result<Vec<u32>, Invalid> {
    if weights.is_empty() || weights.contains(&0) {
        return Err(Invalid("weights of agents must be at least 1".into()));
    }
    let agents = weights.len() as u64;
    if agents > u64::from(workers) || workers > WORKERS_MAX {
        return Err(Invalid(format!(
            "{agents} agents can't share {workers} workers: each needs one, and there may be \
             {WORKERS_MAX}"
        )));
    }
    // Each has one, and the others are divided.
    let others = u64::from(workers) - agents;
    let sum: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
    // What each should have of all workers, of which it has one.
    let wanted = |weight: u32| u128::from(weight) * u128::from(workers);
    let over = |weight: u32| wanted(weight).saturating_sub(u128::from(sum));
    let all_over: u128 = weights.iter().map(|weight| over(*weight)).sum();
    if all_over == 0 {
        return Ok(weights.iter().map(|_| 1).collect());
    }
    let of = |weight: u32| over(weight) * u128::from(others);
    let mut shares: Vec<u32> = weights
        .iter()
        .map(|weight| 1 + (of(*weight) / all_over) as u32)
        .collect();
    let mut by_rest: Vec<usize> = (0..weights.len()).collect();
    // The first of equals comes first: the sort is stable.
    by_rest.sort_by_key(|agent| std::cmp::Reverse(of(weights[*agent]) % all_over));
    let given: u32 = shares.iter().sum();
    for agent in by_rest.into_iter().take((workers - given) as usize) {
        shares[agent] += 1;
    }
    Ok(shares)
}
