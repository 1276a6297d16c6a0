//! A reverse proxy and gateway on `ringside-server`: requests take routes to upstreams.
//!
//! [`Config`] is one TOML file, checked as a whole. [`start`] serves it, and
//! [`Running::exchange`] puts another in its place without a request being lost.
//!
//! From the outside in: `proxy` is the service of a worker; `routing`, `balance`, `health` and
//! `paths` decide and know neither sockets nor clocks; `plan` is a configuration with what is made
//! of it, shared by all workers. Sockets, protocols and pools of connections are the server
//! library's.
#![forbid(unsafe_code)]

mod balance;
pub mod config;
pub mod example;
mod health;
mod identity;
mod paths;
mod plan;
mod proxy;
mod routing;

use std::sync::Arc;

pub use config::{BadConfig, Config};
use server::{Address, Broken, StartError, Stop, Summary, Tls};

use plan::{Plan, Plans};
use proxy::Gateway;

/// Starts a gateway, which runs until `stop` is requested.
///
/// # Errors
/// As for [`server::start`].
pub fn start(config: Config, stop: &Stop) -> Result<Running, StartError> {
    let mut of_server = server::Config::new(config.listen.address.clone());
    of_server.threads = config.listen.threads;
    of_server.engine = config.listen.engine;
    of_server.peers = true;
    of_server.limits = server::Limits {
        body_bytes: u64::MAX, // The gateway looks after that by itself.
        ..config.limits
    };
    of_server.timeouts = config.timeouts;
    of_server.tls = config.listen.certificate.clone().map(|certificate| Tls {
        certificate,
        client_authorities: None,
    });
    let plans = Arc::new(Plans::new(Plan::new(config)));
    let of_workers = Arc::clone(&plans);
    let maker = move |worker| Gateway::new(Arc::clone(&of_workers), worker);
    let running = server::start(of_server, maker, stop)?;
    Ok(Running { running, plans })
}

/// A gateway that runs.
#[derive(Debug)]
pub struct Running {
    running: server::Running,
    plans: Arc<Plans>,
}

impl Running {
    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> &Address {
        self.running.address()
    }

    /// Which engine drives it.
    pub fn engine_name(&self) -> &'static str {
        self.running.engine_name()
    }

    /// What puts other configurations in place.
    pub fn exchange(&self) -> Exchange {
        Exchange(Arc::clone(&self.plans))
    }

    /// Requests the end, as SIGTERM does.
    pub fn stop(&self) {
        self.running.stop();
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// As for [`server::Running::join`].
    ///
    /// # Panics
    /// If a worker did.
    pub fn join(self) -> Result<Summary, Broken> {
        self.running.join()
    }
}

/// Puts another configuration in place of the one that a gateway runs with.
#[derive(Clone, Debug)]
pub struct Exchange(Arc<Plans>);

impl Exchange {
    /// From now on, requests are routed by `next`; those under way end as they began. Servers that
    /// both have keep their connections. Returns what of it takes a restart, by its name in the
    /// file; that stays as it is.
    pub fn put(&self, next: Config) -> Vec<&'static str> {
        let left = self.0.current().config.needs_restart(&next);
        self.0.exchange(Plan::new(next));
        left
    }
}
