//! How many requests one core of the server answers where 16 are on their way on each connection:
//! then it is the protocol that is measured, not the system calls.

use super::report::{Findings, Row, Target};
use super::runs::{self, Run, Server, column};
use super::{Bench, Result, require};

const AT_LEAST: f64 = 2_000_000.0;
const CONNECTIONS: &str = "200";
const DEPTH: &str = "16";
const SCRIPT: &str = "xtask/src/bench/pipeline.lua";

/// The server on io_uring, driven by ringside and by wrk, and the server on epoll beside it.
pub(super) fn run(bench: &mut Bench) -> Result<Findings> {
    let with_wrk = require("wrk", "wrk").is_ok();
    let (mut uring, mut wrk, mut epoll) = (Vec::new(), Vec::new(), Vec::new());
    for round in 1..=bench.options.pairs {
        let server = Server::start(bench, "uring")?;
        server.warm(bench)?;
        uring.push(ringside(bench, &server)?);
        runs::settle(bench)?;
        if with_wrk {
            let (seconds, url) = (bench.seconds(), server.url("/"));
            let words = [
                "-c",
                CONNECTIONS,
                "-d",
                &seconds,
                "-s",
                SCRIPT,
                "--latency",
                &url,
            ];
            wrk.push(runs::wrk(bench, &server, &words)?);
        }
        drop(server);
        let server = Server::start(bench, "epoll")?;
        server.warm(bench)?;
        epoll.push(ringside(bench, &server)?);
        let rate = uring.last().map_or(0.0, |run| run.rate);
        eprintln!(
            "  round {round} of {}: {rate:.0}/s on io_uring",
            bench.options.pairs
        );
    }
    let what = format!("requests/s, {DEPTH} on their way, serve on io_uring, run on io_uring");
    let target = Target::AtLeast(AT_LEAST);
    let mut rows = vec![Row::target(
        &what,
        "/s",
        target,
        column(&uring, |run| run.rate),
    )];
    let mut notes = Vec::new();
    let mut all = Vec::new();
    for (name, runs) in [
        ("serve on io_uring, run", uring),
        ("serve on io_uring, wrk", wrk),
        ("serve on epoll, run", epoll),
    ] {
        if runs.is_empty() {
            notes.push("wrk is not installed".into());
            continue;
        }
        rows.extend(runs::shown(name, &runs));
        notes.push(runs::limit(name, &runs));
        notes.extend(runs::disturbances(name, &runs));
        all.extend(runs);
    }
    Ok(Findings {
        rows,
        notes,
        runs: runs::values(&all)?,
    })
}

fn ringside(bench: &mut Bench, server: &Server) -> Result<Run> {
    let (seconds, url) = (bench.seconds(), server.url("/"));
    let words = ["-c", CONNECTIONS, "-d", &seconds, "--pipeline", DEPTH, &url];
    Ok(runs::ringside(bench, server, &words)?.0)
}
