//! `[[faults]]` that a fault proxy makes: the lab starts it in front of a subject or a companion,
//! and tells it what to do.

use std::fs;

use serde_json::Value;

use super::child::{Folder, assert_says, ringside};

/// A comparison of one subject, which passes connections on to a companion that answers, with
/// these faults in a window of three seconds.
fn comparison(folder: &Folder, faults: &str) -> String {
    let subject = "kind = \"server\"\n[start]\n\
                   command = [\"{ringside}\", \"fault-proxy\", \"--listen\", \"127.0.0.1:{port}\", \
                   \"--to\", \"127.0.0.1:{companion.backend.port}\"]\n\
                   [[companion]]\nname = \"backend\"\n\
                   command = [\"{ringside}\", \"serve\", \"--addr\", \"127.0.0.1:{port}\"]\n\
                   ready = { path = \"/health\" }\n\
                   [[companion]]\nname = \"idle\"\n\
                   command = [\"{ringside}\", \"serve\", \"--addr\", \"127.0.0.1:{port}\"]\n\
                   ready = { path = \"/health\" }\n\
                   [ready]\npath = \"/health\"\n\
                   [[answer]]\npath = \"/\"\nstatus = 200\nbody = \"Hello, World!\"\n";
    fs::create_dir_all(folder.path("subjects/passes")).unwrap();
    fs::write(folder.path("subjects/passes/subject.toml"), subject).unwrap();
    let file = folder.path("test.toml");
    let text = format!(
        "name = \"test\"\nsubjects = [\"passes\"]\nrounds = 1\n[workload]\npath = \"/\"\n\
         connections = 4\nrate = \"200\"\nwindow = \"3s\"\nsettle = \"100ms\"\n\
         warm_up = \"100ms\"\ntimeout = \"1s\"\n{faults}"
    );
    fs::write(&file, text).unwrap();
    file
}

/// What the one round of such a comparison brought.
fn round(faults: &str) -> Value {
    let folder = Folder::new();
    let file = comparison(&folder, faults);
    let out = folder.path("out");
    let ended = ringside(&["compare", &file, "-o", &out]);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    assert_says(&ended.stdout, "What the faults cost");
    let text = fs::read_to_string(format!("{out}/rounds/passes/001.json")).unwrap();
    let round: Value = serde_json::from_str(&text).unwrap();
    let findings = round["sample"]["findings"].as_array().unwrap();
    let is_void = |finding: &Value| finding["severity"] == "void";
    assert!(!findings.iter().any(is_void), "{findings:?}");
    let last = round["record"]["series"]
        .as_array()
        .unwrap()
        .last()
        .unwrap();
    assert!(
        last["completed"].as_u64() > Some(0),
        "it isn't back: {}",
        round["record"]["series"]
    );
    round
}

#[test]
fn connections_to_a_companion_are_reset_and_then_not() {
    let fault = "[[faults]]\nat = \"500ms\"\nfor = \"500ms\"\nkind = \"reset\"\n\
                 target = \"backend\"\n";
    let round = round(fault);
    let fault = &round["faults"][0];
    assert_eq!(
        (&fault["kind"], &fault["what"]),
        (
            &Value::from("reset"),
            &Value::from("connections to backend reset"),
        )
    );
    let errors = &round["record"]["errors"];
    let reset = errors["reset"].as_u64().unwrap_or(0) + errors["early_close"].as_u64().unwrap_or(0);
    assert!(reset > 0, "{errors}");
    assert!(fault["cost"]["lost"].as_u64() > Some(0), "{fault}");
}

#[test]
fn what_a_subject_is_sent_is_delayed_dropped_and_slowed_down_in_turn() {
    let faults = "[[faults]]\nat = \"200ms\"\nfor = \"500ms\"\nkind = \"delay\"\n\
                  delay = \"100ms\"\njitter = \"10ms\"\n\
                  [[faults]]\nat = \"900ms\"\nfor = \"300ms\"\nkind = \"drop\"\n\
                  [[faults]]\nat = \"1400ms\"\nfor = \"300ms\"\nkind = \"slow\"\n\
                  bandwidth = \"1K\"\n";
    let round = round(faults);
    let kinds: Vec<&str> = round["faults"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|fault| fault["kind"].as_str())
        .collect();
    assert_eq!(kinds, ["delay", "drop", "slow"]);
    // Whoever was asked in the delay waited for it both ways.
    let longest = round["record"]["response_time_us"]["max"].as_f64().unwrap();
    assert!(longest > 150_000.0, "{longest} µs");
    // What was dropped came to nothing.
    assert!(
        round["record"]["exchanges"]["failed"].as_u64() > Some(0),
        "{}",
        round["record"]
    );
}

#[test]
fn a_proxied_fault_needs_somebody_to_stand_in_front_of() {
    let folder = Folder::new();
    let fault = "[[faults]]\nat = \"1s\"\nfor = \"1s\"\nkind = \"drop\"\ntarget = \"redis\"\n";
    let file = comparison(&folder, fault);
    let ended = ringside(&["compare", &file, "-o", &folder.path("out")]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let said = "`redis` isn't a companion of passes: it has `backend`, `idle`";
    assert_says(&ended.stderr, said);
    assert_says(&ended.stderr, "test.toml:");
}
