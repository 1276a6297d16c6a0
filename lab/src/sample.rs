//! One round of one subject, reduced to the figures that are compared.

use std::collections::BTreeMap;

use measure::record::Record;
use serde::{Deserialize, Serialize};

use crate::finding::{Check, Finding, Severity, first};
use crate::statistics::quantile::exchanges_min;

/// Above this share of failed exchanges a round says nothing about the ones that succeeded.
const FAILED_SHARE_MAX: f64 = 0.01;

/// A server whose cores were busier than this was itself the limit.
const SERVER_FULL: f64 = 0.95;

/// What the lab saw of the server's processes in the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerUse {
    /// Processor time of the whole process tree in nanoseconds.
    pub cpu_ns: u64,
    /// Time that its threads were ready and waited for a processor, in nanoseconds.
    pub wait_ns: u64,
    /// Length of the time it was taken over, in nanoseconds.
    pub wall_ns: u64,
    /// Peak resident memory of the tree in bytes, if it could be read.
    pub memory_peak_bytes: Option<u64>,
    /// Processor time of the subjects that should have been idle, as a share of one core.
    pub others_busy: f64,
}

/// One round of one subject.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Mean response time in microseconds.
    pub mean_us: Option<f64>,
    /// Median response time in microseconds.
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time in microseconds; null with fewer than 299 exchanges.
    pub p99_us: Option<f64>,
    /// The server's processor time per completed exchange in microseconds.
    pub server_cpu_us_per_exchange: Option<f64>,
    /// The server's processor time as a share of the cores it was given, 0 to 1.
    pub server_busy: f64,
    /// Time that the server's threads were ready and waited for a core, as a share of the time.
    /// Threads of one server that share a core wait for each other, too.
    pub server_waited: f64,
    /// The busiest generator worker's processor time as a share of its core, 0 to 1.
    pub generator_busy: Option<f64>,
    /// Peak resident memory of the server's processes in bytes.
    pub memory_peak_bytes: Option<u64>,
    /// Bytes received per completed exchange.
    pub bytes_per_exchange: Option<f64>,
    /// Exchanges that completed.
    pub completed: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Errors by kind.
    pub errors: BTreeMap<String, u64>,
    /// Processor time of the other subjects meanwhile, as a share of one core.
    pub others_busy: f64,
    /// What was found about the worth of these figures.
    pub findings: Vec<Finding>,
}

impl Sample {
    /// Of a record and what the server used meanwhile on its `cores`, of the first start.
    pub fn new<P>(round: u32, record: &Record<P>, server: ServerUse, cores: usize) -> Sample {
        let completed = record.exchanges.completed;
        let each = |sum: f64| (completed > 0).then(|| sum / completed as f64);
        let wall_ns = server.wall_ns.max(1) as f64;
        let server_busy = server.cpu_ns as f64 / wall_ns / cores.max(1) as f64;
        let generator = &record.generator;
        // Processor time and exchanges are counted over windows that need not be equally long.
        let cpu_us_in_window = server.cpu_ns as f64 / wall_ns * record.duration_s * 1e6;
        let mut sample = Sample {
            round,
            start: 1,
            requests_per_second: record.achieved_rate,
            seconds: None,
            mean_us: record.response_time_us.mean,
            p50_us: record.response_time_us.p50,
            p99_us: record
                .response_time_us
                .p99
                .filter(|_| completed >= exchanges_min(0.99)),
            server_cpu_us_per_exchange: each(cpu_us_in_window),
            server_busy,
            server_waited: server.wait_ns as f64 / wall_ns,
            generator_busy: generator.cpu_share_max,
            memory_peak_bytes: server.memory_peak_bytes,
            bytes_per_exchange: each(record.bytes.received as f64),
            completed,
            failed: record.exchanges.failed,
            errors: record.errors.clone(),
            others_busy: server.others_busy,
            findings: Vec::new(),
        };
        let void = sample.reason_to_void(record);
        sample.find(Severity::Void, void);
        // At a fixed rate a late generator spoils the times, however busy the server was.
        let limited =
            generator.limited && (server_busy < SERVER_FULL || record.offered_rate.is_some());
        let bound = (Check::Generator, generator.limited_reason.clone());
        sample.find(Severity::Bound, limited.then_some(bound));
        sample
    }

    /// Of one run of a timed command on so many `cores`, which completed.
    pub(crate) fn timed(round: u32, run: ServerUse, cores: usize) -> Sample {
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

    /// Why the round counts for nothing, if so.
    pub fn void(&self) -> Option<&str> {
        first(&self.findings, Severity::Void)
    }

    /// How the generator was the limit while the server had room left, if so.
    pub fn bound(&self) -> Option<&str> {
        first(&self.findings, Severity::Bound)
    }

    fn find(&mut self, severity: Severity, found: Option<(Check, String)>) {
        self.findings.extend(found.map(|(check, sentence)| Finding {
            check,
            severity,
            sentence,
        }));
    }

    fn reason_to_void<P>(&self, record: &Record<P>) -> Option<(Check, String)> {
        let ended = self.completed + self.failed;
        let failed_share = self.failed as f64 / ended.max(1) as f64;
        if self.completed == 0 {
            let sentence = format!("no exchange completed{}", self.errors_in_brackets());
            return Some((Check::Errors, sentence));
        }
        if failed_share > FAILED_SHARE_MAX {
            let sentence = format!(
                "{:.1} % of the exchanges failed{}",
                100.0 * failed_share,
                self.errors_in_brackets()
            );
            return Some((Check::Errors, sentence));
        }
        if record.valid || record.generator.limited {
            return None;
        }
        let why = record
            .warnings
            .first()
            .map_or("no reason given", String::as_str);
        let sentence = format!("the generator calls its record invalid: {why}");
        Some((Check::Record, sentence))
    }

    fn errors_in_brackets(&self) -> String {
        match errors_in_words(&self.errors) {
            Some(words) => format!(" ({words})"),
            None => String::new(),
        }
    }
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
