//! Why one is faster: after the last round each subject is loaded again, never timed: under a
//! profiler, and with its system calls counted.
//!
//! A subject that can make a profile of itself (`[watch] profile`, as Go's net/http/pprof) is asked
//! for that; of all others `perf` takes one. `perf` also counts the system calls (perf-record(1),
//! perf-stat(1)); it samples by the processor's clock, since a virtual machine has no other
//! counters. What is not installed, not allowed or not answered is a sentence instead of a picture.
//! `perf` follows stacks by frame pointers: of a program that was built without them they are
//! short.

mod counting;

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use load::{LoadError, Plan, Progress, Record};
use measure::process::tree;
use profiles::calls::{self, Calls};
use profiles::flame::{self, Folded};
use profiles::pprof;
use supervisor::live::Live;
use supervisor::process::{GRACE, Launch, Process};
use supervisor::row::Row;
use supervisor::setting::{Setting, find_program, ready_question, surroundings};
use supervisor::subject::Kind;
use supervisor::workload::{Protocol, Question, UrlPath};

use self::counting::{Counting, Switch};
use crate::event::Observer;
use crate::manifest::{Profile, Role};
use crate::rounds::{Entry, State, lower};
use crate::store::{PROFILES, Store};

/// How long a subject is loaded for `perf`, at least.
const LOAD_MIN: Duration = Duration::from_secs(2);
/// The same for a profile of its own: Go looks a hundred times a second.
const OWN_LOAD_MIN: Duration = Duration::from_secs(5);
/// The part of the load in which is looked: who looks takes a moment to begin.
const LOOKED_SHARE: f64 = 0.7;
/// Samples a second on each processor: no multiple of what a program does by the clock.
const SAMPLES_PER_SECOND: u32 = 499;
/// How long the profiler may take to write what it saw.
const WRITING_MAX: Duration = Duration::from_secs(30);
/// How long a subject may take to send what it saw of itself.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Looks at every subject that serves and can still be started. Nothing is alive afterwards.
pub(crate) fn all(
    entries: &mut [Entry],
    setting: &Setting<'_>,
    store: &mut Store,
    observer: &mut dyn Observer,
) {
    for entry in entries {
        let serves = entry.row.subject.kind == Kind::Server;
        if entry.role != Role::Subject || !serves || setting.stop.requested().is_some() {
            continue;
        }
        // Nothing is broken meanwhile, and the proxy isn't what is looked at.
        entry.row = entry.row.clone().without_proxies();
        entry.raise(setting, observer);
        if let State::Live(live) = &entry.state {
            let look = Look {
                live,
                row: &entry.row,
                dir: &entry.dir,
                setting,
            };
            entry.profile = Some(look.all(store));
        }
        lower(std::slice::from_mut(entry));
    }
}

/// A subject that is looked at, and what that takes.
struct Look<'a> {
    live: &'a Live,
    row: &'a Row,
    dir: &'a Path,
    setting: &'a Setting<'a>,
}

impl Look<'_> {
    fn all(&self, store: &mut Store) -> Profile {
        let mut profile = Profile::default();
        let name = self.row.name.clone();
        let file = |end: &str| Path::new(PROFILES).join(format!("{name}.{end}"));
        let own = self.row.subject.watch.profile.as_ref();
        let own = own.and_then(|path| match self.own_profile(path) {
            Ok((sent, folded)) => {
                store.put(&file("pprof"), sent);
                profile.pprof = Some(file("pprof"));
                Some(folded)
            }
            Err(what) => {
                let what =
                    format!("its own profile is missing, so perf's is shown instead: it {what}");
                profile.missing.push(what);
                None
            }
        });
        match own.map_or_else(|| self.sample(), Ok) {
            Ok(folded) => {
                store.put(&file("svg"), flame::svg(&name, &folded).into_bytes());
                store.put(&file("folded"), flame::lines(&folded).into_bytes());
                profile.flame_graph = Some(file("svg"));
            }
            Err(what) => profile.missing.push(format!("no flame graph: {what}")),
        }
        match self.count() {
            Ok(calls) => profile.calls = Some(calls),
            Err(what) => profile
                .missing
                .push(format!("no count of system calls: {what}")),
        }
        profile
    }

    /// Asks the subject for a profile of itself under load: as it was sent, and its stacks. The
    /// error ends a sentence about the subject.
    fn own_profile(&self, path: &UrlPath) -> Result<(Vec<u8>, Folded), String> {
        let load_s = self.load_s(OWN_LOAD_MIN);
        let looked_s = (load_s * LOOKED_SHARE) as u64;
        let question = Question {
            path: for_seconds(path, looked_s),
            ..ready_question(path, Protocol::Http1)
        };
        let plan = question.plan(self.row.subject.at(self.live.port))?;
        let timeout = Duration::from_secs(looked_s) + ANSWER_MAX;
        let ask = || thread::spawn(move || load::probe(&plan, timeout));
        let (asking, record) = self.load(load_s, ask)?;
        let answer = asking.join().map_err(|_| "couldn't be asked")?;
        let answer = answer.map_err(|error| format!("didn't answer ({error})"))?;
        record?;
        if !answer.is_success() {
            return Err(format!("answered with {}", answer.ending()));
        }
        let folded = pprof::fold(&answer.body)?;
        Ok((answer.body, folded))
    }

    /// Samples the stacks of the subject under load.
    fn sample(&self) -> Result<Folded, String> {
        let data = self.dir.join("perf.data");
        let frequency = SAMPLES_PER_SECOND.to_string();
        let path = data.display().to_string();
        let record = [
            "record",
            "-q",
            "-e",
            "cpu-clock",
            "-F",
            &frequency,
            "-g",
            "-o",
            &path,
        ];
        self.under_perf(&record)?;
        let text = self.dir.join("perf.script");
        let _ = fs::remove_file(&text); // Of a start before; the output of a process is appended.
        let script = "exec perf script -i \"$1\" -F comm,tid,ip,sym,dso 2>/dev/null";
        let launch = self.launch("/bin/sh", &["-c", script, "sh", &path], &text);
        let mut process = Process::start(&launch).map_err(|error| format!("perf: {error}"))?;
        let ended = process.wait_for(WRITING_MAX);
        process.end(GRACE);
        let written = fs::read(&text).map_err(|error| format!("{}: {error}", text.display()));
        let _ = fs::remove_file(&data);
        let _ = fs::remove_file(&text);
        if !ended {
            return Err(format!(
                "perf didn't finish within {} s",
                WRITING_MAX.as_secs()
            ));
        }
        let folded = flame::fold(&String::from_utf8_lossy(&written?));
        match folded.is_empty() {
            true => Err(format!("perf never saw {} on a CPU", self.row.name)),
            false => Ok(folded),
        }
    }

    /// Counts the system calls of the subject under load.
    fn count(&self) -> Result<Calls, String> {
        perf_is_there()?;
        let file = self.dir.join("perf.stat");
        let (path, events) = (file.display().to_string(), calls::events());
        let mut switch = Switch::make(self.dir)?;
        let control = switch.argument();
        let load_s = self.load_s(LOAD_MIN);
        let (pids, seconds) = (self.pids()?, load_s.to_string());
        // It counts nothing until it is told to, and ends by itself when the load is over.
        let words = [
            "stat",
            "-x,",
            "-D",
            "-1",
            "-e",
            &events,
            "-o",
            &path,
            "--control",
            &control,
            "-p",
            &pids,
            "--",
            "sleep",
            &seconds,
        ];
        let log = self.dir.join("perf.log");
        let launch = self.launch("perf", &words, &log);
        let mut plan = self.live.plan.clone();
        plan.duration_s = Some(load_s);
        let (mut perf, mut counting) = (None, Counting::new(load_s * LOOKED_SHARE));
        let record = self.send(&plan, &mut |progress: &Progress| {
            if progress.phase != load::Phase::WarmUp && perf.is_none() {
                perf = Some(Process::start(&launch));
            }
            counting.step(progress, &mut |wish| switch.turn(wish));
        });
        let perf = perf.ok_or("the load ended before it began")?;
        ends_well(perf.map_err(|error| format!("perf: {error}"))?)?;
        record.map_err(|error| error.to_string())?;
        let text = fs::read_to_string(&file).map_err(|error| format!("{path}: {error}"));
        let _ = fs::remove_file(&file);
        let exchanges = counting.exchanges()?;
        calls::read(&text?, exchanges as f64)
            .ok_or_else(|| "the kernel didn't count them".to_owned())
    }

    fn send(&self, plan: &Plan, progress: &mut dyn FnMut(&Progress)) -> Result<Record, LoadError> {
        let Setting { loads, stop, .. } = self.setting;
        loads.send(plan, stop, progress)
    }

    /// The subject's processes, as `perf -p` takes them.
    fn pids(&self) -> Result<String, String> {
        let root = self.live.process.pid();
        let pids = tree(root.ok_or("its process isn't known")?);
        let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
        Ok(pids.join(","))
    }

    /// Loads the subject while `perf` looks at it.
    fn under_perf(&self, arguments: &[&str]) -> Result<(), String> {
        perf_is_there()?;
        let load_s = self.load_s(LOAD_MIN);
        let looked_s = load_s * LOOKED_SHARE;
        let (pids, seconds) = (self.pids()?, looked_s.to_string());
        let mut words = arguments.to_vec();
        words.extend(["-p", &pids, "--", "sleep", &seconds]);
        let log = self.dir.join("perf.log");
        let launch = self.launch("perf", &words, &log);
        let (perf, record) = self.load(load_s, || Process::start(&launch))?;
        ends_well(perf.map_err(|error| format!("perf: {error}"))?)?;
        record.map(|_| ())
    }

    /// How long it is loaded: as in a round, and not shorter than `least`.
    fn load_s(&self, least: Duration) -> f64 {
        let window_s = self.live.plan.duration_s.unwrap_or(0.0);
        window_s.max(least.as_secs_f64())
    }

    /// Loads the subject for so long, and calls `begin` when its window opens.
    fn load<T>(
        &self,
        load_s: f64,
        begin: impl FnOnce() -> T,
    ) -> Result<(T, Result<Record, String>), String> {
        let mut plan = self.live.plan.clone();
        plan.duration_s = Some(load_s);
        let (mut begin, mut begun) = (Some(begin), None);
        let record = self.send(&plan, &mut |progress: &Progress| {
            if progress.phase == load::Phase::Measure
                && let Some(begin) = begin.take()
            {
                begun = Some(begin());
            }
        });
        let begun = begun.ok_or("the load ended before it began")?;
        Ok((begun, record.map_err(|error| error.to_string())))
    }

    fn launch<'a>(&'a self, program: &str, arguments: &[&str], log: &'a Path) -> Launch<'a> {
        Launch {
            program: program.to_owned(),
            arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
            environment: surroundings(),
            folder: self.dir,
            log,
            cores: &self.setting.placement.generator,
        }
    }
}

fn perf_is_there() -> Result<(), String> {
    match find_program("perf") {
        Some(_) => Ok(()),
        None => Err("`perf` is not installed (on Debian: apt install linux-perf)".to_owned()),
    }
}

/// Waits until `perf` has written what it saw.
fn ends_well(mut perf: Process) -> Result<(), String> {
    let ended = perf.wait_for(WRITING_MAX);
    let status = perf.exited();
    let said = perf.last_lines().join(" ");
    perf.end(GRACE);
    match status {
        Some(status) if ended && status.success() => Ok(()),
        _ => Err(format!("perf failed: {said}")),
    }
}

/// The path with how long is to be looked.
fn for_seconds(path: &UrlPath, seconds: u64) -> String {
    let path = path.as_str();
    let sign = if path.contains('?') { '&' } else { '?' };
    format!("{path}{sign}seconds={seconds}")
}
