//! What a comparison names besides its own file, what of that makes it the same comparison, and
//! what of it can't be judged.

use std::collections::BTreeSet;
use std::time::Duration;

use statistics::format::per_second;

use crate::comparison::Comparison;
use crate::judging::{EqualRate, at_equal_rate};
use crate::verdict::Metric;

impl Comparison {
    /// A keyed hash of `file`, which is this comparison's, and of what is in the files that its
    /// rows name: by it a comparison that goes on knows whether it is still the same.
    pub fn hash(&self, file: &[u8]) -> String {
        self.redaction.fingerprint(&[file, &self.named()].concat())
    }

    /// Hashes of what is in the files that its rows name; empty if they name none.
    pub fn named(&self) -> Vec<u8> {
        let rows = self.rows.iter();
        rows.flat_map(|row| row.question.named.clone()).collect()
    }

    /// What the files of targets say that has no meaning here.
    pub fn notes(&self) -> Vec<String> {
        let mixes = self.rows.iter().filter_map(|row| row.question.mix.as_ref());
        let notes: BTreeSet<&String> = mixes.flat_map(|mix| &mix.notes).collect();
        notes.into_iter().cloned().collect()
    }
    /// A sentence for each figure that takes more answers than a window can have at its rate, when
    /// rows are judged by `metrics`.
    pub(crate) fn too_few_answers(&self, metrics: &[Metric]) -> Vec<String> {
        let metrics = metrics.iter().copied();
        let few = metrics.filter_map(|metric| {
            let rate = match self.judging.equal_rate {
                Some(EqualRate::PerSecond(rate)) if at_equal_rate(metric) => rate,
                // The phases that a file writes have rates and lengths of their own.
                None if self.phases.is_empty() => self.workload.rate?,
                Some(_) | None => return None,
            };
            too_few(metric, rate, self.workload.window)
        });
        few.collect()
    }
}

/// What to do about a window that has too few answers for a figure.
fn too_few(metric: Metric, rate: f64, window: Duration) -> Option<String> {
    let needed = metric.exchanges_min()?;
    // Arrivals are random: so is their number in a window.
    let enough = |needed: u64| needed as f64 + 3.0 * (needed as f64).sqrt();
    let expected = rate * window.as_secs_f64();
    if expected >= enough(needed) {
        return None;
    }
    let other = (metric == Metric::ResponseTimeP99)
        .then(|| Metric::ResponseTimeP95.exchanges_min())
        .flatten()
        .filter(|needed| expected >= enough(*needed));
    let other = other.map_or(String::new(), |needed| {
        format!(", or add \"p95\" to `figures` in [judge], which takes {needed}")
    });
    Some(format!(
        "At {} a window of {} s has about {expected:.0} answers, and a {} takes {needed}: write \
         `window = \"{:.0}s\"`{other}.",
        per_second(rate),
        window.as_secs_f64(),
        metric.name(),
        (enough(needed) / rate).ceil()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_with_too_few_answers_for_a_percentile_is_told_with_one_that_has_enough() {
        let p99 =
            |rate: f64, ms: u64| too_few(Metric::ResponseTimeP99, rate, Duration::from_millis(ms));
        assert_eq!(
            p99(100.0, 1000).expect("too few"),
            "At 100/s a window of 1 s has about 100 answers, and a p99 response time takes 299: \
             write `window = \"4s\"`, or add \"p95\" to `figures` in [judge], which takes 59."
        );
        let fewer = p99(50.0, 1000).expect("too few even for a p95");
        assert!(fewer.ends_with("`window = \"8s\"`."), "{fewer}");
        assert!(
            p99(300.0, 1000).is_some(),
            "chance leaves half of the rounds too few"
        );
        assert_eq!(p99(100.0, 4000), None);
        assert_eq!(p99(360.0, 1000), None);
        let p50 = too_few(Metric::ResponseTimeP50, 1.0, Duration::from_secs(1));
        assert_eq!(p50, None);
    }
}
