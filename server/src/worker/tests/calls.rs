//! Methods of gRPC for these tests, and what becomes of their calls.

use std::time::Duration;

use proto::grpc::{encode_gzipped, prefix};
use proto::gzip::{self, Gzip};

use super::http2::{DATA, END_STREAM, Told, call, call_with, frame, message, opening, told};
use super::*;
use crate::Request;
use crate::grpc::{Call, Method, Replies, Status};
use crate::{Context, Reply};

/// What [`StandIn`] offers.
pub(super) static METHODS: [Method; 7] = [
    Method::one("/test.Calls/Echo", |_| Box::new(Echo)),
    Method::many("/test.Calls/EchoMany", |_| Box::new(Echo)),
    Method::one("/test.Calls/Watch", |_| Box::new(Watch)),
    Method::one("/test.Calls/Refuse", |_| Box::new(Refuse)),
    Method::one("/test.Calls/Count", |_| Box::<Count>::default()),
    Method::one("/test.Calls/Tell", |request| {
        Box::new(Tell(request.field("grpc-timeout").is_some()))
    }),
    Method::one("/test.Calls/Unsayable", |_| Box::new(Unsayable)),
];

/// Answers each message as it comes.
struct Echo;

impl Call for Echo {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        to.message(message);
    }
}

/// Answers, and goes on for ever.
struct Watch;

impl Call for Watch {
    fn message(&mut self, _: &[u8], to: &mut Replies) {
        to.message(b"so far");
    }

    fn end(&mut self, _: &mut Replies) {}
}

/// Ends badly before it has said anything.
struct Refuse;

impl Call for Refuse {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        to.head_metadata("x-head", b"unsaid");
        to.trailing_metadata("X-Why", message);
        to.finish(Status::NotFound, "it isn't here");
    }
}

/// Answers three times, a second apart.
#[derive(Default)]
struct Count {
    said: u8,
}

impl Call for Count {
    fn message(&mut self, _: &[u8], to: &mut Replies) {
        self.more(to);
    }

    fn end(&mut self, _: &mut Replies) {}

    fn more(&mut self, to: &mut Replies) {
        if self.said == 3 {
            return to.finish(Status::Ok, "");
        }
        self.said += 1;
        to.message(&[b'0' + self.said]);
        to.pause(Duration::from_secs(1));
    }
}

/// Says with metadata what it was told of its request.
struct Tell(bool);

impl Call for Tell {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        to.head_metadata("x-limited", if self.0 { b"yes" } else { b"no" });
        to.message(message);
        to.head_metadata("x-limited", b"twice");
        to.trailing_metadata("x-done-bin", b"AAEC");
    }
}

/// Answers with metadata that can't be sent.
struct Unsayable;

impl Call for Unsayable {
    fn message(&mut self, message: &[u8], to: &mut Replies) {
        to.trailing_metadata("grpc-status", message);
        to.message(message);
    }
}

/// What comes of one call with one message.
fn called(seed: u64, faults: Faults, path: &str, text: &[u8]) -> Told {
    let data = frame(DATA, END_STREAM, 1, &message(text));
    let bytes = [opening(), call(1, path, "1H"), data].concat();
    let client = Script {
        sends: vec![(0, bytes)],
        ..Script::default()
    };
    let (heard, _) = heard(seed, faults, &client, 20 * SECOND);
    let (mut streams, _) = told(&heard.bytes);
    streams.remove(&1).expect("it was answered")
}

/// The messages in what came, and whether each was compressed.
fn messages(mut data: &[u8]) -> Vec<(bool, Vec<u8>)> {
    let mut messages = Vec::new();
    while let Some((prefix, rest)) = data.split_first_chunk::<5>() {
        let [flag, length @ ..] = *prefix;
        let (bytes, rest) = rest.split_at(u32::from_be_bytes(length) as usize);
        let mut plain = bytes.to_vec();
        if flag == 1 {
            plain.clear();
            gzip::unpack(bytes, 1 << 20, &mut plain).expect("gzip");
        }
        messages.push((flag == 1, plain));
        data = rest;
    }
    messages
}

/// What comes of calls with these messages of which every second is compressed, and with these
/// fields.
fn called_compressed(path: &str, texts: &[&[u8]], fields: &[(&str, &str)]) -> Told {
    let (mut gzip, mut body) = (Gzip::default(), Vec::new());
    for (text, at) in texts.iter().zip(0..) {
        match at % 2 {
            0 => encode_gzipped(text, &mut gzip, &mut body).unwrap(),
            _ => body.extend(message(text)),
        }
    }
    let data = frame(DATA, END_STREAM, 1, &body);
    let bytes = [opening(), call_with(1, path, "1H", fields), data].concat();
    let client = Script {
        sends: vec![(0, bytes)],
        ..Script::default()
    };
    let (heard, _) = heard(1, Faults::rough(), &client, 20 * SECOND);
    let (mut streams, _) = told(&heard.bytes);
    streams.remove(&1).expect("it was answered")
}

const SENDS: (&str, &str) = ("grpc-encoding", "gzip");
const ACCEPTS: (&str, &str) = ("grpc-accept-encoding", "identity,gzip");

#[test]
fn who_compresses_is_answered_compressed_if_that_is_taken() {
    let texts = [&[b'a'; 5000][..], b"b", b"c"];
    for (path, answers) in [("Echo", &texts[..1]), ("EchoMany", &texts[..])] {
        let path = format!("/test.Calls/{path}");
        for (fields, compressed) in [(&[SENDS, ACCEPTS][..], true), (&[SENDS], false)] {
            let said = called_compressed(&path, answers, fields);
            let expected: Vec<_> = answers
                .iter()
                .map(|text| (compressed, text.to_vec()))
                .collect();
            assert_eq!(messages(&said.data), expected, "{said:?}");
            let names = said.fields.contains(&"grpc-encoding: gzip".to_owned());
            assert_eq!(names, compressed, "{said:?}");
            assert!(said.fields.contains(&"grpc-status: 0".to_owned()));
        }
    }
    let plain = [
        opening(),
        call_with(1, "/test.Calls/Echo", "1H", &[ACCEPTS]),
    ]
    .concat();
    let data = frame(DATA, END_STREAM, 1, &message(b"a"));
    let client = Script {
        sends: vec![(0, [plain, data].concat())],
        ..Script::default()
    };
    let (heard, _) = heard(1, Faults::none(), &client, SECOND);
    assert_eq!(
        told(&heard.bytes).0[&1].data,
        message(b"a"),
        "as it was asked"
    );
}

#[test]
fn what_is_said_after_pauses_is_compressed_as_well() {
    let said = called_compressed("/test.Calls/Count", &[b"go on"], &[SENDS, ACCEPTS]);
    let three = [b"1", b"2", b"3"].map(|text| (true, text.to_vec()));
    assert_eq!(messages(&said.data), three);
    assert!(said.fields.contains(&"grpc-status: 0".to_owned()));
}

#[test]
fn messages_that_are_not_what_they_say_end_their_calls() {
    let broken = [&[1, 0, 0, 0, 4][..], b"gzip"].concat();
    let mut bomb = Vec::new();
    encode_gzipped(&vec![0; 20 << 20], &mut Gzip::default(), &mut bomb).unwrap();
    assert!(bomb.len() < 64 * 1024);
    let cut = [&[1][..], &prefix(12)[1..], &bomb[5..17]].concat();
    for (body, encoding, status) in [
        (&broken, "gzip", "13"),
        (&cut, "gzip", "13"),
        (&bomb, "gzip", "8"),
        (&bomb, "identity", "13"),
        (&bomb, "br", "12"),
    ] {
        let fields = [("grpc-encoding", encoding), ACCEPTS];
        let head = call_with(1, "/test.Calls/Echo", "1H", &fields);
        let pieces = body.chunks(16 * 1024).map(|piece| frame(DATA, 0, 1, piece));
        let end = frame(DATA, END_STREAM, 1, b"");
        let bytes = [opening(), head, pieces.collect::<Vec<_>>().concat(), end].concat();
        let client = Script {
            sends: vec![(0, bytes)],
            ..Script::default()
        };
        let (heard, _) = heard(1, Faults::none(), &client, SECOND);
        let said = told(&heard.bytes).0.remove(&1).expect("an answer");
        let line = format!("grpc-status: {status}");
        assert!(said.fields.contains(&line), "{encoding}: {said:?}");
        let accepts = "grpc-accept-encoding: gzip,identity".to_owned();
        assert!(said.fields.contains(&accepts), "{encoding}: {said:?}");
    }
}

#[test]
fn a_call_says_more_after_its_pauses() {
    for seed in 0..20 {
        let said = called(seed, Faults::rough(), "/test.Calls/Count", b"");
        let three = [message(b"1"), message(b"2"), message(b"3")].concat();
        assert_eq!(said.data, three, "seed {seed}");
        assert!(said.fields.contains(&"grpc-status: 0".to_owned()));
    }
    let data = frame(DATA, END_STREAM, 1, &message(b""));
    let bytes = [opening(), call(1, "/test.Calls/Count", "1H"), data].concat();
    let mut stage = Stage::new(1, Faults::none());
    let heard = stage.dial(Script {
        sends: vec![(0, bytes)],
        ..Script::default()
    });
    for (length, count) in [(500, 1), (1000, 2), (1000, 3), (1000, 3)] {
        stage.serve(length * MS, || false);
        let (streams, _) = told(&heard.borrow().bytes);
        assert_eq!(streams[&1].data.len(), count * 6, "{streams:?}");
    }
}

#[test]
fn metadata_stands_where_the_call_has_put_it() {
    let said = called(1, Faults::none(), "/test.Calls/Tell", b"hello");
    assert_eq!(said.data, message(b"hello"));
    let expected = [
        ":status: 200",
        "content-type: application/grpc",
        "x-limited: yes",
        "x-limited: twice",
        "grpc-status: 0",
        "x-done-bin: AAEC",
    ];
    assert_eq!(said.fields, expected);
    // Of a call that ends at once there are only trailers.
    let said = called(1, Faults::none(), "/test.Calls/Refuse", b"because");
    let expected = [
        ":status: 200",
        "content-type: application/grpc",
        "grpc-status: 5",
        "grpc-accept-encoding: gzip,identity",
        "grpc-message: it isn't here",
        "x-why: because",
    ];
    assert_eq!(
        (said.fields, said.data.len()),
        (expected.map(String::from).into(), 0)
    );
    let said = called(1, Faults::none(), "/test.Calls/Unsayable", b"0");
    let line = "grpc-status: 13".to_owned();
    assert!(said.fields.contains(&line), "{said:?}");
    assert_eq!(said.data.len(), 0);
}

#[test]
fn a_call_that_is_used_again_remembers_no_metadata() {
    let mut bytes = opening();
    for (id, path) in [(1, "Tell"), (3, "Echo"), (5, "Refuse"), (7, "Echo")] {
        bytes.extend(call(id, &format!("/test.Calls/{path}"), "1H"));
        bytes.extend(frame(DATA, END_STREAM, id, &message(b"x")));
    }
    let client = Script {
        sends: vec![(0, bytes)],
        ..Script::default()
    };
    let (heard, _) = heard(1, Faults::none(), &client, SECOND);
    let (streams, _) = told(&heard.bytes);
    let plain = [
        ":status: 200",
        "content-type: application/grpc",
        "grpc-status: 0",
    ];
    assert_eq!(streams[&3].fields, plain);
    assert_eq!(streams[&7].fields, plain);
}

/// Opens its calls by itself: they count in the service.
#[derive(Default)]
struct Counter {
    calls: Rc<RefCell<u32>>,
}

struct Numbered(Rc<RefCell<u32>>);

impl Call for Numbered {
    fn message(&mut self, _: &[u8], to: &mut Replies) {
        let mut calls = self.0.borrow_mut();
        *calls += 1;
        to.message_with(|bytes| bytes.extend(calls.to_string().bytes()));
    }
}

impl Service for Counter {
    fn methods(&self) -> &'static [Method] {
        &METHODS[..2]
    }

    fn open_call(&mut self, method: &'static Method, request: &Request<'_>) -> Box<dyn Call> {
        assert_eq!(request.path(), method.path().as_bytes());
        match method.path() {
            "/test.Calls/Echo" => Box::new(Numbered(Rc::clone(&self.calls))),
            _ => method.open(request),
        }
    }

    fn call(&mut self, _: &Request<'_>, _: &mut Context<'_>) -> Reply {
        panic!("a call is no request")
    }
}

#[test]
fn a_service_may_share_something_with_its_calls() {
    let mut stage = Stage::serving(1, Faults::none(), Counter::default());
    let mut bytes = opening();
    for (id, path) in [(1, "Echo"), (3, "EchoMany"), (5, "Echo"), (7, "Watch")] {
        bytes.extend(call(id, &format!("/test.Calls/{path}"), "1H"));
        bytes.extend(frame(DATA, END_STREAM, id, &message(b"x")));
    }
    let heard = stage.dial(Script {
        sends: vec![(0, bytes)],
        ..Script::default()
    });
    stage.serve(SECOND, || false);
    let (streams, _) = told(&heard.borrow().bytes);
    let said = [1, 3, 5].map(|id| streams[&id].data.clone());
    assert_eq!(said, [message(b"1"), message(b"x"), message(b"2")]);
    let line = "grpc-status: 12".to_owned();
    assert!(streams[&7].fields.contains(&line), "it isn't offered");
}
