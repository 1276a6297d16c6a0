//! What the service manager is told (sd_notify(3)): nothing, where there is none.

use std::env;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use measure::time::Time;

/// The way to the service manager.
#[derive(Debug)]
pub(crate) struct Voice {
    to: Option<(UnixDatagram, SocketAddr)>,
    /// How often it wants a sign of life.
    every: Option<Duration>,
    next: Time,
}

impl Voice {
    /// As the environment says. `handed_over` is whether another process was started by systemd,
    /// whose place this one takes.
    pub(crate) fn of_environment(handed_over: bool, now: Time) -> Voice {
        let address = env::var_os("NOTIFY_SOCKET").and_then(|path| {
            match path.as_bytes() {
                [b'@', name @ ..] => SocketAddr::from_abstract_name(name).ok(),
                [b'/', ..] => SocketAddr::from_pathname(&path).ok(),
                _ => None, // As AF_VSOCK.
            }
        });
        let to = address.and_then(|to| {
            let socket = UnixDatagram::unbound().ok()?;
            // A manager that is stuck must not stop the master.
            socket.set_nonblocking(true).ok()?;
            Some((socket, to))
        });
        let number = |name: &str| {
            let text = env::var_os(name)?.into_vec();
            String::from_utf8(text).ok()?.parse::<u64>().ok()
        };
        let ours = handed_over
            || number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let every = number("WATCHDOG_USEC").filter(|_| ours && to.is_some());
        Voice {
            to,
            // Twice as often as is wanted (sd_watchdog_enabled(3)).
            every: every.map(|us| Duration::from_micros(us / 2).max(Duration::from_millis(1))),
            next: now,
        }
    }

    /// It serves.
    pub(crate) fn ready(&self) {
        self.say(&format!("READY=1\nMAINPID={}", std::process::id()));
    }

    /// It's about to take something new; [`Voice::ready`] follows.
    pub(crate) fn reloading(&self, now: Time) {
        self.say(&format!("RELOADING=1\nMONOTONIC_USEC={}", now.0 / 1000));
    }

    /// It's about to end.
    pub(crate) fn stopping(&self) {
        self.say("STOPPING=1");
    }

    /// What is shown to whoever asks for the service's status.
    pub(crate) fn status(&self, text: &str) {
        self.say(&format!("STATUS={text}"));
    }

    /// Gives a sign of life, if it's time, and says when the next one is due.
    pub(crate) fn alive(&mut self, now: Time) -> Option<Time> {
        let every = self.every?;
        if now >= self.next {
            self.say("WATCHDOG=1");
            self.next = now + every;
        }
        Some(self.next)
    }

    /// A manager that doesn't listen is none.
    fn say(&self, text: &str) {
        if let Some((socket, to)) = &self.to {
            let _ = socket.send_to_addr(text.as_bytes(), to);
        }
    }
}
