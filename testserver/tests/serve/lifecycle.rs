//! How a server ends, and what it tells then.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use engine::{Address, choice::EngineChoice};
use measure::time::Time;

use crate::client::{Client, Server, config, each_engine, get};

#[test]
fn the_drain_finishes_what_is_begun_and_takes_nothing_new() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let address = server.address();
        let mut idle = server.connect();
        let mut waiting = server.connect();
        let mut half = server.connect();
        let mut stalled = server.connect();
        idle.send(get("/"));
        assert!(!idle.answer().closes());
        waiting.send(get("/") + &get("/delay/150ms"));
        assert!(!waiting.answer().closes());
        half.send(get("/") + "GET /js");
        assert!(!half.answer().closes());
        stalled.send(get("/") + &get("/stall"));
        assert!(!stalled.answer().closes());

        server.running().stop();
        // An idle connection is closed at once, and one that would wait for ever.
        assert!(idle.is_over());
        assert!(stalled.is_over());
        // So is the listener, perhaps a moment later.
        let patience = Time::now() + Duration::from_secs(5);
        while TcpStream::connect(address).is_ok() {
            assert!(Time::now() < patience, "somebody still listens");
        }
        half.send("on HTTP/1.1\r\nHost: test\r\n\r\n");
        let answer = half.answer();
        assert_eq!(answer.text(), r#"{"status":"ok"}"#);
        assert!(answer.closes() && half.is_over());
        let answer = waiting.answer();
        assert_eq!(answer.text(), "late\n");
        assert!(answer.closes() && waiting.is_over());
        let summary = server.end();
        assert_eq!(summary.counts.cut, 0);
        assert_eq!(summary.counts.requests, 7);
    });
}

#[test]
fn the_drain_is_bounded() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.timeouts.drain = Duration::from_millis(100);
        let server = Server::start(&config);
        let mut waiting = server.connect();
        waiting.send(get("/") + &get("/delay/60s"));
        assert_eq!(waiting.answer().status, 200);
        let started = Time::now();
        let summary = server.end();
        let took = Time::now() - started;
        assert!(
            took >= Duration::from_millis(100) && took < Duration::from_secs(5),
            "{took:?}"
        );
        assert_eq!(summary.counts.cut, 1);
        assert!(waiting.error().is_some());
    });
}

#[test]
fn an_answer_under_way_is_sent_to_its_end_while_draining() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        client.send(get("/bytes/40M"));
        let begin = client.exactly(1_000_000);
        server.running().stop();
        let rest = client.rest();
        assert!(begin.len() + rest.len() > 40 << 20);
        assert_eq!(server.end().counts.cut, 0);
    });
}

#[test]
fn several_workers_share_one_port_and_add_up() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.threads = 3;
        let server = Server::start(&config);
        let mut clients: Vec<_> = (0..40).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.send(get("/"));
            assert_eq!(client.answer().status, 200);
        }
        let summary = server.end();
        assert_eq!(
            (summary.counts.connections, summary.counts.requests),
            (40, 40)
        );
        assert!(summary.engine.bytes_received >= 40 * get("/").len() as u64);
        assert!(summary.engine.bytes_sent > 40 * 100);
    });
}

#[test]
fn a_unix_socket_is_served_and_its_file_removed() {
    each_engine(|engine| {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let mut config = config(engine);
        config.address = Address::Unix(path.clone());
        let server = Server::start(&config);
        let stream = UnixStream::connect(&path).expect("the server listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(10)))
            .expect("a socket option");
        let mut client = Client::new(stream);
        client.send(get("/json") + &get("/bytes/1M"));
        assert_eq!(client.answer().text(), r#"{"status":"ok"}"#);
        assert_eq!(client.answer().body.len(), 1 << 20);
        assert_eq!(server.end().counts.requests, 2);
        assert!(!path.exists());
    });
}

#[test]
fn more_connections_than_allowed_wait_their_turn() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.limits.connections = Some(4);
        let server = Server::start(&config);
        let mut clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
        for client in &mut clients {
            client.send(get("/"));
            assert_eq!(client.answer().status, 200);
        }
        let mut late = server.connect();
        late.send(get("/"));
        late.hears_nothing_for(Duration::from_millis(50));
        drop(clients);
        assert_eq!(late.answer().status, 200);
    });
}

#[test]
fn a_thousand_connections_are_served_at_once() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut clients: Vec<_> = (0..1000).map(|_| server.connect()).collect();
        for _ in 0..3 {
            for client in &mut clients {
                client.send(get("/"));
            }
            for client in &mut clients {
                assert_eq!(client.answer().text(), "Hello, World!");
            }
        }
        drop(clients);
        assert_eq!(server.end().counts.requests, 3000);
    });
}

#[test]
fn connections_come_and_go_without_end() {
    each_engine(|engine: EngineChoice| {
        let server = Server::with(engine);
        let close = "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n";
        for _ in 0..2000 {
            let mut client = server.connect();
            client.send(close);
            assert_eq!(client.answer().text(), "Hello, World!");
            assert!(client.is_over());
        }
        let summary = server.end();
        assert_eq!(
            (summary.counts.connections, summary.counts.failed),
            (2000, 0)
        );
    });
}
