//! Where rows end, found 64 bytes at a time.
//!
//! A row ends at a line feed outside quotes. A doubled quote closes and opens again, so a byte is
//! inside quotes exactly if the quotes before it in its row are odd in number, which is a running
//! XOR over the bits of a word (Langdale, Lemire, "Parsing Gigabytes of JSON per Second", VLDB J.
//! 2019, §3.1.1). That is why whoever deals rows out may count past those of others. A quote in the
//! midst of a plain value would be taken for one that opens: cutting a row into values refuses it.
//!
//! Lines with nothing in them are no rows.

/// The longest row in bytes, without the line feed at its end.
pub(super) const ROW_BYTES_MAX: u64 = 1 << 20;

/// Why the rows behind a place can't be told apart; it holds where the row in question begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Endless {
    /// It is longer than [`ROW_BYTES_MAX`].
    Long(u64),
    /// The file ends inside quotes.
    Unclosed(u64),
}

/// Tells rows apart, however their bytes come in.
#[derive(Clone, Debug)]
pub(super) struct Splitter {
    /// Whether quotes mean anything.
    quotes: bool,
    /// How far it has come in the file.
    offset: u64,
    /// Where the row begins that it is in.
    row: u64,
    /// All ones inside quotes.
    inside: u64,
    /// One where the next byte is the first of its line; the same for the second.
    is_first: u64,
    is_second: u64,
    /// Whether the byte before was a carriage return.
    is_after_return: bool,
}

impl Splitter {
    /// One that begins at the beginning of a row.
    pub(super) fn new(quotes: bool, offset: u64) -> Splitter {
        Splitter {
            quotes,
            offset,
            row: offset,
            inside: 0,
            is_first: 1,
            is_second: 0,
            is_after_return: false,
        }
    }

    /// Whether quotes mean anything.
    pub(super) fn quotes(&self) -> bool {
        self.quotes
    }

    /// The offset in the file of the next byte that it wants to see.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The offset in the file at which the row begins that it is in.
    pub(super) fn row(&self) -> u64 {
        self.row
    }

    /// Goes to the beginning of another row.
    pub(super) fn seek(&mut self, offset: u64) {
        *self = Splitter::new(self.quotes, offset);
    }

    /// Goes on over `bytes` until `left` rows (one or more) have ended. Then it stands behind the
    /// last of them and says where that began; otherwise it wants more bytes, or the end.
    pub(super) fn skip(&mut self, bytes: &[u8], left: &mut u64) -> Result<Option<u64>, Endless> {
        let (words, rest) = bytes.as_chunks::<64>();
        for word in words {
            if let Some(start) = self.word(word, 64, left)? {
                return Ok(Some(start));
            }
        }
        if rest.is_empty() {
            return Ok(None);
        }
        let mut word = [0; 64];
        word[..rest.len()].copy_from_slice(rest);
        self.word(&word, rest.len() as u32, left)
    }

    /// The file ends here, which ends a row, too.
    pub(super) fn finish(&mut self, left: &mut u64) -> Result<Option<u64>, Endless> {
        let start = self.row;
        let is_blank = match self.offset - start {
            0 => true,
            1 => self.is_after_return,
            _ => false,
        };
        if self.inside != 0 {
            return Err(Endless::Unclosed(start));
        }
        self.seek(self.offset);
        if is_blank {
            return Ok(None);
        }
        *left -= 1;
        Ok((*left == 0).then_some(start))
    }

    /// The same as `skip` for the first `length` bytes of a word, the others of which are zero.
    fn word(
        &mut self,
        word: &[u8; 64],
        length: u32,
        left: &mut u64,
    ) -> Result<Option<u64>, Endless> {
        let mut inside = 0;
        if self.quotes {
            inside = running_xor(places(word, b'"')) ^ self.inside;
        }
        let ends = places(word, b'\n') & !inside;
        let firsts = ends << 1 | self.is_first;
        let seconds = firsts << 1 | self.is_second;
        let blanks = ends & firsts | self.returns(word, ends & seconds);

        let until = self.offset + u64::from(ends.trailing_zeros().min(length));
        if until - self.row > ROW_BYTES_MAX {
            return Err(Endless::Long(self.row));
        }
        let rows = ends & !blanks;
        let count = u64::from(rows.count_ones());
        if count >= *left {
            return Ok(Some(self.stop(ends, rows, left)));
        }
        *left -= count;
        if ends != 0 {
            self.row = self.offset + u64::from(64 - ends.leading_zeros());
        }
        let last = length - 1;
        self.offset += u64::from(length);
        self.inside = ((inside as i64) >> 63) as u64;
        self.is_first = ends >> last & 1;
        self.is_second = firsts >> last & 1;
        self.is_after_return = word[last as usize] == b'\r';
        Ok(None)
    }

    /// Those of `candidates`, second bytes of their lines, that follow a carriage return.
    fn returns(&self, word: &[u8; 64], mut candidates: u64) -> u64 {
        let mut found = 0;
        while candidates != 0 {
            let place = candidates.trailing_zeros();
            let follows = match place {
                0 => self.is_after_return,
                place => word[place as usize - 1] == b'\r',
            };
            found |= u64::from(follows) << place;
            candidates &= candidates - 1;
        }
        found
    }

    /// Stands behind the last wanted one of `rows` in this word, and says where it began.
    fn stop(&mut self, ends: u64, mut rows: u64, left: &mut u64) -> u64 {
        for _ in 1..*left {
            rows &= rows - 1;
        }
        *left = 0;
        let place = rows.trailing_zeros();
        let before = ends & ((1 << place) - 1);
        let start = match before {
            0 => self.row,
            _ => self.offset + u64::from(64 - before.leading_zeros()),
        };
        self.seek(self.offset + u64::from(place) + 1);
        start
    }
}

/// A row without its line's end.
pub(super) fn without_end(row: &[u8]) -> &[u8] {
    let row = row.strip_suffix(b"\n").unwrap_or(row);
    row.strip_suffix(b"\r").unwrap_or(row)
}

/// Where a byte stands in a word, as bits, the first byte lowest: of eight bytes at a time those
/// that are zero after an XOR, without carries between them, and their high bits gathered by a
/// multiplication (Warren, Hacker's Delight, 2nd edition, §6-1).
fn places(word: &[u8; 64], byte: u8) -> u64 {
    const LOW: u64 = 0x7f7f_7f7f_7f7f_7f7f;
    let wanted = u64::from_ne_bytes([byte; 8]);
    let (eights, _) = word.as_chunks::<8>();
    let mut found = 0;
    for (eight, shift) in eights.iter().zip((0..).step_by(8)) {
        let x = u64::from_le_bytes(*eight) ^ wanted;
        let zeros = !(((x & LOW) + LOW) | x | LOW);
        found |= ((zeros >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << shift;
    }
    found
}

/// Bit n is the XOR of bits 0 to n.
fn running_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use measure::random::Random;

    use super::*;

    /// What a splitter does, byte by byte.
    fn slowly(text: &[u8], quotes: bool) -> Vec<&[u8]> {
        let (mut rows, mut start, mut inside) = (Vec::new(), 0, false);
        for (at, byte) in text.iter().enumerate() {
            inside ^= quotes && *byte == b'"';
            if *byte == b'\n' && !inside {
                rows.push(&text[start..=at]);
                start = at + 1;
            }
        }
        rows.push(&text[start..]);
        rows.retain(|row| !matches!(*row, b"" | b"\n" | b"\r\n" | b"\r"));
        rows
    }

    fn split(text: &[u8], quotes: bool, pieces: usize, each: u64) -> Vec<&[u8]> {
        let mut splitter = Splitter::new(quotes, 0);
        let (mut rows, mut left) = (Vec::new(), each);
        while (splitter.offset() as usize) < text.len() {
            let from = splitter.offset() as usize;
            let piece = &text[from..text.len().min(from + pieces)];
            if let Some(start) = splitter.skip(piece, &mut left).unwrap() {
                rows.push(&text[start as usize..splitter.offset() as usize]);
                left = each;
            }
        }
        let end = splitter.finish(&mut left).unwrap();
        rows.extend(end.map(|start| &text[start as usize..]));
        rows
    }

    #[test]
    fn rows_end_where_a_reader_of_single_bytes_sees_them_end() {
        for seed in 0..2000 {
            let mut random = Random::seeded(seed);
            let rarity = [6, 60][random.index(2)];
            let byte = |random: &mut Random| match random.index(rarity) {
                0 => b'\n',
                1 => b'\r',
                2 => b'"',
                3 => b'\x8a',
                _ => b'a',
            };
            let mut text: Vec<u8> = (0..random.index(400)).map(|_| byte(&mut random)).collect();
            let is_open = text.iter().filter(|byte| **byte == b'"').count() % 2 == 1;
            text.extend(is_open.then_some(b'"'));
            for quotes in [true, false] {
                let expected = slowly(&text, quotes);
                for pieces in [1, 2, 63, 64, 65, 1000] {
                    let got = split(&text, quotes, pieces, 1);
                    assert_eq!(got, expected, "seed {seed}, pieces of {pieces}");
                    let thirds = expected.iter().skip(2).step_by(3).copied();
                    let got = split(&text, quotes, pieces, 3);
                    assert!(
                        got.into_iter().eq(thirds),
                        "seed {seed}, pieces of {pieces}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_row_has_a_longest_length_and_a_quote_an_end() {
        let fits = vec![b'a'; ROW_BYTES_MAX as usize];
        let mut text = [b"ab\n", &*fits, b"\n"].concat();
        assert_eq!(split(&text, true, 1000, 1).len(), 2);
        text.insert(3, b'a');
        for pieces in [63, 64, 1000] {
            let (mut splitter, mut left) = (Splitter::new(true, 0), 9);
            let mut said = Ok(None);
            while said == Ok(None) {
                let from = splitter.offset() as usize;
                let piece = &text[from..text.len().min(from + pieces)];
                said = splitter.skip(piece, &mut left);
            }
            assert_eq!(said, Err(Endless::Long(3)), "pieces of {pieces}");
        }
        let (mut splitter, mut left) = (Splitter::new(true, 7), 2);
        assert_eq!(splitter.skip(b"a\nb,\"c\n", &mut left), Ok(None));
        assert_eq!(splitter.finish(&mut left), Err(Endless::Unclosed(9)));
    }
}
