//! gRPC against gRPC-Go: the cases of the official interoperability tests, with the official
//! server (https://github.com/grpc/grpc/blob/master/doc/interop-test-descriptions.md). Those about
//! credentials and cancelling are not here, because the generator does none of these, nor is
//! compression, which that server doesn't know: see `grpc.rs` and `calls.rs`.

use std::path::{Path, PathBuf};
use std::process::Command;

use load::grpc::Source;
use load::{Answer, Plan};
use serde_json::{Value, json};

use super::child::record;
use super::grpc::call_by;
use super::peers::{Peer, from_ci, installed, peer, ready};
use super::ports::free_port;

/// The sizes that the tests ask for in requests and in responses.
const REQUEST_SIZES: [usize; 4] = [27_182, 8, 1_828, 45_904];
const RESPONSE_SIZES: [usize; 4] = [31_415, 9, 2_653, 58_979];

/// The official server, with its port; `None` where it is not installed.
fn server() -> Option<(Peer, u16)> {
    let program = from_ci("go/server");
    if !installed(&program, "-h") {
        return None;
    }
    let port = free_port();
    let peer = peer(Command::new(&program).arg(format!("--port={port}")));
    ready(port, "gRPC-Go");
    Some((peer, port))
}

fn proto_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers/interop.proto")
}

/// Where the file above finds what it imports: our own server speaks the same.
fn import_path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testserver/proto")
}

/// One call of a method, and what was answered: the messages as JSON.
fn call(port: u16, method: &str, json: &Value, set: fn(&mut Plan)) -> (Answer, Vec<Value>) {
    let source = Source::Proto {
        files: vec![proto_file()],
        import_paths: vec![import_path()],
    };
    let url = format!("grpc://127.0.0.1:{port}/grpc.testing.{method}");
    call_by(&source, &url, Some(&json.to_string()), set)
}

fn nothing(_: &mut Plan) {}

/// How a call of `TestService` ended, in words.
fn end_of(port: u16, method: &str, json: &Value, set: fn(&mut Plan)) -> String {
    let (answer, _) = call(port, method, json, set);
    answer.grpc.unwrap().to_string()
}

/// A payload of zeros, as JSON has it: in base64.
fn payload(bytes: usize) -> Value {
    let whole = "AAAA".repeat(bytes / 3);
    let rest = ["", "AA==", "AAA="][bytes % 3];
    json!({ "body": whole + rest })
}

#[track_caller]
fn assert_payloads(answered: (Answer, Vec<Value>), sizes: &[usize]) {
    let (answer, messages) = answered;
    assert_eq!(answer.grpc.unwrap().status_name(), "OK");
    assert_eq!(messages.len(), sizes.len());
    for (message, &size) in messages.iter().zip(sizes) {
        assert_eq!(
            message["payload"]["body"],
            payload(size)["body"],
            "{size} bytes"
        );
    }
}

#[test]
fn unary_calls_empty_and_large() {
    let Some((_peer, port)) = server() else {
        return;
    };
    let (answer, messages) = call(port, "TestService/EmptyCall", &json!({}), nothing);
    assert_eq!(answer.grpc.unwrap().status_name(), "OK");
    assert_eq!(messages, [json!({})]);

    let large = json!({ "responseSize": 314_159, "payload": payload(271_828) });
    let answered = call(port, "TestService/UnaryCall", &large, nothing);
    assert_payloads(answered, &[314_159]);
}

#[test]
fn streams_in_every_direction() {
    let Some((_peer, port)) = server() else {
        return;
    };
    let inputs = REQUEST_SIZES.map(|size| json!({ "payload": payload(size) }));
    let sum = call(
        port,
        "TestService/StreamingInputCall",
        &json!(inputs),
        nothing,
    );
    assert_eq!(sum.1, [json!({ "aggregatedPayloadSize": 74_922 })]);

    let outputs = RESPONSE_SIZES.map(|size| json!({ "size": size }));
    let outputs = json!({ "responseParameters": outputs });
    let answered = call(port, "TestService/StreamingOutputCall", &outputs, nothing);
    assert_payloads(answered, &RESPONSE_SIZES);

    let pairs = REQUEST_SIZES.iter().zip(RESPONSE_SIZES);
    let pairs = pairs.map(|(&request, response)| {
        json!({ "payload": payload(request), "responseParameters": [{ "size": response }] })
    });
    let pairs: Value = pairs.collect();
    let answered = call(port, "TestService/FullDuplexCall", &pairs, nothing);
    assert_payloads(answered, &RESPONSE_SIZES);

    let answered = call(port, "TestService/FullDuplexCall", &json!([]), nothing);
    assert_payloads(answered, &[]);
}

#[test]
fn a_status_and_its_text_arrive_whatever_is_in_it() {
    let Some((_peer, port)) = server() else {
        return;
    };
    let special = "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n";
    for text in ["test status message", special] {
        let status = json!({ "responseStatus": { "code": 2, "message": text } });
        // What comes from a server is shown as words: white space that moves the cursor is named.
        let words = text
            .replace('\t', "\\t")
            .replace('\n', "\\n")
            .replace('\r', "\\r");
        let expected = format!("UNKNOWN: {words}");
        let end = end_of(port, "TestService/UnaryCall", &status, nothing);
        assert_eq!(end, expected);
        let end = end_of(
            port,
            "TestService/FullDuplexCall",
            &json!([status]),
            nothing,
        );
        assert_eq!(end, expected);
    }
}

#[test]
fn what_is_not_implemented_says_so() {
    let Some((_peer, port)) = server() else {
        return;
    };
    for method in ["TestService", "UnimplementedService"] {
        let method = format!("{method}/UnimplementedCall");
        let (answer, messages) = call(port, &method, &json!({}), nothing);
        assert_eq!(answer.grpc.unwrap().status_name(), "UNIMPLEMENTED");
        assert!(messages.is_empty());
    }
}

#[test]
fn metadata_comes_back() {
    let Some((_peer, port)) = server() else {
        return;
    };
    let set = |plan: &mut Plan| {
        let fields = [
            ("x-grpc-test-echo-initial", "test_initial_metadata_value"),
            ("x-grpc-test-echo-trailing-bin", "q6ur"),
        ];
        let fields = fields.map(|(name, value)| (name.to_string(), value.to_string()));
        plan.request.headers.extend(fields);
    };
    let (answer, _) = call(port, "TestService/UnaryCall", &json!({}), set);
    let echo = answer.field("x-grpc-test-echo-initial");
    assert_eq!(echo, Some(&b"test_initial_metadata_value"[..]));
    assert_eq!(answer.grpc.unwrap().status_name(), "OK");
}

/// How a run of 500 calls of a method of `TestService` ended, and its record.
fn load_with(port: u16, method: &str, json: &Value, more: &[&str]) -> (Option<i32>, Value) {
    let url = format!("grpc://127.0.0.1:{port}/grpc.testing.TestService/{method}");
    let (file, folder) = (proto_file(), import_path());
    let [file, folder] = [&file, &folder].map(|path| path.to_str().unwrap());
    let json = json.to_string();
    let mut words = vec![
        "-n500", "-S5", "-T20s", "--proto", file, "-i", folder, "-b", &json,
    ];
    words.extend(more);
    record("auto", &url, &words)
}

#[test]
fn calls_of_every_kind_are_loaded_and_counted() {
    let Some((_peer, port)) = server() else {
        return;
    };
    let small = json!({ "payload": payload(100), "responseSize": 100 });
    let outputs = json!({ "responseParameters": [{ "size": 9 }, { "size": 2653 }] });
    let table = [
        // With the messages of one call to the server and from it.
        ("EmptyCall", json!({}), 1, 1),
        ("UnaryCall", small, 1, 1),
        ("StreamingInputCall", json!([{}, {}, {}]), 3, 1),
        ("StreamingOutputCall", outputs.clone(), 1, 2),
        ("FullDuplexCall", json!([outputs, outputs]), 2, 4),
    ];
    for (method, json, sent, received) in table {
        let (code, record) = load_with(port, method, &json, &[]);
        assert_eq!(code, Some(0), "{method}: {record}");
        assert_eq!(record["exchanges"]["completed"], 500, "{method}");
        assert_eq!(record["grpc_status"], json!({ "OK": 500 }), "{method}");
        assert_eq!(record["errors"], json!({}), "{method}");
        let messages = json!({ "sent": 500 * sent, "received": 500 * received });
        assert_eq!(record["messages"], messages, "{method}");
    }
}

#[test]
fn calls_that_fail_are_counted_by_their_status() {
    let Some((_peer, port)) = server() else {
        return;
    };
    let status = json!({ "responseStatus": { "code": 8, "message": "full" } });
    let (code, record) = load_with(port, "UnaryCall", &status, &[]);
    assert_eq!(code, Some(1), "nothing was completed: {record}");
    assert_eq!(record["grpc_status"], json!({ "RESOURCE_EXHAUSTED": 500 }));
    assert_eq!(record["errors"], json!({ "grpc_status": 500 }));
}

#[test]
fn a_deadline_ends_the_calls_of_a_server_that_sleeps() {
    let Some((_peer, port)) = server() else {
        return;
    };
    // Longer to sleep than the calls would wait. A server in Go may reset the stream, without a
    // status.
    let sleep = json!([{
        "payload": payload(27_182),
        "responseParameters": [{ "size": 31_415, "intervalUs": 60_000_000 }],
    }]);
    let more = ["--deadline", "50ms"];
    let (code, record) = load_with(port, "FullDuplexCall", &sleep, &more);
    assert_eq!(code, Some(1), "nothing was completed: {record}");
    assert_eq!(record["exchanges"]["failed"], 500);
    assert_eq!(
        record["errors"]["timeout"],
        Value::Null,
        "our own limit is longer"
    );
    assert_eq!(record["grpc_status"], json!({ "DEADLINE_EXCEEDED": 500 }));
}
