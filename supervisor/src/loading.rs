//! One run of a generator against a subject that serves: started on the generator's cores, watched
//! while it loads, and waited for.
//!
//! The window is ours: it opens when `settle` has gone by since the start, and at both its edges
//! the server is asked what it has counted. A generator is told to load for longer than that, in
//! whole seconds, since some take nothing else. What it costs is all that it used from its start to
//! its end, for all that the server counted meanwhile.

mod counter;
mod run;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::redaction::guessed;
use measure::process::Listing;
use measure::time::Time;
use tempfile::TempPath;

use crate::generator::said::Said;
use crate::generator::{Generated, Generator, Values, shown};
use crate::live::Live;
use crate::process::{GRACE, Launch, Process};
use crate::row::Row;
use crate::setting::{Setting, Trouble, surroundings};
use crate::watch::Watched;
use crate::workload::{Protocol, Workload};

use self::counter::{Counter, only_grew};
use self::run::{Mishap, OUTPUT_MAX, OVERTIME, Run, Seen};

/// How much later than our window its own load may end at the earliest.
const MARGIN: Duration = Duration::from_millis(250);
/// What the file with the row's message is called.
const MESSAGE: &str = "message";

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
        let before = counter.read().map_err(|what| self.failed(&what))?;
        let message = self.write_message()?;
        // What is there already is not the generator's.
        let others = Listing::take();
        // Before it runs, or it could say with right that it took longer than it was alive.
        let began = Time::now();
        let (mut process, command) = self.start(live.port)?;
        live.watch.beside(process.pid());
        let seen = Run::new(self, &counter, &mut process, &others, began).watch(live);
        process.end(GRACE);
        drop(message);
        let (output, wrote) = (process.log().end(), self.kept(&process));
        if let Some(death) = live.death(self.when) {
            return Err(death);
        }
        let left = process.left_behind();
        let seen = seen.and_then(|seen| match left.is_empty() {
            true => Ok(seen),
            false => Err(Mishap::LeftBehind(left.clone())),
        });
        let seen = seen.map_err(|what| self.trouble(what, &wrote))?;
        let after = counter.read().map_err(|what| self.failed(&what))?;
        let counts = [before, seen.opened.counted, seen.closed.counted, after];
        only_grew(&counts).map_err(|what| self.failed(&what))?;
        // All but the first question may be among what was counted.
        if after - before < counter.asked() {
            return Err(self.trouble(Mishap::Idle, &wrote));
        }
        let connections = self.row.workload.connections.get();
        let watched = live.watch.after(connections, self.setting.placement);
        let output = output.map_err(|error| self.failed(&format!("its output: {error}")))?;
        let said = self.said(&output, &wrote)?;
        let generated = self.generated(command, &seen, after - before);
        Ok((
            watched,
            Generated {
                said,
                wrote,
                ..generated
            },
        ))
    }

    /// The file that the row's message is in while a generator that reads it runs.
    fn message(&self) -> PathBuf {
        self.dir.join(MESSAGE)
    }

    /// Writes that file, which is its owner's alone and goes with what is returned.
    fn write_message(&self) -> Result<Option<TempPath>, Trouble> {
        let message = self.row.question.message.as_ref();
        let Some(message) = message.filter(|_| self.generator.wants_message()) else {
            return Ok(None);
        };
        // What somebody who was killed left there.
        let _ = fs::remove_file(self.message());
        let file = tempfile::Builder::new()
            .prefix(MESSAGE)
            .rand_bytes(0)
            .tempfile_in(self.dir);
        let written = file.and_then(|mut file| {
            file.write_all(message.as_bytes())?;
            Ok(file.into_temp_path())
        });
        written.map(Some).map_err(|error| {
            let place = self.message();
            self.failed(&format!(
                "can't write its message to {}: {error}",
                place.display()
            ))
        })
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
            message: self.message(),
        };
        let (program, arguments) = self.generator.fill(&values);
        let words = std::iter::once(&program).chain(&arguments);
        let command = shown(
            &words.cloned().collect::<Vec<String>>(),
            &row.question.redaction,
        );
        let launch = Launch {
            program,
            arguments,
            environment: surroundings(),
            folder: self.dir,
            log: &self.dir.join("generator.log"),
            cores: &setting.placement.generator,
        };
        match Process::start(&launch) {
            Ok(process) => Ok((process, command)),
            Err(error) => {
                let what = format!("`{}` couldn't be started: {error}", launch.program);
                Err(self.failed(&what))
            }
        }
    }

    /// What it did, but for what it said of itself.
    fn generated(&self, command: String, seen: &Seen, counted: u64) -> Generated {
        let window_ns = seen.closed.at.since(seen.opened.at).max(1) as f64;
        let cores = self.setting.placement.generator.len().max(1) as f64;
        let busy_ns = seen.closed.cpu_ns.saturating_sub(seen.opened.cpu_ns) as f64;
        Generated {
            command,
            counted,
            counted_in_window: seen.closed.counted - seen.opened.counted,
            window_s: window_ns / 1e9,
            alive_s: seen.alive_s,
            cpu_ns: seen.used.cpu_ns,
            user_ns: seen.used.user_ns,
            system_ns: seen.used.system_ns,
            busy: busy_ns / window_ns / cores,
            memory_peak_bytes: seen.memory_peak_bytes,
            under_way: self.under_way(),
            said: None,
            wrote: Vec::new(),
        }
    }

    /// Bounds what it wrote and takes the secrets out of it; the last lines.
    fn kept(&self, process: &Process) -> Vec<String> {
        let redaction = &self.row.question.redaction;
        let clean = |text: &str| guessed(&redaction.scrub(text)).into_owned();
        // Before lines are cut out of it, in which a secret might no longer be known.
        match process.log().settle(clean) {
            Ok(()) => process.last_lines(),
            // Then it stands as it was written, as on a full disk.
            Err(_) => process
                .last_lines()
                .iter()
                .map(|line| clean(line))
                .collect(),
        }
    }

    fn failed(&self, what: &str) -> Trouble {
        let what = format!("couldn't be measured {}: {what}", self.when);
        Trouble::Failed(what, Vec::new())
    }

    fn trouble(&self, mishap: Mishap, wrote: &[String]) -> Trouble {
        let name = self.generator.name();
        let workload = &self.row.workload;
        let asked = load_s(workload);
        let what = match mishap {
            Mishap::Stopped => return Trouble::Stopped,
            Mishap::Counter(what) => what,
            Mishap::Slow(took, limit) => format!(
                "the subject took {} ms to say how many exchanges it has counted, and more than \
                 {} ms is too much for a window of {} ms: use a longer window, or a counter that \
                 answers faster",
                took.as_millis(),
                limit.as_millis(),
                workload.window.as_millis()
            ),
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
            Mishap::Chatty => format!(
                "{name} printed more than {} MiB, so it was ended",
                OUTPUT_MAX >> 20
            ),
            Mishap::LeftBehind(names) => format!(
                "{name} ended and left {} running, so we don't know what its load cost; its \
                 command has to wait for all that it starts",
                names.iter().cloned().collect::<Vec<String>>().join(", ")
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
