//! One round of one subject, reduced to the figures that are compared.

use std::collections::BTreeMap;

use load::check::Streamed;
use measure::record::{Lost, Record, Times};
use serde::{Deserialize, Serialize};
use statistics::quantile::exchanges_min;
use supervisor::generator::Generated;
use supervisor::watch::subject::SubjectUse;

use crate::finding::{Finding, Severity, first};

/// One round of one subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Sample {
    /// The round, from 1.
    pub round: u32,
    /// Which start of the row's processes it was measured on, from 1.
    #[serde(default)]
    pub start: u32,
    /// Completed exchanges a second; of a timed command, runs a second.
    pub requests_per_second: f64,
    /// Of a timed command: seconds from its start to its end.
    pub seconds: Option<f64>,
    /// Mean response time in microseconds. It and the two below are null where the generator's own
    /// lateness could have moved them by more than they are precise.
    pub mean_us: Option<f64>,
    /// Median response time in microseconds.
    pub p50_us: Option<f64>,
    /// 95th percentile of the response time in microseconds; null with fewer than 59 exchanges, and
    /// in rounds from before it was kept.
    #[serde(default)]
    pub p95_us: Option<f64>,
    /// 99th percentile of the response time in microseconds; null with fewer than 299 exchanges.
    pub p99_us: Option<f64>,
    /// The server's processor time per answer, both inside the window, in microseconds.
    pub server_cpu_us_per_exchange: Option<f64>,
    /// The server's processor time as a share of the cores it was given, 0 to 1; of those that it
    /// may run on if it ran before and wasn't given any.
    pub server_busy: f64,
    /// Time that the server's threads were ready and waited for a core, as a share of the time.
    /// Threads of one server that share a core wait for each other, too.
    pub server_waited: f64,
    /// The busiest generator worker's processor time as a share of its core, 0 to 1.
    pub generator_busy: Option<f64>,
    /// Peak resident memory of the server's processes in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// Bytes received per answer, both inside the window.
    pub bytes_per_exchange: Option<f64>,
    /// Exchanges that completed.
    pub completed: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Errors by kind.
    pub errors: BTreeMap<String, u64>,
    /// What of the load came to nothing, by the record's account; null where a command was timed,
    /// and in rounds from before it was kept.
    #[serde(default)]
    pub lost: Option<Lost>,
    /// Processor time of the other subjects meanwhile, as a share of one core.
    pub others_busy: f64,
    /// Of a generator that is compared: what it cost, and what it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generator: Option<Generating>,
    /// Figures of the events in answers, those of times in microseconds; empty where events aren't
    /// timed. It has none that lateness could have moved, or that too few samples were there for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub streamed: BTreeMap<Streamed, f64>,
    /// What was found about the worth of these figures.
    pub findings: Vec<Finding>,
}

/// One round of a generator that is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Generating {
    /// Its processor time for each exchange that the server counted, in microseconds.
    pub cpu_us_per_exchange: Option<f64>,
    /// Exchanges a second as it says; null where nobody reads that.
    pub says_per_second: Option<f64>,
    /// The peak of its resident memory in bytes.
    pub memory_peak_bytes: Option<u64>,
}

impl Sample {
    /// Of a record and what the server used meanwhile on its `cores`, of the first start.
    pub fn new<P>(round: u32, record: &Record<P>, server: SubjectUse, cores: usize) -> Sample {
        let completed = record.exchanges.completed;
        // What was answered in the drain cost the window neither processor time nor bytes.
        let answered = record.exchanges.answered_in_window.unwrap_or(completed);
        let each = |sum: f64| (answered > 0).then(|| sum / answered as f64);
        // A percentile far out takes enough exchanges.
        let tail = |figure: &str, share: f64, of: fn(&Times) -> Option<f64>| {
            let figure = record.unspoiled(figure, of);
            figure.filter(|_| completed >= exchanges_min(share))
        };
        let wall_ns = server.wall_ns.max(1) as f64;
        let server_busy = server.cpu_ns as f64 / wall_ns / cores.max(1) as f64;
        let generator = &record.generator;
        // Processor time and exchanges are counted over windows that need not be equally long.
        let cpu_us_in_window = server.cpu_ns as f64 / wall_ns * record.duration_s * 1e6;
        Sample {
            round,
            start: 1,
            requests_per_second: record.achieved_rate,
            seconds: None,
            mean_us: record.unspoiled("mean", |times| times.mean),
            p50_us: record.unspoiled("p50", |times| times.p50),
            p95_us: tail("p95", 0.95, |times| times.p95),
            p99_us: tail("p99", 0.99, |times| times.p99),
            // Nobody was seen whose time it would be, or the kernel hadn't counted yet.
            server_cpu_us_per_exchange: each(cpu_us_in_window)
                .filter(|cpu_us| *cpu_us > 0.0 && !server.is_unseen()),
            server_busy,
            server_waited: server.wait_ns as f64 / wall_ns,
            generator_busy: generator.cpu_share_max,
            memory_peak_bytes: server.memory_peak_bytes,
            bytes_per_exchange: each(record.bytes.received as f64),
            completed,
            failed: record.exchanges.failed,
            errors: record.errors.clone(),
            lost: Some(record.lost()),
            others_busy: server.others_busy,
            generator: None,
            streamed: Streamed::all_of(record.streams.as_ref()),
            findings: Vec::new(),
        }
    }

    /// Of one run of a timed command on so many `cores`, which completed.
    pub(crate) fn timed(round: u32, run: SubjectUse, cores: usize) -> Sample {
        let wall_ns = run.wall_ns.max(1) as f64;
        Sample {
            round,
            requests_per_second: 1e9 / wall_ns,
            seconds: Some(wall_ns / 1e9),
            server_cpu_us_per_exchange: Some(run.cpu_ns as f64 / 1e3),
            server_busy: run.cpu_ns as f64 / wall_ns / cores.max(1) as f64,
            server_waited: run.wait_ns as f64 / wall_ns,
            memory_peak_bytes: run.memory_peak_bytes,
            completed: 1,
            others_busy: run.others_busy,
            ..Sample::default()
        }
    }

    /// Of a run of a generator that is compared, and what the server used meanwhile on its `cores`.
    pub(crate) fn generated(
        round: u32,
        run: &Generated,
        server: SubjectUse,
        cores: usize,
    ) -> Sample {
        let wall_ns = server.wall_ns.max(1) as f64;
        Sample {
            round,
            requests_per_second: run.rate(),
            server_cpu_us_per_exchange: run.server_cpu_us(&server),
            server_busy: server.cpu_ns as f64 / wall_ns / cores.max(1) as f64,
            server_waited: server.wait_ns as f64 / wall_ns,
            generator_busy: Some(run.busy),
            memory_peak_bytes: server.memory_peak_bytes,
            completed: run.counted,
            failed: run.said.map_or(0, |said| said.failed),
            others_busy: server.others_busy,
            generator: Some(Generating {
                cpu_us_per_exchange: run.cpu_us_per_exchange(),
                says_per_second: run.said.map(|said| said.rate()),
                memory_peak_bytes: run.memory_peak_bytes,
            }),
            ..Sample::default()
        }
    }

    /// What of the load came to nothing; in older rounds the exchanges that failed.
    pub fn lost(&self) -> Lost {
        self.lost.unwrap_or(Lost {
            failed: self.failed,
            of: self.completed.saturating_add(self.failed),
            ..Lost::default()
        })
    }

    /// Why the round counts for nothing, if so.
    pub fn void(&self) -> Option<&str> {
        first(&self.findings, Severity::Void)
    }

    /// How the generator was the limit while the server had room left, if so.
    pub fn bound(&self) -> Option<&str> {
        first(&self.findings, Severity::Bound)
    }
}

/// What came to nothing, with its share and its kinds: `12 of 5000 exchanges failed (reset 12)`;
/// nothing where all went well.
pub fn lost_in_words(lost: &Lost, errors: &BTreeMap<String, u64>) -> Option<String> {
    let told = lost.told();
    let (count, of) = (lost.count(), lost.of);
    if told.is_empty() {
        return None;
    }
    let kinds = errors_in_words(errors).map_or(String::new(), |words| format!(" ({words})"));
    Some(match lost.failed == count && lost.outage_share == 0.0 {
        true => format!("{count} of {of} exchanges failed{kinds}"),
        false => format!(
            "{count} of {of} requests were lost: {}{kinds}",
            told.join(", ")
        ),
    })
}

/// `reset 3, timeout 1`, or nothing.
pub(crate) fn errors_in_words(errors: &BTreeMap<String, u64>) -> Option<String> {
    let words: Vec<String> = errors
        .iter()
        .filter(|(_, count)| **count > 0)
        .map(|(kind, count)| format!("{} {count}", kind.replace('_', " ")))
        .collect();
    (!words.is_empty()).then(|| words.join(", "))
}

#[cfg(test)]
mod tests {
    use load::Plan;
    use measure::record::Facts;
    use measure::tally::{Loop, Tally};
    use measure::time::Time;

    use super::*;

    #[test]
    fn what_the_window_cost_is_divided_by_what_was_answered_inside_it() {
        let at = |ms: u64| Time(1_000_000_000 + ms * 1_000_000);
        let mut tally = Tally::new(Loop::Open);
        tally.start(at(0));
        tally.carried = 1;
        (0..9).for_each(|n| tally.completed(at(n), at(n), at(n + 10), 200));
        tally.bytes_received = 1240;
        tally.finish(at(1000));
        // An overload: as many again come in the drain.
        (0..50).for_each(|n| tally.completed(at(n), at(n), at(2000), 200));
        tally.completed_late = 50;
        let facts = Facts {
            duration_s: 1.0,
            offered_rate: Some(59.0),
            ..Facts::of(Plan::new("http://127.0.0.1:1/").expect("a URL").recorded())
        };
        let mut record = load::Record::assemble(&tally, facts);
        let server = SubjectUse {
            wall_ns: 2_000_000_000,
            cpu_ns: 1_000_000_000,
            ..SubjectUse::default()
        };
        let sample = Sample::new(1, &record, server, 1);
        assert_eq!(sample.bytes_per_exchange, Some(124.0));
        assert_eq!(sample.server_cpu_us_per_exchange, Some(50_000.0));
        assert_eq!(sample.requests_per_second, 9.0);
        // A record from before they were counted apart.
        record.exchanges.answered_in_window = None;
        let older = Sample::new(1, &record, server, 1);
        assert_eq!(older.bytes_per_exchange, Some(1240.0 / 59.0));
    }
}
