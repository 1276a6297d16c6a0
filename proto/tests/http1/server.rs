//! What the server role makes of the bytes of a client, and which requests it refuses.

use proto::http1::HeadMemo;
use proto::http1::server::{Event, Limits, Server, Target};

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
    const LENGTH: &str = "400 a Content-Length that is not a number (RFC 9112 §6.3)";
    const RANGE: &str = "400 a Content-Length beyond 64 bits (RFC 9110 §8.6)";
    const DIFFER: &str = "400 Content-Lengths that differ (RFC 9112 §6.3)";
    const TWICE: &str = "400 a Content-Length given more than once (RFC 9110 §8.6)";
    const BOTH: &str = "400 both Transfer-Encoding and Content-Length (RFC 9112 §6.3)";
    const NOT_LAST: &str =
        "400 a request whose last transfer coding is not chunked (RFC 9112 §6.3)";
    const UNKNOWN: &str = "501 a transfer coding besides chunked (RFC 9112 §6.1)";
    const CHUNKED_TWICE: &str = "400 chunked applied more than once (RFC 9112 §6.1)";
    const COLON: &str = "400 white space between a field name and its colon (RFC 9112 §5.1)";
    const FOLDED: &str = "400 a field value folded over lines (RFC 9112 §5.2)";
    const NAME: &str = "400 a field name that is not a token (RFC 9110 §5.1)";
    for (fields, seen) in [
        ("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", BOTH),
        ("Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", BOTH),
        ("Content-Length: 5\r\nTransfer-Encoding: identity\r\n", BOTH),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", DIFFER),
        ("Content-Length: 5, 6\r\n", DIFFER),
        ("Content-Length: 5\r\nContent-Length: 5\r\n", TWICE),
        ("Content-Length: 5, 5\r\n", TWICE),
        ("Content-Length: \r\n", LENGTH),
        ("Content-Length: +5\r\n", LENGTH),
        ("Content-Length: -0\r\n", LENGTH),
        ("Content-Length: 0x5\r\n", LENGTH),
        ("Content-Length: 5;\r\n", LENGTH),
        ("Content-Length: 5.0\r\n", LENGTH),
        ("Content-Length: \u{b2}\r\n", LENGTH),
        ("Content-Length: 99999999999999999999999\r\n", RANGE),
        ("Transfer-Encoding: identity\r\n", NOT_LAST),
        ("Transfer-Encoding: \r\n", NOT_LAST),
        ("Transfer-Encoding: xchunked\r\n", NOT_LAST),
        ("Transfer-Encoding: \"chunked\"\r\n", NOT_LAST),
        ("Transfer-Encoding: chunked;q=1\r\n", NOT_LAST),
        ("Transfer-Encoding: chunked, identity\r\n", NOT_LAST),
        ("Transfer-Encoding: chunked,\r\n", NOT_LAST),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n",
            NOT_LAST,
        ),
        ("Transfer-Encoding: gzip, chunked\r\n", UNKNOWN),
        ("Transfer-Encoding: , chunked\r\n", UNKNOWN),
        (
            "Transfer-Encoding: x\r\nTransfer-Encoding: chunked\r\n",
            UNKNOWN,
        ),
        ("Transfer-Encoding: chunked, chunked\r\n", CHUNKED_TWICE),
        (
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: Chunked\r\n",
            CHUNKED_TWICE,
        ),
        ("Transfer-Encoding : chunked\r\n", COLON),
        ("Transfer-Encoding\t: chunked\r\n", COLON),
        ("Content-Length : 5\r\n", COLON),
        ("Transfer-Encoding:\r\n chunked\r\n", FOLDED),
        ("X: y\r\n\tTransfer-Encoding: chunked\r\n", FOLDED),
        ("Transfer Encoding: chunked\r\n", NAME),
        ("(Transfer-Encoding: chunked\r\n", NAME),
        ("Transfer-Encoding\u{a0}: chunked\r\n", NAME),
    ] {
        check(&format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n"), seen);
    }
    check(
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        "400 a Transfer-Encoding in HTTP/1.0 (RFC 9112 §6.1)",
    );
}

#[test]
fn line_ends_and_control_characters_are_refused() {
    const BARE_LF: &str = "400 a line feed without a carriage return before it (RFC 9112 §2.2)";
    const BARE_CR: &str = "400 a carriage return without a line feed after it (RFC 9112 §2.2)";
    const CONTROL: &str = "400 a control character in the head (RFC 9110 §5.5)";
    const START: &str = "400 a first byte that no method starts with (RFC 9112 §3)";
    for (input, seen) in [
        ("GET / HTTP/1.1\nHost: a\n\n", BARE_LF),
        ("GET / HTTP/1.1\r\nHost: a\n\r\n", BARE_LF),
        ("GET / HTTP/1.1\r\nHost: a\r\n\n", BARE_LF),
        ("GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n", BARE_CR),
        ("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", BARE_CR),
        ("GET / HTTP/1.1\rHost: a\r\n\r\n", BARE_CR),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: \0\r\n\r\n", CONTROL),
        ("GET / HTTP/1.1\r\nHost: a\r\nX\0: y\r\n\r\n", CONTROL),
        ("GET /\u{7f} HTTP/1.1\r\nHost: a\r\n\r\n", CONTROL),
        (
            "GET / HTTP/1.1\r\nHost: a\r\nX: \u{b}chunked\r\n\r\n",
            CONTROL,
        ),
        ("\r\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", BARE_CR),
        ("\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", START),
        ("\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", START),
        (" GET / HTTP/1.1\r\nHost: a\r\n\r\n", START),
        ("\u{16}\u{3}\u{1}\u{2}", START),
    ] {
        check(input, seen);
    }
    check(
        "GET / HTTP/1.1\r\n Host: a\r\n\r\n",
        "400 white space between the start line and the first field (RFC 9112 §2.2)",
    );
    check(
        "GET / HTTP/1.1\r\nHost\r\n\r\n",
        "400 a field line without a colon (RFC 9112 §5)",
    );
}

#[test]
fn bad_request_lines_are_refused() {
    const LINE: &str = "400 a request line that is not method, target and version (RFC 9112 §3)";
    const METHOD: &str = "400 a method that is not a token (RFC 9112 §3.1)";
    const TARGET: &str = "400 a request target in none of the four forms (RFC 9112 §3.2)";
    const FOREIGN: &str = "400 a first line that names another protocol than HTTP (RFC 9113 §3.4)";
    const VERSION: &str = "400 a version that is not HTTP/digit.digit (RFC 9112 §2.3)";
    const MAJOR: &str = "505 a major version other than 1 (RFC 9110 §15.6.6)";
    for (line, seen) in [
        ("GET", LINE),
        ("GET /", LINE),
        ("GET  HTTP/1.1", LINE),
        ("G(T / HTTP/1.1", METHOD),
        ("GET / / HTTP/1.1", TARGET),
        ("GET  / HTTP/1.1", TARGET),
        ("GET /  HTTP/1.1", TARGET),
        ("GET /\t HTTP/1.1", TARGET),
        ("GET /\u{e9} HTTP/1.1", TARGET),
        ("GET a HTTP/1.1", TARGET),
        ("GET * HTTP/1.1", TARGET),
        ("GET a:80 HTTP/1.1", TARGET),
        ("GET http:// HTTP/1.1", TARGET),
        ("GET http:///b HTTP/1.1", TARGET),
        ("GET ftp://a/b HTTP/1.1", TARGET),
        ("GET / HTTP/1.1 ", VERSION),
        ("GET / http/1.1", VERSION),
        ("GET / HTTP/1", VERSION),
        ("GET / HTTP/1.10", VERSION),
        ("GET / HTTP/1.x", VERSION),
        ("GET / HTTQ/1.1", FOREIGN),
        ("INVALID CONNECTION PREFACE", FOREIGN),
        ("PRI * HTTP/2.0", MAJOR),
        ("GET / HTTP/0.9", MAJOR),
        (
            "CONNECT a:80 HTTP/1.1",
            "501 a CONNECT sent to a server that is not a proxy (RFC 9110 §9.3.6)",
        ),
    ] {
        check(&format!("{line}\r\nHost: a\r\n\r\n"), seen);
    }
}

#[test]
fn the_host_must_be_there_once_and_be_a_host() {
    const NONE: &str = "400 an HTTP/1.1 request without Host (RFC 9112 §3.2)";
    const SEVERAL: &str = "400 more than one Host (RFC 9112 §3.2)";
    const HOST: &str = "400 a Host that is not a host with an optional port (RFC 9112 §3.2)";
    check("GET / HTTP/1.1\r\n\r\n", NONE);
    check("GET / HTTP/1.1\r\nHos: a\r\n\r\n", NONE);
    check("GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", SEVERAL);
    check("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n", SEVERAL);
    for host in [
        "a b", "a/b", "u@a", "a, b", "a?b", "a#b", "\"a\"", "<a>", "\u{e9}",
    ] {
        check(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n"), HOST);
    }
}

#[test]
fn bad_chunks_are_refused() {
    for (body, seen) in [
        (
            "0x5\r\nhello",
            "400 a chunk size that is not hexadecimal (RFC 9112 §7.1)",
        ),
        (
            "10000000000000000\r\n",
            "400 a chunk size beyond 64 bits (RFC 9112 §7.1)",
        ),
        (
            "5\nhello",
            "400 a line feed without a carriage return before it (RFC 9112 §2.2)",
        ),
        (
            "100001\r\n",
            "413 a body longer than the limit (RFC 9110 §15.5.14)",
        ),
    ] {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(
            &format!("{head}{body}"),
            &format!("POST / chunked | {seen}"),
        );
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
