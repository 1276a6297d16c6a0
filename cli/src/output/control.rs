//! The control of a run, beside the run: what this machine and the generator take.

use load::Record;
use measure::record::{Control, Times};

use super::table;
use super::terminal::Paint;
use super::text::{paint_first_line, row};

/// Both, line by line; nothing where no control was asked for.
pub(crate) fn text(record: &Record, paint: Paint) -> String {
    let Some(control) = &record.control else {
        return String::new();
    };
    let heads = [
        "", "mean", "p50", "p75", "p90", "p99", "p99.9", "p99.99", "max",
    ];
    let mut rows = vec![heads.map(String::from)];
    let mut pair = |what: &str, run: &Times, control: &Times| {
        if run.max.is_some() || control.max.is_some() {
            rows.push(row(what, run));
            rows.push(row("  control", control));
        }
    };
    pair(
        "response time",
        &record.response_time_us,
        &control.response_time_us,
    );
    pair(
        "service time",
        &record.service_time_us,
        &control.service_time_us,
    );
    pair("lateness", &record.lateness_us, &control.lateness_us);
    format!(
        "Control: the same load against our own server on this machine\n{}{}\n",
        paint_first_line(&table::lines("  ", &rows), paint),
        meaning(record, control)
    )
}

fn meaning(record: &Record, control: &Control) -> String {
    let mut text = format!(
        "Achieved {:.2}/s, the control {:.2}/s. Our server does next to nothing, so what the\n\
         control took is what this machine and the generator add.",
        record.achieved_rate, control.achieved_rate
    );
    let disturbed = !control.valid || !control.void.is_empty();
    let late = !record.valid || !record.void.is_empty();
    if control.failed > 0 {
        text.push_str(&format!(
            " {} requests of the control failed, so\nit is no control.",
            control.failed
        ));
    } else if disturbed {
        text.push_str(
            "\nThe generator was late for the control, too: this machine is the cause, whatever\n\
             server is loaded.",
        );
    } else if late {
        text.push_str(
            "\nThe generator was on time for the control: the server shares what the generator\n\
             needs, such as its CPUs, or something else ran meanwhile.",
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use measure::record::{Facts, Moved};
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
        let moved = vec![Moved {
            figure: "p99".to_string(),
            by_us: 1.0,
            allowed_us: 0.5,
        }];
        let mut record = record();
        record.void = moved.clone();
        record.control = Some(Control {
            valid: true,
            ..Control::default()
        });
        assert!(text(&record, Paint::PLAIN).contains("on time for the control"));
        record.control = Some(Control {
            valid: true,
            void: moved,
            ..Control::default()
        });
        assert!(text(&record, Paint::PLAIN).contains("this machine is the cause"));
        record.control = Some(Control {
            failed: 3,
            ..Control::default()
        });
        assert!(text(&record, Paint::PLAIN).contains("it is no control"));
    }
}
