//! `ringside serve`: a configuration out of the arguments, and the server until it is stopped.

use std::time::Duration;

use engine::Address;
use engine::signal::Stop;
use master::{Role, Wanted};
use measure::time::Time;
use testserver::{
    Config, Limits, LiveCounts, Offer, ResponseTimes, Summary, TaskLimits, Timeouts, Tls,
};
use tls::Certificate;

use measure::needs::{Connections, Facts as Needs, Need, Over, Spoken};

use crate::args::serve::Serve;
use crate::run::addresses;
use exit::{Exit, Failure};
use output::terminal;

/// How long a worker process may take to end beyond its drain, after which it has cut off what was
/// left.
const RETIRED_WITHIN: Duration = Duration::from_secs(5);

/// How long the name in `--addr` may take.
const RESOLVED_WITHIN: Duration = Duration::from_secs(30);

/// What a certificate is always made for.
const LOCAL_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Serves until SIGINT or SIGTERM.
pub(crate) fn run(arguments: &Serve) -> Result<Exit, Failure> {
    if let Some(processes) = arguments.processes {
        return in_processes(arguments, processes);
    }
    let config = config(arguments).map_err(Failure::usage)?;
    if let Some(limit) = arguments.connection_limit {
        warn_of_room(
            u64::from(limit) * config.threads as u64,
            config.tls.is_some(),
        );
    }
    let offer = offer(arguments).map_err(Failure::usage)?;
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let mut running = testserver::start_with(config, offer, &stop).map_err(Failure::running)?;
    let place = match running.address() {
        Address::Tcp(address) => {
            let scheme = if arguments.tls { "https" } else { "http" };
            format!("{scheme}://{address}")
        }
        Address::Unix(path) => format!("unix:{}", path.display()),
    };
    terminal::say(&format!(
        "listening on {place} ({}: {})",
        running.engine_name(),
        running.engine_reason()
    ));
    if let Some(tls) = running.tls() {
        terminal::say(&identity(arguments, running.address(), &tls.fingerprint()));
    }
    let full = running.take_full();
    let watch = std::thread::spawn(move || {
        if let Some(Ok(room)) = full.map(|full| full.recv()) {
            terminal::say(&out_of_room(room));
        }
    });
    let summary = running.join();
    // It has ended with the threads of the server, which are the only ones to say anything.
    let _ = watch.join();
    let summary = summary.map_err(Failure::running)?;
    terminal::say(&words(&summary));
    Ok(Exit::Ok)
}

/// Says what is in the way of so many connections, if anything is.
fn warn_of_room(connections: u64, tls: bool) {
    for why in Needs::read()
        .needs(Connections {
            number: connections,
            ends: 1,
            // What clients will speak isn't known, and this takes the least.
            spoken: Spoken::Http1,
            tls,
            over: Over::Network,
        })
        .iter()
        .filter_map(Need::refusal)
    {
        terminal::say(&format!(
            "Warning: {connections} connections won't all find room here: {why}"
        ));
    }
}

/// Serves in worker processes, or as one of them.
fn in_processes(arguments: &Serve, processes: u32) -> Result<Exit, Failure> {
    if processes == 0 {
        return Err(Failure::usage(
            "--processes 0 would serve nobody: use at least 1".to_string(),
        ));
    }
    if arguments.tls && arguments.cert.is_none() {
        return Err(Failure::usage(
            "--processes with --tls needs --cert and --key: each worker would make a certificate \
             of its own"
                .to_string(),
        ));
    }
    let role = master::role().map_err(Failure::running)?;
    let mut config = config(arguments).map_err(Failure::usage)?;
    let offer = offer(arguments).map_err(Failure::usage)?;
    let worker = match role {
        Role::Worker(worker) => worker,
        Role::Master => {
            let admin = arguments
                .admin
                .as_deref()
                .map(|admin| address("--admin", admin));
            let admin = admin.transpose().map_err(Failure::usage)?;
            let settings = master::Settings {
                backlog: arguments.backlog,
                admin: admin.map(|(address, _)| address),
                retire: arguments.drain_timeout + RETIRED_WITHIN,
                silence: arguments.silence,
                ..master::Settings::new(config.address, processes as usize)
            };
            master::run(&settings, &terminal::say).map_err(Failure::running)?;
            return Ok(Exit::Ok);
        }
    };
    let (live, times) = (LiveCounts::new(), ResponseTimes::new());
    let cpu = config.cpus.get(worker.place() % config.cpus.len().max(1));
    config.cpus = cpu.copied().into_iter().collect();
    config.listening = worker.listening();
    config.live = Some(live.clone());
    config.response_times = Some(times.clone());
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let running = testserver::start_with(config, offer, &stop).map_err(Failure::running)?;
    let telling = worker.serves_with(&stop, live, move |wanted| match wanted {
        // They're recorded once somebody wants them.
        Wanted::Nothing => Vec::new(),
        _ => vec![testserver::response_times(&times)],
    });
    running.join().map_err(Failure::running)?;
    telling.end();
    Ok(Exit::Ok)
}

/// That a thread takes no more connections, which wait in the backlog and then time out.
fn out_of_room(connections: usize) -> String {
    format!(
        "a thread reached its limit of {connections} connections; new ones wait until one closes. \
         Raise --connection-limit, and with --engine epoll the open-files limit (`ulimit -n`)"
    )
}

fn config(arguments: &Serve) -> Result<Config, String> {
    let cpus = addresses::cpus(arguments.cpus.as_deref())?;
    let cpus = if cpus.is_empty() {
        measure::cpu::allowed()
    } else {
        cpus
    };
    let (address, host) = address("--addr", &arguments.addr)?;
    let unix = matches!(address, Address::Unix(_));
    let threads = match arguments.threads {
        Some(0) => return Err("--threads 0 would serve nobody: use at least 1".to_string()),
        Some(threads) => threads as usize,
        None if unix || arguments.processes.is_some() => 1,
        None => cpus.len(),
    };
    if unix && threads > 1 {
        return Err("a Unix socket is served by one thread: give --threads 1".to_string());
    }
    Ok(Config {
        address,
        listening: Vec::new(),
        engine: arguments.engine.leaving_out(&arguments.without)?,
        threads,
        cpus,
        backlog: arguments.backlog,
        peers: false,
        upstream_tls: false,
        tls: arguments.tls.then(|| tls(arguments, &host)),
        live: None,
        response_times: None,
        limits: Limits {
            head_bytes: arguments.head_limit,
            body_bytes: arguments.body_limit as u64,
            connections: arguments.connection_limit.map(|limit| limit as usize),
            memory_bytes: arguments.memory_limit.map(|limit| limit as u64),
        },
        timeouts: Timeouts {
            head: arguments.head_timeout,
            body: arguments.body_timeout,
            idle: arguments.idle_timeout,
            drain: arguments.drain_timeout,
        },
    })
}

fn offer(arguments: &Serve) -> Result<Offer, String> {
    if arguments.task_threads == 0 {
        return Err("--task-threads 0 would never answer: use at least 1".to_string());
    }
    Ok(Offer {
        tasks: TaskLimits {
            threads: arguments.task_threads as usize,
            queue: arguments.task_queue as usize,
            ..TaskLimits::default()
        },
        count_by: arguments.count_by.clone(),
    })
}

/// The certificate that was given, or one for every name by which this server may be called.
fn tls(arguments: &Serve, host: &str) -> Tls {
    let certificate = match (&arguments.cert, &arguments.key) {
        (Some(chain), Some(key)) => Certificate::Files {
            chain: chain.clone(),
            key: key.clone(),
        },
        _ => {
            let mut names: Vec<String> = LOCAL_NAMES.map(str::to_string).to_vec();
            if !LOCAL_NAMES.contains(&host) && !["0.0.0.0", "::"].contains(&host) {
                names.push(host.to_string());
            }
            Certificate::SelfSigned { names }
        }
    };
    Tls {
        certificate,
        client_authorities: arguments.client_ca.clone(),
    }
}

/// Who the server is, and how a client comes to trust it.
fn identity(arguments: &Serve, address: &Address, fingerprint: &str) -> String {
    let place = match address {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => format!("unix:{}", path.display()),
    };
    match &arguments.cert {
        Some(file) => format!("certificate of {}, SHA-256 {fingerprint}", file.display()),
        None => format!(
            "certificate made for this run, SHA-256 {fingerprint}\nclients can accept it with \
             --insecure, or trust it: openssl s_client -connect {place} </dev/null | openssl x509 \
             -out serve.pem, then --cacert serve.pem"
        ),
    }
}

/// `HOST:PORT`, `:PORT` for every local address, or `unix:PATH`; and the host as it was written.
pub(crate) fn address(flag: &str, text: &str) -> Result<(Address, String), String> {
    let bad = |why: &str| format!("{flag} {text:?}: {why}; write HOST:PORT or unix:PATH");
    if let Some(path) = text.strip_prefix("unix:") {
        if path.is_empty() {
            return Err(bad("the path is missing"));
        }
        return Ok((Address::Unix(path.into()), "localhost".to_string()));
    }
    let (host, port) = text
        .rsplit_once(':')
        .ok_or_else(|| bad("the port is missing"))?;
    let port: u16 = port
        .parse()
        .map_err(|_| bad("the port isn't a number up to 65535"))?;
    let host = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'))
        .unwrap_or(host);
    let host = if host.is_empty() { "0.0.0.0" } else { host };
    let found = load::look_up(host, port, None, Time::now() + RESOLVED_WITHIN)
        .map_err(|error| bad(&format!("can't resolve {host} ({error})")))?;
    found
        .into_iter()
        .next()
        .map(|found| (Address::Tcp(found), host.to_string()))
        .ok_or_else(|| bad(&format!("{host} doesn't resolve to an address")))
}

fn words(summary: &Summary) -> String {
    let counts = &summary.counts;
    let mut text = format!(
        "served {} requests on {} connections",
        counts.requests, counts.connections
    );
    if counts.messages > 0 {
        text.push_str(&format!(", {} WebSocket messages", counts.messages));
    }
    for (status, count) in counts.rejections.by_status() {
        if count > 0 {
            text.push_str(&format!(", {count} refused with {status}"));
        }
    }
    if counts.relieved > 0 {
        text.push_str(&format!(
            ", {} connections cut short by --memory-limit",
            counts.relieved
        ));
    }
    if counts.cut > 0 {
        text.push_str(&format!(", {} cut off at shutdown", counts.cut));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_to_listen_are_read() {
        let read = |text: &str| address("--addr", text).unwrap().0.to_string();
        assert_eq!(read("127.0.0.1:8080"), "127.0.0.1:8080");
        assert_eq!(read("[::1]:80"), "[::1]:80");
        assert_eq!(read(":80"), "0.0.0.0:80");
        assert_eq!(read("unix:/tmp/a"), "unix:/tmp/a");
    }

    #[test]
    fn bad_places_are_refused_with_a_way_out() {
        for text in [
            "",
            "8080",
            "127.0.0.1",
            "127.0.0.1:http",
            "127.0.0.1:70000",
            "unix:",
        ] {
            assert!(
                address("--addr", text)
                    .unwrap_err()
                    .contains("write HOST:PORT"),
                "{text}"
            );
        }
    }
}
