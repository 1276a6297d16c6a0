//! Upstreams that misbehave, and what clients see of that.

use std::net::TcpListener;
use std::sync::Mutex;

use super::frames::{END_HEADERS, END_STREAM, GOAWAY, HEADERS, Peer, RST_STREAM, block};
use super::master::until;
use super::support::{Do, Gateway, Origin, in_front_of, nobody, on_each_engine};

const POST: &str = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";

/// What an upstream says, and the status that the client gets for it.
const ANSWERS: &[(&str, u16)] = &[
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
         3\r\nabc\r\n0\r\n\r\n",
        502,
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        502,
    ),
    ("HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", 502),
    ("HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nabc", 502),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        502,
    ),
    ("HTTP/1.1 200 OK\r\nX : y\r\nContent-Length: 0\r\n\r\n", 502),
    (
        "HTTP/1.1 200 OK\r\nX: y\r\n z\r\nContent-Length: 0\r\n\r\n",
        502,
    ),
    ("HTTP/1.1 200 OK\nContent-Length: 0\n\n", 502),
    ("HTTP/1.1 20 OK\r\n\r\n", 502),
    ("HTTP/2 200 OK\r\n\r\n", 502),
    ("SSH-2.0-OpenSSH_9.6\r\n", 502),
    ("HTTP/1.1 200 OK\r\nContent-Le", 502),
    ("", 502),
    ("HTTP/1.1 101 Switching\r\nUpgrade: x\r\n\r\n", 502),
];

#[test]
fn an_answer_that_is_none_is_a_502() {
    for (said, expected) in ANSWERS {
        let origin = Origin::new(|_| Do::SayAndClose(said.as_bytes().to_vec()));
        let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
        let answer = gateway.ask(POST);
        assert_eq!(answer.status, *expected, "{said:?}: {answer:?}");
        assert_eq!(origin.seen().len(), 1, "{said:?}: it isn't sent twice");
    }
}

#[test]
fn what_follows_an_answer_is_not_taken_for_the_next() {
    let origin = Origin::new(|seen| match seen.line() {
        "GET /first HTTP/1.1" => Do::Say(
            b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\
              Content-Length: 8\r\n\r\nsmuggled"
                .to_vec(),
        ),
        _ => Do::answer("second"),
    });
    let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
    let mut client = gateway.connect();
    for _ in 0..3 {
        client.write(b"GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.answer(false).text(), "ok");
        client.write(b"GET /second HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(client.answer(false).text(), "second");
    }
}

#[test]
fn an_answer_that_stops_in_the_middle_stops_for_the_client_too() {
    on_each_engine(|engine| {
        let broken = [
            "Content-Length: 10\r\n\r\nabc",
            "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n",
        ];
        for rest in broken {
            let said = format!("HTTP/1.1 200 OK\r\n{rest}").into_bytes();
            let origin = Origin::new(move |_| Do::SayAndClose(said.clone()));
            let gateway = Gateway::on(engine, &in_front_of(&[origin.address], ""));
            let answer = gateway.get("/");
            assert_eq!((answer.status, &*answer.text()), (200, "abc"));
            assert!(!answer.whole, "{rest:?} on {engine}");
        }
    });
}

#[test]
fn an_upstream_that_says_nothing_is_a_504_and_one_that_falls_silent_is_cut() {
    on_each_engine(|engine| {
        let origin = Origin::new(|seen| {
            Do::SayAndHang(match seen.line() {
                "GET /half HTTP/1.1" => b"HTTP/1.1 200 OK\r\nContent-".to_vec(),
                "GET /piece HTTP/1.1" => {
                    b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc".to_vec()
                }
                _ => Vec::new(),
            })
        });
        let more = "timeouts = { head = \"200ms\", piece = \"200ms\" }";
        let gateway = Gateway::on(engine, &in_front_of(&[origin.address], more));
        assert_eq!(gateway.get("/never").status, 504);
        assert_eq!(gateway.get("/half").status, 504);
        assert_eq!(gateway.ask(POST).status, 504);
        let answer = gateway.get("/piece");
        assert_eq!(
            (answer.status, &*answer.text(), answer.whole),
            (200, "abc", false)
        );
    });
}

#[test]
fn a_server_that_is_away_is_a_502_or_another_one_is_asked() {
    on_each_engine(|engine| {
        let gateway = Gateway::on(engine, &in_front_of(&[nobody()], ""));
        let said = gateway.get("/");
        assert_eq!(said.status, 502);
        assert!(
            said.text().contains("nothing is listening there"),
            "{}",
            said.text()
        );
        let origin = Origin::new(|seen| Do::answer(&String::from_utf8_lossy(&seen.body)));
        let gateway = Gateway::on(engine, &in_front_of(&[nobody(), origin.address], ""));
        for _ in 0..6 {
            assert_eq!(gateway.get("/").status, 200);
            // Nothing of it was sent, so that any method can be sent again, body and all.
            let said = gateway.ask(POST);
            assert_eq!((said.status, &*said.text()), (200, "body"));
        }
        assert_eq!(origin.seen().len(), 12);
        let none = "retry = { attempts = 0 }\noutlier = { errors = 0 }";
        let gateway = Gateway::on(engine, &in_front_of(&[nobody(), origin.address], none));
        let mut statuses: Vec<u16> = (0..4).map(|_| gateway.get("/").status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 200, 502, 502]);
    });
}

#[test]
fn what_may_have_been_done_is_not_done_twice() {
    let dying = Origin::new(|_| Do::SayAndClose(Vec::new()));
    let well = Origin::named("well");
    let more = "outlier = { errors = 0 }";
    let gateway = Gateway::start(&in_front_of(&[dying.address, well.address], more));
    // A GET may be repeated, wherever it goes first.
    for _ in 0..4 {
        assert_eq!(gateway.get("/").text(), "well");
    }
    assert_eq!((dying.seen().len(), well.seen().len()), (2, 4));
    let mut statuses: Vec<u16> = (0..4).map(|_| gateway.ask(POST).status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 502, 502]);
    assert_eq!((dying.seen().len(), well.seen().len()), (4, 6));
}

#[test]
fn statuses_that_the_configuration_names_are_asked_for_again() {
    let busy = Origin::new(|_| Do::status(503));
    let well = Origin::named("well");
    let servers = [busy.address, well.address];
    let more = "retry = { statuses = [503] }\noutlier = { errors = 0 }";
    let gateway = Gateway::start(&in_front_of(&servers, more));
    for _ in 0..4 {
        assert_eq!(gateway.get("/").text(), "well");
    }
    assert_eq!(busy.seen().len(), 2);
    let mut statuses: Vec<u16> = (0..4).map(|_| gateway.ask(POST).status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 503, 503], "a POST isn't");
    let gateway = Gateway::start(&in_front_of(&servers, "outlier = { errors = 0 }"));
    let mut statuses: Vec<u16> = (0..4).map(|_| gateway.get("/").status).collect();
    statuses.sort_unstable();
    assert_eq!(
        statuses,
        [200, 200, 503, 503],
        "nothing is if nobody says so"
    );
}

#[test]
fn a_server_that_fails_again_and_again_is_left_out() {
    let failing = Origin::new(|_| Do::status(500));
    let well = Origin::named("well");
    let servers = [failing.address, well.address];
    let more = "outlier = { errors = 5, ejection = \"1h\" }";
    let gateway = Gateway::start(&in_front_of(&servers, more));
    let failed = (0..40).filter(|_| gateway.get("/").status == 500).count();
    assert_eq!((failed, failing.seen().len()), (5, 5));
    // If too few were left, all are used: one of three is below the threshold.
    let also = Origin::new(|_| Do::status(500));
    let servers = [failing.address, also.address, well.address];
    let gateway = Gateway::start(&in_front_of(&servers, more));
    let failed = (0..60).filter(|_| gateway.get("/").status == 500).count();
    assert!(failed > 10, "{failed}");
    // The only one is never left out.
    let gateway = Gateway::start(&in_front_of(&[failing.address], more));
    assert!((0..20).all(|_| gateway.get("/").status == 500));
}

#[test]
fn a_server_whose_checks_fail_gets_nothing_until_they_succeed() {
    static WELL: Mutex<bool> = Mutex::new(true);
    let checked = Origin::new(|seen| match seen.line() {
        "GET /health HTTP/1.1" if !*WELL.lock().expect("no panic") => Do::status(503),
        _ => Do::answer("checked"),
    });
    let other = Origin::named("other");
    let more = "health = { path = \"/health\", interval = \"20ms\", unhealthy = 2 }";
    let gateway = Gateway::start(&in_front_of(&[checked.address, other.address], more));
    let goes = |name: &str| (0..8).filter(|_| gateway.get("/").text() == name).count();
    assert_eq!(goes("checked"), 4);
    *WELL.lock().expect("no panic") = false;
    // Two more checks at least, whenever they come.
    let before = checked.seen().len();
    checked.wait_for(before + 4);
    assert_eq!(goes("checked"), 0);
    *WELL.lock().expect("no panic") = true;
    let before = checked.seen().len();
    checked.wait_for(before + 4);
    assert_eq!(goes("checked"), 4);
}

#[test]
fn a_mirror_gets_a_copy_and_its_answer_nobody() {
    on_each_engine(|engine| {
        let origin = Origin::new(|seen| Do::answer(&String::from_utf8_lossy(&seen.body)));
        let shadow = Origin::new(|_| Do::status(500));
        let config = format!(
            "[upstream.a]\nservers = [\"{}\"]\n[upstream.shadow]\nservers = [\"{}\"]\n\
             [upstream.away]\nservers = [\"{}\"]\n\
             [[route]]\nupstream = \"a\"\nmirror = {{ upstream = \"shadow\" }}\n\
             [[route]]\nprefix = \"/away\"\nupstream = \"a\"\nmirror = {{ upstream = \"away\" }}\n\
             [[route]]\nprefix = \"/none\"\nupstream = \"a\"\n\
             mirror = {{ upstream = \"shadow\", share = \"0%\" }}\n",
            origin.address,
            shadow.address,
            nobody(),
        );
        let gateway = Gateway::on(engine, &config);
        assert_eq!(gateway.get("/x").status, 200);
        assert_eq!(gateway.ask(POST).text(), "body");
        let mut seen = shadow.wait_for(2);
        seen.sort_by_key(|one| one.line().to_owned());
        assert_eq!(
            (seen[0].line(), seen[1].line()),
            ("GET /x HTTP/1.1", "POST / HTTP/1.1")
        );
        assert_eq!(seen[1].body, b"body");
        assert_eq!(gateway.get("/away").status, 200);
        assert_eq!(gateway.get("/none").status, 200);
        assert_eq!((origin.seen().len(), shadow.seen().len()), (4, 2));
    });
}

#[test]
fn a_mirror_that_falls_silent_gets_copies_again() {
    on_each_engine(|engine| {
        let origin = Origin::named("ok");
        let silent = b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc";
        let shadow = Origin::new(move |_| Do::SayAndHang(silent.to_vec()));
        let config = format!(
            "[upstream.a]\nservers = [\"{}\"]\n[upstream.shadow]\nservers = [\"{}\"]\n\
             timeouts = {{ piece = \"100ms\" }}\n\
             [[route]]\nupstream = \"a\"\nmirror = {{ upstream = \"shadow\", limit = 1 }}\n",
            origin.address, shadow.address,
        );
        let gateway = Gateway::on(engine, &config);
        for copies in 1..=3 {
            until("there is room for a copy", || {
                let said = gateway.ask(POST);
                assert_eq!(said.text(), "ok");
                shadow.seen().len() >= copies
            });
        }
    });
}

#[test]
fn canaries_get_their_share() {
    let (old, new) = (Origin::named("old"), Origin::named("new"));
    let gateway = Gateway::start(&format!(
        "[upstream.old]\nservers = [\"{}\"]\n[upstream.new]\nservers = [\"{}\"]\n\
         [[route]]\nsplit = [{{ upstream = \"old\", weight = 3 }}, \
         {{ upstream = \"new\", weight = 1 }}, {{ upstream = \"new\", weight = 0 }}]\n\
         [[route]]\nheader = {{ x-colour = \"blue\" }}\nupstream = \"new\"\n",
        old.address, new.address
    ));
    let count = (0..200)
        .filter(|_| gateway.get("/").text() == "new")
        .count();
    // 50 are expected; beyond six standard deviations it's no chance.
    assert!((13..=87).contains(&count), "{count}");
    let blue = "GET / HTTP/1.1\r\nHost: a\r\nX-Colour: blue\r\n\r\n";
    assert!((0..20).all(|_| gateway.ask(blue).text() == "new"));
}

/// An upstream of HTTP/2 that answers the first stream of each connection, and does with the second
/// what `then` does.
fn of_http2(listener: TcpListener, connections: usize, then: fn(&mut Peer, u32)) {
    let mut asked = 0;
    for _ in 0..connections {
        let (stream, _) = listener.accept().expect("the gateway connects");
        let mut peer = Peer::accepted(stream);
        while let Some(frame) = peer.next() {
            if frame.kind != HEADERS {
                continue;
            }
            asked += 1;
            if asked == 2 {
                then(&mut peer, frame.stream);
                break;
            }
            let status = block(&[(":status", "204")]);
            peer.send(HEADERS, END_HEADERS | END_STREAM, frame.stream, &status);
        }
    }
}

#[test]
fn a_request_after_goaway_goes_over_another_connection_and_a_reset_is_a_502() {
    const CANCEL: u32 = 8;
    /// What is done about the second request, its method, and what becomes of it.
    type Row = (fn(&mut Peer, u32), &'static str, u16);
    let rows: [Row; 3] = [
        (
            |peer, _| peer.send(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]),
            "GET",
            204,
        ),
        (
            |peer, _| peer.send(GOAWAY, 0, 0, &[0, 0, 0, 1, 0, 0, 0, 0]),
            "POST",
            204,
        ),
        (
            |peer, id| peer.send(RST_STREAM, 0, id, &CANCEL.to_be_bytes()),
            "POST",
            502,
        ),
    ];
    for (then, method, expected) in rows {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let gateway = Gateway::start(&in_front_of(&[address], "protocol = \"h2c\""));
        let connections = if expected == 204 { 2 } else { 1 };
        let upstream = std::thread::spawn(move || of_http2(listener, connections, then));
        let ask = || {
            gateway
                .ask(&format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"))
                .status
        };
        assert_eq!((ask(), ask()), (204, expected), "{method}");
        drop(gateway);
        upstream.join().expect("no panic");
    }
}
