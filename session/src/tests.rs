//! Whatever a peer says while nobody takes what is to be sent to it: that stays bounded.

use proto::Violation;
use proto::http1::{HeadMemo, server};
use proto::websocket::server::accept;

use super::*;
use measure::random::Random;
use plan::Plan;
use plan::protocol::{Http2, Message, Protocol};

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
