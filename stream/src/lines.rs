//! Lines of JSON, each of which is an event: an empty one is none.
//!
//! A line ends with LF (<https://github.com/ndjson/ndjson-spec>, §3.1), and the last one may end
//! with the stream. White space alone, such as the CR of CR LF, is an empty line.

use memchr::memchr_iter;

use crate::Seen;

/// The reader of one stream. See the module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lines {
    /// Something other than white space came in the line that is being read.
    has_data: bool,
}

impl Lines {
    /// The next piece of the stream came: which lines it completed.
    pub fn feed(&mut self, input: &[u8]) -> Seen {
        let mut seen = Seen::default();
        let mut from = 0;
        for end in memchr_iter(b'\n', input) {
            self.has_data |= has_data(&input[from..end]);
            seen.add(self.end());
            from = end + 1;
        }
        self.has_data |= has_data(&input[from..]);
        seen
    }

    /// The line that is being read has ended, or the stream has.
    pub fn end(&mut self) -> Seen {
        Seen {
            events: std::mem::take(&mut self.has_data).into(),
            done: false,
        }
    }
}

fn has_data(bytes: &[u8]) -> bool {
    bytes.iter().any(|byte| !byte.is_ascii_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_events_however_they_were_cut() {
        let stream = b"{\"a\":1}\n\r\n\n {\"b\":\"\xC3\xBC\"}\r\n{}";
        for each in 1..=stream.len() {
            let mut lines = Lines::default();
            let mut seen = Seen::default();
            stream
                .chunks(each)
                .for_each(|piece| seen.add(lines.feed(piece)));
            assert_eq!(seen.events, 2, "in pieces of {each}");
            assert_eq!(lines.end().events, 1, "the last line ends with the stream");
            assert_eq!(lines.end().events, 0);
        }
    }
}
