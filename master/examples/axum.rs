//! An axum application in worker processes: `cargo run -p ringside-master --example axum`.
//!
//! `kill -HUP` its process id to have new workers take over, and ask
//! http://127.0.0.1:8081/health how things stand.

use axum::{Router, routing::get};
use master::{Role, Settings};
use ringside_server::{Address, Config, LiveCounts, Stop, tower};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = Address::Tcp("127.0.0.1:8080".parse()?);
    let worker = match master::role()? {
        Role::Worker(worker) => worker,
        Role::Master => {
            let settings = Settings {
                admin: Some(Address::Tcp("127.0.0.1:8081".parse()?)),
                ..Settings::new(address, 2)
            };
            return Ok(master::run(&settings, &|text| eprintln!("{text}"))?);
        }
    };
    let who = format!("hello from process {}\n", std::process::id());
    let app = Router::new().route("/", get(move || std::future::ready(who.clone())));
    let (stop, live) = (Stop::on_signals()?, LiveCounts::new());
    let config = Config {
        listening: worker.listening(),
        live: Some(live.clone()),
        ..Config::new(address)
    };
    let running = tower::start(config, move |_thread| app.clone(), &stop)?;
    worker.serves(&stop, live);
    running.join()?;
    Ok(())
}
