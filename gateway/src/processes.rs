//! `--processes`: a master that has the sockets, and workers that are gateways.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use gateway::{BadConfig, Config};
use master::{Role, Settings, Worker};
use measure::foreign::screened;
use server::{Certificate, Stop};

/// How long a worker may take to end beyond its drain: it waits until its clients are silent
/// first.
const RETIRED_WITHIN: Duration = Duration::from_secs(5);

/// Serves a configuration in so many worker processes, or as one of them.
pub(crate) fn serve(path: &Path, processes: usize) -> Result<(), Box<dyn Error>> {
    match master::role()? {
        Role::Master => lead(path, processes),
        Role::Worker(worker) => work(path, &worker),
    }
}

fn lead(path: &Path, processes: usize) -> Result<(), Box<dyn Error>> {
    let config = of_processes(Config::read(path))?;
    let settings = Settings {
        admin: config.admin.clone(),
        input: Some(path.to_owned()),
        retire: config.timeouts.drain + RETIRED_WITHIN,
        hang: config.listen.hang_after,
        ..Settings::new(config.listen.address.clone(), processes)
    };
    let say = |text: &str| eprintln!("ringside-gateway: {}", screened(text));
    let reloaded = |text: &[u8]| {
        let text = String::from_utf8_lossy(text);
        // Workers serve by it, so it's in order.
        if let Ok(next) = Config::of(&path.display().to_string(), &text) {
            let left = config.needs_another_master(&next);
            if !left.is_empty() {
                let left = left.join("], [");
                say(&format!("what changed in [{left}] takes a restart"));
            }
        }
    };
    master::run_telling(&settings, &say, &reloaded)?;
    Ok(())
}

fn work(path: &Path, worker: &Worker) -> Result<(), Box<dyn Error>> {
    let text = String::from_utf8(worker.input()?)?;
    let config = of_processes(Config::of(&path.display().to_string(), &text))?;
    let stop = Stop::on_signals()?;
    let running = gateway::start_on(config, worker.listening(), worker.takes_over(), &stop)?;
    let figures = running.figures();
    let telling = worker.serves_with(&stop, running.live(), move || figures.text());
    running.join()?;
    telling.end();
    Ok(())
}

/// A configuration, if several processes can have it.
fn of_processes(config: Result<Config, BadConfig>) -> Result<Config, Box<dyn Error>> {
    let config = config?;
    check(&config)?;
    Ok(config)
}

/// Whether several processes can have a configuration.
pub(crate) fn check(config: &Config) -> Result<(), Box<dyn Error>> {
    match config.listen.certificate {
        Some(Certificate::SelfSigned { .. }) => {
            let what = "--processes needs a `certificate` and a `key` in [listen]: with \
                        `self_signed`, each process would make a certificate of its own";
            Err(what.into())
        }
        _ => Ok(()),
    }
}
