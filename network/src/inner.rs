//! The process inside. It is started twice: first, as long as it has one thread and starts nothing,
//! it enters a network of its own; then it becomes the same program again, which leaves behind what
//! it was allowed to do there, and goes on with the arguments that were given.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::sync::PoisonError;

use engine::signal::Stop;
use engine::{Listening, inherited};
use netns::Network;
use netns::namespace::{self, Refused};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use supervisor::outside::{self, Inside};

use super::{signals, wrong};
use exit::Exit;

/// The program that is running, even if its file was replaced or removed.
pub(super) const ITSELF: &str = "/proc/self/exe";
/// The first argument of a process inside begins like this.
const MARK: &str = "--in-private-network=";
const NOT_FOR_YOU: &str = "--in-private-network is how ringside starts itself; leave it out: \
                           comparisons run in a private network anyway";

/// How far a process inside is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// It is to enter the network.
    Enter,
    /// It is in there.
    Go,
    /// It is to enter the network, to say whether it could, and to end.
    Try,
}

/// Who has started a process inside, and the socket that it was given for a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) outer: Pid,
    pub(super) page: Option<RawFd>,
}

/// The argument that marks a process inside.
pub(super) fn mark(stage: Stage, origin: Origin) -> String {
    let stage = match stage {
        Stage::Enter => "enter",
        Stage::Go => "go",
        Stage::Try => "try",
    };
    let outer = origin.outer.as_raw_nonzero();
    match origin.page {
        Some(page) => format!("{MARK}{stage},{outer},{page}"),
        None => format!("{MARK}{stage},{outer}"),
    }
}

/// The stage and who has started it; none if it is no such mark.
fn read(text: &str) -> Option<(Stage, Origin)> {
    let mut parts = text.strip_prefix(MARK)?.split(',');
    let (stage, outer) = (parts.next()?, parts.next()?);
    let page = parts.next().map(str::parse).transpose().ok()?;
    if parts.next().is_some() {
        return None;
    }
    let stage = match stage {
        "enter" => Stage::Enter,
        "go" => Stage::Go,
        "try" => Stage::Try,
        _ => return None,
    };
    let outer = Pid::from_raw(outer.parse().ok()?)?;
    Some((stage, Origin { outer, page }))
}

/// What was asked for, out of the arguments with the program's name. The process inside becomes one
/// here; the error is the end of one that doesn't go on. The first thing that the program does.
pub fn begin(mut arguments: Vec<OsString>) -> Result<Vec<OsString>, ExitCode> {
    let first = arguments.get(1).and_then(|first| first.to_str());
    let Some(first) = first.filter(|first| first.starts_with(MARK)) else {
        return Ok(arguments);
    };
    let Some((stage, origin)) = read(first) else {
        return Err(wrong(NOT_FOR_YOU));
    };
    let Ok(socket) = socket() else {
        return Err(wrong(NOT_FOR_YOU));
    };
    if !ends_with(origin.outer) {
        return Err(Exit::Failed.into());
    }
    arguments.remove(1);
    match stage {
        Stage::Enter => Err(enter(&arguments, origin, &socket)),
        Stage::Try => Err(say(
            &socket,
            &match namespace::enter() {
                Ok(()) => Inside::Entered,
                Err(refused) => Inside::Refused(refused),
            },
        )),
        Stage::Go => match go(socket, origin.page) {
            Ok(()) => Ok(arguments),
            Err(error) => Err(wrong(&format!("can't go on in a private network: {error}"))),
        },
    }
}

/// The way to the process outside, which is where standard input would be.
fn socket() -> io::Result<UnixStream> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.peer_addr().map(|_| socket)
}

/// Sees to it that this process ends with the one outside, whatever ends that, and with it all that
/// was started here; whether it is still there. What was measured until then is on disk.
fn ends_with(outer: Pid) -> bool {
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    // If it ended before the kernel was asked, somebody else is the parent by now.
    asked.is_ok() && getppid() == Some(outer)
}

/// Enters the network, and becomes the process that goes on there. Says why, if it returns.
fn enter(arguments: &[OsString], origin: Origin, socket: &UnixStream) -> ExitCode {
    let refused = namespace::enter().err().unwrap_or_else(|| {
        let name = arguments
            .first()
            .map_or(OsStr::new("ringside"), |name| name);
        let error = Command::new(ITSELF)
            .arg0(name)
            .arg(mark(Stage::Go, origin))
            .args(arguments.iter().skip(1))
            .exec();
        Refused(format!(
            "A network namespace was made, but ringside couldn't be started in it: {error}. \
             Mount /proc."
        ))
    });
    say(socket, &Inside::Refused(refused))
}

/// Says the last thing that there is to say.
fn say(socket: &UnixStream, last: &Inside) -> ExitCode {
    match outside::tell(socket, last) {
        Ok(()) => Exit::Ok.into(),
        Err(_) => Exit::Failed.into(),
    }
}

/// Goes on in the network.
fn go(socket: UnixStream, page: Option<RawFd>) -> io::Result<()> {
    if let Some(page) = page {
        // What is started from here on doesn't inherit it.
        let listening = Listening::inherited(inherited::take(page)?)?;
        let mut handed = super::HANDED.lock().unwrap_or_else(PoisonError::into_inner);
        *handed = Some(listening);
    }
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    netns::settle(Network::Private);
    let stop = Stop::on_signals()?;
    // The one outside has blocked them, which all that is started from here on would inherit.
    signals::unblock();
    outside::attach(socket, stop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(Into::into).collect()
    }

    #[test]
    fn a_mark_is_read_as_it_was_written() {
        let outer = Pid::from_raw(4711).expect("a number");
        for stage in [Stage::Enter, Stage::Go, Stage::Try] {
            for page in [None, Some(7)] {
                let origin = Origin { outer, page };
                assert_eq!(read(&mark(stage, origin)), Some((stage, origin)));
            }
        }
        for text in [
            "",
            MARK,
            "--in-private-network=go",
            "--in-private-network=go,0",
            "--in-private-network=go,1,",
            "--in-private-network=go,1,x",
            "--in-private-network=go,1,7,8",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn a_program_without_the_mark_is_no_process_inside() {
        for asked in [
            &["ringside"][..],
            &["ringside", "run", "--in-private-network=go,1"],
        ] {
            assert_eq!(begin(words(asked)).ok(), Some(words(asked)));
        }
    }
}
