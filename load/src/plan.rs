//! A plan: everything a run needs, validated. Two runs of one plan do the same work.
//!
//! A plan holds secrets, so it cannot be serialised: only its [`Recorded`] form can, in which they
//! are hidden. (Of the types here serde makes functions, by `remote`, and no implementations; they
//! are called in one place.)

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use measure::foreign::screened;
use proto::http1::request::RequestSpec;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::protocol::{Call, CallKind, Http2, Message, Protocol, Tls};
use crate::redaction::{self, Redaction, guessed_url, is_scheme};
use crate::request;
use crate::schedule::Schedule;

/// The most connections one plan may ask for.
pub const CONNECTIONS_MAX: u32 = 1_000_000;
/// The most unanswered requests on one connection.
pub const PIPELINE_MAX: u32 = 128;
/// The schemes of URLs that can be loaded.
const SCHEMES: [&str; 6] = ["http", "https", "grpc", "grpcs", "ws", "wss"];
/// The most worker threads.
pub const THREADS_MAX: u32 = 256;

/// All a run needs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Plan {
    /// Where the load goes.
    #[serde(with = "Target")]
    pub target: Target,
    /// What is sent.
    #[serde(with = "Request")]
    pub request: Request,
    /// What is spoken.
    #[serde(default, with = "Protocol")]
    pub protocol: Protocol,
    /// How the connections are secured; null: not at all.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// When it is sent.
    pub schedule: Schedule,
    /// Connections over all workers.
    pub connections: u32,
    /// Worker threads, each pinned and with a driver of its own.
    pub threads: u32,
    /// The most unanswered requests or messages on one connection of HTTP/1.1 or WebSocket.
    pub pipeline: u32,
    /// False: a new connection for each exchange.
    pub keep_alive: bool,
    /// Length of the measured phase in seconds; null where `count` or the stages end it.
    pub duration_s: Option<f64>,
    /// Stop after this many exchanges; null where time ends it.
    pub count: Option<u64>,
    /// Seconds of load before the measured phase.
    pub warm_up_s: f64,
    /// Seconds after which an unanswered exchange is given up, counted from its sending.
    pub timeout_s: f64,
    /// Local addresses that connections take in turn; empty: the kernel chooses.
    pub source_addresses: Vec<IpAddr>,
    /// CPUs that the workers are pinned to in turn; empty: the allowed ones in order.
    pub cpus: Vec<usize>,
    /// `SO_RCVBUF` in bytes; null: the kernel's own.
    pub receive_buffer_bytes: Option<usize>,
    /// `SO_SNDBUF` in bytes; null: the kernel's own.
    pub send_buffer_bytes: Option<usize>,
    /// `auto`, `uring` or `epoll`.
    pub engine: String,
    /// Seed of arrivals and back-off.
    pub seed: u64,
    /// What of it is shown where it is written or printed.
    #[serde(skip)]
    pub redaction: Redaction,
}

/// A plan as a record holds it: without its secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct Recorded(Plan);

/// What `Recorded` of this module has of its `Plan`: it reads as one, and stands in JSON as one. A
/// macro, because a plan can be written only through functions of its own that are no trait's.
macro_rules! recorded_like_its_plan {
    () => {
        impl std::ops::Deref for Recorded {
            type Target = Plan;

            fn deref(&self) -> &Plan {
                &self.0
            }
        }

        impl serde::Serialize for Recorded {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                Plan::serialize(&self.0, to)
            }
        }

        impl<'de> serde::Deserialize<'de> for Recorded {
            fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Recorded, D::Error> {
                Plan::deserialize(from).map(Recorded)
            }
        }

        impl schemars::JsonSchema for Recorded {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                Plan::schema_name()
            }

            fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
                Plan::json_schema(generator)
            }
        }
    };
}

pub(crate) use recorded_like_its_plan;

recorded_like_its_plan!();

/// Where the load goes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Target {
    /// `http`, `https`, `ws`, `wss`, `grpc` or `grpcs`.
    pub scheme: String,
    /// Name or address, as in the URL, without brackets.
    pub host: String,
    /// Port; where the URL has none 80, or 443 with TLS.
    pub port: u16,
    /// Path and query, as sent.
    pub path: String,
    /// Connect here and not over TCP.
    pub unix_socket: Option<PathBuf>,
    /// Connect to another host and port than the URL names.
    pub connect_to: Option<HostPort>,
}

/// A host with a port.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostPort {
    /// Name or address without brackets.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// What is sent, the same for each exchange. Of a WebSocket it is the upgrade request, of gRPC the
/// headers are the metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Fields besides the ones that ringside sets; these win.
    pub headers: Vec<(String, String)>,
    /// Body; base64 in JSON, or `redacted:HASH, N bytes`.
    #[serde(with = "body_base64")]
    #[schemars(with = "String")]
    pub body: Vec<u8>,
}

/// The plan cannot be run, and why. The sentence says what to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&screened(&self.0))
    }
}

impl std::error::Error for Invalid {}

impl Plan {
    /// A closed loop on one URL with wrk's defaults: 10 connections, 10 s, timeout 2 s, 1 thread.
    /// The scheme decides what is spoken, and whether over TLS. A gRPC call sends an empty message.
    pub fn new(url: &str) -> Result<Plan, Invalid> {
        let target = Target::parse(url)?;
        Ok(Plan {
            protocol: target.protocol(),
            tls: target.is_secure().then(Tls::default),
            target,
            request: Request {
                method: "GET".into(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            schedule: Schedule::Closed,
            connections: 10,
            threads: 1,
            pipeline: 1,
            keep_alive: true,
            duration_s: Some(10.0),
            count: None,
            warm_up_s: 0.0,
            timeout_s: 2.0,
            source_addresses: Vec::new(),
            cpus: Vec::new(),
            receive_buffer_bytes: None,
            send_buffer_bytes: None,
            engine: "auto".into(),
            seed: 1,
            redaction: Redaction::default(),
        })
    }

    /// What a record holds of it. Whoever adds a field decides here whether it is a secret.
    pub fn recorded(&self) -> Recorded {
        let Plan {
            target,
            request,
            protocol,
            tls,
            schedule,
            connections,
            threads,
            pipeline,
            keep_alive,
            duration_s,
            count,
            warm_up_s,
            timeout_s,
            source_addresses,
            cpus,
            receive_buffer_bytes,
            send_buffer_bytes,
            engine,
            seed,
            redaction,
        } = self;
        Recorded(Plan {
            target: target.shown(redaction),
            request: request.shown(redaction),
            protocol: protocol.shown(redaction),
            tls: tls.clone(),
            schedule: schedule.clone(),
            connections: *connections,
            threads: *threads,
            pipeline: *pipeline,
            keep_alive: *keep_alive,
            duration_s: *duration_s,
            count: *count,
            warm_up_s: *warm_up_s,
            timeout_s: *timeout_s,
            source_addresses: source_addresses.clone(),
            cpus: cpus.clone(),
            receive_buffer_bytes: *receive_buffer_bytes,
            send_buffer_bytes: *send_buffer_bytes,
            engine: engine.clone(),
            seed: *seed,
            redaction: redaction.clone(),
        })
    }

    /// The whole URL, as it may be shown.
    pub fn url(&self) -> String {
        self.target.url(&self.redaction)
    }

    /// Has the redaction know the secrets that this sends.
    pub fn tell_secrets(&self) {
        self.request.tell_secrets(&self.target, &self.redaction);
    }

    /// Checks that the parts fit together. Says what to change where they do not.
    pub fn validate(&self) -> Result<(), Invalid> {
        within("-c/--connections", self.connections, CONNECTIONS_MAX)?;
        within("-t/--threads", self.threads, THREADS_MAX)?;
        within("--pipeline", self.pipeline, PIPELINE_MAX)?;
        self.protocol.validate()?;
        match &self.tls {
            Some(tls) => tls.validate()?,
            None if self.target.is_secure() => {
                return Err(Invalid(format!(
                    "{}:// is spoken over TLS, of which the plan says nothing: give it a `tls`",
                    self.target.scheme
                )));
            }
            None => {}
        }
        if self.protocol.http2().is_some() && self.pipeline > 1 {
            return Err(Invalid(
                "HTTP/2 does not pipeline: give the concurrent streams of a connection with -S"
                    .into(),
            ));
        }
        if self.connections < self.threads {
            return Err(Invalid(format!(
                "{} connections cannot be shared out to {} threads: ask for at least {} \
                 connections (-c) or fewer threads (-t)",
                self.connections, self.threads, self.threads
            )));
        }
        if !self.keep_alive && self.depth() > 1 {
            let flag = self.protocol.http2().map_or("--pipeline", |_| "-S");
            return Err(Invalid(format!(
                "--no-keepalive opens a connection for each request, so {flag} must be 1"
            )));
        }
        if self.duration_s.is_none()
            && self.count.is_none()
            && !matches!(self.schedule, Schedule::Stages { .. })
        {
            return Err(Invalid(
                "the run has no end: give a duration (-d) or a count (-n)".into(),
            ));
        }
        positive("-d/--duration", self.duration_s.unwrap_or(1.0))?;
        positive("--timeout", self.timeout_s)?;
        if self.count == Some(0) {
            return Err(Invalid(
                "-n 0 asks for no request at all: give at least 1".into(),
            ));
        }
        if self.warm_up_s != 0.0 {
            positive("--warmup", self.warm_up_s)?;
            if matches!(self.schedule, Schedule::Stages { .. }) {
                return Err(Invalid(
                    "--warmup does not go with --stages: make the first stage the warm-up".into(),
                ));
            }
        }
        self.schedule.validate()?;
        match self.protocol {
            Protocol::Http1 => self.encode().map(drop),
            Protocol::WebSocket { .. } => request::upgrade(self).map(drop),
            Protocol::Http2 { .. } | Protocol::Grpc { .. } => request::http2(self).map(drop),
        }
    }

    /// The most unanswered exchanges on one connection.
    pub fn depth(&self) -> u32 {
        self.protocol
            .http2()
            .map_or(self.pipeline, |http2| http2.streams)
    }

    /// The bytes of one HTTP/1.1 request.
    pub fn encode(&self) -> Result<Vec<u8>, Invalid> {
        let fields: Vec<(&str, &str)> = self
            .request
            .headers
            .iter()
            .map(|(name, value)| (&**name, &**value))
            .collect();
        RequestSpec {
            method: &self.request.method,
            target: &self.target.path,
            host: &self.target.authority(),
            fields: &fields,
            body: &self.request.body,
            keep_alive: self.keep_alive,
        }
        .encode()
        .map_err(|misuse| Invalid(misuse.to_string()))
    }
}

impl Target {
    /// Reads `SCHEME://HOST[:PORT][/PATH][?QUERY]` (RFC 3986 §3). A missing scheme is `http`.
    pub fn parse(url: &str) -> Result<Target, Invalid> {
        let shown = guessed_url(url);
        let bad = |why: &str| {
            Invalid(format!(
                "{shown:?} is not a URL to load: {why}; write http://HOST[:PORT]/PATH"
            ))
        };
        let (scheme, rest) = match url.split_once("://") {
            Some((scheme, rest)) if is_scheme(scheme) => (scheme, rest),
            // What looks like one may stand in a query.
            _ => ("http", url),
        };
        let scheme = scheme.to_ascii_lowercase();
        if !SCHEMES.contains(&&*scheme) {
            return Err(Invalid(format!(
                "{shown}: {scheme}:// is no scheme that ringside knows; write one of {}://",
                SCHEMES.join("://, ")
            )));
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        let path = path.split('#').next().unwrap_or_default();
        if authority.contains('@') {
            return Err(bad(
                "credentials in URLs are not sent; use -H 'Authorization: …'",
            ));
        }
        let (host, port) = split_port(authority).map_err(bad)?;
        if host.is_empty() {
            return Err(bad("the host is missing"));
        }
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("the path has a character that must be percent-encoded"));
        }
        let path = if path.starts_with('/') {
            path.to_owned()
        } else {
            format!("/{path}")
        };
        Ok(Target {
            port: port.unwrap_or_else(|| default_port(&scheme)),
            scheme,
            host: host.to_owned(),
            path,
            unix_socket: None,
            connect_to: None,
        })
    }

    /// The `Host` field's value (RFC 9110 §7.2): the port only where it is not the scheme's own.
    pub fn authority(&self) -> String {
        let host = if self.host.contains(':') {
            format!("[{}]", self.host)
        } else {
            self.host.clone()
        };
        if self.port == default_port(&self.scheme) {
            host
        } else {
            format!("{host}:{}", self.port)
        }
    }

    /// Whether the scheme asks for TLS.
    pub fn is_secure(&self) -> bool {
        is_secure(&self.scheme)
    }

    /// What the scheme speaks, with nothing asked of it yet.
    fn protocol(&self) -> Protocol {
        match &*self.scheme {
            "grpc" | "grpcs" => Protocol::Grpc {
                http2: Http2::default(),
                call: Call {
                    kind: CallKind::Unary,
                    messages: vec![Vec::new()],
                    deadline_s: None,
                },
            },
            "ws" | "wss" => Protocol::WebSocket {
                message: Message {
                    payload: b"Hello, World!".to_vec(),
                    binary: false,
                    ping_every_s: None,
                },
            },
            _ => Protocol::Http1,
        }
    }

    /// The whole URL, as it may be shown.
    pub fn url(&self, redaction: &Redaction) -> String {
        let path = redaction.path(&self.path);
        format!("{}://{}{path}", self.scheme, self.authority())
    }

    /// It without its secrets.
    pub(crate) fn shown(&self, redaction: &Redaction) -> Target {
        Target {
            scheme: self.scheme.clone(),
            host: self.host.clone(),
            port: self.port,
            path: redaction.path(&self.path),
            unix_socket: self.unix_socket.clone(),
            connect_to: self.connect_to.clone(),
        }
    }
}

impl Request {
    /// It without its secrets.
    pub(crate) fn shown(&self, redaction: &Redaction) -> Request {
        let Request {
            method,
            headers,
            body,
        } = self;
        let shown = |(name, value): &(String, String)| (name.clone(), redaction.value(name, value));
        Request {
            method: method.clone(),
            headers: headers.iter().map(shown).collect(),
            body: redaction.body(body),
        }
    }

    /// Has `redaction` know the secrets that this sends to `target`.
    pub(crate) fn tell_secrets(&self, target: &Target, redaction: &Redaction) {
        let fields = self.headers.iter().map(|(name, value)| (&**name, &**value));
        redaction.learn(fields, &target.path);
    }
}

/// `HOST`, `HOST:PORT`, `[V6]` or `[V6]:PORT`, or what is wrong with it.
fn split_port(authority: &str) -> Result<(&str, Option<u16>), &'static str> {
    let (host, rest) = match authority.strip_prefix('[') {
        Some(rest) => rest.split_once(']').ok_or("the bracket is not closed")?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match rest.strip_prefix(':') {
        None if rest.is_empty() => return Ok((host, None)),
        None => return Err("what follows the bracket is no port"),
        Some(port) => port,
    };
    let is_number = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    match port.parse() {
        Ok(port) if is_number => Ok((host, Some(port))),
        _ if is_number => Err("the port is above 65535"),
        _ => Err("the port is not a number"),
    }
}

fn is_secure(scheme: &str) -> bool {
    matches!(scheme, "https" | "wss" | "grpcs")
}

fn default_port(scheme: &str) -> u16 {
    if is_secure(scheme) { 443 } else { 80 }
}

pub(crate) fn within(flag: &str, value: u32, max: u32) -> Result<(), Invalid> {
    if (1..=max).contains(&value) {
        return Ok(());
    }
    Err(Invalid(format!(
        "{flag} {value} is out of range: give 1 to {max}"
    )))
}

pub(crate) fn positive(flag: &str, seconds: f64) -> Result<(), Invalid> {
    if seconds > 0.0 && seconds <= 366.0 * 86_400.0 {
        return Ok(());
    }
    Err(Invalid(format!(
        "{flag} must be above zero and at most a year"
    )))
}

/// Bytes in JSON: in base64, or what stands in their place, which is no base64.
pub(crate) mod body_base64 {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{bytes_of, text_of};

    pub(crate) fn serialize<S: Serializer>(body: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text_of(body))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        bytes_of(String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// The same of a list.
pub(crate) mod base64_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{bytes_of, text_of};

    pub(crate) fn serialize<S: Serializer>(items: &[Vec<u8>], to: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = items.iter().map(|item| text_of(item)).collect();
        texts.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let decoded = texts.into_iter().map(bytes_of);
        decoded
            .collect::<Result<_, _>>()
            .map_err(serde::de::Error::custom)
    }
}

fn text_of(body: &[u8]) -> String {
    match redaction::is_hidden_body(body) {
        true => String::from_utf8_lossy(body).into_owned(),
        false => STANDARD.encode(body),
    }
}

fn bytes_of(text: String) -> Result<Vec<u8>, base64::DecodeError> {
    match redaction::is_hidden_body(text.as_bytes()) {
        true => Ok(text.into_bytes()),
        false => STANDARD.decode(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read_into_their_parts() {
        let table = [
            ("http://localhost", "localhost", 80, "/", "localhost"),
            (
                "http://localhost:8080/a?b=c#d",
                "localhost",
                8080,
                "/a?b=c",
                "localhost:8080",
            ),
            ("HTTP://[::1]:81?x", "::1", 81, "/?x", "[::1]:81"),
            ("127.0.0.1:9/x", "127.0.0.1", 9, "/x", "127.0.0.1:9"),
            ("x:9/?to=http://y/", "x", 9, "/?to=http://y/", "x:9"),
            ("https://x", "x", 443, "/", "x"),
            ("wss://x:80/chat", "x", 80, "/chat", "x:80"),
            ("grpc://x:443/p.S/M", "x", 443, "/p.S/M", "x:443"),
        ];
        for (url, host, port, path, authority) in table {
            let target = Target::parse(url).unwrap();
            assert_eq!(
                (&*target.host, target.port, &*target.path),
                (host, port, path),
                "{url}"
            );
            assert_eq!(target.authority(), authority, "{url}");
        }
    }

    #[test]
    fn urls_that_cannot_be_loaded_say_why() {
        let table = [
            ("gopher://x/", "no scheme that ringside knows"),
            ("http://", "host is missing"),
            ("http://x:port/", "port is not a number"),
            ("http://x:/", "port is not a number"),
            ("http://x:+80/", "port is not a number"),
            ("http://x:70000/", "port is above 65535"),
            ("http://[::1]:99999/", "port is above 65535"),
            ("http://[::1/", "bracket is not closed"),
            ("http://[::1]x/", "what follows the bracket"),
            ("http://me:secret@x/", "Authorization"),
            ("http://x/ä", "percent-encoded"),
        ];
        for (url, part) in table {
            let Invalid(text) = Target::parse(url).unwrap_err();
            assert!(text.contains(part), "{url}: {text}");
            // Which names are secrets is not known yet.
            let Invalid(text) = Target::parse(&format!("{url}?foo=canary&canary")).unwrap_err();
            assert!(text.contains(part) && !text.contains("canary"), "{text}");
        }
    }

    #[test]
    fn a_plan_survives_json() {
        let mut plan = Plan::new("http://localhost:81/x").unwrap();
        plan.request.body = vec![0, 159, 146, 150];
        plan.schedule = Schedule::Poisson { rate: 12.5 };
        for shown in [true, false] {
            plan.redaction = Redaction::default().showing_bodies(shown);
            let recorded = plan.recorded();
            assert_eq!(recorded.request.body == plan.request.body, shown);
            let text = serde_json::to_string(&recorded).unwrap();
            assert_eq!(serde_json::from_str::<Recorded>(&text).unwrap(), recorded);
        }
    }

    #[test]
    fn a_recorded_plan_holds_no_secret_of_any_protocol() {
        for scheme in ["http", "ws", "grpc"] {
            let mut plan = Plan::new(&format!("{scheme}://x/p.S/M?token=canary-q")).unwrap();
            let header = |name: &str| (name.to_owned(), "Bearer canary-h".to_owned());
            plan.request.headers = ["authorization", "Cookie", "X-Mine"].map(header).into();
            plan.request.body = b"canary-b".to_vec();
            match &mut plan.protocol {
                Protocol::Grpc { call, .. } => call.messages = vec![b"canary-m".to_vec()],
                Protocol::WebSocket { message } => message.payload = b"canary-m".to_vec(),
                _ => {}
            }
            plan.redaction = Redaction::default().naming(["x-mine"]);
            let text = serde_json::to_string(&plan.recorded()).unwrap();
            assert!(!text.contains("canary"), "{text}");
            for bytes in ["canary-b", "canary-m"] {
                assert!(!text.contains(&STANDARD.encode(bytes)), "{text}");
            }
            assert!(!plan.url().contains("canary"), "{}", plan.url());
        }
    }

    #[test]
    fn contradictions_are_refused_with_a_way_out() {
        let base = Plan::new("http://localhost/").unwrap();
        type Spoil = fn(&mut Plan);
        let table: [(&str, Spoil); 7] = [
            ("at least 4 connections", |plan| {
                (plan.connections, plan.threads) = (2, 4)
            }),
            ("--pipeline must be 1", |plan| {
                (plan.keep_alive, plan.pipeline) = (false, 2)
            }),
            ("has no end", |plan| plan.duration_s = None),
            ("out of range", |plan| plan.connections = 0),
            ("at least 1", |plan| plan.count = Some(0)),
            ("--timeout", |plan| plan.timeout_s = 0.0),
            ("rate", |plan| {
                plan.schedule = Schedule::Constant { rate: f64::NAN }
            }),
        ];
        for (part, spoil) in table {
            let mut plan = base.clone();
            spoil(&mut plan);
            let Invalid(text) = plan.validate().unwrap_err();
            assert!(text.contains(part), "{text}");
        }
        base.validate().unwrap();
    }
}
