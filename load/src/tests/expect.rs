//! Answers held against what is expected of them.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use std::collections::BTreeMap;

use engine::sim::{Connection, Faults, Peer, Replies};
use measure::record::{Met, Unmet};
use measure::time::Time;

use super::http2::answering;
use super::steps::step;
use super::{MS, plan, recorded, run};
use crate::Record;
use crate::check::{self, Threshold};
use plan::protocol::{Http2, Protocol};
use plan::redaction::without_hashes;
use plan::schedule::Schedule;
use plan::workload::Pick;
use plan::{Expect, Plan, Workload};

/// Answers the n-th request of a connection, whose line this is, with these pieces, a millisecond
/// apart. An empty piece is the end of the connection.
struct Says<L> {
    law: L,
    unread: BTreeMap<Connection, Vec<u8>>,
    count: u64,
}

impl<L: FnMut(u64, &str) -> Vec<Vec<u8>>> Says<L> {
    fn new(law: L) -> Says<L> {
        Says {
            law,
            unread: BTreeMap::new(),
            count: 0,
        }
    }
}

impl<L: FnMut(u64, &str) -> Vec<Vec<u8>>> Peer for Says<L> {
    fn received(&mut self, id: Connection, bytes: &[u8], _: Time, replies: &mut Replies) {
        let unread = self.unread.entry(id).or_default();
        unread.extend_from_slice(bytes);
        let mut delay_ns = MS;
        while let Some(end) = unread.windows(4).position(|four| four == b"\r\n\r\n") {
            let head: Vec<u8> = unread.drain(..end + 4).collect();
            let head = String::from_utf8(head).unwrap();
            let line = head.lines().next().unwrap();
            for piece in (self.law)(self.count, line) {
                match piece.is_empty() {
                    true => replies.close(delay_ns),
                    false => replies.send(delay_ns, piece),
                }
                delay_ns += MS;
            }
            self.count += 1;
        }
    }
}

fn rules(rules: &[&str]) -> Vec<Expect> {
    rules.iter().map(|rule| rule.parse().unwrap()).collect()
}

fn counted(count: u64, expect: &[&str]) -> Plan {
    let mut plan = plan(Schedule::Closed, 1, 1.0);
    (plan.duration_s, plan.count) = (None, Some(count));
    plan.expect = rules(expect);
    plan
}

fn usual(fields: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n{body}").into_bytes()
}

fn chunked(body: &str) -> Vec<u8> {
    let (first, second) = body.split_at(body.len() / 2);
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-A: b\r\n\r\n";
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    format!("{head}{}{}0\r\nX-T: 1\r\n\r\n", chunk(first), chunk(second)).into_bytes()
}

/// What a run with these expectations records where each answer comes in these pieces.
fn answered(expect: &[&str], pieces: &[Vec<u8>]) -> Record {
    let plan = counted(3, expect);
    let pieces = pieces.to_vec();
    let server = Says::new(move |_, _| pieces.clone());
    recorded(&plan, run(&plan, 1, Faults::none(), server))
}

/// The same, of an answer that comes whole and byte by byte: what came instead, if it isn't met.
fn came(expect: &[&str], answer: &[u8]) -> Option<String> {
    let bytes: Vec<Vec<u8>> = answer.iter().map(|byte| vec![*byte]).collect();
    let outcomes = [vec![answer.to_vec()], bytes].map(|pieces| {
        let record = answered(expect, &pieces);
        let unmet = record.unexpected_answers.first().cloned();
        let failed = unmet.as_ref().map_or(0, |unmet| unmet.failed);
        assert!(failed == 0 || failed == 3, "{failed}");
        assert_eq!(record.exchanges.failed, failed, "{:?}", record.errors);
        assert_eq!(record.exchanges.completed, 3 - failed);
        let counted = record.errors.get("unexpected_answer").copied();
        assert_eq!(counted.unwrap_or(0), failed);
        unmet.map(|unmet| unmet.came.unwrap())
    });
    let [whole, in_pieces] = outcomes;
    // Each run has a key of its own.
    let plain = |came: &Option<String>| came.as_deref().map(without_hashes);
    assert_eq!(plain(&whole), plain(&in_pieces));
    whole
}

#[test]
fn an_answer_meets_a_rule_or_it_is_told_what_came() {
    let json = r#"{"ok":true,"n":1.0,"big":9007199254740993,"list":[{"id":7},{"id":8}],"s":"a b"}"#;
    let usual = |fields: &str| usual(fields, json);
    let table: [(&str, Option<&str>); 34] = [
        ("status=200", None),
        ("status=2xx", None),
        ("header:content-TYPE", None),
        ("header:content-type~json", None),
        ("header:content-type=application/json", None),
        ("header:content-type=json", Some("application/json")),
        ("header:etag", Some("no such header")),
        ("header:etag=1", Some("no such header")),
        ("header:x-two=2", None),
        ("header:x-two~3", Some("1")),
        ("header:x-none=", None),
        ("header:x-none~a", Some("an empty value")),
        ("body~\"ok\":true", None),
        ("body~nothing", Some(json)),
        ("body=ok", Some(json)),
        ("json:$.ok", None),
        ("json:$.ok=true", None),
        ("json:$.ok=\"true\"", Some("true")),
        ("json:$.n=1", None),
        ("json:$.n=2", Some("1.0")),
        ("json:$.big=9007199254740993", None),
        ("json:$.big=9007199254740992", Some("9007199254740993")),
        ("json:$.list[*].id=8", None),
        ("json:$.list[*].id=9", Some("7")),
        ("json:$.list[?@.id == 8]", None),
        ("json:$.list[0]={\"id\":7}", None),
        ("json:$.list[0]={\"id\":7.0}", None),
        ("json:$.list=[{\"id\":7e0},{\"id\":8.0}]", None),
        ("json:$.list[0]={\"id\":7.5}", Some("{\"id\":7}")),
        ("json:$.list~\"id\":8", None),
        ("json:$.s=a b", None),
        ("json:$.s=\"a b\"", None),
        ("json:$.s~ ", None),
        ("json:$.s~c", Some("a b")),
    ];
    let fields = "Content-Type: application/json\r\nX-Two: 1\r\nX-Two: 2\r\nX-None:\r\n";
    for (rule, expected) in table {
        assert_eq!(came(&[rule], &usual(fields)).as_deref(), expected, "{rule}");
    }
    let none = came(&["json:$.none"], &usual(fields)).unwrap();
    assert!(none.starts_with("no such value in {\"ok\":true,"), "{none}");
    for rule in ["body~list", "json:$.list[1].id=8", "header:x-a=b"] {
        assert_eq!(came(&[rule], &chunked(json)), None, "{rule} in chunks");
    }
    // What stands behind the body is no header.
    let trailer = came(&["header:x-t"], &chunked(json));
    assert_eq!(trailer.as_deref(), Some("no such header"));
}

#[test]
fn an_answer_without_a_body_or_without_json_says_so() {
    let empty = usual("", "");
    assert_eq!(came(&["body="], &empty), None);
    for rule in ["body=a", "body~a", "json:$"] {
        assert_eq!(came(&[rule], &empty).as_deref(), Some("no body"), "{rule}");
    }
    let page = usual("", "<html><body>Not here</body></html>");
    let told = came(&["json:$.a"], &page);
    assert_eq!(told.as_deref(), Some("not JSON: Not here"));
    let gone = b"HTTP/1.1 204 No Content\r\n\r\n";
    assert_eq!(came(&["status=204"], gone), None);
    assert_eq!(came(&["body~a"], gone).as_deref(), Some("no body"));
}

#[test]
fn an_expected_status_counts_instead_of_the_usual_ones() {
    let gone = b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nlost";
    assert_eq!(came(&["status=404"], gone), None);
    assert_eq!(came(&["status=404", "body=lost"], gone), None);
    let found = usual("", "found");
    for (rule, answer, expected) in [
        ("status=200", &gone[..], "404: lost"),
        ("status=3xx,404", &found, "200: found"),
    ] {
        let record = answered(&[rule], &[answer.to_vec()]);
        assert_eq!(record.errors.get("unexpected_answer"), Some(&3));
        let came = record.unexpected_answers[0].came.as_deref();
        assert_eq!(came, Some(expected));
    }
    // Without a rule about it, it is judged as ever, and before all others.
    let record = answered(&["body=found"], &[gone.to_vec()]);
    assert_eq!(record.errors.get("unexpected_status"), Some(&3));
    assert_eq!(record.unexpected_answers, []);
    let body = record.unexpected_bodies.get("404").map(String::as_str);
    assert_eq!(body, Some("lost"));
}

#[test]
fn of_several_rules_the_first_that_is_not_met_counts() {
    let answer = usual("X-A: 1\r\n", "{}");
    let all = ["json:$.a", "header:x-a=2", "body~{"];
    assert_eq!(came(&all, &answer).as_deref(), Some("1"));
    let record = answered(&all, &[answer]);
    let expected: Vec<&str> = record
        .unexpected_answers
        .iter()
        .map(|unmet| &*unmet.expected)
        .collect();
    assert_eq!(expected, ["header:x-a=2"], "the head comes before the body");
}

#[test]
fn a_body_that_ends_with_its_connection_is_looked_into() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let pieces = [head, b"all is".to_vec(), b" well".to_vec(), Vec::new()];
    for (rule, failed) in [("body=all is well", 0), ("body~ill", 3)] {
        let record = answered(&[rule], &pieces);
        assert_eq!(record.exchanges.failed, failed, "{rule}");
        assert_eq!(record.exchanges.completed, 3 - failed);
    }
}

#[test]
fn a_body_that_is_too_long_is_not_looked_into() {
    let mut body = "a".repeat(1 << 20);
    assert_eq!(
        answered(&["body~aa"], &[usual("", &body)]).exchanges.failed,
        0
    );
    body.push('a');
    let record = answered(&["body~aa"], &[usual("", &body)]);
    assert_eq!(record.exchanges.failed, 3);
    let told = record.unexpected_answers[0].came.clone().unwrap();
    assert!(told.starts_with("a body of more than 1 MiB"), "{told}");
    // Where no rule asks for it, its length doesn't matter.
    let record = answered(&["header:content-length=1048577"], &[usual("", &body)]);
    assert_eq!(record.exchanges.completed, 3);
}

#[test]
fn some_answers_fail_and_thresholds_see_them() {
    let mut plan = counted(1_000, &["body=yes"]);
    plan.connections = 7;
    let server = Says::new(|n, _| vec![usual("", if n % 4 == 0 { "no" } else { "yes" })]);
    let record = recorded(&plan, run(&plan, 1, Faults::none(), server));
    let exchanges = &record.exchanges;
    assert_eq!((exchanges.completed, exchanges.failed), (750, 250));
    assert_eq!(record.errors.get("unexpected_answer"), Some(&250));
    assert_eq!(record.errors.len(), 1);
    let unmet = Unmet {
        expected: "body=yes".to_owned(),
        step: None,
        failed: 250,
        came: Some("no".to_owned()),
    };
    assert_eq!(record.unexpected_answers, [unmet]);
    // Their times are as good as any.
    assert_eq!(record.response_time_us.count, Some(1_000));
    for (threshold, outcome) in [("errors<20%", Met::Crossed), ("errors<26%", Met::Holds)] {
        let threshold: Threshold = threshold.parse().unwrap();
        let judged = check::judge(&[threshold], &record);
        assert_eq!(judged[0].outcome, outcome, "{judged:?}");
    }
}

/// A page, another one that is created, and one that is gone.
fn mixed() -> Plan {
    let mut plan = plan(Schedule::Constant { rate: 300.0 }, 20, 1.0);
    let mut steps = vec![
        step(1, "GET", "/"),
        step(1, "PUT", "/new"),
        step(1, "GET", "/gone"),
    ];
    steps[1].expect = rules(&["status=201", "header:location"]);
    steps[2].expect = rules(&["status=404", "body~lost"]);
    plan.workload = Some(Workload::new(steps));
    plan.expect = rules(&["status=200", "body~o"]);
    plan
}

fn page(n: u64, line: &str) -> Vec<Vec<u8>> {
    let answer = match line {
        line if line.contains("/new") && n.is_multiple_of(2) => {
            "HTTP/1.1 201 Created\r\nLocation: /1\r\nContent-Length: 2\r\n\r\nno"
        }
        line if line.contains("/new") => "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\nno",
        line if line.contains("/gone") => "HTTP/1.1 404 X\r\nContent-Length: 4\r\n\r\nlost",
        _ => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    };
    vec![answer.as_bytes().to_vec()]
}

#[test]
fn a_step_expects_more_than_all_do_and_another_status() {
    for (pipeline, keep_alive) in [(1, true), (5, true), (1, false)] {
        let mut plan = mixed();
        (plan.pipeline, plan.keep_alive) = (pipeline, keep_alive);
        if let Some(workload) = &mut plan.workload {
            workload.pick = Pick::Random;
        }
        let server = Says::new(move |n, line: &str| {
            let mut pieces = page(n, line);
            if !keep_alive {
                pieces.push(Vec::new());
            }
            pieces
        });
        let record = recorded(&plan, run(&plan, 1, Faults::none(), server));
        let [home, new, gone] = record.steps.as_slice() else {
            panic!("three steps, and not {:?}", record.steps);
        };
        assert_eq!((home.failed, gone.failed), (0, 0));
        assert!(home.completed > 50 && gone.completed > 50);
        assert!(new.completed > 20 && new.failed > 20, "{new:?}");
        assert_eq!(new.errors.get("unexpected_answer"), Some(&new.failed));
        assert_eq!(record.exchanges.failed, new.failed);
        let unmet = Unmet {
            expected: "header:location".to_owned(),
            step: Some("PUT /new".to_owned()),
            failed: new.failed,
            came: Some("no such header".to_owned()),
        };
        assert_eq!(record.unexpected_answers, [unmet]);
    }
}

#[test]
fn over_http2_answers_are_held_against_rules_too() {
    let http2 = Http2 {
        streams: 10,
        ..Http2::default()
    };
    for (rule, came) in [
        ("body=ok", None),
        ("header:Content-Type~plain", None),
        ("status=2xx", None),
        ("body~no", Some("ok")),
        ("header:content-type=x", Some("text/plain")),
        ("header::status", None),
        ("status=404", Some("200: ok")),
        ("json:$", Some("not JSON: ok")),
    ] {
        let Ok(rule) = rule.parse::<Expect>() else {
            assert_eq!(rule, "header::status", "what is no field is no header");
            continue;
        };
        for is_mixed in [false, true] {
            let mut plan = counted(200, &[]);
            plan.connections = 2;
            plan.protocol = Protocol::Http2 { http2 };
            if is_mixed {
                let mut steps = vec![step(1, "GET", "/"), step(1, "GET", "/b")];
                steps[1].expect = vec![rule.clone()];
                plan.workload = Some(Workload::new(steps));
            } else {
                plan.expect = vec![rule.clone()];
            }
            let record = recorded(&plan, run(&plan, 1, Faults::none(), answering(MS)));
            let asked = if is_mixed { 100 } else { 200 };
            let failed = came.map_or(0, |_| asked);
            assert_eq!(record.exchanges.failed, failed, "{rule}");
            assert_eq!(record.exchanges.completed, 200 - failed, "{rule}");
            let told = record.unexpected_answers.first();
            let told = told.and_then(|unmet| unmet.came.as_deref());
            assert_eq!(told, came, "{rule}");
        }
    }
}

#[test]
fn what_came_is_told_without_secrets() {
    let answer = usual(
        "Set-Cookie: canary-1\r\n",
        r#"{"access_token":"canary-2","user":{"password":"canary-3"}}"#,
    );
    for rule in [
        "header:set-cookie=a",
        "json:$.access_token=a",
        "json:$.user=a",
        "body=a",
    ] {
        let told = came(&[rule], &answer).unwrap();
        assert!(!told.contains("canary"), "{rule}: {told}");
    }
    let told = came(&["body=a"], &usual("", "\u{1b}[2Jgone")).unwrap();
    assert!(!told.contains('\u{1b}') && told.contains("gone"), "{told}");
}

#[test]
fn a_compressed_body_is_looked_into_where_it_was_asked_for() {
    let said = |coding: &str, body: &[u8]| {
        let length = body.len();
        let fields = format!("Content-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n");
        [b"HTTP/1.1 200 OK\r\n", fields.as_bytes(), body].concat()
    };
    let came = |compressed: bool, rule: &str, answer: &[u8]| {
        let mut plan = counted(3, &[rule]);
        plan.compressed = compressed;
        let (first, second) = answer.split_at(answer.len() - 1);
        let pieces = vec![first.to_vec(), second.to_vec()];
        let server = Says::new(move |_, _| pieces.clone());
        let record = recorded(&plan, run(&plan, 1, Faults::none(), server));
        let unmet = record.unexpected_answers.first();
        let came = unmet.and_then(|unmet| unmet.came.clone());
        assert_eq!(record.exchanges.failed, if came.is_some() { 3 } else { 0 });
        came
    };
    let json = gzip(br#"{"ok": "ja"}"#);
    let bomb = gzip(&vec![b'x'; 2 << 20]);
    let unknown = "a body that is compressed in another way than gzip or deflate";
    for (rule, answer, expected) in [
        ("json:$.ok=ja", said("gzip", &json), None),
        ("body~\"ok\"", said("x-gzip", &json), None),
        ("json:$.ok=no", said("gzip", &json), Some("ja")),
        (
            "body~x",
            said("gzip", b"x"),
            Some("a body that isn't compressed as it says"),
        ),
        ("body~x", said("br", b"x"), Some(unknown)),
        ("body~x", said("identity", b"x"), None),
        ("body~x", said("gzip", b""), Some("no body")),
        ("header:content-encoding=br", said("br", b"x"), None),
    ] {
        assert_eq!(came(true, rule, &answer).as_deref(), expected, "{rule}");
    }
    let told = came(true, "body~x", &said("gzip", &bomb)).unwrap();
    assert!(told.starts_with("a body of more than 1 MiB"), "{told}");
    // Without the flag it is looked into as it came.
    let flag = "a body that is compressed; --compressed asks for gzip or deflate, and decodes it";
    let broken = b"\x1b\x05\x00x";
    for (rule, answer, expected) in [
        ("body~ok", said("gzip", &json), Some(flag)),
        ("json:$.ok=ja", said("gzip", &json), Some(flag)),
        ("json:$.ok=ja", said("br", broken), Some(flag)),
        ("json:$.ok=ja", said("ZSTD", broken), Some(flag)),
        ("json:$.ok=ja", said("br", b""), Some("no body")),
        ("json:$.ok=ja", said("Identity", b"x"), Some("not JSON: x")),
        ("json:$.ok", said("br", br#"{"ok": "ja"}"#), None),
        ("body~x", said("br", broken), None),
        ("body~x", said("gzip", b"Hello"), Some(flag)),
    ] {
        assert_eq!(came(false, rule, &answer).as_deref(), expected, "{rule}");
    }
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}
