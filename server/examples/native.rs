//! A small server on the native interface, with two routes:
//!
//! ```text
//! cargo run -p ringside-server --example native -- --addr 127.0.0.1:8080 --threads 1
//! curl http://127.0.0.1:8080/                      # a greeting
//! curl http://127.0.0.1:8080/echo -d hello         # what came, as JSON
//! ```

#[path = "shared/arguments.rs"]
pub(crate) mod arguments;

use std::process::ExitCode;

use ringside_server::{
    Config, Context, Intake, Reply, Request, Response, Running, Service, Stop, Version,
};
use serde_json::{Map, Value, json};

/// What this server answers. Each worker has one of these for itself.
struct Native {
    /// Echoes of this worker so far.
    echoes: u64,
}

impl Service for Native {
    fn intake(&mut self, head: &Request<'_>) -> Intake {
        match head.path() {
            b"/echo" => Intake::Whole,
            _ => Intake::Discard,
        }
    }

    fn call(&mut self, request: &Request<'_>, _: &mut Context<'_>) -> Reply {
        match (request.method(), request.path()) {
            (b"GET" | b"HEAD", b"/") => Reply::Always(Response::fixed("text/plain", b"hello\n")),
            (b"GET" | b"HEAD" | b"POST", b"/echo") => self.echo(request).into(),
            (_, b"/") => not_allowed("GET, HEAD").into(),
            (_, b"/echo") => not_allowed("GET, HEAD, POST").into(),
            _ => Response::sentence(404, "there is / and /echo\n").into(),
        }
    }
}

impl Native {
    /// The request as JSON.
    fn echo(&mut self, request: &Request<'_>) -> Response {
        self.echoes += 1;
        let version = match request.version() {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
            _ => "HTTP/2",
        };
        let mut fields = Map::new();
        for (name, value) in request.fields() {
            fields.insert(text(name).to_ascii_lowercase(), text(value).into());
        }
        let seen = json!({
            "version": version,
            "method": text(request.method()),
            "path": text(request.path()),
            "query": request.query().map(text),
            "host": request.host().map(text),
            "fields": Value::Object(fields),
            "body": text(request.body()),
        });
        Response::of("application/json", format!("{seen}\n"))
            .with_field("X-Echoes", self.echoes.to_string())
    }
}

fn not_allowed(methods: &'static str) -> Response {
    Response::sentence(405, format!("this path allows {methods}\n")).with_field("Allow", methods)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What answers the requests of one worker.
pub(crate) fn service() -> impl Service {
    Native { echoes: 0 }
}

/// Starts the server as the arguments say.
pub(crate) fn start(config: Config, stop: &Stop) -> Result<Running, Box<dyn std::error::Error>> {
    Ok(ringside_server::start(config, |_worker| service(), stop)?)
}

fn main() -> ExitCode {
    arguments::serve(arguments::config(std::env::args().skip(1)), start)
}
