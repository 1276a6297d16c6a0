//! What is counted of each server of each upstream, and how it is as workers find it. Each worker
//! has an opinion of its own, which it takes back when it begins to end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::{add, kind, label, line};
use crate::config::Config;
use crate::health::State;

/// What servers are, as workers find: in the order of [`State`].
const STATES: [&str; 3] = ["up", "unhealthy", "ejected"];

/// What came of checks, and of requests.
const OUTCOMES: [(&str, [&str; 2]); 2] = [
    ("server_checks_total", ["healthy", "unhealthy"]),
    ("server_requests_total", ["ok", "failed"]),
];

const CHECKS: usize = 0;
const REQUESTS: usize = 1;

/// The figures of a server.
#[derive(Debug, Default)]
pub(super) struct OfServer {
    /// What it is, counted from 1; 0 while its worker doesn't say.
    state: AtomicU64,
    /// In the order of [`OUTCOMES`].
    outcomes: [[AtomicU64; 2]; 2],
}

/// The place of a server: that of its upstream, and its own there.
pub(crate) type Place = (usize, usize);

impl super::Figures {
    /// How a server is, or that this worker has no opinion any more.
    pub(crate) fn server_is(&self, (upstream, place): Place, state: Option<State>) {
        let number = state.map_or(0, |state| state as u64 + 1);
        self.servers[upstream][place].state.store(number, Relaxed);
    }

    /// A check of a server has ended.
    pub(crate) fn checked(&self, (upstream, place): Place, healthy: bool) {
        let outcomes = &self.servers[upstream][place].outcomes[CHECKS];
        add(&outcomes[usize::from(!healthy)], 1);
    }

    /// A server did what a request asked of it, or failed.
    pub(crate) fn judged(&self, (upstream, place): Place, ok: bool) {
        let outcomes = &self.servers[upstream][place].outcomes[REQUESTS];
        add(&outcomes[usize::from(!ok)], 1);
    }

    /// Takes back what it says of servers: another configuration follows.
    pub(super) fn withdraw(&self) {
        let servers = self.servers.iter().flatten();
        servers.for_each(|one| one.state.store(0, Relaxed));
    }
}

/// The figures of all servers, by the names of their upstreams and by their addresses.
#[derive(Clone, Debug, Default)]
pub(super) struct Servers(BTreeMap<(String, String), Sum>);

#[derive(Clone, Debug, Default)]
struct Sum {
    /// For how many workers it is what, in the order of [`STATES`].
    states: [u64; STATES.len()],
    outcomes: [[u64; 2]; 2],
}

impl Servers {
    pub(super) fn add(&mut self, config: &Config, figures: &super::Figures) {
        for (upstream, figures) in config.upstreams.iter().zip(&figures.servers) {
            for (server, figures) in upstream.servers.iter().zip(figures) {
                let name = (upstream.name.clone(), server.address.to_string());
                let sum = self.0.entry(name).or_default();
                if let Some(state) = figures.state.load(Relaxed).checked_sub(1) {
                    sum.states[state as usize] += 1;
                }
                let outcomes = sum.outcomes.iter_mut().flatten();
                let pairs = outcomes.zip(figures.outcomes.iter().flatten());
                pairs.for_each(|(sum, figure)| *sum += figure.load(Relaxed));
            }
        }
    }

    /// Forgets those that none of these configurations has: names lead to ever new addresses.
    pub(super) fn keep<'a>(&mut self, configs: impl Iterator<Item = &'a Config>) {
        let upstreams = configs.flat_map(|config| &config.upstreams);
        let servers = upstreams.flat_map(|upstream| {
            let servers = upstream.servers.iter();
            servers.map(move |one| (upstream.name.clone(), one.address.to_string()))
        });
        let here: BTreeSet<_> = servers.collect();
        self.0.retain(|name, _| here.contains(name));
    }

    pub(super) fn write(&self, text: &mut String) {
        let labels = |(upstream, server): &(String, String)| {
            format!(
                "upstream=\"{}\",server=\"{}\"",
                label(upstream),
                label(server)
            )
        };
        let named: Vec<_> = self
            .0
            .iter()
            .map(|(name, sum)| (labels(name), sum))
            .collect();
        let known = named.iter().filter(|(_, sum)| sum.states != [0; 3]);
        // A master of several processes takes the least of what they say.
        text.push_str("# LEAST ringside_gateway_server_up\n");
        kind(text, "server_up", "gauge");
        for (name, sum) in known.clone() {
            let up = sum.states[1..].iter().all(|workers| *workers == 0);
            line(text, "server_up", name, u64::from(up));
        }
        kind(text, "server_workers", "gauge");
        for (name, sum) in known {
            for (state, workers) in STATES.iter().zip(sum.states) {
                let labels = format!("{name},state=\"{state}\"");
                line(text, "server_workers", &labels, workers);
            }
        }
        for (at, (metric, outcomes)) in OUTCOMES.iter().enumerate() {
            kind(text, metric, "counter");
            for (name, sum) in &named {
                for (outcome, figure) in outcomes.iter().zip(sum.outcomes[at]) {
                    let labels = format!("{name},outcome=\"{outcome}\"");
                    line(text, metric, &labels, figure);
                }
            }
        }
    }
}
