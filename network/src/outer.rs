//! The process outside. It sleeps until the one inside wants a build, until somebody asks to stop,
//! or until the one inside has ended, and then ends in the same way.

use std::env;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::time::Duration;

use engine::Listening;
use engine::signal::{Signal, Stop};
use netns::namespace::Refused;
use nix::sys::signal;
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Resource, Rlimit, getpid, pidfd_open, setrlimit};
use supervisor::cache::Cache;
use supervisor::outside::{self, Ended, Inside, Outside, Running};

use super::inner::{ITSELF, Origin, Stage, mark};
use super::signals;
use exit::Exit;

/// How often it is looked whether a build has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How often it is looked whether the process inside has, on kernels that don't tell.
const LOOK_SELDOM: Duration = Duration::from_millis(100);
/// How long it may take to say whether a private network can be had.
const ATTEMPT: Duration = Duration::from_secs(10);

/// What became of the process inside.
pub(super) enum Ran {
    /// It has ended, and this is how.
    Done(Exit),
    /// It could not enter a private network, and has done nothing. Somebody may have asked to stop.
    Refused(Refused, Option<Signal>),
}

/// Starts this program once more, inside, with a socket for a page, if there's to be one, and stays
/// until it has ended. Signals are blocked then.
pub(super) fn run(page: Option<Listening>) -> Ran {
    let started = signals::block().and_then(|()| Attendant::start(page));
    let ended = match started {
        Ok(attendant) => attendant.attend(),
        Err(error) => {
            let what = format!("A process for it can't be started: {error}. Mount /proc.");
            return Ran::Refused(Refused(what), None);
        }
    };
    ended.unwrap_or_else(|error| {
        output::terminal::say(&format!(
            "ringside: lost the process in the private network: {error}"
        ));
        Ran::Done(Exit::Failed)
    })
}

/// Whether a private network can be had, as a process of its own finds out.
pub(super) fn attempt() -> Result<(), Refused> {
    let failed = |error: io::Error| Refused(format!("A process for it can't be run: {error}."));
    let text = || {
        let (mut socket, theirs) = UnixStream::pair()?;
        socket.set_read_timeout(Some(ATTEMPT))?;
        let mut command = Command::new(ITSELF);
        command.arg(mark(
            Stage::Try,
            Origin {
                outer: getpid(),
                page: None,
            },
        ));
        let child = Inner(command.stdin(OwnedFd::from(theirs)).spawn()?);
        // Its end is the end of what it says.
        drop(command);
        let mut text = String::new();
        let read = socket.read_to_string(&mut text);
        drop(child);
        read.map(|_| text)
    };
    match serde_json::from_str(&text().map_err(failed)?) {
        Ok(Inside::Entered) => Ok(()),
        Ok(Inside::Refused(refused)) => Err(refused),
        _ => Err(failed(io::Error::other("it said nothing"))),
    }
}

/// Looks after the process inside.
struct Attendant {
    child: Inner,
    signals: SignalFd,
    /// Has the signals that came while they were let through.
    stop: Stop,
    socket: UnixStream,
    /// What it has said of a line that is not over yet.
    said: Vec<u8>,
    /// It has closed its end.
    silent: bool,
    entered: bool,
    refused: Option<Refused>,
    /// The first that asked to stop, and whether SIGINT was among them.
    asked: Option<Signal>,
    interrupted: bool,
    /// A command that it wants to be run.
    running: Option<Running>,
    /// The socket for a page, until the one inside has it for itself.
    page: Option<Listening>,
}

/// The process inside; killed when it is dropped, unless it has ended.
struct Inner(Child);

impl Drop for Inner {
    fn drop(&mut self) {
        // Both fail where it has ended already, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Attendant {
    fn start(page: Option<Listening>) -> io::Result<Attendant> {
        let stop = Stop::on_signals()?;
        let flags = SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC;
        let signals = SignalFd::with_flags(&signals::handled(), flags)?;
        let (socket, theirs) = UnixStream::pair()?;
        socket.set_nonblocking(true)?;
        let mut words = env::args_os();
        let name = words.next().unwrap_or_else(|| "ringside".into());
        // Unlike the one that is kept, this one is inherited, by that process alone.
        let handed = page.as_ref().map(rustix::io::dup).transpose()?;
        let origin = Origin {
            outer: getpid(),
            page: handed.as_ref().map(AsRawFd::as_raw_fd),
        };
        // It is in the same group of processes, so that a terminal stops and continues both.
        let child = Command::new(ITSELF)
            .arg0(name)
            .arg(mark(Stage::Enter, origin))
            .args(words)
            .stdin(OwnedFd::from(theirs))
            .spawn()?;
        drop(handed);
        Ok(Attendant {
            child: Inner(child),
            signals,
            stop,
            socket,
            said: Vec::new(),
            silent: false,
            entered: false,
            refused: None,
            asked: None,
            interrupted: false,
            running: None,
            page,
        })
    }

    fn attend(mut self) -> io::Result<Ran> {
        let end = pidfd_open(Pid::from_child(&self.child.0), PidfdFlags::empty()).ok();
        loop {
            self.sleep(end.as_ref())?;
            if self.pass_signals_on()? {
                // Who asks twice does not want to wait: dropped, it is killed.
                return Ok(Ran::Done(Exit::Stopped(Signal::Interrupt)));
            }
            // What it said before it ended is in the socket by then.
            let ended = self.child.0.try_wait()?;
            self.hear()?;
            if let Some(status) = ended {
                return Ok(self.ended(status));
            }
            if let Some(ended) = self.running.as_mut().and_then(Running::ended) {
                self.running = None;
                self.tell(&Outside::Ran(ended));
            }
        }
    }

    /// Sleeps until something happens.
    fn sleep(&self, end: Option<&OwnedFd>) -> io::Result<()> {
        let mut watched = vec![PollFd::from_borrowed_fd(
            self.signals.as_fd(),
            PollFlags::IN,
        )];
        if !self.silent {
            watched.push(PollFd::new(&self.socket, PollFlags::IN));
        }
        // Readable when the process has exited (pidfd_open(2)).
        watched.extend(end.map(|end| PollFd::new(end, PollFlags::IN)));
        let limit = match (&self.running, end) {
            (Some(_), _) => Some(LOOK_AGAIN),
            (None, None) => Some(LOOK_SELDOM),
            (None, Some(_)) => None,
        };
        let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
        match poll(&mut watched, limit.as_ref()) {
            // It was stopped by a terminal, and goes on.
            Err(rustix::io::Errno::INTR) => Ok(()),
            other => other.map(drop).map_err(io::Error::from),
        }
    }

    /// Tells the process inside who asks to stop. A terminal has told it, too, which makes no
    /// difference to it: it counts signals, and this is a message. Whether SIGINT came twice.
    fn pass_signals_on(&mut self) -> io::Result<bool> {
        while let Some(signal) = self.signals.read_signal()? {
            let interrupt = signal.ssi_signo == signal::SIGINT as u32;
            if interrupt && self.interrupted {
                return Ok(true);
            }
            self.pass_on(match interrupt {
                true => Signal::Interrupt,
                false => Signal::Terminate,
            });
        }
        if let (Some(signal), None) = (self.stop.requested(), self.asked) {
            self.pass_on(signal);
        }
        Ok(false)
    }

    fn pass_on(&mut self, signal: Signal) {
        let interrupt = signal == Signal::Interrupt;
        self.interrupted |= interrupt;
        self.asked.get_or_insert(signal);
        self.tell(&Outside::Stop { interrupt });
    }

    /// Listens to what it has to say.
    fn hear(&mut self) -> io::Result<()> {
        let mut buffer = [0; 4096];
        while !self.silent {
            match (&self.socket).read(&mut buffer) {
                Ok(0) => self.silent = true,
                Ok(length) => self.said.extend(&buffer[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // It was killed with something of ours unread.
                Err(error) if error.kind() == ErrorKind::ConnectionReset => self.silent = true,
                Err(error) => return Err(error),
            }
        }
        while let Some(end) = self.said.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.said.drain(..=end).collect();
            self.answer(serde_json::from_slice(&line)?);
        }
        Ok(())
    }

    fn answer(&mut self, said: Inside) {
        match said {
            Inside::Entered => (self.entered, self.page) = (true, None),
            Inside::Refused(refused) => self.refused = Some(refused),
            Inside::Open(folder) => {
                let opened = Cache::new(Some(&folder)).open();
                self.tell(&Outside::Opened(opened));
            }
            Inside::There(folder) => {
                let there = Cache::new(Some(&folder)).there();
                self.tell(&Outside::There(there));
            }
            Inside::Run(command) => match signals::let_through(|| command.start()) {
                Ok(running) => self.running = Some(running),
                Err(ended) => self.tell(&Outside::Ran(ended)),
            },
            Inside::Ask(command) => {
                let lines = signals::let_through(|| command.answer());
                self.tell(&Outside::Answered(lines));
            }
            Inside::Stop => {
                // If it has ended meanwhile, its end is an answer, too, and on its way.
                if let Some(mut running) = self.running.take() {
                    running.stop();
                    self.tell(&Outside::Ran(Ended::Stopped));
                }
            }
        }
    }

    fn tell(&self, message: &Outside) {
        // If nobody is there to hear it, that it has ended is next to be seen.
        let _ = outside::tell(&self.socket, message);
    }

    /// How it ended is how this process ends.
    fn ended(self, status: ExitStatus) -> Ran {
        if let Some(refused) = self.refused {
            return Ran::Refused(refused, self.asked);
        }
        match (status.code(), status.signal()) {
            _ if !self.entered => {
                let what = format!("The process that should enter it ended at once: {status}.");
                Ran::Refused(Refused(what), self.asked)
            }
            (Some(code), _) => Ran::Done(Exit::Passed(code as u8)),
            (None, Some(number)) => Ran::Done(end_by(number)),
            (None, None) => Ran::Done(Exit::Failed),
        }
    }
}

/// Ends this process by a signal, as a shell or a supervisor should see it. One that is handled
/// here becomes a code, as shells report it.
fn end_by(number: i32) -> Exit {
    if let Ok(signal) = signal::Signal::try_from(number) {
        // The process inside has left a core already, if one is wanted.
        let none = Rlimit {
            current: Some(0),
            maximum: Some(0),
        };
        let _ = setrlimit(Resource::Core, none);
        let _ = signal::raise(signal);
        signals::unblock();
    }
    Exit::Passed(128u8.wrapping_add(number as u8))
}
