//! A fleet on this machine: a NATS server of its own on the loopback interface, and agents, all of
//! which end when whoever started them does.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use measure::cpu;
use measure::time::{Time, sleep_until};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use crate::beside::{self, Kept};
use crate::epoch;
use crate::folder::{self, Folder};
use crate::nats::Broker;
use crate::policy::ANYTHING;

/// The server's program.
const SERVER: &str = "nats-server";
/// How long it may take to listen.
const READY_NS: u64 = 20_000_000_000;
const LOOK_NS: u64 = 20_000_000;
/// How the name of a fleet's folder begins.
const FOLDER: &str = "ringside-fleet-";
/// The variable of agents whose user didn't start them: they don't say that they wait. It names a
/// folder for their files, which goes when they do.
pub const LOCAL: &str = "RINGSIDE_FLEET_LOCAL";

/// See the module.
#[derive(Debug)]
pub struct Here {
    broker: Broker,
    server: Server,
    _kept: Kept,
}

/// Its server's process, which its [`Programs`] wait for.
#[derive(Clone, Copy, Debug)]
pub struct Server(Pid);

impl Server {
    /// Why nobody can be reached through it any more, if it has ended.
    pub fn fault(self) -> Option<&'static str> {
        // Its number is nobody else's until it has been waited for.
        let looks = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        let ended = waitid(WaitId::Pid(self.0), looks).ok().flatten();
        ended.map(|_| {
            "the NATS server of this fleet (nats-server, which was started here) has ended, and \
             with it the load: what agents hadn't sent by then is lost. Look who ended it (the \
             kernel, if memory was short: dmesg), and start the run again"
        })
    }
}

/// Its programs.
struct Programs {
    /// The server first.
    children: Vec<Child>,
    /// Gone with this.
    folder: Folder,
}

impl Here {
    /// Starts a server and so many agents, on these CPUs in turn; on all if there are none.
    ///
    /// # Errors
    /// A sentence: what couldn't be started, and what to do.
    pub fn start(agents: u32, cpus: &[usize]) -> Result<Here, String> {
        let cpus = cpus.to_vec();
        let (kept, (broker, server)) = Kept::start(move || Programs::start(agents, &cpus))?;
        Ok(Here {
            broker,
            server,
            _kept: kept,
        })
    }

    /// Its server.
    pub fn broker(&self) -> &Broker {
        &self.broker
    }

    /// The process of that.
    pub fn server(&self) -> Server {
        self.server
    }
}

impl Programs {
    fn start(agents: u32, cpus: &[usize]) -> Result<(Programs, (Broker, Server)), String> {
        let server = find_server(SERVER)?;
        let folder = Folder::make(&std::env::temp_dir(), FOLDER);
        let folder = folder.map_err(|why| format!("can't make a folder: {why}"))?;
        // Whoever else is on this machine may connect to the port.
        let password = format!("{:016x}{:016x}", epoch().nonce, epoch().nonce);
        let config = folder.path().join("nats.conf");
        let policy = folder.path().join("policy.toml");
        let written = folder::write(&config, configuration(folder.path(), &password))
            .and_then(|()| folder::write(&policy, ANYTHING));
        written.map_err(|why| format!("can't write into {}: {why}", folder.path().display()))?;
        let child = spawn(&server, |command| {
            command.arg("--config").arg(&config).stderr(Stdio::null());
        })?;
        let process = Server(Pid::from_child(&child));
        let mut programs = Programs {
            children: vec![child],
            folder,
        };
        let folder = programs.folder.path().to_owned();
        let port = port(&folder, &mut programs.children[0])?;
        let url = format!("nats://fleet:{password}@127.0.0.1:{port}");
        let this = std::env::current_exe()
            .map_err(|why| format!("can't find the path of this program: {why}"))?;
        for (number, cpus) in dealt(agents, cpus).into_iter().enumerate() {
            programs.children.push(spawn(&this, |command| {
                command
                    // The key is for a server of somebody else's.
                    .env_remove("NATS_NKEY")
                    .env("NATS_URL", &url)
                    .env(LOCAL, &folder)
                    .args(["agent", "--threads", "1", "--cpus", &cpus])
                    .args(["--name", &format!("local-{number}"), "--policy"])
                    .arg(&policy);
            })?);
        }
        Ok((programs, (Broker::new(&url, None)?, process)))
    }
}

impl Drop for Programs {
    fn drop(&mut self) {
        // Nobody misses the server.
        self.children.iter_mut().rev().for_each(end);
    }
}

/// Ends a child. One that has ended is only waited for.
fn end(child: &mut Child) {
    let _ended = child.kill();
    let _reaped = child.wait();
}

/// Where the server's program is.
///
/// # Errors
/// It isn't anywhere: how to get it.
pub fn find_server(name: &str) -> Result<PathBuf, String> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = std::env::var_os("GOBIN").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join("go/bin"));
    let mut folders = std::env::split_paths(&path).chain(own).chain(home);
    let found = folders.find_map(|folder| Some(folder.join(name)).filter(|path| path.is_file()));
    found.ok_or_else(|| {
        format!(
            "{name} isn't installed, through which agents are reached: install it with `go \
             install github.com/nats-io/nats-server/v2@v2.15.2`, or take your system's package \
             (Debian: nats-server)"
        )
    })
}

/// What the server listens at, whom it lets in, and where it says which port it has.
fn configuration(folder: &Path, password: &str) -> String {
    let folder = folder.display().to_string();
    format!(
        "listen: \"127.0.0.1:-1\"\nports_file_dir: {folder:?}\nauthorization {{ user: fleet, \
         password: {password:?} }}\njetstream {{ store_dir: {folder:?} }}\n"
    )
}

/// Waits until the server has said which port it listens at.
fn port(folder: &Path, server: &mut Child) -> Result<u16, String> {
    let until = Time::now().plus(READY_NS);
    loop {
        if let Some(port) = said_port(folder) {
            return Ok(port);
        }
        let ended = server.try_wait().ok().flatten();
        if let Some(status) = ended {
            return Err(format!("{SERVER} ended before it listened ({status})"));
        }
        if Time::now() >= until {
            return Err(format!("{SERVER} doesn't say which port it listens at"));
        }
        sleep_until(Time::now().plus(LOOK_NS));
    }
}

fn said_port(folder: &Path) -> Option<u16> {
    let files = fs::read_dir(folder).ok()?.flatten();
    let mut files = files.map(|file| file.path());
    let file = files.find(|path| path.extension() == Some(OsStr::new("ports")))?;
    let said: serde_json::Value = serde_json::from_slice(&fs::read(file).ok()?).ok()?;
    let url = said["nats"].as_array()?.first()?.as_str()?;
    url.rsplit_once(':')?.1.parse().ok()
}

/// The CPUs of each of so many agents, as a list that its `--cpus` takes: from the last downwards,
/// because servers are mostly put on the first ones.
fn dealt(agents: u32, cpus: &[usize]) -> Vec<String> {
    let cpus = match cpus {
        [] => cpu::allowed().into_iter().rev().collect(),
        cpus => cpus.to_vec(),
    };
    let agents = agents as usize;
    let each = |agent: usize| {
        let own = cpus.iter().skip(agent % cpus.len().max(1)).step_by(agents);
        let own: Vec<String> = own.map(ToString::to_string).collect();
        own.join(",")
    };
    (0..agents).map(each).collect()
}

/// Starts a program that ends with this thread, even if this process is killed.
fn spawn(program: &Path, add: impl FnOnce(&mut Command)) -> Result<Child, String> {
    let failed = |why| format!("can't start {}: {why}", program.display());
    let mut command = Command::new(std::env::current_exe().map_err(failed)?);
    command
        .args(beside::words())
        .arg(program)
        // A Ctrl-C is for this process, which sees to it that the load ends well.
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null());
    add(&mut command);
    command.spawn().map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_share_the_cpus_out_and_each_has_one() {
        assert_eq!(dealt(2, &[3, 2, 1, 0]), ["3,1", "2,0"]);
        assert_eq!(dealt(3, &[1, 0]), ["1", "0", "1"]);
        assert_eq!(dealt(1, &[5]), ["5"]);
        assert!(dealt(2, &[]).iter().all(|cpus| !cpus.is_empty()));
    }

    #[test]
    fn a_server_that_is_not_there_can_be_had() {
        let said = find_server("nats-server-of-nobody").unwrap_err();
        assert!(said.contains("go install github.com/nats-io/nats-server/v2@v2.15.2"));
        assert!(said.contains("Debian: nats-server"));
    }
}
