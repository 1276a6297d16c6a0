//! The first contact with a target blocks: names are resolved, connections made and answers awaited
//! by calls that end with their time limits only. Whoever asks for the end doesn't wait for those.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use engine::signal::Stop;

use crate::LoadError;

/// How often a request to end is looked for.
const POLL: Duration = Duration::from_millis(10);

/// What `contact` comes to, or [`LoadError::Interrupted`] as soon as `stop` asks for the end.
///
/// It happens in a thread of its own. A contact that was interrupted is left to its time limit, or
/// to the end of the process, since no call that blocks can be taken back from outside.
///
/// # Errors
/// Those of `contact`, an interrupt, and a host that has no thread left.
pub fn unless_stopped<T: Send + 'static>(
    stop: &Stop,
    contact: impl FnOnce() -> Result<T, LoadError> + Send + 'static,
) -> Result<T, LoadError> {
    let (sender, outcome) = channel();
    let carry_out = move || {
        // Nobody receives it after an interrupt.
        let _ = sender.send(contact());
    };
    let no_thread = |why: io::Error| {
        LoadError::Limits(format!("can't start a thread for the first contact: {why}"))
    };
    let builder = thread::Builder::new().name("contact".to_owned());
    let thread = builder.spawn(carry_out).map_err(no_thread)?;
    loop {
        if let Some(signal) = stop.requested() {
            return Err(LoadError::Interrupted(signal));
        }
        match outcome.recv_timeout(POLL) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => match thread.join() {
                Ok(()) => unreachable!("a contact that has ended has sent its outcome"),
                Err(panic) => std::panic::resume_unwind(panic),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use engine::signal::Signal;

    use super::*;

    #[test]
    fn what_comes_of_a_contact_is_handed_on() {
        assert_eq!(unless_stopped(&Stop::new(), || Ok(7)), Ok(7));
        let broken = || LoadError::Probe("nobody speaks".to_owned());
        let failed = unless_stopped(&Stop::new(), move || Err::<u8, _>(broken()));
        assert_eq!(failed, Err(broken()));
    }

    #[test]
    fn a_contact_that_never_ends_is_left_at_a_request_to_end() {
        let stop = Stop::new();
        let asking = stop.clone();
        // It asks for the end and then waits for words that come only when this test is over.
        let (_silent, words) = channel::<u8>();
        let left = unless_stopped(&stop, move || {
            asking.request(Signal::Terminate);
            Ok(words.recv().is_ok())
        });
        assert_eq!(left, Err(LoadError::Interrupted(Signal::Terminate)));
    }
}
