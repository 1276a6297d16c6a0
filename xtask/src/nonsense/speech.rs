//! What a peer says when it stops making sense: valid pieces of each protocol at the wrong time or
//! without end, and pieces that were never valid. Knows no sockets.

use super::random::Random;

/// What is spoken on a connection, below TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Http1,
    Http2,
    Grpc,
    WebSocket,
}

/// Whom the nonsense is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Victim {
    Client,
    Server,
}

/// A monologue: a beginning, then `unit` until so many bytes are said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Speech {
    pub(super) start: Vec<u8>,
    pub(super) unit: Vec<u8>,
    pub(super) bytes: usize,
}

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The fields of `GET http://a/bytes/100000` and of a gRPC call, as HPACK literals (RFC 7541).
const GET_FIELDS: &[u8] = b"\x82\x86\x04\x0d/bytes/100000\x41\x01a";
const CALL_FIELDS: &[u8] =
    b"\x83\x86\x04\x13/ringside.Echo/Echo\x41\x01a\x0f\x10\x10application/grpc";
const POST_FIELDS: &[u8] = b"\x83\x86\x04\x05/echo\x41\x01a";

/// Something to say to `victim`, on a connection that speaks `protocol` or is `fresh`.
pub(super) fn speech(
    random: &mut Random,
    protocol: Protocol,
    victim: Victim,
    fresh: bool,
) -> Speech {
    let bytes = random.pick(&[100, 5_000, 200_000, 2_000_000, 20_000_000, 100_000_000]);
    let (start, unit) = if random.once_in(5) {
        noise(random)
    } else {
        match protocol {
            Protocol::Http1 => http1(random, victim),
            Protocol::Http2 | Protocol::Grpc => http2(random, victim, fresh),
            Protocol::WebSocket => websocket(random, victim, fresh),
        }
    };
    Speech { start, unit, bytes }
}

/// Bytes that no protocol here knows, or that look like TLS.
fn noise(random: &mut Random) -> (Vec<u8>, Vec<u8>) {
    let count = 1 + random.below(5000);
    let payload = random.bytes(count);
    if random.once_in(2) {
        return (Vec::new(), payload);
    }
    // RFC 8446 §5.1: a type, a version that means nothing, a length.
    let kind = random.pick(&[20, 21, 22, 23, 24, 0]);
    let said = random.pick(&[payload.len() as u16, 0, u16::MAX, 16_384, 16_641]);
    let mut record = vec![kind, 3, random.pick(&[1, 3, 4, 255])];
    record.extend(said.to_be_bytes());
    record.extend(payload);
    (Vec::new(), record)
}

/// What a server may say of HTTP/1.1: a beginning, and what follows again and again.
const ANSWERS: [(&str, &str); 13] = [
    ("", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    ("", "HTTP/1.1 100 Continue\r\n\r\n"),
    (
        "",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    ),
    (
        "",
        "HTTP/1.1 503 No\r\nContent-Length: 3\r\nConnection: close\r\n\r\nno\n",
    ),
    ("HTTP/1.1 200 OK\r\n", "X-Endless: 12345678901234567890\r\n"),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5\r\nhello\r\n",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;",
        "extension=endless;",
    ),
    (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
        "Trailer: endless\r\n",
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "x",
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
        "0123456789",
    ),
    (
        "HTTP/1.1 200 OK\r\n\r\n",
        "a body that only the end of the connection ends",
    ),
    (
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "hello!",
    ),
    ("", "\r\n"),
];

/// The same of a client.
const REQUESTS: [(&str, &str); 12] = [
    ("", "GET /bytes/100000 HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("", "GET /delay/100ms HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("", "GET /slow/10ms HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
    ("GET /", "endless"),
    (
        "GET / HTTP/1.1\r\nHost: a\r\n",
        "X-Endless: 12345678901234567890\r\n",
    ),
    (
        "POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048576\r\n\r\n",
        "half a body",
    ),
    (
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n",
        "5\r\nhello\r\n",
    ),
    (
        "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;",
        "endless;",
    ),
    (
        "POST /echo HTTP/1.1\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        "0\r\n\r\n",
    ),
    (
        "",
        "POST /echo HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9\r\n\r\n",
    ),
    ("", "\r\n"),
];

fn http1(random: &mut Random, victim: Victim) -> (Vec<u8>, Vec<u8>) {
    let (start, unit) = match victim {
        Victim::Client => random.pick(&ANSWERS),
        Victim::Server => random.pick(&REQUESTS),
    };
    (start.into(), unit.into())
}

/// A frame of HTTP/2 (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

fn http2(random: &mut Random, victim: Victim, fresh: bool) -> (Vec<u8>, Vec<u8>) {
    let mut start = Vec::new();
    if fresh {
        if victim == Victim::Server {
            start.extend_from_slice(PREFACE);
        }
        start.extend(frame(4, 0, 0, &[]));
    }
    let id = random.pick(&[0, 1, 1, 3, 5, 2, 0x7fff_ffff]);
    let huge = 0x7fff_ffff_u32.to_be_bytes();
    let setting = |id: u8, value: u32| {
        let mut bytes = vec![0, id];
        bytes.extend(value.to_be_bytes());
        bytes
    };
    let unit = match random.below(16) {
        0 | 1 => frame(6, 0, 0, b"12345678"),
        2 => frame(4, 0, 0, &[]),
        3 => [
            frame(4, 0, 0, &setting(1, 0)),
            frame(4, 0, 0, &setting(1, 65_536)),
        ]
        .concat(),
        4 => [
            frame(4, 0, 0, &setting(4, 0)),
            frame(4, 0, 0, &setting(4, 1 << 20)),
        ]
        .concat(),
        5 => frame(8, 0, id, &huge),
        6 => frame(3, 0, id, &[0, 0, 0, random.below(14) as u8]),
        7 => frame(7, 0, 0, &[0, 0, 0, random.below(4) as u8, 0, 0, 0, 0]),
        8 => {
            start.extend(frame(1, 0, id, &[0x88]));
            frame(9, 0, id, &[0x40, 1, b'a', 1, b'b'].repeat(40))
        }
        9 => frame(0, 0, id, &[]),
        10 => frame(0, 0, id, &[b'x'; 16_384]),
        11 => frame(2, 0, id, &[0x80, 0, 0, 1, 255]),
        12 => frame(5, 4, id, &[0, 0, 0, 2, 0x82, 0x86, 0x84]),
        13 => {
            let (kind, count) = (random.next() as u8, random.below(300));
            let payload = random.bytes(count);
            frame(kind, random.next() as u8, id, &payload)
        }
        _ => return (start, streams(random, victim)),
    };
    (start, unit)
}

/// Heads of many streams, some with a part of what follows.
fn streams(random: &mut Random, victim: Victim) -> Vec<u8> {
    let kind = random.below(5);
    let mut unit = Vec::new();
    for stream in (0..100).map(|n| 2 * n + 1) {
        match (victim, kind) {
            (Victim::Client, 0) => unit.extend(frame(1, 5, stream, &[0x88])),
            (Victim::Client, 1) => unit.extend(frame(1, 4, stream, &[0x88])),
            (Victim::Client, _) => {
                let count = random.below(40);
                let payload = random.bytes(count);
                unit.extend(frame(1, 4, stream, &payload));
            }
            (Victim::Server, 0) => unit.extend(frame(1, 5, stream, GET_FIELDS)),
            (Victim::Server, 1) => {
                unit.extend(frame(1, 5, stream, GET_FIELDS));
                unit.extend(frame(3, 0, stream, &[0, 0, 0, 8]));
            }
            (Victim::Server, 2) => {
                // A message of a megabyte is announced, and a part of it sent.
                unit.extend(frame(1, 4, stream, CALL_FIELDS));
                let mut message = vec![0, 0, 0x0f, 0xff, 0xff];
                message.resize(16_000, b'm');
                unit.extend(frame(0, 0, stream, &message));
            }
            (Victim::Server, 3) => {
                unit.extend(frame(1, 4, stream, POST_FIELDS));
                unit.extend(frame(0, 0, stream, &[b'b'; 16_000]));
            }
            (Victim::Server, _) => {
                let count = random.below(40);
                let payload = random.bytes(count);
                unit.extend(frame(1, 4, stream, &payload));
            }
        }
    }
    unit
}

/// A frame of WebSocket (RFC 6455 §5.2); `masked` as clients must, with a key of zeros.
fn message(first: u8, payload: &[u8], masked: bool) -> Vec<u8> {
    let mask = if masked { 0x80 } else { 0 };
    let mut frame = vec![first];
    match payload.len() {
        length @ 0..126 => frame.push(mask | length as u8),
        length => {
            frame.push(mask | 126);
            frame.extend((length as u16).to_be_bytes());
        }
    }
    if masked {
        frame.extend([0; 4]);
    }
    frame.extend_from_slice(payload);
    frame
}

fn websocket(random: &mut Random, victim: Victim, fresh: bool) -> (Vec<u8>, Vec<u8>) {
    let mut start = Vec::new();
    if fresh && victim == Victim::Server {
        start.extend_from_slice(
            b"GET /ws HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
              Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        );
    } else if fresh {
        return http1(random, victim);
    }
    // Now and then from the wrong side.
    let masked = (victim == Victim::Server) != random.once_in(8);
    let unit = match random.below(9) {
        0 | 1 => message(0x89, &[b'p'; 125], masked),
        2 => message(0x8a, b"unasked", masked),
        3 => {
            start.extend(message(0x01, b"a", masked));
            message(0x00, &[b'f'; 1000], masked)
        }
        4 => message(0x81, &[0xff, 0xfe, 0xfd], masked),
        5 => message(0x88, &[0x03, 0xe8, b'x'], masked),
        6 => message(0x81, &[b't'; 20_000], masked),
        7 => message(0x82, b"", masked),
        _ => {
            let count = random.below(300);
            let payload = random.bytes(count);
            message(random.next() as u8, &payload, masked)
        }
    };
    (start, unit)
}
