//! A server as a master and worker processes.
//!
//! The master opens the listening sockets, keeps them for as long as it lives, and starts worker
//! processes, each of which serves on one of them with `ringside-server`. So nothing that happens
//! to a worker loses a connection that it hasn't accepted:
//!
//! | what happens | what comes of it |
//! |---|---|
//! | a worker dies | another takes its place at once, and later and later if it keeps dying |
//! | a worker gives no sign of life | it's killed, and another takes its place |
//! | SIGHUP | new workers, of the program file as it is now, take over; the old ones end |
//! | SIGUSR2 | a new master takes the sockets over, with workers of its own; this one ends |
//! | SIGTERM, SIGINT, SIGQUIT | the workers end what's under way; a second one ends all at once |
//! | the master dies | the workers end what's under way |
//!
//! If new workers or a new master don't come up, all stays as it was.
//!
//! The program calls [`role`] first of all. A worker is the same program, started with the same
//! arguments, to which [`role`] says so:
//!
//! ```no_run
//! use master::{Role, Settings};
//! use ringside_server::{Address, Config, Context, LiveCounts, Stop};
//! use ringside_server::{Reply, Request, Response, Service};
//!
//! struct Hello;
//!
//! impl Service for Hello {
//!     fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
//!         Response::fixed("text/plain", b"hello\n").into()
//!     }
//! }
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     let address = Address::Tcp("127.0.0.1:8080".parse()?);
//!     match master::role()? {
//!         Role::Master => {
//!             master::run(&Settings::new(address, 4), &|text| eprintln!("{text}"))?;
//!         }
//!         Role::Worker(worker) => {
//!             let (stop, live) = (Stop::on_signals()?, LiveCounts::new());
//!             let config = Config {
//!                 listening: worker.listening(),
//!                 live: Some(live.clone()),
//!                 ..Config::new(address)
//!             };
//!             let running = ringside_server::start(config, |_thread| Hello, &stop)?;
//!             worker.serves(&stop, live);
//!             running.join()?;
//!         }
//!     }
//!     Ok(())
//! }
//! ```
//!
//! `master/examples/axum.rs` is a whole program. With systemd, sockets may come from a socket unit
//! (sd_listen_fds(3)), and the service may be of `Type=notify` (sd_notify(3)).
//!
//! From the outside in: `running` is the master's loop, `roster` decides who is started and who is
//! to end and knows no processes, `program` starts them, `channel` is what a master and a worker
//! say to each other, `shared` is memory of both, in which `input` puts a file for workers and they
//! what `figures` adds up; `sockets` opens or inherits what is listened on, `voice` tells systemd,
//! `admin` answers `/health` and `/metrics` out of what `board` has.
#![forbid(unsafe_code)]

mod admin;
mod board;
mod channel;
mod figures;
mod input;
mod program;
mod role;
mod roster;
mod running;
mod settings;
mod shared;
mod sockets;
mod voice;
mod worker;

pub use figures::Wanted;
pub use role::{Role, role};
pub use running::{run, run_with};
pub use settings::{Error, Settings};
pub use worker::{Telling, Worker};
