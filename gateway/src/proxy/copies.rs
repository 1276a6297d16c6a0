//! Copies of requests for mirrors: sent along, their answers thrown away. A mirror that is slow or
//! away costs the copy and nothing else.

use std::sync::Arc;

use server::upstream::{self, Event, Exchange};
use server::{Context, Ticket};

use super::passing::Copied;
use super::{Gateway, Nobodys};
use crate::metrics::Happened;
use crate::plan::Plan;

/// A copy is given up once so many bytes of its body wait for the mirror.
const AHEAD_BYTES: usize = 256 * 1024;

impl Gateway {
    /// Sends a copy of a request, if its route has a mirror and the request is one of its share.
    /// What of its body comes later is sent along.
    pub(super) fn send_copy(
        &mut self,
        plan: &Plan,
        (ticket, route): (Ticket, usize),
        has_body: bool,
        context: &mut Context<'_>,
    ) {
        let Some(request) = self.places.of(ticket).and_then(|one| one.again.clone()) else {
            return;
        };
        let copied = self.copy(plan, (ticket, route), (*request, has_body), context);
        let (Some(passing), Some(copied)) = (self.places.of(ticket), copied) else {
            return;
        };
        passing.mirror = Some(copied);
        // What came while the request waited for its user.
        let (early, ended) = (passing.early.clone(), passing.ended);
        if !early.is_empty() {
            self.copy_piece(ticket, &early, context);
        }
        if ended
            && let Some(passing) = self.places.of(ticket)
            && passing.mirror.take().is_some()
        {
            context.ask_end(copied.exchange);
        }
    }

    fn copy(
        &mut self,
        plan: &Plan,
        (ticket, route): (Ticket, usize),
        (request, has_body): (upstream::Request, bool),
        context: &mut Context<'_>,
    ) -> Option<Copied> {
        let mirror = plan.config.routes[route].mirror?;
        let copies = self.servers.groups[mirror.upstream].copies;
        if copies >= mirror.limit || !self.identities.happens(mirror.share) {
            return None;
        }
        let key = self.identities.below(u64::MAX);
        let chosen = (self.servers).choose(plan, mirror.upstream, (key, &[]), context.now());
        let handle = self.servers.at(chosen?)?.handle;
        let exchange = context.ask_for_nobody(handle, request).ok()?;
        self.servers.groups[mirror.upstream].copies += 1;
        self.figures.happened(mirror.upstream, Happened::Mirrored);
        let of = has_body.then_some(ticket);
        let copy = Nobodys::Copy {
            group: mirror.upstream,
            generation: self.generation,
            of,
            heard: None,
        };
        self.nobodys.insert(exchange, copy);
        has_body.then_some(Copied {
            exchange,
            ahead_bytes: 0,
        })
    }

    /// A piece of a body goes to the mirror, too.
    pub(super) fn copy_piece(&mut self, ticket: Ticket, bytes: &[u8], context: &mut Context<'_>) {
        let Some(passing) = self.places.of(ticket) else {
            return;
        };
        let Some(copied) = &mut passing.mirror else {
            return;
        };
        copied.ahead_bytes += bytes.len();
        let exchange = copied.exchange;
        if copied.ahead_bytes <= AHEAD_BYTES {
            return context.ask_send(exchange, bytes);
        }
        self.drop_copy(exchange, context);
    }

    /// Gives a copy up, if it's still under way.
    pub(super) fn drop_copy(&mut self, exchange: Exchange, context: &mut Context<'_>) {
        if self.forget_copy(exchange) {
            context.ask_cancel(exchange);
        }
    }

    fn forget_copy(&mut self, exchange: Exchange) -> bool {
        let Some(Nobodys::Copy {
            group,
            generation,
            of,
            ..
        }) = self.nobodys.remove(&exchange)
        else {
            return false;
        };
        if let Some(passing) = of.and_then(|ticket| self.places.of(ticket)) {
            passing.mirror = None;
        }
        if generation == self.generation {
            self.servers.groups[group].copies -= 1;
        }
        true
    }

    /// Something happened to an exchange that no client waits for.
    pub(super) fn heard_for_nobody(
        &mut self,
        exchange: Exchange,
        event: Event<'_>,
        context: &mut Context<'_>,
    ) {
        let plan = Arc::clone(&self.plan);
        if let Some(Nobodys::Copy { heard, .. }) = self.nobodys.get_mut(&exchange)
            && matches!(event, Event::Head(_) | Event::Data(_))
        {
            *heard = Some(context.now());
        }
        match self.nobodys.get(&exchange).copied() {
            Some(Nobodys::Check(server, said)) => match event {
                Event::Head(head) => {
                    // What is behind it is read, too: a server whose answer isn't may complain.
                    let heard = Nobodys::Check(server, Some(head.status()));
                    self.nobodys.insert(exchange, heard);
                }
                Event::End => {
                    let wrong = said.map_or_else(|| Some("no answer".into()), wrong_status);
                    self.checked(&plan, (exchange, server), wrong);
                }
                Event::Failed(why) => {
                    self.checked(&plan, (exchange, server), Some(why.to_string()));
                }
                _ => {}
            },
            Some(Nobodys::Keys(at)) => self.keys_came(at, exchange, event, context),
            Some(Nobodys::Copy { of, .. }) => match event {
                Event::Writable => {
                    let passing = of.and_then(|ticket| self.places.of(ticket));
                    if let Some(copied) = passing.and_then(|passing| passing.mirror.as_mut()) {
                        copied.ahead_bytes = 0;
                    }
                }
                Event::End | Event::Failed(_) => drop(self.forget_copy(exchange)),
                _ => {}
            },
            None => {}
        }
    }
}

/// What's wrong about a server whose check is answered with this status.
pub(super) fn wrong_status(status: u16) -> Option<String> {
    (!(200..400).contains(&status)).then(|| format!("it said {status}"))
}
