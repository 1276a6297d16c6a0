//! What upstreams do about a request: it's answered, fails, or is sent to another server.

use std::sync::Arc;

use admission::gate::Slot;
use admission::limit::Outcome;
use server::upstream::{Error, Event, Head, Kind};
use server::{Context, Response, Ticket};

use super::Gateway;
use super::fields;
use crate::metrics::Happened;

/// The answer waits once so many of its bytes are on their way to the client.
const AHEAD_BYTES: usize = 256 * 1024;

impl Gateway {
    /// Something happened to the exchange that the request of `ticket` is about.
    pub(super) fn heard(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let Some(passing) = self.places.of(ticket) else {
            return;
        };
        match event {
            Event::Head(head) => self.head(ticket, head, context),
            Event::Data(bytes) => {
                context.send(ticket, bytes);
                passing.answer_bytes += bytes.len() as u64;
                passing.heard = context.now();
                passing.ahead_bytes += bytes.len();
                if passing.ahead_bytes >= AHEAD_BYTES && !passing.paused {
                    passing.paused = true;
                    if let Some(exchange) = passing.exchange {
                        context.ask_pause(exchange); // Until the client has taken that.
                    }
                }
            }
            Event::Trailers(trailers) => passing.trailers = fields::trailers(trailers),
            Event::Writable => {
                context.resume(ticket);
                if !passing.ended {
                    self.lend(ticket, context);
                }
            }
            Event::End => {
                let trailers = std::mem::take(&mut passing.trailers);
                context.end_with(ticket, trailers);
                self.finish(ticket, context);
            }
            Event::Failed(error) => self.failed(ticket, error, context),
            _ => {}
        }
    }

    fn head(&mut self, ticket: Ticket, head: Head<'_>, context: &mut Context<'_>) {
        let status = head.status();
        let Some((group, server)) = self.of_plan(ticket) else {
            return;
        };
        self.judge(group, server, status < 500, context);
        let retried = group.is_some_and(|group| {
            let upstream = &self.plan.config.upstreams[group];
            upstream.retry.statuses.contains(&status)
        });
        let again = Again::Answered;
        if retried && self.is_idempotent(ticket) && self.send_again(ticket, again, context) {
            return;
        }
        let outcome = match status {
            // What a server says that has too much to do (RFC 9110 §15.6.4).
            503 => Outcome::Overloaded,
            _ => Outcome::Answered,
        };
        self.leave(ticket, outcome, context.now());
        if let Some(passing) = self.places.of(ticket) {
            passing.answered = true;
            passing.status = status;
            passing.again = None;
            passing.heard = context.now();
            context.complete(ticket, head.forward());
        }
    }

    fn failed(&mut self, ticket: Ticket, error: Error, context: &mut Context<'_>) {
        let Some((group, server)) = self.of_plan(ticket) else {
            return;
        };
        if is_the_servers(error.kind()) {
            self.judge(group, server, false, context);
        }
        let helps = error.may_be_repeated() && another_may_help(error.kind());
        let again = match error.kind() {
            Kind::Declined => Again::Declined,
            _ => Again::Failed,
        };
        if helps && self.send_again(ticket, again, context) {
            return;
        }
        let outcome = match error.kind() {
            Kind::HeadTimeout | Kind::ConnectTimeout | Kind::Deadline | Kind::Full => {
                Outcome::Overloaded
            }
            _ => Outcome::Void,
        };
        self.leave(ticket, outcome, context.now());
        match error.answered() {
            true => context.abort(ticket), // The client sees that the answer isn't whole.
            false => {
                let status = error.kind().status();
                let response = Response::sentence(status, format!("{error}\n"));
                if let Some(passing) = self.places.of(ticket)
                    && !passing.gone
                {
                    passing.answered_by_us(&response);
                }
                context.complete(ticket, response);
            }
        }
        self.finish(ticket, context);
    }

    /// The upstream of a request in the plan that is in force, if it's of that one, and the server.
    fn of_plan(&mut self, ticket: Ticket) -> Option<(Option<usize>, usize)> {
        let generation = self.generation;
        let passing = self.places.of(ticket)?;
        let group = (passing.generation == generation).then_some(passing.group);
        Some((group, passing.server))
    }

    /// Remembers whether a server did what was asked of it.
    fn judge(&mut self, group: Option<usize>, server: usize, ok: bool, context: &mut Context<'_>) {
        let (Some(group), Some(server)) = (group, self.servers.at(server)) else {
            return;
        };
        if let Some(place) = server.place {
            self.figures.judged(place, ok);
        }
        let rule = &self.plan.config.upstreams[group].outlier;
        match ok {
            true => server.condition.succeeded(rule, context.now()),
            false => {
                if server.condition.failed(rule, context.now()) {
                    self.figures.happened(group, Happened::Ejected);
                }
            }
        }
    }

    /// Whether a request that was answered may be sent once more (RFC 9110 §9.2.2).
    fn is_idempotent(&mut self, ticket: Ticket) -> bool {
        const METHODS: [&[u8]; 5] = [b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE"];
        let again = self.places.of(ticket).and_then(|one| one.again.as_ref());
        again.is_some_and(|request| METHODS.contains(&request.method()))
    }

    /// Sends a request to another server, if there is one, and as often as that is allowed.
    fn send_again(&mut self, ticket: Ticket, why: Again, context: &mut Context<'_>) -> bool {
        let plan = Arc::clone(&self.plan);
        let (Some((Some(group), before)), now) = (self.of_plan(ticket), context.now()) else {
            return false;
        };
        let budget = plan.config.upstreams[group].retry.budget;
        let Some(passing) = self.places.of(ticket) else {
            return false;
        };
        let state = &self.servers.groups[group];
        let counted = u32::from(passing.repeated);
        let allowed = may_retry(budget, state.active, state.retrying - counted);
        let may = passing.attempts > 0 && !passing.gone && !passing.body_began && allowed;
        if !may {
            return false;
        }
        passing.tried.push(passing.server);
        let tried: &[usize] = match why {
            Again::Declined => &[],
            _ => &passing.tried,
        };
        let chosen = (self.servers).choose(&plan, group, (passing.key, tried), now);
        let Some(server) = chosen else {
            return false;
        };
        passing.attempts -= 1;
        let last = passing.attempts == 0;
        let request = match last {
            true => passing.again.take(),
            false => passing.again.clone(),
        };
        let (exchange, ended) = (passing.exchange, passing.ended);
        let (Some(request), Some(state)) = (request, self.servers.at(server)) else {
            return false;
        };
        let Ok(next) = context.ask_for(ticket, state.handle, *request) else {
            return false;
        };
        state.in_flight += 1;
        if ended {
            context.ask_end(next);
        }
        self.figures.happened(group, Happened::Retried);
        if let (Again::Answered, Some(exchange)) = (why, exchange) {
            context.ask_cancel(exchange);
        }
        if let Some(server) = self.servers.at(before) {
            server.in_flight -= 1;
        }
        if let Some(passing) = self.places.of(ticket) {
            if let Slot::Held(since) = &mut passing.slot {
                *since = now; // What the server before has taken isn't this one's time.
            }
            passing.exchange = Some(next);
            passing.retries = passing.retries.saturating_add(1);
            passing.server = server;
            if !passing.repeated {
                passing.repeated = true;
                self.servers.groups[group].retrying += 1;
            }
        }
        true
    }

    /// A request is over, whatever came of it.
    pub(super) fn finish(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let now = context.now();
        self.leave(ticket, Outcome::Void, now);
        let Some(passing) = self.places.take(ticket) else {
            return;
        };
        let took = now - passing.began;
        let server = passing
            .exchange
            .and_then(|_| self.servers.at(passing.server));
        let mut name = None;
        if let Some(server) = server {
            server.in_flight -= 1;
            name = passing.entry.as_ref().map(|_| server.name());
        }
        if let Some(route) = passing.route {
            self.figures.answered(route, passing.status, took);
        }
        if let (Some(mut entry), Some(log)) = (passing.entry, &self.shared.log) {
            entry.status = passing.status;
            entry.bytes += passing.answer_bytes;
            entry.duration_us = took.as_micros() as u64;
            entry.retries = passing.retries;
            entry.upstream = name;
            log.write(entry);
        }
        if passing.generation == self.generation {
            let group = &mut self.servers.groups[passing.group];
            group.active -= 1;
            group.retrying -= u32::from(passing.repeated);
        }
        // A copy whose body stays unfinished is no use.
        if let Some(copied) = passing.mirror {
            self.drop_copy(copied.exchange, context);
        }
    }
}

/// Why a request is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Again {
    /// It was answered, by a status that isn't wanted; that answer would go on.
    Answered,
    /// It failed.
    Failed,
    /// The server did nothing for it, and may take it on another connection.
    Declined,
}

/// Whether one more request may be sent again, of so many that are under way. Three always may, so
/// that a gateway with little to do has retries, too (as Envoy's `min_retry_concurrency`).
fn may_retry(budget: f64, active: u32, retrying: u32) -> bool {
    const ALWAYS: f64 = 3.0;
    f64::from(retrying) < (f64::from(active) * budget).max(ALWAYS)
}

/// Whether a failure says something about the server, rather than about this side or the client.
fn is_the_servers(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Refused
            | Kind::Unreachable
            | Kind::Untrusted(_)
            | Kind::Handshake
            | Kind::ConnectTimeout
            | Kind::HeadTimeout
            | Kind::Closed
            | Kind::Reset(_)
            | Kind::Malformed(_)
    )
}

/// Whether another server may do better. After a timeout it would only have more to do, too: under
/// overload retries keep it going.
fn another_may_help(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Refused
            | Kind::Unreachable
            | Kind::Untrusted(_)
            | Kind::Handshake
            | Kind::ConnectTimeout
            | Kind::Closed
            | Kind::Reset(_)
            | Kind::Declined
            | Kind::Full
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retries_are_a_share_of_what_is_under_way_and_three_at_least() {
        assert!(may_retry(0.2, 1, 2) && !may_retry(0.2, 1, 3));
        assert!(may_retry(0.2, 100, 19) && !may_retry(0.2, 100, 20));
        assert!(may_retry(0.0, 100, 2) && !may_retry(0.0, 100, 3));
    }
}
