//! What the lab measures by the loads of a fleet: both sides are loaded by all agents.

use std::fs;

use serde_json::Value;

use crate::programs::Program;
use crate::runs::has_nats;

/// A server that waits before each answer, for so many seconds.
const SERVER: &str = r#"
import http.server, sys, time
class Answers(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        time.sleep(float(sys.argv[2]))
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    def log_message(*words): pass
http.server.ThreadingHTTPServer.daemon_threads = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Answers).serve_forever()
"#;

/// As short as it can be: of four rounds nothing is proven.
const GATE: &str = r#"
[gate]
figures = ["rate"]
rounds_max = 4
[workload]
connections = 2
window = "300ms"
settle = "10ms"
warm_up = "0s"
"#;

#[test]
fn both_sides_of_a_gate_are_loaded_by_all_agents() {
    if !has_nats() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (server, file) = (put("server.py", SERVER), put("gate.toml", GATE));
    let side = |delay: &str| format!("python3 {server} {{port}} {delay}");
    let (base, head, out) = (side("0.001"), side("0.03"), folder.path().join("out"));
    let words = [
        ["--agents", "local:2"],
        ["--base-start", &base],
        ["--head-start", &head],
        ["--file", &file],
        ["-o", out.to_str().unwrap()],
        ["--format", "json"],
    ];
    let words = words.as_flattened().iter().copied();
    let ended = Program::start(&["gate"].into_iter().chain(words).collect::<Vec<_>>()).end();
    // Whatever so few rounds prove.
    assert!(
        matches!(ended.code, Some(0 | 4 | 5 | 99)),
        "it has measured: {ended:?}"
    );
    let found: Value = ended.record();
    assert_eq!(found["rounds"], 4, "{found}");
    let figure = &found["figures"][0];
    let of = |side: &str| figure[side].as_f64().unwrap();
    // Two connections that wait for 30 ms.
    assert!(of("head") < 67.0 && of("base") > of("head"), "{found}");
    let mut engines = Vec::new();
    look_for(&out, &mut |round| {
        let record = &round["record"];
        engines.push((
            record["generator"]["engine"].clone(),
            record["plan"]["threads"].clone(),
        ));
    });
    assert!(engines.len() >= 8, "{engines:?}");
    let ours = ("fleet".into(), 2.into());
    assert!(engines.iter().all(|one| *one == ours), "{engines:?}");
}

/// Every round below a folder.
fn look_for(folder: &std::path::Path, take: &mut dyn FnMut(&Value)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            look_for(&path, take);
        } else if path.extension().is_some_and(|ending| ending == "json")
            && let Ok(value) = serde_json::from_slice::<Value>(&fs::read(&path).unwrap())
            && value["record"]["generator"].is_object()
        {
            take(&value);
        }
    }
}

/// A subject of our own.
const SUBJECT: &str = r#"
description = "ours"
kind = "server"
[start]
command = ["@THIS@", "serve", "--addr", "127.0.0.1:{port}"]
[ready]
path = "/"
[[answer]]
path = "/"
status = 200
body = "Hello, World!"
"#;

/// A folder with that subject in it.
fn with_subject() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("subjects/ours");
    fs::create_dir_all(&place).unwrap();
    let subject = SUBJECT.replace("@THIS@", env!("CARGO_BIN_EXE_ringside-fleet"));
    fs::write(place.join("subject.toml"), subject).unwrap();
    folder
}

/// As short as it can be.
const COMPARISON: &str = r#"
name = "ours"
question = "?"
subjects = ["ours"]
rounds = 1
aa = false
ceiling = false
[workload]
connections = 4
settle = "10ms"
warm_up = "0s"
"#;

const PHASES: &str = r#"
[[phase]]
name = "few"
for = "100ms"
rate = "100"
[[phase]]
name = "more"
for = "150ms"
pass = ["errors<10%"]
"#;

#[test]
fn phases_points_of_a_sweep_and_trials_are_loaded_by_all_agents() {
    if !has_nats() {
        return;
    }
    let folder = with_subject();
    let compare = |name: &str, more: &str, flags: &[&str]| {
        let (file, out) = (
            folder.path().join(format!("{name}.toml")),
            folder.path().join(name),
        );
        fs::write(&file, format!("{COMPARISON}{more}")).unwrap();
        let words = ["compare", "--agents", "local:2", "-o"];
        let places = [out.to_str().unwrap(), file.to_str().unwrap()];
        let ended = Program::start(&[&words[..], &places, flags].concat()).end();
        // Of so few rounds nothing is proven.
        assert!(matches!(ended.code, Some(0 | 1 | 4 | 5)), "{ended:?}");
        let (mut loads, mut phases) = (Vec::new(), 0);
        look_for(&out, &mut |round| {
            let connections = &round["record"]["plan"]["connections"];
            loads.push(connections.as_u64().unwrap());
            let own = round["phases"].as_array().into_iter().flatten();
            phases += own.clone().count();
            // That of the phase by which rows are compared is the round's own.
            let records = own.chain([round]).map(|one| &one["record"]);
            for record in records.filter(|record| record.is_object()) {
                assert_eq!(record["generator"]["engine"], "fleet", "{record}");
            }
        });
        loads.sort_unstable();
        (ended, loads, phases)
    };
    let (swept, points, _) = compare("swept", "[sweep]\nconnections = [4, 8]\n", &[]);
    assert_eq!(points, [4, 8], "{swept:?}");
    // The subject, twice.
    let (tried, rows, phases) = compare("tried", PHASES, &["--aa-trials", "1"]);
    assert_eq!((rows, phases), (vec![4, 4], 4), "{tried:?}");
    assert!(tried.said.contains("trials: "), "{tried:?}");
}

#[test]
fn rows_are_searched_by_the_loads_of_all_agents() {
    if !has_nats() {
        return;
    }
    let folder = with_subject();
    let (file, out) = (folder.path().join("rows.toml"), folder.path().join("found"));
    fs::write(&file, COMPARISON).unwrap();
    let words = "capacity --agents local:2 --slo errors<10% --arrivals constant --from 200 --to \
                 200 --precision 40% --repeats 1 --confirmations 1 -d 500ms -o";
    let words = words.split_whitespace();
    let words = words.chain([out.to_str().unwrap(), file.to_str().unwrap()]);
    let ended = Program::start(&words.collect::<Vec<_>>()).end();
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let found = fs::read(out.join("capacity.json")).unwrap();
    let found: Value = serde_json::from_slice(&found).unwrap();
    assert_eq!(found["rows"][0]["found"]["held"]["rate"], 200.0, "{found}");
    let mut loads = 0;
    look_for(&out, &mut |round| {
        assert_eq!(round["record"]["generator"]["engine"], "fleet", "{round}");
        loads += 1;
    });
    assert!(loads > 0, "{found}");
}

#[test]
fn servers_that_are_started_here_are_loaded_from_here_alone() {
    let started = "compare --agents 2 --nats nats://127.0.0.1:1 --start ./a --start ./b";
    let gate = "gate --agents 2 --nats nats://127.0.0.1:1 --base-start ./a --head-start ./b";
    let search = "capacity --agents 2 --nats nats://127.0.0.1:1 --slo p99<10ms comparison.toml";
    for (words, part) in [
        (started, "use --agents local:N"),
        (gate, "use --agents local:N"),
        (search, "use --agents local:N"),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let ended = Program::start(&words).end();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.said.contains(part), "{ended:?}");
    }
}
