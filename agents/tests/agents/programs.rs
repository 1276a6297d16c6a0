//! The programs of these tests. None outlives its test, and none is waited for without end.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agents::local::find_server;
use engine::Address;
use engine::signal::{Signal, Stop};
use measure::time::{Time, sleep_until};
use rustix::process::{Pid, Signal as Sent, kill_process};
use serde_json::Value;
use testserver::LiveCounts;

use crate::skip::skip;

/// Longer than anything here takes, also on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// The policy of agents that may load this machine.
pub(crate) const LOOPBACK: &str =
    "[[allow]]\nnetworks = [\"127.0.0.0/8\"]\nports = [\"1-65535\"]\n";

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Time::now() + PATIENCE;
    while !is_so() {
        assert!(Time::now() < end, "waited in vain: {what}");
        sleep_until(Time::now() + Duration::from_millis(20));
    }
}

/// A NATS server.
pub(crate) struct Nats {
    program: PathBuf,
    folder: tempfile::TempDir,
    child: Child,
    host: &'static str,
    port: u16,
}

impl Nats {
    /// Starts one; where it isn't installed, says so.
    pub(crate) fn start() -> Option<Nats> {
        Nats::start_with("")
    }

    /// One that has this in its configuration, too.
    pub(crate) fn start_with(configuration: &str) -> Option<Nats> {
        Nats::start_at("127.0.0.1", configuration)
    }

    /// The same at another address.
    pub(crate) fn start_at(host: &'static str, configuration: &str) -> Option<Nats> {
        let program = match find_server("nats-server") {
            Ok(program) => program,
            Err(why) => {
                skip(why);
                return None;
            }
        };
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("nats.conf"), configuration).unwrap();
        let child = begin(&program, folder.path(), (host, -1));
        let mut nats = Nats {
            program,
            folder,
            child,
            host,
            port: 0,
        };
        until("the NATS server listens", || {
            nats.port = listens(nats.folder.path()).unwrap_or(0);
            nats.port > 0
        });
        Some(nats)
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://{}:{}", self.host, self.port)
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends it as a crash would, and starts it again at the same port.
    pub(crate) fn restart(&mut self) {
        end(&mut self.child);
        let ports = ports(self.folder.path());
        fs::remove_file(ports.expect("it has said where it listens")).unwrap();
        let place = (self.host, self.port.into());
        self.child = begin(&self.program, self.folder.path(), place);
        until("the NATS server is back", || {
            listens(self.folder.path()) == Some(self.port)
        });
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

fn begin(program: &Path, folder: &Path, (host, port): (&str, i32)) -> Child {
    Command::new(program)
        .args(["--addr", host, "--port", &port.to_string()])
        .arg("--config")
        .arg(folder.join("nats.conf"))
        .arg("--ports_file_dir")
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Where it says at which ports it listens.
fn ports(folder: &Path) -> Option<PathBuf> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let mut files = files.map(|file| file.path());
    files.find(|path| path.extension() == Some(OsStr::new("ports")))
}

fn listens(folder: &Path) -> Option<u16> {
    let said: Value = serde_json::from_slice(&fs::read(ports(folder)?).ok()?).ok()?;
    let url = said["nats"][0].as_str()?;
    url.rsplit_once(':')?.1.parse().ok()
}

fn end(child: &mut Child) {
    let _ended = child.kill();
    let _reaped = child.wait();
}

/// Somebody else's program, which ends with its test.
pub(crate) struct Peer(Child);

impl Peer {
    pub(crate) fn start(command: &mut Command) -> Peer {
        Peer(command.stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// A server under load, in this process.
pub(crate) struct Target {
    address: SocketAddr,
    live: LiveCounts,
    stop: Stop,
    running: Option<testserver::Running>,
}

impl Target {
    pub(crate) fn start() -> Target {
        Target::start_at("127.0.0.1")
    }

    /// At this address of this machine.
    pub(crate) fn start_at(host: &str) -> Target {
        Target::start_with(host, |_| {})
    }

    /// With something of its configuration as it is to be.
    pub(crate) fn start_with(host: &str, set: impl FnOnce(&mut testserver::Config)) -> Target {
        let (stop, live) = (Stop::new(), LiveCounts::default());
        let address = Address::Tcp(format!("{host}:0").parse().unwrap());
        let mut config = testserver::Config::new(address);
        config.live = Some(live.clone());
        set(&mut config);
        let running = testserver::start(config, &stop).unwrap();
        let Address::Tcp(address) = running.address().clone() else {
            panic!("it listens on TCP");
        };
        Target {
            address,
            live,
            stop,
            running: Some(running),
        }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// `HOST:PORT`.
    pub(crate) fn authority(&self) -> String {
        self.address.to_string()
    }

    /// How many connections it has now.
    pub(crate) fn connections(&self) -> u64 {
        self.live.read().connections
    }

    /// How many requests it has read so far.
    pub(crate) fn requests(&self) -> u64 {
        self.live.read().counts.requests
    }

    /// The same once nobody is connected any more: until then it may be behind.
    pub(crate) fn requests_so_far(&self) -> u64 {
        until("all connections are closed", || self.connections() == 0);
        self.requests()
    }

    /// How many it has read in all.
    pub(crate) fn finish(mut self) -> u64 {
        self.stop.request(Signal::Terminate);
        let summary = self.running.take().unwrap().join().unwrap();
        summary.counts.requests
    }
}

/// `ringside-fleet` as a process, with what it says in files.
pub(crate) struct Program {
    child: Child,
    folder: tempfile::TempDir,
}

impl Program {
    pub(crate) fn start(words: &[&str]) -> Program {
        Program::start_with(&[], words)
    }

    /// A load of a server: these words, and its address.
    pub(crate) fn load(words: &str, target: &Target) -> Program {
        let url = target.url("/");
        let words: Vec<&str> = words.split(' ').chain([&*url]).collect();
        Program::start(&words)
    }

    /// One with these variables.
    pub(crate) fn start_with(variables: &[(&str, &str)], words: &[&str]) -> Program {
        Program::start_in(tempfile::tempdir().unwrap(), &[], variables, words)
    }

    /// One that another program becomes.
    pub(crate) fn start_through(before: &[&str], words: &[&str]) -> Program {
        Program::start_in(tempfile::tempdir().unwrap(), before, &[], words)
    }

    fn start_in(
        folder: tempfile::TempDir,
        before: &[&str],
        variables: &[(&str, &str)],
        words: &[&str],
    ) -> Program {
        let this = env!("CARGO_BIN_EXE_ringside-fleet");
        let program = before.first().copied().unwrap_or(this);
        let own = before.get(1..).unwrap_or_default();
        let own = own
            .iter()
            .copied()
            .chain((!before.is_empty()).then_some(this));
        let file = |name: &str| Stdio::from(File::create(folder.path().join(name)).unwrap());
        let child = Command::new(program)
            .args(own)
            .args(words)
            .env_remove("NATS_URL")
            .env_remove("NATS_NKEY")
            .env("XDG_STATE_HOME", folder.path())
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(file("out"))
            .stderr(file("err"))
            .spawn()
            .unwrap();
        Program { child, folder }
    }

    /// An agent that writes down what it does.
    pub(crate) fn agent(name: &str, nats: &Nats, policy: Option<&str>) -> Program {
        Program::agent_with(&[], name, nats, policy)
    }

    /// One with these variables.
    pub(crate) fn agent_with(
        variables: &[(&str, &str)],
        name: &str,
        nats: &Nats,
        policy: Option<&str>,
    ) -> Program {
        Program::begin_agent((&[], variables), (name, &nats.url()), policy, &[])
    }

    /// One that finds the broker somewhere else, with these words besides.
    pub(crate) fn agent_at(more: &[&str], name: &str, url: &str, policy: Option<&str>) -> Program {
        Program::begin_agent((&[], &[]), (name, url), policy, more)
    }

    /// One that may load this machine, and that another program becomes.
    pub(crate) fn agent_through(
        before: &[&str],
        name: &str,
        nats: &Nats,
        more: &[&str],
    ) -> Program {
        Program::begin_agent((before, &[]), (name, &nats.url()), Some(LOOPBACK), more)
    }

    fn begin_agent(
        (before, variables): (&[&str], &[(&str, &str)]),
        (name, url): (&str, &str),
        policy: Option<&str>,
        more: &[&str],
    ) -> Program {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        let (rules, audit) = (file("policy.toml"), file("audit"));
        let mut words = vec!["agent", "--threads", "1", "--name", name, "--nats", url];
        words.extend(["--audit", &audit]);
        words.extend(more);
        if let Some(policy) = policy {
            fs::write(&rules, policy).unwrap();
            words.extend(["--policy", &rules]);
        }
        let agent = Program::start_in(folder, before, variables, &words);
        until("an agent is connected", || {
            agent.said().contains("waits at")
        });
        agent
    }

    /// What it has told whoever looks after it.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.folder.path().join("err")).unwrap()
    }

    /// What an agent has written down.
    pub(crate) fn audit(&self) -> String {
        fs::read_to_string(self.folder.path().join("audit")).unwrap()
    }

    pub(crate) fn signal(&self, signal: Sent) {
        kill_process(self.pid(), signal).unwrap();
    }

    pub(crate) fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32).unwrap()
    }

    /// Whether it has ended.
    pub(crate) fn is_over(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits until it has ended: with which code, and what it printed.
    pub(crate) fn end(mut self) -> Ended {
        let mut status = None;
        until("a program ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        Ended {
            code: status.and_then(|status| status.code()),
            out: fs::read_to_string(self.folder.path().join("out")).unwrap(),
            said: self.said(),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// A program that has ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) said: String,
}

impl Ended {
    /// The record that it printed.
    pub(crate) fn record(&self) -> Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|why| panic!("{why}: {}\n{}", self.out, self.said))
    }

    /// Whether it measured, on a machine that may be too busy for its figures to be valid.
    pub(crate) fn has_measured(&self) -> bool {
        matches!(self.code, Some(0 | 4))
    }
}

/// All exchanges of a record.
pub(crate) fn exchanges(record: &Value) -> u64 {
    let exchanges = &record["exchanges"];
    let of = |name: &str| exchanges[name].as_u64().unwrap();
    of("completed") + of("failed") + of("unfinished")
}

/// The agents of a record, by name.
pub(crate) fn agents(record: &Value) -> &Vec<Value> {
    record["fleet"]["agents"].as_array().unwrap()
}
