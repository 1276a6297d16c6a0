//! The gateway over sockets: between clients that send bytes, and upstreams that follow a script or
//! are real servers.

mod differential;
mod failures;
mod fields;
mod frames;
mod limits;
#[path = "../../../tests/master.rs"]
mod master;
#[path = "../../../token/tests/support/mint.rs"]
#[allow(dead_code)] // It makes keys, too, for the tests of tokens themselves.
mod mint;
mod names;
mod operations;
mod passing;
#[path = "../../../tests/ports.rs"]
mod ports;
mod processes;
mod program;
mod secured;
mod servers;
#[path = "../../../tests/skip.rs"]
mod skip;
mod smuggling;
#[path = "../../../tests/stores.rs"]
#[allow(dead_code)]
mod stores;
mod support;
mod tokens;
mod users;
