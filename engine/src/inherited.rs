//! Descriptors that the process was started with, such as listening sockets of systemd
//! (sd_listen_fds(3)) or of the process before it.
#![allow(unsafe_code)]

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::{Mutex, PoisonError};

/// Those that were handed out, each of them once.
static TAKEN: Mutex<BTreeSet<RawFd>> = Mutex::new(BTreeSet::new());

/// Takes the descriptor with this number, which the program was started with, for its owner; its
/// children don't get it. To be called before anything else is opened: a number that this process
/// has given to something of its own would have two owners then.
///
/// # Errors
/// It's a standard stream, it was taken before, or there is none.
pub fn take(number: RawFd) -> io::Result<OwnedFd> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    if number <= libc::STDERR_FILENO || taken.contains(&number) {
        let text = format!("descriptor {number} is a standard stream, or was taken before");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    // SAFETY: fcntl(2) with F_SETFD touches no memory, and fails where there is no such descriptor.
    if unsafe { libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC) } == -1 {
        return Err(io::Error::last_os_error());
    }
    taken.insert(number);
    // SAFETY: it's open, and nobody else in this process owns it: it came from outside, and is
    // handed out once.
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_or_a_standard_stream_is_not_taken() {
        for number in [-1, 0, 1, 2, 1_000_000] {
            assert!(take(number).is_err(), "{number}");
        }
    }
}
