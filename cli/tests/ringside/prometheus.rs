//! A real Prometheus scrapes a run, and has what the record has.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

use measure::time::unix_nanoseconds;
use serde_json::Value;

use super::child::{Folder, Server, command, start, until};
use super::peers::{Peer, installed, peer, ready};
use super::ports::free_port;

/// What the server at `port` answers to `path`, if it does.
fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}

/// A Prometheus that scrapes `target` each second, with native histograms.
fn prometheus(folder: &Folder, target: u16) -> (Peer, u16) {
    let port = free_port();
    let configuration = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\nscrape_configs:\n  - \
         job_name: load\n    static_configs: [{{targets: [\"127.0.0.1:{target}\"]}}]\n"
    );
    let file = folder.write("prometheus.yml", &configuration);
    let running = peer(Command::new("prometheus").args([
        &format!("--config.file={file}"),
        &format!("--storage.tsdb.path={}", folder.path("data")),
        &format!("--web.listen-address=127.0.0.1:{port}"),
        "--enable-feature=native-histograms",
        "--log.level=error",
    ]));
    ready(port, "prometheus");
    until("prometheus is ready", || get(port, "/-/ready").is_some());
    (running, port)
}

/// The value of an expression at a time in seconds; none where it has none.
fn ask(port: u16, expression: &str, at_s: f64) -> Option<f64> {
    let escaped: String = expression
        .bytes()
        .map(|byte| format!("%{byte:02x}"))
        .collect();
    let answer = get(
        port,
        &format!("/api/v1/query?query={escaped}&time={at_s:.3}"),
    )?;
    let answer: Value = serde_json::from_str(&answer).ok()?;
    let value = answer.pointer("/data/result/0/value/1")?.as_str()?;
    value.parse().ok()
}

#[test]
fn prometheus_has_every_request_and_the_percentiles_of_the_report() {
    if !installed("prometheus", "--version") || !installed("promtool", "--version") {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let target = free_port();
    let (_prometheus, port) = prometheus(&folder, target);
    let record = folder.path("record.json");
    let mut run = command(&[
        "run", "-R", "500", "-d", "4s", "--format", "json", "-o", &record,
    ]);
    run.args([
        "--metrics",
        &format!("127.0.0.1:{target}"),
        &server.at("/wait10"),
    ]);
    let run = start(&mut run);
    let mut text = None;
    until("there are metrics", || {
        text = get(target, "/metrics").filter(|text| text.contains("_bucket"));
        text.is_some()
    });
    let ended = run.end();
    let at_s = unix_nanoseconds() as f64 / 1e9;
    assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
    let record: Value = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    let completed = record["exchanges"]["completed"].as_f64();
    let mut found = None;
    until("prometheus has the last scrape", || {
        found = ask(port, "ringside_requests_total{outcome=\"completed\"}", at_s);
        found == completed
    });
    let offered = ask(port, "ringside_requests_offered_total", at_s);
    assert_eq!(offered, completed);
    for (q, name) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
        let expression = format!("histogram_quantile({q}, ringside_response_time_seconds)");
        let seen = ask(port, &expression, at_s).expect("a native histogram") * 1e6;
        let report = record["response_time_us"][name].as_f64().unwrap();
        assert!(
            (seen / report - 1.0).abs() < 0.01,
            "{name}: {seen} and {report}"
        );
    }
    passes_promtool(&text.unwrap());
}

/// Whether `promtool check metrics` finds nothing wrong with a text.
fn passes_promtool(text: &str) {
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = promtool.stdin.take().unwrap();
    stdin.write_all(text.as_bytes()).unwrap();
    drop(stdin);
    let output = promtool.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.is_empty(), "{said}\n{text}");
}
