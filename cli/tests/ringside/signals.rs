//! A run that is ended early still reports what it measured.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use rustix::process::Signal;
use serde_json::Value;

use super::child::{PATIENCE, Server, assert_says, command, start};

/// A server that tells when it has answered a number of requests.
pub(super) fn counting_server(until: u64) -> (String, Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let (sender, reached) = channel();
    let answered = Arc::new(AtomicU64::new(0));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answered, sender) = (Arc::clone(&answered), sender.clone());
            thread::spawn(move || answer(stream, &answered, until, &sender));
        }
    });
    (url, reached)
}

fn answer(mut stream: TcpStream, answered: &AtomicU64, until: u64, reached: &Sender<()>) {
    let mut buffer = [0; 4096];
    // One request at a time comes on each connection, and it fits the buffer.
    while stream.read(&mut buffer).is_ok_and(|count| count > 0) {
        if stream
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            .is_err()
        {
            return;
        }
        if answered.fetch_add(1, Ordering::Relaxed) + 1 == until {
            let _ = reached.send(());
        }
    }
}

fn ended_by(signal: Signal, code: i32, word: &str, loop_flags: &[&str]) {
    let (url, reached) = counting_server(20);
    let mut words = vec!["run", "-c2", "-d10m", "--format", "json"];
    words.extend(loop_flags);
    words.push(&url);
    let running = start(&mut command(&words));
    reached.recv_timeout(PATIENCE).expect("requests come");
    running.signal(signal);
    let ended = running.end();
    assert_eq!(ended.code, Some(code), "{}", ended.stderr);
    let record: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(record["ended_by"], word);
    assert!(
        record["exchanges"]["completed"].as_u64().unwrap() >= 10,
        "{record}"
    );
    assert!(record["duration_s"].as_f64().unwrap() < 60.0);
}

#[test]
fn ctrl_c_ends_a_closed_loop_with_a_report_and_130() {
    ended_by(Signal::INT, 130, "interrupt", &[]);
}

#[test]
fn sigterm_ends_an_open_loop_with_a_report_and_143() {
    ended_by(Signal::TERM, 143, "terminate", &["-R", "100"]);
}

/// A server that accepts, tells so, and never says a word.
fn silent_server() -> (String, Receiver<TcpStream>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let authority = listener.local_addr().unwrap().to_string();
    let (sender, accepted) = channel();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // Received as long as the test goes on, and so the connection stands.
            let _ = sender.send(stream);
        }
    });
    (authority, accepted)
}

#[test]
fn a_first_contact_that_nobody_answers_ends_with_a_signal_and_not_with_its_time_limit() {
    for (words, url) in [
        ("run --timeout 10m", "ws"),
        ("run --timeout 10m", "https"),
        ("run --timeout 10m --http2", "http"),
        ("run --timeout 10m --engine epoll", "grpc"),
        ("hold --connect-timeout 10m", "ws"),
        ("hold --connect-timeout 10m", "https"),
        ("capacity --slo p99<10ms", "http"),
        ("capacity --slo p99<10ms --timeout 10m", "grpc"),
    ] {
        for (signal, code, name) in [(Signal::INT, 130, "SIGINT"), (Signal::TERM, 143, "SIGTERM")] {
            let (authority, accepted) = silent_server();
            let url = format!("{url}://{authority}/a.B/C");
            let words: Vec<&str> = words.split(' ').chain([&*url]).collect();
            let running = start(&mut command(&words));
            let silent = accepted
                .recv_timeout(PATIENCE)
                .unwrap_or_else(|_| panic!("{words:?} does not connect"));
            running.signal(signal);
            let ended = running.end();
            drop(silent);
            assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.stderr);
            let said = format!("interrupted by {name} before anything was measured");
            assert_says(&ended.stderr, &said);
            assert_eq!(ended.stdout, "", "{words:?}");
        }
    }
}

#[test]
fn a_server_that_is_asked_to_stop_finishes_what_it_began() {
    let server = Server::start(&[]);
    let mut stream = TcpStream::connect(server.authority()).unwrap();
    stream
        .write_all(b"GET /delay/300ms HTTP/1.1\r\nHost: a\r\n\r\n")
        .unwrap();
    // An answer to a later request shows that the server has read the one before.
    let mut other = TcpStream::connect(server.authority()).unwrap();
    other
        .write_all(b"GET /health HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    other.read_to_string(&mut text).unwrap();
    assert_says(&text, "HTTP/1.1 200");
    let (code, said) = server.stop();
    assert_eq!(code, Some(0));
    assert_says(&said, "served 2 requests on 2 connections");
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_says(&text, "HTTP/1.1 200");
}

#[test]
fn a_run_that_is_interrupted_in_its_warm_up_says_so_and_passes_no_verdict() {
    let (url, reached) = counting_server(20);
    let running = start(&mut command(&[
        "run", "--warmup", "10m", "-d10m", "-c2", &url,
    ]));
    reached.recv_timeout(PATIENCE).expect("requests come");
    running.signal(Signal::INT);
    let ended = running.end();
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    let (text, verdict) = (&ended.stdout, "The generator was");
    assert_says(text, "Interrupted before the measurement began.");
    assert!(!text.contains(verdict), "{text}");
}
