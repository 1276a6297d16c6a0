//! SIGHUP reads the file again. What can't be used changes nothing but the log.

use std::io;
use std::path::PathBuf;
use std::thread;

use gateway::{Config, Exchange, terminal};
use nix::sys::signal::{SigSet, Signal};

/// SIGHUP, blocked in every thread so that one of them can wait for it (sigwait(3)): no handler,
/// and nothing that is done in one.
pub(crate) struct Reload(SigSet);

impl Reload {
    /// Blocks the signal. Threads inherit that, so it comes before all of them.
    ///
    /// # Errors
    /// pthread_sigmask(3) fails.
    pub(crate) fn prepare() -> io::Result<Reload> {
        let mut set = SigSet::empty();
        set.add(Signal::SIGHUP);
        set.thread_block()?;
        Ok(Reload(set))
    }

    /// Waits for the signal from now on, as long as the process lives.
    pub(crate) fn watch(self, path: PathBuf, exchange: Exchange) {
        thread::spawn(move || {
            while self.0.wait().is_ok() {
                let said = read_again(&path, &exchange);
                terminal::tell(said);
            }
        });
    }
}

fn read_again(path: &std::path::Path, exchange: &Exchange) -> String {
    let config = match Config::read(path) {
        Ok(config) => config,
        Err(wrong) => return format!("the configuration stays as it was: {wrong}"),
    };
    crate::remark(&config);
    let left = match exchange.put(config) {
        Ok(left) => left,
        Err(why) => return format!("the configuration stays as it was: {why}"),
    };
    let shown = path.display();
    match left.is_empty() {
        true => format!("{shown} was read again, and is in force"),
        false => format!(
            "{shown} was read again; what changed in [{}] takes a restart, and the rest is in \
             force",
            left.join("], [")
        ),
    }
}
