//! Rates, and what happens to requests that are too many at once.

use std::io::Read;
use std::sync::{Condvar, Mutex};

use super::support::{Client, Do, Gateway, Origin, PATIENCE, in_front_of, on_each_engine};

#[test]
fn a_rate_is_kept_for_each_key_and_says_when_to_come_back() {
    on_each_engine(|engine| {
        let origin = Origin::named("ok");
        let rates = "rates = [{ key = \"header:x-key\", per_second = 0.001, burst = 3 }, \
                     { key = \"address\", per_second = 0.001, burst = 7 }]";
        let config = format!("{}{rates}\n", in_front_of(&[origin.address], ""));
        let gateway = Gateway::on(engine, &config);
        let ask = |key: &str| {
            gateway.ask(&format!(
                "GET / HTTP/1.1\r\nHost: a\r\nX-Key: {key}\r\n\r\n"
            ))
        };
        assert!((0..3).all(|_| ask("one").status == 200));
        let refused = ask("one");
        assert_eq!(refused.status, 429);
        let wait: u64 = refused
            .field("retry-after")
            .expect("it says so")
            .parse()
            .expect("seconds");
        assert!((900..=1000).contains(&wait), "{wait}");
        assert!((0..3).all(|_| ask("two").status == 200));
        assert_eq!(ask("three").status, 200);
        assert_eq!(ask("four").status, 429, "it's the eighth of this address");
        assert_eq!(origin.seen().len(), 7, "what was refused reached nobody");
    });
}

#[test]
fn who_is_behind_a_trusted_proxy_has_a_rate_of_his_own() {
    let origin = Origin::named("ok");
    let rates = "rates = [{ key = \"address\", per_second = 0.001, burst = 1 }]";
    let trusted = "[forward]\ntrusted_proxies = [\"127.0.0.1\"]";
    let config = format!("{trusted}\n{}{rates}\n", in_front_of(&[origin.address], ""));
    let gateway = Gateway::start(&config);
    let ask = |chain: &str| {
        let field = format!("X-Forwarded-For: {chain}\r\n");
        gateway
            .ask(&format!("GET / HTTP/1.1\r\nHost: a\r\n{field}\r\n"))
            .status
    };
    assert_eq!(
        (ask("1.2.3.4"), ask("1.2.3.4"), ask("1.2.3.5")),
        (200, 429, 200)
    );
    // What stands before the last that isn't trusted, anybody can write.
    assert_eq!(
        (ask("9.9.9.9, 1.2.3.4"), ask("8.8.8.8, 1.2.3.5, 127.0.0.1")),
        (429, 429)
    );
    // All addresses of a network of IPv6 are one client's.
    assert_eq!(
        (
            ask("2001:db8::1"),
            ask("2001:db8::2"),
            ask("2001:db8:0:1::1")
        ),
        (200, 429, 200)
    );
}

#[test]
fn who_is_behind_a_proxy_is_read_from_the_field_that_the_configuration_names() {
    let origin = Origin::named("ok");
    let rates = "rates = [{ key = \"address\", per_second = 0.001, burst = 1 }]";
    let statuses = |fields: &str, asked: &[&str]| -> Vec<u16> {
        let rules = format!("[forward]\ntrusted_proxies = [\"127.0.0.1\"]\nfields = \"{fields}\"");
        let config = format!("{rules}\n{}{rates}\n", in_front_of(&[origin.address], ""));
        let gateway = Gateway::start(&config);
        let ask = |said: &&str| {
            let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{said}\r\n\r\n");
            gateway.ask(&request).status
        };
        asked.iter().map(ask).collect()
    };
    let asked = [
        "Forwarded: for=1.2.3.4;proto=https",
        "X-Forwarded-For: 9.9.9.9\r\nForwarded: for=\"1.2.3.4:80\"",
        "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=8.8.8.8, For=1.2.3.5",
        "Forwarded: for=1.2.3.6\r\nForwarded: for=127.0.0.1",
        "Forwarded: for=1.2.3.6",
        "Forwarded: for=\"[2001:db8::1]\"",
        "Forwarded: for=\"[2001:db8::2]:80\"",
        // The proxy itself, of which nothing else can be read.
        "Forwarded: for=\"7.7.7.7, for=1.2.3.7",
        "Forwarded: for=7.7.7.8, for=_hidden",
    ];
    let expected = [200, 429, 200, 200, 429, 200, 429, 200, 429];
    assert_eq!(statuses("forwarded", &asked), expected);
    // Where both are written, or the other one alone, that one counts.
    for fields in ["both", "x-forwarded"] {
        let asked = [
            "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.5",
            "X-Forwarded-For: 1.2.3.4\r\nForwarded: for=1.2.3.6",
            "X-Forwarded-For: 1.2.3.5\r\nForwarded: for=1.2.3.5",
        ];
        assert_eq!(statuses(fields, &asked), [200, 429, 200], "{fields}");
    }
}

/// Holds answers back until it's opened.
#[derive(Default)]
pub(crate) struct Barrier {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Barrier {
    pub(crate) fn pass(&self) {
        let open = self.open.lock().expect("no panic");
        let waited = self
            .opened
            .wait_timeout_while(open, PATIENCE, |open| !*open);
        assert!(!waited.expect("no panic").1.timed_out(), "nobody opened it");
    }

    pub(crate) fn open(&self) {
        *self.open.lock().expect("no panic") = true;
        self.opened.notify_all();
    }
}

fn post(client: &mut Client, path: &str) {
    let request = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
    client.write(request.as_bytes());
}

#[test]
fn what_is_too_much_at_once_waits_or_is_refused_at_once() {
    on_each_engine(|engine| {
        let barrier = std::sync::Arc::new(Barrier::default());
        let of_origin = std::sync::Arc::clone(&barrier);
        let origin = Origin::new(move |seen| {
            if seen.line().contains("/slow") {
                of_origin.pass();
            }
            Do::answer(&String::from_utf8_lossy(&seen.body))
        });
        let more = "overload = { min = 2, max = 2, queue = 1, target = \"1h\", interval = \"1h\" }";
        let gateway = Gateway::on(engine, &in_front_of(&[origin.address], more));
        let mut slow: Vec<Client> = (0..2).map(|_| gateway.connect()).collect();
        slow.iter_mut().for_each(|client| post(client, "/slow"));
        origin.wait_for(2);
        // One waits. The next one is refused at once, since there is room for no more; which of the
        // two that is, is up to who came first.
        let mut others: Vec<Client> = (0..2).map(|_| gateway.connect()).collect();
        others.iter_mut().for_each(|client| post(client, "/next"));
        let mut refused = gateway.connect();
        post(&mut refused, "/third");
        let said = refused.answer(false);
        assert_eq!((said.status, said.field("retry-after")), (503, Some("1")));
        barrier.open();
        assert!(
            slow.iter_mut()
                .all(|client| client.answer(false).text() == "body")
        );
        let mut statuses: Vec<u16> = others
            .iter_mut()
            .map(|one| one.answer(false).status)
            .collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 503]);
        assert_eq!(
            gateway
                .ask("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi")
                .text(),
            "hi"
        );
        assert_eq!(origin.seen().len(), 4);
    });
}

#[test]
fn who_waits_too_long_is_refused_and_who_leaves_frees_his_place() {
    let barrier = std::sync::Arc::new(Barrier::default());
    let of_origin = std::sync::Arc::clone(&barrier);
    let origin = Origin::new(move |_| {
        of_origin.pass();
        Do::answer("ok")
    });
    let more = "overload = { min = 1, max = 1, target = \"20ms\", interval = \"20ms\" }";
    let gateway = Gateway::start(&in_front_of(&[origin.address], more));
    let mut first = gateway.connect();
    post(&mut first, "/");
    origin.wait_for(1);
    let mut late = gateway.connect();
    post(&mut late, "/");
    assert_eq!(late.answer(false).status, 503);
    let mut leaves = gateway.connect();
    post(&mut leaves, "/");
    drop(leaves);
    barrier.open();
    assert_eq!(first.answer(false).text(), "ok");
    assert!((0..5).all(|_| gateway.get("/").status == 200));
}

#[test]
fn clients_that_send_or_read_slowly_keep_nobody_out() {
    on_each_engine(|engine| {
        // More than all buffers on the way take.
        let long = 32 << 20;
        let origin = Origin::new(move |seen| match seen.line().starts_with("GET /long ") {
            true => Do::answer(&"x".repeat(long)),
            false => Do::answer("ok"),
        });
        let more = "overload = { min = 2, max = 2, queue = 9, target = \"20ms\", \
                    interval = \"20ms\" }";
        let gateway = Gateway::on(engine, &in_front_of(&[origin.address], more));
        let mut sending: Vec<Client> = (0..4).map(|_| gateway.connect()).collect();
        for client in &mut sending {
            let head = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n";
            client.write(format!("{head}Expect: 100-continue\r\n\r\n").as_bytes());
            // It's with the upstream, which has room for the body.
            assert_eq!(client.next(false).status, 100);
            client.write(b"bo");
        }
        assert!((0..5).all(|_| gateway.get("/").text() == "ok"));
        let mut reading: Vec<Client> = (0..4).map(|_| gateway.connect()).collect();
        for client in &mut reading {
            client.write(b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n");
            // The answer comes, and isn't read any further.
            assert_eq!(client.next(true).status, 200);
        }
        assert!((0..5).all(|_| gateway.get("/").text() == "ok"));
        for client in &mut sending {
            client.write(b"dy");
            assert_eq!(client.answer(false).text(), "ok");
        }
        for client in &mut reading {
            let mut read = Vec::new();
            let took = (&client.0).take(long as u64).read_to_end(&mut read);
            assert!(took.is_ok_and(|bytes| bytes == long));
        }
        assert!((0..5).all(|_| gateway.get("/").text() == "ok"));
    });
}

#[test]
fn bodies_that_come_with_their_heads_are_no_way_around_the_limit() {
    on_each_engine(|engine| {
        let (permit, permits) = std::sync::mpsc::channel();
        let permits = Mutex::new(permits);
        let origin = Origin::new(move |_| {
            let permits = permits.lock().expect("no panic");
            // The end of the test lets everybody go.
            let _ = permits.recv_timeout(PATIENCE);
            Do::answer("ok")
        });
        let more =
            "overload = { min = 2, max = 2, queue = 99, target = \"1h\", interval = \"1h\" }";
        let gateway = Gateway::on(engine, &in_front_of(&[origin.address], more));
        let mut clients: Vec<Client> = (0..40).map(|_| gateway.connect()).collect();
        clients.iter_mut().for_each(|client| post(client, "/"));
        let permit = permit; // Gone first, if something else fails.
        // Each that is answered lets one of those that wait go on, and that one nobody else.
        for answered in 0..20 {
            origin.wait_for(answered + 2);
            assert_eq!(origin.seen().len(), answered + 2, "{engine}");
            permit.send(()).expect("it's waited for");
        }
        drop(permit);
        assert!(
            clients
                .iter_mut()
                .all(|client| client.answer(false).status == 200)
        );
    });
}
