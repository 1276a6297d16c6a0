//! The plan of a hold: what is held, for how long, and how we find out that it's still open.

use std::net::IpAddr;
use std::ops::Range;

use measure::units::wrk_time_us;
use proto::grpc::call::Compression;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contact::Contact;
use crate::family::Family;
use crate::invalid::{Invalid, positive, spread, within};
use crate::part::{self, Lease, Part, Permits};
use crate::protocol::{Protocol, Tls};
use crate::proxy::{self, Proxy};
use crate::redaction::Redaction;
use crate::request::Request;
use crate::run::{self, CONNECTIONS_MAX, THREADS_MAX};
use crate::share::share;
use crate::target::Target;

/// The most attempts in a row that a plan may ask for.
const RETRIES_MAX: u32 = 1_000_000;
/// A record has a row for each broadcast.
const BROADCASTS_MAX: f64 = 20_000.0;
/// The most connections that may be opened in a second.
const OPEN_RATE_MAX: f64 = 1e6;

/// All a hold needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Plan {
    /// Where the connections go.
    #[serde(with = "Target")]
    pub target: Target,
    /// The heartbeat of HTTP/1.1; of WebSocket the upgrade, and its headers are gRPC's metadata.
    #[serde(with = "Request")]
    pub request: Request,
    /// What is spoken, which decides what a heartbeat is: a request of HTTP/1.1, a PING of HTTP/2,
    /// a ping of WebSocket, or the call of gRPC.
    #[serde(with = "Protocol")]
    pub protocol: Protocol,
    /// How the connections are secured; null: not at all.
    pub tls: Option<Tls>,
    /// Connections to hold.
    pub connections: u32,
    /// Connections opened per second, over all workers.
    pub open_rate: f64,
    /// Seconds to hold them, counted from when each has been tried.
    pub duration_s: f64,
    /// Seconds between the heartbeats of a connection.
    pub heartbeat_s: f64,
    /// Seconds from one message that a connection says to all to the next; null: none is said.
    #[serde(default)]
    pub broadcast_s: Option<f64>,
    /// Seconds after which a connection with an unanswered heartbeat counts as lost.
    pub heartbeat_timeout_s: f64,
    /// Timeout in seconds of an attempt, until the connection can be used.
    pub connect_timeout_s: f64,
    /// How to retry a connection that was lost or couldn't be opened.
    pub back_off: BackOff,
    /// Consecutive retries without an answered heartbeat before a connection is given up.
    pub retries: u32,
    /// Worker threads, each pinned and with a driver of its own; null: one for every 18,000
    /// connections, and no more than there are CPUs.
    pub threads: Option<u32>,
    /// The version of IP that names are resolved to; null: any.
    #[serde(default)]
    pub family: Option<Family>,
    /// Local addresses that connections take in turn. Empty: the kernel chooses, or, towards this
    /// very host, as many of 127.0.0.0/8 as the connections need.
    pub source_addresses: Vec<IpAddr>,
    /// The network device that carries the connections (`SO_BINDTODEVICE`); null: the kernel's
    /// routes choose.
    #[serde(default)]
    pub interface: Option<String>,
    /// The proxy that the connections go through; null: none.
    #[serde(default, with = "proxy::option")]
    #[schemars(with = "Option<Proxy>")]
    pub proxy: Option<Proxy>,
    /// CPUs that the workers are pinned to in turn; empty: the allowed ones.
    pub cpus: Vec<usize>,
    /// `SO_RCVBUF` in bytes; null: the kernel's own.
    pub receive_buffer_bytes: Option<usize>,
    /// `SO_SNDBUF` in bytes; null: the kernel's own.
    pub send_buffer_bytes: Option<usize>,
    /// `auto`, `uring` or `epoll`.
    pub engine: String,
    /// Seed of the back-off.
    pub seed: u64,
    /// What is hidden when it is written or printed.
    #[serde(skip)]
    pub redaction: Redaction,
    /// What of it this process carries out, whose `threads` are then given; none: all.
    #[serde(skip)]
    pub part: Option<Part>,
}

/// A plan as a record holds it: without its secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded(Plan);

crate::run::recorded_like_its_plan!();

/// Back-off before reconnecting: doubles after each consecutive failure up to a bound, with ±25 %
/// jitter.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BackOff {
    /// The first wait in seconds.
    pub first_s: f64,
    /// The longest in seconds.
    pub most_s: f64,
}

/// The method that asks a gRPC server for its health (grpc.health.v1).
const HEALTH_CHECK: &str = "/grpc.health.v1.Health/Check";

/// The message that asks for the health of `service`, or of the whole server where it is empty.
fn health_check(service: &str) -> Vec<u8> {
    let mut message = Vec::new();
    if !service.is_empty() {
        prost::encoding::string::encode(1, &service.to_owned(), &mut message);
    }
    message
}

impl Plan {
    /// A thousand connections for a minute, with a heartbeat each half minute: the plan that the
    /// flags of `ringside hold` change.
    pub fn new(url: &str) -> Result<Plan, Invalid> {
        let run::Plan {
            mut target,
            request,
            mut protocol,
            tls,
            seed,
            engine,
            redaction,
            ..
        } = run::Plan::new(url)?;
        if let Protocol::Grpc { call, .. } = &mut protocol {
            call.messages = vec![health_check(target.path.trim_matches('/'))];
            target.path = HEALTH_CHECK.into();
        }
        Ok(Plan {
            target,
            request,
            protocol,
            tls,
            connections: 1000,
            open_rate: 5000.0,
            duration_s: 60.0,
            heartbeat_s: 30.0,
            broadcast_s: None,
            heartbeat_timeout_s: 30.0,
            connect_timeout_s: 10.0,
            back_off: BackOff {
                first_s: 0.1,
                most_s: 30.0,
            },
            retries: 10,
            threads: None,
            family: None,
            source_addresses: Vec::new(),
            interface: None,
            proxy: None,
            cpus: Vec::new(),
            receive_buffer_bytes: None,
            send_buffer_bytes: None,
            engine,
            seed,
            redaction,
            part: None,
        })
    }

    /// What a record holds of it. Whoever adds a field decides here whether it is a secret.
    pub fn recorded(&self) -> Recorded {
        let Plan {
            target,
            request,
            protocol,
            tls,
            connections,
            open_rate,
            duration_s,
            heartbeat_s,
            broadcast_s,
            heartbeat_timeout_s,
            connect_timeout_s,
            back_off,
            retries,
            threads,
            family,
            source_addresses,
            interface,
            proxy,
            cpus,
            receive_buffer_bytes,
            send_buffer_bytes,
            engine,
            seed,
            redaction,
            part: _,
        } = self;
        Recorded(Plan {
            target: target.shown(redaction),
            request: request.shown(redaction),
            protocol: protocol.shown(redaction),
            tls: tls.clone(),
            connections: *connections,
            open_rate: *open_rate,
            duration_s: *duration_s,
            heartbeat_s: *heartbeat_s,
            broadcast_s: *broadcast_s,
            heartbeat_timeout_s: *heartbeat_timeout_s,
            connect_timeout_s: *connect_timeout_s,
            back_off: *back_off,
            retries: *retries,
            threads: *threads,
            family: *family,
            source_addresses: source_addresses.clone(),
            interface: interface.clone(),
            proxy: proxy.as_ref().map(|proxy| proxy.shown(redaction)),
            cpus: cpus.clone(),
            receive_buffer_bytes: *receive_buffer_bytes,
            send_buffer_bytes: *send_buffer_bytes,
            engine: engine.clone(),
            seed: *seed,
            redaction: redaction.clone(),
            part: None,
        })
    }

    /// The numbers of this process's workers among so many threads: all of them, unless it has a
    /// part.
    pub fn workers(&self, threads: u32) -> Range<u32> {
        part::workers(self.part.as_ref(), threads)
    }

    /// Until when it may be sent.
    pub fn lease(&self) -> Lease {
        let part = self.part.as_ref();
        part.map(|part| part.lease.clone()).unwrap_or_default()
    }

    /// The connections of this process.
    pub fn own_connections(&self) -> u32 {
        let (Some(_), Some(threads)) = (&self.part, self.threads) else {
            return self.connections;
        };
        let own = self.workers(threads);
        let own = own.map(|worker| share(self.connections.into(), worker, threads));
        own.sum::<u64>() as u32
    }

    /// The whole URL, as it may be shown.
    pub fn url(&self) -> String {
        self.target.url(&self.redaction)
    }

    /// What of the times to re-establish connections is our own, in a sentence.
    pub fn pacing(&self) -> String {
        let BackOff { first_s, most_s } = self.back_off;
        format!(
            "Re-establish times include the back-off ({}..{}) and the wait for a turn: lost \
             connections are tried again at --open-rate ({} per second) at most.",
            wrk_time_us(first_s * 1e6),
            wrk_time_us(most_s * 1e6),
            self.open_rate
        )
    }

    /// Has the redaction know the secrets that this sends.
    pub fn tell_secrets(&self) {
        self.request.tell_secrets(&self.target, &self.redaction);
        if let Some(proxy) = &self.proxy {
            proxy.tell_secrets(&self.redaction);
        }
    }

    fn validate_broadcast(&self) -> Result<(), Invalid> {
        let Some(broadcast_s) = self.broadcast_s else {
            return Ok(());
        };
        positive("--broadcast", broadcast_s)?;
        if !matches!(self.protocol, Protocol::WebSocket { .. }) {
            return Err(Invalid(format!(
                "--broadcast applies to ws:// and wss:// only, and this is {}://",
                self.target.scheme
            )));
        }
        let number = self.duration_s / broadcast_s;
        if number > BROADCASTS_MAX {
            return Err(Invalid(format!(
                "--broadcast {broadcast_s}s makes {number:.0} broadcasts in {} s, and a record \
                 has room for {BROADCASTS_MAX}: use at least {}s",
                self.duration_s,
                (self.duration_s / BROADCASTS_MAX * 1e3).ceil() / 1e3
            )));
        }
        if broadcast_s > self.duration_s {
            return Err(Invalid(format!(
                "--broadcast {broadcast_s}s is longer than the hold of {} s, so nothing would be \
                 said; shorten it, or lengthen -d",
                self.duration_s
            )));
        }
        Ok(())
    }

    /// Checks that the parts fit together, and says what to change if they don't.
    pub fn validate(&self) -> Result<(), Invalid> {
        within("-c/--connections", self.connections, CONNECTIONS_MAX)?;
        if let Some(threads) = self.threads {
            let own = self.workers(threads);
            within("-t/--threads", own.len() as u32, THREADS_MAX)?;
            part::validate(&own, threads)?;
            spread(self.connections, threads)?;
        }
        positive("-d/--duration", self.duration_s)?;
        positive("--heartbeat", self.heartbeat_s)?;
        self.validate_broadcast()?;
        positive("--heartbeat-timeout", self.heartbeat_timeout_s)?;
        positive("--connect-timeout", self.connect_timeout_s)?;
        positive("--back-off", self.back_off.first_s)?;
        positive("--back-off", self.back_off.most_s)?;
        if self.back_off.first_s > self.back_off.most_s {
            return Err(Invalid(
                "--back-off: the first wait is longer than the longest one; write it like \
                 100ms..30s"
                    .into(),
            ));
        }
        if !(self.open_rate > 0.0 && self.open_rate <= OPEN_RATE_MAX) {
            return Err(Invalid(format!(
                "--open-rate must be above zero and at most {OPEN_RATE_MAX} per second"
            )));
        }
        if self.retries > RETRIES_MAX {
            return Err(Invalid(format!(
                "--retries {} is too large: the maximum is {RETRIES_MAX}",
                self.retries
            )));
        }
        if self.protocol.is_mixed() {
            return Err(Invalid(
                "a heartbeat is one call, and the plan has `mixed` as its kind: say which it is"
                    .into(),
            ));
        }
        self.contact().validate()
    }

    /// Whom it contacts, and what it says first.
    pub fn contact(&self) -> Contact {
        Contact {
            target: self.target.clone(),
            request: self.request.clone(),
            protocol: self.protocol.clone(),
            compression: Compression::default(),
            tls: self.tls.clone(),
            depth: self.protocol.http2().map_or(1, |http2| http2.streams),
            keep_alive: true,
            timeout_s: self.connect_timeout_s,
            timeout_flag: "--connect-timeout",
            family: self.family,
            source_addresses: self.source_addresses.clone(),
            interface: self.interface.clone(),
            proxy: self.proxy.clone(),
            engine: self.engine.clone(),
            seed: self.seed,
            redaction: self.redaction.clone(),
            permits: (self.part.as_ref()).map_or(Permits::default(), |part| part.permits.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_that_cannot_be_held_are_refused_with_the_flag() {
        type Spoil = fn(&mut Plan);
        let table: [(Spoil, &str); 10] = [
            (|plan| plan.connections = 0, "-c"),
            (
                |plan| (plan.connections, plan.threads) = (2, Some(4)),
                "at least 4",
            ),
            (|plan| plan.threads = Some(0), "-t"),
            (|plan| plan.duration_s = 0.0, "-d"),
            (|plan| plan.heartbeat_s = -1.0, "--heartbeat"),
            (|plan| plan.open_rate = 0.0, "--open-rate"),
            (|plan| plan.back_off.first_s = 31.0, "--back-off"),
            (|plan| plan.retries = u32::MAX, "--retries"),
            (
                |plan| plan.connect_timeout_s = f64::NAN,
                "--connect-timeout",
            ),
            (
                |plan| {
                    plan.protocol = Protocol::Grpc {
                        http2: Default::default(),
                        call: crate::protocol::Call::of_workload(None),
                    }
                },
                "a heartbeat is one call",
            ),
        ];
        for (spoil, flag) in table {
            let mut plan = Plan::new("http://127.0.0.1:80/").unwrap();
            plan.validate().unwrap();
            spoil(&mut plan);
            let text = plan.validate().unwrap_err().0;
            assert!(text.contains(flag), "{flag}: {text}");
        }
    }

    #[test]
    fn the_path_of_grpc_names_the_service_whose_health_is_asked_for() {
        let of = |url: &str| {
            let plan = Plan::new(url).unwrap();
            plan.validate().unwrap();
            assert_eq!(plan.target.path, HEALTH_CHECK);
            match plan.protocol {
                Protocol::Grpc { call, .. } => call.messages,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(of("grpc://127.0.0.1:50051/"), [b""]);
        assert_eq!(of("grpc://127.0.0.1:50051/a.B"), [b"\x0a\x03a.B"]);
    }

    #[test]
    fn a_plan_reads_back_as_it_was_written() {
        let plan = Plan::new("ws://[::1]:9/a").unwrap();
        let plan = plan.recorded();
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Recorded>(&text).unwrap(), plan);
    }
}
