//! WebSockets: messages of any length, pings, and how either side closes, byte for byte.

use axum::Router;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::routing::any;

use crate::wire::{End, Heard};
use crate::{LAST, Servers};

const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

fn app() -> Router {
    async fn echo(mut socket: WebSocket) {
        while let Some(Ok(message)) = socket.recv().await {
            let echoed = matches!(message, Message::Text(_) | Message::Binary(_));
            if echoed && socket.send(message).await.is_err() {
                return;
            }
        }
    }
    async fn closes(mut socket: WebSocket) {
        let _ = socket.recv().await;
        let frame = CloseFrame {
            code: 4321,
            reason: "on purpose".into(),
        };
        let _ = socket.send(Message::Close(Some(frame))).await;
        while let Some(Ok(_)) = socket.recv().await {}
    }
    async fn drops(mut socket: WebSocket) {
        let _ = socket.recv().await;
    }
    let echo = async |upgrade: WebSocketUpgrade| {
        let upgrade = upgrade.max_frame_size(32 << 20).max_message_size(32 << 20);
        upgrade.protocols(["other", "chat"]).on_upgrade(echo)
    };
    let short = async |upgrade: WebSocketUpgrade| {
        upgrade.max_message_size(10).on_upgrade(
            async |mut socket| {
                while let Some(Ok(_)) = socket.recv().await {}
            },
        )
    };
    Router::new()
        .route("/echo", any(echo))
        .route("/short", any(short))
        .route(
            "/closes",
            any(async |upgrade: WebSocketUpgrade| upgrade.on_upgrade(closes)),
        )
        .route(
            "/drops",
            any(async |upgrade: WebSocketUpgrade| upgrade.on_upgrade(drops)),
        )
}

fn ask(target: &str, fields: &str) -> Vec<u8> {
    let head = format!(
        "GET {target} HTTP/1.1\r\nhost: a\r\nupgrade: websocket\r\nconnection: upgrade\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
    );
    head.into_bytes()
}

/// A frame, masked with zeros if it's a client's (RFC 6455 §5.2). `last` ends a message.
fn frame(opcode: u8, last: bool, masked: bool, payload: &[u8]) -> Vec<u8> {
    let mask_bit = if masked { 0x80 } else { 0 };
    let mut bytes = vec![opcode | if last { 0x80 } else { 0 }];
    match payload.len() {
        length @ 0..126 => bytes.push(mask_bit | length as u8),
        length @ 126..65_536 => {
            bytes.push(mask_bit | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(mask_bit | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    if masked {
        bytes.extend([0; 4]);
    }
    bytes.extend_from_slice(payload);
    bytes
}

fn sent(opcode: u8, payload: &[u8]) -> Vec<u8> {
    frame(opcode, true, true, payload)
}

fn expected(opcode: u8, payload: &[u8]) -> Vec<u8> {
    frame(opcode, true, false, payload)
}

/// What is said after the head, which is a 101.
fn said(heard: &Heard) -> &[u8] {
    assert_eq!(heard.statuses().first(), Some(&101), "{heard}");
    assert_eq!(heard.end, End::Closed, "{heard}");
    let head = heard.bytes.windows(4).position(|four| four == b"\r\n\r\n");
    &heard.bytes[head.expect("a head") + 4..]
}

#[test]
fn messages_of_any_length_come_back() {
    let servers = Servers::of(app);
    for length in [0, 5, 125, 126, 65_535, 65_536, 1_048_576, 10_000_000] {
        let payload = vec![b'x'; length];
        let pieces = [
            ask("/echo", ""),
            sent(TEXT, &payload),
            sent(BINARY, &payload),
            sent(CLOSE, &1000_u16.to_be_bytes()),
        ];
        let heard = servers.raw_in(&pieces);
        let both = [expected(TEXT, &payload), expected(BINARY, &payload)].concat();
        let close = expected(CLOSE, &1000_u16.to_be_bytes());
        assert!(said(&heard) == [both, close].concat(), "{length} {heard}");
    }
}

/// Everything in one write, and a message in pieces with a ping between them.
#[test]
fn frames_with_the_head_and_messages_in_pieces() {
    let servers = Servers::of(app);
    let bytes = [
        ask("/echo", "sec-websocket-protocol: chat, more\r\n"),
        frame(TEXT, false, true, b"one "),
        sent(PING, b"ping"),
        frame(0, false, true, b"and "),
        frame(0, true, true, b"only"),
        sent(PING, b""),
        sent(CLOSE, b""),
    ];
    let heard = servers.raw(bytes.concat(), &[101]);
    assert!(heard.has("sec-websocket-protocol: chat\r\n"), "{heard}");
    let wanted = [
        expected(PONG, b"ping"),
        expected(TEXT, b"one and only"),
        expected(PONG, b""),
        expected(CLOSE, b""),
    ];
    assert_eq!(said(&heard), wanted.concat(), "{heard}");
}

#[test]
fn either_side_closes_with_a_code() {
    let servers = Servers::of(app);
    for code in [1000_u16, 1001, 3000, 4999] {
        let payload = [&code.to_be_bytes()[..], b"why"].concat();
        let heard = servers.raw_in(&[ask("/echo", ""), sent(CLOSE, &payload)]);
        assert_eq!(said(&heard)[2..4], code.to_be_bytes(), "{heard}");
    }
    let answer = sent(CLOSE, &4321_u16.to_be_bytes());
    let heard = servers.raw_in(&[ask("/closes", ""), sent(TEXT, b"go"), answer]);
    let payload = [&4321_u16.to_be_bytes()[..], b"on purpose"].concat();
    assert_eq!(said(&heard), expected(CLOSE, &payload), "{heard}");
    // Dropped without a word.
    let heard = servers.raw_in(&[ask("/drops", ""), sent(TEXT, b"go")]);
    assert_eq!(said(&heard), b"", "{heard}");
}

#[test]
fn what_breaks_the_rules_ends_the_connection() {
    let servers = Servers::of(app);
    for (target, bad) in [
        ("/echo", frame(TEXT, true, false, b"not masked")),
        ("/echo", sent(3, b"no such frame")),
        ("/echo", sent(TEXT, b"\xff\xfe")),
        ("/short", sent(TEXT, b"longer than ten bytes")),
    ] {
        let heard = servers.raw_in(&[[ask(target, ""), bad].concat()]);
        assert_eq!(heard.statuses(), [101], "{heard}");
    }
}

/// Requests that are none for a WebSocket are answered by axum. Where an upgrade was asked for, the
/// connection ends with that here.
#[test]
fn who_asks_wrongly_is_refused() {
    let servers = Servers::of(app);
    let plain = "GET /echo HTTP/1.1\r\nhost: a\r\n\r\n".to_owned() + LAST;
    servers.raw(plain, &[400, 404]);
    let old = String::from_utf8(ask("/echo", ""))
        .expect("text")
        .replace("version: 13", "version: 8");
    let (ours, theirs) = servers.apart(old + LAST);
    assert_eq!(
        (ours.statuses(), theirs.statuses()),
        (vec![400], vec![400, 404])
    );
    assert!(
        ours.has("connection: close\r\n") && ours.end == End::Closed,
        "{ours}"
    );
}
