//! What is done to a subject from outside while it serves: it, a worker of it or a companion is
//! killed, stopped, sent a signal, robbed of its processor, and started again where it was.
//!
//! Knows nothing of when or why.

use std::fmt;
use std::mem;
use std::time::Duration;

use measure::process::{cpu_ns, tree};
use measure::time::{Time, sleep_until};
use rustix::process::Signal;
use serde::Deserialize;
use supervisor::companion;
use supervisor::live::{Live, Served, port_taken, start, wait_until_ready};
use supervisor::process::{GRACE, LOOK_AGAIN, Launch, Process, send};
use supervisor::proxy;
use supervisor::setting::{Setting, Trouble, surroundings};
use supervisor::subject::{Subject, Values};
use supervisor::watch::{Joined, Watch};

/// How long a port may stay taken after whoever had it was killed: the sockets of an io_uring are
/// closed some time after the process has ended.
const PORT_FREED: Duration = Duration::from_secs(10);
/// Computes and does nothing else.
const BURN: &str = "while :; do :; done";

/// Whom something is done to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Whom {
    /// The subject: a signal goes to its first process, all else to all of its processes.
    Subject,
    /// Of the subject's processes that have started no other, the one that has worked the most.
    Worker,
    /// What stands beside it under this name.
    Companion(String),
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Whom::Subject => f.write_str("the subject"),
            Whom::Worker => f.write_str("a worker"),
            Whom::Companion(name) => f.write_str(name),
        }
    }
}

/// A signal by which a server is asked for something (signal(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Name {
    /// Mostly: read the configuration again.
    #[serde(alias = "SIGHUP")]
    Hup,
    /// Mostly: end when what is under way has ended.
    #[serde(alias = "SIGQUIT")]
    Quit,
    /// End.
    #[serde(alias = "SIGTERM")]
    Term,
    /// Mostly: open log files again, or read the configuration.
    #[serde(alias = "SIGUSR1")]
    Usr1,
    /// Mostly: start a new program in the place of this one.
    #[serde(alias = "SIGUSR2")]
    Usr2,
    /// Mostly: let workers end.
    #[serde(alias = "SIGWINCH")]
    Winch,
}

impl Name {
    /// The name without `SIG`.
    pub fn word(self) -> &'static str {
        match self {
            Name::Hup => "HUP",
            Name::Quit => "QUIT",
            Name::Term => "TERM",
            Name::Usr1 => "USR1",
            Name::Usr2 => "USR2",
            Name::Winch => "WINCH",
        }
    }

    /// Whether it asks for an end, which may take a while.
    pub fn ends(self) -> bool {
        matches!(self, Name::Quit | Name::Term)
    }

    fn signal(self) -> Signal {
        match self {
            Name::Hup => Signal::HUP,
            Name::Quit => Signal::QUIT,
            Name::Term => Signal::TERM,
            Name::Usr1 => Signal::USR1,
            Name::Usr2 => Signal::USR2,
            Name::Winch => Signal::WINCH,
        }
    }
}

/// A subject that was started here and serves, with all that it takes to start it again.
#[derive(Debug)]
pub struct Started<'a> {
    process: &'a mut Process,
    /// Who led it at the last look.
    leader: u32,
    values: &'a Values,
    subject: &'a Subject,
    setting: &'a Setting<'a>,
}

/// What intervening takes, apart from what watches meanwhile. None of a server that ran before:
/// that is nobody's to kill.
pub fn apart<'a>(
    live: &'a mut Live,
    subject: &'a Subject,
    setting: &'a Setting<'a>,
) -> (&'a mut Watch, Option<Started<'a>>) {
    let started = match &mut live.process {
        Served::Started(process) => Some(Started {
            leader: process.leader(),
            process,
            values: &live.values,
            subject,
            setting,
        }),
        Served::Running(_) => None,
    };
    (&mut live.watch, started)
}

/// Processes that were stopped. They go on when this is dropped.
#[derive(Debug)]
pub struct Stopped(Vec<u32>);

impl Drop for Stopped {
    fn drop(&mut self) {
        self.0.iter().for_each(|pid| send(*pid, Signal::CONT));
    }
}

/// Processes that do nothing but compute. They end when this is dropped.
#[derive(Debug)]
pub struct Burners(Vec<Process>);

impl Drop for Burners {
    fn drop(&mut self) {
        for process in &mut self.0 {
            process.kill();
        }
    }
}

impl Started<'_> {
    /// Kills somebody and everything that it started.
    ///
    /// # Errors
    /// The end of a sentence about the subject: why there was nobody to kill.
    pub fn kill(&mut self, whom: &Whom) -> Result<(), String> {
        if *whom == Whom::Worker {
            send(self.worker()?, Signal::KILL);
            return Ok(());
        }
        let left = self.alive(whom)?.kill();
        match left.is_empty() {
            true => Ok(()),
            false => Err(format!("couldn't be killed: {left:?} are still there")),
        }
    }

    /// Stops somebody and everything that it started, until what is returned is dropped.
    ///
    /// # Errors
    /// The end of a sentence about the subject: why there was nobody to stop.
    pub fn stop(&mut self, whom: &Whom) -> Result<Stopped, String> {
        let stopped = Stopped(match whom {
            Whom::Worker => vec![self.worker()?],
            _ => self.alive(whom)?.members(),
        });
        stopped.0.iter().for_each(|pid| send(*pid, Signal::STOP));
        Ok(stopped)
    }

    /// Sends a signal to the first process of somebody, who may leave its place to another.
    ///
    /// # Errors
    /// The end of a sentence about the subject: why there was nobody to send it to.
    pub fn signal(&mut self, whom: &Whom, name: Name) -> Result<(), String> {
        if *whom == Whom::Worker {
            send(self.worker()?, name.signal());
            return Ok(());
        }
        let process = self.alive(whom)?;
        process.may_hand_over();
        send(process.leader(), name.signal());
        Ok(())
    }

    /// Who leads the subject, if that is another one than at the last look: a signal may have it
    /// leave its place to another.
    pub fn successor(&mut self) -> Option<Joined> {
        let leader = self.process.leader();
        let is_new = leader != self.leader;
        self.leader = leader;
        is_new.then(|| Joined::successor(self.process, leader))
    }

    /// Whether nobody is left of it who could serve.
    pub fn has_ended(&mut self, whom: &Whom) -> bool {
        let process = self.process(whom);
        process.is_none_or(|process| process.ended_in_words().is_some())
    }

    /// Starts processes that compute, one on each of the subject's cores.
    ///
    /// # Errors
    /// The end of a sentence about the subject: why they couldn't be started.
    pub fn burn(&self, joined: &mut dyn FnMut(Joined)) -> Result<Burners, String> {
        let mut burners = Burners(Vec::new());
        for core in &self.setting.placement.server {
            let launch = Launch {
                program: "/bin/sh".into(),
                arguments: vec!["-c".into(), BURN.into()],
                environment: surroundings(),
                folder: &self.values.dir,
                log: &self.values.dir.join("burner.log"),
                cores: &[*core],
            };
            let process = Process::start(&launch).map_err(|error| {
                format!("couldn't be robbed of its cores: /bin/sh doesn't start: {error}")
            })?;
            joined(Joined::beside(&process));
            burners.0.push(process);
        }
        Ok(burners)
    }

    /// Starts somebody who was killed or has ended, where it was, and waits until it is ready.
    /// The subject's companions stay as they are; a companion finds its files as it left them.
    ///
    /// # Errors
    /// Why it isn't ready, or that somebody asked to stop.
    pub fn start_again(&mut self, whom: &Whom) -> Result<Joined, Trouble> {
        match whom {
            Whom::Companion(name) => self.start_companion(name).map_err(|trouble| {
                let whose = format!("its companion {name} {COULD_NOT_START}");
                because(&whose, trouble)
            }),
            Whom::Subject | Whom::Worker => {
                let started = self.start_subject();
                started.map_err(|trouble| because(COULD_NOT_START, trouble))
            }
        }
    }

    fn start_subject(&mut self) -> Result<Joined, Trouble> {
        let companions = self.process.let_companions_go();
        self.process.end(GRACE);
        let (subject, values, setting) = (self.subject, self.values, self.setting);
        let started = when_port_is_free(setting, || {
            let mut process = start(subject, values, &setting.placement.server)?;
            match wait_until_ready(subject, values.port, &mut process, setting.stop) {
                Ok(()) => Ok(process),
                Err(trouble) => {
                    process.end(GRACE);
                    Err(trouble)
                }
            }
        });
        if let Ok(process) = started {
            let joined = Joined::subject(&process);
            self.leader = process.pid();
            *self.process = process;
            self.process.accompany(companions);
            return Ok(joined);
        }
        // They end with what is left of the subject, as always.
        self.process.accompany(companions);
        started.map(|process| Joined::subject(&process))
    }

    fn start_companion(&mut self, name: &str) -> Result<Joined, Trouble> {
        let (place, values, setting) = (self.place(name), self.values, self.setting);
        let companions = &self.subject.companions;
        let Some((place, companion)) = place.and_then(|at| Some((at, companions.get(at)?))) else {
            return Err(Trouble::Failed("isn't there".to_owned(), Vec::new()));
        };
        if let Some(process) = self.process.companion(place) {
            process.end(GRACE);
        }
        let start = || companion::start_again(companion, values, setting);
        let process = when_port_is_free(setting, start)?;
        let joined = Joined::companion(&process);
        if let Some(before) = self.process.companion(place) {
            drop(mem::replace(before, process));
        }
        Ok(joined)
    }

    /// Tells the proxy in front of somebody what to do.
    ///
    /// # Errors
    /// The end of a sentence about the subject: what came of it.
    pub fn tell_proxy(&mut self, whom: &Whom, orders: &[String]) -> Result<(), String> {
        let companions = &self.subject.companions;
        let until = match whom {
            Whom::Companion(name) => self.place(name).unwrap_or(companions.len()),
            Whom::Subject | Whom::Worker => companions.len(),
        };
        let before = companions[..until].iter().filter(|one| one.proxied).count();
        // They were started behind the companions, in the same order, and the subject's own last.
        let place = companions.len() + before;
        let Some(process) = self.process.companion(place) else {
            return Err(format!("has no fault proxy in front of {whom}"));
        };
        for order in orders {
            let told = proxy::tell(process, order);
            told.map_err(|what| format!("has a fault proxy in front of {whom}, which {what}"))?;
        }
        Ok(())
    }

    /// Where a companion of this name is among them.
    fn place(&self, name: &str) -> Option<usize> {
        let companions = &self.subject.companions;
        companions.iter().position(|one| one.name == name)
    }

    fn process(&mut self, whom: &Whom) -> Option<&mut Process> {
        match whom {
            Whom::Companion(name) => {
                let place = self.place(name)?;
                self.process.companion(place)
            }
            Whom::Subject | Whom::Worker => Some(self.process),
        }
    }

    /// Somebody who serves; else how it has ended, as the end of a sentence about the subject.
    fn alive(&mut self, whom: &Whom) -> Result<&mut Process, String> {
        let whose = match whom {
            Whom::Companion(name) => format!("has no companion {name} any more"),
            Whom::Subject | Whom::Worker => "had ended already".to_owned(),
        };
        let Some(process) = self.process(whom) else {
            return Err(whose);
        };
        match process.ended_in_words() {
            Some(how) => Err(format!("{whose}: {how}")),
            None => Ok(process),
        }
    }

    /// Of its processes that have started no other, the one that has worked the most.
    fn worker(&mut self) -> Result<u32, String> {
        let process = self.alive(&Whom::Worker)?;
        let (root, members) = (process.pid(), process.members());
        let is_leaf = |pid: &u32| *pid != root && tree(*pid) == [*pid];
        let workers = members.into_iter().filter(is_leaf);
        let most = workers.max_by_key(|pid| cpu_ns(*pid));
        most.ok_or_else(|| {
            "has no worker: it's a single process (remove `of = \"worker\"`)".to_owned()
        })
    }
}

/// What is said of somebody who doesn't come back.
const COULD_NOT_START: &str = "couldn't be started again";

fn because(what: &str, trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Failed(why, log) => Trouble::Failed(format!("{what}: it {why}"), log),
        Trouble::Stopped => Trouble::Stopped,
    }
}

/// Starts a program, again and again while its port still belongs to the one before it.
fn when_port_is_free(
    setting: &Setting<'_>,
    start: impl Fn() -> Result<Process, Trouble>,
) -> Result<Process, Trouble> {
    let deadline = Time::now() + PORT_FREED;
    loop {
        match start() {
            Err(Trouble::Failed(_, log)) if port_taken(&log) && Time::now() < deadline => {
                if setting.stop.requested().is_some() {
                    return Err(Trouble::Stopped);
                }
                sleep_until(Time::now() + 10 * LOOK_AGAIN);
            }
            result => return result,
        }
    }
}
