//! A real Prometheus scrapes servers under load, and has what they and their clients have counted.

use std::net::SocketAddr;

use gateway::Config;
use measure::time::unix_nanoseconds;
use serde_json::Value;
use testserver::Stop;

use super::child::{Folder, Server, record, until};
use super::peers::installed;
use super::prometheus::{ask, dashboard, expressions, get, passes_promtool, prometheus, values};

/// Users in stores that aren't there.
pub(crate) const USERS: &str = "\
    [users.a]\nby = \"header:x-user\"\n\
    [users.a.redis]\naddress = \"127.0.0.1:1\"\n\
    [users.a.database]\naddress = \"127.0.0.1:1\"\nuser = \"u\"\nquery = \"SELECT ?\"\n\
    [[route]]\nname = \"users\"\npath = \"/users\"\nuser = \"a\"\nupstream = \"a\"\n";

/// A gateway in this process.
pub(crate) struct Gateway {
    running: Option<gateway::Running>,
    pub(crate) url: String,
    /// The port for operators.
    pub(crate) admin: u16,
}

impl Gateway {
    /// In front of the servers at these URLs; `more` of its configuration.
    pub(crate) fn start(servers: &[&str], more: &str) -> Gateway {
        let servers: Vec<_> = servers
            .iter()
            .map(|url| url.strip_prefix("http://").expect("a URL"))
            .collect();
        let text = format!(
            "[listen]\naddress = \"127.0.0.1:0\"\nthreads = 2\n\
             [admin]\naddress = \"127.0.0.1:0\"\n\
             [upstream.a]\nservers = {servers:?}\n{more}\
             [[route]]\nname = \"all\"\nupstream = \"a\"\n"
        );
        let config = Config::of("test", &text).expect("it's in order");
        let running = gateway::start(config, &Stop::new()).expect("it starts");
        let admin = running.admin_address().expect("a listener").to_string();
        let admin: SocketAddr = admin.parse().expect("an address");
        Gateway {
            url: format!("http://{}", running.address()),
            admin: admin.port(),
            running: Some(running),
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        if let Some(running) = self.running.take() {
            running.stop();
            running.join().expect("it ends well");
        }
    }
}

/// The value of a sample, by its name with its labels.
pub(crate) fn value(text: &str, sample: &str) -> f64 {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
    let value = line.unwrap_or_else(|| panic!("no {sample} in {text}"));
    value.parse().expect("a number")
}

/// The bucket of a classic histogram that has the quantile `q`, between its ends in seconds.
fn bucket_of(text: &str, name: &str, labels: &str, q: f64) -> (f64, f64) {
    let start = format!("{name}_bucket{{{labels}le=\"");
    let buckets = text.lines().filter_map(|line| line.strip_prefix(&start));
    let buckets: Vec<(f64, f64)> = buckets
        .map(|rest| {
            let (end, count) = rest.split_once("\"} ").expect("a bucket");
            (
                end.parse().expect("a bound"),
                count.parse().expect("a count"),
            )
        })
        .collect();
    let all = buckets.last().expect("buckets").1;
    let at = buckets.iter().position(|(_, count)| *count >= q * all);
    let at = at.expect("the last has all");
    let low = at.checked_sub(1).map_or(0.0, |before| buckets[before].0);
    (low, buckets[at].0)
}

#[test]
fn prometheus_has_the_figures_of_servers_and_every_request_of_their_client() {
    let tools = ["prometheus", "promtool"];
    if !tools.iter().all(|tool| installed(tool, "--version")) {
        return;
    }
    let (server, folder) = (Server::start(&[]), Folder::new());
    let gateway = Gateway::start(&[&server.url], "");
    let ports = [server.port(), gateway.admin];
    let (_prometheus, port) = prometheus(&folder, &ports, "");
    let now_s = || unix_nanoseconds() as f64 / 1e9;
    // They record from the first scrape on.
    let names = [
        "ringside_serve_response_time_seconds",
        "ringside_gateway_request_seconds",
    ];
    for name in names {
        let count = format!("histogram_count({name})");
        until("it was scraped", || ask(port, &count, now_s()).is_some());
    }
    let (code, record) = record("auto", &format!("{}/wait10", gateway.url), &["-n", "2000"]);
    assert!(matches!(code, Some(0 | 4)), "{record}");
    let completed = record["exchanges"]["completed"].as_f64().expect("a count");
    assert_eq!(completed, 2000.0);
    // Scrapes of the server are requests to it: the first was over before it recorded anything, and
    // the last isn't counted yet.
    let instance = format!("127.0.0.1:{}", ports[0]);
    let scrapes = format!("count_over_time(up{{instance=\"{instance}\"}}[1h])");
    let counts = [
        format!("histogram_count({}) - on () ({scrapes} - 2)", names[0]),
        format!("ringside_requests_total{{outcome=\"\"}} - on () ({scrapes} - 1)"),
        format!("histogram_count({})", names[1]),
        "ringside_gateway_requests_total{class=\"2xx\"}".to_owned(),
        "ringside_gateway_upstream_completed_total".to_owned(),
    ];
    for expression in &counts {
        let mut found = None;
        until(&format!("{expression} is {completed}"), || {
            found = ask(port, expression, now_s());
            found == Some(completed)
        });
    }
    let texts = ports.map(|port| get(port, "/metrics").expect("metrics"));
    let labels = ["", "route=\"all\","];
    for ((name, text), labels) in names.iter().zip(&texts).zip(labels) {
        passes_promtool(text);
        agrees(port, (name, labels), text, &record);
    }
    let shown = texts.concat();
    for (title, expression) in expressions(&dashboard("server"), ".*") {
        let values = values(port, &expression, now_s(), &shown);
        let name = match &*title {
            "Response time of serve" => names[0],
            "Response time of the gateway, by route" => names[1],
            _ => continue,
        };
        // All of it is newer than the first scrape. What is scaled may be a bucket off where a
        // quantile is at the end of one.
        let (start, _) = expression.split_once(", ").expect("a quantile");
        let q = &start["histogram_quantile(".len()..];
        let q: f64 = q.parse().expect("a number");
        let whole = [q - 0.001, q + 0.001].map(|q| {
            let whole = ask(port, &format!("histogram_quantile({q}, {name})"), now_s());
            whole.expect("a quantile")
        });
        assert!(
            (whole[0] * 0.99..=whole[1] * 1.01).contains(&values[0]),
            "{expression}: {values:?}, and {whole:?} in all"
        );
    }
}

/// A native histogram says what the same server's text says, and no more than the client has seen.
pub(crate) fn agrees(port: u16, (name, labels): (&str, &str), text: &str, record: &Value) {
    let now_s = unix_nanoseconds() as f64 / 1e9;
    for (q, of_record) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
        let expression = format!("histogram_quantile({q}, {name})");
        let seen = ask(port, &expression, now_s).expect("a native histogram");
        let (low, high) = bucket_of(text, name, labels, q);
        // A native bucket may begin in one of the text's and end in the next.
        assert!(
            low * 0.994 <= seen && seen <= high * 1.006,
            "{expression}: {seen}, and {low} to {high} in\n{text}"
        );
        let client_s = record["response_time_us"][of_record]
            .as_f64()
            .expect("a time")
            / 1e6;
        assert!(
            seen <= client_s * 1.006,
            "{expression}: {seen}, and {client_s} of the client"
        );
    }
    let sum = ask(port, &format!("histogram_sum({name})"), now_s).expect("a sum");
    let plain = labels.trim_end_matches(',');
    let sample = match plain {
        "" => format!("{name}_sum"),
        labels => format!("{name}_sum{{{labels}}}"),
    };
    let told = value(text, &sample);
    assert!(
        (sum / told - 1.0).abs() < 0.01,
        "{sum} and {told} in\n{text}"
    );
}

#[test]
fn each_answer_of_each_protocol_is_recorded_once() {
    for engine in ["auto", "epoll"] {
        let server = Server::start(&["--engine", engine]);
        let metrics = || get(server.port(), "/metrics").expect("metrics");
        metrics();
        let call = format!("grpc://{}/ringside.Echo/Echo", server.authority());
        let cases = [
            (server.at("/"), &["--pipeline", "8"][..]),
            (server.at("/json"), &["--http2"]),
            (server.at("/wait10"), &[]),
            (server.at("/wait10"), &["--http2", "-S8"]),
            (server.at("/bytes/100k"), &[]),
            (server.at("/task/1000"), &[]),
            (server.at("/echo"), &["-b", "a body"]),
            (server.at("/status/404"), &["-b", "a body"]),
            (call, &[]),
        ];
        for (url, more) in cases {
            let mut words = vec!["-n", "400"];
            words.extend(more);
            let before = value(&metrics(), "ringside_requests_total");
            record("auto", &url, &words);
            // Of what asks, the first was over before anything was recorded.
            until(&format!("all of {url} {more:?} is recorded"), || {
                let text = metrics();
                let requests = value(&text, "ringside_requests_total");
                let answers = value(&text, "ringside_serve_response_time_seconds_count");
                assert!(answers < requests && requests >= before + 400.0, "{text}");
                requests - answers == 1.0
            });
        }
    }
}
