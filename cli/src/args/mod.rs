//! The raw arguments, one file a verb. What a word means by itself is settled here; whether words
//! go together is settled where the verb makes its plan of them. The only place that knows clap.

pub(crate) mod capacity;
pub(crate) mod claims;
pub(crate) mod compare;
pub(crate) mod diff;
pub(crate) mod doctor;
pub(crate) mod hold;
pub(crate) mod http2;
pub(crate) mod load;
pub(crate) mod machine;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod secrets;
pub(crate) mod serve;
pub(crate) mod sockets;
pub(crate) mod subjects;
pub(crate) mod tls;
pub(crate) mod values;

use std::ffi::OsString;

use clap::{ArgAction, CommandFactory, Parser, Subcommand};

use crate::exit;

/// `ringside` and everything behind it.
#[derive(Debug, Parser)]
#[command(
    name = "ringside",
    version,
    about = "Loads HTTP servers, serves HTTP, and puts servers side by side; on io_uring or epoll",
    after_help = exit::TABLE,
    term_width = 100,
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

    /// Never colour; the variable NO_COLOR says the same
    #[arg(long, global = true)]
    pub(crate) no_color: bool,

    /// What to do.
    #[command(subcommand)]
    pub(crate) verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Load an HTTP server and say how it answered
    Run(Box<run::Run>),
    /// Keep many connections for long, and say which of them stood
    Hold(Box<hold::Hold>),
    /// Serve HTTP: constant answers, delays, and faults for testing clients
    Serve(serve::Serve),
    /// Measure several servers in turn and put them side by side
    Compare(compare::Compare),
    /// Find the highest rate that a server, or each of several, holds under conditions
    Capacity(Box<capacity::Capacity>),
    /// Compare two measurements of the same thing, and say whether it became slower
    Diff(diff::Diff),
    /// Run published claims here, and say what holds
    Claims(claims::Claims),
    /// Write reports again, from their records
    Report(report::Report),
    /// Say what this host costs a measurement, and the command that changes it
    Doctor(doctor::Doctor),
    /// List, build or check the servers that can be compared
    Subjects(subjects::Subjects),
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
    match Arguments::try_parse_from(arguments) {
        Ok(parsed) => Parsed::Do(Box::new(parsed)),
        Err(error) if error.use_stderr() => Parsed::Wrong(error.render().to_string()),
        Err(error) => Parsed::Answer(error.render().to_string()),
    }
}

/// The verbs whose help there is, in the order of the help.
pub(crate) fn verbs() -> Vec<String> {
    Arguments::command()
        .get_subcommands()
        .map(|verb| verb.get_name().to_string())
        .collect()
}

/// The text of `ringside [VERB] --help`; `None` for an unknown verb.
pub(crate) fn help(verb: Option<&str>) -> Option<String> {
    let mut words = vec![OsString::from("ringside")];
    words.extend(verb.map(OsString::from));
    words.push("--help".into());
    match parse(words) {
        Parsed::Answer(text) => Some(text),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_of_the_arguments_holds_together() {
        Arguments::command().debug_assert();
    }
}
