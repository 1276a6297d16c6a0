//! The subject mechanisms: one thread that answers with constants, and waits for its connections in
//! the way that is asked for. Everything but the waiting is the same.
//!
//!     mechanisms 127.0.0.1:PORT [epoll|epoll-edge|epoll-edge-short|poll|select]
//!     mechanisms 127.0.0.1:PORT io_uring [batching] [defer-taskrun] [direct-descriptors] …

mod http;
mod ready;
mod ring;

use std::net::TcpListener;
use std::process::ExitCode;

use crate::http::Answers;

const USAGE: &str = "\
usage: mechanisms HOST:PORT [WAY [MECHANISM...]]
ways: epoll, epoll-edge, epoll-edge-short, poll, select, io_uring
mechanisms of io_uring: batching, defer-taskrun, direct-descriptors, multishot, skip-success,
sqpoll=CPU, registered-buffers, zero-copy";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match serve(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

/// Serves until it is killed.
fn serve(words: &[&str]) -> Result<(), String> {
    let (address, way, mechanisms) = match words {
        [address] => (address, &"epoll", &[][..]),
        [address, way, mechanisms @ ..] => (address, way, mechanisms),
        [] => return Err(USAGE.into()),
    };
    let listener = listen(address)?;
    let answers = Answers::new();
    let broken = |error: std::io::Error| format!("{way}: {error}");
    match (*way, mechanisms) {
        ("select", []) => {
            ready::serve(&listener, ready::Select::default(), &answers).map_err(broken)
        }
        ("poll", []) => ready::serve(&listener, ready::Poll::default(), &answers).map_err(broken),
        ("epoll" | "epoll-edge" | "epoll-edge-short", []) => {
            let until = match *way {
                "epoll" => ready::Until::Once,
                "epoll-edge" => ready::Until::Empty,
                _ => ready::Until::Short,
            };
            let epoll = ready::Epoll::new(until).map_err(broken)?;
            ready::serve(&listener, epoll, &answers).map_err(broken)
        }
        ("io_uring", mechanisms) => {
            let mechanisms = ring::Mechanisms::parse(mechanisms)?;
            ring::serve(&listener, &mechanisms, &answers).map_err(broken)
        }
        _ => Err(USAGE.into()),
    }
}

fn listen(address: &str) -> Result<TcpListener, String> {
    // The backlog of the standard library, 128, is too short for hundreds that come at once;
    // listen(2) may be called again with a longer one.
    let listener = TcpListener::bind(address).map_err(|why| format!("{address}: {why}"))?;
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&listener);
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the option an integer. Accepted sockets inherit it.
    let done = unsafe {
        libc::listen(descriptor, 65_535) == 0
            && libc::setsockopt(
                descriptor,
                libc::IPPROTO_TCP,
                libc::TCP_NODELAY,
                (&raw const on).cast(),
                size_of::<libc::c_int>() as libc::socklen_t,
            ) == 0
    };
    match done {
        true => Ok(listener),
        false => Err(format!("{address}: {}", std::io::Error::last_os_error())),
    }
}
