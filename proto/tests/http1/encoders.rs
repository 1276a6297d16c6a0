//! The bytes of requests and responses, as they must be.

use std::borrow::Cow;

use proto::http1::client::{self, Answer};
use proto::http1::request::RequestSpec;
use proto::http1::response::{self, Head, Length};
use proto::http1::server::{self, Server};
use proto::http1::{Version, field};

use crate::harness::{Seen, client_after, in_every_chopping};

const SEED: u64 = 0x5eed_0004;

const GET: RequestSpec<'static> = RequestSpec {
    method: "GET",
    target: "/",
    host: "localhost:8080",
    fields: &[],
    body: b"",
    keep_alive: true,
};

const OK: Head<'static> = Head {
    status: 200,
    version: Version::Http11,
    fields: &[],
    more: &[],
    date: b"Sun, 06 Nov 1994 08:49:37 GMT",
    length: Length::Known(13),
    keep_alive: true,
};

#[test]
fn requests_have_these_bytes() {
    for (spec, bytes) in [
        (GET, "GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n"),
        (
            RequestSpec {
                keep_alive: false,
                ..GET
            },
            "GET / HTTP/1.1\r\nHost: localhost:8080\r\nConnection: close\r\n\r\n",
        ),
        (
            RequestSpec {
                fields: &[("Accept", "*/*"), ("hOST", "other"), ("X", "")],
                ..GET
            },
            "GET / HTTP/1.1\r\nHost: other\r\nAccept: */*\r\nX: \r\n\r\n",
        ),
        (
            RequestSpec {
                fields: &[("connection", "x")],
                keep_alive: false,
                ..GET
            },
            "GET / HTTP/1.1\r\nHost: localhost:8080\r\nconnection: x\r\n\r\n",
        ),
        (
            RequestSpec {
                method: "POST",
                body: b"hi\r\n",
                ..GET
            },
            "POST / HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 4\r\n\r\nhi\r\n",
        ),
        (
            RequestSpec {
                method: "PUT",
                ..GET
            },
            "PUT / HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 0\r\n\r\n",
        ),
        (
            RequestSpec {
                fields: &[("content-length", "0")],
                ..GET
            },
            "GET / HTTP/1.1\r\nHost: localhost:8080\r\ncontent-length: 0\r\n\r\n",
        ),
        (
            RequestSpec {
                method: "OPTIONS",
                target: "*",
                host: "",
                ..GET
            },
            "OPTIONS * HTTP/1.1\r\nHost: \r\n\r\n",
        ),
    ] {
        let encoded = spec.encode().expect("a valid request");
        assert_eq!(String::from_utf8_lossy(&encoded), bytes);
    }
}

#[test]
fn requests_that_could_not_be_read_back_are_refused() {
    for (method, target, host, part) in [
        ("GE T", "/", "a", "method"),
        ("", "/", "a", "method"),
        ("CONNECT", "a:1", "a", "CONNECT"),
        ("GET", "", "a", "target"),
        ("GET", "a", "a", "target"),
        ("GET", "*", "a", "target"),
        ("GET", "/a b", "a", "target"),
        ("GET", "/a\r\nX: y", "a", "target"),
        ("GET", "/\u{e9}", "a", "target"),
        ("GET", "/#a", "a", "target"),
        ("GET", "/", "a/b", "host"),
        ("GET", "/", "a\r\nX: y", "host"),
    ] {
        refused(
            RequestSpec {
                method,
                target,
                host,
                ..GET
            },
            part,
        );
    }
}

#[test]
fn fields_that_would_change_the_request_are_refused() {
    let cases: [(&[(&str, &str)], &str); 7] = [
        (&[("A B", "c")], "A B"),
        (&[("A:", "c")], "A:"),
        (&[("A", "b\r\nC: d")], "value"),
        (&[("A", " b")], "value"),
        (&[("Host", "a"), ("host", "b")], "twice"),
        (&[("Content-Length", "1")], "body has 0 bytes"),
        (&[("Transfer-Encoding", "x")], "Transfer-Encoding"),
    ];
    for (fields, part) in cases {
        refused(RequestSpec { fields, ..GET }, part);
    }
}

fn refused(spec: RequestSpec<'_>, part: &str) {
    let why = spec
        .encode()
        .expect_err("this request is not valid")
        .to_string();
    assert!(why.contains(part), "{why:?} does not name {part:?}");
}

#[test]
fn responses_have_these_bytes() {
    const DATE: &str = "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
    for (head, start, end) in [
        (OK, "200 OK", "Content-Length: 13\r\n\r\n"),
        (
            Head {
                fields: &[("Content-Type", "text/plain"), ("A", "")],
                ..OK
            },
            "200 OK",
            "Content-Type: text/plain\r\nA: \r\nContent-Length: 13\r\n\r\n",
        ),
        (
            Head {
                fields: &[("A", "b")],
                more: &[
                    (Cow::Borrowed("C"), Cow::Borrowed("d")),
                    ("Upgrade".into(), "e".into()),
                ],
                ..OK
            },
            "200 OK",
            "A: b\r\nC: d\r\nUpgrade: e\r\nContent-Length: 13\r\nConnection: upgrade\r\n\r\n",
        ),
        (
            Head {
                length: Length::Chunked,
                ..OK
            },
            "200 OK",
            "Transfer-Encoding: chunked\r\n\r\n",
        ),
        (
            Head {
                status: 404,
                length: Length::Known(0),
                keep_alive: false,
                ..OK
            },
            "404 Not Found",
            "Content-Length: 0\r\nConnection: close\r\n\r\n",
        ),
        (
            Head {
                status: 204,
                length: Length::None,
                ..OK
            },
            "204 No Content",
            "\r\n",
        ),
        (
            Head {
                status: 299,
                version: Version::Http10,
                length: Length::Known(u64::MAX),
                ..OK
            },
            "299 Success",
            "Content-Length: 18446744073709551615\r\nConnection: keep-alive\r\n\r\n",
        ),
    ] {
        let mut out = b"before".to_vec();
        response::head(&mut out, &head).expect("a valid head");
        assert_eq!(
            String::from_utf8_lossy(&out),
            format!("beforeHTTP/1.1 {start}\r\n{DATE}{end}")
        );
    }
}

#[test]
fn response_heads_that_contradict_themselves_are_refused() {
    for head in [
        Head { status: 99, ..OK },
        Head { status: 600, ..OK },
        Head { status: 204, ..OK },
        Head {
            status: 100,
            length: Length::Chunked,
            ..OK
        },
        Head {
            version: Version::Http10,
            length: Length::Chunked,
            ..OK
        },
        Head {
            fields: &[("A", "b\nc")],
            ..OK
        },
        Head {
            fields: &[("A b", "c")],
            ..OK
        },
        Head {
            fields: &[("content-length", "13")],
            ..OK
        },
        Head {
            more: &[(Cow::Borrowed("A"), Cow::Borrowed("b\r\nc: d"))],
            ..OK
        },
    ] {
        let mut out = Vec::new();
        assert!(response::head(&mut out, &head).is_err(), "{head:?}");
        assert!(out.is_empty(), "{head:?} wrote something");
    }
}

#[test]
fn chunks_have_these_bytes() {
    let mut out = Vec::new();
    response::chunk(&mut out, b"hello");
    response::chunk(&mut out, b"");
    response::chunk(&mut out, &[b'x'; 16]);
    response::last_chunk(&mut out);
    assert_eq!(out, b"5\r\nhello\r\n10\r\nxxxxxxxxxxxxxxxx\r\n0\r\n\r\n");
    out.clear();
    response::chunk(&mut out, &[0; 0xabcdef]);
    assert!(out.starts_with(b"abcdef\r\n\0"));
}

#[test]
fn an_encoded_request_is_read_back() {
    let spec = RequestSpec {
        method: "POST",
        target: "/a?b=c",
        fields: &[("Accept", "text/html, */*;q=0.1")],
        body: b"GET / HTTP/1.1\r\n\r\n",
        keep_alive: false,
        ..GET
    };
    let bytes = spec.encode().expect("a valid request");
    let machine = || Server::new(server::Limits::default());
    let seen = in_every_chopping(machine, &bytes, false, SEED);
    let [Seen::Request { text, head }, Seen::Body(body), Seen::End(_)] = &seen[..] else {
        panic!("{seen:?}");
    };
    assert_eq!(text, "POST /a?b=c close 18 bytes");
    assert_eq!(field(head, "accept"), Some(&b"text/html, */*;q=0.1"[..]));
    assert_eq!(body, spec.body);
}

#[test]
fn encoded_responses_are_read_back() {
    let mut bytes = Vec::new();
    response::head(
        &mut bytes,
        &Head {
            length: Length::Chunked,
            ..OK
        },
    )
    .expect("a valid head");
    response::chunk(&mut bytes, b"hello, ");
    response::chunk(&mut bytes, b"world");
    response::last_chunk(&mut bytes);
    bytes.extend_from_slice(response::CONTINUE);
    response::head(
        &mut bytes,
        &Head {
            keep_alive: false,
            ..OK
        },
    )
    .expect("a valid head");
    bytes.extend_from_slice(b"Hello, World!");
    let machine = || client_after(client::Limits::default(), &[Answer::Usual; 2]);
    let seen = in_every_chopping(machine, &bytes, false, SEED);
    let texts: Vec<_> = seen.iter().map(Seen::text).collect();
    let first = ["200", "body hello, world", "end"];
    let second = ["interim 100", "200", "body Hello, World!", "end, close"];
    assert_eq!(texts, [&first[..], &second].concat());
}

#[test]
fn dates_are_those_of_the_calendar() {
    for (seconds, text) in [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
        (1_704_067_199, "Sun, 31 Dec 2023 23:59:59 GMT"),
        (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (u64::MAX, "Fri, 31 Dec 9999 23:59:59 GMT"),
    ] {
        assert_eq!(std::str::from_utf8(&response::date(seconds)), Ok(text));
    }
}
