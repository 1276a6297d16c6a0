//! Runs a machine over bytes in every kind of chopping and notes what it says.
//!
//! The only thing a chopping may change is where a body is cut, so neighbouring pieces are joined.

use proto::http1::client::{self, Answer, Client};
use proto::http1::server::{self, BodyLength, Server};
use proto::http1::{HeadMemo, Version};

use crate::choppings::{Chopping, every_chopping};

/// One thing a machine said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    Informational(u16),
    Response { status: u16, head: Vec<u8> },
    Request { text: String, head: Vec<u8> },
    Body(Vec<u8>),
    End(&'static str),
    Failed(String),
}

impl Seen {
    /// As the tables write it.
    pub(crate) fn text(&self) -> String {
        match self {
            Seen::Informational(status) => format!("interim {status}"),
            Seen::Response { status, .. } => status.to_string(),
            Seen::Request { text, .. } => text.clone(),
            Seen::Body(bytes) => format!("body {}", String::from_utf8_lossy(bytes)),
            Seen::End(how) => (*how).to_owned(),
            Seen::Failed(why) => why.clone(),
        }
    }
}

/// A machine of either role.
pub(crate) trait Machine {
    /// Feeds one piece of input and notes all events of it; after a failure, only that it stays.
    fn feed(&mut self, piece: &[u8], memo: &mut HeadMemo, seen: &mut Vec<Seen>);
    /// Says that the peer ended the connection.
    fn end(&mut self, seen: &mut Vec<Seen>);
    /// Memory it holds besides itself.
    fn memory_bytes(&self) -> usize;
}

impl Machine for Client {
    fn feed(&mut self, piece: &[u8], memo: &mut HeadMemo, seen: &mut Vec<Seen>) {
        let mut input = piece;
        loop {
            match self.next(&mut input, memo) {
                Ok(None) => break assert!(input.is_empty(), "input is left over"),
                Ok(Some(client::Event::Informational { status })) => {
                    seen.push(Seen::Informational(status));
                }
                Ok(Some(client::Event::Head { status, head })) => {
                    seen.push(Seen::Response {
                        status,
                        head: head.to_vec(),
                    });
                }
                Ok(Some(client::Event::Body(bytes))) => note_body(seen, bytes),
                Ok(Some(client::Event::End(end))) => {
                    seen.push(Seen::End(if end.keep_alive { "end" } else { "end, close" }));
                }
                Err(violation) => break note_failure(seen, violation.to_string()),
            }
        }
    }

    fn end(&mut self, seen: &mut Vec<Seen>) {
        match self.ended() {
            Ok(None) => {}
            Ok(Some(client::End { keep_alive })) => {
                assert!(!keep_alive, "a connection that ended is kept");
                seen.push(Seen::End("end, close"));
            }
            Err(violation) => note_failure(seen, violation.to_string()),
        }
        assert_eq!(
            self.capacity(),
            0,
            "there is capacity on a connection that ended"
        );
    }

    fn memory_bytes(&self) -> usize {
        Client::memory_bytes(self)
    }
}

impl Machine for Server {
    fn feed(&mut self, piece: &[u8], memo: &mut HeadMemo, seen: &mut Vec<Seen>) {
        let mut input = piece;
        loop {
            match self.next(&mut input, memo) {
                Ok(None) => break assert!(input.is_empty(), "input is left over"),
                Ok(Some(server::Event::Request(request))) => {
                    let text = request_text(&request);
                    seen.push(Seen::Request {
                        text,
                        head: request.head.to_vec(),
                    });
                }
                Ok(Some(server::Event::Body(bytes))) => note_body(seen, bytes),
                Ok(Some(server::Event::End)) => seen.push(Seen::End("end")),
                Err(rejection) => {
                    let why = format!("{} {}", rejection.status, rejection.violation);
                    break note_failure(seen, why);
                }
            }
        }
    }

    fn end(&mut self, _: &mut Vec<Seen>) {}

    fn memory_bytes(&self) -> usize {
        Server::memory_bytes(self)
    }
}

/// `METHOD TARGET`, then what is not usual: the version, `close`, `expects`, the length.
fn request_text(request: &server::Request<'_>) -> String {
    let part = String::from_utf8_lossy;
    let mut text = format!("{} {}", part(request.method), part(request.target));
    if request.version == Version::Http10 {
        text.push_str(" 1.0");
    }
    if !request.keep_alive {
        text.push_str(" close");
    }
    if request.expect_continue {
        text.push_str(" expects");
    }
    match request.body {
        BodyLength::Known(0) => {}
        BodyLength::Known(bytes) => text.push_str(&format!(" {bytes} bytes")),
        BodyLength::Chunked => text.push_str(" chunked"),
    }
    text
}

fn note_body(seen: &mut Vec<Seen>, bytes: &[u8]) {
    assert!(!bytes.is_empty(), "an empty piece of body");
    match seen.last_mut() {
        Some(Seen::Body(body)) => body.extend_from_slice(bytes),
        _ => seen.push(Seen::Body(bytes.to_vec())),
    }
}

fn note_failure(seen: &mut Vec<Seen>, why: String) {
    match seen.last() {
        Some(Seen::Failed(before)) => assert_eq!(*before, why, "a failure changed"),
        _ => seen.push(Seen::Failed(why)),
    }
}

/// A client role that has sent requests with these answers.
pub(crate) fn client_after(limits: client::Limits, answers: &[Answer]) -> Client {
    let mut client = Client::new(limits);
    for &answer in answers {
        client
            .sent(answer)
            .expect("the capacity of a new connection");
    }
    client
}

/// Feeds `pieces` to `machine`, then the end of the connection if `ended`.
pub(crate) fn run<'p>(
    mut machine: impl Machine,
    pieces: impl Iterator<Item = &'p [u8]>,
    memo: &mut HeadMemo,
    ended: bool,
) -> Vec<Seen> {
    const MEMORY_BYTES_MAX: usize = 2 * 16 * 1024;
    let mut seen = Vec::new();
    for piece in pieces {
        machine.feed(piece, memo, &mut seen);
        assert!(
            machine.memory_bytes() <= MEMORY_BYTES_MAX,
            "too much memory is held"
        );
    }
    if ended {
        machine.end(&mut seen);
    }
    seen
}

/// Checks that every chopping says what the whole input says, with an empty memo and with one that
/// knows the heads; returns that. `seed` chooses the random choppings.
pub(crate) fn in_every_chopping<M: Machine>(
    machine: impl Fn() -> M,
    input: &[u8],
    ended: bool,
    seed: u64,
) -> Vec<Seen> {
    in_choppings(machine, input, ended, every_chopping(input, seed))
}

/// The same in the given choppings.
pub(crate) fn in_choppings<M: Machine>(
    machine: impl Fn() -> M,
    input: &[u8],
    ended: bool,
    choppings: Vec<Chopping<'_>>,
) -> Vec<Seen> {
    let whole = |memo: &mut HeadMemo| run(machine(), [input].into_iter(), memo, ended);
    let mut known = HeadMemo::new();
    let expected = whole(&mut known);
    assert_eq!(
        whole(&mut known),
        expected,
        "whole, with a memo that knows the last head"
    );
    for (how, pieces) in choppings {
        for memo in [&mut HeadMemo::new(), &mut known] {
            let seen = run(machine(), pieces.iter().copied(), memo, ended);
            assert_eq!(seen, expected, "{how}");
        }
    }
    expected
}
