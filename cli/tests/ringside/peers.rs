//! Real servers of others, loaded by `ringside run`. One that is not installed is said loudly, and
//! is a failure where CI=true promises that it is.

use std::env;
use std::fs;
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use measure::time::{Time, sleep_until};
use serde_json::Value;

use super::child::{Folder, PATIENCE, Running, ringside, start, took_place};
use super::ports::free_port;

/// Whether a program is there; says so if not.
pub(crate) fn installed(program: &str, question: &str) -> bool {
    answers(Command::new(program).arg(question), program)
}

/// Whether what `command` asks of `name` succeeds; says so if not.
pub(crate) fn answers(command: &mut Command, name: &str) -> bool {
    let asked = command.output();
    if asked.is_ok_and(|answer| answer.status.success()) {
        return true;
    }
    super::skip::skip(format!(
        "{name} is not installed, so nothing is known about it"
    ));
    false
}

/// The path of a program that `.ci/run` installs, in the folder that it uses for that.
pub(crate) fn from_ci(program: &str) -> String {
    let path = super::installed::from_ci(program);
    path.to_str().unwrap().to_owned()
}

/// Waits until somebody listens on `port`. A peer tells no one when it is ready, so this asks.
pub(crate) fn ready(port: u16, name: &str) {
    let until = Time::now() + PATIENCE;
    while TcpStream::connect(("127.0.0.1", port)).is_err() {
        assert!(Time::now() < until, "{name} does not listen");
        sleep_until(Time::now().plus(10_000_000));
    }
}

/// Loads whoever listens on `port`, closed loop and open loop, on both engines.
fn load(port: u16, name: &str) {
    let url = format!("http://127.0.0.1:{port}/");
    for engine in ["auto", "epoll"] {
        for more in [
            &["-n", "2000"][..],
            &["-n", "2000", "--pipeline", "4"],
            &["-R", "1k", "-d1s"],
        ] {
            let mut words = vec!["run", "-c8", "--engine", engine, "--format", "json"];
            words.extend(more);
            words.push(&url);
            let ended = ringside(&words);
            assert!(took_place(ended.code), "{name} {words:?}: {}", ended.stderr);
            let record: Value = serde_json::from_str(&ended.stdout).unwrap();
            let completed = record["exchanges"]["completed"].as_u64().unwrap();
            assert!(completed >= 900, "{name} {words:?}: {record}");
            assert_eq!(
                record["errors"],
                Value::Object(Default::default()),
                "{name} {words:?}"
            );
            assert_eq!(
                record["status"]["200"].as_u64(),
                Some(completed),
                "{name} {words:?}"
            );
        }
    }
}

pub(crate) fn subject(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../subjects")
        .join(name);
    path.to_str().unwrap().to_string()
}

#[test]
fn nginx_is_loaded_without_an_error() {
    if !installed("nginx", "-v") {
        return;
    }
    let folder = Folder::new();
    let port = free_port();
    let configuration = fs::read_to_string(format!("{}/nginx.conf", subject("nginx"))).unwrap();
    let configuration = configuration
        .replace("{port}", &port.to_string())
        .replace("{dir}", folder.path("").trim_end_matches('/'));
    fs::write(folder.path("nginx.conf"), configuration).unwrap();
    let _peer = peer(
        Command::new("nginx")
            .args([
                "-e",
                &folder.path("error.log"),
                "-c",
                &folder.path("nginx.conf"),
            ])
            .args(["-p", &folder.path("")]),
    );
    ready(port, "nginx");
    load(port, "nginx");
}

#[test]
fn node_is_loaded_without_an_error() {
    if !installed("node", "--version") {
        return;
    }
    let port = free_port();
    let program = format!("{}/server.js", subject("node-http"));
    let _peer = peer(Command::new("node").args([&program, &port.to_string()]));
    ready(port, "node");
    load(port, "node");
}

#[test]
fn go_is_loaded_without_an_error() {
    if !installed("go", "version") {
        return;
    }
    let folder = Folder::new();
    let program = folder.path("server");
    let built = Command::new("go")
        .args(["build", "-o", &program, "."])
        .current_dir(subject("go-nethttp"))
        .envs([
            ("CGO_ENABLED", "0"),
            ("GOFLAGS", "-buildvcs=false"),
            ("GOPROXY", "off"),
        ])
        .env("GOTOOLCHAIN", "local")
        .status()
        .unwrap();
    assert!(built.success());
    let port = free_port();
    let _peer = peer(Command::new(&program).arg(format!("127.0.0.1:{port}")));
    ready(port, "go");
    load(port, "go");
}

/// A peer that runs. It is asked to end, for nginx leaves its worker behind when it is killed.
pub(crate) struct Peer(Running);

pub(crate) fn peer(command: &mut Command) -> Peer {
    Peer(start(command))
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.0.signal(rustix::process::Signal::TERM);
        self.0.settle();
    }
}
