//! The bytes that are written, against the RFC's own layouts.

use proto::http2::client::{Client, Request};
use proto::http2::server::{Event, PREFACE, Server};
use proto::http2::{Config, ErrorCode, Head, Limits, List};

use crate::harness::{frame, headers, settings};

const SMALL: Config = Config {
    streams: 100,
    stream_window: 65_535,
    connection_window: 65_535,
    header_table_bytes: 4096,
    limits: Limits {
        header_list_bytes: 16_384,
        frame_bytes: 16_384,
        continuations: 64,
        resets: 1000,
        idle_frames: 1000,
        unsent_bytes: 131_072,
    },
};

const LARGE: Config = Config {
    streams: 7,
    stream_window: 0x10_0000,
    connection_window: 0x20_0000,
    header_table_bytes: 0x2000,
    limits: Limits {
        frame_bytes: 0x8000,
        ..SMALL.limits
    },
};

#[test]
fn a_connection_starts_with_what_differs_from_the_defaults() {
    let mut out = Vec::new();
    Client::new(SMALL, &mut out);
    let list: (u16, u32) = (6, 16_384);
    assert_eq!(out, [&PREFACE[..], &settings(&[(2, 0), list])].concat());

    out.clear();
    Server::new(SMALL, &mut out);
    assert_eq!(out, settings(&[(3, 100), list]));

    out.clear();
    Server::new(LARGE, &mut out);
    let all = [(3, 7), (4, 0x10_0000), (1, 0x2000), (5, 0x8000), list];
    let credit = frame(8, 0, 0, &(0x20_0000_u32 - 65_535).to_be_bytes());
    assert_eq!(out, [settings(&all), credit].concat());
}

#[test]
fn values_that_cannot_be_told_are_brought_into_range() {
    let config = Config {
        stream_window: u32::MAX,
        connection_window: 1,
        limits: Limits {
            frame_bytes: 1,
            ..SMALL.limits
        },
        ..SMALL
    };
    let mut out = Vec::new();
    Server::new(config, &mut out);
    assert_eq!(out, settings(&[(3, 100), (4, u32::MAX >> 1), (6, 16_384)]));
}

#[test]
fn a_request_is_headers_and_data() {
    let mut out = Vec::new();
    let mut client = Client::new(SMALL, &mut out);
    out.clear();
    let fields = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
    let get = Request::new(&fields, &b""[..]).expect("a valid request");
    client.request(&get, 0, &mut out).expect("capacity");
    // END_HEADERS and END_STREAM; all three are in the static table (RFC 7541, appendix A).
    assert_eq!(out, [0, 0, 3, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84]);

    out.clear();
    let post = [(":method", "POST"), (":scheme", "http"), (":path", "/")];
    let post = Request::new(&post, &b"hi"[..]).expect("a valid request");
    client.request(&post, 1, &mut out).expect("capacity");
    let head = [0, 0, 3, 1, 4, 0, 0, 0, 3, 0x83, 0x86, 0x84];
    let body = [0, 0, 2, 0, 1, 0, 0, 0, 3, b'h', b'i'];
    assert_eq!(out, [&head[..], &body].concat());

    out.clear();
    client.cancel(0, ErrorCode::CANCEL, &mut out);
    assert_eq!(out, [0, 0, 4, 3, 0, 0, 0, 0, 1, 0, 0, 0, 8]);
    out.clear();
    client.ping(*b"ringside", &mut out);
    assert_eq!(
        out,
        [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], b"ringside"].concat()
    );
    out.clear();
    client.close(ErrorCode::NO_ERROR, &mut out);
    assert_eq!(out, [0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn a_block_longer_than_a_frame_is_continued() {
    let mut out = Vec::new();
    let mut client = Client::new(SMALL, &mut out);
    out.clear();
    // Bytes whose Huffman code is longer than they are, so that the block has their length.
    let long = "\\".repeat(40_000);
    let fields = [
        (":method", "GET"),
        (":scheme", "http"),
        (":path", "/"),
        ("x", &*long),
    ];
    let get = Request::new(&fields, &b""[..]).expect("a valid request");
    client.request(&get, 0, &mut out).expect("capacity");
    let mut found = Vec::new();
    let mut rest = &out[..];
    while !rest.is_empty() {
        let bytes = u32::from_be_bytes([0, rest[0], rest[1], rest[2]]) as usize;
        found.push((rest[3], rest[4], bytes));
        rest = &rest[9 + bytes..];
    }
    let last = out.len() - 3 * 9 - 2 * 16_384;
    assert_eq!(found, [(1, 1, 16_384), (9, 0, 16_384), (9, 4, last)]);
}

#[test]
fn a_body_is_cut_into_frames_that_every_peer_takes() {
    let mut out = Vec::new();
    let mut server = Server::new(SMALL, &mut out);
    let get = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
    let input = [&PREFACE[..], &settings(&[]), &headers(1, 1, &get)].concat();
    let mut input = &input[..];
    while server
        .next(&mut input, &mut out)
        .expect("valid frames")
        .is_some()
    {}
    out.clear();
    let head = Head::response::<&str, &str>(200, &[]).expect("a valid head");
    let body = vec![b'x'; 40_000];
    assert_eq!(server.answer(1, &head, &body, &mut out), Ok(40_000));
    let pieces = body.chunks(16_384).enumerate();
    let data = pieces.map(|(at, piece)| frame(0, u8::from(at == 2), 1, piece));
    let expected: Vec<_> = [frame(1, 4, 1, &[0x88])].into_iter().chain(data).collect();
    assert_eq!(out, expected.concat());
}

#[test]
fn a_response_is_the_same_in_whatever_case_its_names_are_given_and_no_less_checked() {
    let with = |fields: &[(&str, &str)]| {
        let mut out = Vec::new();
        let mut server = Server::new(SMALL, &mut out);
        let get = [(":method", "GET"), (":scheme", "http"), (":path", "/")];
        let input = [&PREFACE[..], &settings(&[]), &headers(1, 1, &get)].concat();
        let mut input = &input[..];
        let mut kept = List::default();
        while let Some(event) = server.next(&mut input, &mut out).expect("valid frames") {
            if let Event::Request { fields, .. } = event {
                kept.copy(fields);
            }
        }
        let path = kept.fields().get(b":path").map(<[u8]>::to_vec);
        assert_eq!(
            path.as_deref(),
            Some(&b"/"[..]),
            "what is kept is what came"
        );
        out.clear();
        let fields = (fields.iter()).map(|(name, value)| (name.as_bytes(), value.as_bytes()));
        let kept = Head::response_of(200, fields.clone()).map(drop);
        let said = server.respond_with(1, 200, fields, true, &mut out);
        assert_eq!(kept.is_ok(), said.is_ok(), "kept or not");
        said.map(|()| out)
    };
    assert_eq!(with(&[("X-Trace", "A")]), with(&[("x-trace", "A")]));
    assert!(with(&[("x-trace", "A")]).is_ok_and(|out| !out.is_empty()));
    for field in [
        ("Connection", "close"),
        ("X Y", "a"),
        ("X", "a\r\nb"),
        (":status", "1"),
    ] {
        assert!(with(&[field]).is_err(), "{field:?}");
    }
}

#[test]
fn codes_have_their_registered_names() {
    assert_eq!(ErrorCode(7).to_string(), "REFUSED_STREAM");
    assert_eq!(ErrorCode(13).name(), Some("HTTP_1_1_REQUIRED"));
    assert_eq!(ErrorCode(14).name(), None);
    assert_eq!(ErrorCode(0xabc).to_string(), "error code 0xabc");
}
