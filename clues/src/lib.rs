//! Where to look next: what the state of a subject and its host while it was loaded suggests.
//!
//! Each [`Clue`] is a rule of thumb that was met, such as more than 5,000 context switches per
//! second and core, with its figure; [`told`] makes a sentence of all rows that met it, with what
//! to look at next. They say how a subject spent its time and not what it is worth: no clue spoils
//! a figure or changes a verdict.
//!
//! Pure functions of what was seen. Knows nothing of how it was, or of comparisons.
#![forbid(unsafe_code)]

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use groups::{Limits, Strained, Struck};
use schemars::JsonSchema;
use serde::Serialize;
use statistics::format::{bytes, digits, whole};

/// A subject whose own code takes more of its cores computes most of the time.
const USER_MAX: f64 = 0.90;
/// A subject for which the kernel works more spends its time on calls of it.
const SYSTEM_MAX: f64 = 0.30;
/// Context switches a second and core.
const SWITCHES_MAX: f64 = 5000.0;
/// Threads that are ready and wait, for each core, on average.
const WAITING_MAX: f64 = 1.0;
/// Pages a second that had to be read from a disk.
const MAJOR_FAULTS_MAX: f64 = 10.0;

/// So many rules, and rows that met one, are named where there is little room.
const KINDS_SHOWN: usize = 4;
const ROWS_SHOWN: usize = 3;

/// What was seen of a subject and its host in one window.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The round, from 1.
    pub round: u32,
    /// Length of the window, in seconds.
    pub wall_s: f64,
    /// How many cores the subject has.
    pub cores: usize,
    /// Its processor time in its own code, in seconds.
    pub user_s: f64,
    /// Its processor time in the kernel, in seconds.
    pub system_s: f64,
    /// Time that its threads were ready and waited for a core, in seconds, summed.
    pub waited_s: f64,
    /// How often its threads left a core, because they had nothing to do and because somebody else
    /// was to run; none where nobody counted.
    pub switches: Option<(u64, u64)>,
    /// Pages that the host had to read from a disk.
    pub major_faults: Option<u64>,
    /// Connections that were opened, and the answers on them, where it closes each connection.
    pub closes_each: Option<(u64, u64)>,
    /// Connections that a listener refused because its queue was full.
    pub refused: u64,
    /// Packets that sockets dropped because a buffer was full.
    pub dropped: u64,
    /// What its limits did.
    pub limited: Option<Strained>,
    /// Slow queries of its companions, by name.
    pub slow: BTreeMap<String, u64>,
}

/// A rule that was met. In the order in which they are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The kernel killed processes of the subject at its limit of memory.
    Killed,
    /// The subject used its limit of processor time up and had to wait.
    Throttled,
    /// The subject reached its limit of memory, and some was reclaimed.
    Reclaimed,
    /// Its limit of memory is one of addresses.
    AddressSpace,
    /// It closes each connection after its answer.
    ClosesEach,
    /// Its own code took more than 90 % of its cores.
    User,
    /// The kernel took more than 30 % of its cores on its behalf.
    System,
    /// More than 5,000 context switches per second and core.
    Switches,
    /// More threads waited for a core than there are cores.
    RunQueue,
    /// Pages had to be read from a disk.
    MajorFaults,
    /// Connections found the accept queue full.
    AcceptQueue,
    /// Packets found the queue of a socket full.
    SocketQueue,
    /// Companions counted slow queries.
    SlowQueries,
}

/// A rule that a subject met.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Clue {
    /// Which rule.
    pub kind: Kind,
    /// By how much, in a few words.
    pub figure: String,
}

impl Kind {
    /// What it means, as the beginning of a sentence that goes on with who met it.
    fn what(self) -> &'static str {
        match self {
            Kind::Killed => "The kernel killed processes that reached their memory limit (OOM)",
            Kind::Throttled => "Held back by the CPU limit",
            Kind::Reclaimed => "The memory limit was reached, and memory had to be reclaimed",
            Kind::AddressSpace => {
                "The memory limit is one of each process's address space (RLIMIT_AS), because no \
                 control group can limit memory here"
            }
            Kind::ClosesEach => "Each connection is closed after its answer",
            Kind::User => "Over 90 % of the cores' time was spent in the program's own code (user)",
            Kind::System => "Over 30 % of the cores' time was spent in the kernel (system)",
            Kind::Switches => "Over 5,000 context switches per second and core",
            Kind::RunQueue => "More threads waited for a core than there are cores (run queue)",
            Kind::MajorFaults => "This host read pages from disk (major faults)",
            Kind::AcceptQueue => "Connections found the accept queue full",
            Kind::SocketQueue => "Packets found a socket's queue full",
            Kind::SlowQueries => "Slow queries",
        }
    }

    /// What to look at next, as a sentence.
    fn next(self) -> &'static str {
        match self {
            Kind::Killed => {
                "The figures are those of a server that lost processes: raise `memory` in \
                 [limits], or look for what grows with `ringside soak`."
            }
            Kind::Throttled => {
                "Response times include the waits for the next period: look at the share of \
                 throttled time before you tune anything else."
            }
            Kind::Reclaimed => {
                "Look at its memory under load (`memory` among the resources), and at what it \
                 caches."
            }
            Kind::AddressSpace => {
                "A program that reserves more than it uses gets less than the limit says; run \
                 ringside where it may make control groups."
            }
            Kind::ClosesEach => {
                "Much of what is measured is opening new ones: turn on keep-alive in the server, \
                 or have all rows open one for each request (`keep_alive = false` in [workload])."
            }
            Kind::User => {
                "Look for the hot functions: `ringside compare --profile FILE.toml` draws a flame \
                 graph."
            }
            Kind::System => {
                "Look at its system calls: `ringside compare --profile FILE.toml` counts them. \
                 Fewer and larger ones, or batches of them, cost less."
            }
            Kind::Switches => {
                "Look at threads and locks: mostly voluntary ones are waits for each other or for \
                 I/O, involuntary ones are more busy threads than cores."
            }
            Kind::RunQueue => "Look at how many workers it starts: one for each core is enough.",
            Kind::MajorFaults => {
                "Look for what isn't in memory yet or doesn't fit: warm up for longer, or give it \
                 more memory."
            }
            Kind::AcceptQueue => {
                "Look at the backlog it listens with (`sysctl net.core.somaxconn` caps it, at \
                 65535 in a private network), or let it accept sooner."
            }
            Kind::SocketQueue => {
                "Look at `sysctl net.ipv4.tcp_rmem` and `net.core.netdev_max_backlog`, and at \
                 whether it reads as soon as it can."
            }
            Kind::SlowQueries => {
                "Look at the companion's slow log (`SHOW FULL PROCESSLIST` and `EXPLAIN` for a \
                 database, `SLOWLOG GET` for Redis)."
            }
        }
    }
}

/// For how much of all these windows together each of `cores` waited because the limit of processor
/// time was used up: the kernel sums that over cores.
pub fn throttled_share(windows: impl Iterator<Item = Strained>, cores: usize) -> f64 {
    let (throttled_ns, wall_ns) = windows.fold((0, 0), |(throttled, wall), one| {
        (throttled + one.throttled_ns, wall + one.wall_ns)
    });
    throttled_ns as f64 / (wall_ns.max(1) as f64 * cores.max(1) as f64)
}

/// The rules that a subject met in these windows.
pub fn of(windows: &[Seen]) -> Vec<Clue> {
    let rules = [
        killed,
        throttled,
        reclaimed,
        address_space,
        closes_each,
        user,
        system,
        switches,
        run_queue,
        major_faults,
        accept_queue,
        socket_queue,
        slow_queries,
    ];
    rules.iter().filter_map(|rule| rule(windows)).collect()
}

/// A sentence for each rule that somebody met: what, who, by how much, and where to look next.
pub fn told<'a>(rows: impl Iterator<Item = (&'a str, &'a [Clue])>) -> Vec<String> {
    let all = by_kind(rows).into_iter();
    all.map(|(kind, met)| sentence(kind, &met.join(", ")))
        .collect()
}

/// The same for a terminal: the first sentences, with the first rows that met each rule, and how
/// many of both are left out.
pub fn in_short<'a>(rows: impl Iterator<Item = (&'a str, &'a [Clue])>) -> Vec<String> {
    let all = by_kind(rows);
    let left_out = all.len().saturating_sub(KINDS_SHOWN);
    let shown = all.into_iter().take(KINDS_SHOWN);
    let mut short: Vec<String> = shown
        .map(|(kind, met)| match met.get(..ROWS_SHOWN) {
            Some(first) if met.len() > ROWS_SHOWN + 1 => {
                let more = met.len() - ROWS_SHOWN;
                sentence(kind, &format!("{} and {more} more", first.join(", ")))
            }
            _ => sentence(kind, &met.join(", ")),
        })
        .collect();
    if left_out > 0 {
        short.push(format!("{left_out} more: see the page."));
    }
    short
}

/// Who met each rule, and by how much.
fn by_kind<'a>(rows: impl Iterator<Item = (&'a str, &'a [Clue])>) -> BTreeMap<Kind, Vec<String>> {
    let mut by_kind: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for (name, clues) in rows {
        for clue in clues {
            let met = match clue.kind {
                Kind::ClosesEach => format!("{name} ({})", clue.figure),
                _ => format!("{name} {}", clue.figure),
            };
            by_kind.entry(clue.kind).or_default().push(met);
        }
    }
    by_kind
}

fn sentence(kind: Kind, met: &str) -> String {
    format!("{}: {met}. {}", kind.what(), kind.next())
}

fn clue(kind: Kind, figure: String) -> Clue {
    Clue { kind, figure }
}

/// The median of a figure over the windows that have it.
fn median(windows: &[Seen], figure: impl Fn(&Seen) -> Option<f64>) -> Option<f64> {
    let all: Vec<f64> = windows.iter().filter_map(figure).collect();
    (!all.is_empty()).then(|| statistics::median(&all))
}

/// A time for each second of each core.
fn share(window: &Seen, seconds: f64) -> Option<f64> {
    let all_s = window.wall_s * window.cores as f64;
    (all_s > 0.0).then(|| seconds / all_s)
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

fn closes_each(windows: &[Seen]) -> Option<Clue> {
    let mut all = windows.iter().filter_map(|window| window.closes_each);
    let first = all.next()?;
    let (opened, answers) = all.fold(first, |sum, one| (sum.0 + one.0, sum.1 + one.1));
    let figure = format!("{} opened for {} answers", whole(opened), whole(answers));
    Some(clue(Kind::ClosesEach, figure))
}

fn user(windows: &[Seen]) -> Option<Clue> {
    let found = median(windows, |window| share(window, window.user_s))?;
    (found > USER_MAX).then(|| clue(Kind::User, percent(found)))
}

fn system(windows: &[Seen]) -> Option<Clue> {
    let found = median(windows, |window| share(window, window.system_s))?;
    (found > SYSTEM_MAX).then(|| clue(Kind::System, percent(found)))
}

fn switches(windows: &[Seen]) -> Option<Clue> {
    let each = |of: fn((u64, u64)) -> u64| {
        median(windows, |window| share(window, of(window.switches?) as f64))
    };
    let all = each(|(own, others)| own + others)?;
    let voluntary = each(|(own, _)| own).unwrap_or(0.0);
    (all > SWITCHES_MAX).then(|| {
        let figure = format!(
            "{} ({} voluntary)",
            whole(all as u64),
            percent(voluntary / all)
        );
        clue(Kind::Switches, figure)
    })
}

fn run_queue(windows: &[Seen]) -> Option<Clue> {
    // Those that a limit holds back wait, too, and more cores would be no help.
    if windows
        .iter()
        .any(|window| window.limited.is_some_and(|it| it.throttled.is_some()))
    {
        return None;
    }
    let waiting = median(windows, |window| share(window, window.waited_s))?;
    (waiting > WAITING_MAX).then(|| clue(Kind::RunQueue, format!("{} each", digits(waiting))))
}

fn major_faults(windows: &[Seen]) -> Option<Clue> {
    let each = |window: &Seen| Some(window.major_faults? as f64 / window.wall_s.max(1e-9));
    let found = median(windows, each)?;
    let figure = || format!("{}/s", digits(found));
    (found > MAJOR_FAULTS_MAX).then(|| clue(Kind::MajorFaults, figure()))
}

fn accept_queue(windows: &[Seen]) -> Option<Clue> {
    let found: u64 = windows.iter().map(|window| window.refused).sum();
    (found > 0).then(|| clue(Kind::AcceptQueue, times(found)))
}

fn socket_queue(windows: &[Seen]) -> Option<Clue> {
    let found: u64 = windows.iter().map(|window| window.dropped).sum();
    (found > 0).then(|| clue(Kind::SocketQueue, times(found)))
}

fn slow_queries(windows: &[Seen]) -> Option<Clue> {
    let mut by_name: BTreeMap<&str, u64> = BTreeMap::new();
    for (name, found) in windows.iter().flat_map(|window| &window.slow) {
        *by_name.entry(name).or_default() += found;
    }
    let named = by_name.iter().filter(|(_, found)| **found > 0);
    let named: Vec<String> = named
        .map(|(name, found)| format!("{} of {name}", whole(*found)))
        .collect();
    (!named.is_empty()).then(|| clue(Kind::SlowQueries, format!("({})", named.join(", "))))
}

fn times(count: u64) -> String {
    match count {
        1 => "once".to_owned(),
        _ => format!("{count} times"),
    }
}

/// Something that limits did, in all windows together: how often, and when first.
fn struck(windows: &[Seen], of: fn(&Strained) -> Option<Struck>) -> Option<String> {
    let each = |window: &Seen| Some((window.round, of(&window.limited?)?));
    let mut all = windows.iter().filter_map(each);
    let (round, first) = all.next()?;
    let sum: u64 = first.times + all.map(|(_, more)| more.times).sum::<u64>();
    Some(format!(
        "{}, first within {} s in round {round}",
        times(sum),
        digits(first.first_s)
    ))
}

/// What a subject may use at most, in words.
fn limits(windows: &[Seen], of: fn(&Strained) -> Limits) -> Option<String> {
    let limited = windows.iter().find_map(|window| window.limited)?;
    Some(of(&limited).in_words())
}

fn of_memory(strained: &Strained) -> Limits {
    Limits {
        millicpus: None,
        memory_bytes: strained.memory_bytes,
    }
}

fn killed(windows: &[Seen]) -> Option<Clue> {
    let limit = limits(windows, of_memory)?;
    let in_windows = struck(windows, |limited| limited.killed);
    let before = windows.iter().filter_map(|window| window.limited);
    let before: u64 = before.map(|limited| limited.killed_before).sum();
    let what = match (in_windows, before) {
        (Some(what), _) => what,
        (None, 0) => return None,
        (None, before) => format!("{} before the window", times(before)),
    };
    // Without a limit of its own, the memory of a group above it, or of the host, ran out.
    let figure = match &*limit {
        "" => what,
        _ => format!("({limit}) {what}"),
    };
    Some(clue(Kind::Killed, figure))
}

fn throttled(windows: &[Seen]) -> Option<Clue> {
    let of_cpu = |limited: &Strained| Limits {
        millicpus: limited.millicpus,
        memory_bytes: None,
    };
    let what = struck(windows, |limited| limited.throttled)?;
    let limit = limits(windows, of_cpu)?;
    let cores = windows.first().map_or(1, |window| window.cores);
    let share = throttled_share(windows.iter().filter_map(|window| window.limited), cores);
    let share = percent(share);
    let figure = format!("({limit}) for {share} of the time, {what}");
    Some(clue(Kind::Throttled, figure))
}

fn reclaimed(windows: &[Seen]) -> Option<Clue> {
    let what = struck(windows, |limited| limited.reclaimed)?;
    let limit = limits(windows, of_memory)?;
    Some(clue(Kind::Reclaimed, format!("({limit}) {what}")))
}

fn address_space(windows: &[Seen]) -> Option<Clue> {
    let mut limited = windows.iter().filter_map(|window| window.limited);
    let limited = limited.find(|limited| limited.by_address_space)?;
    let limit = bytes(limited.memory_bytes? as f64);
    Some(clue(Kind::AddressSpace, limit))
}
