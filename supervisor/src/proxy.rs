//! `ringside fault-proxy` in front of a companion or a subject: connections go through it from the
//! start, and it breaks them when it is told to.
//!
//! Orders are lines on its standard input, and what it says of each is a line in its log.

use std::fs;
use std::path::Path;
use std::time::Duration;

use measure::time::{Time, sleep_until};

use crate::process::{GRACE, LOOK_AGAIN, Launch, Process};
use crate::setting::{Setting, Trouble, surroundings};

/// How long it may take until it listens.
const READY: Duration = Duration::from_secs(20);
/// How long it may take to answer.
const ANSWER: Duration = Duration::from_secs(5);
/// What it writes once it listens, before its address.
const GREETING: &str = "listening on ";

/// Starts a proxy in front of `port`, which is `whose`, on the generator's cores; with the port
/// that it listens on.
pub(crate) fn raise(
    whose: &str,
    port: u16,
    dir: &Path,
    setting: &Setting<'_>,
) -> Result<(Process, u16), Trouble> {
    let failed = |what: String, log| {
        let what = format!("can't have a fault proxy in front of {whose}: {what}");
        Trouble::Failed(what, log)
    };
    let dir = dir.join("proxies");
    let made = fs::create_dir_all(&dir);
    made.map_err(|error| failed(format!("{}: {error}", dir.display()), Vec::new()))?;
    let to = format!("127.0.0.1:{port}");
    let launch = Launch {
        program: setting.ringside.display().to_string(),
        arguments: ["fault-proxy", "--listen", "127.0.0.1:0", "--to", &to]
            .map(str::to_owned)
            .to_vec(),
        environment: surroundings(),
        folder: &dir,
        // A companion may be called like its subject.
        log: &dir.join(format!("{whose}-{port}.log")),
        cores: &setting.placement.generator,
    };
    let started = Process::start_to_be_told(&launch);
    let mut process = started.map_err(|error| failed(error.to_string(), Vec::new()))?;
    let deadline = Time::now() + READY;
    loop {
        if let Some(port) = listens_on(&process) {
            return Ok((process, port));
        }
        let trouble = match process.ended_in_words() {
            _ if setting.stop.requested().is_some() => Trouble::Stopped,
            Some(how) => failed(how, process.last_lines()),
            None if Time::now() >= deadline => {
                let what = format!("it didn't listen within {} s", READY.as_secs());
                failed(what, process.last_lines())
            }
            None => {
                sleep_until(Time::now() + LOOK_AGAIN);
                continue;
            }
        };
        process.end(GRACE);
        return Err(trouble);
    }
}

/// The port in the greeting of a proxy, once that is whole.
fn listens_on(process: &Process) -> Option<u16> {
    let written = written(process);
    let mut lines = written.split_inclusive('\n');
    let line = lines.find_map(|line| line.strip_suffix('\n')?.strip_prefix(GREETING))?;
    let address = line.split([' ', ',']).next()?;
    address.rsplit_once(':')?.1.parse().ok()
}

/// Tells a proxy something, and waits for its answer.
///
/// # Errors
/// The end of a sentence: what it says is wrong, or that it doesn't answer.
pub fn tell(process: &mut Process, order: &str) -> Result<(), String> {
    let before = answers(&written(process)).len();
    let told = process.tell(order);
    told.map_err(|error| format!("didn't take `{order}`: {error}"))?;
    let deadline = Time::now() + ANSWER;
    loop {
        match answers(&written(process)).get(before) {
            Some(answer) if answer.contains("\"error\"") => {
                return Err(format!("refused `{order}`: {answer}"));
            }
            Some(_) => return Ok(()),
            None if process.exited().is_some() => {
                return Err(format!("had ended before `{order}`"));
            }
            None if Time::now() >= deadline => return Err(format!("didn't answer `{order}`")),
            None => sleep_until(Time::now() + LOOK_AGAIN),
        }
    }
}

/// The whole lines that are answers.
fn answers(written: &str) -> Vec<String> {
    let whole = written
        .split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'));
    whole
        .filter(|line| line.starts_with('{'))
        .map(str::to_owned)
        .collect()
}

fn written(process: &Process) -> String {
    let bytes = process.output().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}
