//! One run of a generator against a subject that serves: started on the generator's cores, watched
//! while it loads, and waited for.
//!
//! The window is ours: it opens when `settle` has gone by since the start, and at both its edges
//! the server is asked what it has counted. A generator is told to load for longer than that, in
//! whole seconds, since some take nothing else. What it costs is all that it used from its start to
//! its end, for all that the server counted meanwhile.

use std::path::Path;
use std::time::Duration;

use measure::process::{TreeWatch, peak_bytes};
use measure::time::Time;

use crate::generator::said::Said;
use crate::generator::{Generated, Generator, Values};
use crate::live::Live;
use crate::process::{GRACE, LOOK_AGAIN, Launch, Process, ending};
use crate::row::Row;
use crate::setting::{Setting, Trouble, ready_question, surroundings};
use crate::watch::Watched;
use crate::watch::scrape::Scrape;
use crate::workload::{Protocol, Workload};

/// How often it is looked at: seldom, since looking takes time from the core that it stands on.
const LOOK: Duration = Duration::from_millis(100);
/// How often the subject's memory is read in a window.
const MEMORY: Duration = Duration::from_millis(500);
/// How much longer than it was told to a generator may live.
const OVERTIME: Duration = Duration::from_secs(10);
/// How much later than our window its own load may end at the earliest.
const MARGIN: Duration = Duration::from_millis(250);

/// How often the server is asked what it has counted, which it may count, too.
const QUESTIONS: u64 = 3;

/// How long a generator is told to load: the time to settle and the window, in whole seconds.
pub fn load_s(workload: &Workload) -> u64 {
    let least = workload.settle + workload.window + MARGIN;
    least.as_secs() + u64::from(least.subsec_nanos() > 0)
}

/// What is run, and against whom.
#[derive(Clone, Copy, Debug)]
pub struct Order<'a> {
    /// Whose subject is loaded.
    pub row: &'a Row,
    /// Who loads it.
    pub generator: &'a Generator,
    /// The row's run directory.
    pub dir: &'a Path,
    /// Where it runs.
    pub setting: &'a Setting<'a>,
    /// Ends the sentence about what may go wrong, as in "in round 3".
    pub when: &'a str,
}

impl Order<'_> {
    /// Runs it once against the row's subject, which is `live`. Nothing that it started is alive
    /// afterwards.
    pub fn carry_out(&self, live: &mut Live) -> Result<(Watched, Generated), Trouble> {
        let counter = Counter::of(self.row, live.port).map_err(|what| self.failed(&what))?;
        // What is asked besides is asked before and after all that is counted.
        live.watch.before();
        let counted = counter.read().map_err(|what| self.failed(&what))?;
        let began = Time::now();
        let (mut process, command) = self.start(live.port)?;
        live.watch.beside(process.pid());
        let mut run = Run {
            order: self,
            counter: &counter,
            tree: TreeWatch::new(process.pid()),
            process: &mut process,
            began,
            memory_peak_bytes: None,
        };
        let seen = run.watch(live);
        let (output, wrote) = (process.output(), process.last_lines());
        process.end(GRACE);
        if let Some(death) = live.death(self.when) {
            return Err(death);
        }
        let seen = seen.map_err(|what| self.trouble(what, &wrote))?;
        let counted_after = counter.read().map_err(|what| self.failed(&what))?;
        let connections = self.row.workload.connections.get();
        let watched = live.watch.after(connections, self.setting.placement);
        let output = output.map_err(|error| self.failed(&format!("its output: {error}")))?;
        let generated = Generated {
            command,
            counted: counted_after.saturating_sub(counted),
            said: self.said(&String::from_utf8_lossy(&output), &wrote)?,
            under_way: self.under_way(),
            wrote,
            ..seen
        };
        match generated.counted <= QUESTIONS {
            true => Err(self.trouble(Mishap::Idle, &generated.wrote)),
            false => Ok((watched, generated)),
        }
    }

    fn start(&self, port: u16) -> Result<(Process, String), Trouble> {
        let (row, setting) = (self.row, self.setting);
        let values = Values {
            tls: row.subject.tls,
            port,
            protocol: row.question.protocol,
            path: row.question.path.clone(),
            connections: row.workload.connections.get(),
            streams: row.workload.streams.get(),
            threads: setting.placement.generator.len(),
            window_s: load_s(&row.workload),
            folder: row.folder.clone(),
            ringside: setting.ringside.to_owned(),
        };
        let (program, arguments) = self.generator.fill(&values);
        let words = std::iter::once(&program).chain(&arguments);
        let command = words.cloned().collect::<Vec<String>>().join(" ");
        let launch = Launch {
            program,
            arguments,
            environment: surroundings(),
            folder: self.dir,
            log: &self.dir.join("generator.log"),
            cores: &setting.placement.generator,
        };
        match Process::start(&launch) {
            Ok(process) => Ok((process, row.question.redaction.scrub(&command).into_owned())),
            Err(error) => {
                let what = format!("`{}` couldn't be started: {error}", launch.program);
                Err(self.failed(&what))
            }
        }
    }

    fn failed(&self, what: &str) -> Trouble {
        let what = format!("couldn't be measured {}: {what}", self.when);
        Trouble::Failed(what, Vec::new())
    }

    fn trouble(&self, mishap: Mishap, wrote: &[String]) -> Trouble {
        let name = self.generator.name();
        let asked = load_s(&self.row.workload);
        let what = match mishap {
            Mishap::Stopped => return Trouble::Stopped,
            Mishap::Counter(what) => what,
            Mishap::Ended(after, how) => format!(
                "{name} ended after {:.1} s, and was told to load for {asked} s: {how}",
                after.as_secs_f64()
            ),
            Mishap::Failed(how) => format!("{name} failed: {how}"),
            Mishap::Endless => format!(
                "{name} was told to load for {asked} s and was still running {} s later, so it \
                 was ended",
                OVERTIME.as_secs()
            ),
            Mishap::Idle => format!("{name} ran, and the server counted none of its requests"),
        };
        let what = format!("couldn't be measured {}: {what}", self.when);
        Trouble::Failed(what, wrote.to_vec())
    }

    /// What it says of itself, where somebody reads that.
    fn said(&self, output: &str, wrote: &[String]) -> Result<Option<Said>, Trouble> {
        let Some(reads) = self.generator.reads() else {
            return Ok(None);
        };
        reads.read(output).map(Some).map_err(|missing| {
            let what = format!(
                "couldn't be measured {}: what {} printed can't be read as the output of {}: it \
                 has no {missing}",
                self.when,
                self.generator.name(),
                reads.name()
            );
            Trouble::Failed(what, wrote.to_vec())
        })
    }

    fn under_way(&self) -> u64 {
        let workload = &self.row.workload;
        let each = match workload.protocol {
            Protocol::Http1 | Protocol::WebSocket => workload.pipeline,
            Protocol::Http2 | Protocol::Grpc => workload.streams,
        };
        u64::from(workload.connections.get()) * u64::from(each.get())
    }
}

/// Why a run brought nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Mishap {
    /// Somebody asked to stop.
    Stopped,
    /// The server could not be asked.
    Counter(String),
    /// It ended before the window was over, this long after its start, in this way.
    Ended(Duration, String),
    /// It ended badly when all was over.
    Failed(String),
    /// It did not end.
    Endless,
    /// It did nothing.
    Idle,
}

/// A run that is under way.
struct Run<'a> {
    order: &'a Order<'a>,
    counter: &'a Counter,
    tree: TreeWatch,
    process: &'a mut Process,
    began: Time,
    memory_peak_bytes: Option<u64>,
}

/// One edge of the window.
struct Edge {
    at: Time,
    counted: u64,
    cpu_ns: u64,
}

impl Run<'_> {
    /// Waits for its end, and looks at it and at the subject at the edges of the window.
    fn watch(&mut self, live: &mut Live) -> Result<Generated, Mishap> {
        let workload = &self.order.row.workload;
        self.wait_until(self.began + workload.settle, &mut || ())?;
        live.watch.window();
        let opened = self.edge()?;
        let mut look_again = opened.at + MEMORY;
        self.wait_until(opened.at + workload.window, &mut || {
            if Time::now() >= look_again {
                live.watch.window();
                look_again = Time::now() + MEMORY;
            }
        })?;
        let closed = self.edge()?;
        live.watch.close();
        let deadline = self.began + Duration::from_secs(load_s(workload)) + OVERTIME;
        let status = loop {
            if let Some(status) = self.look(deadline)? {
                break status;
            }
            if Time::now() >= deadline {
                return Err(Mishap::Endless);
            }
        };
        let alive_s = (Time::now() - self.began).as_secs_f64();
        if !status.success() {
            return Err(Mishap::Failed(ending(status)));
        }
        // It is dead but not reaped yet, so its clock still stands at all that it has used.
        let used = self.tree.sample();
        let window_ns = closed.at.since(opened.at).max(1) as f64;
        let cores = self.order.setting.placement.generator.len().max(1) as f64;
        let busy_ns = closed.cpu_ns.saturating_sub(opened.cpu_ns) as f64;
        Ok(Generated {
            command: String::new(),
            counted: 0,
            counted_in_window: closed.counted.saturating_sub(opened.counted),
            window_s: window_ns / 1e9,
            alive_s,
            cpu_ns: used.cpu_ns,
            user_ns: used.user_ns,
            system_ns: used.system_ns,
            busy: busy_ns / window_ns / cores,
            memory_peak_bytes: self.memory_peak_bytes,
            under_way: 0,
            said: None,
            wrote: Vec::new(),
        })
    }

    /// Waits until `until`, by when it must not have ended.
    fn wait_until(&mut self, until: Time, each: &mut dyn FnMut()) -> Result<(), Mishap> {
        while Time::now() < until {
            if let Some(status) = self.look(until)? {
                let after = Time::now() - self.began;
                return Err(Mishap::Ended(after, ending(status)));
            }
            each();
        }
        Ok(())
    }

    /// Waits a moment, at most until `until`; how it ended, if it has.
    fn look(&mut self, until: Time) -> Result<Option<std::process::ExitStatus>, Mishap> {
        let left = until - Time::now();
        let status = self.process.wait(left.clamp(LOOK_AGAIN, LOOK));
        if self.order.setting.stop.requested().is_some() {
            return Err(Mishap::Stopped);
        }
        if status.is_none() {
            let peak = peak_bytes(self.process.pid());
            self.memory_peak_bytes = self.memory_peak_bytes.max(peak);
            // What it started and has ended is on its parent's account from then on.
            self.tree.sample();
        }
        Ok(status)
    }

    /// Asks the server what it has counted. The moment is that in the middle of the question.
    fn edge(&mut self) -> Result<Edge, Mishap> {
        let before = Time::now();
        let counted = self.counter.read().map_err(Mishap::Counter)?;
        let at = before.plus(Time::now().since(before) / 2);
        Ok(Edge {
            at,
            counted,
            cpu_ns: self.tree.sample().cpu_ns,
        })
    }
}

/// Where a server says how many exchanges it has counted.
#[derive(Clone, Debug)]
struct Counter {
    scrape: Scrape,
    /// The metrics that count them, to be added.
    names: Vec<String>,
}

impl Counter {
    /// Of a row's subject, which serves at `port`.
    fn of(row: &Row, port: u16) -> Result<Counter, String> {
        let wanted = &row.subject.watch;
        let path = wanted.metrics.as_ref();
        let path = path.ok_or("the subject declares no `metrics`")?;
        Ok(Counter {
            scrape: Scrape::new(ready_question(path, Protocol::Http1).plan(port, row.subject.tls)?),
            names: wanted.exchanges.clone(),
        })
    }

    /// How many it has counted since its start.
    fn read(&self) -> Result<u64, String> {
        let metrics = self.scrape.fetch()?;
        let declared = |series: &str| {
            let name = series.split('{').next().unwrap_or(series);
            self.names.iter().any(|one| one == name)
        };
        let counts: Vec<f64> = metrics
            .iter()
            .filter_map(|(series, count)| declared(series).then_some(*count))
            .collect();
        match counts.is_empty() {
            true => Err(format!(
                "the subject's metrics have no {}, which its `exchanges` names",
                self.names.join(" and no ")
            )),
            false => Ok(counts.iter().sum::<f64>().max(0.0) as u64),
        }
    }
}
