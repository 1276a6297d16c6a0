//! A service for these tests: what workers and connections can be asked for, by path.

use std::time::Duration;

use super::calls::METHODS;
use crate::fault::{Fault, Http2Fault};
use crate::grpc::Method;
use crate::{Body, Request, Response};
use crate::{Context, Dialogue, Intake, Reply, Service, Ticket};

/// See the module.
pub(super) struct StandIn {
    /// It offers methods of gRPC, too.
    pub(super) calls: bool,
}

/// The path, as text.
fn path<'a>(request: &Request<'a>) -> &'a str {
    std::str::from_utf8(request.path()).unwrap_or_default()
}

/// A number with a `K` or `M` behind it perhaps.
fn bytes(text: &str) -> Option<u64> {
    let number = text.trim_end_matches(['K', 'M']);
    let unit = match &text[number.len()..] {
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => 1,
    };
    Some(number.parse::<u64>().ok()? * unit)
}

fn duration(text: &str) -> Option<Duration> {
    let number = text.trim_end_matches(char::is_alphabetic);
    let unit = match &text[number.len()..] {
        "us" => Duration::from_micros(1),
        "ms" => Duration::from_millis(1),
        _ => Duration::from_secs(1),
    };
    Some(unit * number.parse().ok()?)
}

fn below(
    place: &str,
    rest: &str,
    request: &Request<'_>,
    context: &mut Context<'_>,
) -> Option<Reply> {
    Some(match place {
        "" => Reply::Always(Response::fixed("text/plain", b"Hello, World!")),
        "json" => Reply::Always(Response::fixed("application/json", br#"{"status":"ok"}"#)),
        "health" => Reply::Always(Response::fixed("text/plain", b"ok\n")),
        "bytes" => Reply::Always(Response::of("a/b", Body::Pattern(bytes(rest)?))),
        "chunked" => Reply::Always(Response::of("a/b", Body::Chunked(bytes(rest)?))),
        "status" => Reply::Always(Response::empty(rest.parse().ok()?)),
        "echo" => Response::of("a/b", request.body().to_vec()).into(),
        "wait10" | "delay" => {
            let delay = if place == "delay" {
                duration(rest)?
            } else {
                Duration::from_millis(10)
            };
            context.tag(u32::from(place == "delay"));
            context.wake_at(context.now() + delay, context.ticket());
            Reply::Later
        }
        "ws" => Reply::Upgrade(Dialogue::Echo),
        "head" => {
            let lines = request
                .fields()
                .map(|(name, value)| [name, b"=", value].concat());
            let lines = lines.collect::<Vec<_>>().join(&b","[..]);
            let host = request.host().unwrap_or_default();
            let seen = [
                request.method(),
                request.target(),
                host,
                &lines,
                request.body(),
            ];
            Response::of("a/b", seen.join(&b" "[..]))
                .with_field("X-Seen", "1")
                .into()
        }
        _ => return fault(place, rest),
    })
}

fn fault(place: &str, rest: &str) -> Option<Reply> {
    Some(match place {
        "stall" => Fault::Never.into(),
        "slow" => {
            let response = Response::fixed("text/plain", b"slow\n");
            let every = duration(rest)?;
            Fault::Dribble { response, every }.into()
        }
        "truncate" => {
            let response = Response::of("text/plain", Body::Pattern(1000));
            Fault::Cut {
                response,
                bytes: 500,
            }
            .into()
        }
        "h2" => Fault::Http2(Http2Fault::Reset(
            rest.strip_prefix("reset/")?.parse().ok()?,
        ))
        .into(),
        "unsayable" => match rest {
            "line" => Response::empty(200).with_field("X", "a\r\nY: b").into(),
            "length" => Response::empty(200)
                .with_field("Content-Length", "7")
                .into(),
            "connection" => Response::empty(200)
                .with_field("Connection", "close")
                .into(),
            "interim" => Reply::Always(Response::empty(100)),
            _ => Reply::Always(Response::empty(200).with_field("X Y", "a")),
        },
        _ => return None,
    })
}

fn nothing() -> Response {
    Response::sentence(404, "nothing is served at this path\n")
}

impl Service for StandIn {
    fn methods(&self) -> &'static [Method] {
        if self.calls { &METHODS } else { &[] }
    }

    fn intake(&mut self, head: &Request<'_>) -> Intake {
        match (path(head), head.query()) {
            ("/echo" | "/head", None) => Intake::Whole,
            ("/head", Some(b"discard")) => Intake::Discard,
            ("/head", Some(b"ahead")) => Intake::Ahead,
            _ => Intake::Refuse(nothing()),
        }
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let path = path(request).trim_start_matches('/');
        let (place, rest) = path.split_once('/').unwrap_or((path, ""));
        below(place, rest, request, context).unwrap_or_else(|| Reply::Always(nothing()))
    }

    fn due(&mut self, ticket: Ticket, context: &mut Context<'_>) {
        let text: &[u8] = if ticket.tag() == 1 {
            b"late\n"
        } else {
            b"waited\n"
        };
        context.complete(ticket, Response::fixed("text/plain", text));
    }
}
