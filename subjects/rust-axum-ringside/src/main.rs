//! The subject rust-axum-ringside: the application of the subject rust-axum, the same file, on
//! ringside's server library.

#[path = "../../rust-axum/src/app.rs"]
mod app;

use ringside_server::{Address, Config, EngineChoice, Stop, tower};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let address = std::env::args()
        .nth(1)
        .ok_or("usage: rust-axum-ringside ADDRESS")?;
    let config = Config {
        engine: EngineChoice::Uring,
        ..Config::new(Address::Tcp(address.parse()?))
    };
    let app = app::app();
    let running = tower::start(config, move |_worker| app.clone(), &Stop::on_signals()?)?;
    running.join()?;
    Ok(())
}
