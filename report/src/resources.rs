//! What a row's processes used while they were measured: medians of the rounds, with their spread.
//! Beside the figures that are compared this is where a difference comes from.

use lab::manifest::Profile;
use lab::round::Round;
use profiles::calls::Calls;
use schemars::JsonSchema;
use serde::Serialize;
use statistics::Spread;
use statistics::format::{bytes, count, digits, give_or_take, percent, time_us};
use supervisor::watch::subject::SharedPages;

use super::Row;

/// So many system calls are named.
const CALLS_NAMED_MAX: usize = 4;
/// A system call that happens less often in an exchange is not worth a name.
const CALLS_EACH_MIN: f64 = 0.01;

/// What a row's processes used. Null where it could not be seen in every round.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Resources {
    /// Processor time in user mode per exchange, in microseconds.
    pub user_us_per_exchange: Option<Spread>,
    /// Processor time in the kernel per exchange, in microseconds.
    pub system_us_per_exchange: Option<Spread>,
    /// Time that its threads were ready and waited for a processor, as a share of the time.
    pub waited: Option<Spread>,
    /// How idle memory, mean memory and memory per connection count pages that several processes
    /// have; null where rounds differ in it.
    pub shared_pages: Option<SharedPages>,
    /// Memory before the first load, in bytes.
    pub memory_idle_bytes: Option<Spread>,
    /// Mean memory under load, in bytes.
    pub memory_mean_bytes: Option<Spread>,
    /// The sum of each process's own peak of resident memory under load, in bytes: of several
    /// processes an upper bound.
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
    /// Collections of garbage per second, as its log says.
    pub collections_per_second: Option<Spread>,
    /// The longest time that a collection made it stand still, in microseconds.
    pub longest_pause_us: Option<Spread>,
    /// The share of the time that it stood still for collections.
    pub paused: Option<Spread>,
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
            waited: known(|round| {
                let is_seen = !round.watched.subject.is_unseen();
                is_seen.then_some(round.sample.server_waited)
            }),
            shared_pages: the_same(rounds, |round| round.watched.subject.shared_pages),
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
            collections_per_second: known(|round| round.watched.collected?.per_second()),
            longest_pause_us: known(|round| Some(round.watched.collected?.longest_ns as f64 / 1e3)),
            paused: known(|round| round.watched.collected?.share_paused()),
        })
    }
}

/// What all rounds agree on.
fn the_same<T: PartialEq>(rounds: &[&Round], of: fn(&Round) -> T) -> Option<T> {
    let mut found = rounds.iter().map(|round| of(round));
    let first = found.next()?;
    found.all(|one| one == first).then_some(first)
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

/// What the rows used, as a table with a line for each figure: there are more figures than rows.
pub(super) struct Table {
    /// The rows that were measured.
    pub(super) rows: Vec<String>,
    /// Its lines, but those that no row has a figure for.
    pub(super) lines: Vec<Line>,
}

/// One figure of every row.
pub(super) struct Line {
    /// What it shows, in words.
    pub(super) name: &'static str,
    /// The figure of each row, in their order.
    pub(super) cells: Vec<Cell>,
}

/// A figure as text.
pub(super) struct Cell {
    /// It, with its unit.
    pub(super) figure: String,
    /// What is said about it, a line each; may be empty.
    pub(super) more: Vec<String>,
}

impl Cell {
    fn of(figure: impl Into<String>) -> Cell {
        Cell {
            figure: figure.into(),
            more: Vec::new(),
        }
    }
}

impl Table {
    /// Of these rows; nothing where none has a figure.
    pub(super) fn of(rows: &[Row]) -> Option<Table> {
        let measured = rows.iter();
        let measured: Vec<(&Row, &Resources)> = measured
            .filter_map(|row| Some((row, row.resources.as_ref()?)))
            .collect();
        let known = |column: &&Column| {
            let mut used = measured.iter();
            used.any(|(_, used)| (column.of)(used).is_some())
        };
        let line = |column: &Column| Line {
            name: column.name,
            cells: measured.iter().map(|(_, used)| column.cell(used)).collect(),
        };
        let mut lines: Vec<Line> = COLUMNS.iter().filter(known).map(line).collect();
        let says = |of: &dyn Fn(&Resources) -> bool| measured.iter().any(|(_, used)| of(used));
        if says(&|used| used.several_processes()) {
            lines.push(Line {
                name: "shared pages in memory",
                cells: measured.iter().map(|(_, used)| used.shared()).collect(),
            });
        }
        if measured.iter().any(|(row, _)| row.serves()) {
            lines.push(Line {
                name: "system calls per exchange",
                cells: measured.iter().map(|(row, _)| system_calls(row)).collect(),
            });
        }
        (!lines.is_empty()).then(|| Table {
            rows: measured.iter().map(|(row, _)| row.user()).collect(),
            lines,
        })
    }
}

impl Resources {
    /// Whether its peak of memory is a sum of several peaks.
    pub(super) fn several_processes(&self) -> bool {
        self.processes.is_some_and(|count| count.highest > 1.0)
    }

    fn shared(&self) -> Cell {
        Cell::of(match self.shared_pages {
            _ if self.processes.is_none() => "–",
            _ if !self.several_processes() => "one process",
            Some(SharedPages::Divided) => "divided (PSS)",
            Some(SharedPages::Repeated) => "in each process (RSS)",
            None => "it varied between rounds",
        })
    }
}

impl Row {
    /// Whether it answers, and is no command that is timed.
    fn serves(&self) -> bool {
        let figures = self.figures.as_ref();
        figures.is_some_and(|figures| figures.seconds.is_none())
    }

    /// Whose use of the machine is told: of a generator's row it is that of the server that it
    /// loaded.
    fn user(&self) -> String {
        let figures = self.figures.as_ref();
        match figures.is_some_and(|figures| figures.generating.is_some()) {
            true => format!("the server under {}", self.facts.name),
            false => self.facts.name.clone(),
        }
    }

    /// Its system calls under load, if they were counted.
    pub(super) fn system_calls(&self) -> Option<&Calls> {
        let profile: Option<&Profile> = self.facts.profile.as_ref();
        profile?.calls.as_ref()
    }

    /// What it used, in a sentence for those who see no table.
    pub(super) fn used_in_words(&self) -> Option<String> {
        let used = self.resources.as_ref()?;
        let median = |spread: Option<Spread>| spread.map(|spread| bytes(spread.median));
        let mean =
            median(used.memory_mean_bytes).map(|mean| format!("{mean} of memory on average"));
        let each = median(used.memory_per_connection_bytes);
        let each = each.map(|each| format!("{each} per connection"));
        let calls = match self.system_calls() {
            Some(calls) => Some(format!(
                "{} system calls per exchange",
                digits(calls.per_exchange)
            )),
            None => mean
                .is_some()
                .then(|| "system calls not counted".to_owned()),
        };
        let calls = calls.filter(|_| self.serves());
        let said: Vec<String> = [mean, each, calls].into_iter().flatten().collect();
        (!said.is_empty()).then(|| format!("{}: {}", self.user(), said.join(", ")))
    }
}

/// What was counted, with the calls that most of it were.
fn system_calls(row: &Row) -> Cell {
    let Some(calls) = row.system_calls() else {
        return Cell::of("not measured");
    };
    let mut named: Vec<(&String, f64)> = calls.by_name.iter().map(|(name, n)| (name, *n)).collect();
    named.retain(|(_, each)| *each >= CALLS_EACH_MIN);
    named.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    let named = named.into_iter().take(CALLS_NAMED_MAX);
    Cell {
        figure: digits(calls.per_exchange),
        more: named
            .map(|(name, each)| format!("{name} {}", digits(each)))
            .collect(),
    }
}

/// A figure of the table that has a spread.
struct Column {
    /// What it shows, in words.
    name: &'static str,
    /// Its figure.
    of: fn(&Resources) -> Option<Spread>,
    /// Writes the figure with its unit.
    write: fn(f64) -> String,
    /// Of several processes it is an upper bound.
    bounds: bool,
}

impl Column {
    const fn new(
        name: &'static str,
        of: fn(&Resources) -> Option<Spread>,
        write: fn(f64) -> String,
    ) -> Column {
        Column {
            name,
            of,
            write,
            bounds: false,
        }
    }

    fn cell(&self, used: &Resources) -> Cell {
        let Some(spread) = (self.of)(used) else {
            return Cell::of("–");
        };
        let bound = match self.bounds && used.several_processes() {
            true => "≤ ",
            false => "",
        };
        Cell {
            figure: format!("{bound}{}", (self.write)(spread.median)),
            more: self.spread(&spread).into_iter().collect(),
        }
    }
}

impl Column {
    /// How far the rounds are apart, if they are; in percent as long as that says something.
    fn spread(&self, spread: &Spread) -> Option<String> {
        match spread.share() {
            _ if spread.lowest == spread.highest => None,
            share if share <= 1.0 && spread.median > 0.0 => Some(give_or_take(spread)),
            _ => {
                let (lowest, highest) = ((self.write)(spread.lowest), (self.write)(spread.highest));
                Some(format!("{lowest} to {highest}"))
            }
        }
    }
}

const COLUMNS: [Column; 16] = [
    Column::new(
        "CPU in user mode, per exchange",
        |used| used.user_us_per_exchange,
        time_us,
    ),
    Column::new(
        "CPU in the kernel, per exchange",
        |used| used.system_us_per_exchange,
        time_us,
    ),
    Column::new("waited for a core", |used| used.waited, percent),
    Column::new("memory, idle", |used| used.memory_idle_bytes, bytes),
    Column::new("memory, mean", |used| used.memory_mean_bytes, bytes),
    Column {
        bounds: true,
        ..Column::new("memory, peak", |used| used.memory_peak_bytes, bytes)
    },
    Column::new(
        "memory per connection",
        |used| used.memory_per_connection_bytes,
        bytes,
    ),
    Column::new("processes", |used| used.processes, whole_number),
    Column::new("threads", |used| used.threads, whole_number),
    Column::new(
        "slept, per 1000 exchanges",
        |used| used.sleeps_per_1000,
        digits,
    ),
    Column::new(
        "preempted, per 1000 exchanges",
        |used| used.preempted_per_1000,
        digits,
    ),
    Column::new("descriptors", |used| used.descriptors, whole_number),
    Column::new(
        "CPU of companions, per exchange",
        |used| used.companions_us_per_exchange,
        time_us,
    ),
    Column::new(
        "collections of garbage, per second",
        |used| used.collections_per_second,
        digits,
    ),
    Column::new(
        "longest pause for one",
        |used| used.longest_pause_us,
        time_us,
    ),
    Column::new("stood still for them", |used| used.paused, percent),
];

fn whole_number(number: f64) -> String {
    match number {
        ..10_000.0 => format!("{number:.0}"),
        _ => count(number),
    }
}
