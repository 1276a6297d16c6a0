//! What a request costs the generator, beside wrk: closed loop, 200 connections, one thread each,
//! the same server on io_uring for all. h2load, where it is installed, is shown as a third.

use super::contest::{Contender, Contest, Serving, own};
use super::peers;
use super::report::{Findings, Row, Target};
use super::{Bench, Result, require};

/// A bare loop without a protocol reaches 0.71.
const CPU_AT_MOST: f64 = 0.75;
/// A bare loop without a protocol on both sides reaches 1.40.
const RATE_AT_LEAST: f64 = 1.30;
/// On epoll, as wrk is, there is no kernel to thank: merely not slower.
const EPOLL_RATE_AT_LEAST: f64 = 1.0;

/// The generator on io_uring.
pub(super) fn uring(bench: &mut Bench) -> Result<Findings> {
    let contest = contest(bench, "uring")?;
    let cpu = contest.ratios("ringside", "wrk", |run| run.generator_cpu_us_per_request);
    let rate = contest.ratios("ringside", "wrk", |run| run.rate);
    let cpu_target = Target::AtMost(CPU_AT_MOST);
    let rate_target = Target::AtLeast(RATE_AT_LEAST);
    contest.findings(vec![
        Row::target(
            "generator CPU per request, ringside ÷ wrk",
            "×",
            cpu_target,
            cpu,
        ),
        Row::target("requests/s, ringside ÷ wrk", "×", rate_target, rate),
    ])
}

/// The generator on epoll.
pub(super) fn epoll(bench: &mut Bench) -> Result<Findings> {
    let contest = contest(bench, "epoll")?;
    let cpu = contest.ratios("ringside", "wrk", |run| run.generator_cpu_us_per_request);
    let rate = contest.ratios("ringside", "wrk", |run| run.rate);
    let rate_target = Target::AtLeast(EPOLL_RATE_AT_LEAST);
    contest.findings(vec![
        Row::target("requests/s, ringside ÷ wrk", "×", rate_target, rate),
        Row::shown("generator CPU per request, ringside ÷ wrk", "×", cpu),
    ])
}

/// Everybody against one server of ours.
fn contest(bench: &mut Bench, engine: &str) -> Result<Contest> {
    require("wrk", "wrk")?;
    let seconds = bench.seconds();
    let words = |words: &[&str]| {
        let load = ["-c", "200", "-d", &seconds, "http://127.0.0.1:{port}/"];
        own(&[words, &load].concat())
    };
    let mut contenders = vec![
        Contender::ringside("ringside", words(&["--engine", engine])),
        Contender::peer("wrk", words(&["wrk", "-t", "1", "--latency"]), peers::wrk),
    ];
    if require("h2load", "nghttp2-client").is_ok() {
        let line = ["h2load", "--h1", "-t", "1", "-c", "200", "-D", &seconds];
        let line = own(&[&line[..], &["http://127.0.0.1:{port}/"]].concat());
        contenders.push(Contender::peer("h2load", line, peers::h2load));
    }
    let server = Serving::ours(&["--engine", "uring", "--threads", "1"]);
    let mut contest = Contest::hold(bench, &[server], contenders)?;
    contest.notes.push(
        "Generator CPU is all that the process used from start to end, user and kernel, by \
         its own clock, divided by the requests that it counted. On loopback the sender's core \
         also does the receiving side's TCP work."
            .into(),
    );
    Ok(contest)
}
