//! The cases of the Autobahn test suite as tables, by its numbers. What its client observes through
//! an echo server is here what a reader says; the suite's choppings are a part of the harness's.

use proto::websocket::{Limits, Role};

use crate::harness::{
    BINARY, BINARY_BEGIN, CLOSE, LAST, MORE, PING, PONG, TEXT, TEXT_BEGIN, frame, read,
    read_frames, read_whole,
};

const NOT_UTF8: &str = "failed 1007 a text message that is not UTF-8 (RFC 6455 §8.1)";
const NOTHING_TO_CONTINUE: &str = "failed 1002 a continuation of no message (RFC 6455 §5.4)";
const NOT_CONTINUED: &str = "failed 1002 a message that begins inside another (RFC 6455 §5.4)";
const CONTROL_LENGTH: &str = "failed 1002 a control frame longer than 125 bytes (RFC 6455 §5.5)";
const CONTROL_FRAGMENT: &str = "failed 1002 a control frame in fragments (RFC 6455 §5.5)";
const CLOSE_CODE: &str = "failed 1002 a close code that may not be sent (RFC 6455 §7.4)";

fn check(frames: &[(u8, &[u8])], expected: &str) {
    assert_eq!(read_frames(frames), expected, "{frames:x?}");
}

/// 1.1 and 1.2, 9.1 to 9.6, 10.1: messages at the edges of each length encoding, and long ones.
#[test]
fn messages_of_every_length() {
    for bytes in [0, 1, 125, 126, 127, 128, 300] {
        let payload = "*".repeat(bytes);
        for (first, kind) in [(TEXT, "text"), (BINARY, "binary")] {
            let expected = format!("{kind} {payload}").trim_end().to_owned() + ", end";
            check(&[(first, payload.as_bytes())], &expected);
        }
    }
    for bytes in [65_535, 65_536, 1 << 20] {
        let payload = "*".repeat(bytes);
        for fragment in [bytes, 1300] {
            for role in [Role::Server, Role::Client] {
                let mut input = Vec::new();
                let pieces = payload.as_bytes().chunks(fragment).enumerate();
                for (at, piece) in pieces {
                    let last = (at + 1) * fragment >= bytes;
                    let first = u8::from(at == 0) | if last { LAST } else { MORE };
                    frame(&mut input, role, first, piece);
                }
                let seen = read_whole(role, Limits::default(), &input);
                assert_eq!(seen, format!("text {payload}, end"));
            }
        }
    }
}

/// 2.1 to 2.11.
#[test]
fn pings_and_pongs() {
    check(&[(PING, b"")], "ping");
    check(&[(PING, b"Hello, world!")], "ping Hello, world!");
    check(
        &[(PING, b"\x00\xff\xfe\xfd\xfc\xfb\x00\xff")],
        r"ping \x00\xff\xfe\xfd\xfc\xfb\x00\xff",
    );
    let longest = [b'p'; 125];
    check(&[(PING, &longest)], &format!("ping {}", "p".repeat(125)));
    check(&[(PING, &[b'p'; 126])], CONTROL_LENGTH);
    check(&[(PONG, b"")], "pong");
    check(&[(PONG, b"unsolicited")], "pong unsolicited");
    check(
        &[(PONG, b"unsolicited"), (PING, b"p")],
        "pong unsolicited, ping p",
    );
    let ten: Vec<(u8, &[u8])> = vec![(PING, b"again"); 10];
    check(&ten, &["ping again"; 10].join(", "));
}

/// 3.1 to 3.7: each reserved bit, before and after good frames.
#[test]
fn reserved_bits_fail_the_connection() {
    const FAILED: &str = "failed 1002 reserved bits without an extension (RFC 6455 §5.2)";
    for bits in [0x10, 0x20, 0x30, 0x40, 0x50, 0x60, 0x70] {
        for first in [TEXT, BINARY, PING, PONG, CLOSE, MORE] {
            check(&[(first | bits, b"Hello")], FAILED);
        }
        check(
            &[(TEXT, b"good"), (TEXT | bits, b"bad"), (PING, b"")],
            &format!("text good, end, {FAILED}"),
        );
    }
}

/// 4.1 and 4.2.
#[test]
fn reserved_opcodes_fail_the_connection() {
    const FAILED: &str = "failed 1002 a frame with a reserved opcode (RFC 6455 §5.2)";
    for opcode in (0x3..=0x7).chain(0xb..=0xf) {
        for payload in [&b""[..], b"reserved opcode payload"] {
            check(&[(0x80 | opcode, payload)], FAILED);
            check(
                &[(TEXT, b"good"), (0x80 | opcode, payload), (PING, b"")],
                &format!("text good, end, {FAILED}"),
            );
        }
    }
}

/// 5.1 to 5.20.
#[test]
fn fragments() {
    const FIRST: &[u8] = b"fragment1";
    const SECOND: &[u8] = b"fragment2";
    for first in [0x09, 0x0a, 0x08] {
        check(&[(first, FIRST), (LAST, SECOND)], CONTROL_FRAGMENT);
    }
    check(
        &[(TEXT_BEGIN, FIRST), (LAST, SECOND)],
        "text fragment1fragment2, end",
    );
    check(
        &[(TEXT_BEGIN, FIRST), (PING, b"ping"), (LAST, SECOND)],
        "text fragment1, ping ping, and fragment2, end",
    );
    check(&[(LAST, b"not"), (TEXT, b"good")], NOTHING_TO_CONTINUE);
    check(&[(MORE, b"not"), (TEXT, b"good")], NOTHING_TO_CONTINUE);
    check(
        &[
            (TEXT_BEGIN, FIRST),
            (LAST, SECOND),
            (MORE, b"f3"),
            (TEXT_BEGIN, b"f4"),
        ],
        &format!("text fragment1fragment2, end, {NOTHING_TO_CONTINUE}"),
    );
    for middle in [TEXT_BEGIN, TEXT, BINARY_BEGIN, BINARY] {
        check(
            &[(TEXT_BEGIN, FIRST), (middle, SECOND)],
            &format!("text fragment1, {NOT_CONTINUED}"),
        );
    }
    check(
        &[
            (TEXT_BEGIN, b"1"),
            (MORE, b"2"),
            (PING, b"a"),
            (MORE, b"3"),
            (MORE, b""),
            (MORE, b"4"),
            (PING, b"b"),
            (PONG, b"c"),
            (LAST, b"5"),
        ],
        "text 12, ping a, and 34, ping b, pong c, and 5, end",
    );
    check(
        &[(BINARY_BEGIN, b""), (MORE, b""), (LAST, b"")],
        "binary, end",
    );
    check(
        &[(BINARY_BEGIN, b"\xff"), (CLOSE, b"")],
        r"binary \xff, close",
    );
}

/// 6.1 and 6.2: text across fragments, cut inside of characters too.
#[test]
fn text_may_be_cut_inside_a_character() {
    check(&[(TEXT, b"")], "text, end");
    check(&[(TEXT_BEGIN, b""), (MORE, b""), (LAST, b"")], "text, end");
    check(
        &[
            (TEXT_BEGIN, b""),
            (MORE, b"middle frame payload"),
            (LAST, b""),
        ],
        "text middle frame payload, end",
    );
    let text = "Hello-\u{b5}@\u{df}\u{f6}\u{e4}\u{fc}\u{e0}\u{e1}-UTF-8!! \u{10ffff}";
    let expected = format!("text {}, end", text.as_bytes().escape_ascii());
    for at in 0..=text.len() {
        let (a, b) = text.as_bytes().split_at(at);
        check(&[(TEXT_BEGIN, a), (LAST, b)], &expected);
    }
    let bytes: Vec<(u8, &[u8])> = (text.as_bytes().chunks(1).enumerate())
        .map(|(at, byte)| {
            (
                u8::from(at == 0) | if at + 1 == text.len() { LAST } else { MORE },
                byte,
            )
        })
        .collect();
    check(&bytes, &expected);
}

/// 6.3 and 6.4: the fault is told with the byte that makes it certain, inside of the frame.
#[test]
fn text_that_is_not_utf8_fails_at_once() {
    const GOOD: &[u8] = b"\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5";
    let good = GOOD.escape_ascii();
    let bad = [GOOD, b"\xed\xa0\x80edited"].concat();
    let expected = format!(r"text {good}\xed, {NOT_UTF8}");
    check(&[(TEXT, &bad)], &expected);
    check(
        &[(TEXT_BEGIN, GOOD), (MORE, b"\xed"), (MORE, b"\xa0")],
        &expected,
    );
    check(
        &[
            (TEXT_BEGIN, GOOD),
            (MORE, b"\xf4\x90\x80\x80"),
            (LAST, b"edited"),
        ],
        &format!(r"text {good}\xf4, {NOT_UTF8}"),
    );
    // Half of a frame is enough to know.
    let mut input = Vec::new();
    frame(&mut input, Role::Client, TEXT, &bad);
    let end = input.len() - 6;
    assert_eq!(
        read(Role::Client, Limits::default(), &input[..end]),
        expected
    );
}

/// 6.5 to 6.23: Markus Kuhn's sequences, valid and not.
#[test]
fn what_is_utf8_and_what_is_not() {
    for valid in [
        "\u{3ba}\u{1f79}\u{3c3}\u{3bc}\u{3b5}",
        "\u{0}\u{80}\u{800}\u{10000}",
        "\u{7f}\u{7ff}\u{ffff}\u{10ffff}",
        "\u{d7ff}\u{e000}\u{fffd}\u{fffe}\u{1fffe}\u{feff}",
    ] {
        let expected = format!("text {}, end", valid.as_bytes().escape_ascii());
        check(&[(TEXT, valid.as_bytes())], &expected);
    }
    for invalid in [
        // Continuation bytes on their own, and what never stands anywhere.
        &b"\x80"[..],
        b"\xbf\x80",
        b"a\xfe",
        b"\xff\xff",
        // Beginnings of characters followed by something else.
        b"\xc3.",
        b"\xe1\x80.",
        b"\xf1\x80\x80.",
        b"\xf8\x88\x80\x80\x80",
        b"\xfc\x84\x80\x80\x80\x80",
        // Characters that the message cuts off.
        b"\xc3",
        b"\xe1\xbd",
        b"\xf4\x8f\xbf",
        // Overlong forms.
        b"\xc0\xaf",
        b"\xc1\xbf",
        b"\xe0\x80\xaf",
        b"\xe0\x9f\xbf",
        b"\xf0\x80\x80\xaf",
        b"\xf0\x8f\xbf\xbf",
        // Surrogates, alone and in pairs, and beyond U+10FFFF.
        b"\xed\xa0\x80",
        b"\xed\xbf\xbf",
        b"\xed\xa0\x80\xed\xb0\x80",
        b"\xf4\x90\x80\x80",
        b"\xf5\x80\x80\x80",
    ] {
        let seen = read_frames(&[(TEXT, invalid)]);
        assert!(
            seen.ends_with(NOT_UTF8),
            "{}: {seen}",
            invalid.escape_ascii()
        );
        // In a binary message they are what they are.
        let expected = format!("binary {}, end", invalid.escape_ascii());
        check(&[(BINARY, invalid)], &expected);
    }
}

/// 7.1: after a close frame nothing is read any more, however wrong it is.
#[test]
fn after_a_close_nothing_is_read() {
    let close = (CLOSE, &b"\x03\xe8"[..]);
    let after: [(u8, &[u8]); 4] = [(CLOSE, b""), (TEXT, b"x"), (PING, b""), (0xff, b"")];
    for frame in after {
        check(&[(TEXT, b"x"), close, frame], "text x, end, close 1000");
    }
}

/// 7.3 and 7.5.
#[test]
fn payload_of_close_frames() {
    check(&[(CLOSE, b"")], "close");
    check(
        &[(CLOSE, b"\x03")],
        "failed 1002 a close frame with half of a code (RFC 6455 §5.5.1)",
    );
    check(&[(CLOSE, b"\x03\xe8")], "close 1000");
    check(
        &[(CLOSE, b"\x03\xe8Hello World!")],
        "close 1000 Hello World!",
    );
    let longest = [b"\x03\xe8", &[b'*'; 123][..]].concat();
    check(
        &[(CLOSE, &longest)],
        &format!("close 1000 {}", "*".repeat(123)),
    );
    check(&[(CLOSE, &[&longest[..], b"*"].concat())], CONTROL_LENGTH);
    check(
        &[(
            CLOSE,
            b"\x03\xe8\xce\xba\xe1\xbd\xb9\xcf\x83\xce\xbc\xce\xb5\xed\xa0\x80edited",
        )],
        "failed 1007 the reason of a close that is not UTF-8 (RFC 6455 §5.5.1)",
    );
}

/// 7.7, 7.9 and 7.13.
#[test]
fn codes_of_close_frames() {
    for code in [
        1000u16, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 1012, 1013, 1014, 3000, 3999,
        4000, 4999,
    ] {
        check(&[(CLOSE, &code.to_be_bytes())], &format!("close {code}"));
    }
    for code in [
        0u16, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65535,
    ] {
        check(&[(CLOSE, &code.to_be_bytes())], CLOSE_CODE);
        check(
            &[(CLOSE, &[&code.to_be_bytes()[..], b"x"].concat())],
            CLOSE_CODE,
        );
    }
}
