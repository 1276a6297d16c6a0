//! Whatever a peer says while nobody takes what is to be sent to it: that stays bounded.

use proto::Violation;
use proto::http1::{HeadMemo, server};
use proto::websocket::server::accept;
use proto::websocket::{Opcode, encode};

use super::*;
use measure::random::Random;
use plan::Plan;
use plan::protocol::{Http2, Message, Protocol};
use workload::Said;

/// The most bytes of answers that wait on a connection of HTTP/2, and the word of parting.
const UNSENT_BYTES_MAX: usize = 128 * 1024 + 17;

const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const SETTINGS_ACK: &[u8] = &[0, 0, 0, 4, 1, 0, 0, 0, 0];
const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
/// The status 200, and five bytes of the body behind it.
const HEAD: &[u8] = &[0, 0, 1, 1, 4, 0, 0, 0, 1, 0x88];
const DATA: &[u8] = &[0, 0, 5, 0, 0, 0, 0, 0, 1, b'h', b'e', b'l', b'l', b'o'];

/// A connection of this protocol, and what it says first.
fn open(protocol: Protocol) -> (Wire, Vec<u8>) {
    let mut plan = Plan::new("http://127.0.0.1:80/").unwrap();
    plan.protocol = protocol;
    let speech = Speech::of(&plan.contact()).unwrap();
    let mut out = Vec::new();
    let wire = Wire::open(&speech, &mut Random::new(1, 0), &mut out);
    (wire, out)
}

/// Grants the upgrade that `head` asks for.
fn upgrade(head: &[u8], out: &mut Vec<u8>) {
    let mut machine = server::Server::new(server::Limits::default());
    let mut input = head;
    match machine.next(&mut input, &mut HeadMemo::new()) {
        Ok(Some(server::Event::Request(request))) => accept(&request).unwrap().encode(out),
        other => panic!("{other:?}"),
    }
}

fn hear(wire: &mut Wire, bytes: &[u8], out: &mut Vec<u8>) -> Result<(), Violation> {
    wire.receive(bytes, &mut Memory::default(), out, &mut |_| {})
}

/// Says `frame` a hundred thousand times: how much is to be sent in the end, and what it was told.
fn flooded(wire: &mut Wire, frame: &[u8]) -> (usize, Result<(), Violation>) {
    let mut out = Vec::new();
    for _ in 0..100_000 {
        let heard = hear(wire, frame, &mut out);
        if heard.is_err() {
            return (out.len(), heard);
        }
    }
    (out.len(), Ok(()))
}

#[test]
fn over_http2_a_peer_that_takes_no_answers_is_left_before_they_fill_the_memory() {
    let both = [PING, DATA].concat();
    for (frame, word) in [
        (PING, "too many answers to frames not taken"),
        (DATA, "too many answers to frames not taken"),
        (&both[..], "too many answers to frames not taken"),
        (SETTINGS, "too many frames that bring nothing"),
    ] {
        // Credit is given for each half of such a window.
        let http2 = Http2 {
            stream_window_bytes: 10,
            ..Http2::default()
        };
        let (mut wire, mut out) = open(Protocol::Http2 { http2 });
        hear(&mut wire, SETTINGS, &mut out).unwrap();
        hear(&mut wire, SETTINGS_ACK, &mut out).unwrap();
        wire.begin(0, &mut out);
        hear(&mut wire, HEAD, &mut out).unwrap();
        let (unsent_bytes, heard) = flooded(&mut wire, frame);
        let violation = heard.unwrap_err().to_string();
        assert!(violation.contains(word), "{violation}");
        assert!(unsent_bytes > 1_000, "{frame:?}: {unsent_bytes}");
        assert!(
            unsent_bytes <= UNSENT_BYTES_MAX,
            "{frame:?}: {unsent_bytes}"
        );
    }
}

#[test]
fn over_websocket_a_peer_that_takes_no_answers_is_owed_two_of_them() {
    let message = Message {
        payload: Vec::new(),
        binary: true,
        ping_every_s: None,
    };
    let longest_ping = [&[0x89, 125][..], &[b'?'; 125]].concat();
    let frames: [(&[u8], usize); 4] = [
        // Two bytes of header, four of a mask, and the payload.
        (&longest_ping, 2 + 4 + 125),
        (&[0x89, 0], 2 + 4),
        (&[0x8a, 0], 0),
        (&[0x81, 2, b'h', b'i'], 0),
    ];
    for (frame, each_bytes) in frames {
        let message = message.clone();
        let (mut wire, mut out) = open(Protocol::WebSocket { message });
        let mut answer = Vec::new();
        upgrade(&out, &mut answer);
        hear(&mut wire, &answer, &mut out).unwrap();
        assert!(wire.is_ready());
        let (unsent_bytes, heard) = flooded(&mut wire, frame);
        assert_eq!((unsent_bytes, heard), (each_bytes, Ok(())));
        // The last of them is added when it is sent.
        let mut out = Vec::new();
        wire.flush(&mut out);
        assert_eq!(out.len(), each_bytes);
    }
}

/// A connection of a WebSocket whose messages are those of a flow.
fn in_flow() -> (Wire, Memory) {
    let plan = Plan::new("ws://127.0.0.1:80/").unwrap();
    let speech = Speech::of(&plan.contact()).unwrap().in_flow();
    let (mut said, mut granted) = (Vec::new(), Vec::new());
    let mut wire = Wire::open(&speech, &mut Random::new(1, 0), &mut said);
    upgrade(&said, &mut granted);
    let mut memory = Memory::default();
    let heard = wire.receive(&granted, &mut memory, &mut said, &mut |_| {});
    assert_eq!((heard, wire.is_ready()), (Ok(()), true));
    (wire, memory)
}

/// What a connection is told of these bytes, however they are cut.
fn told(wire: &mut Wire, memory: &mut Memory, bytes: &[u8], cut: usize) -> Vec<Happening> {
    let mut told = Vec::new();
    for piece in bytes.chunks(cut.max(1)) {
        let mut out = Vec::new();
        let heard = wire.receive(piece, memory, &mut out, &mut |one| told.push(one));
        assert_eq!(heard, Ok(()));
    }
    told
}

const MESSAGE: &[u8] = &[0x81, 2, b'h', b'i'];

#[test]
fn the_message_that_ends_an_exchange_of_a_flow_is_the_last_that_it_waits_for() {
    let answered = Happening::Answered {
        place: 0,
        outcome: Outcome::Message,
    };
    for cut in [1, 3, 100] {
        let (mut wire, mut memory) = in_flow();
        let say = |wire: &mut Wire, answers: u32| {
            let mut out = Vec::new();
            let payload = b"hello";
            wire.say(0, Said::Message { payload, answers }, &mut out);
            assert_eq!((out.len(), out[0]), (2 + 4 + 5, 0x81));
            wire.flush(&mut out);
        };
        let mut hear = |wire: &mut Wire, bytes: &[u8]| told(wire, &mut memory, bytes, cut);
        assert_eq!(hear(&mut wire, MESSAGE), [Happening::Message], "unasked");
        say(&mut wire, 0);
        assert_eq!(
            hear(&mut wire, MESSAGE),
            [Happening::Message],
            "nothing waits"
        );
        say(&mut wire, 1);
        let three = MESSAGE.repeat(3);
        let first = [answered, Happening::Message, Happening::Message];
        assert_eq!(hear(&mut wire, &three), first);
        say(&mut wire, 3);
        let last = [Happening::Message, Happening::Message, answered];
        assert_eq!(hear(&mut wire, &three), last);
        // In pieces, with a ping between them.
        say(&mut wire, 1);
        let pieces = [&[0x01, 1, b'h'][..], &[0x89, 0], &[0x80, 1, b'i']].concat();
        assert_eq!(hear(&mut wire, &pieces), [answered]);
        // What began before the message was sent can't answer it.
        assert_eq!(hear(&mut wire, &pieces[..5]), []);
        say(&mut wire, 1);
        assert_eq!(hear(&mut wire, &pieces[5..]), [Happening::Message]);
        assert_eq!(hear(&mut wire, MESSAGE), [answered]);
    }
}

#[test]
fn what_was_said_to_all_is_heard_whatever_stands_around_it_and_however_it_is_cut() {
    let plan = Plan::new("ws://127.0.0.1:80/").unwrap();
    let mark = "of this hold: ";
    let speech = Speech::of(&plan.contact()).unwrap().in_room(mark);
    let (mut said, mut granted) = (Vec::new(), Vec::new());
    let mut wire = Wire::open(&speech, &mut Random::new(1, 0), &mut said);
    upgrade(&said, &mut granted);
    let mut memory = Memory::default();
    told(&mut wire, &mut memory, &granted, 100);
    let mut frame = Vec::new();
    wire.say_to_all(17, &mut frame);
    assert_eq!(frame.len(), 2 + 4 + mark.len() + 3, "a masked frame");

    let from_server = |text: &str| {
        let mut bytes = Vec::new();
        encode(&mut bytes, Opcode::Text, true, None, text.as_bytes());
        bytes
    };
    for cut in [1, 7, 1000] {
        for (text, numbers) in [
            ("of this hold: 17.", &[17][..]),
            ("{\"from\":\"a\",\"text\":\"of this hold: 4.\"}", &[4]),
            ("of this hold: 4.8", &[4]),
            (
                "of this hold: 4.of this hold: 5.\nof this hold: 5.",
                &[4, 5, 5],
            ),
            ("of another hold: 17.", &[]),
            ("of this hold: 17", &[]),
            ("of this hold: .", &[]),
            ("of this hold: 4294967296.", &[]),
            ("", &[]),
        ] {
            let heard = told(&mut wire, &mut memory, &from_server(text), cut);
            let numbers = numbers
                .iter()
                .map(|number| Happening::Heard { number: *number });
            assert_eq!(
                heard,
                Vec::from_iter(numbers),
                "{text:?} in pieces of {cut}"
            );
        }
        // In fragments, with a ping between them; and too long to be looked through.
        let mut fragments = Vec::new();
        encode(&mut fragments, Opcode::Text, false, None, b"of this");
        encode(&mut fragments, Opcode::Ping, true, None, b"");
        encode(
            &mut fragments,
            Opcode::Continuation,
            true,
            None,
            b" hold: 3.",
        );
        let heard = told(&mut wire, &mut memory, &fragments, cut);
        assert_eq!(heard, [Happening::Heard { number: 3 }]);
        let long = from_server(&("x".repeat(70_000) + "of this hold: 5."));
        assert_eq!(told(&mut wire, &mut memory, &long, cut), []);
    }
}
