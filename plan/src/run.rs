//! A plan: everything a run needs, validated. Two runs of one plan do the same work.
//!
//! A plan holds secrets, so it cannot be serialised: only its [`Recorded`] form can, in which they
//! are hidden. (Of the types here serde makes functions, by `remote`, and no implementations; they
//! are called in one place.)

mod answers;
mod own;
mod users;

use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::contact::Contact;
use crate::expect::Expect;
use crate::family::Family;
use crate::invalid::{Invalid, positive, spread, within};
use crate::part::{self, Part};
use crate::protocol::{Compress, Protocol, Tls};
use crate::proxy::{self, Proxy};
use crate::redaction::Redaction;
use crate::request::Request;
use crate::schedule::Schedule;
use crate::script::Script;
use crate::target::Target;
use crate::workload::{self, Flow, Workload};

/// The most connections one plan may ask for.
pub const CONNECTIONS_MAX: u32 = 10_000_000;
/// The most unanswered requests on one connection.
pub const PIPELINE_MAX: u32 = 128;
/// The most redirects that one exchange may follow.
pub const FOLLOW_MAX: u32 = 50;
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
    /// What is sent where requests differ; then `target` says which server is the first, and
    /// `request` nothing.
    /// Null: every request is `request`.
    #[serde(default, with = "workload::shown::option")]
    #[schemars(with = "Option<Workload>")]
    pub workload: Option<Workload>,
    /// What says what is sent in the place of `request`, as wrk runs it; null: nothing does.
    #[serde(default)]
    pub script: Option<Script>,
    /// What answers to all requests must be; empty: of any status from 200 to 399. A step may
    /// expect more.
    #[serde(default)]
    pub expect: Vec<Expect>,
    /// The most redirects that one exchange follows; 0: none, and they count as answers.
    #[serde(default)]
    pub follow: u32,
    /// Each connection sends the cookies back that it was given.
    #[serde(default)]
    pub cookies: bool,
    /// Compressed bodies are decompressed where rules look into them. (Their headers ask for them.)
    /// Of gRPC calls: their heads ask for compressed messages.
    #[serde(default)]
    pub compressed: bool,
    /// How the messages of gRPC calls are compressed, which are then accepted compressed as well;
    /// null: not at all.
    #[serde(default)]
    pub compress: Option<Compress>,
    /// Events are looked for in answers (server-sent events, lines of JSON), and timed.
    #[serde(default)]
    pub events: bool,
    /// What is spoken.
    #[serde(default, with = "Protocol")]
    pub protocol: Protocol,
    /// How the connections are secured; null: not at all.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// When it is sent.
    pub schedule: Schedule,
    /// Connections over all workers, to each origin that a workload goes to.
    pub connections: u32,
    /// Worker threads, each pinned and with a driver of its own.
    pub threads: u32,
    /// The most unanswered requests or messages on one connection of HTTP/1.1 or WebSocket.
    pub pipeline: u32,
    /// False: a new connection for each exchange.
    pub keep_alive: bool,
    /// Length of the measured phase in seconds; null if `count` or the stages end it.
    pub duration_s: Option<f64>,
    /// Stop after this many exchanges; null where time ends it.
    pub count: Option<u64>,
    /// Seconds of load before the measured phase.
    pub warm_up_s: f64,
    /// Seconds after which an unanswered exchange times out, counted from when it was sent; where
    /// `events` are looked for, from the last event of its answer.
    pub timeout_s: f64,
    /// Seconds from when it was due within which a completed exchange counts towards the goodput;
    /// null: no goodput is counted.
    #[serde(default)]
    pub goodput_within_s: Option<f64>,
    /// The version of IP that names are resolved to; null: any.
    #[serde(default)]
    pub family: Option<Family>,
    /// Local addresses that connections take in turn; empty: the kernel chooses.
    pub source_addresses: Vec<IpAddr>,
    /// The network device that carries the connections (`SO_BINDTODEVICE`); null: the kernel's
    /// routes choose.
    #[serde(default)]
    pub interface: Option<String>,
    /// The proxy that the connections go through; null: none.
    #[serde(default, with = "proxy::option")]
    #[schemars(with = "Option<Proxy>")]
    pub proxy: Option<Proxy>,
    /// CPUs that the workers are pinned to in turn; empty: the allowed ones, from the last
    /// downwards.
    pub cpus: Vec<usize>,
    /// `SO_RCVBUF` in bytes; null: the kernel's own.
    pub receive_buffer_bytes: Option<usize>,
    /// `SO_SNDBUF` in bytes; null: the kernel's own.
    pub send_buffer_bytes: Option<usize>,
    /// `auto`, `uring` or `epoll`.
    pub engine: String,
    /// Seed of arrivals and back-off.
    pub seed: u64,
    /// What is hidden when it is written or printed.
    #[serde(skip)]
    pub redaction: Redaction,
    /// What of it this process carries out; none: all.
    #[serde(skip)]
    pub part: Option<Part>,
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

impl Plan {
    /// A closed loop on one URL with wrk's defaults: 10 connections, 10 s, timeout 2 s, 1 thread.
    /// The scheme decides what is spoken, and whether over TLS. A gRPC call sends an empty message.
    pub fn new(url: &str) -> Result<Plan, Invalid> {
        let target = Target::parse(url)?;
        Ok(Plan {
            protocol: Protocol::of_scheme(&target.scheme),
            tls: target.is_secure().then(Tls::default),
            target,
            request: Request {
                method: "GET".into(),
                headers: Vec::new(),
                body: Vec::new(),
            },
            workload: None,
            script: None,
            expect: Vec::new(),
            follow: 0,
            cookies: false,
            compressed: false,
            compress: None,
            events: false,
            schedule: Schedule::Closed,
            connections: 10,
            threads: 1,
            pipeline: 1,
            keep_alive: true,
            duration_s: Some(10.0),
            count: None,
            warm_up_s: 0.0,
            timeout_s: 2.0,
            goodput_within_s: None,
            family: None,
            source_addresses: Vec::new(),
            interface: None,
            proxy: None,
            cpus: Vec::new(),
            receive_buffer_bytes: None,
            send_buffer_bytes: None,
            engine: "auto".into(),
            seed: 1,
            redaction: Redaction::default(),
            part: None,
        })
    }

    /// What a record holds of it.
    pub fn recorded(&self) -> Recorded {
        let mut plan = self.clone();
        plan.hide();
        Recorded(plan)
    }

    /// Takes its secrets out. Whoever adds a field decides here whether it is one.
    fn hide(&mut self) {
        let Plan {
            target,
            request,
            workload,
            script,
            expect,
            protocol,
            proxy,
            redaction,
            part,
            follow: _,
            cookies: _,
            compressed: _,
            compress: _,
            events: _,
            tls: _,
            schedule: _,
            connections: _,
            threads: _,
            pipeline: _,
            keep_alive: _,
            duration_s: _,
            count: _,
            warm_up_s: _,
            timeout_s: _,
            goodput_within_s: _,
            family: _,
            source_addresses: _,
            interface: _,
            cpus: _,
            receive_buffer_bytes: _,
            send_buffer_bytes: _,
            engine: _,
            seed: _,
        } = self;
        let redaction = &*redaction;
        *target = target.shown(redaction);
        *request = request.shown(redaction);
        *workload = workload.as_ref().map(|workload| workload.shown(redaction));
        *script = script.as_ref().map(|script| script.shown(redaction));
        *expect = expect.iter().map(|rule| rule.shown(redaction)).collect();
        *protocol = protocol.shown(redaction);
        *proxy = proxy.as_ref().map(|proxy| proxy.shown(redaction));
        *part = None;
    }

    /// The whole URL, as it may be shown.
    pub fn url(&self) -> String {
        self.target.url(&self.redaction)
    }

    /// Has the redaction know the secrets that this sends.
    pub fn tell_secrets(&self) {
        self.request.tell_secrets(&self.target, &self.redaction);
        if let Some(proxy) = &self.proxy {
            proxy.tell_secrets(&self.redaction);
        }
        for rule in &self.expect {
            rule.tell_secrets(&self.redaction);
        }
        if let Some(script) = &self.script {
            script.tell_secrets(&self.redaction);
        }
        if let Some(workload) = &self.workload {
            workload.tell_secrets(&self.redaction);
        }
    }

    /// Checks that the parts fit together, and says what to change if they don't.
    pub fn validate(&self) -> Result<(), Invalid> {
        within("-c/--connections", self.connections, CONNECTIONS_MAX)?;
        within("-t/--threads", self.workers().len() as u32, THREADS_MAX)?;
        part::validate(&self.workers(), self.threads)?;
        within("--pipeline", self.pipeline, PIPELINE_MAX)?;
        self.contact().validate()?;
        self.validate_workload()?;
        self.validate_script()?;
        self.validate_expect()?;
        self.validate_follow()?;
        self.validate_cookies()?;
        if self.events {
            self.validate_events()?;
        }
        self.validate_compressed()?;
        if self.protocol.http2().is_some() && self.pipeline > 1 {
            return Err(Invalid(
                "HTTP/2 doesn't pipeline: set the concurrent streams per connection with -S".into(),
            ));
        }
        spread(self.connections, self.threads)?;
        if !self.keep_alive && self.depth() > 1 {
            let flag = self.protocol.http2().map_or("--pipeline", |_| "-S");
            return Err(Invalid(format!(
                "--no-keepalive opens a connection for each request, so {flag} must be 1"
            )));
        }
        let ends = self.count.is_some() || self.is_dealt_once();
        if self.duration_s.is_none() && !ends && self.schedule.length_s().is_none() {
            return Err(Invalid(
                "the run would never end: give a duration (-d) or a count (-n)".into(),
            ));
        }
        positive("-d/--duration", self.duration_s.unwrap_or(1.0))?;
        positive("--timeout", self.timeout_s)?;
        positive("goodput_within", self.goodput_within_s.unwrap_or(1.0))?;
        if self.count == Some(0) {
            return Err(Invalid(
                "-n 0 would send no requests: use at least 1".into(),
            ));
        }
        if self.warm_up_s != 0.0 {
            positive("--warmup", self.warm_up_s)?;
            if matches!(self.schedule, Schedule::Stages { .. }) {
                return Err(Invalid(
                    "--warmup can't be combined with --stages: make the first stage the warm-up"
                        .into(),
                ));
            }
            if matches!(self.schedule, Schedule::Trace { passes: 1, .. }) {
                return Err(Invalid(
                    "--warmup can't be combined with --replay, which is sent once: warm the server \
                     up with a run of its own, or send it over again (--replay-passes)"
                        .into(),
                ));
            }
        }
        if let (Schedule::Trace { .. }, Some(length_s)) = (&self.schedule, self.schedule.length_s())
            && self.warm_up_s >= length_s
        {
            return Err(Invalid(format!(
                "--warmup {} is no shorter than what is replayed, {}: nothing would be measured; \
                 shorten it, or send the file over again (--replay-passes)",
                measure::units::wrk_time_us(1e6 * self.warm_up_s),
                measure::units::wrk_time_us(1e6 * length_s)
            )));
        }
        self.schedule.validate()
    }

    /// Whether it ends when the rows of a data file are used up.
    pub fn is_dealt_once(&self) -> bool {
        let workload = self.workload.as_ref();
        let data = workload.and_then(|workload| workload.data.as_ref());
        data.is_some_and(|data| data.order == workload::Order::Once)
    }

    /// Whether the steps of its workload follow each other on a connection.
    pub fn has_flow(&self) -> bool {
        let workload = self.workload.as_ref();
        workload.is_some_and(|workload| workload.flow.is_some())
    }

    /// Whether its connections are users who go through a flow.
    pub fn has_users(&self) -> bool {
        let workload = self.workload.as_ref();
        workload.is_some_and(|workload| workload.users.is_some())
    }

    /// Whether connections rest between the steps of a flow, or may.
    pub fn rests(&self) -> bool {
        let flow = self
            .workload
            .as_ref()
            .and_then(|workload| workload.flow.as_ref());
        self.has_users() || flow.is_some_and(Flow::rests)
    }

    fn validate_workload(&self) -> Result<(), Invalid> {
        let is_mixed = self.protocol.is_mixed();
        match (&self.workload, &self.protocol) {
            (None, _) if is_mixed => Err(Invalid(
                "the plan calls the steps of a workload and has none: add `workload`".into(),
            )),
            (None, _) => Ok(()),
            (Some(workload), _) if workload.flow.is_some() => {
                workload.validate()?;
                self.validate_origins()?;
                self.validate_flow(workload)
            }
            (Some(workload), _) if workload.users.is_some() => {
                workload.validate()?;
                self.validate_users(workload)
            }
            (Some(_), Protocol::WebSocket { .. }) => Err(Invalid(
                "a WebSocket's messages follow each other: write them below `WEBSOCKET URL` in a \
                 .http file (--targets)"
                    .into(),
            )),
            (Some(_), Protocol::Grpc { .. }) if !is_mixed => Err(Invalid(
                "a plan whose workload says what is called has `mixed` as the kind of its calls, \
                 and no messages of its own"
                    .into(),
            )),
            (Some(workload), _) => {
                workload.validate()?;
                self.validate_origins()
            }
        }
    }

    fn validate_origins(&self) -> Result<(), Invalid> {
        let origins = self.origins();
        let all = u64::from(self.connections) * origins as u64;
        if origins > 1 && all > u64::from(CONNECTIONS_MAX) {
            return Err(Invalid(format!(
                "-c {} to each of {origins} servers makes {all} connections: at most \
                 {CONNECTIONS_MAX} are possible",
                self.connections
            )));
        }
        Ok(())
    }

    /// Whether it can have each connection go through the steps by itself.
    fn validate_flow(&self, workload: &Workload) -> Result<(), Invalid> {
        let file = workload.shown_file();
        let file = file.map_or_else(String::new, |file| format!("{file}: "));
        let refuse = |what: &str| Err(Invalid(format!("{file}{what}")));
        let Protocol::WebSocket { message } = &self.protocol else {
            return refuse("messages that follow each other need a ws:// or wss:// URL");
        };
        if self.schedule.is_open() {
            return refuse(
                "the waits between messages say when a connection sends the next one, and so would \
                 a rate: drop -R or --stages, and set the load by the number of connections (-c)",
            );
        }
        if self.pipeline > 1 {
            return refuse(
                "a message waits for the answer to the one before it, so --pipeline must be 1: use \
                 more connections (-c)",
            );
        }
        if !self.keep_alive {
            return refuse(
                "each connection goes through all messages, and --no-keepalive opens one for each \
                 exchange: drop it",
            );
        }
        if workload.pick != workload::Pick::InTurn {
            return refuse("messages are sent in their order: drop --pick and the weights");
        }
        if workload.origins().0.len() > 1 {
            return refuse("messages that follow each other go to one server");
        }
        match &workload.flow {
            Some(flow) => flow.validate(&workload.steps, message.binary),
            None => Ok(()),
        }
    }

    fn validate_script(&self) -> Result<(), Invalid> {
        let Some(script) = &self.script else {
            return Ok(());
        };
        script.validate(&self.protocol, self.workload.is_some())?;
        if self.follow > 0 || self.cookies {
            return Err(Invalid(
                "-s says what is sent, so --follow and --cookies don't go with it: have the \
                 script's response() keep what request() needs"
                    .into(),
            ));
        }
        match self.proxy {
            None => Ok(()),
            Some(_) => Err(Invalid(
                "-s and --proxy can't be combined: a script writes its requests for the server \
                 itself, and chooses the addresses to connect to; drop one of them"
                    .into(),
            )),
        }
    }

    /// Whether templates make secrets, which nobody knows before they are sent.
    pub fn makes_secrets(&self) -> bool {
        let workload = self.workload.as_ref();
        workload.is_some_and(|workload| workload.makes_secrets(&self.redaction))
    }

    /// How many origins its requests go to.
    pub fn origins(&self) -> usize {
        let workload = self.workload.as_ref();
        workload.map_or(1, |workload| workload.origins().0.len().max(1))
    }

    /// Whom it contacts, one for each origin that its requests go to.
    pub fn contacts(&self) -> Vec<Contact> {
        let origins = self.workload.as_ref().map(|workload| workload.origins().0);
        let origins = origins.unwrap_or_default();
        if origins.is_empty() {
            return vec![self.contact()];
        }
        let each = origins.into_iter().map(|step| Contact {
            target: Target {
                scheme: step.target.scheme.clone(),
                host: step.target.host.clone(),
                port: step.target.port,
                ..self.target.clone()
            },
            ..self.contact()
        });
        each.collect()
    }

    /// Whom it contacts, and what it says first.
    pub fn contact(&self) -> Contact {
        Contact {
            target: self.target.clone(),
            request: self.request.clone(),
            protocol: self.protocol.clone(),
            compression: self.compression(),
            tls: self.tls.clone(),
            depth: self.depth(),
            keep_alive: self.keep_alive,
            timeout_s: self.timeout_s,
            timeout_flag: "--timeout",
            family: self.family,
            source_addresses: self.source_addresses.clone(),
            interface: self.interface.clone(),
            proxy: self.proxy.clone(),
            engine: self.engine.clone(),
            seed: self.seed,
            redaction: self.redaction.clone(),
            permits: self
                .part
                .as_ref()
                .map(|part| part.permits.clone())
                .unwrap_or_default(),
        }
    }

    /// The most unanswered exchanges on one connection.
    pub fn depth(&self) -> u32 {
        self.protocol
            .http2()
            .map_or(self.pipeline, |http2| http2.streams)
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;

    use super::*;

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
        let table: [(&str, Spoil); 21] = [
            ("so --follow and --cookies don't go with it", |plan| {
                let (file, args) = ("a.lua".into(), Vec::new());
                plan.script = Some(Script { file, args });
                plan.cookies = true;
            }),
            ("--follow and --proxy can't be combined", |plan| {
                plan.follow = 1;
                plan.proxy = Proxy::parse("x:1", &plan.redaction).ok();
            }),
            ("-s and --proxy", |plan| {
                let (file, args) = ("a.lua".into(), Vec::new());
                plan.script = Some(Script { file, args });
                plan.proxy = Proxy::parse("x:1", &plan.redaction).ok();
            }),
            ("--compressed asks for compressed answers", |plan| {
                *plan = Plan::new("ws://localhost/").unwrap();
                plan.compressed = true;
            }),
            ("--compress is about the messages of gRPC", |plan| {
                plan.compress = Some(Compress::Gzip)
            }),
            ("--cookies keeps the cookies of each connection", |plan| {
                (plan.cookies, plan.keep_alive) = (true, false)
            }),
            ("--pipeline must be 1", |plan| {
                (plan.cookies, plan.pipeline) = (true, 2)
            }),
            ("WebSocket aren't given any: drop it", |plan| {
                *plan = Plan::new("ws://localhost/").unwrap();
                plan.cookies = true;
            }),
            ("--follow 51 is out of range", |plan| plan.follow = 51),
            ("--no-keepalive asks the server to close", |plan| {
                (plan.follow, plan.keep_alive) = (1, false)
            }),
            ("--pipeline must be 1", |plan| {
                (plan.follow, plan.pipeline) = (1, 2)
            }),
            ("gRPC calls aren't redirected: drop it", |plan| {
                *plan = Plan::new("grpc://localhost/p.S/M").unwrap();
                plan.follow = 1;
            }),
            ("at least 4 connections", |plan| {
                (plan.connections, plan.threads) = (2, 4)
            }),
            ("--pipeline must be 1", |plan| {
                (plan.keep_alive, plan.pipeline) = (false, 2)
            }),
            ("never end", |plan| plan.duration_s = None),
            ("out of range", |plan| plan.connections = 0),
            ("at least 1", |plan| plan.count = Some(0)),
            ("--timeout", |plan| plan.timeout_s = 0.0),
            ("goodput_within", |plan| plan.goodput_within_s = Some(-1.0)),
            ("goodput_within", |plan| plan.goodput_within_s = Some(1e300)),
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

    #[test]
    fn calls_are_those_of_a_workload_or_of_the_plan_itself() {
        let mut plan = Plan::new("grpc://localhost/p.S/M").unwrap();
        plan.workload = Some(Workload::new(Vec::new()));
        let Invalid(text) = plan.validate().unwrap_err();
        assert!(
            text.contains("has `mixed` as the kind of its calls"),
            "{text}"
        );
        if let Protocol::Grpc { call, .. } = &mut plan.protocol {
            *call = crate::protocol::Call::of_workload(None);
        }
        let Invalid(text) = plan.validate().unwrap_err();
        assert!(text.contains("hold no request"), "{text}");
        plan.workload = None;
        let Invalid(text) = plan.validate().unwrap_err();
        assert!(text.contains("steps of a workload and has none"), "{text}");
    }
}
