//! Starts processes of this program: workers, and a master that takes over.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{self, Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ringside_server::EngineChoice;

use crate::channel::Channel;
use crate::role::{ENGINE, FIGURES, INPUT, TAKES_OVER, WORKER};
use crate::shared::Shared;
use crate::sockets::{MASTER, Sockets};

/// What systemd says to the process that it has started, and to no other.
const SYSTEMD: [&str; 3] = ["LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"];

/// This program: the file that it was started from, whatever is there by now, and its arguments.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    arguments: Vec<OsString>,
    /// What workers are told to use.
    pub(crate) engine: Option<EngineChoice>,
}

impl Program {
    /// The one that is running.
    pub(crate) fn of_this() -> io::Result<Program> {
        let named = env::args_os().next().and_then(|name| found(&name));
        Ok(Program {
            path: named.map_or_else(env::current_exe, Ok)?,
            arguments: env::args_os().skip(1).collect(),
            engine: None,
        })
    }

    /// Starts a worker, which writes what it counts to `figures`; `takes_over` says that others
    /// serve meanwhile.
    pub(crate) fn worker(
        &self,
        place: usize,
        channel: &Channel,
        sockets: &Sockets,
        figures: &Shared,
        input: Option<&Shared>,
        takes_over: bool,
    ) -> io::Result<Child> {
        let (channel, socket) = (handed(channel)?, handed(sockets.of(place))?);
        let (figures, input) = (handed(figures)?, input.map(handed).transpose()?);
        let text = format!("{place} {} {}", channel.as_raw_fd(), socket.as_raw_fd());
        let mut command = self.command();
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", MASTER] {
            command.env_remove(name);
        }
        command.env(FIGURES, figures.as_raw_fd().to_string());
        match &input {
            Some(input) => command.env(INPUT, input.as_raw_fd().to_string()),
            None => command.env_remove(INPUT),
        };
        match self.engine {
            Some(engine) => command.env(ENGINE, engine.to_string()),
            None => command.env_remove(ENGINE),
        };
        match takes_over {
            true => command.env(TAKES_OVER, "1"),
            false => command.env_remove(TAKES_OVER),
        };
        command.env(WORKER, text).spawn()
    }

    /// Starts a master that takes `sockets` over.
    pub(crate) fn master(&self, channel: &Channel, sockets: &Sockets) -> io::Result<Child> {
        let channel = handed(channel)?;
        let admin = sockets.admin.as_ref().map(handed).transpose()?;
        let all: Vec<OwnedFd> = sockets.attached().map(handed).collect::<Result<_, _>>()?;
        let whose = if sockets.systemds { "systemd" } else { "own" };
        let admin_text = admin
            .as_ref()
            .map_or("-".into(), |fd| fd.as_raw_fd().to_string());
        let mut text = format!("{} {whose} {admin_text}", channel.as_raw_fd());
        for socket in &all {
            text.push_str(&format!(" {}", socket.as_raw_fd()));
        }
        let mut command = self.command();
        for name in [WORKER, FIGURES, INPUT, TAKES_OVER, ENGINE] {
            command.env_remove(name);
        }
        command.env(MASTER, text).spawn()
    }

    /// In a process group of its own, so that Ctrl-C on a terminal comes to the master alone.
    fn command(&self) -> Command {
        let mut command = Command::new(&self.path);
        command
            .args(&self.arguments)
            .stdin(Stdio::null())
            .process_group(0);
        for name in SYSTEMD {
            command.env_remove(name);
        }
        command
    }
}

/// The file that a program was started from by this name, links and all: what they lead to may be
/// another file by the next start. `None` where it isn't there.
fn found(name: &OsStr) -> Option<PathBuf> {
    let named = Path::new(name);
    if named.components().count() > 1 {
        return path::absolute(named).ok().filter(|path| path.is_file());
    }
    let folders = env::var_os("PATH")?;
    let mut files = env::split_paths(&folders).map(|folder| folder.join(named));
    files.find(|file| file.is_absolute() && file.is_file())
}

/// Another descriptor of the same, which a process that is started now gets. Nobody else starts
/// processes in between: the master has one thread that does.
fn handed(descriptor: &impl AsFd) -> io::Result<OwnedFd> {
    Ok(rustix::io::dup(descriptor)?)
}
