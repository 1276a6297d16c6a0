//! What is counted of each server of each upstream, and how it is as workers find it. Each worker
//! has an opinion of its own, which it takes back when it begins to end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use exposition::{Family, Samples, Tags};

use super::{add, label};
use crate::config::Config;
use crate::health::State;

/// What servers are, as workers find: in the order of [`State`].
const STATES: [&str; 3] = ["up", "unhealthy", "ejected"];

/// What came of checks, and of requests.
const OUTCOMES: [(&str, &str, [&str; 2]); 2] = [
    (
        "ringside_gateway_server_checks_total",
        "Health checks of a server that ended.",
        ["healthy", "unhealthy"],
    ),
    (
        "ringside_gateway_server_requests_total",
        "Requests that a server was sent, by what came of them.",
        ["ok", "failed"],
    ),
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

    pub(super) fn families(&self) -> Vec<Family> {
        let all = || self.0.iter().map(|(name, sum)| (tags(name), sum));
        let known = || all().filter(|(_, sum)| sum.states != [0; STATES.len()]);
        let up = known().map(|(tags, sum)| {
            let is_up = sum.states[1..].iter().all(|workers| *workers == 0);
            (tags, f64::from(u8::from(is_up)))
        });
        let workers = known().flat_map(|(tags, sum)| each(tags, "state", STATES, sum.states));
        let mut families = vec![
            Family {
                name: "ringside_gateway_server_up",
                help: "Whether all workers find a server up.",
                samples: Samples::LeastGauges(up.collect()),
            },
            Family::gauges(
                "ringside_gateway_server_workers",
                "How many workers find a server to be so.",
                workers,
            ),
        ];
        families.extend(
            OUTCOMES
                .iter()
                .enumerate()
                .map(|(at, (name, help, words))| {
                    let samples = all()
                        .flat_map(|(tags, sum)| each(tags, "outcome", *words, sum.outcomes[at]));
                    Family::counters(name, help, samples)
                }),
        );
        families
    }
}

/// The labels of a server.
fn tags((upstream, server): &(String, String)) -> Tags {
    vec![("upstream", label(upstream)), ("server", label(server))]
}

/// A sample for each of these words.
fn each<const N: usize>(
    tags: Tags,
    name: &'static str,
    words: [&'static str; N],
    figures: [u64; N],
) -> impl Iterator<Item = (Tags, u64)> {
    words.into_iter().zip(figures).map(move |(word, figure)| {
        let mut tags = tags.clone();
        tags.push((name, word.to_owned()));
        (tags, figure)
    })
}
