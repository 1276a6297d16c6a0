//! The lab as its users see it: files in, processes started and ended, reports out.

mod answers;
mod arrivals;
mod capacity;
mod check;
mod claims;
mod command;
mod compare;
mod equal;
mod faulted;
mod files;
mod foreign;
mod generators;
mod loads;
mod mix;
#[path = "../../../tests/ports.rs"]
mod ports;
mod real;
mod reference;
mod resume;
#[path = "../../../tests/skip.rs"]
mod skip;
mod support;
mod trials;
mod watch;

/// Not a test: the server that tests compare is this program, started again with this one test and
/// a port in its environment. Without one it has nothing to do.
#[test]
fn tiny_server() {
    support::tiny_server();
}

/// Not a test either: the generator that tests compare.
#[test]
fn tiny_generator() {
    generators::tiny_generator();
}
