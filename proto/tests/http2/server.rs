//! The server role: states of streams, windows, and how it answers.

use proto::http2::server::{Event, Server, Unsent};
use proto::http2::{Config, ErrorCode, Head};

use crate::harness::*;

/// A server that has read its preface, settings and these frames, and what it wrote for them.
fn server_after(config: Config, frames: &[Vec<u8>]) -> (Server, Vec<u8>) {
    let mut out = Vec::new();
    let mut server = Server::new(config, &mut out);
    let start = [&proto::http2::server::PREFACE[..], &settings(&[])].concat();
    feed(&mut server, &start, &mut out);
    out.clear();
    feed(&mut server, &frames.concat(), &mut out);
    (server, out)
}

/// Feeds bytes; returns the streams that became writable and those that were reset.
fn feed(server: &mut Server, mut input: &[u8], out: &mut Vec<u8>) -> (Vec<u32>, Vec<u32>) {
    let (mut writable, mut resets) = (vec![], vec![]);
    while let Some(event) = server.next(&mut input, out).expect("valid frames") {
        match event {
            Event::Writable { stream } => writable.push(stream),
            Event::Reset { stream, .. } => resets.push(stream),
            _ => {}
        }
    }
    (writable, resets)
}

fn head(status: u16) -> Head {
    Head::response::<&str, &str>(status, &[]).expect("a valid head")
}

const NO_FIELDS: &[Field] = &[];

#[test]
fn a_stream_that_ended_takes_nothing_more() {
    let get = headers(1, END, GET);
    let half = "GET / 1, end 1, reset 1 STREAM_CLOSED for RFC 9113 §5.1";
    check(
        &Side::SilentServer,
        &[
            (
                "data behind the end",
                vec![get.clone(), data(1, 0, "x")],
                half,
                "reset 1 STREAM_CLOSED",
            ),
            (
                "a head behind the end",
                vec![get.clone(), get.clone()],
                half,
                "reset 1 STREAM_CLOSED",
            ),
            (
                "data behind our reset",
                vec![
                    get.clone(),
                    data(1, 0, "x"),
                    data(1, 0, "y"),
                    data(1, END, ""),
                ],
                half,
                "reset 1 STREAM_CLOSED",
            ),
        ],
    );
}

#[test]
fn a_stream_that_the_client_reset_takes_nothing_more() {
    let (get, post) = (headers(1, END, GET), headers(1, 0, POST));
    check(
        &Side::SilentServer,
        &[
            (
                "data behind a reset",
                vec![post.clone(), number(RST_STREAM, 1, 8), data(1, END, "x")],
                "POST /up 1, reset 1 CANCEL, failed RFC 9113 §5.1",
                "goaway 1 STREAM_CLOSED",
            ),
            (
                "a head behind a reset",
                vec![post.clone(), number(RST_STREAM, 1, 8), get.clone()],
                "POST /up 1, reset 1 CANCEL, failed RFC 9113 §5.1",
                "goaway 1 STREAM_CLOSED",
            ),
            (
                "credit and a reset behind a reset",
                vec![
                    post.clone(),
                    number(RST_STREAM, 1, 8),
                    number(WINDOW_UPDATE, 1, 9),
                    number(RST_STREAM, 1, 8),
                ],
                "POST /up 1, reset 1 CANCEL",
                "",
            ),
            (
                "a reset of three bytes",
                vec![post, frame(RST_STREAM, 0, 1, &[0; 3])],
                "POST /up 1, failed RFC 9113 §6.4",
                "goaway 1 FRAME_SIZE_ERROR",
            ),
            (
                "a lower number",
                vec![headers(5, END, GET), headers(3, END, GET)],
                "GET / 5, end 5, failed RFC 9113 §5.1.1",
                "goaway 5 PROTOCOL_ERROR",
            ),
        ],
    );
}

#[test]
fn a_stream_that_is_complete_takes_nothing_more() {
    let get = headers(1, END, GET);
    check(
        &Side::Server,
        &[
            (
                "data behind all",
                vec![get.clone(), data(1, END, "x")],
                "GET / 1, end 1, failed RFC 9113 §5.1",
                "head 1 200, data 1 ok end, goaway 1 STREAM_CLOSED",
            ),
            (
                "a head behind all",
                vec![get.clone(), get],
                "GET / 1, end 1, failed RFC 9113 §5.1",
                "head 1 200, data 1 ok end, goaway 1 STREAM_CLOSED",
            ),
        ],
    );
}

#[test]
fn streams_are_judged_one_by_one() {
    let next = headers(3, END, GET);
    let answered = "head 3 200, data 3 ok end";
    let depends = |on: u8| {
        let mut payload = vec![0, 0, 0, on, 16];
        payload.extend(block(GET));
        frame(HEADERS, END | END_HEADERS | WITH_PRIORITY, 1, &payload)
    };
    check(
        &Side::Server,
        &[
            (
                "a dependency",
                vec![depends(7)],
                "GET / 1, end 1",
                "head 1 200, data 1 ok end",
            ),
            (
                "a dependency on itself",
                vec![depends(1), next.clone()],
                "GET / 3, end 3",
                &format!("reset 1 PROTOCOL_ERROR, {answered}"),
            ),
            (
                "a later dependency on itself",
                vec![
                    headers(1, 0, POST),
                    frame(PRIORITY, 0, 1, &[0, 0, 0, 1, 7]),
                    next.clone(),
                ],
                "POST /up 1, reset 1 PROTOCOL_ERROR for RFC 7540 §5.3.1, GET / 3, end 3",
                &format!("reset 1 PROTOCOL_ERROR, {answered}"),
            ),
            (
                "a priority of four bytes",
                vec![
                    headers(1, 0, POST),
                    frame(PRIORITY, 0, 1, &[0; 4]),
                    next.clone(),
                ],
                "POST /up 1, reset 1 FRAME_SIZE_ERROR for RFC 9113 §6.3, GET / 3, end 3",
                &format!("reset 1 FRAME_SIZE_ERROR, {answered}"),
            ),
        ],
    );
}

#[test]
fn wrong_credit_costs_its_stream() {
    let next = headers(3, END, GET);
    let answered = "head 3 200, data 3 ok end";
    check(
        &Side::Server,
        &[
            (
                "no increment",
                vec![
                    headers(1, 0, POST),
                    number(WINDOW_UPDATE, 1, 0),
                    next.clone(),
                ],
                "POST /up 1, reset 1 PROTOCOL_ERROR for RFC 9113 §6.9, GET / 3, end 3",
                &format!("reset 1 PROTOCOL_ERROR, {answered}"),
            ),
            (
                "a window too large",
                vec![
                    headers(1, 0, POST),
                    number(WINDOW_UPDATE, 1, u32::MAX >> 1),
                    next,
                ],
                "POST /up 1, reset 1 FLOW_CONTROL_ERROR for RFC 9113 §6.9.1, GET / 3, end 3",
                &format!("reset 1 FLOW_CONTROL_ERROR, {answered}"),
            ),
            (
                "windows too large by a setting",
                vec![
                    headers(1, 0, POST),
                    number(WINDOW_UPDATE, 1, (u32::MAX >> 1) - 65_535),
                    settings(&[(4, 65_536)]),
                ],
                "POST /up 1, failed RFC 9113 §6.9.2",
                "goaway 1 FLOW_CONTROL_ERROR",
            ),
            (
                "a client that goes",
                vec![goaway(0, 0), headers(1, END, GET)],
                "goaway NO_ERROR, GET / 1, end 1",
                "head 1 200, data 1 ok end",
            ),
        ],
    );
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let config = Config {
        streams: 1,
        ..Config::default()
    };
    check_with(
        config,
        &Side::SilentServer,
        &[(
            "two",
            vec![headers(1, 0, POST), headers(3, END, GET), data(1, END, "x")],
            "POST /up 1, data 1 x, end 1",
            "reset 3 REFUSED_STREAM",
        )],
    );
}

#[test]
fn credit_is_given_when_half_is_used_and_not_behind_the_end() {
    let config = Config {
        stream_window: 100,
        connection_window: 65_535,
        ..Config::default()
    };
    let ack = frame(SETTINGS, ACK, 0, &[]);
    let bytes = |count| "x".repeat(count);
    let piece = |count, flags| data(1, flags, &bytes(count));
    let seen = |count| format!("POST /up 1, data 1 {}", bytes(count));
    let start = [ack.clone(), headers(1, 0, POST)];
    let frames = |more: &[Vec<u8>]| [&start[..], more].concat();
    let post = "POST /up 1";
    check_with(
        config,
        &Side::SilentServer,
        &[
            ("less than half", frames(&[piece(49, 0)]), &seen(49), ""),
            ("half", frames(&[piece(50, 0)]), &seen(50), "credit 1 50"),
            (
                "twice",
                frames(&[piece(80, 0), piece(90, 0)]),
                &seen(170),
                "credit 1 80, credit 1 90",
            ),
            (
                "with the end",
                frames(&[piece(99, END)]),
                &format!("{}, end 1", seen(99)),
                "",
            ),
            (
                "too much",
                frames(&[piece(101, 0)]),
                &format!("{post}, reset 1 FLOW_CONTROL_ERROR for RFC 9113 §6.9.1"),
                "reset 1 FLOW_CONTROL_ERROR",
            ),
            // Before the acknowledgement the window is what it is for everyone.
            (
                "before the acknowledgement",
                vec![headers(1, 0, POST), piece(200, 0), ack, piece(100, 0)],
                &seen(300),
                "credit 1 200, credit 1 100",
            ),
        ],
    );
    let many = |stream| data(stream, 0, &bytes(16_000));
    let wide = Config {
        stream_window: 1 << 20,
        ..config
    };
    let broken = [headers(1, 0, POST), headers(3, END, GET)];
    let refused = [many(3), many(1), many(3), many(3), many(3)];
    let (_, wrote) = run_all(
        wide,
        &Side::SilentServer,
        &[settings(&[]), broken.concat(), refused.concat()].concat(),
    );
    assert_eq!(
        wrote, "settings ack, reset 3 STREAM_CLOSED, credit 0 48000",
        "what is not wanted counts for the connection too"
    );
}

#[test]
fn a_paused_stream_gets_no_credit_until_it_goes_on() {
    let config = Config {
        stream_window: 1000,
        ..Config::default()
    };
    let ack = frame(SETTINGS, ACK, 0, &[]);
    let (mut server, mut out) = server_after(config, &[ack, headers(1, 0, POST)]);
    server.pause(1);
    feed(&mut server, &data(1, 0, &"x".repeat(1000)), &mut out);
    assert_eq!(written(&out), "");
    server.resume(1, &mut out);
    assert_eq!(written(&out), "credit 1 1000");
    server.resume(1, &mut out);
    assert_eq!(written(&out), "credit 1 1000", "once is enough");
    server.pause(7);
    server.resume(7, &mut out);
    assert_eq!(written(&out), "credit 1 1000", "no such stream");
}

#[test]
fn bodies_leave_as_far_as_the_windows_allow() {
    let start = [
        settings(&[(4, 10)]),
        headers(1, END, GET),
        headers(3, END, GET),
    ];
    let (mut server, mut out) = server_after(Config::default(), &start);
    out.clear();
    let body = b"0123456789abcdef";
    assert_eq!(server.answer(1, &head(200), body, &mut out), Ok(10));
    assert_eq!(server.respond_kept(3, &head(200), false, &mut out), Ok(()));
    assert_eq!(server.data(3, body, false, &mut out), Ok(10));
    let wrote = "head 1 200, data 1 0123456789, head 3 200, data 3 0123456789";
    assert_eq!(written(&out), wrote);
    out.clear();

    let mut credit = |frame: Vec<u8>, writable: &[u32]| {
        let mut out = Vec::new();
        let (told, _) = feed(&mut server, &frame, &mut out);
        assert_eq!(told, writable, "writable after {frame:?}");
        server_data(&mut server, writable, body)
    };
    let nothing: Vec<(u32, usize)> = vec![];
    assert_eq!(credit(number(WINDOW_UPDATE, 0, 5), &[]), nothing);
    assert_eq!(credit(number(WINDOW_UPDATE, 3, 2), &[3]), [(3, 2)]);
    assert_eq!(credit(settings(&[(4, 5)]), &[]), nothing, "negative now");
    assert_eq!(
        credit(number(WINDOW_UPDATE, 1, 5), &[]),
        nothing,
        "zero now"
    );
    assert_eq!(credit(number(WINDOW_UPDATE, 1, 6), &[1]), [(1, 6)]);
    assert_eq!(credit(settings(&[(4, 100)]), &[3]), [(3, 4)]);
    assert_eq!(server.open_streams(), 0);
}

/// Sends the rest of a body, of which 10 bytes and what credit gave were taken, on these streams.
fn server_data(server: &mut Server, streams: &[u32], body: &[u8]) -> Vec<(u32, usize)> {
    let mut out = Vec::new();
    streams
        .iter()
        .map(|&stream| {
            let from = if stream == 3 && server.open_streams() == 1 {
                12
            } else {
                10
            };
            let taken = server.data(stream, &body[from..], true, &mut out);
            (stream, taken.expect("an open stream"))
        })
        .collect()
}

#[test]
fn streams_that_wait_for_the_connection_go_on_in_turn() {
    let start = [
        settings(&[(4, 1 << 20)]),
        headers(1, END, GET),
        headers(3, END, GET),
        headers(5, END, GET),
    ];
    let (mut server, mut out) = server_after(Config::default(), &start);
    let body = vec![b'x'; 70_000];
    for (stream, taken) in [(1, 65_535), (3, 0), (5, 0)] {
        assert_eq!(
            server.answer(stream, &head(200), &body, &mut out),
            Ok(taken)
        );
    }
    server.reset(3, ErrorCode::CANCEL, &mut out);
    let (writable, _) = feed(&mut server, &number(WINDOW_UPDATE, 0, 5000), &mut out);
    assert_eq!(writable, [1, 5], "the stream that was reset waits no more");
    let (writable, _) = feed(&mut server, &number(WINDOW_UPDATE, 0, 5000), &mut out);
    assert!(writable.is_empty(), "told once");
    assert_eq!(server.data(1, &body[65_535..], true, &mut out), Ok(4465));
    assert_eq!(server.data(5, &body, true, &mut out), Ok(5535));
    let (writable, _) = feed(&mut server, &number(WINDOW_UPDATE, 0, 1), &mut out);
    assert_eq!(writable, [5]);
}

#[test]
fn responses_without_bodies_end_with_their_head() {
    let head_request: &[Field] = &[(":method", "HEAD"), (":scheme", "http"), (":path", "/")];
    let start = [
        headers(1, END, head_request),
        headers(3, END, GET),
        headers(5, END, GET),
    ];
    let (mut server, mut out) = server_after(Config::default(), &start);
    assert_eq!(server.answer(1, &head(200), b"not sent", &mut out), Ok(8));
    assert_eq!(server.respond(3, 204, NO_FIELDS, false, &mut out), Ok(()));
    assert_eq!(server.answer(5, &head(200), b"", &mut out), Ok(0));
    assert_eq!(
        written(&out),
        "head 1 200 end, head 3 204 end, head 5 200 end"
    );
    assert_eq!(server.data(3, b"x", true, &mut out), Err(Unsent::Gone));
    assert_eq!(server.open_streams(), 0);
}

#[test]
fn a_response_can_have_interim_heads_and_trailers() {
    let start = [headers(1, END, GET), headers(3, END, GET)];
    let (mut server, mut out) = server_after(Config::default(), &start);
    let trailers = Head::trailers(&[("grpc-status", "0")]).expect("valid trailers");
    let fields = [("k", "v")];
    assert_eq!(server.respond(1, 103, &fields, false, &mut out), Ok(()));
    assert_eq!(server.respond(1, 200, &fields, false, &mut out), Ok(()));
    assert_eq!(server.data(1, b"body", false, &mut out), Ok(4));
    assert_eq!(server.trailers(1, &[("status", "fine")], &mut out), Ok(()));
    assert_eq!(server.respond_kept(3, &head(200), false, &mut out), Ok(()));
    assert_eq!(server.trailers_kept(3, &trailers, &mut out), Ok(()));
    assert_eq!(
        written(&out),
        "head 1 103 v, head 1 200 v, data 1 body, head 1 fine end, head 3 200, head 3 0 end"
    );
}

#[test]
fn misuse_is_told_and_writes_nothing() {
    let start = [headers(1, END, GET), headers(3, END, GET)];
    let (mut server, mut out) = server_after(Config::default(), &start);
    let misuse = |unsent: Result<_, Unsent>| assert!(matches!(unsent, Err(Unsent::Misuse(_))));
    let trailers = Head::trailers(&[("k", "v")]).expect("valid trailers");
    misuse(server.data(1, b"x", true, &mut out));
    misuse(server.trailers_kept(1, &trailers, &mut out).map(|()| 0));
    misuse(server.answer(1, &trailers, b"", &mut out));
    misuse(server.answer(1, &head(103), b"x", &mut out));
    misuse(
        server
            .respond_kept(1, &head(103), true, &mut out)
            .map(|()| 0),
    );
    misuse(
        server
            .respond(1, 200, &[("Upper", "case")], true, &mut out)
            .map(|()| 0),
    );
    misuse(
        server
            .respond(1, 999, NO_FIELDS, true, &mut out)
            .map(|()| 0),
    );
    assert_eq!(
        server.answer(9, &head(200), b"", &mut out),
        Err(Unsent::Gone)
    );
    assert_eq!(written(&out), "");
    server
        .respond_kept(1, &head(200), false, &mut out)
        .expect("the head");
    misuse(
        server
            .respond_kept(1, &head(200), false, &mut out)
            .map(|()| 0),
    );
    misuse(server.trailers_kept(1, &head(200), &mut out).map(|()| 0));
    assert_eq!(written(&out), "head 1 200");
}

#[test]
fn a_reset_stream_is_gone_for_the_caller_too() {
    let start = [headers(1, 0, POST), headers(3, 0, POST)];
    let (mut server, mut out) = server_after(Config::default(), &start);
    let (_, resets) = feed(&mut server, &number(RST_STREAM, 1, 8), &mut out);
    assert_eq!(resets, [1]);
    assert_eq!(
        server.answer(1, &head(200), b"", &mut out),
        Err(Unsent::Gone)
    );
    server.reset(3, ErrorCode::INTERNAL_ERROR, &mut out);
    server.reset(3, ErrorCode::INTERNAL_ERROR, &mut out);
    assert_eq!(written(&out), "reset 3 INTERNAL_ERROR");
    assert_eq!(
        server.answer(3, &head(200), b"", &mut out),
        Err(Unsent::Gone)
    );
    // The client does not know yet.
    let late = [data(3, 0, "x"), headers(3, END, &[("k", "v")])].concat();
    assert_eq!(feed(&mut server, &late, &mut out), (vec![], vec![]));
    assert_eq!(server.open_streams(), 0);
}

#[test]
fn a_stream_reset_inside_a_data_frame_skips_the_rest_of_it() {
    let (mut server, mut out) = server_after(Config::default(), &[headers(1, 0, POST)]);
    let frame = data(1, 0, "one and two");
    feed(&mut server, &frame[..12], &mut out);
    server.reset(1, ErrorCode::CANCEL, &mut out);
    let rest = [&frame[12..], &frame_ping()].concat();
    feed(&mut server, &rest, &mut out);
    assert_eq!(written(&out), "reset 1 CANCEL, pong 12345678");
}

fn frame_ping() -> Vec<u8> {
    frame(PING, 0, 0, b"12345678")
}

#[test]
fn after_goaway_old_streams_are_finished_and_new_ones_ignored() {
    let (mut server, mut out) = server_after(Config::default(), &[headers(1, 0, POST)]);
    server.go_away(ErrorCode::NO_ERROR, &mut out);
    let late = [headers(3, 0, POST), data(3, END, "late"), data(1, END, "x")].concat();
    feed(&mut server, &late, &mut out);
    assert_eq!(
        server.answer(3, &head(200), b"", &mut out),
        Err(Unsent::Gone)
    );
    assert_eq!(server.answer(1, &head(200), b"", &mut out), Ok(0));
    server.go_away(ErrorCode::NO_ERROR, &mut out);
    assert_eq!(
        written(&out),
        "goaway 1 NO_ERROR, head 1 200 end, goaway 1 NO_ERROR"
    );
}

#[test]
fn a_ping_of_the_server_comes_back() {
    let (mut server, mut out) = server_after(Config::default(), &[]);
    server.ping(*b"are you?", &mut out);
    assert_eq!(written(&out), "ping are you?");
    let mut answer = &frame(PING, ACK, 0, b"are you?")[..];
    let event = server.next(&mut answer, &mut out).expect("a pong");
    assert!(matches!(event, Some(Event::Pong { payload }) if payload == *b"are you?"));
}
