//! What messages may say (RFC 9113 §8): malformed ones cost their stream, never the connection.

use proto::http2::client::Request;
use proto::http2::{Config, Head, Limits};

use crate::harness::*;

/// Fields of a request or response besides those that make it valid.
fn with(base: &[Field], more: &[Field]) -> Vec<u8> {
    headers(1, END, &[base, more].concat())
}

/// Every list that neither role accepts, behind the pseudo-header fields of a valid head.
const FORBIDDEN: &[&[Field]] = &[
    &[("Upper", "case")],
    &[("", "no name")],
    &[("na me", "space")],
    &[("na\u{e9}me", "beyond ascii")],
    &[("name", "line\nbreak")],
    &[("name", "return\r")],
    &[("name", "ze\0ro")],
    &[("name", " space before")],
    &[("name", "tab behind\t")],
    &[("connection", "close")],
    &[("proxy-connection", "close")],
    &[("keep-alive", "timeout=5")],
    &[("transfer-encoding", "chunked")],
    &[("upgrade", "h2c")],
    &[("te", "gzip")],
    &[(":unknown", "1")],
    &[(":protocol", "websocket")],
    &[("content-length", "1")],
    &[
        ("content-length", "0"),
        ("content-length", "00"),
        ("content-length", "1"),
    ],
    &[("content-length", "+0")],
    &[("content-length", "")],
    &[("content-length", "99999999999999999999")],
];

/// Lists that both roles accept there.
const ALLOWED: &[&[Field]] = &[
    &[("te", "trailers")],
    &[("name", "in\tside")],
    &[("name", "")],
    &[("name", "caf\u{e9}")],
    &[("content-length", "0"), ("content-length", "0")],
    &[("x-!#$%&'*+-.^_`|~9", "a token")],
];

#[test]
fn malformed_requests_are_reset_and_never_told() {
    let pseudo: &[&[Field]] = &[
        &[],
        &[(":method", "GET"), (":scheme", "http")],
        &[(":method", "GET"), (":path", "/")],
        &[(":scheme", "http"), (":path", "/")],
        &[(":method", "GET"), (":scheme", "http"), (":path", "")],
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "no-slash"),
        ],
        &[(":method", "GE T"), (":scheme", "http"), (":path", "/")],
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":path", "/"),
        ],
        &[
            (":method", "GET"),
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
        ],
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/"),
            (":status", "200"),
        ],
        &[
            (":method", "GET"),
            (":scheme", "http"),
            ("late", "pseudo"),
            (":path", "/"),
        ],
        &[(":method", "CONNECT")],
        &[
            (":method", "CONNECT"),
            (":authority", "a:1"),
            (":path", "/"),
        ],
        &[
            (":method", "CONNECT"),
            (":authority", "a:1"),
            (":scheme", "http"),
        ],
    ];
    let lists = pseudo.iter().map(|list| headers(1, END, list));
    let behind = FORBIDDEN.iter().map(|list| with(GET, list));
    let hosts = [
        with(GET, &[("host", "another.org")]),
        with(POST, &[("content-length", "5")]),
        headers(1, END, &[POST, &[(":authority", "user@host")]].concat()),
    ];
    for bad in lists.chain(behind).chain(hosts) {
        let next = headers(3, END, GET);
        let wrote = "reset 1 PROTOCOL_ERROR, head 3 200, data 3 ok end";
        check(
            &Side::Server,
            &[("malformed", vec![bad, next], "GET / 3, end 3", wrote)],
        );
    }
}

#[test]
fn requests_of_all_valid_forms_are_told_with_their_fields() {
    for list in ALLOWED {
        let (seen, _) = run_all(
            Config::default(),
            &Side::Server,
            &[settings(&[]), with(GET, list)].concat(),
        );
        let (name, value) = list[0];
        assert!(
            seen.starts_with(&format!("ready, GET / 1 {name}={value}")),
            "{seen}"
        );
        assert!(seen.ends_with("end 1"), "{seen}");
    }
    let connect: &[Field] = &[(":method", "CONNECT"), (":authority", "a:1")];
    let options: &[Field] = &[(":method", "OPTIONS"), (":scheme", "http"), (":path", "*")];
    check(
        &Side::SilentServer,
        &[
            ("connect", vec![headers(1, 0, connect)], "CONNECT  1", ""),
            ("all", vec![headers(1, 0, options)], "OPTIONS * 1", ""),
            (
                "the same host twice",
                vec![with(GET, &[("host", "example.org")])],
                "GET / 1 host=example.org, end 1",
                "",
            ),
        ],
    );
}

#[test]
fn bodies_are_held_to_their_content_length() {
    let post = |length| headers(1, 0, &[POST, &[("content-length", length)]].concat());
    let reset = "reset 1 PROTOCOL_ERROR";
    let bad = "POST /up 1 content-length=3, reset 1 PROTOCOL_ERROR for RFC 9113 §8.1.1";
    let late = "POST /up 1 content-length=3, data 1 ab, \
        reset 1 PROTOCOL_ERROR for RFC 9113 §8.1.1";
    check(
        &Side::SilentServer,
        &[
            (
                "as long as said",
                vec![post("3"), data(1, 0, "ab"), data(1, END, "c")],
                "POST /up 1 content-length=3, data 1 abc, end 1",
                "",
            ),
            ("longer", vec![post("3"), data(1, 0, "abcd")], bad, reset),
            ("shorter", vec![post("3"), data(1, END, "ab")], bad, reset),
            (
                "longer in pieces",
                vec![post("3"), data(1, 0, "ab"), data(1, END, "cd")],
                late,
                reset,
            ),
            ("nothing", vec![post("3"), data(1, END, "")], bad, reset),
            (
                "trailers instead",
                vec![post("3"), data(1, 0, "ab"), headers(1, END, &[("k", "v")])],
                late,
                reset,
            ),
            (
                "trailers behind all",
                vec![post("2"), data(1, 0, "ab"), headers(1, END, &[("k", "v")])],
                "POST /up 1 content-length=2, data 1 ab, trailers 1 k=v",
                "",
            ),
        ],
    );
}

#[test]
fn trailers_end_a_message_and_have_no_pseudo_header_fields() {
    let post = headers(1, 0, POST);
    let bad = "POST /up 1, reset 1 PROTOCOL_ERROR for RFC 9113 ";
    for (what, trailers, clause) in [
        ("no end", headers(1, 0, &[("k", "v")]), "§8.1"),
        ("pseudo", headers(1, END, &[(":path", "/")]), "§8.3"),
        ("status", headers(1, END, &[(":status", "200")]), "§8.3"),
        ("capitals", headers(1, END, &[("K", "v")]), "§8.2"),
    ] {
        let seen = format!("{bad}{clause}");
        check(
            &Side::Server,
            &[(
                what,
                vec![post.clone(), trailers],
                &seen,
                "reset 1 PROTOCOL_ERROR",
            )],
        );
    }
}

#[test]
fn a_client_resets_streams_with_malformed_responses() {
    let pseudo: &[&[Field]] = &[
        &[],
        &[("x", "y")],
        &[(":status", "")],
        &[(":status", "20")],
        &[(":status", "0200")],
        &[(":status", "600")],
        &[(":status", "2x0")],
        &[(":status", "101")],
        &[(":status", "200"), (":status", "200")],
        &[(":status", "200"), (":path", "/")],
        &[("x", "y"), (":status", "200")],
        &[(":status", "103")],
    ];
    let lists = pseudo.iter().map(|list| headers(1, END, list));
    let behind = FORBIDDEN.iter().map(|list| with(OK, list));
    let side = Side::Client(vec![request(GET, ""), request(GET, "")]);
    for bad in lists.chain(behind) {
        let input = [settings(&[]), bad, headers(3, END, OK)].concat();
        let (seen, wrote) = run_all(Config::default(), &side, &input);
        assert!(
            seen.starts_with("ready, reset 0 PROTOCOL_ERROR for RFC 91"),
            "{seen}"
        );
        assert!(seen.ends_with(", head 1 200, end 1"), "{seen}");
        assert_eq!(wrote, "settings ack, reset 1 PROTOCOL_ERROR");
    }
    for list in ALLOWED {
        let input = [settings(&[]), with(OK, list)].concat();
        let (seen, wrote) = run_all(Config::default(), &side, &input);
        assert!(seen.starts_with("ready, head 0 200 "), "{seen}");
        assert!(seen.ends_with(", end 0"), "{seen}");
        assert_eq!(wrote, "settings ack");
    }
}

#[test]
fn responses_have_bodies_where_there_can_be_one() {
    let head: &[Field] = &[(":method", "HEAD"), (":scheme", "http"), (":path", "/")];
    let get = Side::Client(vec![request(GET, "")]);
    let length: Field = ("content-length", "5");
    let status = |status, flags| headers(1, flags, &[(":status", status), length]);
    let ok = status("200", 0);
    let unasked = "reset 0 PROTOCOL_ERROR for RFC 9113 §8.1.1";
    let reset = "reset 1 PROTOCOL_ERROR";
    check(
        &get,
        &[
            (
                "a body",
                vec![ok.clone(), data(1, END, "Hello")],
                "head 0 200 content-length=5, data 0 Hello, end 0",
                "",
            ),
            (
                "interim responses before it",
                vec![
                    headers(1, 0, &[(":status", "100")]),
                    headers(1, 0, &[(":status", "103"), ("link", "x")]),
                    ok.clone(),
                    data(1, END, "Hello"),
                ],
                "interim 0 100, interim 0 103, head 0 200 content-length=5, data 0 Hello, end 0",
                "",
            ),
            (
                "not modified",
                vec![status("304", END)],
                "head 0 304 content-length=5, end 0",
                "",
            ),
            (
                "a body without content",
                vec![status("204", 0), data(1, END, "x")],
                &format!("head 0 204 content-length=5, {unasked}"),
                reset,
            ),
            ("no body", vec![status("200", END)], unasked, reset),
            (
                "data before the head",
                vec![data(1, 0, "x")],
                "reset 0 PROTOCOL_ERROR for RFC 9113 §8.1",
                reset,
            ),
        ],
    );
    check(
        &Side::Client(vec![request(head, "")]),
        &[
            (
                "an answer to HEAD",
                vec![status("200", END)],
                "head 0 200 content-length=5, end 0",
                "",
            ),
            (
                "a body in an answer to HEAD",
                vec![ok, data(1, END, "Hello")],
                &format!("head 0 200 content-length=5, {unasked}"),
                reset,
            ),
        ],
    );
}

#[test]
fn lists_that_are_too_long_cost_the_message_and_not_the_connection() {
    let config = limited(Limits {
        header_list_bytes: 300,
        ..Limits::default()
    });
    let long: Field = ("x", "0123456789012345678901234567890123456789");
    let next = headers(3, END, GET);
    let answered = "GET / 3, end 3";
    check_with(
        config,
        &Side::Server,
        &[
            (
                "a request",
                vec![with(GET, &[long; 4]), next.clone()],
                answered,
                "head 1 431 end, head 3 200, data 3 ok end",
            ),
            (
                "a request with a body",
                vec![
                    headers(1, 0, &[GET, &[long; 4]].concat()),
                    data(1, END, "ignored"),
                    next,
                ],
                answered,
                "head 1 431 end, reset 1 NO_ERROR, head 3 200, data 3 ok end",
            ),
        ],
    );
    check_with(
        config,
        &Side::Client(vec![request(GET, ""), request(GET, "")]),
        &[(
            "a response",
            vec![with(OK, &[long; 4]), headers(3, END, OK)],
            "reset 0 ENHANCE_YOUR_CALM for RFC 9113 §10.5.1, head 1 200, end 1",
            "reset 1 ENHANCE_YOUR_CALM",
        )],
    );
}

#[test]
fn what_is_sent_is_held_to_the_same_rules() {
    for list in FORBIDDEN {
        // A length of one byte fits a response, and a request with that body.
        if *list != [("content-length", "1")] {
            assert!(Head::response(200, list).is_err(), "{list:?}");
            let all = [GET, list].concat();
            assert!(Head::request(&all).is_err(), "{list:?}");
        }
        let all = [GET, list].concat();
        assert!(Request::new(&all, &b""[..]).is_err(), "{list:?}");
    }
    for list in ALLOWED {
        assert!(Head::response(200, list).is_ok(), "{list:?}");
        assert!(Head::trailers(list).is_ok(), "{list:?}");
    }
    for status in [0, 99, 101, 600, 1000, u16::MAX] {
        assert!(
            Head::response::<&str, &str>(status, &[]).is_err(),
            "{status}"
        );
    }
    let connect: &[Field] = &[(":method", "CONNECT"), (":authority", "a:1")];
    assert!(Request::new(connect, &b""[..]).is_err(), "a tunnel");
    assert!(Head::trailers(&[(":status", "200")]).is_err());
    let error = Head::response(200, &[("Upper", "case")])
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("Upper: case") && error.contains("RFC 9113 §8.2"),
        "{error}"
    );
}
