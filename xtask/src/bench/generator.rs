//! What a request costs the generator, beside wrk: closed loop, 200 connections, one thread each,
//! the same server on io_uring for all. h2load, where it is installed, is shown as a third.

use super::peers;
use super::report::{Findings, Row, Target, ratios};
use super::runs::{self, Run, Server, column};
use super::{Bench, Result, require};

const CONNECTIONS: &str = "200";
/// A bare loop without a protocol reaches 0.71.
const CPU_AT_MOST: f64 = 0.75;
/// A bare loop without a protocol on both sides reaches 1.40.
const RATE_AT_LEAST: f64 = 1.30;
/// On epoll, as wrk is, there is no kernel to thank: merely not slower.
const EPOLL_RATE_AT_LEAST: f64 = 1.0;

/// The generator on io_uring.
pub(super) fn uring(bench: &mut Bench) -> Result<Findings> {
    let rounds = Rounds::take(bench, "uring")?;
    let (cpu, rate) = rounds.against_wrk();
    let cpu_target = Target::AtMost(CPU_AT_MOST);
    let rate_target = Target::AtLeast(RATE_AT_LEAST);
    rounds.findings(vec![
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
    let rounds = Rounds::take(bench, "epoll")?;
    let (cpu, rate) = rounds.against_wrk();
    let rate_target = Target::AtLeast(EPOLL_RATE_AT_LEAST);
    rounds.findings(vec![
        Row::target("requests/s, ringside ÷ wrk", "×", rate_target, rate),
        Row::shown("generator CPU per request, ringside ÷ wrk", "×", cpu),
    ])
}

/// The runs of each contender, one a round.
struct Rounds {
    ringside: Vec<Run>,
    wrk: Vec<Run>,
    h2load: Vec<Run>,
}

impl Rounds {
    fn take(bench: &mut Bench, engine: &str) -> Result<Rounds> {
        require("wrk", "wrk")?;
        let third = require("h2load", "nghttp2-client").is_ok();
        let mut rounds = Rounds {
            ringside: Vec::new(),
            wrk: Vec::new(),
            h2load: Vec::new(),
        };
        let contenders = if third { 3 } else { 2 };
        for round in 0..bench.options.pairs {
            let server = Server::start(bench, "uring")?;
            server.warm(bench)?;
            for turn in 0..contenders {
                // Who comes first changes, so that no side always has the server fresh.
                rounds.take_one(bench, &server, engine, (turn + round) % contenders)?;
                runs::settle(bench)?;
            }
            rounds.tell(bench);
        }
        Ok(rounds)
    }

    fn take_one(
        &mut self,
        bench: &mut Bench,
        server: &Server,
        engine: &str,
        contender: usize,
    ) -> Result<()> {
        let (seconds, url) = (bench.seconds(), server.url("/"));
        match contender {
            0 => {
                let words = ["-c", CONNECTIONS, "-d", &seconds, "--latency", &url];
                self.wrk.push(runs::wrk(bench, server, &words)?);
            }
            1 => {
                let words = ["-c", CONNECTIONS, "-d", &seconds, "--engine", engine, &url];
                self.ringside.push(runs::ringside(bench, server, &words)?.0);
            }
            _ => {
                let words = [
                    "h2load",
                    "--h1",
                    "-t",
                    "1",
                    "-c",
                    CONNECTIONS,
                    "-D",
                    &seconds,
                    &url,
                ];
                self.h2load
                    .push(runs::peer(bench, server, &words, peers::h2load)?);
            }
        }
        Ok(())
    }

    fn tell(&self, bench: &Bench) {
        if let (Some(ringside), Some(wrk)) = (self.ringside.last(), self.wrk.last()) {
            eprintln!(
                "  round {} of {}: ringside {:.0}/s, {:.2} µs each; wrk {:.0}/s, {:.2} µs each",
                self.wrk.len(),
                bench.options.pairs,
                ringside.rate,
                ringside.generator_cpu_us_per_request,
                wrk.rate,
                wrk.generator_cpu_us_per_request,
            );
        }
    }

    /// Generator CPU per request and requests/s, each pair's ratio.
    fn against_wrk(&self) -> (Vec<f64>, Vec<f64>) {
        let both = |figure: fn(&Run) -> f64| {
            ratios(&column(&self.ringside, figure), &column(&self.wrk, figure))
        };
        (
            both(|run| run.generator_cpu_us_per_request),
            both(|run| run.rate),
        )
    }

    fn findings(self, mut rows: Vec<Row>) -> Result<Findings> {
        let mut notes = Vec::new();
        let mut all = Vec::new();
        for (name, runs) in [
            ("ringside", self.ringside),
            ("wrk", self.wrk),
            ("h2load", self.h2load),
        ] {
            if runs.is_empty() {
                notes.push(format!("{name} is not installed"));
                continue;
            }
            rows.extend(runs::shown(name, &runs));
            notes.push(runs::limit(name, &runs));
            notes.extend(runs::disturbances(name, &runs));
            all.extend(runs);
        }
        notes.push(
            "Generator CPU is all that the process used from start to end, user and kernel, by \
             its own clock, divided by the requests that it counted. On loopback the sender's core \
             also does the receiving side's TCP work."
                .into(),
        );
        Ok(Findings {
            rows,
            notes,
            runs: runs::values(&all)?,
        })
    }
}
