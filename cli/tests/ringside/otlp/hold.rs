//! The same of a hold: a collector gets what its record says, and a receiver that hangs, refuses or
//! dies changes nothing about it.

use std::fs;
use std::net::TcpListener;

use rustix::process::Signal;
use serde_json::Value;

use super::{Collector, Metrics, agree, attributes, bucket, is_there, read, receiver, says, whole};
use crate::child::{Ended, Folder, Server, assert_says, command, start, took_place, until};
use crate::ports::free_port;

/// The sum of a map of counts.
fn total(counts: &Value) -> u64 {
    let counts = counts.as_object().unwrap().values();
    counts.map(|count| count.as_u64().unwrap()).sum()
}

/// What a collector has of a hold, once it has all that the record has.
fn metrics(collector: &Collector, record: &Value) -> Metrics {
    let due = record["heartbeats"]["due"].as_u64();
    let received = record["bytes"]["received"].as_u64();
    collector.metrics_once(|metrics| {
        let has = |name| Some(metrics.sum(name, &[]));
        has("ringside.hold.heartbeats") == due && has("ringside.received") == received
    })
}

#[test]
fn a_collector_has_what_the_record_of_a_hold_has_to_the_last_heartbeat() {
    if !is_there() {
        return;
    }
    // Heartbeats are answered or refused, and connections are lost.
    let server = Server::start(&["--idle-timeout", "300ms"]);
    let folder = Folder::new();
    let collector = Collector::start(&folder, free_port(), "");
    let record = folder.path("record.json");
    let mut hold = command(&["hold", "-c", "30", "-d", "2500ms", "--open-rate", "100"]);
    hold.args(["--heartbeat", "700ms", "--back-off", "10ms..50ms"]);
    hold.args(["--format", "json", "-o", &record, "--run-name", "nightly"]);
    hold.args(["--threshold", "survival>=99.5%", "--otlp", &collector.url()]);
    let ended = start(hold.arg(server.at("/limited/15"))).end();
    // A busy machine's figures may be void, and then so is the threshold.
    assert!(matches!(ended.code, Some(99 | 4)), "{}", ended.stderr);
    assert!(!ended.stderr.contains("--otlp"), "{}", ended.stderr);
    let record = read(&record);
    let metrics = metrics(&collector, &record);
    for outcome in ["answered", "failed", "unfinished", "skipped"] {
        let tags = [("outcome", outcome), ("run", "nightly")];
        let sent = metrics.sum("ringside.hold.heartbeats", &tags);
        assert_eq!(
            Some(sent),
            record["heartbeats"][outcome].as_u64(),
            "{outcome}"
        );
    }
    assert!(record["losses"]["idle_close"].as_u64() > Some(0));
    counts_agree(&metrics, &record);
    for figure in ["heartbeat_time", "set_up_time", "re_establish_time"] {
        let point = &metrics.points(&format!("ringside.hold.{figure}"))[0];
        times_agree(point, &record[format!("{figure}_us")], figure);
    }
    let lateness = &metrics.points("ringside.lateness")[0];
    agree(lateness, &record["lateness_us"], "lateness");
    let seconds = &metrics.points("ringside.run")[0]["asDouble"];
    assert!(seconds.as_f64() >= record["duration_s"].as_f64());
    assert_eq!(metrics.resource()["ringside.run"], "nightly");
    span_agrees(&collector, &ended, &record);
}

/// Holds what is told by kind, and what has one value, to a record.
fn counts_agree(metrics: &Metrics, record: &Value) {
    for (metric, of_record) in [
        ("ringside.hold.losses", "losses"),
        ("ringside.hold.failed_attempts", "failed_attempts"),
        ("ringside.hold.heartbeat_errors", "heartbeat_errors"),
    ] {
        let counts = &record[of_record];
        let is_any = total(counts) > 0;
        assert_eq!(metrics.has(metric), is_any, "{of_record}");
        for (kind, count) in counts.as_object().unwrap() {
            let sent = metrics.sum(metric, &[("kind", kind)]);
            assert_eq!(Some(sent), count.as_u64(), "{of_record} {kind}");
        }
    }
    for name in ["opened", "reconnects", "given_up"] {
        let sent = metrics.sum(&format!("ringside.hold.{name}"), &[]);
        assert_eq!(Some(sent), record["connections"][name].as_u64(), "{name}");
    }
    for name in ["received", "sent"] {
        let sent = metrics.sum(&format!("ringside.{name}"), &[]);
        assert_eq!(Some(sent), record["bytes"][name].as_u64(), "{name}");
    }
    let sum = &metrics.metric("ringside.hold.opened")["sum"];
    assert_eq!(
        (&sum["aggregationTemporality"], &sum["isMonotonic"]),
        (&2.into(), &true.into())
    );
}

/// Holds a histogram to the times of a record: what is exact, and percentiles within a bucket.
fn times_agree(point: &Value, times: &Value, what: &str) {
    agree(point, times, what);
    for (q, name) in [(0.5, "p50"), (0.99, "p99")] {
        let (low, high) = bucket(point, q);
        let ours = times[name].as_f64().unwrap() / 1e6;
        let close = 1.0 + 1e-9;
        let holds = low / close < ours && ours <= high * close;
        assert!(holds, "{what} {name}: {ours} between {low} and {high}");
    }
}

/// Holds the span of a hold whose threshold was crossed to its record.
fn span_agrees(collector: &Collector, ended: &Ended, record: &Value) {
    let spans = collector.spans(1);
    let span = &spans[0];
    let said = attributes(span);
    assert_eq!((spans.len(), &span["name"]), (1, &"ringside hold".into()));
    let code = ended.code.map(|code| code.to_string());
    assert_eq!(said.get("ringside.exit_code"), code.as_ref());
    // STATUS_CODE_ERROR.
    assert_eq!(span["status"]["code"], 2, "{span}");
    for figure in [
        "connections.asked",
        "connections.lost",
        "connections.survival",
        "heartbeats.answered",
        "heartbeat_time_us.p99",
        "set_up_time_us.max",
        "losses.idle_close",
        "duration_s",
    ] {
        let figure_of_record = record.pointer(&format!("/{}", figure.replace('.', "/")));
        let figure_of_record = figure_of_record.and_then(Value::as_f64);
        let told = said[&format!("ringside.{figure}")].parse().ok();
        assert_eq!(told, figure_of_record, "{figure}: {span}");
    }
    let took = whole(&span["endTimeUnixNano"]) - whole(&span["startTimeUnixNano"]);
    assert!(took >= 2_500_000_000, "{took}");
    assert_says(&span["events"].to_string(), "survival>=99.5%");
}

#[test]
fn what_a_hold_counted_until_ctrl_c_arrives() {
    if !is_there() {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let collector = Collector::start(&folder, free_port(), "");
    let record = folder.path("record.json");
    let mut hold = command(&["hold", "-c", "5", "-d", "1h", "--heartbeat", "100ms"]);
    hold.args(["--format", "json", "-o", &record]);
    hold.args(["--otlp", &collector.url(), &server.at("/")]);
    let hold = start(&mut hold);
    until("something has arrived", || !collector.messages().is_empty());
    hold.signal(Signal::INT);
    let stopped = hold.end();
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    assert!(!stopped.stderr.contains("--otlp"), "{}", stopped.stderr);
    metrics(&collector, &read(&record));
    let spans = collector.spans(1);
    assert_eq!(attributes(&spans[0])["ringside.exit_code"], "130");
    assert_says(&spans[0]["status"]["message"].to_string(), "interrupted");
}

/// A short hold, which ends as one does.
fn hold_into(url: &str) -> (Ended, Value) {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let record = folder.path("record.json");
    let mut hold = command(&["hold", "-c", "3", "-d", "1500ms", "--heartbeat", "100ms"]);
    hold.args(["--format", "json", "-o", &record, "--otlp", url]);
    let ended = start(hold.arg(server.at("/"))).end();
    assert!(took_place(ended.code), "{:?}: {}", ended.code, ended.stderr);
    let record = serde_json::from_str(&fs::read_to_string(&record).unwrap()).unwrap();
    (ended, record)
}

#[test]
fn a_receiver_that_refuses_or_hangs_costs_a_hold_no_heartbeat() {
    let busy =
        b"HTTP/1.1 503 x\r\nRetry-After: 3600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let (busy, _heads) = receiver(says(busy));
    // Nobody takes its connections, which stand in the backlog.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = (format!("http://{}", silent.local_addr().unwrap()), silent);
    let nobody = format!("http://127.0.0.1:{}", free_port());
    for (url, why) in [
        (&busy, "3600 s of rest"),
        (&silent.0, "no answer in time"),
        (&nobody, "nothing is listening there"),
    ] {
        let (ended, record) = hold_into(url);
        assert_says(&ended.stderr, "intervals didn't reach");
        assert_says(&ended.stderr, why);
        assert!(record["connections"]["survived"] == 3, "{record}");
        let answered = record["heartbeats"]["answered"].as_u64();
        assert!(answered > Some(0), "{record}");
    }
}

#[test]
fn what_came_of_a_hold_after_a_collector_was_killed_is_said_to_be_missing() {
    if !is_there() {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let collector = Collector::start(&folder, free_port(), "");
    let mut hold = command(&["hold", "-c", "3", "-d", "4s", "--heartbeat", "100ms"]);
    hold.args(["--otlp", &collector.url()]);
    let hold = start(hold.arg(server.at("/")));
    until("something has arrived", || !collector.messages().is_empty());
    drop(collector.running);
    let ended = hold.end();
    assert!(took_place(ended.code), "{}", ended.stderr);
    assert_says(&ended.stderr, "--otlp: the last ");
    assert_says(&ended.stderr, "/v1/traces: nothing is listening there");
}
