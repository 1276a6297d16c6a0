//! Events in answers that come bit by bit: no bytes of a server make the readers panic, and how
//! they were cut changes nothing. Server-sent events are those that a plain reading of the standard
//! finds.
//!
//! The first byte of an input chooses how it is cut, the rest is the body of an answer.
#![no_main]

#[allow(dead_code, reason = "the tables of the tests use more of it")]
#[path = "../../proto/tests/support/choppings.rs"]
mod choppings;
#[path = "../../measure/src/random.rs"]
#[allow(dead_code)] // Other targets use the rest.
mod random;

use choppings::some_choppings;
use libfuzzer_sys::{Corpus, fuzz_target};
use stream::{Events, Lines, Seen};

fuzz_target!(|data: &[u8]| -> Corpus {
    let &[seed, ref input @ ..] = data else {
        return Corpus::Reject;
    };
    let expected = plainly(input);
    let mut lines = Lines::default();
    let mut whole = lines.feed(input);
    whole.add(lines.end());
    for (_, pieces) in some_choppings(input, seed.into()) {
        let (mut events, mut seen) = (Events::default(), Seen::default());
        let (mut lines, mut counted) = (Lines::default(), Seen::default());
        for piece in pieces {
            seen.add(events.feed(piece));
            counted.add(lines.feed(piece));
        }
        assert_eq!(seen, expected);
        counted.add(lines.end());
        assert_eq!(counted, whole);
    }
    Corpus::Keep
});

/// The events of a whole stream, read as the standard says it: line by line, with a buffer of data.
fn plainly(stream: &[u8]) -> Seen {
    let stream = stream.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(stream);
    let (mut seen, mut data, mut line) = (Seen::default(), None::<Vec<u8>>, Vec::new());
    let mut bytes = stream.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\r' && byte != b'\n' {
            line.push(byte);
            continue;
        }
        if byte == b'\r' {
            bytes.next_if_eq(&b'\n');
        }
        let ended = std::mem::take(&mut line);
        if ended.is_empty() {
            match data.take() {
                Some(data) if data == b"[DONE]" => seen.done = true,
                Some(_) => seen.events += 1,
                None => {}
            }
            continue;
        }
        let colon = ended.iter().position(|byte| *byte == b':');
        let (name, value) = match colon {
            Some(at) => (&ended[..at], &ended[at + 1..]),
            None => (&ended[..], &b""[..]),
        };
        if name == b"data" {
            let value = value.strip_prefix(b" ").unwrap_or(value);
            data = Some(match data {
                Some(before) => [&before, &b"\n"[..], value].concat(),
                None => value.to_vec(),
            });
        }
    }
    seen
}
