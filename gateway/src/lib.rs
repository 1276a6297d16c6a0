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

mod admin;
mod alike;
mod balance;
pub mod config;
pub mod example;
mod health;
mod hosts;
mod identity;
mod log;
mod metrics;
mod paths;
mod plan;
mod proxy;
mod resolver;
mod routing;
mod stores;
pub mod terminal;
mod tokens;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use admission::rate::Rates;
pub use config::{BadConfig, Config};
use server::{Address, Broken, Listening, LiveCounts, StartError, Stop, Summary, Tls};

use admin::Admin;
use log::{Log, Writing};
use measure::time::Time;
use metrics::Metrics;
use plan::{Plan, Plans};
use proxy::Gateway;
use resolver::Resolver;

/// How long a gateway waits for the keys of tokens before it accepts.
const PATIENCE: Duration = Duration::from_secs(1);

/// The same for one that takes over from another: less than its master waits for it.
const PATIENCE_WITH_OTHERS: Duration = Duration::from_secs(10);

/// Starts a gateway, which runs until `stop` is requested.
///
/// # Errors
/// See [`Failure`]; nothing runs then.
pub fn start(config: Config, stop: &Stop) -> Result<Running, Failure> {
    let admin = config.admin.clone();
    let mut running = start_on(config, Vec::new(), false, stop)?;
    let Some(address) = admin else {
        return Ok(running);
    };
    let service = Admin {
        figures: running.figures(),
    };
    let started = server::start(server::Config::new(address), move |_| service.clone(), stop);
    match started {
        Ok(admin) => running.admin = Some(admin),
        Err(why) => {
            running.stop();
            let _ = running.join();
            return Err(Failure::Admin(why));
        }
    }
    Ok(running)
}

/// Starts one that accepts on sockets of others, as a worker of a master does: where `[listen]`
/// says, if there are none. Operators are answered by whoever has the sockets, out of
/// [`Running::figures`].
///
/// It accepts when the keys for tokens have come. They are waited for until fetching them has
/// failed, or for a second; one that takes over from others, who have keys, tries for ten, and
/// doesn't begin without.
///
/// # Errors
/// See [`Failure`]; nothing runs then.
pub fn start_on(
    config: Config,
    listening: Vec<Listening>,
    takes_over: bool,
    stop: &Stop,
) -> Result<Running, Failure> {
    let mut of_server = server::Config::new(config.listen.address.clone());
    of_server.listening = listening;
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
    let live = LiveCounts::new();
    of_server.live = Some(live.clone());
    let writing = match &config.log {
        Some(rule) => Some(Writing::begin(&rule.file, rule.sample).map_err(Failure::Log)?),
        None => None,
    };
    let log = writing.as_ref().map(Writing::log);
    of_server.upstream_tls = config.asks_over_tls();
    let rate_keys = config.rate_keys;
    let has_names = config.upstreams.iter().any(|one| !one.names.is_empty());
    let started = config.clone();
    let plan = Plan::new(config.clone(), None).map_err(Failure::Users)?;
    let plans = Arc::new(Plans::new(plan));
    let resolver = Resolver::new(Arc::clone(&plans), config.clone());
    if has_names {
        resolver.put(config).map_err(Failure::Users)?;
    }
    let shared = Arc::new(Shared {
        rates: Rates::new(rate_keys),
        plans,
        resolver,
        asks_over_tls: of_server.upstream_tls || of_server.tls.is_some(),
        metrics: Metrics::default(),
        log,
        started,
        begins: Begins::now(takes_over),
    });
    let of_workers = Arc::clone(&shared);
    let maker = move |worker| Gateway::new(Arc::clone(&of_workers), worker);
    let running = server::start(of_server, maker, stop).map_err(Failure::Start)?;
    Ok(Running {
        running,
        admin: None,
        writing,
        live,
        shared,
    })
}

/// What all workers share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) plans: Arc<Plans>,
    resolver: Resolver,
    /// Its driver can secure connections to upstreams.
    asks_over_tls: bool,
    pub(crate) rates: Rates,
    pub(crate) metrics: Metrics,
    pub(crate) log: Option<Log>,
    /// What the server was started with, and runs with until it's started again.
    started: Config,
    pub(crate) begins: Begins,
}

/// How long workers wait, before they accept, for what they need to judge requests.
#[derive(Debug)]
pub(crate) struct Begins {
    pub(crate) until: Time,
    /// Others serve meanwhile, and go on if these can't begin.
    pub(crate) takes_over: bool,
}

impl Begins {
    fn now(takes_over: bool) -> Begins {
        let patience = if takes_over {
            PATIENCE_WITH_OTHERS
        } else {
            PATIENCE
        };
        Begins {
            until: Time::now() + patience,
            takes_over,
        }
    }
}

/// Why a gateway did not start.
#[derive(Debug)]
#[non_exhaustive]
pub enum Failure {
    /// Its server didn't.
    Start(StartError),
    /// The listener of `[admin]` didn't.
    Admin(StartError),
    /// The access log can't be opened.
    Log(std::io::Error),
    /// The thread that looks users up can't be started.
    Users(std::io::Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Start(why) => why.fmt(f),
            Failure::Admin(why) => write!(f, "[admin]: {why}"),
            Failure::Users(why) => write!(f, "users can't be looked up: {why}"),
            Failure::Log(why) => write!(f, "the access log can't be opened: {why}"),
        }
    }
}

impl std::error::Error for Failure {}

/// A gateway that runs.
#[derive(Debug)]
pub struct Running {
    running: server::Running,
    admin: Option<server::Running>,
    writing: Option<Writing>,
    live: LiveCounts,
    shared: Arc<Shared>,
}

impl Running {
    /// Where it listens, with the port that was chosen.
    pub fn address(&self) -> &Address {
        self.running.address()
    }

    /// Where operators ask, if they may.
    pub fn admin_address(&self) -> Option<&Address> {
        self.admin.as_ref().map(server::Running::address)
    }

    /// Which engine drives it.
    pub fn engine_name(&self) -> &'static str {
        self.running.engine_name()
    }

    /// What its server counts while it runs.
    pub fn live(&self) -> LiveCounts {
        self.live.clone()
    }

    /// All that it counts while it runs.
    pub fn figures(&self) -> Figures {
        Figures {
            shared: Arc::clone(&self.shared),
            live: self.live.clone(),
        }
    }

    /// What puts other configurations in place.
    pub fn exchange(&self) -> Exchange {
        Exchange(Arc::clone(&self.shared))
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
        let summary = self.running.join();
        self.shared.resolver.stop();
        if let Some(admin) = self.admin {
            admin.stop();
            admin.join()?;
        }
        if let Some(writing) = self.writing {
            writing.end();
        }
        summary
    }
}

/// All that a gateway counts while it runs.
#[derive(Clone, Debug)]
pub struct Figures {
    shared: Arc<Shared>,
    live: LiveCounts,
}

impl Figures {
    /// As a text for Prometheus (0.0.4).
    pub fn text(&self) -> String {
        exposition::text(&self.families(false))
    }

    /// As Prometheus wants it that sends this in `Accept`, and the media type of that.
    pub(crate) fn answer(&self, accept: &[u8]) -> (&'static str, Vec<u8>) {
        exposition::encode(&self.families(exposition::wants_native(accept)), accept)
    }

    /// As families, whose response times are `native` histograms or those of a text.
    pub fn families(&self, native: bool) -> Vec<exposition::Family> {
        let dropped = self.shared.log.as_ref().map(Log::dropped);
        let plan = self.shared.plans.current();
        let users = plan.config.users.iter().zip(&plan.users);
        let users: Vec<_> = users
            .map(|(one, users)| (&*one.name, users.counts()))
            .collect();
        (self.shared.metrics).families(&self.live, dropped, &users, native)
    }
}

/// Puts another configuration in place of the one that a gateway runs with.
#[derive(Clone, Debug)]
pub struct Exchange(Arc<Shared>);

impl Exchange {
    /// From now on, requests are routed by `next`; those under way end as they began. Servers that
    /// both have keep their connections. Returns what of it takes a restart, by its name in the
    /// file; that stays as it is. The access log is opened again. Waits a few seconds for names of
    /// servers that are looked up for the first time.
    ///
    /// # Errors
    /// A thread for it can't be started, or servers are to be asked over TLS and the gateway has
    /// begun without that: it takes a restart. Everything stays as it is.
    pub fn put(&self, next: Config) -> std::io::Result<Vec<&'static str>> {
        if next.asks_over_tls() && !self.0.asks_over_tls {
            let what = "servers of `https://` take a restart, since there were none before";
            return Err(std::io::Error::other(what));
        }
        let left = self.0.started.needs_restart(&next);
        self.0.resolver.put(next)?;
        if let Some(log) = &self.0.log {
            log.reopen();
        }
        Ok(left)
    }
}
