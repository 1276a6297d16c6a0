//! A small reverse proxy on the native interface:
//!
//! ```text
//! cargo run -p ringside-server --example upstream -- --addr 127.0.0.1:8080 --threads 1 \
//!     --upstream 127.0.0.1:9000
//! curl http://127.0.0.1:8080/whatever/is/there
//! ```
//!
//! It passes on method, path, query, fields and bodies, both ways and piece by piece. With
//! `--http2` it speaks HTTP/2 with the upstream. Where there is no answer it says why: 502, 503 or
//! 504.

#[path = "shared/arguments.rs"]
pub(crate) mod arguments;

use std::collections::HashMap;
use std::error::Error;
use std::process::ExitCode;

use ringside_server::upstream::{self, Exchange, Protocol, Upstream};
use ringside_server::{
    Address, Config, Context, Event, Field, Intake, Reply, Request, Response, Running, Service,
    Stop, Ticket,
};

/// The answer waits once so many of its bytes are on their way to the client.
const AHEAD_BYTES: usize = 256 * 1024;

/// What this server does. Each worker has one of these, with connections of its own.
struct Proxy {
    behind: upstream::Config,
    upstream: Option<Upstream>,
    /// The request that is being answered has a body, which is on its way.
    has_body: bool,
    passing: HashMap<Ticket, Passing>,
}

/// A request that is being passed on.
struct Passing {
    exchange: Exchange,
    /// Bytes of the answer that the client has perhaps not taken yet.
    ahead_bytes: usize,
    trailers: Vec<Field>,
}

impl Service for Proxy {
    fn started(&mut self, context: &mut Context<'_>) {
        self.upstream = context.upstream(self.behind.clone()).ok();
    }

    fn intake(&mut self, _: &Request<'_>) -> Intake {
        self.has_body = true;
        Intake::Stream
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        let has_body = std::mem::take(&mut self.has_body);
        let Some(upstream) = self.upstream else {
            return Response::sentence(503, "there is no upstream\n").into();
        };
        let mut passed_on = upstream::Request::forward(request, has_body);
        if let Some(address) = context.peer().address {
            passed_on = passed_on.with_field("x-forwarded-for", address.ip().to_string());
        }
        let exchange = match context.ask(upstream, passed_on) {
            Ok(exchange) => exchange,
            Err(why) => return Response::sentence(400, format!("{why}\n")).into(),
        };
        let ticket = context.ticket();
        if has_body {
            context.pause(ticket); // Until the upstream has room.
        }
        let passing = Passing {
            exchange,
            ahead_bytes: 0,
            trailers: Vec::new(),
        };
        self.passing.insert(ticket, passing);
        Reply::Later
    }

    /// What the client does.
    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let Some(passing) = self.passing.get_mut(&ticket) else {
            return;
        };
        let exchange = passing.exchange;
        match event {
            Event::Data(bytes) => {
                context.ask_send(exchange, bytes);
                context.pause(ticket); // Until the upstream has taken that.
            }
            Event::End => context.ask_end(exchange),
            Event::Writable => {
                passing.ahead_bytes = 0;
                context.ask_resume(exchange);
            }
            // Who sends no more before he has an answer has left, with few exceptions.
            Event::PeerEnded => {
                self.passing.remove(&ticket);
                context.ask_cancel(exchange);
                context.abort(ticket);
            }
            // The exchange ends by itself.
            Event::Closed => drop(self.passing.remove(&ticket)),
            _ => {}
        }
    }

    /// What the upstream does.
    fn exchange(&mut self, _: Exchange, event: upstream::Event<'_>, context: &mut Context<'_>) {
        let ticket = context.ticket();
        let Some(passing) = self.passing.get_mut(&ticket) else {
            return;
        };
        match event {
            upstream::Event::Head(head) => context.complete(ticket, head.forward()),
            upstream::Event::Data(bytes) => {
                context.send(ticket, bytes);
                passing.ahead_bytes += bytes.len();
                if passing.ahead_bytes >= AHEAD_BYTES {
                    context.ask_pause(passing.exchange); // Until the client has taken that.
                }
            }
            upstream::Event::Trailers(fields) => passing.trailers = owned(fields),
            upstream::Event::Writable => context.resume(ticket),
            upstream::Event::End => {
                let trailers = std::mem::take(&mut passing.trailers);
                context.end_with(ticket, trailers);
                self.passing.remove(&ticket);
            }
            upstream::Event::Failed(error) => {
                self.passing.remove(&ticket);
                match error.answered() {
                    true => context.abort(ticket), // The client sees that the answer isn't whole.
                    false => {
                        let text = format!("{error}\n");
                        let response = Response::sentence(error.kind().status(), text);
                        context.complete(ticket, response);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Trailers, to be passed on.
fn owned(fields: upstream::Fields<'_>) -> Vec<Field> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let all = upstream::forwarded(fields.iter());
    all.map(|(name, value)| (text(name).into(), text(value).into()))
        .collect()
}

/// Starts a proxy in front of `behind`.
pub(crate) fn start(
    mut config: Config,
    behind: upstream::Config,
    stop: &Stop,
) -> Result<Running, Box<dyn Error>> {
    config.peers = true;
    config.limits.body_bytes = 1 << 30;
    let maker = move |_worker| Proxy {
        behind: behind.clone(),
        upstream: None,
        has_body: false,
        passing: HashMap::new(),
    };
    Ok(ringside_server::start(config, maker, stop)?)
}

const USAGE: &str = "--upstream IP:PORT [--http2] [--addr IP:PORT] [--threads N]";

/// What the arguments say: those that all examples take, `--upstream IP:PORT` and `--http2`.
fn parse(
    arguments: impl Iterator<Item = String>,
) -> Result<(Config, upstream::Config), Box<dyn Error>> {
    let (mut common, mut addresses, mut protocol) = (Vec::new(), Vec::new(), Protocol::Http1);
    let mut arguments = arguments;
    while let Some(flag) = arguments.next() {
        match &*flag {
            "--help" | "-h" => arguments::help(USAGE),
            "--http2" => protocol = Protocol::Http2,
            "--upstream" => {
                let value = arguments.next().ok_or("--upstream takes an IP:PORT")?;
                let address = value.parse().map_err(|_| {
                    format!(
                        "--upstream {value}: give an IP address and a port, such as 127.0.0.1:9000"
                    )
                })?;
                addresses.push(Address::Tcp(address));
            }
            _ => {
                common.push(flag);
                common.extend(arguments.next());
            }
        }
    }
    if addresses.is_empty() {
        return Err(format!("--upstream is missing; usage: {USAGE}").into());
    }
    let behind = upstream::Config::new(addresses).with_protocol(protocol);
    Ok((arguments::config(common.into_iter())?, behind))
}

fn main() -> ExitCode {
    let (config, behind) = match parse(std::env::args().skip(1)) {
        Ok(parsed) => parsed,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    arguments::serve(Ok(config), |config, stop| start(config, behind, stop))
}
