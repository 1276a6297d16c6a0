//! Exchanges that go where redirects lead.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine::sim::{Connection, Faults, Peer, Replies};
use measure::time::Time;
use proto::http1;
use proto::http2::server::{Config, Event, Server as Machine};
use proto::http2::{ErrorCode, Head};

use super::steps::step;
use super::{MS, plan, recorded, run};
use crate::Record;
use plan::protocol::{Http2, Protocol};
use plan::schedule::Schedule;
use plan::{Plan, Workload};

/// What a server was asked: method and path, fields as lines, and the body.
#[derive(Clone, Debug, Default)]
pub(super) struct Asked {
    pub line: String,
    pub fields: String,
    pub body: String,
}

impl Asked {
    /// The value of a field.
    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut lines = self.fields.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(found, _)| found.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value)
    }
}

/// No status: over HTTP/2 the request is refused.
pub(super) const REFUSED: u16 = 0;

/// An answer: its status, its fields, its body.
pub(super) type Said = (u16, Vec<(&'static str, String)>, &'static str);

/// What was asked of a server, on all connections.
pub(super) type Heard = Arc<Mutex<Vec<Asked>>>;

/// A server that answers as `law` says, a millisecond later; over HTTP/2 if `machines` are given.
pub(super) struct Site<L> {
    law: L,
    heard: Heard,
    unread: BTreeMap<Connection, Vec<u8>>,
    machines: Option<BTreeMap<Connection, Machine>>,
    /// By stream: what was asked and isn't whole.
    streams: BTreeMap<(Connection, u32), Asked>,
}

impl<L: FnMut(&Asked) -> Said> Site<L> {
    pub(super) fn new(is_http2: bool, heard: &Heard, law: L) -> Site<L> {
        Site {
            law,
            heard: Arc::clone(heard),
            unread: BTreeMap::new(),
            machines: is_http2.then(BTreeMap::new),
            streams: BTreeMap::new(),
        }
    }

    fn say(&mut self, asked: Asked) -> Said {
        let said = (self.law)(&asked);
        self.heard.lock().unwrap().push(asked);
        said
    }

    fn answer_http1(&mut self, id: Connection, bytes: &[u8], replies: &mut Replies) {
        let unread = self.unread.entry(id).or_default();
        unread.extend_from_slice(bytes);
        let mut unread = std::mem::take(unread);
        while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8(unread[..end + 4].to_vec()).unwrap();
            let length = http1::field(head.as_bytes(), "content-length");
            let length = length.map_or(0, |text| {
                std::str::from_utf8(text).unwrap().parse::<usize>().unwrap()
            });
            if unread.len() < end + 4 + length {
                break;
            }
            let (line, fields) = head.split_once("\r\n").unwrap();
            let body = unread[end + 4..end + 4 + length].to_vec();
            unread.drain(..end + 4 + length);
            let (status, fields, body) = self.say(Asked {
                line: line.strip_suffix(" HTTP/1.1").unwrap().to_owned(),
                fields: fields.trim().to_owned(),
                body: String::from_utf8(body).unwrap(),
            });
            let is_last = fields.iter().any(|(_, value)| value == "close");
            let fields = fields
                .iter()
                .map(|(name, value)| format!("{name}: {value}\r\n"));
            let fields: String = fields.collect();
            let shown = if line.starts_with("HEAD") { "" } else { body };
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\n{fields}Content-Length: {length}\r\n\r\n");
            replies.send(MS, format!("{head}{shown}").into_bytes());
            if is_last {
                replies.close(2 * MS);
            }
        }
        self.unread.insert(id, unread);
    }

    fn answer_http2(&mut self, id: Connection, bytes: &[u8], replies: &mut Replies) {
        let (mut input, mut out) = (bytes, Vec::new());
        loop {
            let machine = self
                .machines
                .as_mut()
                .and_then(|all| all.get_mut(&id))
                .unwrap();
            let whole = match machine.next(&mut input, &mut out).unwrap() {
                None => break,
                Some(Event::Request {
                    stream,
                    method,
                    path,
                    fields,
                    end,
                }) => {
                    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
                    let lines = fields.iter();
                    let lines =
                        lines.map(|(name, value)| format!("{}: {}\n", text(name), text(value)));
                    let asked = Asked {
                        line: format!("{} {}", text(method), text(path)),
                        fields: lines.collect(),
                        body: String::new(),
                    };
                    self.streams.insert((id, stream), asked);
                    end.then_some(stream)
                }
                Some(Event::Data { stream, bytes, end }) => {
                    let asked = self.streams.get_mut(&(id, stream)).unwrap();
                    asked.body.push_str(std::str::from_utf8(bytes).unwrap());
                    end.then_some(stream)
                }
                Some(_) => None,
            };
            let Some(stream) = whole else {
                continue;
            };
            let asked = self.streams.remove(&(id, stream)).unwrap();
            let (status, fields, body) = self.say(asked);
            let machine = self
                .machines
                .as_mut()
                .and_then(|all| all.get_mut(&id))
                .unwrap();
            if status == REFUSED {
                machine.reset(stream, ErrorCode::REFUSED_STREAM, &mut out);
                continue;
            }
            let fields: Vec<(String, String)> = fields
                .into_iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), value))
                .filter(|(name, _)| name != "connection")
                .collect();
            let head = Head::response(status, &fields).unwrap();
            let mut answer = Vec::new();
            machine
                .answer(stream, &head, body.as_bytes(), &mut answer)
                .unwrap();
            replies.send(MS, answer);
        }
        replies.send(0, out);
    }
}

impl<L: FnMut(&Asked) -> Said> Peer for Site<L> {
    fn opened(&mut self, id: Connection, _: Time, replies: &mut Replies) {
        if let Some(machines) = &mut self.machines {
            let mut out = Vec::new();
            machines.insert(id, Machine::new(Config::default(), &mut out));
            replies.send(0, out);
        }
    }

    fn received(&mut self, id: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        match self.machines {
            None => self.answer_http1(id, bytes, replies),
            Some(_) => self.answer_http2(id, bytes, replies),
        }
    }
}

/// A plan of so many exchanges, over HTTP/1.1 or HTTP/2.
pub(super) fn counted(count: u64, is_http2: bool) -> Plan {
    let mut plan = plan(Schedule::Closed, 1, 1.0);
    (plan.duration_s, plan.count) = (None, Some(count));
    if is_http2 {
        let http2 = Http2 {
            header_table_bytes: 0,
            ..Http2::default()
        };
        plan.protocol = Protocol::Http2 { http2 };
    }
    plan
}

/// What a run records against such a server, and what that was asked.
pub(super) fn visited(
    plan: &Plan,
    law: impl FnMut(&Asked) -> Said + 'static,
) -> (Record, Vec<Asked>) {
    let heard = Heard::default();
    let is_http2 = plan.protocol.http2().is_some();
    let site = Site::new(is_http2, &heard, law);
    let record = recorded(plan, run(plan, 1, Faults::none(), site));
    let asked = std::mem::take(&mut *heard.lock().unwrap());
    (record, asked)
}

fn to(status: u16, location: &str) -> Said {
    (status, vec![("Location", location.to_owned())], "moved")
}

fn found() -> Said {
    (200, Vec::new(), "found")
}

fn lines(asked: &[Asked]) -> Vec<&str> {
    asked.iter().map(|one| &*one.line).collect()
}

#[test]
fn a_redirect_is_a_part_of_its_exchange() {
    for is_http2 in [false, true] {
        let mut plan = counted(3, is_http2);
        (plan.follow, plan.target.path) = (2, "/a/b?q".to_owned());
        plan.request.headers = vec![("Authorization".to_owned(), "Basic x".to_owned())];
        let (record, asked) = visited(&plan, |asked| match &*asked.line {
            "GET /a/b?q" => to(302, "../c"),
            "GET /c" => to(301, "http://127.0.0.1/d?e"),
            _ => found(),
        });
        let one = ["GET /a/b?q", "GET /c", "GET /d?e"];
        assert_eq!(lines(&asked), [one, one, one].concat());
        for one in &asked {
            assert_eq!(one.field("authorization"), Some("Basic x"));
            let host = one.field("host").or(one.field(":authority"));
            assert_eq!(host, Some("127.0.0.1"));
        }
        assert_eq!((record.exchanges.completed, record.redirects), (3, 6));
        assert_eq!(record.status, BTreeMap::from([("200".to_owned(), 3)]));
        assert_eq!(record.connections.opened, 1);
        // Its time is that of three answers, a millisecond each.
        assert!(record.response_time_us.min.unwrap() >= 3_000.0);
        assert!(record.errors.is_empty(), "{:?}", record.errors);
    }
}

#[test]
fn without_the_flag_a_redirect_is_an_answer() {
    for is_http2 in [false, true] {
        let (record, asked) = visited(&counted(2, is_http2), |_| to(302, "/x"));
        assert_eq!(lines(&asked), ["GET /", "GET /"]);
        assert_eq!((record.exchanges.completed, record.redirects), (2, 0));
        assert_eq!(record.status["302"], 2);
    }
}

#[test]
fn methods_and_bodies_become_what_the_rfc_says() {
    for is_http2 in [false, true] {
        for (status, method, then) in [
            (301, "POST", "GET"),
            (302, "POST", "GET"),
            (303, "POST", "GET"),
            (307, "POST", "POST"),
            (308, "POST", "POST"),
            (301, "PUT", "PUT"),
            (303, "PUT", "GET"),
            (303, "GET", "GET"),
            (303, "HEAD", "HEAD"),
            (302, "HEAD", "HEAD"),
            (301, "GET", "GET"),
        ] {
            let mut plan = counted(2, is_http2);
            plan.follow = 1;
            plan.request.method = method.to_owned();
            if matches!((status, method), (303, "GET") | (_, "POST" | "PUT")) {
                plan.request.body = b"payload".to_vec();
            }
            let fields = [("Content-Type", "text/x"), ("X-Mine", "1")];
            plan.request.headers = fields.map(|(n, v)| (n.to_owned(), v.to_owned())).into();
            let (record, asked) = visited(&plan, move |asked| match asked.line.ends_with('/') {
                true => to(status, "/then"),
                false => found(),
            });
            assert_eq!((record.exchanges.completed, record.redirects), (2, 2));
            let second = &asked[1];
            assert_eq!(second.line, format!("{then} /then"), "{status} {method}");
            assert_eq!(second.field("x-mine"), Some("1"));
            let keeps = then == method && status != 303;
            let body = if keeps { &*asked[0].body } else { "" };
            assert_eq!(second.body, body, "{status} {method}");
            assert_eq!(second.field("content-type").is_some(), keeps);
            let has_length = second.field("content-length").is_some();
            assert_eq!(has_length, !second.body.is_empty(), "{second:?}");
        }
    }
}

#[test]
fn what_cannot_be_followed_fails_and_says_why() {
    for is_http2 in [false, true] {
        for (answer, kind, followed) in [
            (to(302, "/"), "too_many_redirects", 5),
            (to(307, "?again=canary"), "too_many_redirects", 5),
            (to(302, "https://127.0.0.1/"), "redirect_elsewhere", 0),
            (to(302, "http://127.0.0.1:81/"), "redirect_elsewhere", 0),
            (to(302, "//other/?code=canary"), "redirect_elsewhere", 0),
            (to(302, "http://"), "redirect_invalid", 0),
            ((302, Vec::new(), ""), "redirect_invalid", 0),
        ] {
            let mut plan = counted(3, is_http2);
            (plan.follow, plan.connections) = (5, 2);
            let led = answer.1.first().map(|(_, to)| to.replace("canary", "…"));
            let (record, asked) = visited(&plan, move |_| answer.clone());
            assert_eq!(record.errors, BTreeMap::from([(kind.to_owned(), 3)]));
            let told = record.unfollowed_redirects.get(kind);
            assert_eq!(told, led.as_ref());
            assert_eq!(
                (record.exchanges.failed, record.redirects),
                (3, 3 * followed)
            );
            assert_eq!(asked.len() as u64, 3 * (followed + 1));
            // The connection is as good as before.
            assert_eq!(record.connections.opened, 2);
            assert_eq!(record.response_time_us.count, Some(3));
        }
    }
}

#[test]
fn a_redirect_that_closes_its_connection_is_an_early_close() {
    let mut plan = counted(3, false);
    plan.follow = 5;
    let (record, asked) = visited(&plan, |_| {
        let (status, mut fields, body) = to(302, "/x");
        fields.push(("Connection", "close".to_owned()));
        (status, fields, body)
    });
    assert_eq!(lines(&asked), ["GET /"; 3]);
    assert_eq!(
        record.errors,
        BTreeMap::from([("early_close".to_owned(), 3)])
    );
}

#[test]
fn an_exchange_that_was_redirected_is_not_sent_again() {
    // GOAWAY whose last stream is 1: the second request was not processed.
    const GOODBYE: [u8; 17] = [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    struct Leaves(Site<fn(&Asked) -> Said>);
    impl Peer for Leaves {
        fn opened(&mut self, id: Connection, now: Time, replies: &mut Replies) {
            self.0.opened(id, now, replies);
        }

        fn received(&mut self, id: Connection, bytes: &[u8], now: Time, replies: &mut Replies) {
            let before = self.0.heard.lock().unwrap().len();
            self.0.received(id, bytes, now, replies);
            if self.0.heard.lock().unwrap().len() > before && before % 2 == 1 {
                replies.send(0, GOODBYE);
            }
        }
    }
    let mut plan = counted(2, true);
    plan.follow = 1;
    plan.request.method = "POST".to_owned();
    let heard = Heard::default();
    let site: Site<fn(&Asked) -> Said> = Site::new(true, &heard, |asked| match &*asked.line {
        "POST /" => to(303, "/x"),
        _ => found(),
    });
    let record = recorded(&plan, run(&plan, 1, Faults::none(), Leaves(site)));
    let asked = heard.lock().unwrap();
    assert_eq!(lines(&asked), ["POST /", "GET /x", "POST /", "GET /x"]);
    assert_eq!(record.errors["stream_reset"], 2, "{:?}", record.errors);
}

#[test]
fn only_the_last_answer_is_held_against_rules_and_statuses() {
    for is_http2 in [false, true] {
        for (rule, failed) in [("body=found", 0), ("status=200", 0), ("status=302", 3)] {
            let mut plan = counted(3, is_http2);
            (plan.follow, plan.expect) = (1, vec![rule.parse().unwrap()]);
            let (record, _) = visited(&plan, |asked| match &*asked.line {
                "GET /" => to(302, "/x"),
                _ => found(),
            });
            assert_eq!((record.exchanges.failed, record.redirects), (failed, 3));
        }
        let mut plan = counted(3, is_http2);
        plan.follow = 1;
        let (record, _) = visited(&plan, |asked| match &*asked.line {
            "GET /" => to(302, "/x"),
            _ => (404, Vec::new(), "gone"),
        });
        assert_eq!(record.errors["unexpected_status"], 3);
        assert_eq!(record.unexpected_bodies["404"], "gone");
    }
}

#[test]
fn requests_that_differ_are_followed_each_by_itself() {
    for is_http2 in [false, true] {
        for is_open in [false, true] {
            let mut plan = counted(40, is_http2);
            (plan.follow, plan.connections) = (1, 4);
            if is_open {
                plan.schedule = Schedule::Constant { rate: 1_000.0 };
            }
            let mut steps = vec![step(1, "GET", "/moved/{{seq}}"), step(1, "GET", "/here")];
            steps[0].expect = vec!["header:x-seen~there".parse().unwrap()];
            steps[1].expect = vec!["header:x-seen~here".parse().unwrap()];
            plan.workload = Some(Workload::new(steps));
            let (record, asked) = visited(&plan, |asked| match asked.line.split_once("moved/") {
                Some((_, n)) => to(302, &format!("/there/{n}")),
                None => (200, vec![("X-Seen", asked.line.clone())], "ok"),
            });
            assert_eq!((record.exchanges.completed, record.redirects), (40, 20));
            let there = asked.iter().filter(|one| one.line.contains("/there/"));
            let there: std::collections::BTreeSet<&str> = there.map(|one| &*one.line).collect();
            assert_eq!(there.len(), 20, "each has its own number");
            let done: Vec<u64> = record.steps.iter().map(|step| step.completed).collect();
            assert_eq!(done, [20, 20]);
        }
    }
}

#[test]
fn a_connection_sends_the_cookies_back_that_it_was_given() {
    for is_http2 in [false, true] {
        let mut plan = counted(4, is_http2);
        plan.cookies = true;
        let mut n = 0;
        let (record, asked) = visited(&plan, move |_| {
            n += 1;
            let set = match n {
                1 => vec!["id=canary-1; Path=/; HttpOnly", "b=2; Secure"],
                2 => vec!["c=3"],
                3 => vec!["id=; Max-Age=0", "d=4; Path=/elsewhere"],
                _ => vec![],
            };
            let set = set.into_iter();
            let fields = set.map(|value| ("Set-Cookie", value.to_owned()));
            (200, fields.collect(), "ok")
        });
        let sent: Vec<Option<&str>> = asked.iter().map(|one| one.field("cookie")).collect();
        let expected = [
            None,
            Some("id=canary-1"),
            Some("id=canary-1; c=3"),
            Some("c=3"),
        ];
        assert_eq!(sent, expected);
        assert_eq!(record.exchanges.completed, 4);
        assert!(!serde_json::to_string(&record).unwrap().contains("canary"));
    }
}

#[test]
fn each_connection_has_its_own_cookies_beside_those_of_the_user() {
    for is_http2 in [false, true] {
        let mut plan = counted(12, is_http2);
        (plan.cookies, plan.connections) = (true, 3);
        plan.request.headers = vec![("Cookie".to_owned(), "own=1".to_owned())];
        if is_http2 && let Protocol::Http2 { http2 } = &mut plan.protocol {
            http2.streams = 1;
        }
        let mut n = 0;
        let (_, asked) = visited(&plan, move |asked| {
            n += 1;
            let is_new = !asked.fields.contains("id=");
            let set = is_new.then(|| ("Set-Cookie", format!("id={n}")));
            (200, set.into_iter().collect(), "ok")
        });
        let cookies = |one: &Asked| {
            let fields = one.fields.lines().filter_map(|line| line.split_once(": "));
            let fields = fields.filter(|(name, _)| name.eq_ignore_ascii_case("cookie"));
            let values: Vec<&str> = fields.map(|(_, value)| value).collect();
            values.join("; ")
        };
        let mut sent = BTreeMap::new();
        asked
            .iter()
            .for_each(|one| *sent.entry(cookies(one)).or_insert(0) += 1);
        assert_eq!(
            sent.remove("own=1"),
            Some(3),
            "a connection begins without any"
        );
        assert_eq!(sent.len(), 3, "{sent:?}");
        assert!(
            sent.keys().all(|sent| sent.starts_with("own=1; id=")),
            "{sent:?}"
        );
    }
}

#[test]
fn a_new_connection_begins_without_cookies() {
    let mut plan = counted(4, false);
    plan.cookies = true;
    let mut n = 0;
    let (_, asked) = visited(&plan, move |_| {
        n += 1;
        let mut fields = vec![("Set-Cookie", format!("n={n}"))];
        if n == 2 {
            fields.push(("Connection", "close".to_owned()));
        }
        (200, fields, "ok")
    });
    let sent: Vec<Option<&str>> = asked.iter().map(|one| one.field("cookie")).collect();
    assert_eq!(sent, [None, Some("n=1"), None, Some("n=3")]);
}

#[test]
fn a_login_that_redirects_is_followed_with_its_cookie() {
    for is_http2 in [false, true] {
        let mut plan = counted(2, is_http2);
        (plan.cookies, plan.follow) = (true, 1);
        (plan.target.path, plan.request.method) = ("/login".to_owned(), "POST".to_owned());
        plan.request.body = b"me".to_vec();
        let (record, asked) = visited(&plan, |asked| match asked.field("cookie") {
            None => {
                let (status, mut fields, body) = to(303, "/home");
                fields.push(("Set-Cookie", "session=canary-7".to_owned()));
                (status, fields, body)
            }
            Some(_) => found(),
        });
        assert_eq!(lines(&asked), ["POST /login", "GET /home", "POST /login"]);
        assert_eq!(asked[1].field("cookie"), Some("session=canary-7"));
        assert_eq!(asked[2].body, "me");
        assert_eq!((record.exchanges.completed, record.redirects), (2, 1));
    }
}

#[test]
fn what_a_server_set_is_told_to_nobody() {
    for is_http2 in [false, true] {
        for rule in [
            None,
            Some("body=x"),
            Some("header:x-again=x"),
            Some("json:$.a=x"),
        ] {
            let mut plan = counted(3, is_http2);
            plan.cookies = true;
            plan.expect = rule.into_iter().map(|rule| rule.parse().unwrap()).collect();
            let status = if rule.is_some() { 200 } else { 500 };
            let (record, _) = visited(&plan, move |_| {
                let set = ("Set-Cookie", "session=canary-7".to_owned());
                let again = ("X-Again", "it was canary-7".to_owned());
                (status, vec![set, again], r#"{"a":"it was canary-7"}"#)
            });
            assert_eq!(record.exchanges.failed, 3);
            let text = serde_json::to_string(&record).unwrap();
            assert!(!text.contains("it was"), "{text}");
            assert!(!text.contains("canary"), "{text}");
        }
    }
}
