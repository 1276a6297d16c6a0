//! What a run can do, a fleet can do, too: files reach the agents, rows and lines are sent once by
//! all of them together, and whoever watches sees what the record says.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use agents::nats::{Broker, End};
use agents::store::{Content, Shelf};
use fleet::chain::Digest;
use serde_json::Value;
use testserver::Tls;
use tls::Certificate;

use crate::heard::Server;
use crate::programs::{Ended, LOOPBACK, Nats, Program, Target, agents, until};
use crate::runs::has_nats;
use crate::skip::skip;

/// Runs a fleet of three on this machine. Words are parted by spaces.
fn together(words: &str, more: &[&str]) -> Program {
    let words = format!("run --agents local:3 -T 60s --format json {words}");
    let words: Vec<&str> = words.split(' ').chain(more.iter().copied()).collect();
    Program::start(&words)
}

#[track_caller]
fn measured(run: Program) -> (Ended, Value) {
    let ended = run.end();
    assert!(ended.has_measured(), "{ended:?}");
    let record = ended.record();
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    (ended, record)
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn rows_are_dealt_out_once_over_all_agents_and_intervals_add_up_to_the_record() {
    if !has_nats() {
        return;
    }
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let ids: Vec<String> = (1000..1100).map(|id| id.to_string()).collect();
    let rows = write(
        folder.path(),
        "rows.csv",
        &format!("id\n{}\n", ids.join("\n")),
    );
    let body = write(folder.path(), "body.json", "{\"a\": \"from a file\"}");
    let intervals = folder.path().join("intervals");
    let run = together(
        "-c 5 --data-order once --data",
        &[
            &rows,
            "--intervals",
            intervals.to_str().unwrap(),
            "-b",
            &format!("@{body}"),
            &format!("{}/{{{{id}}}}", server.url),
        ],
    );
    let (_, record) = measured(run);
    let asked = ids.iter().map(|id| format!("POST /{id}"));
    assert_eq!(server.lines(), asked.collect::<Vec<_>>());
    assert!(
        server
            .heard()
            .iter()
            .all(|one| one.body.contains("from a file"))
    );
    assert_eq!(record["exchanges"]["completed"], 100, "{record}");
    assert_eq!(record["ended_by"], "rows");
    let lines = fs::read_to_string(&intervals).unwrap();
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let of = |name: &str| {
        lines
            .iter()
            .filter_map(|line| line[name].as_u64())
            .sum::<u64>()
    };
    assert_eq!(of("completed"), 100, "{lines:?}");
    let seqs: Vec<_> = lines.iter().map(|line| line["seq"].as_u64()).collect();
    assert_eq!(seqs, (0..lines.len() as u64).map(Some).collect::<Vec<_>>());
}

#[test]
fn each_line_of_a_replay_is_sent_once() {
    if !has_nats() {
        return;
    }
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let line = |at: u32| {
        let ms = at * 20;
        let time = format!("2026-01-01T00:00:{:02}.{:03}Z", ms / 1000, ms % 1000);
        format!("{{\"time\": \"{time}\", \"method\": \"GET\", \"path\": \"/of/{at:03}?a=b\"}}\n")
    };
    let lines: String = (0..90).map(line).collect();
    let log = write(folder.path(), "requests.ndjson", &lines);
    let (_, record) = measured(together("-c 6 --replay", &[&log, &server.url]));
    let asked = (0..90).map(|at| format!("GET /of/{at:03}?a=b"));
    assert_eq!(server.lines(), asked.collect::<Vec<_>>());
    assert_eq!(record["exchanges"]["completed"], 90, "{record}");
    assert_eq!(record["plan"]["schedule"]["requests"], 90);
    let each = agents(&record).iter();
    let each = each.map(|agent| agent["figures"]["totals"]["completed"].as_u64());
    assert_eq!(each.flatten().sum::<u64>(), 90);
}

#[test]
fn users_of_a_flow_keep_their_secrets_out_of_records_and_logs() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().display();
    let Some(nats) = Nats::start_with(&format!("jetstream {{ store_dir: \"{store}\" }}")) else {
        return;
    };
    let server = Server::start();
    let flow = "
POST {{base}}/login
Authorization: Bearer {{key}}
file,said.txt;
HTTP 200
[Captures]
number: jsonpath \"$.number\"

GET {{base}}/{{name}}/{{number}}
HTTP 200
";
    let file = write(folder.path(), "shop.hurl", flow);
    write(folder.path(), "said.txt", "hello from a file");
    let rows = write(folder.path(), "names.csv", "name\nann\nbob\ncid\ndan\n");
    let (broker, base) = (nats.url(), format!("base={}", server.url));
    let all = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
    let words = [
        "run", "--agents", "2", "--nats", &broker, "-T", "60s", "-c", "2",
    ];
    let words: Vec<&str> = words
        .into_iter()
        .chain(["--format", "json", "--data", &rows, "--data-order", "once"])
        .chain(["--variable", &base, "--secret", "key=canary-4711", &file])
        .collect();
    let (ended, record) = measured(Program::start(&words));
    let heard = server.heard();
    let with = |part: &str| {
        heard
            .iter()
            .filter(|one| one.line.starts_with(part))
            .count()
    };
    assert_eq!((with("POST /login"), heard.len()), (4, 8), "{heard:?}");
    assert_eq!(
        ["ann", "bob", "cid", "dan"].map(|name| with(&format!("GET /{name}/"))),
        [1; 4]
    );
    for one in heard.iter().filter(|one| one.line == "POST /login") {
        assert_eq!(one.body, "hello from a file");
        assert!(
            one.fields
                .iter()
                .any(|field| field == "Authorization: Bearer canary-4711")
        );
    }
    let steps = record["steps"].as_array().unwrap();
    let whole = steps.iter().find(|step| step["name"] == "(flow)").unwrap();
    assert_eq!(whole["completed"], 4, "{record}");
    let said = all.iter().map(|agent| agent.said() + &agent.audit());
    for text in said.chain([ended.out, ended.said]) {
        assert!(!text.contains("canary"), "{text}");
    }
}

#[test]
fn a_script_runs_on_agents_whose_policy_allows_that() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let config = format!("jetstream {{ store_dir: {:?} }}", store.to_str().unwrap());
    let Some(nats) = Nats::start_with(&config) else {
        return;
    };
    let server = Server::start();
    let text = "
local made = 0
local threads = 0
function setup(thread)
  thread:set('id', threads)
  threads = threads + 1
end
function request()
  made = made + 1
  return wrk.format('GET', '/thread/' .. id)
end
";
    let script = write(folder.path(), "paths.lua", text);
    let (broker, url) = (nats.url(), server.url.clone());
    let words = [
        "run", "--agents", "2", "--nats", &broker, "-T", "60s", "-c", "2",
    ];
    let words: Vec<&str> = words
        .into_iter()
        .chain(["-n", "20", "--format", "json", "-s", &script, &url])
        .collect();
    {
        let _all = ["one", "two"].map(|name| Program::agent(name, &nats, Some(LOOPBACK)));
        let refused = Program::start(&words).end();
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.said.contains("`scripts = true`"), "{refused:?}");
        assert!(server.heard().is_empty());
    }
    let policy = format!("scripts = true\n{LOOPBACK}");
    let _all = ["three", "four"].map(|name| Program::agent(name, &nats, Some(&policy)));
    let (_, record) = measured(Program::start(&words));
    assert_eq!(record["exchanges"]["completed"], 20, "{record}");
    // Threads are numbered over all agents.
    let lines = server.lines();
    assert_eq!(lines[..10], ["GET /thread/0"; 10].map(str::to_owned));
    assert_eq!(lines[10..], ["GET /thread/1"; 10].map(str::to_owned));
}

#[test]
fn events_are_added_up_thresholds_judged_and_metrics_scraped() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let url = target.url("/events/4/1ms");
    let words = "-c 3 -n 30 --events --threshold first_event_p99<1us --metrics 127.0.0.1:0";
    let run = together(words, &[&url]);
    let at = |said: &str| {
        let (_, rest) = said.split_once("metrics are at http://")?;
        rest.split('/').next().map(str::to_owned)
    };
    until("there are metrics", || at(&run.said()).is_some());
    let place = at(&run.said()).unwrap();
    // It waits for somebody to scrape what there is at the end.
    let mut scraped = String::new();
    until("all is in the metrics", || {
        scraped = scrape(&place);
        scraped.contains("ringside_stream_events_total") && all_events(&scraped) == 120
    });
    let ended = run.end();
    let record = ended.record();
    // On a machine that is too busy for its figures nothing is judged.
    let code = match record["valid"] == true {
        true => 99,
        false => 4,
    };
    assert_eq!(ended.code, Some(code), "{ended:?}");
    assert_eq!(record["streams"]["streams"], 30, "{record}");
    assert_eq!(record["streams"]["events"], 120, "{record}");
    assert_eq!(record["fleet"]["complete"], true, "{record}");
    assert_eq!(target.finish(), 30);
}

fn scrape(place: &str) -> String {
    let mut text = String::new();
    if let Ok(mut stream) = TcpStream::connect(place) {
        let request =
            format!("GET /metrics HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n");
        let _sent = stream.write_all(request.as_bytes());
        let _read = stream.read_to_string(&mut text);
    }
    text
}

/// The sum of all events in metrics.
fn all_events(scraped: &str) -> u64 {
    let lines = scraped
        .lines()
        .filter(|line| line.starts_with("ringside_stream_events_total"));
    let values = lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum::<f64>() as u64
}

#[test]
fn a_file_that_changed_after_its_hash_is_refused_and_so_is_a_broker_without_a_store() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "rows.csv", "id\n1\n");
    let store = folder.path().join("store");
    let config = format!("jetstream {{ store_dir: {:?} }}", store.to_str().unwrap());
    let (Some(with), Some(without)) = (Nats::start_with(&config), Nats::start()) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(async {
        let broker = Broker::new(&with.url(), None).unwrap();
        let end = End::connect(&broker, "a-test").await.unwrap();
        let shelf = Shelf::make(&end, &broker, "a-run").await.unwrap();
        let content = Content::File((&file).into());
        let digest = Digest::of(b"id\n1\n");
        shelf.put(&content, digest).await.unwrap();
        // It's there already.
        shelf.put(&content, digest).await.unwrap();
        let said = shelf
            .put(&content, Digest::of(b"id\n2\n"))
            .await
            .unwrap_err();
        assert!(
            said.contains("rows.csv changed between its hash and its sending"),
            "{said}"
        );
        let broker = Broker::new(&without.url(), None).unwrap();
        let end = End::connect(&broker, "a-test").await.unwrap();
        let said = Shelf::make(&end, &broker, "a-run").await.unwrap_err();
        assert!(said.contains("switch JetStream on"), "{said}");
    });
}

/// A search that takes as few probes as possible.
fn searched(more: &[&str], folder: &Path, url: &str) -> Value {
    let words = "capacity -c 6 --slo errors<10% --arrivals constant --from 300 --precision 40% \
                 --repeats 1 --confirmations 1 -d 500ms -T 60s";
    let words: Vec<&str> = words.split_whitespace().collect();
    let folder = folder.to_str().unwrap();
    let words = words
        .into_iter()
        .chain(["-o", folder])
        .chain(more.iter().copied());
    let ended = Program::start(&words.chain([url]).collect::<Vec<_>>()).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = fs::read_to_string(Path::new(folder).join("capacity.json")).unwrap();
    serde_json::from_str(&found).unwrap()
}

#[test]
fn a_fleet_finds_the_capacity_that_there_is() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().join("found");
    let found = searched(
        &["--agents", "local:3"],
        &folder,
        &target.url("/delay/10ms"),
    );
    let row = &found["rows"][0];
    let edge = |name: &str| row["found"][name]["rate"].as_f64();
    // 600 a second is what six connections can have answered.
    let (held, failed) = (edge("held"), edge("failed"));
    assert!(
        held.is_some_and(|held| (150.0..=600.0).contains(&held)),
        "{row}"
    );
    assert!(failed.is_none_or(|failed| failed > 300.0), "{row}");
    let points = row["points"].as_array().unwrap();
    assert!(
        points
            .iter()
            .any(|point| point["completed"].as_u64() > Some(100)),
        "{row}"
    );
}

#[test]
fn unlike_machines_have_shares_by_weight_and_nothing_is_left_over() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let url = target.url("/");
    // Four workers: three of one agent.
    let words = "run --agents local:2 -t 2 -c 8 -n 103 -T 60s --format json --weights";
    let words: Vec<&str> = words.split(' ').collect();
    let with = |weights: &'static str| {
        let words = words.iter().copied().chain([weights, &url]);
        Program::start(&words.collect::<Vec<_>>()).end()
    };
    let unknown = with("local-0=3,local-7=1");
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(
        unknown.said.contains("--weights names local-7"),
        "{unknown:?}"
    );
    let ended = with("local-0=3,local-1=1");
    assert!(ended.has_measured(), "{ended:?}");
    let record = ended.record();
    let of = |agent: &Value| {
        let completed = agent["figures"]["totals"]["completed"].as_u64();
        (agent["workers"].as_u64(), completed)
    };
    let each: Vec<_> = agents(&record).iter().map(of).collect();
    assert_eq!(each, [(Some(3), Some(78)), (Some(1), Some(25))], "{record}");
    assert_eq!(target.finish(), 103);
}

/// Calls of two methods, of which the second is answered with NOT_FOUND.
fn calls(authority: &str) -> String {
    format!(
        "### echo\nGRPC grpc://{authority}/ringside.Echo/Echo\n\n{{\"text\": \"{{{{seq}}}}\"}}\n\
         ### gone\nGRPC grpc://{authority}/grpc.testing.TestService/UnaryCall\n\n\
         {{\"response_status\": {{\"code\": 5, \"message\": \"no\"}}}}\n"
    )
}

#[test]
fn mixed_calls_of_all_agents_are_on_a_page_and_sent_to_a_receiver() {
    if !has_nats() {
        return;
    }
    let (target, folder) = (Target::start(), tempfile::tempdir().unwrap());
    let receiver = Server::start();
    let mix = write(folder.path(), "mix.http", &calls(&target.authority()));
    let words = format!(
        "-R 100 --arrivals constant -d 2s -c 3 --live=127.0.0.1:0 --otlp {} --targets",
        receiver.url
    );
    let run = together(&words, &[&mix]);
    let at = |said: &str| {
        let (_, rest) = said.split_once("the live page is at http://")?;
        let (place, token) = rest.split_whitespace().next()?.split_once("/?token=")?;
        Some((place.to_owned(), token.to_owned()))
    };
    until("there is a page", || at(&run.said()).is_some());
    let (place, token) = at(&run.said()).unwrap();
    let mut updates = String::new();
    until("the page shows what agents counted", || {
        updates = ask(&place, &format!("/updates?token={token}"));
        updates.contains("\"stage\":\"running\"")
    });
    let (_, record) = measured(run);
    let step = |name: &str| {
        let steps = record["steps"].as_array().unwrap();
        steps.iter().find(|step| step["name"] == name).unwrap()
    };
    assert_eq!(step("echo")["grpc_status"]["OK"], 100, "{record}");
    assert_eq!(step("gone")["grpc_status"]["NOT_FOUND"], 100, "{record}");
    let heard = receiver.lines();
    for signal in ["POST /v1/metrics", "POST /v1/traces"] {
        assert!(heard.iter().any(|line| line == signal), "{heard:?}");
    }
}

/// An answer of a page, as far as it has come when there's something in it.
fn ask(place: &str, target: &str) -> String {
    let Ok(mut stream) = TcpStream::connect(place) else {
        return String::new();
    };
    let head = format!("GET {target} HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n");
    let _sent = stream.write_all(head.as_bytes());
    let mut text = String::new();
    let _read = stream.read_to_string(&mut text);
    text
}

/// An authority, and a server and a client that it has signed: `ca.pem`, `NAME.pem`, `NAME.key`.
fn certificates(folder: &Path) -> bool {
    let openssl = |words: &str| {
        let mut command = Command::new("openssl");
        command.args(words.split_whitespace()).current_dir(folder);
        command.stderr(Stdio::null()).stdout(Stdio::null()).status()
    };
    if openssl("version").is_err() {
        skip("openssl isn't installed");
        return false;
    }
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    let mut all = vec![format!(
        "req -x509 {key} -keyout ca.key -out ca.pem -days 30 -subj /CN=authority"
    )];
    for name in ["server", "client"] {
        all.push(format!(
            "req {key} -keyout {name}.key -out {name}.csr -subj /CN={name} -addext \
             subjectAltName=IP:127.0.0.1"
        ));
        all.push(format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -copy_extensions \
             copy -days 30 -out {name}.pem"
        ));
    }
    for words in all {
        assert!(openssl(&words).unwrap().success(), "openssl {words}");
    }
    true
}

#[test]
fn certificates_and_keys_reach_the_agents_and_open_a_server_that_asks_for_them() {
    let folder = tempfile::tempdir().unwrap();
    if !has_nats() || !certificates(folder.path()) {
        return;
    }
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let target = Target::start_with("127.0.0.1", |config| {
        config.tls = Some(Tls {
            certificate: Certificate::Files {
                chain: file("server.pem").into(),
                key: file("server.key").into(),
            },
            client_authorities: Some(file("ca.pem").into()),
        });
    });
    let url = format!("https://{}/", target.authority());
    let [ca, certificate, key] = ["ca.pem", "client.pem", "client.key"].map(file);
    let words = ["--cacert", &ca, "--cert", &certificate, "--key", &key, &url];
    let (_, record) = measured(together("-n 30 -c 3", &words));
    assert_eq!(record["exchanges"]["completed"], 30, "{record}");
    assert!(record["connections"]["tls"].is_object(), "{record}");
    assert_eq!(target.finish(), 30);
}

#[test]
fn agents_have_shares_by_what_they_reach_and_a_control_of_servers_of_their_own() {
    if !has_nats() {
        return;
    }
    let target = Target::start();
    let url = target.url("/");
    let words = "-t 4 -c 24 -n 120 --control --weights measured";
    let (ended, record) = measured(together(words, &[&url]));
    assert!(
        ended.said.contains("shares are those of what agents reach"),
        "{ended:?}"
    );
    let reached = record["fleet"]["reached_per_s"].as_object().unwrap();
    assert_eq!(reached.len(), 3, "{record}");
    assert!(reached.values().all(|rate| rate.as_f64() > Some(0.0)));
    let workers = agents(&record).iter();
    let workers: Vec<_> = workers
        .filter_map(|agent| agent["workers"].as_u64())
        .collect();
    assert_eq!(workers.iter().sum::<u64>(), 12, "{record}");
    // Whoever reaches more has no fewer threads.
    let mut all: Vec<(f64, u64)> = reached
        .values()
        .filter_map(serde_json::Value::as_f64)
        .zip(workers)
        .collect();
    all.sort_by(|one, other| one.0.total_cmp(&other.0));
    assert!(all.windows(2).all(|two| two[0].1 <= two[1].1), "{all:?}");
    assert!(
        record["control"]["achieved_rate"].as_f64() > Some(0.0),
        "{record}"
    );
    // The target has seen nothing of either.
    assert_eq!(target.finish(), 120);
}
