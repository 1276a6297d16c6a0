//! What is asked of a subject, how often, and for how long: from the words of a file to the plan of
//! a run. Asks nothing itself.

mod beside;
mod values;

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::Duration;

use load::grpc::{Method, Source};
use load::plan::workload::{Order, Pick};
use load::plan::{Expect, HostPort, Proxy, Script, authenticate, digest, sources};
use load::protocol::{Compress, Http2, Protocol as Spoken};
use load::{Plan, Redaction};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};
use toml::Spanned;
use workload::replayed;

pub use crate::at::At;
use crate::document;
use crate::flow;
use crate::mix::{Mix, Wanted};
pub use crate::spoken::Protocol;
pub(crate) use crate::url_path::PAYLOAD;
pub use crate::url_path::UrlPath;
use crate::ways::{Beside, Ways};

pub use values::parse_payload;
use values::{
    as_key, deadline, expect, one, one_second, order, payload, root, settle, ten, timeout, warm_up,
    window, yes,
};

/// The largest payload: a message is kept whole, several times.
pub(crate) const PAYLOAD_MAX: u64 = 16 << 20;

/// The shortest window.
pub const WINDOW_MIN: Duration = Duration::from_millis(10);
/// What is said of a shorter one.
pub const WINDOW_TOO_SHORT: &str =
    "a window below 10 ms measures only the clock; write it like \"1s\"";

/// One question to a subject, the same for every exchange of a run; or those of a mix.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// The path, with its query.
    pub path: String,
    /// What is spoken.
    pub protocol: Protocol,
    /// The method of an HTTP request; POST where there is a message, else GET.
    pub method: Option<String>,
    /// Fields of the request besides those that ringside sets; of gRPC they are metadata.
    pub headers: BTreeMap<String, String>,
    /// What is sent: a request's body, a WebSocket message, or gRPC messages as JSON.
    pub message: Option<String>,
    /// How often a message is sent in each call of a method that takes a stream.
    pub repeat: NonZeroU32,
    /// The `.proto` file that describes a gRPC message.
    pub proto: Option<PathBuf>,
    /// Requests that differ, in the place of the one that the rest says; none: all are that.
    pub mix: Option<Mix>,
    /// What says what is sent over HTTP/1.1, as wrk runs it; none: nothing does.
    pub script: Option<Script>,
    /// What answers must be, besides what single requests of a mix expect.
    pub expect: Vec<Expect>,
    /// What else is so of each exchange.
    pub ways: Ways,
    /// Hashes of what is in the files that were named for it; empty: none were.
    pub named: Vec<u8>,
    /// What is hidden when it is written or printed.
    pub redaction: Redaction,
}

impl Question {
    /// The question in words, for a report.
    pub fn words(&self) -> String {
        let expected: String = self.expect.iter().fold(self.ways.words(), |said, rule| {
            format!("{said}, expecting {}", rule.shown(&self.redaction))
        });
        if let Some(mix) = &self.mix {
            return mix.words(self.protocol, &self.redaction) + &expected;
        }
        if let Some(script) = &self.script {
            let Script { file, args } = script.shown(&self.redaction);
            let name = file.file_name().unwrap_or_default();
            let words = [name.to_string_lossy().into_owned()]
                .into_iter()
                .chain(args);
            let words: Vec<String> = words.collect();
            return format!("what {} sends{expected}", words.join(" "));
        }
        let method = match self.protocol {
            Protocol::Http1 | Protocol::Http2 => format!("{} ", self.http_method()),
            Protocol::Grpc | Protocol::WebSocket => String::new(),
        };
        let sent = match &self.message {
            Some(message) if self.repeat > NonZeroU32::MIN => {
                format!(", {} × {} bytes", self.repeat, message.len())
            }
            Some(message) => format!(" with {} bytes", message.len()),
            None => String::new(),
        };
        // The names only: a value may be long, or a secret.
        let names: Vec<&str> = self.headers.keys().map(String::as_str).collect();
        let fields = match names.as_slice() {
            [] => String::new(),
            names => format!(", {} given", names.join(" and ")),
        };
        format!(
            "{method}{} over {}{sent}{fields}{expected}",
            self.redaction.path(&self.path),
            self.protocol.name()
        )
    }

    /// Whether it is the messages of a WebSocket, which follow each other on each connection.
    pub fn has_flow(&self) -> bool {
        let mix = self.mix.as_ref();
        mix.is_some_and(|mix| mix.workload.flow.is_some())
    }

    /// Whether each connection is a user, who goes through a flow.
    pub fn has_users(&self) -> bool {
        let mix = self.mix.as_ref();
        mix.is_some_and(|mix| mix.workload.users.is_some())
    }

    /// Whether it's requests that were made once, sent again.
    pub fn is_replay(&self) -> bool {
        self.rate().is_some()
    }

    /// Requests a second that it has by itself: those of a replay, at its speed.
    pub fn rate(&self) -> Option<f64> {
        let schedule = self.mix.as_ref()?.schedule.as_ref();
        schedule.and_then(|schedule| schedule.mean_rate(0.0))
    }

    /// Whether its requests may differ.
    pub fn is_mixed(&self) -> bool {
        self.mix.is_some() || self.script.is_some()
    }

    /// Has the redaction know the secrets that this sends.
    pub fn tell_secrets(&self) {
        let fields = self.headers.iter().map(|(name, value)| (&**name, &**value));
        self.redaction.learn(fields, &self.path);
        if let Some(mix) = &self.mix {
            mix.tell_secrets(&self.redaction);
        }
        for rule in &self.expect {
            rule.tell_secrets(&self.redaction);
        }
        self.ways.tell_secrets(&self.redaction);
        if let Some(script) = &self.script {
            script.tell_secrets(&self.redaction);
        }
    }

    /// A method of gRPC with what describes its messages; none for other protocols, and for calls
    /// with an empty message.
    pub(crate) fn grpc_method(&self, plan: &Plan) -> Result<Option<Method>, String> {
        let proto = self.proto.as_ref().filter(|_| self.mix.is_none());
        let (Protocol::Grpc, Some(proto)) = (self.protocol, proto) else {
            return Ok(None);
        };
        let source = Source::Proto {
            files: vec![proto.clone()],
            import_paths: Vec::new(),
        };
        let method = Method::find(plan, &source).map_err(|error| error.to_string())?;
        Ok(Some(method))
    }

    /// A plan that asks this of a subject.
    pub fn plan(&self, at: At<'_>) -> Result<Plan, String> {
        let scheme = match (self.protocol, at.tls) {
            (Protocol::Http1 | Protocol::Http2, false) => "http",
            (Protocol::Http1 | Protocol::Http2, true) => "https",
            (Protocol::Grpc, false) => "grpc",
            (Protocol::Grpc, true) => "grpcs",
            (Protocol::WebSocket, false) => "ws",
            (Protocol::WebSocket, true) => "wss",
        };
        let url = format!("{scheme}://{}{}", at.authority(), self.first_path());
        let mut plan = Plan::new(&url).map_err(|invalid| invalid.to_string())?;
        plan.redaction = self.redaction.clone();
        plan.target.connect_to = at.address.map(|address| HostPort {
            host: address.to_string(),
            port: at.port,
        });
        if let Some(tls) = &mut plan.tls {
            match at.trust {
                Some(trust) => tls.clone_from(trust),
                None => tls.insecure = true,
            }
        }
        let fields = self.headers.clone().into_iter();
        plan.request.headers.extend(fields);
        let method = self.grpc_method(&plan)?;
        match &mut plan.protocol {
            Spoken::Http1 => {
                plan.request.method = self.http_method().to_owned();
                plan.request.body = self.message.clone().unwrap_or_default().into_bytes();
                if self.message.is_some() && !self.names("Content-Type") {
                    let field = ("Content-Type".to_owned(), "application/json".to_owned());
                    plan.request.headers.push(field);
                }
            }
            Spoken::Grpc { call, .. } => match method {
                Some(method) => {
                    let json = self.message.as_deref();
                    *call = method.call(json).map_err(|invalid| invalid.to_string())?;
                    let messages = std::mem::take(&mut call.messages);
                    let each = 0..self.repeat.get();
                    call.messages = each.flat_map(|_| messages.clone()).collect();
                }
                None => call.messages = vec![Vec::new()],
            },
            Spoken::WebSocket { message } => {
                if let Some(text) = &self.message {
                    message.payload = text.clone().into_bytes();
                }
            }
            Spoken::Http2 { .. } => {}
        }
        if self.protocol == Protocol::Http2 {
            plan.protocol = Spoken::Http2 {
                http2: Http2::default(),
            };
        }
        plan.expect.clone_from(&self.expect);
        plan.script.clone_from(&self.script);
        self.ways.plan(&mut plan);
        if let Some(mix) = &self.mix {
            mix.plan(&mut plan, self.ways.binary);
        }
        Ok(plan)
    }

    /// The path that a plan has from the beginning. Requests that differ have their own; those of
    /// calls name methods, and so does the first.
    fn first_path(&self) -> &str {
        let first = self.mix.as_ref().map(|mix| mix.workload.steps.first());
        match first {
            Some(Some(first)) if self.protocol == Protocol::Grpc || self.has_flow() => {
                &first.target.path
            }
            Some(_) => "/",
            None => &self.path,
        }
    }

    /// Whether it gives the field `name`, whose case does not matter (RFC 9110 §5.1).
    fn names(&self, name: &str) -> bool {
        self.headers
            .keys()
            .any(|given| given.eq_ignore_ascii_case(name))
    }

    fn http_method(&self) -> &str {
        match (&self.method, &self.message) {
            (Some(method), _) => method,
            (None, Some(_)) => "POST",
            (None, None) => "GET",
        }
    }
}

/// Reads a message: the text itself, or what a file beside `folder` holds (`@FILE`).
pub(crate) fn message(text: Option<&str>, folder: &Path) -> Result<Option<String>, String> {
    let Some(text) = text else { return Ok(None) };
    let Some(file) = text.strip_prefix('@') else {
        return Ok(Some(text.to_owned()));
    };
    let path = folder.join(file);
    let read = fs::read_to_string(&path).map_err(|error| {
        let path = path.display();
        format!("the message {path} can't be read: {error}")
    })?;
    Ok(Some(read))
}

/// What is asked of each subject.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// The path of every request.
    #[serde(default = "root")]
    pub path: Spanned<UrlPath>,
    /// What is spoken.
    #[serde(default)]
    pub protocol: Protocol,
    /// The method of HTTP requests.
    #[serde(default)]
    pub method: Option<String>,
    /// Fields of every request besides those that ringside sets.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// What is sent; `@FILE` reads it from a file beside the comparison.
    #[serde(default)]
    pub message: Option<Spanned<String>>,
    /// How often the message is sent in each call of a gRPC method that takes a stream.
    #[serde(default = "one")]
    pub repeat: NonZeroU32,
    /// The `.proto` file of a gRPC method, beside the comparison.
    #[serde(default)]
    pub proto: Option<PathBuf>,
    /// A file of requests that differ, beside the comparison.
    #[serde(default)]
    pub targets: Option<PathBuf>,
    /// What users of a flow (`targets = "FILE.hurl"`) begin with.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Where requests were written down once, which are sent again, beside the comparison.
    #[serde(default)]
    pub replay: Option<PathBuf>,
    /// How many times as fast they are sent.
    #[serde(default)]
    pub speed: Option<f64>,
    /// By which methods those are that are sent; empty: GET and HEAD.
    #[serde(default)]
    pub replay_methods: Vec<String>,
    /// Whether fields of them are sent that let somebody in.
    #[serde(default)]
    pub replay_secrets: bool,
    /// Which of them is next; without it by weight where there are weights, else in turn.
    #[serde(default)]
    pub pick: Option<Pick>,
    /// Whether the path, the headers and the message have `{{variables}}`.
    #[serde(default)]
    pub template: bool,
    /// A file whose columns are such variables, beside the comparison.
    #[serde(default)]
    pub data: Option<PathBuf>,
    /// Which row of it is next.
    #[serde(default, deserialize_with = "order")]
    pub data_order: Option<Order>,
    /// A Lua script written for wrk, beside the comparison, which says what is sent.
    #[serde(default)]
    pub script: Option<PathBuf>,
    /// What its `init` is given.
    #[serde(default)]
    pub script_args: Vec<String>,
    /// What answers must be; without it a status of 2xx or 3xx.
    #[serde(default, deserialize_with = "expect")]
    pub expect: Vec<Expect>,
    /// The most redirects of the same server that one exchange follows.
    #[serde(default)]
    pub follow: u32,
    /// Each connection sends the cookies back that it was given.
    #[serde(default)]
    pub cookies: bool,
    /// Events in answers are timed.
    #[serde(default)]
    pub events: bool,
    /// The load asks for compressed answers, which `expect` looks into decompressed.
    #[serde(default)]
    pub compressed: bool,
    /// How the messages of gRPC calls are compressed.
    #[serde(default)]
    pub compress: Option<Compress>,
    /// The HTTP proxy that the load goes through: `http://[USER:PASSWORD@]HOST:PORT`.
    #[serde(default)]
    pub proxy: Option<String>,
    /// Local addresses that the load's connections take in turn.
    #[serde(default)]
    pub source_ip: Option<String>,
    /// `NAME:PASSWORD` of basic authentication.
    #[serde(default)]
    pub user: Option<String>,
    /// Sent with each gRPC call.
    #[serde(default, deserialize_with = "deadline")]
    pub deadline: Option<Duration>,
    /// WebSocket messages are binary.
    #[serde(default)]
    pub binary: bool,
    /// How many bytes `{payload}` stands for in the path, the message and declared answers.
    #[serde(default, deserialize_with = "payload")]
    pub payload: Option<u64>,
    /// How many workers `{workers}` stands for in a subject's description; without it one for each
    /// core of the server.
    #[serde(default)]
    pub workers: Option<NonZeroU32>,
    /// How many connections.
    #[serde(default = "ten")]
    pub connections: NonZeroU32,
    /// How many requests may be outstanding on a connection of HTTP/1.1 or WebSocket.
    #[serde(default = "one")]
    pub pipeline: NonZeroU32,
    /// How many streams may be open at once on a connection of HTTP/2 or gRPC.
    #[serde(default = "one")]
    pub streams: NonZeroU32,
    /// False: a new connection for each exchange.
    #[serde(default = "yes")]
    pub keep_alive: bool,
    /// What is measured of each subject in every round; phases have lengths of their own.
    #[serde(default = "one_second", deserialize_with = "window")]
    pub window: Duration,
    /// Before the window of every round, while the connections open.
    #[serde(default = "settle", deserialize_with = "document::duration")]
    pub settle: Duration,
    /// Once for each process, when it has started.
    #[serde(default = "warm_up", deserialize_with = "document::duration")]
    pub warm_up: Duration,
    /// Requests a second of all connections together (open loop); without it each connection
    /// sends the next request when it has the answer (closed loop).
    #[serde(default, deserialize_with = "document::rate")]
    pub rate: Option<f64>,
    /// An exchange that takes longer has failed.
    #[serde(default = "timeout", deserialize_with = "document::some_duration")]
    pub timeout: Duration,
}

/// In what a row's workload differs from that of the others. Time, rate and time limit may not.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    /// How many bytes `{payload}` stands for.
    #[serde(default, deserialize_with = "payload")]
    pub payload: Option<u64>,
    /// Threads that the subject is asked to have.
    pub workers: Option<NonZeroU32>,
    path: Option<Spanned<UrlPath>>,
    protocol: Option<Protocol>,
    method: Option<String>,
    headers: Option<BTreeMap<String, String>>,
    message: Option<Spanned<String>>,
    repeat: Option<NonZeroU32>,
    proto: Option<PathBuf>,
    targets: Option<PathBuf>,
    variables: Option<BTreeMap<String, String>>,
    replay: Option<PathBuf>,
    replay_methods: Option<Vec<String>>,
    replay_secrets: Option<bool>,
    pick: Option<Pick>,
    template: Option<bool>,
    data: Option<PathBuf>,
    #[serde(default, deserialize_with = "order")]
    data_order: Option<Order>,
    script: Option<PathBuf>,
    script_args: Option<Vec<String>>,
    #[serde(default, deserialize_with = "expect")]
    expect: Vec<Expect>,
    follow: Option<u32>,
    cookies: Option<bool>,
    compressed: Option<bool>,
    compress: Option<Compress>,
    /// Whether events in answers are timed.
    pub events: Option<bool>,
    proxy: Option<String>,
    source_ip: Option<String>,
    user: Option<String>,
    #[serde(default, deserialize_with = "deadline")]
    deadline: Option<Duration>,
    binary: Option<bool>,
    /// Connections of the load.
    pub connections: Option<NonZeroU32>,
    pipeline: Option<NonZeroU32>,
    /// Requests on a connection at the same time.
    pub streams: Option<NonZeroU32>,
    keep_alive: Option<bool>,
}

impl Default for Workload {
    /// What is asked where nobody says it.
    fn default() -> Workload {
        Workload {
            connections: ten(),
            window: one_second(),
            settle: settle(),
            warm_up: warm_up(),
            ..Workload::of_commands()
        }
    }
}

impl Workload {
    /// What stands in the place of a workload where commands are timed: they are asked nothing,
    /// and what they do takes as long as it takes.
    pub fn of_commands() -> Workload {
        Workload {
            path: root(),
            protocol: Protocol::default(),
            method: None,
            headers: BTreeMap::new(),
            message: None,
            repeat: one(),
            proto: None,
            targets: None,
            variables: BTreeMap::new(),
            replay: None,
            speed: None,
            replay_methods: Vec::new(),
            replay_secrets: false,
            pick: None,
            template: false,
            data: None,
            data_order: None,
            script: None,
            script_args: Vec::new(),
            expect: Vec::new(),
            follow: 0,
            cookies: false,
            compressed: false,
            compress: None,
            events: false,
            proxy: None,
            source_ip: None,
            user: None,
            deadline: None,
            binary: false,
            payload: None,
            workers: None,
            connections: one(),
            pipeline: one(),
            streams: one(),
            keep_alive: true,
            window: Duration::ZERO,
            settle: Duration::ZERO,
            warm_up: Duration::ZERO,
            rate: None,
            timeout: timeout(),
        }
    }

    /// This workload but for what `difference` says.
    pub fn with(&self, difference: Difference) -> Workload {
        let base = self.clone();
        Workload {
            path: difference.path.unwrap_or(base.path),
            protocol: difference.protocol.unwrap_or(base.protocol),
            method: difference.method.or(base.method),
            headers: difference.headers.unwrap_or(base.headers),
            message: difference.message.or(base.message),
            repeat: difference.repeat.unwrap_or(base.repeat),
            proto: difference.proto.or(base.proto),
            targets: difference.targets.or(base.targets),
            variables: difference.variables.unwrap_or(base.variables),
            replay: difference.replay.or(base.replay),
            replay_methods: difference.replay_methods.unwrap_or(base.replay_methods),
            replay_secrets: difference.replay_secrets.unwrap_or(base.replay_secrets),
            pick: difference.pick.or(base.pick),
            template: difference.template.unwrap_or(base.template),
            data: difference.data.or(base.data),
            data_order: difference.data_order.or(base.data_order),
            script: difference.script.or(base.script),
            script_args: difference.script_args.unwrap_or(base.script_args),
            expect: match difference.expect.is_empty() {
                true => base.expect,
                false => difference.expect,
            },
            follow: difference.follow.unwrap_or(base.follow),
            cookies: difference.cookies.unwrap_or(base.cookies),
            compressed: difference.compressed.unwrap_or(base.compressed),
            compress: difference.compress.or(base.compress),
            events: difference.events.unwrap_or(base.events),
            proxy: difference.proxy.or(base.proxy),
            source_ip: difference.source_ip.or(base.source_ip),
            user: difference.user.or(base.user),
            deadline: difference.deadline.or(base.deadline),
            binary: difference.binary.unwrap_or(base.binary),
            payload: difference.payload.or(base.payload),
            workers: difference.workers.or(base.workers),
            connections: difference.connections.unwrap_or(base.connections),
            pipeline: difference.pipeline.unwrap_or(base.pipeline),
            streams: difference.streams.unwrap_or(base.streams),
            keep_alive: difference.keep_alive.unwrap_or(base.keep_alive),
            ..base
        }
    }

    /// What every exchange asks. Files are looked for beside `folder`.
    pub fn question(&self, folder: &Path) -> Result<Question, String> {
        let text = self.message.as_ref().map(|text| text.get_ref().as_str());
        let (path, message) = (self.path.get_ref().as_str(), message(text, folder)?);
        if self.payload.is_none() && self.uses_payload(folder) {
            return Err(format!(
                "contains {PAYLOAD}, so it needs a `payload` such as \"1K\""
            ));
        }
        let bytes = self.payload.unwrap_or_default();
        let message = message.map(|text| with_payload(&text, bytes));
        let path = path.replace(PAYLOAD, &bytes.to_string());
        self.check_mix()?;
        let redaction = Redaction::default();
        let headers = self.headers(&redaction)?;
        let wanted = Wanted {
            targets: self.targets.as_deref(),
            path: &path,
            method: self.method.as_deref(),
            headers: headers.clone(),
            message: message.as_deref(),
            pick: self.pick,
            data: self.data.as_deref(),
            data_order: self.data_order,
            protocol: self.protocol,
            proto: self.proto.as_ref().map(|file| folder.join(file)),
            binary: self.binary,
            variables: &self.variables,
            replay: self.replay.as_deref().map(|file| replayed::Given {
                file,
                methods: &self.replay_methods,
                keep_secrets: self.replay_secrets,
                speed: self.speed.unwrap_or(1.0),
                passes: 1,
            }),
            follow: self.follow,
            redaction: &redaction,
        };
        let mix = self.is_mixed().then(|| Mix::read(&wanted, folder));
        let mix = mix.transpose()?;
        let question = Question {
            named: self.named(message.as_deref(), mix.as_ref(), folder)?,
            mix,
            script: self.script.as_ref().map(|file| Script {
                file: folder.join(file),
                args: self.script_args.clone(),
            }),
            expect: self.expect.clone(),
            ways: self.ways(&redaction)?,
            path,
            protocol: self.protocol,
            method: self.method.clone(),
            headers,
            message,
            repeat: self.repeat,
            proto: self.proto.as_ref().map(|file| folder.join(file)),
            redaction,
        };
        if question.has_flow() {
            self.check_flow(&question)?;
        }
        if question.has_users() {
            question.plan(At::default())?.validate().map_err(as_key)?;
        }
        Ok(question)
    }

    /// Whether this can send a question whose messages follow each other.
    fn check_flow(&self, question: &Question) -> Result<(), String> {
        flow::check(&flow::Beside {
            message: self.message.is_some(),
            method: self.method.is_some(),
            pick: self.pick.is_some(),
            pipeline: self.pipeline.get(),
            keep_alive: self.keep_alive,
            rate: self.rate,
        })?;
        let plan = question.plan(At::default())?;
        plan.validate().map_err(as_key)
    }

    /// The fields of every request, with that of `user`, whose password `redaction` learns.
    fn headers(&self, redaction: &Redaction) -> Result<BTreeMap<String, String>, String> {
        let Some(who) = &self.user else {
            return Ok(self.headers.clone());
        };
        let mut headers: Vec<(String, String)> = self.headers.clone().into_iter().collect();
        authenticate(&mut headers, who, redaction).map_err(as_key)?;
        Ok(headers.into_iter().collect())
    }

    /// What else is so of each exchange.
    fn ways(&self, redaction: &Redaction) -> Result<Ways, String> {
        let proxy = self.proxy.as_ref();
        let proxy = proxy.map(|text| Proxy::parse(text, redaction).map_err(as_key));
        let sources = self.source_ip.as_deref().map(sources);
        let sources = sources.transpose();
        let ways = Ways {
            sources: sources
                .map_err(|what| format!("`source_ip` {what}"))?
                .unwrap_or_default(),
            follow: self.follow,
            cookies: self.cookies,
            compressed: self.compressed,
            compress: self.compress,
            events: self.events,
            proxy: proxy.transpose()?,
            deadline: self.deadline,
            binary: self.binary,
        };
        ways.check(&Beside {
            protocol: self.protocol,
            pipeline: self.pipeline.get(),
            keep_alive: self.keep_alive,
            script: self.script.is_some(),
            targets: self.targets.is_some(),
        })?;
        Ok(ways)
    }

    /// Whether requests may differ.
    fn is_mixed(&self) -> bool {
        self.targets.is_some() || self.template || self.data.is_some() || self.replay.is_some()
    }

    /// Hashes of what is in the files that this names; what they name in turn is among it only
    /// where that is a request's.
    fn named(
        &self,
        message: Option<&str>,
        mix: Option<&Mix>,
        folder: &Path,
    ) -> Result<Vec<u8>, String> {
        let mut named = mix.map_or(Vec::new(), |mix| mix.contents().to_vec());
        let given = self.message.as_ref().map(|text| text.get_ref().as_str());
        if let Some(message) = message.filter(|_| given.is_some_and(|text| text.starts_with('@'))) {
            named.extend(Sha256::digest(message));
        }
        if let Some(file) = &self.script {
            named.extend(digest(&folder.join(file))?);
        }
        if let Some(file) = &self.proto {
            // One that can't be read is told of where it is needed.
            named.extend(digest(&folder.join(file)).unwrap_or_default());
        }
        Ok(named)
    }

    /// Whether what is asked depends on the payload.
    pub fn uses_payload(&self, folder: &Path) -> bool {
        let text = self.message.as_ref().map(|text| text.get_ref().as_str());
        let holds = |text: &str| text.contains(PAYLOAD);
        let message = message(text, folder).ok().flatten();
        holds(self.path.get_ref().as_str()) || message.as_deref().is_some_and(holds)
    }

    /// How it is asked, in words.
    pub fn words(&self) -> String {
        let depth = match self.protocol {
            Protocol::Http1 | Protocol::WebSocket => format!("pipeline {}", self.pipeline),
            Protocol::Http2 | Protocol::Grpc if self.streams == NonZeroU32::MIN => {
                "one stream each".to_owned()
            }
            Protocol::Http2 | Protocol::Grpc => format!("{} streams each", self.streams),
        };
        let ending = if self.keep_alive {
            ""
        } else {
            ", a new connection for each exchange"
        };
        format!("{} connections, {depth}{ending}", self.connections)
    }
}

/// A text in which `{payload}` is so many bytes: the digits from 0 to 9, again and again, as in the
/// bodies of `/bytes/N` of our own server.
pub(crate) fn with_payload(text: &str, bytes: u64) -> String {
    match text.contains(PAYLOAD) {
        true => {
            let digits: String = "0123456789".chars().cycle().take(bytes as usize).collect();
            text.replace(PAYLOAD, &digits)
        }
        false => text.to_owned(),
    }
}
