//! What can be seen of a master of worker processes from outside, for tests: what it has said, and
//! what its `/health` says. Included by path.

use std::io::{Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use measure::time::{Time, sleep_until};
use serde_json::Value;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A master that runs, or whoever has taken over from it.
pub(crate) trait Master {
    /// Where operators ask.
    fn admin(&self) -> &str;

    /// The file with what it and all of its processes have said.
    fn log(&self) -> PathBuf;

    /// What that has by now.
    fn said(&self) -> String {
        std::fs::read_to_string(self.log()).expect("a file")
    }

    /// The body of an answer of its admin.
    fn ask_admin(&self, path: &str) -> Option<String> {
        let answer = ask(self.admin(), path)?;
        Some(answer.split_once("\r\n\r\n")?.1.to_owned())
    }

    /// What `/health` says.
    fn health(&self) -> Option<Value> {
        serde_json::from_str(&self.ask_admin("/health")?).ok()
    }

    fn figure(&self, name: &str) -> Option<u64> {
        self.health()?[name].as_u64()
    }

    fn until(&self, name: &str, value: u64) {
        until(&format!("{name} is {value}"), || {
            self.figure(name) == Some(value)
        });
    }

    /// The process that is the master by now.
    fn pid(&self) -> u64 {
        self.figure("pid").expect("it answers")
    }

    fn workers(&self) -> Vec<u64> {
        let health = self.health().expect("it answers");
        let workers = health["workers"].as_array().expect("a list").iter();
        workers
            .filter_map(|worker| worker["pid"].as_u64())
            .collect()
    }
}

/// A service manager, as systemd is one (sd_notify(3)).
pub(crate) struct Manager(UnixDatagram);

impl Manager {
    /// One that listens at this path.
    pub(crate) fn at(path: impl AsRef<Path>) -> Manager {
        let socket = UnixDatagram::bind(path).expect("a socket");
        socket
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        Manager(socket)
    }

    /// Waits until it's told this.
    #[track_caller]
    pub(crate) fn hears(&self, wanted: &str) {
        let mut bytes = [0; 512];
        let mut all = String::new();
        for _ in 0..100 {
            let length = self
                .0
                .recv(&mut bytes)
                .unwrap_or_else(|why| panic!("{why}: {all}"));
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            if text.contains(wanted) {
                return;
            }
            all.push_str(&text);
        }
        panic!("no {wanted}: {all}");
    }
}

/// A GET on a connection of its own.
pub(crate) fn ask(address: impl ToSocketAddrs, path: &str) -> Option<String> {
    ask_with(address, path, "")
}

/// The same with more fields, each with the end of its line.
pub(crate) fn ask_with(address: impl ToSocketAddrs, path: &str, fields: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{fields}\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Waits until something is so, which is looked at again and again.
#[track_caller]
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Time::now() + PATIENCE;
    while !is_so() {
        assert!(Time::now() < deadline, "within {PATIENCE:?}: {what}");
        sleep_until(Time::now() + Duration::from_millis(2));
    }
}

/// Whether a process is there and not only an entry that nobody has reaped yet (proc(5), state).
pub(crate) fn lives(pid: u64) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit_once(") ").map(|(_, rest)| &rest[..1]);
    !matches!(state, None | Some("Z" | "X"))
}
