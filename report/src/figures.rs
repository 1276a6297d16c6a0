//! A row's rounds put together, and which of the figures a table shows: a column each, the same in
//! every format. Where no row has a figure there is no column.

use std::collections::BTreeMap;

use lab::judging::at_equal_rate;
use lab::manifest::Setup;
use lab::sample::{Generating, Sample};
use lab::verdict::Metric;
use load::check::Streamed;
use measure::record::Lost;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::Spread;
use statistics::format::{bytes, count, digits, per_second, percent, time_us};

use super::Row;

/// A row's rounds put together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Figures {
    /// How many rounds.
    pub rounds: usize,
    /// Completed exchanges a second; of a timed command, runs a second.
    pub requests_per_second: Spread,
    /// Of a timed command: seconds from its start to its end.
    pub seconds: Option<Spread>,
    /// Mean response time in microseconds.
    pub mean_us: Option<Spread>,
    /// Median response time in microseconds.
    pub p50_us: Option<Spread>,
    /// 95th percentile of the response time in microseconds; null in older rounds.
    #[serde(default)]
    pub p95_us: Option<Spread>,
    /// 99th percentile of the response time in microseconds.
    pub p99_us: Option<Spread>,
    /// The server's processor time per exchange, or the command's per run, in microseconds.
    pub server_cpu_us_per_exchange: Option<Spread>,
    /// Peak resident memory of the server's processes in bytes.
    pub memory_peak_bytes: Option<Spread>,
    /// The server's processor time as a share of its cores.
    pub server_busy: Spread,
    /// The busiest generator worker's processor time as a share of its core.
    pub generator_busy: Option<Spread>,
    /// Figures of the events in answers, those of times in microseconds, where events are timed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub streamed: BTreeMap<Streamed, Spread>,
    /// Bytes received per exchange.
    pub bytes_per_exchange: Option<Spread>,
    /// Exchanges that completed, all rounds together.
    pub completed: u64,
    /// Exchanges that failed, all rounds together.
    pub failed: u64,
    /// Errors by kind, all rounds together.
    pub errors: BTreeMap<String, u64>,
    /// What of the load came to nothing, all rounds together.
    #[serde(default)]
    pub lost: Lost,
    /// Of generators that are compared.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generating: Option<GeneratingFigures>,
}

/// The rounds of a generator that is compared put together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct GeneratingFigures {
    /// Its processor time for each exchange that the server counted, in microseconds.
    pub cpu_us_per_exchange: Option<Spread>,
    /// Exchanges a second as it says.
    pub says_per_second: Option<Spread>,
    /// Peak resident memory in bytes.
    pub memory_peak_bytes: Option<Spread>,
}

impl GeneratingFigures {
    fn of(samples: &[Sample]) -> Option<GeneratingFigures> {
        let rounds: Vec<Generating> = samples.iter().filter_map(|one| one.generator).collect();
        let known =
            |figure: fn(&Generating) -> Option<f64>| Spread::of(rounds.iter().filter_map(figure));
        (!rounds.is_empty()).then(|| GeneratingFigures {
            cpu_us_per_exchange: known(|one| one.cpu_us_per_exchange),
            says_per_second: known(|one| one.says_per_second),
            memory_peak_bytes: known(|one| one.memory_peak_bytes.map(|bytes| bytes as f64)),
        })
    }
}

impl Figures {
    /// Of these rounds; nothing where there are none.
    pub(super) fn of(samples: &[Sample]) -> Option<Figures> {
        // Verdicts are of the rounds that count and have the figure, and so is what is shown; if
        // none counts, what there is shows why.
        let mut counted: Vec<&Sample> = samples.iter().filter(|one| one.void().is_none()).collect();
        if counted.is_empty() {
            counted = samples.iter().collect();
        }
        let all = |figure: fn(&Sample) -> f64| Spread::of(counted.iter().map(|one| figure(one)));
        let known = |figure: fn(&Sample) -> Option<f64>| {
            Spread::of(counted.iter().filter_map(|one| figure(one)))
        };
        let mut errors = BTreeMap::new();
        for (kind, count) in samples.iter().flat_map(|sample| &sample.errors) {
            *errors.entry(kind.clone()).or_default() += count;
        }
        Some(Figures {
            rounds: samples.len(),
            requests_per_second: all(|sample| sample.requests_per_second)?,
            seconds: known(|sample| sample.seconds),
            mean_us: known(|sample| sample.mean_us),
            p50_us: known(|sample| sample.p50_us),
            p95_us: known(|sample| sample.p95_us),
            p99_us: known(|sample| sample.p99_us),
            server_cpu_us_per_exchange: known(|sample| sample.server_cpu_us_per_exchange),
            memory_peak_bytes: known(|sample| sample.memory_peak_bytes.map(|bytes| bytes as f64)),
            server_busy: all(|sample| sample.server_busy)?,
            generator_busy: known(|sample| sample.generator_busy),
            streamed: streamed(&counted),
            bytes_per_exchange: known(|sample| sample.bytes_per_exchange),
            completed: samples.iter().map(|sample| sample.completed).sum(),
            failed: samples.iter().map(|sample| sample.failed).sum(),
            errors,
            lost: together(samples),
            generating: GeneratingFigures::of(samples),
        })
    }

    /// The figure that a verdict by this metric compares.
    pub(crate) fn by(&self, metric: Metric) -> Option<&Spread> {
        match metric {
            Metric::RequestsPerSecond | Metric::RequestsDriven => Some(&self.requests_per_second),
            Metric::ResponseTimeP99 => self.p99_us.as_ref(),
            Metric::ResponseTimeP95 => self.p95_us.as_ref(),
            Metric::ResponseTimeP50 => self.p50_us.as_ref(),
            Metric::ResponseTimeMean => self.mean_us.as_ref(),
            Metric::Streamed(figure) => self.streamed.get(&figure),
            Metric::ServerCpuPerExchange => self.server_cpu_us_per_exchange.as_ref(),
            Metric::MemoryPeak => self.memory_peak_bytes.as_ref(),
            Metric::Seconds => self.seconds.as_ref(),
            Metric::GeneratorCpuPerExchange => {
                self.generating.as_ref()?.cpu_us_per_exchange.as_ref()
            }
            Metric::Capacity => None,
        }
    }

    /// Errors of every kind, and what came to nothing without one.
    pub fn errors(&self) -> u64 {
        let counted = self.errors.values().sum::<u64>();
        counted.max(self.failed).max(self.lost.count())
    }
}

/// The figures of events that rounds have.
pub(super) fn streamed(samples: &[&Sample]) -> BTreeMap<Streamed, Spread> {
    let spread = |one| {
        let known = samples
            .iter()
            .filter_map(|sample| sample.streamed.get(&one).copied());
        Some((one, Spread::of(known)?))
    };
    Streamed::ALL.into_iter().filter_map(spread).collect()
}

/// What came to nothing in all rounds; of the outages their mean.
fn together(samples: &[Sample]) -> Lost {
    let mut sum = Lost::default();
    for lost in samples.iter().map(Sample::lost) {
        sum.failed += lost.failed;
        sum.unfinished += lost.unfinished;
        sum.never_sent += lost.never_sent;
        sum.never_sent_away += lost.never_sent_away;
        sum.attempts += lost.attempts;
        sum.unreachable += lost.unreachable;
        sum.of += lost.of;
        sum.outage_share += lost.outage_share / samples.len() as f64;
    }
    sum
}

/// A column of a table of figures.
#[derive(Debug)]
pub(super) struct Column {
    /// What it shows, in words.
    pub(super) name: &'static str,
    /// The same for a terminal, which is narrow; a column without it is not shown there.
    pub(super) short: Option<&'static str>,
    /// Its figure.
    pub(super) of: fn(&Figures) -> Option<Spread>,
    /// Writes the figure with its unit.
    pub(super) write: fn(f64) -> String,
    /// Whether the spread of its rounds belongs to it. How full a core was is read as it stands;
    /// its spread would be taken for one of the result.
    pub(super) spreads: bool,
}

const COLUMNS: [Column; 17] = [
    Column {
        name: "requests/s",
        short: Some("requests/s"),
        of: |found| Some(found.requests_per_second).filter(|_| found.seconds.is_none()),
        write: count,
        spreads: true,
    },
    Column {
        name: "requests/s as it says",
        short: Some("as it says"),
        of: |found| found.generating.as_ref()?.says_per_second,
        write: count,
        spreads: true,
    },
    Column {
        name: "generator CPU per request",
        short: Some("CPU/req."),
        of: |found| found.generating.as_ref()?.cpu_us_per_exchange,
        write: time_us,
        spreads: true,
    },
    Column {
        name: "generator's peak memory",
        short: Some("memory"),
        of: |found| found.generating.as_ref()?.memory_peak_bytes,
        write: bytes,
        spreads: true,
    },
    Column {
        name: "time",
        short: Some("time"),
        of: |found| found.seconds,
        write: |seconds| time_us(1e6 * seconds),
        spreads: true,
    },
    Column {
        name: "p50",
        short: Some("p50"),
        of: |found| found.p50_us,
        write: time_us,
        spreads: true,
    },
    Column {
        name: "p99",
        short: Some("p99"),
        of: |found| found.p99_us,
        write: time_us,
        spreads: true,
    },
    Column {
        name: "first event p50",
        short: Some("1st event p50"),
        of: |found| found.streamed.get(&Streamed::FirstEventP50).copied(),
        write: time_us,
        spreads: true,
    },
    Column {
        name: "first event p99",
        short: Some("1st event p99"),
        of: |found| found.streamed.get(&Streamed::FirstEventP99).copied(),
        write: time_us,
        spreads: true,
    },
    Column {
        name: "event gap p50",
        short: None,
        of: |found| found.streamed.get(&Streamed::EventGapP50).copied(),
        write: time_us,
        spreads: true,
    },
    Column {
        name: "event gap p99",
        short: Some("gap p99"),
        of: |found| found.streamed.get(&Streamed::EventGapP99).copied(),
        write: time_us,
        spreads: true,
    },
    Column {
        name: "events/s",
        short: Some("events/s"),
        of: |found| found.streamed.get(&Streamed::EventRate).copied(),
        write: count,
        spreads: true,
    },
    Column {
        name: "server CPU per exchange",
        short: Some("CPU/exch."),
        of: |found| found.server_cpu_us_per_exchange,
        write: time_us,
        spreads: true,
    },
    Column {
        name: "peak memory",
        short: Some("memory"),
        of: |found| {
            found
                .memory_peak_bytes
                .filter(|_| found.generating.is_none())
        },
        write: bytes,
        spreads: true,
    },
    Column {
        name: "server cores busy",
        short: Some("server"),
        // One that answers isn't idle: nobody saw its processes.
        of: |found| Some(found.server_busy).filter(|busy| busy.highest > 0.0),
        write: percent,
        spreads: false,
    },
    Column {
        name: "busiest generator core",
        short: Some("generator"),
        of: |found| found.generator_busy,
        write: percent,
        spreads: false,
    },
    Column {
        name: "bytes per exchange",
        short: None,
        of: |found| found.bytes_per_exchange,
        write: digits,
        spreads: false,
    },
];

/// The columns that any of these rows has a figure for.
pub(super) fn columns(rows: &[Row]) -> Vec<&'static Column> {
    let known = |column: &&Column| {
        let mut figures = rows.iter().filter_map(|row| row.figures.as_ref());
        figures.any(|figures| (column.of)(figures).is_some())
    };
    COLUMNS.iter().filter(known).collect()
}

/// Everything that rows are judged by, the main figure first.
pub(crate) fn judged_by(setup: &Setup) -> Vec<Metric> {
    match setup.judged_by.is_empty() {
        true => vec![setup.metric],
        false => setup.judged_by.clone(),
    }
}

/// Which figures are of which load, where there are two.
pub(crate) fn of_two_loads(rate: f64) -> String {
    format!(
        "requests/s in a closed loop; the other figures at {} for each",
        per_second(rate)
    )
}

impl Row {
    /// The figure that a verdict by this metric compares.
    pub(crate) fn figure(&self, metric: Metric) -> Option<&Spread> {
        let equal = self
            .at_equal_rate
            .as_ref()
            .filter(|_| at_equal_rate(metric));
        equal.or(self.figures.as_ref())?.by(metric)
    }

    /// Errors in all of its rounds, at the equal rate as well.
    pub(crate) fn errors(&self) -> u64 {
        let both = self.figures.iter().chain(&self.at_equal_rate);
        both.map(Figures::errors).sum()
    }
}

/// Writes a figure of this metric with its unit.
pub fn written(metric: Metric) -> fn(f64) -> String {
    match metric {
        Metric::RequestsPerSecond | Metric::RequestsDriven | Metric::Capacity => count,
        Metric::Streamed(Streamed::EventRate) => count,
        Metric::ResponseTimeP99
        | Metric::ResponseTimeMean
        | Metric::ResponseTimeP95
        | Metric::ResponseTimeP50
        | Metric::Streamed(_)
        | Metric::GeneratorCpuPerExchange
        | Metric::ServerCpuPerExchange => time_us,
        Metric::MemoryPeak => bytes,
        Metric::Seconds => |seconds| time_us(1e6 * seconds),
    }
}
