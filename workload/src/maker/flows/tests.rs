use std::io::Write;

use plan::protocol::{Message, Protocol};
use plan::workload::{Data, Order};
use plan::{Flow, Invalid, Plan, Request, Step, Target, Turn, Workload};

use super::*;

/// A plan with these messages: each with how long the connection rests before, in ms, and how many
/// messages answer it. Behind the last it rests 3 ms.
fn plan(messages: &[(u64, &str, u32)]) -> Plan {
    let step = |(_, text, _): &(u64, &str, u32)| Step {
        name: (*text).to_owned(),
        weight: 1,
        target: Target::parse("ws://x/").unwrap(),
        request: Request {
            method: "GET".to_owned(),
            headers: Vec::new(),
            body: text.as_bytes().to_vec(),
        },
        body_is_template: true,
        expect: Vec::new(),
        at: Some("a.http:1".to_owned()),
    };
    let mut workload = Workload::new(messages.iter().map(step).collect());
    let turns = messages.iter().map(|(ms, _, answers)| Turn {
        rest_s: *ms as f64 / 1e3,
        answers: *answers,
    });
    workload.flow = Some(Flow {
        turns: turns.collect(),
        rest_s: 0.003,
    });
    let mut plan = Plan::new("ws://x/").unwrap();
    plan.workload = Some(workload);
    plan
}

fn flows(plan: &Plan) -> Flows {
    plan.validate().unwrap();
    let source = Source::of(plan).unwrap().unwrap();
    Flows::new(Maker::new(source, 0).unwrap()).unwrap()
}

/// What a connection does next, and is then done: `5ms`, `text`, `text/2` with its answers, `-`.
fn next(flows: &mut Flows, connection: usize) -> String {
    let said = |said: Said<'_>| match said {
        Said::Message { payload, answers } => {
            (String::from_utf8_lossy(payload).into_owned(), answers)
        }
        other => panic!("{other:?}"),
    };
    match flows.next(connection) {
        Next::Rest(ns) => format!("{}ms", ns / 1_000_000),
        Next::Message(message) => said(message).0,
        Next::Over => "-".to_owned(),
        Next::Exchange => {
            let step = flows.next_step();
            let (text, answers) = said(flows.say(step));
            format!("{text}/{answers}")
        }
    }
}

fn all(flows: &mut Flows, connections: &[usize]) -> Vec<String> {
    connections
        .iter()
        .map(|index| next(flows, *index))
        .collect()
}

fn data(rows: &[u8], order: Order) -> (tempfile::NamedTempFile, Data) {
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    file.write_all(rows).unwrap();
    let data = Data {
        file: file.path().to_owned(),
        order,
    };
    (file, data)
}

#[test]
fn each_connection_goes_through_all_turns_by_itself_again_and_again() {
    let plan = plan(&[(5, "a", 1), (0, "b", 0), (2, "c", 2)]);
    let mut flows = flows(&plan);
    let once = ["5ms", "a/1", "b", "2ms", "c/2"];
    assert_eq!(all(&mut flows, &[0; 5]), once);
    // Another one begins, and disturbs nothing. The rests at the end and the beginning are one.
    assert_eq!(
        all(&mut flows, &[7, 0, 7, 0, 7, 7]),
        ["5ms", "8ms", "a/1", "a/1", "b", "2ms"]
    );
    assert_eq!(all(&mut flows, &[0; 4]), ["b", "2ms", "c/2", "8ms"]);
    assert_eq!(next(&mut flows, 7), "c/2");
}

#[test]
fn a_connection_that_was_lost_begins_with_the_first_turn() {
    let plan = plan(&[(5, "a", 1), (2, "b", 1)]);
    let mut flows = flows(&plan);
    for done in 0..6 {
        all(&mut flows, &[0, 0, 0, 0, 0][..done.min(5)]);
        flows.start_over(0);
        assert_eq!(
            all(&mut flows, &[0; 5]),
            ["5ms", "a/1", "2ms", "b/1", "8ms"],
            "{done}"
        );
        flows.start_over(0);
    }
    // One that has never begun.
    flows.start_over(99);
}

#[test]
fn all_messages_of_a_pass_share_a_row_and_the_next_pass_takes_the_next() {
    let (_file, data) = data(b"id\n1\n2\n3\n", Order::InTurn);
    let mut plan = plan(&[
        (0, "{\"join\":\"{{id}}\"}", 1),
        (0, "say {{id}} {{seq}}", 1),
    ]);
    let workload = plan.workload.as_mut().unwrap();
    workload.data = Some(data);
    workload.flow.as_mut().unwrap().rest_s = 0.0;
    let mut flows = flows(&plan);
    let sent = all(&mut flows, &[0, 1, 0, 1, 0, 0]);
    let expected = [
        "{\"join\":\"1\"}/1",
        "{\"join\":\"2\"}/1",
        "say 1 1/1",
        "say 2 2/1",
        "{\"join\":\"3\"}/1",
        "say 3 3/1",
    ];
    assert_eq!(sent, expected);
    flows.start_over(1);
    // The row of a connection that was lost isn't dealt again.
    assert_eq!(
        all(&mut flows, &[0, 1]),
        ["{\"join\":\"1\"}/1", "{\"join\":\"2\"}/1"]
    );
    flows.start_over(1);
    assert_eq!(next(&mut flows, 1), "{\"join\":\"3\"}/1");
}

#[test]
fn it_is_over_when_the_last_connection_is_through_and_no_row_is_left() {
    let (_file, data) = data(b"id\n1\n2\n", Order::Once);
    let mut plan = plan(&[(0, "a{{id}}", 1), (0, "b{{id}}", 1), (0, "c", 0)]);
    plan.workload.as_mut().unwrap().data = Some(data);
    let mut flows = flows(&plan);
    assert_eq!(
        all(&mut flows, &[0, 1, 2, 0, 0]),
        ["a1/1", "a2/1", "-", "b1/1", "c"]
    );
    assert_eq!(next(&mut flows, 0), "-", "without a rest before");
    assert!(!flows.is_over(), "the second is at its second message");
    let mut lost = all(&mut flows, &[1, 1]);
    assert_eq!(lost, ["b2/1", "c"]);
    assert!(flows.is_over());
    // The same where the second is lost instead.
    flows = self::flows(&plan);
    lost = all(&mut flows, &[0, 1, 0, 0]);
    assert_eq!(lost, ["a1/1", "a2/1", "b1/1", "c"]);
    flows.start_over(1);
    assert!(flows.is_over() && flows.broken().is_none());
}

#[test]
fn values_are_escaped_where_a_message_is_json() {
    let (_file, data) = data(b"v\n\"a\"\"b\"\n", Order::InTurn);
    let sent = |text: &str, header: Option<&str>| {
        let mut plan = plan(&[(0, text, 1)]);
        let workload = plan.workload.as_mut().unwrap();
        workload.data = Some(data.clone());
        if let Some(value) = header {
            let headers = &mut workload.steps[0].request.headers;
            headers.push(("Content-Type".to_owned(), value.to_owned()));
        }
        next(&mut flows(&plan), 0)
    };
    for (text, header, expected) in [
        ("{\"v\": \"{{v}}\"}", None, "{\"v\": \"a\\\"b\"}/1"),
        (" [\n\"{{v}}\"]", None, " [\n\"a\\\"b\"]/1"),
        // Socket.IO's messages have numbers in front.
        ("42[\"say\",\"{{v}}\"]", None, "42[\"say\",\"a\\\"b\"]/1"),
        ("say \"{{v}}\"", None, "say \"a\"b\"/1"),
        ("{\"v\" \"{{v}}\"}", None, "{\"v\" \"a\"b\"}/1"),
        (
            "say \"{{v}}\"",
            Some("application/json"),
            "say \"a\\\"b\"/1",
        ),
    ] {
        assert_eq!(sent(text, header), expected, "{text}");
    }
}

#[test]
fn a_row_that_no_text_can_hold_ends_it_and_says_so() {
    let (_file, data) = data(b"id\n1\n\xff\n", Order::InTurn);
    let name = data.file.display().to_string();
    let mut plan = plan(&[(0, "a{{id}}", 1)]);
    plan.workload.as_mut().unwrap().data = Some(data);
    let mut text = flows(&plan);
    assert_eq!(all(&mut text, &[0, 1, 0]), ["a1/1", "-", "-"]);
    assert!(text.is_over());
    let why = text.broken().unwrap();
    assert!(
        why.starts_with(&format!("{name}: a row isn't UTF-8")),
        "{why}"
    );
    plan.protocol = Protocol::WebSocket {
        message: Message {
            payload: Vec::new(),
            binary: true,
            ping_every_s: None,
        },
    };
    assert_eq!(all(&mut flows(&plan), &[0, 1]), ["a1/1", "a\u{fffd}/1"]);
}

#[test]
fn what_cannot_follow_each_other_is_refused_with_a_way_out() {
    type Spoil = fn(&mut Plan);
    fn flow(plan: &mut Plan) -> &mut Flow {
        plan.workload.as_mut().unwrap().flow.as_mut().unwrap()
    }
    fn step(plan: &mut Plan) -> &mut Step {
        &mut plan.workload.as_mut().unwrap().steps[1]
    }
    let table: [(&str, Spoil); 15] = [
        ("so would a rate: drop -R or --stages", |plan| {
            plan.schedule = plan::schedule::Schedule::Constant { rate: 1.0 };
        }),
        ("--pipeline must be 1", |plan| plan.pipeline = 2),
        ("--no-keepalive opens one for each exchange", |plan| {
            plan.keep_alive = false
        }),
        ("drop --pick and the weights", |plan| {
            plan.workload.as_mut().unwrap().pick = plan::workload::Pick::Random;
        }),
        ("need a ws:// or wss:// URL", |plan| {
            plan.protocol = Protocol::Http1
        }),
        ("a turn for each message", |plan| {
            flow(plan).turns.truncate(1)
        }),
        ("a.http:1: no message waits for the server", |plan| {
            flow(plan).turns.fill(Turn::default());
        }),
        ("a day at most", |plan| flow(plan).rest_s = f64::NAN),
        ("a day at most", |plan| flow(plan).turns[1].rest_s = 1e6),
        ("more than 10000 messages of the server", |plan| {
            flow(plan).turns[0].answers = 10_001;
        }),
        ("a.http:1: all messages of a flow go to one path", |plan| {
            step(plan).target.path = "/other".to_owned();
        }),
        ("a.http:1: a text message must be UTF-8", |plan| {
            step(plan).request.body = vec![0xff];
        }),
        ("a.http:1: this message waits for no answer", |plan| {
            step(plan).expect = vec!["body~x".parse().unwrap()];
            flow(plan).turns[1].answers = 0;
        }),
        ("a.http:1: a message has no status: expect body", |plan| {
            step(plan).expect = vec!["status=200".parse().unwrap()];
        }),
        ("--expect: a message has no headers", |plan| {
            plan.expect = vec!["header:a".parse().unwrap()];
        }),
    ];
    let base = plan(&[(0, "a", 1), (0, "b", 1)]);
    base.validate().unwrap();
    for (part, spoil) in table {
        let mut plan = base.clone();
        spoil(&mut plan);
        let Invalid(text) = plan.validate().unwrap_err();
        assert!(text.contains(part), "{text}");
    }
    let mut binary = base.clone();
    step(&mut binary).request.body = vec![0xff];
    if let Protocol::WebSocket { message } = &mut binary.protocol {
        message.binary = true;
    }
    binary.validate().unwrap();
}
