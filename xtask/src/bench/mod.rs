//! `cargo xtask bench`: ringside and its peers, both sides from one run.
//!
//! The server stands on core 0, the generator on core 1. Contenders take turns, round after round,
//! so that whatever drifts drifts for all of them, and each round starts a new server. Every
//! benchmark writes one JSON file with all its runs and its exact commands; what is in the folder
//! is shown as one Markdown file. This folder knows ringside only as a program: by its command line
//! and its record.

mod child;
mod contest;
mod floor;
mod generator;
mod hold;
mod law;
mod machine;
mod memory;
mod open_loop;
mod peers;
mod pipeline;
mod protocols;
mod report;
mod runs;
mod servers;
mod truth;

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;

use engine::signal::Stop;
use measure::host::Host;
use measure::time::{Time, unix_seconds, utc_date};

use child::{Child, CommandLine};
use machine::{Congestion, Machine};
use report::{Findings, Outcome};

/// The server's core in every benchmark.
const SERVER_CORE: usize = 0;
/// The generator's core in every benchmark.
const GENERATOR_CORE: usize = 1;
/// How commands name the program: the one that is measured comes first in their PATH.
const RINGSIDE: &str = "ringside";
/// The server's port, if it is free.
const PORT: u16 = 18_080;

const USAGE: &str = "\
usage: cargo xtask bench [NAME…] [--pairs N] [--seconds S] [--out DIR] [--binary FILE] [--quick]

  NAME           which benchmarks; all where none is named
  --pairs N      rounds in which each side is measured once [default: 7]
  --seconds S    length of each measurement [default: 5]
  --out DIR      where the records go [default: records/<UTC date>-<kind of host>]
  --binary FILE  measure this ringside; without it `cargo build --release` makes one
  --quick        everything short, also on a busy machine: to see that it runs

benchmarks:";

/// What can go wrong is said in a sentence.
type Result<T, E = String> = std::result::Result<T, E>;

/// A benchmark by its name.
struct Benchmark {
    name: &'static str,
    question: &'static str,
    run: fn(&mut Bench) -> Result<Findings>,
}

/// All of them, in the order they run in.
const BENCHMARKS: [Benchmark; 14] = [
    Benchmark {
        name: "generator",
        question: "What does a request cost the generator on io_uring, and how many does it send, \
                   beside wrk, against the same server?",
        run: generator::uring,
    },
    Benchmark {
        name: "generator-epoll",
        question: "The same with the generator on epoll, as wrk is.",
        run: generator::epoll,
    },
    Benchmark {
        name: "servers",
        question: "How many requests does one core of each server answer, driven by ringside?",
        run: servers::run,
    },
    Benchmark {
        name: "pipeline",
        question: "How many requests does one core of the server answer where 16 are on their way \
                   on each connection?",
        run: pipeline::run,
    },
    Benchmark {
        name: "open-loop",
        question: "At a given rate, how soon is the answer there, and how late was the request?",
        run: open_loop::run,
    },
    Benchmark {
        name: "memory",
        question: "How much memory does the generator take, and does it grow with time?",
        run: memory::run,
    },
    Benchmark {
        name: "truth",
        question: "Does a known law of response times come back as that law?",
        run: truth::run,
    },
    Benchmark {
        name: "http2-generator",
        question: "What does a request over HTTP/2 cost the generator, beside h2load, against \
                   nghttpd?",
        run: protocols::http2_generator,
    },
    Benchmark {
        name: "grpc-generator",
        question: "What does a gRPC call cost the generator, beside h2load and ghz, against \
                   gRPC-Go?",
        run: protocols::grpc_generator,
    },
    Benchmark {
        name: "http2-servers",
        question: "How many requests over HTTP/2 does one core of the server answer, beside \
                   nghttpd?",
        run: protocols::http2_servers,
    },
    Benchmark {
        name: "grpc-servers",
        question: "How many gRPC calls does one core of the server answer, beside gRPC-Go?",
        run: protocols::grpc_servers,
    },
    Benchmark {
        name: "websocket",
        question: "How many messages are echoed, beside requests over HTTP/1.1?",
        run: protocols::websocket,
    },
    Benchmark {
        name: "tls",
        question: "What does TLS cost beside plain TCP, and how many handshakes are there in a \
                   second?",
        run: protocols::tls,
    },
    Benchmark {
        name: "hold",
        question: "How much memory does a held connection take, and do 200,000 stand?",
        run: hold::run,
    },
];

/// What was asked for.
#[derive(Debug, PartialEq)]
struct Options {
    names: Vec<String>,
    pairs: usize,
    seconds: u64,
    out: Option<PathBuf>,
    binary: Option<PathBuf>,
    quick: bool,
}

/// What every benchmark works with.
struct Bench {
    options: Options,
    stop: Stop,
    port: u16,
    /// Holds ringside by that name, and what children print; gone at the end.
    scratch: Scratch,
    started: usize,
    commands: Vec<String>,
}

/// `cargo xtask bench` with what stands after it.
pub(crate) fn run(arguments: &[String]) -> ExitCode {
    if arguments.iter().any(|word| word == "--help") {
        println!("{}", usage());
        return ExitCode::SUCCESS;
    }
    let options = match Options::parse(arguments) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}\n{}", usage());
            return ExitCode::from(2);
        }
    };
    let stop = match Stop::on_signals() {
        Ok(stop) => stop,
        Err(error) => {
            eprintln!("signals cannot be handled: {error}");
            return ExitCode::FAILURE;
        }
    };
    match measure_all(options, &stop) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{text}");
            stop.requested().map_or(ExitCode::FAILURE, |signal| {
                ExitCode::from(signal.exit_code())
            })
        }
    }
}

fn usage() -> String {
    let lines = BENCHMARKS
        .iter()
        .map(|one| format!("  {:<16} {}", one.name, one.question));
    let lines: Vec<String> = lines.collect();
    format!("{USAGE}\n{}", lines.join("\n"))
}

fn measure_all(options: Options, stop: &Stop) -> Result<()> {
    let root = crate::workspace::root();
    require("taskset", "util-linux")?;
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        return Err("server and generator need a core each, and here is only one".into());
    }
    let binary = match &options.binary {
        Some(file) => {
            fs::canonicalize(file).map_err(|error| format!("{}: {error}", file.display()))?
        }
        None => build(&root)?,
    };
    raise_descriptor_limit();
    machine::wait_for_quiet(options.quick, stop)?;
    let congestion = Congestion::set();
    let folder = out_folder(&options, &root)?;
    // So that the commands can name files of the workspace as anybody's shell would.
    std::env::set_current_dir(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let mut bench = Bench {
        port: free_port()?,
        scratch: Scratch::new(&binary)?,
        stop: stop.clone(),
        started: 0,
        commands: Vec::new(),
        options,
    };
    let (mut outcomes, mut failures) = (Vec::new(), Vec::new());
    for benchmark in &BENCHMARKS {
        if !bench.options.wants(benchmark.name) {
            continue;
        }
        match measure_one(&mut bench, benchmark, &congestion) {
            Ok(outcome) => {
                report::write(&folder, &outcome)?;
                println!("{}", report::markdown(&outcome));
                outcomes.push(outcome);
            }
            Err(text) if stop.requested().is_some() => return Err(text),
            Err(text) => {
                eprintln!("{}: {text}", benchmark.name);
                failures.push(benchmark.name);
            }
        }
    }
    println!("{}", report::overview(&outcomes).join("\n"));
    eprintln!("records are in {}", folder.display());
    match failures[..] {
        [] => Ok(()),
        _ => Err(format!("could not be measured: {}", failures.join(", "))),
    }
}

fn measure_one(
    bench: &mut Bench,
    benchmark: &Benchmark,
    congestion: &Congestion,
) -> Result<Outcome> {
    eprintln!("{}: {}", benchmark.name, benchmark.question);
    bench.commands.clear();
    let machine = Machine::read(&bench.scratch.0.join(RINGSIDE), congestion);
    let (wall, start) = (unix_seconds(), Time::now());
    let findings = (benchmark.run)(bench)?;
    let took_s = (Time::now() - start).as_secs_f64();
    Ok(Outcome::new(
        (benchmark.name, benchmark.question),
        (wall, took_s),
        (bench.options.quick, machine),
        bench.commands.clone(),
        findings,
    ))
}

impl Bench {
    /// Starts a child, and remembers its command for the record.
    fn start(&mut self, line: &CommandLine) -> Result<Child> {
        let text = line.to_string();
        if !self.commands.contains(&text) {
            self.commands.push(text);
        }
        self.started += 1;
        Child::start(line, &self.scratch.0, &self.started.to_string())
    }

    /// The length of a measurement as generators take it.
    fn seconds(&self) -> String {
        format!("{}s", self.options.seconds)
    }

    /// The longest window that any generator is asked for.
    fn longest(&self) -> Duration {
        Duration::from_secs(self.options.seconds.max(memory::LONG_S))
    }
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let mut options = Options {
            names: Vec::new(),
            pairs: 7,
            seconds: 5,
            out: None,
            binary: None,
            quick: false,
        };
        if arguments.iter().any(|word| word == "--quick") {
            (options.quick, options.pairs, options.seconds) = (true, 2, 1);
        }
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or(format!("{word} needs a value"));
            match word.as_str() {
                "--quick" => {}
                "--pairs" => options.pairs = count(word, value()?, 1000)? as usize,
                "--seconds" => options.seconds = count(word, value()?, 60)?,
                "--out" => options.out = Some(value()?.into()),
                "--binary" => options.binary = Some(value()?.into()),
                name if BENCHMARKS.iter().any(|one| one.name == name) => {
                    options.names.push(name.to_owned());
                }
                other => return Err(format!("`{other}` is neither a benchmark nor an option")),
            }
        }
        Ok(options)
    }

    fn wants(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|wanted| wanted == name)
    }
}

fn count(option: &str, text: &str, most: u64) -> Result<u64> {
    match text.parse() {
        Ok(number) if (1..=most).contains(&number) => Ok(number),
        _ => Err(format!(
            "{option} {text}: expected a number from 1 to {most}"
        )),
    }
}

fn out_folder(options: &Options, root: &Path) -> Result<PathBuf> {
    match &options.out {
        Some(folder) => {
            std::path::absolute(folder).map_err(|error| format!("{}: {error}", folder.display()))
        }
        None => {
            let date = utc_date(unix_seconds());
            let kind = machine::kind(&Host::read());
            Ok(root.join("records").join(format!("{date}-{kind}")))
        }
    }
}

/// Builds ringside as it is shipped, and says where it is.
fn build(root: &Path) -> Result<PathBuf> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&cargo);
        command
            .args(arguments)
            .current_dir(root)
            .stderr(std::process::Stdio::inherit());
        let output = command
            .output()
            .map_err(|error| format!("{cargo}: {error}"))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => Err(format!("cargo {}: {}", arguments.join(" "), output.status)),
        }
    };
    run(&["build", "--release", "--package", "cli"])?;
    let facts = run(&["metadata", "--format-version", "1", "--no-deps"])?;
    let facts: serde_json::Value =
        serde_json::from_slice(&facts).map_err(|error| format!("cargo metadata: {error}"))?;
    let target = facts["target_directory"]
        .as_str()
        .ok_or("cargo metadata names no target")?;
    Ok(Path::new(target).join("release").join("ringside"))
}

/// An error says what to install, if `program` is in no folder of PATH.
fn require(program: &str, package: &str) -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path);
    match folders
        .map(|folder| folder.join(program))
        .any(|file| file.is_file())
    {
        true => Ok(()),
        false => Err(format!(
            "{program} is missing: `apt install {package}` brings it"
        )),
    }
}

/// As far as is permitted: 10,000 connections need as many descriptors, in peers, too.
fn raise_descriptor_limit() {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    if let Err(error) = setrlimit(Resource::Nofile, limit) {
        eprintln!("warning: the limit of descriptors stays as it is: {error}");
    }
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", PORT))
        .or_else(|_| TcpListener::bind(("127.0.0.1", 0)))
        .and_then(|listener| listener.local_addr());
    match listener {
        Ok(address) => Ok(address.port()),
        Err(error) => Err(format!("no free port: {error}")),
    }
}

/// A folder that is gone with its owner.
struct Scratch(PathBuf);

impl Scratch {
    fn new(binary: &Path) -> Result<Scratch> {
        let folder = std::env::temp_dir().join(format!("ringside-bench-{}", std::process::id()));
        fs::create_dir_all(&folder)
            .and_then(|()| std::os::unix::fs::symlink(binary, folder.join(RINGSIDE)))
            .map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(Scratch(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options> {
        let words: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
        Options::parse(&words)
    }

    #[test]
    fn options_say_which_benchmarks_and_how_long() {
        let options = parse("truth --pairs 9 --seconds 3 memory").expect("all are known");
        assert_eq!(options.names, ["truth", "memory"]);
        assert_eq!(
            (options.pairs, options.seconds, options.quick),
            (9, 3, false)
        );
        assert!(options.wants("memory") && !options.wants("servers"));
    }

    #[test]
    fn quick_shortens_what_is_not_said() {
        let options = parse("--pairs 3 --quick").expect("all are known");
        assert_eq!(
            (options.pairs, options.seconds, options.quick),
            (3, 1, true)
        );
        assert!(options.wants("servers"));
    }

    #[test]
    fn what_is_not_understood_is_refused_by_name() {
        for (text, expected) in [
            ("turth", "`turth` is neither a benchmark nor an option"),
            ("--pairs 0", "--pairs 0: expected a number from 1 to 1000"),
            ("--seconds", "--seconds needs a value"),
        ] {
            assert_eq!(parse(text).expect_err("refused"), expected);
        }
    }
}
