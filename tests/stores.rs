//! Real stores for tests: Redis and MariaDB, each in a folder of its own and at a Unix socket, so
//! that no port is anybody's. Included by path. A server that isn't installed is skipped, loudly.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// A store that runs, and is killed when it's dropped.
pub(crate) struct Store {
    child: Child,
    folder: tempfile::TempDir,
    program: &'static str,
    arguments: Vec<String>,
    /// What it says once it listens.
    ready: &'static str,
}

impl Store {
    fn start(
        program: &'static str,
        folder: tempfile::TempDir,
        arguments: Vec<String>,
        ready: &'static str,
    ) -> Store {
        let child = begin(program, &arguments, ready);
        Store {
            child,
            folder,
            program,
            arguments,
            ready,
        }
    }

    /// Where it listens.
    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Sends it a signal, by the name that kill(1) knows.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill -s {name}");
    }

    /// Ends it as a crash would.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Starts it again, with the data that it has left.
    pub(crate) fn start_again(&mut self) {
        self.child = begin(self.program, &self.arguments, self.ready);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a program, and reads what it says until it's ready.
fn begin(program: &str, arguments: &[String], ready: &str) -> Child {
    // Both streams are one: each of the two programs uses another.
    let script = "exec \"$0\" \"$@\" 2>&1";
    let mut child = Command::new("sh")
        .args(["-c", script, program])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a shell");
    let said = child.stdout.take().expect("it's piped");
    let mut lines = BufReader::new(said).lines();
    let mut all = String::new();
    let is_ready = lines.by_ref().any(|line| {
        let line = line.expect("it's text");
        all.push_str(&line);
        all.push('\n');
        line.contains(ready)
    });
    if !is_ready {
        let _ = child.wait();
        panic!("{program} isn't ready:\n{all}");
    }
    // Nobody wants the rest, and it must not wait for a reader.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

fn path_of(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let mut folders = std::env::split_paths(&path).chain(more);
    folders.find_map(|folder| Some(folder.join(program)).filter(|file| file.is_file()))
}

/// Redis.
pub(crate) struct Redis(pub(crate) Store);

impl Redis {
    /// Starts one that keeps nothing on the disk; `None` if it isn't installed.
    pub(crate) fn start() -> Option<Redis> {
        if path_of("redis-server").is_none() {
            crate::skip::skip("redis-server is missing: apt install redis-server");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let shown = folder.path().display().to_string();
        let socket = format!("{shown}/socket");
        let arguments = [
            "--port",
            "0",
            "--unixsocket",
            &socket,
            "--dir",
            &shown,
            "--save",
            "",
            "--appendonly",
            "no",
        ];
        let arguments = arguments.map(String::from).to_vec();
        let ready = "eady to accept connections";
        Some(Redis(Store::start(
            "redis-server",
            folder,
            arguments,
            ready,
        )))
    }

    /// Says something to it, and returns what it says.
    pub(crate) fn say(&self, words: &[&str]) -> String {
        let socket = self.0.socket();
        let said = output(Command::new("redis-cli").arg("-s").arg(socket).args(words));
        assert!(!said.starts_with("ERR"), "{words:?}: {said}");
        said
    }

    /// Has it execute commands with nothing between them (MULTI).
    pub(crate) fn say_at_once(&self, commands: &[&str]) {
        let text = format!("MULTI\n{}\nEXEC\n", commands.join("\n"));
        let script = "printf '%s' \"$0\" | exec redis-cli -s \"$1\"";
        let mut shell = Command::new("sh");
        let said = output(shell.args(["-c", script, &text]).arg(self.0.socket()));
        assert!(!said.contains("ERR"), "{commands:?}: {said}");
    }
}

/// MariaDB.
pub(crate) struct Database(pub(crate) Store);

impl Database {
    /// Starts an empty one; `None` if it isn't installed.
    pub(crate) fn start() -> Option<Database> {
        for program in ["mariadbd", "mariadb-install-db", "mariadb"] {
            if path_of(program).is_none() {
                let why = format!("{program} is missing: apt install mariadb-server");
                crate::skip::skip(why);
                return None;
            }
        }
        let folder = tempfile::tempdir().expect("a folder");
        let data = folder.path().join("data");
        output(Command::new("cp").arg("-r").arg(empty()).arg(&data));
        let mut arguments = options(&data);
        arguments.push(format!("--socket={}/socket", folder.path().display()));
        let ready = "ready for connections";
        Some(Database(Store::start("mariadbd", folder, arguments, ready)))
    }

    /// Has it execute statements, and returns what they say.
    pub(crate) fn execute(&self, statements: &str) -> String {
        let socket = format!("--socket={}", self.0.socket().display());
        let mut client = Command::new("mariadb");
        client.args([
            "--no-defaults",
            "--user=root",
            "--batch",
            "--skip-column-names",
        ]);
        output(client.arg(socket).args(["-e", statements]))
    }
}

fn options(data: &Path) -> Vec<String> {
    let data = format!("--datadir={}", data.display());
    let options = [
        "--no-defaults",
        "--user=root",
        &data,
        "--skip-networking",
        "--innodb-buffer-pool-size=32M",
        "--innodb-log-file-size=8M",
    ];
    options.map(String::from).to_vec()
}

/// The data of an empty database, which are made once.
fn empty() -> &'static Path {
    static EMPTY: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = EMPTY.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let data = format!("--datadir={}/data", folder.path().display());
        let mut install = Command::new("mariadb-install-db");
        install.args(["--no-defaults", "--user=root", &data]);
        install.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
        install.env("TMPDIR", folder.path());
        output(install.arg("--innodb-log-file-size=8M"));
        folder
    });
    static DATA: OnceLock<PathBuf> = OnceLock::new();
    DATA.get_or_init(|| folder.path().join("data"))
}

/// What a program says that succeeds.
fn output(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("it's there");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}{errors}");
    said.trim_end().to_owned()
}
