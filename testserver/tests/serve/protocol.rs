//! What HTTP/1 asks of a server.

use std::net::Shutdown;
use std::time::Duration;

use measure::time::Time;

use crate::broken_requests;
use crate::client::{Client, Server, config, each_engine, get};

#[test]
fn pipelined_answers_keep_the_order_of_their_requests() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        let paths = [
            "/delay/60ms",
            "/",
            "/delay/1ms",
            "/json",
            "/bytes/100K",
            "/delay/30ms",
            "/slow/20us",
            "/health",
            "/none",
            "/delay/0ms",
            "/chunked/40K",
            "/status/500",
        ];
        let expected: Vec<_> = paths
            .iter()
            .map(|path| {
                let alone = server.ask(&get(path));
                (alone.status, alone.body)
            })
            .collect();
        let started = Time::now();
        client.send(paths.map(get).concat());
        for ((status, body), path) in expected.iter().zip(paths) {
            let answer = client.answer();
            assert_eq!(answer.status, *status, "{path}");
            assert!(answer.body == *body, "{path}: {}", answer.text());
        }
        let took = Time::now() - started;
        assert!(took >= Duration::from_millis(60), "{took:?}");
    });
}

#[test]
fn requests_are_served_while_earlier_answers_are_waited_for() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        let started = Time::now();
        client.send(get("/delay/100ms").repeat(50));
        for _ in 0..50 {
            assert_eq!(client.answer().text(), "late\n");
        }
        let took = Time::now() - started;
        assert!(
            took < Duration::from_millis(2500),
            "one after the other takes 5 s: {took:?}"
        );
    });
}

#[test]
fn many_pipelined_requests_are_all_answered() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        let batch = (get("/") + &get("/json")).repeat(500);
        for _ in 0..5 {
            client.send(&batch);
            for _ in 0..500 {
                assert_eq!(client.answer().text(), "Hello, World!");
                assert_eq!(client.answer().text(), r#"{"status":"ok"}"#);
            }
        }
        assert_eq!(server.end().counts.requests, 5000);
    });
}

#[test]
fn a_client_that_reads_late_stops_being_read_and_loses_nothing() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        let requests = 6000;
        let mut writer = client.stream.try_clone().expect("a descriptor");
        let sender = std::thread::spawn(move || {
            let batch = get("/bytes/10000").repeat(requests);
            std::io::Write::write_all(&mut writer, batch.as_bytes()).expect("read at last");
        });
        // 60 MB of answers are more than socket buffers take, so requests pile up in between.
        for _ in 0..requests {
            assert_eq!(client.answer().body.len(), 10_000);
        }
        sender.join().expect("everything was sent");
    });
}

#[test]
fn a_request_may_arrive_byte_by_byte() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        let request = "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 3\r\n\r\nabc";
        for byte in (get("/json") + request).bytes() {
            client.send([byte]);
        }
        assert_eq!(client.answer().text(), r#"{"status":"ok"}"#);
        assert_eq!(client.answer().text(), "abc");
    });
}

#[test]
fn connections_are_kept_as_the_version_and_the_client_say() {
    let table = [
        ("GET / HTTP/1.1\r\nHost: test\r\n\r\n", None),
        (
            "GET / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
            Some("close"),
        ),
        ("GET / HTTP/1.0\r\n\r\n", Some("close")),
        (
            "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            Some("keep-alive"),
        ),
        (
            "GET / HTTP/1.0\r\nConnection: Keep-Alive, x\r\n\r\n",
            Some("keep-alive"),
        ),
        (
            "GET /delay/1ms HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
            Some("close"),
        ),
        (
            "GET /slow/0 HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
            Some("close"),
        ),
        (
            "GET /bytes/1M HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n",
            Some("close"),
        ),
    ];
    each_engine(|engine| {
        let server = Server::with(engine);
        for (request, connection) in table {
            let mut client = server.connect();
            // What follows a last request is not answered.
            client.send(request.repeat(2));
            let answer = client.answer();
            assert_eq!(
                (answer.status, answer.field("Connection")),
                (200, connection),
                "{request}"
            );
            if connection == Some("close") {
                assert!(client.is_over(), "{request}");
            } else {
                assert_eq!(client.answer().status, 200, "{request}");
            }
        }
    });
}

#[test]
fn http_1_0_gets_a_body_without_chunks_that_ends_with_the_connection() {
    each_engine(|engine| {
        let server = Server::with(engine);
        for length in [100, 100_000] {
            let mut client = server.connect();
            client.send(format!(
                "GET /chunked/{length} HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            ));
            let answer = client.answer();
            assert_eq!(answer.field("Transfer-Encoding"), None);
            assert_eq!(answer.body.len(), length);
            assert!(answer.closes());
        }
    });
}

#[test]
fn a_client_that_sends_no_more_still_gets_its_answers() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        client.send(get("/delay/20ms") + &get("/bytes/1M") + &get("/"));
        client
            .stream
            .shutdown(Shutdown::Write)
            .expect("half a close");
        assert_eq!(client.answer().text(), "late\n");
        assert_eq!(client.answer().body.len(), 1 << 20);
        assert_eq!(client.answer().text(), "Hello, World!");
        assert!(client.is_over());
    });
}

#[test]
fn expect_100_continue_is_told_to_go_on_or_refused() {
    let head = |path: &str, length: usize| {
        format!(
            "POST {path} HTTP/1.1\r\nHost: test\r\nExpect: 100-continue\r\n\
             Content-Length: {length}\r\n\r\n"
        )
    };
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        client.send(head("/echo", 5));
        assert_eq!(client.answer().status, 100);
        client.send("hello");
        assert_eq!(client.answer().text(), "hello");
        // Behind an answer that is waited for, the interim answer waits too.
        client.send(get("/delay/20ms") + &head("/echo", 2));
        assert_eq!(client.answer().text(), "late\n");
        assert_eq!(client.answer().status, 100);
        client.send("ok");
        assert_eq!(client.answer().text(), "ok");

        for (path, length, status) in [("/none", 5, 404), ("/", 5, 405), ("/echo", 2 << 20, 413)] {
            let mut client = server.connect();
            client.send(head(path, length));
            let answer = client.answer();
            assert_eq!(answer.status, status, "{path}");
            assert!(answer.closes() && client.is_over(), "{path}");
        }
        // A body that nobody asked for is read and thrown away.
        let mut client = server.connect();
        client.send("GET /json HTTP/1.1\r\nHost: test\r\nContent-Length: 6\r\n\r\nunused");
        client.send(get("/"));
        assert_eq!(client.answer().text(), r#"{"status":"ok"}"#);
        assert_eq!(client.answer().text(), "Hello, World!");
    });
}

#[test]
fn what_is_not_http_or_ambiguous_is_refused_and_the_connection_closed() {
    let table: [(&str, u16); 16] = [
        ("NONSENSE\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n", 400),
        ("GET / HTTP/1.1\nHost: a\n\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\rb\r\n\r\n", 400),
        (
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
            400,
        ),
        (
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
            400,
        ),
        (
            "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\
             Transfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, x\r\n\r\n",
            400,
        ),
        (
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
            400,
        ),
        (
            "POST /echo HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            400,
        ),
        (
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n",
            501,
        ),
        ("GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
    ];
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut clients: Vec<_> = table.iter().map(|_| server.connect()).collect();
        for (client, (request, _)) in clients.iter_mut().zip(table) {
            client.send(get("/") + request + &get("/"));
        }
        for (mut client, (request, status)) in clients.into_iter().zip(table) {
            assert_eq!(
                client.answer().status,
                200,
                "what came before is answered: {request:?}"
            );
            let answer = client.answer();
            assert_eq!(answer.status, status, "{request:?}");
            assert!(
                answer.closes() && !answer.body.is_empty(),
                "{request:?}: {answer:?}"
            );
            assert!(client.is_over(), "{request:?}");
        }
        let counts = server.end().counts;
        assert_eq!(counts.rejections.bad_request, 14);
        assert_eq!(counts.rejections.unsupported, 2);
    });
}

#[test]
fn every_broken_head_is_refused_and_nothing_behind_it_is_read() {
    let rows = broken_requests::heads();
    each_engine(|engine| {
        let server = Server::with(engine);
        for (request, verdict) in &rows {
            let mut client = server.connect();
            client.send(get("/") + request + &get("/"));
            assert_eq!(client.answer().status, 200, "{request:?}");
            if broken_requests::is_foreign(verdict) {
                assert!(client.is_over(), "{request:?}");
                continue;
            }
            let answer = client.answer();
            assert!(
                verdict.starts_with(&answer.status.to_string()),
                "{request:?}, {verdict}: {answer:?}"
            );
            assert!(answer.closes() && client.is_over(), "{request:?}");
        }
        assert_eq!(server.end().counts.requests, rows.len() as u64);
    });
}

#[test]
fn limits_are_answered_with_their_status() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.limits.head_bytes = 2000;
        config.limits.body_bytes = 1000;
        let server = Server::start(&config);
        let field = format!("X: {}\r\n", "x".repeat(90));
        let long = |fields: usize| {
            format!(
                "GET / HTTP/1.1\r\nHost: test\r\n{}\r\n",
                field.repeat(fields)
            )
        };
        assert_eq!(server.ask(&long(19)).status, 200);
        let body = |length: usize| {
            format!("POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: {length}\r\n\r\n")
                + &"b".repeat(length)
        };
        assert_eq!(server.ask(&body(1000)).status, 200);
        let chunk = format!("1f4\r\n{}\r\n", "c".repeat(500));
        let chunked = "POST /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
        let target = format!("GET /{} HTTP/1.1\r\nHost: test\r\n\r\n", "t".repeat(2000));
        let too_long = [
            (long(21), 431),
            (long(500), 431),
            (target, 414),
            (body(1001), 413),
            (body(300_000), 413),
            (chunked.to_owned() + &chunk.repeat(3), 413),
        ];
        for (request, status) in &too_long {
            let mut client = server.connect();
            client.send(request);
            let answer = client.answer();
            assert_eq!(answer.status, *status, "{}", &request[..60]);
            assert!(answer.closes() && client.is_over(), "{}", &request[..60]);
        }
        let rejections = server.end().counts.rejections;
        assert_eq!(rejections.head_too_long, 2);
        assert_eq!(rejections.target_too_long, 1);
        assert_eq!(rejections.body_too_long, 3);
    });
}

#[test]
fn a_head_or_a_body_that_comes_too_slowly_is_answered_with_408() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.timeouts.head = Duration::from_millis(80);
        config.timeouts.idle = Duration::from_millis(400);
        let server = Server::start(&config);
        let body = "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 9\r\n\r\nhalf";
        for (request, at_least) in [("GET / HT", 80), (body, 400)] {
            let mut client: Client<_> = server.connect();
            let started = Time::now();
            client.send(get("/") + request);
            assert_eq!(client.answer().status, 200);
            let answer = client.answer();
            assert_eq!(answer.status, 408, "{request:?}");
            assert!(answer.closes() && client.is_over());
            let took = Time::now() - started;
            assert!(
                took >= Duration::from_millis(at_least),
                "{request:?}: {took:?}"
            );
        }
        assert_eq!(server.end().counts.rejections.timeout, 2);
    });
}

#[test]
fn a_connection_that_idles_is_closed_and_one_that_is_used_is_not() {
    each_engine(|engine| {
        let mut config = config(engine);
        config.timeouts.idle = Duration::from_millis(300);
        let server = Server::start(&config);
        let (mut idle, mut used) = (server.connect(), server.connect());
        for _ in 0..6 {
            used.send(get("/delay/100ms"));
            assert_eq!(used.answer().status, 200);
        }
        assert!(idle.is_over());
        used.send(get("/"));
        assert_eq!(used.answer().status, 200);
        assert_eq!(server.end().counts.idle, 1);
    });
}
