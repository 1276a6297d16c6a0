//! What answers must be: `--expect`, and `# @expect` in a file of targets, against our own server.

use std::fs;

use serde_json::Value;

use super::child::{Folder, Server, assert_says, ringside};

#[test]
fn an_answer_that_is_not_as_expected_fails_and_the_report_says_why() {
    let server = Server::start(&[]);
    let url = server.at("/");
    for more in [&[][..], &["--http2"]] {
        let words = ["run", "-n10", "-c2", "--threshold", "errors<1%", &url];
        let run = |rules: &[&str]| {
            let rules = rules.iter().flat_map(|rule| ["--expect", rule]);
            let words: Vec<&str> = words.into_iter().chain(rules).collect();
            ringside(&[&words, more].concat())
        };
        let ended = run(&["status=200", "body~ello", "header:Content-Type~text"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let ended = run(&["status=2xx", "body~no such text"]);
        assert_eq!(ended.code, Some(99), "{ended:?}");
        assert_says(&ended.stdout, "\n  10 unexpected_answer: ");
        let line = "\n    expected body~no such text (10), e.g. got Hello, World!\n";
        assert_says(&ended.stdout, line);
        let ended = run(&["status=404"]);
        assert_says(
            &ended.stdout,
            "expected status=404 (10), e.g. got 200: Hello, World!\n",
        );
    }
}

#[test]
fn json_is_looked_into() {
    let server = Server::start(&[]);
    let url = server.at("/echo");
    let body = r#"{"user": {"name": "bob", "password": "canary-1"}}"#;
    let run = |rule: &str| {
        let words = [
            "run", "-n5", "-c1", "-b", body, "--expect", rule, "--format", "json", &url,
        ];
        let ended = ringside(&words);
        let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
        assert!(!ended.stdout.contains("canary"), "{record}");
        record
    };
    let record = run("json:$.user.name=bob");
    assert_eq!(record["exchanges"]["completed"], 5);
    assert_eq!(record["plan"]["expect"][0], "json:$.user.name=bob");
    assert_eq!(record["unexpected_answers"], Value::Array(Vec::new()));
    let record = run("json:$.user.name=alice");
    assert_eq!(record["errors"]["unexpected_answer"], 5);
    let unmet = &record["unexpected_answers"][0];
    assert_eq!(unmet["expected"], "json:$.user.name=alice");
    assert_eq!(
        (&unmet["came"], &unmet["failed"]),
        (&"bob".into(), &5.into())
    );
    let record = run("json:$.user.password=canary-2");
    let unmet = &record["unexpected_answers"][0];
    let came = unmet["came"].as_str().expect("an example");
    assert!(came.starts_with("redacted:"), "{came}");
}

#[test]
fn each_request_of_a_file_can_expect_something_else() {
    let server = Server::start(&[]);
    let folder = Folder::new();
    let text = format!(
        "### home\n# @expect body~Hello\nGET {}\n\n\
         ### gone\n# @expect status=404\nGET {}\n\n\
         ### broken\n# @expect header:x-none\nGET {}\n",
        server.at("/"),
        server.at("/status/404"),
        server.at("/"),
    );
    let file = folder.path("mix.http");
    fs::write(&file, text).unwrap();
    for more in [&[][..], &["--http2"]] {
        let words = [
            "run",
            "--targets",
            &file,
            "-n30",
            "-c3",
            "--expect",
            "status=200",
        ];
        let ended = ringside(&[&words[..], &["--format", "json"], more].concat());
        let record: Value = serde_json::from_str(&ended.stdout).expect("a record");
        let failed = |name: &str| {
            let mut steps = record["steps"].as_array().unwrap().iter();
            let step = steps.find(|step| step["name"] == name).expect(name);
            (step["completed"].clone(), step["failed"].clone())
        };
        assert_eq!(failed("home"), (10.into(), 0.into()), "{record}");
        assert_eq!(failed("gone"), (10.into(), 0.into()));
        assert_eq!(failed("broken"), (0.into(), 10.into()));
        let unmet = &record["unexpected_answers"][0];
        assert_eq!(
            (&unmet["step"], &unmet["failed"]),
            (&"broken".into(), &10.into())
        );
    }
    fs::write(&file, "# @expect status=1\nGET http://x/\n").unwrap();
    let ended = ringside(&["run", "--targets", &file]);
    assert_eq!(ended.code, Some(2));
    assert_says(&ended.stderr, "mix.http:1: \"1\" isn't a status");
}

#[test]
fn what_cannot_be_expected_is_refused() {
    for (words, said) in [
        (
            &["--expect", "200", "http://h/"][..],
            "--expect: this isn't a rule",
        ),
        (
            &["--expect", "body~a", "ws://h/"],
            "applies to HTTP/1.1 and HTTP/2",
        ),
    ] {
        let ended = ringside(&[&["run"], words].concat());
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert_says(&ended.stderr, said);
    }
}
