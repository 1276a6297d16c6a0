//! HTTP/2 as curl, nghttp, h2load and h2spec speak it.

use std::process::Output;

use tempfile::NamedTempFile;
use testserver::Limits;

use super::go_peer::h2spec;
use super::{ENGINES, Server, curl, run};

const PRIOR: &str = "--http2-prior-knowledge";

#[test]
fn curl_understands_every_answer_over_http2() {
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        let big = "x".repeat(100_000);
        let told = "-o /dev/null -w %{http_version},%{http_code},%{size_download};";
        let table = [
            ("SERVER/", "Hello, World!"),
            ("SERVER/chunked/20", "01234567890123456789"),
            ("SERVER/delay/1ms", "late\n"),
            ("SERVER/slow/1ms", "slow\n"),
            ("-d a=b SERVER/echo", "a=b"),
            ("-d BIG SERVER/echo", &big),
            ("-H Expect:100-continue -d BIG SERVER/echo", &big),
            ("TOLD -I SERVER/bytes/1M", "2,200,0;"),
            ("TOLD SERVER/status/204", "2,204,0;"),
            ("TOLD SERVER/bytes/30M", "2,200,31457280;"),
            ("TOLD SERVER/chunked/3M", "2,200,3145728;"),
            ("TOLD SERVER/none", "2,404,31;"),
            ("TOLD -X DELETE SERVER/", "2,405,27;"),
            ("TOLD SERVER/h2/goaway", "2,200,8;"),
        ];
        for (line, expected) in table {
            let full = line
                .replace("SERVER", &server.url(""))
                .replace("TOLD", told);
            let full = full.replace("BIG", &big);
            let words: Vec<&str> = [PRIOR].into_iter().chain(full.split(' ')).collect();
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
fn curl_notices_every_fault_over_http2() {
    // CURLE_HTTP2, …_GOT_NOTHING, …_SEND_ERROR, …_RECV_ERROR, …_OPERATION_TIMEDOUT, …_HTTP2_STREAM
    let table = [
        (&["/garbage"][..], &[16, 52, 55, 56][..]),
        (&["/stall"], &[28]),
        (&["/reset"], &[92]),
        (&["/truncate"], &[18, 92]),
        (&["/h2/reset/ENHANCE_YOUR_CALM"], &[92]),
        (&["/h2/reset/2"], &[92]),
    ];
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        for (path, expected) in table {
            let url = server.url(path[0]);
            let Some((code, _)) = curl(&[PRIOR, "--max-time", "0.5", &url]) else {
                return;
            };
            assert!(expected.contains(&code), "{engine} {path:?}: {code}");
        }
        let (code, text) = curl(&[PRIOR, &server.url("/h2/reset/none")]).expect("it is installed");
        assert!(code == 0 && text.contains("error code"), "{code}: {text}");
    }
}

/// What nghttp sees of its frames while it sends a body of 4 MiB and gives the answer a second.
fn upload(server: &Server, path: &str) -> Option<String> {
    let file = NamedTempFile::new().expect("a file");
    file.as_file().set_len(4 << 20).expect("zeroes");
    let (body, url) = (file.path().to_string_lossy(), server.url(path));
    let words = ["-v", "--null-out", "--timeout=1", "-d", &body, &url];
    let output = run("nghttp", "nghttp2-client", &words)?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn an_upload_that_is_starved_gets_no_credit_beyond_its_first_window() {
    // A frame, and its length and stream in the same line.
    let credit = |frames: &str| {
        let mut updates = frames.lines().filter(|line| line.contains("WINDOW_UPDATE"));
        updates.any(|line| line.contains("recv") && !line.contains("stream_id=0>"))
    };
    let sent = |frames: &str| {
        let data = frames
            .lines()
            .filter(|line| line.contains("send DATA frame"));
        let length = |line: &str| {
            let (_, rest) = line.split_once("length=")?;
            rest.split(',').next()?.parse::<u64>().ok()
        };
        data.filter_map(length).sum::<u64>()
    };
    for engine in ENGINES {
        let limits = Limits {
            body_bytes: 8 << 20,
            ..Limits::default()
        };
        let Some(server) = Server::limited(engine, limits) else {
            continue;
        };
        let Some(starved) = upload(&server, "/h2/starve") else {
            return;
        };
        let stalled = upload(&server, "/stall").expect("it is installed");
        assert!(
            credit(&stalled) && sent(&stalled) == 4 << 20,
            "{engine}: {stalled}"
        );
        assert!(!credit(&starved), "{engine}: {starved}");
        let least = sent(&starved);
        assert!((1..4 << 20).contains(&least), "{engine}: {least}");
    }
}

#[test]
fn a_body_that_is_too_long_is_refused_over_http2() {
    let file = NamedTempFile::new().expect("a file");
    let longer = Limits::default().body_bytes + 1;
    file.as_file().set_len(longer).expect("zeroes");
    // Not curl: some versions drop an answer that ends before their upload does.
    let asked = |server: Server| {
        let (path, url) = (file.path().to_string_lossy(), server.url("/echo"));
        let words = ["-v", "--null-out", "--timeout=10", "-d", &path, &url];
        run("nghttp", "nghttp2-client", &words)
    };
    let servers = ENGINES.into_iter().filter_map(Server::with);
    let answers: Vec<Option<Output>> = servers.map(asked).collect();
    for output in answers.into_iter().flatten() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(text.contains(":status: 413"), "{text}");
    }
}

#[test]
fn nghttp_gets_many_streams_of_one_connection() {
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        // It asks for the same address once only, but for this word.
        let paths = ["/", "/json", "/bytes/200K", "/delay/2ms", "/slow/1ms"];
        let urls = paths.map(|path| server.url(path));
        let mut arguments = vec!["--null-out", "--stat", "--timeout=10", "--multiply=10"];
        arguments.extend(urls.iter().map(String::as_str));
        let Some(output) = run("nghttp", "nghttp2-client", &arguments) else {
            return;
        };
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let answered = text.lines().filter(|line| line.contains(" 200 ")).count();
        assert!(output.status.success(), "{engine}: {text}");
        assert_eq!(answered, 50, "{engine}: {text}");
    }
}

#[test]
fn h2load_gets_each_of_its_requests_answered_over_http2() {
    for engine in ENGINES {
        let Some(server) = Server::with(engine) else {
            continue;
        };
        for path in ["/", "/delay/1ms", "/bytes/100K", "/none"] {
            let url = server.url(path);
            let arguments = ["-n", "3000", "-c", "5", "-m", "100", "-w", "20", &url];
            let Some(output) = run("h2load", "nghttp2-client", &arguments) else {
                return;
            };
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let all = "3000 total, 3000 started, 3000 done, 3000 succeeded, 0 failed, 0 errored";
            let missing = all.replace("3000 succeeded, 0 failed", "0 succeeded, 3000 failed");
            let expected = if path == "/none" { &missing } else { all };
            assert!(text.contains(expected), "{engine} {path}: {text}");
        }
        assert_eq!(server.requests(), 12_000);
    }
}

#[test]
fn h2spec_finds_no_fault() {
    for engine in ENGINES {
        for server in [Server::with(engine), Server::secured(engine)] {
            let Some(server) = server else { continue };
            h2spec(server.port(), server.is_secured(), &engine.to_string());
        }
    }
}
