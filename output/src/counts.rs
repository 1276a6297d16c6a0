//! The text of a run that was broken off and left no more than its counts.

use load::Record;
use measure::units::wrk_time_us;

use super::terminal::Paint;
use super::{text, warnings, wrk};

/// What was asked for, what is known, and why that's all. It has no line of wrk's figures, so that
/// whoever looks for those finds none.
pub fn text(record: &Record) -> String {
    let (exchanges, paint) = (&record.exchanges, Paint::PLAIN);
    let mut told = wrk::head(record);
    told.push_str(&match record.duration_s > 0.0 {
        true => format!(
            "  {} requests completed and {} failed in {}; the rest of the figures is lost\n",
            exchanges.completed,
            exchanges.failed,
            wrk_time_us(record.duration_s * 1e6)
        ),
        false => "  Nothing was measured yet.\n".to_owned(),
    });
    told.push_str(&text::interrupted(
        record.ended_by,
        record.duration_s,
        paint,
    ));
    told.push_str(&warnings::text(record, paint));
    told
}

#[cfg(test)]
mod tests {
    use load::Plan;
    use measure::record::{EndedBy, Facts};
    use measure::tally::{Loop, Tally};

    use super::*;

    #[test]
    fn what_is_known_of_a_run_that_was_broken_off_is_told_and_nothing_else() {
        let told = |duration_s, ended_by| {
            let mut plan = Plan::new("http://127.0.0.1:1/").unwrap();
            (plan.duration_s, plan.threads, plan.connections) = (Some(10.0), 2, 8);
            let facts = Facts {
                duration_s,
                valid: false,
                warnings: vec!["it hangs".to_owned()],
                ended_by,
                ..Facts::of(plan.recorded())
            };
            let mut record = Record::assemble(&Tally::new(Loop::Closed), facts);
            (record.exchanges.completed, record.exchanges.failed) = (1234, 5);
            text(&record)
        };
        let head = "Running 10s test @ http://127.0.0.1:1/\n  2 threads and 8 connections\n";
        let why = "Warning: it hangs\nDon't trust these figures: the warnings say why.\n";
        assert_eq!(
            told(2.5, EndedBy::Script),
            format!(
                "{head}  1234 requests completed and 5 failed in 2.50s; the rest of the figures is \
                 lost\n{why}"
            )
        );
        assert_eq!(
            told(2.5, EndedBy::Terminate),
            format!(
                "{head}  1234 requests completed and 5 failed in 2.50s; the rest of the figures is \
                 lost\nInterrupted by SIGTERM after 2.50s.\n{why}"
            )
        );
        assert_eq!(
            told(0.0, EndedBy::Interrupt),
            format!(
                "{head}  Nothing was measured yet.\nInterrupted before the measurement \
                 began.\n{why}"
            )
        );
    }
}
