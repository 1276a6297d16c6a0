//! `ringside soak` while it goes on: its page and its metrics, across a restart of the server, from
//! one part to the next, and out of a private network.

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::child::{Folder, Server, assert_says, command, comparison_of_ours, ringside, until};
use super::page::{Run, body};
use super::ports::free_port;
use super::watched::{metric, scrape};

/// A soak of a server with a page and metrics, and where these are.
struct Part {
    run: Run,
    metrics: String,
}

impl Part {
    fn begin(url: &str, place: [&str; 2]) -> Part {
        let words = ["soak", url, "--rate", "50", "--for", "10m", "--live=0"];
        let mut soak = command(&words);
        soak.args(["--metrics", "127.0.0.1:0", "--run-name", "nightly"]);
        let run = Run::of(soak.args(["--warm-up", "1s"]).args(place));
        let at = "metrics are at http://";
        let line = run.said.lines().find_map(|line| line.strip_prefix(at));
        let line = line.unwrap_or_else(|| panic!("{}", run.said));
        let metrics = line.trim_end_matches("/metrics").to_owned();
        Part { run, metrics }
    }

    /// Scrapes until something is so of it, and sees that no counter falls meanwhile.
    fn scraped(&self, what: &str, mut so: impl FnMut(&str) -> bool) -> String {
        let mut last = String::new();
        until(what, || {
            let text = scrape(&self.metrics).expect("it goes on");
            let (before, now) = (counters(&last), counters(&text));
            for (name, value) in before {
                assert!(now[&name] >= value, "{name} fell: {last}\n{text}");
            }
            last = text;
            so(&last)
        });
        last
    }

    /// Ends it by its page, and asks that until it knows the end. What it showed last.
    fn end(self) -> Value {
        let authorization = format!("Authorization: Bearer {}\r\n", self.run.token());
        let stopped = self.run.ask("POST", "/stop", &authorization).unwrap();
        assert_says(&stopped, "HTTP/1.1 204 ");
        let mut last = Value::Null;
        while last["stage"] != "over" {
            let seq = last["seq"].as_u64().unwrap_or(0);
            let Some(answer) = self.run.get(&format!("/updates?seq={seq}&viewer=7")) else {
                break;
            };
            last = serde_json::from_str(body(&answer)).unwrap();
        }
        let (code, said) = self.run.end();
        assert_eq!(code, Some(130), "{said}");
        last
    }
}

/// What must not fall, by its name and labels.
fn counters(text: &str) -> BTreeMap<String, f64> {
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.filter_map(|line| line.rsplit_once(' '));
    let is_counter = |name: &str| {
        let name = name.split('{').next().unwrap_or_default();
        ["_total", "_bucket", "_count", "_sum"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let counters = samples.filter(|(name, _)| is_counter(name));
    let read = counters.map(|(name, value)| (name.to_owned(), value.parse().unwrap()));
    read.collect()
}

fn requests(text: &str, outcome: &str) -> f64 {
    let label = format!("outcome=\"{outcome}\"");
    metric(text, "ringside_requests_total", &label)
}

#[test]
fn a_soak_is_watched_as_a_run_across_a_restart_of_its_server_and_in_each_of_its_parts() {
    let folder = Folder::new();
    let out = folder.path("out");
    let address = format!("127.0.0.1:{}", free_port());
    let serve = || Server::start(&["--addr", &address]);
    let server = serve();
    let url = server.at("/");
    let first = Part::begin(&url, ["-o", &out]);
    let before = first.scraped("answers are counted", |text| {
        requests(text, "completed") >= 100.0
    });
    drop(server);
    let gone = first.scraped("failures are counted", |text| {
        requests(text, "failed") > requests(&before, "failed")
    });
    let server = serve();
    let answered = requests(&gone, "completed");
    let after = first.scraped("answers are counted again", |text| {
        requests(text, "completed") >= answered + 100.0
    });
    for (name, value) in counters(&before) {
        assert!(counters(&after)[&name] >= value, "{name} fell");
    }
    assert_says(&after, "run=\"nightly\"");
    // Ten at first, and ten to the server that came back.
    let opened = metric(&after, "ringside_connections_opened_total", "");
    assert!(opened >= 20.0, "{after}");
    assert_says(&first.run.get("/").unwrap(), &server.url);
    let last = first.end();
    assert_eq!(
        last["parts"]["status"], "The soak was ended early",
        "{last}"
    );
    let rows = last["rows"].as_array().unwrap();
    assert!(rows.len() >= 4, "{last}");
    let second = Part::begin(&url, ["--resume", &out]);
    assert_says(&second.run.get("/").unwrap(), ", part 2");
    let anew = second.scraped("answers of the second part are counted", |text| {
        requests(text, "completed") > 0.0
    });
    let of_both = requests(&after, "completed") + requests(&anew, "completed");
    assert!(
        requests(&anew, "completed") < requests(&after, "completed"),
        "{anew}"
    );
    second.end();
    let soak = fs::read_to_string(format!("{out}/soak.json")).unwrap();
    let soak: Value = serde_json::from_str(&soak).unwrap();
    assert_eq!(soak["parts"].as_array().unwrap().len(), 2, "{soak}");
    let completed = soak["exchanges"]["completed"].as_f64().unwrap();
    assert!(completed >= of_both, "{completed}, {of_both}");
}

#[test]
fn the_page_of_a_row_is_reached_from_outside_of_its_network_and_metrics_are_refused_there() {
    let folder = Folder::new();
    let rest = "[workload]\npath = \"/\"\nconnections = 2\nrate = 50\n";
    let file = comparison_of_ours(&folder, "", rest);
    let mut words = vec!["soak", &file, "--for", "10m"];
    for (flag, value) in [("--metrics", "0"), ("--otlp", "http://127.0.0.1:9")] {
        let refused = ringside(&[&words[..], &[flag, value]].concat());
        assert_eq!(refused.code, Some(2), "{}", refused.stderr);
        assert_says(&refused.stderr, &format!("{flag}: "));
        assert_says(&refused.stderr, "add --host-network");
    }
    let refused = ringside(&[&words[..], &["--intervals", "-"]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    let server = Server::start(&[]);
    let taken = format!("--live={}", server.authority());
    let refused = ["soak", &server.url, "--rate", "5", "--for", "1h", &taken];
    let elsewhere = folder.path("elsewhere");
    let refused = ringside(&[&refused[..], &["-o", &elsewhere]].concat());
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert_says(&refused.stderr, "in use");
    assert!(!fs::exists(&elsewhere).unwrap());
    let (out, intervals) = (folder.path("out"), folder.path("intervals.ndjson"));
    words.extend(["-o", &out, "--live=0", "--intervals", &intervals]);
    let part = Part {
        run: Run::of(&mut command(&words)),
        metrics: String::new(),
    };
    assert_says(&part.run.get("/").unwrap(), "ours");
    until("three seconds are on the page", || {
        let answer = part.run.get("/updates").unwrap();
        let shown: Value = serde_json::from_str(body(&answer)).unwrap();
        shown["rows"].as_array().unwrap().len() >= 3
    });
    let last = part.end();
    assert_eq!(
        last["parts"]["status"], "The soak was ended early",
        "{last}"
    );
    let lines = fs::read_to_string(intervals).unwrap();
    let lines = lines
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sum: u64 = lines.filter_map(|line| line["completed"].as_u64()).sum();
    let record = fs::read_to_string(format!("{out}/runs/001.json")).unwrap();
    let record: Value = serde_json::from_str(&record).unwrap();
    assert_eq!(
        record["exchanges"]["completed"].as_u64(),
        Some(sum),
        "{record}"
    );
}
