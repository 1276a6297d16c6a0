//! The servers that a worker knows, and which of them each upstream of the plan has. A server stays
//! the same across plans while its address and its settings do: with its connections, and with what
//! is known of its health.

use admission::gate::{self, Gate};
use measure::time::Time;
use server::upstream::{self, Exchange, Upstream};
use server::{Address, Context, Ticket};

use crate::balance::{Balancer, Candidate};
use crate::config;
use crate::health::Condition;
use crate::metrics::{Figures, Place};
use crate::plan::Plan;

/// A server as a worker knows it.
#[derive(Debug)]
pub(super) struct Server {
    address: Address,
    tls: Option<config::Tls>,
    settings: (upstream::Protocol, upstream::Limits, upstream::Timeouts),
    /// By the name of its upstream: the same server of two upstreams is two.
    of: String,
    pub(super) handle: Upstream,
    pub(super) condition: Condition,
    pub(super) in_flight: u32,
    /// When it's asked next whether it's healthy, and what is asked now, since when.
    pub(super) check_due: Time,
    pub(super) check: Option<(Exchange, Time)>,
    /// Where the plan has it.
    pub(super) place: Option<Place>,
    /// No plan has it any more.
    retired: bool,
}

/// An upstream of the plan.
#[derive(Debug)]
pub(super) struct Group {
    name: String,
    /// Its servers, among all.
    pub(super) servers: Vec<usize>,
    balancer: Balancer,
    /// Requests under way, and those among them that are sent again.
    pub(super) active: u32,
    pub(super) retrying: u32,
    /// Copies under way.
    pub(super) copies: u32,
    /// Who waits, if not all are let in at once.
    pub(super) gate: Option<Gate<Ticket>>,
    rule: Option<gate::Settings>,
}

/// Where an upstream of the plan before is in this one.
#[derive(Clone, Debug)]
pub(super) struct Moved {
    pub(super) to: usize,
    /// Those that its gate has let in, or has wait, are none of the gate that it has now.
    pub(super) other_gate: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Servers {
    all: Vec<Option<Server>>,
    pub(super) groups: Vec<Group>,
    /// Memory for choices.
    candidates: Vec<Candidate>,
}

impl Servers {
    /// Takes up another plan. Returns, by what was the place of an upstream, where it is now; and
    /// whether its gate is another one.
    pub(super) fn adopt(&mut self, plan: &Plan, context: &mut Context<'_>) -> Vec<Option<Moved>> {
        for server in self.all.iter_mut().flatten() {
            server.retired = true;
            server.place = None;
        }
        let old = std::mem::take(&mut self.groups);
        let mut moved = vec![None; old.len()];
        let mut old: Vec<Option<Group>> = old.into_iter().map(Some).collect();
        for (at, upstream) in plan.config.upstreams.iter().enumerate() {
            let servers = upstream.servers.iter();
            let servers = servers.map(|server| self.place(upstream, server, context));
            let servers: Vec<usize> = servers.collect();
            for (place, index) in servers.iter().enumerate() {
                if let Some(server) = &mut self.all[*index] {
                    server.place = Some((at, place));
                }
            }
            let same = |one: &Option<Group>| one.as_ref().is_some_and(|g| g.name == upstream.name);
            let was = old.iter().position(same);
            let mut group = was
                .and_then(|was| old[was].take())
                .unwrap_or_else(|| Group {
                    name: upstream.name.clone(),
                    servers: Vec::new(),
                    balancer: Balancer::default(),
                    active: 0,
                    retrying: 0,
                    copies: 0,
                    gate: None,
                    rule: None,
                });
            group.servers = servers;
            let other_gate = group.rule != upstream.overload;
            if other_gate {
                group.rule = upstream.overload;
                group.gate = group.rule.map(|rule| Gate::new(rule, context.now()));
            }
            if let Some(was) = was {
                moved[was] = Some(Moved { to: at, other_gate });
            }
            self.groups.push(group);
        }
        self.sweep(context);
        moved
    }

    /// The place of a server that a plan has, which may be known.
    fn place(
        &mut self,
        upstream: &config::Upstream,
        written: &config::Server,
        context: &mut Context<'_>,
    ) -> usize {
        let config::Server { address, tls, .. } = written;
        let settings = (upstream.protocol, upstream.limits, upstream.timeouts);
        let is_it = |server: &Server| {
            let is_there = (&server.address, &server.tls) == (address, tls);
            is_there && (&server.settings, &server.of) == (&settings, &upstream.name)
        };
        let known = |server: &Option<Server>| server.as_ref().is_some_and(is_it);
        if let Some(at) = self.all.iter().position(known)
            && let Some(server) = &mut self.all[at]
        {
            server.retired = false;
            return at;
        }
        let place = upstream::Place {
            address: address.clone(),
            secure: tls.as_ref().map(|tls| tls.secure.clone()),
        };
        let behind = upstream::Config::new([place])
            .with_protocol(upstream.protocol)
            .with_limits(upstream.limits)
            .with_timeouts(upstream.timeouts);
        let handle = match context.upstream(behind) {
            Ok(handle) => handle,
            // It has one address, and the configuration allows connections and streams.
            Err(misuse) => unreachable!("a checked configuration: {misuse}"),
        };
        let server = Server {
            address: address.clone(),
            tls: tls.clone(),
            settings,
            of: upstream.name.clone(),
            handle,
            condition: Condition::default(),
            in_flight: 0,
            check_due: context.now(),
            check: None,
            place: None,
            retired: false,
        };
        match self.all.iter().position(Option::is_none) {
            Some(at) => {
                self.all[at] = Some(server);
                at
            }
            None => {
                self.all.push(Some(server));
                self.all.len() - 1
            }
        }
    }

    /// Does without servers that no plan has, once nothing is under way there: those that wait for
    /// a connection would fail.
    pub(super) fn sweep(&mut self, context: &mut Context<'_>) {
        for place in &mut self.all {
            if let Some(server) = place
                && server.retired
                && server.in_flight == 0
                && server.check.is_none()
            {
                context.remove_upstream(server.handle);
                *place = None;
            }
        }
    }

    /// Tells operators how servers are, or no more if this worker ends: it asks nobody then.
    pub(super) fn show(&self, figures: &Figures, ends: bool, now: Time) {
        for server in self.all.iter().flatten() {
            if let Some(place) = server.place {
                let state = (!ends).then(|| server.condition.state(now));
                figures.server_is(place, state);
            }
        }
    }

    /// A server.
    pub(super) fn at(&mut self, at: usize) -> Option<&mut Server> {
        self.all.get_mut(at)?.as_mut()
    }

    /// Chooses a server of an upstream, by its place among all. None of those that were tried is
    /// chosen again.
    pub(super) fn choose(
        &mut self,
        plan: &Plan,
        group: usize,
        (key, tried): (u64, &[usize]),
        now: Time,
    ) -> Option<usize> {
        let upstream = &plan.config.upstreams[group];
        let Servers {
            all,
            groups,
            candidates,
        } = self;
        let group_state = &mut groups[group];
        candidates.clear();
        let (mut usable, mut all_of_them) = (0u32, 0u32);
        for (&at, written) in group_state.servers.iter().zip(&upstream.servers) {
            let candidate = candidate(all[at].as_ref(), written.weight, now);
            if candidate.weight > 0 {
                all_of_them += 1;
                usable += u32::from(candidate.usable);
            }
            candidates.push(candidate);
        }
        let enough = upstream.outlier.panic_threshold * f64::from(all_of_them);
        let panics = usable == 0 || f64::from(usable) < enough;
        for (candidate, at) in candidates.iter_mut().zip(&group_state.servers) {
            candidate.usable = (candidate.usable || panics) && !tried.contains(at);
        }
        let maglev = plan.maglevs[group].as_ref();
        let balancer = &mut group_state.balancer;
        let at = balancer.choose(&upstream.balance, candidates, maglev, key)?;
        Some(group_state.servers[at])
    }
}

impl Server {
    /// What it's called in messages.
    pub(super) fn name(&self) -> String {
        format!("{} of upstream {}", self.address, self.of)
    }
}

/// A server as the choice sees it. One that there isn't keeps its place among them and gets
/// nothing, not even where all are bad: what is chosen is a place.
fn candidate(server: Option<&Server>, weight: u32, now: Time) -> Candidate {
    let Some(server) = server else {
        return Candidate {
            weight: 0,
            in_flight: 0,
            usable: false,
        };
    };
    Candidate {
        weight,
        in_flight: server.in_flight,
        usable: server.condition.is_usable(now),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Balance;

    #[test]
    fn a_server_that_there_is_not_shifts_no_place_and_gets_nothing() {
        let there = Candidate {
            weight: 1,
            in_flight: 9,
            usable: true,
        };
        let mut missing = candidate(None, 5, Time(1));
        assert!(!missing.usable);
        missing.usable = true; // As if all were bad.
        for how in [Balance::RoundRobin, Balance::LeastRequests] {
            let chosen = Balancer::default().choose(&how, &[missing, there], None, 0);
            assert_eq!(chosen, Some(1), "{how:?}");
        }
    }
}
