//! Requests and answers go through as they should.

use std::io::Write;

use server::{Body, Context, Event, Intake, Reply, Request, Response, Service, Stop, Ticket};

use super::support::{Client, Do, Gateway, Origin, in_front_of, on_each_engine};

/// A gateway that speaks HTTP/1.1 with its clients and HTTP/2 with another one, which speaks
/// HTTP/1.1 with the origin; and one that speaks HTTP/1.1 on both sides.
fn both_ways(engine: &str, origin: &Origin, test: impl Fn(&Gateway)) {
    let behind = Gateway::on(engine, &in_front_of(&[origin.address], ""));
    test(&behind);
    let more = "protocol = \"h2c\"";
    test(&Gateway::on(
        engine,
        &in_front_of(&[behind.address()], more),
    ));
}

#[test]
fn method_path_query_fields_and_bodies_reach_the_upstream_and_its_answer_the_client() {
    on_each_engine(|engine| {
        let origin = Origin::new(|seen| {
            let text = format!("{} {}", seen.line(), String::from_utf8_lossy(&seen.body));
            let bytes = text.len();
            Do::Say(
                format!(
                    "HTTP/1.1 201 Made\r\nX-Answer: 1\r\nx-answer: 2\r\nKeep-Alive: 5\r\n\
                     Connection: x-hop\r\nX-Hop: 1\r\nContent-Length: {bytes}\r\n\r\n{text}"
                )
                .into_bytes(),
            )
        });
        both_ways(engine, &origin, |gateway| {
            let mut client = gateway.connect();
            for _ in 0..3 {
                client.write(b"GET /a/b?c=d HTTP/1.1\r\nHost: example.org\r\nX-A: 1\r\n\r\n");
                let said = client.answer(false);
                assert_eq!(
                    (said.status, &*said.text()),
                    (201, "GET /a/b?c=d HTTP/1.1 ")
                );
                assert_eq!(super::support::values(&said.head, "x-answer"), ["1", "2"]);
                assert_eq!(
                    (said.field("x-hop"), said.field("keep-alive")),
                    (None, None)
                );
            }
            client.write(b"PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
            assert_eq!(client.answer(false).text(), "PUT / HTTP/1.1 hello");
            client.write(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
            client.write(b"3\r\nabc\r\n2;x=y\r\nde\r\n0\r\nX-T: 1\r\n\r\n");
            assert_eq!(client.answer(false).text(), "POST / HTTP/1.1 abcde");
            let seen = origin.seen();
            let host = seen[seen.len() - 3].field("host").map(str::to_owned);
            assert_eq!(host.as_deref(), Some("example.org"));
        });
    });
}

#[test]
fn answers_without_a_body_are_answers() {
    let origin = Origin::new(|seen| match seen.line() {
        "HEAD / HTTP/1.1" => Do::Say(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n".to_vec()),
        "GET /204 HTTP/1.1" => Do::Say(b"HTTP/1.1 204 No\r\n\r\n".to_vec()),
        "GET /304 HTTP/1.1" => {
            Do::Say(b"HTTP/1.1 304 Not\r\nETag: \"x\"\r\nContent-Length: 9\r\n\r\n".to_vec())
        }
        "GET /close HTTP/1.1" => Do::SayAndClose(b"HTTP/1.0 200 OK\r\n\r\nto the end".to_vec()),
        _ => Do::answer("hello"),
    });
    both_ways("auto", &origin, |gateway| {
        let mut client = gateway.connect();
        for _ in 0..2 {
            client.write(b"HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
            let said = client.answer(true);
            assert_eq!(
                (said.status, said.field("content-length")),
                (200, Some("5"))
            );
            client.write(b"GET /204 HTTP/1.1\r\nHost: a\r\n\r\n");
            assert_eq!(client.answer(false).status, 204);
            client.write(b"GET /304 HTTP/1.1\r\nHost: a\r\n\r\n");
            let said = client.answer(false);
            assert_eq!((said.status, said.field("etag")), (304, Some("\"x\"")));
            client.write(b"GET /close HTTP/1.1\r\nHost: a\r\n\r\n");
            assert_eq!(client.answer(false).text(), "to the end");
            client.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
            assert_eq!(client.answer(false).text(), "hello");
        }
    });
    let seen = origin.seen();
    assert_eq!(seen.len(), 20, "{seen:?}");
}

#[test]
fn an_old_client_is_answered_in_its_way() {
    let origin = Origin::new(|_| {
        Do::Say(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n".into(),
        )
    });
    let gateway = Gateway::start(&in_front_of(&[origin.address], ""));
    let said = gateway.ask("GET / HTTP/1.0\r\n\r\n");
    assert_eq!(
        (&*said.text(), said.field("transfer-encoding")),
        ("abc", None)
    );
    assert_eq!(origin.seen()[0].field("host"), Some("localhost"));
    assert_eq!(origin.seen()[0].field("via"), Some("1.0 ringside"));
}

#[test]
fn a_client_that_asks_before_it_sends_is_told_to_and_the_upstream_is_not_asked() {
    on_each_engine(|engine| {
        let origin = Origin::new(|seen| Do::answer(&String::from_utf8_lossy(&seen.body)));
        let gateway = Gateway::on(engine, &in_front_of(&[origin.address], ""));
        let mut client = gateway.connect();
        client.write(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n");
        client.write(b"Content-Length: 4\r\n\r\n");
        assert_eq!(client.next(false).status, 100);
        client.write(b"body");
        assert_eq!(client.next(false).text(), "body");
        assert_eq!(origin.seen()[0].field("expect"), None);
        // Where there's no route it's told so instead.
        let gateway = Gateway::on(
            engine,
            "[[route]]\npath = \"/a\"\nanswer = { status = 200 }\n",
        );
        let mut client = gateway.connect();
        client.write(b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n");
        client.write(b"Content-Length: 4\r\n\r\n");
        assert_eq!(client.next(false).status, 404);
    });
}

#[test]
fn an_answer_before_the_request_is_whole_reaches_the_client() {
    on_each_engine(|engine| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it has one");
        let gateway = Gateway::on(engine, &in_front_of(&[address], ""));
        let mut client = gateway.connect();
        client.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\nabc");
        let (mut upstream, _) = listener.accept().expect("the gateway connects");
        let mut read = Vec::new();
        while !read.ends_with(b"abc") {
            let mut byte = [0];
            std::io::Read::read_exact(&mut upstream, &mut byte).expect("a request");
            read.push(byte[0]);
        }
        let said = b"HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nno\n";
        upstream.write_all(said).expect("it's read");
        let said = client.answer(false);
        assert_eq!((said.status, &*said.text()), (413, "no\n"));
    });
}

#[test]
fn what_the_gateway_answers_itself() {
    let origin = Origin::named("origin");
    let servers = format!("[upstream.a]\nservers = [\"{}\"]\n", origin.address);
    let gateway = Gateway::start(&format!(
        "{servers}[[route]]\nprefix = \"/a\"\nmethods = [\"GET\"]\nupstream = \"a\"\n\
         [[route]]\npath = \"/teapot\"\nanswer = {{ status = 418, text = \"short\" }}\n"
    ));
    let ask = |line: &str, more: &str| {
        gateway.ask(&format!("{line} HTTP/1.1\r\nHost: test\r\n{more}\r\n"))
    };
    assert_eq!(ask("GET /b", "").status, 404);
    let said = ask("POST /a", "");
    assert_eq!((said.status, said.field("allow")), (405, Some("get")));
    let said = ask("GET /teapot", "");
    assert_eq!((said.status, &*said.text()), (418, "short"));
    assert_eq!(ask("TRACE /a", "").status, 405);
    assert_eq!(ask("CONNECT a:80", "").status, 501);
    assert_eq!(ask("OPTIONS /a", "Max-Forwards: 0\r\n").status, 204);
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\n";
    let said = ask("GET /a", upgrade);
    assert_eq!(
        (said.status, &*said.text()),
        (501, "WebSockets aren't passed on\n")
    );
    for path in [
        "/a/../b",
        "/a/%2e%2e/b",
        "/a%2fb",
        "/a%00",
        "/a\\b",
        "/a/%zz",
    ] {
        assert_eq!(gateway.get(path).status, 400, "{path}");
    }
    assert_eq!(origin.seen().len(), 0, "nothing of that was passed on");
    // An upgrade that can be ignored is.
    let said = ask(
        "GET /a",
        "Connection: upgrade, http2-settings\r\nUpgrade: h2c\r\n",
    );
    assert_eq!(said.text(), "origin");
    assert_eq!(origin.seen()[0].field("upgrade"), None);
}

#[test]
fn a_body_beyond_the_limit_is_refused_announced_or_not() {
    on_each_engine(|engine| {
        let origin = Origin::new(|seen| Do::answer(&seen.body.len().to_string()));
        let limits = "[limits]\nbody = 10\n";
        let upstream = in_front_of(&[origin.address], "");
        let gateway = Gateway::on(engine, &format!("{limits}{upstream}"));
        let post = |rest: &str| gateway.ask(&format!("POST / HTTP/1.1\r\nHost: a\r\n{rest}"));
        assert_eq!(post("Content-Length: 10\r\n\r\n0123456789").text(), "10");
        assert_eq!(post("Content-Length: 11\r\n\r\n0123456789a").status, 413);
        let expected = "Content-Length: 11\r\nExpect: 100-continue\r\n\r\n";
        assert_eq!(post(expected).status, 413);
        let chunks = "Transfer-Encoding: chunked\r\n\r\n6\r\nabcdef\r\n6\r\nabcdef\r\n0\r\n\r\n";
        assert_eq!(post(chunks).status, 413);
    });
}

/// Counts what is sent to `/count`, and sends as much at `/many`.
#[derive(Default)]
struct Heavy {
    counted: std::collections::HashMap<Ticket, u64>,
}

const MANY_BYTES: u64 = 400 << 20;

impl Service for Heavy {
    fn intake(&mut self, _: &Request<'_>) -> Intake {
        Intake::Stream
    }

    fn call(&mut self, request: &Request<'_>, context: &mut Context<'_>) -> Reply {
        match request.path() {
            b"/many" => Response::of("text/plain", Body::Pattern(MANY_BYTES)).into(),
            _ => {
                self.counted.insert(context.ticket(), 0);
                Reply::Later
            }
        }
    }

    fn event(&mut self, ticket: Ticket, event: Event<'_>, context: &mut Context<'_>) {
        let counted = self.counted.entry(ticket).or_default();
        match event {
            Event::Data(bytes) => *counted += bytes.len() as u64,
            Event::End => {
                let text = counted.to_string();
                self.counted.remove(&ticket);
                context.complete(ticket, Response::of("text/plain", text));
            }
            _ => {}
        }
    }
}

/// The most memory that this process has had so far.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc");
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
    number.expect("a number")
}

#[test]
fn hundreds_of_megabytes_pass_either_way_and_are_held_by_nobody() {
    on_each_engine(|engine| {
        let loopback = server::Address::Tcp(([127, 0, 0, 1], 0).into());
        let mut config = server::Config::new(loopback);
        config.limits.body_bytes = u64::MAX;
        let stop = Stop::new();
        let origin = server::start(config, |_| Heavy::default(), &stop).expect("it starts");
        let server::Address::Tcp(address) = *origin.address() else {
            panic!("not a TCP address");
        };
        let gateway = Gateway::on(engine, &in_front_of(&[address], ""));
        let mut client = gateway.connect();
        let before = peak_kib();
        client.write(b"GET /many HTTP/1.1\r\nHost: a\r\n\r\n");
        let mut taken = Discarding(&mut client);
        assert_eq!(taken.body(), MANY_BYTES);
        let head =
            format!("POST /count HTTP/1.1\r\nHost: a\r\nContent-Length: {MANY_BYTES}\r\n\r\n");
        client.write(head.as_bytes());
        let piece = vec![b'x'; 1 << 20];
        (0..MANY_BYTES >> 20).for_each(|_| client.write(&piece));
        assert_eq!(client.answer(false).text(), MANY_BYTES.to_string());
        let grown = peak_kib() - before;
        // Other tests run in this process at the same time, and hold something, too.
        assert!(grown < 200 << 10, "{grown} KiB more were held on {engine}");
        drop(client);
        origin.stop();
        origin.join().expect("it served");
    });
}

/// Takes an answer and keeps none of it.
struct Discarding<'c>(&'c mut Client);

impl Discarding<'_> {
    fn body(&mut self) -> u64 {
        use std::io::Read;
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            self.0.0.read_exact(&mut byte).expect("a head");
            head.push(byte[0]);
        }
        let mut piece = vec![0; 64 << 10];
        let mut left = MANY_BYTES;
        while left > 0 {
            let most = left.min(piece.len() as u64) as usize;
            let read = self.0.0.read(&mut piece[..most]).expect("a body");
            assert!(read > 0, "{left} bytes are missing");
            left -= read as u64;
        }
        MANY_BYTES
    }
}
