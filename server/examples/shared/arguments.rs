//! The arguments that all examples take, and what they have in common once they serve.

use std::error::Error;
use std::process::ExitCode;

use ringside_server::{Address, Config, Running, Stop};

const USAGE: &str = "[--addr IP:PORT] [--threads N]; without them 127.0.0.1:8080 and one";

/// A configuration as these arguments say: `--addr IP:PORT`, `--threads N`. With `--help` it says
/// so, and that is all.
pub(crate) fn config(
    mut arguments: impl Iterator<Item = String>,
) -> Result<Config, Box<dyn Error>> {
    let mut config = Config::new(Address::Tcp(([127, 0, 0, 1], 8080).into()));
    while let Some(flag) = arguments.next() {
        if flag == "--help" || flag == "-h" {
            help(USAGE);
        }
        let value = arguments.next();
        match (&*flag, value) {
            ("--addr", Some(address)) => {
                let address = address.parse().map_err(|_| {
                    format!(
                        "--addr {address}: give an IP address and a port, such as 127.0.0.1:8080"
                    )
                })?;
                config.address = Address::Tcp(address);
            }
            ("--threads", Some(threads)) => {
                let threads = threads
                    .parse()
                    .map_err(|_| format!("--threads {threads}: this isn't a number"))?;
                config.threads = threads;
            }
            ("--addr" | "--threads", None) => return Err(format!("{flag} takes a value").into()),
            _ => return Err(format!("unknown argument {flag}; usage: {USAGE}").into()),
        }
    }
    Ok(config)
}

/// Says which arguments there are, and ends.
pub(crate) fn help(usage: &str) -> ! {
    println!("usage: {usage}");
    std::process::exit(0)
}

/// Serves what `start` starts with a configuration, until SIGINT or SIGTERM.
pub(crate) fn serve(
    config: Result<Config, Box<dyn Error>>,
    start: impl FnOnce(Config, &Stop) -> Result<Running, Box<dyn Error>>,
) -> ExitCode {
    match config.and_then(|config| until_stopped(config, start)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn until_stopped(
    config: Config,
    start: impl FnOnce(Config, &Stop) -> Result<Running, Box<dyn Error>>,
) -> Result<(), Box<dyn Error>> {
    let stop = Stop::on_signals()?;
    let running = start(config, &stop)?;
    let (address, engine) = (running.address(), running.engine_name());
    eprintln!("listening on {address} ({engine})");
    let summary = running.join()?;
    eprintln!("served {} requests", summary.counts.requests);
    Ok(())
}
