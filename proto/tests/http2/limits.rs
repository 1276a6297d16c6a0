//! Every bound on what a peer may make a machine do, just within and just beyond.

use proto::http2::Limits;
use proto::http2::server::{Event, PREFACE, Server};
use proto::http2::{Config, Head};

use crate::harness::*;

/// Limits that a test can reach.
fn small() -> Config {
    limited(Limits {
        header_list_bytes: 500,
        continuations: 3,
        resets: 5,
        idle_frames: 5,
        // An acknowledgement of settings and four of pings.
        unsent_bytes: 9 + 4 * 17,
        ..Limits::default()
    })
}

const CALM: &str = "ENHANCE_YOUR_CALM";

/// Checks that `count` of such a frame are borne and one more is not.
fn bears(side: &Side, start: &[Vec<u8>], one: &[u8], count: usize, last: u32) {
    bears_within(small(), side, start, one, count, last);
}

/// The same under other limits.
fn bears_within(
    config: Config,
    side: &Side,
    start: &[Vec<u8>],
    one: &[u8],
    count: usize,
    last: u32,
) {
    let start = [settings(&[]), start.concat()].concat();
    let within = [&start[..], &one.repeat(count)].concat();
    let (seen, wrote) = run_all(config, side, &within);
    assert!(
        !seen.contains("failed") && !wrote.contains("goaway"),
        "{seen}; {wrote}"
    );
    let beyond = [&start[..], &one.repeat(count + 1)].concat();
    let (seen, wrote) = run_all(config, side, &beyond);
    assert!(seen.ends_with("failed RFC 9113 §10.5"), "{seen}");
    assert!(wrote.ends_with(&format!("goaway {last} {CALM}")), "{wrote}");
}

#[test]
fn frames_that_bring_nothing_are_limited_in_a_row() {
    let post = [headers(1, 0, POST)];
    let get = Side::Client(vec![request(GET, "")]);
    let priority = frame(PRIORITY, 0, 9, &[0, 0, 0, 1, 7]);
    for side in [&Side::SilentServer, &get] {
        bears(side, &[], &priority, 5, 0);
        bears(side, &[], &frame(0x55, 0, 0, b"?"), 5, 0);
        bears(side, &[], &frame(PING, ACK, 0, &[0; 8]), 5, 0);
        // The first acknowledgement is in order.
        bears(side, &[], &frame(SETTINGS, ACK, 0, &[]), 6, 0);
    }
    bears(&Side::SilentServer, &post, &data(1, 0, ""), 5, 1);
    bears(
        &Side::SilentServer,
        &post,
        &frame(DATA, PADDED, 1, &[2, 0, 0]),
        5,
        1,
    );
    bears(&get, &[headers(1, 0, OK)], &data(1, 0, ""), 5, 0);
    bears(&get, &[], &headers(1, 0, &[(":status", "103")]), 5, 0);
    let reset = [headers(1, 0, POST), number(RST_STREAM, 1, 8)];
    bears(&Side::SilentServer, &reset, &number(RST_STREAM, 1, 8), 5, 1);
}

#[test]
fn a_message_or_a_piece_of_body_makes_up_for_frames_that_bring_nothing() {
    let priority = frame(PRIORITY, 0, 9, &[0, 0, 0, 1, 7]).repeat(5);
    let mut input = [settings(&[]), headers(1, 0, POST)].concat();
    for _ in 0..10 {
        input.extend(&priority);
        input.extend(data(1, 0, "x"));
    }
    for stream in (3..23).step_by(2) {
        input.extend(&priority);
        input.extend(headers(stream, END, GET));
    }
    let (seen, _) = run_all(small(), &Side::SilentServer, &input);
    assert!(seen.ends_with("GET / 21, end 21"), "{seen}");
}

#[test]
fn acknowledgements_are_limited_while_nobody_takes_them() {
    let ping = frame(PING, 0, 0, b"12345678");
    for side in [Side::SilentServer, Side::Client(vec![])] {
        // The settings were acknowledged too.
        bears(&side, &[], &ping, 4, 0);
        let calm = limited(Limits {
            unsent_bytes: 9 * 50,
            ..Limits::default()
        });
        bears_within(calm, &side, &[], &settings(&[]), 49, 0);
    }
    let mut out = Vec::new();
    let mut server = Server::new(small(), &mut out);
    for piece in [&PREFACE[..], &settings(&[])]
        .into_iter()
        .chain([&ping[..]; 100])
    {
        let mut input = piece;
        out.clear();
        while server
            .next(&mut input, &mut out)
            .expect("they are taken")
            .is_some()
        {}
    }
}

#[test]
fn resets_and_credit_are_limited_while_nobody_takes_them() {
    // Once our settings are acknowledged, credit is given for each half of a window of ten bytes.
    let config = Config {
        stream_window: 10,
        ..limited(Limits {
            // An acknowledgement of settings, and frames of thirteen bytes.
            unsent_bytes: 9 + 20 * 13,
            ..Limits::default()
        })
    };
    let acked = frame(SETTINGS, ACK, 0, &[]);
    let post = [acked.clone(), headers(1, 0, POST)];
    bears_within(
        config,
        &Side::SilentServer,
        &post,
        &data(1, 0, "12345"),
        20,
        1,
    );
    let get = Side::Client(vec![request(GET, "")]);
    let ok = [acked, headers(1, 0, OK)];
    bears_within(config, &get, &ok, &data(1, 0, "12345"), 20, 0);
    // A stream that depends on itself is reset, and each other one, too.
    let mut input = settings(&[]);
    let requests = (0..30).map(|_| request(GET, "")).collect();
    for stream in (1..61).step_by(2) {
        let [.., last] = u32::to_be_bytes(stream);
        input.extend(frame(PRIORITY, 0, stream, &[0, 0, 0, last, 7]));
    }
    let (seen, wrote) = run_all(config, &Side::Client(requests), &input);
    assert!(seen.ends_with("failed RFC 9113 §10.5"), "{seen}");
    assert_eq!(wrote.matches("reset ").count(), 20, "{wrote}");
}

#[test]
fn a_block_is_limited_in_bytes_and_in_frames() {
    let start = frame(HEADERS, END, 1, &[]);
    let more = frame(CONTINUATION, 0, 1, &[0x82]);
    bears(&Side::SilentServer, &[start], &more, 3, 0);

    // The limit of a list and a frame more, so that a list that is somewhat too long costs only
    // its message.
    let config = limited(Limits {
        header_list_bytes: 500,
        ..Limits::default()
    });
    let flood = |bytes: usize| {
        let first = frame(HEADERS, END, 1, &[0x82; 16_000]);
        let second = frame(CONTINUATION, 0, 1, &vec![0x82; bytes - 16_000]);
        run_all(
            config,
            &Side::SilentServer,
            &[settings(&[]), first, second].concat(),
        )
    };
    assert_eq!(flood(500 + 16_384).0, "ready");
    assert_eq!(flood(500 + 16_385).0, "ready, failed RFC 9113 §10.5.1");
}

#[test]
fn a_small_block_that_becomes_a_long_list_is_cut_short() {
    // One long field goes to the table, and then one byte each repeats it.
    let long = "x".repeat(100);
    let mut bomb = vec![0x40, 1, b'x', 100];
    bomb.extend(long.as_bytes());
    bomb.extend([0xbe; 10_000]);
    let request = [block(GET), bomb].concat();
    let frames = [
        frame(HEADERS, END | END_HEADERS, 1, &request),
        headers(3, END, GET),
    ];
    let (seen, wrote) = run_all(
        small(),
        &Side::Server,
        &[settings(&[]), frames.concat()].concat(),
    );
    assert_eq!(seen, "ready, GET / 3, end 3");
    assert_eq!(
        wrote,
        "settings ack, head 1 431 end, head 3 200, data 3 ok end"
    );
}

#[test]
fn streams_that_a_client_resets_are_limited() {
    let reset = |stream| [headers(stream, 0, POST), number(RST_STREAM, stream, 8)].concat();
    check_resets(reset);
}

#[test]
fn streams_that_a_client_makes_us_reset_are_limited_alike() {
    // Each a way of its own to be reset while the request is being worked upon.
    check_resets(|stream| [headers(stream, 0, POST), number(WINDOW_UPDATE, stream, 0)].concat());
    let overflow = u32::MAX >> 1;
    check_resets(|stream| {
        [
            headers(stream, 0, POST),
            number(WINDOW_UPDATE, stream, overflow),
        ]
        .concat()
    });
    check_resets(|stream| [headers(stream, END, GET), data(stream, END, "x")].concat());
    check_resets(|stream| [headers(stream, END, GET), headers(stream, END, GET)].concat());
    check_resets(|stream| {
        [
            headers(stream, 0, POST),
            frame(PRIORITY, 0, stream, &[0; 4]),
        ]
        .concat()
    });
    check_resets(|stream| headers(stream, END, &[("mal", "formed")]));
}

/// Five streams that come to nothing are borne, and a sixth is not.
fn check_resets(stream: impl Fn(u32) -> Vec<u8>) {
    let run = |count| {
        let streams: Vec<_> = (0..count).map(|at| stream(2 * at + 1)).collect();
        run_all(
            small(),
            &Side::SilentServer,
            &[settings(&[]), streams.concat()].concat(),
        )
    };
    let (seen, wrote) = run(5);
    assert!(!seen.contains("failed"), "{seen}; {wrote}");
    let (seen, wrote) = run(6);
    assert!(seen.ends_with("failed RFC 9113 §10.5"), "{seen}");
    assert!(wrote.ends_with(&format!("goaway 11 {CALM}")), "{wrote}");
}

#[test]
fn streams_that_are_refused_count_as_well() {
    let config = Config {
        streams: 1,
        ..small()
    };
    let streams: Vec<_> = (0..7).map(|at| headers(2 * at + 1, 0, POST)).collect();
    let input = [settings(&[]), streams.concat()].concat();
    let (seen, wrote) = run_all(config, &Side::SilentServer, &input);
    assert_eq!(seen, "ready, POST /up 1, failed RFC 9113 §10.5");
    assert_eq!(wrote.matches("REFUSED_STREAM").count(), 6);
}

#[test]
fn a_stream_that_is_completed_makes_up_for_one_that_was_not() {
    let mut out = Vec::new();
    let mut server = Server::new(small(), &mut out);
    let head = Head::response::<&str, &str>(200, &[]).expect("a valid head");
    let mut turn = |bytes: Vec<u8>| {
        let mut input = &bytes[..];
        loop {
            let complete = match server.next(&mut input, &mut out) {
                Ok(None) => return true,
                Ok(Some(Event::Request {
                    stream, end: true, ..
                })) => Some(stream),
                Ok(Some(_)) => None,
                Err(_) => return false,
            };
            if let Some(stream) = complete {
                server
                    .answer(stream, &head, b"ok", &mut out)
                    .expect("an answer");
            }
        }
    };
    assert!(turn([&PREFACE[..], &settings(&[])].concat()));
    for stream in (1..400).step_by(4) {
        let reset = [headers(stream, 0, POST), number(RST_STREAM, stream, 8)].concat();
        assert!(turn(reset), "stream {stream}");
        assert!(turn(headers(stream + 2, END, GET)));
    }
    for stream in (401..411).step_by(2) {
        assert!(turn(
            [headers(stream, 0, POST), number(RST_STREAM, stream, 8)].concat()
        ));
    }
    assert!(!turn(
        [headers(411, 0, POST), number(RST_STREAM, 411, 8)].concat()
    ));
}

#[test]
fn more_data_than_the_window_of_the_connection_ends_it() {
    let config = Config {
        connection_window: 65_535,
        ..limited(Limits {
            frame_bytes: 1 << 20,
            ..Limits::default()
        })
    };
    let piece = |bytes| data(1, 0, &"x".repeat(bytes));
    let run = |second| {
        let frames = [
            settings(&[]),
            headers(1, 0, POST),
            piece(30_000),
            piece(second),
        ];
        run_all(config, &Side::SilentServer, &frames.concat())
    };
    assert!(!run(35_535).0.contains("failed"));
    let (seen, wrote) = run(35_536);
    assert!(seen.ends_with("failed RFC 9113 §6.9.1"), "{seen}");
    assert_eq!(wrote, "settings ack, goaway 1 FLOW_CONTROL_ERROR");
}
