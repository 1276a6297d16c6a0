//! Who begins and who waits: the gates of upstreams, and what happens to those behind them. And
//! what another configuration does to those that are under way.

use std::sync::Arc;

use admission::gate::{Arrival, Gate, Slot};
use admission::limit::Outcome;
use admission::queue::Priority;
use measure::time::Time;
use server::{Context, Event, Response, Ticket};

use super::{Gateway, Nobodys, too_long};
use crate::metrics::Refusal;
use crate::plan::Plan;

impl Gateway {
    /// A request arrives at its upstream: it begins, or waits, or is refused.
    pub(super) fn arrive(
        &mut self,
        ticket: Ticket,
        group: usize,
        priority: Priority,
        context: &mut Context<'_>,
    ) -> Result<(), Response> {
        let now = context.now();
        let Some(gate) = &mut self.servers.groups[group].gate else {
            return self.begin(ticket, context).inspect_err(|response| {
                self.forget(ticket, response, context);
            });
        };
        match gate.arrive(priority, ticket, now) {
            Arrival::Begins(_) => {
                if let Some(passing) = self.places.of(ticket) {
                    passing.slot = Slot::Held(now);
                }
                self.begin(ticket, context).inspect_err(|response| {
                    self.forget(ticket, response, context);
                })
            }
            Arrival::Waits(other) => {
                let at = gate.expires_at(now);
                if let Some(other) = other {
                    self.refuse(other, context);
                }
                self.look_again(at, context);
                Ok(())
            }
            Arrival::Refused(_) => {
                let response = self.too_much(ticket);
                self.forget(ticket, &response, context);
                Err(response)
            }
        }
    }

    /// Sends a request to a server.
    fn begin(&mut self, ticket: Ticket, context: &mut Context<'_>) -> Result<(), Response> {
        let plan = Arc::clone(&self.plan);
        let Some(passing) = self.places.of(ticket) else {
            return Ok(());
        };
        let (group, key) = (passing.group, passing.key);
        let unusable = || Response::sentence(503, "no server of this upstream is available\n");
        let chosen = self.servers.choose(&plan, group, (key, &[]), context.now());
        let at = chosen.ok_or_else(unusable)?;
        let (Some(passing), Some(server)) = (self.places.of(ticket), self.servers.at(at)) else {
            return Err(unusable());
        };
        let request = match passing.attempts {
            0 => passing.again.take(),
            _ => passing.again.clone(),
        };
        let asked = request.map(|request| context.ask_for(ticket, server.handle, *request));
        let Some(Ok(exchange)) = asked else {
            return Err(Response::sentence(400, "this request can't be passed on\n"));
        };
        server.in_flight += 1;
        passing.exchange = Some(exchange);
        passing.server = at;
        passing.tried.clear();
        passing.heard = context.now();
        if !passing.early.is_empty() {
            passing.again = None;
            context.ask_send(exchange, &std::mem::take(&mut passing.early));
        }
        if passing.ended {
            context.ask_end(exchange);
        }
        Ok(())
    }

    /// What the client of a request does that waits for its turn.
    pub(super) fn meanwhile(
        &mut self,
        ticket: Ticket,
        event: Event<'_>,
        context: &mut Context<'_>,
    ) {
        let limit = self.plan.config.limits.body_bytes;
        let Some(passing) = self.places.of(ticket) else {
            return;
        };
        match event {
            // Its body is paused: this was on its way.
            Event::Data(bytes) => {
                passing.body_began = true;
                passing.body_bytes += bytes.len() as u64;
                passing.early.extend_from_slice(bytes);
                if passing.body_bytes <= limit {
                    return self.copy_piece(ticket, bytes, context);
                }
                passing.answered_by_us(&too_long());
                context.complete(ticket, too_long());
            }
            Event::End => {
                passing.ended = true;
                if let Some(copied) = passing.mirror.take() {
                    context.ask_end(copied.exchange);
                }
                return;
            }
            Event::PeerEnded => context.abort(ticket),
            Event::Closed => {}
            _ => return,
        }
        let group = self.group_of(ticket);
        if let Some(gate) = group.and_then(|group| self.servers.groups[group].gate.as_mut()) {
            gate.remove(|one| *one == ticket, context.now());
        }
        self.finish(ticket, context);
        self.admit_all(context);
    }

    /// The place of the upstream of a request, if the plan has it.
    fn group_of(&mut self, ticket: Ticket) -> Option<usize> {
        let generation = self.generation;
        let passing = self.places.of(ticket)?;
        (passing.generation == generation).then_some(passing.group)
    }

    /// A request waits for its client to send more: it takes up no room meanwhile, so that slow
    /// clients don't keep out those that the upstream could answer.
    pub(super) fn lend(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let Some((gate, slot)) = self.slot_of(ticket) else {
            return;
        };
        gate.lend(slot);
        if gate.waiting() > 0 {
            // Not at once: what of its body has come by now is read in this turn, and may be all.
            self.look_again(Some(context.now()), context);
        }
    }

    /// All of a request has come: from now on its upstream is waited for.
    pub(super) fn take_back(&mut self, ticket: Ticket, now: Time) {
        if let Some((gate, slot)) = self.slot_of(ticket) {
            gate.take_back(slot, now);
        }
    }

    /// A request takes up no room any more.
    pub(super) fn leave(&mut self, ticket: Ticket, outcome: Outcome, now: Time) {
        let Some((gate, slot)) = self.slot_of(ticket) else {
            return;
        };
        gate.end(slot, now, outcome);
        let group = self.group_of(ticket);
        self.freed.extend(group);
    }

    /// The gate that has let a request in, and the room that it takes up there.
    fn slot_of(&mut self, ticket: Ticket) -> Option<(&mut Gate<Ticket>, &mut Slot)> {
        let passing = self.places.of(ticket)?;
        if passing.slot == Slot::None {
            return None;
        }
        let gate = self.servers.groups[passing.group].gate.as_mut();
        Some((gate?, &mut passing.slot))
    }

    /// Has those begin that may since others have ended.
    #[inline]
    pub(super) fn admit_all(&mut self, context: &mut Context<'_>) {
        while let Some(group) = self.freed.pop() {
            self.admit(group, context);
        }
    }

    /// Looks at everybody who waits, if it's time.
    pub(super) fn admit_those_that_wait(&mut self, context: &mut Context<'_>) {
        if context.now() < self.next_look {
            return;
        }
        self.next_look = Time::NEVER;
        for group in 0..self.servers.groups.len() {
            self.admit(group, context);
        }
        self.admit_all(context);
    }

    fn admit(&mut self, group: usize, context: &mut Context<'_>) {
        let now = context.now();
        loop {
            let Some(gate) = self
                .servers
                .groups
                .get_mut(group)
                .and_then(|one| one.gate.as_mut())
            else {
                return;
            };
            if let Some(late) = gate.expired(now) {
                self.refuse(late, context);
                continue;
            }
            let Some(next) = gate.next(now) else {
                let at = gate.expires_at(now);
                return self.look_again(at, context);
            };
            if let Some(passing) = self.places.of(next) {
                passing.slot = Slot::Held(now);
            }
            if let Err(response) = self.begin(next, context) {
                self.answer(next, response, context);
            }
        }
    }

    /// Has those that wait looked at again then.
    fn look_again(&mut self, at: Option<Time>, context: &mut Context<'_>) {
        if let Some(at) = at
            && at < self.next_look
        {
            self.next_look = at;
            context.wake_at(at, self.nobody);
        }
    }

    /// Refuses a request that waited.
    fn refuse(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let response = self.too_much(ticket);
        self.answer(ticket, response, context);
    }

    /// Answers a request that has not begun, which is over then.
    pub(super) fn answer(&mut self, ticket: Ticket, response: Response, context: &mut Context<'_>) {
        if let Some(passing) = self.places.of(ticket) {
            passing.answered_by_us(&response);
        }
        context.complete(ticket, response);
        self.finish(ticket, context);
    }

    fn too_much(&mut self, ticket: Ticket) -> Response {
        let route = self.places.of(ticket).and_then(|passing| passing.route);
        if let Some(route) = route {
            self.figures.refused(route, Refusal::Overload);
        }
        let text = "too many requests are in progress; try again later\n";
        let response = Response::sentence(503, text);
        response.with_field("Retry-After", "1")
    }

    /// A request that has not begun is over, with this answer.
    pub(super) fn forget(
        &mut self,
        ticket: Ticket,
        response: &Response,
        context: &mut Context<'_>,
    ) {
        if let Some(passing) = self.places.of(ticket) {
            passing.answered_by_us(response);
        }
        self.finish(ticket, context);
    }

    /// Takes up another plan. What is under way moves along where the plan still has its upstream.
    #[cold]
    pub(super) fn adopt(&mut self, generation: u64, context: &mut Context<'_>) {
        let before = std::mem::replace(&mut self.plan, self.shared.plans.current());
        let old = std::mem::replace(&mut self.generation, generation);
        self.figures = self.shared.metrics.figures(self.worker, &self.plan.config);
        let moved = self.servers.adopt(&self.plan, context);
        let now = context.now();
        self.servers.show(&self.figures, self.stopping, now);
        self.adopt_tokens(&before);
        let routes = before.config.routes.iter();
        let now = &self.plan.config.routes;
        let routes: Vec<Option<usize>> = routes
            .map(|route| now.iter().position(|one| one.name == route.name))
            .collect();
        let (mut to_begin, mut to_end) = (Vec::new(), Vec::new());
        for passing in self.places.iter_mut() {
            let was = passing.route.map(|was| &before.config.routes[was]);
            passing.route = passing.route.and_then(|route| *routes.get(route)?);
            if passing.awaits {
                // What it's held to, or what was taken out of it, may be something else now.
                let next = &self.plan.config;
                let pair = was.zip(passing.route.map(|is| &now[is]));
                let same = pair.is_some_and(|(was, is)| before.config.waits_alike(was, next, is));
                to_end.extend((!same).then_some(passing.ticket));
            }
            if passing.generation != old {
                continue;
            }
            let waits = passing.exchange.is_none() && !passing.awaits;
            match moved.get(passing.group).and_then(Option::as_ref) {
                Some(moved) => {
                    // The number of a server that it has no more may become another's.
                    let are = &self.servers.groups[moved.to].servers;
                    passing.tried.retain(|at| are.contains(at));
                    passing.group = moved.to;
                    passing.generation = generation;
                    if moved.other_gate {
                        passing.slot = Slot::None;
                        to_begin.extend(waits.then_some(passing.ticket));
                    }
                }
                None => {
                    passing.slot = Slot::None;
                    to_end.extend(waits.then_some(passing.ticket));
                }
            }
        }
        for nobodys in self.nobodys.values_mut() {
            if let Nobodys::Copy {
                group,
                generation: of,
                ..
            } = nobodys
                && *of == old
                && let Some(moved) = moved.get(*group).and_then(Option::as_ref)
            {
                *group = moved.to;
                *of = generation;
            }
        }
        for ticket in to_begin {
            if let Err(response) = self.begin(ticket, context) {
                self.answer(ticket, response, context);
            }
        }
        for ticket in to_end {
            let text = "the configuration changed while this request waited; try again\n";
            let response = Response::sentence(503, text);
            self.answer(ticket, response.with_field("Retry-After", "1"), context);
        }
    }

    /// Begins anew with tokens, unless they're the same as in the plan before: where only names of
    /// servers lead elsewhere, nothing is to be learned about them.
    fn adopt_tokens(&mut self, before: &Plan) {
        let (were, are) = (&before.config.tokens, &self.plan.config.tokens);
        let mut pairs = were.iter().zip(are);
        let same = were.len() == are.len() && pairs.all(|(was, is)| Arc::ptr_eq(was, is));
        if !same || self.checkers.len() != are.len() {
            self.checkers = self.checkers_of(before, &self.plan);
            // Keys that were on their way are asked for again by those who need them.
            self.nobodys
                .retain(|_, what| !matches!(what, Nobodys::Keys(_)));
        }
    }
}
