//! Whether this process is a master or a worker: its environment says so.

use std::env;
use std::os::fd::RawFd;

use engine::inherited;
use nix::sys::signal::{SigSet, Signal};
use ringside_server::Listening;

use crate::channel::Channel;
use crate::settings::Error;
use crate::shared::Shared;
use crate::worker::Worker;

/// What makes a process a worker: its place, the descriptor of its channel to the master, and that
/// of its listening socket.
pub(crate) const WORKER: &str = "RINGSIDE_WORKER";

/// The descriptor of what a worker counts beside the server. Not in [`WORKER`]: masters and workers
/// of other versions don't know it.
pub(crate) const FIGURES: &str = "RINGSIDE_FIGURES";

/// The descriptor of a worker's copy of [`Settings::input`](crate::Settings::input), if it has one.
pub(crate) const INPUT: &str = "RINGSIDE_INPUT";

/// What says to a worker that others serve, and go on if it doesn't begin.
pub(crate) const TAKES_OVER: &str = "RINGSIDE_TAKES_OVER";

/// What drives the sockets of all workers, if the master says so.
pub(crate) const ENGINE: &str = "RINGSIDE_ENGINE";

/// What a master reads from a descriptor, instead of being interrupted.
pub(crate) const SIGNALS: [Signal; 6] = [
    Signal::SIGHUP,
    Signal::SIGUSR2,
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGCHLD,
];

/// What this process is.
#[derive(Debug)]
pub enum Role {
    /// The one that was started: it [runs](crate::run) the others.
    Master,
    /// One that a master has started: it serves.
    Worker(Worker),
}

/// Says what this process is. To be called once, before anything is opened.
///
/// # Errors
/// The environment says that it's a worker, and doesn't hold what a worker is given.
pub fn role() -> Result<Role, Error> {
    let Some(text) = env::var_os(WORKER) else {
        return Ok(Role::Master);
    };
    // It has inherited what its master reads from a descriptor. What asks a master for others goes
    // past workers, which would die of it where somebody signals all processes of a service.
    let masters = [Signal::SIGHUP, Signal::SIGUSR2];
    let own = SIGNALS
        .into_iter()
        .filter(|signal| !masters.contains(signal));
    let held_back: SigSet = own.collect();
    let _ = held_back.thread_unblock();
    let numbers = text.to_str().and_then(numbers);
    let Some((place, channel, socket)) = numbers else {
        return Err(foreign("is not as a master writes it"));
    };
    let take = |number: RawFd| {
        inherited::take(number).map_err(|error| foreign(&format!("names no descriptor ({error})")))
    };
    let (channel, socket) = (take(channel)?, take(socket)?);
    let listening = Listening::inherited(socket)
        .map_err(|error| foreign(&format!("names no listening socket ({error})")))?;
    let shared = |name: &str| {
        let number = env::var(name).ok()?.parse().ok()?;
        inherited::take(number).ok().map(Shared::of)
    };
    Ok(Role::Worker(Worker::new(
        place,
        listening,
        Channel::of(channel),
        (shared(FIGURES), shared(INPUT)),
        (
            env::var_os(TAKES_OVER).is_some(),
            env::var(ENGINE).ok().and_then(|name| name.parse().ok()),
        ),
    )))
}

fn foreign(why: &str) -> Error {
    Error::new(format!(
        "the variable {WORKER} {why}: it's only for processes that a master starts, so unset it"
    ))
}

fn numbers(text: &str) -> Option<(usize, RawFd, RawFd)> {
    let mut words = text.split(' ');
    let place = words.next()?.parse().ok()?;
    let channel = words.next()?.parse().ok()?;
    let socket = words.next()?.parse().ok()?;
    words.next().is_none().then_some((place, channel, socket))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_numbers_make_a_worker_and_nothing_else_does() {
        assert_eq!(numbers("2 5 6"), Some((2, 5, 6)));
        for text in ["", "1", "1 2", "1 2 3 4", "a b c", "1  2 3", "-1 2 3"] {
            assert_eq!(numbers(text), None, "{text:?}");
        }
    }
}
