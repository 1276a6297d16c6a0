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
fn the_text_has_the_same_findings() {
    let ended = ringside(&["doctor"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for name in [
        "io_uring",
        "descriptors",
        "local ports",
        "congestion control",
        "governor",
    ] {
        assert_says(&ended.stdout, name);
    }
}
