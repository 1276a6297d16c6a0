//! What a real OpenTelemetry Collector gets of a run is what its record says; and a receiver that
//! hangs, refuses or dies changes nothing about a run but what is said of it.

mod hold;
mod soak;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use measure::histogram::Histogram;
use rustix::process::Signal;
use serde_json::Value;

use super::child::{
    Ended, Folder, Server, assert_says, command, comparison_of_ours, ringside, start, took_place,
    until,
};
use super::collector;
use super::peers::{Peer, answers, peer, ready};
use super::ports::free_port;
use super::tls::{Certificates, LOCAL};
use super::watched::MIX;

/// A collector that writes what it gets into a file.
struct Collector {
    running: Peer,
    port: u16,
    file: String,
}

/// Whether there is a collector; says so if not.
fn is_there() -> bool {
    let program = collector::program();
    answers(Command::new(program).arg("--version"), collector::NAME)
}

impl Collector {
    /// Listens on `port`; `tls` is its part of the configuration, empty for none.
    fn start(folder: &Folder, port: u16, tls: &str) -> Collector {
        let file = folder.path("received.json");
        let text = collector::configuration(port, tls, Path::new(&file));
        let configuration = folder.write("collector.yaml", &text);
        let running = peer(Command::new(collector::program()).args(["--config", &configuration]));
        ready(port, "otlp-collector");
        Collector {
            running,
            port,
            file,
        }
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it got, message by message; one that isn't written yet isn't there.
    fn messages(&self) -> Vec<Value> {
        collector::messages(Path::new(&self.file))
    }

    /// The last metrics, once a number of requests is in them.
    fn metrics(&self, requests: u64) -> Metrics {
        self.metrics_once(|last| last.requests() == requests)
    }

    /// The last metrics, once all is in them.
    fn metrics_once(&self, is_all: impl Fn(&Metrics) -> bool) -> Metrics {
        let mut last = None;
        until("the collector has everything", || {
            let messages = self.messages();
            let mut resources = messages
                .iter()
                .filter_map(|one| one.pointer("/resourceMetrics/0"));
            last = resources.next_back().cloned().map(Metrics);
            last.as_ref().is_some_and(&is_all)
        });
        last.unwrap()
    }

    /// All spans, once there are so many.
    fn spans(&self, count: usize) -> Vec<Value> {
        let mut spans = Vec::new();
        until("the collector has every span", || {
            let messages = self.messages();
            let each = messages.iter().filter_map(|message| {
                let spans = message.pointer("/resourceSpans/0/scopeSpans/0/spans")?;
                spans.as_array().cloned()
            });
            spans = each.flatten().collect();
            spans.len() >= count
        });
        spans
    }
}

/// Metrics of one resource.
struct Metrics(Value);

impl Metrics {
    fn resource(&self) -> BTreeMap<String, String> {
        attributes(&self.0["resource"])
    }

    fn find(&self, name: &str) -> Option<&Value> {
        let metrics = self.0.pointer("/scopeMetrics/0/metrics").unwrap();
        let mut metrics = metrics.as_array().unwrap().iter();
        metrics.find(|metric| metric["name"] == name)
    }

    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn metric(&self, name: &str) -> &Value {
        let found = self.find(name);
        found.unwrap_or_else(|| panic!("{name}: {}", self.0))
    }

    fn points(&self, name: &str) -> &Vec<Value> {
        let metric = self.metric(name);
        let kinds = ["sum", "gauge", "exponentialHistogram"];
        let data = kinds.iter().find_map(|kind| metric.get(kind)).unwrap();
        data["dataPoints"].as_array().unwrap()
    }

    /// The points that have these attributes.
    fn having(&self, name: &str, wanted: &[(&str, &str)]) -> Vec<&Value> {
        let points = self.points(name).iter();
        let points = points.filter(|point| {
            let all = attributes(point);
            let has = |(key, value): &(&str, &str)| all.get(*key).is_some_and(|one| one == value);
            wanted.iter().all(has)
        });
        points.collect()
    }

    /// The sum of the points that have these attributes.
    fn sum(&self, name: &str, wanted: &[(&str, &str)]) -> u64 {
        let points = self.having(name, wanted).into_iter();
        points.map(|point| whole(&point["asInt"])).sum()
    }

    fn requests(&self) -> u64 {
        self.sum("ringside.requests", &[])
    }
}

/// Attributes as text.
fn attributes(of: &Value) -> BTreeMap<String, String> {
    let list = of["attributes"].as_array().unwrap().iter();
    list.map(|attribute| {
        let value = attribute["value"].as_object().unwrap();
        let value = value.values().next().unwrap();
        let text = value.as_str().map(str::to_owned);
        let key = attribute["key"].as_str().unwrap().to_owned();
        (key, text.unwrap_or_else(|| value.to_string()))
    })
    .collect()
}

/// A whole number as JSON of protobuf has it; one that is left out is 0.
fn whole(value: &Value) -> u64 {
    match value {
        Value::Null => 0,
        Value::String(text) => text.parse().unwrap(),
        other => other.as_u64().unwrap(),
    }
}

fn read(path: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn ended(record: &Value) -> u64 {
    let outcomes = ["completed", "failed", "unfinished"];
    let counts = outcomes.map(|outcome| record["exchanges"][outcome].as_u64().unwrap());
    counts.iter().sum()
}

#[test]
fn a_collector_has_what_the_record_has_to_the_last_request() {
    if !is_there() {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let collector = Collector::start(&folder, free_port(), "");
    let targets = folder.write("mix.http", &MIX.replace("{{url}}", &server.url));
    let record = folder.path("record.json");
    let ended_with = ringside(&[
        "run",
        "--targets",
        &targets,
        "-R",
        "400",
        "-c",
        "20",
        "-d",
        "2500ms",
        "--timeout",
        "300ms",
        "--otlp",
        &collector.url(),
        "--run-name",
        "nightly",
        "--format",
        "json",
        "-o",
        &record,
    ]);
    assert!(took_place(ended_with.code), "{}", ended_with.stderr);
    assert!(!ended_with.stderr.contains("otlp"), "{}", ended_with.stderr);
    let record = read(&record);
    let metrics = collector.metrics(ended(&record));
    for step in record["steps"].as_array().unwrap() {
        let name = step["name"].as_str().unwrap();
        for outcome in ["completed", "failed", "unfinished"] {
            let tags = [("step", name), ("outcome", outcome), ("run", "nightly")];
            let sent = metrics.sum("ringside.requests", &tags);
            assert_eq!(Some(sent), step[outcome].as_u64(), "{name} {outcome}");
        }
        for figure in ["response_time", "service_time"] {
            let points = metrics.having(&format!("ringside.{figure}"), &[("step", name)]);
            let times = &step[format!("{figure}_us")];
            agree(points[0], times, name);
        }
    }
    counts_agree(&metrics, &record);
    let resource = metrics.resource();
    assert_eq!(resource["service.name"], "ringside");
    assert_eq!(resource["service.version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(resource["ringside.run"], "nightly");
    assert!(!resource["host.name"].is_empty() && resource["service.instance.id"].len() == 36);
}

/// Holds errors by kind, answers by status, bytes and connections to those of a record.
fn counts_agree(metrics: &Metrics, record: &Value) {
    for (metric, tag, of_record) in [
        ("ringside.errors", "kind", "errors"),
        ("ringside.answers", "status", "status"),
    ] {
        let counts = record[of_record].as_object().unwrap();
        assert_eq!(metrics.points(metric).len(), counts.len(), "{of_record}");
        for (name, count) in counts {
            let sent = metrics.sum(metric, &[(tag, name)]);
            assert_eq!(Some(sent), count.as_u64(), "{of_record} {name}");
        }
    }
    for (metric, name) in [("ringside.received", "received"), ("ringside.sent", "sent")] {
        let window = record["bytes"][name].as_u64().unwrap();
        let drain = record["drain"][format!("bytes_{name}")].as_u64().unwrap();
        assert_eq!(metrics.sum(metric, &[]), window + drain, "{name}");
        assert_eq!(metrics.metric(metric)["unit"], "By");
        let sum = &metrics.metric(metric)["sum"];
        assert_eq!(
            (&sum["aggregationTemporality"], &sum["isMonotonic"]),
            (&2.into(), &true.into())
        );
    }
    let opened = record["connections"]["opened"].as_u64();
    assert_eq!(
        Some(metrics.sum("ringside.connections_opened", &[])),
        opened
    );
}

/// Holds a point of an exponential histogram to the times of a record.
fn agree(point: &Value, times: &Value, what: &str) {
    let ns = |seconds: &Value| seconds.as_f64().map(|seconds| (seconds * 1e9).round());
    let ns_of_us = |us: &Value| us.as_f64().map(|us| (us * 1e3).round());
    assert_eq!(
        whole(&point["count"]),
        times["count"].as_u64().unwrap_or(0),
        "{what}"
    );
    assert_eq!(ns(&point["min"]), ns_of_us(&times["min"]), "{what}");
    assert_eq!(ns(&point["max"]), ns_of_us(&times["max"]), "{what}");
}

/// Where a share `q` of what a point counts is reached: the ends of that bucket, in seconds.
fn bucket(point: &Value, q: f64) -> (f64, f64) {
    let base = f64::powi(2.0, -point["scale"].as_i64().unwrap() as i32).exp2();
    let wanted = (q * whole(&point["count"]) as f64).ceil() as u64;
    let mut seen = whole(&point["zeroCount"]);
    let offset = point["positive"]["offset"].as_i64().unwrap_or(0) as i32;
    let counts = point["positive"]["bucketCounts"].as_array().unwrap();
    for (index, count) in (offset..).zip(counts) {
        seen += whole(count);
        if seen >= wanted {
            return (base.powi(index), base.powi(index + 1));
        }
    }
    panic!("{q} of {point}");
}

/// The highest value of the cell of a time in microseconds, in seconds.
fn end_of_cell(us: f64) -> f64 {
    let mut alone = Histogram::new();
    alone.record((us * 1e3).round() as u64);
    let (highest_ns, _) = alone.cells().next().unwrap();
    highest_ns as f64 / 1e9
}

#[test]
fn sums_are_exact_quantiles_within_a_bucket_and_the_span_says_what_came_of_it() {
    if !is_there() {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let collector = Collector::start(&folder, free_port(), "");
    let record = folder.path("record.json");
    let words = [
        "run", "-R", "500", "-d", "2s", "--format", "json", "-o", &record,
    ];
    let mut run = command(&words);
    run.args([
        "--otlp",
        &collector.url(),
        "--threshold",
        "rate>100M",
        &server.at("/wait10"),
    ]);
    let run = start(&mut run).end();
    // A busy machine's figures may be void, and then so is the threshold.
    assert!(matches!(run.code, Some(99 | 4)), "{}", run.stderr);
    let record = read(&record);
    let metrics = collector.metrics(ended(&record));
    let offered = metrics.sum("ringside.requests_offered", &[]);
    assert_eq!(offered, ended(&record));
    for figure in ["response_time", "service_time", "lateness"] {
        let point = &metrics.points(&format!("ringside.{figure}"))[0];
        agree(point, &record[format!("{figure}_us")], figure);
        let times = &record[format!("{figure}_us")];
        let us = |name: &str| times[name].as_f64().unwrap();
        let sum_s = us("mean") * us("count") / 1e6;
        let sent = point["sum"].as_f64().unwrap();
        let is_it = (sent / sum_s - 1.0).abs() < 1e-12;
        assert!(is_it, "{figure}: {sent} and {sum_s}");
        for (q, name) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99"), (0.999, "p99_9")] {
            // The record's is the highest value of a cell of ours, which is in one bucket, or the
            // longest time of all, whose cell may end behind it.
            let (low, high) = bucket(point, q);
            let (ours, close) = (end_of_cell(us(name)), 1.0 + 1e-9);
            let holds = low / close < ours && ours <= high * close;
            assert!(holds, "{figure} {name}: {ours} between {low} and {high}");
            assert!(high / low < 1.000_7, "{figure}: {high} and {low}");
        }
    }
    let spans = collector.spans(1);
    let span = &spans[0];
    let said = attributes(span);
    assert_eq!((spans.len(), &span["name"]), (1, &"ringside run".into()));
    assert_eq!(span["parentSpanId"].as_str().unwrap_or(""), "");
    let code = run.code.map(|code| code.to_string());
    assert_eq!(said.get("ringside.exit_code"), code.as_ref());
    // STATUS_CODE_ERROR.
    assert_eq!(span["status"]["code"], 2, "{span}");
    assert_eq!(said["ringside.target"], server.url);
    let completed = record["exchanges"]["completed"].to_string();
    assert_eq!(said["ringside.exchanges.completed"], completed);
    let took = whole(&span["endTimeUnixNano"]) - whole(&span["startTimeUnixNano"]);
    assert!(took >= 2_000_000_000, "{took}");
    assert_says(&span["events"].to_string(), "rate>100M");
}

#[test]
fn a_run_that_fails_is_a_span_too_and_says_why() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let collector = Collector::start(&folder, free_port(), "");
    let nobody = format!("http://127.0.0.1:{}/", free_port());
    let mut failing = command(&["run", "-d1s", "-c1", "--otlp", &collector.url(), &nobody]);
    let ended = start(&mut failing).end();
    assert_ne!(ended.code, Some(0), "{ended:?}");
    let spans = collector.spans(1);
    let span = &spans[0];
    let said = (&span["name"], &span["status"]["code"]);
    assert_eq!(said, (&"ringside run".into(), &2.into()));
    let why = span["status"]["message"].to_string();
    assert_says(&why, "nothing is listening there");
    assert_ne!(attributes(span)["ringside.exit_code"], "0", "{span}");
}

#[test]
fn rounds_are_spans_under_that_of_their_comparison() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let collector = Collector::start(&folder, free_port(), "");
    let rest = "rounds = 3\naa = false\nceiling = false\n[workload]\npath = \"/\"\n\
                connections = 2\nwindow = \"100ms\"\nsettle = \"20ms\"\nwarm_up = \"20ms\"\n";
    let file = comparison_of_ours(&folder, "", rest);
    let out = folder.path("out");
    // In a network of its own, which doesn't lead to the collector, where that is permitted.
    let ended = ringside(&["compare", &file, "-o", &out, "--otlp", &collector.url()]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("--otlp"), "{}", ended.stderr);
    let spans = collector.spans(4);
    assert_eq!(spans.len(), 4, "{spans:?}");
    let whole_of = spans.iter().find(|span| span["name"] == "ringside compare");
    let whole_of = whole_of.unwrap_or_else(|| panic!("{spans:?}"));
    assert_eq!(whole_of["status"]["code"], 1, "{whole_of}");
    assert_eq!(attributes(whole_of)["ringside.folder"], out);
    let time = |span: &Value, name: &str| whole(&span[name]);
    let (begin, end) = ("startTimeUnixNano", "endTimeUnixNano");
    let mut rounds = Vec::new();
    for span in spans.iter().filter(|span| span["name"] == "ringside round") {
        assert_eq!(span["traceId"], whole_of["traceId"]);
        assert_eq!(span["parentSpanId"], whole_of["spanId"]);
        assert!(time(whole_of, begin) <= time(span, begin) && time(span, begin) < time(span, end));
        assert!(time(span, end) <= time(whole_of, end));
        let said = attributes(span);
        assert_eq!(said["ringside.subject"], "ours");
        let number: u32 = said["ringside.round"].parse().unwrap();
        let kept = read(&format!("{out}/rounds/ours/{number:03}.json"));
        let completed = kept["sample"]["completed"].to_string();
        assert_eq!(said["ringside.completed"], completed);
        rounds.push(number);
    }
    assert_eq!(rounds, [1, 2, 3]);
}

#[test]
fn probes_are_spans_under_that_of_their_search() {
    if !is_there() {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let collector = Collector::start(&folder, free_port(), "");
    let (out, url) = (folder.path("out"), server.at("/"));
    let mut words = vec!["capacity", &url, "-o", &out, "-c", "4", "-d", "200ms"];
    words.extend(["--arrivals", "constant", "--from", "50", "--to", "100"]);
    words.extend([
        "--repeats",
        "1",
        "--confirmations",
        "1",
        "--slo",
        "errors<5%",
    ]);
    let otlp = collector.url();
    words.extend(["--otlp", &otlp]);
    let ended = ringside(&words);
    assert!(!ended.stderr.contains("--otlp"), "{}", ended.stderr);
    let spans = collector.spans(2);
    let search = spans
        .iter()
        .find(|span| span["name"] == "ringside capacity");
    let search = search.unwrap_or_else(|| panic!("{spans:?}"));
    let code = ended.code.map(|code| code.to_string());
    assert_eq!(attributes(search).get("ringside.exit_code"), code.as_ref());
    let probes = spans.iter().filter(|span| span["name"] == "ringside probe");
    let mut rates = Vec::new();
    for probe in probes {
        assert_eq!(probe["parentSpanId"], search["spanId"], "{probe}");
        rates.push(attributes(probe)["ringside.offered_rate"].clone());
    }
    assert_eq!(rates.len(), spans.len() - 1, "{spans:?}");
    assert_eq!(rates[0], "50");
}

#[test]
fn what_was_counted_until_ctrl_c_arrives() {
    if !is_there() {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let collector = Collector::start(&folder, free_port(), "");
    let record = folder.path("record.json");
    let mut run = command(&[
        "run", "-R", "100", "-d", "1h", "--format", "json", "-o", &record,
    ]);
    run.args(["--otlp", &collector.url(), &server.at("/")]);
    let run = start(&mut run);
    until("something has arrived", || !collector.messages().is_empty());
    run.signal(Signal::INT);
    let stopped = run.end();
    assert_eq!(stopped.code, Some(130), "{}", stopped.stderr);
    assert!(!stopped.stderr.contains("--otlp"), "{}", stopped.stderr);
    let record = read(&record);
    collector.metrics(ended(&record));
    let spans = collector.spans(1);
    assert_eq!(attributes(&spans[0])["ringside.exit_code"], "130");
    assert_says(&spans[0]["status"]["message"].to_string(), "interrupted");
}

/// What a misbehaving receiver does with a connection, by its number, when a request has come.
type Manner = Box<dyn Fn(usize, &str, &mut TcpStream) + Send + Sync>;

/// Listens as a receiver would, and treats each request as `manner` says; the heads that came.
fn receiver(manner: Manner) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (sender, heads) = channel();
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            for line in reader.by_ref().lines().map_while(Result::ok) {
                if let Some(text) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
                if line.is_empty() {
                    break;
                }
                head.push_str(&line);
                head.push('\n');
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            manner(number, &head, &mut stream);
            // Nobody listens once the test is over.
            let _ = sender.send(head);
        }
    });
    (url, heads)
}

/// Answers everything with the same bytes, and closes.
fn says(answer: &'static [u8]) -> Manner {
    Box::new(move |_, _, stream| {
        let _ = stream.write_all(answer);
    })
}

/// A short run, which ends as one does; no secret is in what it leaves behind.
fn run_into(otlp: &[&str], more: &[(&str, &str)]) -> (Ended, Value) {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let record = folder.path("record.json");
    let mut run = command(&["run", "-c", "2", "-R", "100", "-d", "1500ms"]);
    run.args(["--format", "json", "-o", &record]).args(otlp);
    run.arg(server.at("/"));
    run.envs(more.iter().copied());
    let ended = start(&mut run).end();
    assert!(took_place(ended.code), "{:?}: {}", ended.code, ended.stderr);
    let text = fs::read_to_string(&record).unwrap();
    assert!(!text.contains("hidden"), "{text}");
    assert!(!ended.stderr.contains("hidden"), "{}", ended.stderr);
    (ended, serde_json::from_str(&text).unwrap())
}

#[test]
fn what_a_receiver_refuses_is_said_and_the_run_ends_as_it_would_have() {
    let refusal = b"HTTP/1.1 400 x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 30\
                    \r\nConnection: close\r\n\r\n\x12\x1cno tenant for hidden-secret!";
    let busy =
        b"HTTP/1.1 503 x\r\nRetry-After: 3600\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let moved = b"HTTP/1.1 307 x\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\
                  Connection: close\r\n\r\n";
    let page = b"HTTP/1.1 200 x\r\nContent-Type: text/html\r\nContent-Length: 6\r\nConnection: \
                 close\r\n\r\n<html>";
    let partial = b"HTTP/1.1 200 x\r\nContent-Type: application/x-protobuf\r\nContent-Length: 13\
                    \r\nConnection: close\r\n\r\n\x0a\x0b\x08\x07\x12\x07too old";
    let cases: [(&[u8], &[&str]); 8] = [
        (
            refusal,
            &[
                "intervals didn't reach",
                "it answered 400: no tenant for …!",
            ],
        ),
        (busy, &["all of ", "503", "3600 s of rest"]),
        (moved, &["it answered 307 and redirects aren't followed"]),
        (page, &["it answered 200, but not as an OTLP receiver does"]),
        (
            partial,
            &[
                "/v1/metrics rejected 7 data points: too old",
                "/v1/traces rejected 7 spans",
            ],
        ),
        (b"hello\r\n\r\n", &["its answer isn't HTTP/1.1"]),
        (b"", &["it closed the connection without an answer"]),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
            &["before its answer was complete"],
        ),
    ];
    // All at once, since some are waited for.
    thread::scope(|scope| {
        for (answer, says_it) in cases {
            scope.spawn(move || {
                let (url, _heads) = receiver(says(answer));
                let header = "Authorization: Bearer hidden-secret";
                let (ended, _) = run_into(&["--otlp", &url, "--otlp-header", header], &[]);
                for part in says_it {
                    assert_says(&ended.stderr, part);
                }
            });
        }
    });
}

#[test]
fn a_receiver_that_never_answers_holds_nothing_up() {
    let (url, _heads) = receiver(Box::new(|_, _, stream| {
        // Kept open for as long as this program runs.
        std::mem::forget(stream.try_clone());
    }));
    let (ended, record) = run_into(&["--otlp", &url], &[]);
    assert_says(&ended.stderr, "intervals didn't reach");
    assert_says(&ended.stderr, "no answer in time");
    assert!(
        record["exchanges"]["completed"].as_u64() > Some(100),
        "{record}"
    );
    // Nobody takes its connections, which stand in the backlog.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (ended, _) = run_into(&["--otlp", &url], &[]);
    assert_says(&ended.stderr, "no answer in time");
}

#[test]
fn a_receiver_that_is_not_there_is_said() {
    let url = format!("http://127.0.0.1:{}", free_port());
    let (ended, _) = run_into(&["--otlp", &url], &[]);
    assert_says(
        &ended.stderr,
        &format!("{url}/v1/metrics: nothing is listening there"),
    );
    assert_says(
        &ended.stderr,
        &format!("{url}/v1/traces: nothing is listening there"),
    );
}

#[test]
fn what_a_receiver_was_too_busy_for_arrives_later_and_whole() {
    if !is_there() {
        return;
    }
    let folder = Folder::new();
    let collector = Collector::start(&folder, free_port(), "");
    let port = collector.port;
    let busy =
        b"HTTP/1.1 503 x\r\nRetry-After: 1\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    // Somebody before the collector who refuses the first requests, and then lets all through.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let Ok(mut stream) = stream else { return };
            if number < 2 {
                let mut buffer = [0; 65536];
                let _ = stream.read(&mut buffer);
                let _ = stream.write_all(busy);
                continue;
            }
            let mut there = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut back, mut from) = (stream.try_clone().unwrap(), there.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from, &mut back));
            thread::spawn(move || std::io::copy(&mut stream, &mut there));
        }
    });
    let (ended_with, record) = run_into(&["--otlp", &url], &[]);
    assert!(
        !ended_with.stderr.contains("--otlp"),
        "{}",
        ended_with.stderr
    );
    let metrics = collector.metrics(ended(&record));
    assert_eq!(metrics.requests(), ended(&record));
    assert_eq!(collector.spans(1).len(), 1);
}

#[test]
fn what_came_after_a_collector_was_killed_is_said_to_be_missing() {
    if !is_there() {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let collector = Collector::start(&folder, free_port(), "");
    let mut run = command(&["run", "-c", "2", "-R", "100", "-d", "4s"]);
    run.args(["--otlp", &collector.url()]);
    let run = start(run.arg(server.at("/")));
    until("something has arrived", || !collector.messages().is_empty());
    drop(collector.running);
    let ended = run.end();
    assert!(took_place(ended.code), "{}", ended.stderr);
    assert_says(&ended.stderr, "--otlp: the last ");
    assert_says(&ended.stderr, " intervals didn't reach");
    assert_says(&ended.stderr, "/v1/traces: nothing is listening there");
}

#[test]
fn a_receiver_behind_tls_is_trusted_by_its_authority() {
    let Some(certificates) = Certificates::new().filter(|_| is_there()) else {
        return;
    };
    certificates.sign("server", LOCAL, "30");
    let (certificate, key) = (
        certificates.path("server.pem"),
        certificates.path("server.key"),
    );
    let tls = format!(", tls: {{cert_file: '{certificate}', key_file: '{key}'}}");
    let folder = Folder::new();
    let collector = Collector::start(&folder, free_port(), &tls);
    let url = format!("https://localhost:{}", collector.port);
    let (ended_with, _) = run_into(&["--otlp", &url], &[]);
    assert_says(&ended_with.stderr, "isn't signed by a trusted authority");
    assert_says(&ended_with.stderr, "--otlp-cacert");
    let (ended_with, _) = run_into(&["--otlp", &collector.url()], &[]);
    assert_says(&ended_with.stderr, "intervals didn't reach");
    assert!(collector.messages().is_empty());
    let ca = certificates.path("ca.pem");
    let (ended_with, record) = run_into(&["--otlp", &url, "--otlp-cacert", &ca], &[]);
    assert!(
        !ended_with.stderr.contains("--otlp"),
        "{}",
        ended_with.stderr
    );
    collector.metrics(ended(&record));
}

#[test]
fn a_receiver_is_taken_from_the_environment_where_that_is_asked_for() {
    let (url, heads) = receiver(says(
        b"HTTP/1.1 200 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ));
    let endpoint = format!("{url}/base/");
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", &*endpoint),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "authorization=Bearer%20hidden-secret",
        ),
    ];
    let (ended, _) = run_into(&["--otlp", "env"], &variables);
    assert!(!ended.stderr.contains("--otlp"), "{}", ended.stderr);
    let heads: Vec<String> = heads.try_iter().collect();
    let count = |path: &str| heads.iter().filter(|head| head.starts_with(path)).count();
    assert!(count("POST /base/v1/metrics HTTP/1.1") >= 2, "{heads:?}");
    assert_eq!(count("POST /base/v1/traces HTTP/1.1"), 1, "{heads:?}");
    for head in &heads {
        assert_says(head, "authorization: Bearer hidden-secret\n");
        assert_says(head, "Content-Type: application/x-protobuf\n");
    }
    // Of somebody else's receiver nobody else is told.
    let (other, heads) = receiver(says(
        b"HTTP/1.1 200 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
    ));
    run_into(&["--otlp", &other], &variables);
    let heads: Vec<String> = heads.try_iter().collect();
    assert!(
        !heads.is_empty() && !heads.concat().contains("hidden"),
        "{heads:?}"
    );
}

#[test]
fn a_receiver_that_is_none_is_refused_before_anything_is_sent() {
    for (words, says_it) in [
        (&["--otlp", "localhost:4318"][..], "no scheme"),
        (&["--otlp", "http://a:hidden@b"], "--otlp-header"),
        (&["--otlp", "env"], "OTEL_EXPORTER_OTLP_ENDPOINT isn't set"),
        (
            &["--otlp", "http://h", "--otlp-header", "hidden"],
            "'NAME: VALUE'",
        ),
        (
            &["--otlp", "https://h", "--otlp-cacert", "/none.pem"],
            "/none.pem",
        ),
        (&["--otlp-header", "a: hidden"], "--otlp"),
    ] {
        for verb in ["run", "hold", "compare", "capacity"] {
            let mut refused = command(&[verb]);
            refused
                .args(words)
                .env_remove("OTEL_EXPORTER_OTLP_ENDPOINT");
            match verb {
                "compare" => {
                    refused.args(["--url", "http://127.0.0.1:1", "--url", "http://127.0.0.1:2"])
                }
                _ => refused.arg("http://127.0.0.1:1/"),
            };
            if verb == "capacity" {
                refused.args(["--slo", "p99<1s"]);
            }
            let ended = start(&mut refused).end();
            assert_eq!(ended.code, Some(2), "{verb} {words:?}: {}", ended.stderr);
            assert_says(&ended.stderr, says_it);
            assert!(!ended.stderr.contains("hidden"), "{}", ended.stderr);
        }
    }
}
