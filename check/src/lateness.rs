//! Which figures of an open loop the generator's own lateness could have moved, and by how much.
//!
//! A request that found a free connection and left late was held up by the generator alone, and its
//! lateness is in its response time. That spoils a figure only where it could have moved *that*
//! figure by more than the figure is precise: one late request of sixty decides their 99th
//! percentile and leaves their median alone.
//!
//! Without the generator's lateness a response time would be done − sent, the service time,
//! unless the request had to wait for a busy connection. Where none had to, the two histograms are
//! compared, and the answer is exact. Where some had to, the response times are compared with
//! themselves: if a share *p* of all requests left more than *l* late, then leaving lateness out
//! moves the quantile *q* by no more than *l* + Q(*q*) − Q(*q* − *p*), for every *l*.

use measure::histogram::{Histogram, samples_for};
use measure::record::Moved;
use measure::tally::Waits;
use measure::units::wrk_time_us;

/// A share of a figure that nobody is asked to measure better than.
const PRECISION: f64 = 0.05;
/// The same in nanoseconds: of the middle of a distribution, and of its tail, in which a sleeping
/// thread that wakes up shows.
const MIDDLE_NS: f64 = 10_000.0;
const TAIL_NS: f64 = 50_000.0;
/// The bounds of a normal distribution that hold 95 %.
const Z: f64 = 1.96;
/// How much of a worker's own lateness is looked at as *l*.
const SHARES: [f64; 6] = [0.5, 0.9, 0.99, 0.999, 0.9999, 1.0];

/// A figure of a distribution of times, by its name in the record.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Figure {
    Mean,
    Quantile(&'static str, f64),
    Max,
}

const FIGURES: [Figure; 9] = [
    Figure::Mean,
    Figure::Quantile("p50", 0.5),
    Figure::Quantile("p75", 0.75),
    Figure::Quantile("p90", 0.9),
    Figure::Quantile("p95", 0.95),
    Figure::Quantile("p99", 0.99),
    Figure::Quantile("p99_9", 0.999),
    Figure::Quantile("p99_99", 0.9999),
    Figure::Max,
];

/// What was measured of an open loop.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Response times, from when exchanges were due.
    pub response: &'a Histogram,
    /// Service times, from when they were sent.
    pub service: &'a Histogram,
    /// Lateness of the exchanges that found a free connection.
    pub own: &'a Histogram,
    /// Whether others had to wait for one, or were never sent.
    pub some_waited: bool,
}

impl<'a> Seen<'a> {
    /// What was measured of all exchanges, or of those of a step; `waits` are those of all.
    pub fn new(
        (response, service): (&'a Histogram, &'a Histogram),
        own: &'a Histogram,
        waits: Waits,
    ) -> Seen<'a> {
        // Who was never sent has a response time and no service time. Who waited for a connection
        // of its own, or was refused and sent again, was sent when the peer let it.
        let some_waited = waits.total_ns() != waits.late_ns || service.count() != response.count();
        Seen {
            response,
            service,
            own,
            some_waited,
        }
    }

    /// The figures of response time that could have been moved by more than they are precise.
    pub fn moved(&self) -> Vec<Moved> {
        if self.own.is_empty() || self.response.is_empty() {
            return Vec::new();
        }
        let moved = FIGURES.iter().filter_map(|figure| {
            let (by_ns, allowed_ns) = (self.by_ns(*figure), self.allowed_ns(*figure));
            (by_ns > allowed_ns).then(|| Moved {
                figure: figure.name().to_owned(),
                by_us: by_ns / 1000.0,
                allowed_us: allowed_ns / 1000.0,
            })
        });
        moved.collect()
    }

    /// How far lateness moved a figure at the most.
    fn by_ns(&self, figure: Figure) -> f64 {
        if let Figure::Mean = figure {
            return self.own.sum() as f64 / self.response.count() as f64;
        }
        let q = figure.quantile();
        let is = self.response.quantile(q) as f64;
        if !self.some_waited {
            return (is - self.service.quantile(q) as f64).max(0.0);
        }
        let late = self.own.count() as f64 / self.response.count() as f64;
        let bound = |share: f64| {
            let without = (q - (1.0 - share) * late).max(0.0);
            let longest = self.own.quantile(share) as f64;
            longest + is - self.response.quantile(without) as f64
        };
        SHARES.into_iter().map(bound).fold(f64::INFINITY, f64::min)
    }

    /// How precise a figure is: as good as so many exchanges can tell it, but no better than anyone
    /// asks for.
    fn allowed_ns(&self, figure: Figure) -> f64 {
        // Without what lateness did to it, as far as that can be told.
        let of = if self.some_waited {
            self.response
        } else {
            self.service
        };
        let count = of.count().max(1) as f64;
        let (value, sampling, least) = match figure {
            Figure::Mean => (of.mean(), Z * of.stdev() / count.sqrt(), MIDDLE_NS),
            Figure::Quantile(_, q) => {
                let reach = Z * (q * (1.0 - q) / count).sqrt();
                let at = |q: f64| of.quantile(q.clamp(0.0, 1.0)) as f64;
                let is = at(q);
                let sampling = (at(q + reach) - is).max(is - at(q - reach));
                (is, sampling, if q > 0.95 { TAIL_NS } else { MIDDLE_NS })
            }
            Figure::Max => {
                // Three of the highest: beyond the third lies the end with 95 % confidence.
                let is = of.max() as f64;
                let third = of.quantile((1.0 - 3.0 / count).max(0.0)) as f64;
                (is, is - third, TAIL_NS)
            }
        };
        (value * PRECISION).max(sampling).max(least)
    }
}

impl Figure {
    fn name(self) -> &'static str {
        match self {
            Figure::Mean => "mean",
            Figure::Quantile(name, _) => name,
            Figure::Max => "max",
        }
    }

    fn quantile(self) -> f64 {
        match self {
            Figure::Quantile(_, q) => q,
            Figure::Mean | Figure::Max => 1.0,
        }
    }
}

/// Whether so much was moved that the schedule as a whole was not kept: the middle of the response
/// times, or what one in ten exceeds.
pub fn schedule_was_missed(moved: &[Moved]) -> bool {
    moved
        .iter()
        .any(|one| ["p50", "p75", "p90"].contains(&one.figure.as_str()))
}

/// That sends were late in the tail only, and which of the figures that are shown of so many
/// exchanges it moved: `p99, p99.9 and max`. None where none of them is shown.
pub fn tail(moved: &[Moved], exchanges: u64) -> Option<String> {
    let is_shown =
        |one: &&Moved| exchanges_needed(&one.figure).is_none_or(|needed| exchanges >= needed);
    let shown: Vec<String> = moved.iter().filter(is_shown).map(spelled).collect();
    let is_mean = |name: &String| name == "mean";
    Some(match shown.iter().any(is_mean) {
        _ if shown.is_empty() => return None,
        true => format!("late at times, which could have moved: {}", in_a_row(shown)),
        false => format!("late in the tail only: {}", in_a_row(shown)),
    })
}

/// The figures, of those that are shown of so many exchanges, and how far they were moved: `p99 by
/// 11.7 ms and max by 12.0 ms`.
pub fn in_words(moved: &[Moved], exchanges: u64) -> String {
    let is_shown =
        |one: &&Moved| exchanges_needed(&one.figure).is_none_or(|needed| exchanges >= needed);
    let shown: Vec<Moved> = moved.iter().filter(is_shown).cloned().collect();
    let moved = if shown.is_empty() { moved } else { &shown };
    // Where all were moved, four of them tell how.
    let few = ["mean", "p50", "p99", "max"];
    let known = moved
        .iter()
        .filter(|one| few.contains(&one.figure.as_str()));
    let mut told: Vec<&Moved> = known.collect();
    if moved.len() <= few.len() || told.is_empty() {
        told = moved.iter().take(few.len()).collect();
    }
    let each = told.into_iter();
    in_a_row(
        each.map(|one| format!("{} by up to {}", spelled(one), wrk_time_us(one.by_us)))
            .collect(),
    )
}

/// As people write it.
fn spelled(moved: &Moved) -> String {
    moved.figure.replace('_', ".")
}

fn in_a_row(words: Vec<String>) -> String {
    match words.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        Some((last, _)) => last.clone(),
        None => String::new(),
    }
}

/// How many exchanges a quantile of that name takes, so that with 95 % confidence one lies beyond.
pub fn exchanges_needed(figure: &str) -> Option<u64> {
    let quantile = FIGURES.iter().find_map(|one| match one {
        Figure::Quantile(name, q) if *name == figure => Some(*q),
        _ => None,
    })?;
    Some(samples_for(quantile))
}

/// The lowest figure at or above a quantile. One between two of them is taken for void with the
/// one above.
pub fn figure_above(quantile: f64) -> &'static str {
    let above = FIGURES.iter().find_map(|figure| match figure {
        Figure::Quantile(name, q) if *q >= quantile - 1e-9 => Some(*name),
        _ => None,
    });
    above.unwrap_or(Figure::Max.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: u64 = 1_000;
    const MS: u64 = 1_000_000;

    /// Response times out of service times and lateness, where nobody waited for a connection.
    struct Run {
        response: Histogram,
        service: Histogram,
        own: Histogram,
    }

    impl Run {
        fn new(exchanges: impl Iterator<Item = (u64, u64)>) -> Run {
            let mut run = Run {
                response: Histogram::new(),
                service: Histogram::new(),
                own: Histogram::new(),
            };
            for (service, late) in exchanges {
                run.response.record(service + late);
                run.service.record(service);
                run.own.record(late);
            }
            run
        }

        fn seen(&self, some_waited: bool) -> Seen<'_> {
            Seen {
                response: &self.response,
                service: &self.service,
                own: &self.own,
                some_waited,
            }
        }

        fn moved(&self) -> Vec<String> {
            let moved = self.seen(false).moved().into_iter();
            moved.map(|one| one.figure).collect()
        }
    }

    /// Service times between 1.0 and 1.2 ms.
    fn service(n: u64) -> u64 {
        MS + n * 7919 % 200 * US
    }

    #[test]
    fn one_late_request_of_sixty_spoils_the_tail_and_not_the_middle() {
        let run = Run::new((0..60).map(|n| (service(n), if n == 26 { 12 * MS } else { 5 * US })));
        let moved = run.moved();
        for figure in ["p99", "p99_9", "max"] {
            assert!(moved.contains(&figure.to_owned()), "{figure}: {moved:?}");
        }
        for figure in ["p50", "p75", "p90"] {
            assert!(!moved.contains(&figure.to_owned()), "{figure}: {moved:?}");
        }
        assert!(!schedule_was_missed(&run.seen(false).moved()));
    }

    #[test]
    fn a_tail_that_moved_by_less_than_it_is_precise_stands() {
        // 99 % within 21.7 ms; lateness makes 22.6 of them.
        let run = Run::new((0..2_500).map(|n| match n % 50 {
            0 => (21_700 * US, 900 * US),
            _ => (5 * MS + n % 100 * 20 * US, 20 * US),
        }));
        let by_us = run.seen(false).by_ns(Figure::Quantile("p99", 0.99)) / 1000.0;
        assert!((850.0..950.0).contains(&by_us), "{by_us}");
        assert_eq!(run.moved(), [""; 0]);
    }

    #[test]
    fn a_generator_that_is_always_late_spoils_everything() {
        let run = Run::new((0..5_000).map(|n| (service(n), 2 * MS)));
        let moved = run.seen(false).moved();
        assert_eq!(moved.len(), FIGURES.len(), "{moved:?}");
        assert!(schedule_was_missed(&moved));
        let mean = moved.iter().find(|one| one.figure == "mean").unwrap();
        assert!((mean.by_us - 2_000.0).abs() < 1.0, "{mean:?}");
    }

    #[test]
    fn a_generator_that_is_on_time_spoils_nothing() {
        let run = Run::new((0..5_000).map(|n| (service(n), 3 * US)));
        assert_eq!(run.moved(), [""; 0]);
        let nothing = Run::new(std::iter::empty());
        assert_eq!(nothing.moved(), [""; 0]);
    }

    #[test]
    fn where_requests_waited_for_connections_the_bound_holds_what_is_true() {
        // A hundredth is late by 3 ms; every fifth had to wait for a connection, which is no
        // lateness of the generator, so the service times alone do not tell.
        let mut run = Run::new((0..10_000).filter(|n| n % 5 > 0).map(|n| match n % 101 {
            0 => (service(n), 3 * MS),
            _ => (service(n), 2 * US),
        }));
        for n in (0..10_000).filter(|n| n % 5 == 0) {
            run.response.record(service(n) + 4 * MS);
            run.service.record(service(n));
        }
        let seen = run.seen(true);
        // What it is without lateness: the waits and the service times.
        let mut without = Histogram::new();
        (0..10_000).for_each(|n| without.record(service(n) + if n % 5 == 0 { 4 * MS } else { 0 }));
        for figure in FIGURES {
            let truly = match figure {
                Figure::Mean => run.response.mean() - without.mean(),
                other => {
                    let at = |of: &Histogram| of.quantile(other.quantile()) as f64;
                    at(&run.response) - at(&without)
                }
            };
            // Histograms have a resolution of their own.
            let bound = seen.by_ns(figure) + 0.002 * run.response.max() as f64;
            assert!(bound >= truly, "{figure:?}: {bound} < {truly}");
        }
        let moved = seen.moved();
        assert!(!schedule_was_missed(&moved), "{moved:?}");
    }

    #[test]
    fn what_was_moved_is_told_with_what_to_do() {
        let moved = |figure: &str, by_us| Moved {
            figure: figure.to_owned(),
            by_us,
            allowed_us: 50.0,
        };
        let three = [
            moved("p99", 11_700.0),
            moved("p99_9", 11_700.0),
            moved("max", 12_000.0),
        ];
        let told = |exchanges| tail(&three, exchanges);
        let all = "late in the tail only: p99, p99.9 and max";
        assert_eq!(told(2_995).as_deref(), Some(all));
        assert_eq!(
            told(300).as_deref(),
            Some("late in the tail only: p99 and max")
        );
        assert_eq!(tail(&three[1..2], 300), None);
        // The mean is no part of the tail.
        assert_eq!(
            tail(&[moved("mean", 90.0)], 300).as_deref(),
            Some("late at times, which could have moved: mean")
        );
        assert_eq!(
            in_words(&three[1..], 2_995),
            "p99.9 by up to 11.70ms and max by up to 12.00ms"
        );
        // What isn't shown of so few is no matter.
        assert_eq!(
            in_words(&three, 300),
            "p99 by up to 11.70ms and max by up to 12.00ms"
        );
    }

    #[test]
    fn some_figures_are_always_named_of_those_that_were_moved() {
        let moved = |figures: &[&str]| -> Vec<Moved> {
            let one = |figure: &&str| Moved {
                figure: (*figure).to_owned(),
                by_us: 1_000.0,
                allowed_us: 10.0,
            };
            figures.iter().map(one).collect()
        };
        let tail = moved(&["p75", "p90", "p95", "p99_9", "p99_99"]);
        let named = "p75 by up to 1.00ms, p90 by up to 1.00ms, p95 by up to 1.00ms and \
                     p99.9 by up to 1.00ms";
        assert_eq!(in_words(&tail, 30_000), named);
        let all = moved(&["mean", "p50", "p75", "p90", "max"]);
        let named = "mean by up to 1.00ms, p50 by up to 1.00ms and max by up to 1.00ms";
        assert_eq!(in_words(&all, 30_000), named);
    }

    #[test]
    fn a_tail_takes_exchanges_enough() {
        assert_eq!(exchanges_needed("p99"), Some(299));
        assert_eq!(exchanges_needed("p99_9"), Some(2_995));
        assert_eq!(exchanges_needed("max"), None);
    }
}
