//! WebSocket against `ws` for Node.js and `websockets` for Python, in both directions.

use std::process::Command;

use serde_json::Value;

use super::child::{Folder, Server, assert_says, comparison_of_ours, ringside, start, took_place};
use super::peers::{Peer, answers, from_ci, peer, ready};
use super::ports::free_port;

/// A library that `.ci/run` installs, and what runs programs that use it.
struct Library {
    extension: &'static str,
    interpreter: String,
}

impl Library {
    /// Those that are there.
    fn all() -> Vec<Library> {
        let node = ("js", "node".to_string(), ["-e", "require('ws')"]);
        let python = from_ci("python/bin/python");
        let python = ("py", python, ["-c", "import websockets"]);
        let mut found = Vec::new();
        for (extension, interpreter, question) in [node, python] {
            let library = Library {
                extension,
                interpreter,
            };
            let name = format!("the WebSocket library in {:?}", question[1]);
            if answers(library.command().args(question), &name) {
                found.push(library);
            }
        }
        found
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.interpreter);
        command.env("NODE_PATH", from_ci("node/node_modules"));
        command
    }

    /// Runs the program beside this test that plays this role.
    fn program(&self, role: &str, argument: &str) -> Command {
        let folder = env!("CARGO_MANIFEST_DIR");
        let file = format!("{folder}/tests/peers/websocket_{role}.{}", self.extension);
        let mut command = self.command();
        command.args([&file, argument]);
        command
    }

    /// A server, and its port.
    fn server(&self) -> (Peer, u16) {
        let port = free_port();
        let peer = peer(&mut self.program("server", &port.to_string()));
        ready(port, self.extension);
        (peer, port)
    }
}

/// The record of a run of twenty messages, and how it ended.
fn run(words: &[&str], url: &str) -> (Option<i32>, Value) {
    let mut all = vec!["run", "-n", "20", "-c", "2", "--format", "json"];
    all.extend(words);
    all.push(url);
    let ended = ringside(&all);
    let record = serde_json::from_str(&ended.stdout);
    let record = record.unwrap_or_else(|_| panic!("{all:?}: {}", ended.stderr));
    (ended.code, record)
}

#[test]
fn servers_of_others_are_loaded() {
    for library in Library::all() {
        let (_peer, port) = library.server();
        let url = |path: &str| format!("ws://127.0.0.1:{port}{path}");
        let long = "x".repeat(100_000);
        for (path, words) in [
            ("/echo", &["--message", "sixteen bytes ok"][..]),
            ("/echo", &["--message", ""]),
            ("/echo", &["--pipeline", "4"]),
            ("/echo", &["--binary", "--message", &long]),
            ("/echo", &["--no-keepalive"]),
            ("/echo", &["-R", "50", "--ping", "20ms"]),
            ("/fragments", &["--message", "h\u{e9}llo"]),
            ("/fragments", &["--binary"]),
            ("/large", &[]),
        ] {
            let (code, record) = run(words, &url(path));
            let completed = record["exchanges"]["completed"].as_u64();
            assert!(took_place(code), "{path} {words:?}: {record}");
            assert_eq!(completed, Some(20), "{path} {words:?}: {record}");
            assert_eq!(record["errors"], serde_json::json!({}), "{path} {words:?}");
            assert_eq!(record["messages"]["received"], 20, "{path} {words:?}");
            if words.contains(&"--ping") {
                assert!(
                    record["ping_time_us"]["p50"].as_f64().unwrap() > 0.0,
                    "{record}"
                );
            }
        }
        for (path, kind) in [
            ("/close", "early_close"),
            ("/garbled", "protocol_violation"),
        ] {
            let (_, record) = run(&[], &url(path));
            assert_eq!(record["errors"][kind], 20, "{path}: {record}");
        }
    }
}

/// Messages of which a server takes no other order, with a row of `rows.csv` for all of them.
const CHAT: &str = r#"### chat
WEBSOCKET ws://127.0.0.1:PORT/chat

# @name join
# @expect json:$.type=joined
{"type": "join", "room": "{{room}}", "n": {{seq}}}
=== wait-for-server
{"type": "typing"}
=== wait 1ms
# @expect json:$.type=heard
{"type": "say", "by": "{{name}}"}
=== wait-for-server
"#;

#[test]
fn messages_follow_each_other_on_each_connection() {
    let folder = tempfile::tempdir().unwrap();
    let rows = "room,name\na,\"A\"\"\"\nb,B\\\nc,C\n";
    std::fs::write(folder.path().join("rows.csv"), rows).unwrap();
    let [chat, rows] = ["chat.http", "rows.csv"].map(|name| {
        let path = folder.path().join(name);
        path.to_str().unwrap().to_owned()
    });
    for library in Library::all() {
        let (_peer, port) = library.server();
        std::fs::write(&chat, CHAT.replace("PORT", &port.to_string())).unwrap();
        let words = ["--data", &rows, "-c", "5", "-n", "101", "--format", "json"];
        let words = [&["run", "--targets", &chat], &words[..]].concat();
        let ended = ringside(&words);
        assert!(took_place(ended.code), "{}", ended.stderr);
        let record: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(record["exchanges"]["completed"], 101, "{record}");
        assert_eq!(record["errors"], serde_json::json!({}), "{record}");
        let steps = record["steps"].as_array().unwrap();
        let names: Vec<_> = steps.iter().map(|step| &step["name"]).collect();
        assert_eq!(names, ["join", "chat#3"]);
        let completed = |at: usize| steps[at]["completed"].as_u64().unwrap();
        assert_eq!(completed(0) + completed(1), 101);
        assert!(completed(0) >= completed(1) && completed(0) <= completed(1) + 5);
        // Two of three are answered; a server that had seen another order would have closed.
        assert_eq!(record["messages"]["received"], 101);
        let sent = record["messages"]["sent"].as_u64().unwrap();
        assert!(
            (101 + completed(1)..=101 + completed(0)).contains(&sent),
            "{record}"
        );
        assert_eq!(record["close_codes"], serde_json::json!({}), "{record}");
    }
}

#[test]
fn a_flow_of_messages_ends_with_its_rows() {
    let server = Server::start(&[]);
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let text = CHAT.replace("127.0.0.1:PORT/chat", &format!("{}/ws", server.authority()));
    // Our server echoes what waits for no answer, too, and that may come first.
    let lines = text.lines().filter(|line| !line.starts_with("# @expect"));
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n");
    let chat = file("chat.http", &text);
    let rows = file("rows.csv", "room,name\na,A\nb,B\nc,C\nd,D\n");
    let words = ["--data-order", "once", "-c", "3", "--format", "json"];
    let words = [&["run", "--targets", &chat, "--data", &rows], &words[..]].concat();
    let ended = ringside(&words);
    assert!(took_place(ended.code), "{}", ended.stderr);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(record["ended_by"], "rows", "{record}");
    assert_eq!(record["messages"]["sent"], 12, "{record}");
    assert_eq!(record["exchanges"]["completed"], 8, "{record}");
}

/// Two rows of our server, which are sent the messages of `chat.http`.
fn compared(folder: &Folder, words: &str, sections: &str) -> String {
    let file = comparison_of_ours(folder, "", "");
    let rows = ["a", "b"].map(|name| format!("[[rows]]\nname = \"{name}\"\nsubject = \"ours\"\n"));
    let text = format!(
        "name = \"test\"\nquestion = \"?\"\nrounds = 2\naa = false\nceiling = false\n{}[workload]\n\
         targets = \"chat.http\"\nconnections = 2\nsettle = \"50ms\"\nwarm_up = \"50ms\"\n{words}\n\
         {sections}",
        rows.concat()
    );
    std::fs::write(&file, text).unwrap();
    file
}

#[test]
fn a_flow_of_messages_is_compared_with_figures_for_each() {
    let folder = Folder::new();
    let text = "### chat\nWEBSOCKET ws://elsewhere:9/ws\n\n# @name join\n{\"n\": {{seq}}}\n\
                === wait-for-server\n# @name say\n# @expect body=x\nx\n=== wait-for-server\n\
                === wait 1ms\n";
    std::fs::write(folder.path("chat.http"), text).unwrap();
    let phases = "[[phase]]\nname = \"few\"\nfor = \"60ms\"\nconnections = 1\n\
                  pass = [\"errors{say}<100%\"]\n[[phase]]\nname = \"more\"\nfor = \"90ms\"\n";
    let usual = "protocol = \"websocket\"";
    let out = folder.path("out");
    let file = compared(&folder, usual, phases);
    let ended = ringside(&["compare", &file, "-o", &out]);
    assert!(took_place(ended.code), "{}\n{}", ended.stdout, ended.stderr);
    let report = ringside(&["report", &out, "--format", "json"]).stdout;
    assert_says(&report, "2 messages of chat.http in turn over WebSocket");
    for row in ["a", "b"] {
        let round = std::fs::read_to_string(format!("{out}/rounds/{row}/001.json")).unwrap();
        let round: Value = serde_json::from_str(&round).unwrap();
        let record = &round["record"];
        assert_eq!(record["exchanges"]["failed"], 0, "{record}");
        let steps = record["steps"].as_array().unwrap();
        let names: Vec<_> = steps.iter().map(|step| &step["name"]).collect();
        assert_eq!(names, ["join", "say"]);
        let sent = |step: &Value| step["completed"].as_u64().unwrap() > 0;
        assert!(steps.iter().all(sent), "{record}");
    }
    for format in ["text", "markdown", "json", "csv"] {
        let ended = ringside(&["report", &out, "--format", format]);
        let is_there = ended.stdout.contains("join") && ended.stdout.contains("say");
        assert!(is_there, "{format}: {}\n{}", ended.stdout, ended.stderr);
    }
    let page = std::fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(page.contains("join"), "{page}");
}

#[test]
fn what_a_flow_of_messages_cannot_be_compared_by_is_refused() {
    let folder = Folder::new();
    let text = "WEBSOCKET ws://elsewhere:9/ws\n\na\n";
    std::fs::write(folder.path("chat.http"), text).unwrap();
    let usual = "protocol = \"websocket\"";
    let phase = "[[phase]]\nname = \"spike\"\nfor = \"60ms\"\nrate = \"10\"\n";
    let sweep = "[sweep]\nrate = [\"10\", \"20\"]\n";
    let judge = "[judge]\nequal_rate = \"auto\"\n";
    for (words, sections, part) in [
        (
            "",
            "",
            "chat.http has the messages of a WebSocket: add `protocol",
        ),
        (
            usual,
            phase,
            "`rate`: the waits between the messages of a WebSocket",
        ),
        (
            usual,
            sweep,
            "`rate`: the waits between the messages of a WebSocket",
        ),
        (usual, judge, "`equal_rate` in [judge]: the waits between"),
    ] {
        let file = compared(&folder, words, sections);
        let ended = ringside(&["compare", &file, "-o", &folder.path("refused")]);
        assert_eq!(ended.code, Some(2), "{part}: {}", ended.stderr);
        assert_says(&ended.stderr, part);
    }
    let file = compared(&folder, usual, "");
    let ended = ringside(&["capacity", &file, "--slo", "p99<1s"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert_says(&ended.stderr, "so there's no rate to search for");
    // No server takes an upgrade there, which is found before any load.
    std::fs::write(folder.path("chat.http"), text.replace("9/ws", "9/")).unwrap();
    let ended = ringside(&["compare", &file, "-o", &folder.path("none")]);
    assert_says(
        &(ended.stdout + &ended.stderr),
        "refused the WebSocket upgrade",
    );
}

#[test]
fn what_a_flow_of_messages_cannot_do_is_refused_with_a_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("chat.http");
    let chat = path.to_str().unwrap();
    std::fs::write(chat, "WEBSOCKET ws://127.0.0.1:9/\n\nhello\n").unwrap();
    for (words, part) in [
        (&["-R", "10"][..], "so would a rate: drop -R or --stages"),
        (&["--pipeline", "2"], "--pipeline must be 1"),
        (
            &["--no-keepalive"],
            "--no-keepalive opens one for each exchange",
        ),
        (&["--pick", "random"], "drop --pick and the weights"),
        (
            &["--message", "x"],
            "--message: the messages are those of the --targets file",
        ),
        (
            &["--expect", "status=200"],
            "--expect: a message has no status",
        ),
        (
            &["-b", "x"],
            "-b: the messages are those of the --targets file; drop -b",
        ),
        (
            &["capacity", "--slo", "p99<1s"],
            "a search sets the rate, and the waits between the messages",
        ),
    ] {
        let verb = if words[0] == "capacity" {
            &[][..]
        } else {
            &["run"]
        };
        let ended = ringside(&[verb, words, &["--targets", chat]].concat());
        assert_eq!(ended.code, Some(2), "{words:?}");
        assert_says(&ended.stderr, part);
    }
    std::fs::write(chat, "WEBSOCKET ws://x/\n\na\n=== wait-for-client\n").unwrap();
    let ended = ringside(&["run", "--targets", chat]);
    assert_eq!(ended.code, Some(2));
    let said = format!("{chat}:4: `=== wait-for-client` says nothing");
    assert_says(&ended.stderr, &said);
}

#[test]
fn an_upgrade_that_another_server_refuses_is_told() {
    for library in Library::all() {
        let (_peer, port) = library.server();
        let ended = ringside(&["run", &format!("ws://127.0.0.1:{port}/refused")]);
        assert_eq!(ended.code, Some(1));
        assert_says(&ended.stderr, "status 503");
    }
}

#[test]
fn clients_of_others_find_nothing_wrong_with_the_server() {
    let libraries = Library::all();
    for engine in ["auto", "epoll"] {
        let server = Server::start(&["--engine", engine]);
        let url = format!("ws://{}/ws", server.authority());
        for library in &libraries {
            let ended = start(&mut library.program("client", &url)).end();
            let name = library.extension;
            assert_eq!(ended.code, Some(0), "{engine} {name}: {}", ended.stderr);
        }
    }
}
