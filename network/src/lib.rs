//! Measuring in a private network. The program that was started stays in the host's and starts
//! itself once more: the process inside does everything that was asked for, and the one outside
//! ([`outer`]) runs builds for it, passes signals on, and ends as it ended.
//!
//! What is to be reached from outside, such as a page, needs a socket of the host's network: the
//! process outside opens it, and the one inside inherits it.
//!
//! The process inside ([`inner`]) is marked by its first argument, and not by a variable, which
//! would be in the environment of all that it starts.
#![forbid(unsafe_code)]

mod inner;
mod outer;
mod signals;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};

use engine::Listening;
use engine::signal::Stop;
use netns::Network;
use netns::namespace::Refused;

use exit::{Exit, Failure};

pub use inner::begin;

/// Why a flag keeps everything in the host's network.
pub const ASKED: &str = "--host-network";
/// Why a file does.
pub const WRITTEN: &str = "[network] private = false";
/// Why servers that run already do.
pub const RUNNING: &str = "--url: servers that run already are in it";
/// Why agents of a fleet do.
pub const FLEET: &str = "--agents: they are in it";
/// Why a comparison that is continued does.
pub const BEGUN: &str = "it was begun there";

/// Does all that this program was asked for in a private network, unless it is there already or
/// `host` says why it has to be the host's. The end of the process that did it; none if it is to be
/// done here, where a private network was refused, too. `page`: where a page is served meanwhile.
pub fn privately(host: Option<&str>, page: Option<SocketAddr>) -> Result<Option<Exit>, Failure> {
    if netns::here().is_some_and(|here| here.is_private()) {
        return Ok(None);
    }
    if let Some(why) = host {
        let why = why.to_owned();
        netns::settle(Network::Host { why });
        return Ok(None);
    }
    let page = page.map(live::page::listen).transpose();
    let page = page.map_err(|why| Failure::usage(format!("--live: {why}")))?;
    match outer::run(page) {
        outer::Ran::Done(exit) => Ok(Some(exit)),
        outer::Ran::Refused(Refused(why), asked) => {
            netns::settle(Network::Refused { why });
            let stop = Stop::on_signals().map_err(Failure::signals)?;
            signals::unblock();
            if let Some(signal) = asked {
                stop.request(signal);
            }
            Ok(None)
        }
    }
}

/// A socket for a page, which the process inside got from the one outside.
static HANDED: Mutex<Option<Listening>> = Mutex::new(None);

/// Takes it, if this is the one inside, and it got one.
pub fn handed() -> Option<Listening> {
    HANDED.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Whether comparisons can run in a private network here.
///
/// # Errors
/// What was refused, and what to do.
pub fn possible() -> Result<(), Refused> {
    outer::attempt()
}

/// The end of a process that began wrong.
fn wrong(what: &str) -> ExitCode {
    output::terminal::say(&format!("ringside: {what}"));
    Exit::Usage.into()
}
