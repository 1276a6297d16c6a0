//! Who asks: tokens of requests, and the keys for them, which are fetched from upstreams ahead of
//! time.

use std::sync::Arc;
use std::time::Duration;

use measure::time::Time;
use server::upstream::{self, Event, Exchange};
use server::{Context, Request, Response};

use super::{Gateway, Nobodys};
use crate::metrics::Refusal;
use crate::plan::Plan;
use crate::tokens::{Checker, Coming, Nobody, Who};

/// Keys that don't come within this are given up, and asked for again.
const FETCH: Duration = Duration::from_secs(10);

/// After a failure, keys are asked for again so soon.
const AGAIN: Duration = Duration::from_secs(5);

/// The same while a gateway waits for its first keys before it accepts.
const AGAIN_AT_FIRST: Duration = Duration::from_millis(500);

/// A token with an unknown key has keys fetched early, but not more often than this: anybody can
/// write such tokens.
const EARLY: Duration = Duration::from_secs(30);

/// A longer set of keys is none.
const KEYS_BYTES_MAX: usize = 256 * 1024;

impl Gateway {
    /// Who is behind a request of a route.
    pub(super) fn who(
        &mut self,
        route: usize,
        request: &Request<'_>,
        now: Time,
    ) -> Result<Option<Arc<Who>>, Response> {
        let Some(at) = self.plan.config.routes[route].token else {
            return Ok(None);
        };
        let now_s = self.unix_seconds(now);
        let checker = &mut self.checkers[at];
        let nobody = match checker.check(request, now_s) {
            Ok(who) => return Ok(Some(who)),
            Err(nobody) => nobody,
        };
        if nobody == Nobody::Refused(token::Refused::UnknownKey) {
            checker.due = checker.due.min(checker.asked + EARLY);
        }
        self.figures.refused(route, Refusal::Token);
        let response = match nobody {
            // RFC 6750 §3.1: who has shown nothing is told nothing about an error.
            Nobody::Absent => {
                let response = Response::sentence(401, "a token is required\n");
                response.with_field("WWW-Authenticate", "Bearer")
            }
            Nobody::Refused(why) => {
                let response = Response::sentence(401, format!("{why}\n"));
                response.with_field("WWW-Authenticate", why.challenge())
            }
            Nobody::Barred => Response::sentence(403, "this user isn't allowed here\n"),
            Nobody::NoKeys => {
                let text = "the keys that verify tokens aren't loaded yet; try again later\n";
                Response::sentence(503, text).with_field("Retry-After", "1")
            }
        };
        (self.figures).answered(route, response.status, Duration::ZERO);
        Err(response)
    }

    /// Seconds since 1970, by a clock that is looked at once a second.
    fn unix_seconds(&self, now: Time) -> u64 {
        let (at, unix_ns) = self.wall;
        ((unix_ns + u128::from(now.since(at))) / 1_000_000_000) as u64
    }

    /// The checkers of another plan.
    pub(super) fn checkers_of(&self, before: &Plan, plan: &Plan) -> Vec<Checker> {
        let tokens = plan.config.tokens.iter();
        tokens
            .map(|rule| {
                let mut known = self.checkers.iter();
                let known = known.find(|checker| checker.rule().name == rule.name);
                let moved = rule.remote.as_ref().is_some_and(|remote| {
                    let of = |plan: &Plan| {
                        let mut all = plan.config.upstreams.iter();
                        let upstream = all.find(|upstream| upstream.name == remote.name)?;
                        let written = upstream.servers[..upstream.written].to_vec();
                        Some((written, upstream.names.clone()))
                    };
                    of(before) != of(plan)
                });
                Checker::new(rule, known, moved)
            })
            .collect()
    }

    /// Whether requests can be judged: the keys for tokens have come, or aren't waited for any
    /// longer.
    ///
    /// # Errors
    /// They haven't come, and those before, who have some, are to go on.
    pub(super) fn has_keys(&self, now: Time) -> Result<bool, String> {
        let mut lacking = self.checkers.iter().filter(|one| one.lacks_keys());
        let Some(one) = lacking.next() else {
            return Ok(true);
        };
        let begins = &self.shared.begins;
        let all_let_down = one.was_let_down() && lacking.all(Checker::was_let_down);
        // Others have keys, so one that is to take over from them tries again until its time is up.
        match now >= begins.until || (all_let_down && !begins.takes_over) {
            true if begins.takes_over => {
                let name = &one.rule().name;
                Err(format!("the keys for [token.{name}] aren't loaded yet"))
            }
            is_over => Ok(is_over),
        }
    }

    /// When keys are asked for again that didn't come: soon, as long as others are waited for.
    fn asked_again(&self, now: Time) -> Time {
        match now < self.shared.begins.until {
            true => now + AGAIN_AT_FIRST,
            false => now + AGAIN,
        }
    }

    /// Asks for keys that are due.
    pub(super) fn fetch_keys(&mut self, plan: &Plan, context: &mut Context<'_>) {
        let now = context.now();
        let again = self.asked_again(now);
        for at in 0..self.checkers.len() {
            let checker = &mut self.checkers[at];
            let Some(remote) = checker.rule().remote.clone() else {
                continue;
            };
            if let Some(coming) = &checker.coming {
                if now < coming.since + FETCH {
                    continue;
                }
                context.ask_cancel(coming.exchange);
                self.nobodys.remove(&coming.exchange);
                checker.coming = None;
                checker.due = again;
            }
            if now < checker.due {
                continue;
            }
            checker.asked = now;
            checker.due = again;
            let key = self.identities.below(u64::MAX);
            let chosen = self.servers.choose(plan, remote.upstream, (key, &[]), now);
            let Some(server) = chosen.and_then(|server| self.servers.at(server)) else {
                continue;
            };
            let question = upstream::Request::new("GET", &remote.path, &remote.host)
                .with_field("accept", "application/json");
            if let Ok(exchange) = context.ask_for_nobody(server.handle, question) {
                self.nobodys.insert(exchange, Nobodys::Keys(at));
                self.checkers[at].coming = Some(Coming {
                    exchange,
                    since: now,
                    bytes: Vec::new(),
                });
            }
        }
    }

    /// Keys come, or they don't.
    pub(super) fn keys_came(
        &mut self,
        at: usize,
        exchange: Exchange,
        event: Event<'_>,
        context: &mut Context<'_>,
    ) {
        let now = context.now();
        let again = self.asked_again(now);
        let checker = self.checkers.get_mut(at);
        let Some(checker) = checker.filter(|checker| {
            let coming = checker.coming.as_ref();
            coming.is_some_and(|coming| coming.exchange == exchange)
        }) else {
            // They were asked for by the configuration before.
            self.nobodys.remove(&exchange);
            return context.ask_cancel(exchange);
        };
        let why = match event {
            Event::Head(head) if head.status() != 200 => {
                context.ask_cancel(exchange);
                format!("the answer is {}", head.status())
            }
            Event::Data(bytes) => {
                let Some(coming) = &mut checker.coming else {
                    return;
                };
                coming.bytes.extend_from_slice(bytes);
                if coming.bytes.len() <= KEYS_BYTES_MAX {
                    return;
                }
                context.ask_cancel(exchange);
                "the answer is too long".to_owned()
            }
            Event::End => {
                let bytes = checker.coming.take().map(|coming| coming.bytes);
                match checker.fetched(&bytes.unwrap_or_default()) {
                    Ok(left_out) => {
                        if let Some(what) = left_out {
                            let name = &checker.rule().name;
                            say(&format!("the keys that came for [token.{name}]: {what}"));
                        }
                        let refresh = checker.rule().remote.as_ref().map(|one| one.refresh);
                        checker.due = now + refresh.unwrap_or(AGAIN);
                        self.nobodys.remove(&exchange);
                        return;
                    }
                    Err(wrong) => wrong.to_string(),
                }
            }
            Event::Failed(error) => error.to_string(),
            _ => return,
        };
        checker.coming = None;
        checker.due = again;
        self.nobodys.remove(&exchange);
        let name = checker.rule().name.clone();
        say(&format!("no new keys for [token.{name}]: {why}"));
    }
}

fn say(what: &str) {
    eprintln!("ringside-gateway: {}", measure::foreign::screened(what));
}
