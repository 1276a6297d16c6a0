//! The schemas of what is found by more than one run: real reports keep to them, those of records
//! in the repository and those of a server that is measured here, and spoilt ones don't.

use std::fs;
use std::time::Duration;

use serde_json::Value;

use super::{assert_fits, root, schema};
use crate::child::{Folder, command, comparison_of_ours, ringside, start};
use crate::gate::{GATE, SERVER};
use crate::record::faults;

/// For a search on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(300);

/// As short as it can be.
const SHORT: &str = "rounds = 1\nceiling = false\n[workload]\nconnections = 1\nwindow = \"20ms\"\n\
                     settle = \"1ms\"\nwarm_up = \"1ms\"\n";

/// The report of a pack of the repository, copied first since its pages go beside it.
fn of_pack(folder: &Folder, path: &str) -> Value {
    let copy = folder.path("pack.tar.xz");
    fs::copy(root().join("records").join(path), &copy).unwrap();
    let ended = ringside(&["report", &copy, "--format", "json"]);
    assert_eq!(ended.code, Some(0), "{path}: {}", ended.stderr);
    ended.record()
}

#[test]
fn reports_of_records_in_the_repository_keep_to_their_schemas() {
    for (name, path) in [
        ("report", "2026-11-22-2core-kvm-6.18/lab/hello.tar.xz"),
        (
            "report",
            "2026-11-23-2core-kvm-6.18/generator-workload.tar.xz",
        ),
        ("report", "2026-11-26-2core-kvm-6.18/gateways.tar.xz"),
        ("report", "2026-11-26-2core-kvm-6.18/killed-workers.tar.xz"),
        ("report", "2026-11-26-2core-kvm-6.18/overload.tar.xz"),
        ("capacity", "2026-11-22-2core-kvm-6.18/lab/capacity.tar.xz"),
    ] {
        let folder = Folder::new();
        let report = of_pack(&folder, path);
        assert_fits(name, &report, path);
        assert_spoilt_is_noticed(name, &report);
    }
}

#[test]
fn what_is_measured_here_keeps_to_its_schema() {
    let folder = Folder::new();
    let file = comparison_of_ours(&folder, "", SHORT);
    let sweep = format!("{SHORT}[sweep]\nconnections = [1, 2]\n");
    for (name, verb, rest, words) in [
        ("report", "compare", SHORT, "--aa"),
        ("sweep", "compare", sweep.as_str(), ""),
        ("trials", "compare", SHORT, "--aa-trials 1 --rounds 4"),
        (
            "capacity",
            "capacity",
            SHORT,
            "--slo errors<99% --from 2k --to 4k -d 100ms",
        ),
    ] {
        comparison_of_ours(&folder, "", rest);
        let out = folder.path(name);
        let mut all = vec![verb, &file, "-o", &out];
        all.extend(words.split_whitespace());
        let ended = start(&mut command(&all)).end_within(PATIENCE);
        // Whatever came of it, even if every round is void, is a report.
        let report = ringside(&["report", &out, "--format", "json"]);
        let told = format!("{}{}{}", ended.stdout, ended.stderr, report.stderr);
        assert_eq!(report.code, Some(0), "{name}: {told}");
        let report = report.record();
        assert_fits(name, &report, name);
        assert_spoilt_is_noticed(name, &report);
        let written = match name {
            "report" => fs::read_to_string(format!("{out}/report.json")).unwrap(),
            _ => continue,
        };
        assert_fits(
            name,
            &serde_json::from_str(&written).unwrap(),
            "report.json",
        );
    }
}

#[test]
fn what_a_gate_and_a_history_say_keeps_to_their_schemas() {
    let folder = Folder::new();
    folder.write("gate.toml", GATE);
    folder.write("server.py", &SERVER.replace("DELAY", "0"));
    let start = format!("python3 {} {{port}}", folder.path("server.py"));
    let words = [
        "gate",
        "--base-start",
        &start,
        "--head-start",
        &start,
        "--file",
        &folder.path("gate.toml"),
        "-o",
        &folder.path("out"),
        "--format",
        "json",
    ];
    let found = ringside(&words).record();
    assert_fits("gate", &found, "gate");
    assert_spoilt_is_noticed("gate", &found);
    let sessions = crate::history::sessions(&folder, 12, 5);
    let found = ringside(&["history", &sessions, "--format", "json"]).record();
    assert!(
        !found["groups"][0]["figures"][0]["points"][0].is_null(),
        "{found}"
    );
    assert_fits("history", &found, "history");
    assert_spoilt_is_noticed("history", &found);
}

/// Each key of the document taken away, or given what is no value of it.
fn assert_spoilt_is_noticed(name: &str, document: &Value) {
    let schema = schema(name);
    for key in document.as_object().unwrap().keys() {
        let mut missing = document.clone();
        let taken = missing.as_object_mut().unwrap().remove(key).unwrap();
        missing[format!("{key}x")] = taken;
        let required = schema["required"].as_array().unwrap();
        if required.iter().any(|one| one == key) {
            assert_ne!(
                faults(&schema, &schema, &missing, name),
                [""; 0],
                "{name}: {key}x"
            );
        }
        let mut wrong = document.clone();
        wrong[key] = serde_json::json!({"zzz": [{}]});
        assert_ne!(
            faults(&schema, &schema, &wrong, name),
            [""; 0],
            "{name}: {key}"
        );
    }
}
