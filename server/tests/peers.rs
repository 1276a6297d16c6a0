//! Real clients that others wrote, against whole servers: curl, wrk and h2load.

use std::process::{Command, Output};

use engine::{Address, choice::EngineChoice, signal::Stop};
use server::{Config, Running, StartError};

const ENGINES: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Epoll];

struct Server(Option<Running>);

impl Server {
    /// A server at a free port; `None`, loudly, where the engine cannot be used.
    fn with(engine: EngineChoice) -> Option<Server> {
        let address = Address::Tcp(([127, 0, 0, 1], 0).into());
        let config = Config {
            engine,
            ..Config::new(address)
        };
        match server::start(config, &Stop::new()) {
            Ok(running) => Some(Server(Some(running))),
            Err(StartError::Engine(error)) => {
                skip(&format!("{engine} cannot be used here: {error}"));
                None
            }
            Err(error) => panic!("{engine}: {error}"),
        }
    }

    fn url(&self, path: &str) -> String {
        let running = self.0.as_ref().expect("runs until it is dropped");
        format!("http://{}{path}", running.address())
    }

    fn requests(mut self) -> u64 {
        let running = self.0.take().expect("runs until it is dropped");
        running.stop();
        running
            .join()
            .expect("the server ends well")
            .counts
            .requests
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.stop();
            let _ = running.join();
        }
    }
}

/// Says that something is not tested here; in CI everything has to be.
fn skip(why: &str) {
    assert!(std::env::var("CI").is_err(), "{why}");
    eprintln!("skipped: {why}");
}

/// Runs a program with some arguments; `None`, loudly, where it is not installed.
fn run(program: &str, package: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(&format!(
                "{program} is not installed ({error}); apt-get install {package}"
            ));
            None
        }
    }
}

/// The exit code and the output of curl, which waits 5 seconds at most.
fn curl(arguments: &[&str]) -> Option<(i32, String)> {
    let output = run(
        "curl",
        "curl",
        &[&["-sS", "--max-time", "5"], arguments].concat(),
    )?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some((output.status.code().unwrap_or(-1), text))
}

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
