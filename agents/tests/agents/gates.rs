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
    look_for(&out, &mut |record| {
        engines.push((
            record["generator"]["engine"].clone(),
            record["plan"]["threads"].clone(),
        ));
    });
    assert!(engines.len() >= 8, "{engines:?}");
    let ours = ("fleet".into(), 2.into());
    assert!(engines.iter().all(|one| *one == ours), "{engines:?}");
}

/// Every record of a load below a folder.
fn look_for(folder: &std::path::Path, take: &mut dyn FnMut(&Value)) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            look_for(&path, take);
        } else if path.extension().is_some_and(|ending| ending == "json")
            && let Ok(value) = serde_json::from_slice::<Value>(&fs::read(&path).unwrap())
            && value["record"]["generator"].is_object()
        {
            take(&value["record"]);
        }
    }
}

#[test]
fn servers_that_are_started_here_are_loaded_from_here_alone() {
    let started = "compare --agents 2 --nats nats://127.0.0.1:1 --start ./a --start ./b";
    let gate = "gate --agents 2 --nats nats://127.0.0.1:1 --base-start ./a --head-start ./b";
    let often = "compare --agents local:2 --trials 3 comparison.toml";
    for (words, part) in [
        (started, "use --agents local:N"),
        (gate, "use --agents local:N"),
        (often, "--trials doesn't work with --agents"),
    ] {
        let words: Vec<&str> = words.split_whitespace().collect();
        let ended = Program::start(&words).end();
        assert_eq!(ended.code, Some(2), "{ended:?}");
        assert!(ended.said.contains(part), "{ended:?}");
    }
}
