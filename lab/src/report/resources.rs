//! What a row's processes used while they were measured: medians of the rounds, with their spread.
//! Beside the figures that are compared this is where a difference comes from.

use serde::Serialize;

use super::Row;
use super::format::{bytes, count, digits, percent, time_us};
use crate::round::Round;
use crate::statistics::Spread;

/// What a row's processes used. Null where it could not be seen in every round.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Resources {
    /// Processor time in user mode per exchange, in microseconds.
    pub user_us_per_exchange: Option<Spread>,
    /// Processor time in the kernel per exchange, in microseconds.
    pub system_us_per_exchange: Option<Spread>,
    /// Time that its threads were ready and waited for a processor, as a share of the time.
    pub waited: Option<Spread>,
    /// Resident memory before the first load, in bytes.
    pub memory_idle_bytes: Option<Spread>,
    /// Mean resident memory under load, in bytes.
    pub memory_mean_bytes: Option<Spread>,
    /// Peak resident memory under load, in bytes.
    pub memory_peak_bytes: Option<Spread>,
    /// What each connection took beyond the idle memory, in bytes.
    pub memory_per_connection_bytes: Option<Spread>,
    /// Processes.
    pub processes: Option<Spread>,
    /// Threads.
    pub threads: Option<Spread>,
    /// How often its threads had nothing to do and slept, per 1000 exchanges.
    pub sleeps_per_1000: Option<Spread>,
    /// How often they were interrupted by somebody else's turn, per 1000 exchanges.
    pub preempted_per_1000: Option<Spread>,
    /// Open descriptors.
    pub descriptors: Option<Spread>,
    /// Processor time of its companions, such as a database, per exchange, in microseconds.
    pub companions_us_per_exchange: Option<Spread>,
}

impl Resources {
    /// Of these rounds; nothing where there are none.
    pub(super) fn of(rounds: &[&Round]) -> Option<Resources> {
        if rounds.is_empty() {
            return None;
        }
        let known = |figure: fn(&Round) -> Option<f64>| {
            let values: Option<Vec<f64>> = rounds.iter().map(|round| figure(round)).collect();
            Spread::of(values?)
        };
        Some(Resources {
            user_us_per_exchange: known(|round| us_each(round, round.watched.subject.user_ns)),
            system_us_per_exchange: known(|round| us_each(round, round.watched.subject.system_ns)),
            waited: known(|round| Some(round.sample.server_waited)),
            memory_idle_bytes: known(|round| whole(round.watched.subject.memory_idle_bytes)),
            memory_mean_bytes: known(|round| whole(round.watched.subject.memory_mean_bytes)),
            memory_peak_bytes: known(|round| whole(round.watched.subject.memory_peak_bytes)),
            memory_per_connection_bytes: known(|round| {
                whole(round.watched.subject.memory_per_connection_bytes)
            }),
            processes: known(|round| some(round.watched.subject.processes)),
            threads: known(|round| some(round.watched.subject.threads)),
            sleeps_per_1000: known(|round| {
                per_1000(round, round.watched.subject.voluntary_switches)
            }),
            preempted_per_1000: known(|round| {
                per_1000(round, round.watched.subject.involuntary_switches)
            }),
            descriptors: known(|round| whole(round.watched.subject.descriptors)),
            companions_us_per_exchange: known(|round| {
                us_each(round, round.watched.subject.companions_ns)
                    .filter(|_| round.watched.subject.companions_ns > 0)
            }),
        })
    }
}

fn whole(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// A count of which zero means that nobody looked.
fn some(count: u32) -> Option<f64> {
    (count > 0).then(|| f64::from(count))
}

/// Processor time is counted over the watched window, exchanges over the generator's: the share of
/// the time stands for both.
fn us_each(round: &Round, ns: u64) -> Option<f64> {
    let subject = &round.watched.subject;
    let whole_us = round.sample.server_cpu_us_per_exchange?;
    (subject.cpu_ns > 0).then(|| whole_us * ns as f64 / subject.cpu_ns as f64)
}

fn per_1000(round: &Round, switches: Option<u64>) -> Option<f64> {
    let completed = round.sample.completed;
    Some(1000.0 * switches? as f64 / completed as f64).filter(|_| completed > 0)
}

/// A column of the table of resources.
pub(super) struct Column {
    /// What it shows, in words.
    pub(super) name: &'static str,
    /// Its figure.
    pub(super) of: fn(&Resources) -> Option<Spread>,
    /// Writes the figure with its unit.
    pub(super) write: fn(f64) -> String,
}

const COLUMNS: [Column; 13] = [
    Column {
        name: "CPU in user mode, per exchange",
        of: |used| used.user_us_per_exchange,
        write: time_us,
    },
    Column {
        name: "CPU in the kernel, per exchange",
        of: |used| used.system_us_per_exchange,
        write: time_us,
    },
    Column {
        name: "waited for a core",
        of: |used| used.waited,
        write: percent,
    },
    Column {
        name: "memory, idle",
        of: |used| used.memory_idle_bytes,
        write: bytes,
    },
    Column {
        name: "memory, mean",
        of: |used| used.memory_mean_bytes,
        write: bytes,
    },
    Column {
        name: "memory, peak",
        of: |used| used.memory_peak_bytes,
        write: bytes,
    },
    Column {
        name: "memory per connection",
        of: |used| used.memory_per_connection_bytes,
        write: bytes,
    },
    Column {
        name: "processes",
        of: |used| used.processes,
        write: whole_number,
    },
    Column {
        name: "threads",
        of: |used| used.threads,
        write: whole_number,
    },
    Column {
        name: "slept, per 1000 exchanges",
        of: |used| used.sleeps_per_1000,
        write: digits,
    },
    Column {
        name: "preempted, per 1000 exchanges",
        of: |used| used.preempted_per_1000,
        write: digits,
    },
    Column {
        name: "descriptors",
        of: |used| used.descriptors,
        write: whole_number,
    },
    Column {
        name: "CPU of companions, per exchange",
        of: |used| used.companions_us_per_exchange,
        write: time_us,
    },
];

fn whole_number(number: f64) -> String {
    match number {
        ..10_000.0 => format!("{number:.0}"),
        _ => count(number),
    }
}

/// The columns that any of these rows has a figure for.
pub(super) fn columns(rows: &[Row]) -> Vec<&'static Column> {
    let known = |column: &&Column| {
        let mut used = rows.iter().filter_map(|row| row.resources.as_ref());
        used.any(|used| (column.of)(used).is_some())
    };
    COLUMNS.iter().filter(known).collect()
}
