//! The program `ringside-fleet`: arguments in, an agent or a coordinator, words out.
#![forbid(unsafe_code)]

mod arguments;

use std::ffi::OsString;
use std::process::ExitCode;

use agents::agent;
use agents::beside::become_it;
use agents::conductor::Fleet;
use agents::everyone;
use agents::nats::Broker;
use agents::signed::make_key;
use engine::signal::Stop;
use output::terminal::{print, say};

use arguments::Verb;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let done = match arguments::parse(&words) {
        Ok(Verb::Help) => print(arguments::HELP).map_err(|why| why.to_string()),
        Ok(Verb::Version) => {
            let version = format!("ringside-fleet {} ({})\n", agents::VERSION, cli::BUILT_FROM);
            print(&version).map_err(|why| why.to_string())
        }
        Ok(Verb::Run { nkey }) => {
            let mut fleet = Fleet {
                nkey,
                ..Fleet::default()
            };
            return cli::conduct(words, &mut fleet);
        }
        // A server of an agent's own.
        Ok(Verb::Serve) => return cli::main(words),
        Ok(Verb::Agent(settings)) => Stop::on_signals()
            .map_err(|why| format!("can't install signal handlers: {why}"))
            .and_then(|stop| agent::serve(*settings, &stop)),
        Ok(Verb::Status(broker)) => status(&broker),
        Ok(Verb::Stop(broker)) => stop(&broker),
        Ok(Verb::Manifests(manifests)) => manifests.write(),
        Ok(Verb::Keys(file)) => make_key(&file)
            .and_then(|public| print(&format!("{public}\n")).map_err(|why| why.to_string())),
        Ok(Verb::Beside { parent, command }) => match command.split_first() {
            Some((program, arguments)) => Err(become_it(&parent, program, arguments)),
            None => Err("there's nothing to start".to_owned()),
        },
        Err(wrong) => {
            say(&format!("ringside-fleet: {wrong}"));
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&format!("ringside-fleet: {why}"));
            ExitCode::FAILURE
        }
    }
}

/// Which agents are there.
fn status(broker: &Broker) -> Result<(), String> {
    let all = everyone::ask(broker)?;
    print(&everyone::shown(&all)).map_err(|why| why.to_string())
}

/// An end to all load.
fn stop(broker: &Broker) -> Result<(), String> {
    let all = everyone::stop(broker)?;
    print(&everyone::shown(&all)).map_err(|why| why.to_string())?;
    if everyone::is_loading(&all) {
        return Err("some agents still send load: end them on their own machines".to_owned());
    }
    let who = match all.len() {
        1 => "the agent that answered sends".to_owned(),
        all => format!("the {all} agents that answered send"),
    };
    say(&format!("{who} nothing any more. {}", everyone::UNREACHED));
    Ok(())
}
