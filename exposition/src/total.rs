//! What several processes of one server say together.

use std::collections::HashMap;

use crate::{Family, Samples, Tags};

/// Families of several processes, added up: those of one name and kind are one, and in them the
/// samples with the same labels.
#[derive(Clone, Debug, Default)]
pub struct Total {
    families: Vec<Family<String>>,
    /// By their names.
    places: HashMap<String, usize>,
}

impl Total {
    /// Adds what a process says. Of one that is gone, what goes up and down says nothing any more.
    pub fn add<'a>(&mut self, said: impl IntoIterator<Item = &'a Family<String>>, is_gone: bool) {
        for family in said {
            let goes_down = matches!(family.samples, Samples::Gauges(_) | Samples::LeastGauges(_));
            if is_gone && goes_down {
                continue;
            }
            match self.places.get(&family.name) {
                Some(at) => self.families[*at].samples.add(&family.samples),
                None => {
                    self.places.insert(family.name.clone(), self.families.len());
                    self.families.push(family.clone());
                }
            }
        }
    }

    /// All of it.
    pub fn families(&self) -> &[Family<String>] {
        &self.families
    }
}

impl Samples<String> {
    /// Adds those of another process; another kind, which another version may have taken, isn't
    /// the same.
    fn add(&mut self, other: &Samples<String>) {
        match (self, other) {
            (Samples::Counters(mine), Samples::Counters(theirs))
            | (Samples::Gauges(mine), Samples::Gauges(theirs)) => {
                join(mine, theirs, |mine, theirs| *mine += theirs);
            }
            (Samples::LeastGauges(mine), Samples::LeastGauges(theirs)) => {
                join(mine, theirs, |mine, theirs| *mine = mine.min(*theirs));
            }
            (Samples::Histograms(mine), Samples::Histograms(theirs)) => {
                join(mine, theirs, |mine, theirs| mine.merge(theirs));
            }
            _ => {}
        }
    }
}

/// Joins samples that have the same labels.
fn join<T: Clone>(
    mine: &mut Vec<(Tags<String>, T)>,
    theirs: &[(Tags<String>, T)],
    add: impl Fn(&mut T, &T),
) {
    for (place, (tags, value)) in theirs.iter().enumerate() {
        // Processes mostly say the same in the same order.
        let at = match mine.get(place) {
            Some((known, _)) if known == tags => Some(place),
            _ => mine.iter().position(|(known, _)| known == tags),
        };
        match at {
            Some(at) => add(&mut mine[at].1, value),
            None => mine.push((tags.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::histogram::Histogram;

    use super::*;
    use crate::{Times, pack, text, unpack};

    /// Families as they come from another process.
    fn said(families: &[Family]) -> Vec<Family<String>> {
        unpack(&pack(families)).expect("it was packed")
    }

    fn route(name: &str) -> Tags {
        vec![("route", name.to_owned())]
    }

    #[test]
    fn samples_of_the_same_labels_are_added_and_new_ones_stay_with_their_kind() {
        let gone = said(&[
            Family::counters("a_total", "A.", [(route("x y"), 3)]),
            Family::gauges("b", "What is held.", [(Vec::new(), 7)]),
        ]);
        let here = said(&[
            Family::counters("a_total", "A.", [(route("z"), 2), (route("x y"), 1)]),
            Family::gauges("b", "What is held.", [(Vec::new(), 4)]),
        ]);
        let mut total = Total::default();
        total.add(&gone, true);
        total.add(&here, false);
        total.add(&here, false);
        assert_eq!(
            text(total.families()),
            "# HELP a_total A.\n# TYPE a_total counter\n\
             a_total{route=\"x y\"} 5\na_total{route=\"z\"} 4\n\
             # HELP b What is held.\n# TYPE b gauge\nb 8\n"
        );
    }

    #[test]
    fn of_a_gauge_that_says_so_the_least_is_taken() {
        let is = |up: u8| {
            said(&[
                Family {
                    name: "up",
                    help: "Up.",
                    samples: Samples::LeastGauges(vec![(route("b"), up.into())]),
                },
                Family::gauges("b", "B.", [(Vec::new(), up.into())]),
            ])
        };
        let mut total = Total::default();
        for up in [1, 0, 1] {
            total.add(&is(up), false);
        }
        let shown = text(total.families());
        assert!(shown.contains("\nup{route=\"b\"} 0\n") && shown.ends_with("\nb 2\n"));
        // One that is gone has no opinion any more.
        let mut total = Total::default();
        total.add(&is(0), true);
        total.add(&is(1), false);
        assert!(text(total.families()).contains("\nup{route=\"b\"} 1\n"));
    }

    #[test]
    fn histograms_of_processes_are_what_one_process_would_have_counted() {
        let of = |lengths: &mut dyn Iterator<Item = u64>| {
            let mut histogram = Histogram::new();
            lengths.for_each(|ns| histogram.record(ns));
            let times = vec![(route("a"), Times::of(&histogram))];
            said(&[Family::histograms("c_seconds", "Times.", times)])
        };
        let mut total = Total::default();
        let length = |n: u64| n * n * 97;
        for worker in 0..3 {
            let share = (0..3000).filter(|n| n % 3 == worker);
            total.add(&of(&mut share.map(length)), worker == 0);
        }
        let whole = of(&mut (0..3000).map(length));
        let sums = [total.families(), &whole].map(|families| match &families[0].samples {
            Samples::Histograms(samples) => samples[0].1.clone(),
            other => panic!("{other:?}"),
        });
        let [ours, theirs] = sums;
        assert!((ours.sum_s - theirs.sum_s).abs() < 1e-9);
        let sum_s = theirs.sum_s;
        assert_eq!(Times { sum_s, ..ours }, theirs);
        assert_eq!(total.families().len(), 1);
    }

    #[test]
    fn another_kind_of_the_same_name_is_left_out() {
        let mut total = Total::default();
        total.add(
            &said(&[Family::counters("a", "A.", [(route("b"), 1)])]),
            false,
        );
        total.add(
            &said(&[Family::gauges("a", "A.", [(route("b"), 2)])]),
            false,
        );
        assert!(text(total.families()).ends_with("\na{route=\"b\"} 1\n"));
    }
}
