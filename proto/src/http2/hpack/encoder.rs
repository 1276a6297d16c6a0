//! Fields in, blocks out (RFC 7541 §6).

use super::primitives::write_integer;
use super::static_table::{self, ENTRIES};
use super::table::Table;
use super::{FIELD_OVERHEAD_BYTES, TABLE_BYTES_DEFAULT, huffman};

/// What the peer is to do with a field beyond reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Indexing {
    /// Remember it: it will come again, and cost one or two bytes then.
    Yes,
    /// Do not: it changes with every message.
    No,
    /// Never, and nobody on the way either: a secret that must not be guessed by the length of
    /// what is sent (RFC 7541 §7.1.3).
    Never,
}

/// A field to encode. Names are in lower case (RFC 9113 §8.2); that is the caller's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value.
    pub value: &'a [u8],
    /// Whether the table takes it in.
    pub indexing: Indexing,
}

/// Encodes what is sent to one peer.
#[derive(Debug)]
pub struct Encoder {
    pub(super) table: Table,
    /// What we want to use at most, whatever the peer allows.
    table_bytes_wanted: u32,
    /// The updates that the next block starts with: the smallest size since the last block, and the
    /// size that holds now (RFC 7541 §4.2).
    updates: Option<(u32, u32)>,
}

impl Encoder {
    /// An encoder that uses a table of so many bytes at most; 0 means no dynamic table at all.
    ///
    /// Until the peer's settings come, the table has at most
    /// [`TABLE_BYTES_DEFAULT`](super::TABLE_BYTES_DEFAULT).
    pub fn new(table_bytes: u32) -> Encoder {
        let mut encoder = Encoder {
            table: Table::new(TABLE_BYTES_DEFAULT),
            table_bytes_wanted: table_bytes,
            updates: None,
        };
        encoder.set_peer_max(TABLE_BYTES_DEFAULT);
        encoder
    }

    /// Takes the peer's `SETTINGS_HEADER_TABLE_SIZE`. To be called before its acknowledgement is
    /// sent; the next block then tells the peer what of it is used.
    pub fn set_peer_max(&mut self, bytes: u32) {
        let size_bytes = bytes.min(self.table_bytes_wanted);
        if size_bytes as usize == self.table.size_bytes_max() {
            return;
        }
        self.table.resize(size_bytes);
        let smallest = self.updates.map_or(size_bytes, |(smallest, _)| smallest);
        self.updates = Some((smallest.min(size_bytes), size_bytes));
    }

    /// Changes whenever the table does. A block that was encoded without a change may be sent
    /// again, byte for byte, for as long as this stays the same.
    #[inline]
    pub fn generation(&self) -> u64 {
        self.table.generation()
    }

    /// Whether the next block must begin with an update of the table's size (RFC 7541 §4.2).
    #[inline]
    pub(crate) fn owes_update(&self) -> bool {
        self.updates.is_some()
    }

    /// Bytes of memory that this encoder holds besides itself.
    pub fn memory_bytes(&self) -> usize {
        self.table.memory_bytes()
    }

    /// Appends the block of a whole list of fields to `out`. It must be sent, and in this order.
    pub fn encode<'f>(&mut self, fields: impl IntoIterator<Item = Field<'f>>, out: &mut Vec<u8>) {
        if let Some((smallest, last)) = self.updates.take() {
            if smallest < last {
                write_integer(out, 0x20, 5, smallest as usize);
            }
            write_integer(out, 0x20, 5, last as usize);
            self.table.touch();
        }
        for field in fields {
            self.encode_field(field, out);
        }
    }

    fn encode_field(&mut self, field: Field<'_>, out: &mut Vec<u8>) {
        let known = self.find(field.name, field.value);
        if let Known::Field(index) = known
            && field.indexing != Indexing::Never
        {
            return write_integer(out, 0x80, 7, index);
        }
        let size_bytes = field.name.len() + field.value.len() + FIELD_OVERHEAD_BYTES;
        let fits = size_bytes <= self.table.size_bytes_max();
        let (flags, prefix_bits) = match field.indexing {
            Indexing::Yes if fits => (0x40, 6),
            Indexing::Yes | Indexing::No => (0x00, 4),
            Indexing::Never => (0x10, 4),
        };
        match known {
            Known::Field(index) | Known::Name(index) => {
                write_integer(out, flags, prefix_bits, index);
            }
            Known::Nothing => {
                out.push(flags);
                write_string(field.name, out);
            }
        }
        write_string(field.value, out);
        if flags == 0x40 {
            let start = self.table.draft_start();
            self.table.draft(field.name);
            self.table.draft(field.value);
            self.table.insert(start, field.name.len());
        }
    }

    /// What the tables know of a field. Names are looked for in the static table first: its indexes
    /// are short and do not move.
    fn find(&self, name: &[u8], value: &[u8]) -> Known {
        let first = static_table::first(name);
        if let Some(index) = first.and_then(|first| static_table::with_value(first, value)) {
            return Known::Field(index);
        }
        let mut known = first.map_or(Known::Nothing, Known::Name);
        for (place, entry) in self.table.newest_first().enumerate() {
            if entry.0 == name {
                let index = ENTRIES.len() + 1 + place;
                if entry.1 == value {
                    return Known::Field(index);
                }
                if let Known::Nothing = known {
                    known = Known::Name(index);
                }
            }
        }
        known
    }
}

/// What of a field is in a table, and its index.
#[derive(Clone, Copy)]
enum Known {
    Nothing,
    Name(usize),
    Field(usize),
}

/// A string in the shorter of its forms (RFC 7541 §5.2).
fn write_string(string: &[u8], out: &mut Vec<u8>) {
    let coded_bytes = huffman::encoded_bytes(string);
    if coded_bytes < string.len() {
        write_integer(out, 0x80, 7, coded_bytes);
        huffman::encode(string, out);
    } else {
        write_integer(out, 0x00, 7, string.len());
        out.extend_from_slice(string);
    }
}
