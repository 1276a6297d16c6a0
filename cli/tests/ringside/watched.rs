//! What is seen of a run while it goes on is what its record says.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};

use measure::histogram::Histogram;
use measure::time::{Time, sleep_until};
use serde_json::Value;

use super::child::{Folder, Server, command, ringside};

/// Requests of several kinds, of which some fail and some time out.
pub(crate) const MIX: &str = "# @name quick\nGET {{url}}/\n\n###\n# @name gone\nGET \
                              {{url}}/status/503\n\n###\n# @name cut\nGET {{url}}/reset\n\n\
                              ###\n# @name slow\nGET {{url}}/stall\n";

/// A run of the mix that says where its metrics are, if it has any.
struct Run {
    child: Child,
    stderr: BufReader<ChildStderr>,
}

impl Run {
    fn start(server: &Server, folder: &Folder, more: &[&str]) -> Run {
        let targets = folder.path("mix.http");
        fs::write(&targets, MIX.replace("{{url}}", &server.url)).unwrap();
        let record = folder.path("record.json");
        let mut words = vec!["run", "--targets", &targets, "-R", "400", "-c", "20"];
        words.extend(["-d", "2500ms", "--timeout", "300ms", "--format", "json"]);
        words.extend(["-o", &record]);
        words.extend(more);
        let mut child = command(&words)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        Run { child, stderr }
    }

    /// `HOST:PORT` of the metrics.
    fn metrics(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("metrics are at http://");
        let address = address.and_then(|rest| rest.strip_suffix("/metrics"));
        address.unwrap_or_else(|| panic!("{line}")).to_owned()
    }

    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.stderr.read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(folder: &Folder, name: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(folder.path(name)).unwrap()).unwrap()
}

fn lines(text: &str) -> Vec<Value> {
    let each = text.lines();
    each.map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn sum(lines: &[Value], pointer: &str) -> u64 {
    let each = lines.iter().map(|line| line.pointer(pointer));
    each.map(|found| found.and_then(Value::as_u64).unwrap_or(0))
        .sum()
}

/// The counts of a map of counts, added up over all lines.
fn sums(lines: &[Value], name: &str) -> Value {
    let mut sums = BTreeMap::new();
    for line in lines {
        for (key, count) in line[name].as_object().unwrap() {
            *sums.entry(key.clone()).or_insert(0) += count.as_u64().unwrap();
        }
    }
    serde_json::to_value(sums).unwrap()
}

fn merged(lines: &[Value], name: &str) -> Histogram {
    let mut sum = Histogram::new();
    for line in lines {
        let text = line["histograms"][name].as_str().unwrap();
        sum.merge(&Histogram::from_hdr_v2_base64(text).unwrap());
    }
    sum
}

/// Asks once; none where nobody listens any more.
pub(super) fn scrape(address: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    let head = "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    stream.write_all(head.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    let (_, body) = answer.split_once("\r\n\r\n")?;
    Some(body.to_owned())
}

/// The sum of all samples of a name that have these labels.
pub(super) fn metric(text: &str, name: &str, labels: &str) -> f64 {
    let samples = text.lines().filter_map(|line| line.strip_prefix(name));
    let samples = samples.filter(|rest| rest.starts_with('{') && rest.contains(labels));
    let values = samples.filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

#[test]
fn lines_metrics_and_the_record_agree_to_the_last_request() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let intervals = folder.path("intervals.ndjson");
    let more = [
        "--intervals",
        &*intervals,
        "--interval-histograms",
        "--metrics",
        "127.0.0.1:0",
        "--run-name",
        "a \"test\"",
    ];
    let mut run = Run::start(&server, &folder, &more);
    let address = run.metrics();
    // Until it has gone, which it does when it was scraped at the end.
    let mut last = String::new();
    while let Some(text) = scrape(&address) {
        last = text;
        sleep_until(Time::now().plus(50_000_000));
    }
    let (code, said) = run.end();
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
    let record = read(&folder, "record.json");
    let lines = lines(&fs::read_to_string(&intervals).unwrap());
    let exchanges = &record["exchanges"];
    let of_record = |name: &str| exchanges[name].as_u64().unwrap();
    for name in ["completed", "failed", "unfinished", "censored"] {
        assert_eq!(sum(&lines, &format!("/{name}")), of_record(name), "{name}");
    }
    let all = of_record("completed") + of_record("failed") + of_record("unfinished");
    assert_eq!(sum(&lines, "/offered"), all);
    assert!(of_record("failed") > 100, "{record}");
    for name in ["errors", "status"] {
        assert_eq!(sums(&lines, name), record[name], "{name}");
    }
    let received = &record["bytes"]["received"].as_u64().unwrap();
    let drained = &record["drain"]["bytes_received"].as_u64().unwrap();
    assert_eq!(sum(&lines, "/bytes_received"), received + drained);
    for (place, name) in ["quick", "gone", "cut", "slow"].iter().enumerate() {
        let step = &record["steps"][place];
        assert_eq!(step["name"], *name);
        for figure in ["completed", "failed"] {
            let of_lines = sum(&lines, &format!("/steps/{place}/{figure}"));
            assert_eq!(Some(of_lines), step[figure].as_u64(), "{name}");
            let labels = format!("step=\"{name}\",outcome=\"{figure}\"");
            assert_eq!(
                metric(&last, "ringside_requests_total", &labels),
                of_lines as f64
            );
        }
    }
    for name in ["response_time", "service_time"] {
        let whole = record["histograms"][name].as_str().unwrap();
        let whole = Histogram::from_hdr_v2_base64(whole).unwrap();
        let sum = merged(&lines, name);
        assert_eq!(sum.count(), whole.count(), "{name}");
        for q in [0.1, 0.5, 0.9, 0.99, 1.0] {
            assert_eq!(sum.quantile(q), whole.quantile(q), "{name}, {q}");
        }
        let count = metric(&last, &format!("ringside_{name}_seconds_count"), "run=");
        assert_eq!(count, whole.count() as f64, "{name}");
    }
    assert!(last.contains("run=\"a \\\"test\\\"\""), "{last}");
    let errors = record["errors"].as_object().unwrap();
    for (kind, count) in errors {
        let label = format!("kind=\"{kind}\"");
        let counted = metric(&last, "ringside_errors_total", &label);
        assert_eq!(Some(counted), count.as_f64(), "{kind}");
    }
}

/// A hold whose heartbeats are answered or refused, and whose connections are lost: its record, its
/// lines, and what was scraped last.
fn watched_hold(folder: &Folder) -> (Value, Vec<Value>, String) {
    let server = Server::start(&["--idle-timeout", "300ms"]);
    let (intervals, record) = (folder.path("intervals.ndjson"), folder.path("record.json"));
    let url = server.at("/limited/15");
    let words = [
        ["hold", "-c", "30", "-d", "2500ms", "--open-rate", "100"].as_slice(),
        &["--heartbeat", "700ms", "--back-off", "10ms..50ms"],
        &["--format", "json", "-o", &record, "--intervals", &intervals],
        &["--interval-histograms", "--metrics", "127.0.0.1:0", &url],
    ];
    let mut child = command(&words.concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(child.stderr.take().unwrap());
    let mut hold = Run { child, stderr };
    let address = hold.metrics();
    let mut last = String::new();
    while let Some(text) = scrape(&address) {
        last = text;
        sleep_until(Time::now().plus(50_000_000));
    }
    let (code, said) = hold.end();
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
    let lines = lines(&fs::read_to_string(&intervals).unwrap());
    assert!(lines.len() >= 3, "{lines:?}");
    (read(folder, "record.json"), lines, last)
}

#[test]
fn lines_metrics_and_the_record_of_a_hold_agree_to_the_last_heartbeat() {
    let (record, lines, last) = watched_hold(&Folder::new());
    let of_connections = ["opened", "lost", "reconnects", "given_up"];
    let of_heartbeats = [
        "sent",
        "answered",
        "failed",
        "unfinished",
        "censored",
        "skipped",
        "skipped_down",
        "skipped_in_vain",
    ];
    for (part, names) in [
        ("connections", &of_connections[..]),
        ("heartbeats", &of_heartbeats),
    ] {
        for name in names {
            let of_lines = sum(&lines, &format!("/{name}"));
            assert_eq!(Some(of_lines), record[part][name].as_u64(), "{name}");
        }
    }
    let due = record["heartbeats"]["due"].as_u64();
    assert_eq!(Some(sum(&lines, "/sent") + sum(&lines, "/skipped")), due);
    let kinds = ["losses", "failed_attempts", "heartbeat_errors"];
    for name in kinds.into_iter().chain(["status", "close_codes"]) {
        assert_eq!(sums(&lines, name), record[name], "{name}");
    }
    assert!(
        record["losses"]["idle_close"].as_u64() > Some(0),
        "{record}"
    );
    assert!(record["status"]["503"].as_u64() > Some(0), "{record}");
    for name in ["received", "sent"] {
        let of_lines = sum(&lines, &format!("/bytes_{name}"));
        assert_eq!(Some(of_lines), record["bytes"][name].as_u64(), "{name}");
        let shown = metric(&last, &format!("ringside_{name}_bytes_total"), "");
        assert_eq!(shown, of_lines as f64, "{name}");
    }
    for name in ["heartbeat_time", "set_up_time", "re_establish_time"] {
        let whole = record["histograms"][name].as_str().unwrap();
        let whole = Histogram::from_hdr_v2_base64(whole).unwrap();
        let sum = merged(&lines, name);
        assert_eq!(sum.count(), whole.count(), "{name}");
        for q in [0.1, 0.5, 0.99, 1.0] {
            assert_eq!(sum.quantile(q), whole.quantile(q), "{name}, {q}");
        }
        let shown = format!("ringside_hold_{name}_seconds_count");
        assert_eq!(
            metric(&last, &shown, "run="),
            whole.count() as f64,
            "{name}"
        );
    }
    let answered = metric(&last, "ringside_hold_heartbeats_total", "\"answered\"");
    assert_eq!(Some(answered), record["heartbeats"]["answered"].as_f64());
    let asked = metric(&last, "ringside_hold_connections_asked", "");
    assert_eq!(Some(asked), record["connections"]["asked"].as_f64());
    // Of one whose last heartbeat was cut off the record doesn't know whether it stands.
    let survivors = metric(&last, "ringside_hold_survivors", "");
    let survived = record["connections"]["survived"].as_f64().unwrap();
    let unfinished = record["heartbeats"]["unfinished"].as_f64().unwrap();
    assert!(
        (survived..=survived + unfinished).contains(&survivors),
        "{survivors}: {record}"
    );
    let lost = metric(&last, "ringside_hold_losses_total", "kind=");
    assert_eq!(Some(lost), record["connections"]["lost"].as_f64());
}

#[test]
fn a_reader_that_goes_away_costs_the_run_nothing() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let mut run = Run::start(&server, &folder, &["--intervals", "-"]);
    let mut first = String::new();
    let mut stdout = BufReader::new(run.child.stdout.take().unwrap());
    stdout.read_line(&mut first).unwrap();
    drop(stdout);
    let (code, said) = run.end();
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {said}");
    let first: Value = serde_json::from_str(&first).unwrap();
    let record = read(&folder, "record.json");
    let (some, all) = (&first["completed"], &record["exchanges"]["completed"]);
    assert!(some.as_u64().unwrap() < all.as_u64().unwrap());
}

#[test]
fn lines_have_standard_output_for_themselves_and_the_report_is_beside() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let file = folder.write("said.txt", "before\n");
    let said = fs::File::options().append(true).open(&file).unwrap();
    let url = server.at("/");
    let words = ["run", "-d", "1500ms", "--intervals", "-", &url];
    let output = command(&words).stderr(said).output().unwrap();
    let lines = lines(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(lines.len(), 3, "two seconds and the drain: {lines:?}");
    let said = fs::read_to_string(&file).unwrap();
    assert!(
        said.starts_with("before\n") && said.contains("Requests/sec:"),
        "{said}"
    );
}

#[test]
fn what_a_reader_did_not_take_or_a_disk_did_not_hold_is_said_at_the_end() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let run = Run::start(&server, &folder, &["--intervals", "/dev/full"]);
    let (code, said) = run.end();
    assert_eq!(code, Some(3), "{said}");
    assert!(
        said.contains("can't write intervals to /dev/full"),
        "{said}"
    );
    assert!(read(&folder, "record.json")["exchanges"]["completed"].as_u64() > Some(0));
    // A pipe of a page that nobody reads.
    let more = ["--intervals", "-", "--interval-histograms"];
    let mut run = Run::start(&server, &folder, &more);
    let stdout = run.child.stdout.take().unwrap();
    rustix::pipe::fcntl_setpipe_size(&stdout, 4096).unwrap();
    let (code, said) = run.end();
    drop(stdout);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("intervals weren't taken"), "{said}");
    assert!(read(&folder, "record.json")["exchanges"]["completed"].as_u64() > Some(0));
}

#[test]
fn places_that_cannot_be_had_are_refused_before_anything_is_sent() {
    let (server, folder) = (Server::start(&[]), Folder::new());
    let taken = server.authority().to_owned();
    let nowhere = folder.path("no/such/folder");
    let fifo = folder.path("fifo");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &*fifo,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let page = format!("--live={taken}");
    for (words, told) in [
        (vec!["--metrics", &*taken], "in use"),
        (vec![&*page], "in use"),
        (vec!["--intervals", &*fifo], "nobody reads it"),
        (vec!["--live=nonsense"], "give a port such as 8090"),
        (vec!["--metrics", "nonsense"], "give a port such as 8090"),
        (vec!["--intervals", "same", "-o", "same"], "name two"),
        (vec!["--intervals", &*nowhere], "can't write intervals to"),
        (vec!["--intervals", "-", "--format", "json"], "-o"),
        (vec!["--interval-histograms"], "--intervals"),
        (vec!["--run-name", "a"], "--metrics"),
    ] {
        let url = server.at("/");
        let all = [&["run", "-d", "1s"][..], &words, &[&*url]].concat();
        let ended = ringside(&all);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(told), "{words:?}: {}", ended.stderr);
    }
    let (_, said) = server.stop();
    assert!(said.contains("served 0 requests"), "{said}");
}
