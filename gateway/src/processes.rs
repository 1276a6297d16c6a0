//! `--processes`: a master that has the sockets, and workers that are gateways.

use std::error::Error;
use std::path::Path;
use std::time::Duration;

use gateway::{BadConfig, Config, terminal};
use master::{Role, Settings, Wanted, Worker};
use server::{Certificate, Stop};

/// How long a worker may take to end beyond its drain, after which it has cut off what was left.
const RETIRED_WITHIN: Duration = Duration::from_secs(5);

/// Serves a configuration in so many worker processes, or as one of them.
pub(crate) fn serve(path: &Path, processes: usize) -> Result<(), Box<dyn Error>> {
    match master::role()? {
        Role::Master => lead(path, processes),
        Role::Worker(worker) => work(path, &worker),
    }
}

fn lead(path: &Path, processes: usize) -> Result<(), Box<dyn Error>> {
    let config = read(path)?;
    crate::remark(&config);
    let settings = Settings {
        admin: config.admin.clone(),
        input: Some(path.to_owned()),
        retire: config.timeouts.drain + RETIRED_WITHIN,
        silence: config.silence,
        engine: Some(config.listen.engine),
        ..Settings::new(config.listen.address.clone(), processes)
    };
    let say = |text: &str| terminal::tell(text);
    master::run_with(&settings, &say, &|text| {
        let text = String::from_utf8_lossy(text);
        let next = Config::of_file(path, &text);
        // Workers have read it already, and said what's wrong with it.
        let left = next.map_or_else(
            |_| Vec::new(),
            |next| {
                crate::remark(&next);
                config.of_master(&next)
            },
        );
        if !left.is_empty() {
            say(&format!(
                "what changed in {} takes a restart",
                left.join(", ")
            ));
        }
    })?;
    Ok(())
}

fn work(path: &Path, worker: &Worker) -> Result<(), Box<dyn Error>> {
    let text = String::from_utf8(worker.input()?)?;
    let mut config = of_processes(Config::of_file(path, &text))?;
    config.listen.engine = worker.engine().unwrap_or(config.listen.engine);
    let stop = Stop::on_signals()?;
    let drain = config.timeouts.drain;
    let running = gateway::start_on(config, worker.listening(), worker.takes_over(), &stop)?;
    let figures = running.figures();
    let telling = worker.serves_with(&stop, running.live(), move |wanted| {
        figures.families(wanted == Wanted::Native)
    });
    let summary = running.join()?;
    telling.end();
    let who = format!("worker {}: ", std::process::id());
    crate::tell_cut(&who, &summary, drain);
    Ok(())
}

/// Reads a file for several processes.
pub(crate) fn read(path: &Path) -> Result<Config, Box<dyn Error>> {
    of_processes(Config::read(path))
}

/// A configuration, if several processes can have it.
fn of_processes(config: Result<Config, BadConfig>) -> Result<Config, Box<dyn Error>> {
    let config = config?;
    match config.listen.certificate {
        Some(Certificate::SelfSigned { .. }) => {
            let what = "--processes needs a `certificate` and a `key` in [listen]: with \
                        `self_signed`, each process would make a certificate of its own";
            Err(what.into())
        }
        _ => Ok(config),
    }
}
