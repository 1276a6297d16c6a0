//! What a process in a private network leaves to the one that started it, which is still in the
//! host's: running the commands of builds, since they download; asking programs for their versions,
//! since some complain about a host without network cards; and deciding whether the cache of builds
//! can be trusted, since a user namespace doesn't show who owns what.
//!
//! The two talk over a socket, a line of JSON for each message. The outer one also passes on that
//! somebody asks to stop: a message can be passed on twice, while a second SIGINT means something
//! else than the first. A process that nobody put into a private network does everything itself.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use load::{Signal, Stop};
use measure::time::{Time, sleep_until};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::process::{GRACE, LOOK_AGAIN, Launch, Process, ending};
use netns::namespace::Refused;

/// What the process inside says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Inside {
    /// It is in a private network, and goes on there.
    Entered,
    /// It could not get there, and ends.
    Refused(Refused),
    /// Make this folder of builds, if it is not there, and say whether it can be trusted.
    Open(PathBuf),
    /// Say whether this folder of builds is there and can be trusted.
    There(PathBuf),
    /// Run this command to its end.
    Run(Command),
    /// Run this command, which answers a question, and say what it wrote.
    Ask(Command),
    /// End the command that runs.
    Stop,
}

/// What the process outside says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outside {
    /// To [`Inside::Open`]: the folder without a link in its path, or what is wrong with it.
    Opened(Result<PathBuf, String>),
    /// To [`Inside::There`]: the same, or nothing.
    There(Option<PathBuf>),
    /// To [`Inside::Run`]: how it ended.
    Ran(Ended),
    /// To [`Inside::Ask`]: the last lines that it wrote.
    Answered(Vec<String>),
    /// Somebody asks to stop.
    Stop {
        /// By SIGINT, and not by SIGTERM.
        interrupt: bool,
    },
}

/// A command of a build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// The program.
    pub program: String,
    /// What it is given.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// Its working directory.
    pub folder: PathBuf,
    /// Where its output goes.
    pub log: PathBuf,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ended {
    /// It did what it should.
    Well,
    /// It failed; why, and the last lines that it wrote.
    Badly(String, Vec<String>),
    /// Somebody asked to stop.
    Stopped,
}

impl Command {
    fn launch(&self) -> Launch<'_> {
        Launch {
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            folder: &self.folder,
            log: &self.log,
            cores: &[],
        }
    }

    /// Starts it here; how it ended, if it can't be.
    ///
    /// # Errors
    /// The sentence that says why.
    pub fn start(&self) -> Result<Running, Ended> {
        let words = format!("{} {}", self.program, self.arguments.join(" "));
        match Process::start(&self.launch()) {
            Ok(process) => Ok(Running { process, words }),
            Err(error) => {
                let what = format!("can't run `{words}`: {error}");
                Err(Ended::Badly(what, Vec::new()))
            }
        }
    }

    /// Runs it to its end, in the host's network.
    pub fn run(&self, stop: &Stop) -> Ended {
        match LINK.get() {
            Some(link) => link.run(self, stop),
            None => self.run_here(stop),
        }
    }

    /// Runs it, in the host's network, to its end or for as long as an answer may take. The last
    /// lines that it wrote.
    pub fn answer(&self) -> Vec<String> {
        match LINK.get().map(|link| link.ask(&Inside::Ask(self.clone()))) {
            Some(Ok(Outside::Answered(lines))) => lines,
            Some(_) => Vec::new(),
            None => Process::to_its_end(&self.launch())
                .map(|process| process.last_lines())
                .unwrap_or_default(),
        }
    }

    fn run_here(&self, stop: &Stop) -> Ended {
        let mut running = match self.start() {
            Ok(running) => running,
            Err(ended) => return ended,
        };
        loop {
            if let Some(ended) = running.ended() {
                return ended;
            }
            if stop.requested().is_some() {
                return running.stop();
            }
            sleep_until(Time::now() + LOOK_AGAIN);
        }
    }
}

/// A command that runs; it ends with its owner.
#[derive(Debug)]
pub struct Running {
    process: Process,
    words: String,
}

impl Running {
    /// How it ended, if it has. Ends what it left behind.
    pub fn ended(&mut self) -> Option<Ended> {
        let status = self.process.exited()?;
        let lines = self.process.last_lines();
        self.process.end(GRACE);
        Some(match status.success() {
            true => Ended::Well,
            false => Ended::Badly(format!("`{}`: {}", self.words, ending(status)), lines),
        })
    }

    /// Ends it.
    pub fn stop(&mut self) -> Ended {
        self.process.end(GRACE);
        Ended::Stopped
    }
}

/// The way to the process outside, if this one is inside.
static LINK: OnceLock<Link> = OnceLock::new();

/// From the inside to the process outside.
#[derive(Debug)]
pub struct Link {
    socket: UnixStream,
    answers: Mutex<Receiver<Outside>>,
}

/// From now on this process is one inside, and whoever holds the other end of `socket` the one
/// outside. `stop` is requested when that one says so.
///
/// # Errors
/// If the socket can't be shared with the thread that listens.
pub fn attach(socket: UnixStream, stop: Stop) -> io::Result<()> {
    let (sender, answers) = channel();
    let ear = socket.try_clone()?;
    thread::Builder::new()
        .name("outside".to_owned())
        .spawn(move || {
            // The end of the process outside is that of this one, and no matter of the socket.
            let _ = listen(ear, |said| match said {
                Outside::Stop { interrupt: true } => stop.request(Signal::Interrupt),
                Outside::Stop { interrupt: false } => stop.request(Signal::Terminate),
                answer => {
                    let _ = sender.send(answer);
                }
            });
        })?;
    let answers = Mutex::new(answers);
    tell(&socket, &Inside::Entered)?;
    let _ = LINK.set(Link { socket, answers });
    Ok(())
}

/// The process outside, if this one is inside.
pub(crate) fn link() -> Option<&'static Link> {
    LINK.get()
}

impl Link {
    /// Has a folder of builds made and judged.
    pub(crate) fn open(&self, folder: &Path) -> Result<PathBuf, String> {
        match self.ask(&Inside::Open(folder.to_owned())) {
            Ok(Outside::Opened(opened)) => opened,
            other => Err(misunderstood(other)),
        }
    }

    /// Has a folder of builds judged.
    pub(crate) fn there(&self, folder: &Path) -> Option<PathBuf> {
        match self.ask(&Inside::There(folder.to_owned())) {
            Ok(Outside::There(there)) => there,
            _ => None,
        }
    }

    fn run(&self, command: &Command, stop: &Stop) -> Ended {
        let answers = self.answers();
        let mut told = false;
        let mut said = tell(&self.socket, &Inside::Run(command.clone()));
        while said.is_ok() {
            match answers.recv_timeout(LOOK_AGAIN) {
                Ok(Outside::Ran(ended)) => return ended,
                Ok(other) => return Ended::Badly(misunderstood(Ok(other)), Vec::new()),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if stop.requested().is_some() && !told => {
                    told = true;
                    said = tell(&self.socket, &Inside::Stop);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        Ended::Badly(misunderstood(Err(gone())), Vec::new())
    }

    fn ask(&self, question: &Inside) -> io::Result<Outside> {
        let answers = self.answers();
        tell(&self.socket, question)?;
        answers.recv().map_err(|_| gone())
    }

    fn answers(&self) -> MutexGuard<'_, Receiver<Outside>> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn gone() -> io::Error {
    io::Error::new(io::ErrorKind::BrokenPipe, "it is gone")
}

fn misunderstood(answer: io::Result<Outside>) -> String {
    let why = match answer {
        Ok(answer) => format!("an unexpected answer, {answer:?}"),
        Err(error) => error.to_string(),
    };
    format!("the ringside process outside of the private network can't be asked: {why}")
}

/// Sends a message.
///
/// # Errors
/// If nobody holds the other end.
pub fn tell(mut socket: &UnixStream, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    socket.write_all(&line)
}

/// Reads messages until the other end is closed.
///
/// # Errors
/// If the socket can't be read, or says what is no message.
pub fn listen<M: DeserializeOwned>(socket: UnixStream, mut hear: impl FnMut(M)) -> io::Result<()> {
    for line in BufReader::new(socket).lines() {
        hear(serde_json::from_str(&line?)?);
    }
    Ok(())
}
