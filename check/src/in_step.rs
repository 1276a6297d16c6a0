//! Whether the window of a closed loop is too short for its rate.
//!
//! Connections that begin together, and whose answers take equally long, go on in step. The answers
//! in a window are then so many rounds of all of them, a whole number, and the rate comes in steps
//! that no interval shows: of answers that take 0.17 s and such that take 0.2 s, a window of half a
//! second counts three on each connection. Little's law tells: throughput × mean time is not what
//! the connections hold.

use crate::Record;

/// With so many answers on each connection a round more or less no longer matters…
const ANSWERS_MIN: f64 = 10.0;
/// …nor where throughput × mean time is as near to the connections as this.
const GAP_MAX: f64 = 0.02;
/// Connections that don't go in step are off by an answer in all. One connection can't but be in
/// step with itself.
const ANSWERS_OFF_MIN: f64 = 1.05;
/// A window that is long enough has so many.
const ANSWERS_WANTED: f64 = 20.0;

/// That a closed loop had too few answers for a rate, of which Little's law leaves a share of `gap`
/// unexplained, in either direction; none where it had enough. `answers` came on so many
/// `connections`, or places of them, and took `mean_s` seconds.
pub fn few_answers(gap: f64, answers: f64, connections: f64, mean_s: f64) -> Option<String> {
    let each = answers / connections;
    let is_told = gap.abs() * answers > ANSWERS_OFF_MIN || connections < 2.0;
    (gap.abs() > GAP_MAX && each < ANSWERS_MIN && is_told).then(|| {
        format!(
            "each connection got {each:.1} answers in the window: where they go in step, the rate \
             is a whole number of rounds, and by Little's law {:.0} % off; that takes a window of \
             {:.0} s",
            gap.abs() * 100.0,
            (mean_s * ANSWERS_WANTED).ceil()
        )
    })
}

/// The same of a record. Streams of events are long, and judged by other figures.
pub fn of_record(record: &Record) -> Option<String> {
    let places = f64::from(record.plan.connections) * f64::from(record.plan.depth());
    let (count, mean_us) = (
        record.response_time_us.count?,
        record.response_time_us.mean?,
    );
    let gap = record
        .generator
        .littles_law_gap
        .filter(|_| !record.plan.events)?;
    few_answers(gap, count as f64, places, mean_us / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_answers_are_told_where_the_law_does_not_hold_in_either_direction() {
        // Rounds of ten connections: two and a half would fit into the window, or three and a bit.
        for (gap, mean_s, wanted) in [
            (-0.2, 0.2, "4 s"),
            (-0.0201, 0.17, "4 s"),
            (0.1, 0.3, "6 s"),
        ] {
            let told = few_answers(gap, 300.0, 100.0, mean_s).unwrap();
            assert!(told.ends_with(&format!("a window of {wanted}")), "{told}");
        }
        let told = few_answers(-0.2, 30.0, 10.0, 0.2).unwrap();
        assert!(
            told.starts_with("each connection got 3.0 answers"),
            "{told}"
        );
        assert!(told.contains("by Little's law 20 % off"), "{told}");
        assert_eq!(few_answers(-0.2, 100.0, 10.0, 0.2), None);
        assert_eq!(few_answers(0.01, 30.0, 10.0, 0.2), None);
        // An answer more or less is no sign of it, but of one connection.
        assert_eq!(few_answers(-0.03, 30.0, 10.0, 0.2), None);
        assert!(few_answers(-0.04, 8.0, 1.0, 0.2).is_some());
    }
}
