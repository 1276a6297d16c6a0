//! The binary `ringside`: arguments in, wiring, words out.
//!
//! A verb is three steps: `args/` says what was asked, the verb's own file or folder makes a
//! validated plan of it, and another crate runs that. Data goes to standard output and talk to
//! standard error, and exit codes, in the crate `exit`, are stable. Nothing here measures, serves
//! or compares by itself.
#![forbid(unsafe_code)]

mod args;
mod capacity;
mod claims;
mod compare;
mod diff;
mod doctor;
mod explain;
mod export;
mod exported;
mod fault_proxy;
mod fleet;
mod gate;
mod history;
mod hold;
mod pack;
mod page;
mod report;
mod run;
mod schema;
mod serve;
mod soak;
mod subjects;
mod watching;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use args::{Arguments, Parsed, Verb};
use exit::{Exit, Failure};
use load::redaction::guessed;
use output::terminal::{self, Paint};

pub use run::fleet::{Asked, Conducted, Conductor, OnLoss, Secrets, Seer};
pub use schema::Schema;

/// The commit that this program was built from.
pub const BUILT_FROM: &str = env!("RINGSIDE_BUILT_FROM");

/// The whole program: parses `arguments`, the program's name first, and does what they ask.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    // Nothing comes before this: a process that enters a private network has one thread.
    let arguments = match network::begin(arguments.into_iter().collect()) {
        Ok(arguments) => arguments,
        Err(end) => return end,
    };
    if let Some(end) = export::begin(&arguments) {
        return end;
    }
    finish(args::parse(arguments), dispatch)
}

/// What a verb does on a fleet, which `conductor` has carry it out: parses `arguments`, the
/// program's name first, and does what they ask.
pub fn conduct(
    arguments: impl IntoIterator<Item = OsString>,
    conductor: &mut dyn Conductor,
) -> ExitCode {
    finish(args::parse(arguments), |arguments| match arguments.verb {
        Verb::Run(run) => run::fleet::run(&run, arguments.no_color, conductor),
        Verb::Hold(asked) => hold::fleet::run(&asked, arguments.no_color, conductor),
        Verb::Capacity(search) => capacity::on_fleet(&search, arguments.no_color, conductor),
        Verb::Compare(asked) => compare::on_fleet(&asked, arguments.no_color, conductor),
        Verb::Gate(asked) => gate::on_fleet(&asked, arguments.no_color, conductor),
        _ => Err(Failure::usage(
            "a fleet does what `ringside run`, `hold`, `capacity`, `compare` and `gate` do: use \
             one of them",
        )),
    })
}

fn finish(parsed: Parsed, act: impl FnOnce(Arguments) -> Result<Exit, Failure>) -> ExitCode {
    match parsed {
        Parsed::Do(arguments) => {
            let no_color = arguments.no_color;
            act(*arguments).unwrap_or_else(|failure| {
                let error = Paint::for_stderr(no_color).error("ringside:");
                terminal::say(&format!("{error} {}", failure.text));
                failure.exit
            })
        }
        Parsed::Answer(text) => match terminal::print(&text) {
            Ok(()) => Exit::Ok,
            Err(_) => Exit::Failed,
        },
        Parsed::Wrong(text) => {
            // Nothing is known of arguments that could not be read.
            terminal::say(&guessed(text.trim_end()));
            Exit::Usage
        }
    }
    .into()
}

/// The text of `ringside [VERB] --help`, for generated documents; `None` for an unknown verb.
pub fn help(verb: Option<&str>) -> Option<String> {
    args::help(verb)
}

/// The arguments of the program, for completions and manual pages.
pub fn definition() -> clap::Command {
    args::definition()
}

/// The schemas that `ringside schema` prints, for generated documents.
pub fn schemas() -> &'static [Schema] {
    &schema::SCHEMAS
}

/// The verbs in the order of the help, for generated documents.
pub fn verbs() -> Vec<String> {
    args::verbs()
}

fn dispatch(arguments: Arguments) -> Result<Exit, Failure> {
    let no_color = arguments.no_color;
    match arguments.verb {
        Verb::Run(run) if run.fleet.agents.is_some() => fleet::hand_over(),
        Verb::Hold(hold) if hold.fleet.agents.is_some() => fleet::hand_over(),
        Verb::Capacity(search) if search.fleet.agents.is_some() => fleet::hand_over(),
        Verb::Compare(compare) if compare.fleet.agents.is_some() => fleet::hand_over(),
        Verb::Gate(gate) if gate.fleet.agents.is_some() => fleet::hand_over(),
        Verb::Run(run) => run::run(&run, no_color),
        Verb::Hold(hold) => hold::run(&hold, no_color),
        Verb::Serve(serve) => serve::run(&serve),
        Verb::FaultProxy(proxy) => fault_proxy::run(&proxy),
        Verb::Capacity(capacity) => capacity::run(&capacity, no_color),
        Verb::Compare(compare) => compare::run(&compare, no_color),
        Verb::Soak(soak) => soak::run(&soak, no_color),
        Verb::Gate(gate) => gate::run(&gate, no_color),
        Verb::Diff(diff) => diff::run(&diff),
        Verb::History(history) => history::run(&history, no_color),
        Verb::Report(report) => report::run(&report, no_color),
        Verb::Pack(pack) => pack::run(&pack),
        Verb::Subjects(subjects) => subjects::run(&subjects, no_color),
        Verb::Claims(claims) => claims::run(&claims, no_color),
        Verb::Doctor(doctor) => doctor::run(&doctor, no_color),
        Verb::Fleet(words) => fleet::run(&words, no_color),
        Verb::Explain(explain) => explain::run(&explain, no_color),
        Verb::Schema(schema) => schema::run(&schema, no_color),
    }
}

/// The path of this program, which is what `{ringside}` stands for in the description of a subject:
/// the one beside it where another has taken its place.
fn this_program() -> Result<PathBuf, Failure> {
    let own = std::env::current_exe().map_err(|error| {
        Failure::running(format!(
            "can't find the path of the running ringside binary: {error}"
        ))
    })?;
    Ok(match own.ends_with(fleet::PROGRAM) {
        true => own.with_file_name("ringside"),
        false => own,
    })
}
