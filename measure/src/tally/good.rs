//! What was completed in time, where a run asks for that.

use super::Tally;
use crate::time::Time;

impl Tally {
    /// An exchange was completed, which may have been in time. Called apart from the path of
    /// runs that don't ask for that.
    pub fn completed_in_time(&mut self, intended: Time, done: Time) {
        let taken_ns = done.since(intended);
        self.good += u64::from(self.good_within_ns.is_some_and(|most| taken_ns <= most));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Loop;

    #[test]
    fn what_is_in_time_is_counted_by_row_and_merged_and_nothing_where_nobody_asks() {
        let at = |ms: u64| Time(1_000_000_000 + ms * 1_000_000);
        let tally = |within_ns| {
            let mut tally = Tally::new(Loop::Open);
            tally.good_within_ns = within_ns;
            tally.start(at(0));
            for (due, done) in [(0, 10), (0, 11), (1_100, 1_105)] {
                tally.tick(at(done));
                tally.completed(at(due), at(due), at(done), 200);
                tally.completed_in_time(at(due), at(done));
            }
            tally.finish(at(2_000));
            tally
        };
        let good = |tally: &Tally| -> Vec<Option<u64>> {
            tally.rows().iter().map(|row| row.good).collect()
        };
        let mut asked = tally(Some(10_000_000));
        assert_eq!((asked.good, good(&asked)), (2, vec![Some(1), Some(1)]));
        asked.merge(&tally(Some(10_000_000)));
        assert_eq!((asked.good, good(&asked)), (4, vec![Some(2), Some(2)]));
        assert_eq!(good(&tally(None)), [None, None]);
    }
}
