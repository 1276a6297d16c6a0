//! Who is answered, and with what.
//!
//! | request | answer |
//! |---|---|
//! | anything without the token | 403, without a word |
//! | `GET /` | the page |
//! | `GET /updates` | what this browser hasn't seen: at once, or when there is something |
//! | `POST /stop` | ends what goes on, if it's this page that asks |
//! | anything else | 404, or 405 |

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::time::Time;
use server::{Context, Event, Reply, Request, Response, Service, Ticket};
use sha2::{Digest, Sha256};

use super::board::{Board, Stage};
use super::drawing::SCRIPT;
use super::key::Key;
use super::updates::{self, Seen};

/// Whoever asks has an answer after so long, and asks anew: what isn't counted goes on, too.
const HELD_MAX: Duration = Duration::from_secs(1);
/// So many wait for something new. More are answered at once.
const WAITING_MAX: usize = 256;

/// What is the same for all who ask.
pub(super) struct Site {
    key: Key,
    page: String,
    policy: String,
    stop: Box<dyn Fn() + Send + Sync>,
}

impl Site {
    pub(super) fn new(key: Key, page: String, stop: Box<dyn Fn() + Send + Sync>) -> Site {
        Site {
            key,
            page,
            policy: policy(),
            stop,
        }
    }
}

/// What the browser may do with the page: run its script, which asks nobody but this server. A page
/// that somebody else's words got into could run nothing else and tell nobody.
fn policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(SCRIPT));
    format!(
        "default-src 'none'; script-src 'sha256-{hash}'; style-src 'unsafe-inline'; \
         connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
}

/// Answers requests. See the module.
pub(super) struct Answering {
    site: Arc<Site>,
    board: Arc<Board>,
    /// Those who are owed an answer when there is something new.
    waiting: Vec<(Ticket, Seen)>,
}

impl Answering {
    pub(super) fn new(site: Arc<Site>, board: Arc<Board>) -> Answering {
        Answering {
            site,
            board,
            waiting: Vec::new(),
        }
    }

    /// What a browser is owed that has seen so much.
    fn update(&self, seen: &Seen, now: Time) -> Response {
        let progress = self.board.progress().clone();
        let mut state = self.board.state();
        state.asked(seen.viewer, now);
        let text = updates::update(&*state, &progress, seen);
        drop(state);
        self.fenced(Response::of("application/json", text))
    }

    /// Answers now, or when there is something new.
    fn follow(&mut self, seen: Seen, context: &mut Context<'_>) -> Reply {
        let has_news = self.board.state().seq != seen.seq;
        if has_news || self.waiting.len() >= WAITING_MAX {
            return self.update(&seen, context.now()).into();
        }
        self.board.state().asked(seen.viewer, context.now());
        context.wake_at(context.now() + HELD_MAX, context.ticket());
        self.waiting.push((context.ticket(), seen));
        Reply::Later
    }

    fn stop(&self, request: &Request<'_>) -> Response {
        if !is_from_here(request) {
            return Response::empty(403);
        }
        (self.site.stop)();
        self.board.change(|state| {
            if state.stage == Stage::Running {
                state.stage = Stage::Ending;
            }
        });
        Response::empty(204)
    }

    /// With what keeps the page and its URL to themselves.
    fn fenced(&self, response: Response) -> Response {
        response
            .with_field("Content-Security-Policy", self.site.policy.clone())
            .with_field("Referrer-Policy", "no-referrer")
            .with_field("Cache-Control", "no-store")
            .with_field("X-Content-Type-Options", "nosniff")
            .with_field("Cross-Origin-Resource-Policy", "same-origin")
    }
}

impl Service for Answering {
    fn started(&mut self, context: &mut Context<'_>) {
        self.board.hang(context.bell());
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        if !given(request).is_some_and(|token| self.site.key.is(token)) {
            // Not even what this is.
            return Response::empty(403).with_field("Server", "-").into();
        }
        let only = |allowed: &'static str| Response::empty(405).with_field("Allow", allowed);
        let is_read = matches!(request.method(), b"GET" | b"HEAD");
        let response = match request.path() {
            b"/" if is_read => Response::of("text/html; charset=utf-8", self.site.page.clone()),
            b"/updates" if is_read => {
                let seen = Seen::of(request.query().unwrap_or_default());
                return self.follow(seen, context);
            }
            b"/stop" if request.method() == b"POST" => self.stop(request),
            b"/" | b"/updates" => only("GET, HEAD"),
            b"/stop" => only("POST"),
            _ => Response::empty(404),
        };
        self.fenced(response).into()
    }

    fn rung(&mut self, context: &mut Context<'_>) {
        let seq = self.board.state().seq;
        let waiting = std::mem::take(&mut self.waiting);
        for (ticket, seen) in waiting {
            match seen.seq == seq {
                true => self.waiting.push((ticket, seen)),
                false => context.complete(ticket, self.update(&seen, context.now())),
            }
        }
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let Some(at) = self.waiting.iter().position(|(other, _)| *other == ticket) else {
            return;
        };
        let (_, seen) = self.waiting.swap_remove(at);
        context.complete(ticket, self.update(&seen, context.now()));
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, _: &mut Context<'_>) {
        if !matches!(event, Event::Closed | Event::PeerEnded) {
            return;
        }
        let Some(at) = self.waiting.iter().position(|(other, _)| *other == ticket) else {
            return;
        };
        let (_, seen) = self.waiting.swap_remove(at);
        self.board.state().left(seen.viewer);
    }
}

/// The token that came with a request: the page's script sends it in a field, so that it's in no
/// URL but the page's.
fn given<'a>(request: &Request<'a>) -> Option<&'a [u8]> {
    let field = request.field("authorization");
    field
        .and_then(|field| field.strip_prefix(b"Bearer "))
        .or_else(|| updates::parameter(request.query()?, b"token"))
}

/// Whether it's no other site that has a browser send this (Fetch Metadata §2; RFC 6454 §7).
/// Programs that are no browser send neither field.
fn is_from_here(request: &Request<'_>) -> bool {
    let is_same_site = request
        .field("sec-fetch-site")
        .is_none_or(|site| site == b"same-origin");
    let is_same_origin = request.field("origin").is_none_or(|origin| {
        let schemes: [&[u8]; 2] = [b"http://", b"https://"];
        let mut places = schemes.iter().filter_map(|it| origin.strip_prefix(*it));
        places.next().is_some_and(|it| request.host() == Some(it))
    });
    is_same_site && is_same_origin
}
