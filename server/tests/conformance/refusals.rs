//! Requests that have to be refused: with the same verdict at every level of the library, and never
//! twice, or with what is behind them, in the sight of a handler.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::broken_requests::{self, CHUNKED, chunks, heads};
use super::{Server, axum_example};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(30);

const GOOD: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// The statuses of all answers to these bytes, up to the end of the connection.
fn statuses(server: &Server, bytes: &str) -> Vec<u16> {
    let mut stream = TcpStream::connect(server.address()).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("an option");
    stream
        .write_all(bytes.as_bytes())
        .expect("the server reads");
    let mut said = Vec::new();
    loop {
        let mut piece = [0; 4096];
        match stream.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => said.extend_from_slice(&piece[..count]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!(
                "{}: {bytes:?} isn't answered and closed: {error}",
                server.who
            ),
        }
    }
    let text = String::from_utf8_lossy(&said);
    let answers = text.split("HTTP/1.").skip(1);
    answers
        .filter_map(|answer| answer.get(2..5)?.parse().ok())
        .collect()
}

#[test]
fn broken_heads_get_the_verdict_of_serve_and_come_to_no_handler() {
    let rows = heads();
    for server in Server::each(false, &axum_example::app()) {
        for (request, verdict) in &rows {
            let status = verdict[..3].parse().expect("a verdict begins with it");
            let said = statuses(&server, &[GOOD, request, GOOD].concat());
            let expected = match broken_requests::is_foreign(verdict) {
                true => vec![200],
                false => vec![200, status],
            };
            assert_eq!(said, expected, "{}: {request:?}: {verdict}", server.who);
        }
        let who = server.who.clone();
        let (summary, handled) = server.end();
        let good = rows.len() as u64;
        assert_eq!(summary.counts.requests, good, "{who}");
        assert_eq!(handled.unwrap_or(good), good, "{who}");
        let refused: u64 = summary
            .counts
            .rejections
            .by_status()
            .iter()
            .map(|row| row.1)
            .sum();
        assert_eq!(refused, good, "{who}");
    }
}

/// A handler of axum has the request before its body, and has answered by the time a mistake shows:
/// the connection ends all the same, what is behind it is no request, and none gets two answers.
#[test]
fn broken_chunks_end_the_connection_and_nothing_behind_them_is_a_request() {
    let rows = chunks();
    for server in Server::each(false, &axum_example::app()) {
        for (body, verdict) in &rows {
            let status: u16 = verdict[..3].parse().expect("a verdict begins with it");
            let said = statuses(&server, &[GOOD, CHUNKED, body, GOOD].concat());
            let expected = match server.handled {
                None => vec![200, status],
                Some(_) => vec![200, 405],
            };
            assert_eq!(said, expected, "{}: {body:?}: {verdict}", server.who);
        }
        let who = server.who.clone();
        let (summary, handled) = server.end();
        let read = 2 * rows.len() as u64;
        assert_eq!(summary.counts.requests, read, "{who}");
        assert_eq!(handled.unwrap_or(read), read, "{who}");
    }
}

/// Where a handler waits for the body, it's told that there is no more of it, and the client gets
/// the verdict.
#[test]
fn a_handler_that_reads_broken_chunks_does_not_answer_for_them() {
    let echo = CHUNKED.replacen("POST /", "POST /echo", 1);
    for server in Server::each(false, &axum_example::app()) {
        for (body, verdict) in chunks() {
            let status: u16 = verdict[..3].parse().expect("a verdict begins with it");
            let said = statuses(&server, &[&*echo, body, GOOD].concat());
            // The echo of axum has begun when the mistake shows, and is cut.
            let expected = match server.handled {
                None => status,
                Some(_) => 200,
            };
            assert_eq!(said, [expected], "{}: {body:?}: {verdict}", server.who);
        }
        let (summary, _) = server.end();
        assert_eq!(summary.counts.requests, chunks().len() as u64);
    }
}

/// The heads are many, so that a table that is lost by mistake is noticed.
#[test]
fn the_tables_are_there() {
    assert!(broken_requests::framing().len() > 30 && heads().len() > 80 && chunks().len() > 3);
}
