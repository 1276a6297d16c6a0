//! Spans on their way out. A private network leads nowhere, so a process inside has the one outside
//! start this program once more, which sends them and ends.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use engine::signal::Stop;
use otlp::Receiver;
use output::terminal;
use supervisor::outside::{Command, Ended};

use crate::this_program;
use exit::Exit;

/// The first argument of a process that sends spans; the second is the file that has them.
const MARK: &str = "--send-spans";
/// The variables by which a system's certificates are found in another place.
const CERTIFICATES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Sends a message with spans. What didn't arrive, in sentences.
pub(super) fn send(receiver: Receiver, message: Vec<u8>) -> Vec<String> {
    match netns::here().is_some_and(|here| here.is_private()) {
        true => from_inside(&receiver, &message).unwrap_or_else(|why| {
            let url = receiver.url();
            vec![format!("--otlp: the spans didn't reach {url}: {why}")]
        }),
        false => otlp::deliver(receiver, message),
    }
}

fn from_inside(receiver: &Receiver, message: &[u8]) -> Result<Vec<String>, String> {
    let unwritten = |why: std::io::Error| format!("can't write them to a file: {why}");
    let folder = tempfile::tempdir().map_err(unwritten)?;
    let file = folder.path().join("spans");
    fs::write(&file, message).map_err(unwritten)?;
    let mut environment: BTreeMap<String, String> = receiver.as_environment().into_iter().collect();
    for name in CERTIFICATES {
        if let Ok(value) = std::env::var(name) {
            environment.insert(name.to_owned(), value);
        }
    }
    let program = this_program().map_err(|failure| failure.text)?;
    let command = Command {
        program: program.to_string_lossy().into_owned(),
        arguments: vec![MARK.to_owned(), file.to_string_lossy().into_owned()],
        environment,
        folder: folder.path().to_owned(),
        log: folder.path().join("log"),
    };
    // Somebody who asked to stop wants to have what was measured until then; it ends by itself.
    match command.run(&Stop::new()) {
        Ended::Well => Ok(Vec::new()),
        Ended::Badly(why, lines) if lines.is_empty() => Err(why),
        Ended::Badly(_, lines) => Ok(lines),
        Ended::Stopped => Err("it was stopped".to_owned()),
    }
}

/// The end of a process that was started to send spans; none if this is none.
pub(crate) fn begin(arguments: &[OsString]) -> Option<ExitCode> {
    if arguments.get(1)? != MARK {
        return None;
    }
    let said = match arguments.get(2) {
        Some(file) => read_and_send(Path::new(file)),
        None => vec![format!(
            "{MARK} is how ringside starts itself; leave it out"
        )],
    };
    said.iter().for_each(|line| terminal::say(line));
    Some(match said.is_empty() {
        true => Exit::Ok.into(),
        false => Exit::Failed.into(),
    })
}

fn read_and_send(file: &Path) -> Vec<String> {
    let receiver = Receiver::of_environment(|name| std::env::var(name).ok());
    let message = fs::read(file).map_err(|why| format!("can't read {}: {why}", file.display()));
    match receiver.and_then(|receiver| Ok((receiver, message?))) {
        Ok((receiver, message)) => otlp::deliver(receiver, message),
        Err(why) => vec![format!("--otlp: {why}")],
    }
}
