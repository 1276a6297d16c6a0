//! The subject mechanisms: one thread that answers with constants, and waits for its connections in
//! the way that is asked for. Everything but the waiting is the same.
//!
//!     mechanisms 127.0.0.1:PORT [backlog=N] [epoll|epoll-edge|epoll-edge-short|poll|select]
//!     mechanisms 127.0.0.1:PORT [backlog=N] io_uring [batching] [defer-taskrun] …

mod http;
mod ready;
mod ring;

use std::net::TcpListener;
use std::process::ExitCode;

use crate::http::Answers;

const USAGE: &str = "\
usage: mechanisms HOST:PORT [backlog=N] [WAY [MECHANISM...]]
backlog=N: how many connections may wait to be accepted; 65535 unless it's said
ways: epoll, epoll-edge, epoll-edge-short, poll, select, io_uring
mechanisms of io_uring: batching, defer-taskrun, direct-descriptors, multishot, skip-success,
sqpoll=CPU, registered-buffers, zero-copy";

/// Connections that may wait to be accepted, unless the arguments say how many. The kernel cuts it
/// at net.core.somaxconn (listen(2)).
const BACKLOG: libc::c_int = 65_535;

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
    let [address, words @ ..] = words else {
        return Err(USAGE.into());
    };
    let (backlog, words) = backlog(words)?;
    let (way, mechanisms) = match words {
        [] => (&"epoll", &[][..]),
        [way, mechanisms @ ..] => (way, mechanisms),
    };
    let listener = listen(address, backlog)?;
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

/// How many connections may wait to be accepted, and the words behind that one.
fn backlog<'a, 'b>(words: &'a [&'b str]) -> Result<(libc::c_int, &'a [&'b str]), String> {
    let [first, rest @ ..] = words else {
        return Ok((BACKLOG, words));
    };
    let Some(number) = first.strip_prefix("backlog=") else {
        return Ok((BACKLOG, words));
    };
    match number.parse() {
        Ok(backlog @ 1..) => Ok((backlog, rest)),
        _ => Err(format!("{first}: a number above 0 was expected\n{USAGE}")),
    }
}

fn listen(address: &str, backlog: libc::c_int) -> Result<TcpListener, String> {
    // The standard library listens with a backlog of its own choice; listen(2) may be called again
    // with another one.
    let listener = TcpListener::bind(address).map_err(|why| format!("{address}: {why}"))?;
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&listener);
    let on: libc::c_int = 1;
    // SAFETY: the descriptor is open, and the option an integer. Accepted sockets inherit it.
    let done = unsafe {
        libc::listen(descriptor, backlog) == 0
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
