//! What the server role makes of the bytes of a client, and which requests it refuses.

use proto::http1::HeadMemo;
use proto::http1::server::{Event, Limits, Server, Target};

use crate::broken_requests;
use crate::harness::in_every_chopping;

const SEED: u64 = 0x5eed_0002;

const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

#[test]
fn requests_without_a_body() {
    for (input, seen) in [
        (GET, "GET / | end"),
        ("GET /a?b=c HTTP/1.1\r\nhost:\r\n\r\n", "GET /a?b=c | end"),
        ("\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", "GET / | end"),
        (
            "M-SEARCH /{a}|\"%zz HTTP/1.9\r\nHOST: [::1]:80\r\n\r\n",
            "M-SEARCH /{a}|\"%zz | end",
        ),
        ("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", "OPTIONS * | end"),
        (
            "GET http://a/b HTTP/1.1\r\nHost: a\r\n\r\n",
            "GET http://a/b | end",
        ),
        (
            "GET HTTPS://a:1 HTTP/1.1\r\nHost: a:1\r\n\r\n",
            "GET HTTPS://a:1 | end",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: \u{e9}\ty\r\nY:\r\n\r\n",
            "GET / | end",
        ),
        ("GET / HTTP/1.0\r\n\r\n", "GET / 1.0 close | end"),
        (
            "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n",
            "GET / 1.0 | end",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            "GET / close | end",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: x,close\r\n\r\n",
            "GET / close | end",
        ),
    ] {
        check(input, seen);
    }
    let blank_before_each = "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(2);
    check(&blank_before_each, "GET / | end | GET / | end");
    check("GET / HTTP/1.1\r\nHost: a\r\n", "");
    check("\r", "");
    check("\r\n", "");
}

#[test]
fn requests_with_a_body() {
    const CHUNKED: &str = "Transfer-Encoding: chunked\r\n\r\n";
    for (fields, seen) in [
        ("Content-Length: 0\r\n\r\n", "POST / | end"),
        (
            "Content-Length: 5\r\n\r\nhello",
            "POST / 5 bytes | body hello | end",
        ),
        (
            "Content-Length: 005\r\n\r\nhello",
            "POST / 5 bytes | body hello | end",
        ),
        (
            "Content-Length: 5\r\n\r\nhell",
            "POST / 5 bytes | body hell",
        ),
        (
            "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n!",
            "POST / expects 1 bytes | body ! | end",
        ),
        (
            "Expect: else\r\nContent-Length: 1\r\n\r\n!",
            "POST / 1 bytes | body ! | end",
        ),
        (
            "Connection: close\r\nContent-Length: 1\r\n\r\n!",
            "POST / close 1 bytes | body ! | end",
        ),
        (
            "Transfer-Encoding:CHUNKED \r\n\r\n0\r\n\r\n",
            "POST / chunked | end",
        ),
    ] {
        check(&format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}"), seen);
    }
    let input = format!("POST / HTTP/1.1\r\nHost: a\r\n{CHUNKED}5;x\r\nhello\r\n0\r\nA: b\r\n\r\n");
    check(&input, "POST / chunked | body hello | end");
    check(
        "POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n!",
        "POST / 1.0 close 1 bytes | body ! | end",
    );
}

/// Requests that two readers may cut apart differently: what makes smuggling possible.
#[test]
fn requests_with_two_meanings_are_refused() {
    check_all(&broken_requests::framing());
}

#[test]
fn line_ends_and_control_characters_are_refused() {
    check_all(&broken_requests::line_ends());
}

#[test]
fn bad_request_lines_are_refused() {
    check_all(&broken_requests::request_lines());
}

#[test]
fn the_host_must_be_there_once_and_be_a_host() {
    check_all(&broken_requests::hosts());
}

#[test]
fn bad_chunks_are_refused() {
    for (body, seen) in broken_requests::chunks() {
        let input = [broken_requests::CHUNKED, body].concat();
        check(&input, &format!("POST / chunked | {seen}"));
    }
}

#[test]
fn a_remembered_head_does_not_hide_what_came_before_it() {
    let mut memo = HeadMemo::new();
    let mut first = Server::new(Limits::default());
    assert!(first.next(&mut GET.as_bytes(), &mut memo).is_ok());
    let mut second = Server::new(Limits::default());
    assert_eq!(second.next(&mut &b"\r"[..], &mut memo), Ok(None));
    assert!(second.next(&mut GET.as_bytes(), &mut memo).is_err());
}

#[test]
fn the_path_and_the_query_are_found_in_every_form() {
    for (target, path, query) in [
        ("/", "/", None),
        ("/a/b", "/a/b", None),
        ("/a?b?c", "/a", Some("b?c")),
        ("/?", "/", Some("")),
        ("http://h", "/", None),
        ("http://h:1/a", "/a", None),
        ("HTTP://h?q", "/", Some("q")),
        ("https://h/a?q", "/a", Some("q")),
    ] {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let (mut server, mut memo) = (Server::new(Limits::default()), HeadMemo::new());
        let event = server.next(&mut bytes.as_bytes(), &mut memo);
        let Ok(Some(Event::Request(request))) = event else {
            panic!("{target}: {event:?}")
        };
        assert_eq!(request.path(), path.as_bytes(), "{target}");
        assert_eq!(request.query(), query.map(str::as_bytes), "{target}");
        let authority = target.split("//").nth(1);
        let authority = authority.and_then(|rest| rest.split(['/', '?']).next());
        let found = Target::of(request.target).authority;
        assert_eq!(found, authority.map(str::as_bytes), "{target}");
    }
}

#[test]
fn the_states_between_and_inside_requests_are_told_apart() {
    let (mut server, mut memo) = (Server::new(Limits::default()), HeadMemo::new());
    let mut after = |piece: &str| {
        let mut input = piece.as_bytes();
        while server
            .next(&mut input, &mut memo)
            .expect("a valid request")
            .is_some()
        {}
        (server.head_started(), server.between_requests())
    };
    assert_eq!(after(""), (false, true));
    assert_eq!(after("P"), (true, false));
    assert_eq!(
        after("OST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r"),
        (true, false)
    );
    assert_eq!(after("\n"), (false, false));
    assert_eq!(after("h"), (false, false));
    assert_eq!(after("i"), (false, true));
    assert_eq!(after("\r"), (true, false));
    assert_eq!(after("\n"), (false, true));
}

fn check_all(rows: &[broken_requests::Row]) {
    assert!(!rows.is_empty());
    for (input, seen) in rows {
        check(input, seen);
    }
}

/// One row in every chopping, alone and with bytes behind it.
fn check(input: &str, seen: &str) {
    println!("{input:?}");
    let texts = |input: &str| -> String {
        let machine = || Server::new(Limits::default());
        let seen = in_every_chopping(machine, input.as_bytes(), false, SEED);
        seen.iter()
            .map(|seen| seen.text())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    assert_eq!(texts(input), seen);

    let followed = texts(&format!("{input}{GET}"));
    if seen.ends_with("| end") && !seen.contains("close") {
        assert_eq!(
            followed,
            format!("{seen} | GET / | end"),
            "with a request behind"
        );
    } else if seen.ends_with("| end") || seen.ends_with(')') {
        assert_eq!(followed, seen, "with bytes behind the last request");
    }
}
