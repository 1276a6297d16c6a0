//! Routes that misbehave, so that clients can be tested.

use std::io::ErrorKind;
use std::time::Duration;

use measure::time::Time;

use crate::client::{Server, each_engine, get, pattern};

#[test]
fn stall_never_answers_and_lets_go_of_clients_that_leave() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        client.send(get("/") + &get("/stall") + &get("/"));
        assert_eq!(client.answer().text(), "Hello, World!");
        client.hears_nothing_for(Duration::from_millis(100));
        client
            .stream
            .shutdown(std::net::Shutdown::Write)
            .expect("half a close");
        assert!(client.is_over());
    });
}

#[test]
fn reset_resets_after_what_came_before() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        client.send(get("/"));
        assert_eq!(client.answer().text(), "Hello, World!");
        client.send(get("/reset"));
        assert_eq!(client.error(), Some(ErrorKind::ConnectionReset));
    });
}

#[test]
fn truncate_announces_more_than_it_sends() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        client.send(get("/truncate"));
        let all = client.rest();
        let end = all
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .expect("a head")
            + 4;
        assert!(String::from_utf8_lossy(&all[..end]).contains("Content-Length: 1000\r\n"));
        assert!(all[end..] == pattern(500));
    });
}

#[test]
fn slow_sends_single_bytes_at_its_pace() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let started = Time::now();
        let mut client = server.connect();
        client.send(get("/slow/1ms") + &get("/"));
        let answer = client.answer();
        assert_eq!(answer.text(), "slow\n");
        let bytes = answer.head.len() + answer.body.len();
        let took = Time::now() - started;
        assert!(
            took >= Duration::from_millis(bytes as u64 - 1),
            "{bytes} bytes in {took:?}"
        );
        assert_eq!(client.answer().text(), "Hello, World!");
    });
}

#[test]
fn garbage_is_no_http() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        client.send(get("/garbage"));
        let all = client.rest();
        assert!(!all.is_empty() && !all.starts_with(b"HTTP"));
    });
}

#[test]
fn a_delay_is_never_shorter_than_asked_for() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        for (path, at_least) in [("/delay/300us", 300), ("/delay/20ms", 20_000)] {
            let started = Time::now();
            client.send(get(path));
            assert_eq!(client.answer().status, 200);
            let took = Time::now() - started;
            assert!(took >= Duration::from_micros(at_least), "{path}: {took:?}");
        }
    });
}
