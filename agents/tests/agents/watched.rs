//! Whoever watches a fleet's hold sees all agents as one: in the browser, in metrics, and in a real
//! OpenTelemetry Collector.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::collector;
use crate::ports::free_port;
use crate::programs::{Peer, Program, Target, until};
use crate::runs::has_nats;
use crate::skip::skip;

/// A collector that writes what it gets into a file.
struct Collector {
    _running: Peer,
    url: String,
    file: PathBuf,
}

impl Collector {
    /// Starts one; where it isn't installed, says so.
    fn start(folder: &Path) -> Option<Collector> {
        let program = collector::program();
        if !program.is_file() {
            skip(format!("{} isn't installed", collector::NAME));
            return None;
        }
        let (file, port) = (folder.join("received.json"), free_port());
        let text = collector::configuration(port, "", &file);
        let configuration = folder.join("collector.yaml");
        fs::write(&configuration, text).unwrap();
        let mut command = Command::new(program);
        command.arg("--config").arg(configuration);
        let running = Peer::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
        until("the collector listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Some(Collector {
            _running: running,
            url: format!("http://127.0.0.1:{port}"),
            file,
        })
    }

    /// Whatever it got, as far as it's written.
    fn messages(&self) -> Vec<Value> {
        collector::messages(&self.file)
    }

    /// The sum of a metric, as it was sent last.
    fn sum(&self, name: &str) -> u64 {
        let messages = self.messages();
        let metrics = messages.iter().rev();
        let mut metrics = metrics.filter_map(|one| {
            let all = one.pointer("/resourceMetrics/0/scopeMetrics/0/metrics")?;
            let mut all = all.as_array()?.iter();
            all.find(|metric| metric["name"] == name)
        });
        let points = metrics
            .next()
            .map(|metric| metric["sum"]["dataPoints"].clone());
        let points = points.iter().filter_map(Value::as_array).flatten();
        // A whole number is text in JSON of protobuf.
        let values = points.filter_map(|point| point["asInt"].as_str()?.parse::<u64>().ok());
        values.sum()
    }

    /// The span of the load, once it has come.
    fn span(&self) -> Option<Value> {
        let messages = self.messages();
        let mut spans = messages.iter();
        spans.find_map(|one| {
            one.pointer("/resourceSpans/0/scopeSpans/0/spans/0")
                .cloned()
        })
    }
}

/// What somebody answers who asks for this.
fn get(place: &str, target: &str, token: &str) -> String {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect(place) {
        let request = format!(
            "GET {target} HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {token}\r\n\
             Connection: close\r\n\r\n"
        );
        let _sent = stream.write_all(request.as_bytes());
        let _read = stream.read_to_string(&mut text);
    }
    text
}

/// The sum of all values of a metric.
fn scraped(text: &str, name: &str) -> u64 {
    let lines = text.lines().filter(|line| line.starts_with(name));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum::<f64>() as u64
}

#[test]
fn whoever_watches_a_hold_sees_what_its_record_says() {
    let folder = tempfile::tempdir().unwrap();
    let (true, Some(collector)) = (has_nats(), Collector::start(folder.path())) else {
        return;
    };
    let target = Target::start();
    let words = "hold --agents local:2 -c 21 -d 3s --heartbeat 500ms --heartbeat-timeout 60s \
                 --connect-timeout 60s --metrics 127.0.0.1:0 --live=127.0.0.1:0 --format json \
                 --run-name nightly --otlp";
    let url = target.url("/");
    let words = words.split_whitespace().chain([&*collector.url, &url]);
    let mut hold = Program::start(&words.collect::<Vec<_>>());
    let at = |said: &str, before: &str| {
        let (_, rest) = said.split_once(before)?;
        rest.split_whitespace().next().map(str::to_owned)
    };
    let (mut metrics, mut page) = (None, None);
    until("it says where it can be watched", || {
        let said = hold.said();
        metrics = at(&said, "metrics are at http://");
        page = at(&said, "the live page is at http://");
        metrics.is_some() && page.is_some()
    });
    let (metrics, page) = (metrics.unwrap(), page.unwrap());
    let (place, token) = page.split_once("/?token=").unwrap();
    until("the page shows the connections of both agents", || {
        let update = get(place, "/updates", token);
        update.contains("of 21 opened")
    });
    // It waits for somebody to scrape what there is at the end.
    let (place, _) = metrics.split_once('/').unwrap();
    let mut last = String::new();
    until("it ends", || {
        let text = get(place, "/metrics", "");
        if text.contains("ringside_hold_heartbeats_total") {
            last = text;
        }
        hold.is_over()
    });
    let ended = hold.end();
    assert!(ended.has_measured(), "{ended:?}");
    let record = ended.record();
    let beats = &record["heartbeats"];
    let of = |name: &str| beats[name].as_u64().unwrap();
    assert!(of("answered") >= 21, "{record}");
    assert_eq!(
        scraped(&last, "ringside_hold_heartbeats_total"),
        of("due"),
        "{last}"
    );
    assert_eq!(scraped(&last, "ringside_hold_opened_total"), 21, "{last}");
    until("the collector has everything", || {
        let span = collector.span().is_some();
        span && collector.sum("ringside.hold.heartbeats") == of("due")
    });
    assert_eq!(collector.sum("ringside.hold.opened"), 21);
    let received = record["bytes"]["received"].as_u64().unwrap();
    assert_eq!(collector.sum("ringside.received"), received);
    let span = collector.span().unwrap();
    assert_eq!(span["name"], "ringside hold", "{span}");
    assert_eq!(target.finish(), of("sent"), "{record}");
}
