//! The signals that ask to stop, while the process outside reads them instead of being interrupted.

use std::io;

use nix::sys::signal::{SIGINT, SIGTERM, SigSet};

/// Those that are read.
pub(super) fn handled() -> SigSet {
    let mut both = SigSet::empty();
    both.add(SIGINT);
    both.add(SIGTERM);
    both
}

/// Holds them back, to be read.
pub(super) fn block() -> io::Result<()> {
    handled().thread_block().map_err(io::Error::from)
}

/// Lets them through again.
pub(super) fn unblock() {
    // Fails only for what is no set of signals.
    let _ = handled().thread_unblock();
}

/// Lets them through while something is started, which would inherit that they are held back.
pub(super) fn let_through<T>(start: impl FnOnce() -> T) -> T {
    unblock();
    let started = start();
    let _ = block();
    started
}
