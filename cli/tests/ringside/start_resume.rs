//! `ringside compare --url … --resume`: servers that ran on are measured on, and others aren't
//! taken for them.

use std::fs;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::{Value, json};

use super::child::{Folder, Server, assert_says, command, ringside, start, until};
use super::start::compare;

/// A comparison of two servers that takes long enough to be interrupted.
fn words<'a>(a: &'a str, b: &'a str) -> Vec<&'a str> {
    let words = ["--url", a, "--url", b, "--no-aa", "--no-ceiling", "-c", "2"];
    [&words[..], &["--rounds", "8", "--duration", "50ms"]].concat()
}

fn read(folder: &Folder, file: &str) -> Value {
    let text = fs::read_to_string(folder.path(file)).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The row of a server at `url`.
fn row(url: &str) -> String {
    format!("port-{}", url.rsplit(':').next().unwrap())
}

/// The start of a round of the server at `url`.
fn start_of(folder: &Folder, url: &str, round: u32) -> u64 {
    let round = read(folder, &format!("out/rounds/{}/{round:03}.json", row(url)));
    round["start"].as_u64().unwrap()
}

/// One that listens where another one did, started by the same command each time.
fn serve_at(authority: &str) -> Server {
    Server::start(&["--engine", "epoll", "--threads", "1", "--addr", authority])
}

/// Begins the comparison, and interrupts it after the first round.
fn begin(folder: &Folder, a: &str, b: &str) {
    let mut command = command(&["compare"]);
    command.args(words(a, b)).args(["-o", "out"]);
    let comparing = start(command.current_dir(folder.path(".")));
    let kept = |url: &str| folder.path(&format!("out/rounds/{}/001.json", row(url)));
    let files = [kept(a), kept(b)];
    until("a round is measured", || {
        files.iter().all(|file| fs::exists(file).unwrap())
    });
    comparing.signal(Signal::INT);
    let ended = comparing.end();
    assert_eq!(ended.code, Some(130), "{}\n{}", ended.stdout, ended.stderr);
}

/// Two servers whose comparison has begun in `folder`, and the address that the second has again
/// whenever it is started there.
fn begun(folder: &Folder) -> (Server, Server, String) {
    let one = Server::start(&["--engine", "epoll"]);
    let free = Server::start(&["--engine", "epoll"]);
    let authority = free.authority().to_owned();
    drop(free);
    let two = serve_at(&authority);
    begin(folder, &one.url, &two.url);
    (one, two, authority)
}

#[test]
fn what_ran_on_is_the_same_start_and_what_was_restarted_is_another() {
    let folder = Folder::new();
    let (one, two, authority) = begun(&folder);
    let (a, b) = (one.url.clone(), two.url.clone());
    let kept = read(&folder, "out/comparison.json");
    assert_eq!(kept["rows"][1]["process"]["pid"], json!(two.pid()));
    let resume = [&words(&a, &b)[..], &["--resume", "out"]].concat();
    // Nobody is there: what was begun stays as it is.
    drop(two);
    let ended = compare(&folder, &resume);
    assert_eq!(ended.code, Some(1), "{}\n{}", ended.stdout, ended.stderr);
    for part in ["nothing is listening there", "; out stays as it is"] {
        assert_says(&ended.stderr, part);
    }
    let two = serve_at(&authority);
    let ended = compare(&folder, &resume);
    assert_eq!(ended.code, Some(0), "{}\n{}", ended.stdout, ended.stderr);
    let (same, new) = (row(&a), row(&b));
    for part in [
        format!("with the same processes of {same}, which count as the same start"),
        format!("after a restart of {new}: the rounds since then count as a start of their own"),
    ] {
        assert_says(&ended.stderr, &part);
    }
    assert!(
        !ended.stderr.contains("with new processes"),
        "{}",
        ended.stderr
    );
    assert_eq!((start_of(&folder, &a, 1), start_of(&folder, &a, 8)), (1, 1));
    assert_eq!((start_of(&folder, &b, 1), start_of(&folder, &b, 8)), (1, 2));
    drop(two);
}

#[test]
fn another_program_or_another_command_is_not_taken_for_the_server() {
    let folder = Folder::new();
    let (one, two, authority) = begun(&folder);
    let (a, b) = (one.url.clone(), two.url.clone());
    drop(two);
    let resume = [&words(&a, &b)[..], &["--resume", "out"]].concat();
    let refused = |part: &str| {
        let ended = compare(&folder, &resume);
        assert_eq!(ended.code, Some(2), "{}\n{}", ended.stdout, ended.stderr);
        assert_says(&ended.stderr, part);
    };
    let two = Server::start(&["--engine", "epoll", "--threads", "2", "--addr", &authority]);
    refused("was restarted with another command line");
    drop(two);
    // The same bytes elsewhere are another program, as they are for what is started.
    let other = folder.path("other");
    // By another process: while it's open here for writing, a child of another test may have it
    // open as well, and then nobody can start it (ETXTBSY).
    let mut copy = Command::new("cp");
    let copied = copy.args([env!("CARGO_BIN_EXE_ringside"), &other]).status();
    assert!(copied.unwrap().success());
    let mut served = Command::new(&other);
    let serving = [
        "serve",
        "--engine",
        "epoll",
        "--threads",
        "1",
        "--addr",
        &authority,
    ];
    served.args(serving).stdin(Stdio::null());
    let served = start(&mut served);
    until("it listens", || {
        ringside(&["run", &b, "-n", "1"]).code == Some(0)
    });
    refused("isn't the same program as in its earlier rounds");
    drop(served);
}
