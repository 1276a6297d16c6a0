//! The program `ringside-gateway`: arguments in, a gateway, words out.
#![forbid(unsafe_code)]

mod arguments;
mod processes;
mod reload;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use gateway::{Config, example, terminal};
use measure::foreign::screened;
use server::{Address, Stop, Summary};

use arguments::{Arguments, Verb};

fn main() -> ExitCode {
    let arguments = match arguments::parse(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(wrong) => {
            terminal::tell(wrong);
            return ExitCode::from(2);
        }
    };
    let done = match &arguments.verb {
        Verb::Help => {
            terminal::print(arguments::HELP);
            Ok(())
        }
        Verb::Version => {
            terminal::print(concat!(
                "ringside-gateway ",
                env!("CARGO_PKG_VERSION"),
                "\n"
            ));
            Ok(())
        }
        Verb::Check(path) => check(path, arguments.processes),
        Verb::Serve(path) => match arguments.processes {
            Some(processes) => processes::serve(path, processes),
            None => serve(path),
        },
        Verb::Example => show(&arguments),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            terminal::tell(error);
            ExitCode::FAILURE
        }
    }
}

/// Says what a configuration leaves out of what it names.
fn remark(config: &Config) {
    for remark in config.remarks() {
        terminal::tell(remark);
    }
}

/// Says whether a configuration is in order.
fn check(path: &Path, processes: Option<usize>) -> Result<(), Box<dyn Error>> {
    let config = match processes {
        Some(_) => processes::read(path)?,
        None => Config::read(path)?,
    };
    remark(&config);
    let (routes, upstreams) = (config.routes.len(), config.upstreams.len());
    let text = format!(
        "{} is fine: {routes} routes, {upstreams} upstreams",
        path.display()
    );
    terminal::print(format_args!("{}\n", screened(&text)));
    Ok(())
}

/// Serves a configuration until SIGINT or SIGTERM.
fn serve(path: &Path) -> Result<(), Box<dyn Error>> {
    let config = Config::read(path)?;
    remark(&config);
    let reload = reload::Reload::prepare()?;
    let stop = Stop::on_signals()?;
    let drain = config.timeouts.drain;
    let running = gateway::start(config, &stop)?;
    reload.watch(path.to_owned(), running.exchange());
    wait(running, drain)
}

/// Serves the example, and says what it is.
fn show(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let stop = Stop::on_signals()?;
    let upstream = example::upstream(&Stop::new())?;
    let text = example::config(&arguments.listen, upstream.address());
    let config = Config::of("the example", &text)?;
    let drain = config.timeouts.drain;
    let running = gateway::start(config, &stop)?;
    let Address::Tcp(address) = running.address().clone() else {
        return Err("the example listens on TCP".into());
    };
    let token = example::TOKEN;
    terminal::note(format_args!(
        "{text}\n\
         That was the configuration. Try:\n  \
         curl http://{address}/hello\n  \
         curl http://{address}/anything -H 'x-colour: blue' -d body\n  \
         curl http://{address}/private\n  \
         curl http://{address}/private -H 'authorization: Bearer {token}'"
    ));
    let done = wait(running, drain);
    upstream.stop();
    upstream.join()?;
    done
}

fn wait(running: gateway::Running, drain: Duration) -> Result<(), Box<dyn Error>> {
    terminal::note(format_args!(
        "listening on {} ({})",
        running.address(),
        running.engine_name()
    ));
    let summary = running.join()?;
    tell_cut("", &summary, drain);
    terminal::note(format_args!("served {} requests", summary.counts.requests));
    Ok(())
}

/// Says how many clients were cut off, since they weren't done when the time to drain was over.
fn tell_cut(who: &str, summary: &Summary, drain: Duration) {
    let were = match summary.counts.cut {
        0 => return,
        1 => "1 connection was".into(),
        cut => format!("{cut} connections were"),
    };
    let why = format!("{drain:?} after the end began (`drain` in [timeouts])");
    terminal::tell(format_args!("{who}{were} cut off, {why}"));
}
