//! HTTP/1.1 as curl, wrk and h2load speak it.

use super::{ENGINES, Server, curl, run};

#[test]
fn curl_understands_every_answer() {
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        // One argument of a program holds at most 128 KiB (execve(2)).
        let big = "x".repeat(100_000);
        let told = "-o /dev/null -w %{http_code},%{num_connects};";
        let table = [
            ("SERVER/", "Hello, World!"),
            ("--http1.0 SERVER/chunked/20", "01234567890123456789"),
            ("-d a=b SERVER/echo", "a=b"),
            ("-H Expect:100-continue -d BIG SERVER/echo", &big),
            ("-H Transfer-Encoding:chunked -d abc SERVER/echo", "abc"),
            ("TOLD -I SERVER/bytes/1M", "200,1;"),
            ("TOLD SERVER/status/204", "204,1;"),
            (
                "TOLD SERVER/bytes/3M TOLD SERVER/chunked/3M",
                "200,1;200,0;",
            ),
            ("TOLD -X DELETE SERVER/", "405,1;"),
        ];
        for (line, expected) in table {
            let full = line
                .replace("SERVER", &server.url(""))
                .replace("TOLD", told);
            let full = full.replace("BIG", &big);
            let words: Vec<&str> = full.split(' ').collect();
            let Some((code, text)) = curl(&words) else {
                return;
            };
            assert!(
                code == 0 && text == expected,
                "{engine}, {line}: {code}, {text:.100}"
            );
        }
    }
}

#[test]
fn curl_notices_every_fault() {
    // CURLE_UNSUPPORTED_PROTOCOL, …_PARTIAL_FILE, …_OPERATION_TIMEDOUT, …_RECV_ERROR
    let table = [
        ("/garbage", 1),
        ("/truncate", 18),
        ("/stall", 28),
        ("/reset", 56),
    ];
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        for (path, expected) in table {
            let Some((code, _)) = curl(&["--max-time", "0.3", &server.url(path)]) else {
                return;
            };
            assert_eq!(code, expected, "{engine} {path}");
        }
    }
}

#[test]
fn wrk_sees_no_error() {
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        for path in ["/", "/bytes/20K", "/chunked/100"] {
            let arguments = ["-t1", "-c20", "-d1s", &server.url(path)];
            let Some(output) = run("wrk", "wrk", &arguments) else {
                return;
            };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(text.contains("Requests/sec:"), "{engine} {path}: {text}");
            let bad = text.contains("Socket errors") || text.contains("Non-2xx");
            assert!(!bad, "{engine} {path}: {text}");
        }
        assert!(server.requests() > 1000);
    }
}

#[test]
fn h2load_gets_each_of_its_requests_answered() {
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        for path in ["/json", "/delay/1ms", "/bytes/10K"] {
            let url = server.url(path);
            let arguments = ["--h1", "-n", "3000", "-c", "10", "-m", "16", &url];
            let Some(output) = run("h2load", "nghttp2-client", &arguments) else {
                return;
            };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let all = "3000 total, 3000 started, 3000 done, 3000 succeeded, 0 failed, 0 errored";
            assert!(text.contains(all), "{engine} {path}: {text}");
        }
        assert_eq!(server.requests(), 9000);
    }
}
