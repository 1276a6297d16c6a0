//! Reads messages in every kind of chopping and notes what is said, with neighbouring pieces of a
//! message joined: where they are cut is all that a chopping may change.

use proto::grpc::{Event, Messages};

use crate::choppings::Chopping;

/// What a reader makes of `input`, and of its end if `ended`: `5 bytes, hello, end`.
pub(crate) fn read_chopped(
    message_bytes_max: u32,
    input: &[u8],
    ended: bool,
    choppings: Vec<Chopping<'_>>,
) -> String {
    let whole = read(message_bytes_max, &[input], ended);
    for (how, pieces) in choppings {
        assert_eq!(read(message_bytes_max, &pieces, ended), whole, "{how}");
    }
    whole
}

fn read(message_bytes_max: u32, pieces: &[&[u8]], ended: bool) -> String {
    let mut messages = Messages::new(message_bytes_max);
    let mut seen = Vec::new();
    for mut input in pieces.iter().copied() {
        loop {
            match messages.next(&mut input) {
                Ok(None) => break assert!(input.is_empty(), "input is left over"),
                Ok(Some(event)) => note(&mut seen, event, message_bytes_max),
                Err(rejection) => break note_failure(&mut seen, &rejection.to_string()),
            }
        }
    }
    if ended && let Err(rejection) = messages.ended() {
        note_failure(&mut seen, &rejection.to_string());
    }
    seen.join(", ")
}

fn note(seen: &mut Vec<String>, event: Event<'_>, message_bytes_max: u32) {
    match event {
        Event::Begin { length, compressed } => {
            assert!(length <= message_bytes_max);
            let compressed = if compressed { " compressed" } else { "" };
            seen.push(format!("{length} bytes{compressed}"));
        }
        Event::Bytes(bytes) => {
            assert!(!bytes.is_empty(), "an empty piece of a message");
            let text = bytes.escape_ascii().to_string();
            match seen.last_mut() {
                Some(last) if last.starts_with('"') => last.push_str(&text),
                _ => seen.push(format!("\"{text}")),
            }
        }
        Event::End => seen.push("end".to_owned()),
    }
}

fn note_failure(seen: &mut Vec<String>, why: &str) {
    match seen.last() {
        Some(last) if last.starts_with("failed") => assert_eq!(*last, format!("failed: {why}")),
        _ => seen.push(format!("failed: {why}")),
    }
}
