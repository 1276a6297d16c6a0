//! What all connections of one worker share: the routes and their services, the memory of the last
//! request, the date, and what was counted.

use engine::Token;
use measure::time::{self, Time};
use proto::http1::server::Limits;
use proto::http1::{HeadMemo, response};
use proto::websocket::Scratch;

use crate::answer::Kept;
use crate::service::{Agenda, Context, Reply, Request, Response, Ticket};
use crate::services::{self, Route, Routes};
use crate::summary::Counts;

/// Memory of a WebSocket message is kept for the next up to so many bytes.
const MESSAGE_BYTES_MAX: usize = 2 << 20;

/// See the module.
pub(crate) struct Site {
    pub(crate) memo: HeadMemo,
    pub(crate) kept: Kept,
    /// Room to unmask in.
    pub(crate) scratch: Scratch,
    /// Memory for the next WebSocket message.
    pub(crate) message: Vec<u8>,
    pub(crate) counts: Counts,
    pub(crate) agenda: Agenda,
    /// What a client may ask for.
    pub(crate) limits: Limits,
    /// The server stops: answers say `Connection: close`.
    pub(crate) draining: bool,
    /// The time of this turn.
    pub(crate) now: Time,
    /// The value of `Date` fields.
    pub(crate) date: [u8; 29],
    date_until: Time,
    wall: Wall,
    routes: Vec<Route>,
}

/// Where the date comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wall {
    /// This host's clock.
    Host,
    /// Always the same second since 1970, for tests that must repeat.
    #[cfg(test)]
    Fixed(u64),
}

/// What became of a method and a path.
pub(crate) enum Found<'a> {
    /// A route, by its index, and the parameter for its service.
    Route(usize, &'a str),
    /// 404 or 405.
    Refusal(Response),
}

impl Site {
    pub(crate) fn new(now: Time, wall: Wall, limits: Limits, routes: &Routes) -> Site {
        let mut site = Site {
            memo: HeadMemo::new(),
            kept: Kept::default(),
            scratch: Scratch::default(),
            message: Vec::new(),
            counts: Counts::default(),
            agenda: Agenda::default(),
            limits,
            draining: false,
            now,
            date: [0; 29],
            date_until: now,
            wall,
            routes: routes.for_worker(),
        };
        site.turn(now);
        site
    }

    /// A turn begins at `now`. Says whether the date is another one from here on.
    #[inline]
    pub(crate) fn turn(&mut self, now: Time) -> bool {
        self.now = now;
        let is_over = now >= self.date_until;
        if is_over {
            self.renew_date();
        }
        is_over
    }

    fn renew_date(&mut self) {
        let nanoseconds = match self.wall {
            Wall::Host => time::unix_nanoseconds(),
            #[cfg(test)]
            Wall::Fixed(seconds) => u128::from(seconds) * 1_000_000_000,
        };
        let (seconds, into) = (nanoseconds / 1_000_000_000, nanoseconds % 1_000_000_000);
        self.date = response::date(seconds as u64);
        self.date_until = self.now.plus(1_000_000_000 - into as u64);
        debug_assert!(
            self.date_until > self.now,
            "the date would be formatted anew in every turn"
        );
        self.kept.renew(&self.date);
    }

    /// From now on every answer ends its connection.
    pub(crate) fn drain(&mut self) {
        self.draining = true;
        self.kept.forget();
    }

    /// Looks a request up.
    pub(crate) fn find<'a>(&self, method: &[u8], path: &'a [u8]) -> Found<'a> {
        let found = std::str::from_utf8(path).ok();
        let Some((at, parameter)) = found.and_then(|path| services::find(&self.routes, path))
        else {
            let text = "nothing is served at this path\n";
            return Found::Refusal(Response::sentence(404, text.into()));
        };
        let route = &self.routes[at];
        if route.allows(method) {
            return Found::Route(at, parameter);
        }
        let text = format!("this path allows {}\n", route.methods);
        let allow = Some(route.methods);
        Found::Refusal(Response {
            allow,
            ..Response::sentence(405, text)
        })
    }

    /// The answer to a request without a body. `number` is that of the ticket the service gets.
    pub(crate) fn answer(
        &mut self,
        method: &[u8],
        path: &[u8],
        content_type: Option<&str>,
        socket: Token,
        number: u32,
    ) -> Reply {
        match self.find(method, path) {
            Found::Route(route, parameter) => {
                let request = Request {
                    parameter,
                    content_type,
                    body: &[],
                };
                self.call(route, &request, socket, number)
            }
            Found::Refusal(response) => Reply::Always(response),
        }
    }

    /// Whether the service of a route wants the body.
    pub(crate) fn takes_body(&self, route: usize) -> bool {
        self.routes[route].takes_body
    }

    /// Whether the service of a route answers before the body, where the protocol lets it.
    pub(crate) fn answers_at_once(&self, route: usize) -> bool {
        self.routes[route].at_once
    }

    /// Has the service of a route answer.
    pub(crate) fn call(
        &mut self,
        route: usize,
        request: &Request<'_>,
        socket: Token,
        number: u32,
    ) -> Reply {
        let ticket = Ticket {
            socket,
            number,
            route: route as u16,
        };
        let mut context = Context {
            now: self.now,
            ticket,
            agenda: &mut self.agenda,
        };
        self.routes[route].service.call(request, &mut context)
    }

    /// Tells the service that took `ticket` that its timer is due.
    pub(crate) fn due(&mut self, ticket: Ticket) {
        let mut context = Context {
            now: self.now,
            ticket,
            agenda: &mut self.agenda,
        };
        self.routes[ticket.route as usize]
            .service
            .due(ticket, &mut context);
    }

    /// Takes the memory of a WebSocket message back, which is empty.
    #[inline]
    pub(crate) fn keep_message_memory(&mut self, memory: Vec<u8>) {
        debug_assert!(
            memory.is_empty(),
            "a part of somebody's message would begin another's"
        );
        if memory.capacity() > self.message.capacity() && memory.capacity() <= MESSAGE_BYTES_MAX {
            self.message = memory;
        }
    }
}
