//! Lists of fields that were read, and the memory of the last one.

use super::faults::{self, Fault};
use super::fields::{Fields, Span};
use super::hpack::{self, Decoder};
use super::message::{self, Kind, Meaning};
use crate::Violation;

/// Longer blocks are not remembered, and not more memory than this is kept for a list.
const KEPT_BYTES_MAX: usize = 4096;

/// A list of fields that owns its bytes, all in one piece.
///
/// For whoever keeps the [`Fields`] of an event beyond it: its memory is used again.
#[derive(Debug, Default)]
pub struct List {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

impl List {
    /// The fields in it.
    pub fn fields(&self) -> Fields<'_> {
        Fields {
            bytes: &self.bytes,
            spans: &self.spans,
        }
    }

    /// Takes a copy of `fields` in place of what was in it.
    pub fn copy(&mut self, fields: Fields<'_>) {
        self.bytes.clear();
        self.spans.clear();
        self.bytes.extend_from_slice(fields.bytes);
        self.spans.extend_from_slice(fields.spans);
    }

    /// The same as [`List::push`], with the name in lower case, as it has to be sent
    /// (RFC 9113 §8.2.1).
    pub(super) fn push_lower(&mut self, name: &[u8], value: &[u8]) {
        let start = self.bytes.len();
        self.push(name, value);
        self.bytes[start..start + name.len()].make_ascii_lowercase();
    }

    pub(super) fn push(&mut self, name: &[u8], value: &[u8]) {
        let name_start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(name);
        let value_start = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.spans.push(Span {
            name_start,
            value_start,
            value_end: self.bytes.len() as u32,
        });
    }

    /// The pseudo-header field of a response. A status of more than three digits is judged later.
    pub(super) fn push_status(&mut self, status: u16) {
        let digits = [status / 100, status / 10 % 10, status % 10];
        let text = digits.map(|digit| b'0'.saturating_add(digit.min(10) as u8));
        self.push(b":status", &text);
    }

    /// The value of the field that is the `index`-th; empty if there is none.
    #[inline]
    pub(super) fn value(&self, index: u16) -> &[u8] {
        self.spans
            .get(index as usize)
            .map_or(&[], |span| span.of(&self.bytes).1)
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.spans.clear();
        if self.memory_bytes() > KEPT_BYTES_MAX {
            *self = List::default();
        }
    }

    /// Bytes of memory that it holds.
    pub fn memory_bytes(&self) -> usize {
        self.bytes.capacity() + self.spans.capacity() * size_of::<Span>()
    }
}

/// The list that was read last, and the block it was read from.
///
/// Peers under load repeat themselves, and compression makes the same few bytes of the same fields.
/// As long as the table of the decoder has not changed they mean the same, and reading them again
/// costs one comparison of memory.
#[derive(Debug)]
pub(super) struct Memo {
    list: List,
    block: Vec<u8>,
    /// Of the decoder, when the block was read and left it alone.
    generation: Option<u64>,
    kind: Kind,
    judged: Result<Meaning, Fault>,
}

impl Default for Memo {
    fn default() -> Memo {
        Memo {
            list: List::default(),
            block: Vec::new(),
            generation: None,
            kind: Kind::Trailers,
            judged: Ok(Meaning::default()),
        }
    }
}

impl Memo {
    /// The list that was read last.
    #[inline]
    pub(super) fn list(&self) -> &List {
        &self.list
    }

    /// What it means.
    #[inline]
    pub(super) fn meaning(&self) -> Meaning {
        self.judged.unwrap_or_default()
    }

    /// Reads a block and judges its fields as a `kind` of list.
    ///
    /// # Errors
    /// The compression is broken, and the connection with it. A list that is malformed is not an
    /// error here, but what is returned.
    #[inline]
    pub(super) fn read(
        &mut self,
        decoder: &mut Decoder,
        block: &[u8],
        kind: Kind,
        list_bytes_max: u32,
    ) -> Result<Result<Meaning, Fault>, &'static Violation> {
        if self.generation == Some(decoder.generation()) && self.kind == kind && self.block == block
        {
            return Ok(self.judged);
        }
        self.read_new(decoder, block, kind, list_bytes_max)
    }

    #[inline(never)]
    fn read_new(
        &mut self,
        decoder: &mut Decoder,
        block: &[u8],
        kind: Kind,
        list_bytes_max: u32,
    ) -> Result<Result<Meaning, Fault>, &'static Violation> {
        let generation = decoder.generation();
        self.generation = None;
        self.list.clear();
        let list = &mut self.list;
        let mut push = |name: &[u8], value: &[u8]| list.push(name, value);
        self.judged = match decoder.decode(block, list_bytes_max as usize, &mut push) {
            Ok(()) => message::judge(self.list.fields(), kind),
            Err(hpack::Error::ListTooLong) => Err(faults::LIST_TOO_LONG),
            Err(hpack::Error::Compression(violation)) => return Err(violation),
        };
        if decoder.generation() == generation && block.len() <= KEPT_BYTES_MAX {
            self.block.clear();
            self.block.extend_from_slice(block);
            self.generation = Some(generation);
            self.kind = kind;
        }
        Ok(self.judged)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.list.memory_bytes() + self.block.capacity()
    }
}
