//! A proxy that may have few descriptors has room for upstreams as well as for clients. In a test
//! binary of its own, because the limit is that of the whole process.

#[allow(dead_code)] // Its `main` is the one function that isn't called here.
#[path = "../examples/upstream.rs"]
mod proxy;
#[path = "../../tests/skip.rs"]
mod skip;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

use ringside_server::upstream::{Config as Behind, Limits};
use ringside_server::{Address, Config, EngineChoice, StartError, Stop};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

/// Requests under way at once, each of them over a connection of its own to the upstream.
const CLIENTS: usize = 150;

/// Nobody may have more descriptors from here on.
fn lower_the_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    (limit.current, limit.maximum) = (Some(1024), Some(1024));
    setrlimit(Resource::Nofile, limit).expect("a limit can be lowered");
}

/// An upstream that answers when it has as many connections as there are clients.
fn answer_all(listener: &TcpListener) {
    let mut all: Vec<TcpStream> = (0..CLIENTS)
        .map(|_| listener.accept().expect("the proxy connects").0)
        .collect();
    for stream in &mut all {
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a request");
            request.push(byte[0]);
        }
        let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
        stream.write_all(answer).expect("it's read");
    }
}

#[test]
fn under_a_low_limit_of_descriptors_there_is_room_for_upstreams_and_clients() {
    lower_the_limit();
    for engine in [EngineChoice::Uring, EngineChoice::Epoll] {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let behind = Address::Tcp(listener.local_addr().expect("it has one"));
        let limits = Limits {
            connections: 4096,
            ..Limits::default()
        };
        let behind = Behind::new([behind]).with_limits(limits);
        let mut config = Config::new(Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0))));
        config.engine = engine;
        let proxy = match proxy::start(config, behind, &Stop::new()) {
            Ok(proxy) => proxy,
            Err(error) => match error.downcast_ref() {
                Some(StartError::Engine(why)) => {
                    skip::skip(format_args!("{engine} can't be used here: {why}"));
                    continue;
                }
                _ => panic!("{engine}: {error}"),
            },
        };
        let Address::Tcp(address) = proxy.address().clone() else {
            panic!("not a TCP server: {}", proxy.address());
        };
        // It isn't waited for: where there's no room, it never has as many as it wants.
        thread::spawn(move || answer_all(&listener));
        let mut clients: Vec<TcpStream> = (0..CLIENTS)
            .map(|_| {
                let mut stream = TcpStream::connect(address).expect("the proxy listens");
                stream
                    .set_read_timeout(Some(PATIENCE))
                    .expect("a socket option");
                stream
                    .write_all(b"GET / HTTP/1.1\r\nHost: test\r\n\r\n")
                    .expect("it's read");
                stream
            })
            .collect();
        for (position, stream) in clients.iter_mut().enumerate() {
            let mut status = [0; 12];
            stream.read_exact(&mut status).expect("an answer");
            let status = String::from_utf8_lossy(&status);
            assert_eq!(status, "HTTP/1.1 200", "{engine}: client {position}");
        }
        drop(clients);
        proxy.stop();
        let counts = proxy.join().expect("it served").counts.upstreams;
        assert_eq!(counts.connections, CLIENTS as u64, "{engine}");
    }
}
