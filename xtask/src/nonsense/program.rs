//! `ringside` as a child: watched while it runs, and ended by its own id.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use measure::process::peak_bytes;
use measure::time::{Time, sleep_until};
use rustix::process::{Pid, Signal, kill_process};

use super::Result;

/// How often a child is looked at.
const BEAT: Duration = Duration::from_millis(20);

/// A child that runs. Killed where it is dropped before its end.
#[derive(Debug)]
pub(super) struct Program {
    child: Child,
    output: Receiver<String>,
    errors: Receiver<String>,
    /// What it has said to standard error so far, a line each, until the end.
    lines: Receiver<String>,
    peak_bytes: u64,
}

/// A child that has ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// `None` where a signal ended it.
    pub(super) code: Option<i32>,
    pub(super) output: String,
    pub(super) errors: String,
    /// Its peak resident memory, as far as it was seen.
    pub(super) peak_bytes: u64,
}

impl Program {
    pub(super) fn start(binary: &Path, words: &[String]) -> Result<Program> {
        let complain = |error: std::io::Error| format!("{}: {error}", binary.display());
        let mut child = Command::new(binary)
            .args(words)
            .env("RUST_BACKTRACE", "1")
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(complain)?;
        let (sender, lines) = channel();
        let output = gather(child.stdout.take(), None);
        let errors = gather(child.stderr.take(), Some(sender));
        Ok(Program {
            child,
            output,
            errors,
            lines,
            peak_bytes: 0,
        })
    }

    /// The first line of standard error that has `part` in it, within `limit`.
    pub(super) fn says(&self, part: &str, limit: Duration) -> Option<String> {
        let deadline = Time::now() + limit;
        loop {
            let line = self.lines.recv_timeout(deadline - Time::now()).ok()?;
            if line.contains(part) {
                return Some(line);
            }
        }
    }

    /// Waits for its end. `None` where it has not ended within `limit`.
    pub(super) fn end(mut self, limit: Duration) -> Option<Ended> {
        let deadline = Time::now() + limit;
        let code = loop {
            self.look();
            if let Ok(Some(status)) = self.child.try_wait() {
                break status.code();
            }
            if Time::now() >= deadline {
                return None;
            }
            sleep_until(Time::now() + BEAT);
        };
        let said = |pipe: &Receiver<String>| pipe.recv_timeout(limit).unwrap_or_default();
        Some(Ended {
            code,
            output: said(&self.output),
            errors: said(&self.errors),
            peak_bytes: self.peak_bytes,
        })
    }

    /// Notes how much memory it has used. Its peak is the kernel's own, so nothing is missed
    /// between two looks but what came after the last.
    pub(super) fn look(&mut self) {
        let peak = peak_bytes(self.child.id()).unwrap_or(0);
        self.peak_bytes = self.peak_bytes.max(peak);
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }

    pub(super) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, signal);
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads a pipe to its end, and passes its lines on as they come where somebody wants them.
fn gather(
    pipe: Option<impl Read + Send + 'static>,
    lines: Option<std::sync::mpsc::Sender<String>>,
) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let (mut text, mut buffer, mut told) = (Vec::new(), [0; 8192], 0);
        let Some(mut pipe) = pipe else { return };
        while let Ok(count @ 1..) = pipe.read(&mut buffer) {
            text.extend_from_slice(&buffer[..count]);
            while let Some(end) = text[told..].iter().position(|&byte| byte == b'\n') {
                let line = String::from_utf8_lossy(&text[told..told + end]).into_owned();
                told += end + 1;
                // Nobody listens any more once the case is over.
                let _ = lines.as_ref().map(|lines| lines.send(line));
            }
        }
        let _ = sender.send(String::from_utf8_lossy(&text).into_owned());
    });
    receiver
}
