//! Through a proxy: tinyproxy, and listeners that are none; and over a network device.
//!
//! tinyproxy ends each connection for requests in absolute form after the first answer, and doesn't
//! say so before: they take `--no-keepalive`.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use serde_json::Value;

use super::child::{Ended, Folder, Server, assert_says, record, ringside};
use super::peers::{Peer, installed, peer, ready};
use super::ports::free_port;

/// A tinyproxy that runs, and keeps a log of what it is asked.
struct Proxy {
    folder: Folder,
    port: u16,
    _peer: Peer,
}

impl Proxy {
    /// With these lines in its configuration. None where it isn't installed.
    fn start(more: &str) -> Option<Proxy> {
        if !installed("tinyproxy", "-v") {
            return None;
        }
        let (folder, port) = (Folder::new(), free_port());
        let (file, log) = (folder.path("tinyproxy.conf"), folder.path("log"));
        let text = format!(
            "Port {port}\nListen 127.0.0.1\nAllow 127.0.0.1\nTimeout 60\nMaxClients 200\n\
             StartServers 4\nLogFile \"{log}\"\nLogLevel Connect\n{more}\n"
        );
        fs::write(&file, text).unwrap();
        let started = peer(Command::new("tinyproxy").args(["-d", "-c", &file]));
        ready(port, "tinyproxy");
        Some(Proxy {
            folder,
            port,
            _peer: started,
        })
    }

    fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    #[track_caller]
    fn assert_asked(&self, line: &str) {
        assert_says(&fs::read_to_string(self.folder.path("log")).unwrap(), line);
    }
}

#[track_caller]
fn assert_all_answered((code, record): (Option<i32>, Value), count: u64) -> Value {
    assert!(matches!(code, Some(0 | 4)), "{code:?}: {record}");
    assert_eq!(record["exchanges"]["completed"], count, "{record}");
    assert_eq!(
        record["errors"],
        Value::Object(Default::default()),
        "{record}"
    );
    record
}

#[test]
fn plain_requests_go_to_a_proxy_in_absolute_form() {
    let Some(proxy) = Proxy::start("") else {
        return;
    };
    let server = Server::start(&[]);
    let url = proxy.url();
    for engine in ["auto", "epoll"] {
        let more = ["-n", "50", "--no-keepalive", "--proxy", &url];
        let record = assert_all_answered(record(engine, &server.at("/"), &more), 50);
        let stored = &record["plan"]["proxy"];
        assert_eq!(stored["host"], "127.0.0.1");
        assert_eq!(
            (&stored["port"], &stored["authorization"]),
            (&proxy.port.into(), &Value::Null)
        );
    }
    proxy.assert_asked(&format!("GET http://{}/ HTTP/1.1", server.authority()));
    let text = ringside(&["run", "-n", "9", "-c1", "--proxy", &url, &server.at("/")]).stdout;
    assert_says(
        &text,
        &format!(" opened through the proxy 127.0.0.1:{}", proxy.port),
    );
}

#[test]
fn requests_that_differ_go_to_a_proxy_in_absolute_form() {
    let Some(proxy) = Proxy::start("BasicAuth me canary") else {
        return;
    };
    let server = Server::start(&[]);
    let url = format!("http://me:canary@127.0.0.1:{}", proxy.port);
    let file = proxy.folder.path("mix.http");
    let authority = server.authority();
    let text = format!(
        "GET http://{authority}/one\n\n###\n\n\
         POST http://{authority}/echo?{{{{newUuid}}}}\n\nhello\n"
    );
    fs::write(&file, text).unwrap();
    let words = [
        "run",
        "-n",
        "40",
        "-c2",
        "--no-keepalive",
        "--format",
        "json",
        "--proxy",
        &url,
        "--targets",
        &file,
    ];
    let ended = ringside(&words);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(record["errors"]["early_close"], Value::Null, "{record}");
    let answers: u64 = record["status"]
        .as_object()
        .unwrap()
        .values()
        .filter_map(Value::as_u64)
        .sum();
    assert_eq!(answers, 40, "{record}");
    assert_eq!(record["status"]["407"], Value::Null, "{record}");
    proxy.assert_asked(&format!("GET http://{authority}/one HTTP/1.1"));
    proxy.assert_asked(&format!("POST http://{authority}/echo?"));
}

#[test]
fn everything_else_goes_through_a_tunnel() {
    let Some(proxy) = Proxy::start("") else {
        return;
    };
    let (plain, secured) = (Server::start(&[]), Server::start(&["--tls"]));
    let https = secured.url.trim_start_matches("https://");
    let http = plain.authority();
    let url = proxy.url();
    let table: [(String, &[&str]); 6] = [
        (format!("https://{https}/"), &["-k"]),
        (format!("https://{https}/"), &["-k", "--no-keepalive"]),
        (format!("https://{https}/"), &["-k", "--http2"]),
        (format!("http://{http}/"), &["--http2"]),
        (format!("ws://{http}/ws"), &[]),
        (format!("grpc://{http}/ringside.Echo/Echo"), &["-b", "{}"]),
    ];
    for (target, more) in &table {
        for engine in ["auto", "epoll"] {
            let mut words = vec!["-n", "40", "--proxy", &url];
            words.extend(*more);
            assert_all_answered(record(engine, target, &words), 40);
        }
    }
    for authority in [http, https] {
        proxy.assert_asked(&format!("CONNECT {authority} HTTP/1.1"));
    }
    let target = format!("wss://{https}/ws");
    let words = [
        "hold",
        "-c4",
        "-d1s",
        "--heartbeat",
        "200ms",
        "-k",
        "--proxy",
        &url,
        &target,
    ];
    let ended = ringside(&words);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert_says(
        &ended.stdout,
        &format!("/ws through the proxy 127.0.0.1:{}", proxy.port),
    );
}

#[test]
fn a_proxy_is_told_who_asks_and_nobody_else_is() {
    let Some(proxy) = Proxy::start("BasicAuth me canary-word") else {
        return;
    };
    let (plain, secured) = (Server::start(&[]), Server::start(&["--tls"]));
    let at = format!("127.0.0.1:{}", proxy.port);
    let right = format!("http://me:canary%2Dword@{at}");
    let wrong = format!("http://me:canary-wrong@{at}");
    let (http, https) = (plain.at("/"), secured.at("/"));
    for target in [&http, &https] {
        for format in ["text", "json", "csv"] {
            let words = [
                "run",
                "-n",
                "20",
                "-c1",
                "--no-keepalive",
                "-k",
                "--format",
                format,
                "--proxy",
                &right,
                target,
            ];
            let words = words
                .into_iter()
                .filter(|word| *word != "-k" || target == &https);
            let ended = ringside(&words.collect::<Vec<_>>());
            assert!(matches!(ended.code, Some(0 | 4)), "{}", ended.stderr);
            assert_hidden(&ended);
            assert_eq!(
                ended.stdout.contains("\"authorization\": \"redacted:"),
                format == "json"
            );
        }
    }
    let refused = |words: &[&str], part: &str| {
        let ended = ringside(words);
        assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
        assert_says(&format!("{}{}", ended.stdout, ended.stderr), part);
        assert_hidden(&ended);
    };
    let none = format!("http://{at}");
    let tunnel = format!("the proxy {at} refused the tunnel with status 407; ");
    let say = format!("{tunnel}give it a user");
    refused(&["run", "-k", "--proxy", &none, &https], &say);
    // It says 401.
    let say = "; it doesn't accept the user and the password in --proxy";
    refused(&["run", "-k", "--proxy", &wrong, &https], say);
    refused(&["hold", "-k", "--proxy", &wrong, &https], say);
    refused(
        &[
            "capacity", "-k", "--slo", "p99<1s", "--proxy", &wrong, &https,
        ],
        say,
    );
    // In absolute form that is an answer like any other.
    let words = ["run", "-n", "5", "-c1", "--proxy", &wrong, &http];
    refused(&words, "unexpected_status");
}

/// Nothing of the password, and nothing of its base64, behind `me:` (`bWU6`).
#[track_caller]
fn assert_hidden(ended: &Ended) {
    for part in ["canary", "Y2FuYXJ5"] {
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(!said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_proxy_that_allows_no_tunnel_there_is_named_with_its_status() {
    let Some(proxy) = Proxy::start("ConnectPort 563") else {
        return;
    };
    let server = Server::start(&["--tls"]);
    let ended = ringside(&["run", "-k", "--proxy", &proxy.url(), &server.at("/")]);
    assert_eq!(ended.code, Some(1));
    let say = format!(
        "the proxy 127.0.0.1:{} refused the tunnel with status 403; it must allow CONNECT",
        proxy.port
    );
    assert_says(&ended.stderr, &say);
}

/// A listener of ours, and what it does with its connections in turn, for as long as the test runs.
fn listener(mut deal: impl FnMut(usize, TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        for (stream, number) in listener.incoming().zip(0..) {
            deal(number, stream.unwrap());
        }
    });
    at
}

/// Reads a request up to its empty line.
fn heard(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|count| count == 1) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

#[test]
fn what_is_no_proxy_is_named_at_the_first_contact() {
    let mut kept = Vec::new();
    let silent = listener(move |_, stream| kept.push(stream));
    let closing = listener(|_, mut stream| drop(heard(&mut stream)));
    let saying = |answer: &'static str| {
        listener(move |_, mut stream| {
            heard(&mut stream);
            // The other side may be gone already.
            let _ = stream.write_all(answer.as_bytes());
        })
    };
    let nobody = format!("127.0.0.1:{}", free_port());
    let long: &str = Box::leak(format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(20_000)).into());
    for (at, says) in [
        (silent, "didn't answer CONNECT in time; "),
        (
            closing,
            "closed the connection instead of answering CONNECT; ",
        ),
        (
            saying("SSH-2.0-OpenSSH_9\r\n"),
            "doesn't answer CONNECT in HTTP, or ",
        ),
        (saying(long), "or not within 16 KiB; "),
        (
            saying("HTTP/1.1 503 No\r\n\r\n"),
            "refused the tunnel with status 503; ",
        ),
        (nobody, "can't connect to the proxy "),
    ] {
        let proxy = format!("http://{at}");
        for target in ["https://target.invalid/", "ws://target.invalid/ws"] {
            let ended = ringside(&["run", "-T", "500ms", "--proxy", &proxy, target]);
            assert_eq!(ended.code, Some(1), "{says}: {}", ended.stdout);
            assert_says(&ended.stderr, says);
            assert_says(&ended.stderr, &at);
        }
    }
}

#[test]
fn a_proxy_that_refuses_tunnels_later_is_an_error_by_its_own_name() {
    for engine in ["auto", "epoll"] {
        // The first contact is led to somebody who speaks HTTP/2: empty settings.
        let at = listener(|number, mut stream| {
            let asked = heard(&mut stream);
            assert!(
                asked.starts_with("CONNECT target.invalid:80 HTTP/1.1\r\n"),
                "{asked}"
            );
            let answer = match number {
                0 => "HTTP/1.1 200 Go\r\n\r\n\0\0\0\x04\0\0\0\0\0",
                _ => "HTTP/1.1 503 No\r\n\r\n",
            };
            let _ = stream.write_all(answer.as_bytes());
            // Until the other side is done, so that nothing is reset.
            let _ = stream.read(&mut [0; 1024]);
        });
        let proxy = format!("http://{at}");
        let more = ["-d", "300ms", "--http2", "--proxy", &proxy];
        let (code, record) = record(engine, "http://target.invalid/", &more);
        assert_eq!(code, Some(1), "{record}");
        assert!(
            record["errors"]["proxy_refused"].as_u64() > Some(0),
            "{record}"
        );
    }
}

#[test]
fn connections_go_over_the_device_that_was_asked_for() {
    let server = Server::start(&[]);
    for engine in ["auto", "epoll"] {
        for more in [&["-n", "50"][..], &["-n", "50", "--http2"]] {
            let words = [more, &["--interface", "lo"]].concat();
            let record = assert_all_answered(record(engine, &server.at("/"), &words), 50);
            assert_eq!(record["plan"]["interface"], "lo");
        }
    }
    let run = ringside(&[
        "run",
        "-n",
        "9",
        "-c1",
        "--interface",
        "lo",
        &server.at("/"),
    ]);
    assert_says(&run.stdout, "Connections: 1 opened over lo\n");
    let hold = ringside(&["hold", "-c4", "-d1s", "--interface", "lo", &server.at("/")]);
    assert_eq!(hold.code, Some(0), "{}{}", hold.stdout, hold.stderr);
    assert_says(&hold.stdout, "/ over lo\n");
    for verb in ["run", "hold"] {
        let ended = ringside(&[verb, "--interface", "nowhere0", &server.at("/")]);
        assert_eq!(ended.code, Some(1), "{}", ended.stdout);
        let says = "--interface nowhere0: there's no such network device";
        assert_says(&ended.stderr, says);
        let (_, devices) = ended.stderr.split_once("; there are ").unwrap();
        assert!(
            devices.trim().split(", ").any(|name| name == "lo"),
            "{devices}"
        );
    }
    let addressed = ["-n", "9", "--interface", "127.0.0.3"];
    let record = assert_all_answered(record("auto", &server.at("/"), &addressed), 9);
    assert_eq!(record["plan"]["source_addresses"][0], "127.0.0.3");
    assert_eq!(record["plan"]["interface"], Value::Null);
}
