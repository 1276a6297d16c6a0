//! Programs that end with this one, even if the kernel ends it in the middle: it ends them, too
//! (PR_SET_PDEATHSIG, prctl(2)).
//!
//! What the kernel takes for a parent is the thread that has started a program, and not its
//! process. So such a thread lives for as long as what it has started: see [`Kept`].

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

/// The word that has this program become another one, which ends with its parent.
pub const BESIDE: &str = "beside";

/// The words behind this program's own name that have it become another one, whose own words
/// follow.
pub(crate) fn words() -> [OsString; 2] {
    [BESIDE.into(), std::process::id().to_string().into()]
}

/// Becomes a program that ends with the process that has this id, its parent. Says why, if it
/// returns.
pub fn become_it(parent: &str, program: &OsStr, arguments: &[OsString]) -> String {
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    let parent = parent.parse().ok().and_then(Pid::from_raw);
    // If it ended before the kernel was asked, somebody else is the parent by now.
    if asked.is_err() || parent.is_none() || getppid() != parent {
        return "whoever started this has ended".to_owned();
    }
    let error = Command::new(program).args(arguments).exec();
    format!("can't start {}: {error}", Path::new(program).display())
}

/// What a thread of its own has started. The thread ends it, and itself, when this is dropped.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Dropped first: that is what the thread waits for.
    hold: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Kept {
    /// Has a thread start something, and brings back what is to be known of it.
    ///
    /// # Errors
    /// What kept it from being started.
    pub(crate) fn start<T, A: Send + 'static>(
        start: impl FnOnce() -> Result<(T, A), String> + Send + 'static,
    ) -> Result<(Kept, A), String> {
        let ((tell, told), (hold, dropped)) = (channel(), channel::<()>());
        let work = move || match start() {
            Ok((started, about)) => {
                // Whoever asked waits for it.
                drop(tell.send(Ok(about)));
                // Nothing is ever said: what comes is the end of the other end.
                let _dropped = dropped.recv();
                drop(started);
            }
            Err(why) => drop(tell.send(Err(why))),
        };
        let thread = Builder::new().name("keeper".to_owned()).spawn(work);
        let thread = thread.map_err(|why| format!("can't start a thread: {why}"))?;
        let told = told.recv();
        let about = told.map_err(|_| "the thread that was to start it broke off".to_owned())??;
        let kept = Kept {
            hold: Some(hold),
            thread: Some(thread),
        };
        Ok((kept, about))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        drop(self.hold.take());
        if let Some(thread) = self.thread.take() {
            // One that broke off has dropped what it had.
            let _ended = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::rc::Rc;
    use std::sync::Arc;
    use std::thread;

    use super::*;

    #[test]
    fn what_a_thread_has_started_lives_in_it_until_it_is_dropped() {
        let alive = Arc::new(());
        let seen = Arc::clone(&alive);
        // What can't be moved to another thread can be kept all the same.
        let start = || Ok(((Rc::new(()), alive), thread::current().id()));
        let (kept, starter) = Kept::start(start).unwrap();
        assert_ne!(starter, thread::current().id());
        assert_eq!(Arc::strong_count(&seen), 2);
        drop(kept);
        assert_eq!(Arc::strong_count(&seen), 1);
        let why = Kept::start(|| Err::<((), ()), _>("no".to_owned())).unwrap_err();
        assert_eq!(why, "no");
    }
}
