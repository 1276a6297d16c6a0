//! A real Prometheus scrapes a run, and has what the record has.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use measure::time::unix_nanoseconds;
use rustix::process::Signal;
use serde_json::Value;

use super::child::{Folder, PATIENCE, Running, Server, assert_says, command, start, until};
use super::peers::{Peer, installed, peer, ready};
use super::ports::free_port;
use super::scraped_servers::{Gateway, USERS};

/// What the server at `port` answers to `path`, if it does.
pub(crate) fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    let head = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (head, body) = answer.split_once("\r\n\r\n")?;
    head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
}

/// A Prometheus that scrapes these ports each second, with native histograms; `more` of its
/// configuration.
pub(crate) fn prometheus(folder: &Folder, targets: &[u16], more: &str) -> (Peer, u16) {
    let native = ["--enable-feature=native-histograms"];
    prometheus_with(folder, targets, more, &native)
}

/// The same with these flags.
fn prometheus_with(folder: &Folder, targets: &[u16], more: &str, flags: &[&str]) -> (Peer, u16) {
    let port = free_port();
    let targets: Vec<_> = targets
        .iter()
        .map(|one| format!("127.0.0.1:{one}"))
        .collect();
    let configuration = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s, evaluation_interval: 1s}}\n{more}\
         scrape_configs:\n  - \
         job_name: load\n    static_configs: [{{targets: {targets:?}}}]\n"
    );
    let file = folder.write("prometheus.yml", &configuration);
    let running = peer(
        Command::new("prometheus")
            .args([
                &format!("--config.file={file}"),
                &format!("--storage.tsdb.path={}", folder.path("data")),
                &format!("--web.listen-address=127.0.0.1:{port}"),
                "--log.level=error",
            ])
            .args(flags),
    );
    ready(port, "prometheus");
    // It finds its targets some seconds after it has started. A run of some seconds would be
    // scraped once, at its end, and nothing has increased in a single sample.
    let all = Some(targets.len() as f64);
    until("prometheus scrapes its targets", || {
        ask(port, "count(up)", unix_nanoseconds() as f64 / 1e9) == all
    });
    (running, port)
}

/// The value of an expression at a time in seconds; none where it has none.
pub(crate) fn ask(port: u16, expression: &str, at_s: f64) -> Option<f64> {
    let answer = query(port, expression, at_s)?;
    let value = answer.pointer("/data/result/0/value/1")?.as_str()?;
    value.parse().ok()
}

/// What Prometheus answers; none where it can't evaluate that.
pub(crate) fn query(port: u16, expression: &str, at_s: f64) -> Option<Value> {
    let escaped: String = expression
        .bytes()
        .map(|byte| format!("%{byte:02x}"))
        .collect();
    let path = format!("/api/v1/query?query={escaped}&time={at_s:.3}");
    serde_json::from_str(&get(port, &path)?).ok()
}

/// A round of a subject.
const RUN: &str = "v2/1";

/// What came of a run that a Prometheus has scraped to its end.
struct Scraped {
    record: Value,
    /// What it could scrape at one time.
    text: String,
    /// When the run had just ended.
    at_s: f64,
}

impl Scraped {
    /// A run that shows its metrics on `target`, which the Prometheus on `port` scrapes.
    fn run(folder: &Folder, target: u16, port: u16) -> Scraped {
        let server = Server::start(&[]);
        let record = folder.path("record.json");
        let mut run = command(&["run", "-R", "500", "-d", "4s", "--run-name", RUN]);
        run.args(["--format", "json", "-o", &record]);
        let metrics = format!("127.0.0.1:{target}");
        let run = start(run.args(["--metrics", &metrics, &server.at("/wait10")]));
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
        Scraped {
            record,
            text: text.unwrap(),
            at_s,
        }
    }

    /// Whether it has response times such as this one, in seconds: as far as a bucket tells.
    fn has(&self, seconds: f64, expression: &str) {
        let times = &self.record["response_time_us"];
        let (min, max) = (
            times["min"].as_f64().unwrap(),
            times["max"].as_f64().unwrap(),
        );
        let within = min / 2.5..=max * 2.5;
        assert!(
            within.contains(&(seconds * 1e6)),
            "{seconds} s: {expression}"
        );
    }

    /// A time at which the run is over for that Prometheus, which has nothing of it any more.
    fn over_s(port: u16) -> f64 {
        let mut now_s = 0.0;
        until("the run is over for prometheus", || {
            now_s = unix_nanoseconds() as f64 / 1e9;
            ask(port, "ringside_run_seconds", now_s).is_none()
        });
        now_s
    }
}

#[test]
fn prometheus_has_every_request_and_the_percentiles_of_the_report() {
    if !installed("prometheus", "--version") || !installed("promtool", "--version") {
        return;
    }
    let (folder, target) = (Folder::new(), free_port());
    let (_prometheus, port) = prometheus(&folder, &[target], "");
    let run = Scraped::run(&folder, target, port);
    let (record, at_s) = (&run.record, run.at_s);
    let offered = ask(port, "ringside_requests_offered_total", at_s);
    assert_eq!(offered, record["exchanges"]["completed"].as_f64());
    for (q, name) in [(0.5, "p50"), (0.9, "p90"), (0.99, "p99")] {
        let expression = format!("histogram_quantile({q}, ringside_response_time_seconds)");
        let seen = ask(port, &expression, at_s).expect("a native histogram") * 1e6;
        let report = record["response_time_us"][name].as_f64().unwrap();
        assert!(
            (seen / report - 1.0).abs() < 0.01,
            "{name}: {seen} and {report}"
        );
    }
    passes_promtool(&run.text);
    run_agrees(port, &run);
    compared_agrees(port, &run, 1.01);
}

#[test]
fn without_native_histograms_dashboards_take_the_classic_buckets() {
    if !installed("prometheus", "--version") {
        return;
    }
    let (folder, target) = (Folder::new(), free_port());
    let (_prometheus, port) = prometheus_with(&folder, &[target], "", &[]);
    let run = Scraped::run(&folder, target, port);
    run_agrees(port, &run);
    // An end of such a bucket is at most so many times the other.
    compared_agrees(port, &run, 2.5);
}

/// Holds what the dashboard of runs shows of one that is about to end to what its record says.
fn run_agrees(port: u16, run: &Scraped) {
    for (title, expression) in expressions(&dashboard("run"), RUN) {
        let values = values(port, &expression, run.at_s, &run.text);
        if title == "Response time" {
            run.has(values[0], &expression);
        }
    }
}

/// Holds what the dashboard of runs side by side shows of one that is over to what the record of
/// the only run says; percentiles may be `far` times that, and others 1 % off.
fn compared_agrees(port: u16, run: &Scraped, far: f64) {
    let (record, over_s) = (&run.record, Scraped::over_s(port));
    let us = |name: &str| record["response_time_us"][name].as_f64().unwrap();
    let waited_us = ["late_us", "connecting_us", "closing_us", "back_off_us"]
        .map(|cause| record["waits"][cause].as_f64().unwrap());
    let completed = record["exchanges"]["completed"].as_f64().unwrap();
    let waited = waited_us.iter().sum::<f64>() / (us("mean") * us("count"));
    let rate = completed / record["duration_s"].as_f64().unwrap();
    let wanted = [
        ("Requests/s", rate, 1.01),
        ("Requests/s ÷ the baseline's", 1.0, 1.01),
        ("Failed", 0.0, 1.0),
        ("Response time, p50", us("p50") / 1e6, far),
        ("Response time, p90", us("p90") / 1e6, far),
        ("Response time, p99", us("p99") / 1e6, far),
        ("Response time, p99.9", us("p99_9") / 1e6, far),
        ("Waited in the generator", waited, 1.01),
        ("Reconnects", 0.0, 1.0),
    ];
    let mut held = 0;
    for (title, expression) in expressions(&dashboard("compare"), RUN) {
        let values = values(port, &expression, over_s, &run.text);
        if let Some((_, wanted, far)) = wanted.iter().find(|(of, ..)| *of == title) {
            held += 1;
            let within = wanted / far..=wanted * far;
            assert!(
                values.len() == 1 && within.contains(&values[0]),
                "{title}: {values:?}, and {wanted} in the record: {expression}"
            );
        } else if title.contains("Response time") {
            // It may be that of the time since the first scrape.
            run.has(values[0], &expression);
        }
    }
    assert_eq!(held, wanted.len());
}

/// Whether `promtool check metrics` finds nothing wrong with a text.
pub(crate) fn passes_promtool(text: &str) {
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

/// What is for Prometheus and Grafana.
fn integrations(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../integrations")
        .join(name)
}

/// Runs `promtool` in a folder, and holds it to success.
fn promtool(folder: &Path, words: &[&str]) {
    let mut promtool = Command::new("promtool");
    let output = promtool.args(words).current_dir(folder).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{words:?}: {said}{shown}");
}

/// A dashboard.
pub(crate) fn dashboard(name: &str) -> Value {
    let text = fs::read_to_string(integrations(&format!("grafana/{name}.json"))).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    assert!(panels.len() > 6, "{name}");
    let places = panels.iter().map(|panel| &panel["gridPos"]);
    let rows: Vec<_> = places
        .map(|at| ["x", "y", "w", "h"].map(|key| at[key].as_u64().unwrap()))
        .collect();
    for (place, [x, y, w, h]) in rows.iter().enumerate() {
        assert!(x + w <= 24, "{name}: a panel is beyond the edge");
        let others = rows[..place].iter();
        let mut overlaps = others.filter(|[ox, oy, ow, oh]| {
            x < &(ox + ow) && ox < &(x + w) && y < &(oy + oh) && oy < &(y + h)
        });
        assert_eq!(overlaps.next(), None, "{name}: panels overlap");
    }
    dashboard
}

/// The expressions of a dashboard's panels, each behind the panel's title, with what Grafana fills
/// in where `run` is chosen.
pub(crate) fn expressions(dashboard: &Value, run: &str) -> Vec<(String, String)> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let expressions = panels.flat_map(|panel| {
        let targets = panel["targets"].as_array().unwrap().iter();
        targets.map(|target| (panel["title"].as_str(), target["expr"].as_str()))
    });
    let subject = run.split('/').next().unwrap();
    let fill = |one: &str| {
        let ranges = one
            .replace("$__rate_interval", "1h")
            .replace("$__range", "1h")
            .replace("$step", "500ms");
        let runs = ranges.replace("$run", run).replace("$baseline", run);
        let filled = ["$job", "$instance"]
            .iter()
            .fold(runs.replace("$subject", subject), |one, name| {
                one.replace(name, ".*")
            });
        assert!(!filled.contains('$'), "{filled}");
        filled
    };
    expressions
        .map(|(title, expression)| (title.unwrap().to_owned(), fill(expression.unwrap())))
        .collect()
}

/// The values of a panel's expression, in any order. There are some if there is each of its metrics
/// in what was `shown`, unless it leaves out what is nothing.
pub(crate) fn values(port: u16, expression: &str, at_s: f64, shown: &str) -> Vec<f64> {
    let answer = query(port, expression, at_s);
    let answer = answer.unwrap_or_else(|| panic!("can't be evaluated: {expression}"));
    let found = answer["data"]["result"].as_array().unwrap().iter();
    let values: Vec<f64> = found
        .map(|one| one["value"][1].as_str().unwrap().parse().unwrap())
        .collect();
    let is_there = |name: &&str| shown.contains(&format!("# TYPE {name} "));
    if names(expression).iter().all(is_there) && !expression.ends_with("> 0") {
        assert!(!values.is_empty(), "nothing comes of {expression}");
    }
    assert!(
        values.iter().all(|value| value.is_finite()),
        "{values:?} of {expression}"
    );
    values
}

/// The names of our metrics in a text.
fn names<'a>(text: &'a str) -> Vec<&'a str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let ours = words.filter(|word| word.starts_with("ringside_"));
    let of_histograms = ["_bucket", "_sum", "_count"];
    let plain = |word: &'a str| {
        let mut ends = of_histograms.iter();
        ends.find_map(|end| word.strip_suffix(end)).unwrap_or(word)
    };
    ours.map(plain).collect()
}

#[test]
fn rules_and_dashboards_are_sound_and_name_metrics_that_there_are() {
    if !installed("promtool", "--version") {
        return;
    }
    let rules = integrations("prometheus");
    promtool(&rules, &["check", "rules", "ringside.rules.yml"]);
    promtool(&rules, &["test", "rules", "ringside.tests.yml"]);
    let rules = fs::read_to_string(rules.join("ringside.rules.yml")).unwrap();
    let dashboards = ["run", "compare", "server"].map(dashboard);
    let expressions = dashboards.iter().flat_map(|one| expressions(one, ".*"));
    let expressions: Vec<_> = expressions.map(|(_, expression)| expression).collect();
    assert!(expressions.len() > 50, "{expressions:?}");
    let folder = Folder::new();
    let recorded = (0..).zip(&expressions).map(|(place, expression)| {
        let expression = serde_json::to_string(expression).unwrap();
        format!("      - {{record: 'panel:{place}', expr: {expression}}}\n")
    });
    let recorded: String = recorded.collect();
    let recorded = format!("groups:\n  - name: panels\n    rules:\n{recorded}");
    let file = folder.write("panels.yml", &recorded);
    promtool(Path::new("/"), &["check", "rules", &file]);
    // Something fails, so that there is every kind of metric.
    let (server, target) = (Server::start(&[]), free_port());
    let mut run = command(&["run", "-R", "50", "-d", "3s", "--timeout", "100ms"]);
    run.args([
        "--metrics",
        &format!("127.0.0.1:{target}"),
        &server.at("/reset"),
    ]);
    let run = start(&mut run);
    let mut shown = String::new();
    until("there are metrics", || {
        shown = get(target, "/metrics").unwrap_or_default();
        shown.contains("ringside_errors_total{")
    });
    drop(run);
    shown += &holds_metrics(&server);
    shown += &servers_metrics();
    for name in names(&rules)
        .into_iter()
        .chain(names(&expressions.join(" ")))
    {
        // Nothing is answered there.
        let is_shown =
            shown.contains(&format!("# TYPE {name} ")) || name == "ringside_answers_total";
        assert!(is_shown, "{name} is not in:\n{shown}");
    }
}

/// What a hold shows whose connections are lost.
fn holds_metrics(server: &Server) -> String {
    let target = free_port();
    let mut hold = command(&["hold", "-c", "2", "-d", "3s", "--heartbeat", "100ms"]);
    hold.args([
        "--metrics",
        &format!("127.0.0.1:{target}"),
        &server.at("/reset"),
    ]);
    let hold = start(&mut hold);
    let mut shown = String::new();
    until("connections are lost", || {
        shown = get(target, "/metrics").unwrap_or_default();
        shown.contains("ringside_hold_losses_total{")
    });
    drop(hold);
    shown
}

/// What a server, a master of servers and a gateway with users show, who are never found.
fn servers_metrics() -> String {
    let server = Server::start(&[]);
    let served = get(server.port(), "/metrics").expect("metrics");
    let gateway = Gateway::start(&[&server.url], USERS);
    let passed = get(gateway.admin, "/metrics").expect("metrics");
    passes_promtool(&served);
    passes_promtool(&passed);
    let admin = format!("127.0.0.1:{}", free_port());
    let port = free_port();
    let words = ["serve", "--processes", "1", "--admin", &admin, "--addr"];
    let mut master = command(&words);
    let _master = peer(master.arg(format!("127.0.0.1:{port}")));
    ready(port, "ringside serve --processes");
    let mut text = None;
    until("there are metrics", || {
        text = get(
            admin.rsplit(':').next().unwrap().parse().unwrap(),
            "/metrics",
        );
        text.is_some()
    });
    let of_master = text.unwrap();
    passes_promtool(&of_master);
    served + &passed + &of_master
}

/// Takes what an Alertmanager says, and tells the names and states of the alerts.
fn webhook() -> (u16, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, said) = channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { return };
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut length = 0;
            for line in reader.by_ref().lines().map_while(Result::ok) {
                let line = line.to_ascii_lowercase();
                if let Some(text) = line.strip_prefix("content-length:") {
                    length = text.trim().parse().unwrap();
                }
                if line.is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let head = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(head.as_bytes());
            let Ok(body) = serde_json::from_slice::<Value>(&body) else {
                continue;
            };
            for alert in body["alerts"].as_array().into_iter().flatten() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                // Nobody listens once the test is over.
                let _ = sender.send((text(&alert["labels"]["alertname"]), text(&alert["status"])));
            }
        }
    });
    (port, said)
}

/// Waits until an alert is in this state.
fn hear(said: &Receiver<(String, String)>, name: &str, state: &str) {
    let mut heard = Vec::new();
    while !heard.contains(&(name.to_owned(), state.to_owned())) {
        let next = said.recv_timeout(PATIENCE);
        heard.push(next.unwrap_or_else(|_| panic!("{name} is {state}: only {heard:?}")));
    }
}

#[test]
fn an_alert_fires_while_answers_take_long_and_clears_when_they_do_not() {
    let tools = ["prometheus", "prometheus-alertmanager"];
    if !tools.iter().all(|tool| installed(tool, "--version")) {
        return;
    }
    let (server, folder, target) = (Server::start(&[]), Folder::new(), free_port());
    let (hook, said) = webhook();
    let alerts = free_port();
    let configuration = format!(
        "route: {{receiver: test, group_wait: 0s, group_interval: 1s}}\nreceivers:\n  - \
         name: test\n    webhook_configs: [{{url: 'http://127.0.0.1:{hook}/', \
         send_resolved: true}}]\n"
    );
    let file = folder.write("alertmanager.yml", &configuration);
    let _alertmanager = peer(Command::new("prometheus-alertmanager").args([
        &format!("--config.file={file}"),
        &format!("--storage.path={}", folder.path("alerts")),
        &format!("--web.listen-address=127.0.0.1:{alerts}"),
        "--cluster.listen-address=",
        "--log.level=error",
    ]));
    ready(alerts, "prometheus-alertmanager");
    // The same rules, but that a test needn't wait for a minute.
    let rules = integrations("prometheus/ringside.rules.yml");
    let rules = fs::read_to_string(rules).unwrap();
    assert_says(&rules, "for: 15s");
    let rules = rules.replace("for: 15s", "for: 1s").replace("[1m]", "[4s]");
    let rules = folder.write("rules.yml", &rules);
    let more = format!(
        "rule_files: ['{rules}']\nalerting: {{alertmanagers: [{{static_configs: [{{targets: \
         ['127.0.0.1:{alerts}']}}]}}]}}\n"
    );
    let (_prometheus, _) = prometheus(&folder, &[target], &more);
    let load = |path: &str| -> Running {
        let metrics = format!("127.0.0.1:{target}");
        let words = [
            "run",
            "-R",
            "40",
            "-c",
            "60",
            "-d",
            "50s",
            "--run-name",
            "a",
            "--metrics",
        ];
        start(command(&words).args([&*metrics, &server.at(path)]))
    };
    let slow = load("/delay/800ms");
    hear(&said, "RingsideResponseTimeHigh", "firing");
    slow.signal(Signal::INT);
    slow.end();
    let quick = load("/");
    hear(&said, "RingsideResponseTimeHigh", "resolved");
    drop(quick);
}
