//! gRPC as the official interoperability client and grpcurl speak it.

use super::{ENGINES, Server, run_go_peer};

/// Its cases without compression, credentials and load balancing.
const CASES: &[&str] = &[
    "empty_unary",
    "large_unary",
    "client_streaming",
    "server_streaming",
    "ping_pong",
    "empty_stream",
    "timeout_on_sleeping_server",
    "cancel_after_begin",
    "cancel_after_first_response",
    "custom_metadata",
    "status_code_and_message",
    "special_status_message",
    "unimplemented_method",
    "unimplemented_service",
];

#[test]
fn the_official_client_passes_every_case_that_applies() {
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        let port = format!("--server_port={}", server.port());
        for case in CASES {
            let case_argument = format!("--test_case={case}");
            let arguments = ["--server_host=127.0.0.1", &port, &case_argument];
            let package = "google.golang.org/grpc/interop/client@v1.76.0";
            let Some((passed, said)) = run_go_peer("client", package, &arguments) else {
                return;
            };
            assert!(passed, "{engine}, {case}: {said}");
        }
    }
}

#[test]
fn grpcurl_finds_out_what_is_served_and_calls_it() {
    let echo = r#"{"text": "hi", "payload": "AAEC", "count": 3}"#;
    let three = "{\n  \"text\": \"hi\",\n  \"payload\": \"AAEC\",\n  \"count\": 3\n}\n".repeat(3);
    let table: [(&[&str], &str); 7] = [
        (
            &["SERVER", "list"],
            "grpc.testing.TestService\nringside.Echo\n",
        ),
        (
            &["SERVER", "list", "ringside.Echo"],
            "ringside.Echo.EchoServerStream\n",
        ),
        (
            &["SERVER", "describe", "ringside.Message"],
            "uint32 count = 3;",
        ),
        (
            &["-d", echo, "SERVER", "ringside.Echo/Echo"],
            "\"text\": \"hi\"",
        ),
        (
            &["-d", echo, "SERVER", "ringside.Echo/EchoServerStream"],
            &three,
        ),
        (&["SERVER", "grpc.health.v1.Health/Check"], "SERVING"),
        (
            &[
                "-d",
                r#"{"text": "1"} {"text": "2"}"#,
                "SERVER",
                "ringside.Echo/EchoClientStream",
            ],
            "\"text\": \"2\"",
        ),
    ];
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        let address = format!("127.0.0.1:{}", server.port());
        for (arguments, expected) in table {
            let named = arguments.iter().map(|word| match *word {
                "SERVER" => address.as_str(),
                other => other,
            });
            let words: Vec<&str> = ["-plaintext"].into_iter().chain(named).collect();
            let package = "github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3";
            let Some((passed, said)) = run_go_peer("grpcurl", package, &words) else {
                return;
            };
            assert!(
                passed && said.contains(expected),
                "{engine}, {arguments:?}: {said}"
            );
        }
    }
}
