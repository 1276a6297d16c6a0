//! The outside of frames, in either role: sizes, streams, padding, order, control frames.

use proto::http2::Config;

use crate::harness::*;

/// Runs a table that holds for both roles.
fn either(cases: &[Case<'_>]) {
    check(&Side::Server, cases);
    check(&Side::Client(vec![]), cases);
}

#[test]
fn control_frames_are_answered_or_ignored() {
    let ping = frame(PING, 0, 0, b"12345678");
    either(&[
        ("ping", vec![ping.clone()], "", "pong 12345678"),
        (
            "a pong nobody asked for",
            vec![frame(PING, ACK, 0, b"12345678")],
            "",
            "",
        ),
        (
            "reserved bit",
            vec![frame(PING, 0, 1 << 31, b"12345678")],
            "",
            "pong 12345678",
        ),
        (
            "unknown flags",
            vec![frame(PING, 0xfe, 0, b"12345678")],
            "",
            "pong 12345678",
        ),
        (
            "settings",
            vec![settings(&[(1, 0), (0x99, 5)])],
            "",
            "settings ack",
        ),
        (
            "an ack too many",
            vec![frame(SETTINGS, ACK, 0, &[]); 2],
            "",
            "",
        ),
        (
            "an unknown type",
            vec![frame(0x55, 0xff, 7, b"what?"), ping],
            "",
            "pong 12345678",
        ),
        ("credit", vec![number(WINDOW_UPDATE, 0, 5)], "", ""),
        (
            "priority",
            vec![frame(PRIORITY, 0, 9, &[0, 0, 0, 1, 7])],
            "",
            "",
        ),
    ]);
}

/// Frames that end the connection with the same code, and the sections of RFC 9113 they break.
fn breaks(code: &str, frames: &[(&str, Vec<u8>)]) {
    for (section, frame) in frames {
        let what = format!("{frame:?}");
        let what = what.get(..60).unwrap_or(&what);
        let seen = format!("failed RFC 9113 {section}");
        let wrote = format!("goaway 0 {code}");
        either(&[(what, vec![frame.clone()], &seen, &wrote)]);
    }
}

#[test]
fn a_frame_of_a_wrong_size_ends_the_connection() {
    let frames = [
        ("§4.2", frame(PING, 0, 0, &[0; 16_385])),
        ("§4.2", frame(0x55, 0, 0, &[0; 16_385])),
        ("§6.3", frame(PRIORITY, 0, 1, &[0; 4])),
        ("§6.5", frame(SETTINGS, 0, 0, &[0; 5])),
        ("§6.5", frame(SETTINGS, ACK, 0, &[0; 6])),
        ("§6.7", frame(PING, 0, 0, &[0; 7])),
        ("§6.8", frame(GOAWAY, 0, 0, &[0; 7])),
        ("§6.9", frame(WINDOW_UPDATE, 0, 0, &[0; 3])),
    ];
    breaks("FRAME_SIZE_ERROR", &frames);
}

#[test]
fn a_frame_on_a_wrong_stream_ends_the_connection() {
    let frames = [
        ("§6", frame(PING, 0, 1, &[0; 8])),
        ("§6", frame(SETTINGS, 0, 1, &[])),
        ("§6", frame(GOAWAY, 0, 1, &[0; 8])),
        ("§6", frame(PRIORITY, 0, 0, &[0; 5])),
        ("§6", number(RST_STREAM, 0, 8)),
        ("§6", data(0, 0, "x")),
        ("§6", headers(0, 0, GET)),
        ("§5.1", number(RST_STREAM, 1, 8)),
        ("§5.1", number(RST_STREAM, 2, 8)),
        ("§5.1", number(WINDOW_UPDATE, 1, 1)),
        ("§5.1", data(1, 0, "x")),
        ("§5.1.1", headers(2, 0, GET)),
        ("§6.10", frame(CONTINUATION, END_HEADERS, 1, &[])),
        ("§8.4", frame(PUSH_PROMISE, END_HEADERS, 1, &[0; 4])),
    ];
    breaks("PROTOCOL_ERROR", &frames);
}

#[test]
fn settings_and_credit_out_of_range_end_the_connection() {
    let wrong = [
        ("§6.5.2", settings(&[(2, 2)])),
        ("§6.5.2", settings(&[(5, 16_383)])),
        ("§6.5.2", settings(&[(5, 1 << 24)])),
        ("§6.9", number(WINDOW_UPDATE, 0, 0)),
    ];
    breaks("PROTOCOL_ERROR", &wrong);
    let too_large = [
        ("§6.5.2", settings(&[(4, 1 << 31)])),
        ("§6.9.1", number(WINDOW_UPDATE, 0, (1 << 31) - 1)),
    ];
    breaks("FLOW_CONTROL_ERROR", &too_large);
}

#[test]
fn a_client_does_not_let_a_server_open_streams_or_switch_push_on() {
    check(
        &Side::Client(vec![]),
        &[
            (
                "headers nobody asked for",
                vec![headers(1, END, OK)],
                "failed RFC 9113 §5.1",
                "goaway 0 PROTOCOL_ERROR",
            ),
            (
                "push is on",
                vec![settings(&[(2, 1)])],
                "failed RFC 9113 §6.5.2",
                "goaway 0 PROTOCOL_ERROR",
            ),
        ],
    );
}

#[test]
fn a_connection_starts_with_the_preface_and_settings() {
    let config = Config::default();
    let ping = frame(PING, 0, 0, b"12345678");
    for side in [Side::Server, Side::Client(vec![])] {
        for first in [
            ping.clone(),
            frame(SETTINGS, ACK, 0, &[]),
            frame(0x55, 0, 0, &[]),
        ] {
            let (seen, wrote) = run_all(config, &side, &first);
            assert_eq!(seen, "failed RFC 9113 §3.4");
            assert_eq!(wrote, "goaway 0 PROTOCOL_ERROR");
        }
    }
    for wrong in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\rX",
    ] {
        for pieces in [vec![wrong], wrong.chunks(1).collect()] {
            let (seen, wrote) = run(config, &Side::Server, &pieces);
            assert_eq!(seen, "failed RFC 9113 §3.4");
            assert_eq!(wrote, "goaway 0 PROTOCOL_ERROR");
        }
    }
}

#[test]
fn padding_is_taken_away_and_counted() {
    let post = headers(1, 0, POST);
    let padded = |payload: &[u8], flags| frame(DATA, flags | PADDED, 1, payload);
    check(
        &Side::SilentServer,
        &[
            (
                "padded data",
                vec![post.clone(), padded(b"\x02abc\0\0", 0), padded(b"\0d", END)],
                "POST /up 1, data 1 abcd, end 1",
                "",
            ),
            (
                "only padding",
                vec![post.clone(), padded(b"\x02\0\0", 0), padded(b"\x01\0", END)],
                "POST /up 1, end 1",
                "",
            ),
            (
                "padding longer than the rest",
                vec![post.clone(), padded(b"\x04abc", 0)],
                "POST /up 1, failed RFC 9113 §6.1",
                "goaway 1 PROTOCOL_ERROR",
            ),
            (
                "no room for its length",
                vec![post, padded(b"", 0)],
                "POST /up 1, failed RFC 9113 §6.1",
                "goaway 1 FRAME_SIZE_ERROR",
            ),
        ],
    );
}

#[test]
fn padding_and_priorities_of_headers_are_taken_away() {
    let mut padded_head = vec![3];
    padded_head.extend(block(GET));
    padded_head.extend([0; 3]);
    let mut with_priority = vec![1, 0, 0, 0, 0, 16];
    with_priority.extend(block(GET));
    with_priority.push(0);
    check(
        &Side::SilentServer,
        &[
            (
                "padded headers",
                vec![frame(HEADERS, END | END_HEADERS | PADDED, 1, &padded_head)],
                "GET / 1, end 1",
                "",
            ),
            (
                "padded headers with a priority",
                vec![frame(
                    HEADERS,
                    END | END_HEADERS | PADDED | WITH_PRIORITY,
                    1,
                    &with_priority,
                )],
                "GET / 1, end 1",
                "",
            ),
            (
                "headers that are all padding",
                vec![frame(HEADERS, END | END_HEADERS | PADDED, 1, &[9, 0, 0])],
                "failed RFC 9113 §6.1",
                "goaway 0 PROTOCOL_ERROR",
            ),
            (
                "headers too short for a priority",
                vec![frame(
                    HEADERS,
                    END | END_HEADERS | WITH_PRIORITY,
                    1,
                    &[0; 4],
                )],
                "failed RFC 9113 §6.2",
                "goaway 0 FRAME_SIZE_ERROR",
            ),
        ],
    );
}

#[test]
fn a_block_goes_on_in_continuation_frames_and_nowhere_else() {
    let whole = block(GET);
    let (a, rest) = whole.split_at(5);
    let (b, c) = rest.split_at(20);
    let start = frame(HEADERS, END, 1, a);
    let broken = "failed RFC 9113 §6.10";
    let goaway = "goaway 0 PROTOCOL_ERROR";
    check(
        &Side::Server,
        &[
            (
                "three pieces",
                vec![
                    start.clone(),
                    frame(CONTINUATION, 0, 1, b),
                    frame(CONTINUATION, END_HEADERS, 1, c),
                ],
                "GET / 1, end 1",
                "head 1 200, data 1 ok end",
            ),
            (
                "a ping inside",
                vec![start.clone(), frame(PING, 0, 0, &[0; 8])],
                broken,
                goaway,
            ),
            (
                "an unknown frame inside",
                vec![start.clone(), frame(0x55, 0, 1, &[])],
                broken,
                goaway,
            ),
            (
                "another stream inside",
                vec![start, frame(CONTINUATION, END_HEADERS, 3, b)],
                broken,
                goaway,
            ),
            (
                "compression that is broken",
                vec![frame(HEADERS, END | END_HEADERS, 1, &[0x80])],
                "failed RFC 7541 §6.1",
                "goaway 1 COMPRESSION_ERROR",
            ),
        ],
    );
}
