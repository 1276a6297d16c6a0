//! gRPC as the official interoperability client speaks it.

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
