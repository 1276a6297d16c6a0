//! HTTP/2 and gRPC: clients write their frames by hand, byte for byte.

use std::collections::BTreeMap;

use proto::http2::hpack::Decoder;

use super::*;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// Types and flags of frames (RFC 9113 §6).
pub(super) const DATA: u8 = 0;
pub(super) const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
pub(super) const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
pub(super) const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

pub(super) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u32).to_be_bytes();
    let mut bytes = length[1..].to_vec();
    bytes.extend([kind, flags]);
    bytes.extend(stream.to_be_bytes());
    bytes.extend(payload);
    bytes
}

/// The preface, settings with windows of 1 MiB for streams, and as much credit for all of them.
pub(super) fn opening() -> Vec<u8> {
    let window = 1_u32 << 20;
    let setting = [&[0, 4][..], &window.to_be_bytes()].concat();
    let mut bytes = PREFACE.to_vec();
    bytes.extend(frame(SETTINGS, 0, 0, &setting));
    bytes.extend(frame(WINDOW_UPDATE, 0, 0, &window.to_be_bytes()));
    bytes
}

/// A block of fields, none of which is remembered (RFC 7541 §6.2.2).
pub(super) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, value) in fields {
        bytes.extend([0, name.len() as u8]);
        bytes.extend(name.as_bytes());
        bytes.push(value.len() as u8);
        bytes.extend(value.as_bytes());
    }
    bytes
}

pub(super) fn request(stream: u32, method: &str, path: &str, end: bool) -> Vec<u8> {
    let fields = [
        (":method", method),
        (":scheme", "http"),
        (":path", path),
        (":authority", "test"),
    ];
    let flags = END_HEADERS | if end { END_STREAM } else { 0 };
    frame(HEADERS, flags, stream, &block(&fields))
}

pub(super) fn call(stream: u32, path: &str, timeout: &str) -> Vec<u8> {
    call_with(stream, path, timeout, &[])
}

/// The same with more fields.
pub(super) fn call_with(stream: u32, path: &str, timeout: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let own = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", path),
        (":authority", "test"),
        ("te", "trailers"),
        ("content-type", "application/grpc"),
        ("grpc-timeout", timeout),
    ];
    let fields = [&own[..], more].concat();
    frame(HEADERS, END_HEADERS, stream, &block(&fields))
}

pub(super) fn message(text: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0];
    bytes.extend((text.len() as u32).to_be_bytes());
    bytes.extend(text);
    bytes
}

/// What came on one stream.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Told {
    /// `name: value` lines of its heads and trailers.
    pub(super) fields: Vec<String>,
    pub(super) data: Vec<u8>,
    frames: usize,
    pub(super) ended: bool,
    pub(super) reset: Option<u32>,
}

/// What came on every stream, and the code of a GOAWAY.
pub(super) fn told(mut bytes: &[u8]) -> (BTreeMap<u32, Told>, Option<u32>) {
    let mut decoder = Decoder::new(4096);
    let (mut streams, mut gone) = (BTreeMap::<u32, Told>::new(), None);
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().expect("four bytes"));
    while !bytes.is_empty() {
        let length = number(&[&[0], &bytes[..3]].concat()) as usize;
        let (kind, flags, id) = (bytes[3], bytes[4], number(&bytes[5..9]));
        let payload = &bytes[9..9 + length];
        bytes = &bytes[9 + length..];
        if id == 0 {
            if kind == GOAWAY {
                gone = Some(number(&payload[4..8]));
            }
            continue;
        }
        let stream = streams.entry(id).or_default();
        match kind {
            DATA => {
                stream.data.extend(payload);
                stream.frames += 1;
            }
            HEADERS => decoder
                .decode(payload, 1 << 16, &mut |name, value| {
                    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
                    stream.fields.push(text(name) + ": " + &text(value));
                })
                .expect("a block in order"),
            RST_STREAM => stream.reset = Some(number(payload)),
            _ => {}
        }
        stream.ended |= kind <= HEADERS && flags & END_STREAM != 0;
    }
    (streams, gone)
}

fn script(sends: Vec<(u64, Vec<u8>)>) -> Script {
    Script {
        sends,
        ..Script::default()
    }
}

#[test]
fn any_chopping_of_http2_requests_gives_the_same_answers() {
    let paths = [
        "/",
        "/delay/3ms",
        "/json",
        "/bytes/300K",
        "/slow/100us",
        "/chunked/50K",
        "/none",
        "/status/204",
        "/bytes/5",
        "/truncate",
        "/h2/reset/8",
        "/",
    ];
    let mut bytes = opening();
    for (at, path) in paths.iter().enumerate() {
        bytes.extend(request(2 * at as u32 + 1, "GET", path, true));
    }
    bytes.extend(request(101, "POST", "/echo", false));
    bytes.extend(frame(DATA, 0, 101, b"hel"));
    bytes.extend(frame(DATA, END_STREAM, 101, b"lo"));
    bytes.extend(call(103, "/test.Calls/EchoMany", "1H"));
    let two = [message(b"one"), message(&[b'2'; 9000])].concat();
    bytes.extend(frame(DATA, END_STREAM, 103, &two));
    let script = script(vec![(0, bytes)]);
    let (calm, summary) = heard(1, Faults::none(), &script, 5 * SECOND);
    let (calm, _) = told(&calm.bytes);
    assert_eq!(calm.len(), paths.len() + 2);
    assert_eq!(calm[&1].data, b"Hello, World!");
    assert_eq!(calm[&1].fields, calm[&23].fields);
    assert_eq!(calm[&7].data.len(), 300 << 10);
    assert_eq!((&calm[&9].data[..], calm[&9].frames), (&b"slow\n"[..], 5));
    assert_eq!(calm[&13].fields[0], ":status: 404");
    assert_eq!((calm[&19].data.len(), calm[&19].reset), (500, Some(2)));
    assert_eq!(calm[&21].reset, Some(8));
    assert_eq!(calm[&101].data, b"hello");
    assert_eq!(calm[&103].data, two);
    assert!(calm[&103].fields.contains(&"grpc-status: 0".to_owned()));
    for seed in 0..50 {
        let (rough, other) = heard(seed, Faults::rough(), &script, 5 * SECOND);
        let (mut rough, _) = told(&rough.bytes);
        for (id, stream) in &mut rough {
            // Where bodies are cut into frames depends on when they are sent.
            stream.frames = calm[id].frames;
        }
        assert!(rough == calm, "seed {seed}: {rough:?}");
        assert_eq!(other.counts, summary.counts, "seed {seed}");
    }
}

#[test]
fn connections_of_http2_that_die_anywhere_leave_nothing_behind() {
    for seed in 0..50 {
        let faults = Faults {
            reset: 0.05,
            ..Faults::rough()
        };
        let mut stage = Stage::new(seed, faults);
        for index in 0..10 {
            let mut bytes = opening();
            for (at, path) in ["/delay/2ms", "/bytes/300K", "/slow/1ms", "/"]
                .iter()
                .enumerate()
            {
                bytes.extend(request(2 * at as u32 + 1, "GET", path, true));
            }
            // A client that stays keeps its calls, too.
            let timeout = if index % 3 == 2 { "100m" } else { "1H" };
            bytes.extend(call(11, "/test.Calls/EchoMany", timeout));
            let mut script = script(vec![(0, bytes)]);
            script.resets = (index % 3 == 0).then_some(seed * 20_000);
            script.closes = (index % 3 == 1).then_some(seed * 20_000);
            stage.dial(script);
        }
        stage.serve(200 * SECOND, || false);
        assert_eq!(stage.worker.open, 0, "seed {seed}");
        stage.end();
    }
}

#[test]
fn what_begins_like_the_preface_and_goes_on_as_http1_is_http1() {
    for (first, rest) in [("P", "OST /echo HTTP/1.1"), ("PR", "OPFIND / HTTP/1.1")] {
        let rest = format!("{rest}\r\nHost: test\r\nContent-Length: 0\r\n\r\n");
        let sends = vec![(0, first.into()), (SECOND, rest.into())];
        let (heard, _) = heard(1, Faults::none(), &script(sends), 3 * SECOND);
        assert!(heard.text().starts_with("HTTP/1.1 "), "{}", heard.text());
    }
    let (heard, _) = heard(
        1,
        Faults::none(),
        &script(vec![(0, b"PRI * HT".to_vec())]),
        100 * SECOND,
    );
    assert!(
        heard.text().starts_with("HTTP/1.1 408 "),
        "{}",
        heard.text()
    );
    let took = heard.after(heard.last);
    assert!((10 * SECOND..10 * SECOND + MS).contains(&took), "{took} ns");
}

#[test]
fn a_block_that_never_ends_is_refused_when_its_time_is_over() {
    let unfinished = frame(HEADERS, END_STREAM, 1, &block(&[(":method", "GET")]));
    let sends = vec![(0, [opening(), unfinished].concat())];
    let (heard, summary) = heard(1, Faults::none(), &script(sends), 100 * SECOND);
    let took = heard.after(heard.last);
    assert!((10 * SECOND..10 * SECOND + MS).contains(&took), "{took} ns");
    assert_eq!(told(&heard.bytes).1, Some(11), "ENHANCE_YOUR_CALM");
    assert!(heard.is_over());
    assert_eq!(summary.counts.rejections.timeout, 1);
}

#[test]
fn a_list_of_fields_that_is_too_long_is_refused_and_counted() {
    const CONTINUATION: u8 = 9;
    let long = "x".repeat(120);
    let mut fields = vec![(":method", "GET"), (":scheme", "http"), (":path", "/")];
    fields.extend([("x-long", &long[..]); 200]);
    let block = block(&fields);
    let mut bytes = opening();
    let pieces: Vec<&[u8]> = block.chunks(16_000).collect();
    for (at, piece) in pieces.iter().enumerate() {
        let kind = if at == 0 { HEADERS } else { CONTINUATION };
        let ends = if at == 0 { END_STREAM } else { 0 };
        let last = at + 1 == pieces.len();
        let flags = ends | if last { END_HEADERS } else { 0 };
        bytes.extend(frame(kind, flags, 1, piece));
    }
    bytes.extend(request(3, "GET", "/", true));
    let (heard, summary) = heard(1, Faults::none(), &script(vec![(0, bytes)]), SECOND);
    let (streams, _) = told(&heard.bytes);
    assert_eq!(streams[&1].fields[0], ":status: 431");
    assert_eq!(streams[&3].fields[0], ":status: 200");
    let rejections = summary.counts.rejections;
    assert_eq!(rejections.head_too_long, 1, "{rejections:?}");
}

#[test]
fn a_connection_of_http2_that_idles_is_told_so_and_closed() {
    let sends = vec![(0, [opening(), request(1, "GET", "/", true)].concat())];
    let (heard, summary) = heard(1, Faults::none(), &script(sends), 500 * SECOND);
    let took = heard.after(heard.last);
    assert!((75 * SECOND..75 * SECOND + MS).contains(&took), "{took} ns");
    assert_eq!(told(&heard.bytes).1, Some(0), "NO_ERROR");
    assert!(heard.is_over());
    assert_eq!(summary.counts.idle, 1);
}

#[test]
fn streams_for_which_the_client_does_nothing_are_given_up() {
    let mut bytes = opening();
    bytes.extend(request(1, "GET", "/bytes/3M", true));
    bytes.extend(request(3, "POST", "/echo", false));
    let (heard, summary) = heard(1, Faults::none(), &script(vec![(0, bytes)]), 80 * SECOND);
    let (streams, _) = told(&heard.bytes);
    assert_eq!(
        streams[&1].data.len(),
        1 << 20,
        "as much as there is credit"
    );
    assert_eq!(streams[&1].reset, Some(8), "CANCEL");
    assert_eq!(streams[&3].fields[0], ":status: 408");
    assert_eq!(streams[&3].reset, Some(0), "NO_ERROR");
    assert_eq!(
        (summary.counts.unread, summary.counts.rejections.timeout),
        (1, 1)
    );
}

#[test]
fn the_drain_finishes_streams_and_says_so() {
    let mut stage = Stage::new(1, Faults::none());
    let mut bytes = opening();
    bytes.extend(request(1, "GET", "/delay/9s", true));
    bytes.extend(request(3, "GET", "/stall", true));
    bytes.extend(call(5, "/test.Calls/Watch", "1H"));
    bytes.extend(frame(DATA, END_STREAM, 5, &message(b"")));
    let late = (SECOND, request(7, "GET", "/", true));
    let heard = stage.dial(script(vec![(0, bytes), late]));
    stage.serve(100 * MS, || false);
    let summary = stage.end();
    assert_eq!(summary.counts.cut, 0);
    let heard = heard.borrow();
    let (streams, gone) = told(&heard.bytes);
    assert_eq!(gone, Some(0));
    assert_eq!(streams[&1].data, b"late\n");
    assert_eq!(streams[&5].data, message(b"so far"));
    assert!(streams[&5].fields.contains(&"grpc-status: 14".to_owned()));
    assert!(
        !streams.contains_key(&7),
        "what came after GOAWAY is not served"
    );
}

#[test]
fn a_call_ends_at_its_deadline() {
    let bytes = [opening(), call(1, "/test.Calls/EchoMany", "50m")].concat();
    let first = frame(DATA, 0, 1, &message(b"hi"));
    let sends = vec![(0, bytes), (10 * MS, first)];
    let (heard, _) = heard(1, Faults::none(), &script(sends), SECOND);
    let (streams, _) = told(&heard.bytes);
    assert_eq!(streams[&1].data, message(b"hi"));
    assert!(streams[&1].fields.contains(&"grpc-status: 4".to_owned()));
    assert!(streams[&1].ended);
}

#[test]
fn calls_that_cannot_be_served_end_with_a_status_that_says_why() {
    let echo = "/test.Calls/Echo";
    let compressed = [&[1, 0, 0, 0, 1][..], b"x"].concat();
    let too_long = [0, 0xff, 0, 0, 0];
    let cut_off = [0, 0, 0, 0, 9, b'x'];
    let two = [message(b"a"), message(b"b")].concat();
    let table = [
        ("/test.Calls/None", &message(b"x")[..], "12"),
        ("/none", &message(b"x"), "12"),
        (echo, &compressed, "13"),
        (echo, &too_long, "8"),
        (echo, &cut_off, "13"),
        (echo, b"", "12"),
        (echo, &two, "12"),
        ("/test.Calls/Refuse", &message(b"x"), "5"),
    ];
    let mut bytes = opening();
    for (at, (path, data, _)) in table.iter().enumerate() {
        let id = 2 * at as u32 + 1;
        bytes.extend(call(id, path, "1H"));
        bytes.extend(frame(DATA, END_STREAM, id, data));
    }
    let (heard, _) = heard(1, Faults::none(), &script(vec![(0, bytes)]), SECOND);
    let (streams, gone) = told(&heard.bytes);
    for (at, (path, data, status)) in table.iter().enumerate() {
        let stream = &streams[&(2 * at as u32 + 1)];
        let line = format!("grpc-status: {status}");
        assert!(stream.fields.contains(&line), "{path} {data:?}: {stream:?}");
    }
    assert_eq!(gone, Some(0), "only at the end");
}
