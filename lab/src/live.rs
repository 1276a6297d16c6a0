//! A subject that serves: started on its cores, ready, and verified, before anything is timed.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::schedule::Schedule;
use load::{Answer, Plan, Stop};
use measure::process::TreeWatch;
use measure::time::{Time, sleep_until};

use crate::build::search_path;
use crate::comparison::Workload;
use crate::cores::{List, Placement};
use crate::process::{LOOK_AGAIN, Launch, Process, ending};
use crate::subject::{Subject, Values};

/// How long one question may take before the lab asks again.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);
/// How often a port may turn out to be somebody else's.
const PORTS_TRIED_MAX: u32 = 3;
/// How much of a wrong answer is shown.
const SHOWN_CHARACTERS: usize = 80;

/// Why a subject does not serve, or no longer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// What went wrong, and the last lines that the subject wrote.
    Failed(String, Vec<String>),
    /// Somebody asked to stop.
    Stopped,
}

/// What all subjects of a comparison are started with.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) workload: &'a Workload,
    pub(crate) placement: &'a Placement,
    /// The generator's engine.
    pub(crate) engine: &'a str,
    pub(crate) seed: u64,
    /// The program that is running.
    pub(crate) ringside: &'a Path,
    pub(crate) stop: &'a Stop,
}

impl Setting<'_> {
    /// What the placeholders stand for before there is a port.
    pub(crate) fn values(&self, subject: &Subject) -> Values {
        Values {
            cpus: List(&self.placement.server).to_string(),
            subject: subject.folder.clone(),
            ringside: self.ringside.to_owned(),
            ..Values::default()
        }
    }

    /// The load on the subject at `port`: its window is measured.
    fn plan(&self, port: u16) -> Result<Plan, String> {
        let workload = self.workload;
        let path = workload.path.get_ref().as_str();
        let mut plan = Plan::new(&format!("http://127.0.0.1:{port}{path}"))
            .map_err(|invalid| invalid.to_string())?;
        plan.connections = workload.connections.get();
        plan.cpus = self.placement.generator.clone();
        plan.threads = (plan.cpus.len() as u32).min(plan.connections);
        plan.pipeline = workload.pipeline.get();
        plan.duration_s = Some(workload.window.as_secs_f64());
        plan.warm_up_s = workload.settle.as_secs_f64();
        plan.timeout_s = workload.timeout.as_secs_f64();
        plan.engine = self.engine.to_owned();
        plan.seed = self.seed;
        if let Some(rate) = workload.rate {
            plan.schedule = Schedule::Poisson { rate };
        }
        Ok(plan)
    }
}

/// A subject that serves.
#[derive(Debug)]
pub(crate) struct Live {
    pub(crate) process: Process,
    pub(crate) watch: TreeWatch,
    /// The load of one round.
    pub(crate) plan: Plan,
    /// What it answered to the workload's path.
    pub(crate) answer: Answer,
}

impl Live {
    /// Starts a subject in the run directory `dir`, waits until it is ready, and verifies each
    /// answer that it declares.
    pub(crate) fn raise(
        subject: &Subject,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
    ) -> Result<Live, Trouble> {
        let mut tried = 1;
        loop {
            match Live::raise_once(subject, build, dir, setting) {
                // The port was free a moment ago; somebody else was quicker.
                Err(Trouble::Failed(_, log)) if tried < PORTS_TRIED_MAX && port_taken(&log) => {
                    tried += 1;
                }
                result => return result,
            }
        }
    }

    fn raise_once(
        subject: &Subject,
        build: &Path,
        dir: &Path,
        setting: &Setting<'_>,
    ) -> Result<Live, Trouble> {
        let broken = |what: String| Trouble::Failed(what, Vec::new());
        let port = free_port().map_err(|error| broken(format!("no free port: {error}")))?;
        let plan = setting.plan(port).map_err(broken)?;
        plan.validate()
            .map_err(|invalid| broken(invalid.to_string()))?;
        let values = Values {
            port,
            dir: dir.to_owned(),
            build: build.to_owned(),
            ..setting.values(subject)
        };
        write_files(subject, &values).map_err(broken)?;
        let mut process = start(subject, &values, &setting.placement.server)?;
        let verified = wait_until_ready(subject, &mut process, &plan, setting.stop)
            .and_then(|()| verify(subject, &mut process, &plan));
        match verified {
            Ok(answer) => Ok(Live {
                watch: TreeWatch::new(process.pid()),
                process,
                plan,
                answer,
            }),
            Err(trouble) => {
                process.end(crate::process::GRACE);
                Err(trouble)
            }
        }
    }

    /// What happened to it, if it has ended by itself.
    pub(crate) fn death(&mut self, when: &str) -> Option<Trouble> {
        let status = self.process.exited()?;
        let what = format!("died {when}: {}", ending(status));
        Some(Trouble::Failed(what, self.process.last_lines()))
    }
}

fn port_taken(log: &[String]) -> bool {
    log.iter().any(|line| {
        let line = line.to_ascii_lowercase();
        line.contains("address already in use") || line.contains("eaddrinuse")
    })
}

/// A port that nobody listens on now: the kernel's choice for port 0.
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}

fn write_files(subject: &Subject, values: &Values) -> Result<(), String> {
    for file in &subject.start.files {
        let from = subject.folder.join(file.as_str());
        let to = values.dir.join(file.as_str());
        let text =
            fs::read_to_string(&from).map_err(|error| format!("{}: {error}", from.display()))?;
        fs::write(&to, values.fill(&text)).map_err(|error| format!("{}: {error}", to.display()))?;
    }
    Ok(())
}

fn start(subject: &Subject, values: &Values, cores: &[usize]) -> Result<Process, Trouble> {
    let (program, arguments) = subject.start.command.fill(values);
    let log: PathBuf = values.dir.join("output.log");
    let launch = Launch {
        arguments,
        environment: environment(subject, values),
        folder: &values.dir,
        log: &log,
        cores,
        program,
    };
    Process::start(&launch).map_err(|error| {
        Trouble::Failed(
            format!("`{}` could not be started: {error}", launch.program),
            Vec::new(),
        )
    })
}

/// The environment of a subject: small and the same for all, since its size alone moves results
/// (Mytkowicz et al., "Producing wrong data without doing anything obviously wrong!", 2009).
pub(crate) fn environment(subject: &Subject, values: &Values) -> BTreeMap<String, String> {
    let mut environment = BTreeMap::new();
    for name in ["HOME", "USER", "LANG", "TMPDIR"] {
        if let Ok(value) = env::var(name) {
            environment.insert(name.to_owned(), value);
        }
    }
    environment.insert("PATH".into(), search_path().to_string_lossy().into_owned());
    for (name, value) in &subject.start.environment {
        environment.insert(name.clone(), value.fill(values));
    }
    environment
}

fn wait_until_ready(
    subject: &Subject,
    process: &mut Process,
    plan: &Plan,
    stop: &Stop,
) -> Result<(), Trouble> {
    let plan = asking(plan, subject.ready.path.as_str());
    let limit = Duration::from_secs(subject.ready.within_seconds.into());
    let deadline = Time::now() + limit;
    loop {
        let left = deadline - Time::now();
        let refused = match load::probe(&plan, PROBE_TIMEOUT.min(left.max(LOOK_AGAIN))) {
            Ok(_) => return Ok(()),
            Err(error) => error,
        };
        if let Some(status) = process.exited() {
            let what = format!("ended before it was ready: {}", ending(status));
            return Err(Trouble::Failed(what, process.last_lines()));
        }
        if stop.requested().is_some() {
            return Err(Trouble::Stopped);
        }
        if Time::now() >= deadline {
            let what = format!("was not ready within {} s: {refused}", limit.as_secs());
            return Err(Trouble::Failed(what, process.last_lines()));
        }
        sleep_until(Time::now() + LOOK_AGAIN);
    }
}

fn asking(plan: &Plan, path: &str) -> Plan {
    let mut plan = plan.clone();
    plan.target.path = path.to_owned();
    plan
}

/// Asks for every declared answer. Returns the one to the workload's path.
fn verify(subject: &Subject, process: &mut Process, plan: &Plan) -> Result<Answer, Trouble> {
    let mut kept = None;
    for expected in &subject.answers {
        let path = expected.path.as_str();
        let wrong = |what: String, process: &Process| {
            Trouble::Failed(format!("answers `{path}` {what}"), process.last_lines())
        };
        let answer = match load::probe(&asking(plan, path), PROBE_TIMEOUT) {
            Ok(answer) => answer,
            Err(error) => return Err(wrong(format!("with no answer at all: {error}"), process)),
        };
        if answer.status != expected.status {
            let what = format!(
                "with status {}; expected {}",
                answer.status, expected.status
            );
            return Err(wrong(what, process));
        }
        let content_type =
            String::from_utf8_lossy(answer.field("content-type").unwrap_or_default()).into_owned();
        if let Some(wanted) = &expected.content_type
            && *wanted != content_type
        {
            let what = format!("as `{}`; expected `{wanted}`", shown(&content_type));
            return Err(wrong(what, process));
        }
        if answer.body != expected.body.as_bytes() {
            let body = String::from_utf8_lossy(&answer.body);
            let what = format!(
                "with `{}`; expected `{}`",
                shown(&body),
                shown(&expected.body)
            );
            return Err(wrong(what, process));
        }
        if path == plan.target.path {
            kept = Some(answer);
        }
    }
    // `Comparison::read` refuses a workload whose path a subject does not declare.
    kept.ok_or_else(|| {
        let what = format!("declares no answer to `{}`", plan.target.path);
        Trouble::Failed(what, Vec::new())
    })
}

/// The beginning of a text, fit for a sentence.
fn shown(text: &str) -> String {
    let mut shown: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(SHOWN_CHARACTERS)
        .collect();
    if text.chars().count() > SHOWN_CHARACTERS {
        shown.push('…');
    }
    shown
}
