//! A timed command: run once a round, from its start to its end, with what it wrote verified each
//! time. Its time counts from before it is started until the kernel says that it has exited, so the
//! start of its runtime is in it.
//!
//! Knows nothing of rounds or of what a command computes.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use measure::process::{Listing, TreeWatch, peak_bytes};
use measure::time::Time;

use crate::companion;
use crate::difference::difference;
use crate::live::{start, write_files};
use crate::process::{GRACE, Process, ending};
use crate::setting::{Setting, Trouble, hinted};
use crate::subject::{Subject, Values};
use crate::watch::subject::SubjectUse;
use crate::watch::{Companions, HostWatch, Watched};

/// How often its memory is looked at: the peak is gone from /proc when it exits.
const LOOK: Duration = Duration::from_millis(10);
/// A run that takes longer has failed.
const RUN_MAX: Duration = Duration::from_secs(120);

/// A command that can be run at any time: what it needs beside it is up.
#[derive(Debug)]
pub struct TimedCommand {
    subject: Subject,
    values: Values,
    companions: Vec<Process>,
    beside: Companions,
    left_behind: BTreeSet<String>,
}

impl TimedCommand {
    /// Starts what the command needs beside it, in the run directory `dir`.
    pub fn raise(
        subject: &Subject,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
    ) -> Result<TimedCommand, Trouble> {
        let mut values = Values {
            dir: dir.to_owned(),
            build: build.to_owned(),
            ..setting.values(subject)
        };
        let companions = companion::raise(subject, &mut values, setting)?;
        let pids: Vec<u32> = companions.iter().map(Process::pid).collect();
        let command = TimedCommand {
            subject: subject.clone(),
            values,
            companions,
            beside: Companions::new(&pids),
            left_behind: BTreeSet::new(),
        };
        write_files(&command.subject, &command.values)
            .map_err(|what| Trouble::Failed(what, Vec::new()))?;
        Ok(command)
    }

    /// Runs it once; nothing that it started is alive afterwards. The wall time of what it used is
    /// that from before its start to its end; its peak of memory was last seen at most 10 ms before
    /// that, and is none of a command that is quicker.
    pub fn run_once(&mut self, setting: &Setting<'_>) -> Result<Watched, Trouble> {
        self.values.padding = setting.values(&self.subject).padding;
        let host = HostWatch::open(&mut self.beside);
        let began = Time::now();
        let mut process = start(&self.subject, &self.values, &setting.placement.server)?;
        let ran = watch(&mut process, began, setting);
        let root = process.pid();
        let ran = ran.map(|(used, status)| (host.close(used, root, &mut self.beside), status));
        let output = process.output();
        let lines = process.last_lines();
        process.end(GRACE);
        self.left_behind
            .extend(process.left_behind().iter().cloned());
        let (run, status) = ran?;
        if !status.success() {
            let how = process.ended_in_words();
            return Err(hinted(how.unwrap_or_else(|| ending(status)), lines));
        }
        let wrong = |what: String| Trouble::Failed(what, Vec::new());
        let output = output.map_err(|error| wrong(format!("its output can't be read: {error}")))?;
        let expected = self.subject.output.as_deref().unwrap_or_default();
        match output == expected.as_bytes() {
            true => Ok(run),
            false => {
                let what = difference(&output, expected.as_bytes());
                Err(wrong(format!("printed {what}")))
            }
        }
    }

    /// Ends what stands beside it. The names of those who were still there when a run, or a
    /// companion, had ended.
    pub fn end(&mut self) -> &BTreeSet<String> {
        while let Some(mut companion) = self.companions.pop() {
            companion.end(GRACE);
            self.left_behind
                .extend(companion.left_behind().iter().cloned());
        }
        &self.left_behind
    }

    /// Processor time of what stands beside it until now.
    pub fn idle_cpu_ns(&mut self) -> u64 {
        self.beside.cpu_ns(&Listing::take())
    }
}

impl Drop for TimedCommand {
    fn drop(&mut self) {
        self.end();
    }
}

/// Waits for the end of a run that began at `began`, and says what it took.
fn watch(
    process: &mut Process,
    began: Time,
    setting: &Setting<'_>,
) -> Result<(SubjectUse, ExitStatus), Trouble> {
    let mut tree = TreeWatch::new(process.pid());
    let mut memory = None;
    let deadline = began + RUN_MAX;
    loop {
        let status = process.wait(LOOK);
        let now = Time::now();
        // Also after its end: what it started and reaped is on its account until it is reaped.
        let usage = tree.sample();
        if let Some(status) = status {
            let run = SubjectUse {
                cpu_ns: usage.cpu_ns,
                user_ns: usage.user_ns,
                system_ns: usage.system_ns,
                wait_ns: usage.wait_ns,
                wall_ns: now.since(began),
                memory_peak_bytes: memory,
                ..SubjectUse::default()
            };
            return Ok((run, status));
        }
        memory = memory.max(peak_bytes(process.pid()));
        if setting.stop.requested().is_some() {
            return Err(Trouble::Stopped);
        }
        if now >= deadline {
            let what = format!("didn't finish within {} s", RUN_MAX.as_secs());
            return Err(Trouble::Failed(what, process.last_lines()));
        }
    }
}
