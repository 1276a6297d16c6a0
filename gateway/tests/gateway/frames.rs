//! HTTP/2 frame by frame (RFC 9113 §4), so that tests can send what no client would.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use proto::http2::hpack::Decoder;

use super::support::PATIENCE;

pub(crate) const DATA: u8 = 0;
pub(crate) const HEADERS: u8 = 1;
pub(crate) const RST_STREAM: u8 = 3;
pub(crate) const SETTINGS: u8 = 4;
pub(crate) const GOAWAY: u8 = 7;

pub(crate) const END_STREAM: u8 = 1;
pub(crate) const END_HEADERS: u8 = 4;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A frame.
#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
    pub(crate) payload: Vec<u8>,
}

/// What came of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Came {
    /// An answer with this status and body.
    Answer(u16, String),
    /// It was reset with this code.
    Reset(u32),
    /// The connection ended.
    Gone,
}

/// One end of a connection.
pub(crate) struct Peer {
    stream: TcpStream,
    decoder: Decoder,
}

impl Peer {
    /// A client.
    pub(crate) fn connect(to: SocketAddr) -> Peer {
        let stream = TcpStream::connect(to).expect("it listens");
        let mut peer = Peer::of(stream);
        peer.stream.write_all(PREFACE).expect("it's read");
        peer.send(SETTINGS, 0, 0, &[]);
        peer
    }

    /// A server: it has been connected to.
    pub(crate) fn accepted(stream: TcpStream) -> Peer {
        let mut peer = Peer::of(stream);
        let mut preface = [0; PREFACE.len()];
        peer.stream.read_exact(&mut preface).expect("a preface");
        assert_eq!(preface, *PREFACE);
        peer.send(SETTINGS, 0, 0, &[]);
        peer
    }

    fn of(stream: TcpStream) -> Peer {
        stream
            .set_read_timeout(Some(PATIENCE))
            .expect("a socket option");
        Peer {
            stream,
            decoder: Decoder::new(4096),
        }
    }

    pub(crate) fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        // Who has been refused already reads no more.
        let _ = self
            .stream
            .write_all(&bytes_of(kind, flags, stream, payload));
    }

    /// The next frame; `None` at the end of the connection.
    pub(crate) fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head).ok()?;
        let [a, b, c, kind, flags, id @ ..] = head;
        let bytes = u32::from_be_bytes([0, a, b, c]) as usize;
        let mut payload = vec![0; bytes];
        self.stream.read_exact(&mut payload).ok()?;
        if kind == SETTINGS && flags & 1 == 0 {
            self.send(SETTINGS, 1, 0, &[]);
        }
        let stream = u32::from_be_bytes(id) & 0x7fff_ffff;
        Some(Frame {
            kind,
            flags,
            stream,
            payload,
        })
    }

    /// Sends a request, its body in one piece with it: otherwise it may be answered before that
    /// comes. Fields are sent as they are.
    pub(crate) fn ask(&mut self, stream: u32, fields: &[(&str, &str)], body: Option<&[u8]>) {
        let end = if body.is_none() { END_STREAM } else { 0 };
        let mut request = bytes_of(HEADERS, END_HEADERS | end, stream, &block(fields));
        let body = body.map(|body| bytes_of(DATA, END_STREAM, stream, body));
        request.extend(body.into_iter().flatten());
        let _ = self.stream.write_all(&request);
    }

    /// Waits for what comes of a stream.
    pub(crate) fn came(&mut self, stream: u32) -> Came {
        let (mut status, mut body) = (0, Vec::new());
        while let Some(frame) = self.next() {
            match frame.kind {
                // The table is one for all streams.
                HEADERS => {
                    let of_this = frame.stream == stream;
                    let mut emit = |name: &[u8], value: &[u8]| {
                        if of_this && name == b":status" {
                            status = String::from_utf8_lossy(value).parse().unwrap_or(0);
                        }
                    };
                    let decoded = self.decoder.decode(&frame.payload, 1 << 16, &mut emit);
                    decoded.expect("a block in order");
                }
                _ if frame.stream != stream => continue,
                DATA => body.extend_from_slice(&frame.payload),
                RST_STREAM => {
                    let code = frame.payload.try_into().expect("four bytes");
                    return Came::Reset(u32::from_be_bytes(code));
                }
                _ => continue,
            }
            if frame.stream == stream && frame.flags & END_STREAM != 0 {
                return Came::Answer(status, String::from_utf8_lossy(&body).into_owned());
            }
        }
        Came::Gone
    }
}

/// A frame (RFC 9113 §4.1).
fn bytes_of(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut frame = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    frame.extend([kind, flags]);
    frame.extend(stream.to_be_bytes());
    frame.extend_from_slice(payload);
    frame
}

/// A block of fields as literals without indexing (RFC 7541 §6.2.2): whatever they are.
pub(crate) fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        assert!(
            name.len() < 127 && value.len() < 127,
            "one byte says a length"
        );
        block.push(0);
        block.push(name.len() as u8);
        block.extend_from_slice(name.as_bytes());
        block.push(value.len() as u8);
        block.extend_from_slice(value.as_bytes());
    }
    block
}
