//! What a server says that it has counted.

use std::cell::Cell;
use std::fmt::Display;

use measure::foreign::Foreign;

use crate::row::Row;
use crate::setting::ready_question;
use crate::watch::scrape::{Metrics, Scrape};
use crate::workload::Protocol;

/// The largest number up to which a float holds every whole one.
const COUNT_MAX: f64 = (1_u64 << 53) as f64;

/// Where a server says how many exchanges it has counted.
#[derive(Debug)]
pub(super) struct Counter {
    scrape: Scrape,
    /// The metrics that count them, to be added.
    names: Vec<String>,
    /// How often it was asked, which the server may have counted, too.
    asked: Cell<u64>,
}

impl Counter {
    /// Of a row's subject, which serves at `port`.
    pub(super) fn of(row: &Row, port: u16) -> Result<Counter, String> {
        let wanted = &row.subject.watch;
        let path = wanted.metrics.as_ref();
        let path = path.ok_or("the subject declares no `metrics`")?;
        Ok(Counter {
            scrape: Scrape::new(ready_question(path, Protocol::Http1).plan(row.subject.at(port))?),
            names: wanted.exchanges.clone(),
            asked: Cell::new(0),
        })
    }

    /// How many it has counted since its start.
    pub(super) fn read(&self) -> Result<u64, String> {
        self.asked.set(self.asked.get() + 1);
        count(&self.scrape.fetch()?, &self.names)
    }

    /// How often it was asked.
    pub(super) fn asked(&self) -> u64 {
        self.asked.get()
    }
}

/// The sum of the metrics that have one of these names.
fn count(metrics: &Metrics, names: &[String]) -> Result<u64, String> {
    let declared = |series: &str| {
        let name = series.split('{').next().unwrap_or(series);
        names.iter().any(|one| one == name)
    };
    let found: Vec<(&String, f64)> = metrics
        .iter()
        .filter_map(|(series, count)| declared(series).then_some((series, *count)))
        .collect();
    if found.is_empty() {
        return Err(format!(
            "the subject's metrics have no {}, which its `exchanges` names",
            names.join(" and no ")
        ));
    }
    let is_count = |count: f64| (0.0..=COUNT_MAX).contains(&count) && count.fract() == 0.0;
    let sum = found.iter().map(|(_, count)| count).sum::<f64>();
    let wrong = found.iter().find(|(_, count)| !is_count(*count));
    match wrong {
        Some((series, count)) => Err(no_count(&Foreign::new(series.as_str()), *count)),
        None if !is_count(sum) => Err(no_count(&"the sum of its `exchanges`", sum)),
        None => Ok(sum as u64),
    }
}

fn no_count(what: &dyn Display, count: f64) -> String {
    format!(
        "the subject says that {what} is {count:e}, and `exchanges` has to name counters: whole \
         numbers from 0 to 2^53"
    )
}

/// Whether what was counted at one moment after the other is what a counter counts.
pub(super) fn only_grew(counts: &[u64]) -> Result<(), String> {
    let fell = counts.windows(2).find(|pair| pair[1] < pair[0]);
    fell.map_or(Ok(()), |pair| {
        Err(format!(
            "the subject's count of exchanges fell from {} to {}, so it can't be trusted: \
             `exchanges` has to name counters that only grow, and each answer has to include all \
             of the server's processes",
            pair[0], pair[1]
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(metrics: &[(&str, f64)]) -> Result<u64, String> {
        let metrics = metrics
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count));
        count(&metrics.collect(), &["a_total".into(), "b_total".into()])
    }

    #[test]
    fn what_is_declared_is_added_and_nothing_else() {
        let all = [
            ("a_total{code=\"200\"}", 3.0),
            ("a_total", 4.0),
            ("b_total", 5.0),
            ("a_total_bytes", 6.0),
        ];
        assert_eq!(counted(&all), Ok(12));
        let none = counted(&all[3..]).expect_err("none is there");
        assert!(none.contains("no a_total and no b_total"), "{none}");
    }

    #[test]
    fn what_is_no_count_is_refused() {
        assert_eq!(counted(&[("a_total", COUNT_MAX)]), Ok(1 << 53));
        for wrong in [-1.0, 0.5, 1e30, f64::MAX, 2.0 * COUNT_MAX] {
            let what = counted(&[("a_total", wrong)]).expect_err("no count");
            assert!(
                what.contains("a_total is") && what.contains("0 to 2^53"),
                "{what}"
            );
        }
        let sum = counted(&[("a_total", COUNT_MAX), ("b_total", COUNT_MAX)]);
        assert!(sum.is_err_and(|what| what.contains("the sum")));
    }

    #[test]
    fn a_count_that_falls_between_any_two_questions_is_refused() {
        assert_eq!(only_grew(&[0, 1, 1, 9]), Ok(()));
        for counts in [[5, 4, 6, 7], [5, 6, 5, 7], [5, 6, 7, 0]] {
            let what = only_grew(&counts).expect_err("it fell");
            assert!(
                what.contains("fell from") && what.contains("only grow"),
                "{what}"
            );
        }
    }
}
