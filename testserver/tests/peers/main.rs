//! Real clients that others wrote, against whole servers.

#[path = "../../../tests/go_peer.rs"]
mod go_peer;
mod grpc;
mod http1;
mod http2;
#[path = "../../../tests/skip.rs"]
mod skip;

use std::process::{Command, Output};

use engine::{Address, choice::EngineChoice, signal::Stop};
use go_peer::run_go_peer;
use skip::skip;
use testserver::{Config, Limits, Running, StartError, Tls};
use tls::Certificate;

const ENGINES: [EngineChoice; 2] = [EngineChoice::Uring, EngineChoice::Epoll];

struct Server(Option<Running>);

impl Server {
    /// A server at a free port; `None`, loudly, where the engine cannot be used.
    fn with(engine: EngineChoice) -> Option<Server> {
        Server::start(engine, None, Limits::default())
    }

    /// The same with other limits.
    fn limited(engine: EngineChoice, limits: Limits) -> Option<Server> {
        Server::start(engine, None, limits)
    }

    /// The same over TLS, with a certificate that nobody trusts.
    fn secured(engine: EngineChoice) -> Option<Server> {
        let names = vec!["localhost".to_owned()];
        let tls = Tls {
            certificate: Certificate::SelfSigned { names },
            client_authorities: None,
        };
        Server::start(engine, Some(tls), Limits::default())
    }

    fn start(engine: EngineChoice, tls: Option<Tls>, limits: Limits) -> Option<Server> {
        let address = Address::Tcp(([127, 0, 0, 1], 0).into());
        let config = Config {
            engine,
            tls,
            limits,
            ..Config::new(address)
        };
        match testserver::start(config, &Stop::new()) {
            Ok(running) => Some(Server(Some(running))),
            Err(StartError::Engine(error)) => {
                skip(format!("{engine} cannot be used here: {error}"));
                None
            }
            Err(error) => panic!("{engine}: {error}"),
        }
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port())
    }

    fn is_secured(&self) -> bool {
        self.0
            .as_ref()
            .is_some_and(|running| running.tls().is_some())
    }

    fn port(&self) -> u16 {
        let running = self.0.as_ref().expect("runs until it is dropped");
        match running.address() {
            Address::Tcp(address) => address.port(),
            other => panic!("not a TCP server: {other}"),
        }
    }

    fn requests(mut self) -> u64 {
        let running = self.0.take().expect("runs until it is dropped");
        running.stop();
        running
            .join()
            .expect("the server ends well")
            .counts
            .requests
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(running) = self.0.take() {
            running.stop();
            let _ = running.join();
        }
    }
}

/// Runs a program with some arguments; `None`, loudly, where it is not installed.
fn run(program: &str, package: &str, arguments: &[&str]) -> Option<Output> {
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(output),
        Err(error) => {
            skip(format!(
                "{program} is not installed ({error}); apt-get install {package}"
            ));
            None
        }
    }
}

/// The exit code and the output of curl, which waits 5 seconds at most.
fn curl(arguments: &[&str]) -> Option<(i32, String)> {
    let output = run(
        "curl",
        "curl",
        &[&["-sS", "--max-time", "5"], arguments].concat(),
    )?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    Some((output.status.code().unwrap_or(-1), text))
}
