//! The same of a soak: a collector gets what its load counts, and a span of the whole.

use std::fs;

use rustix::process::Signal;

use super::{Collector, attributes, is_there, read};
use crate::child::{Folder, Server, command, start, until};
use crate::ports::free_port;

#[test]
fn a_collector_has_the_requests_of_a_soak_and_a_span_that_says_what_it_found() {
    if !is_there() {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let collector = Collector::start(&folder, free_port(), "");
    let out = folder.path("out");
    let mut soak = command(&["soak", &server.url, "--rate", "50", "--for", "10m"]);
    soak.args(["--warm-up", "1s", "-o", &out, "--run-name", "nightly"]);
    let running = start(soak.args(["--otlp", &collector.url()]));
    let samples = folder.path("out/samples.ndjson");
    until("three samples", || {
        fs::read_to_string(&samples).is_ok_and(|text| text.lines().count() >= 3)
    });
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert!(!ended.stderr.contains("--otlp"), "{}", ended.stderr);
    let record = read(&format!("{out}/runs/001.json"));
    let exchanges = &record["exchanges"];
    let of = |name: &str| exchanges[name].as_u64().unwrap();
    let all = of("completed") + of("failed") + of("unfinished");
    let metrics = collector.metrics(all);
    let completed = [("outcome", "completed"), ("run", "nightly")];
    let sent = metrics.sum("ringside.requests", &completed);
    assert_eq!(sent, of("completed"), "{record}");
    let spans = collector.spans(1);
    assert_eq!(spans[0]["name"], "ringside soak");
    let said = attributes(&spans[0]);
    assert_eq!(said["ringside.target"], server.url);
    assert_eq!(said["ringside.exit_code"], "130");
    let soak = read(&format!("{out}/soak.json"));
    assert_eq!(soak["verdict"], said["ringside.verdict"]);
    let completed = soak["exchanges"]["completed"].as_u64().unwrap();
    assert_eq!(said["ringside.exchanges.completed"], completed.to_string());
}
