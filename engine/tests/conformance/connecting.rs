//! Listeners, connects and accepts.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use engine::{Address, Close, Config, Driver, Fault, Listen, Refused, Share, SocketOptions, Token};

use rustix::net::sockopt::set_socket_reuseaddr;
use rustix::net::{AddressFamily, SocketType, bind, socket};

use crate::bench::{Bench, Open, assert_same, unix_address};

pub fn connects_accepts_and_echoes<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    bench.send(client, b"over there");
    bench.until("the request", |bench| bench.received_len(server) == 10);
    assert_eq!(bench.story(server).received, b"over there");
    bench.send(server, b"and back");
    bench.until("the answer", |bench| bench.received_len(client) == 8);
    assert_eq!(bench.story(client).received, b"and back");
    bench.until("both sends end", |bench| {
        bench.story(client).sent == 1 && bench.story(server).sent == 1
    });
}

pub fn an_accepted_connection_names_its_listener<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (first, to_first) = bench.listen();
    let (second, to_second) = bench.listen();
    for (listener, address) in [(second, to_second), (first, to_first)] {
        let accepted = bench.accepted.len();
        bench.connect(&address);
        bench.until("an accept", |bench| bench.accepted.len() > accepted);
        assert_eq!(
            bench.story(bench.accepted[accepted]).accepted_by,
            Some(listener)
        );
    }
}

/// Keeps a port of this machine from being given to somebody who listens, such as another test. An
/// address that isn't of this machine, as in the simulator, is nobody else's.
fn keep(address: &Address) -> Option<OwnedFd> {
    let Address::Tcp(address) = address else {
        return None;
    };
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).ok()?;
    set_socket_reuseaddr(&socket, true).ok()?;
    bind(&socket, address).ok()?;
    Some(socket)
}

pub fn a_connect_where_nobody_listens_is_refused<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (listener, address) = bench.listen();
    bench.close(listener, Close::Graceful);
    bench.some_turns();
    let _kept = keep(&address);
    let client = bench.connect(&address);
    bench.until("the refusal", |bench| bench.story(client).failed.is_some());
    let story = bench.story(client);
    assert_eq!(
        (story.failed, story.connected),
        (Some(Fault::Refused), false)
    );
    bench.close(client, Close::Graceful);
    bench.some_turns();
}

pub fn unix_sockets_work_like_tcp<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_folder, address) = unix_address();
    let listener = listen_on(&mut bench, &address, 64);
    assert_eq!(bench.driver.local_address(listener), Some(address.clone()));
    let client = bench.connect(&address);
    bench.until("both ends", |bench| {
        bench.story(client).connected && bench.accepted.len() == 1
    });
    let server = bench.accepted[0];
    bench.send(client, b"request");
    bench.until("the request", |bench| bench.received_len(server) == 7);
    bench.send(server, b"answer");
    bench.until("the answer", |bench| bench.received_len(client) == 6);
    bench.until("both sends end", |bench| {
        bench.story(client).sent == 1 && bench.story(server).sent == 1
    });
    bench.close(client, Close::Graceful);
    bench.until("the end", |bench| bench.story(server).ended);
}

pub fn a_unix_path_without_listener_fails<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_folder, address) = unix_address();
    let early = bench.connect(&address);
    bench.until("the first failure", |bench| {
        bench.story(early).failed.is_some()
    });
    let listener = listen_on(&mut bench, &address, 64);
    bench.close(listener, Close::Graceful);
    bench.some_turns();
    let late = bench.connect(&address);
    bench.until("the second failure", |bench| {
        bench.story(late).failed.is_some()
    });
}

pub fn unix_connects_beyond_the_backlog_stand_in_the_end<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_folder, address) = unix_address();
    listen_on(&mut bench, &address, 4);
    let clients: Vec<Token> = (0..50).map(|_| bench.connect(&address)).collect();
    bench.until("all connections stand", |bench| {
        let connected = clients.iter().all(|&client| bench.story(client).connected);
        connected && bench.accepted.len() == clients.len()
    });
    for &client in &clients {
        bench.send(client, b"here");
    }
    bench.until("all bytes", |bench| {
        bench
            .accepted
            .iter()
            .all(|&server| bench.received_len(server) == 4)
    });
}

pub fn a_connection_leaves_from_its_source_address<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_, address) = bench.listen();
    let source = Some("127.0.0.2".parse().expect("an address"));
    let client = bench.connect_with(
        &address,
        &SocketOptions {
            source,
            ..Default::default()
        },
    );
    bench.until("both ends", |bench| {
        bench.story(client).connected && bench.accepted.len() == 1
    });
    // An address of nobody (RFC 5737) cannot be one of this host.
    let source = Some("192.0.2.1".parse().expect("an address"));
    let options = SocketOptions {
        source,
        ..Default::default()
    };
    match bench.driver.connect(&address, &options) {
        Err(Refused::Kernel(_)) => {}
        Err(other) => panic!("a foreign source address is {other:?}"),
        Ok(client) => bench.until("a failure", |bench| bench.story(client).failed.is_some()),
    }
}

pub fn a_connection_goes_over_the_device_that_was_asked_for<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_, address) = bench.listen();
    let over = |device: &str| SocketOptions {
        device: Some(device.into()),
        ..Default::default()
    };
    let client = bench.connect_with(&address, &over("lo"));
    bench.until("both ends", |bench| {
        bench.story(client).connected && bench.accepted.len() == 1
    });
    let nowhere = bench.driver.connect(&address, &over("nowhere0"));
    let no_device = Refused::Kernel(Fault::from_errno(libc::ENODEV));
    assert_eq!(nowhere, Err(no_device));
}

pub fn a_closed_listener_takes_no_more_and_its_connections_live_on<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (listener, address) = bench.listen();
    let client = bench.connect(&address);
    bench.until("both ends", |bench| {
        bench.story(client).connected && bench.accepted.len() == 1
    });
    bench.close(listener, Close::Graceful);
    assert_eq!(bench.driver.local_address(listener), None);
    bench.some_turns();
    let late = bench.connect(&address);
    bench.until("a refusal", |bench| bench.story(late).failed.is_some());
    assert_eq!(bench.story(late).failed, Some(Fault::Refused));
    let server = bench.accepted[0];
    bench.send(client, b"still here");
    bench.until("the bytes", |bench| bench.received_len(server) == 10);
    assert_same(
        &bench.story(server).received,
        b"still here",
        "after the listener's end",
    );
}

pub fn only_listeners_have_an_address<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (client, server) = bench.pair();
    assert_eq!(bench.driver.local_address(client), None);
    assert_eq!(bench.driver.local_address(server), None);
}

pub fn a_taken_address_is_refused_unless_shared<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_, address) = bench.listen();
    let listen = Listen {
        address,
        share_port: None,
        peers: false,
        backlog: 16,
        options: SocketOptions::default(),
        inherited: None,
    };
    let refused = bench.driver.listen(&listen);
    assert!(
        matches!(refused, Err(Refused::Kernel(_))),
        "a taken port was {refused:?}"
    );
    let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let shared = Listen {
        address: any,
        share_port: Some(Share::First),
        ..listen
    };
    let first = bench.driver.listen(&shared).expect("a listener");
    let address = bench.driver.local_address(first).expect("its address");
    let anew = Listen {
        address: address.clone(),
        ..shared
    };
    let refused = bench.driver.listen(&anew);
    assert!(
        matches!(refused, Err(Refused::Kernel(_))),
        "another first one was {refused:?}"
    );
    let joining = Listen {
        share_port: Some(Share::Next),
        ..anew
    };
    bench
        .driver
        .listen(&joining)
        .expect("a second listener on the same port");
    let clients: Vec<Token> = (0..32).map(|_| bench.connect(&address)).collect();
    bench.until("either listener takes each connection", |bench| {
        let connected = clients.iter().all(|&client| bench.story(client).connected);
        connected && bench.accepted.len() == clients.len()
    });
}

pub fn the_table_of_sockets_is_bounded<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::with(
        open,
        Config {
            sockets: 4,
            ..Config::default()
        },
    );
    let (_, address) = bench.listen();
    let client = bench.connect(&address);
    bench.until("three sockets", |bench| {
        bench.story(client).connected && bench.accepted.len() == 1
    });
    let last = bench.connect(&address);
    let options = SocketOptions::default();
    assert_eq!(
        bench.driver.connect(&address, &options),
        Err(Refused::SocketsFull)
    );
    let any = Address::Tcp("127.0.0.1:0".parse().expect("an address"));
    let listen = Listen {
        address: any,
        share_port: None,
        peers: false,
        backlog: 16,
        options: options.clone(),
        inherited: None,
    };
    assert_eq!(bench.driver.listen(&listen), Err(Refused::SocketsFull));
    // Its other end has to wait at the listener until there is room, and is then taken. A secured
    // connection does not stand before.
    let secured = bench.is_secured();
    if !secured {
        bench.until("the last connection", |bench| bench.story(last).connected);
        bench.send(last, b"waiting");
    }
    bench.some_turns();
    assert_eq!(bench.accepted.len(), 1, "there was no slot for another");
    assert_eq!(bench.story(last).connected, !secured);
    bench.close(client, Close::Graceful);
    bench.until("the waiting connection is taken", |bench| {
        bench.accepted.len() == 2 && bench.story(last).connected
    });
    if secured {
        bench.send(last, b"waiting");
    }
    let server = bench.accepted[1];
    bench.until("its bytes", |bench| bench.received_len(server) == 7);
    assert_eq!(
        bench.driver.connect(&address, &options),
        Err(Refused::SocketsFull)
    );
}

/// By the source that each client leaves from. Their ports only peers from outside know.
pub fn a_listener_that_is_asked_says_where_each_peer_is<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (listener, address) = bench.listen_naming("127.0.0.1:0");
    let sources: Vec<IpAddr> = (1..=40).map(|last| [127, 0, 0, last].into()).collect();
    let mut clients = Vec::new();
    for &source in &sources {
        let source = Some(source);
        let options = SocketOptions {
            source,
            ..SocketOptions::default()
        };
        clients.push(bench.connect_with(&address, &options));
    }
    bench.until("all connections stand", |bench| {
        let connected = clients.iter().all(|&client| bench.story(client).connected);
        connected && bench.accepted.len() == clients.len()
    });
    let accepted = bench.accepted.clone();
    let peers = accepted
        .iter()
        .map(|&server| bench.driver.peer_address(server));
    let peers: Vec<SocketAddr> = peers.map(|peer| peer.expect("an address")).collect();
    let mut from: Vec<IpAddr> = peers.iter().map(SocketAddr::ip).collect();
    from.sort_unstable();
    assert_eq!(from, sources);
    assert!(peers.iter().all(|peer| peer.port() > 0));
    for other in [listener, clients[0]] {
        assert_eq!(bench.driver.peer_address(other), None, "nobody's peer");
    }
    bench.close(accepted[0], Close::Graceful);
    assert_eq!(bench.driver.peer_address(accepted[0]), None, "it is stale");
    assert_eq!(bench.driver.peer_address(accepted[1]), Some(peers[1]));
}

pub fn without_being_asked_nobody_says_where_peers_are<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_, server) = bench.pair();
    assert_eq!(bench.driver.peer_address(server), None);
    // The slots of those who were asked for are used again by those who are not.
    for _ in 0..3 {
        let (named, address) = bench.listen_naming("127.0.0.1:0");
        let accepted = bench.accepted.len();
        let client = bench.connect(&address);
        bench.until("an accept", |bench| bench.accepted.len() > accepted);
        let server = bench.accepted[accepted];
        assert!(bench.driver.peer_address(server).is_some());
        for socket in [named, client, server] {
            bench.close(socket, Close::Reset);
        }
        bench.some_turns();
        let (_, server) = bench.pair();
        assert_eq!(bench.driver.peer_address(server), None);
    }
}

pub fn peers_of_unix_listeners_have_no_address<D: Driver>(open: Open<'_, D>) {
    let mut bench = Bench::new(open);
    let (_folder, address) = unix_address();
    let listen = Listen {
        address: address.clone(),
        share_port: None,
        peers: true,
        backlog: 16,
        options: SocketOptions::default(),
        inherited: None,
    };
    bench.driver.listen(&listen).expect("a listener");
    bench.connect(&address);
    bench.until("the accept", |bench| bench.accepted.len() == 1);
    assert_eq!(bench.driver.peer_address(bench.accepted[0]), None);
}

/// Far more connections than slots come and go, so accepting pauses again and again.
pub fn a_listener_that_is_asked_takes_no_more_than_there_are_slots<D: Driver>(open: Open<'_, D>) {
    let config = Config {
        sockets: 12,
        ..Config::default()
    };
    let mut bench = Bench::with(open, config);
    let (_, address) = bench.listen_naming("127.0.0.1:0");
    let mut clients: Vec<Token> = Vec::new();
    let mut served = 0;
    bench.until_with("300 connections are served", |bench| {
        // The listener and these leave three slots for the other ends.
        while clients.len() < 8
            && let Ok(client) = bench.driver.connect(&address, &SocketOptions::default())
        {
            clients.push(client);
        }
        for server in std::mem::take(&mut bench.accepted) {
            assert!(bench.driver.peer_address(server).is_some());
            bench.close(server, Close::Reset);
            served += 1;
        }
        let failed = |bench: &Bench<D>, client| bench.story(client).failed.is_some();
        let (dead, alive): (Vec<Token>, Vec<Token>) =
            clients.iter().partition(|&&client| failed(bench, client));
        clients = alive;
        for client in dead {
            bench.close(client, Close::Reset);
        }
        bench.forget_closed();
        served >= 300
    });
}

fn listen_on<D: Driver>(bench: &mut Bench<D>, address: &Address, backlog: u32) -> Token {
    let options = SocketOptions::default();
    let listen = Listen {
        address: address.clone(),
        share_port: None,
        peers: false,
        backlog,
        options,
        inherited: None,
    };
    bench.driver.listen(&listen).expect("a listener")
}
