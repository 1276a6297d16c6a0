//! Intervals as lines of JSON, in a file, a pipe or on standard output, while they come.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use measure::interval::{Additive, LineStyle};
use measure::time::{Time, sleep_until};
use rustix::fs::{Mode, OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;

use crate::Reader;

/// How long a slow reader is waited for once the run is over.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long the reader of a FIFO is waited for, and how often it's looked whether it's there.
const READER_WAIT: Duration = Duration::from_secs(3);
const READER_POLL: Duration = Duration::from_millis(20);
/// Who may read and write a new file, but for what the umask takes away.
const MODE: Mode = Mode::from_raw_mode(0o666);

/// A stream of lines. See the module.
#[derive(Debug)]
pub struct Lines {
    name: String,
    written: Arc<AtomicU64>,
    /// Why it ended before its time.
    broken: Arc<Mutex<Option<io::Error>>>,
    over: Receiver<()>,
}

impl Lines {
    /// Writes what `reader` gets to the file at `path`, or to standard output where there is none.
    ///
    /// # Errors
    /// Where the file can't be opened or no thread can be had: why, and what to do.
    pub fn start<C: Additive>(
        path: Option<&Path>,
        style: LineStyle,
        reader: Reader<C>,
    ) -> Result<Lines, String> {
        let name = path.map_or("standard output".to_owned(), |path| {
            path.display().to_string()
        });
        let mut place = open(path).map_err(|why| {
            format!("can't write intervals to {name}: {why}; choose another file")
        })?;
        let (written, broken) = (Arc::default(), Arc::default());
        let (over, ended) = channel();
        let lines = Lines {
            name,
            written: Arc::clone(&written),
            broken: Arc::clone(&broken),
            over: ended,
        };
        let write = move || {
            for interval in reader {
                let line = interval.to_json(&style).map_err(io::Error::other);
                if let Err(why) = line.and_then(|line| place.write_all(line.as_bytes())) {
                    *broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                    break;
                }
                written.fetch_add(interval.joined, Ordering::Relaxed);
            }
            drop(over);
        };
        let thread = thread::Builder::new().name("intervals".to_owned());
        thread
            .spawn(write)
            .map_err(|why| format!("can't start a thread for --intervals: {why}"))?;
        Ok(lines)
    }

    /// The run is over, and nothing more comes: waits a moment for what is still to be written.
    /// `given`: how many intervals there were. Somebody who closes a pipe has read enough.
    ///
    /// # Errors
    /// Where not all of it could be written: why, and how much is missing.
    pub fn finish(self, given: u64) -> Result<(), String> {
        // Nothing is ever sent, so that it times out or the other end is gone.
        let is_slow =
            self.over.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout);
        let missing = given.saturating_sub(self.written.load(Ordering::Relaxed));
        let broken = self.broken.lock();
        let broken = broken.unwrap_or_else(PoisonError::into_inner).take();
        let name = &self.name;
        match broken {
            Some(why) if why.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Some(why) => Err(format!(
                "can't write intervals to {name}: {why}; the last {missing} of {given} are missing"
            )),
            None if is_slow => Err(format!(
                "whoever reads {name} is too slow: the last {missing} of {given} intervals weren't \
                 taken"
            )),
            None => Ok(()),
        }
    }
}

/// Where lines go. Standard output has no lock here, which a reader who hangs would keep from all
/// others.
fn open(path: Option<&Path>) -> io::Result<File> {
    match path {
        None => Ok(io::stdout().as_fd().try_clone_to_owned()?.into()),
        Some(path) => {
            // Opening a FIFO that nobody reads would wait for a reader, deaf to Ctrl-C.
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
            let opened = retry(|| rustix::fs::open(path, flags | OFlags::NONBLOCK, MODE))?;
            fcntl_setfl(&opened, fcntl_getfl(&opened)? - OFlags::NONBLOCK)?;
            Ok(opened.into())
        }
    }
}

/// Tries again for a moment where nobody reads a FIFO yet: its reader may be about to start.
fn retry(open: impl Fn() -> Result<OwnedFd, Errno>) -> io::Result<OwnedFd> {
    let until = Time::now() + READER_WAIT;
    loop {
        match open() {
            Err(Errno::NXIO) if Time::now() < until => sleep_until(Time::now() + READER_POLL),
            Err(Errno::NXIO) => return Err(io::Error::other("nobody reads it")),
            opened => return Ok(opened?),
        }
    }
}
