//! The repository's own subjects that are other people's servers: built, started, verified and
//! measured for a moment. One that is not installed is skipped aloud; where `CI` is `true` that is
//! a failure.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::Duration;

use garbage::{Journal, Runtime};
use lab::manifest::Outcome as How;
use lab::round::Round;
use lab::{Event, Options};
use load::Stop;
use measure::time::{Time, sleep_until};
use studies::Outcome;

use crate::ports::free_port;
use crate::skip::skip;
use crate::support::{Arena, beside_others, left_behind};

const COMPARISON: &str = r#"
name = "real"
question = "Do the subjects work?"
subjects = ["nginx", "go-nethttp", "node-http"]
rounds = 3

[workload]
path = "/json"
connections = 8
window = "100ms"
settle = "30ms"
warm_up = "50ms"
"#;

#[test]
fn nginx_go_and_node_are_built_verified_and_measured() {
    let _beside = beside_others();
    let arena = Arena::new("real");
    let outcome = compare(&arena, COMPARISON, false);
    let mut skipped = Vec::new();
    for row in &outcome.report.subjects {
        match &row.facts.outcome {
            How::Measured => {
                let figures = row.figures.as_ref().expect("measured");
                assert_eq!(figures.rounds, 3, "{}", row.facts.name);
                assert_eq!(
                    figures.failed, 0,
                    "{}: {:?}",
                    row.facts.name, figures.errors
                );
                assert!(
                    row.facts.version.is_some(),
                    "{} does not say its version",
                    row.facts.name
                );
            }
            How::Missing { install } => skipped.push(format!("{}: {install}", row.facts.name)),
            other => panic!("{}: {other:?}", row.facts.name),
        }
    }
    say_what_was_skipped(&skipped);
}

#[test]
fn go_draws_its_own_flame_graph_while_it_is_loaded() {
    let _beside = beside_others();
    let arena = Arena::new("pprof");
    let text = COMPARISON.replace(
        r#"["nginx", "go-nethttp", "node-http"]"#,
        r#"["go-nethttp"]"#,
    );
    let outcome = compare(&arena, &text.replace("rounds = 3", "rounds = 1"), true);
    let row = &outcome.report.subjects[0];
    if let How::Missing { install } = &row.facts.outcome {
        return say_what_was_skipped(&[format!("{}: {install}", row.facts.name)]);
    }
    let kept = |end: &str| {
        let file = outcome.folder.join(format!("profiles/go-nethttp.{end}"));
        std::fs::read(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let manifest = std::fs::read_to_string(outcome.folder.join("comparison.json"));
    let manifest = manifest.expect("what is known of the rows");
    assert!(manifest.contains("profiles/go-nethttp.pprof"), "{manifest}");
    assert_eq!(
        kept("pprof")[..2],
        [0x1f, 0x8b],
        "gzip, as `go tool pprof` takes it"
    );
    let folded = String::from_utf8(kept("folded")).expect("names are text");
    assert!(folded.contains("net/http.(*conn).serve;"), "{folded}");
    assert!(folded.contains("main.sayOK"), "the handler: {folded}");
    let picture = String::from_utf8(kept("svg")).expect("text");
    assert!(picture.contains("net/http.(*conn).serve"), "{picture}");
}

/// Compares subjects of the repository.
fn compare(arena: &Arena, text: &str, profile: bool) -> Outcome {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let options = Options {
        subjects: Some(repository.join("subjects")),
        // Kept between runs of the tests, and outside the source: Go takes its time.
        cache: Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("builds")),
        profile,
        ..arena.comparison(text)
    };
    let outcome = studies::compare(&options, &Stop::new(), &mut |event: &Event<'_>| {
        println!("{event}")
    });
    assert_eq!(
        left_behind(&repository.join("subjects")),
        Vec::<u32>::new(),
        "processes were left behind"
    );
    outcome.expect("the comparison can be read")
}

fn say_what_was_skipped(skipped: &[String]) {
    if !skipped.is_empty() {
        skip(skipped.join("; "));
    }
}

/// A server of the repository that is started by hand, so that its whole log is there to read. It
/// ends with its owner.
struct ByHand {
    child: Child,
    port: u16,
    log: PathBuf,
    runtime: Runtime,
}

impl ByHand {
    fn start(runtime: Runtime, command: &mut Command, folder: &Path) -> ByHand {
        let port = free_port();
        let log = folder.join(format!("{runtime:?}.log"));
        let file = fs::File::create(&log).expect("writable");
        let address = match runtime {
            Runtime::Go => format!("127.0.0.1:{port}"),
            Runtime::Java | Runtime::Node => port.to_string(),
        };
        let child = command
            .arg(address)
            .stdout(file.try_clone().expect("one more descriptor"))
            .stderr(file)
            .spawn();
        let child = child.expect("it was found a moment ago");
        ByHand {
            child,
            port,
            log,
            runtime,
        }
    }

    /// Its connection, once it answers.
    fn connect(&self) -> TcpStream {
        let deadline = Time::now() + PATIENCE;
        loop {
            match TcpStream::connect(("127.0.0.1", self.port)) {
                Ok(stream) => return stream,
                Err(error) => assert!(Time::now() < deadline, "{:?}: {error}", self.runtime),
            }
            sleep_until(Time::now() + Duration::from_millis(10));
        }
    }

    /// Collections by its counters and by its log, once both stay as they are.
    fn collections(&self, stream: &mut TcpStream, counters: &[&str]) -> (u64, u64) {
        let deadline = Time::now() + PATIENCE;
        let mut last = None;
        loop {
            let metrics = ask(stream, "/metrics");
            let of = |name: &&str| {
                let line = metrics.lines().find_map(|line| line.strip_prefix(*name));
                let count = line.and_then(|rest| rest.trim().parse::<u64>().ok());
                count.unwrap_or_else(|| panic!("no {name} in {metrics}"))
            };
            let now = (counters.iter().map(of).sum(), self.logged());
            if last == Some(now) {
                return now;
            }
            assert!(Time::now() < deadline, "{last:?}, then {now:?}");
            last = Some(now);
            sleep_until(Time::now() + Duration::from_millis(10));
        }
    }

    /// How many collections the lab reads from its log.
    fn logged(&self) -> u64 {
        let text = fs::read_to_string(&self.log).expect("its log");
        let mut journal = Journal::new(self.runtime);
        text.lines().for_each(|line| journal.line(line));
        let collected = journal.collected();
        collected.expect("the format of this version").collections
    }
}

impl Drop for ByHand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// For a server to start, or to write what it has collected.
const PATIENCE: Duration = Duration::from_secs(60);

/// The body of the answer to a request on a connection that stays.
fn ask(stream: &mut TcpStream, path: &str) -> String {
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it listens");
    let mut reader = BufReader::new(stream);
    let mut length = None;
    let mut chunked = false;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("it answers");
        let lower = line.trim_end().to_ascii_lowercase();
        if let Some(value) = lower.strip_prefix("content-length:") {
            length = value.trim().parse().ok();
        }
        chunked |= lower == "transfer-encoding: chunked";
        if lower.is_empty() {
            break;
        }
    }
    if chunked {
        let mut size = String::new();
        reader.read_line(&mut size).expect("a chunk");
        length = usize::from_str_radix(size.trim(), 16).ok();
    }
    let mut body = vec![0; length.expect("a length")];
    reader.read_exact(&mut body).expect("a body");
    if chunked {
        // Such a short answer is one chunk, and the one that ends it.
        reader.read_exact(&mut [0; 7]).expect("its end");
    }
    String::from_utf8(body).expect("text")
}

/// A program that is there, or why it isn't.
fn found(program: &str, version: &str) -> Result<(), String> {
    let asked = Command::new(program).arg(version).output();
    asked
        .map(|_| ())
        .map_err(|error| format!("{program}: {error}"))
}

#[test]
fn collections_are_as_many_by_the_runtimes_own_counters_as_by_its_log() {
    let _beside = beside_others();
    let arena = Arena::new("collections");
    let subjects = Path::new(env!("CARGO_MANIFEST_DIR")).join("../subjects");
    let mut servers = Vec::new();
    let mut skipped = Vec::new();
    match found("go", "version") {
        Ok(()) => {
            let program = arena.folder.join("go-garbage");
            let built = Command::new("go")
                .args(["build", "-trimpath", "-buildvcs=false", "-o"])
                .args([&program, Path::new(".")])
                .envs([
                    ("GOTOOLCHAIN", "local"),
                    ("GOPROXY", "off"),
                    ("CGO_ENABLED", "0"),
                ])
                .current_dir(subjects.join("go-garbage"))
                .status();
            assert!(built.expect("it's there").success(), "it builds");
            let mut command = Command::new(&program);
            command.envs([("GODEBUG", "gctrace=1"), ("GOMAXPROCS", "1")]);
            let server = ByHand::start(Runtime::Go, &mut command, &arena.folder);
            servers.push((server, &["go_gc_cycles_total "][..]));
        }
        Err(why) => skipped.push(why),
    }
    match found("node", "--version") {
        Ok(()) => {
            let mut command = Command::new("node");
            command
                .arg("--trace-gc")
                .arg(subjects.join("node-garbage/server.js"));
            // A collection for every sixteen requests or so.
            command.env("NODE_OPTIONS", "--max-semi-space-size=1");
            let server = ByHand::start(Runtime::Node, &mut command, &arena.folder);
            servers.push((server, &NODE_COUNTERS[..]));
        }
        Err(why) => skipped.push(why),
    }
    for (server, counters) in &servers {
        let mut stream = server.connect();
        // What Node collects before it runs the program nobody observes.
        let before = server.collections(&mut stream, counters);
        for _ in 0..3_000 {
            assert_eq!(ask(&mut stream, "/"), "Hello, World!");
        }
        let after = server.collections(&mut stream, counters);
        let (counted, logged) = (after.0 - before.0, after.1 - before.1);
        assert!(counted > 2, "{:?}: {before:?}, {after:?}", server.runtime);
        assert_eq!(
            counted, logged,
            "{:?}: {before:?}, {after:?}",
            server.runtime
        );
    }
    say_what_was_skipped(&skipped);
}

const NODE_COUNTERS: [&str; 2] = [
    "nodejs_gc_duration_seconds_count{kind=\"minor\"} ",
    "nodejs_gc_duration_seconds_count{kind=\"major\"} ",
];

#[test]
fn what_a_runtime_counts_of_its_collections_is_in_the_record_beside_its_log() {
    let _beside = beside_others();
    let arena = Arena::new("counted");
    let text = COMPARISON
        .replace(
            r#"["nginx", "go-nethttp", "node-http"]"#,
            r#"["go-garbage", "node-garbage"]"#,
        )
        .replace("path = \"/json\"", "path = \"/\"")
        .replace("rounds = 3", "rounds = 1")
        .replace("\"100ms\"", "\"500ms\"");
    let outcome = compare(&arena, &text, false);
    let mut skipped = Vec::new();
    for (row, counters) in outcome
        .report
        .subjects
        .iter()
        .zip([&["go_gc_cycles_total"][..], &NODE_COUNTERS[..]])
    {
        let name = &row.facts.name;
        match &row.facts.outcome {
            How::Measured => {}
            How::Missing { install } => {
                skipped.push(format!("{name}: {install}"));
                continue;
            }
            other => panic!("{name}: {other:?}"),
        }
        let file = outcome.folder.join(format!("rounds/{name}/001.json"));
        let round = Round::from_json(&fs::read_to_string(file).expect("its round"));
        let seen = round.expect("a round").watched;
        let moved = counters
            .iter()
            .filter_map(|name| seen.scraped.get(name.trim()));
        let counted: f64 = moved.map(|change| change.after - change.before).sum();
        let logged = seen.collected.expect("its log was read").collections;
        // The counters are read before the load and after it, the log in the window alone.
        assert!(
            counted > 0.0 && counted >= logged as f64,
            "{name}: {counted}, {logged}"
        );
    }
    say_what_was_skipped(&skipped);
}
