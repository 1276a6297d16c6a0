//! Server-sent events, as the WHATWG's standard of HTML reads them (§9.2.5, §9.2.6).
//!
//! Lines end with LF, with CR or with both; a line that begins with a colon is a comment; an empty
//! line ends an event, which counts if a line of `data` was in it. A byte order mark at the very
//! beginning is left out. What stands in other fields is of no matter here.
//!
//! Bytes are never decoded: all that has a meaning is ASCII, which is no part of another character
//! in UTF-8. So it doesn't matter where the pieces were cut, or whether they are UTF-8 at all.

use memchr::memchr2;

use crate::Seen;

const MARK: &[u8] = b"\xEF\xBB\xBF";
const NAME: &[u8] = b"data";
const DONE: &[u8] = b"[DONE]";

/// How much of `[DONE]` came where something else did.
const OTHER: u8 = u8::MAX;

/// The reader of one stream. See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Events {
    at: At,
    /// The last line ended with CR: a LF directly behind it ends no other.
    after_cr: bool,
    /// A line of data came in the event that is being read.
    has_data: bool,
    /// How much of `[DONE]` all of its data are, or [`OTHER`].
    done: u8,
}

/// Where in the stream it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    /// Before the first byte; so many of a byte order mark have come.
    Mark(u8),
    /// In the name of a field, which so far are so many bytes of `data`; at 0 no byte of the line
    /// has come.
    Name(u8),
    /// Behind the colon of a field of data, where a space is left out.
    Colon,
    /// In what a field of data says.
    Value,
    /// In a line that is of no matter, up to its end.
    Rest,
}

impl Default for At {
    fn default() -> At {
        At::Mark(0)
    }
}

impl Events {
    /// The next piece of the stream came: which events it completed.
    pub fn feed(&mut self, mut input: &[u8]) -> Seen {
        let mut seen = Seen::default();
        self.skip_mark(&mut input);
        while let Some(&first) = input.first() {
            if std::mem::take(&mut self.after_cr) && first == b'\n' {
                input = &input[1..];
                continue;
            }
            let Some(end) = memchr2(b'\r', b'\n', input) else {
                self.part_of_line(input);
                break;
            };
            self.part_of_line(&input[..end]);
            self.after_cr = input[end] == b'\r';
            self.end_line(&mut seen);
            input = &input[end + 1..];
        }
        seen
    }

    /// Whether the stream ended in the middle of an event: it counts for nothing then.
    pub fn is_torn(&self) -> bool {
        self.has_data || matches!(self.at, At::Colon | At::Value)
    }

    /// Leaves a byte order mark out. The beginning of one that isn't whole belongs to a line.
    fn skip_mark(&mut self, input: &mut &[u8]) {
        while let (At::Mark(came), Some(&first)) = (self.at, input.first()) {
            let came = usize::from(came);
            self.at = match (MARK[came] == first, came) {
                (true, 2) => At::Name(0),
                (true, came) => At::Mark(came as u8 + 1),
                (false, 0) => At::Name(0),
                (false, _) => At::Rest,
            };
            if MARK[came] == first {
                *input = &input[1..];
            }
        }
    }

    /// Bytes of a line came, without its end.
    fn part_of_line(&mut self, mut bytes: &[u8]) {
        while let Some((&byte, rest)) = bytes.split_first() {
            match self.at {
                At::Name(came) if NAME.get(usize::from(came)) == Some(&byte) => {
                    self.at = At::Name(came + 1);
                }
                At::Name(came) if byte == b':' && usize::from(came) == NAME.len() => {
                    self.begin_data();
                    self.at = At::Colon;
                }
                At::Colon => {
                    self.at = At::Value;
                    if byte != b' ' {
                        return self.part_of_data(bytes);
                    }
                }
                At::Value => return self.part_of_data(bytes),
                At::Name(_) | At::Rest | At::Mark(_) => {
                    self.at = At::Rest;
                    return;
                }
            }
            bytes = rest;
        }
    }

    /// A line of data begins. What it says follows a line feed, if there was one before.
    fn begin_data(&mut self) {
        if self.has_data {
            self.done = OTHER;
        }
    }

    fn part_of_data(&mut self, bytes: &[u8]) {
        let expected = DONE.get(usize::from(self.done)..).unwrap_or_default();
        self.done = match expected.starts_with(bytes) {
            true => self.done + bytes.len() as u8,
            false => OTHER,
        };
    }

    /// A line has ended, and with an empty one the event.
    fn end_line(&mut self, seen: &mut Seen) {
        let at = std::mem::replace(&mut self.at, At::Name(0));
        match at {
            At::Name(0) => {
                if std::mem::take(&mut self.has_data) {
                    match usize::from(self.done) == DONE.len() {
                        true => seen.done = true,
                        false => seen.events = seen.events.saturating_add(1),
                    }
                }
                self.done = 0;
            }
            // The name alone is a field that says nothing.
            At::Name(came) if usize::from(came) == NAME.len() => {
                self.begin_data();
                self.has_data = true;
            }
            At::Colon | At::Value => self.has_data = true,
            At::Name(_) | At::Rest | At::Mark(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::random::Random;

    use super::*;

    /// What a stream that comes whole has in it, having checked that it's the same in any pieces.
    fn read(stream: &[u8]) -> (u32, bool, bool) {
        let mut whole = Events::default();
        let expected = whole.feed(stream);
        for seed in 0..40 {
            let mut random = Random::seeded(seed);
            let most = [1, 2, 3, 7, 40][seed as usize % 5];
            let (mut pieces, mut seen) = (Events::default(), Seen::default());
            let mut rest = stream;
            while !rest.is_empty() {
                let length = (1 + random.below(most) as usize).min(rest.len());
                let (piece, behind) = rest.split_at(length);
                seen.add(pieces.feed(piece));
                seen.add(pieces.feed(b""));
                rest = behind;
            }
            assert_eq!((seen, &pieces), (expected, &whole), "{seed}: {stream:?}");
        }
        (expected.events, expected.done, whole.is_torn())
    }

    #[test]
    fn the_examples_of_the_standard_are_read_as_it_says() {
        let stocks = b"data: YHOO\ndata: +2\ndata: 10\n\n";
        assert_eq!(read(stocks), (1, false, false));
        let four = b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\n\
                     data:  third event\n";
        assert_eq!(read(four), (2, false, true), "the last one has no end");
        assert_eq!(read(b"data\n\ndata\ndata\n\ndata:"), (2, false, true));
        assert_eq!(read(b"data:test\n\ndata: test\n\n"), (2, false, false));
    }

    #[test]
    fn lines_end_with_either_or_both_wherever_they_are_cut() {
        for end in ["\n", "\r", "\r\n"] {
            let stream = format!("data: a{end}{end}: b{end}data: c{end}data: d{end}{end}");
            assert_eq!(read(stream.as_bytes()), (2, false, false), "{end:?}");
        }
        // CR LF LF: a line, and an empty one.
        assert_eq!(read(b"data: a\r\n\ndata: b\n\r\n"), (2, false, false));
        assert_eq!(read(b"data: a\n\rdata: b\r\r"), (2, false, false));
    }

    #[test]
    fn a_mark_is_left_out_at_the_very_beginning_alone() {
        assert_eq!(read(b"\xEF\xBB\xBFdata: a\n\n"), (1, false, false));
        assert_eq!(
            read(b"data: a\n\n\xEF\xBB\xBFdata: b\n\n"),
            (1, false, false)
        );
        // Of a mark that isn't whole the line is a field that nobody knows.
        assert_eq!(read(b"\xEF\xBBdata: a\n\n"), (0, false, false));
        assert_eq!(read(b"\xEF\n\ndata: a\n\n"), (1, false, false));
        assert_eq!(
            read(b"\xEF\xBB\xBF\xEF\xBB\xBFdata: a\n\n"),
            (0, false, false)
        );
    }

    #[test]
    fn what_has_no_data_is_no_event() {
        for nothing in [
            &b""[..],
            b"\n\n\n",
            b": ping\n\n",
            b"event: ping\n\n",
            b"id: 7\nretry: 10\n\n",
            b"Data: a\n\n",
            b"dat: a\n\n",
            b"datas: a\n\n",
            b" data: a\n\n",
            b"data\0: a\n\n",
        ] {
            assert_eq!(read(nothing), (0, false, false), "{nothing:?}");
        }
        assert_eq!(read(b"event: a\ndata\n\n"), (1, false, false));
    }

    #[test]
    fn characters_may_be_cut_and_needn_t_be_any() {
        let stream = "data: 音楽\n\ndata: 🎵\u{85}\u{2028}\n\n".as_bytes();
        assert_eq!(read(stream), (2, false, false));
        assert_eq!(
            read(b"data: \xFF\xC3\n\ndata\xC3: a\n\n"),
            (1, false, false)
        );
    }

    #[test]
    fn done_is_an_end_and_no_event_where_it_is_all_the_data() {
        assert_eq!(read(b"data: a\n\ndata: [DONE]\n\n"), (1, true, false));
        assert_eq!(read(b"event: end\ndata:[DONE]\r\n\r\n"), (0, true, false));
        for other in [
            "data: [DONE\n\n",
            "data: [DONE] \n\n",
            "data:  [DONE]\n\n",
            "data: [DONE]\ndata: \n\n",
            "data\ndata: [DONE]\n\n",
            "data: [DO\ndata: NE]\n\n",
            "data: [done]\n\n",
        ] {
            assert_eq!(read(other.as_bytes()), (1, false, false), "{other:?}");
        }
        assert_eq!(read(b"data: [DONE]\n\ndata: b\n\n"), (1, true, false));
    }

    #[test]
    fn an_event_of_any_length_takes_no_memory() {
        let mut events = Events::default();
        let piece = vec![b'x'; 1 << 20];
        assert_eq!(events.feed(b"data: "), Seen::default());
        for _ in 0..64 {
            assert_eq!(events.feed(&piece), Seen::default());
        }
        let end = Seen {
            events: 1,
            done: false,
        };
        assert_eq!(events.feed(b"\n\n"), end);
        assert!(size_of::<Events>() <= 8, "{}", size_of::<Events>());
    }
}
