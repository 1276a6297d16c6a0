//! The raw arguments, one file a verb. What a word means by itself is settled here; whether words
//! go together is settled where the verb makes its plan of them. The only place that knows clap.

pub(crate) mod agents;
pub(crate) mod capacity;
pub(crate) mod claims;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod fault_proxy;
pub(crate) mod fleet;
pub(crate) mod flows;
pub(crate) mod gate;
pub(crate) mod history;
pub(crate) mod hold;
pub(crate) mod http2;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod network;
pub(crate) mod pack;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod servers;
pub(crate) mod soak;
pub(crate) mod sockets;
pub(crate) mod subjects;
pub(crate) mod targets;
pub(crate) mod tls;
pub(crate) mod values;
pub(crate) mod watched;
pub(crate) mod wrong;

#[cfg(test)]
mod documented;

use std::ffi::OsString;
use std::io;

use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};

use output::width;

/// The columns that help is written for.
const COLUMNS: usize = 100;

/// `ringside` and everything behind it.
#[derive(Debug, Parser)]
#[command(
    name = "ringside",
    version = concat!(env!("CARGO_PKG_VERSION"), " (", env!("RINGSIDE_BUILT_FROM"), ")"),
    about = "Load servers, hold connections, compare servers, and serve; on io_uring or epoll",
    after_help = exit::TABLE,
    term_width = COLUMNS,
    disable_version_flag = true,
    arg_required_else_help = true,
    subcommand_value_name = "VERB",
    subcommand_help_heading = "Verbs",
    disable_help_subcommand = true,
)]
pub(crate) struct Arguments {
    /// Print the version
    #[arg(short = 'v', long, action = ArgAction::Version)]
    version: Option<bool>,

    /// Disable colour (also: NO_COLOR)
    #[arg(long, global = true, display_order = 900)]
    pub(crate) no_color: bool,

    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Load a server and measure its answers
    Run(Box<run::Run>),
    /// Keep many connections open and report how many survive
    Hold(Box<hold::Hold>),
    /// Serve constant answers, delays, and faults for testing clients
    Serve(Box<serve::Serve>),
    /// Pass TCP connections on to a server and break them: delays, cuts, stalls, resets
    FaultProxy(fault_proxy::FaultProxy),
    /// Compare servers side by side, in interleaved rounds
    Compare(Box<compare::Compare>),
    /// Find the highest rate at which a server meets your objectives
    Capacity(Box<capacity::Capacity>),
    /// Load a server for hours, and say what grows: memory, descriptors, threads, times
    Soak(Box<soak::Soak>),
    /// Check whether a revision of a server is slower than another, measuring both in turns
    Gate(Box<gate::Gate>),
    /// Check whether a second session is slower than the first
    Diff(diff::Diff),
    /// Draw figures over many sessions, with the changes that are proven
    History(history::History),
    /// Repeat published performance claims and report which hold
    Claims(claims::Claims),
    /// Write reports again from their records
    Report(report::Report),
    /// Pack the records of a measurement into one file
    Pack(pack::Pack),
    /// Check this machine for settings that distort measurements, and how to fix them
    Doctor(doctor::Doctor),
    /// List, build, check or add servers to compare
    Subjects(subjects::Subjects),
    /// Load from many machines as one: their agents, an end to all load, keys, Kubernetes
    Fleet(fleet::Fleet),
    /// Say what a check, a verdict, an error or an exit code means, and what to do
    Explain(explain::Explain),
    /// Print the JSON Schema of what ringside writes for programs, or of its files
    Schema(schema::Schema),
}

/// What parsing the arguments came to.
pub(crate) enum Parsed {
    /// There is something to do.
    Do(Box<Arguments>),
    /// Help or the version was asked for: data.
    Answer(String),
    /// The arguments are wrong: talk.
    Wrong(String),
}

/// Parses the arguments, the program's name first.
pub(crate) fn parse(arguments: impl IntoIterator<Item = OsString>) -> Parsed {
    // A narrow reader gets narrow lines, as everywhere else.
    let columns = width::of(io::stdout()).map_or(COLUMNS, |columns| columns.min(COLUMNS));
    parse_for(columns, arguments)
}

/// The same for a reader with so many columns.
fn parse_for(columns: usize, arguments: impl IntoIterator<Item = OsString>) -> Parsed {
    let words = as_elsewhere(arguments);
    let mut command = Arguments::command().term_width(columns);
    let parsed = command
        .try_get_matches_from_mut(&words)
        .and_then(|matches| Arguments::from_arg_matches(&matches))
        .map_err(|error| error.format(&mut command));
    match parsed {
        Ok(parsed) => Parsed::Do(Box::new(parsed)),
        Err(error) if error.use_stderr() => Parsed::Wrong(wrong::told(&error, &words)),
        Err(error) => Parsed::Answer(error.render().to_string()),
    }
}

/// What other programs take for a question is one here, too: `help VERB`, `VERB help`, and `-V`.
fn as_elsewhere(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut words: Vec<OsString> = arguments.into_iter().collect();
    let text = |at: usize| words.get(at).and_then(|word| word.to_str());
    match (text(1), text(2)) {
        (Some("-V"), _) => words[1] = "--version".into(),
        (Some("help"), _) => {
            words.remove(1);
            words.insert(words.len().min(2), "--help".into());
        }
        // What a verb takes first is never called that.
        (Some(_), Some("help")) if words.len() == 3 => words[2] = "--help".into(),
        _ => {}
    }
    words
}

/// The verbs whose help there is, in the order of the help.
pub(crate) fn verbs() -> Vec<String> {
    Arguments::command()
        .get_subcommands()
        .map(|verb| verb.get_name().to_string())
        .collect()
}

/// All of it as clap knows it, for completions and manual pages.
pub(crate) fn definition() -> clap::Command {
    Arguments::command()
}

/// The text of `ringside [VERB] --help`; `None` for an unknown verb.
pub(crate) fn help(verb: Option<&str>) -> Option<String> {
    let mut words = vec![OsString::from("ringside")];
    words.extend(verb.map(OsString::from));
    words.push("--help".into());
    match parse_for(COLUMNS, words) {
        Parsed::Answer(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_of_every_verb_is_laid_out_alike() {
        for verb in verbs() {
            let help = help(Some(&verb)).expect("a verb");
            assert!(!help.contains("Possible values:"), "{verb}: {help}");
        }
    }

    #[test]
    fn the_definition_of_the_arguments_holds_together() {
        Arguments::command().debug_assert();
    }
}
