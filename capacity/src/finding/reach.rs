//! Whether capacities are as high as they have to be, as far as a search can tell.

use super::{Capacities, RowCapacity};
use crate::search::Ending;

/// Whether a capacity is as high as it has to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reach {
    /// That rate held, or a higher one.
    Shown,
    /// The subject failed below it, or at it.
    Below,
    /// What held is a lower bound, for this reason, with what to do about it.
    NotKnown(String),
}

impl Capacities {
    /// Whether every capacity is shown to be `rate` a second or more.
    pub fn at_least(&self, rate: f64) -> Reach {
        let each: Vec<Reach> = self.rows.iter().map(|row| row.at_least(rate)).collect();
        let below = each.iter().find(|one| **one == Reach::Below);
        let open = each.iter().find(|one| **one != Reach::Shown);
        match below.or(open) {
            Some(worst) => worst.clone(),
            None if each.is_empty() => Reach::Below,
            None => Reach::Shown,
        }
    }
}

impl RowCapacity {
    /// Whether the capacity is shown to be `rate` a second or more. A lower bound that is smaller
    /// says nothing, unless the subject failed below that rate all the same.
    pub(crate) fn at_least(&self, rate: f64) -> Reach {
        let Some(found) = &self.found else {
            return Reach::Below;
        };
        if found.held.is_some_and(|held| held.rate >= rate) {
            return Reach::Shown;
        }
        let failed = found.failed.is_some_and(|failed| failed.rate <= rate);
        let why = match &found.ending {
            _ if self.failed.is_some() => return Reach::Below,
            Ending::Contradicted => {
                "its probes contradict each other. Make them longer (--duration)".to_owned()
            }
            _ if self.limited_by_connections.is_some() => {
                "its connections were the limit, or may have been. Add connections (-c), or leave \
                 out -c"
                    .to_owned()
            }
            Ending::WrongAnswers(_) => return Reach::Below,
            _ if failed || found.is_exact() => return Reach::Below,
            Ending::GeneratorLimited(why) | Ending::NotKnown(why) => format!(
                "{}. Search again on a quiet machine, with more threads (-t) on CPUs of their own \
                 (--cpus)",
                generator_was_the_limit(why)
            ),
            Ending::HighestHeld => "the search ended below that rate. Raise --to".to_owned(),
            _ => "the search ended before it could tell. Search again, for longer".to_owned(),
        };
        let (name, known) = (&self.name, self.in_words());
        Reach::NotKnown(format!("the capacity of {name} is {known}, because {why}"))
    }
}

/// Why the generator could show no more, as a sentence: what it found about itself, or that the
/// last probes were not to be trusted.
pub(super) fn generator_was_the_limit(why: &str) -> String {
    match why.starts_with("the generator") {
        true => why.to_owned(),
        false => format!("the generator was the limit ({why})"),
    }
}
