//! How long a search still takes: its state machine, run ahead against servers of which each has
//! its capacity somewhere else. Measures nothing.

use super::search::{Limits, Probe, Search, Step, Verdict};

/// Rates with a factor of two between them, this many either way from the first.
const OCTAVES: i32 = 12;
/// What spoilt probes, answers near the edge and tries with more connections add, as a share.
const MARGIN: f64 = 0.25;

/// How much longer probes take than they are meant to: starts, drains, a busy host.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pace {
    took_s: f64,
    meant_s: f64,
}

impl Pace {
    /// A probe took so long, and was meant to take so long.
    pub(super) fn took(&mut self, took_s: f64, meant_s: f64) {
        self.took_s += took_s;
        self.meant_s += meant_s;
    }

    fn factor(self) -> f64 {
        match self.meant_s > 0.0 {
            true => (self.took_s / self.meant_s).max(1.0),
            false => 1.0,
        }
    }
}

/// How many seconds the rest of a `search` takes at least and at most, where a probe takes
/// `seconds`: wherever between the ends of its bracket the capacity lies.
pub(super) fn seconds(
    search: &Search,
    limits: &Limits,
    pace: Pace,
    seconds: impl Fn(&Probe) -> f64,
) -> (f64, f64) {
    let (low, high) = search.bracket();
    let known = low.unwrap_or(0.0)..high.unwrap_or(f64::INFINITY);
    let octaves = (-OCTAVES..=OCTAVES).map(|octave| limits.from * 2f64.powi(octave) * 1.4);
    let ends = [
        low.map(|low| low * (1.0 + limits.precision / 2.0)),
        low.zip(high).map(|(low, high)| (low * high).sqrt()),
        high.map(|high| high * (1.0 - limits.precision / 2.0)),
    ];
    let edges = octaves.chain(ends.into_iter().flatten());
    let possible =
        edges.filter(|edge| known.contains(edge) && (limits.lowest..=limits.to).contains(edge));
    let each = possible.map(|edge| ahead(search, edge, &seconds));
    let (least, most) = each.fold((f64::INFINITY, 0.0), |(least, most): (f64, f64), one| {
        (least.min(one), most.max(one))
    });
    let least = if least.is_finite() { least } else { 0.0 };
    let factor = pace.factor();
    (factor * least, factor * (1.0 + MARGIN) * most)
}

/// How long the rest takes where the capacity is `edge`.
fn ahead(search: &Search, edge: f64, seconds: &impl Fn(&Probe) -> f64) -> f64 {
    let mut search = search.clone();
    let mut sum = 0.0;
    while let Step::Probe(probe) = search.step() {
        sum += seconds(&probe);
        search.answer(match probe.rate <= edge {
            true => Verdict::Pass,
            false => Verdict::Fail,
        });
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        from: 1000.0,
        lowest: 330.0,
        to: 1e9,
        precision: 0.01,
        repeats: 3,
        confirmations: 5,
        probes_max: 200,
    };

    /// At low rates a probe lasts until it has 3,300 exchanges, for ten seconds at most.
    fn lasts(probe: &Probe) -> f64 {
        (3300.0 / probe.rate).clamp(1.0, 10.0) + 0.3 + 0.5 * f64::from(probe.rests)
    }

    #[test]
    fn a_search_ends_within_what_was_promised_wherever_its_capacity_is() {
        for edge in [350.0, 723.0, 1_027.0, 5_000.0, 20_000.0, 300_000.0] {
            let mut search = Search::new(LIMITS);
            let promised = seconds(&search, &LIMITS, Pace::default(), lasts);
            let mut spent = 0.0;
            let mut promises = vec![promised];
            while let Step::Probe(probe) = search.step() {
                let (_, most) = seconds(&search, &LIMITS, Pace::default(), lasts);
                promises.push((0.0, spent + most));
                spent += lasts(&probe);
                search.answer(match probe.rate <= edge {
                    true => Verdict::Pass,
                    false => Verdict::Fail,
                });
            }
            println!(
                "{edge}: {spent:.0} s, promised {:.0} to {:.0} s",
                promised.0, promised.1
            );
            assert!(promised.0 <= spent, "{edge}: {spent} of {promised:?}");
            for (_, most) in &promises {
                assert!(
                    spent <= *most,
                    "{edge}: {spent} s, at most {most} s were promised"
                );
            }
            // What is known by then narrows it down.
            let last = promises[promises.len() - 1].1;
            assert!(
                last < 1.1 * spent + 5.0,
                "{edge}: {spent} s, {last} s at the end"
            );
        }
    }

    #[test]
    fn a_host_on_which_probes_take_longer_is_promised_longer() {
        let search = Search::new(LIMITS);
        let usual = seconds(&search, &LIMITS, Pace::default(), lasts).1;
        let mut pace = Pace::default();
        pace.took(4.0, 2.0);
        assert_eq!(seconds(&search, &LIMITS, pace, lasts).1, 2.0 * usual);
        pace.took(0.0, 10.0);
        assert_eq!(seconds(&search, &LIMITS, pace, lasts).1, usual);
    }
}
