//! The servers of a comparison without a file, in the order in which they are typed.

use clap::{ArgMatches, Args, Command, FromArgMatches};

/// The flags, each with its own values.
#[derive(Debug, Args)]
struct Flags {
    /// Without a file: start and compare these servers, such as './v1 {port}'; once for each, the
    /// baseline first
    #[arg(long, value_name = "COMMAND")]
    start: Vec<String>,

    /// Compare servers that run already, in the host's network; once for each, mixed with --start
    /// as you like
    #[arg(long, value_name = "URL")]
    url: Vec<String>,

    /// The process of each --url, in the same order, for its CPU time [default: whoever listens on
    /// its port]
    #[arg(long, value_name = "PID", requires = "url")]
    pid: Vec<u32>,

    /// Measure each address of the name in --url apart, as a row of its own
    #[arg(long, requires = "url")]
    each_address: bool,
}

/// A server, as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// A command.
    Start(String),
    /// The URL of one that runs already.
    Url(String),
}

/// The servers that are compared without a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Servers {
    /// Each of them; the first is the baseline.
    pub(crate) all: Vec<Typed>,
    /// The processes of those that run already, in their order.
    pub(crate) pids: Vec<u32>,
    /// Each address of a name is a server by itself.
    pub(crate) each_address: bool,
}

impl Servers {
    /// How many run already.
    pub(crate) fn running(&self) -> usize {
        let is_url = |one: &&Typed| matches!(one, Typed::Url(_));
        self.all.iter().filter(is_url).count()
    }
}

impl Args for Servers {
    fn augment_args(command: Command) -> Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

impl FromArgMatches for Servers {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Servers, clap::Error> {
        let flags = Flags::from_arg_matches(matches)?;
        let places = |id| matches.indices_of(id).into_iter().flatten();
        let starts = flags.start.into_iter().map(Typed::Start);
        let urls = flags.url.into_iter().map(Typed::Url);
        let mut all: Vec<(usize, Typed)> = places("start").zip(starts).collect();
        all.extend(places("url").zip(urls));
        all.sort_by_key(|(place, _)| *place);
        Ok(Servers {
            all: all.into_iter().map(|(_, typed)| typed).collect(),
            pids: flags.pid,
            each_address: flags.each_address,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Servers::from_arg_matches(matches)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_taken_in_the_order_in_which_they_are_typed() {
        let read = |words: &str| {
            let command = Servers::augment_args(Command::new("x"));
            let words = std::iter::once("x").chain(words.split(' '));
            let matches = command.try_get_matches_from(words).expect("flags");
            Servers::from_arg_matches(&matches).expect("servers")
        };
        let servers = read("--url a --start b --url=c --pid 1 --start d --pid 2");
        let url = |text: &str| Typed::Url(text.to_owned());
        let start = |text: &str| Typed::Start(text.to_owned());
        assert_eq!(servers.all, [url("a"), start("b"), url("c"), start("d")]);
        assert_eq!(servers.pids, [1, 2]);
        assert_eq!(servers.running(), 2);
        assert_eq!(read("--start a").running(), 0);
    }
}
