//! What the owner of a machine lets its agent do: which addresses it may load, how much, and for
//! whom.
//!
//! The file stands on the agent's machine, because a list that the author of a load writes
//! restrains nobody. Without one an agent loads nothing. Addresses are those that names were
//! resolved to, and are asked about again where the load connects.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

use fleet::RunId;
use fleet::division::Place;
use fleet::message::DataFile;
use ipnet::IpNet;
use load::Plan;
use load::hold;
use load::plan::{Permit, Permits};
use measure::units::{parse_duration, parse_rate};
use serde::Deserialize;

use crate::rates::{peak_rate, requests_each};
use crate::signed::{self, Wanted};
use crate::task::Load;

/// The policy of agents that are started by whoever asks for the load, on the machine that could
/// send it alone, too.
pub(crate) const ANYTHING: &str = "\
scripts = true

[[allow]]
networks = [\"0.0.0.0/0\", \"::/0\"]
ports = [\"0-65535\"]
unix = [\"/\"]

[[proxy]]
networks = [\"0.0.0.0/0\", \"::/0\"]
ports = [\"0-65535\"]
";

/// How long a load of an agent's own server may take, in seconds, whatever its policy says.
pub(crate) const OWN_S_MAX: f64 = 3600.0;

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    allow: Vec<Allow>,
    /// Proxies that may be used.
    proxies: Vec<Allow>,
    limits: Limits,
    signed: Wanted,
    scripts: bool,
}

/// Addresses that may be loaded.
#[derive(Clone, Debug, PartialEq)]
struct Allow {
    networks: Vec<IpNet>,
    ports: Vec<RangeInclusive<u16>>,
    /// Sockets, and folders of sockets.
    unix: Vec<PathBuf>,
}

impl Allow {
    fn of(written: WrittenAllow) -> Result<Allow, String> {
        if written.networks.is_empty() != written.ports.is_empty() {
            return Err("networks and ports go together: write both, or neither".to_owned());
        }
        if let Some(path) = written.unix.iter().find(|path| !is_straight(path)) {
            return Err(format!(
                "unix: {} must be a path from / on, without ..",
                path.display()
            ));
        }
        let ports = written.ports.iter().map(ports);
        Ok(Allow {
            networks: written.networks,
            ports: ports.collect::<Result<_, String>>()?,
            unix: written.unix,
        })
    }

    fn matches(&self, address: SocketAddr) -> bool {
        let (ip, port) = (address.ip().to_canonical(), address.port());
        let networks = self.networks.iter().any(|net| net.contains(&ip));
        networks && self.ports.iter().any(|ports| ports.contains(&port))
    }
}

/// Whether a path says by itself where it leads, links apart, which are their machine's own.
fn is_straight(path: &Path) -> bool {
    path.is_absolute() && path.components().all(|part| part != Component::ParentDir)
}

/// How much this agent may do at most.
#[derive(Clone, Debug, Default, PartialEq)]
struct Limits {
    /// Requests per second, in any second.
    rate: Option<f64>,
    connections: Option<u32>,
    duration: Option<Duration>,
}

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    allow: Vec<WrittenAllow>,
    #[serde(default)]
    proxy: Vec<WrittenAllow>,
    #[serde(default)]
    limits: WrittenLimits,
    #[serde(default)]
    signed: WrittenSigned,
    #[serde(default)]
    scripts: bool,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenSigned {
    #[serde(default)]
    by: Vec<String>,
    audience: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAllow {
    #[serde(default)]
    networks: Vec<IpNet>,
    #[serde(default)]
    ports: Vec<WrittenPorts>,
    #[serde(default)]
    unix: Vec<PathBuf>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenPorts {
    One(u16),
    Range(String),
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLimits {
    rate: Option<WrittenRate>,
    connections: Option<u32>,
    duration: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum WrittenRate {
    Number(f64),
    Text(String),
}

impl Policy {
    /// Reads a file.
    ///
    /// # Errors
    /// A sentence: what of it is wrong.
    pub fn read(path: &Path) -> Result<Policy, String> {
        let text = std::fs::read_to_string(path)
            .map_err(|why| format!("can't read the policy {}: {why}", path.display()))?;
        Policy::of(&text).map_err(|why| format!("the policy {}: {why}", path.display()))
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// As for [`Policy::read`].
    pub fn of(text: &str) -> Result<Policy, String> {
        let written: Written = toml::from_str(text).map_err(|why| why.to_string())?;
        if written.proxy.iter().any(|proxy| !proxy.unix.is_empty()) {
            return Err("[[proxy]]: proxies are spoken to over the network alone".to_owned());
        }
        let allow = written.allow.into_iter().map(Allow::of);
        let proxies = written.proxy.into_iter().map(Allow::of);
        let limits = &written.limits;
        let rate = limits.rate.as_ref().map(rate);
        let duration = limits.duration.as_deref().map(duration);
        Ok(Policy {
            allow: allow.collect::<Result<_, String>>()?,
            proxies: proxies.collect::<Result<_, String>>()?,
            limits: Limits {
                rate: rate.transpose()?,
                connections: limits.connections,
                duration: duration.transpose()?,
            },
            signed: Wanted::new(written.signed.by, written.signed.audience.as_deref())?,
            scripts: written.scripts,
        })
    }

    /// The plan of what came for a run at this time (seconds since 1970), if whoever asks for it
    /// may.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub(crate) fn open<'a>(
        &self,
        sealed: &'a [u8],
        data: &[DataFile],
        at: (&RunId, u64),
    ) -> Result<&'a [u8], String> {
        signed::open(sealed, data, at, &self.signed)
    }

    /// Whose signatures it wants.
    pub(crate) fn wanted(&self) -> &Wanted {
        &self.signed
    }

    /// Whether anything may be loaded at all.
    ///
    /// # Errors
    /// A sentence that says what to write.
    pub(crate) fn check_any(&self) -> Result<(), String> {
        match self.allow.is_empty() {
            true => Err(
                "this agent's policy allows no address; add one under [[allow]] on its machine"
                    .to_owned(),
            ),
            false => Ok(()),
        }
    }

    /// Whether an address may be loaded.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub fn check_address(&self, address: SocketAddr) -> Result<(), String> {
        let may_not = |why: &str| format!("{address} may not be loaded: {why}");
        self.check_any().map_err(|why| may_not(&why))?;
        match self.allow.iter().any(|allow| allow.matches(address)) {
            true => Ok(()),
            false => Err(may_not("it matches no [[allow]] of this agent's policy")),
        }
    }

    /// Whether others may be loaded through the proxy at an address. They're asked about by
    /// themselves.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub fn check_proxy(&self, address: SocketAddr) -> Result<(), String> {
        match self.proxies.iter().any(|proxy| proxy.matches(address)) {
            true => Ok(()),
            false if self.proxies.is_empty() => Err(format!(
                "{address} may not be used as a proxy: this agent's policy allows none; add one \
                 under [[proxy]] on its machine"
            )),
            false => Err(format!(
                "{address} may not be used as a proxy: it matches no [[proxy]] of this agent's \
                 policy"
            )),
        }
    }

    /// Whether a socket in the file system may be loaded.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub fn check_unix(&self, path: &Path) -> Result<(), String> {
        let mut allowed = self.allow.iter().flat_map(|allow| &allow.unix);
        match is_straight(path) && allowed.any(|allowed| path.starts_with(allowed)) {
            true => Ok(()),
            false => Err(format!(
                "{} may not be loaded: no [[allow]] of this agent's policy names it, or its \
                 folder, under `unix`",
                path.display()
            )),
        }
    }

    /// The same, for whoever connects.
    pub fn permits(&self) -> Permits {
        Permits::only(self.clone())
    }

    /// Whether an agent at this place may do its part of a load.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub(crate) fn check_load(&self, load: &Load, place: &Place) -> Result<(), String> {
        match load {
            Load::Run(plan) => {
                self.check_amount(plan, place)?;
                self.check_script(plan)
            }
            Load::Hold(plan) => self.check_held(plan, &[*place]),
        }
    }

    /// Whether an agent may do so much of a load that has all of these places.
    ///
    /// # Errors
    /// A sentence that names the limit.
    pub(crate) fn check_loads(&self, load: &Load, places: &[Place]) -> Result<(), String> {
        match load {
            Load::Run(plan) => self.check_amounts(plan, places),
            Load::Hold(plan) => self.check_held(plan, places),
        }
    }

    /// Whether an agent at this place may load its own server, as fast as it can. No address is
    /// asked about, and all else is.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub(crate) fn check_own(&self, plan: &Plan, place: &Place) -> Result<(), String> {
        self.check_any()?;
        self.check_script(plan)?;
        self.check_connections(place.part(plan.connections.into()))?;
        let length_s = length_s(plan);
        if length_s.is_some_and(|length_s| length_s > OWN_S_MAX) {
            return Err(
                "a load of its own server may take at most an hour: drop --control, or shorten -d"
                    .to_owned(),
            );
        }
        self.check_length(length_s)
    }

    /// Whether it may hold so many connections. What counts as its requests are heartbeats, or
    /// attempts to connect where those are more.
    fn check_held(&self, plan: &hold::Plan, places: &[Place]) -> Result<(), String> {
        let parts = places.iter();
        let connections: u64 = parts.map(|place| place.part(plan.connections.into())).sum();
        let beats = connections as f64 / plan.heartbeat_s;
        let share: f64 = places.iter().map(Place::fraction).sum();
        let rate = beats.max(plan.open_rate * share);
        if let Some(limit) = self.limits.rate.filter(|limit| rate > *limit) {
            return Err(format!(
                "its share of {rate:.1} heartbeats or new connections/s is above the {limit} of \
                 its policy (rate): lower --open-rate, or lengthen --heartbeat"
            ));
        }
        self.check_connections(connections)?;
        let opening_s = f64::from(plan.connections) / plan.open_rate;
        self.check_length(Some(opening_s + plan.duration_s))
    }

    /// Whether it may run the plan's script, if there is one.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub(crate) fn check_script(&self, plan: &Plan) -> Result<(), String> {
        match plan.script.is_some() && !self.scripts {
            true => Err(
                "a script can do on this machine whatever its agent can, and this agent's policy \
                 doesn't allow any: write `scripts = true` above its tables"
                    .to_owned(),
            ),
            false => Ok(()),
        }
    }

    /// Whether an agent at this place may do so much of a load.
    ///
    /// # Errors
    /// A sentence that names the limit.
    pub fn check_amount(&self, plan: &Plan, place: &Place) -> Result<(), String> {
        self.check_amounts(plan, &[*place])
    }

    /// The same of one that has all of these places.
    fn check_amounts(&self, plan: &Plan, places: &[Place]) -> Result<(), String> {
        self.check_rate(plan, places)?;
        let parts = places.iter();
        let parts: u64 = parts.map(|place| place.part(plan.connections.into())).sum();
        self.check_connections(parts.saturating_mul(plan.origins() as u64))?;
        self.check_length(length_s(plan))
    }

    /// Whether it may send so many requests per second. What a schedule has fall due may be several
    /// of them: all of a flow, and the redirects that are followed.
    fn check_rate(&self, plan: &Plan, places: &[Place]) -> Result<(), String> {
        let Some(limit) = self.limits.rate else {
            return Ok(());
        };
        let limited = format!("this agent's policy limits it to {limit} requests/s");
        let rate = peak_rate(&plan.schedule).ok_or_else(|| {
            format!(
                "{limited}, and a closed loop has no rate: set one with -R, or have its owner \
                 leave `rate` out of the policy and limit `connections`. compare and gate have no \
                 -R: there a comparison file has the rate"
            )
        })?;
        let each = requests_each(plan).ok_or_else(|| {
            format!(
                "{limited}, and nothing says how many a flow sends: give `repeat` and `retry` \
                 numbers in its file"
            )
        })?;
        let share = rate * each as f64 * places.iter().map(Place::fraction).sum::<f64>();
        match share > limit {
            true if each > 1 => Err(format!(
                "its share of {share:.1} requests/s is above the {limit} of its policy (rate): up \
                 to {each} are sent for each that is due, with those of a flow and redirects"
            )),
            true => Err(format!(
                "its share of {share:.1} requests/s is above the {limit} of its policy (rate)"
            )),
            false => Ok(()),
        }
    }

    fn check_connections(&self, share: u64) -> Result<(), String> {
        match self.limits.connections {
            Some(limit) if share > u64::from(limit) => Err(format!(
                "its share of {share} connections is above the {limit} of its policy (connections)"
            )),
            _ => Ok(()),
        }
    }

    /// Whether a load may last for so long; none where nobody knows.
    fn check_length(&self, length_s: Option<f64>) -> Result<(), String> {
        let Some(limit) = self.limits.duration else {
            return Ok(());
        };
        let limit_s = limit.as_secs_f64();
        match length_s {
            None => Err(format!(
                "its policy limits a load to {limit_s} s, and nothing says how long this one is: \
                 give -d"
            )),
            Some(length_s) if length_s > limit_s => Err(format!(
                "{length_s} s are longer than the {limit_s} s of its policy (duration)"
            )),
            Some(_) => Ok(()),
        }
    }
}

impl Permit for Policy {
    fn address(&self, address: SocketAddr) -> Result<(), String> {
        self.check_address(address)
    }

    fn proxy(&self, address: SocketAddr) -> Result<(), String> {
        self.check_proxy(address)
    }

    fn unix(&self, path: &Path) -> Result<(), String> {
        self.check_unix(path)
    }
}

/// A limit of requests per second. Nothing is above one that is no number.
fn rate(written: &WrittenRate) -> Result<f64, String> {
    match written {
        WrittenRate::Number(rate) if rate.is_finite() && *rate > 0.0 => Ok(*rate),
        WrittenRate::Number(rate) => Err(format!(
            "rate: {rate} is no limit: write a number above 0, or leave it out"
        )),
        WrittenRate::Text(text) => parse_rate(text).map_err(|why| format!("rate: {why}")),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let length = parse_duration(text).map_err(|why| format!("duration: {why}"))?;
    match length.is_zero() {
        true => Err("duration: 0 s would let nothing be loaded: leave it out, or [[allow]]".into()),
        false => Ok(length),
    }
}

fn ports(written: &WrittenPorts) -> Result<RangeInclusive<u16>, String> {
    let text = match written {
        WrittenPorts::One(port) => return Ok(*port..=*port),
        WrittenPorts::Range(text) => text,
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err(format!(
            "ports: {text:?} is no port and no range: write 80 or \"8000-8999\""
        )),
    }
}

/// Seconds that a load takes, its warm-up included; none where time doesn't end it.
fn length_s(plan: &Plan) -> Option<f64> {
    let length_s = plan.schedule.length_s().or(plan.duration_s);
    length_s.map(|length_s| length_s + plan.warm_up_s)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use fleet::division::places;
    use load::plan::Workload;
    use load::schedule::{Schedule, Traced};
    use replay::{Sending, Trace};
    use workload::hurl::Given;

    use super::*;

    type Spoil = fn(&mut Plan);

    const TEXT: &str = r#"
[[allow]]
networks = ["10.0.0.0/8", "fd00::/8"]
ports = [80, "8000-8999"]

[[allow]]
networks = ["127.0.0.1/32"]
ports = ["1-65535"]
unix = ["/run/app"]

[[proxy]]
networks = ["10.9.0.0/16"]
ports = [3128]

[limits]
rate = "1k"
connections = 100
duration = "1m"
"#;

    #[test]
    fn only_what_the_file_names_may_be_loaded() {
        let policy = Policy::of(TEXT).unwrap();
        for (address, passes) in [
            ("10.1.2.3:80", true),
            ("10.1.2.3:8999", true),
            ("10.1.2.3:9000", false),
            ("11.0.0.1:80", false),
            ("[fd00::1]:8000", true),
            ("[fe80::1]:8000", false),
            ("127.0.0.1:9", true),
            ("127.0.0.2:9", false),
            // The same address in IPv6's clothes.
            ("[::ffff:10.1.2.3]:80", true),
            ("[::ffff:11.0.0.1]:80", false),
        ] {
            let said = policy.check_address(address.parse().unwrap());
            assert_eq!(said.is_ok(), passes, "{address}: {said:?}");
        }
        for (path, passes) in [
            ("/run/app/a.sock", true),
            ("/run/app", true),
            ("/run/apple.sock", false),
            ("/run/app/../b.sock", false),
            ("run/app/a.sock", false),
        ] {
            let said = policy.check_unix(Path::new(path));
            assert_eq!(said.is_ok(), passes, "{path}: {said:?}");
        }
        for (address, passes) in [("10.9.9.9:3128", true), ("10.1.2.3:80", false)] {
            let said = policy.check_proxy(address.parse().unwrap());
            assert_eq!(said.is_ok(), passes, "{address}: {said:?}");
        }
        let no_proxy = Policy::default().check_proxy("127.0.0.1:80".parse().unwrap());
        assert!(no_proxy.unwrap_err().contains("allows none"));
        let nothing = Policy::default().check_address("127.0.0.1:80".parse().unwrap());
        assert!(nothing.unwrap_err().contains("allows no address"));
        let anything = Policy::of(ANYTHING).unwrap();
        for address in ["127.0.0.1:80", "[::1]:80", "192.0.2.1:65535"] {
            anything.check_address(address.parse().unwrap()).unwrap();
            anything.check_proxy(address.parse().unwrap()).unwrap();
        }
    }

    #[test]
    fn an_agents_share_is_held_against_its_limits() {
        let policy = Policy::of(TEXT).unwrap();
        let halves = places(&[1, 1]).unwrap();
        let plan = |spoil: Spoil| {
            let mut plan = Plan::new("http://10.0.0.1/").unwrap();
            plan.threads = 2;
            plan.schedule = Schedule::Poisson { rate: 2000.0 };
            spoil(&mut plan);
            policy.check_amount(&plan, &halves[0])
        };
        assert_eq!(plan(|_| {}), Ok(()));
        let table: [(&str, Spoil); 8] = [
            ("above the 1000 of its policy (rate)", |plan| {
                plan.schedule = Schedule::Constant { rate: 2002.0 };
            }),
            ("share of 1001.0 requests/s is above the 1000", |plan| {
                plan.schedule = Schedule::Constant { rate: 182.0 };
                plan.follow = 10;
            }),
            ("up to 200 are sent for each that is due", |plan| {
                plan.schedule = Schedule::Constant { rate: 20.0 };
                plan.workload = Some(users("repeat: 20\nretry: 9"));
            }),
            ("nothing says how many a flow sends", |plan| {
                plan.schedule = Schedule::Constant { rate: 1.0 };
                plan.workload = Some(users("retry: -1"));
            }),
            ("a closed loop has no rate", |plan| {
                plan.schedule = Schedule::Closed;
            }),
            ("its share of 101 connections is above the 100", |plan| {
                plan.connections = 202;
            }),
            ("61 s are longer than the 60 s", |plan| {
                (plan.duration_s, plan.warm_up_s) = (Some(60.0), 1.0);
            }),
            ("nothing says how long", |plan| {
                (plan.duration_s, plan.count) = (None, Some(5));
            }),
        ];
        for (part, spoil) in table {
            let said = plan(spoil).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
        let said = plan(|plan| plan.schedule = Schedule::Closed).unwrap_err();
        let advice = "leave `rate` out of the policy and limit `connections`";
        assert!(said.contains(advice), "{said}");
    }

    /// A flow of one request with these options.
    fn users(options: &str) -> Workload {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.hurl");
        let text = format!("GET http://10.0.0.1/\n[Options]\n{options}\n");
        std::fs::write(&file, text).unwrap();
        workload::hurl::read(&file, Given::default()).unwrap()
    }

    #[test]
    fn a_replay_has_the_rate_of_its_fullest_second() {
        let policy = Policy::of(&format!("{TEXT}\n").replace("1k", "4")).unwrap();
        let said = |speed: f64| {
            let sending = |at_s: u64| Sending {
                at_ns: at_s * 1_000_000_000,
                request: 0,
            };
            let mut plan = Plan::new("http://10.0.0.1/").unwrap();
            plan.schedule = Schedule::Trace {
                file: "log".into(),
                speed,
                passes: 1,
                requests: 10,
                seconds: 9.0,
                left_out: Default::default(),
                trace: Traced(Arc::new(Trace {
                    requests: Vec::new(),
                    sendings: (0..10).map(sending).collect(),
                    ..Trace::default()
                })),
            };
            policy.check_amount(&plan, &places(&[1]).unwrap()[0])
        };
        assert_eq!(said(4.0), Ok(()));
        let why = said(5.0).unwrap_err();
        assert!(
            why.contains("share of 5.0 requests/s is above the 4"),
            "{why}"
        );
    }

    #[test]
    fn connections_that_are_held_are_held_against_its_limits_too() {
        let policy = Policy::of(TEXT).unwrap();
        let halves = places(&[1, 1]).unwrap();
        let plan = |spoil: fn(&mut hold::Plan)| {
            let mut plan = hold::Plan::new("http://10.0.0.1/").unwrap();
            (plan.connections, plan.open_rate, plan.duration_s) = (200, 2000.0, 59.0);
            spoil(&mut plan);
            policy.check_load(&Load::Hold(plan), &halves[1])
        };
        assert_eq!(plan(|_| {}), Ok(()));
        type Change = fn(&mut hold::Plan);
        let table: [(&str, Change); 4] = [
            (
                "its share of 1001.0 heartbeats or new connections",
                |plan| {
                    plan.open_rate = 2002.0;
                },
            ),
            ("above the 1000 of its policy (rate)", |plan| {
                plan.heartbeat_s = 0.05;
            }),
            ("its share of 101 connections is above the 100", |plan| {
                plan.connections = 202;
            }),
            ("61 s are longer than the 60 s", |plan| {
                (plan.open_rate, plan.duration_s) = (200.0, 60.0);
            }),
        ];
        for (part, spoil) in table {
            let said = plan(spoil).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }

    #[test]
    fn a_file_that_says_something_else_is_refused() {
        for (text, part) in [
            ("allowed = []", "unknown field"),
            (
                "[[allow]]\nnetworks = [\"10.0.0.0/8\"]",
                "networks and ports go together",
            ),
            ("[[allow]]\nnetworks = [\"ten\"]\nports = [80]", "networks"),
            (
                "[[allow]]\nnetworks = [\"10.0.0.0/8\"]\nports = [\"9-8\"]",
                "no port and no range",
            ),
            ("[[allow]]\nunix = [\"/run/../etc\"]", "without .."),
            ("[[allow]]\nunix = [\"run/x\"]", "from / on"),
            ("[[proxy]]\nunix = [\"/run/x\"]", "over the network alone"),
            ("[limits]\nrate = \"many\"", "rate: "),
            ("[limits]\nduration = \"long\"", "duration: "),
            ("[limits]\nduration = \"0s\"", "duration: "),
            ("[limits]\nrate = nan", "rate: NaN is no limit"),
            ("[limits]\nrate = inf", "rate: inf is no limit"),
            ("[limits]\nrate = -1", "rate: -1 is no limit"),
            ("[limits]\nrate = 0", "rate: 0 is no limit"),
            ("[signed]\nby = [\"UX\"]", "is no public nkey"),
        ] {
            let said = Policy::of(text).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
