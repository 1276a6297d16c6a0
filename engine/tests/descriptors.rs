//! What happens when the process may have no more descriptors. In a test binary of its own, because
//! the limit is that of the whole process.

use std::fs::File;
use std::net::{SocketAddr, TcpStream};

use engine::{
    Address, Close, Completions, Config, Driver, Event, Fault, Listen, Refused, SocketOptions,
    Until, epoll,
};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Opens files until no more can be opened, then closes some: so many are free afterwards.
fn leave_free(free: usize) -> Vec<File> {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(256);
    setrlimit(Resource::Nofile, limit).expect("a limit can be lowered");
    let mut files: Vec<File> = std::iter::from_fn(|| File::open("/dev/null").ok()).collect();
    files.truncate(files.len() - free);
    files
}

#[test]
fn without_descriptors_epoll_refuses_to_connect_and_takes_waiting_connections_later() {
    let mut driver = epoll::open(&Config::default()).expect("every Linux has epoll");
    let mut list = Completions::new();
    let options = SocketOptions::default();
    let any = Address::Tcp(SocketAddr::from(([127, 0, 0, 1], 0)));
    let listen = Listen {
        address: any,
        share_port: None,
        peers: false,
        backlog: 16,
        options: options.clone(),
        inherited: None,
    };
    let listener = driver.listen(&listen).expect("a listener");
    let address = driver.local_address(listener).expect("its address");
    let Address::Tcp(port) = address else {
        panic!("TCP was asked for")
    };

    let waiting = TcpStream::connect(port).expect("the backlog takes it");
    let _files = leave_free(2);
    let clients: Vec<_> = (0..2)
        .map(|_| driver.connect(&address, &options).expect("two are free"))
        .collect();
    assert_eq!(
        driver.connect(&address, &options),
        Err(Refused::Kernel(Fault::Exhausted))
    );

    // Nothing can be accepted; the listener lives, and does not keep the driver from sleeping.
    for _ in 0..20 {
        let now = driver.clock();
        driver
            .wait(Until::Time(now.plus(500_000)), &mut list)
            .expect("the driver works");
        let accepts = |event| matches!(event, Event::Accepted { .. });
        assert!(!list.iter().any(|completion| accepts(completion.event)));
        assert!(!list.iter().any(|completion| completion.socket == listener));
    }
    assert!(driver.counters().sleeps >= 15, "{:?}", driver.counters());

    for client in clients {
        driver.close(client, Close::Reset).expect("open");
    }
    let mut accepted = 0;
    for _ in 0..1_000 {
        let now = driver.clock();
        driver
            .wait(Until::Time(now.plus(5_000_000)), &mut list)
            .expect("the driver works");
        accepted += list
            .iter()
            .filter(|completion| matches!(completion.event, Event::Accepted { .. }))
            .count();
        if accepted > 0 {
            break;
        }
    }
    assert!(accepted > 0, "nobody took the connection that waited");
    drop(waiting);
}
