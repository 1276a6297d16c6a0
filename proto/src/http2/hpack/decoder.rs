//! Blocks in, fields out (RFC 7541 §3, §6).

use std::ops::Range;

use super::primitives::{Coded, read_integer, read_string};
use super::static_table::ENTRIES;
use super::table::Table;
use super::{
    Error, FIELD_OVERHEAD_BYTES, Fault, INDEX_BEYOND, INDEX_ZERO, UPDATE_LATE, UPDATE_MISSING,
    UPDATE_TOO_LARGE, huffman,
};

/// Decodes what one peer sends.
#[derive(Debug)]
pub struct Decoder {
    pub(super) table: Table,
    /// What our settings allow.
    table_bytes_max: u32,
    /// The smallest size that our settings have asked for since the last block, if it is less than
    /// that of the table: the next block must start with an update to no more (RFC 7541 §4.2).
    demanded_bytes: Option<u32>,
    failed: Option<Fault>,
}

impl Decoder {
    /// A decoder with an empty table of this size.
    ///
    /// On a new connection that is [`TABLE_BYTES_DEFAULT`](super::TABLE_BYTES_DEFAULT), whatever
    /// our settings will say: a peer may send blocks before it has read them.
    pub fn new(table_bytes_max: u32) -> Decoder {
        Decoder {
            table: Table::new(table_bytes_max),
            table_bytes_max,
            demanded_bytes: None,
            failed: None,
        }
    }

    /// Sets the size up to which the peer may make the table.
    ///
    /// A larger one holds as soon as the settings are sent. A smaller one holds when the peer has
    /// acknowledged it, and its next block must then start with an update.
    pub fn set_table_max(&mut self, bytes: u32) {
        self.table_bytes_max = bytes;
        if (bytes as usize) < self.table.size_bytes_max() {
            let demanded = self.demanded_bytes.unwrap_or(bytes);
            self.demanded_bytes = Some(demanded.min(bytes));
        }
    }

    /// Changes whenever the table does. The same bytes mean the same in the same generation.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.table.generation()
    }

    /// Bytes of memory that this decoder holds besides itself.
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    /// Decodes a whole block and gives `emit` the name and the value of each field in order.
    ///
    /// A list is at most `list_bytes_max` long, where each field counts 32 bytes besides its name
    /// and value. Beyond that nothing is emitted any more, but the table still takes in the block.
    ///
    /// # Errors
    /// See [`Error`]. What was emitted before counts for nothing.
    pub fn decode(
        &mut self,
        block: &[u8],
        list_bytes_max: usize,
        emit: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<(), Error> {
        let mut list = List {
            left_bytes: list_bytes_max,
            too_long: false,
            emit,
        };
        let decoded = match self.failed {
            Some(fault) => Err(fault),
            None => self.read_block(block, &mut list),
        };
        match decoded {
            Err(fault) => {
                self.failed = Some(fault);
                Err(Error::Compression(fault))
            }
            Ok(()) if list.too_long => Err(Error::ListTooLong),
            Ok(()) => Ok(()),
        }
    }

    fn read_block<E: FnMut(&[u8], &[u8])>(
        &mut self,
        block: &[u8],
        list: &mut List<'_, E>,
    ) -> Result<(), Fault> {
        let mut input = block;
        self.read_updates(&mut input)?;
        while let Some(&first) = input.first() {
            // RFC 7541 §6: the highest bits say which of the representations it is.
            match first {
                0x80.. => {
                    let index = read_integer(&mut input, 7)?;
                    let (name, value) = self.indexed(index)?;
                    list.add(name, value);
                }
                0x40..0x80 => {
                    let index = read_integer(&mut input, 6)?;
                    self.read_indexed_literal(index, &mut input, list)?;
                }
                0x20..0x40 => return Err(&UPDATE_LATE),
                // Without indexing or never indexed: to us the same.
                0x00..0x20 => {
                    let index = read_integer(&mut input, 4)?;
                    self.read_plain_literal(index, &mut input, list)?;
                }
            }
        }
        Ok(())
    }

    /// Table size updates, which stand at the start of a block only (RFC 7541 §4.2, §6.3).
    fn read_updates(&mut self, input: &mut &[u8]) -> Result<(), Fault> {
        while let Some(0x20..0x40) = input.first() {
            let size_bytes = read_integer(input, 5)?;
            if size_bytes > self.table_bytes_max {
                return Err(&UPDATE_TOO_LARGE);
            }
            if self.demanded_bytes.is_some_and(|most| size_bytes <= most) {
                self.demanded_bytes = None;
            }
            self.table.resize(size_bytes);
        }
        match self.demanded_bytes {
            Some(_) => Err(&UPDATE_MISSING),
            None => Ok(()),
        }
    }

    /// The field with this index (RFC 7541 §2.3.3).
    #[inline]
    fn indexed(&self, index: u32) -> Result<(&[u8], &[u8]), Fault> {
        let index = index as usize;
        match index.checked_sub(1) {
            None => Err(&INDEX_ZERO),
            Some(place) => match ENTRIES.get(place) {
                Some((name, value)) => Ok((name.as_bytes(), value.as_bytes())),
                None => self.table.entry(place - ENTRIES.len()).ok_or(&INDEX_BEYOND),
            },
        }
    }

    /// A literal that becomes an entry (RFC 7541 §6.2.1): it is put together where it will stay.
    fn read_indexed_literal<E: FnMut(&[u8], &[u8])>(
        &mut self,
        name_index: u32,
        input: &mut &[u8],
        list: &mut List<'_, E>,
    ) -> Result<(), Fault> {
        let start = self.table.draft_start();
        let name = match (name_index as usize).checked_sub(1) {
            None => self.draft_string(read_string(input)?)?,
            Some(place) => match ENTRIES.get(place) {
                Some((name, _)) => self.table.draft(name.as_bytes()),
                None => self
                    .table
                    .draft_name(place - ENTRIES.len())
                    .ok_or(&INDEX_BEYOND)?,
            },
        };
        let value = self.draft_string(read_string(input)?)?;
        list.add(self.table.drafted(name.clone()), self.table.drafted(value));
        self.table.insert(start, name.len());
        Ok(())
    }

    /// A literal that leaves the table alone (RFC 7541 §6.2.2, §6.2.3): lent from the block where
    /// it stands there as it is.
    fn read_plain_literal<E: FnMut(&[u8], &[u8])>(
        &mut self,
        name_index: u32,
        input: &mut &[u8],
        list: &mut List<'_, E>,
    ) -> Result<(), Fault> {
        let start = self.table.draft_start();
        let name = match name_index {
            0 => Some(self.decoded(read_string(input)?)?),
            _ => None,
        };
        let value = self.decoded(read_string(input)?)?;
        let name = match &name {
            Some(piece) => self.lend(piece),
            None => self.indexed(name_index)?.0,
        };
        list.add(name, self.lend(&value));
        self.table.discard(start);
        Ok(())
    }

    fn draft_string(&mut self, string: Coded<'_>) -> Result<Range<usize>, Fault> {
        if !string.huffman {
            return Ok(self.table.draft(string.bytes));
        }
        let start = self.table.draft_start();
        let room = self
            .table
            .reserve(huffman::decoded_bytes_max(string.bytes.len()));
        huffman::decode(string.bytes, room)?;
        Ok(start..self.table.draft_start())
    }

    fn decoded<'b>(&mut self, string: Coded<'b>) -> Result<Piece<'b>, Fault> {
        if string.huffman {
            Ok(Piece::Drafted(self.draft_string(string)?))
        } else {
            Ok(Piece::Lent(string.bytes))
        }
    }

    fn lend<'a>(&'a self, piece: &Piece<'a>) -> &'a [u8] {
        match piece {
            Piece::Lent(bytes) => bytes,
            Piece::Drafted(range) => self.table.drafted(range.clone()),
        }
    }
}

/// Where a string is, once decoded.
enum Piece<'b> {
    Lent(&'b [u8]),
    Drafted(Range<usize>),
}

/// Emits fields up to the limit of a list.
struct List<'e, E> {
    left_bytes: usize,
    too_long: bool,
    emit: &'e mut E,
}

impl<E: FnMut(&[u8], &[u8])> List<'_, E> {
    #[inline]
    fn add(&mut self, name: &[u8], value: &[u8]) {
        let size_bytes = name.len() + value.len() + FIELD_OVERHEAD_BYTES;
        match self.left_bytes.checked_sub(size_bytes) {
            Some(left_bytes) if !self.too_long => {
                self.left_bytes = left_bytes;
                (self.emit)(name, value);
            }
            _ => self.too_long = true,
        }
    }
}
