//! What is served where.

use measure::time::Time;
use testserver::Config;

use crate::client::{PATIENCE, Server, config, each_engine, get, pattern};

#[test]
fn each_route_answers_as_it_says() {
    let text = Some("text/plain");
    let octets = Some("application/octet-stream");
    let table: [(&str, u16, Option<&str>, Vec<u8>); 19] = [
        ("/", 200, text, b"Hello, World!".into()),
        ("/?name=value&x", 200, text, b"Hello, World!".into()),
        (
            "http://other:80/json?q",
            200,
            Some("application/json"),
            br#"{"status":"ok"}"#.into(),
        ),
        (
            "/json",
            200,
            Some("application/json"),
            br#"{"status":"ok"}"#.into(),
        ),
        ("/health", 200, text, b"ok\n".into()),
        ("/bytes/0", 200, octets, pattern(0)),
        ("/bytes/1234", 200, octets, pattern(1234)),
        ("/bytes/64K?x=1", 200, octets, pattern(64 * 1024)),
        ("/chunked/0", 200, octets, pattern(0)),
        ("/chunked/2500", 200, octets, pattern(2500)),
        ("/chunked/1M", 200, octets, pattern(1024 * 1024)),
        ("/status/204", 204, None, Vec::new()),
        ("/status/304", 304, None, Vec::new()),
        ("/status/503", 503, None, Vec::new()),
        ("/delay/3ms", 200, text, b"late\n".into()),
        ("/delay/200us", 200, text, b"late\n".into()),
        ("/slow/50us", 200, text, b"slow\n".into()),
        ("/limited/20k", 200, text, b"within the limit\n".into()),
        ("/burn/2k", 200, text, b"burnt\n".into()),
    ];
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut same = server.connect();
        for (path, status, content_type, body) in &table {
            // On a connection of its own, and after all others on one connection.
            let alone = server.ask(&get(path));
            same.send(get(path));
            for answer in [alone, same.answer()] {
                assert_eq!(answer.status, *status, "{path}");
                assert_eq!(answer.field("Content-Type"), *content_type, "{path}");
                assert!(answer.body == *body, "{path}: {}", answer.text());
                assert_eq!(answer.field("Server"), Some("ringside"), "{path}");
                let date = answer.field("Date").expect("a date");
                assert!(date.len() == 29 && date.ends_with(" GMT"), "{path}: {date}");
                assert!(!answer.closes(), "{path}");
            }
        }
    });
}

#[test]
fn head_is_get_without_the_body() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        for path in [
            "/",
            "/json",
            "/health",
            "/bytes/100",
            "/bytes/10M",
            "/chunked/5000",
        ] {
            let head = get(path).replacen("GET", "HEAD", 1);
            client.send(get(path) + &head + &get("/status/200"));
            let (whole, only_head) = (client.answer(), client.answer_to("HEAD"));
            assert_eq!(only_head.head, whole.head, "{path}");
            assert_eq!(
                client.answer().status,
                200,
                "nothing followed the head of {path}"
            );
        }
        for (path, status) in [("/delay/1ms", 200), ("/slow/0", 200), ("/none", 404)] {
            client.send(get(path).replacen("GET", "HEAD", 1) + &get("/"));
            assert_eq!(client.answer_to("HEAD").status, status, "{path}");
            assert_eq!(client.answer().text(), "Hello, World!", "{path}");
        }
    });
}

#[test]
fn what_is_not_served_is_404_and_wrong_methods_are_405() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        for path in ["/none", "/bytes", "/json/", "//", "/%6Ason", "/statusx/200"] {
            client.send(get(path));
            assert_eq!(client.answer().status, 404, "{path}");
        }
        let table = [
            ("DELETE / HTTP/1.1", "GET, HEAD"),
            ("get / HTTP/1.1", "GET, HEAD"),
            ("OPTIONS /bytes/7 HTTP/1.1", "GET, HEAD"),
            (
                "OPTIONS /echo HTTP/1.1",
                "GET, HEAD, POST, PUT, PATCH, DELETE",
            ),
        ];
        for (line, allow) in table {
            client.send(format!("{line}\r\nHost: test\r\n\r\n"));
            let answer = client.answer();
            assert_eq!(
                (answer.status, answer.field("Allow")),
                (405, Some(allow)),
                "{line}"
            );
        }
        client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 4\r\n\r\nbody");
        assert_eq!(client.answer().status, 405, "a body does not confuse it");
        client.send(get("/"));
        assert_eq!(client.answer().status, 200);
    });
}

#[test]
fn a_wrong_parameter_is_400_with_what_was_expected() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        let table = [
            ("/bytes/", "a size in bytes"),
            ("/bytes/-1", "a size in bytes"),
            ("/bytes/99999999999G", "a size in bytes"),
            ("/chunked/x", "a size in bytes"),
            ("/delay/5x", "a duration like"),
            ("/delay/5h", "at most one hour"),
            ("/delay/ms", "a duration like"),
            ("/delay/3601s", "at most one hour"),
            ("/slow/", "a duration like"),
            ("/limited/", "a rate"),
            ("/limited/2M", "at most 1000000/s"),
            ("/burn/", "a whole number"),
            ("/burn/11M", "at most 10000000 turns"),
            ("/status/99", "from 200 to 599"),
            ("/status/101", "from 200 to 599"),
            ("/status/ok", "from 200 to 599"),
        ];
        for (path, sentence) in table {
            client.send(get(path));
            let answer = client.answer();
            assert_eq!(answer.status, 400, "{path}");
            assert!(
                answer.text().contains(sentence),
                "{path}: {}",
                answer.text()
            );
        }
    });
}

#[test]
fn a_limited_rate_answers_503_beyond_it_and_all_workers_share_it() {
    each_engine(|engine| {
        let server = Server::start(&Config {
            threads: 2,
            ..config(engine)
        });
        // There are two tokens, the next flows in within a hundred seconds, and some of these
        // connections are the other worker's.
        let mut answers = Vec::new();
        for _ in 0..8 {
            answers.push(server.ask(&get("/limited/0.01")).status);
        }
        assert_eq!(answers[..2], [200, 200]);
        assert!(
            answers[2..].iter().all(|status| *status == 503),
            "{answers:?}"
        );
    });
}

#[test]
fn echo_returns_the_body_and_its_type() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        for length in [0, 1, 4096, 100_000, 1 << 20] {
            let body = pattern(length);
            client.send(format!(
                "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Type: a/b; c=\"d\"\r\n\
                 Content-Length: {length}\r\n\r\n"
            ));
            client.send(&body);
            let answer = client.answer();
            assert_eq!(answer.status, 200);
            assert_eq!(answer.field("Content-Type"), Some("a/b; c=\"d\""));
            assert!(answer.body == body, "{length} bytes");
        }
        client.send(
            "PUT /echo HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n\
             3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nTrailer: t\r\n\r\n",
        );
        let answer = client.answer();
        assert_eq!(answer.text(), "abcdefg");
        assert_eq!(
            answer.field("Content-Type"),
            Some("application/octet-stream")
        );
    });
}

#[test]
fn long_bodies_are_streamed_and_never_held() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        client.send(get("/bytes/32M") + &get("/chunked/8M") + &get("/"));
        assert!(client.answer().body == pattern(32 << 20));
        assert!(client.answer().body == pattern(8 << 20));
        assert_eq!(client.answer().text(), "Hello, World!");
        // A terabyte begins as quickly as a byte, and nobody has to take it all.
        client.send(get("/bytes/1024G"));
        assert_eq!(client.exactly(100_000).len(), 100_000);
    });
}

/// The value of a metric in the text format of Prometheus.
fn metric(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let value = line.unwrap_or_else(|| panic!("no {name} in {text}"));
    value.trim().parse().expect("a whole number")
}

#[test]
fn whoever_has_an_answer_finds_it_counted_whichever_worker_gave_it() {
    each_engine(|engine| {
        let server = Server::start(&Config {
            threads: 3,
            ..config(engine)
        });
        for asked in 1..=40 {
            assert_eq!(server.ask(&get("/")).status, 200);
            let answer = server.ask(&get("/metrics"));
            let media = answer.field("Content-Type");
            assert_eq!(media, Some("text/plain; version=0.0.4; charset=utf-8"));
            let found = metric(answer.text().as_ref(), "ringside_requests_total ");
            // Those that asked for the metrics count, but for the last, whose turn is not over.
            assert_eq!(found, 2 * asked - 1, "{engine}: {}", answer.text());
        }
        let text = server.ask(&get("/metrics"));
        let text = text.text();
        assert!(metric(text.as_ref(), "ringside_connections_total ") >= 80);
        assert_eq!(
            metric(text.as_ref(), "ringside_websocket_messages_total "),
            0
        );
    });
}

#[test]
fn response_times_are_those_of_each_answer_since_metrics_were_first_asked_for() {
    each_engine(|engine| {
        let server = Server::start(&Config {
            threads: 2,
            ..config(engine)
        });
        server.ask(&get("/"));
        let first = server.ask(&get("/metrics")).text();
        assert_eq!(
            metric(&first, "ringside_serve_response_time_seconds_count "),
            0
        );
        let mut gone = server.connect();
        gone.send(get("/delay/10m"));
        drop(gone);
        let mut client = server.connect();
        client.send(get("/") + &get("/") + &get("/status/404"));
        (0..3).for_each(|_| drop(client.answer()));
        assert_eq!(server.ask(&get("/delay/20ms")).status, 200);
        assert_eq!(server.ask(&get("/wait10")).status, 200);
        let until = Time::now() + PATIENCE;
        // What asks is an answer itself, once it's over.
        for asked_before in 0.. {
            let text = server.ask(&get("/metrics")).text();
            let name = "ringside_serve_response_time_seconds";
            if metric(&text, &format!("{name}_count ")) == 5 + asked_before {
                let quick = metric(&text, &format!("{name}_bucket{{le=\"0.005\"}} "));
                assert!(quick <= 3 + asked_before, "{engine}: {text}");
                break;
            }
            // The time of an answer is recorded when it has left.
            assert!(Time::now() < until, "{engine}: {text}");
        }
    });
}

#[test]
fn tasks_are_answered_and_counted() {
    each_engine(|engine| {
        let server = Server::with(engine);
        assert_eq!(server.ask(&get("/task/1000")).text(), "done\n");
        assert_eq!(server.ask(&get("/task/11m")).status, 400);
        let metrics = server.ask(&get("/metrics")).text();
        let counted = "ringside_tasks_total{outcome=\"done\"} 1\n";
        assert!(metrics.contains(counted), "{metrics}");
    });
}
