//! A terminal of some size in which the program runs, and what stands on it.

use std::fs::File;
use std::io::{Read, Write};
use std::num::NonZero;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use measure::time::{Time, sleep_until};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

use super::child::{PATIENCE, alive, command, until};

/// What a terminal is told to leave its alternate screen.
const LEAVE: &str = "\x1b[?1049l";

/// `ringside` in a terminal of its own; killed when it is dropped.
pub(crate) struct InTerminal {
    child: Child,
    master: File,
    /// Held so that its modes can be read once the program has ended.
    slave: Option<OwnedFd>,
    shown: Arc<Mutex<Shown>>,
    reader: Option<JoinHandle<()>>,
}

struct Shown {
    parser: vt100::Parser,
    /// All that was written.
    log: Vec<u8>,
}

/// How it ended.
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    /// What was said once the alternate screen was left, or ever, if there was none.
    pub(crate) said: String,
}

impl InTerminal {
    /// Starts `ringside` with all of its streams in a terminal of so many columns and rows.
    pub(crate) fn start((columns, rows): (u16, u16), words: &[&str]) -> InTerminal {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        let slave = rustix::fs::open(&*name, flags, Mode::empty()).unwrap();
        tcsetwinsize(&slave, size((columns, rows))).unwrap();
        let child = in_session_of_its_own(&command(words), &slave);
        let shown = Arc::new(Mutex::new(Shown {
            parser: vt100::Parser::new(some(rows), some(columns), 0),
            log: Vec::new(),
        }));
        let (mut from, to) = (File::from(master.try_clone().unwrap()), Arc::clone(&shown));
        let reader = thread::spawn(move || {
            let mut bytes = [0; 4096];
            // EIO comes when nobody has the terminal any more.
            while let Ok(length @ 1..) = from.read(&mut bytes) {
                let mut shown = to.lock().unwrap();
                shown.parser.process(&bytes[..length]);
                shown.log.extend_from_slice(&bytes[..length]);
            }
        });
        InTerminal {
            child,
            master: File::from(master),
            slave: Some(slave),
            shown,
            reader: Some(reader),
        }
    }

    fn shown(&self) -> MutexGuard<'_, Shown> {
        self.shown.lock().unwrap()
    }

    /// What stands on the screen, line by line.
    pub(crate) fn screen(&self) -> String {
        self.shown().parser.screen().contents()
    }

    /// Waits until the alternate screen shows all of `parts`.
    #[track_caller]
    pub(crate) fn until_it_shows(&self, parts: &[&str]) {
        let shows = || {
            let screen = self.screen();
            let is_drawn = self.shown().parser.screen().alternate_screen();
            is_drawn && parts.iter().all(|part| screen.contains(part))
        };
        let until = Time::now() + PATIENCE;
        while !shows() {
            let screen = self.screen();
            assert!(Time::now() < until, "{parts:?} isn't in:\n{screen}");
            assert!(alive(&self.child.id().to_string()), "it ended:\n{screen}");
            sleep_until(Time::now().plus(20_000_000));
        }
    }

    /// Presses keys.
    pub(crate) fn press(&mut self, keys: &str) {
        self.master.write_all(keys.as_bytes()).unwrap();
    }

    /// Makes the terminal larger or smaller; the kernel tells the program (SIGWINCH).
    pub(crate) fn resize(&mut self, (columns, rows): (u16, u16)) {
        let mut shown = self.shown.lock().unwrap();
        shown
            .parser
            .screen_mut()
            .set_size(some(rows), some(columns));
        tcsetwinsize(&self.master, size((columns, rows))).unwrap();
    }

    /// Reads nothing more, as long as what this returns is there, and has so much drawn that the
    /// kernel takes no more either.
    pub(crate) fn leave_unread(&self) -> impl Sized + '_ {
        const REDRAWN: u16 = 40;
        let unread = self.shown();
        for turn in 0..REDRAWN {
            tcsetwinsize(&self.master, size((119 + turn % 2, 40))).unwrap();
            sleep_until(Time::now().plus(50_000_000));
        }
        unread
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    /// Waits for the end, of which the terminal was told nothing.
    pub(crate) fn code(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        until("it ends", || !alive(&pid));
        self.child.wait().unwrap().code()
    }

    /// Waits for the end. The terminal is as it was before.
    #[track_caller]
    pub(crate) fn end(mut self) -> Ended {
        let pid = self.child.id().to_string();
        until("it ends", || !alive(&pid));
        let code = self.child.wait().unwrap().code();
        let slave = self.slave.take().unwrap();
        let modes = tcgetattr(&slave).unwrap().local_modes;
        assert!(
            modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG),
            "the terminal is left raw: {modes:?}"
        );
        drop(slave);
        self.reader.take().unwrap().join().unwrap();
        let shown = self.shown();
        assert!(
            !shown.parser.screen().alternate_screen() && !shown.parser.screen().hide_cursor(),
            "the screen isn't given back"
        );
        let log = String::from_utf8_lossy(&shown.log).into_owned();
        let said = log.rsplit(LEAVE).next().unwrap_or_default().to_owned();
        drop(shown);
        Ended { code, said }
    }
}

impl Drop for InTerminal {
    fn drop(&mut self) {
        // Both fail where it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn some(length: u16) -> NonZero<u16> {
    NonZero::new(length).expect("a terminal has rows and columns")
}

fn size((columns, rows): (u16, u16)) -> Winsize {
    Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    }
}

/// Starts a command whose controlling terminal is `terminal`: only then a signal says that its size
/// has changed. setsid(1) does that, in the same process.
fn in_session_of_its_own(asked: &Command, terminal: &OwnedFd) -> Child {
    let setsid = Path::new("/usr/bin/setsid");
    assert!(setsid.exists(), "setsid(1) of util-linux isn't there");
    let mut command = Command::new(setsid);
    command.arg("--ctty").arg(asked.get_program());
    command.args(asked.get_args());
    for (name, value) in asked.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let stream = || terminal.try_clone().unwrap();
    command.stdin(stream()).stdout(stream()).stderr(stream());
    command.spawn().unwrap()
}
