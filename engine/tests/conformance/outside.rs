//! With a peer from outside, who does what no driver does. For the kernel's sockets only; the
//! simulator has scripted peers and tests of its own.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

use engine::{Address, Close, Config, Driver};

use crate::bench::{Bench, Open, assert_same, pattern};

pub fn tcp(address: &Address) -> SocketAddr {
    match address {
        Address::Tcp(address) => *address,
        Address::Unix(_) => panic!("a TCP listener has a TCP address"),
    }
}

pub fn peer<D: Driver>(bench: &mut Bench<D>) -> (TcpStream, engine::Token) {
    let (listener, address) = bench.listen();
    let stream = TcpStream::connect(tcp(&address)).expect("the backlog takes it");
    let accepted = bench.accepted.len();
    bench.until("the accept", |bench| bench.accepted.len() > accepted);
    bench.close(listener, Close::Graceful);
    (stream, bench.accepted[accepted])
}

pub fn after_half_a_close_the_other_half_still_sends<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (mut stream, server) = peer(&mut bench);
    stream
        .write_all(b"the last request")
        .expect("there is room");
    stream.shutdown(Shutdown::Write).expect("half a close");
    bench.until("the end", |bench| bench.story(server).ended);
    assert_eq!(bench.story(server).received, b"the last request");
    let answer = pattern(100_000, 21);
    bench.send(server, &answer);
    let reader = std::thread::spawn(move || {
        let mut received = Vec::new();
        stream.read_to_end(&mut received).map(|_| received)
    });
    bench.until("the send ends", |bench| bench.story(server).sent == 1);
    bench.close(server, Close::Graceful);
    bench.some_turns();
    let received = reader
        .join()
        .expect("the reader ends well")
        .expect("no reset");
    assert_same(&received, &answer, "after half a close");
}

pub fn bytes_and_the_end_at_once_are_both_seen<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    for size in [1, 16_383, 16_384, 16_385, 40_000] {
        let (listener, address) = bench.listen();
        // All of it lies in the kernel before the driver has even accepted.
        let mut stream = TcpStream::connect(tcp(&address)).expect("the backlog takes it");
        let bytes = pattern(size, 22);
        stream.write_all(&bytes).expect("there is room");
        drop(stream);
        let accepted = bench.accepted.len();
        bench.until("the end", |bench| {
            bench
                .accepted
                .get(accepted)
                .is_some_and(|&server| bench.story(server).ended)
        });
        assert_same(
            &bench.story(bench.accepted[accepted]).received,
            &bytes,
            "before the end",
        );
        bench.close(listener, Close::Graceful);
    }
}

pub fn bytes_before_a_reset_do_not_hang<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (mut stream, server) = peer(&mut bench);
    // Unread bytes of ours make the peer's close a reset (RFC 1122 §4.2.2.13).
    bench.send(server, b"never read");
    bench.until("the send ends", |bench| bench.story(server).sent == 1);
    stream.write_all(b"last words").expect("there is room");
    drop(stream);
    bench.until("the failure", |bench| bench.story(server).failed.is_some());
}

/// More than a driver ends by itself when it is dropped; the others are left to the kernel.
pub fn a_driver_that_is_dropped_ends_all_its_connections<D: Driver>(open: Open<'_, D>) {
    const CONNECTIONS: usize = 1_500;
    engine::descriptors::raise_limit(2 * CONNECTIONS as u64 + 4_000);
    let config = Config {
        // One for the listener, which may leave a place unused of each ring that it was at.
        sockets: CONNECTIONS + 100,
        ..Config::default()
    };
    let mut bench = Bench::with(open, config);
    let (_, address) = bench.listen();
    let mut streams = Vec::new();
    while streams.len() < CONNECTIONS {
        // As many as the backlog takes.
        streams.extend((0..100).map(|_| TcpStream::connect(tcp(&address)).expect("room")));
        let count = streams.len();
        bench.until("the accepts", |bench| bench.accepted.len() == count);
    }
    drop(bench);
    for mut stream in streams {
        stream
            .set_read_timeout(Some(Duration::from_secs(60)))
            .expect("a length of time");
        // The kernel may interrupt the thread that had the ring while it takes that down.
        let end = loop {
            match stream.read(&mut [0; 16]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                end => break end.map_err(|error| error.kind()),
            }
        };
        assert!(
            matches!(end, Ok(0) | Err(ErrorKind::ConnectionReset)),
            "{end:?}"
        );
    }
}

/// By what each sends, which is the port it sees itself at: no two are mixed up, however many come
/// at once.
pub fn a_peers_address_is_what_the_peer_has_for_its_own<D: Driver>(open: Open<'_, D>) {
    for (on, to) in [
        ("127.0.0.1:0", "127.0.0.1"),
        ("[::1]:0", "::1"),
        ("[::]:0", "::1"),
        ("[::]:0", "127.0.0.1"),
    ] {
        let mut bench = Bench::new(open);
        let (_, address) = bench.listen_naming(on);
        let to = SocketAddr::new(to.parse().expect("an address"), tcp(&address).port());
        let connect = || {
            let mut stream = TcpStream::connect(to).expect("the backlog takes it");
            let own = stream.local_addr().expect("it is connected");
            let port = own.port().to_be_bytes();
            stream.write_all(&port).expect("there is room");
            (stream, own)
        };
        for count in [1, 3, 150] {
            let first = bench.accepted.len();
            let streams: Vec<_> = (0..count).map(|_| connect()).collect();
            bench.until("all their ports", |bench| {
                let servers = &bench.accepted[first..];
                let whole = |&server: &engine::Token| bench.received_len(server) == 2;
                servers.len() == count && servers.iter().all(whole)
            });
            for &server in &bench.accepted[first..] {
                let said = &bench.story(server).received;
                let stream = streams
                    .iter()
                    .find(|(_, own)| own.port().to_be_bytes() == said[..]);
                let (_, own) = stream.expect("one of the streams");
                assert_eq!(bench.driver.peer_address(server), Some(*own));
            }
        }
    }
}

/// With accepts under way into memory of the driver that is dropped.
pub fn a_driver_that_is_dropped_accepts_no_more<D: Driver>(open: Open<'_, D>) {
    for _ in 0..20 {
        let mut bench = Bench::new(open);
        let (listener, address) = bench.listen_naming("127.0.0.1:0");
        let (other, _) = bench.listen_naming("127.0.0.1:0");
        bench.some_turns();
        let _stream = TcpStream::connect(tcp(&address)).expect("the backlog takes it");
        bench.close(other, Close::Graceful);
        bench.turn();
        bench.close(listener, Close::Graceful);
        drop(bench);
        let late = TcpStream::connect(tcp(&address)).map_err(|error| error.kind());
        assert_eq!(late.err(), Some(ErrorKind::ConnectionRefused));
    }
}
