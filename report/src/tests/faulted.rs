//! What faults cost, in each format.

use faults::Injected;
use faults::cost::Cost;
use measure::record::Goodput;
use measure::series::Row as Seconds;

use super::*;

fn second(at_s: f64, completed: u64, failed: u64) -> Seconds {
    Seconds {
        at_s,
        seconds: 1.0,
        completed,
        failed,
        answered: Some(completed),
        offered: Some(1000),
        good: Some(completed),
        events: None,
        bytes_received: 0,
        response_p50_us: Some(300.0),
        response_p99_us: Some(1000.0 + 50.0 * failed as f64),
        response_max_us: Some(9000.0),
    }
}

/// A comparison in whose rounds a server was killed, and one of them did not recover.
fn killed(phase: bool) -> Report {
    let mut ours = row("ours", Outcome::Measured, rounds(1000.0, 0.5));
    let slow = row("slow", Outcome::Measured, rounds(900.0, 0.5));
    for round in &mut ours.1 {
        let is_last = round.round == 5;
        round.faults = vec![Injected {
            kind: "kill".into(),
            what: "SIGKILL to the subject".into(),
            at_s: 2.0,
            for_s: 1.0,
            began_s: 2.0,
            missed: false,
            ended_s: Some(3.0),
            ready_s: Some(3.25),
            cost: Some(Cost {
                failed_during: 700 + u64::from(round.round),
                lost: 1_200,
                errors_stop_s: (!is_last).then_some(2.0),
                longest_gap_s: Some(1.2),
                p99_before_us: Some(1_000.0),
                p99_worst_us: Some(41_000.0),
                p99_back_s: (!is_last).then_some(3.0),
                good_before: Some(990.0),
                good_worst: Some(0.0),
                good_share_worst: Some(0.0),
            }),
        }];
        let record = round.record.as_mut().expect("every round has one");
        record.goodput = Some(Goodput {
            per_second: 640.0,
            ..Goodput::default()
        });
        record.series = [0, 0, 800, 400, 0]
            .iter()
            .enumerate()
            .map(|(at, failed)| second(at as f64, 1000 - failed, *failed))
            .collect();
        if phase {
            round.phases = vec![PhaseRun {
                name: "hold".into(),
                rate: Some(1000.0),
                connections: 10,
                compared: true,
                equal: false,
                sample: round.sample.clone(),
                watched: Watched::default(),
                faults: round.faults.clone(),
                conditions: Vec::new(),
                record: None,
            }];
        }
    }
    report(setup(), Vec::new(), vec![ours, slow])
}

#[test]
fn what_a_fault_cost_is_in_every_format() {
    let report = killed(false);
    let look = Look {
        unicode: true,
        colour: false,
        width: 1000,
    };
    let text = terminal(&report, look);
    let sentence = "SIGKILL to the subject at 2 s, for 1 s, ours: 703 requests failed while it \
                    lasted, 1.20 k were lost in all; errors stopped within 2.00 s in 4 of 5 \
                    rounds; no answers for 1.20 s; p99 1.00 ms before, 41.0 ms at worst, back \
                    after 3.00 s in 4 of 5 rounds; goodput 990/s before, 0/s at worst (0 % of what \
                    was offered).";
    assert!(text.contains(sentence), "{text}");
    let text = markdown(&report);
    let line = "| SIGKILL to the subject at 2 s, for 1 s | ours | 703 | 1.20 k | 1.20 s | 1.00 ms \
                | 41.0 ms | 990/s | 0/s (0 %) | within 2.00 s in 4";
    assert!(
        text.contains("## Faults\n\n| fault | subject | failed during"),
        "{text}"
    );
    assert!(text.contains(line), "{text}");
    let page = html(&report, &Enclosed::default());
    stands_alone(&page);
    assert!(page.contains("Failed requests per second"), "{page}");
    assert!(page.contains("SIGKILL to the subject"), "{page}");
    let model: serde_json::Value = serde_json::from_str(&json(&report)).expect("JSON");
    let fault = &model["subjects"][0]["faults"][0];
    assert_eq!(
        (fault["rounds"].as_u64(), fault["errors_went_on"].as_u64()),
        (Some(5), Some(1))
    );
    assert_eq!(fault["start_s"]["median"], 0.25);
    let second = &model["subjects"][0]["seconds"][2];
    assert_eq!(
        (second["at_s"].as_f64(), second["failed"].as_f64()),
        (Some(2.5), Some(800.0))
    );
    // The other row had none, and neither have other comparisons.
    assert!(model["subjects"][1].get("faults").is_none());
    assert!(!markdown(&super::example()).contains("Faults"));
}

#[test]
fn a_fault_of_a_phase_is_said_with_its_phase() {
    let report = killed(true);
    let fault = &report.subjects[0].faults[0];
    assert_eq!(
        fault.words(),
        "hold: SIGKILL to the subject at 2 s, for 1 s"
    );
    assert!(report.subjects[0].seconds.is_empty());
}

#[test]
fn the_goodput_of_a_phase_is_said_where_it_was_asked_for() {
    let text = markdown(&killed(true));
    assert!(text.contains("; goodput 640/s"), "{text}");
    let page = html(&killed(true), &Enclosed::default());
    assert!(page.contains("goodput 640/s"), "{page}");
    let mut report = killed(true);
    report.subjects[0].phases[0].goodput = None;
    assert!(!markdown(&report).contains("; goodput 640/s"));
}
