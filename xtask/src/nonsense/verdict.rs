//! What must hold however senseless the peer was: of the end of a program, and of its record.

use std::time::Duration;

use serde_json::Value;

use super::program::Ended;

/// More than anything here needs, and far less than what a peer can send or ask for.
pub(super) const CLIENT_BYTES_MAX: u64 = 64 << 20;

/// With the limit that the server is given for its clients, and room for what is twice in memory
/// for a moment.
pub(super) const SERVER_BYTES_MAX: u64 = 96 << 20;

/// Longer than anything here takes, also on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(30);

/// What is wrong with how a program has ended.
pub(super) fn of_end(name: &str, ended: Option<&Ended>, codes: &[i32], most: u64) -> Vec<String> {
    let Some(ended) = ended else {
        return vec![format!("{name} has not ended after {PATIENCE:?}")];
    };
    let mut complaints = Vec::new();
    if !ended.code.is_some_and(|code| codes.contains(&code)) {
        let code = ended
            .code
            .map_or("a signal".into(), |code| code.to_string());
        complaints.push(format!("{name} ended with {code}"));
    }
    let says = |part: &str| ended.errors.to_lowercase().contains(part);
    if says("panicked") || says("a bug") {
        complaints.push(format!("{name} panicked"));
    }
    // Whoever panics reads its own symbols to say where, and takes what they take.
    if ended.peak_bytes > most && complaints.is_empty() {
        let megabytes = ended.peak_bytes >> 20;
        complaints.push(format!("{name} took {megabytes} MiB of memory"));
    }
    if !complaints.is_empty() && !ended.errors.is_empty() {
        complaints.push(format!("{name} said:\n{}", ended.errors.trim_end()));
    }
    complaints
}

/// What is wrong with what a client printed. `due`: how many exchanges it has to account for.
pub(super) fn of_output(ended: &Ended, run: bool, due: Option<(u64, u64)>) -> Vec<String> {
    if ended.output.is_empty() {
        // It says why nothing could be measured.
        let speechless = ended.code == Some(0) || ended.errors.is_empty();
        return speechless
            .then(|| "nothing was printed".into())
            .into_iter()
            .collect();
    }
    match serde_json::from_str(&ended.output) {
        Ok(record) if run => of_run(&record, due),
        Ok(record) => of_hold(&record),
        Err(error) => vec![format!("the record cannot be read: {error}")],
    }
}

fn of_run(record: &Value, due: Option<(u64, u64)>) -> Vec<String> {
    let mut wrong = of_times(record);
    let exchange = |name: &str| record["exchanges"][name].as_u64().unwrap_or(u64::MAX / 8);
    let (completed, failed) = (exchange("completed"), exchange("failed"));
    let (unfinished, censored) = (exchange("unfinished"), exchange("censored"));
    let all = completed + failed + unfinished;
    let mut claim = |holds: bool, text: String| {
        if !holds {
            wrong.push(text);
        }
    };
    if let Some((least, most)) = due {
        let counted = record["ended_by"] == "count";
        let least = if counted { most } else { least };
        claim(
            (least..=most).contains(&all),
            format!("{least} to {most} exchanges were due, and {all} are accounted for"),
        );
    }
    claim(
        censored <= failed + unfinished,
        format!("{censored} are censored of {failed} failed and {unfinished} unfinished"),
    );
    claim(
        failed <= sum(&record["errors"]),
        format!(
            "{failed} failed, and the kinds of errors are {}",
            record["errors"]
        ),
    );
    let rows = |name: &str| -> u64 {
        let rows = record["series"].as_array();
        let counts = rows.into_iter().flatten().map(|row| row[name].as_u64());
        counts.map(|count| count.unwrap_or(0)).sum()
    };
    claim(
        rows("completed") <= completed,
        format!(
            "{} completed in the rows, {completed} in all",
            rows("completed")
        ),
    );
    claim(
        completed <= sum(&record["status"]) + sum(&record["grpc_status"])
            || record["messages"]["received"].as_u64() >= Some(completed),
        format!(
            "{completed} completed, and the answers are {}",
            record["status"]
        ),
    );
    of_connections(record, &mut claim);
    wrong
}

fn of_connections(record: &Value, claim: &mut impl FnMut(bool, String)) {
    let connections = &record["connections"];
    let (opened, again) = (
        connections["opened"].as_u64(),
        connections["reconnects"].as_u64(),
    );
    claim(
        opened.is_some() && again <= opened,
        format!("{again:?} connections of {opened:?} were opened again"),
    );
    let warned = record["warnings"]
        .as_array()
        .is_some_and(|all| !all.is_empty());
    claim(
        record["valid"] == true || warned,
        "it is not valid, and no warning says why".into(),
    );
}

fn of_hold(record: &Value) -> Vec<String> {
    let mut wrong = of_times(record);
    let mut claim = |holds: bool, text: String| {
        if !holds {
            wrong.push(text);
        }
    };
    let of = |group: &str, name: &str| record[group][name].as_u64().unwrap_or(u64::MAX / 8);
    let beats = |name: &str| of("heartbeats", name);
    claim(
        beats("sent") == beats("answered") + beats("failed") + beats("unfinished"),
        format!("heartbeats do not add up: {}", record["heartbeats"]),
    );
    let connections = |name: &str| of("connections", name);
    let asked = connections("asked");
    claim(
        connections("survived") <= asked
            && connections("standing") <= asked
            && connections("given_up") <= asked
            && connections("standing") + connections("given_up") <= asked,
        format!("connections do not add up: {}", record["connections"]),
    );
    claim(
        connections("lost") == sum(&record["losses"]),
        format!(
            "{} were lost, and the kinds are {}",
            connections("lost"),
            record["losses"]
        ),
    );
    of_connections(record, &mut claim);
    wrong
}

/// Summaries of times whose percentiles are not in order.
fn of_times(record: &Value) -> Vec<String> {
    const ORDER: [&str; 9] = [
        "min", "p50", "p75", "p90", "p95", "p99", "p99_9", "p99_99", "max",
    ];
    let summaries = record.as_object().into_iter().flatten();
    let times = summaries.filter(|(name, _)| name.ends_with("_time_us"));
    let disordered = times.filter(|(_, times)| {
        let values: Vec<Option<f64>> = ORDER.iter().map(|name| times[name].as_f64()).collect();
        let said: Vec<f64> = values.into_iter().flatten().collect();
        said.windows(2).any(|pair| pair[0] > pair[1])
    });
    disordered
        .map(|(name, times)| format!("{name} is out of order: {times}"))
        .collect()
}

fn sum(counts: &Value) -> u64 {
    let counts = counts.as_object().into_iter().flatten();
    counts.filter_map(|(_, count)| count.as_u64()).sum()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn ended(code: Option<i32>, output: &str, errors: &str, peak_bytes: u64) -> Ended {
        Ended {
            code,
            output: output.into(),
            errors: errors.into(),
            peak_bytes,
        }
    }

    fn record() -> Value {
        json!({
            "exchanges": {"completed": 5, "failed": 3, "unfinished": 2, "censored": 4},
            "errors": {"reset": 2, "timeout": 1},
            "status": {"200": 5},
            "series": [{"completed": 4}],
            "connections": {"opened": 3, "reconnects": 2},
            "response_time_us": {"min": 1.0, "p50": 2.0, "p75": 2.0, "max": 3.0},
            "valid": true, "warnings": [], "ended_by": "duration",
        })
    }

    #[test]
    fn an_end_in_order_is_no_complaint_and_every_other_is_one() {
        let judge = |ended: &Ended| of_end("it", Some(ended), &[0, 1], 100).len();
        assert_eq!(judge(&ended(Some(1), "", "no answer", 99)), 0);
        for bad in [
            ended(Some(101), "", "", 101),
            ended(None, "", "", 0),
            ended(Some(0), "", "", 101),
        ] {
            assert_eq!(judge(&bad), 1, "{bad:?}");
        }
        assert_eq!(judge(&ended(Some(0), "", "thread 'x' panicked at", 0)), 2);
        assert_eq!(of_end("it", None, &[0], 100).len(), 1);
    }

    #[test]
    fn a_record_that_lost_or_made_up_something_is_found() {
        assert_eq!(of_run(&record(), Some((9, 11))), Vec::<String>::new());
        let spoiled: [fn(&mut Value); 7] = [
            |record| record["exchanges"]["unfinished"] = json!(0),
            |record| record["exchanges"]["censored"] = json!(6),
            |record| record["errors"] = json!({"reset": 2}),
            |record| record["series"][0]["completed"] = json!(6),
            |record| record["status"] = json!({"200": 4}),
            |record| record["connections"]["reconnects"] = json!(4),
            |record| record["response_time_us"]["p75"] = json!(9.0),
        ];
        for (place, spoil) in spoiled.iter().enumerate() {
            let mut record = record();
            spoil(&mut record);
            assert!(!of_run(&record, Some((9, 11))).is_empty(), "{place}");
        }
        let mut counted = record();
        counted["ended_by"] = json!("count");
        assert_eq!(of_run(&counted, Some((0, 11))).len(), 1, "one is missing");
    }

    #[test]
    fn a_hold_whose_heartbeats_or_connections_do_not_add_up_is_found() {
        let record = json!({
            "heartbeats": {"sent": 6, "answered": 3, "failed": 2, "unfinished": 1},
            "connections": {"asked": 4, "survived": 1, "standing": 3, "given_up": 1, "lost": 3,
                            "opened": 7, "reconnects": 3},
            "losses": {"reset": 3},
            "valid": true, "warnings": [],
        });
        assert_eq!(of_hold(&record), Vec::<String>::new());
        for (group, name) in [("heartbeats", "failed"), ("connections", "standing")] {
            let mut record = record.clone();
            record[group][name] = json!(9);
            assert_eq!(of_hold(&record).len(), 1, "{group} {name}");
        }
    }

    #[test]
    fn silence_is_allowed_only_with_a_reason() {
        assert!(of_output(&ended(Some(1), "", "no answer", 0), true, None).is_empty());
        assert_eq!(of_output(&ended(Some(0), "", "", 0), true, None).len(), 1);
        assert_eq!(of_output(&ended(Some(0), "{", "", 0), true, None).len(), 1);
    }
}
