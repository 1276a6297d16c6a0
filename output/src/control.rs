//! The control of a run, beside the run: what this machine and the generator take.

use load::Record;
use measure::record::{Control, Times};

use super::terminal::Paint;
use super::times;

/// Both, line by line; nothing where no control was asked for.
pub fn text(record: &Record, paint: Paint) -> String {
    let Some(control) = &record.control else {
        return String::new();
    };
    let pairs = [
        (
            ("response time", &record.response_time_us),
            &control.response_time_us,
        ),
        (
            ("service time", &record.service_time_us),
            &control.service_time_us,
        ),
        (("lateness", &record.lateness_us), &control.lateness_us),
    ];
    let pairs = pairs
        .into_iter()
        .filter(|((_, run), control)| run.max.is_some() || control.max.is_some());
    let rows: Vec<(&str, &Times)> = pairs
        .flat_map(|(run, control)| [run, ("  control", control)])
        .collect();
    format!(
        "Control: the same load against our own server on this machine\n{}{}\n",
        times::table(&rows, paint),
        meaning(record, control)
    )
}

fn meaning(record: &Record, control: &Control) -> String {
    let mut text = format!(
        "Achieved {:.2}/s, the control {:.2}/s. Our server does next to nothing, so what the\n\
         control took is what this machine and the generator add.",
        record.achieved_rate, control.achieved_rate
    );
    if control.failed > 0 {
        text.push_str(&format!(
            "\n{} requests of the control failed, so it can't serve as a control.",
            control.failed
        ));
        return text;
    }
    let blame = match (was_late(record), !control.void.is_empty()) {
        (true, true) => {
            "\nThe generator was late against our own server as well: this machine is the\n\
             cause, whichever server is loaded."
        }
        (true, false) if control.valid => {
            "\nThe generator was on time in the control: the server takes something the\ngenerator \
             needs, such as its CPUs, or something else ran during the run."
        }
        (false, true) => {
            "\nThe generator was late in the control only, so the two can't be compared: repeat \
             the run."
        }
        (_, false) if !control.valid => {
            "\nThe control's own figures can't be trusted, so they say nothing about the run."
        }
        _ => "",
    };
    text.push_str(blame);
    text
}

/// Whether the generator's lateness spoiled figures of the run, or is most of its response times.
/// A run can be void for other reasons, about which a control says nothing.
fn was_late(record: &Record) -> bool {
    let mostly = record.waits.as_ref().is_some_and(|waits| {
        let share = waits.share_of_response.unwrap_or(0.0);
        waits.late_us * share > 0.5 * waits.total_us
    });
    !record.void.is_empty() || record.generator.limited && mostly
}

#[cfg(test)]
mod tests {
    use measure::record::{Facts, Moved, Waits};
    use measure::tally::{Loop, Tally};

    use super::*;

    fn record() -> Record {
        let facts = Facts {
            duration_s: 1.0,
            offered_rate: Some(100.0),
            ..Facts::of(load::Plan::new("http://127.0.0.1:1/").unwrap().recorded())
        };
        let mut record = Record::assemble(&Tally::new(Loop::Open), facts);
        record.response_time_us.p99 = Some(9_000.0);
        record.response_time_us.max = Some(9_500.0);
        record
    }

    #[test]
    fn the_run_and_its_control_stand_side_by_side() {
        let mut record = record();
        assert_eq!(text(&record, Paint::PLAIN), "");
        let mut control = record.as_control();
        control.response_time_us.p99 = Some(80.0);
        record.control = Some(control);
        let told = text(&record, Paint::PLAIN);
        let lines: Vec<&str> = told.lines().collect();
        assert!(
            lines[2].contains("response time") && lines[2].contains("9.00ms"),
            "{told}"
        );
        assert!(
            lines[3].contains("control") && lines[3].contains("80.00us"),
            "{told}"
        );
    }

    #[test]
    fn who_was_late_is_told_from_both() {
        let moved = || {
            vec![Moved {
                figure: "p99".to_string(),
                by_us: 1.0,
                allowed_us: 0.5,
            }]
        };
        let told = |run_late: bool, control_late: bool| {
            let mut record = record();
            record.void = if run_late { moved() } else { Vec::new() };
            record.control = Some(Control {
                valid: true,
                void: if control_late { moved() } else { Vec::new() },
                ..Control::default()
            });
            text(&record, Paint::PLAIN)
        };
        assert!(told(true, false).contains("on time in the control"));
        assert!(told(true, true).contains("whichever server is loaded"));
        assert!(told(false, true).contains("late in the control only"));
        assert!(!told(false, false).contains("late"));
    }

    #[test]
    fn a_run_that_is_void_for_another_reason_was_not_late() {
        let mut record = record();
        record.valid = false;
        record.control = Some(Control {
            valid: true,
            ..Control::default()
        });
        assert!(!text(&record, Paint::PLAIN).contains("on time"));
        // A stall that was most of all response times.
        record.generator.limited = true;
        record.waits = Some(Waits {
            total_us: 1000.0,
            late_us: 800.0,
            share_of_response: Some(0.9),
            ..Waits::default()
        });
        assert!(text(&record, Paint::PLAIN).contains("on time in the control"));
        record.control = Some(Control::default());
        assert!(text(&record, Paint::PLAIN).contains("can't be trusted"));
        record.control = Some(Control {
            failed: 3,
            ..Control::default()
        });
        assert!(text(&record, Paint::PLAIN).contains("3 requests of the control failed"));
    }
}
