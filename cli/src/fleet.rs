//! What another program does: `ringside-fleet`, which speaks to agents over a broker, and for which
//! this one would have to bring an async runtime. It stands beside this one, or on the `PATH`, and
//! takes this one's place.

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::Command;

use crate::args::fleet::Fleet;
use crate::this_program;
use exit::{Exit, Failure};

/// Its name.
pub(crate) const PROGRAM: &str = "ringside-fleet";

/// Becomes it, to do what was asked for behind `ringside fleet`.
pub(crate) fn run(arguments: &Fleet, no_color: bool) -> Result<Exit, Failure> {
    become_it(&arguments.words, no_color, "ringside fleet")
}

/// Becomes it, to have agents do what this program was asked for.
pub(crate) fn hand_over() -> Result<Exit, Failure> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    become_it(&words, false, "--agents")
}

fn become_it(words: &[OsString], no_color: bool, asked: &str) -> Result<Exit, Failure> {
    // Without /proc nobody knows where this program is; then there's the PATH.
    let beside = this_program().map(|own| own.with_file_name(PROGRAM)).ok();
    let program: OsString = match &beside {
        Some(beside) if beside.is_file() => beside.clone().into(),
        _ => PROGRAM.into(),
    };
    let mut command = Command::new(&program);
    command.args(words);
    if no_color {
        command.env("NO_COLOR", "1");
    }
    let error: Error = command.exec();
    let folder = beside.as_deref().and_then(Path::parent);
    let folder = folder.map_or(String::new(), |folder| {
        format!("in {} or ", folder.display())
    });
    Err(match error.kind() {
        ErrorKind::NotFound => Failure::usage(format!(
            "{asked} needs the program {PROGRAM}, which isn't {folder}on the PATH: it \
             comes with ringside's packages; from a checkout, `cargo build --release -p {PROGRAM}` \
             builds it"
        )),
        _ => {
            let program = program.display();
            Failure::running(format!("can't start {program}: {error}"))
        }
    })
}
