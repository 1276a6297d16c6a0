//! `ringside` and other programs as child processes. None outlives the test that started it, and
//! none is waited for without end.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

pub(crate) use super::master::until;
use super::ports::free_port;

/// Longer than anything here takes, also on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A program that runs; killed when it is dropped.
pub(crate) struct Running {
    child: Child,
    stdout: Receiver<String>,
    stderr: Receiver<String>,
}

impl Ended {
    /// The record that was printed.
    pub(crate) fn record(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}\n{}", self.stdout, self.stderr))
    }
}

/// The figures of one request of a mix.
pub(crate) fn step<'a>(record: &'a Value, name: &str) -> &'a Value {
    let mut steps = record["steps"].as_array().unwrap().iter();
    steps
        .find(|step| step["name"] == name)
        .unwrap_or_else(|| panic!("{name}: {record}"))
}

/// Runs `ringside` to its end.
pub(crate) fn ringside(arguments: &[&str]) -> Ended {
    start(&mut command(arguments)).end()
}

/// Loads a URL over two connections. How the program ended, and its record.
pub(crate) fn record(engine: &str, url: &str, more: &[&str]) -> (Option<i32>, Value) {
    let mut words = vec!["run", "-c", "2", "--engine", engine, "--format", "json"];
    words.extend(more);
    words.push(url);
    let ended = ringside(&words);
    (ended.code, ended.record())
}

/// `ringside` with these arguments, and an environment that does not depend on who runs the tests.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ringside"));
    command
        .args(arguments)
        .env_remove("NO_COLOR")
        .env_remove("COLUMNS")
        .env("TERM", "xterm")
        .env(
            "XDG_STATE_HOME",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("state"),
        )
        .stdin(Stdio::null());
    command
}

/// Starts a program with both outputs gathered.
pub(crate) fn start(command: &mut Command) -> Running {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = gather(child.stdout.take().unwrap());
    let stderr = gather(child.stderr.take().unwrap());
    Running {
        child,
        stdout,
        stderr,
    }
}

impl Running {
    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(Pid::from_raw)
            .unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Whether it has ended; it is not reaped before [`Running::end`].
    pub(crate) fn has_ended(&self) -> bool {
        !alive(&self.child.id().to_string())
    }

    /// Waits for the end, whatever it is.
    pub(crate) fn settle(&mut self) {
        let _ = self.stdout.recv_timeout(PATIENCE);
    }

    /// Waits for the end.
    pub(crate) fn end(self) -> Ended {
        self.end_within(PATIENCE)
    }

    /// Waits for the end of what takes long.
    pub(crate) fn end_within(mut self, patience: Duration) -> Ended {
        let stdout = self.stdout.recv_timeout(patience);
        let stderr = self.stderr.recv_timeout(patience);
        let (Ok(stdout), Ok(stderr)) = (stdout, stderr) else {
            panic!(
                "process {} has not ended within {patience:?}",
                self.child.id()
            );
        };
        let status: ExitStatus = self.child.wait().unwrap();
        Ended {
            code: status.code(),
            stdout,
            stderr,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail where it has ended already, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn gather(mut stream: impl Read + Send + 'static) -> Receiver<String> {
    let (sender, receiver) = channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let outcome = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // The receiver is gone where a test has failed meanwhile.
        let _ = sender.send(outcome.map_or_else(|error| error.to_string(), |_| text));
    });
    receiver
}

/// A `ringside serve` that listens; stopped when it is dropped.
pub(crate) struct Server {
    child: Child,
    /// `http://127.0.0.1:PORT`, or `unix:PATH`.
    pub(crate) url: String,
    /// What it said when it listened.
    pub(crate) greeting: String,
    rest: Receiver<String>,
}

impl Server {
    /// Starts one on a port that no other test is given, even after it has ended, or on what
    /// `arguments` say.
    pub(crate) fn start(arguments: &[&str]) -> Server {
        let free = format!("127.0.0.1:{}", free_port());
        let mut words = vec!["serve", "--addr", &free, "--threads", "1"];
        if arguments.contains(&"--addr") {
            words.truncate(1);
        }
        words.extend(arguments);
        let mut command = command(&words);
        let mut child = command
            .stderr(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, first) = channel();
        let (rest_sender, rest) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            let _ = stderr.read_line(&mut line);
            let _ = sender.send(line);
            let mut rest = String::new();
            let _ = stderr.read_to_string(&mut rest);
            let _ = rest_sender.send(rest);
        });
        let line = first
            .recv_timeout(PATIENCE)
            .expect("the server says where it listens");
        let url = line
            .strip_prefix("listening on ")
            .and_then(|rest| rest.split(' ').next());
        let url = url
            .unwrap_or_else(|| panic!("not a line of a server: {line:?}"))
            .to_string();
        Server {
            child,
            url,
            greeting: line,
            rest,
        }
    }

    /// The number of its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The URL of a path.
    pub(crate) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.url)
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn authority(&self) -> &str {
        self.url.strip_prefix("http://").unwrap_or(&self.url)
    }

    /// Where it listens.
    pub(crate) fn port(&self) -> u16 {
        let port = self.authority().rsplit(':').next();
        port.and_then(|port| port.parse().ok()).expect("a port")
    }

    /// Stops it with SIGTERM; its exit code and what it said after it listened.
    pub(crate) fn stop(mut self) -> (Option<i32>, String) {
        let pid = i32::try_from(self.child.id())
            .ok()
            .and_then(Pid::from_raw)
            .unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let rest = self.rest.recv_timeout(PATIENCE).expect("the server ends");
        (self.child.wait().unwrap().code(), rest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for one test, gone at its end.
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// A new one, under the target folder.
    pub(crate) fn new() -> Folder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test-{}-{count}", std::process::id());
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    /// The path of a file in it, as text.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0
            .join(name)
            .to_str()
            .expect("the target folder's path is UTF-8")
            .to_string()
    }

    /// Writes a file into it. Its path.
    pub(crate) fn write(&self, name: &str, text: &str) -> String {
        let path = self.path(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// The names in it.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes a comparison whose only subject is our server into `folder`, and gives its path. Each
/// start of the server has the shell run `before` first; `rest` follows the subjects in the file.
pub(crate) fn comparison_of_ours(folder: &Folder, before: &str, rest: &str) -> String {
    let script = format!("{before} exec {{ringside}} serve --addr 127.0.0.1:{{port}}");
    let subject = format!(
        "description = \"ours\"\nkind = \"server\"\n[start]\n\
         command = [\"sh\", \"-c\", \"{script}\"]\n[ready]\npath = \"/health\"\n\
         [[answer]]\npath = \"/\"\nstatus = 200\nbody = \"Hello, World!\"\n"
    );
    fs::create_dir_all(folder.path("subjects/ours")).unwrap();
    fs::write(folder.path("subjects/ours/subject.toml"), subject).unwrap();
    let file = folder.path("test.toml");
    let text = format!("name = \"test\"\nquestion = \"?\"\nsubjects = [\"ours\"]\n{rest}");
    fs::write(&file, text).unwrap();
    file
}

/// Whether a process is there and not only an entry that nobody has reaped yet.
pub(crate) fn alive(pid: &str) -> bool {
    pid.parse().is_ok_and(super::master::lives)
}

/// Whether a run took place. What a busy machine keeps from its schedule is void, which is an exit
/// code of its own; what was exchanged is what it is.
pub(crate) fn took_place(code: Option<i32>) -> bool {
    matches!(code, Some(0 | 4))
}

/// So often is tried what needs a machine that has time for it.
const ATTEMPTS: usize = 20;

/// What came of `attempt` as soon as it was judged, or of the last one: where a machine is busy
/// otherwise, nothing may be. It is told whether there was one before, which may have left
/// something.
pub(crate) fn until_judged<T>(
    mut attempt: impl FnMut(bool) -> T,
    is_judged: impl Fn(&T) -> bool,
) -> T {
    let mut came = attempt(false);
    for _ in 1..ATTEMPTS {
        if is_judged(&came) {
            break;
        }
        came = attempt(true);
    }
    came
}

/// Asserts that `text` has `part` in it, and shows both where not.
#[track_caller]
pub(crate) fn assert_says(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in:\n{text}");
}

/// The rounds of `ours` in the comparison in `out`, as they are on the disk.
pub(crate) fn rounds(out: &str) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(format!("{out}/rounds/ours")) else {
        return BTreeMap::new();
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    let whole = paths.filter(|path| path.extension().is_some_and(|ending| ending == "json"));
    whole
        .map(|path| {
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(&path).unwrap())
        })
        .collect()
}
