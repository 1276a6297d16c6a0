//! The service of a worker: requests come in, each takes its route to a server of an upstream, and
//! the answer goes back, piece by piece.
//!
//! This file has what clients do. `turns` has who begins and who waits, `course` what upstreams do,
//! `ticks` what time does, and `copies` what mirrors get. Each worker has all of this for itself,
//! so that nothing is locked.
#![allow(clippy::result_large_err)] // An answer is moved once, and a box would be an allocation.

mod copies;
mod course;
mod fields;
mod forwarded;
mod passing;
mod rates;
mod servers;
mod ticks;
mod turns;
mod users;
mod who;

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use measure::time::Time;

use server::upstream::{Exchange, Protocol};
use server::{
    Context, Event, Intake, Reply, Request, Response, Service, Ticket, upstream::Event as Heard,
};

use self::users::{Caller, Told};
use crate::Shared;
use crate::balance;
use crate::config::{Action, Balance, HashKey};
use crate::hosts;
use crate::identity::{Identities, is_identity};
use crate::log::Entry;
use crate::metrics::Figures;
use crate::paths;
use crate::plan::Plan;
use crate::routing::Found;
use crate::tokens::{Checker, Who};
use fields::{Asked, Client, Writer};
use passing::{Passing, Places};
use servers::Servers;

/// What is allowed where a method is refused by the gateway itself.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS";

/// See the module.
pub(crate) struct Gateway {
    shared: Arc<Shared>,
    worker: usize,
    /// The plan that is in force here, and its number.
    plan: Arc<Plan>,
    generation: u64,
    servers: Servers,
    places: Places,
    /// Exchanges that no client waits for.
    nobodys: HashMap<Exchange, Nobodys>,
    identities: Identities,
    writer: Writer,
    figures: Arc<Figures>,
    /// By token of the plan.
    checkers: Vec<Checker>,
    /// What users turned out to be, from the threads that look them up.
    told: Told,
    /// A moment, and how many nanoseconds since 1970 that was.
    wall: (Time, u128),
    /// The ticket of what no client brings about.
    nobody: Ticket,
    next_tick: Time,
    /// When those that wait for their turn are looked at.
    next_look: Time,
    /// The server stops.
    stopping: bool,
    /// Upstreams where somebody else may begin now.
    freed: Vec<usize>,
    /// Memory for the names of buckets.
    bucket: String,
    /// The request that is being answered has a body, which is on its way.
    has_body: bool,
    /// It says that its body is longer than bodies may be.
    is_too_long: bool,
}

/// What an exchange is for that no client waits for.
#[derive(Clone, Copy, Debug)]
enum Nobodys {
    /// To know whether this server is healthy, which says this status already.
    Check(usize, Option<u16>),
    /// To have keys for this token.
    Keys(usize),
    /// To have a copy of a request, by the upstream's place in the plan of this number; of the
    /// request of this ticket, if it has a body.
    Copy {
        group: usize,
        generation: u64,
        of: Option<Ticket>,
        /// When the mirror last said something, once it has begun to answer.
        heard: Option<Time>,
    },
}

/// Where a request goes, and who is behind it.
#[derive(Clone, Debug)]
struct Way {
    route: usize,
    /// Its upstream, and what the server is chosen by; `None` if the gateway answers, once it
    /// knows who asks.
    to: Option<(usize, u64)>,
    who: Option<Arc<Who>>,
    caller: Caller,
}

impl Way {
    /// Of a request that the gateway answers once its user is known.
    fn to_be_answered(route: usize, who: Option<Arc<Who>>, caller: Caller) -> Way {
        Way {
            route,
            to: None,
            who,
            caller,
        }
    }
}

impl Gateway {
    /// The service of one worker.
    pub(crate) fn new(shared: Arc<Shared>, worker: usize) -> Gateway {
        let plan = shared.plans.current();
        Gateway {
            figures: shared.metrics.figures(worker, &plan.config),
            plan,
            shared,
            worker,
            generation: 0,
            checkers: Vec::new(),
            told: Told::default(),
            wall: (Time(0), 0),
            servers: Servers::default(),
            places: Places::default(),
            nobodys: HashMap::new(),
            identities: Identities::new(worker),
            writer: Writer::default(),
            nobody: Ticket::NOBODYS,
            next_tick: Time(0),
            next_look: Time::NEVER,
            stopping: false,
            freed: Vec::new(),
            bucket: String::new(),
            has_body: false,
            is_too_long: false,
        }
    }

    /// Takes up the current plan, if that is another one than before.
    #[inline]
    fn keep_up(&mut self, context: &mut Context<'_>) {
        let generation = self.shared.plans.generation();
        if generation != self.generation {
            self.adopt(generation, context);
        }
    }

    /// Which way a request goes, or what it's answered at once.
    fn way(
        &mut self,
        plan: &Plan,
        request: &Request<'_>,
        client: Client,
        entry: &mut Option<Box<Entry>>,
        now: Time,
    ) -> Result<Way, Response> {
        let rules = &plan.config.forward;
        refuse(request)?;
        let path = paths::judge(request.path(), rules.refuses_encoded_slashes)
            .map_err(|why| Response::sentence(400, why.sentence()))?;
        let route = match plan.table.find(&plan.config.routes, request, &path) {
            Found::Route(route) => route,
            Found::Method(allowed) => {
                self.figures.unrouted();
                let text = "this method isn't allowed here\n";
                return Err(Response::sentence(405, text).with_field("Allow", allowed));
            }
            Found::Nothing => {
                self.figures.unrouted();
                return Err(Response::sentence(404, "no route for this request\n"));
            }
        };
        if let Some(entry) = entry {
            entry.route = Some(plan.config.routes[route].name.clone());
        }
        self.rate((route, None), request, client, now)?;
        let who = self.who(route, request, now)?;
        if let Some(who) = &who {
            self.rate((route, Some(who)), request, client, now)?;
        }
        let caller = self.caller(route, (request, &path), who.as_deref(), now)?;
        let parts = match &plan.config.routes[route].action {
            Action::Answer { .. } if matches!(caller, Caller::Unknown(..)) => {
                return Ok(Way::to_be_answered(route, who, caller));
            }
            Action::Answer { .. } => {
                let response = self.own_answer(route, who.as_deref(), caller.record());
                (self.figures).answered(route, response.status, Duration::ZERO);
                return Err(response);
            }
            Action::Forward(parts) => parts,
        };
        let group = match parts.as_slice() {
            [(only, _)] => *only,
            parts => {
                let total = parts.iter().map(|(_, weight)| u64::from(*weight)).sum();
                let mut drawn = self.identities.below(total);
                let chosen = parts.iter().find(|(_, weight)| {
                    let is_it = drawn < u64::from(*weight);
                    drawn = drawn.saturating_sub(u64::from(*weight));
                    is_it
                });
                chosen.map_or(parts[0].0, |(group, _)| *group)
            }
        };
        let balance = &plan.config.upstreams[group].balance;
        let key = key_of(balance, request, || client.address(request, rules));
        Ok(Way {
            route,
            to: Some((group, key)),
            who,
            caller,
        })
    }

    /// Takes a request up: it's sent on its way, or waits for its turn.
    fn take_up(
        &mut self,
        request: &Request<'_>,
        has_body: bool,
        entry: &mut Option<Box<Entry>>,
        context: &mut Context<'_>,
    ) -> Result<(), Response> {
        let plan = Arc::clone(&self.plan);
        let rules = &plan.config.forward;
        let client = Client::of(context.peer(), rules);
        let hops = hops_left(request)?;
        let way = self.way(&plan, request, client, entry, context.now())?;
        let token = plan.config.routes[way.route].token;
        let asked = Asked {
            client,
            rules,
            streams: has_body,
            hops,
            only_ours: &plan.config.identity_fields,
            who: way.who.as_deref(),
            keeps_token: token.is_none_or(|token| plan.config.tokens[token].pass_on),
        };
        let mut sent = self.writer.write(request, &asked, &mut self.identities);
        if let Some(record) = way.caller.record() {
            sent = self.with_user(sent, way.route, record);
        }
        if let Some(entry) = entry {
            let identity = sent.fields().find(|(name, _)| *name == b"x-request-id");
            let identity = identity.map(|(_, value)| value.escape_ascii().to_string());
            entry.request_id = identity.unwrap_or_default();
        }
        let tag = self.places.reserve();
        context.tag(tag);
        let ticket = context.ticket();
        if has_body {
            context.pause(ticket); // Until the upstream has room.
        }
        let mut passing = Passing::new(ticket, context.now());
        passing.route = Some(way.route);
        passing.has_body = has_body;
        passing.entry = entry.take();
        if let Some((group, key)) = way.to {
            let upstream = &plan.config.upstreams[group];
            // Over HTTP/2 a server may decline what comes while it leaves, and take it on another
            // connection. Over HTTP/1.1 there has to be another server.
            let alone = upstream.servers.len() == 1 && upstream.protocol == Protocol::Http1;
            self.servers.groups[group].active += 1;
            passing.group = group;
            passing.generation = self.generation;
            passing.key = key;
            passing.attempts = if alone { 0 } else { upstream.retry.attempts };
        }
        passing.again = Some(Box::new(sent));
        self.places.put(passing);
        match way.caller {
            Caller::Unknown(users, key) => {
                self.ask_for_user(ticket, (users, &key), way.who, context)
            }
            _ => self.set_off(ticket, context),
        }
    }

    /// A request whose user is known, or that needs none, sets off to its upstream: with a copy for
    /// the mirror, if its route has one.
    fn set_off(&mut self, ticket: Ticket, context: &mut Context<'_>) -> Result<(), Response> {
        let plan = Arc::clone(&self.plan);
        let Some(passing) = self.places.of(ticket) else {
            return Ok(());
        };
        let (group, route, has_body) = (passing.group, passing.route, passing.has_body);
        if let Some(route) = route.filter(|route| plan.config.routes[*route].mirror.is_some()) {
            self.send_copy(&plan, (ticket, route), has_body, context);
        }
        let priority = route.map(|route| plan.config.routes[route].priority);
        self.arrive(ticket, group, priority.unwrap_or_default(), context)
    }

    /// Tells whoever writes it down that a request was answered without an upstream.
    fn answered_here(&mut self, entry: Option<Box<Entry>>, response: &Response) {
        if let (Some(mut entry), Some(log)) = (entry, &self.shared.log) {
            entry.answered(response);
            log.write(entry);
        }
    }
}

impl Service for Gateway {
    fn started(&mut self, context: &mut Context<'_>) {
        self.nobody = context.ticket();
        self.keep_up(context);
        self.told.listen(context.bell());
        self.tick(context);
        context.wake_at(self.shared.begins.until, self.nobody);
    }

    fn is_ready(&mut self, now: Time) -> Result<bool, String> {
        self.has_keys(now)
    }

    fn rung(&mut self, context: &mut Context<'_>) {
        self.keep_up(context);
        self.users_came(context);
    }

    fn intake(&mut self, head: &Request<'_>) -> Intake {
        let length = head.field("content-length");
        let length = length.and_then(|text| std::str::from_utf8(text).ok()?.parse().ok());
        // It's refused by the call, which knows who asks and writes it down.
        self.is_too_long =
            length.is_some_and(|bytes: u64| bytes > self.plan.config.limits.body_bytes);
        self.has_body = true;
        Intake::Stream
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let has_body = std::mem::take(&mut self.has_body);
        let is_too_long = std::mem::take(&mut self.is_too_long);
        self.keep_up(context);
        let mut entry = match &self.shared.log {
            Some(log) if self.identities.happens(log.sample) => {
                let client = Client::of(context.peer(), &self.plan.config.forward);
                let address = client.address(request, &self.plan.config.forward);
                let mut entry = Entry::of(request, address);
                // One that is passed on and has none is given one.
                let identity = request.field("x-request-id").filter(|id| is_identity(id));
                entry.request_id = identity.unwrap_or_default().escape_ascii().to_string();
                Some(Box::new(entry))
            }
            _ => None,
        };
        let taken = match is_too_long {
            true => Err(too_long()),
            false => self.take_up(request, has_body, &mut entry, context),
        };
        match taken {
            Ok(()) => Reply::Later,
            Err(response) => {
                self.answered_here(entry, &response);
                self.admit_all(context);
                Reply::Now(response)
            }
        }
    }

    fn stopping(&mut self, _: Time) {
        self.stopping = true;
    }

    fn due(&mut self, _: Ticket, context: &mut Context<'_>) {
        self.keep_up(context);
        if context.now() >= self.next_tick {
            self.tick(context);
        }
        self.admit_those_that_wait(context);
    }

    /// What the client does.
    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let Some(passing) = self.places.of(ticket) else {
            return;
        };
        let Some(exchange) = passing.exchange else {
            return self.meanwhile(ticket, event, context);
        };
        match event {
            Event::Data(bytes) => {
                passing.body_began = true;
                passing.again = None;
                passing.body_bytes += bytes.len() as u64;
                if passing.body_bytes > self.plan.config.limits.body_bytes {
                    context.ask_cancel(exchange);
                    match passing.answered {
                        true => context.abort(ticket),
                        false => {
                            passing.answered_by_us(&too_long());
                            context.complete(ticket, too_long());
                        }
                    }
                    self.finish(ticket, context);
                    return self.admit_all(context);
                }
                context.ask_send(exchange, bytes);
                context.pause(ticket); // Until the upstream has taken that.
                self.copy_piece(ticket, bytes, context);
            }
            Event::End => {
                passing.ended = true;
                context.ask_end(exchange);
                if let Some(copied) = passing.mirror.take() {
                    context.ask_end(copied.exchange);
                }
                self.take_back(ticket, context.now());
            }
            Event::Writable => {
                passing.ahead_bytes = 0;
                passing.paused = false;
                passing.heard = context.now();
                context.ask_resume(exchange);
            }
            // Who sends no more before he has an answer has left, with few exceptions.
            Event::PeerEnded => {
                context.ask_cancel(exchange);
                context.abort(ticket);
                self.finish(ticket, context);
                self.admit_all(context);
            }
            // The exchange ends by itself.
            Event::Closed => passing.gone = true,
            _ => {}
        }
    }

    /// What upstreams do.
    fn exchange(&mut self, exchange: Exchange, event: Heard<'_>, context: &mut Context<'_>) {
        let ticket = context.ticket();
        match self.places.of(ticket) {
            Some(passing) if passing.exchange == Some(exchange) => {
                self.heard(ticket, event, context);
            }
            _ => self.heard_for_nobody(exchange, event, context),
        }
        self.admit_all(context);
    }
}

/// What a server is chosen by, under consistent hashing.
fn key_of(
    balance: &Balance,
    request: &Request<'_>,
    address: impl FnOnce() -> Option<IpAddr>,
) -> u64 {
    let key = match balance {
        Balance::RoundRobin | Balance::LeastRequests => return 0,
        Balance::Hash(HashKey::Field(name)) => request.field(name).map(balance::hash),
        Balance::Hash(HashKey::Address) => None,
    };
    key.unwrap_or_else(|| match address() {
        Some(IpAddr::V4(address)) => balance::hash(&address.octets()),
        Some(IpAddr::V6(address)) => balance::hash(&address.octets()),
        None => 0,
    })
}

fn too_long() -> Response {
    Response::sentence(413, "the body is longer than this gateway accepts\n")
}

/// What no route decides about.
fn refuse(request: &Request<'_>) -> Result<(), Response> {
    if !request.host().is_none_or(hosts::is_plain) {
        return Err(Response::sentence(
            400,
            "the Host field isn't a valid host name\n",
        ));
    }
    match request.method() {
        // A gateway is no tunnel, and TRACE would show fields that only the gateway and its
        // upstreams should see (RFC 9110 §9.3.8).
        b"CONNECT" | b"TRACE" => {
            let text = "this method isn't passed on\n";
            return Err(Response::sentence(405, text).with_field("Allow", METHODS));
        }
        _ => {}
    }
    let is_websocket = |value: &[u8]| {
        let mut names = value.split(|byte| *byte == b',');
        names.any(|name| name.trim_ascii().eq_ignore_ascii_case(b"websocket"))
    };
    // Other upgrades can be ignored (RFC 9110 §7.8), and who asks for this one means it.
    match request.field("upgrade").is_some_and(is_websocket) {
        true => Err(Response::sentence(501, "WebSockets aren't passed on\n")),
        false => Ok(()),
    }
}

/// How often an OPTIONS may be passed on after this (RFC 9110 §7.6.2); `None` where nobody counts.
fn hops_left(request: &Request<'_>) -> Result<Option<u64>, Response> {
    let counts = request.method() == b"OPTIONS";
    let Some(value) = request.field("max-forwards").filter(|_| counts) else {
        return Ok(None);
    };
    let text = std::str::from_utf8(value).unwrap_or_default();
    match text.parse::<u64>() {
        Ok(0) => Err(Response::empty(204).with_field("Allow", METHODS)),
        Ok(hops) => Ok(Some(hops - 1)),
        Err(_) => Ok(None),
    }
}
