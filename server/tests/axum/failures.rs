//! Handlers that panic, never finish, or lose their clients, on this server alone: nobody else
//! notices, and nothing is left behind. Each with either engine, over HTTP/1.1 and HTTP/2.

use std::future;
use std::io::{self, Write};
use std::net::Shutdown;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderValue, Request};
use axum::response::Redirect;
use axum::routing::{any, get, post};
use futures_util::{StreamExt, stream};
use h2::Reason;
use http_body_util::BodyExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::handlers::{Bomb, Elsewhere, Tells, piece};
use crate::wire::{self, Ask, connect, dial, within};
use crate::{LAST, Ours, Servers};

/// Two requests on one connection of each protocol: the first has this status, and the second is
/// answered all the same.
fn goes_on(ours: &Ours, ask: &Ask, status: u16) {
    let pieces = [ask.pieces().concat(), LAST.into()];
    let heard = wire::http1(ours.address, &pieces);
    assert_eq!(
        heard.statuses(),
        [status, 404],
        "{ask:?} {} {heard}",
        ours.engine
    );
    let answers = wire::http2_all(ours.address, &[ask.clone(), Ask::get("/the-end")]);
    let statuses: Vec<_> = answers.iter().map(|answer| answer.status).collect();
    assert_eq!(
        statuses,
        [status, 404],
        "{ask:?} {} {}",
        ours.engine,
        answers[0]
    );
}

#[test]
fn a_panic_before_the_answer_is_a_500() {
    let app = || {
        let later = async || -> () {
            Elsewhere::default().await;
            panic!("on purpose, later");
        };
        let reading = async |mut body: Body| -> () {
            let _ = body.frame().await;
            panic!("on purpose, while reading");
        };
        Router::new()
            .route("/now", any(async || -> () { panic!("on purpose, now") }))
            .route("/later", any(later))
            .route("/reading", post(reading))
            .route("/bomb", any(async || drop(Bomb)))
    };
    for ours in Ours::each(app) {
        for target in ["/now", "/later", "/bomb"] {
            goes_on(&ours, &Ask::get(target), 500);
            goes_on(&ours, &Ask::post(target, "body"), 500);
            goes_on(&ours, &Ask::post(target, piece(0, 100_000)), 500);
        }
        goes_on(&ours, &Ask::post("/reading", piece(0, 100_000)), 500);
        assert_eq!(ours.end().counts.panics, 20);
    }
}

/// What handlers tell a test.
#[derive(Clone, Copy, Debug, PartialEq)]
enum News {
    Began,
    Dropped,
    Failed,
    Complete,
}

/// Where they do.
type Told = UnboundedReceiver<News>;

/// How a client leaves.
#[derive(Clone, Copy, Debug)]
enum Leaving {
    /// It closes its connection.
    Http1,
    /// It sends no more.
    Http1Half,
    /// It gives its request up.
    Http2Reset,
    /// It closes its connection.
    Http2,
}

/// Sends a request, with part of the body that it announces, leaves when the handler has told that
/// it began, and waits for what it tells then.
fn leave(ours: &Ours, leaving: Leaving, target: &str, told: &mut Told, expected: &[News]) {
    let part = piece(0, 40_000);
    let mut expect = async |expected: &[News]| {
        for news in expected {
            assert_eq!(told.recv().await.as_ref(), Some(news), "{leaving:?}");
        }
    };
    if matches!(leaving, Leaving::Http1 | Leaving::Http1Half) {
        let mut stream = connect(ours.address);
        let head = format!("POST {target} HTTP/1.1\r\nhost: a\r\ncontent-length: 100000\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it reads");
        stream.write_all(&part).expect("it reads");
        within(expect(&[News::Began]));
        let how = match leaving {
            Leaving::Http1 => Shutdown::Both,
            _ => Shutdown::Write,
        };
        stream.shutdown(how).expect("it's connected");
        return within(expect(expected));
    }
    within(async {
        let (mut client, connection) = dial(ours.address).await;
        let connection = tokio::spawn(connection);
        let uri = format!("http://a{target}");
        let request = Request::post(uri).body(()).expect("a request");
        let (_response, mut sending) = client.send_request(request, false).expect("it's sent");
        sending.send_data(part, false).expect("it's sent");
        expect(&[News::Began]).await;
        match leaving {
            Leaving::Http2Reset => sending.send_reset(Reason::CANCEL),
            _ => connection.abort(),
        }
        expect(expected).await;
    });
}

#[test]
fn a_handler_that_never_completes_is_dropped_with_its_client() {
    let (tell, mut news) = unbounded_channel();
    let app = move || {
        let tell = tell.clone();
        let never = move || {
            let guard = Tells(tell.clone(), News::Dropped);
            let tell = tell.clone();
            async move {
                let _guard = guard;
                let _ = tell.send(News::Began);
                future::pending::<()>().await;
            }
        };
        Router::new().route("/never", any(never))
    };
    for ours in Ours::each(app) {
        for leaving in [Leaving::Http1, Leaving::Http2, Leaving::Http2Reset] {
            leave(&ours, leaving, "/never", &mut news, &[News::Dropped]);
            goes_on(&ours, &Ask::get("/none"), 404);
        }
        assert_eq!(ours.end().counts.panics, 0);
    }
}

#[test]
fn a_panic_while_a_handler_is_dropped_ends_nobody_else() {
    let (tell, mut news) = unbounded_channel();
    let app = move || {
        let tell = tell.clone();
        let bomb = move || {
            let guard = (Bomb, Tells(tell.clone(), News::Dropped));
            let tell = tell.clone();
            async move {
                let _guard = guard;
                let _ = tell.send(News::Began);
                future::pending::<()>().await;
            }
        };
        Router::new().route("/bomb", any(bomb))
    };
    for ours in Ours::each(app) {
        for leaving in [Leaving::Http1, Leaving::Http2, Leaving::Http2Reset] {
            leave(&ours, leaving, "/bomb", &mut news, &[News::Dropped]);
            goes_on(&ours, &Ask::get("/none"), 404);
        }
        assert_eq!(ours.end().counts.panics, 3);
    }
}

#[test]
fn a_handler_learns_that_its_client_left_in_the_middle_of_an_upload() {
    let (tell, mut news) = unbounded_channel();
    let app = move || {
        let tell = tell.clone();
        let upload = move |mut body: Body| {
            let tell = tell.clone();
            async move {
                let _guard = Tells(tell.clone(), News::Dropped);
                let _ = body.frame().await;
                let _ = tell.send(News::Began);
                while let Some(frame) = body.frame().await {
                    if frame.is_err() {
                        let _ = tell.send(News::Failed);
                    }
                }
                let _ = tell.send(News::Complete);
            }
        };
        Router::new().route("/upload", post(upload))
    };
    for ours in Ours::each(app) {
        let all = [
            Leaving::Http1,
            Leaving::Http1Half,
            Leaving::Http2,
            Leaving::Http2Reset,
        ];
        for leaving in all {
            let expected = [News::Failed, News::Complete, News::Dropped];
            leave(&ours, leaving, "/upload", &mut news, &expected);
            goes_on(&ours, &Ask::get("/none"), 404);
        }
    }
}

#[test]
fn a_body_dropped_half_read_doesnt_hold_up_its_connection() {
    let app = || {
        let half = async |mut body: Body| {
            let frame = body.frame().await;
            drop(body);
            format!("{}\n", frame.is_some_and(|frame| frame.is_ok()))
        };
        let late = async |mut body: Body| {
            let _ = body.frame().await;
            drop(body);
            Elsewhere::default().await;
            "late\n"
        };
        let pieces = async |mut body: Body| {
            let _ = body.frame().await;
            let pieces = stream::iter(0..3).then(async |at| {
                Elsewhere::default().await;
                io::Result::Ok(piece(at, 10))
            });
            Body::from_stream(pieces)
        };
        Router::new()
            .route("/half", post(half))
            .route("/late", post(late))
            .route("/pieces", post(pieces))
    };
    for ours in Ours::each(app) {
        for target in ["/half", "/late", "/pieces"] {
            for count in [10, 20_000, 1_000_000] {
                goes_on(&ours, &Ask::post(target, piece(0, count)), 200);
                let pieces = vec![piece(0, count / 5).to_vec(); 5];
                goes_on(&ours, &Ask::new("POST", target).in_pieces(pieces), 200);
            }
        }
    }
}

#[test]
fn a_line_end_in_a_field_cannot_be_said() {
    for value in ["a\r\nx: b", "a\nb", "a\rb", "a\0b"] {
        assert!(HeaderValue::from_str(value).is_err(), "{value:?}");
        assert!(
            HeaderValue::from_bytes(value.as_bytes()).is_err(),
            "{value:?}"
        );
    }
    let app = || {
        let redirect = async || Redirect::to("/a\r\nset-cookie: b");
        Router::new()
            .route("/field", get(async || [("x", "a\r\nset-cookie: b")]))
            .route("/name", get(async || [("x\r\ny", "b")]))
            .route("/redirect", get(redirect))
    };
    let servers = Servers::of(app);
    for target in ["/field", "/name", "/redirect"] {
        let heard = servers.http1(&Ask::get(target), 500);
        assert!(!heard.has("set-cookie: b\r\n"), "{heard}");
        servers.http2(&Ask::get(target), 500);
    }
}
