//! One run of a generator, ours or a peer's, against a server of ours: what the generator says,
//! and what the kernel says that both have used meanwhile.
//!
//! Processor time is read from the processes' own clocks in nanoseconds, for the generator between
//! its exit and its reaping: everything from its start to its end, the same meter for every tool.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use measure::process::cpu_ns;
use measure::time::Time;
use serde::Serialize;
use serde_json::Value;

use super::child::{Child, CommandLine, Finished, rest_until};
use super::machine::Idleness;
use super::peers::{self, Said};
use super::report::{Row, median};
use super::{Bench, GENERATOR_CORE, RINGSIDE, Result, SERVER_CORE};

/// The record of a run of ours; its plan stays what it is.
pub(super) type Record = measure::record::Record<Value>;

/// How long after its window a generator may take to start, to connect and to end.
const BESIDES: Duration = Duration::from_secs(30);
const READY_WITHIN: Duration = Duration::from_secs(10);
const ASK_AGAIN: Duration = Duration::from_millis(5);

/// One run of a generator.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Run {
    /// Which generator.
    pub(super) generator: String,
    /// The command.
    pub(super) command: String,
    /// Answered requests.
    pub(super) requests: u64,
    /// Its window, as it says.
    pub(super) seconds: f64,
    /// Answered requests a second.
    pub(super) rate: f64,
    /// Failed requests and unexpected answers.
    pub(super) failed: u64,
    /// Processor time of the generator from its start to its end.
    pub(super) generator_cpu_s: f64,
    /// The same for each answered request.
    pub(super) generator_cpu_us_per_request: f64,
    /// The same as a share of the window.
    pub(super) generator_core_share: f64,
    /// Processor time of the server meanwhile, for each answered request.
    pub(super) server_cpu_us_per_request: f64,
    /// The same as a share of the window.
    pub(super) server_core_share: f64,
    /// What others, the kernel's own threads among them, used of one core meanwhile.
    pub(super) others_core_share: Option<f64>,
    /// What the hypervisor gave to other guests, as a share of one core.
    pub(super) stolen_core_share: Option<f64>,
    /// What a peer printed.
    pub(super) text: Option<String>,
    /// Our record, without what stands elsewhere in the file.
    pub(super) record: Option<Value>,
}

/// A server of ours on its core. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts ours over plain TCP and waits until it has answered as it should.
    pub(super) fn start(bench: &mut Bench, engine: &str) -> Result<Server> {
        let words = ["--engine", engine, "--threads", "1"];
        Server::launch(bench, 0, &ours(&words), greets)
    }

    /// Starts any server, ours or a peer's, on the `at`-th of this benchmark's ports, which stands
    /// in its words as `{port}`, and waits until it is `ready`.
    pub(super) fn launch(
        bench: &mut Bench,
        at: u16,
        words: &[String],
        ready: fn(u16) -> bool,
    ) -> Result<Server> {
        let port = bench.port + at;
        let words = words.iter().map(|word| fill(word, port));
        let line = CommandLine::on_core(SERVER_CORE, words);
        let child = bench.start(&line)?;
        let deadline = child.started() + READY_WITHIN;
        while !ready(port) {
            if child.wait_until(Time::now() + ASK_AGAIN, &bench.stop)? || Time::now() > deadline {
                return Err(format!("{line}: does not answer\n{}", child.last_words()));
            }
        }
        // What answered may be somebody else, to whom the port belonged already.
        if child.wait_until(Time::now() + ASK_AGAIN, &bench.stop)? {
            return Err(format!("{line}: has ended\n{}", child.last_words()));
        }
        Ok(Server { child, port })
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    pub(super) fn child(&self) -> &Child {
        &self.child
    }

    fn cpu_s(&self) -> Result<f64> {
        let used = cpu_ns(self.child.pid())
            .ok_or_else(|| format!("the server is gone\n{}", self.child.last_words()))?;
        Ok(used as f64 / 1e9)
    }

    /// Some load before anything is measured, so that memory is touched and caches are warm.
    pub(super) fn warm(&self, bench: &mut Bench) -> Result<()> {
        let length = if bench.options.quick { "300ms" } else { "1s" };
        ringside(bench, self, &["-c", "50", "-d", length, &self.url("/")]).map(|_| ())
    }
}

/// The words of `ringside serve` on a port of this host.
pub(super) fn ours(words: &[&str]) -> Vec<String> {
    let all = [&[RINGSIDE, "serve", "--addr", "127.0.0.1:{port}"], words].concat();
    all.into_iter().map(str::to_owned).collect()
}

/// A word with its port.
pub(super) fn fill(word: &str, port: u16) -> String {
    word.replace("{port}", &port.to_string())
}

fn local(port: u16) -> SocketAddr {
    SocketAddr::from((Ipv4Addr::LOCALHOST, port))
}

/// Whether anybody listens.
pub(super) fn listens(port: u16) -> bool {
    TcpStream::connect_timeout(&local(port), Duration::from_secs(1)).is_ok()
}

/// Whether the server greets.
fn greets(port: u16) -> bool {
    let address = local(port);
    let ask = || -> std::io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1))?;
        stream.set_read_timeout(Some(Duration::from_secs(1)))?;
        stream.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(64 * 1024).read_to_end(&mut answer)?;
        Ok(answer)
    };
    ask().is_ok_and(|answer| {
        answer.starts_with(b"HTTP/1.1 200 ") && answer.ends_with(b"Hello, World!")
    })
}

/// Runs ringside on the generator's core with `arguments`, of which `-t 1` and the format are not
/// part.
pub(super) fn ringside(
    bench: &mut Bench,
    server: &Server,
    arguments: &[&str],
) -> Result<(Run, Record)> {
    let line = ringside_line(arguments);
    let child = bench.start(&line)?;
    finish_ringside(bench, server, &line, Meter::start(server)?, child)
}

/// The command of such a run.
pub(super) fn ringside_line(arguments: &[&str]) -> CommandLine {
    let words = [&[RINGSIDE, "run", "-t", "1", "--format", "json"], arguments].concat();
    CommandLine::on_core(GENERATOR_CORE, words)
}

/// Waits for a run of ours that was started by hand, and reads its record.
pub(super) fn finish_ringside(
    bench: &Bench,
    server: &Server,
    line: &CommandLine,
    meter: Meter,
    child: Child,
) -> Result<(Run, Record)> {
    let finished = child.finish(&bench.stop, bench.longest() + BESIDES)?;
    let record = Record::from_json(&finished.output).map_err(|error| format!("{line}: {error}"))?;
    let said = Said {
        requests: record.exchanges.completed,
        seconds: record.duration_s,
        failed: record.exchanges.failed,
        p50_us: record.response_time_us.p50,
        p99_us: record.response_time_us.p99,
    };
    if said.requests == 0 {
        return Err(format!("{line}: nothing was answered: {:?}", record.errors));
    }
    let mut run = meter.stop(server, &finished, &said)?;
    run.generator = format!("ringside {}", record.generator.engine);
    run.command = line.to_string();
    run.record = Some(trimmed(&record)?);
    Ok((run, record))
}

/// Runs a peer on the generator's core.
pub(super) fn peer(
    bench: &mut Bench,
    server: &Server,
    words: &[&str],
    read: fn(&str) -> Result<Said>,
) -> Result<Run> {
    let line = CommandLine::on_core(GENERATOR_CORE, words.iter().copied());
    let child = bench.start(&line)?;
    let meter = Meter::start(server)?;
    let finished = child.finish(&bench.stop, bench.longest() + BESIDES)?;
    let said = read(&finished.output)?;
    if said.requests == 0 {
        return Err(format!("{line}: nothing was answered\n{}", finished.output));
    }
    let mut run = meter.stop(server, &finished, &said)?;
    run.generator = words[0].to_owned();
    run.command = line.to_string();
    run.text = Some(finished.output);
    Ok(run)
}

/// Runs wrk with `arguments`.
pub(super) fn wrk(bench: &mut Bench, server: &Server, arguments: &[&str]) -> Result<Run> {
    peer(
        bench,
        server,
        &[&["wrk", "-t", "1"], arguments].concat(),
        peers::wrk,
    )
}

/// What was used before a run, to be taken off after it.
#[derive(Debug)]
pub(super) struct Meter {
    server_cpu_s: f64,
    idleness: Option<Idleness>,
}

impl Meter {
    /// To be called when the generator has just been started.
    pub(super) fn start(server: &Server) -> Result<Meter> {
        Ok(Meter {
            server_cpu_s: server.cpu_s()?,
            idleness: Idleness::read(),
        })
    }

    fn stop(self, server: &Server, finished: &Finished, said: &Said) -> Result<Run> {
        let server_cpu_s = server.cpu_s()? - self.server_cpu_s;
        let generator_cpu_s = finished.cpu_seconds;
        let wall = finished.wall_seconds;
        let shares = self.idleness.zip(Idleness::read()).map(|(before, after)| {
            let idle = after.idle_s - before.idle_s;
            let stolen = after.stolen_s - before.stolen_s;
            let ours = server_cpu_s + generator_cpu_s;
            (
                ((after.cpus * wall - idle - stolen - ours) / wall).max(0.0),
                stolen / wall,
            )
        });
        let requests = said.requests as f64;
        Ok(Run {
            generator: String::new(),
            command: String::new(),
            requests: said.requests,
            seconds: said.seconds,
            rate: requests / said.seconds,
            failed: said.failed,
            generator_cpu_s,
            generator_cpu_us_per_request: generator_cpu_s * 1e6 / requests,
            generator_core_share: generator_cpu_s / said.seconds,
            server_cpu_us_per_request: server_cpu_s * 1e6 / requests,
            server_core_share: server_cpu_s / said.seconds,
            others_core_share: shares.map(|(others, _)| others),
            stolen_core_share: shares.map(|(_, stolen)| stolen),
            text: None,
            record: None,
        })
    }
}

/// The record without its rows by the second, and without the host, which stands in the file once.
fn trimmed(record: &Record) -> Result<Value> {
    let mut value = serde_json::to_value(record).map_err(|error| format!("JSON: {error}"))?;
    if let Some(fields) = value.as_object_mut() {
        fields.remove("host");
        fields.remove("series");
    }
    Ok(value)
}

/// Runs as they stand in the record.
pub(super) fn values(runs: &[Run]) -> Result<Vec<Value>> {
    let value = |run| serde_json::to_value(run).map_err(|error| format!("JSON: {error}"));
    runs.iter().map(value).collect()
}

/// One figure of each run.
pub(super) fn column(runs: &[Run], figure: impl Fn(&Run) -> f64) -> Vec<f64> {
    runs.iter().map(figure).collect()
}

/// The figures of all runs of one generator that show what it did and which side was the limit.
pub(super) fn shown(name: &str, runs: &[Run]) -> Vec<Row> {
    let row = |what: &str, unit, figure: fn(&Run) -> f64| {
        Row::shown(&format!("{name}: {what}"), unit, column(runs, figure))
    };
    vec![
        row("requests/s", "/s", |run| run.rate),
        row("generator CPU per request", "µs", |run| {
            run.generator_cpu_us_per_request
        }),
        row("generator's core", "%", |run| {
            run.generator_core_share * 100.0
        }),
        row("server's core", "%", |run| run.server_core_share * 100.0),
    ]
}

/// Which side was the limit, as a sentence.
pub(super) fn limit(name: &str, runs: &[Run]) -> String {
    let generator = median(&column(runs, |run| run.generator_core_share)).unwrap_or(0.0) * 100.0;
    let server = median(&column(runs, |run| run.server_core_share)).unwrap_or(0.0) * 100.0;
    let both = format!("generator {generator:.0} %, server {server:.0} % of a core");
    let full = 95.0;
    let who = match (generator >= full, server >= full) {
        (true, true) => "both cores are full",
        (true, false) => "the generator is the limit",
        (false, true) => "the server is the limit",
        (false, false) => "neither core is full",
    };
    format!("{name}: {who} ({both})")
}

/// What disturbed the runs, and what failed in them; nothing where nothing did.
pub(super) fn disturbances(name: &str, runs: &[Run]) -> Vec<String> {
    let worst = |figure: fn(&Run) -> Option<f64>| {
        runs.iter().filter_map(figure).fold(0.0, f64::max) * 100.0
    };
    let mut notes = Vec::new();
    let failed: u64 = runs.iter().map(|run| run.failed).sum();
    if failed > 0 {
        notes.push(format!("{name}: {failed} requests failed"));
    }
    let others = worst(|run| run.others_core_share);
    if others > 5.0 {
        notes.push(format!(
            "{name}: in a round others used {others:.0} % of a core"
        ));
    }
    let stolen = worst(|run| run.stolen_core_share);
    if stolen > 0.5 {
        notes.push(format!(
            "{name}: in a round the hypervisor took {stolen:.1} % of a core"
        ));
    }
    notes
}

/// A pause in which what a generator left behind, closing connections above all, can pass.
pub(super) fn settle(bench: &Bench) -> Result<()> {
    rest_until(Time::now() + Duration::from_millis(100), &bench.stop)
}
