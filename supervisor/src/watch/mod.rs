//! What a subject used, and what its host did, while a round's window was open.
//!
//! A [`Watch`] reads at the window's edges and twice a second in between (one small file a
//! process), so that it does not disturb what it watches. What a kernel, a container or a
//! permission hides is missing, and [`Watched::missing`] says so in sentences; nothing here fails.
//! What explains a figure rather than being one, such as a flame graph, is made in a round of its
//! own that is never timed (`profile`).
//!
//! Knows nothing of how a load is generated or of what its figures are worth: that is judged above.
mod change;
mod collecting;
pub mod host;
pub mod network;
pub mod scrape;
pub(crate) mod slow;
pub mod subject;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use garbage::{Collected, Runtime};
use groups::{Group, GroupTime, Held, Strained, Straining};
use load::Plan;
use measure::process::{
    Listing, TreeWatch, peak_bytes, proportional_bytes, resident_bytes, shared,
};
use measure::time::Time;
use serde::{Deserialize, Serialize};

use crate::cores::Placement;
use crate::log::Log;
use crate::workload::UrlPath;

use self::collecting::Collecting;
use self::host::{Attributed, HostUse};
use self::scrape::{Change, Metrics, Scrape};
use self::slow::SlowQueries;
use self::subject::{SharedPages, SubjectUse};

pub use self::change::Joined;
pub(crate) use self::change::Who;
pub use groups::GroupUse;

/// What a subject's description says can be seen of it: the section `[watch]`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wanted {
    /// The path of its own metrics, in the text format of Prometheus over HTTP/1.1.
    #[serde(default)]
    pub metrics: Option<UrlPath>,
    /// The path at which it makes a profile of itself in the format of pprof, for as many seconds
    /// as the query's `seconds` says, such as `/debug/pprof/profile` of Go. `compare --profile`
    /// asks for it.
    #[serde(default)]
    pub profile: Option<UrlPath>,
    /// The counters among its metrics that together say how many exchanges it has served.
    #[serde(default)]
    pub exchanges: Vec<String>,
    /// Whose log it writes about collecting garbage.
    #[serde(default)]
    pub garbage: Option<Runtime>,
}

/// What was seen while a round's window was open.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    /// The subject's processes.
    pub subject: SubjectUse,
    /// The kernel's own account of them; null where no control group could be made.
    #[serde(default)]
    pub group: Option<GroupUse>,
    /// What their limits did to them; absent where they have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited: Option<Strained>,
    /// The host they ran on.
    #[serde(default)]
    pub host: HostUse,
    /// The subject's own metrics that moved, from before the round's load to after it.
    #[serde(default)]
    pub scraped: BTreeMap<String, Change>,
    /// What its log said of collecting garbage; absent where that isn't known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collected: Option<Collected>,
    /// Slow queries of its companions from before the round's load to after it, by their names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub slow: BTreeMap<String, u64>,
    /// What could not be seen here and why, in sentences.
    #[serde(default)]
    pub missing: Vec<String>,
}

/// Watches one subject from its first load to its end.
#[derive(Debug)]
pub struct Watch {
    /// None where nobody knows who serves.
    root: Option<u32>,
    /// It was there before: its memory's peak is left as it is, and it runs where it likes.
    is_foreign: bool,
    tree: TreeWatch,
    companions: Companions,
    group: Option<Arc<Group>>,
    held: Option<Arc<Held>>,
    scrape: Option<Scrape>,
    collecting: Option<Collecting>,
    slow: Vec<SlowQueries>,
    /// Before the first load.
    idle: Memory,
    round: Seen,
}

/// What was seen of one round.
#[derive(Debug, Default)]
struct Seen {
    scraped: Option<Result<Metrics, String>>,
    /// Slow queries until the beginning, of each companion that counts them.
    slow: Vec<Result<u64, String>>,
    opened: Option<Edge>,
    closed: Option<Edge>,
    /// The subject's processes at the window's beginning, and those that came in their place.
    pids: Vec<u32>,
    memory: Vec<Memory>,
    /// The peak of resident memory, of those that were there when somebody looked.
    peak: Option<u64>,
    /// Open while the connections of the load still were.
    descriptors: Option<u64>,
    /// Who loads it, where that is a process of its own, or computes beside it on purpose.
    generator: Option<Companions>,
    /// Follows its limits.
    straining: Option<Straining>,
    /// Other processes have come in the place of those that were there at the beginning.
    changed: bool,
}

impl Seen {
    /// Processor time until now of a generator that is a process of its own.
    fn generator_ns(&mut self, listing: &Listing) -> u64 {
        let generator = self.generator.as_mut();
        generator.map_or(0, |generator| generator.cpu_ns(listing))
    }

    /// These are processes of the subject, too.
    fn note(&mut self, pids: &[u32]) {
        let new = pids.iter().filter(|pid| !self.pids.contains(pid));
        let new: Vec<u32> = new.copied().collect();
        self.pids.extend(new);
    }
}

/// The memory of a tree at one moment, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Memory {
    resident: u64,
    /// With shared pages divided; under load it is read at edges only, and only where pages may
    /// count more than once, since that keeps processes from changing their memory meanwhile.
    divided: Option<u64>,
    /// How much counted more than once; zero where nobody looked.
    repeated: u64,
}

impl Memory {
    fn at_an_edge(pids: &[u32]) -> Memory {
        let shared = shared(pids);
        let is_shared = pids.len() > 1 || shared.repeated_bytes > 0;
        Memory {
            resident: resident_bytes(pids),
            divided: shared.proportional_bytes.filter(|_| is_shared),
            repeated: shared.repeated_bytes,
        }
    }
}

/// One edge of a window.
#[derive(Debug)]
struct Edge {
    subject: subject::Reading,
    companions_ns: u64,
    generator_ns: u64,
    group: Option<GroupTime>,
    host: host::Reading,
}

impl Watch {
    /// Watches the tree below `root`, which has not been loaded yet. What `companions` use is told
    /// apart from it.
    pub(crate) fn new(root: u32, companions: &[u32], group: Option<Arc<Group>>) -> Watch {
        Watch {
            group,
            is_foreign: false,
            companions: Companions::new(companions),
            ..Watch::of_running(Some(root))
        }
    }

    /// Watches a server that was there before, below `root` if that is known.
    pub(crate) fn of_running(root: Option<u32>) -> Watch {
        let pids = root.map(|root| Listing::take().tree(root));
        let pids = pids.unwrap_or_default();
        Watch {
            root,
            is_foreign: true,
            // No process has this number (proc(5), pid_max).
            tree: TreeWatch::new(root.unwrap_or(u32::MAX)),
            companions: Companions::new(&[]),
            group: None,
            held: None,
            scrape: None,
            collecting: None,
            slow: Vec::new(),
            idle: Memory {
                resident: resident_bytes(&pids),
                divided: proportional_bytes(&pids),
                ..Memory::default()
            },
            round: Seen::default(),
        }
    }

    /// Asks for the subject's own metrics, too, before and after each round.
    pub(crate) fn scrape(&mut self, metrics: Plan) {
        self.scrape = Some(Scrape::new(metrics));
    }

    /// Follows what its limits do, too.
    pub(crate) fn limited(&mut self, held: Arc<Held>) {
        self.held = Some(held);
    }

    /// Reads what its log says of collecting garbage, too.
    pub(crate) fn read_log(&mut self, runtime: Runtime, log: Log) {
        self.collecting = Some(Collecting::new(runtime, log));
    }

    /// Counts slow queries of its companions, too, before and after each round.
    pub(crate) fn count_slow(&mut self, slow: Vec<SlowQueries>) {
        self.slow = slow;
    }

    /// Processor time of the subject and its companions until now.
    pub fn cpu_ns(&mut self) -> u64 {
        let listing = Listing::take();
        self.tree.sample_of(&listing).cpu_ns + self.companions.cpu_ns(&listing)
    }

    /// Before a round's load.
    pub fn before(&mut self) {
        self.round = Seen {
            scraped: self.scrape.as_ref().map(Scrape::fetch),
            slow: self.slow.iter().map(SlowQueries::count).collect(),
            ..Seen::default()
        };
    }

    /// The round's load comes from the process `generator` and what it starts.
    pub(crate) fn beside(&mut self, generator: u32) {
        self.round.generator = Some(Companions::new(&[generator]));
    }

    /// In a round's window: the first time at its beginning, then as often as one likes to know
    /// the memory.
    pub fn window(&mut self) {
        match self.round.opened {
            None => self.open(),
            Some(_) if self.round.closed.is_none() => {
                self.look_at_limits();
                self.round.memory.push(Memory {
                    resident: resident_bytes(&self.round.pids),
                    ..Memory::default()
                });
            }
            Some(_) => {}
        }
    }

    fn look_at_limits(&mut self) {
        if let (Some(held), Some(straining)) = (&self.held, &mut self.round.straining) {
            straining.look(held.strain(), Time::now());
        }
    }

    /// The folder of what holds it back on purpose.
    fn quota_folder(&self) -> Option<&Path> {
        self.group.as_ref()?.quota_folder()
    }

    fn pids(&self, listing: &Listing) -> Vec<u32> {
        self.root.map(|root| listing.tree(root)).unwrap_or_default()
    }

    fn open(&mut self) {
        let listing = Listing::take();
        let pids = self.pids(&listing);
        if !self.is_foreign {
            reset_memory_peaks(&pids);
        }
        let threads = pids
            .iter()
            .map(|pid| measure::process::threads(*pid).count() as u32);
        let threads = threads.sum();
        self.round.memory = vec![Memory::at_an_edge(&pids)];
        self.round.peak = None;
        self.round.pids = pids;
        let companions_ns = self.companions.cpu_ns(&listing);
        let group = self.group.as_ref().map(|group| group.time());
        if let Some(collecting) = &mut self.collecting {
            collecting.open();
        }
        let held = self.held.as_ref();
        self.round.straining = held.map(|held| Straining::open(held, Time::now()));
        let subject = subject::Reading::before(&mut self.tree, &listing, threads);
        let generator_ns = self.round.generator_ns(&listing);
        self.round.opened = Some(Edge {
            subject,
            companions_ns,
            generator_ns,
            group,
            host: host::Reading::take(listing, self.root, self.quota_folder()),
        });
    }

    /// At the end of a round's window. Later calls do nothing.
    pub fn close(&mut self) {
        if self.round.opened.is_none() || self.round.closed.is_some() {
            return;
        }
        let listing = Listing::take();
        self.look_at_limits();
        let subject = subject::Reading::after(&mut self.tree, &listing);
        let group = self.group.as_ref().map(|group| group.time());
        let companions_ns = self.companions.cpu_ns(&listing);
        let pids = self.pids(&listing);
        self.round.memory.push(Memory::at_an_edge(&pids));
        self.round.descriptors = pids
            .iter()
            .map(|pid| measure::process::descriptors(*pid))
            .sum();
        let generator_ns = self.round.generator_ns(&listing);
        if let Some(collecting) = &mut self.collecting {
            collecting.close();
        }
        self.round.closed = Some(Edge {
            subject,
            companions_ns,
            generator_ns,
            group,
            host: host::Reading::take(listing, self.root, self.quota_folder()),
        });
    }

    /// After a round's load over so many `connections`: what was seen.
    pub fn after(&mut self, connections: u32, placement: &Placement) -> Watched {
        self.close();
        let round = std::mem::take(&mut self.round);
        let (Some(opened), Some(closed)) = (round.opened, round.closed) else {
            return Watched::default();
        };
        let pids = self.pids(&closed.host.listing);
        let group = self.group.as_ref().zip(opened.group.zip(closed.group));
        // Those that a server was given are its own, and one that ran before was given none.
        let others = match self.is_foreign {
            true => placement.generator.clone(),
            false => placement.generator_only(),
        };
        let peak = round.peak.max(self.root.and_then(peak_bytes));
        let repeated = round.memory.last().map_or(0, |last| last.repeated);
        let mut subject = SubjectUse {
            memory_peak_bytes: peak.map(|peak| peak.saturating_sub(repeated)),
            descriptors: round.descriptors,
            threads_on_generator_cores: subject::threads_on(&pids, &others),
            companions_ns: closed.companions_ns.saturating_sub(opened.companions_ns),
            ..closed.subject.since(&opened.subject)
        };
        in_memory(&mut subject, self.idle, &round.memory, connections);
        if self.is_foreign {
            ran_before(&mut subject, &pids);
        }
        // The kernel's account is that of a single start.
        let group = group.filter(|_| !round.changed);
        let group = group.map(|(group, (from, to))| group.used(from, to));
        if let Some(group) = &group {
            subject.prefer(group);
        }
        let listing = &closed.host.listing;
        let companions = self.companions.pids(listing);
        let own = [std::process::id()];
        let generator = round.generator.as_ref();
        let generator = generator.map_or(Vec::new(), |generator| generator.pids(listing));
        let known = [&own[..], &round.pids, &pids, &companions, &generator].concat();
        let attributed = Attributed {
            cpu_ns: subject.cpu_ns + subject.companions_ns,
            generator_ns: closed.generator_ns.saturating_sub(opened.generator_ns),
            pids: &known,
        };
        let host = closed.host.since(&opened.host, attributed);
        let mut missing = missing(&subject, group.as_ref(), &host);
        let scraped = match (round.scraped, &self.scrape) {
            (Some(before), Some(scrape)) => {
                let after = before.and_then(|before| Ok((before, scrape.fetch()?)));
                after.map(|(before, after)| scrape::changes(&before, &after))
            }
            _ => Ok(BTreeMap::new()),
        };
        let slow = slow::more_than(round.slow, &self.slow, &mut missing);
        // The log is that of the process which was there at the beginning.
        let collecting = self.collecting.as_mut().filter(|_| !round.changed);
        let collected = collecting.map_or(Ok(None), Collecting::collected);
        let collected = or_missing(collected, &mut missing);
        Watched {
            collected,
            scraped: or_missing(scraped, &mut missing),
            subject,
            group,
            limited: round.straining.map(|straining| straining.found()),
            host,
            slow,
            missing,
        }
    }
}

/// What was found; nothing where that isn't known, and then why is `missing`.
fn or_missing<T: Default>(found: Result<T, String>, missing: &mut Vec<String>) -> T {
    found.unwrap_or_else(|what| {
        missing.push(what);
        T::default()
    })
}

/// Puts what was read of the memory of one start together, where there were so many `connections`.
/// Shared pages are divided where they could be before the first load and at both edges.
fn in_memory(subject: &mut SubjectUse, idle: Memory, readings: &[Memory], connections: u32) {
    let divided: Vec<u64> = readings
        .iter()
        .filter_map(|memory| memory.divided)
        .collect();
    let (shared, idle, readings) = match idle.divided {
        Some(idle) if divided.len() > 1 => (SharedPages::Divided, idle, divided),
        _ => {
            // Between a kill and a start nobody is there who could have any.
            let resident = readings.iter().map(|memory| memory.resident);
            let there = resident.filter(|bytes| *bytes > 0).collect();
            (SharedPages::Repeated, idle.resident, there)
        }
    };
    let mean = readings.iter().sum::<u64>() / readings.len().max(1) as u64;
    let last = readings.last().copied().unwrap_or(0);
    subject.shared_pages = shared;
    subject.memory_mean_bytes = (mean > 0).then_some(mean);
    subject.memory_idle_bytes = (idle > 0).then_some(idle);
    subject.memory_per_connection_bytes =
        (idle > 0 && connections > 0).then(|| last.saturating_sub(idle) / u64::from(connections));
}

/// Leaves out what isn't known of a subject that ran before it was watched.
fn ran_before(subject: &mut SubjectUse, pids: &[u32]) {
    subject.own_cores = Some(subject::cores_of(pids));
    // It may have been loaded before.
    subject.memory_idle_bytes = None;
    subject.memory_per_connection_bytes = None;
    if subject.is_unseen() {
        subject.descriptors = None;
        subject.voluntary_switches = None;
        subject.involuntary_switches = None;
    }
}

/// Watches what a subject has beside it, so that its work is not called somebody else's.
#[derive(Debug)]
pub(crate) struct Companions(Vec<(u32, TreeWatch)>);

impl Companions {
    /// Watches the trees below these processes.
    pub(crate) fn new(roots: &[u32]) -> Companions {
        let watch = |root: &u32| (*root, TreeWatch::new(*root));
        Companions(roots.iter().map(watch).collect())
    }

    /// Watches the tree below one more.
    fn add(&mut self, root: u32) {
        self.0.push((root, TreeWatch::new(root)));
    }

    /// Processor time of all of them until now.
    pub(crate) fn cpu_ns(&mut self, listing: &Listing) -> u64 {
        let trees = self.0.iter_mut();
        trees.map(|(_, tree)| tree.sample_of(listing).cpu_ns).sum()
    }

    fn pids(&self, listing: &Listing) -> Vec<u32> {
        let roots = self.0.iter();
        roots.flat_map(|(root, _)| listing.tree(*root)).collect()
    }
}

/// Watches the host while something runs that is over when it is looked at, such as a command.
#[derive(Debug)]
pub(crate) struct HostWatch {
    companions_ns: u64,
    opened: host::Reading,
}

impl HostWatch {
    /// Before it is started, beside these `companions`.
    pub(crate) fn open(companions: &mut Companions) -> HostWatch {
        let listing = Listing::take();
        HostWatch {
            companions_ns: companions.cpu_ns(&listing),
            opened: host::Reading::take(listing, None, None),
        }
    }

    /// What was seen, where this is known of the `subject`, whose processes are those below
    /// `root`.
    pub(crate) fn close(
        self,
        subject: SubjectUse,
        root: u32,
        companions: &mut Companions,
    ) -> Watched {
        let listing = Listing::take();
        let companions_ns = companions.cpu_ns(&listing);
        let subject = SubjectUse {
            companions_ns: companions_ns.saturating_sub(self.companions_ns),
            ..subject
        };
        let own = vec![std::process::id()];
        let known = [own, listing.tree(root), companions.pids(&listing)].concat();
        let attributed = Attributed {
            cpu_ns: subject.cpu_ns + subject.companions_ns,
            generator_ns: 0,
            pids: &known,
        };
        let closed = host::Reading::take(listing, None, None);
        let host = closed.since(&self.opened, attributed);
        Watched {
            missing: missing(&subject, None, &host),
            subject,
            host,
            ..Watched::default()
        }
    }
}

/// Starts the peak of resident memory anew (proc(5), clear_refs, value 5), so that the peak is one
/// of the window and not of the start. Where it may not be written the peak since the start stands.
fn reset_memory_peaks(pids: &[u32]) {
    for pid in pids {
        let _ = fs::write(format!("/proc/{pid}/clear_refs"), "5");
    }
}

/// What this kernel or container does not show.
fn missing(subject: &SubjectUse, group: Option<&GroupUse>, host: &HostUse) -> Vec<String> {
    let facts = [
        (host.busy_ns.is_none(), "the host's CPU time (/proc/stat)"),
        (
            host.pressure.is_none(),
            "pressure (/proc/pressure/cpu; the kernel needs psi=1)",
        ),
        (host.network.tcp.is_empty(), "TCP counters (/proc/net/snmp)"),
        (
            host.network.softnet_dropped.is_none(),
            "dropped packets (/proc/net/softnet_stat)",
        ),
        (
            group.is_none(),
            "the kernel's accounting per subject: we couldn't create a control group",
        ),
        (
            subject.memory_peak_bytes.is_none(),
            "the subject's memory (/proc/PID/status)",
        ),
        (
            subject.processes > 1 && subject.shared_pages == SharedPages::Repeated,
            "how processes share pages (/proc/PID/smaps_rollup), so shared pages count in each \
             process",
        ),
    ];
    let hidden = facts.iter().filter(|(missing, _)| *missing);
    hidden
        .map(|(_, what)| format!("not visible here: {what}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cores::Choice;

    fn reading(resident: u64, divided: Option<u64>) -> Memory {
        Memory {
            resident,
            divided,
            repeated: 0,
        }
    }

    #[test]
    fn shared_pages_are_divided_only_where_they_are_at_every_edge() {
        let idle = reading(1000, Some(400));
        let window = [
            reading(2000, Some(600)),
            reading(9000, None),
            reading(3000, Some(1000)),
        ];
        let mut used = SubjectUse::default();
        in_memory(&mut used, idle, &window, 3);
        assert_eq!(used.shared_pages, SharedPages::Divided);
        assert_eq!(used.memory_idle_bytes, Some(400));
        assert_eq!(used.memory_mean_bytes, Some(800));
        assert_eq!(used.memory_per_connection_bytes, Some(200));
        for (idle, window) in [
            (reading(1000, None), window),
            (idle, [window[0], window[1], reading(3000, None)]),
        ] {
            in_memory(&mut used, idle, &window, 4);
            assert_eq!(used.shared_pages, SharedPages::Repeated);
            assert_eq!(used.memory_idle_bytes, Some(1000));
            assert_eq!(used.memory_mean_bytes, Some(14_000 / 3));
            assert_eq!(used.memory_per_connection_bytes, Some(500));
        }
    }

    #[test]
    fn moments_without_a_process_take_no_part_in_the_mean_of_memory() {
        let killed = [reading(4000, None), reading(0, None), reading(2000, None)];
        let mut used = SubjectUse::default();
        in_memory(&mut used, reading(1000, None), &killed, 1);
        assert_eq!(used.memory_mean_bytes, Some(3000));
    }

    #[test]
    fn of_a_server_that_ran_before_only_what_was_seen_is_known() {
        let mut watch = Watch::of_running(Some(std::process::id()));
        let none = Placement::decide(&Choice::Auto, &Choice::Auto).expect("cores");
        let look = |watch: &mut Watch| {
            watch.before();
            watch.window();
            watch.after(1, &none).subject
        };
        let used = look(&mut watch);
        assert!(!used.is_unseen() && used.own_cores > Some(0), "{used:?}");
        assert!(
            used.cpu_ns > 0 && used.memory_mean_bytes > Some(0),
            "{used:?}"
        );
        assert_eq!(used.memory_idle_bytes, None);
        let used = look(&mut Watch::of_running(None));
        assert!(used.is_unseen() && used.wall_ns > 0, "{used:?}");
        let nothing = SubjectUse {
            wall_ns: used.wall_ns,
            own_cores: Some(0),
            ..SubjectUse::default()
        };
        assert_eq!(used, nothing);
    }

    #[test]
    fn memory_that_could_not_be_read_is_none() {
        let mut used = SubjectUse::default();
        in_memory(&mut used, Memory::default(), &[Memory::default()], 4);
        assert_eq!(used, SubjectUse::default());
        in_memory(&mut used, Memory::default(), &[], 0);
        assert_eq!(used, SubjectUse::default());
    }
}
