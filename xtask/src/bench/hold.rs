//! Long connections: how much memory one takes at 19,000 in one ring, and whether 200,000 stand,
//! which is ten times what the limit of descriptors allows to one ring.

use std::fs;
use std::time::Duration;

use measure::time::Time;
use serde_json::{Value, json};

use super::child::{CommandLine, Finished};
use super::report::{Findings, Row, Target};
use super::runs::{self, Server};
use super::{Bench, GENERATOR_CORE, RINGSIDE, Result};

/// For opening and for ending, besides the time that connections are held.
const BESIDES: Duration = Duration::from_secs(180);
/// The most that a held connection may take of the process, in bytes.
const BYTES_EACH_MAX: f64 = 2048.0;
/// The most that both sides and the kernel may take of the machine, in bytes.
const MACHINE_BYTES_MAX: f64 = 4e9;
/// How often the machine's memory is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(500);

/// How many connections, how the server is threaded, and what to say of it.
const SIZES: [(&str, &str); 2] = [("19000", "1"), ("200000", "12")];

/// Both sizes.
pub(super) fn run(bench: &mut Bench) -> Result<Findings> {
    let mut findings = Findings::default();
    // Each size has a port of its own: the sockets of a ring go some time after its process.
    for (at, (connections, threads)) in (0..).zip(SIZES) {
        eprintln!("  {connections} connections");
        let before = available_bytes()?;
        let words = ["--engine", "uring", "--threads", threads];
        let server = Server::launch(bench, at, &runs::ours(&words), runs::listens)?;
        let (record, finished, least) = hold(bench, &server, connections)?;
        let taken = before.saturating_sub(least);
        add(connections, &record, taken, &finished, &mut findings);
        findings.runs.push(json!({
            "connections": connections,
            "server_threads": threads,
            "machine_bytes": taken,
            "record": record,
        }));
    }
    findings.notes.push(
        "Memory of a connection is what the process took more at the end of the hold than before \
         the first connection, divided by the connections. The machine's memory is what less was \
         available (MemAvailable of proc(5)) than before the server was started: both sides, and \
         the kernel's part of both."
            .into(),
    );
    Ok(findings)
}

/// Holds, and watches meanwhile how much memory the machine has left at the least.
fn hold(bench: &mut Bench, server: &Server, connections: &str) -> Result<(Value, Finished, u64)> {
    let length = if bench.options.quick { "2s" } else { "30s" };
    let url = server_url(server);
    let words = [
        RINGSIDE,
        "hold",
        "-c",
        connections,
        "-d",
        length,
        "--heartbeat",
        "10s",
        "--open-rate",
        "20k",
        "--format",
        "json",
        &url,
    ];
    let line = CommandLine::on_core(GENERATOR_CORE, words);
    let child = bench.start(&line)?;
    let deadline = child.started() + BESIDES;
    let mut least = available_bytes()?;
    while !child.wait_until(Time::now() + LOOK_AGAIN, &bench.stop)? {
        least = least.min(available_bytes()?);
        if Time::now() > deadline {
            return Err(format!("{line}: does not end\n{}", child.last_words()));
        }
    }
    let finished = child.finish(&bench.stop, BESIDES)?;
    let mut record: Value =
        serde_json::from_str(&finished.output).map_err(|error| format!("{line}: {error}"))?;
    if let Some(fields) = record.as_object_mut() {
        fields.remove("host");
        fields.remove("series");
    }
    Ok((record, finished, least))
}

fn server_url(server: &Server) -> String {
    format!("http://127.0.0.1:{}/health", server.port())
}

fn add(
    connections: &str,
    record: &Value,
    machine_bytes: u64,
    finished: &Finished,
    findings: &mut Findings,
) {
    let number = |path: &str| -> Vec<f64> {
        record
            .pointer(path)
            .and_then(Value::as_f64)
            .into_iter()
            .collect()
    };
    let named = |what: &str| format!("{connections} connections: {what}");
    let share = |path: &str| number(path).iter().map(|value| value * 100.0).collect();
    let each = number("/memory/bytes_per_connection");
    let machine = vec![machine_bytes as f64 / 1e9];
    findings.rows.extend([
        Row::target(
            &named("survival"),
            "%",
            Target::AtLeast(100.0),
            share("/connections/survival"),
        ),
        Row::target(
            &named("memory each"),
            "bytes",
            Target::AtMost(BYTES_EACH_MAX),
            each,
        ),
        Row::target(
            &named("memory of the machine"),
            "GB",
            Target::AtMost(MACHINE_BYTES_MAX / 1e9),
            machine,
        ),
        Row::shown(
            &named("failed heartbeats"),
            "%",
            share("/heartbeats/failure_share"),
        ),
        Row::shown(&named("time to open all"), "s", number("/opening_s")),
        Row::shown(
            &named("heartbeat p50"),
            "µs",
            number("/heartbeat_time_us/p50"),
        ),
        Row::shown(
            &named("heartbeat p99"),
            "µs",
            number("/heartbeat_time_us/p99"),
        ),
        Row::shown(
            &named("processor time of the holder"),
            "s",
            vec![finished.cpu_seconds],
        ),
    ]);
    if let Some(warnings) = record.get("warnings").and_then(Value::as_array) {
        for warning in warnings.iter().filter_map(Value::as_str) {
            findings.notes.push(named(warning));
        }
    }
}

/// Memory that could still be given out (proc(5), `MemAvailable`).
fn available_bytes() -> Result<u64> {
    let text =
        fs::read_to_string("/proc/meminfo").map_err(|why| format!("/proc/meminfo: {why}"))?;
    text.lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok())
        .map(|kilobytes| kilobytes * 1024)
        .ok_or_else(|| "/proc/meminfo has no MemAvailable".to_owned())
}
