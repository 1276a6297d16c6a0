//! What time does: checks of servers that are due or late, answers that have fallen silent, another
//! configuration.

use std::sync::Arc;
use std::time::Duration;

use measure::time::Time;
use server::upstream::{self, Exchange};
use server::{Context, Ticket};

use super::copies::wrong_status;
use super::{Gateway, Nobodys};
use crate::plan::Plan;

/// An idle worker looks so often whether there is another configuration, and a busy one whether an
/// answer has fallen silent.
const LOOK: Duration = Duration::from_secs(1);

impl Gateway {
    /// Does what is due, and has itself called again.
    pub(super) fn tick(&mut self, context: &mut Context<'_>) {
        let plan = Arc::clone(&self.plan);
        let now = context.now();
        let mut next = now + LOOK;
        self.servers.show(&self.figures, self.stopping, now);
        if self.stopping {
            // Nobody waits for these, and the end would.
            let nobodys = self.nobodys.drain();
            nobodys.for_each(|(exchange, _)| context.ask_cancel(exchange));
            self.end_the_silent(&plan, context);
            self.next_tick = next;
            return context.wake_at(next, self.nobody);
        }
        self.wall = (now, measure::time::unix_nanoseconds());
        self.fetch_keys(&plan, context);
        self.look_at_stores(now);
        for (group, upstream) in plan.config.upstreams.iter().enumerate() {
            let Some(health) = &upstream.health else {
                continue;
            };
            for place in 0..upstream.servers.len() {
                let at = self.servers.groups[group].servers[place];
                next = next.min(self.look_at(&plan, at, health, context));
            }
        }
        self.end_the_silent(&plan, context);
        self.servers.sweep(context);
        self.next_tick = next;
        context.wake_at(next, self.nobody);
    }

    /// Says what has changed about stores of users, and why they fail.
    pub(super) fn look_at_stores(&self, now: Time) {
        let plan = &self.plan;
        let of_users = plan.users.iter().zip(&plan.said);
        for (one, (users, said)) in plan.config.users.iter().zip(of_users) {
            said.look(&one.name, users, now);
        }
    }

    /// Begins or ends a check of a server if it's time; says when to look again.
    fn look_at(
        &mut self,
        plan: &Plan,
        at: usize,
        health: &crate::config::Health,
        context: &mut Context<'_>,
    ) -> Time {
        let now = context.now();
        let Some(server) = self.servers.at(at) else {
            return Time::NEVER;
        };
        if let Some((exchange, since)) = server.check {
            let late = since + health.timeout;
            if now < late {
                return late;
            }
            context.ask_cancel(exchange);
            let wrong = match self.nobodys.get(&exchange) {
                // The rest of a long answer is nobody's concern.
                Some(Nobodys::Check(_, Some(status))) => wrong_status(*status),
                _ => Some(format!("no answer within {:?}", health.timeout)),
            };
            self.checked(plan, (exchange, at), wrong);
        }
        let Some(server) = self.servers.at(at) else {
            return Time::NEVER;
        };
        if now < server.check_due {
            return server.check_due;
        }
        server.check_due = now + health.interval;
        let question = upstream::Request::new("GET", &health.path, &health.host)
            .with_field("user-agent", "ringside-gateway-check");
        if let Ok(exchange) = context.ask_for_nobody(server.handle, question) {
            server.check = Some((exchange, now));
            self.nobodys.insert(exchange, Nobodys::Check(at, None));
            return now + health.timeout.min(health.interval);
        }
        now + health.interval
    }

    /// A check of a server has ended, with this wrong about it if it isn't healthy.
    pub(super) fn checked(
        &mut self,
        plan: &Plan,
        (exchange, at): (Exchange, usize),
        wrong: Option<String>,
    ) {
        self.nobodys.remove(&exchange);
        let groups = self.servers.groups.iter();
        let group = groups
            .enumerate()
            .find(|(_, one)| one.servers.contains(&at));
        let rule = group.and_then(|(group, _)| plan.config.upstreams[group].health.as_ref());
        let rule = rule.cloned();
        let Some(server) = self.servers.at(at) else {
            return;
        };
        server.check = None;
        if let Some(place) = server.place {
            self.figures.checked(place, wrong.is_none());
        }
        if let Some(rule) = rule
            && server.condition.checked(&rule, wrong.is_none())
        {
            // Each worker says so for itself; what the log of a service manager keeps is enough.
            let name = server.name();
            let said = match wrong {
                None => format!("{name} is healthy: checks of {} succeed", rule.path),
                Some(why) => format!("{name} is unhealthy: checks of {}: {why}", rule.path),
            };
            eprintln!("ringside-gateway: {}", measure::foreign::screened(&said));
        }
    }

    /// Ends answers whose upstream has sent nothing for too long, though their clients wait, and
    /// those to copies, for which nobody does.
    fn end_the_silent(&mut self, plan: &Plan, context: &mut Context<'_>) {
        let (now, generation) = (context.now(), self.generation);
        let silent = |heard: Time, (group, of): (usize, u64)| {
            let limit = match of == generation {
                true => plan.config.upstreams[group].piece_timeout,
                false => Duration::from_secs(60),
            };
            now >= heard + limit
        };
        let copies = self.nobodys.iter().filter(|(_, what)| match **what {
            Nobodys::Copy {
                group,
                generation,
                heard,
                ..
            } => heard.is_some_and(|heard| silent(heard, (group, generation))),
            // These have a time for all of it.
            Nobodys::Check(..) | Nobodys::Keys(_) => false,
        });
        let copies: Vec<Exchange> = copies.map(|(exchange, _)| *exchange).collect();
        for exchange in copies {
            self.drop_copy(exchange, context);
        }
        if self.places.is_empty() {
            return;
        }
        let ended = self.places.iter().filter(|passing| {
            let waited_for = passing.answered && !passing.paused;
            waited_for && silent(passing.heard, (passing.group, passing.generation))
        });
        let ended: Vec<Ticket> = ended.map(|one| one.ticket).collect();
        for ticket in ended {
            if let Some(passing) = self.places.of(ticket)
                && let Some(exchange) = passing.exchange
            {
                context.ask_cancel(exchange);
                context.abort(ticket);
                self.finish(ticket, context);
            }
        }
        self.admit_all(context);
    }
}
