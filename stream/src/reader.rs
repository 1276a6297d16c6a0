//! The reader of an answer, by what the answer says that it is.

use crate::{Events, Lines, Seen};

/// The reader of one answer's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reader {
    /// Server-sent events.
    Events(Events),
    /// Lines of JSON.
    Lines(Lines),
    /// Something else that is sent as it's made: each piece is an event.
    Pieces,
}

/// Media types of lines of JSON: none is registered, and these are in use.
const LINES: [&[u8]; 5] = [
    b"application/x-ndjson",
    b"application/ndjson",
    b"application/jsonl",
    b"application/x-jsonlines",
    b"application/json-lines",
];

/// Media types of what is made while it's sent, if its length isn't said ahead: text without marks,
/// sound, pictures, and bytes. Documents in chunks are whole before anybody can use them.
const PIECES: [&[u8]; 5] = [
    b"text/plain",
    b"application/octet-stream",
    b"multipart/x-mixed-replace",
    b"audio/",
    b"video/",
];

impl Reader {
    /// The reader of an answer with these `fields`; none where it is no stream of events, or one
    /// that is compressed.
    pub fn of<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Option<Reader> {
        let (mut reader, mut is_long_known) = (None, false);
        for (name, value) in fields {
            if name.eq_ignore_ascii_case(b"content-type") {
                reader = Reader::of_type(value);
            } else if name.eq_ignore_ascii_case(b"content-length") {
                is_long_known = true;
            } else if name.eq_ignore_ascii_case(b"content-encoding")
                && !value.trim_ascii().is_empty()
                && !value.trim_ascii().eq_ignore_ascii_case(b"identity")
            {
                return None;
            }
        }
        reader.filter(|reader| *reader != Reader::Pieces || !is_long_known)
    }

    /// By the value of `Content-Type` (RFC 9110 §8.3).
    fn of_type(value: &[u8]) -> Option<Reader> {
        let media = value.split(|byte| *byte == b';').next()?.trim_ascii();
        if media.eq_ignore_ascii_case(b"text/event-stream") {
            return Some(Reader::Events(Events::default()));
        }
        let is_lines = LINES.iter().any(|lines| media.eq_ignore_ascii_case(lines));
        if is_lines {
            return Some(Reader::Lines(Lines::default()));
        }
        let is_one = |kind: &&[u8]| match kind.ends_with(b"/") {
            true => media.len() > kind.len() && media[..kind.len()].eq_ignore_ascii_case(kind),
            false => media.eq_ignore_ascii_case(kind),
        };
        PIECES.iter().any(is_one).then_some(Reader::Pieces)
    }

    /// The next piece of the body came: what it completed.
    pub fn feed(&mut self, bytes: &[u8]) -> Seen {
        match self {
            Reader::Events(events) => events.feed(bytes),
            Reader::Lines(lines) => lines.feed(bytes),
            Reader::Pieces => Seen {
                events: u32::from(!bytes.is_empty()),
                done: false,
            },
        }
    }

    /// The body has ended: what that completed.
    pub fn end(&mut self) -> Seen {
        match self {
            Reader::Events(_) | Reader::Pieces => Seen::default(),
            Reader::Lines(lines) => lines.end(),
        }
    }

    /// Whether it ended in the middle of an event, which counts for nothing then.
    pub fn is_torn(&self) -> bool {
        match self {
            Reader::Events(events) => events.is_torn(),
            Reader::Lines(_) | Reader::Pieces => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(fields: &[(&str, &str)]) -> Option<Reader> {
        Reader::of(
            fields
                .iter()
                .map(|(name, value)| (name.as_bytes(), value.as_bytes())),
        )
    }

    #[test]
    fn the_type_of_an_answer_says_how_it_is_read() {
        let events = Some(Reader::Events(Events::default()));
        for value in [
            "text/event-stream",
            "Text/Event-Stream; charset=utf-8",
            " text/event-stream ;x",
        ] {
            assert_eq!(of(&[("Content-Type", value)]), events, "{value}");
        }
        let lines = Some(Reader::Lines(Lines::default()));
        assert_eq!(of(&[("content-type", "application/x-ndjson")]), lines);
        for value in [
            "application/json",
            "text/event-streams",
            "",
            "text/html",
            "audio/",
        ] {
            assert_eq!(of(&[("content-type", value)]), None, "{value}");
        }
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_is_made_while_it_is_sent_comes_in_pieces_if_its_length_is_not_said() {
        for value in [
            "text/plain; charset=utf-8",
            "Audio/MPEG",
            "application/octet-stream",
        ] {
            let mut reader = of(&[("content-type", value)]).expect(value);
            assert_eq!(reader, Reader::Pieces, "{value}");
            assert_eq!(
                (reader.feed(b"a b").events, reader.feed(b"").events),
                (1, 0)
            );
            assert_eq!((reader.end(), reader.is_torn()), (Seen::default(), false));
            let known = [("Content-Length", "9"), ("Content-Type", value)];
            assert_eq!(of(&known), None, "{value}");
        }
        // Of events it may be known.
        let known = [
            ("content-type", "text/event-stream"),
            ("content-length", "9"),
        ];
        assert!(of(&known).is_some());
    }

    #[test]
    fn a_stream_that_is_compressed_is_not_read() {
        let with = |coding| {
            of(&[
                ("Content-Encoding", coding),
                ("Content-Type", "text/event-stream"),
            ])
        };
        assert_eq!(with("gzip"), None);
        assert!(with("identity").is_some());
    }
}
