//! The rows of one worker.

use std::ops::Range;
use std::sync::Arc;

use measure::random::Random;
use plan::workload::Order;

use super::cursor::{Cursor, Found};
use super::fields::Fields;
use super::index::{Index, Stretch};
use super::store::{Broken, Fault};
use super::zipf::Zipf;
use super::{Data, Dealing};

/// So many blocks from the beginning of the file stay in memory where rows are drawn at random:
/// small files are all there, and so are the rows that Zipf's law draws most often.
const HEAD_BLOCKS: usize = 4;
/// The streams of random numbers that draw rows, one per worker, begin here: those of schedules
/// begin at 0, those of the workers' other choices at 2^32.
const STREAMS: u64 = 2 << 32;

/// The rows of one worker.
#[derive(Debug)]
pub struct Rows {
    data: Arc<Data>,
    turn: Turn,
    fields: Fields,
}

/// Which row is next.
#[derive(Debug)]
enum Turn {
    InTurn(InTurn),
    AtRandom(AtRandom),
}

/// One further on among its own.
#[derive(Debug)]
struct InTurn {
    cursor: Cursor,
    /// How many rows of others stand before the next.
    skip: u64,
    /// How many were passed since the beginning of the file, its own and others'.
    passed: u64,
}

/// Any, by chance.
#[derive(Debug)]
struct AtRandom {
    random: Random,
    /// `None`: each as often.
    law: Option<Zipf>,
    /// The beginning of the file, up to an offset.
    head: Cursor,
    head_end: u64,
    /// The rest.
    tail: Cursor,
}

/// A row, lent until the next.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    text: &'a [u8],
    fields: &'a Fields,
}

impl<'a> Row<'a> {
    /// The value of a column, by its place in [`Data::columns`]: of CSV without its quotes, of JSON
    /// what a string says, nothing for null, and all else as it is written. Empty where there is no
    /// such column.
    pub fn value(&self, column: usize) -> &'a [u8] {
        self.fields.value(self.text, column)
    }
}

impl Rows {
    /// Those of `worker` of `data`.
    pub(super) fn new(data: Arc<Data>, worker: u32) -> Rows {
        let cursor = |block| Cursor::new(data.separator.is_some(), data.first, block);
        let turn = match &data.index {
            None => Turn::InTurn(InTurn {
                cursor: cursor(data.block),
                skip: worker.into(),
                passed: 0,
            }),
            Some(index) => {
                let head_bytes = data.block.saturating_mul(HEAD_BLOCKS);
                let head_end = data.first.saturating_add(head_bytes as u64);
                Turn::AtRandom(AtRandom {
                    random: Random::new(data.dealing.seed, STREAMS | u64::from(worker)),
                    law: match data.dealing.order {
                        Order::Zipf(exponent) => Some(Zipf::new(exponent, index.rows())),
                        Order::InTurn | Order::Once | Order::Random => None,
                    },
                    head: cursor(head_bytes),
                    head_end: head_end.min(data.source.length()),
                    tail: cursor(data.block),
                })
            }
        };
        Rows {
            data,
            turn,
            fields: Fields::default(),
        }
    }

    /// The names of the columns, in their order.
    pub fn columns(&self) -> &[String] {
        self.data.columns()
    }

    /// The next row of this worker; `None` when rows are used up, which happens to [`Order::Once`]
    /// alone. Reads a block of the file now and then. Once buffers have grown to the longest row it
    /// allocates nothing, but for JSON whose keys have escapes or whose values are nested. After an
    /// error, what further calls return means nothing.
    #[expect(
        clippy::should_implement_trait,
        reason = "a row is lent until the next, which no iterator can do"
    )]
    pub fn next(&mut self) -> Result<Option<Row<'_>>, Broken> {
        let Rows { data, turn, fields } = self;
        let (cursor, found) = match turn {
            Turn::InTurn(turn) => {
                let found = turn.find(data);
                (&turn.cursor, found)
            }
            Turn::AtRandom(turn) => turn.find(data),
        };
        let row = match found {
            Ok(Some(row)) => row,
            Ok(None) => return Ok(None),
            Err(fault) => return Err(data.broken(fault, cursor)),
        };
        let text = cursor.row(&row);
        match data.cut(text, &row, fields) {
            Ok(()) => Ok(Some(Row { text, fields })),
            Err(fault) => Err(data.broken(fault, cursor)),
        }
    }
}

impl InTurn {
    fn find(&mut self, data: &Data) -> Result<Option<Range<u64>>, Fault> {
        let Dealing { order, workers, .. } = data.dealing;
        loop {
            match self.cursor.find(&data.source, self.skip)? {
                Found::Row(row) => {
                    self.passed += self.skip + 1;
                    self.skip = u64::from(workers) - 1;
                    return Ok(Some(row));
                }
                Found::End { missing } if order == Order::Once => {
                    self.skip = missing - 1;
                    return Ok(None);
                }
                Found::End { missing } => {
                    // Now it is known how many there are, and many workers may go round more than
                    // once for one row.
                    let rows = self.passed + self.skip + 1 - missing;
                    let again = (missing - 1).checked_rem(rows);
                    self.skip = again.ok_or_else(Fault::changed)?;
                    self.passed = 0;
                    self.cursor.seek(data.first, data.source.length());
                }
            }
        }
    }
}

impl AtRandom {
    fn find(&mut self, data: &Data) -> (&Cursor, Result<Option<Range<u64>>, Fault>) {
        let index = data.index.as_ref();
        let stretch = index.map(|index| self.draw(index, data.source.length()));
        let Some(Stretch { start, end, skip }) = stretch else {
            return (&self.tail, Ok(None));
        };
        let (cursor, read) = match end <= self.head_end {
            true => {
                let read = self.head.read_until(&data.source, self.head_end);
                (&mut self.head, read)
            }
            false => (&mut self.tail, Ok(())),
        };
        cursor.seek(start, end);
        let found = match read.and_then(|()| cursor.find(&data.source, skip)) {
            Ok(Found::Row(row)) => Ok(Some(row)),
            Ok(Found::End { .. }) => Err(Fault::changed()),
            Err(fault) => Err(fault),
        };
        (cursor, found)
    }

    fn draw(&mut self, index: &Index, length: u64) -> Stretch {
        let row = match &self.law {
            Some(law) => law.draw(&mut self.random),
            None => self.random.below(index.rows()),
        };
        index.stretch(row, length)
    }
}
