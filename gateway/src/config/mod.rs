//! What a gateway is told: one TOML file, checked as a whole before any of it is used.
//!
//! `written` has the file as it stands, `check` decides what it means, and this file has what the
//! rest of the gateway reads. A [`Config`] is always usable: routes name upstreams that exist,
//! weights aren't all zero, and addresses are addresses.

mod check;
mod document;
mod judge;
mod routes;
mod servers;
mod stores;
mod trust;
mod written;

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use admission::gate;
use admission::queue::Priority;
use admission::rate::Rate;
use ipnet::IpNet;
use server::upstream::Protocol;
use server::{Address, Certificate, ClientSettings, EngineChoice, Secure, Timeouts};
use token::{KeySet, Rules};

pub use document::BadConfig;
pub(crate) use trust::left_out;

use document::Document;

/// A configuration that was checked.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// Where the gateway listens. Nothing of it changes without a restart.
    pub listen: Listen,
    /// Where operators ask for health and metrics, if they may.
    pub admin: Option<Address>,
    /// Where requests are written down, if they are.
    pub log: Option<LogRule>,
    /// So many keys of rates are told apart at once.
    pub rate_keys: usize,
    /// What clients may ask for. Bodies are passed on as they come, so they may be longer than what
    /// the memory holds.
    pub limits: server::Limits,
    /// How long clients may take.
    pub timeouts: Timeouts,
    /// How long a worker process may give its master no sign of life until it's replaced; zero is
    /// for ever.
    pub silence: Duration,
    /// What requests are given on their way.
    pub forward: Forward,
    /// Where requests go, in the order of their names.
    pub upstreams: Vec<Upstream>,
    /// Whose tokens are good, in the order of their names.
    pub tokens: Vec<Arc<Token>>,
    /// Where users are looked up, in the order of their names.
    pub users: Vec<Users>,
    /// Fields that only the gateway writes, in lower case: clients' own are dropped.
    pub identity_fields: Vec<String>,
    /// Which request goes where, in the order of the file.
    pub routes: Vec<Route>,
}

/// Where requests are written down.
#[derive(Clone, Debug, PartialEq)]
pub struct LogRule {
    /// The file; `-` is standard output.
    pub file: PathBuf,
    /// Which share of the requests.
    pub sample: f64,
}

/// Where the gateway listens, and on what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listen {
    /// The address.
    pub address: Address,
    /// Worker threads.
    pub threads: usize,
    /// What drives the sockets.
    pub engine: EngineChoice,
    /// Who the gateway is over TLS; `None` listens in the clear.
    pub certificate: Option<Certificate>,
}

/// What requests are given on their way, and what of them is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Whose `X-Forwarded-…` and `Forwarded` fields are believed and extended. Those of others are
    /// dropped, since anybody can write them.
    pub trusted_proxies: Vec<IpNet>,
    /// `X-Forwarded-For`, `-Proto` and `-Host` are written.
    pub x_forwarded: bool,
    /// `Forwarded` (RFC 7239) is written.
    pub forwarded: bool,
    /// What the gateway calls itself in `Via` (RFC 9110 §7.6.3); empty leaves the field out.
    pub via: String,
    /// A request without a `traceparent` gets one (W3C Trace Context §3.2).
    pub makes_traceparent: bool,
    /// A path with `%2F` or `%5C` in it is refused; else they are characters like others.
    pub refuses_encoded_slashes: bool,
}

impl Forward {
    /// Whether what `address` says about the client before it is believed.
    pub fn trusts(&self, address: IpAddr) -> bool {
        // An IPv4 client of a listener of IPv6 has a mapped address (RFC 4291 §2.5.5.2).
        let address = address.to_canonical();
        self.trusted_proxies
            .iter()
            .any(|net| net.contains(&address))
    }
}

/// A set of servers that answer alike.
#[derive(Clone, Debug, PartialEq)]
pub struct Upstream {
    /// Its name in the file.
    pub name: String,
    /// Those that are written as addresses, and behind them what names have led to.
    pub servers: Vec<Server>,
    /// So many of them are written as addresses.
    pub written: usize,
    /// Those that are written as names: all of their addresses become servers.
    pub names: Vec<Named>,
    /// How often names are looked up.
    pub resolve: Duration,
    /// What is spoken with them.
    pub protocol: Protocol,
    /// Which server gets a request.
    pub balance: Balance,
    /// How much each server may take, for each worker.
    pub limits: server::upstream::Limits,
    /// How long each server may take.
    pub timeouts: server::upstream::Timeouts,
    /// How long a server may be silent within an answer.
    pub piece_timeout: Duration,
    /// How servers are asked whether they're healthy, if they are.
    pub health: Option<Health>,
    /// When a server is left out because of its answers.
    pub outlier: Outlier,
    /// When a request is sent again, to another server.
    pub retry: Retry,
    /// How many requests are under way at once, and how long others wait for them, if that's
    /// limited.
    pub overload: Option<gate::Settings>,
}

/// A server of an upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Where it is.
    pub address: Address,
    /// How much of the load it gets beside the others; 0 gets none.
    pub weight: u32,
    /// How it's spoken to over TLS; `None` in the clear.
    pub tls: Option<Tls>,
}

/// Servers of an upstream that are known by a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// What is looked up.
    pub host: String,
    /// Where its addresses listen.
    pub port: u16,
    /// The weight of each of them.
    pub weight: u32,
    /// How they're spoken to over TLS; `None` in the clear.
    pub tls: Option<Tls>,
}

/// How a server is spoken to over TLS.
#[derive(Clone, Debug)]
pub struct Tls {
    /// For the driver.
    pub secure: Secure,
    settings: ClientSettings,
    /// What stood in the files that the settings name.
    files: Vec<Vec<u8>>,
}

/// The same settings are as good as each other if their files haven't changed, so that servers keep
/// their connections when the configuration is read again.
impl PartialEq for Tls {
    fn eq(&self, other: &Tls) -> bool {
        (&self.settings, &self.files) == (&other.settings, &other.files)
    }
}

impl Eq for Tls {}

/// Which server of an upstream gets a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Each in turn, by weight, evenly spread.
    RoundRobin,
    /// The one with the fewest requests under way for its weight.
    LeastRequests,
    /// The same server for the same key, unless it has far more to do than the others.
    Hash(HashKey),
}

/// What requests are spread by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HashKey {
    /// The address of the client.
    Address,
    /// The value of this field, in lower case; without it the address.
    Field(String),
}

/// How servers are asked whether they're healthy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The path of a GET. Any status from 200 to 399 is healthy.
    pub path: String,
    /// What `Host` says.
    pub host: String,
    /// From one check to the next.
    pub interval: Duration,
    /// How long an answer may take.
    pub timeout: Duration,
    /// So many good answers in a row make a server healthy again, …
    pub healthy: u32,
    /// … and so many bad ones unhealthy.
    pub unhealthy: u32,
}

/// When a server is left out because of its answers to requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// After so many failures in a row, statuses from 500 on among them; 0 never.
    pub errors: u32,
    /// For how long, times how often it was lately.
    pub ejection: Duration,
    /// If a smaller share of an upstream's servers than this is usable, all are used: the few that
    /// are left would only be overloaded, too.
    pub panic_threshold: f64,
}

/// When a request is sent again, to another server.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// So often at most; 0 never.
    pub attempts: u8,
    /// Requests that are sent again at the same time, as a share of all under way. Three are always
    /// allowed, for each worker.
    pub budget: f64,
    /// Answers with these statuses are thrown away, and the request is sent again.
    pub statuses: Vec<u16>,
}

/// Which requests go where.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// What it's called in metrics and logs.
    pub name: String,
    /// The hosts that it's for; empty is any.
    pub hosts: Vec<HostPattern>,
    /// The paths that it's for.
    pub path: PathPattern,
    /// Fields that a request must have, names in lower case.
    pub header: Vec<(String, String)>,
    /// Methods; empty is any.
    pub methods: Vec<String>,
    /// What becomes of a request.
    pub action: Action,
    /// Who gets a copy of some requests.
    pub mirror: Option<Mirror>,
    /// How many requests it takes.
    pub rates: Vec<RateRule>,
    /// Who goes first where requests have to wait.
    pub priority: Priority,
    /// Whose token a request needs, if it needs one.
    pub token: Option<usize>,
    /// Where its user is looked up, if he is.
    pub user: Option<usize>,
}

/// Where users are looked up, and what upstreams are told of them.
#[derive(Clone, Debug, PartialEq)]
pub struct Users {
    /// Its name in the file.
    pub name: String,
    /// What of a request names the user.
    pub by: By,
    /// Fields for the upstream; each is made of what `settings.fields` has in its place.
    pub fields: Vec<String>,
    /// The stores.
    pub settings: users::Settings,
}

/// What of a request names the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum By {
    /// Whom the token is about.
    Subject,
    /// This segment of the path, counted from one.
    Segment(usize),
    /// The value of this field, in lower case.
    Field(String),
}

/// How many requests a route takes from one key.
#[derive(Clone, Debug, PartialEq)]
pub struct RateRule {
    /// What has a bucket of its own.
    pub key: RateKey,
    /// How fast it fills, and how much it holds.
    pub rate: Rate,
    /// It's shared through the Redis of these users, if it is.
    pub shared: Option<Shared>,
}

/// A bucket that gateways share.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shared {
    /// Whose Redis has it.
    pub users: usize,
    /// So many flow into it in a second.
    pub per_second: f64,
    /// It holds so many.
    pub burst: u32,
}

/// What has a bucket of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RateKey {
    /// The address of the client.
    Address,
    /// The value of this field, in lower case; requests without it share one bucket.
    Field(String),
    /// Who the token is about; it's looked at once the token is known to be good.
    Subject,
    /// All requests of the route together.
    Route,
}

/// Whose tokens are good, and what the upstream is told of them.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its name in the file.
    pub name: String,
    /// The keys of files.
    pub keys: KeySet,
    /// What of a file isn't taken, and why.
    pub left_out: Option<String>,
    /// Where more of them are fetched.
    pub remote: Option<Remote>,
    /// What its claims have to be.
    pub rules: Rules,
    /// Where it is in a request.
    pub source: Source,
    /// Fields for the upstream, and the claims that they're made of.
    pub fields: Vec<(String, String)>,
    /// Who may, by `sub`; `None` is everybody with a good token.
    pub users: Option<HashMap<String, User>>,
    /// So many tokens are remembered by each worker.
    pub cache: usize,
    /// The upstream gets the token, too.
    pub pass_on: bool,
}

/// Where keys are fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remote {
    /// The upstream that has them.
    pub upstream: usize,
    /// The name of that.
    pub name: String,
    /// The path of a GET for a JWK set (RFC 7517 §5).
    pub path: String,
    /// What `Host` says.
    pub host: String,
    /// How often.
    pub refresh: Duration,
}

/// Where a token is in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In `Authorization: Bearer` (RFC 6750 §2.1).
    Bearer,
    /// In the cookie of this name.
    Cookie(String),
}

/// Somebody who may, or may not any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// His tokens are refused.
    pub disabled: bool,
    /// Further fields for the upstream.
    pub fields: Vec<(String, String)>,
}

/// A host that a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostPattern {
    /// This one, in lower case, without a port.
    Exact(String),
    /// All below this one: `.example.org`.
    Below(String),
}

/// A path that a route is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathPattern {
    /// This path.
    Exact(String),
    /// This path and those below it, by whole segments: `/api` is for `/api/users`, and not for
    /// `/apis`. Without a slash at its end, unless it's `/`.
    Prefix(String),
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// It goes to one of these upstreams, by weight; at least one weight isn't zero.
    Forward(Vec<(usize, u32)>),
    /// The gateway answers it.
    Answer {
        /// The status.
        status: u16,
        /// The body, as plain text.
        text: String,
        /// The body is the user instead, as JSON.
        user: bool,
    },
}

/// Who gets a copy of some requests, whose answer nobody waits for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mirror {
    /// The upstream.
    pub upstream: usize,
    /// Which share of the requests.
    pub share: f64,
    /// At most so many at the same time, for each worker.
    pub limit: u32,
}

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// It can't be read, or something in it is wrong: [`BadConfig`] says what and where.
    pub fn read(path: &Path) -> Result<Config, BadConfig> {
        check::config(&Document::read(path)?)
    }

    /// Reads a text, which is called `name` in messages. Paths in it are relative to the working
    /// directory.
    ///
    /// # Errors
    /// Something in it is wrong.
    pub fn of(name: &str, text: &str) -> Result<Config, BadConfig> {
        check::config(&Document::of(name, Path::new(""), text))
    }

    /// Reads a text that stood in the file at `path`: what paths in it are relative to.
    ///
    /// # Errors
    /// Something in it is wrong.
    pub fn of_file(path: &Path, text: &str) -> Result<Config, BadConfig> {
        check::config(&Document::of(&path.display().to_string(), path, text))
    }

    /// What whoever wrote the file has to know, though it's in order.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        let tokens = self.tokens.iter();
        tokens.filter_map(|token| {
            Some(format!(
                "[token.{}]: {}",
                token.name,
                token.left_out.as_ref()?
            ))
        })
    }

    /// Whether any server is spoken to over TLS.
    pub fn asks_over_tls(&self) -> bool {
        let mut upstreams = self.upstreams.iter();
        upstreams.any(|upstream| {
            let servers = upstream.servers.iter().map(|server| &server.tls);
            let mut all = servers.chain(upstream.names.iter().map(|named| &named.tls));
            all.any(Option::is_some)
        })
    }

    /// The same with servers at all addresses that `found` has for names.
    pub fn with_addresses(&self, found: impl Fn(&Named) -> Vec<SocketAddr>) -> Config {
        let mut config = self.clone();
        for upstream in &mut config.upstreams {
            upstream.servers.truncate(upstream.written);
            for named in &upstream.names {
                for address in found(named) {
                    let server = Server {
                        address: Address::Tcp(address),
                        weight: named.weight,
                        tls: named.tls.clone(),
                    };
                    let known = |one: &Server| one.address == server.address;
                    let is_new = !upstream.servers.iter().any(known);
                    if is_new && upstream.servers.len() < servers::SERVERS_MAX {
                        upstream.servers.push(server);
                    }
                }
            }
        }
        config
    }

    /// Whether a request of the route `was` that waits for its user may go on as one of `next`'s
    /// route `is`: they say the same, users are looked up alike, and the same fields are only the
    /// gateway's.
    pub(crate) fn waits_alike(&self, was: &Route, next: &Config, is: &Route) -> bool {
        let looked_up = was.user.map(|at| &self.users[at]);
        looked_up == is.user.map(|at| &next.users[at])
            && self.identity_fields == next.identity_fields
            && self.in_places_of(next, was).as_ref() == Some(is)
    }

    /// A route of this configuration with the places that what it names has in `next`, if it's all
    /// there.
    fn in_places_of(&self, next: &Config, route: &Route) -> Option<Route> {
        let upstream = |at: usize| {
            let name = &self.upstreams[at].name;
            next.upstreams.iter().position(|one| one.name == *name)
        };
        let users = |at: usize| {
            let name = &self.users[at].name;
            next.users.iter().position(|one| one.name == *name)
        };
        let mut route = route.clone();
        if let Action::Forward(parts) = &mut route.action {
            for (at, _) in parts {
                *at = upstream(*at)?;
            }
        }
        if let Some(mirror) = &mut route.mirror {
            mirror.upstream = upstream(mirror.upstream)?;
        }
        if let Some(at) = &mut route.token {
            let name = &self.tokens[*at].name;
            *at = next.tokens.iter().position(|one| one.name == *name)?;
        }
        if let Some(at) = &mut route.user {
            *at = users(*at)?;
        }
        for shared in route
            .rates
            .iter_mut()
            .filter_map(|rule| rule.shared.as_mut())
        {
            shared.users = users(shared.users)?;
        }
        Some(route)
    }

    /// What of `next` takes a restart, by the names in the file. Everything else can be exchanged
    /// while the gateway runs.
    pub fn needs_restart(&self, next: &Config) -> Vec<&'static str> {
        let parts = [
            ("listen", self.listen != next.listen),
            ("admin", self.admin != next.admin),
            ("log", self.log != next.log),
            (
                "limits",
                (self.server_limits(), self.rate_keys) != (next.server_limits(), next.rate_keys),
            ),
            ("timeouts", self.timeouts != next.timeouts),
        ];
        let changed = parts.into_iter().filter(|(_, changed)| *changed);
        changed.map(|(name, _)| name).collect()
    }

    /// What of `next` a master of worker processes doesn't take up, by the names in the file: new
    /// workers have all the rest.
    pub fn of_master(&self, next: &Config) -> Vec<&'static str> {
        let drain = |config: &Config| (config.timeouts.drain, config.silence);
        let engine = self.listen.engine != next.listen.engine;
        let parts = [
            (
                "`address` in [listen]",
                self.listen.address != next.listen.address,
            ),
            ("`engine` in [listen]", engine),
            ("[admin]", self.admin != next.admin),
            (
                "`drain` and `silence` in [timeouts]",
                drain(self) != drain(next),
            ),
        ];
        let changed = parts.into_iter().filter(|(_, changed)| *changed);
        changed.map(|(name, _)| name).collect()
    }

    /// Those that the server looks after, and not the gateway, as after the size of bodies.
    fn server_limits(&self) -> server::Limits {
        server::Limits {
            body_bytes: u64::MAX,
            ..self.limits
        }
    }
}

#[cfg(test)]
mod tests;
