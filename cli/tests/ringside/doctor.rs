//! `ringside doctor` looks at everything it promises, wherever it runs.

use serde_json::Value;

use super::child::{assert_says, ringside};

#[test]
fn findings_are_there_for_every_area() {
    let ended = ringside(&["doctor", "--format", "json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let findings = report["findings"].as_array().unwrap();
    for area in [
        "kernel",
        "io_uring",
        "processor",
        "memory",
        "limits",
        "network",
    ] {
        assert!(
            findings.iter().any(|finding| finding["area"] == area),
            "{area}: {report}"
        );
    }
    let warned = findings.iter().filter(|finding| finding["state"] == "warn");
    let mut count = 0;
    for finding in warned {
        count += 1;
        assert!(finding["cost"].is_string(), "{finding}");
    }
    assert_eq!(report["warnings"], count);
}

#[test]
fn the_last_word_on_connections_is_whether_they_fit() {
    let words = ["doctor", "--connections", "10"];
    let ended = ringside(&words);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let last = ended.stdout.lines().last().unwrap();
    assert!(last.starts_with("Ready for 10 connections"), "{last}");
    let as_json = ringside(&[&words[..], &["--format", "json"]].concat());
    let report: Value = serde_json::from_str(&as_json.stdout).unwrap();
    let room = &report["connections"];
    assert_eq!((&room["number"], &room["fit"]), (&10.into(), &true.into()));
    // Nobody asked for any.
    let without = ringside(&["doctor", "--format", "json"]);
    let report: Value = serde_json::from_str(&without.stdout).unwrap();
    assert!(report.get("connections").is_none(), "{report}");
    assert!(!ringside(&["doctor"]).stdout.contains("Ready for"));
}

#[test]
fn the_text_has_the_same_findings() {
    let as_json = ringside(&["doctor", "--format", "json"]);
    let report: Value = serde_json::from_str(&as_json.stdout).unwrap();
    let ended = ringside(&["doctor"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    // A state, two spaces, and the name; what it costs is further in.
    let states = ["  ok    ", "  warn  ", "  ?     "];
    let told = |line: &'_ str| states.into_iter().any(|state| line.starts_with(state));
    let lines: Vec<&str> = ended.stdout.lines().filter(|line| told(line)).collect();
    let findings = report["findings"].as_array().unwrap();
    assert_eq!(lines.len(), findings.len(), "{}", ended.stdout);
    for (line, finding) in lines.iter().zip(findings) {
        let name = finding["name"].as_str().unwrap();
        let rest = line[states[0].len()..].strip_prefix(name);
        assert!(
            rest.is_some_and(|rest| rest.starts_with("  ")),
            "{name}: {line}"
        );
        let area = finding["area"].as_str().unwrap();
        assert!(ended.stdout.lines().any(|line| line == area), "{area}");
    }
    let warned = lines
        .iter()
        .filter(|line| line.starts_with(states[1]))
        .count();
    match warned {
        0 => assert_says(&ended.stdout, "Nothing here distorts measurements."),
        1 => assert_says(&ended.stdout, "\n1 warning. "),
        _ => assert_says(&ended.stdout, &format!("\n{warned} warnings. ")),
    }
}
