//! What a subject needs beside it: a database, a cache, a service to call. A companion is started
//! before the subject and ended after it, on cores of its own choice, and nothing that it uses is
//! on the subject's account.
//!
//! Knows nothing of what a companion does: that it is ready is all that is asked of it.

use std::fs;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use measure::time::Time;

use crate::cores::List;
use crate::process::{GRACE, LOOK_AGAIN, Launch, Process, ending};
use crate::setting::{
    Setting, Trouble, free_port, ready_question, surroundings, wait_until_answered,
};
use crate::subject::companion::{Companion, Place, Side};
use crate::subject::{Command, Subject, Values};
use crate::workload::Protocol;

/// Starts a subject's companions, each when the one before can be used, and enters where they are
/// into `values`. Where one fails, those before it are ended.
pub(crate) fn raise(
    subject: &Subject,
    values: &mut Values,
    setting: &Setting<'_>,
) -> Result<Vec<Process>, Trouble> {
    let mut processes = Vec::new();
    for companion in &subject.companions {
        match raise_one(companion, values, setting) {
            Ok(process) => processes.push(process),
            Err(trouble) => {
                let mut begun = processes;
                while let Some(mut process) = begun.pop() {
                    process.end(GRACE);
                }
                return Err(match trouble {
                    Trouble::Failed(what, log) => {
                        Trouble::Failed(format!("needs {}, which {what}", companion.name), log)
                    }
                    Trouble::Stopped => Trouble::Stopped,
                });
            }
        }
    }
    Ok(processes)
}

fn raise_one(
    companion: &Companion,
    values: &mut Values,
    setting: &Setting<'_>,
) -> Result<Process, Trouble> {
    let broken = |what: String| Trouble::Failed(what, Vec::new());
    let dir = values.dir.join("companions").join(&companion.name);
    // Left over from a start before: what a database finds must not depend on which start it is.
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).map_err(|error| broken(format!("{}: {error}", dir.display())))?;
    let port = free_port().map_err(|error| broken(format!("there's no free port: {error}")))?;
    let cores = match companion.cores {
        Side::Generator => &setting.placement.generator,
        Side::Server => &setting.placement.server,
    };
    let own = Values {
        port,
        dir: dir.clone(),
        cpus: List(cores).to_string(),
        ..values.clone()
    };
    let starter = Starter {
        companion,
        values: &own,
        cores,
    };
    let limit = Duration::from_secs(companion.ready.within_seconds.into());
    for command in &companion.prepare {
        starter.finish(command, limit, setting)?;
    }
    let mut process = starter.start(&companion.command, "output.log")?;
    match starter.wait_until_ready(&mut process, limit, setting) {
        Ok(()) => {
            let place = Place { port, dir };
            values.companions.insert(companion.name.clone(), place);
            Ok(process)
        }
        Err(trouble) => {
            process.end(GRACE);
            Err(trouble)
        }
    }
}

/// Removes what the companions of a subject left in its run directory `dir`, a database's files
/// for instance, but for what they wrote down.
pub fn clear(dir: &Path) {
    if dir.as_os_str().is_empty() {
        return; // It was never made.
    }
    let folders = fs::read_dir(dir.join("companions")).into_iter().flatten();
    for companion in folders.flatten() {
        let left = fs::read_dir(companion.path()).into_iter().flatten();
        for path in left.flatten().map(|entry| entry.path()) {
            // What cannot be removed is in nobody's way: the next start tries again.
            let _ = match path.is_dir() {
                true => fs::remove_dir_all(&path),
                false if path.extension().is_some_and(|ending| ending == "log") => Ok(()),
                false => fs::remove_file(&path),
            };
        }
    }
}

/// How the commands of a companion are started.
struct Starter<'a> {
    companion: &'a Companion,
    values: &'a Values,
    cores: &'a [usize],
}

impl Starter<'_> {
    fn start(&self, command: &Command, log: &str) -> Result<Process, Trouble> {
        let (program, arguments) = command.fill(self.values);
        let mut environment = surroundings();
        for (name, value) in &self.companion.environment {
            environment.insert(name.clone(), value.fill(self.values));
        }
        let launch = Launch {
            program,
            arguments,
            environment,
            folder: &self.values.dir,
            log: &self.values.dir.join(log),
            cores: self.cores,
        };
        Process::start(&launch).map_err(|error| {
            let what = format!("can't be started with `{}`: {error}", launch.program);
            Trouble::Failed(what, Vec::new())
        })
    }

    /// Runs a command to its end, which has to be a success.
    fn finish(
        &self,
        command: &Command,
        limit: Duration,
        setting: &Setting<'_>,
    ) -> Result<(), Trouble> {
        let mut process = self.start(command, "prepare.log")?;
        let status = ended(&mut process, limit, setting)?;
        let lines = process.last_lines();
        process.end(GRACE);
        match status.success() {
            true => Ok(()),
            false => {
                let what = format!("failed to prepare: {}", ending(status));
                Err(Trouble::Failed(what, lines))
            }
        }
    }

    fn wait_until_ready(
        &self,
        process: &mut Process,
        limit: Duration,
        setting: &Setting<'_>,
    ) -> Result<(), Trouble> {
        let sign = &self.companion.ready;
        if let Some(path) = &sign.path {
            let question = ready_question(path, Protocol::Http1);
            let (tls, port) = (false, self.values.port);
            return wait_until_answered(&question, tls, port, limit, process, setting.stop);
        }
        let Some(command) = &sign.command else {
            return Ok(());
        };
        let deadline = Time::now() + limit;
        while Time::now() < deadline {
            let mut asking = self.start(command, "ready.log")?;
            let status = ended(&mut asking, limit, setting)?;
            asking.end(GRACE);
            if status.success() {
                return Ok(());
            }
            if let Some(status) = process.exited() {
                let what = format!("exited before it was ready: {}", ending(status));
                return Err(Trouble::Failed(what, process.last_lines()));
            }
            process.wait(LOOK_AGAIN);
        }
        let what = format!("wasn't ready within {} s", limit.as_secs());
        Err(Trouble::Failed(what, process.last_lines()))
    }
}

/// Waits for the end of a process: at most for `limit`, and while nobody asks to stop.
fn ended(
    process: &mut Process,
    limit: Duration,
    setting: &Setting<'_>,
) -> Result<ExitStatus, Trouble> {
    let deadline = Time::now() + limit;
    loop {
        if let Some(status) = process.wait(10 * LOOK_AGAIN) {
            return Ok(status);
        }
        if setting.stop.requested().is_some() {
            return Err(Trouble::Stopped);
        }
        if Time::now() >= deadline {
            let what = format!("didn't finish within {} s", limit.as_secs());
            return Err(Trouble::Failed(what, process.last_lines()));
        }
    }
}
