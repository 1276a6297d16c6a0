//! What a file means: every part is judged, and the first mistake is told with its place.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::net::IpAddr;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use admission::queue::Priority;
use admission::rate::Rate;
use admission::{gate, limit, queue};
use ipnet::IpNet;
use measure::words;
use server::upstream;
use server::{Address, Certificate, EngineChoice, ServerSettings};
use toml::Spanned;

use super::document::{BadConfig, Document};
use super::judge::{Judge, is_token};
use super::servers::WEIGHT_MAX;
use super::written::or;
use super::{
    Action, Balance, Config, Forward, HashKey, Health, Listen, LogRule, Mirror, Outlier, RateKey,
    RateRule, Retry, Route, Shared, Token, Upstream, Users, trust, written,
};

/// Where the gateway listens if nothing is said.
const ADDRESS: &str = "127.0.0.1:8080";

/// What `whole` is if nothing is said: answers may be as long as they like.
const WHOLE: Duration = Duration::from_secs(366 * 24 * 3600);

/// After how long without a sign of life a worker process is replaced, if nothing is said.
const SILENCE: Duration = Duration::from_secs(10);
const SILENCE_MIN: Duration = Duration::from_secs(3);

/// What clients and upstreams may take up in memory if nothing is said, and the least of it for
/// each thread.
const MEMORY_BYTES: u64 = 512 << 20;
const MEMORY_BYTES_MIN: u64 = 1 << 20;

/// How important the requests of a route are.
const PRIORITIES: [(&str, Priority); 3] = [
    ("low", Priority::Low),
    ("normal", Priority::Normal),
    ("high", Priority::High),
];

/// Reads and judges a document.
pub(super) fn config(document: &Document) -> Result<Config, BadConfig> {
    let file: written::File = document.parse()?;
    let of = Judge { document };
    let listen = of.listen(file.listen)?;
    let upstreams = of.upstreams(file.upstream, &listen)?;
    let mut tokens = Vec::with_capacity(file.token.len());
    for (name, written) in file.token {
        tokens.push(Arc::new(of.token(name, written, &upstreams)?));
    }
    let mut users = Vec::with_capacity(file.users.len());
    for (name, written) in file.users {
        let one = of.users_of(name, written, &users)?;
        users.push(one);
    }
    let named = Named {
        upstreams: &upstreams,
        tokens: &tokens,
        users: &users,
    };
    let routes = of.routes(file.route, &named)?;
    if routes.is_empty() {
        let what = "has no route: add a [[route]] with `upstream = \"NAME\"`";
        return Err(document.fault(None, what));
    }
    let admin = match &file.admin {
        Some(admin) => Some(of.admin(&admin.address, &listen)?),
        None => None,
    };
    let log = match file.log {
        Some(log) => Some(of.log(log)?),
        None => None,
    };
    let threads = listen.threads;
    Ok(Config {
        listen,
        admin,
        log,
        rate_keys: of.rate_keys(file.limits.rate_keys.as_ref())?,
        limits: of.limits(&file.limits, threads)?,
        timeouts: timeouts(&file.timeouts),
        silence: of.silence(file.timeouts.silence.as_ref())?,
        forward: of.forward(file.forward)?,
        upstreams,
        identity_fields: trust::identity_fields(&tokens, &users),
        tokens,
        users,
        routes,
    })
}

/// Whether a route, which stands in front of another, leaves nothing to it: see
/// [`routing`](crate::routing) for which of them a request would take.
fn takes_all(before: &Route, other: &Route) -> bool {
    let hosts = match (before.hosts.is_empty(), other.hosts.is_empty()) {
        (true, true) => true,
        (false, false) => other.hosts.iter().all(|host| before.hosts.contains(host)),
        _ => false, // Routes of a host come before those of all.
    };
    let methods = match (before.methods.is_empty(), other.methods.is_empty()) {
        (true, true) => true,
        (false, false) => other.methods.iter().all(|one| before.methods.contains(one)),
        _ => false, // One with methods comes before one without.
    };
    let same = |one: &Route, two: &Route| one.header.iter().all(|of| two.header.contains(of));
    let headers = same(before, other) && same(other, before);
    before.path == other.path && hosts && methods && headers
}

/// Whether both addresses can't be listened on at once.
fn collide(one: &Address, other: &Address) -> bool {
    match (one, other) {
        (Address::Tcp(one), Address::Tcp(other)) => {
            let (ip, other_ip) = (one.ip(), other.ip());
            let same = ip == other_ip || ip.is_unspecified() || other_ip.is_unspecified();
            // The kernel chooses another port for each that asks for any.
            one.port() == other.port() && one.port() != 0 && same
        }
        (one, other) => one == other,
    }
}

/// Whether who connects to `server` finds the listener of `listen`.
fn leads_to(server: &Address, listen: &Address) -> bool {
    match (server, listen) {
        (Address::Tcp(server), Address::Tcp(listen)) => {
            let (ip, own) = (server.ip(), listen.ip());
            let here = ip.is_loopback() || ip.is_unspecified();
            let same = ip == own || ip.is_unspecified() || own.is_unspecified() && here;
            server.port() == listen.port() && same
        }
        (server, listen) => server == listen,
    }
}

fn timeouts(written: &written::Timeouts) -> server::Timeouts {
    let default = server::Timeouts::default();
    server::Timeouts {
        head: or(written.head, default.head),
        body: or(written.body, default.body),
        idle: or(written.idle, default.idle),
        drain: or(written.drain, default.drain),
    }
}

/// What routes call by its name.
struct Named<'a> {
    upstreams: &'a [Upstream],
    tokens: &'a [Arc<Token>],
    users: &'a [Users],
}

impl Judge<'_> {
    fn upstreams(
        &self,
        all: BTreeMap<String, Spanned<written::Upstream>>,
        listen: &Listen,
    ) -> Result<Vec<Upstream>, BadConfig> {
        let mut upstreams = Vec::with_capacity(all.len());
        for (name, written) in all {
            let (span, servers) = (written.span(), written.get_ref().servers.span());
            let upstream = self.upstream(name, written.into_inner(), span)?;
            let mut addresses = upstream.servers.iter();
            if addresses.any(|server| leads_to(&server.address, &listen.address)) {
                let what = "one of these servers is this gateway itself, by `address` in [listen], \
                            so requests would loop: name the servers behind it";
                return self.bad(servers, what);
            }
            upstreams.push(upstream);
        }
        Ok(upstreams)
    }

    fn routes(
        &self,
        all: Vec<Spanned<written::Route>>,
        named: &Named<'_>,
    ) -> Result<Vec<Route>, BadConfig> {
        let mut routes: Vec<Route> = Vec::with_capacity(all.len());
        for (at, written) in all.into_iter().enumerate() {
            let span = written.span();
            let name = written.get_ref().name.as_ref().map(Spanned::span);
            let route = self.route(at, written.into_inner(), span.clone(), named)?;
            if routes.iter().any(|before| before.name == route.name) {
                let what = format!(
                    "another route is named `{}` already (without a `name`, the n-th is route-n); \
                     they would share rates and metrics, so give this one a `name` of its own",
                    route.name
                );
                return self.bad(name.unwrap_or(span), what);
            }
            if let Some(before) = routes.iter().find(|before| takes_all(before, &route)) {
                let what = format!(
                    "`{}` can't be reached: `{}` before it takes all of its requests",
                    route.name, before.name
                );
                return self.bad(span, what);
            }
            routes.push(route);
        }
        Ok(routes)
    }

    fn listen(&self, written: written::Listen) -> Result<Listen, BadConfig> {
        let address = match &written.address {
            Some(text) => self.address(text.get_ref(), text.span())?,
            None => self.address(ADDRESS, 0..0)?,
        };
        let engines = [
            ("auto", EngineChoice::Auto),
            ("io_uring", EngineChoice::Uring),
            ("epoll", EngineChoice::Epoll),
        ];
        let what = "expected between 1 and 1024 threads";
        let threads = self.within(written.threads.as_ref(), 1..=1024, 1, what)?;
        let certificate = match (written.certificate, written.key, written.self_signed) {
            (None, None, None) => None,
            (None, None, Some(names)) => {
                let span = names.span();
                let names = names.into_inner();
                Some(self.certificate(Certificate::SelfSigned { names }, span)?)
            }
            (Some(chain), Some(key), None) => {
                let span = chain.span();
                let chain = self.document.place_of(chain.get_ref());
                let key = self.document.place_of(&key);
                Some(self.certificate(Certificate::Files { chain, key }, span)?)
            }
            (Some(chain), _, _) => {
                let what = "a `certificate` needs a `key`, and excludes `self_signed`";
                return self.bad(chain.span(), what);
            }
            _ => {
                let what = "[listen] has a `key` without a `certificate`";
                return Err(self.document.fault(None, what));
            }
        };
        Ok(Listen {
            address,
            threads,
            engine: self
                .word(written.engine.as_ref(), &engines)?
                .unwrap_or(EngineChoice::Auto),
            certificate,
        })
    }

    /// A certificate that a listener can have: its files are read as they are at the start.
    fn certificate(
        &self,
        certificate: Certificate,
        span: Range<usize>,
    ) -> Result<Certificate, BadConfig> {
        let settings = ServerSettings {
            certificate,
            alpn: Vec::new(),
            resumption: false,
            client_authorities: None,
        };
        match settings.build() {
            Ok(_) => Ok(settings.certificate),
            Err(wrong) => self.bad(span, wrong),
        }
    }

    fn log(&self, written: written::Log) -> Result<LogRule, BadConfig> {
        let span = written.file.span();
        let file = match written.file.into_inner() {
            stdout if stdout == *"-" => stdout,
            file => self.document.place_of(&file),
        };
        let shown = file.display();
        let folder = file.parent().filter(|path| !path.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        let wrong = match fs::metadata(&file) {
            _ if file == *"-" => None,
            Ok(found) if found.is_dir() => Some(format!("{shown} is a folder: name a file in it")),
            Ok(found) if found.is_file() => {
                let opened = File::options().append(true).open(&file);
                opened
                    .err()
                    .map(|why| format!("{shown} can't be opened: {why}"))
            }
            Ok(_) => None,
            Err(_) if folder.is_dir() => None,
            Err(_) => {
                let folder = folder.display();
                Some(format!(
                    "there is no folder {folder}: make it, or name another"
                ))
            }
        };
        match wrong {
            Some(what) => self.bad(span, what),
            None => Ok(LogRule {
                file,
                sample: written.sample.map_or(1.0, |share| share.0),
            }),
        }
    }

    fn limits(
        &self,
        written: &written::Limits,
        threads: usize,
    ) -> Result<server::Limits, BadConfig> {
        let default = server::Limits::default();
        if let Some(connections) = &written.connections
            && *connections.get_ref() == 0
        {
            let what = "expected at least one connection; leave it out for as many as the limit of \
                        open files allows";
            return self.bad(connections.span(), what);
        }
        let memory = written.memory.as_ref();
        let bytes = memory.map_or(MEMORY_BYTES, |size| size.get_ref().0);
        if let Some(memory) = memory
            && bytes < MEMORY_BYTES_MIN * threads as u64
        {
            let what = "expected at least \"1MiB\" for each thread: with less, no request is taken";
            return self.bad(memory.span(), what);
        }
        Ok(server::Limits {
            head_bytes: (written.head).map_or(default.head_bytes, |size| size.0 as usize),
            // A proxy holds a few pieces of a body at a time, however long it is.
            body_bytes: written.body.map_or(u64::MAX, |size| size.0),
            connections: (written.connections.as_ref()).map(|count| *count.get_ref()),
            memory_bytes: Some(bytes),
        })
    }

    fn admin(&self, written: &Spanned<String>, listen: &Listen) -> Result<Address, BadConfig> {
        let address = self.address(written.get_ref(), written.span())?;
        match collide(&address, &listen.address) {
            true => {
                let what = "[listen] has this address, too: give [admin] another, such as \
                            \"127.0.0.1:9900\"";
                self.bad(written.span(), what)
            }
            false => Ok(address),
        }
    }

    fn silence(&self, written: Option<&Spanned<String>>) -> Result<Duration, BadConfig> {
        let Some(written) = written else {
            return Ok(SILENCE);
        };
        match words::duration(written.get_ref()) {
            Ok(length) if length.is_zero() || length >= SILENCE_MIN => Ok(length),
            Ok(_) => self.bad(
                written.span(),
                "expected at least \"3s\", since workers give a sign of life each second, or \
                 \"0s\" for never",
            ),
            Err(wrong) => self.bad(written.span(), wrong),
        }
    }

    fn forward(&self, written: written::Forward) -> Result<Forward, BadConfig> {
        let mut trusted_proxies = Vec::new();
        if let Some(list) = written.trusted_proxies {
            for text in list.get_ref() {
                let net = text.parse::<IpNet>();
                let net = net.or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
                match net {
                    Ok(net) => trusted_proxies.push(net),
                    Err(_) => {
                        let what = "expected addresses or networks, such as \"10.0.0.0/8\"";
                        return self.bad(list.span(), what);
                    }
                }
            }
        }
        let styles = [
            ("x-forwarded", (true, false)),
            ("forwarded", (false, true)),
            ("both", (true, true)),
            ("none", (false, false)),
        ];
        let fields = self.word(written.fields.as_ref(), &styles)?;
        let (x_forwarded, forwarded) = fields.unwrap_or((true, false));
        let via = match written.via {
            // It's a pseudonym in `Via` (RFC 9110 §7.6.3).
            Some(via) if !is_token(via.get_ref()) && !via.get_ref().is_empty() => {
                let what = "expected one word of letters, digits, `-`, `_` and `.`, or nothing";
                return self.bad(via.span(), what);
            }
            via => via.map_or_else(|| "ringside".into(), Spanned::into_inner),
        };
        let traces = [("make", true), ("pass", false)];
        let slashes = [("refuse", true), ("pass", false)];
        Ok(Forward {
            trusted_proxies,
            x_forwarded,
            forwarded,
            via,
            makes_traceparent: self
                .word(written.traceparent.as_ref(), &traces)?
                .unwrap_or(true),
            refuses_encoded_slashes: self
                .word(written.encoded_slashes.as_ref(), &slashes)?
                .unwrap_or(true),
        })
    }

    fn balance(&self, written: &written::Upstream) -> Result<Balance, BadConfig> {
        let words = [
            ("round-robin", &Balance::RoundRobin),
            ("least-requests", &Balance::LeastRequests),
            ("hash", &Balance::Hash(HashKey::Address)),
        ];
        let word = self.word(written.balance.as_ref(), &words)?;
        let balance = word.unwrap_or(&Balance::RoundRobin);
        match (balance, &written.hash) {
            (_, None) => Ok(balance.clone()),
            (Balance::Hash(_), Some(key)) => match key.get_ref().strip_prefix("header:") {
                Some(name) if is_token(name) => {
                    Ok(Balance::Hash(HashKey::Field(name.to_ascii_lowercase())))
                }
                None if key.get_ref() == "address" => Ok(Balance::Hash(HashKey::Address)),
                _ => self.bad(key.span(), "expected \"address\" or \"header:NAME\""),
            },
            (Balance::RoundRobin | Balance::LeastRequests, Some(key)) => {
                self.bad(key.span(), "`hash` needs `balance = \"hash\"`")
            }
        }
    }

    fn upstream(
        &self,
        name: String,
        written: written::Upstream,
        span: Range<usize>,
    ) -> Result<Upstream, BadConfig> {
        if !is_token(&name) {
            return self.bad(
                span,
                "an upstream's name is letters, digits, `-`, `_` and `.`",
            );
        }
        let servers = self.servers(&written)?;
        let balance = self.balance(&written)?;
        let limits = self.upstream_limits(&written.limits)?;
        let default = upstream::Timeouts::default();
        let given = &written.timeouts;
        let timeouts = upstream::Timeouts {
            connect: or(given.connect, default.connect),
            head: or(given.head, default.head),
            whole: or(given.whole, WHOLE),
            idle: or(given.idle, default.idle),
        };
        let piece_timeout = or(given.piece, Duration::from_secs(60));
        let outlier = Outlier {
            errors: written.outlier.errors.unwrap_or(5),
            ejection: or(written.outlier.ejection, Duration::from_secs(10)),
            panic_threshold: (written.outlier.panic_threshold).map_or(0.5, |share| share.0),
        };
        let health = match written.health {
            Some(health) => Some(self.health(health)?),
            None => None,
        };
        let overload = match written.overload {
            Some(overload) => Some(self.overload(overload)?),
            None => None,
        };
        Ok(Upstream {
            name,
            overload,
            written: servers.addresses.len(),
            servers: servers.addresses,
            names: servers.names,
            resolve: servers.resolve,
            protocol: servers.protocol,
            balance,
            limits,
            timeouts,
            piece_timeout,
            health,
            outlier,
            retry: self.retry(written.retry)?,
        })
    }

    fn upstream_limits(
        &self,
        written: &written::UpstreamLimits,
    ) -> Result<upstream::Limits, BadConfig> {
        let default = upstream::Limits::default();
        let connections = self.within(
            written.connections.as_ref(),
            1..=usize::MAX,
            default.connections,
            "expected at least one connection",
        )?;
        if let Some(streams) = &written.streams
            && *streams.get_ref() == 0
        {
            return self.bad(streams.span(), "expected at least one stream");
        }
        let head = written.head.map(|size| size.0.min(u64::from(u32::MAX)));
        Ok(upstream::Limits {
            connections,
            waiting: written.waiting.unwrap_or(default.waiting),
            streams: (written.streams.as_ref()).map_or(default.streams, |one| *one.get_ref()),
            head_bytes: head.map_or(default.head_bytes, |bytes| bytes as u32),
            ..default
        })
    }

    fn rate_keys(&self, written: Option<&Spanned<usize>>) -> Result<usize, BadConfig> {
        let what = "expected between 1 and 100,000,000 keys";
        self.within(written, 1..=100_000_000, 100_000, what)
    }

    fn overload(&self, written: Spanned<written::Overload>) -> Result<gate::Settings, BadConfig> {
        let span = written.span();
        let written = written.into_inner();
        let (limit, queue) = (limit::Settings::default(), queue::Settings::default());
        let (min, max) = (
            written.min.unwrap_or(limit.min),
            written.max.unwrap_or(limit.max),
        );
        if min == 0 || min > max {
            return self.bad(
                span,
                "expected a `min` of at least 1, and no more than `max`",
            );
        }
        Ok(gate::Settings {
            limit: limit::Settings {
                initial: limit.initial.clamp(min, max),
                min,
                max,
                ..limit
            },
            queue: queue::Settings {
                length: written.queue.unwrap_or(queue.length),
                target: or(written.target, queue.target),
                interval: or(written.interval, queue.interval),
            },
        })
    }

    fn rates(
        &self,
        written: &[Spanned<written::Rate>],
        has_token: bool,
        users: &[Users],
    ) -> Result<Vec<RateRule>, BadConfig> {
        let mut rates = Vec::with_capacity(written.len());
        for one in written {
            let (span, one) = (one.span(), one.get_ref());
            let key = match &**one.key.get_ref() {
                "address" => RateKey::Address,
                "route" => RateKey::Route,
                "subject" if has_token => RateKey::Subject,
                "subject" => {
                    let what = "rates by `subject` need a `token` on this route";
                    return self.bad(one.key.span(), what);
                }
                other => match other.strip_prefix("header:") {
                    Some(name) if is_token(name) => RateKey::Field(name.to_ascii_lowercase()),
                    _ => {
                        let what =
                            "expected \"address\", \"subject\", \"route\" or \"header:NAME\"";
                        return self.bad(one.key.span(), what);
                    }
                },
            };
            // Without a word about it, as much as comes in a tenth of a second, and one at least.
            let burst = one
                .burst
                .unwrap_or((one.per_second / 10.0).clamp(1.0, 1e6) as u32);
            match Rate::new(one.per_second, burst) {
                Some(rate) => {
                    let shared = match &one.shared {
                        Some(name) => Some(Shared {
                            users: self.with_redis(name, users)?,
                            per_second: one.per_second,
                            burst,
                        }),
                        None => None,
                    };
                    rates.push(RateRule { key, rate, shared });
                }
                None => {
                    let what = "expected a rate above 0 and up to 1e9, and a burst of at least 1";
                    return self.bad(span, what);
                }
            }
        }
        Ok(rates)
    }

    fn health(&self, written: Spanned<written::Health>) -> Result<Health, BadConfig> {
        let span = written.span();
        let written = written.into_inner();
        let host = written.host.unwrap_or_else(|| "health.check".into());
        let question = upstream::Request::new("GET", &written.path, &host);
        if let Err(wrong) = question.check() {
            return self.bad(span, format!("this check can't be sent: {wrong}"));
        }
        let interval = or(written.interval, Duration::from_secs(5));
        let timeout = or(written.timeout, Duration::from_secs(1));
        Ok(Health {
            path: written.path,
            host,
            interval,
            timeout,
            healthy: written.healthy.unwrap_or(2).max(1),
            unhealthy: written.unhealthy.unwrap_or(3).max(1),
        })
    }

    fn retry(&self, written: written::Retry) -> Result<Retry, BadConfig> {
        let attempts = match written.attempts {
            Some(attempts) if *attempts.get_ref() > 10 => {
                return self.bad(attempts.span(), "expected at most 10 attempts");
            }
            attempts => attempts.map_or(1, Spanned::into_inner),
        };
        let statuses = match written.statuses {
            Some(list) if !list.get_ref().iter().all(|one| (400..600).contains(one)) => {
                return self.bad(list.span(), "expected statuses from 400 to 599");
            }
            statuses => statuses.map_or_else(Vec::new, Spanned::into_inner),
        };
        Ok(Retry {
            attempts,
            budget: written.budget.map_or(0.2, |share| share.0),
            statuses,
        })
    }

    fn route(
        &self,
        at: usize,
        written: written::Route,
        span: Range<usize>,
        named: &Named<'_>,
    ) -> Result<Route, BadConfig> {
        let upstreams = named.upstreams;
        let path = self.path(&written)?;
        let hosts = match &written.host {
            Some(hosts) => self.hosts(&hosts.get_ref().0, hosts.span())?,
            None => Vec::new(),
        };
        let mirror = match &written.mirror {
            Some(mirror) if written.answer.is_some() => {
                let what = "a route that answers by itself has nothing to copy: a `mirror` \
                            needs an `upstream` or a `split`";
                return self.bad(mirror.span(), what);
            }
            Some(mirror) => {
                let mirror = mirror.get_ref();
                Some(Mirror {
                    upstream: self.named(&mirror.upstream, upstreams)?,
                    share: mirror.share.map_or(1.0, |share| share.0),
                    limit: mirror.limit.unwrap_or(64),
                })
            }
            None => None,
        };
        Ok(Route {
            name: (written.name.as_ref()).map_or_else(
                || format!("route-{}", at + 1),
                |name| name.get_ref().clone(),
            ),
            hosts,
            path,
            header: self.conditions(&written)?,
            methods: self.methods(written.methods.as_ref())?,
            action: self.action(&written, span, upstreams)?,
            mirror,
            rates: self.rates(&written.rates, written.token.is_some(), named.users)?,
            token: self.token_of(written.token.as_ref(), named.tokens)?,
            user: self.user_of(&written, named.users, named.tokens)?,
            priority: self
                .word(written.priority.as_ref(), &PRIORITIES)?
                .unwrap_or_default(),
        })
    }

    fn action(
        &self,
        written: &written::Route,
        span: Range<usize>,
        upstreams: &[Upstream],
    ) -> Result<Action, BadConfig> {
        match (&written.upstream, &written.split, &written.answer) {
            (Some(name), None, None) => {
                Ok(Action::Forward(vec![(self.named(name, upstreams)?, 1)]))
            }
            (None, Some(split), None) => {
                let mut parts = Vec::new();
                for part in split.get_ref() {
                    if part.weight > WEIGHT_MAX {
                        let what = format!("a weight is at most {WEIGHT_MAX}");
                        return self.bad(part.upstream.span(), what);
                    }
                    parts.push((self.named(&part.upstream, upstreams)?, part.weight));
                }
                match parts.iter().all(|(_, weight)| *weight == 0) {
                    true => self.bad(split.span(), "one of the weights has to be above 0"),
                    false => Ok(Action::Forward(parts)),
                }
            }
            (None, None, Some(answer)) => match answer.get_ref() {
                written::Answer { user: true, .. } if written.user.is_none() => {
                    self.bad(answer.span(), "`user = true` needs a `user` on this route")
                }
                written::Answer { status, text, user } if (200..600).contains(status) => {
                    Ok(Action::Answer {
                        status: *status,
                        text: text.clone(),
                        user: *user,
                    })
                }
                _ => self.bad(answer.span(), "expected a status from 200 to 599"),
            },
            _ => self.bad(
                span,
                "a route has one of `upstream = \"NAME\"`, `split = [{ upstream, weight }, …]` \
                 and `answer = { status, text }`",
            ),
        }
    }
}
