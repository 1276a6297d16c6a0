//! Why one is faster: after the last round each subject is loaded twice more, never timed, once
//! under a sampling profiler and once with its system calls counted.
//!
//! Both are `perf`'s work (perf-record(1), perf-stat(1)), which samples by the processor's clock,
//! since a virtual machine has no other counters. Without it, or without the right to use it,
//! there is a sentence instead of a picture. Stacks are followed by frame pointers: of a program
//! that was built without them they are short.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::{Progress, Record};
use measure::process::tree;
use measure::time::Time;
use serde::{Deserialize, Serialize};

use crate::build::find_program;
use crate::event::Observer;
use crate::live::{Live, Setting, surroundings};
use crate::manifest::Role;
use crate::process::{GRACE, Launch, Process};
use crate::rounds::{Entry, State, lower};
use crate::store::Store;
use crate::subject::Kind;
use crate::watch::calls::{self, Calls};
use crate::watch::flame;

/// Where pictures are, in a comparison's folder.
pub(crate) const PROFILES: &str = "profiles";
/// How long a subject is loaded for a picture, at least.
const LOAD_MIN: Duration = Duration::from_secs(2);
/// The part of the load in which is looked: the profiler takes a moment to begin.
const LOOKED_SHARE: f64 = 0.7;
/// Samples a second on each processor: no multiple of what a program does by the clock.
const SAMPLES_PER_SECOND: u32 = 499;
/// How long the profiler may take to write what it saw.
const WRITING_MAX: Duration = Duration::from_secs(30);

/// What was seen of a subject under load besides its rounds.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Profile {
    /// The flame graph, in the comparison's folder; its stacks are beside it, folded.
    pub flame_graph: Option<PathBuf>,
    /// Its system calls.
    pub calls: Option<Calls>,
    /// What could not be seen and why, in sentences.
    pub missing: Vec<String>,
}

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
        entry.raise(setting, observer);
        let (name, dir) = (entry.row.name.clone(), entry.dir.clone());
        if let State::Live(live) = &mut entry.state {
            entry.profile = Some(one(live, &name, &dir, setting, store));
        }
        lower(std::slice::from_mut(entry));
    }
}

fn one(
    live: &mut Live,
    name: &str,
    dir: &Path,
    setting: &Setting<'_>,
    store: &mut Store,
) -> Profile {
    let mut profile = Profile::default();
    if find_program("perf").is_none() {
        let what = "`perf` is not installed: there is no flame graph and no count of system calls. \
                    Install it (on Debian: apt install linux-perf)";
        profile.missing.push(what.to_owned());
        return profile;
    }
    match sample(live, name, dir, setting) {
        Ok(folded) => {
            let file = |end: &str| Path::new(PROFILES).join(format!("{name}.{end}"));
            store.put(&file("svg"), flame::svg(name, &folded).into_bytes());
            store.put(&file("folded"), flame::lines(&folded).into_bytes());
            profile.flame_graph = Some(file("svg"));
        }
        Err(what) => profile.missing.push(format!("no flame graph: {what}")),
    }
    match count(live, dir, setting) {
        Ok(calls) => profile.calls = Some(calls),
        Err(what) => profile
            .missing
            .push(format!("no count of system calls: {what}")),
    }
    profile
}

/// Samples the stacks of a subject under load.
fn sample(
    live: &mut Live,
    name: &str,
    dir: &Path,
    setting: &Setting<'_>,
) -> Result<flame::Folded, String> {
    let data = dir.join("perf.data");
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
    under(live, &record, dir, setting)?;
    let text = dir.join("perf.script");
    let _ = fs::remove_file(&text); // Of a start before; the output of a process is appended.
    let script = "exec perf script -i \"$1\" -F comm,tid,ip,sym,dso 2>/dev/null";
    let launch = launch("/bin/sh", &["-c", script, "sh", &path], dir, &text, setting);
    let mut process = Process::start(&launch).map_err(|error| format!("perf: {error}"))?;
    let ended = process.wait_for(WRITING_MAX);
    process.end(GRACE);
    let written = fs::read(&text).map_err(|error| format!("{}: {error}", text.display()));
    let _ = fs::remove_file(&data);
    let _ = fs::remove_file(&text);
    if !ended {
        return Err(format!(
            "perf did not end within {} s",
            WRITING_MAX.as_secs()
        ));
    }
    let folded = flame::fold(&String::from_utf8_lossy(&written?));
    match folded.is_empty() {
        true => Err(format!("perf saw {name} on no processor")),
        false => Ok(folded),
    }
}

/// Counts the system calls of a subject under load.
fn count(live: &mut Live, dir: &Path, setting: &Setting<'_>) -> Result<Calls, String> {
    let file = dir.join("perf.stat");
    let (path, events) = (file.display().to_string(), calls::events());
    let (record, looked_s) = under(
        live,
        &["stat", "-x,", "-e", &events, "-o", &path],
        dir,
        setting,
    )?;
    let text = fs::read_to_string(&file).map_err(|error| format!("{path}: {error}"));
    let _ = fs::remove_file(&file);
    let exchanges = record.achieved_rate * looked_s;
    calls::read(&text?, exchanges).ok_or_else(|| "the kernel did not count them".to_owned())
}

/// Loads a subject while `perf` looks at it, and says for how long it did.
fn under(
    live: &mut Live,
    arguments: &[&str],
    dir: &Path,
    setting: &Setting<'_>,
) -> Result<(Record, f64), String> {
    let mut plan = live.plan.clone();
    let load_s = plan.duration_s.unwrap_or(0.0).max(LOAD_MIN.as_secs_f64());
    plan.duration_s = Some(load_s);
    let looked_s = load_s * LOOKED_SHARE;
    let pids: Vec<String> = tree(live.process.pid())
        .iter()
        .map(u32::to_string)
        .collect();
    let (pids, seconds) = (pids.join(","), looked_s.to_string());
    let mut words = arguments.to_vec();
    words.extend(["-p", &pids, "--", "sleep", &seconds]);
    let log = dir.join("perf.log");
    let mut perf: Option<std::io::Result<Process>> = None;
    let record = load::run(&plan, setting.stop, &mut |progress: &Progress| {
        if progress.phase == load::Phase::Measure && perf.is_none() {
            perf = Some(Process::start(&launch("perf", &words, dir, &log, setting)));
        }
    });
    let perf = perf.ok_or("the load ended before it began")?;
    let mut perf = perf.map_err(|error| format!("perf: {error}"))?;
    let ended = perf.wait_for(WRITING_MAX);
    let status = perf.exited();
    let said = perf.last_lines().join(" ");
    perf.end(GRACE);
    match status {
        Some(status) if ended && status.success() => {}
        _ => return Err(format!("perf did not succeed: {said}")),
    }
    let record = record.map_err(|error| error.to_string())?;
    Ok((record, looked_s))
}

fn launch<'a>(
    program: &str,
    arguments: &[&str],
    dir: &'a Path,
    log: &'a Path,
    setting: &Setting<'a>,
) -> Launch<'a> {
    Launch {
        program: program.to_owned(),
        arguments: arguments.iter().map(|word| (*word).to_owned()).collect(),
        environment: surroundings(),
        folder: dir,
        log,
        cores: &setting.placement.generator,
    }
}

impl Process {
    /// Whether it ended within `limit`.
    fn wait_for(&mut self, limit: Duration) -> bool {
        let deadline = Time::now() + limit;
        while Time::now() < deadline {
            if self.wait(deadline - Time::now()).is_some() {
                return true;
            }
        }
        false
    }
}
