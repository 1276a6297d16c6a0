//! `cargo xtask nonsense`: whole programs against a peer that makes no sense.
//!
//! A case starts `ringside serve`, and `ringside run` or `hold` towards it, with a peer between
//! them that lets their traffic pass, damages it, cuts it off, or says something else in its place,
//! on real sockets. The peer also talks to the server directly. Whatever it does, both programs end
//! in order and within their time limits, take no more memory than they may, and account for every
//! exchange; and the server still answers whoever makes sense. A seed decides all of a case but the
//! moments at which the sockets take their bytes.
//!
//! This folder knows ringside only as a program: by its command line and its record.

mod case;
mod mangle;
mod peer;
mod program;
mod random;
mod speech;
mod verdict;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use engine::signal::Stop;
use measure::time::{Time, unix_seconds};
use rustix::process::Signal;

use crate::cargo::cargo;
use case::Case;
use peer::Peer;
use program::{Ended, Program};
use verdict::{CLIENT_BYTES_MAX, PATIENCE, SERVER_BYTES_MAX};

/// What can go wrong is said in a sentence.
type Result<T, E = String> = std::result::Result<T, E>;

const USAGE: &str = "\
usage: cargo xtask nonsense [--seconds S] [--from N | --seed N] [--jobs N] [--binary FILE]

  --seconds S    go on for so long [default: 60]
  --from N       the first seed; each case takes the next [default: by the time of day]
  --seed N       this case alone, and say all about it
  --jobs N       cases at the same time [default: 4]
  --binary FILE  this ringside; without it `cargo build` makes one";

/// What is asked for.
#[derive(Debug)]
struct Options {
    seconds: u64,
    from: u64,
    seed: Option<u64>,
    jobs: u64,
    binary: Option<PathBuf>,
}

/// `cargo xtask nonsense` with what stands after it.
pub(crate) fn run(words: &[String], root: &Path) -> ExitCode {
    let options = match Options::parse(words) {
        Ok(options) => options,
        Err(text) => {
            eprintln!("{text}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    match begin(&options, root) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(text) => {
            eprintln!("{text}");
            ExitCode::FAILURE
        }
    }
}

/// Runs what is asked for, and returns how many cases failed.
fn begin(options: &Options, root: &Path) -> Result<u64> {
    let binary = match &options.binary {
        Some(file) => file.clone(),
        None => build(root)?,
    };
    if let Some(seed) = options.seed {
        let case = Case::of(seed);
        eprintln!("{case}");
        return Ok(u64::from(!tell(&case, &look_into(&case, &binary, true)?)));
    }
    let stop = Stop::on_signals().map_err(|error| format!("signals cannot be caught: {error}"))?;
    let until = Time::now() + Duration::from_secs(options.seconds);
    let (next, failed) = (AtomicU64::new(options.from), AtomicU64::new(0));
    eprintln!("seeds from {}, for {} s", options.from, options.seconds);
    let work = || -> Result<()> {
        while Time::now() < until && stop.requested().is_none() {
            let case = Case::of(next.fetch_add(1, Ordering::Relaxed));
            if !tell(&case, &look_into(&case, &binary, false)?) {
                failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| -> Result<()> {
        let jobs: Vec<_> = (0..options.jobs).map(|_| scope.spawn(work)).collect();
        jobs.into_iter()
            .try_for_each(|job| job.join().map_err(|_| "a job panicked")?)
    })?;
    let (cases, failed) = (next.into_inner() - options.from, failed.into_inner());
    eprintln!("{cases} cases, {failed} failed");
    Ok(failed)
}

/// Prints what is wrong, if anything is, and how to see it again.
fn tell(case: &Case, complaints: &[String]) -> bool {
    if complaints.is_empty() {
        return true;
    }
    let seed = case.seed;
    eprintln!(
        "seed {seed}: {}\n  again: cargo xtask nonsense --seed {seed}",
        complaints.join("\n  ")
    );
    false
}

/// Runs one case to its end, and says what was wrong.
fn look_into(case: &Case, binary: &Path, aloud: bool) -> Result<Vec<String>> {
    let mut words: Vec<String> = vec!["serve".into(), "--addr".into(), "127.0.0.1:0".into()];
    words.extend(case.server.clone());
    let server = Program::start(binary, &words)?;
    let address = listening(&server, case.seed)?;
    let listener = TcpListener::bind(("127.0.0.1", 0)).map_err(|error| error.to_string())?;
    let port = listener
        .local_addr()
        .map_err(|error| error.to_string())?
        .port();
    let mut words = vec![case.verb().to_owned()];
    words.extend(case.client.clone());
    words.push(case.url(port));
    let peer = Peer::new(case, address);
    let client = std::thread::scope(|scope| -> Result<Option<Ended>> {
        scope.spawn(|| peer.accept(&listener, scope));
        for number in 0..case.harassers {
            let peer = &peer;
            scope.spawn(move || peer.harass(number));
        }
        let ended = Program::start(binary, &words).map(|client| client.end(PATIENCE));
        peer.over.store(true, Ordering::Relaxed);
        ended
    })?;
    // 2: what a server says of itself by reflection may not fit what was asked for; 4: figures that
    // mean nothing are said to.
    let mut complaints =
        verdict::of_end("client", client.as_ref(), &[0, 1, 2, 4], CLIENT_BYTES_MAX);
    if let Some(ended) = &client {
        complaints.extend(verdict::of_output(ended, case.run, case.due));
        if aloud {
            eprintln!("{} said: {}\n{}", case.verb(), ended.errors, ended.output);
        }
    }
    complaints.extend(of_server(server, address, case.tls));
    Ok(complaints)
}

/// Where a server that was just started listens.
fn listening(server: &Program, seed: u64) -> Result<SocketAddr> {
    let line = server.says("listening on ", PATIENCE);
    let place = line.as_deref().and_then(|line| {
        let place = line.split("://").nth(1)?;
        place.split_whitespace().next()?.parse().ok()
    });
    place.ok_or_else(|| format!("seed {seed}: the server does not listen: {line:?}"))
}

/// What is wrong with the server once the client has ended: it has to answer, and to end when it
/// is asked to.
fn of_server(mut server: Program, address: SocketAddr, tls: bool) -> Vec<String> {
    let mut complaints = Vec::new();
    // What is said over TLS is beyond this peer; that somebody listens it sees there, too.
    let answers = if tls {
        connects(address)
    } else {
        answers(address)
    };
    if server.has_ended() {
        complaints.push("the server has ended by itself".into());
    } else if let Err(error) = answers {
        complaints.push(format!("the server does not answer any more: {error}"));
    }
    server.look();
    server.signal(Signal::TERM);
    let ended = server.end(PATIENCE);
    complaints.extend(verdict::of_end(
        "server",
        ended.as_ref(),
        &[0],
        SERVER_BYTES_MAX,
    ));
    complaints
}

fn connects(address: SocketAddr) -> std::io::Result<()> {
    TcpStream::connect_timeout(&address, PATIENCE).map(drop)
}

fn answers(address: SocketAddr) -> std::io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.starts_with("HTTP/1.1 200 ") {
        true => Ok(()),
        false => Err(std::io::Error::other(format!("{answer:?}"))),
    }
}

/// Builds the program as tests do, with every check of its arithmetic and its assertions.
fn build(root: &Path) -> Result<PathBuf> {
    let words = [
        "build",
        "--quiet",
        "--package",
        "cli",
        "--message-format",
        "json",
    ];
    let output = cargo(root)
        .args(words)
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| format!("cargo: {error}"))?;
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let made = lines.lines().rev().find_map(|line| {
        let message: serde_json::Value = serde_json::from_str(line).ok()?;
        message["executable"].as_str().map(PathBuf::from)
    });
    made.ok_or_else(|| format!("cargo {}: no program was made", words.join(" ")))
}

impl Options {
    fn parse(words: &[String]) -> Result<Options> {
        let mut options = Options {
            seconds: 60,
            from: unix_seconds() * 1_000_000,
            seed: None,
            jobs: 4,
            binary: None,
        };
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| format!("{word} needs a value"))?;
            let number = || {
                let number = value.parse::<u64>();
                number.map_err(|_| format!("{word} {value}: not a number"))
            };
            match word.as_str() {
                "--seconds" => options.seconds = number()?,
                "--from" => options.from = number()?,
                "--seed" => options.seed = Some(number()?),
                "--jobs" => options.jobs = number()?.max(1),
                "--binary" => options.binary = Some(PathBuf::from(value)),
                _ => return Err(format!("{word}: no such option")),
            }
        }
        Ok(options)
    }
}
