//! What a subject needs beside it: a database, a cache, a service to call. A companion is started
//! before the subject and ended after it, on cores of its own choice, and nothing that it uses is
//! on the subject's account.
//!
//! Knows nothing of what a companion does: that it is ready is all that is asked of it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::Duration;

use measure::time::Time;

use crate::cores::List;
use crate::process::{GRACE, LOOK_AGAIN, Launch, Process, ending};
use crate::proxy;
use crate::setting::{
    Setting, Trouble, free_port, ready_question, surroundings, wait_until_answered,
};
use crate::subject::companion::{Companion, Place, Side};
use crate::subject::{Command, Subject, Values};
use crate::watch::slow::SlowQueries;
use crate::workload::Protocol;

/// Starts a subject's companions, each when the one before can be used, then the proxies in front
/// of those that have one, and enters where they are into `values`. Where one fails, those before
/// it are ended.
pub(crate) fn raise(
    subject: &Subject,
    values: &mut Values,
    setting: &Setting<'_>,
) -> Result<Vec<Process>, Trouble> {
    let mut processes = Vec::new();
    let own = subject
        .companions
        .iter()
        .map(|companion| (companion, false));
    let proxied = subject
        .companions
        .iter()
        .filter(|companion| companion.proxied);
    for (companion, is_there) in own.chain(proxied.map(|companion| (companion, true))) {
        let raised = match is_there {
            false => raise_one(companion, values, setting),
            true => raise_proxy(companion, values, setting),
        };
        match raised {
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
    let dir = folder(companion, values);
    // Left over from a start before: what a database finds must not depend on which start it is.
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).map_err(|error| broken(format!("{}: {error}", dir.display())))?;
    let port = free_port().map_err(|error| broken(format!("there's no free port: {error}")))?;
    let starter = Starter::new(companion, values, port, setting);
    for command in &companion.prepare {
        starter.finish(command, starter.limit(), setting)?;
    }
    let process = starter.begin(setting)?;
    let place = Place {
        port,
        own_port: port,
        dir,
    };
    values.companions.insert(companion.name.clone(), place);
    Ok(process)
}

/// Starts a proxy in front of a companion that can be used, and has the subject go there.
fn raise_proxy(
    companion: &Companion,
    values: &mut Values,
    setting: &Setting<'_>,
) -> Result<Process, Trouble> {
    let name = &companion.name;
    let own_port = values
        .companions
        .get(name)
        .map_or(0, |place| place.own_port);
    let (process, port) = proxy::raise(name, own_port, &values.dir, setting)?;
    if let Some(place) = values.companions.get_mut(name) {
        place.port = port;
    }
    Ok(process)
}

/// Starts a companion that has ended once more: on its port, with the files that it left.
///
/// # Errors
/// Why it can't be used, or that somebody asked to stop.
pub fn start_again(
    companion: &Companion,
    values: &Values,
    setting: &Setting<'_>,
) -> Result<Process, Trouble> {
    let place = values.companions.get(&companion.name);
    let port = place.map_or(0, |place| place.own_port);
    Starter::new(companion, values, port, setting).begin(setting)
}

/// What counts the slow queries of all companions that say how they are counted.
pub(crate) fn slow_queries(
    subject: &Subject,
    values: &Values,
    setting: &Setting<'_>,
) -> Vec<SlowQueries> {
    let counted = |companion: &Companion| {
        let place = values.companions.get(&companion.name)?;
        let starter = Starter::new(companion, values, place.own_port, setting);
        let (program, arguments) = companion.slow.as_ref()?.fill(&starter.values);
        Some(SlowQueries {
            of: companion.name.clone(),
            program,
            arguments,
            environment: starter.environment(),
            folder: starter.values.dir.clone(),
            cores: starter.cores.to_vec(),
        })
    };
    subject.companions.iter().filter_map(counted).collect()
}

/// Where a companion of a subject with these values runs.
fn folder(companion: &Companion, values: &Values) -> PathBuf {
    values.dir.join("companions").join(&companion.name)
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
    values: Values,
    cores: &'a [usize],
}

impl<'a> Starter<'a> {
    /// Of one that listens on `port`, beside a subject with these `values`.
    fn new(
        companion: &'a Companion,
        values: &Values,
        port: u16,
        setting: &Setting<'a>,
    ) -> Starter<'a> {
        let cores = match companion.cores {
            Side::Generator => &setting.placement.generator,
            Side::Server => &setting.placement.server,
        };
        let values = Values {
            port,
            dir: folder(companion, values),
            cpus: List(cores).to_string(),
            ..values.clone()
        };
        Starter {
            companion,
            values,
            cores,
        }
    }

    /// How long it may take until it can be used.
    fn limit(&self) -> Duration {
        Duration::from_secs(self.companion.ready.within_seconds.into())
    }

    /// Starts it, and waits until it can be used.
    fn begin(&self, setting: &Setting<'_>) -> Result<Process, Trouble> {
        let mut process = self.start(&self.companion.command, "output.log")?;
        let ready = self.wait_until_ready(&mut process, self.limit(), setting);
        ready.inspect_err(|_| drop(process.end(GRACE)))?;
        Ok(process)
    }

    fn start(&self, command: &Command, log: &str) -> Result<Process, Trouble> {
        let (program, arguments) = command.fill(&self.values);
        let launch = Launch {
            program,
            arguments,
            environment: self.environment(),
            folder: &self.values.dir,
            log: &self.values.dir.join(log),
            cores: self.cores,
        };
        Process::start(&launch).map_err(|error| {
            let what = format!("can't be started with `{}`: {error}", launch.program);
            Trouble::Failed(what, Vec::new())
        })
    }

    fn environment(&self) -> BTreeMap<String, String> {
        let mut environment = surroundings();
        for (name, value) in &self.companion.environment {
            environment.insert(name.clone(), value.fill(&self.values));
        }
        environment
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
