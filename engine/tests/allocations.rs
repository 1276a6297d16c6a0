//! The data plane allocates nothing after warm-up: a driver that did would spend its time in the
//! allocator, and its cost would change with the age of the process.
#![allow(unsafe_code)] // An allocator is an unsafe trait; this one only counts.

#[path = "../../tests/skip.rs"]
mod skip;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use engine::{
    Address, Completions, Config, Driver, Event, Listen, Payload, SocketOptions, Until, epoll,
    uring,
};
use tls::{Certificate, ClientSettings, IDLE_BYTES_MAX, ServerSettings, Tls, Trust};

struct Counting;

thread_local! {
    /// Allocations of this thread. Const-initialised, so that counting allocates nothing.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Bytes that this thread has on the heap; fewer than none where it frees those of others.
    static HELD: Cell<i64> = const { Cell::new(0) };
}

// SAFETY: every call goes on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // A thread that ends has no counter any more, and nobody to ask for it.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        let _ = HELD.try_with(|held| held.set(held.get() + layout.size() as i64));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        let _ = HELD.try_with(|held| held.set(held.get() - layout.size() as i64));
        // SAFETY: the caller's promises are handed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

const CONNECTIONS: usize = 50;

/// Echoes on many connections of a driver with itself, one way from a template and the other from
/// buffers; how many allocations the second half of it took.
fn steady_echo(mut driver: impl Driver) -> u64 {
    let mut list = Completions::new();
    let options = SocketOptions::default();
    let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let listen = Listen {
        address: any,
        share_port: None,
        peers: false,
        backlog: 128,
        options: options.clone(),
        inherited: None,
    };
    let listener = driver.listen(&listen).expect("a listener");
    let address = driver.local_address(listener).expect("its address");
    let request = driver.register(&[1; 300]).expect("a template");
    let mut is_server = vec![false; Config::default().sockets];
    for _ in 0..CONNECTIONS {
        driver
            .connect(&address, &options)
            .expect("a connection begins");
    }
    let (mut answers, mut before) = (0u64, 0);
    for turns in 0.. {
        assert!(turns < 1_000_000, "only {answers} answers");
        let deadline = driver.clock().plus(50_000_000);
        driver
            .wait(Until::Time(deadline), &mut list)
            .expect("the driver works");
        for position in 0..list.len() {
            let completion = list.get(position);
            let socket = completion.socket;
            let is_answer = !is_server[socket.slot()];
            match completion.event {
                Event::Accepted { .. } => is_server[socket.slot()] = true,
                Event::Received(lent) if !is_answer => {
                    let mut buffer = driver.buffer();
                    buffer.extend_from_slice(list.bytes(lent));
                    driver
                        .send(socket, Payload::Buffer(buffer))
                        .expect("one at a time");
                }
                Event::Connected | Event::Received(_) => {
                    answers += 1;
                    let quiet = answers % 2 == 0;
                    let payload = Payload::Template {
                        template: request,
                        start: 0,
                        end: 300,
                        quiet,
                    };
                    driver
                        .send(socket, payload)
                        .expect("the one before has been answered");
                }
                _ => {}
            }
        }
        if answers >= 5_000 && before == 0 {
            before = ALLOCATIONS.get();
        }
        if answers >= 25_000 {
            return ALLOCATIONS.get() - before;
        }
    }
    0
}

#[test]
fn steady_traffic_on_epoll_allocates_nothing() {
    let driver = epoll::open(&Config::default()).expect("every Linux has epoll");
    assert_eq!(steady_echo(driver), 0);
}

#[test]
fn steady_traffic_on_io_uring_allocates_nothing() {
    match uring::open(&Config::default()) {
        Ok(driver) => assert_eq!(steady_echo(driver), 0),
        Err(error) => skip::skip(error),
    }
}

/// A driver on epoll whose connections to itself are secured.
fn secured() -> Tls<epoll::Epoll> {
    let names = vec!["localhost".to_owned()];
    let server = ServerSettings {
        certificate: Certificate::SelfSigned { names },
        alpn: Vec::new(),
        resumption: true,
        client_authorities: None,
    };
    let client = ClientSettings {
        server_name: "localhost".to_owned(),
        alpn: Vec::new(),
        trust: Trust::Anybody,
        identity: None,
        resumption: false,
    };
    let driver = epoll::open(&Config::default()).expect("every Linux has epoll");
    let client = client.build().expect("nothing is wrong with it");
    Tls::both(driver, client, server.build().expect("nor with it"))
}

#[test]
fn steady_traffic_over_tls_allocates_what_rustls_needs_for_each_record() {
    let allocations = steady_echo(secured());
    // 20,000 exchanges with two records each, and each record is written once and read once.
    let for_each_record = allocations as f64 / 80_000.0;
    assert!(for_each_record < 2.1, "{for_each_record} allocations");
}

#[test]
fn an_idle_connection_over_tls_holds_little() {
    let mut driver = secured();
    let mut list = Completions::new();
    let options = SocketOptions::default();
    let listen = Listen {
        address: Address::Tcp("127.0.0.1:0".parse().expect("an address")),
        share_port: None,
        peers: false,
        backlog: 1024,
        options: options.clone(),
        inherited: None,
    };
    let listener = driver.listen(&listen).expect("a listener");
    let address = driver.local_address(listener).expect("its address");
    let mut stand = 0;
    let mut before = 0;
    // The first ones fill the tables that all of them share.
    for wanted in [100, 400] {
        for _ in stand / 2..wanted {
            driver.connect(&address, &options).expect("it begins");
        }
        for turns in 0.. {
            let deadline = driver.clock().plus(20_000_000);
            driver
                .wait(Until::Time(deadline), &mut list)
                .expect("the driver works");
            stand += list
                .iter()
                .filter(|completion| {
                    matches!(completion.event, Event::Accepted { .. } | Event::Connected)
                })
                .count();
            if stand == 2 * wanted && list.is_empty() {
                break;
            }
            assert!(turns < 10_000, "{stand} of {} ends stand", 2 * wanted);
        }
        if wanted == 100 {
            before = HELD.get();
        }
    }
    let each = (HELD.get() - before) / 600;
    eprintln!("an idle end holds {each} bytes");
    assert!(each > 0 && each <= IDLE_BYTES_MAX as i64, "{each} bytes");
}
