//! Children: started as the very command line that is printed, watched without using a processor,
//! and ended by id, also where an error or Ctrl-C passes by.
//!
//! Knows nothing of what a child does. Cores are given by `taskset`, so that what is printed can
//! be typed; it execs, and the process id stays that of the program.

use std::fmt;
use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use engine::signal::Stop;
use measure::process::cpu_ns;
use measure::time::Time;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use super::Result;

/// The longest sleep before a request to stop is looked for again; a signal cuts it short.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// How long a child may take to end by itself before it is killed.
const GRACE: Duration = Duration::from_secs(3);
const LAST_LINES: usize = 8;

/// A command as it would be typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CommandLine(Vec<String>);

impl CommandLine {
    /// A command on whatever core it likes.
    pub(super) fn new<W: Into<String>>(words: impl IntoIterator<Item = W>) -> CommandLine {
        CommandLine(words.into_iter().map(Into::into).collect())
    }

    /// A command on one core.
    pub(super) fn on_core<W: Into<String>>(
        core: usize,
        words: impl IntoIterator<Item = W>,
    ) -> CommandLine {
        let core = core.to_string();
        let mut all: Vec<String> = vec!["taskset".into(), "-c".into(), core];
        all.extend(words.into_iter().map(Into::into));
        CommandLine(all)
    }
}

impl fmt::Display for CommandLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: Vec<String> = self.0.iter().map(|word| quoted(word)).collect();
        f.write_str(&words.join(" "))
    }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A running child. Dropping it ends it.
#[derive(Debug)]
pub(super) struct Child {
    process: std::process::Child,
    pid: Pid,
    handle: OwnedFd,
    line: String,
    output: PathBuf,
    errors: PathBuf,
    started: Time,
    grace: Duration,
    also_well: i32,
    reaped: bool,
}

/// A child that has ended well.
#[derive(Debug)]
pub(super) struct Finished {
    /// What it wrote to standard output.
    pub(super) output: String,
    /// Processor time of all its threads from its start to its end.
    pub(super) cpu_seconds: f64,
    /// From its start to its end.
    pub(super) wall_seconds: f64,
}

impl Child {
    /// Starts `line` with its output in files named after `name` in `folder`. Programs that stand
    /// in `folder` come before those of the same name elsewhere.
    pub(super) fn start(line: &CommandLine, folder: &Path, name: &str) -> Result<Child> {
        let text = line.to_string();
        let complain = |error: std::io::Error| format!("{text}: {error}");
        let (output, errors) = (
            folder.join(format!("{name}.out")),
            folder.join(format!("{name}.err")),
        );
        let (program, arguments) = line.0.split_first().ok_or("a command without words")?;
        let before = std::env::var_os("PATH").unwrap_or_default();
        let path = [folder.to_owned()]
            .into_iter()
            .chain(std::env::split_paths(&before));
        let path = std::env::join_paths(path).map_err(|error| format!("PATH: {error}"))?;
        let started = Time::now();
        let mut process = Command::new(program)
            .args(arguments)
            .env("PATH", path)
            .stdin(Stdio::null())
            .stdout(File::create(&output).map_err(complain)?)
            .stderr(File::create(&errors).map_err(complain)?)
            // A group of its own: Ctrl-C is for us, and we end the child.
            .process_group(0)
            .spawn()
            .map_err(complain)?;
        let pid = Pid::from_child(&process);
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(handle) => handle,
            Err(error) => {
                let _ = process.kill();
                let _ = process.wait();
                return Err(format!("{text}: pidfd_open: {error}"));
            }
        };
        Ok(Child {
            process,
            pid,
            handle,
            line: text,
            output,
            errors,
            started,
            grace: GRACE,
            also_well: 0,
            reaped: false,
        })
    }

    /// Gives it longer than usual to end when it is told to, as it has children of its own to
    /// end, and takes another exit status for a good end, too.
    pub(super) fn forbearing(mut self, grace: Duration, also_well: i32) -> Child {
        (self.grace, self.also_well) = (grace, also_well);
        self
    }

    pub(super) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(super) fn started(&self) -> Time {
        self.started
    }

    /// The last lines it wrote to standard error.
    pub(super) fn last_words(&self) -> String {
        last_lines(&fs::read_to_string(&self.errors).unwrap_or_default())
    }

    /// Sends it a signal.
    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        kill_process(self.pid, signal).map_err(|error| format!("{}: kill: {error}", self.line))
    }

    /// Waits until `until` or until the child has ended, and says whether it has. An error is a
    /// request to stop.
    pub(super) fn wait_until(&self, until: Time, stop: &Stop) -> Result<bool> {
        loop {
            stopped(stop)?;
            let now = Time::now();
            if self.wait((until - now).min(LOOK_AGAIN))? {
                return Ok(true);
            }
            if now >= until {
                return Ok(false);
            }
        }
    }

    /// Waits for the end of the child, at most for `limit` from its start. An error holds the last
    /// lines that it wrote.
    pub(super) fn finish(mut self, stop: &Stop, limit: Duration) -> Result<Finished> {
        if !self.wait_until(self.started + limit, stop)? {
            let limit = limit.as_secs();
            return Err(format!("{}: still running after {limit} s", self.line));
        }
        let wall = Time::now() - self.started;
        // It is dead but not reaped yet, and so its clock still stands at all that it has used:
        // nanoseconds, every thread, nothing missed between a last sample and the end.
        let cpu = cpu_ns(self.pid());
        let status = self.process.wait();
        self.reaped = true;
        let status = status.map_err(|error| format!("{}: {error}", self.line))?;
        if !status.success() && status.code() != Some(self.also_well) {
            return Err(format!("{}: {status}\n{}", self.line, self.last_words()));
        }
        let output = fs::read_to_string(&self.output)
            .map_err(|error| format!("{}: its output: {error}", self.line))?;
        let cpu = cpu.ok_or_else(|| format!("{}: its processor time is hidden", self.line))?;
        Ok(Finished {
            output,
            cpu_seconds: cpu as f64 / 1e9,
            wall_seconds: wall.as_secs_f64(),
        })
    }

    fn wait(&self, limit: Duration) -> Result<bool> {
        let limit = Timespec {
            tv_sec: limit.as_secs() as i64,
            tv_nsec: i64::from(limit.subsec_nanos()),
        };
        let mut handles = [PollFd::new(&self.handle, PollFlags::IN)];
        match poll(&mut handles, Some(&limit)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(format!("poll: {error}")),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        // Fails only if nobody is left in the group. One that is frozen must run to hear it.
        let _ = kill_process_group(self.pid, Signal::TERM);
        let _ = kill_process_group(self.pid, Signal::CONT);
        let deadline = Time::now() + self.grace;
        while Time::now() < deadline && !self.wait(deadline - Time::now()).unwrap_or(true) {}
        let _ = kill_process_group(self.pid, Signal::KILL);
        let _ = self.process.wait();
    }
}

/// Waits until `until`. An error is a request to stop.
pub(super) fn rest_until(until: Time, stop: &Stop) -> Result<()> {
    loop {
        stopped(stop)?;
        let now = Time::now();
        if now >= until {
            return Ok(());
        }
        measure::time::sleep_until(until.min(now + LOOK_AGAIN));
    }
}

fn stopped(stop: &Stop) -> Result<()> {
    match stop.requested() {
        None => Ok(()),
        Some(signal) => Err(format!("ended early: {signal:?}")),
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(LAST_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Folder {
            let name = format!("ringside-child-{}-{name}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).expect("a temporary folder");
            Folder(path)
        }

        fn start(&self, script: &str) -> Child {
            let line = CommandLine::new(["sh", "-c", script]);
            Child::start(&line, &self.0, "child").expect("a shell starts")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const LIMIT: Duration = Duration::from_secs(20);

    #[test]
    fn a_command_is_printed_as_a_shell_reads_it() {
        let line = CommandLine::on_core(1, ["wrk", "-H", "A: it's", "http://a:1/?x=1"]);
        assert_eq!(
            line.to_string(),
            r"taskset -c 1 wrk -H 'A: it'\''s' 'http://a:1/?x=1'"
        );
    }

    #[test]
    fn a_child_that_has_ended_says_what_it_wrote_and_used() {
        let folder = Folder::new("used");
        let script = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done";
        let finished = folder
            .start(script)
            .finish(&Stop::new(), LIMIT)
            .expect("it ends well");
        assert_eq!(finished.output, "done\n");
        assert!(
            finished.cpu_seconds > 0.0005,
            "{} s of processor time",
            finished.cpu_seconds
        );
        assert!(finished.cpu_seconds <= finished.wall_seconds);
    }

    #[test]
    fn a_child_that_fails_is_an_error_with_its_last_words() {
        let folder = Folder::new("fails");
        let error = folder
            .start("echo why >&2; exit 3")
            .finish(&Stop::new(), LIMIT)
            .expect_err("it exits with 3");
        assert!(error.contains("exit status: 3\nwhy"), "{error}");
    }

    #[test]
    fn a_request_to_stop_ends_the_child_even_if_it_is_frozen() {
        let folder = Folder::new("stop");
        let child = folder.start("exec sleep 1000");
        let pid = child.pid();
        child.signal(Signal::STOP).expect("it is alive");
        let stop = Stop::new();
        stop.request(engine::signal::Signal::Interrupt);
        let error = child.finish(&stop, LIMIT).expect_err("it was stopped");
        assert_eq!(error, "ended early: Interrupt");
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
