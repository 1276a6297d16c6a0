//! One exchange of each protocol, in the clear, over TLS and over a Unix socket, and what is said
//! where it fails.

use std::path::PathBuf;
use std::time::Duration;

use load::grpc::{Method, Source};
use load::protocol::{Http2, Protocol};
use load::{Answer, LoadError, probe};
use serde_json::json;
use tls::Certificate;

use super::*;

const PATIENCE: Duration = Duration::from_secs(30);

/// A server; `secure` with a certificate of its own.
fn server(address: Address, secure: bool) -> Server {
    let certificate = Certificate::SelfSigned {
        names: vec!["localhost".into()],
    };
    let tls = testserver::Tls {
        certificate,
        client_authorities: None,
    };
    Server::with(testserver::Config {
        tls: secure.then_some(tls),
        ..testserver::Config::new(address)
    })
}

fn any_port() -> Address {
    Address::Tcp("127.0.0.1:0".parse().unwrap())
}

/// A plan for `http`, `http2`, `grpc` or `ws`, or these over TLS.
fn plan(server: &Server, speaks: &str, path: &str) -> Plan {
    let secure = server.secure;
    let scheme = match (speaks, secure) {
        ("http2" | "http", false) => "http".to_owned(),
        ("http2" | "http", true) => "https".to_owned(),
        (other, false) => other.to_owned(),
        (other, true) => format!("{other}s"),
    };
    let mut plan = Plan::new(&format!("{scheme}://127.0.0.1:{}{path}", server.port)).unwrap();
    if speaks == "http2" {
        let http2 = Http2::default();
        plan.protocol = Protocol::Http2 { http2 };
    }
    if let Some(tls) = &mut plan.tls {
        tls.insecure = true;
    }
    plan.target.unix_socket.clone_from(&server.unix);
    plan.timeout_s = PATIENCE.as_secs_f64();
    plan
}

/// Calls a method that reflection describes; its answer with the messages as JSON.
fn call(plan: &Plan, json: &str) -> (Answer, Vec<serde_json::Value>) {
    let method = Method::find(plan, &Source::Reflection).unwrap();
    let mut plan = plan.clone();
    plan.protocol = Protocol::Grpc {
        http2: Http2::default(),
        call: method.call(Some(json)).unwrap(),
    };
    let answer = probe(&plan, PATIENCE).unwrap();
    let end = answer.grpc.as_ref().unwrap();
    let messages = end.messages.iter();
    let messages = messages
        .map(|bytes| method.answer(bytes).unwrap())
        .collect();
    (answer, messages)
}

#[test]
fn every_protocol_is_probed_in_the_clear_over_tls_and_over_a_unix_socket() {
    let path = PathBuf::from(format!("/tmp/ringside-probed-{}", std::process::id()));
    let servers = [
        server(any_port(), false),
        server(any_port(), true),
        server(Address::Unix(path), false),
    ];
    for server in &servers {
        for speaks in ["http", "http2"] {
            let answer = probe(&plan(server, speaks, "/bytes/100K"), PATIENCE).unwrap();
            let length: &[u8] = b"102400";
            assert_eq!(
                (answer.status, answer.body.len()),
                (200, 102_400),
                "{speaks}"
            );
            assert_eq!(answer.field("content-length"), Some(length), "{speaks}");
            assert_eq!(answer.grpc, None);
            let answer = probe(&plan(server, speaks, "/status/404"), PATIENCE).unwrap();
            assert_eq!(answer.status, 404, "{speaks}");
        }
        let answer = probe(&plan(server, "ws", "/ws"), PATIENCE).unwrap();
        assert_eq!((answer.status, &*answer.body), (101, &b"Hello, World!"[..]));
        let echo = |method, json| call(&plan(server, "grpc", method), json);
        let (answer, messages) = echo("/ringside.Echo/Echo", r#"{"text": "a"}"#);
        assert_eq!(answer.status, 200);
        assert_eq!(messages, [json!({ "text": "a" })]);
        let three = r#"[{"text": "a"}, {"text": "b"}, {"text": "c"}]"#;
        let (_, messages) = echo("/ringside.Echo/EchoClientStream", three);
        assert_eq!(messages, [json!({ "text": "c" })]);
        let (_, messages) = echo("/ringside.Echo/EchoBidirectional", three);
        assert_eq!(messages.len(), 3);
        for (json, expected) in [(r#"{"count": 2}"#, 2), ("{}", 1)] {
            let (_, messages) = echo("/ringside.Echo/EchoServerStream", json);
            assert_eq!(messages.len(), expected, "{json}");
        }
    }
}

#[test]
fn what_a_peer_refuses_is_told_with_its_status_or_code() {
    let server = server(any_port(), false);
    let table = [
        (
            "http2",
            "/h2/reset/REFUSED_STREAM",
            "REFUSED_STREAM, without having processed it",
        ),
        (
            "http2",
            "/h2/reset/CANCEL",
            "reset the request's stream with CANCEL",
        ),
        ("http2", "/h2/starve", "the answer wasn't complete in time"),
        ("http", "/stall", "the answer wasn't complete in time"),
        ("http", "/garbage", "RFC 9112"),
        (
            "ws",
            "/status/503",
            "refused the WebSocket upgrade with status",
        ),
        (
            "ws",
            "/ws/close/1011",
            "closed the WebSocket with code 1011",
        ),
        ("ws", "/ws/drop", "the connection broke"),
        ("ws", "/ws/stall", "the answer wasn't complete in time"),
    ];
    for (speaks, path, part) in table {
        let timeout = if part.contains("in time") {
            Duration::from_millis(200)
        } else {
            PATIENCE
        };
        let error = probe(&plan(&server, speaks, path), timeout).unwrap_err();
        let LoadError::Probe(text) = error else {
            panic!("{path}: {error}")
        };
        assert!(text.contains(part), "{path}: {text}");
    }
    // The limit of a stream is one on what comes next.
    for speaks in ["http", "http2"] {
        let mut plan = plan(&server, speaks, "/events/4/1s");
        plan.events = true;
        let answer = probe(&plan, Duration::from_millis(2_900)).unwrap();
        assert!(answer.body.ends_with(b"\n\n"), "{speaks}");
    }
    let answer = probe(&plan(&server, "grpc", "/ringside.Echo/Nothing"), PATIENCE).unwrap();
    assert_eq!(answer.grpc.unwrap().status_name(), "UNIMPLEMENTED");
    let answer = probe(&plan(&server, "http2", "/h2/goaway"), PATIENCE).unwrap();
    assert_eq!(answer.status, 200);
}

#[test]
fn files_and_reflection_describe_the_same_messages() {
    let server = server(any_port(), false);
    let folder = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../testserver/proto"));
    let files = ["ringside.proto", "testing.proto", "health.proto"];
    let proto = Source::Proto {
        files: files.map(|name| folder.join(name)).to_vec(),
        import_paths: Vec::new(),
    };
    let table = [
        ("/ringside.Echo/Echo", r#"{"text": "a", "payload": "AAE="}"#),
        ("/grpc.health.v1.Health/Check", r#"{"service": "x"}"#),
        (
            "/grpc.testing.TestService/UnaryCall",
            r#"{"responseType": "COMPRESSABLE", "payload": {"body": "AA=="},"fillUsername": true}"#,
        ),
    ];
    for (path, json) in table {
        let plan = plan(&server, "grpc", path);
        let calls = [&Source::Reflection, &proto].map(|source| {
            let method = Method::find(&plan, source).unwrap();
            method.call(Some(json)).unwrap()
        });
        assert_eq!(calls[0], calls[1], "{path}");
        assert!(!calls[0].messages[0].is_empty(), "{path}");
    }
}
