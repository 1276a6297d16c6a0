//! The gateway over sockets: between clients that send bytes, and upstreams that follow a script or
//! are real servers.

mod differential;
mod failures;
mod fields;
mod frames;
mod limits;
mod operations;
mod passing;
mod program;
mod servers;
#[path = "../../../tests/skip.rs"]
mod skip;
mod smuggling;
mod support;
