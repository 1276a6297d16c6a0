//! WebSocket, spoken byte by byte: echoes, control frames, every way to close and to be refused.

use std::io::ErrorKind;
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use crate::client::{Client, Server, config, each_engine, get};

const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// First bytes of frames: FIN and opcode.
pub(crate) const TEXT: u8 = 0x81;
pub(crate) const BINARY: u8 = 0x82;
pub(crate) const CLOSE: u8 = 0x88;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;
const TEXT_BEGIN: u8 = 0x01;
const MORE: u8 = 0x00;
const LAST: u8 = 0x80;

pub(crate) fn upgrade(path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
}

/// A frame as a client sends it.
pub(crate) fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match payload.len() {
        length @ 0..=125 => bytes.push(0x80 | length as u8),
        length @ 126..=0xffff => {
            bytes.push(0x80 | 126);
            bytes.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            bytes.push(0x80 | 127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes.extend_from_slice(&KEY);
    bytes.extend((0..payload.len()).map(|at| payload[at] ^ KEY[at % 4]));
    bytes
}

pub(crate) fn close(code: u16, reason: &str) -> Vec<u8> {
    [&code.to_be_bytes()[..], reason.as_bytes()].concat()
}

impl Client<TcpStream> {
    pub(crate) fn upgraded(mut self, path: &str) -> Self {
        self.send(upgrade(path));
        self.expect_upgrade();
        self
    }

    fn expect_upgrade(&mut self) {
        let answer = self.answer();
        let accept = answer.field("Sec-WebSocket-Accept");
        assert_eq!(accept, Some("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
        assert_eq!(answer.status, 101);
    }

    /// The next frame: its first byte and its payload.
    pub(crate) fn frame(&mut self) -> (u8, Vec<u8>) {
        let head = self.exactly(2);
        let length = match head[1] {
            126 => {
                let long = self.exactly(2);
                u64::from(u16::from_be_bytes([long[0], long[1]]))
            }
            127 => u64::from_be_bytes(self.exactly(8).try_into().expect("eight bytes")),
            short => u64::from(short),
        };
        (head[0], self.exactly(length as usize))
    }

    pub(crate) fn expect(&mut self, first: u8, payload: &[u8]) {
        let (seen, came) = self.frame();
        assert_eq!(
            (seen, came.escape_ascii().to_string()),
            (first, payload.escape_ascii().to_string())
        );
    }
}

#[test]
fn messages_come_back_in_one_frame_and_pings_are_answered() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect().upgraded("/ws");
        for (first, payload) in [
            (TEXT, &b"Hello"[..]),
            (TEXT, "h\u{e9}llo \u{1f30d}".as_bytes()),
            (BINARY, b"\x00\xff\xfe"),
            (BINARY, b""),
            (TEXT, &[b'x'; 125]),
            (TEXT, &[b'x'; 126]),
            (BINARY, &[b'x'; 65_535]),
            (BINARY, &vec![b'x'; 1 << 20]),
        ] {
            client.send(frame(first, payload));
            client.expect(first, payload);
        }
        let fragments = [
            frame(TEXT_BEGIN, b"one "),
            frame(PING, b"between"),
            frame(MORE, b"two "),
            frame(PONG, b"unasked"),
            frame(LAST, b"three"),
        ];
        client.send(fragments.concat());
        client.expect(PONG, b"between");
        client.expect(TEXT, b"one two three");
        client.send(frame(CLOSE, &close(3456, "bye")));
        client.expect(CLOSE, &close(3456, ""));
        assert!(client.is_over());
        let mut client = server.connect().upgraded("/ws");
        client.send(frame(CLOSE, b""));
        client.expect(CLOSE, b"");
        assert!(client.is_over());
        let summary = server.end();
        assert_eq!((summary.counts.messages, summary.counts.requests), (9, 2));
    });
}

#[test]
fn what_breaks_the_protocol_is_told_by_a_close_code() {
    let too_big = vec![b'x'; (1 << 20) + 1];
    let bad_text = b"\xce\xba\xed\xa0\x80";
    let table: [(&str, Vec<u8>, u16, &str); 8] = [
        ("no mask", b"\x81\x05Hello".to_vec(), 1002, "unmasked"),
        (
            "reserved bits",
            frame(TEXT | 0x40, b"x"),
            1002,
            "reserved bits",
        ),
        ("reserved opcode", frame(0x83, b"x"), 1002, "opcode"),
        ("long ping", frame(PING, &[b'x'; 126]), 1002, "125"),
        (
            "nothing to continue",
            frame(LAST, b"x"),
            1002,
            "continuation",
        ),
        ("bad UTF-8", frame(TEXT, bad_text), 1007, "UTF-8"),
        ("a frame too long", frame(BINARY, &too_big), 1009, "limit"),
        ("a bad code", frame(CLOSE, &close(1005, "")), 1002, "code"),
    ];
    each_engine(|engine| {
        let server = Server::with(engine);
        for (what, bytes, code, reason) in &table {
            let mut client = server.connect().upgraded("/ws");
            // What came before is answered; what comes behind it is not.
            client.send(frame(TEXT, b"good"));
            client.expect(TEXT, b"good");
            let begin = bytes.len().min(60_000);
            client.send([&bytes[..begin], &frame(TEXT, b"behind")].concat());
            let (first, payload) = client.frame();
            assert_eq!(first, CLOSE, "{what}");
            assert_eq!(payload[..2], code.to_be_bytes(), "{what}");
            let words = String::from_utf8_lossy(&payload[2..]);
            assert!(words.contains(reason), "{what}: {words}");
            client.send(frame(CLOSE, &close(*code, "")));
            client.stream.shutdown(Shutdown::Write).expect("still open");
            assert!(client.is_over(), "{what}");
        }
        // Fragments that are too long only together, and text that ends inside a character.
        for (last, code) in [(&too_big[..60_000], 1009u16), (b"\xce", 1007)] {
            let mut client = server.connect().upgraded("/ws");
            client.send(frame(TEXT_BEGIN, &too_big[..1_000_000]));
            client.send(frame(LAST, last));
            assert_eq!(client.frame().1[..2], code.to_be_bytes());
        }
    });
}

#[test]
fn an_upgrade_that_is_not_in_order_is_refused_and_the_connection_goes_on() {
    let good = upgrade("/ws");
    let version = good.replace("Version: 13", "Version: 8");
    let table = [
        (get("/ws"), 426),
        (get("/status/426"), 426),
        (version, 426),
        (good.replace("Sec-WebSocket-Key", "X-Key"), 400),
        (good.replace("dGhl", "short"), 400),
        (good.replace("Connection: Upgrade\r\n", ""), 400),
        (good.replace("GET", "PUT"), 405),
        (upgrade("/ws/close/999"), 400),
        (upgrade("/ws/close/x"), 400),
        (upgrade("/ws/none"), 404),
    ];
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        for (request, status) in &table {
            client.send(request);
            let answer = client.answer();
            assert_eq!(answer.status, *status, "{request}{}", answer.text());
            if *status == 426 {
                assert_eq!(answer.field("Sec-WebSocket-Version"), Some("13"));
                assert_eq!(answer.field("Upgrade"), Some("websocket"));
                assert_eq!(answer.field("Connection"), Some("upgrade"));
            }
        }
        client.send(&good);
        client.expect_upgrade();
        let body = good.replace("\r\n\r\n", "\r\nContent-Length: 2\r\n\r\nhi");
        assert_eq!(server.ask(&body).status, 400);
        let old = good.replace("HTTP/1.1", "HTTP/1.0");
        assert_eq!(server.ask(&old).status, 400);
    });
}

#[test]
fn frames_may_follow_the_upgrade_at_once_and_answers_may_precede_it() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect();
        let frames = [frame(TEXT, b"at once"), frame(CLOSE, b"")].concat();
        client.send([get("/").as_bytes(), upgrade("/ws").as_bytes(), &frames].concat());
        assert_eq!(client.answer().text(), "Hello, World!");
        client.expect_upgrade();
        client.expect(TEXT, b"at once");
        client.expect(CLOSE, b"");
        assert!(client.is_over());
        // No frame may come before an answer that is still waited for, so the upgrade waits, too.
        let mut client = server.connect();
        let pipelined = get("/delay/50ms") + &upgrade("/ws");
        client.send([pipelined.as_bytes(), &frames].concat());
        assert_eq!(client.answer().text(), "late\n");
        client.expect_upgrade();
        client.expect(TEXT, b"at once");
        client.expect(CLOSE, b"");
        assert!(client.is_over());
    });
}

#[test]
fn the_server_can_close_reset_and_be_silent() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect().upgraded("/ws/close/4321");
        client.send([frame(TEXT, b"first"), frame(TEXT, b"second")].concat());
        client.expect(CLOSE, &close(4321, ""));
        client.send(frame(CLOSE, &close(4321, "")));
        assert!(client.is_over());
        let mut client = server.connect().upgraded("/ws/drop");
        client.send(frame(BINARY, b"x"));
        assert_eq!(client.error(), Some(ErrorKind::ConnectionReset));
        let mut client = server.connect().upgraded("/ws/stall");
        client.send(frame(BINARY, b"x"));
        client.hears_nothing_for(Duration::from_millis(50));
        client.send(frame(PING, b"x"));
        client.expect(PONG, b"x");
    });
}

#[test]
fn a_connection_is_told_when_the_server_stops_or_nothing_comes() {
    each_engine(|engine| {
        let server = Server::with(engine);
        let mut client = server.connect().upgraded("/ws");
        let mut mute = server.connect().upgraded("/ws");
        client.send(frame(TEXT, b"x"));
        client.expect(TEXT, b"x");
        server.running().stop();
        client.expect(CLOSE, &close(1001, "the server is shutting down"));
        client.send(frame(CLOSE, &close(1001, "")));
        assert!(client.is_over());
        // One that does not say so too is not waited for much longer.
        mute.expect(CLOSE, &close(1001, "the server is shutting down"));
        assert!(mute.is_over());
        let summary = server.end();
        assert_eq!((summary.counts.cut, summary.counts.idle), (0, 0));

        let mut config = config(engine);
        config.timeouts.idle = Duration::from_millis(100);
        let server = Server::start(&config);
        let mut client = server.connect().upgraded("/ws");
        client.expect(CLOSE, &close(1001, "the connection was idle for too long"));
        client.send(frame(CLOSE, &close(1001, "")));
        assert!(client.is_over());
        assert_eq!(server.end().counts.idle, 1);
    });
}

#[test]
fn a_client_that_reads_late_gets_everything() {
    const MESSAGES: usize = 400;
    each_engine(|engine| {
        let server = Server::with(engine);
        let client = server.connect().upgraded("/ws");
        let mut writer = Client::new(client.stream.try_clone().expect("a second handle"));
        let mut client = client;
        let payload = vec![b'x'; 50_000];
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..MESSAGES {
                    writer.send(frame(BINARY, &payload));
                }
                writer.send(frame(CLOSE, b""));
            });
            for _ in 0..MESSAGES {
                assert!(client.frame() == (BINARY, payload.clone()));
            }
        });
        client.expect(CLOSE, b"");
        assert!(client.is_over());
    });
}
