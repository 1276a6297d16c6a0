//! Two drivers that accept on one socket, of which the first leaves or does nothing any more: no
//! connection is left to nobody.

#[path = "../../tests/skip.rs"]
mod skip;

use std::net::TcpStream;

use engine::{
    Address, Close, Completions, Config, Driver, Event, Listen, Listening, SocketOptions, Token,
    Until, epoll, uring,
};

/// Turns without anything to sleep for: more than a connection needs to be accepted.
const TURNS: u32 = 20;

fn listen<D: Driver>(driver: &mut D, listening: &Listening, peers: bool) -> Token {
    let listen = Listen {
        address: listening.address().clone(),
        share_port: None,
        peers,
        backlog: 16,
        options: SocketOptions::default(),
        inherited: Some(listening.clone()),
    };
    driver.listen(&listen).expect("it listens already")
}

fn accepted<D: Driver>(driver: &mut D) -> usize {
    let mut list = Completions::new();
    let mut accepted = 0;
    for _ in 0..TURNS {
        let soon = driver.clock().plus(1_000_000);
        driver
            .wait(Until::Time(soon), &mut list)
            .expect("the driver works");
        let is_accept = |event| matches!(event, Event::Accepted { .. });
        accepted += list.iter().filter(|one| is_accept(one.event)).count();
    }
    accepted
}

fn one_leaves<D: Driver>(open: impl Fn() -> D) {
    for peers in [false, true] {
        let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let listening = Listening::open(&any, None, 16).expect("a free port");
        let (mut leaves, mut stays) = (open(), open());
        // Whoever waits first is woken first.
        let leaving = listen(&mut leaves, &listening, peers);
        assert_eq!(accepted(&mut leaves), 0);
        listen(&mut stays, &listening, peers);
        assert_eq!(accepted(&mut stays), 0);
        let Address::Tcp(address) = listening.address() else {
            panic!("TCP was asked for");
        };
        let _waits = TcpStream::connect(address).expect("it listens");
        leaves
            .close(leaving, Close::Graceful)
            .expect("a listener that is open");
        let taken = (accepted(&mut leaves), accepted(&mut stays));
        assert_eq!(taken.0 + taken.1, 1, "with peers: {peers}: {taken:?}");
    }
}

/// As the ring of a process that was killed or stopped: it's woken, and that's all.
fn one_is_silent<D: Driver>(open: impl Fn() -> D) {
    for peers in [false, true] {
        let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
        let listening = Listening::open(&any, None, 16).expect("a free port");
        let (mut silent, mut stays) = (open(), open());
        listen(&mut silent, &listening, peers);
        assert_eq!(accepted(&mut silent), 0);
        listen(&mut stays, &listening, peers);
        assert_eq!(accepted(&mut stays), 0);
        let Address::Tcp(address) = listening.address() else {
            panic!("TCP was asked for");
        };
        let _waits = TcpStream::connect(address).expect("it listens");
        let deadline = stays.clock().plus(PATIENCE_NS);
        let mut taken = 0;
        while taken == 0 && stays.clock() < deadline {
            taken = accepted(&mut stays);
        }
        assert_eq!(taken, 1, "with peers: {peers}");
    }
}

/// Places of a ring, and more connections than one ring has places for.
const EACH: usize = 100;
const CONNECTIONS: usize = 150;
/// A driver that rests looks again after 10, 30, 70 ms …: a few times in a second, for each ring.
const RESTING_NS: u64 = 1_000_000_000;
const LOOKS_MAX: u32 = 100;

#[test]
fn rings_that_accept_at_one_socket_rest_while_nothing_comes() {
    let config = Config {
        sockets: 4 * EACH,
        ..Config::default()
    };
    for has_handle in [false, true] {
        let mut driver = match uring::rings::open_with(&config, EACH) {
            Ok(driver) => driver,
            Err(why) => return skip::skip(format!("io_uring can't be used here: {why}")),
        };
        let handle = has_handle.then(|| driver.wake_handle().expect("a descriptor"));
        let listen = Listen {
            address: Address::Tcp("127.0.0.1:0".parse().expect("an address")),
            share_port: None,
            peers: false,
            backlog: 1024,
            options: SocketOptions::default(),
            inherited: None,
        };
        let listener = driver.listen(&listen).expect("a free port");
        let Some(Address::Tcp(address)) = driver.local_address(listener) else {
            panic!("TCP was asked for");
        };
        let mut taken = 0;
        let clients: Vec<TcpStream> = (0..CONNECTIONS)
            .map(|_| TcpStream::connect(address).expect("it listens"))
            .collect();
        let deadline = driver.clock().plus(PATIENCE_NS);
        while taken < CONNECTIONS && driver.clock() < deadline {
            taken += accepted(&mut driver);
        }
        assert_eq!(taken, clients.len());
        let (mut list, mut turns) = (Completions::new(), 0);
        let until = driver.clock().plus(RESTING_NS);
        while driver.clock() < until {
            driver
                .wait(Until::Time(until), &mut list)
                .expect("the driver works");
            turns += 1;
            assert!(turns < LOOKS_MAX, "it doesn't rest (handle: {has_handle})");
        }
        drop(handle);
    }
}

/// Far more than looking again takes.
const PATIENCE_NS: u64 = 60_000_000_000;

#[test]
fn a_connection_that_wakes_whoever_does_nothing_is_taken_by_the_other() {
    let config = Config::default();
    one_is_silent(|| epoll::open(&config).expect("every Linux has epoll"));
    match uring::open(&config) {
        Ok(_) => one_is_silent(|| uring::open(&config).expect("as before")),
        Err(why) => skip::skip(format!("io_uring can't be used here: {why}")),
    }
}

#[test]
fn a_connection_that_comes_as_a_listener_is_closed_is_taken_by_one_of_the_two() {
    let config = Config::default();
    one_leaves(|| epoll::open(&config).expect("every Linux has epoll"));
    match uring::open(&config) {
        Ok(_) => one_leaves(|| uring::open(&config).expect("as before")),
        Err(why) => skip::skip(format!("io_uring can't be used here: {why}")),
    }
}
