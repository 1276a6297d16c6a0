//! What the client role makes of the bytes of a server.

use proto::http1::client::{Answer, Client, Limits};

use crate::harness::{client_after, in_every_chopping};

const SEED: u64 = 0x5eed_0001;

/// Methods that were sent, the bytes that came, and what they mean; `FIN` ends the connection.
type Row = (&'static str, &'static str, &'static str);

#[test]
fn a_body_of_known_length_ends_after_it() {
    for (head, seen) in [
        (
            "1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
            "200 | body hello | end",
        ),
        (
            "1.1 200 OK\r\ncontent-length:5\t\r\n\r\nhello",
            "200 | body hello | end",
        ),
        (
            "1.1 200 OK\r\nContent-Length: 0005\r\n\r\nhello",
            "200 | body hello | end",
        ),
        (
            "1.1 200 OK\r\nContent-Length: 5\r\n\r\nhel",
            "200 | body hel",
        ),
        ("1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "200 | end"),
        ("1.1 200 \r\nContent-Length: 0\r\n\r\n", "200 | end"),
        (
            "1.1 599 \u{e9}\t!\r\nContent-Length: 0\r\n\r\n",
            "599 | end",
        ),
        ("1.7 200 OK\r\nContent-Length: 0\r\n\r\n", "200 | end"),
    ] {
        check_one("GET", &format!("HTTP/{head}"), seen);
    }
}

#[test]
fn some_answers_have_no_body_whatever_they_say() {
    for fields in [
        "",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
    ] {
        let row = |method: &str, status: u16| {
            let input = format!("HTTP/1.1 {status} \r\n{fields}\r\n");
            check_one(method, &input, &format!("{status} | end"));
        };
        row("HEAD", 200);
        row("GET", 204);
        row("GET", 304);
    }
}

#[test]
fn a_body_without_any_framing_ends_with_the_connection() {
    for (head, seen) in [
        ("\r\nall", "200 | body all"),
        ("\r\nallFIN", "200 | body all | end, close"),
        ("\r\nFIN", "200 | end, close"),
        (
            "Transfer-Encoding: gzip\r\n\r\n5\r\nFIN",
            "200 | body 5\r\n | end, close",
        ),
        (
            "Transfer-Encoding: chunked, gzip\r\n\r\n5FIN",
            "200 | body 5 | end, close",
        ),
    ] {
        check_one("GET", &format!("HTTP/1.1 200 OK\r\n{head}"), seen);
    }
}

#[test]
fn equal_lengths_are_one_length() {
    check(&[
        (
            "GET",
            "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\n\r\nhi",
            "200 | body hi | end",
        ),
        (
            "GET",
            "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nX: y\r\nContent-Length: 02\r\n\r\nhi",
            "200 | body hi | end",
        ),
    ]);
}

#[test]
fn chunks_are_joined_and_what_surrounds_them_is_dropped() {
    check_chunked(&[
        ("0\r\n\r\n", "200 | end"),
        ("5\r\nhello\r\n0\r\n\r\n", "200 | body hello | end"),
        (
            "1\r\nh\r\n004\r\nello\r\n000\r\n\r\n",
            "200 | body hello | end",
        ),
        (
            "a\r\n0123456789\r\nA\r\n0123456789\r\n0\r\n\r\n",
            "200 | body 01234567890123456789 | end",
        ),
        ("5;a=b\r\nhello\r\n0;x\r\n\r\n", "200 | body hello | end"),
        (
            "5 \t; a = \"b;c\"\r\nhello\r\n0\r\n\r\n",
            "200 | body hello | end",
        ),
        (
            "5\r\nhello\r\n0\r\nDigest: x\r\nEmpty:\r\n\r\n",
            "200 | body hello | end",
        ),
        ("2\r\n\r\n\r\n0\r\n\r\n", "200 | body \r\n | end"),
        ("5\r\nhel", "200 | body hel"),
        ("5\r\nhello\r\n0\r\nDigest: x\r\n", "200 | body hello"),
    ]);
    let (many, body) = ("1;abcdefgh\r\nx\r\n".repeat(60), "x".repeat(60));
    check_chunked(&[(
        &format!("{many}0\r\n\r\n"),
        &format!("200 | body {body} | end"),
    )]);
    check(&[(
        "GET",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: x\r\nTransfer-Encoding: , Chunked\r\n\r\n0\r\n\r\n",
        "200 | end",
    )]);
}

#[test]
fn bad_chunks_are_violations() {
    const SIZE: &str = "a chunk size that is not hexadecimal (RFC 9112 §7.1)";
    const RANGE: &str = "a chunk size beyond 64 bits (RFC 9112 §7.1)";
    const END: &str = "chunk data that does not end with CR LF (RFC 9112 §7.1)";
    const BARE_LF: &str = "a line feed without a carriage return before it (RFC 9112 §2.2)";
    const BARE_CR: &str = "a carriage return without a line feed after it (RFC 9112 §2.2)";
    const NAME: &str = "a field name that is not a token (RFC 9110 §5.1)";
    for (body, fault) in [
        ("\r\n", SIZE),
        ("-5\r\nhello\r\n", SIZE),
        ("+5\r\nhello\r\n", SIZE),
        (" 5\r\nhello\r\n", SIZE),
        ("5 \r\nhello\r\n", SIZE),
        ("5 5\r\nhello\r\n", SIZE),
        ("0x5\r\nhello\r\n", SIZE),
        ("5_0\r\nhello\r\n", SIZE),
        ("g\r\n", SIZE),
        (";a\r\n", SIZE),
        ("10000000000000000\r\n", RANGE),
        ("fffffffffffffffff\r\n", RANGE),
        ("5\nhello\r\n", BARE_LF),
        ("5;a\nhello\r\n", BARE_LF),
        ("5\rhello\r\n", BARE_CR),
        ("5;a\rb\r\nhello\r\n", BARE_CR),
        (
            "5;a\0b\r\nhello\r\n",
            "a control character in a chunk extension (RFC 9112 §7.1.1)",
        ),
        ("0\r\n\n", BARE_LF),
        ("0\r\nA: b\n\r\n", BARE_LF),
        ("0\r\nA: b\rc\r\n\r\n", BARE_CR),
        ("0\r\nA: b\r\n\rX", BARE_CR),
        (
            "0\r\nA: \u{1}\r\n\r\n",
            "a control character in the head (RFC 9110 §5.5)",
        ),
        (
            "0\r\nA: b\r\n c\r\n\r\n",
            "a field value folded over lines (RFC 9112 §5.2)",
        ),
        (
            "0\r\nA : b\r\n\r\n",
            "white space between a field name and its colon (RFC 9112 §5.1)",
        ),
        (
            "0\r\nA\r\n\r\n",
            "a field line without a colon (RFC 9112 §5)",
        ),
        ("0\r\n: b\r\n\r\n", NAME),
        ("0\r\nA(: b\r\n\r\n", NAME),
    ] {
        check_chunked(&[(body, &format!("200 | {fault}"))]);
    }
    check_chunked(&[
        ("5\r\nhello0\r\n\r\n", &format!("200 | body hello | {END}")),
        (
            "5\r\nhello\n0\r\n\r\n",
            &format!("200 | body hello | {END}"),
        ),
        (
            "5\r\nhello\r0\r\n\r\n",
            &format!("200 | body hello | {END}"),
        ),
    ]);
    let long = "0".repeat(257);
    let fault = "200 | a chunk line longer than 256 bytes (RFC 9112 §7.1.1)";
    check_chunked(&[(&long, fault), (&format!("5;{long}"), fault)]);
}

#[test]
fn the_connection_lasts_as_version_and_options_say() {
    let row = |version: &str, options: &str, end: &str| {
        let input = format!("HTTP/{version} 200 OK\r\n{options}Content-Length: 0\r\n\r\n");
        check_one("GET", &input, &format!("200 | {end}"));
    };
    row("1.1", "Connection: close\r\n", "end, close");
    row("1.1", "Connection: Upgrade, CLOSE\r\n", "end, close");
    row(
        "1.1",
        "Connection: x\r\nConnection: close\r\n",
        "end, close",
    );
    row("1.1", "Connection: closed, keep-alive\r\n", "end");
    row("1.0", "", "end, close");
    row("1.0", "Connection: Keep-Alive\r\n", "end");
    row("1.0", "Connection: keep-alive, close\r\n", "end, close");
}

#[test]
fn interim_responses_come_before_the_final_one() {
    const FINAL: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let row = |interim: &str, seen: &str| check_one("GET", &format!("{interim}{FINAL}"), seen);
    row("HTTP/1.1 100 Continue\r\n\r\n", "interim 100 | 200 | end");
    row(
        "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n",
        "interim 103 | interim 103 | 200 | end",
    );
    row(
        "HTTP/1.1 102 \r\nContent-Length: 7\r\n\r\n",
        "interim 102 | 200 | end",
    );
    row(
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
        "a switch of protocols that was not asked for (RFC 9110 §7.8)",
    );
}

#[test]
fn pipelined_answers_come_in_the_order_of_their_requests() {
    const HEAD: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    check_one(
        "GET GET",
        &format!("{HEAD}ab{HEAD}cd"),
        "200 | body ab | end | 200 | body cd | end",
    );
    check_one(
        "HEAD GET",
        &format!("{HEAD}{HEAD}cd"),
        "200 | end | 200 | body cd | end",
    );
    check_one(
        "GET HEAD GET",
        &format!("{HEAD}ab{HEAD}{HEAD}cd"),
        "200 | body ab | end | 200 | end | 200 | body cd | end",
    );
    check_one(
        "GET GET",
        "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\nHTTP/1.1 200 OK\r\n",
        "200 | end, close | bytes after the last response of the connection (RFC 9112 §9.6)",
    );
}

#[test]
fn bytes_nobody_asked_for_are_a_violation() {
    const UNASKED: &str = "bytes from a server while no request is outstanding (RFC 9112 §9.2)";
    check(&[
        (
            "",
            "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n",
            UNASKED,
        ),
        ("", "\r\n", UNASKED),
        ("", "FIN", ""),
    ]);
    let twice = "HTTP/1.1 204 \r\n\r\nHTTP/1.1 204 \r\n\r\n";
    check_one("GET", twice, &format!("204 | end | {UNASKED}"));
}

#[test]
fn a_connection_that_ends_inside_a_response_is_a_violation() {
    const HEAD: &str = "a connection that ended inside a head (RFC 9112 §8)";
    const BODY: &str = "a connection that ended inside a body (RFC 9112 §8)";
    check(&[
        ("GET", "FIN", ""),
        ("GET", "HFIN", HEAD),
        ("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\rFIN", HEAD),
    ]);
    for (input, seen) in [
        ("Content-Length: 5\r\n\r\nFIN", "200 | "),
        ("Content-Length: 5\r\n\r\nhellFIN", "200 | body hell | "),
        ("Transfer-Encoding: chunked\r\n\r\nFIN", "200 | "),
        (
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nFIN",
            "200 | body hello | ",
        ),
        ("Transfer-Encoding: chunked\r\n\r\n0\r\n\rFIN", "200 | "),
    ] {
        check_one(
            "GET",
            &format!("HTTP/1.1 200 OK\r\n{input}"),
            &format!("{seen}{BODY}"),
        );
    }
    check_one("GET", "HTTP/1.1 100 Continue\r\n\r\nFIN", "interim 100");
    check_one("GET", "HTTP/1.1 204 \r\n\r\nFIN", "204 | end");
}

#[test]
fn bad_status_lines_are_violations() {
    const START: &str = "a status line that does not start with HTTP/ (RFC 9112 §4)";
    const LINE: &str = "a status line that is not version, three digits and reason (RFC 9112 §4)";
    const STATUS: &str = "a status code outside 100 to 599 (RFC 9110 §15)";
    const VERSION: &str = "a version that is not HTTP/digit.digit (RFC 9112 §2.3)";
    for (line, fault) in [
        ("", START),
        ("\r\nHTTP/1.1 200 OK", START),
        ("SSH-2.0-OpenSSH", START),
        ("\u{15}\u{3}\u{1}", START),
        ("http/1.1 200 OK", START),
        ("HTTP/1.1 200", LINE),
        ("HTTP/1.1  200 OK", LINE),
        ("HTTP/1.1 20 OK", LINE),
        ("HTTP/1.1 2000 OK", LINE),
        ("HTTP/1.1 +20 OK", LINE),
        ("HTTP/1.1", LINE),
        ("HTTP/1.", LINE),
        ("HTTP/1.1 000 OK", STATUS),
        ("HTTP/1.1 099 OK", STATUS),
        ("HTTP/1.1 600 OK", STATUS),
        ("HTTP/11 200 OK", VERSION),
        ("HTTP/1,1 200 OK", VERSION),
        (
            "HTTP/2.0 200 OK",
            "a major version other than 1 (RFC 9110 §15.6.6)",
        ),
    ] {
        check_one(
            "GET",
            &format!("{line}\r\nContent-Length: 0\r\n\r\n"),
            fault,
        );
    }
}

#[test]
fn bad_fields_are_violations() {
    const LENGTH: &str = "a Content-Length that is not a number (RFC 9112 §6.3)";
    const RANGE: &str = "a Content-Length beyond 64 bits (RFC 9110 §8.6)";
    const DIFFER: &str = "Content-Lengths that differ (RFC 9112 §6.3)";
    const BARE_LF: &str = "a line feed without a carriage return before it (RFC 9112 §2.2)";
    const BARE_CR: &str = "a carriage return without a line feed after it (RFC 9112 §2.2)";
    for (fields, fault) in [
        ("A: b\n", BARE_LF),
        ("A: b\n\n", BARE_LF),
        ("A: b\rc\r\n", BARE_CR),
        ("A: b\r\r\n", BARE_CR),
        (
            "A: b\0c\r\n",
            "a control character in the head (RFC 9110 §5.5)",
        ),
        (
            "A: b\u{7f}\r\n",
            "a control character in the head (RFC 9110 §5.5)",
        ),
        (
            "A: b\r\n c\r\n",
            "a field value folded over lines (RFC 9112 §5.2)",
        ),
        (
            " A: b\r\n",
            "white space between the start line and the first field (RFC 9112 §2.2)",
        ),
        (
            "A : b\r\n",
            "white space between a field name and its colon (RFC 9112 §5.1)",
        ),
        (
            "A b: c\r\n",
            "a field name that is not a token (RFC 9110 §5.1)",
        ),
        (
            ": c\r\n",
            "a field name that is not a token (RFC 9110 §5.1)",
        ),
        (
            "A\u{e9}: c\r\n",
            "a field name that is not a token (RFC 9110 §5.1)",
        ),
        ("A\r\n", "a field line without a colon (RFC 9112 §5)"),
        ("Content-Length: \r\n", LENGTH),
        ("Content-Length: +5\r\n", LENGTH),
        ("Content-Length: -5\r\n", LENGTH),
        ("Content-Length: 0x5\r\n", LENGTH),
        ("Content-Length: 5 5\r\n", LENGTH),
        ("Content-Length: 5,\r\n", LENGTH),
        ("Content-Length: 18446744073709551616\r\n", RANGE),
        ("Content-Length: 5\r\nContent-Length: 6\r\n", DIFFER),
        ("Content-Length: 5, 6\r\n", DIFFER),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
            "both Transfer-Encoding and Content-Length (RFC 9112 §6.3)",
        ),
        (
            "Transfer-Encoding: chunked, chunked\r\n",
            "chunked applied more than once (RFC 9112 §6.1)",
        ),
    ] {
        check_one("GET", &format!("HTTP/1.1 200 OK\r\n{fields}\r\n"), fault);
    }
    check_one(
        "GET",
        "HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "a Transfer-Encoding in HTTP/1.0 (RFC 9112 §6.1)",
    );
}

#[test]
fn a_length_of_64_bits_is_read() {
    check_one(
        "GET",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx",
        "200 | body x",
    );
}

fn check_chunked(rows: &[(&str, &str)]) {
    for (body, seen) in rows {
        let input = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        check_one("GET", &input, seen);
    }
}

fn check(rows: &[Row]) {
    for (methods, input, seen) in rows {
        check_one(methods, input, seen);
    }
}

/// One row in every chopping, alone and with bytes behind it.
fn check_one(methods: &str, input: &str, seen: &str) {
    println!("after {methods:?}: {input:?}");
    let answers: Vec<_> = methods.split_whitespace().map(Answer::to).collect();
    let (bytes, ended) = match input.strip_suffix("FIN") {
        Some(bytes) => (bytes, true),
        None => (input, false),
    };
    let machine = || client_after(Limits::default(), &answers);
    let texts = |input: &[u8], machine: &dyn Fn() -> Client| -> String {
        let seen = in_every_chopping(machine, input, ended, SEED);
        seen.iter()
            .map(|seen| seen.text())
            .collect::<Vec<_>>()
            .join(" | ")
    };
    assert_eq!(texts(bytes.as_bytes(), &machine), seen);

    let followed = format!("{bytes}HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n!");
    if seen.ends_with("| end") && !ended {
        let one_more = || {
            let mut client = machine();
            client.sent(Answer::Usual).expect("capacity for one more");
            client
        };
        let more = format!("{seen} | 200 | body ! | end");
        assert_eq!(
            texts(followed.as_bytes(), &one_more),
            more,
            "with an answer behind"
        );
    } else if seen.ends_with(')') && !ended {
        assert_eq!(
            texts(followed.as_bytes(), &machine),
            seen,
            "with bytes behind a violation"
        );
    }
}
