//! gRPC against grpc-python: calls of each kind, how they end, and the sentences for what cannot
//! be called. What a server answers is looked at through `load`, which the program is made of.

use std::process::Command;
use std::time::Duration;

use load::grpc::{Method, Source};
use load::protocol::{Compress, Protocol};
use load::{Answer, CallEnd, Plan};
use serde_json::{Value, json};

use super::child::{Folder, assert_says, record, ringside, took_place};
use super::peers::{Peer, from_ci, installed, peer, ready, subject};
use super::ports::free_port;

const TIMEOUT: Duration = Duration::from_secs(20);

fn proto() -> String {
    format!("{}/tests/peers/greeter.proto", env!("CARGO_MANIFEST_DIR"))
}

/// A server by grpc-python, with its port; `None` where it is not installed.
fn greeter(more: &[&str]) -> Option<(Peer, u16)> {
    let python = from_ci("python/bin/python");
    if !installed(&python, "--version") {
        return None;
    }
    let port = free_port();
    let program = format!("{}/tests/peers/greeter.py", env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(&python);
    let peer = peer(command.args([&program, &port.to_string()]).args(more));
    ready(port, "grpc-python");
    Some((peer, port))
}

/// One call of the method that a URL names, and what was answered: the messages as JSON.
pub(crate) fn call_by(
    source: &Source,
    url: &str,
    json: Option<&str>,
    set: fn(&mut Plan),
) -> (Answer, Vec<Value>) {
    let mut plan = Plan::new(url).unwrap();
    plan.timeout_s = TIMEOUT.as_secs_f64();
    let described = Method::find(&plan, source).unwrap();
    plan.protocol = Protocol::Grpc {
        http2: Default::default(),
        call: described.call(json).unwrap(),
    };
    set(&mut plan);
    let answer = load::probe(&plan, TIMEOUT).unwrap();
    let messages = answer.grpc.iter().flat_map(|end| &end.messages);
    let messages = messages.map(|bytes| described.answer(bytes).unwrap());
    let messages = messages.collect();
    (answer, messages)
}

/// One call by reflection. Its end, and the texts of its messages.
fn call(port: u16, method: &str, json: Option<&str>, set: fn(&mut Plan)) -> (CallEnd, Value) {
    let url = format!("grpc://127.0.0.1:{port}/peers.v1.Greeter/{method}");
    let (answer, messages) = call_by(&Source::Reflection, &url, json, set);
    let texts = messages.iter().map(|message| message["text"].clone());
    (answer.grpc.unwrap(), texts.collect())
}

fn set_deadline(plan: &mut Plan, seconds: f64) {
    if let Protocol::Grpc { call, .. } = &mut plan.protocol {
        call.deadline_s = Some(seconds);
    }
}

#[test]
fn calls_of_each_kind_are_answered_by_grpc_python() {
    let Some((_peer, port)) = greeter(&[]) else {
        return;
    };
    let three = r#"[{"name": "a"}, {"name": "b"}, {"name": "c"}]"#;
    let table = [
        ("Greet", Some(r#"{"name": "a"}"#), json!(["hello a"])),
        ("Greet", None, json!(["hello "])),
        ("GreetAll", Some(three), json!(["hello a, b, c"])),
        ("GreetAll", Some("[]"), json!(["hello "])),
        (
            "Repeat",
            Some(r#"{"name": "a", "times": 2}"#),
            json!(["hello a 0", "hello a 1"]),
        ),
        ("Repeat", None, json!([])),
        (
            "Talk",
            Some(three),
            json!(["hello a", "hello b", "hello c"]),
        ),
        ("Talk", Some("[]"), json!([])),
    ];
    for (method, json, expected) in table {
        let (end, messages) = call(port, method, json, |_| ());
        assert_eq!((end.status_name(), messages), ("OK", expected), "{method}");
    }
    // More than a window, in either direction.
    let large = "x".repeat(3 << 20);
    let (_, messages) = call(
        port,
        "Greet",
        Some(&json!({ "name": large }).to_string()),
        |_| (),
    );
    assert_eq!(messages, json!([format!("hello {large}")]));
}

#[test]
fn a_status_comes_with_its_name_and_its_text() {
    let Some((_peer, port)) = greeter(&[]) else {
        return;
    };
    for (number, name) in [(1, "CANCELLED"), (5, "NOT_FOUND"), (16, "UNAUTHENTICATED")] {
        let json = json!({ "name": "a", "status": number }).to_string();
        let (end, _) = call(port, "Fail", Some(&json), |_| ());
        assert_eq!(end.to_string(), format!("{name}: no, a: 100 % über"));
    }
}

#[test]
fn metadata_and_deadline_arrive() {
    let Some((_peer, port)) = greeter(&[]) else {
        return;
    };
    let reveal = |name: &str, set| {
        let json = json!({ "name": name }).to_string();
        call(port, "Reveal", Some(&json), set).1[0].clone()
    };
    let add = |plan: &mut Plan| {
        let fields = [("X-Word", "a b"), ("raw-bin", "AP8=")];
        let fields = fields.map(|(name, value)| (name.to_string(), value.to_string()));
        plan.request.headers.extend(fields);
    };
    assert_eq!(reveal("x-word", add), "['a b']");
    assert_eq!(reveal("raw-bin", add), r"[b'\x00\xff']");
    let left = reveal("deadline", |plan| set_deadline(plan, 7.0));
    let left: f64 = left.as_str().unwrap().parse().unwrap();
    assert!((0.0..=7.0).contains(&left), "{left}");
    let (end, messages) = call(port, "Stall", None, |plan| set_deadline(plan, 0.2));
    assert_eq!(
        (end.status_name(), messages),
        ("DEADLINE_EXCEEDED", json!([]))
    );
}

#[test]
fn what_cannot_be_called_is_refused_before_the_load_and_says_what_can() {
    let Some((_peer, port)) = greeter(&[]) else {
        return;
    };
    let url = |path: &str| format!("grpc://127.0.0.1:{port}/{path}");
    let table = [
        (
            "peers.v1.Greeter/Gret",
            None,
            "has no method Gret; it has Greet, ",
        ),
        (
            "peers.v1.Greter/Greet",
            None,
            "no service peers.v1.Greter; there is peers.v1.Greeter",
        ),
        ("", None, "with one of these services: "),
        (
            "peers.v1.Greeter/Greet",
            Some("{\"nam\": 1}"),
            "nam isn't a field of peers.v1.Greeting",
        ),
        (
            "peers.v1.Greeter/Greet",
            Some("{\"times\": 1.5}"),
            "times must be a 32-bit integer",
        ),
        ("peers.v1.Greeter/Greet", Some("{"), "-b isn't valid JSON"),
        (
            "peers.v1.Greeter/Greet",
            Some("[{}, {}]"),
            "takes one message, not a stream",
        ),
    ];
    for (path, body, part) in table {
        let url = url(path);
        for source in [&[][..], &["--proto", &proto()]] {
            let mut words = vec!["run", "-n1", "-c1", &url];
            words.extend(body.iter().flat_map(|body| ["-b", body]));
            words.extend(source);
            let ended = ringside(&words);
            assert_eq!((ended.code, &*ended.stdout), (Some(2), ""), "{words:?}");
            assert_says(&ended.stderr, part);
            assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
        }
    }
}

#[test]
fn grpc_python_is_loaded_with_calls_of_each_kind() {
    let Some((_peer, port)) = greeter(&[]) else {
        return;
    };
    // Messages to the server and back, of each call.
    let table = [
        ("Greet", r#"{"name": "a"}"#, 1, 1),
        ("GreetAll", r#"[{}, {}, {}]"#, 3, 1),
        ("Repeat", r#"{"times": 4}"#, 1, 4),
        ("Talk", r#"[{}, {}]"#, 2, 2),
    ];
    for engine in ["auto", "epoll"] {
        for (method, body, sent, received) in table {
            let url = format!("grpc://127.0.0.1:{port}/peers.v1.Greeter/{method}");
            let (code, record) = record(engine, &url, &["-n", "40", "-b", body]);
            assert_eq!(code, Some(0), "{method}: {record}");
            assert_eq!(record["exchanges"]["completed"], 40, "{method}");
            assert_eq!(record["grpc_status"], json!({ "OK": 40 }), "{method}");
            let messages = json!({ "sent": 40 * sent, "received": 40 * received });
            assert_eq!(record["messages"], messages, "{method}");
        }
        let url = format!("grpc://127.0.0.1:{port}/peers.v1.Greeter/Greet");
        let more = ["-R", "100", "-d", "1s", "--proto", &proto()];
        let (code, record) = record(engine, &url, &more);
        assert!(took_place(code), "{code:?}: {record}");
        assert_eq!(record["errors"], json!({}), "{record}");
    }
}

#[test]
fn grpc_python_reads_compressed_messages_and_answers_with_some() {
    let Some((_peer, port)) = greeter(&["gzip"]) else {
        return;
    };
    let name = "anna ".repeat(2000);
    let json = json!({ "name": name, "times": 3 }).to_string();
    let sets: [fn(&mut Plan); 3] = [
        |_| (),
        |plan| plan.compressed = true,
        |plan| plan.compress = Some(Compress::Gzip),
    ];
    for set in sets {
        let (end, messages) = call(port, "Greet", Some(&json), set);
        let expected = json!([format!("hello {name}")]);
        assert_eq!((end.status_name(), messages), ("OK", expected));
    }
    let url = format!("grpc://127.0.0.1:{port}/peers.v1.Greeter/Repeat");
    let bytes = |more: &[&str]| {
        let (code, record) = record("auto", &url, &[&["-n", "20", "-b", &json], more].concat());
        assert_eq!(code, Some(0), "{more:?}: {record}");
        assert_eq!(record["grpc_status"], json!({ "OK": 20 }), "{more:?}");
        let messages = json!({ "sent": 20, "received": 60 });
        assert_eq!(record["messages"], messages, "{more:?}");
        ["sent", "received"].map(|which| record["bytes"][which].as_u64().unwrap())
    };
    // This server compresses its answers whether or not anybody offers to take that.
    let (asks, answers) = (20 * name.len() as u64, 60 * name.len() as u64);
    for more in [&[][..], &["--compressed"]] {
        let [sent, received] = bytes(more);
        assert!(sent > asks && received < answers / 10, "{sent} {received}");
    }
    for more in [
        &["--compress", "gzip"][..],
        &["--compress=gzip", "--events"],
    ] {
        let [sent, received] = bytes(more);
        let few = sent < asks / 10 && received < answers / 10;
        assert!(few, "{sent} {received}");
    }
}

#[test]
fn a_call_that_ends_badly_is_a_failed_exchange_counted_by_name() {
    let Some((_peer, port)) = greeter(&[]) else {
        return;
    };
    let table = [
        ("Fail", vec!["-b", r#"{"status": 5}"#], "NOT_FOUND"),
        ("Stall", vec!["--deadline", "50ms"], "DEADLINE_EXCEEDED"),
    ];
    for (method, mut more, name) in table {
        let url = format!("grpc://127.0.0.1:{port}/peers.v1.Greeter/{method}");
        more.extend(["-n", "4", "--timeout", "20s"]);
        let (code, record) = record("auto", &url, &more);
        assert_eq!(code, Some(1), "{record}");
        assert_eq!(record["errors"], json!({ "grpc_status": 4 }), "{record}");
        assert_eq!(record["grpc_status"], json!({ name: 4 }));
        assert_eq!(record["exchanges"]["completed"], 0);
    }
}

#[track_caller]
fn fails(words: &[&str], part: &str) {
    let mut all = vec!["run", "-n1", "-c1", "--timeout", "20s"];
    all.extend(words);
    let ended = ringside(&all);
    assert_eq!(
        (ended.code, &*ended.stdout),
        (Some(1), ""),
        "{}",
        ended.stderr
    );
    assert_says(&ended.stderr, part);
    assert_eq!(ended.stderr.lines().count(), 1, "{}", ended.stderr);
}

#[test]
fn a_server_without_reflection_is_told_from_one_that_has_no_such_service() {
    let Some((_peer, port)) = greeter(&["bare"]) else {
        return;
    };
    let url = format!("grpc://127.0.0.1:{port}/peers.v1.Greeter/Greet");
    fails(
        &[&url],
        "doesn't support reflection: describe its services with --proto",
    );
    let folder = Folder::new();
    let file = folder.write("mix.http", &format!("# a\nGRPC {url}\n"));
    let expected = format!("mix.http:2: grpc://127.0.0.1:{port}/: the server doesn't support");
    fails(&["--targets", &file], &expected);
}

#[test]
fn a_server_that_does_not_speak_grpc_is_told_so() {
    let dead = format!("grpc://127.0.0.1:{}/peers.v1.Greeter/Greet", free_port());
    fails(&[&dead], "nothing is listening there");
    fails(&[&dead, "--proto", &proto()], "nothing is listening there");
    if !installed("nghttpd", "--version") {
        return;
    }
    let (folder, port) = (Folder::new(), free_port());
    let root = folder.path("");
    let _peer = peer(Command::new("nghttpd").args(["--no-tls", "-d", &root, &port.to_string()]));
    ready(port, "nghttpd");
    let url = format!("grpc://127.0.0.1:{port}/peers.v1.Greeter/Greet");
    fails(
        &[&url],
        "speaks HTTP/2 but not gRPC: it answers with status 404",
    );
    let file = folder.write("mix.http", &format!("# a\nGRPC {url}\n"));
    fails(
        &["--targets", &file],
        &format!("mix.http:2: grpc://127.0.0.1:{port}/"),
    );
    let (code, record) = record("auto", &url, &["-n", "4", "--proto", &proto()]);
    assert_eq!(code, Some(1), "{record}");
    assert_eq!(
        record["grpc_status"],
        json!({ "UNIMPLEMENTED": 4 }),
        "{record}"
    );
}

#[test]
fn a_server_of_http1_is_told_from_one_of_grpc() {
    if !installed("node", "--version") {
        return;
    }
    let port = free_port();
    let program = format!("{}/server.js", subject("node-http"));
    let _peer = peer(Command::new("node").args([&program, &port.to_string()]));
    ready(port, "node");
    let url = format!("grpc://127.0.0.1:{port}/peers.v1.Greeter/Greet");
    for more in [&[][..], &["--proto", &proto()]] {
        let mut words = vec![&*url];
        words.extend(more);
        fails(
            &words,
            "doesn't speak HTTP/2: check that this is the gRPC server's port",
        );
    }
}
