//! `ringside fault-proxy`: faults out of the arguments, the proxy until it is stopped, and the
//! lines on stdin that it obeys meanwhile.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use engine::signal::Stop;
use engine::{Address, Config, Driver, Kind, Waker, descriptors};
use faultproxy::{Faults, LINE_BYTES_MAX, Proxy, Settings};
use nix::sys::signal::{SigSet, Signal};

use crate::args::fault_proxy::FaultProxy;
use crate::serve::address;
use exit::{Exit, Failure};
use output::terminal;

/// Sockets at once: the listener and two for each of 16,384 connections.
const SOCKETS_MAX: usize = 1 + 2 * 16_384;
/// Descriptors that the process needs for itself.
const DESCRIPTORS_RESERVED: u64 = 64;
/// Lines that may wait to be obeyed.
const LINES_WAITING: usize = 16;

/// Proxies until SIGINT or SIGTERM.
pub(crate) fn run(arguments: &FaultProxy) -> Result<Exit, Failure> {
    let (listen, _) = address("--listen", &arguments.listen).map_err(Failure::usage)?;
    let (to, _) = address("--to", &arguments.to).map_err(Failure::usage)?;
    let settings = Settings {
        listen,
        to,
        faults: faults(arguments),
        seed: arguments.seed,
    };
    let stop = Stop::on_signals().map_err(Failure::signals)?;
    let (kind, reason) = engine::decide(arguments.engine).map_err(Failure::running)?;
    let config = Config {
        sockets: sockets(descriptors::raise_limit(u64::MAX)),
        ..Config::default()
    };
    let engine = format!("{}: {reason}", kind.name());
    match kind {
        Kind::Uring(without) => {
            let config = Config { without, ..config };
            let driver = engine::uring::open(&config).map_err(Failure::running)?;
            proxy(driver, &settings, &engine, &stop)
        }
        Kind::Epoll => {
            let driver = engine::epoll::open(&config).map_err(Failure::running)?;
            proxy(driver, &settings, &engine, &stop)
        }
    }
}

/// How many sockets there may be at once under a limit of open files. A ring has a file table of at
/// most that many places, of which it leaves as many to accepted connections as there may be
/// sockets. With sockets for two thirds of them, a third is left for connections to the upstream,
/// which is one for each that is accepted.
fn sockets(limit: u64) -> usize {
    let places = usize::try_from(limit.saturating_sub(DESCRIPTORS_RESERVED)).unwrap_or(usize::MAX);
    (places / 3 * 2).clamp(3, SOCKETS_MAX)
}

fn faults(arguments: &FaultProxy) -> Faults {
    Faults {
        delay_ns: arguments.delay.unwrap_or_default(),
        jitter_ns: arguments.jitter.unwrap_or_default(),
        refuse: arguments.refuse.unwrap_or(0.0),
        cut_after: arguments.cut_after,
        cut: arguments.cut,
        bandwidth: arguments.bandwidth,
        stall: arguments.stall,
        direction: arguments.direction,
    }
}

fn proxy<D: Driver>(
    driver: D,
    settings: &Settings,
    engine: &str,
    stop: &Stop,
) -> Result<Exit, Failure> {
    let mut proxy = Proxy::new(driver, settings).map_err(Failure::running)?;
    let lines = lines_of_stdin(proxy.waker());
    let place = match proxy.address() {
        Address::Tcp(address) => address.to_string(),
        Address::Unix(path) => format!("unix:{}", path.display()),
    };
    let to = &settings.to;
    let greeting = format!("listening on {place} ({engine}), passing on to {to}\n");
    terminal::print(&greeting)
        .map_err(|error| Failure::running(format!("can't write to stdout: {error}")))?;
    // Whoever reads no answers is not told that they can't be written.
    let mut answer = |answer: &str| drop(terminal::print(&format!("{answer}\n")));
    let ran = proxy.run(&lines, stop, &mut answer);
    terminal::say(&proxy.counters().to_string());
    ran.map(|()| Exit::Ok).map_err(Failure::running)
}

/// The lines of standard input, read by a thread of its own that ends with the process. In the
/// background of a terminal there are none: reading would stop the whole process (termios(3),
/// SIGTTIN), unless the thread that reads has blocked that signal.
fn lines_of_stdin(waker: Waker) -> Receiver<String> {
    let (sender, lines) = sync_channel(LINES_WAITING);
    thread::spawn(move || {
        let blocked = SigSet::from(Signal::SIGTTIN).thread_block();
        debug_assert_eq!(blocked, Ok(()), "any thread may block it");
        read_lines(io::stdin().lock(), &sender, &waker);
    });
    lines
}

/// Hands over each line until the input ends or nobody takes it.
fn read_lines(mut input: impl BufRead, sender: &SyncSender<String>, waker: &Waker) {
    let mut line = Vec::new();
    loop {
        line.clear();
        // One more than is allowed, so that a line that is too long is seen to be.
        let most = LINE_BYTES_MAX as u64 + 2;
        match input.by_ref().take(most).read_until(b'\n', &mut line) {
            Ok(length) if length > 0 => {}
            _ => return,
        }
        let is_whole = line.last() == Some(&b'\n');
        let text = String::from_utf8_lossy(&line).trim_end().to_owned();
        if sender.send(text).is_err() {
            return;
        }
        waker.wake();
        if !is_whole && input.skip_until(b'\n').is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(input: &[u8]) -> Vec<String> {
        let (sender, lines) = sync_channel(100);
        let driver = engine::epoll::open(&Config::default()).expect("every Linux has epoll");
        read_lines(input, &sender, &driver.waker());
        drop(sender);
        lines.into_iter().collect()
    }

    #[test]
    fn a_low_limit_of_open_files_leaves_room_for_both_sides() {
        assert_eq!(sockets(1_024), 640);
        assert_eq!(sockets(0), 3);
        assert_eq!(sockets(u64::MAX), SOCKETS_MAX);
    }

    #[test]
    fn lines_are_handed_over_whole_and_those_too_long_once() {
        assert_eq!(read(b"one\ntwo\r\nthree"), ["one", "two", "three"]);
        let long = [&[b'x'; 3 * LINE_BYTES_MAX][..], b"\ncounters\n"].concat();
        let lines = read(&long);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].len() > LINE_BYTES_MAX, "{}", lines[0].len());
        assert_eq!(lines[1], "counters");
        let fits = [&[b'x'; LINE_BYTES_MAX][..], b"\n"].concat();
        assert_eq!(read(&fits)[0].len(), LINE_BYTES_MAX);
        assert_eq!(read(b"\xff\n"), ["\u{fffd}"]);
    }
}
