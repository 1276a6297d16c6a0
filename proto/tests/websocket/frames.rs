//! Frames to the byte: the examples of the RFC, lengths, masks, limits, and the encoder against the
//! reader.

use proto::websocket::{
    HEADER_BYTES_MAX, Limits, Opcode, Reader, Role, Scratch, encode, encode_close, mask,
};

use crate::harness::{BINARY, KEY, LAST, MORE, PING, TEXT, TEXT_BEGIN, frame, read};
use measure::random::Random;

/// RFC 6455 §5.7.
#[test]
fn the_examples_of_the_standard_are_read_and_written() {
    let of = |opcode, last, key, payload: &[u8]| {
        let mut out = Vec::new();
        encode(&mut out, opcode, last, key, payload);
        out
    };
    let check = |role, bytes: &[u8], seen: &str| {
        assert_eq!(read(role, Limits::default(), bytes), seen);
    };
    let hello = b"Hello";
    let single = b"\x81\x05Hello";
    assert_eq!(of(Opcode::Text, true, None, hello), single);
    check(Role::Client, single, "text Hello, end");

    let masked = b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    assert_eq!(of(Opcode::Text, true, Some(KEY), hello), masked);
    check(Role::Server, masked, "text Hello, end");

    let fragments = b"\x01\x03Hel\x80\x02lo";
    let mut written = of(Opcode::Text, false, None, b"Hel");
    encode(&mut written, Opcode::Continuation, true, None, b"lo");
    assert_eq!(written, fragments);
    check(Role::Client, fragments, "text Hello, end");

    let ping = b"\x89\x05Hello";
    assert_eq!(of(Opcode::Ping, true, None, hello), ping);
    check(Role::Client, ping, "ping Hello");
    let pong = b"\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
    assert_eq!(of(Opcode::Pong, true, Some(KEY), hello), pong);
    check(Role::Server, pong, "pong Hello");

    let long = [b'x'; 256];
    let mut expected = b"\x82\x7e\x01\x00".to_vec();
    expected.extend_from_slice(&long);
    assert_eq!(of(Opcode::Binary, true, None, &long), expected);
    let longer = vec![b'x'; 65_536];
    let written = of(Opcode::Binary, true, None, &longer);
    assert_eq!(written[..10], *b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00");
    assert_eq!(written[10..], longer);
}

#[test]
fn a_frame_is_masked_by_clients_only() {
    let masked = "failed 1002 a masked frame from a server (RFC 6455 §5.1)";
    let bare = "failed 1002 an unmasked frame from a client (RFC 6455 §5.1)";
    for first in [TEXT, BINARY, PING, TEXT_BEGIN] {
        let mut input = Vec::new();
        frame(&mut input, Role::Server, first, b"Hello");
        assert_eq!(read(Role::Client, Limits::default(), &input), masked);
        input.clear();
        frame(&mut input, Role::Client, first, b"Hello");
        assert_eq!(read(Role::Server, Limits::default(), &input), bare);
    }
}

#[test]
fn a_length_has_the_one_shortest_form() {
    let long = "failed 1002 a length in more bytes than it needs (RFC 6455 §5.2)";
    let sign = "failed 1002 a payload length with the highest bit set (RFC 6455 §5.2)";
    let table: [(&[u8], &str); 7] = [
        (b"\x82\x7e\x00\x05Hello", long),
        (b"\x82\x7e\x00\x7d", long),
        (b"\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x05Hello", long),
        (b"\x82\x7f\x00\x00\x00\x00\x00\x00\xff\xff", long),
        (b"\x82\x7f\x80\x00\x00\x00\x00\x01\x00\x00", sign),
        (b"\x82\x7f\xff\xff\xff\xff\xff\xff\xff\xff", sign),
        (b"\x82\x7e\x00", ""),
    ];
    for (input, seen) in table {
        assert_eq!(read(Role::Client, Limits::default(), input), seen);
    }
}

#[test]
fn frames_and_messages_have_limits() {
    let limits = Limits {
        frame_bytes: 200,
        message_bytes: 300,
    };
    let check = |frames: &[(u8, usize)], seen: &str| {
        for role in [Role::Client, Role::Server] {
            let mut input = Vec::new();
            for (first, bytes) in frames {
                frame(&mut input, role, *first, &vec![b'x'; *bytes]);
            }
            let text = read(role, limits, &input).replace("xxxxxxxxxx", "X");
            assert_eq!(text, seen, "{frames:?}");
        }
    };
    let (hundred, twice) = ("X".repeat(10), "X".repeat(20));
    let frame_too_big = "failed 1009 a frame longer than the limit (RFC 6455 §10.4)";
    let message_too_big = "failed 1009 a message longer than the limit (RFC 6455 §10.4)";
    check(&[(TEXT, 200)], &format!("text {twice}, end"));
    check(&[(TEXT, 201)], frame_too_big);
    check(
        &[(TEXT_BEGIN, 200), (PING, 0), (LAST, 100)],
        &format!("text {twice}, ping, and {hundred}, end"),
    );
    check(
        &[(TEXT_BEGIN, 200), (MORE, 101), (LAST, 0)],
        &format!("text {twice}, {message_too_big}"),
    );
    // A new message has its whole limit again.
    let two = format!("text {twice}, end, text {twice}, end");
    check(&[(TEXT, 200), (TEXT, 200)], &two);
    // What is announced is judged before it comes.
    let announced = b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff";
    assert_eq!(read(Role::Client, limits, announced), frame_too_big);
}

#[test]
fn masking_is_what_the_standard_defines_at_every_length() {
    for bytes in 0..70 {
        let plain: Vec<u8> = (0..bytes).map(|at| (at * 7) as u8).collect();
        let by_definition: Vec<u8> = (0..bytes).map(|at| plain[at] ^ KEY[at % 4]).collect();
        let mut masked = plain.clone();
        mask(&mut masked, KEY);
        assert_eq!(masked, by_definition);
        mask(&mut masked, KEY);
        assert_eq!(masked, plain);
    }
}

#[test]
fn control_frames_that_are_written_can_be_read_whatever_is_asked_for() {
    let mut out = Vec::new();
    encode(&mut out, Opcode::Ping, false, None, &[b'p'; 200]);
    let seen = read(Role::Client, Limits::default(), &out);
    assert_eq!(seen, format!("ping {}", "p".repeat(125)));
    // 123 bytes of reason: the last character does not fit whole, so it is left out.
    let reason = "\u{e9}".repeat(80);
    out.clear();
    encode_close(&mut out, Some(KEY), 1001, &reason);
    let kept = "\u{e9}".repeat(61);
    let expected = format!("close {}", format!("1001 {kept}").as_bytes().escape_ascii());
    assert_eq!(read(Role::Server, Limits::default(), &out), expected);
}

#[test]
fn a_connection_ends_in_order_only_after_a_close_frame() {
    let ended = |input: &[u8]| {
        let (mut reader, mut input) = (Reader::new(Role::Client, Limits::default()), input);
        while let Ok(Some(_)) = reader.next(&mut input, &mut Scratch::default()) {}
        reader.ended().map_err(|violation| violation.to_string())
    };
    let early = "a connection that ended without a close frame (RFC 6455 §7.1.4)";
    for input in [&b""[..], b"\x81", b"\x81\x05Hel", b"\x81\x05Hello", b"\x88"] {
        assert_eq!(ended(input), Err(early.to_owned()));
    }
    assert_eq!(ended(b"\x88\x00"), Ok(()));
    let reserved = "reserved bits without an extension (RFC 6455 §5.2)";
    assert_eq!(ended(b"\xff"), Err(reserved.to_owned()));
}

/// Messages in random fragments with control frames between them, in every chopping.
#[test]
fn what_the_encoder_writes_the_reader_reads() {
    for seed in 0..40 {
        let mut random = Random::seeded(seed);
        let role = [Role::Client, Role::Server][(seed % 2) as usize];
        let (mut input, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            let letters = (0..random.index(300)).map(|_| b'a' + random.index(26) as u8);
            let text: Vec<u8> = letters.collect();
            write_in_fragments(&mut random, role, &text, &mut input, &mut expected);
        }
        let seen = read(role, Limits::default(), &input);
        assert_eq!(seen, expected.join(", "), "seed {seed}");
    }
}

fn write_in_fragments(
    random: &mut Random,
    role: Role,
    text: &[u8],
    out: &mut Vec<u8>,
    expected: &mut Vec<String>,
) {
    let (mut rest, mut opcode) = (text, Opcode::Text);
    loop {
        let key = (random.index(1 << 32) as u32).to_be_bytes();
        let key = (role == Role::Server).then_some(key);
        let (piece, left) = rest.split_at(random.index(rest.len() + 1));
        let before = out.len();
        encode(out, opcode, left.is_empty(), key, piece);
        assert!(out.len() - before - piece.len() <= HEADER_BYTES_MAX);
        let words = match opcode {
            Opcode::Text => "text ",
            _ => "and ",
        };
        if opcode == Opcode::Text || !piece.is_empty() {
            let words = format!("{words}{}", piece.escape_ascii());
            expected.push(words.trim_end().to_owned());
        }
        if left.is_empty() {
            return expected.push("end".to_owned());
        }
        encode(out, Opcode::Ping, true, key, b"between");
        expected.push("ping between".to_owned());
        (rest, opcode) = (left, Opcode::Continuation);
    }
}
