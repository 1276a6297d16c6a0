//! Answers that say what can't be meant, and requests whose form leaves a choice: what each server
//! makes of them. Where both say the same, they're compared; where they differ, both are written
//! down.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Path, Request};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use axum::routing::{any, get, post};
use futures_util::stream;
use http_body::{Frame, SizeHint};

use crate::wire::{self, Ask, End};
use crate::{LAST, Servers};

/// An answer with these fields, in this order.
fn with(fields: &[(&'static str, &'static str)], body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    for (name, value) in fields {
        let name = HeaderName::from_static(name);
        let value = HeaderValue::from_static(value);
        response.headers_mut().append(name, value);
    }
    response
}

/// A body of these frames, of which nobody knows the length, unless it's said.
struct Frames {
    frames: std::vec::IntoIter<Frame<Bytes>>,
    length: Option<u64>,
}

impl http_body::Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.frames.next().map(Ok))
    }

    fn size_hint(&self) -> SizeHint {
        self.length
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// Data, and then these trailers.
fn trailed(data: &'static str, trailers: &[(&'static str, &'static str)], known: bool) -> Body {
    let pairs = trailers.iter().map(|(name, value)| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        )
    });
    let frames = vec![
        Frame::data(Bytes::from_static(data.as_bytes())),
        Frame::trailers(HeaderMap::from_iter(pairs)),
    ];
    Body::new(Frames {
        frames: frames.into_iter(),
        length: known.then_some(data.len() as u64),
    })
}

fn get_with(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\r\nhost: a\r\n{fields}\r\n")
}

/// Hyper may keep what it has of such a body to itself when it hangs up; here all of it is sent.
/// Both close the connection, so that the client knows that something is missing.
#[test]
fn a_body_shorter_than_its_length_is_cut() {
    let app = || {
        let short = async || {
            let pieces = stream::iter(["hello", "world"].map(Ok::<_, Infallible>));
            with(&[("content-length", "100")], Body::from_stream(pieces))
        };
        Router::new().route("/", get(short))
    };
    let servers = Servers::of(app);
    let (ours, theirs) = servers.apart(get_with("/", "") + LAST);
    assert_eq!(
        (ours.statuses(), ours.end),
        (vec![200], End::Closed),
        "{ours}"
    );
    assert!(ours.bytes.ends_with(b"\r\n\r\nhelloworld"), "{ours}");
    assert!(ours.has("content-length: 100\r\n"), "{ours}");
    assert!(ours.bytes.starts_with(&theirs.bytes), "{ours}\n{theirs}");
    assert_eq!(theirs.end, End::Closed, "{theirs}");
    let (ours, theirs) = servers.apart_http2(&Ask::get("/"));
    assert!(
        ours.error.is_some() && theirs.error.is_some(),
        "{ours}\n{theirs}"
    );
}

/// More than was announced isn't sent, as by hyper: the connection stays in order.
#[test]
fn a_body_longer_than_its_length_ends_there() {
    let app = || {
        let long = async || {
            let pieces = stream::iter(["hello", "world"].map(Ok::<_, Infallible>));
            with(&[("content-length", "7")], Body::from_stream(pieces))
        };
        Router::new().route("/", get(long))
    };
    let servers = Servers::of(app);
    let heard = servers.raw(get_with("/", "") + LAST, &[200, 404]);
    assert!(heard.has("\r\n\r\nhellowoHTTP/1.1 404"), "{heard}");
    let (ours, theirs) = servers.apart_http2(&Ask::get("/"));
    assert!(
        ours.error.is_some() && theirs.error.is_some(),
        "{ours}\n{theirs}"
    );
}

/// Two lengths that are one are said once (RFC 9110 §8.6). Chunks that nobody fills end at once
/// here; hyper ends the connection without an answer.
#[test]
fn framing_that_is_said_twice_or_for_nothing() {
    let app = || {
        const TWICE: &[(&str, &str)] = &[("content-length", "5"), ("content-length", "5")];
        const CHUNKS: &[(&str, &str)] = &[("transfer-encoding", "chunked")];
        Router::new()
            .route("/twice", get(async || with(TWICE, "hello".into())))
            .route("/empty", get(async || with(CHUNKS, Body::empty())))
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/twice"), 200);
    let (ours, theirs) = servers.apart(get_with("/empty", "") + LAST);
    assert_eq!(ours.statuses(), [200, 404], "{ours}");
    let chunks = "transfer-encoding: chunked\r\ndate: *\r\n\r\n0\r\n\r\nHTTP/1.1 404";
    assert!(ours.has(chunks), "{ours}");
    assert_eq!(
        (theirs.statuses(), theirs.end),
        (vec![], End::Closed),
        "{theirs}"
    );
    servers.http2(&Ask::get("/empty"), 200);
}

/// Over HTTP/2 a status beyond 599, which is invalid (RFC 9110 §15), is a 500 here, and sent as it
/// is by hyper.
#[test]
fn statuses_beyond_those_that_there_are() {
    let app = || {
        let status = async |Path(status): Path<u16>| {
            (
                StatusCode::from_u16(status).expect("three digits"),
                "body\n",
            )
        };
        Router::new().route("/{status}", get(status))
    };
    let servers = Servers::of(app);
    for status in [200, 299, 418, 451, 499, 599] {
        servers.both(&Ask::get(format!("/{status}")), status);
    }
    for status in [600, 999] {
        let ask = Ask::get(format!("/{status}"));
        servers.http1(&ask, status);
        let (ours, theirs) = servers.apart_http2(&ask);
        assert_eq!(
            (ours.status, theirs.status),
            (500, status),
            "{ours}\n{theirs}"
        );
        assert_eq!(ours.error, None, "{ours}");
    }
    // Interim ones are no answers. Hyper makes a 500 of them over HTTP/1.1, too, and then closes;
    // over HTTP/2 it sends them, and its clients wait for ever.
    for status in [100, 199] {
        let ask = Ask::get(format!("/{status}"));
        let (ours, theirs) = servers.apart([ask.pieces().concat(), LAST.into()].concat());
        assert_eq!(ours.statuses(), [500, 400], "{ours}");
        assert_eq!(
            (theirs.statuses(), theirs.end),
            (vec![500], End::Closed),
            "{theirs}"
        );
        for ours in servers.ours() {
            let answer = wire::http2(ours.address, &ask);
            assert_eq!((answer.status, &answer.error), (500, &None), "{answer}");
        }
    }
}

/// `te` is said in answers over HTTP/2 only as `trailers` (RFC 9113 §8.2.2). With another one hyper
/// gives up the whole answer; here the field alone is left out.
#[test]
fn te_in_answers() {
    let app = || {
        Router::new()
            .route(
                "/trailers",
                get(async || with(&[("te", "trailers")], "body".into())),
            )
            .route(
                "/gzip",
                get(async || with(&[("te", "gzip"), ("x", "y")], "body".into())),
            )
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/trailers"), 200);
    servers.http1(&Ask::get("/gzip"), 200);
    let (ours, theirs) = servers.apart_http2(&Ask::get("/gzip"));
    assert_eq!(
        (ours.status, &ours.body[..], &ours.error),
        (200, &b"body"[..], &None)
    );
    assert!(ours.fields.contains(&("x".into(), "y".into())), "{ours}");
    assert!(ours.fields.iter().all(|(name, _)| name != "te"), "{ours}");
    assert!(theirs.error.is_some(), "{theirs}");
}

#[test]
fn trailers_of_answers() {
    let app = || {
        const SUMS: &[(&str, &str)] = &[("x-sum", "1"), ("x-other", "2"), ("te", "x")];
        let named = async || with(&[("trailer", "X-Sum, te")], trailed("data", SUMS, false));
        let two = async || {
            let names = [("trailer", "x-other"), ("trailer", "x-sum")];
            with(&names, trailed("data", SUMS, false))
        };
        let unnamed = async || with(&[], trailed("data", &[("x-sum", "1")], false));
        let known = async || {
            let sum = &[("x-sum", "1")];
            with(&[("trailer", "x-sum")], trailed("data", sum, true))
        };
        let alone = async || {
            let sum = &[("x-sum", "1")];
            with(&[("trailer", "x-sum")], trailed("", sum, false))
        };
        Router::new()
            .route("/named", get(named))
            .route("/two", get(two))
            .route("/unnamed", get(unnamed))
            .route("/known", get(known))
            .route("/alone", get(alone))
    };
    let servers = Servers::of(app);
    for target in ["/named", "/two", "/unnamed", "/known", "/alone"] {
        for te in [None, Some("trailers"), Some("gzip, Trailers"), Some("gzip")] {
            let ask = Ask::get(target);
            let ask = match te {
                Some(te) => ask.field("te", te),
                None => ask,
            };
            let heard = servers.http1(&ask, 200);
            let sent = te.is_some_and(|te| te.to_ascii_lowercase().contains("trailers"));
            let sent = sent && ["/named", "/two", "/alone"].contains(&target);
            assert_eq!(heard.has("x-sum: 1\r\n"), sent, "{target} {te:?} {heard}");
        }
        servers.raw(
            format!("GET {target} HTTP/1.0\r\nte: trailers\r\n\r\n"),
            &[200],
        );
        let ask = Ask::get(target).field("te", "trailers");
        let answer = match target {
            // Among these is one that can't be said. Hyper gives up the answer because of it; here
            // the others are said.
            "/named" | "/two" => {
                let (ours, theirs) = servers.apart_http2(&ask);
                assert!(
                    theirs.error.is_some() && theirs.trailers.is_empty(),
                    "{theirs}"
                );
                assert!(
                    ours.trailers.contains(&("x-other".into(), "2".into())),
                    "{ours}"
                );
                ours
            }
            _ => servers.http2(&ask, 200),
        };
        let is_said = answer.trailers.contains(&("x-sum".into(), "1".into()));
        assert!(is_said && answer.error.is_none(), "{target} {answer}");
    }
}

/// An answer that is nothing but trailers, of a length that is known to be 0.
#[test]
fn trailers_behind_nothing() {
    let app = || {
        let sum = &[("x-sum", "1")];
        Router::new().route("/", get(async || with(&[], trailed("", sum, true))))
    };
    let servers = Servers::of(app);
    servers.http1(&Ask::get("/"), 200);
    let answer = servers.http2(&Ask::get("/"), 200);
    assert_eq!(answer.trailers, [("x-sum".into(), "1".into())], "{answer}");
}

/// 204 and 304 have no content (RFC 9110 §15.3.5, §15.4.5). Hyper sends it over HTTP/2 all the
/// same, and says the length of what there isn't in a 204, which no answer may (RFC 9110 §8.6).
#[test]
fn answers_that_have_no_body_get_none() {
    let app = || {
        let status = async |Path(status): Path<u16>| {
            (
                StatusCode::from_u16(status).expect("three digits"),
                "body\n",
            )
        };
        Router::new().route("/{status}", get(status))
    };
    let servers = Servers::of(app);
    servers.both(&Ask::get("/205"), 205);
    servers.http1(&Ask::get("/304"), 304);
    let close = Ask::get("/204")
        .field("connection", "close")
        .pieces()
        .concat();
    let (ours, theirs) = servers.apart(close);
    assert_eq!((ours.statuses(), theirs.statuses()), (vec![204], vec![204]));
    assert!(
        !ours.has("content-length") && theirs.has("content-length: 5"),
        "{ours}\n{theirs}"
    );
    assert!(ours.bytes.ends_with(b"\r\n\r\n") && theirs.bytes.ends_with(b"\r\n\r\n"));
    for status in [204, 304] {
        let (ours, theirs) = servers.apart_http2(&Ask::get(format!("/{status}")));
        assert_eq!((ours.status, theirs.status), (status, status));
        assert_eq!((ours.error, theirs.error), (None, None));
        assert_eq!(
            (&ours.body[..], &theirs.body[..]),
            (&b""[..], &b"body\n"[..])
        );
    }
}

fn expecting(body: &str) -> String {
    format!(
        "POST /whole HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\n\r\n{body}",
        body.len()
    )
}

/// Who asks whether to send a body, and sends it at once, needs no invitation (RFC 9110 §10.1.1).
#[test]
fn who_does_not_wait_is_not_invited() {
    let app = || Router::new().route("/whole", post(async |bytes: Bytes| bytes));
    let servers = Servers::of(app);
    let (ours, theirs) = servers.apart(expecting("hello") + LAST);
    let rest = theirs.bytes.strip_prefix(b"HTTP/1.1 100 Continue\r\n\r\n");
    assert_eq!(rest, Some(&ours.bytes[..]), "{ours}\n{theirs}");
    assert_eq!(ours.statuses(), [200, 404], "{ours}");
    // There is nothing to invite to.
    servers.raw(expecting("") + LAST, &[200, 404]);
}

/// Over HTTP/2, where the head doesn't say whether a body follows, an announced length of 0 is
/// known here to be the end; hyper waits for the frame that says so.
#[test]
fn what_is_known_of_a_body_before_it_is_read() {
    let app = || {
        let hint = async |request: Request| {
            let hint = http_body::Body::size_hint(request.body());
            let over = http_body::Body::is_end_stream(request.body());
            format!("{:?} {:?} {over}\n", hint.lower(), hint.upper())
        };
        Router::new().route("/hint", any(hint))
    };
    let servers = Servers::of(app);
    for ask in [
        Ask::get("/hint"),
        Ask::new("POST", "/hint"),
        Ask::post("/hint", "hello"),
        Ask::post("/hint", vec![b'x'; 50_000]),
        Ask::new("POST", "/hint").in_pieces(vec![b"hello".to_vec(), b"world".to_vec()]),
        Ask::new("POST", "/hint").in_pieces(vec![]),
    ] {
        let (ours, theirs) = servers.apart([ask.pieces().concat(), LAST.into()].concat());
        // Hyper ends a connection on which a body was not read.
        assert!(ours.bytes.starts_with(&theirs.bytes), "{ours}\n{theirs}");
        assert_eq!(ours.statuses(), [200, 404], "{ours}");
        servers.http2(&ask, 200);
    }
    let (ours, theirs) = servers.apart_http2(&Ask::post("/hint", ""));
    let (ours, theirs) = (ours.body.escape_ascii(), theirs.body.escape_ascii());
    assert_eq!(ours.to_string(), "0 Some(0) true\\n");
    assert_eq!(theirs.to_string(), "0 Some(0) false\\n");
    servers.http1(&Ask::post("/hint", ""), 200);
}

/// A body that panics when it's asked for its first piece.
struct Panics {
    length: Option<u64>,
}

impl http_body::Body for Panics {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        panic!("on purpose, in a body");
    }

    fn size_hint(&self) -> SizeHint {
        self.length
            .map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// The head is out by then, or as good as: the connection, or the stream, ends there. Hyper may
/// keep the head to itself.
#[test]
fn a_panic_in_a_body_cuts_the_answer() {
    let app = || {
        let known = async || Body::new(Panics { length: Some(5) });
        let unknown = async || Body::new(Panics { length: None });
        Router::new()
            .route("/known", get(known))
            .route("/unknown", get(unknown))
    };
    let servers = Servers::of(app);
    for target in ["/known", "/unknown"] {
        let (ours, theirs) = servers.apart(get_with(target, "") + LAST);
        assert_eq!(
            (ours.statuses(), ours.end),
            (vec![200], End::Closed),
            "{ours}"
        );
        assert!(ours.bytes.ends_with(b"\r\n\r\n"), "{ours}");
        assert!(ours.bytes.starts_with(&theirs.bytes), "{ours}\n{theirs}");
        let (ours, theirs) = servers.apart_http2(&Ask::get(target));
        assert_eq!((ours.status, theirs.status), (200, 200));
        assert!(
            ours.error.is_some() && theirs.error.is_some(),
            "{ours}\n{theirs}"
        );
    }
    for ours in servers.into_ours() {
        assert_eq!(ours.end().counts.panics, 4);
    }
}
