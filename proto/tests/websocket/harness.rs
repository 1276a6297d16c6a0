//! Runs a reader over bytes in every kind of chopping and notes what it says.
//!
//! The only thing a chopping may change is where a payload is cut, so neighbouring pieces are
//! joined.

use proto::websocket::{CONTROL_BYTES_MAX, Event, Kind, Limits, Reader, Role, Scratch};

use crate::choppings::{Chopping, every_chopping};

const SEED: u64 = 0x5eed_0455;

/// The mask of the examples in RFC 6455 §5.7.
pub(crate) const KEY: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

/// First bytes of frames: FIN and opcode.
pub(crate) const TEXT: u8 = 0x81;
pub(crate) const BINARY: u8 = 0x82;
pub(crate) const CLOSE: u8 = 0x88;
pub(crate) const PING: u8 = 0x89;
pub(crate) const PONG: u8 = 0x8a;
/// The beginning of a text and of a binary message, what comes in between, and the end.
pub(crate) const TEXT_BEGIN: u8 = 0x01;
pub(crate) const BINARY_BEGIN: u8 = 0x02;
pub(crate) const MORE: u8 = 0x00;
pub(crate) const LAST: u8 = 0x80;

/// Appends a frame as `role` receives it. Written apart from the encoder, on purpose.
pub(crate) fn frame(out: &mut Vec<u8>, role: Role, first: u8, payload: &[u8]) {
    out.push(first);
    let masked = if role == Role::Server { 0x80 } else { 0 };
    if payload.len() < 126 {
        out.push(masked | payload.len() as u8);
    } else if payload.len() < 65_536 {
        out.push(masked | 126);
        out.extend_from_slice(&(payload.len() as u16).to_be_bytes());
    } else {
        out.push(masked | 127);
        out.extend_from_slice(&(payload.len() as u64).to_be_bytes());
    }
    if role == Role::Server {
        out.extend_from_slice(&KEY);
        out.extend((0..payload.len()).map(|at| payload[at] ^ KEY[at % 4]));
    } else {
        out.extend_from_slice(payload);
    }
}

/// What either role makes of frames, which has to be the same; see [`read`].
pub(crate) fn read_frames(frames: &[(u8, &[u8])]) -> String {
    let [server, client] = [Role::Server, Role::Client].map(|role| {
        let mut bytes = Vec::new();
        for (first, payload) in frames {
            frame(&mut bytes, role, *first, payload);
        }
        read(role, Limits::default(), &bytes)
    });
    assert_eq!(server, client, "what the roles say differs");
    server
}

/// What a reader makes of `input`, in words and in every chopping: `text Hello, end, ping x`.
pub(crate) fn read(role: Role, limits: Limits, input: &[u8]) -> String {
    read_chopped(role, limits, input, every_chopping(input, SEED))
}

/// The same in the given choppings.
pub(crate) fn read_chopped(
    role: Role,
    limits: Limits,
    input: &[u8],
    choppings: Vec<Chopping<'_>>,
) -> String {
    let scratch = &mut Scratch::default();
    let whole = run(role, limits, &[input], scratch);
    for (how, pieces) in choppings {
        assert_eq!(run(role, limits, &pieces, scratch), whole, "{how}");
    }
    // What follows must not change what came before it.
    let longer = [input, &[0xff]].concat();
    let with_more = run(role, limits, &[&longer], scratch);
    assert!(with_more.starts_with(&whole), "{whole} became {with_more}");
    whole
}

/// The same, whole only: for inputs that are too long to chop everywhere.
pub(crate) fn read_whole(role: Role, limits: Limits, input: &[u8]) -> String {
    run(role, limits, &[input], &mut Scratch::default())
}

fn run(role: Role, limits: Limits, pieces: &[&[u8]], scratch: &mut Scratch) -> String {
    let mut reader = Reader::new(role, limits);
    let mut seen: Vec<(&str, Vec<u8>)> = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        loop {
            match reader.next(&mut input, scratch) {
                Ok(None) => break assert!(input.is_empty(), "input is left over"),
                Ok(Some(event)) => note(&mut seen, event),
                Err(failure) => {
                    let text = format!("{} {}", failure.code, failure.violation).into_bytes();
                    match seen.last() {
                        Some((name, before)) if *name == "failed" => assert_eq!(*before, text),
                        _ => seen.push(("failed", text)),
                    }
                    break;
                }
            }
        }
        assert!(reader.memory_bytes() <= CONTROL_BYTES_MAX);
    }
    let words = seen.iter().map(|(name, bytes)| {
        let text = match *name {
            "failed" => String::from_utf8_lossy(bytes).into_owned(),
            _ => bytes.escape_ascii().to_string(),
        };
        format!("{name} {text}").trim_end().to_owned()
    });
    words.collect::<Vec<_>>().join(", ")
}

fn note(seen: &mut Vec<(&str, Vec<u8>)>, event: Event<'_>) {
    let said = match event {
        Event::Begin(Kind::Text) => ("text", Vec::new()),
        Event::Begin(Kind::Binary) => ("binary", Vec::new()),
        Event::Bytes(bytes) => {
            assert!(!bytes.is_empty(), "an empty piece of payload");
            match seen.last_mut() {
                Some((name, before)) if matches!(*name, "text" | "binary" | "and") => {
                    return before.extend_from_slice(bytes);
                }
                // A control frame stood between the fragments.
                _ => ("and", bytes.to_vec()),
            }
        }
        Event::End => ("end", Vec::new()),
        Event::Ping(payload) => ("ping", payload.to_vec()),
        Event::Pong(payload) => ("pong", payload.to_vec()),
        Event::Close(None) => ("close", Vec::new()),
        Event::Close(Some(close)) => (
            "close",
            format!("{} {}", close.code, close.reason).into_bytes(),
        ),
    };
    seen.push(said);
}
