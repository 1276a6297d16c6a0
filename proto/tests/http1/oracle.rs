//! A second opinion: what this crate accepts, `httparse` reads in the same way.
//!
//! With one exception: minor versions above 1, which `httparse` does not know, are valid.

use proto::http1::client::{self, Answer, Limits};
use proto::http1::server::{self, Server};
use proto::http1::{HeadMemo, fields};

use crate::harness::client_after;

#[test]
fn every_accepted_request_head_is_read_alike() {
    let mut accepted = 0;
    for input in variants(b"GET /a?b HTTP/1.1\r\nHost: a\r\nX-Y: z \r\nContent-Length: 3\r\n\r\n") {
        let (mut server, mut memo) = (Server::new(server::Limits::default()), HeadMemo::new());
        let Ok(Some(server::Event::Request(request))) = server.next(&mut &input[..], &mut memo)
        else {
            continue;
        };
        accepted += 1;
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut theirs = httparse::Request::new(&mut headers);
        let parsed = theirs.parse(request.head);
        if parsed == Err(httparse::Error::Version) {
            continue;
        }
        assert_eq!(
            parsed,
            Ok(httparse::Status::Complete(request.head.len())),
            "{input:?}"
        );
        assert_eq!(theirs.method.map(str::as_bytes), Some(request.method));
        assert_eq!(theirs.path.map(str::as_bytes), Some(request.target));
        assert!(same_fields(theirs.headers, request.head), "{input:?}");
    }
    assert!(accepted > 500, "only {accepted} variants were accepted");
}

#[test]
fn every_accepted_response_head_is_read_alike() {
    let mut accepted = 0;
    for input in variants(b"HTTP/1.1 200 OK\r\nServer: a/b\r\nX:\r\nContent-Length: 3\r\n\r\n") {
        let mut client = client_after(Limits::default(), &[Answer::Usual]);
        let event = client.next(&mut &input[..], &mut HeadMemo::new());
        let Ok(Some(client::Event::Head { status, head })) = event else {
            continue;
        };
        accepted += 1;
        let mut headers = [httparse::EMPTY_HEADER; 16];
        let mut theirs = httparse::Response::new(&mut headers);
        let parsed = theirs.parse(head);
        if parsed == Err(httparse::Error::Version) {
            continue;
        }
        assert_eq!(
            parsed,
            Ok(httparse::Status::Complete(head.len())),
            "{input:?}"
        );
        assert_eq!(theirs.code, Some(status));
        assert!(same_fields(theirs.headers, head), "{input:?}");
    }
    assert!(accepted > 500, "only {accepted} variants were accepted");
}

/// The bytes with each one replaced by each of a choice, doubled, and left out.
fn variants(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    const CHOICE: &[u8] = b"\0\t\n\r !\"#(),-./059:;=?@AHZ[\\]_az{|}~\x7f\x80\xff";
    (0..bytes.len()).flat_map(move |at| {
        let (before, after) = (&bytes[..at], &bytes[at + 1..]);
        let replaced = CHOICE
            .iter()
            .map(move |&byte| [before, &[byte], after].concat());
        let inserted = CHOICE
            .iter()
            .map(move |&byte| [before, &[byte, bytes[at]], after].concat());
        replaced.chain(inserted).chain([[before, after].concat()])
    })
}

fn same_fields(theirs: &[httparse::Header<'_>], head: &[u8]) -> bool {
    theirs
        .iter()
        .map(|field| (field.name.as_bytes(), field.value))
        .eq(fields(head))
}
