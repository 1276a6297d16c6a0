use std::io::Write;

use plan::protocol::{Compress, Protocol};
use plan::schedule::Schedule;
use plan::workload::{Data as Rows, Order};
use plan::{Plan, Workload};
use proto::grpc::{Event, Messages};
use proto::gzip;
use serde_json::Value;

use super::*;
use crate::{Maker, Said as Sent, Source, examples};

/// A method whose messages are the texts of strings.
#[derive(Debug)]
struct Words(CallKind);

impl Encoder for Words {
    fn kind(&self) -> CallKind {
        self.0
    }

    fn messages(&self, json: &[u8], shown: bool) -> Result<Vec<Vec<u8>>, String> {
        let read: Result<Value, _> = serde_json::from_slice(json);
        let word = |value: &Value| match value {
            Value::String(text) => Ok(text.clone().into_bytes()),
            other if shown => Err(format!("{other} isn't a text")),
            _ => Err("it isn't a text".to_owned()),
        };
        match read.map_err(|_| "no JSON".to_owned())? {
            Value::Array(words) => words.iter().map(word).collect(),
            value => Ok(vec![word(&value)?]),
        }
    }
}

fn step(method: &str, headers: &[(&str, &str)], body: &str) -> Step {
    let mut step = crate::formats::of_url(
        &format!("grpc://x/a.B/{method}"),
        &crate::formats::Defaults {
            headers: headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            body: Some(body.as_bytes().to_vec()),
            method: None,
        },
    )
    .unwrap();
    step.at = Some(format!("a.http:{}", method.len()));
    step
}

fn plan(steps: Vec<Step>) -> Plan {
    let mut plan = Plan::new("grpc://x/a.B/One").unwrap();
    plan.schedule = Schedule::Constant { rate: 1.0 };
    if let Protocol::Grpc { call, .. } = &mut plan.protocol {
        *call = Call::of_workload(Some(1.5));
    }
    let mut workload = Workload::new(steps);
    for (path, kind) in [
        ("/a.B/One", CallKind::Unary),
        ("/a.B/Many", CallKind::Bidirectional),
        ("/a.B/Feed", CallKind::ClientStream),
    ] {
        workload.methods.add(path, Arc::new(Words(kind)));
    }
    plan.workload = Some(workload);
    plan
}

fn maker(plan: &Plan) -> Maker {
    plan.validate().unwrap();
    Maker::new(Source::of(plan).unwrap().unwrap(), 0).unwrap()
}

/// The messages in what is sent, none of which is compressed.
fn words(body: &[u8]) -> Vec<String> {
    let read = read(body).into_iter();
    read.map(|(compressed, word)| {
        assert!(!compressed);
        String::from_utf8(word).unwrap()
    })
    .collect()
}

/// The messages in what is sent as they are there, and whether each is compressed.
fn read(mut body: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut reader = Messages::new(1 << 20);
    let mut read = Vec::new();
    while let Some(event) = reader.next(&mut body).unwrap() {
        match event {
            Event::Begin { compressed, .. } => read.push((compressed, Vec::new())),
            Event::Bytes(bytes) => read.last_mut().unwrap().1.extend_from_slice(bytes),
            Event::End => {}
        }
    }
    reader.ended().unwrap();
    read
}

/// The block of a call, and its messages.
type Made = (Vec<u8>, Vec<String>);

/// What the next call says: that of a constant one is left out.
fn next(maker: &mut Maker) -> (Said, Option<Made>) {
    let step = maker.next_step();
    match maker.say(step) {
        Sent::Call(said, _) => (said, None),
        Sent::CallBlock(said, block, body) => (said, Some((block.to_vec(), words(body)))),
        other => panic!("a call was asked for, and not {other:?}"),
    }
}

fn said(messages: u32, answers_many: bool) -> Said {
    Said {
        messages,
        answers_many,
    }
}

#[test]
fn each_step_has_its_own_kind_and_messages_and_constant_ones_are_encoded_once() {
    let steps = vec![
        step("One", &[], "\"a\""),
        step("Many", &[], "[\"a\", \"b\"]"),
        step("One", &[("x-id", "{{seq}}")], "\"c\""),
        step("Feed", &[], "[\"{{seq}}\", \"d\"]"),
    ];
    let mut maker = maker(&plan(steps));
    for n in [1, 3] {
        assert_eq!(next(&mut maker), (said(1, false), None));
        assert_eq!(next(&mut maker), (said(2, true), None));
        let (call, made) = next(&mut maker);
        let (block, words) = made.unwrap();
        assert_eq!((call, words), (said(1, false), vec!["c".to_owned()]));
        let ends = format!("x-id\x01{n}").into_bytes();
        assert!(block.ends_with(&ends), "{}", block.escape_ascii());
        let (call, made) = next(&mut maker);
        let sent = [(n + 1).to_string(), "d".to_owned()];
        assert_eq!((call, made.unwrap().1), (said(2, false), sent.to_vec()));
    }
}

#[test]
fn messages_are_compressed_once_or_as_they_are_filled_in() {
    let steps = vec![
        step("Many", &[], "[\"a\", \"\", \"b\"]"),
        step("One", &[("x-id", "{{seq}}")], "\"c\""),
        step("Feed", &[], "[\"{{seq}}\", \"d\"]"),
    ];
    let mut plan = plan(steps);
    plan.compress = Some(Compress::Gzip);
    let mut maker = maker(&plan);
    let mut next = || {
        let step = maker.next_step();
        let (block, body) = match maker.say(step) {
            Sent::Call(_, request) => {
                let mut block = Vec::new();
                for (name, value) in request.head().fields().iter() {
                    http2::hpack::block::field(name, value, &mut block);
                }
                (block, request.body().to_vec())
            }
            Sent::CallBlock(_, block, body) => (block.to_vec(), body.to_vec()),
            other => panic!("a call was asked for, and not {other:?}"),
        };
        let mut says = Vec::new();
        http2::hpack::block::field(b"grpc-encoding", b"gzip", &mut says);
        http2::hpack::block::field(b"grpc-accept-encoding", b"gzip,identity", &mut says);
        let says = block.windows(says.len()).any(|part| part == says);
        assert!(says, "{}", block.escape_ascii());
        read(&body)
            .into_iter()
            .map(|(compressed, word)| {
                assert_eq!(compressed, !word.is_empty());
                let mut text = Vec::new();
                if compressed {
                    gzip::unpack(&word, 9, &mut text).unwrap();
                }
                String::from_utf8(text).unwrap()
            })
            .collect::<Vec<_>>()
    };
    for n in ["2", "4"] {
        assert_eq!(next(), ["a", "", "b"]);
        assert_eq!(next(), ["c"]);
        assert_eq!(next(), [n, "d"]);
    }
}

#[test]
fn the_fields_of_a_call_with_templates_are_those_of_any_other() {
    for compress in [None, Some(Compress::Gzip)] {
        fields_are_alike(compress);
    }
}

fn fields_are_alike(compress: Option<Compress>) {
    let plan = |steps| {
        let mut plan = plan(steps);
        plan.compress = compress;
        plan
    };
    let headers = [("X-A", "b"), ("Host", "y:9"), ("raw-bin", "AP8=")];
    let with = |more: (&'static str, &'static str)| {
        let headers: Vec<_> = headers.into_iter().chain([more]).collect();
        step("One", &headers, "\"a\"")
    };
    let of = |step: Step| {
        let plan = plan(vec![step]);
        let columns: &[String] = &[];
        let recipe = Recipe::of(
            &plan.workload.as_ref().unwrap().steps[0],
            Encoding::Grpc {
                timeout: Some(Duration::from_millis(1500)),
                compression: plan.contact().compression,
            },
            columns,
        );
        let mut chance = Chance::new(1, 0, 1, unix_nanoseconds);
        let mut out = Vec::new();
        let recipe = recipe.unwrap().unwrap();
        let at = recipe.make(&(), &mut chance, &mut out);
        out.truncate(at);
        out
    };
    // `\{{` is text, so that a recipe makes what a call without templates has, too.
    let made = of(with(("x-b", "\\{{ c")));
    let constant = plan(vec![with(("x-b", "{{ c"))]);
    let step = &constant.workload.as_ref().unwrap().steps[0];
    let call = call(&constant, step).unwrap();
    let request = contact(&constant, step, call).http2().unwrap();
    let mut expected = Vec::new();
    for (name, value) in request.head().fields().iter() {
        http2::hpack::block::field(name, value, &mut expected);
    }
    assert_eq!(
        made.escape_ascii().to_string(),
        expected.escape_ascii().to_string()
    );
    let filled = of(with(("x-b", "{{pick \u{fc}}} {{seq}} ")));
    assert!(
        filled.ends_with(b"x-b\x04?? 1"),
        "{}",
        filled.escape_ascii()
    );
}

#[test]
fn what_cannot_be_sent_says_where_it_stands_and_no_value() {
    let table = [
        (step("One", &[], "4"), "a.http:3: 4 isn't a text"),
        (
            step("One", &[], "{{seq}}"),
            "a.http:3: with its values filled in, it isn't a text",
        ),
        (
            step("Feed", &[], "[{{seq}}"),
            "a.http:4: with its values filled in, no JSON",
        ),
        (
            step("Feed", &[("x", "{{seq}}")], "[]"),
            "a.http:4: the array has no message, which only calls without templates can have",
        ),
        (
            step("None", &[], "\"a\""),
            "a.http:4: nothing describes the method a.B/None",
        ),
        (
            step("One", &[("x-bin", "{{seq}}")], "\"a\""),
            "a.http:3: the field x-bin can't have values put into it: a name that ends in -bin",
        ),
        (
            step("One", &[("x-bin", "!"), ("y", "{{seq}}")], "\"a\""),
            "a.http:3: the name of the metadata x-bin ends in -bin, so its value must be base64",
        ),
        (
            step("One", &[("grpc-encoding", "{{seq}}")], "\"a\""),
            "a.http:3: the metadata name grpc-encoding is one that gRPC itself uses",
        ),
    ];
    for (step, expected) in table {
        let Invalid(text) = Source::of(&plan(vec![step])).unwrap_err();
        assert!(text.starts_with(expected), "{text}");
    }
}

fn with_rows(steps: Vec<Step>, rows: &str) -> (tempfile::NamedTempFile, Plan) {
    let mut file = tempfile::Builder::new().suffix(".csv").tempfile().unwrap();
    file.write_all(rows.as_bytes()).unwrap();
    let mut plan = plan(steps);
    plan.workload.as_mut().unwrap().data = Some(Rows {
        file: file.path().to_owned(),
        order: Order::InTurn,
    });
    (file, plan)
}

#[test]
fn a_row_that_does_not_fit_ends_the_load_and_what_a_server_refuses_then_was_tried_before() {
    let steps = vec![step("One", &[], "{{x}}"), step("One", &[], "{{y}}")];
    let quoted = |word: &str| format!("\"\"\"{word}\"\"\"");
    let rows = format!(
        "x,y\n{},{}\n5,{}\n7,8\n",
        quoted("a"),
        quoted("z"),
        quoted("b")
    );
    let (_file, plan) = with_rows(steps, &rows);
    let mut maker = maker(&plan);
    assert_eq!(maker.ready(9), 2);
    let sent = [0, 1].map(|_| next(&mut maker).1.unwrap().1.concat());
    assert_eq!(sent, ["a", "b"]);
    assert!(maker.is_over() && !maker.make_ahead());
    let why = maker.broken().expect("a row that doesn't fit");
    assert_eq!(why, "a.http:3: with its values filled in, it isn't a text");
    // With the last good row the second can be made again, and the first can't.
    for (step, expected) in [(1, "b"), (0, "a")] {
        let Sent::CallBlock(call, _, body) = maker.say(step) else {
            panic!("a call was asked for");
        };
        assert_eq!(
            (call, words(body).concat()),
            (said(1, false), expected.to_owned())
        );
    }
}

#[test]
fn values_are_escaped_where_they_stand_in_json() {
    let steps = vec![step("One", &[], "\"say {{word}}\"")];
    let (_file, plan) = with_rows(steps, "word\n\"a \"\"b\"\" \\\"\n");
    let made = next(&mut maker(&plan)).1.unwrap();
    assert_eq!(made.1, ["say a \"b\" \\"]);
}

#[test]
fn an_example_is_a_plan_of_one_call() {
    let steps = vec![
        step("One", &[("x-id", "{{word}}")], "\"say {{word}}\""),
        step("Many", &[], "[\"a\", \"b\"]"),
    ];
    let (_file, plan) = with_rows(steps, "word\nann\n");
    let made = examples(&plan, 9).unwrap();
    let calls: Vec<_> = made
        .iter()
        .map(|example| {
            example.plan.validate().unwrap();
            let Protocol::Grpc { call, .. } = &example.plan.protocol else {
                panic!("a call was asked for");
            };
            let path = example.plan.target.path.as_str();
            (path, call.kind, call.messages.concat(), example.varies)
        })
        .collect();
    assert_eq!(
        calls,
        [
            ("/a.B/One", CallKind::Unary, b"say ann".to_vec(), true),
            ("/a.B/Many", CallKind::Bidirectional, b"ab".to_vec(), false)
        ]
    );
    let headers = &made[0].plan.request.headers;
    assert_eq!(*headers, [("x-id".to_owned(), "ann".to_owned())]);
}
