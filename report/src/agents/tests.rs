//! A fleet of two: one that ended as planned, and one that was lost.

use serde_json::json;

use super::*;

fn agent(name: &str, responses: u64) -> Value {
    json!({
        "agent": name, "epoch": "1-2", "workers": 2, "share": 0.5, "share_moved": null,
        "complete": true, "intervals": 2, "last_number": 1, "chain": "00",
        "ended": "its plan was over", "ended_early": false, "lost": false,
        "figures": figures(responses), "tail_share": 0.5,
        "verdict": {"limited": false, "reason": ""},
        "host": {"kernel": "Linux 6.18", "cpu_model": "A <b>CPU</b>", "cpus_online": 4},
        "generator": {"version": "0.1.0 (abc)", "engine": "io_uring", "cpu_seconds": 1.5,
            "memory_peak_bytes": 1024},
        "clock": {"ahead_ns": 5, "error_ns": 2000, "at_ns": 7},
        "clock_at_end": null, "clock_drift_ppm": null, "clock_jumped": false,
        "begins_ns": 8, "begun_late_ns": 9, "duplicates": 0, "asked_again": 0, "misfits": 0,
        "silence_ns": 0, "coordinator_silence_ns": 0, "troubles": [],
    })
}

fn figures(responses: u64) -> Value {
    json!({
        "totals": {"completed": responses, "failed": 0, "unfinished": 0, "responses": responses,
            "bytes_received": 0, "bytes_sent": 0},
        "response_p50_ns": 1_000_000, "response_p99_ns": 2_000_000, "response_max_ns": 3_000_000,
    })
}

/// A fleet as a record has it.
pub(crate) fn fleet() -> Value {
    let mut lost = agent("b", 298);
    for absent in ["ended", "verdict", "host", "generator"] {
        lost[absent] = Value::Null;
    }
    (lost["lost"], lost["ended_early"]) = (true.into(), true.into());
    json!({
        "run": "run-1", "epoch": "1-2", "has_returned": false, "halted": false, "complete": false,
        "agents_wanted": 2, "agents_unknown": 0, "agents": [agent("a", 299), lost],
        "figures": figures(597), "missing_share": 0.5, "limited_by": [], "findings": [],
        "sent_share": 0.75,
    })
}

#[test]
fn agents_come_back_as_they_were_written_and_older_ones_are_read() {
    let agents = Agents::read(&fleet()).expect("agents");
    let written = serde_json::to_value(&agents).expect("JSON");
    assert_eq!(Agents::read(&written), Some(agents));
    let mut older = fleet();
    for absent in ["host", "generator"] {
        older["agents"][0]
            .as_object_mut()
            .expect("one")
            .remove(absent);
    }
    let older = Agents::read(&older).expect("agents");
    assert_eq!(
        (&older.of.agents[0].host, older.of.agents.len()),
        (&None, 2)
    );
    assert_eq!(Agents::read(&Value::Null), None);
}

#[test]
fn a_table_says_who_is_lost_and_has_percentiles_of_samples_enough_alone() {
    let agents = Agents::read(&fleet()).expect("agents");
    let text = agents.text();
    assert!(text.contains("NOT complete"), "{text}");
    assert!(
        text.contains("75.0 % of the planned load is in the figures; lost: b"),
        "{text}"
    );
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("  ")).collect();
    assert!(
        lines[1].contains("2.00ms") && lines[1].contains("io_uring"),
        "{text}"
    );
    assert!(lines[1].ends_with("as planned"), "{text}");
    assert!(
        !lines[2].contains("ms") && lines[2].ends_with("lost"),
        "{text}"
    );
    let markdown = agents.markdown(2.0);
    assert!(
        markdown.contains("| a | A &lt;b>CPU&lt;/b>, 4 CPUs, Linux 6.18 |"),
        "{markdown}"
    );
    assert!(markdown.contains("| b | – | – |"), "{markdown}");
    let bars = markdown.lines().filter(|line| line.starts_with('|'));
    assert!(
        bars.into_iter().all(|line| line.matches('|').count() == 10),
        "{markdown}"
    );
}

#[test]
fn the_schemas_describe_every_field_of_agents() {
    for schema in [run_schema(), hold_schema()] {
        let schema: Value = serde_json::from_str(&schema).expect("JSON");
        let agents = &schema["properties"]["fleet"];
        assert!(agents["description"].is_string(), "{agents}");
        let properties = |of: &Value| of["properties"].as_object().cloned().unwrap_or_default();
        let mut all = properties(agents);
        for key in fleet().as_object().expect("a fleet").keys() {
            assert!(all.contains_key(key), "{key}: {agents}");
        }
        let own = properties(&schema["$defs"]["AgentRecord"]);
        for key in agent("a", 1).as_object().expect("an agent").keys() {
            assert!(own.contains_key(key), "{key}");
        }
        all.extend(own);
        let names = [
            "FleetFigures",
            "FleetConnections",
            "FleetGenerator",
            "OwnVerdict",
            "Offset",
        ];
        all.extend(
            names
                .iter()
                .flat_map(|name| properties(&schema["$defs"][*name])),
        );
        for (name, property) in &all {
            assert!(property["description"].is_string(), "{name}: {property}");
        }
    }
}
