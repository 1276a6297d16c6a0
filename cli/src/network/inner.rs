//! The process inside. It is started twice: first, as long as it has one thread and starts nothing,
//! it enters a network of its own; then it becomes the same program again, which leaves behind what
//! it was allowed to do there, and goes on with the arguments that were given.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};

use engine::signal::Stop;
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use supervisor::network::namespace::{self, Refused};
use supervisor::network::{self, Network};
use supervisor::outside::{self, Inside};

use super::{signals, wrong};
use crate::exit::Exit;

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

/// The argument that marks a process inside that `outer` has started.
pub(super) fn mark(stage: Stage, outer: Pid) -> String {
    let stage = match stage {
        Stage::Enter => "enter",
        Stage::Go => "go",
        Stage::Try => "try",
    };
    format!("{MARK}{stage},{}", outer.as_raw_nonzero())
}

/// The stage and the process outside; none if it is no such mark.
fn read(text: &str) -> Option<(Stage, Pid)> {
    let (stage, outer) = text.strip_prefix(MARK)?.split_once(',')?;
    let stage = match stage {
        "enter" => Stage::Enter,
        "go" => Stage::Go,
        "try" => Stage::Try,
        _ => return None,
    };
    Some((stage, Pid::from_raw(outer.parse().ok()?)?))
}

/// What was asked for, out of the arguments with the program's name. The process inside becomes one
/// here; the error is the end of one that doesn't go on. The first thing that the program does.
pub(crate) fn begin(mut arguments: Vec<OsString>) -> Result<Vec<OsString>, ExitCode> {
    let first = arguments.get(1).and_then(|first| first.to_str());
    let Some(first) = first.filter(|first| first.starts_with(MARK)) else {
        return Ok(arguments);
    };
    let Some((stage, outer)) = read(first) else {
        return Err(wrong(NOT_FOR_YOU));
    };
    let Ok(socket) = socket() else {
        return Err(wrong(NOT_FOR_YOU));
    };
    if !ends_with(outer) {
        return Err(Exit::Failed.into());
    }
    arguments.remove(1);
    match stage {
        Stage::Enter => Err(enter(&arguments, outer, &socket)),
        Stage::Try => Err(say(
            &socket,
            &match namespace::enter() {
                Ok(()) => Inside::Entered,
                Err(refused) => Inside::Refused(refused),
            },
        )),
        Stage::Go => match go(socket) {
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
fn enter(arguments: &[OsString], outer: Pid, socket: &UnixStream) -> ExitCode {
    let refused = namespace::enter().err().unwrap_or_else(|| {
        let name = arguments
            .first()
            .map_or(OsStr::new("ringside"), |name| name);
        let error = Command::new(ITSELF)
            .arg0(name)
            .arg(mark(Stage::Go, outer))
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
fn go(socket: UnixStream) -> io::Result<()> {
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    network::settle(Network::Private);
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
            assert_eq!(read(&mark(stage, outer)), Some((stage, outer)));
        }
        for text in [
            "",
            MARK,
            "--in-private-network=go",
            "--in-private-network=go,0",
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
