//! The program: what it says about a file, the example, and another file while it runs.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::stores::Database;
use super::support::{Client, Do, Origin, in_front_of};

fn program() -> Command {
    Command::new(env!("CARGO_BIN_EXE_ringside-gateway"))
}

/// The program while it runs; it ends with the test.
struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<ChildStderr>>,
    address: SocketAddr,
}

impl Running {
    fn start(arguments: &[&str]) -> Running {
        let mut child = program()
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let said = child.stderr.take().expect("it's a pipe");
        let mut lines = BufReader::new(said).lines();
        let address = loop {
            let line = lines
                .next()
                .expect("it says where it listens")
                .expect("text");
            if let Some(rest) = line.strip_prefix("listening on ") {
                let address = rest.split(' ').next().expect("an address");
                break address.parse().expect("an address");
            }
        };
        Running {
            child,
            lines,
            address,
        }
    }

    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.child.id() as i32), signal).expect("it runs");
    }

    /// Sends SIGHUP; what is said about that.
    fn reload(&mut self) -> String {
        self.signal(Signal::SIGHUP);
        self.lines.next().expect("it says something").expect("text")
    }

    fn get(&self, path: &str) -> (u16, String) {
        let mut client = Client::connect(self.address);
        client.write(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n").as_bytes());
        let said = client.answer(false);
        (said.status, said.text())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn write(path: &Path, text: &str) {
    std::fs::write(path, text).expect("a file of our own");
}

#[test]
fn a_file_is_checked_before_it_is_used() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let check = || {
        let done = program().arg("--config").arg(&path).arg("--check").output();
        let done = done.expect("it runs");
        let text = [done.stdout, done.stderr].concat();
        (done.status.code(), String::from_utf8(text).expect("text"))
    };
    let (code, said) = check();
    assert_eq!(code, Some(1));
    assert!(said.contains("can't be read"), "{said}");
    write(&path, "[[route]]\nansver = 1\n");
    let (code, said) = check();
    assert_eq!(code, Some(1));
    assert!(
        said.contains("gateway.toml:2:1: unknown field `ansver`"),
        "{said}"
    );
    assert!(said.contains("did you mean `answer`?"), "{said}");
    write(&path, "[[route]]\nanswer = { status = 200 }\n");
    let (code, said) = check();
    assert_eq!(code, Some(0));
    assert!(said.ends_with("is fine: 1 routes, 0 upstreams\n"), "{said}");
}

/// A set with a key that can be used, one with its private half, and one that is there twice.
const KEYS: &str = r#"{"keys":[
    {"kty":"OKP","crv":"Ed25519","kid":"a","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},
    {"kty":"OKP","crv":"Ed25519","kid":"b","x":"s4wiYUI33cM57m4a1ycInu4pqGpjSQe8Res6t1Okxrc",
     "d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"},
    {"kty":"OKP","crv":"Ed25519","kid":"a","x":"s4wiYUI33cM57m4a1ycInu4pqGpjSQe8Res6t1Okxrc"}]}"#;

#[test]
fn keys_that_are_not_taken_are_told_by_the_check_and_by_a_reload() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, keys) = (
        folder.path().join("gateway.toml"),
        folder.path().join("keys.json"),
    );
    write(&keys, KEYS);
    let keys = keys.display();
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\n[token.a]\njwks = \"{keys}\"\n\
         [[route]]\ntoken = \"a\"\nanswer = {{ status = 200 }}\n"
    );
    write(&path, &text);
    let expected = format!("ringside-gateway: [token.a]: {keys}: not taken: key 2: it's a private");
    let done = program().arg("--config").arg(&path).arg("--check").output();
    let done = done.expect("it runs");
    let said = String::from_utf8(done.stderr).expect("text");
    assert!(
        done.status.success() && said.starts_with(&expected),
        "{said}"
    );
    assert!(
        said.contains("key 3: a key before it is for EdDSA, too"),
        "{said}"
    );
    assert!(!said.contains("nWGx"), "{said}");
    let mut running = Running::start(&["--config", path.to_str().expect("text")]);
    let said = running.reload();
    assert!(said.starts_with(&expected), "{said}");
}

#[test]
fn fetched_keys_that_are_not_taken_are_told_once() {
    let origin = Origin::new(|_| Do::answer(KEYS));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\n[upstream.keys]\nservers = [\"{}\"]\n\
         [token.a]\nremote = {{ upstream = \"keys\", path = \"/jwks\", refresh = \"1ms\" }}\n\
         [[route]]\ntoken = \"a\"\nanswer = {{ status = 200 }}\n",
        origin.address
    );
    write(&path, &text);
    let mut child = program()
        .arg("--config")
        .arg(&path)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    origin.wait_for(3);
    let _ = child.kill();
    let _ = child.wait();
    let lines = BufReader::new(child.stderr.take().expect("it's a pipe")).lines();
    let said: Vec<String> = lines.map(|line| line.expect("text")).collect();
    let begin = "ringside-gateway: the keys that came for [token.a]: not taken: key 2: it's a priv";
    let count = said.iter().filter(|line| line.starts_with(begin)).count();
    assert_eq!(count, 1, "{said:?}");
}

#[test]
fn the_example_shows_itself_and_ends_when_it_is_told_to() {
    let mut running = Running::start(&["--example", "--listen", "127.0.0.1:0"]);
    assert_eq!(
        running.get("/hello"),
        (200, "hello from the gateway\n".into())
    );
    let (status, text) = running.get("/anything?x=y");
    assert_eq!(status, 200);
    assert!(text.starts_with("GET /anything?x=y\n"), "{text}");
    assert!(text.contains("\nx-forwarded-for: 127.0.0.1\n"), "{text}");
    assert_eq!(running.get("/private").0, 401);
    let token = gateway::example::TOKEN;
    let mut client = Client::connect(running.address);
    let field = format!("Authorization: Bearer {token}\r\n");
    client.write(format!("GET /private HTTP/1.1\r\nHost: a\r\n{field}\r\n").as_bytes());
    let text = client.answer(false).text();
    for line in ["x-user: alice", "x-role: admin", "x-plan: gold"] {
        assert!(text.lines().any(|one| one == line), "{line} in {text}");
    }
    running.signal(Signal::SIGTERM);
    assert!(running.child.wait().expect("it ends").success());
}

#[test]
fn another_file_takes_effect_while_it_runs_and_a_broken_one_does_not() {
    let (old, new) = (Origin::named("old"), Origin::named("new"));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let listen = "[listen]\naddress = \"127.0.0.1:0\"\nthreads = 2\n";
    let of = |origin: &Origin| format!("{listen}{}", in_front_of(&[origin.address], ""));
    write(&path, &of(&old));
    let mut running = Running::start(&["--config", path.to_str().expect("text")]);
    assert_eq!(running.get("/").1, "old");
    write(&path, "[[route]]\nupstream = \"nobody\"\n");
    let said = running.reload();
    assert!(said.contains("the configuration stays as it was"), "{said}");
    assert!(said.contains("gateway.toml:2:12"), "{said}");
    assert_eq!(running.get("/").1, "old");
    write(&path, &of(&new));
    let said = running.reload();
    assert!(said.contains("is in force"), "{said}");
    // Each of the workers, whichever takes the connection.
    assert!((0..20).all(|_| running.get("/").1 == "new"));
    write(&path, &of(&new).replace("threads = 2", "threads = 1"));
    let said = running.reload();
    assert!(
        said.contains("what changed in [listen] takes a restart"),
        "{said}"
    );
    assert_eq!(running.get("/").1, "new");
    // It's what runs that counts, not what was read last.
    let said = running.reload();
    assert!(
        said.contains("what changed in [listen] takes a restart"),
        "{said}"
    );
    write(&path, &of(&new));
    assert!(running.reload().ends_with("and is in force"));
    let limit = format!("[limits]\nbody = 2\n{}", of(&new));
    write(&path, &limit);
    assert!(running.reload().ends_with("and is in force"));
}

#[test]
fn why_a_query_fails_is_said_before_the_first_answer() {
    let Some(database) = Database::start() else {
        return;
    };
    database.execute("CREATE DATABASE test; CREATE TABLE test.people (id INT PRIMARY KEY)");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\n[users.a]\nby = \"segment:1\"\n\
         database = {{ address = \"unix:{}\", user = \"root\", timeout = \"20s\", \
         query = \"SELECT plan FROM test.people WHERE id = ?\" }}\n\
         [[route]]\nuser = \"a\"\nanswer = {{ status = 200 }}\n",
        database.0.socket().display()
    );
    write(&path, &text);
    let checked = program().arg("--config").arg(&path).arg("--check").output();
    assert!(
        checked.expect("it runs").status.success(),
        "it connects to nobody"
    );
    for _ in 0..5 {
        let mut running = Running::start(&["--config", path.to_str().expect("text")]);
        assert_eq!(running.get("/42").0, 503);
        // What it says after that comes behind it.
        running.signal(Signal::SIGTERM);
        let said = running.lines.by_ref().map(|line| line.expect("text"));
        let said: Vec<String> = said.collect();
        let begin =
            "ringside-gateway: users a: the database refuses the query: 1054 Unknown column";
        assert!(said[0].starts_with(begin), "{said:?}");
    }
}

#[test]
fn how_many_are_cut_off_at_the_end_of_the_drain_is_said() {
    let origin = Origin::new(|_| Do::SayAndHang(Vec::new()));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let begin = "[listen]\naddress = \"127.0.0.1:0\"\n[timeouts]\ndrain = \"50ms\"\n";
    write(
        &path,
        &format!("{begin}{}", in_front_of(&[origin.address], "")),
    );
    let mut running = Running::start(&["--config", path.to_str().expect("text")]);
    let clients = [(); 2].map(|()| {
        let mut client = Client::connect(running.address);
        client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
        client
    });
    origin.wait_for(2);
    running.signal(Signal::SIGTERM);
    let expected = "ringside-gateway: 2 connections were cut off, 50ms after the end began \
                    (`drain` in [timeouts])";
    let said = running
        .lines
        .next()
        .expect("it says something")
        .expect("text");
    assert_eq!(said, expected);
    drop(clients);
}

#[test]
fn why_a_store_of_users_is_away_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("gateway.toml");
    let text = "[listen]\naddress = \"127.0.0.1:0\"\n[users.a]\nby = \"segment:1\"\n\
                redis = { address = \"unix:/nowhere\" }\n\
                [[route]]\nuser = \"a\"\nanswer = { status = 200 }\n";
    write(&path, text);
    let mut child = program()
        .arg("--config")
        .arg(&path)
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // A worker says so, before or after the program says where it listens.
    let lines = BufReader::new(child.stderr.take().expect("it's a pipe")).lines();
    let said: Vec<String> = lines.take(3).map(|line| line.expect("text")).collect();
    let _ = child.kill();
    let _ = child.wait();
    let begin = "ringside-gateway: users a: Redis can't be reached: ";
    assert!(said.iter().any(|line| line.starts_with(begin)), "{said:?}");
}
