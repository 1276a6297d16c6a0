//! Whether a server closes each connection after its answer, so that the next request needs a new
//! one.

use crate::Record;

/// Connections that were opened again ÷ answers: with so many, the server keeps none.
const CLOSES_EACH_SHARE: f64 = 0.5;

/// How many connections were opened for how many answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reopened {
    /// Connections that were set up.
    pub opened: u64,
    /// Requests that were answered.
    pub answers: u64,
}

/// Whether so many connections that the server closed mean that it closes each.
pub fn closes_each(reopened: u64, answers: u64) -> bool {
    reopened > 0 && reopened as f64 >= answers as f64 * CLOSES_EACH_SHARE
}

/// What a record counted of a server that closes each connection; none where it keeps them, and
/// where the load asked for a connection for each request.
pub fn of_record(record: &Record) -> Option<Reopened> {
    let connections = &record.connections;
    let timed = record.response_time_us.count.unwrap_or(0);
    let answers = timed.saturating_sub(record.exchanges.censored);
    let is_asked = record.plan.keep_alive;
    (is_asked && closes_each(connections.reopened, answers)).then_some(Reopened {
        opened: connections.opened,
        answers,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_answers_behind_which_it_closes_are_each_and_none_are_none() {
        assert!(closes_each(712, 722) && closes_each(50, 100));
        assert!(!closes_each(49, 100) && !closes_each(0, 0));
    }
}
