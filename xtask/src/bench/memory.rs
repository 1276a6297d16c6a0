//! How much memory the generator takes at 200 and at 10,000 connections, and whether a minute takes
//! more than ten seconds: one process each, looked at twice. wrk is shown beside it.

use std::time::Duration;

use measure::process::{Memory, memory};
use serde_json::{Value, json};

use super::child::{Child, CommandLine};
use super::report::{Findings, Row, Target};
use super::runs::{self, Meter, Server};
use super::{Bench, GENERATOR_CORE, Result, require};

/// Connections, and the most megabytes (10⁶ bytes) for them.
const SIZES: [(u32, f64); 2] = [(200, 16.0), (10_000, 32.0)];
/// When a process is looked at, in seconds after its start.
const EARLY_S: u64 = 10;
const LATE_S: u64 = 60;
/// How long it runs, so that it still does when it is looked at for the second time.
pub(super) const LONG_S: u64 = LATE_S + 2;
/// Pages come in fours of kilobytes and histograms have an end: this much is "the same".
const SAME: f64 = 1.02;

/// Both sizes, the generator's process and the server's.
pub(super) fn run(bench: &mut Bench) -> Result<Findings> {
    let mut findings = Findings::default();
    for (connections, most) in SIZES {
        eprintln!("  {connections} connections");
        let server = Server::start(bench, "uring")?;
        ours(bench, &server, connections, most, &mut findings)?;
        runs::settle(bench)?;
        if require("wrk", "wrk").is_ok() {
            wrk(bench, &server, connections, &mut findings)?;
        }
    }
    findings.notes.push(
        "Memory is the process's resident memory and its peak (VmRSS and VmHWM of proc(5)), in \
         millions of bytes; the peak also counts what the record says that it reached at its end."
            .into(),
    );
    Ok(findings)
}

fn ours(
    bench: &mut Bench,
    server: &Server,
    connections: u32,
    most: f64,
    findings: &mut Findings,
) -> Result<()> {
    let (early, late, long) = moments(bench);
    let (count, seconds) = (connections.to_string(), format!("{}ms", long.as_millis()));
    let url = server.url("/");
    let line = runs::ringside_line(&["-c", &count, "-d", &seconds, "--engine", "uring", &url]);
    let child = bench.start(&line)?;
    let meter = Meter::start(server)?;
    let first = look(bench, &child, early)?;
    let second = look(bench, &child, late)?;
    let servers = memory(&[server.child().pid()]);
    let (run, record) = runs::finish_ringside(bench, server, &line, meter, child)?;
    let reported = record.generator.memory_peak_bytes.unwrap_or(0);
    let name = format!("ringside, {connections} connections");
    let peak = vec![mb(second.peak_bytes.max(reported))];
    findings.rows.push(Row::target(
        &format!("{name}: peak"),
        "MB",
        Target::AtMost(most),
        peak,
    ));
    for (what, bytes) in [
        ("resident", [first.resident_bytes, second.resident_bytes]),
        ("peak", [first.peak_bytes, second.peak_bytes]),
    ] {
        let growth = vec![bytes[1] as f64 / bytes[0] as f64];
        let what = format!("{name}: {what}, late ÷ early");
        findings
            .rows
            .push(Row::target(&what, "×", Target::AtMost(SAME), growth));
    }
    for (what, bytes) in [
        ("resident, early", first.resident_bytes),
        ("resident, late", second.resident_bytes),
        ("the server's peak", servers.peak_bytes),
    ] {
        findings.rows.push(Row::shown(
            &format!("{name}: {what}"),
            "MB",
            vec![mb(bytes)],
        ));
    }
    findings.notes.push(format!(
        "{name}: {} were open, {} requests answered, {} failed; seen after {:.0} s and {:.0} s",
        record.connections.opened,
        run.requests,
        run.failed,
        early.as_secs_f64(),
        late.as_secs_f64(),
    ));
    findings.runs.push(json!({
        "connections": connections,
        "early": value(first),
        "late": value(second),
        "server_late": value(servers),
        "run": run,
    }));
    Ok(())
}

fn wrk(
    bench: &mut Bench,
    server: &Server,
    connections: u32,
    findings: &mut Findings,
) -> Result<()> {
    let (early, ..) = moments(bench);
    let (count, seconds) = (connections.to_string(), format!("{}s", early.as_secs() + 1));
    let url = server.url("/");
    let words = [
        "wrk",
        "-t",
        "1",
        "-c",
        &count,
        "-d",
        &seconds,
        "--latency",
        &url,
    ];
    let child = bench.start(&CommandLine::on_core(GENERATOR_CORE, words))?;
    let seen = look(bench, &child, early)?;
    child.finish(&bench.stop, early + Duration::from_secs(30))?;
    let what = format!("wrk, {connections} connections: peak");
    findings
        .rows
        .push(Row::shown(&what, "MB", vec![mb(seen.peak_bytes)]));
    Ok(())
}

/// When to look, again, and when it ends.
fn moments(bench: &Bench) -> (Duration, Duration, Duration) {
    match bench.options.quick {
        true => (
            Duration::from_secs(1),
            Duration::from_secs(2),
            Duration::from_millis(2500),
        ),
        false => (
            Duration::from_secs(EARLY_S),
            Duration::from_secs(LATE_S),
            Duration::from_secs(LONG_S),
        ),
    }
}

/// What was seen of a process, as it stands in the record.
fn value(memory: Memory) -> Value {
    json!({
        "resident_bytes": memory.resident_bytes,
        "anonymous_bytes": memory.anonymous_bytes,
        "proportional_bytes": memory.proportional_bytes,
        "peak_bytes": memory.peak_bytes,
    })
}

/// The memory of a child, `after` its start.
fn look(bench: &Bench, child: &Child, after: Duration) -> Result<Memory> {
    if child.wait_until(child.started() + after, &bench.stop)? {
        return Err(format!(
            "it ended before it was looked at\n{}",
            child.last_words()
        ));
    }
    Ok(memory(&[child.pid()]))
}

fn mb(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
