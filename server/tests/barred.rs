//! A server where io_uring is barred, as by the sandbox of a container: a seccomp(2) filter that
//! answers io_uring_setup(2) with EPERM. Whether io_uring can be had is asked once in a process, so
//! this test has one to itself.

use std::io::{Read, Write};
use std::net::TcpStream;

use axum::Router;
use axum::routing::get;
use ringside_server::{Address, Config, EngineChoice, StartError, Stop, tower};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, apply_filter};

/// The number of io_uring_setup(2), on every architecture.
const IO_URING_SETUP: i64 = 425;
const EPERM: u32 = 1;

/// Filters this thread, and those that it starts, for the rest of their lives.
fn bar_io_uring() {
    let arch = std::env::consts::ARCH
        .try_into()
        .expect("a known architecture");
    let barred = [(IO_URING_SETUP, Vec::new())].into_iter().collect();
    let (others, these) = (SeccompAction::Allow, SeccompAction::Errno(EPERM));
    let filter = SeccompFilter::new(barred, others, these, arch).expect("a filter");
    let program: BpfProgram = filter.try_into().expect("a program");
    apply_filter(&program).expect("a process may always bar itself");
}

fn started(engine: EngineChoice) -> Result<ringside_server::Running, StartError> {
    let app = Router::new().route("/", get(async || "hello"));
    let config = Config {
        engine,
        ..Config::new(Address::Tcp(([127, 0, 0, 1], 0).into()))
    };
    tower::start(config, move |_worker| app.clone(), &Stop::new())
}

#[test]
fn where_io_uring_is_barred_epoll_serves_and_the_reason_is_told() {
    bar_io_uring();
    let running = started(EngineChoice::Auto).expect("it starts all the same");
    assert_eq!(running.engine_name(), "epoll");
    let reason = running.engine_reason();
    let named = reason.contains("seccomp") || reason.contains("kernel.io_uring_disabled");
    assert!(named, "{reason}");
    let Address::Tcp(address) = running.address() else {
        panic!("not a TCP server: {}", running.address());
    };
    let mut stream = TcpStream::connect(address).expect("it listens");
    let request = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";
    stream.write_all(request).expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    assert!(
        text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("hello"),
        "{text}"
    );
    running.stop();
    running.join().expect("its driver works");
    // Who insists is told why not.
    let refused = started(EngineChoice::Uring)
        .expect_err("it's barred")
        .to_string();
    let named = refused.contains("seccomp") || refused.contains("kernel.io_uring_disabled");
    assert!(named, "{refused}");
}
