//! The subject rust-stores-ringside: the application on ringside's server library.

use std::sync::Arc;

use ringside_server::{Address, Config, EngineChoice, Stop, tower};
use rust_stores::{Arguments, app};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments = Arc::new(Arguments::read()?);
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(arguments.fill())?;
    let config = Config {
        engine: EngineChoice::Uring,
        ..Config::new(Address::Tcp(arguments.address))
    };
    // Each worker has a runtime and connections of its own.
    let make = move |_worker| app(&arguments).expect("connections are made later");
    tower::start(config, make, &Stop::on_signals()?)?.join()?;
    Ok(())
}
