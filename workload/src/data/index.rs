//! Where every so many-th row begins, so that any row is found by reading a short stretch.

use super::cursor::{Cursor, Found};
use super::store::{Fault, Source};

/// The most offsets that are kept.
const OFFSETS_MAX: usize = 1 << 16;

/// Offsets of rows.
#[derive(Debug)]
pub(super) struct Index {
    offsets: Vec<u64>,
    /// How many rows from one offset to the next.
    stride: u64,
    /// How many rows there are.
    rows: u64,
}

/// Where to look for a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    /// The rows of this stretch begin and end here.
    pub(super) start: u64,
    pub(super) end: u64,
    /// How many of its rows stand before the one that is looked for.
    pub(super) skip: u64,
}

impl Index {
    /// Reads from `cursor` to the end of the file. Wherever there are too many offsets, every other
    /// one is given up.
    pub(super) fn build(cursor: &mut Cursor, source: &Source) -> Result<Index, Fault> {
        Index::of_at_most(OFFSETS_MAX, cursor, source)
    }

    /// The same with another bound, which is even.
    fn of_at_most(max: usize, cursor: &mut Cursor, source: &Source) -> Result<Index, Fault> {
        let mut index = Index {
            offsets: vec![cursor.offset()],
            stride: 1,
            rows: 0,
        };
        loop {
            if let Found::End { missing } = cursor.find(source, index.stride - 1)? {
                index.rows += index.stride - missing;
                return Ok(index);
            }
            index.rows += index.stride;
            index.offsets.push(cursor.offset());
            if index.offsets.len() > max {
                let mut place = 0;
                index.offsets.retain(|_| {
                    place += 1;
                    place % 2 == 1
                });
                index.stride *= 2;
            }
        }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    /// Where the `row`-th is, which is below their number.
    pub(super) fn stretch(&self, row: u64, length: u64) -> Stretch {
        let place = (row / self.stride) as usize;
        let offset = |place: usize| self.offsets.get(place).copied().unwrap_or(length);
        Stretch {
            start: offset(place),
            end: offset(place + 1),
            skip: row % self.stride,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::store::Memory;

    #[test]
    fn every_row_is_found_whatever_the_stride_came_to() {
        for rows in [1, 2, 3, 4, 5, 8, 9, 31, 32, 33, 100] {
            let text: String = (0..rows).map(|row| format!("{row}\n\n")).collect();
            let length = text.len() as u64;
            let source = Source::new(Box::new(Memory::new(&text)), "x");
            let mut cursor = Cursor::new(true, 0, 16);
            let index = Index::of_at_most(4, &mut cursor, &source).unwrap();
            assert!(
                index.offsets.len() <= 4 && index.rows() == rows,
                "{index:?}"
            );
            for row in 0..rows {
                let stretch = index.stretch(row, length);
                cursor.seek(stretch.start, stretch.end);
                let Found::Row(found) = cursor.find(&source, stretch.skip).unwrap() else {
                    panic!("row {row} of {rows} isn't there");
                };
                assert!(found.end <= stretch.end, "row {row} of {rows}");
                let expected = format!("{row}\n");
                assert_eq!(cursor.row(&found), expected.as_bytes());
            }
        }
    }
}
