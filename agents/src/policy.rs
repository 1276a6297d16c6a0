//! What the owner of a machine lets its agent do: which addresses it may load, how much, and for
//! whom.
//!
//! The file stands on the agent's machine, because a list that the author of a load writes
//! restrains nobody. Without one an agent loads nothing. Addresses are those that names were
//! resolved to, and are asked about again where the load connects.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use fleet::RunId;
use fleet::division::Place;
use fleet::message::DataFile;
use ipnet::IpNet;
use load::Plan;
use load::hold;
use load::plan::Permits;
use load::schedule::Schedule;
use measure::units::{parse_duration, parse_rate};
use serde::Deserialize;

use crate::signed::{self, Wanted};
use crate::task::Load;

/// The policy of agents that are started by whoever asks for the load, on the machine that could
/// send it alone, too.
pub(crate) const ANYTHING: &str = "\
scripts = true

[[allow]]
networks = [\"0.0.0.0/0\", \"::/0\"]
ports = [\"0-65535\"]
";

const THROUGH_PROXY: &str = "a load through a proxy may go anywhere: agents refuse it";

/// See the module.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Policy {
    allow: Vec<Allow>,
    limits: Limits,
    signed: Wanted,
    scripts: bool,
}

/// Addresses that may be loaded.
#[derive(Clone, Debug, PartialEq)]
struct Allow {
    networks: Vec<IpNet>,
    ports: Vec<RangeInclusive<u16>>,
}

/// How much this agent may do at most.
#[derive(Clone, Debug, Default, PartialEq)]
struct Limits {
    /// Requests per second.
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
    networks: Vec<IpNet>,
    ports: Vec<WrittenPorts>,
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
        let allow = written.allow.into_iter().map(|allow| {
            let ports = allow.ports.iter().map(ports);
            Ok(Allow {
                networks: allow.networks,
                ports: ports.collect::<Result<_, String>>()?,
            })
        });
        let limits = &written.limits;
        let rate = limits.rate.as_ref().map(|rate| match rate {
            WrittenRate::Number(rate) => Ok(*rate),
            WrittenRate::Text(text) => parse_rate(text).map_err(|why| format!("rate: {why}")),
        });
        let duration = limits
            .duration
            .as_deref()
            .map(|text| parse_duration(text).map_err(|why| format!("duration: {why}")));
        Ok(Policy {
            allow: allow.collect::<Result<_, String>>()?,
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

    /// Whether an address may be loaded.
    ///
    /// # Errors
    /// A sentence that names the rule.
    pub fn check_address(&self, address: SocketAddr) -> Result<(), String> {
        let (ip, port) = (address.ip().to_canonical(), address.port());
        let matches = |allow: &Allow| {
            let networks = allow.networks.iter().any(|net| net.contains(&ip));
            networks && allow.ports.iter().any(|ports| ports.contains(&port))
        };
        match self.allow.iter().any(matches) {
            true => Ok(()),
            false if self.allow.is_empty() => Err(format!(
                "{address} may not be loaded: this agent's policy allows no address; add one under \
                 [[allow]] on its machine"
            )),
            false => Err(format!(
                "{address} may not be loaded: it matches no [[allow]] of this agent's policy"
            )),
        }
    }

    /// The same, for whoever connects.
    pub fn permits(&self) -> Permits {
        let policy = Arc::new(self.clone());
        Permits::only(move |address| policy.check_address(address))
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
            Load::Hold(plan) => self.check_held(plan, place),
        }
    }

    /// Whether it may hold so many connections. What counts as its requests are heartbeats, or
    /// attempts to connect where those are more.
    fn check_held(&self, plan: &hold::Plan, place: &Place) -> Result<(), String> {
        if plan.proxy.is_some() {
            return Err(THROUGH_PROXY.to_owned());
        }
        let connections = place.part(plan.connections.into());
        let beats = connections as f64 / plan.heartbeat_s;
        let rate = beats.max(plan.open_rate * place.fraction());
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

    /// Whether an agent may do so much that has all of these places.
    ///
    /// # Errors
    /// As for [`Policy::check_amount`].
    pub(crate) fn check_amounts(&self, plan: &Plan, places: &[Place]) -> Result<(), String> {
        if plan.proxy.is_some() {
            return Err(THROUGH_PROXY.to_owned());
        }
        if let Some(limit) = self.limits.rate {
            let Some(rate) = peak_rate(&plan.schedule) else {
                return Err(format!(
                    "this agent's policy limits it to {limit} requests/s, and a closed loop has no \
                     rate: set one with -R"
                ));
            };
            let share = rate * places.iter().map(Place::fraction).sum::<f64>();
            if share > limit {
                return Err(format!(
                    "its share of {share:.1} requests/s is above the {limit} of its policy (rate)"
                ));
            }
        }
        let parts = places.iter();
        let parts: u64 = parts.map(|place| place.part(plan.connections.into())).sum();
        self.check_connections(parts.saturating_mul(plan.origins() as u64))?;
        let length_s = plan.schedule.length_s().or(plan.duration_s);
        self.check_length(length_s.map(|length_s| length_s + plan.warm_up_s))
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

/// The highest rate of a schedule; none in a closed loop.
fn peak_rate(schedule: &Schedule) -> Option<f64> {
    match schedule {
        // Agents have no requests of a replay; it has as many at once as its file says.
        Schedule::Closed | Schedule::Trace { .. } => None,
        Schedule::Constant { rate } | Schedule::Poisson { rate } => Some(*rate),
        Schedule::Stages { stages, .. } => {
            let rates = stages.iter().map(|stage| stage.from.max(stage.to));
            rates.reduce(f64::max)
        }
    }
}

#[cfg(test)]
mod tests {
    use fleet::division::places;

    use super::*;

    type Spoil = fn(&mut Plan);

    const TEXT: &str = r#"
[[allow]]
networks = ["10.0.0.0/8", "fd00::/8"]
ports = [80, "8000-8999"]

[[allow]]
networks = ["127.0.0.1/32"]
ports = ["1-65535"]

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
        let nothing = Policy::default().check_address("127.0.0.1:80".parse().unwrap());
        assert!(nothing.unwrap_err().contains("allows no address"));
        let anything = Policy::of(ANYTHING).unwrap();
        for address in ["127.0.0.1:80", "[::1]:80", "192.0.2.1:65535"] {
            anything.check_address(address.parse().unwrap()).unwrap();
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
        let table: [(&str, Spoil); 6] = [
            ("above the 1000 of its policy (rate)", |plan| {
                plan.schedule = Schedule::Constant { rate: 2002.0 };
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
            ("through a proxy", |plan| {
                let proxy = load::plan::Proxy::parse("x:1", &plan.redaction);
                plan.proxy = proxy.ok();
            }),
        ];
        for (part, spoil) in table {
            let said = plan(spoil).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
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
        let table: [(&str, fn(&mut hold::Plan)); 4] = [
            ("its share of 1001.0 heartbeats or new connections", |plan| {
                plan.open_rate = 2002.0;
            }),
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
                "missing field `ports`",
            ),
            ("[[allow]]\nnetworks = [\"ten\"]\nports = [80]", "networks"),
            (
                "[[allow]]\nnetworks = []\nports = [\"9-8\"]",
                "no port and no range",
            ),
            ("[limits]\nrate = \"many\"", "rate: "),
            ("[limits]\nduration = \"long\"", "duration: "),
            ("[signed]\nby = [\"UX\"]", "is no public nkey"),
        ] {
            let said = Policy::of(text).unwrap_err();
            assert!(said.contains(part), "{said}");
        }
    }
}
