//! What one side would read as two requests, and the other as one (RFC 9112 §11.2): as data, with
//! what the upstream sees of it.

#[path = "../../../tests/broken_requests.rs"]
mod broken_requests;

use super::frames::{Came, DATA, END_HEADERS, END_STREAM, HEADERS, Peer, block};
use super::support::{Client, Gateway, Origin, in_front_of};

/// An upstream that says what it was asked.
fn origin() -> Origin {
    Origin::named("ok")
}

/// The lines of the requests that an upstream saw, each with its body.
fn lines(origin: &Origin) -> Vec<String> {
    let seen = origin.seen();
    let shown = |one: &super::support::Seen| {
        format!("{} {}", one.line(), String::from_utf8_lossy(&one.body))
    };
    seen.iter().map(shown).collect()
}

#[test]
fn a_broken_request_of_http_1_reaches_no_upstream() {
    let origin = origin();
    let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
    let chunks = broken_requests::chunks().into_iter().take(3);
    let chunks =
        chunks.map(|(sent, verdict)| (broken_requests::CHUNKED.to_owned() + sent, verdict));
    for (rows, passes_heads) in [(broken_requests::heads(), false), (chunks.collect(), true)] {
        // All at once: a refusal listens for a while before it closes.
        let clients: Vec<Client> = rows
            .iter()
            .map(|(raw, _)| {
                let mut client = gateway.connect();
                // Behind it something that must not be taken for a request.
                let all = format!("{raw}GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n");
                client.write(all.as_bytes());
                client
            })
            .collect();
        for (mut client, (raw, verdict)) in clients.into_iter().zip(&rows) {
            let said = String::from_utf8_lossy(&client.rest()).into_owned();
            let answers = said.matches("\r\nDate: ").count();
            let silent = broken_requests::is_foreign(verdict);
            assert!(answers <= usize::from(!silent), "{raw:?}: {said}");
        }
        if !passes_heads {
            assert_eq!(lines(&origin), Vec::<String>::new());
        }
    }
    let seen = lines(&origin);
    assert!(
        !seen.iter().any(|line| line.contains("smuggled")),
        "{seen:?}"
    );
}

/// Sent in one piece over HTTP/1.1, and what the upstream sees.
const ALLOWED: &[(&str, &[&str])] = &[
    // The body of one that looks like a request is a body.
    (
        "POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 35\r\n\r\n\
         GET /b HTTP/1.1\r\nHost: evil.org\r\n\r\n",
        &["POST /a HTTP/1.1 GET /b HTTP/1.1\r\nHost: evil.org\r\n\r\n"],
    ),
    // A GET with a body, and one behind it.
    (
        "GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc\
         GET /b HTTP/1.1\r\nHost: a\r\n\r\n",
        &["GET /a HTTP/1.1 abc", "GET /b HTTP/1.1 "],
    ),
    // Chunks with extensions and trailers are written anew.
    (
        "POST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n\
         0003;a=\"b;c\"\r\nabc\r\n0\r\nContent-Length: 9\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\n\r\n",
        &["POST /a HTTP/1.1 abc", "GET /b HTTP/1.1 "],
    ),
    // The connection's own fields can't be named away.
    (
        "POST /a HTTP/1.1\r\nHost: a\r\nConnection: Content-Length, Host, Transfer-Encoding\r\n\
         Content-Length: 3\r\n\r\nabc",
        &["POST /a HTTP/1.1 abc"],
    ),
    // What has a name like the framing's says nothing, and stays behind.
    (
        "GET /a HTTP/1.1\r\nHost: a\r\nContent_Length: 40\r\nTransfer_Encoding: chunked\r\n\r\n\
         GET /b HTTP/1.1\r\nHost: a\r\n\r\n",
        &["GET /a HTTP/1.1 ", "GET /b HTTP/1.1 "],
    ),
];

#[test]
fn what_is_one_request_to_the_gateway_is_one_to_the_upstream() {
    for (raw, expected) in ALLOWED {
        let origin = origin();
        let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
        let more = "protocol = \"h2c\"";
        let over_http2 = Gateway::start(&in_front_of(&[gateway.address()], more));
        for (at, front) in [&gateway, &over_http2].into_iter().enumerate() {
            let mut client = front.connect();
            client.write(raw.as_bytes());
            for _ in 0..expected.len() {
                let said = client.answer(false);
                assert_eq!((said.status, &*said.text()), (200, "ok"), "{raw:?}");
            }
            // Requests that are safe go out at once, and may arrive in any order.
            let mut seen = lines(&origin).split_off(at * expected.len());
            seen.sort_unstable();
            let mut expected = expected.to_vec();
            expected.sort_unstable();
            assert_eq!(seen, expected, "{raw:?}");
        }
        for seen in origin.seen() {
            assert!(!seen.head.contains('_'), "{}", seen.head);
            let framings = ["content-length", "transfer-encoding"];
            let count = framings
                .iter()
                .filter(|name| seen.field(name).is_some())
                .count();
            assert!(count <= 1, "{}", seen.head);
        }
    }
}

/// The four fields that a request of HTTP/2 begins with.
const PSEUDO: [(&str, &str); 4] = [
    (":method", "POST"),
    (":scheme", "http"),
    (":path", "/a"),
    (":authority", "a.org"),
];

/// Fields and a body over HTTP/2 that would be two requests over HTTP/1.1, were they just written
/// down.
const OVER_HTTP2: &[(&[(&str, &str)], &str)] = &[
    (
        &[("content-length", "0")],
        "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\n",
    ),
    (&[("content-length", "50")], "abc"),
    (&[("content-length", "3"), ("content-length", "4")], "abc"),
    (&[("content-length", "+3")], "abc"),
    (
        &[("transfer-encoding", "chunked")],
        "0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n",
    ),
    (&[("connection", "keep-alive")], ""),
    (
        &[("x", "a\r\nContent-Length: 0")],
        "GET /smuggled HTTP/1.1\r\n\r\n",
    ),
    (&[("x", "a\nb")], ""),
    (&[("x", "a\0b")], ""),
    (
        &[("x: y\r\ncontent-length", "0")],
        "GET /smuggled HTTP/1.1\r\n\r\n",
    ),
    (&[("x y", "a")], ""),
    (&[("X-Upper", "a")], ""),
    (&[(":path", "/b")], ""),
    (&[("host", "other\r\nx: y")], ""),
];

#[test]
fn what_would_be_two_requests_over_http_1_is_refused_over_http_2() {
    let origin = origin();
    let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
    for (fields, body) in OVER_HTTP2 {
        let mut peer = Peer::connect(gateway.address());
        let all: Vec<(&str, &str)> = PSEUDO.iter().chain(*fields).copied().collect();
        peer.ask(1, &all, Some(body.as_bytes()));
        let came = peer.came(1);
        let refused = match &came {
            Came::Answer(status, _) => (400..500).contains(status),
            Came::Reset(_) | Came::Gone => true,
        };
        assert!(refused, "{fields:?}: {came:?}");
    }
    let seen = lines(&origin);
    assert!(
        !seen.iter().any(|line| line.contains("smuggled")),
        "{seen:?}"
    );
}

#[test]
fn lines_in_pseudo_header_fields_reach_no_upstream() {
    let origin = origin();
    let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
    let wrong = [
        (":method", "GET /smuggled HTTP/1.1\r\nHost: a\r\n\r\nPOST"),
        (":path", "/a HTTP/1.1\r\nHost: a\r\n\r\nGET /smuggled"),
        (":path", "a"),
        (":path", "/a b"),
        (":path", ""),
        (":authority", "a\r\nx: y"),
        (":authority", "a b"),
        (":authority", "user@a"),
        (":method", ""),
    ];
    for (name, value) in wrong {
        let replaced = PSEUDO.map(|(own, was)| (own, if own == name { value } else { was }));
        let mut peer = Peer::connect(gateway.address());
        peer.ask(1, &replaced, None);
        let came = peer.came(1);
        let refused = match &came {
            Came::Answer(status, _) => (400..500).contains(status),
            Came::Reset(_) | Came::Gone => true,
        };
        assert!(refused, "{name} {value:?}: {came:?}");
    }
    assert_eq!(lines(&origin), Vec::<String>::new());
}

#[test]
fn a_request_of_http_2_becomes_one_of_http_1() {
    let origin = origin();
    let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
    let mut peer = Peer::connect(gateway.address());
    let fields = [
        ("cookie", "a=1"),
        ("x-a", "b"),
        ("cookie", "c=2"),
        ("te", "trailers"),
    ];
    let all: Vec<(&str, &str)> = PSEUDO.iter().chain(&fields).copied().collect();
    // A body in several frames, and trailers behind it.
    peer.send(HEADERS, END_HEADERS, 1, &block(&all));
    peer.send(DATA, 0, 1, b"hel");
    peer.send(DATA, 0, 1, b"lo");
    peer.send(
        HEADERS,
        END_HEADERS | END_STREAM,
        1,
        &block(&[("x-trailer", "1")]),
    );
    assert_eq!(peer.came(1), Came::Answer(200, "ok".into()));
    let seen = origin.seen().remove(0);
    assert_eq!(
        (seen.line(), &*seen.body),
        ("POST /a HTTP/1.1", &b"hello"[..])
    );
    assert_eq!(
        (seen.field("host"), seen.field("cookie")),
        (Some("a.org"), Some("a=1; c=2"))
    );
    assert_eq!(
        (seen.field("te"), seen.field("via")),
        (None, Some("2 ringside"))
    );
}

#[test]
fn a_rule_for_a_host_or_a_path_is_not_passed_by() {
    let origin = origin();
    let rules = "[[route]]\nhost = \"secure.example\"\nanswer = { status = 418 }\n\
                 [[route]]\nprefix = \"/private\"\nanswer = { status = 418 }\n";
    let gateway = Gateway::start(&(in_front_of(&[origin.address], "") + rules));
    for (path, host, status) in [
        ("/", "secure.example", "418"),
        ("/", "SECURE.example.:80", "418"),
        ("/", "secure.example..", "400"),
        ("/", "secure.example:80:90", "400"),
        ("/", "secure.example.:80:1", "400"),
        ("/", "secure.example,a", "400"),
        ("/", "secure%2eexample", "400"),
        ("/", "[secure.example]", "400"),
        ("/private;x=1", "a", "418"),
        ("/private;x/secret", "a", "418"),
        ("/;x/private", "a", "418"),
        ("/a/..;x/private", "a", "400"),
    ] {
        let mut client = gateway.connect();
        let request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        client.write(request.as_bytes());
        let said = String::from_utf8_lossy(&client.rest()).into_owned();
        let begins = format!("HTTP/1.1 {status} ");
        assert!(said.starts_with(&begins), "{path} {host}: {said}");
    }
    assert_eq!(lines(&origin), Vec::<String>::new());
}
