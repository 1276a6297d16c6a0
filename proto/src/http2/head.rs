//! Lists of fields that are sent again and again.

use std::sync::Arc;

use super::hpack::{Encoder, FIELD_OVERHEAD_BYTES, Field, Indexing, TABLE_BYTES_DEFAULT};
use super::list::List;
use super::message::{self, Kind, Meaning};
use super::{Fields, frame};
use crate::Misuse;

/// Blocks that a connection remembers. More kinds of message in turn cost encoding each anew.
const REMEMBERED_MAX: usize = 4;

/// Longer blocks are not remembered.
const REMEMBERED_BYTES_MAX: usize = 4096;

/// How much of the peer's table the fields of one head may take. Beyond that they would push each
/// other out with every message.
const INDEXED_BYTES_MAX: usize = 2048;

/// A checked list of fields to send: the head of a request or a response, or trailers.
///
/// Made once and sent as often as needed, on any number of connections: each remembers the bytes
/// that its own state of compression makes of it, so that sending it again copies a few bytes.
/// Cloning is cheap and stays the same head.
#[derive(Clone, Debug)]
pub struct Head {
    checked: Arc<Checked>,
}

#[derive(Debug)]
struct Checked {
    list: List,
    kind: Kind,
    meaning: Meaning,
}

impl Head {
    /// The head of a request: the pseudo-header fields first (RFC 9113 §8.3.1), then the others,
    /// names in lower case.
    ///
    /// # Errors
    /// Anything that would make the request malformed (RFC 9113 §8.1.1).
    pub fn request<N: AsRef<[u8]>, V: AsRef<[u8]>>(fields: &[(N, V)]) -> Result<Head, Misuse> {
        let mut list = List::default();
        push_all(&mut list, fields);
        Head::checked(list, Kind::Request)
    }

    /// The head of a response: `:status` is made of `status`, 100 to 599 but not 101.
    ///
    /// # Errors
    /// A status out of range, a field that would make the response malformed.
    pub fn response<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        status: u16,
        fields: &[(N, V)],
    ) -> Result<Head, Misuse> {
        let mut list = List::default();
        list.push_status(status);
        push_all(&mut list, fields);
        Head::checked(list, Kind::Response)
    }

    /// [`Head::response`] of fields whose names may be in any case.
    ///
    /// # Errors
    /// As for [`Head::response`].
    pub fn response_of<'f>(
        status: u16,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Result<Head, Misuse> {
        let mut list = List::default();
        list.push_status(status);
        fields.for_each(|(name, value)| list.push_lower(name, value));
        Head::checked(list, Kind::Response)
    }

    /// Trailers: fields behind a body.
    ///
    /// # Errors
    /// A pseudo-header field, a field that would make the message malformed.
    pub fn trailers<N: AsRef<[u8]>, V: AsRef<[u8]>>(fields: &[(N, V)]) -> Result<Head, Misuse> {
        let mut list = List::default();
        push_all(&mut list, fields);
        Head::checked(list, Kind::Trailers)
    }

    /// The fields, in order, pseudo-header fields first.
    pub fn fields(&self) -> Fields<'_> {
        self.checked.list.fields()
    }

    #[inline]
    pub(super) fn kind(&self) -> Kind {
        self.checked.kind
    }

    #[inline]
    pub(super) fn meaning(&self) -> Meaning {
        self.checked.meaning
    }

    fn checked(list: List, kind: Kind) -> Result<Head, Misuse> {
        let meaning = check(list.fields(), kind)?;
        let checked = Arc::new(Checked {
            list,
            kind,
            meaning,
        });
        Ok(Head { checked })
    }
}

fn push_all<N: AsRef<[u8]>, V: AsRef<[u8]>>(list: &mut List, fields: &[(N, V)]) {
    for (name, value) in fields {
        list.push(name.as_ref(), value.as_ref());
    }
}

/// Holds a list that is to be sent to what peers demand; says which field is wrong.
fn check(fields: Fields<'_>, kind: Kind) -> Result<Meaning, Misuse> {
    message::judge(fields, kind).map_err(|fault| {
        let all = fields
            .iter()
            .map(|(name, value)| format!("{}: {}", name.escape_ascii(), value.escape_ascii()))
            .collect::<Vec<_>>()
            .join(", ");
        Misuse::new(format!(
            "these fields cannot be sent: {}: {all}",
            fault.violation
        ))
    })
}

/// Encodes heads, and remembers the bytes of those that repeat.
#[derive(Debug)]
pub(super) struct Sender {
    encoder: Encoder,
    /// The list and the block that are being made.
    list: List,
    block: Vec<u8>,
    remembered: Vec<Remembered>,
    /// Which of them goes next.
    oldest: usize,
}

#[derive(Debug)]
struct Remembered {
    head: Head,
    /// Of the encoder, when the block was made and left it alone.
    generation: u64,
    block: Vec<u8>,
}

impl Sender {
    pub(super) fn new() -> Sender {
        Sender {
            encoder: Encoder::new(TABLE_BYTES_DEFAULT),
            list: List::default(),
            block: Vec::new(),
            remembered: Vec::new(),
            oldest: 0,
        }
    }

    /// Takes the size of the table that the peer allows.
    pub(super) fn set_table_max(&mut self, bytes: u32) {
        self.encoder.set_peer_max(bytes);
    }

    /// Writes a head that repeats.
    #[inline]
    pub(super) fn write(&mut self, out: &mut Vec<u8>, stream: u32, head: &Head, end: bool) {
        let generation = self.encoder.generation();
        for known in &self.remembered {
            if known.generation == generation && known.is(head) {
                return frame::block(out, stream, end, &known.block);
            }
        }
        self.write_new(out, stream, head, end);
    }

    /// Writes a block that was made without knowing this connection. It leaves the table alone, but
    /// it may be the one that must tell the peer the table's size (RFC 7541 §4.2).
    #[inline]
    pub(super) fn write_block(&mut self, out: &mut Vec<u8>, stream: u32, block: &[u8], end: bool) {
        match self.encoder.owes_update() {
            false => frame::block(out, stream, end, block),
            true => self.write_block_updating(out, stream, block, end),
        }
    }

    #[cold]
    fn write_block_updating(&mut self, out: &mut Vec<u8>, stream: u32, block: &[u8], end: bool) {
        self.block.clear();
        self.encoder.encode([], &mut self.block);
        self.block.extend_from_slice(block);
        frame::block(out, stream, end, &self.block);
        self.shrink();
    }

    #[inline(never)]
    fn write_new(&mut self, out: &mut Vec<u8>, stream: u32, head: &Head, end: bool) {
        let generation = self.encoder.generation();
        self.block.clear();
        let fields = indexed(head.fields(), |_| Indexing::Yes);
        self.encoder.encode(fields, &mut self.block);
        frame::block(out, stream, end, &self.block);
        if self.encoder.generation() == generation && self.block.len() <= REMEMBERED_BYTES_MAX {
            self.remember(head, generation);
        }
        self.shrink();
    }

    /// Writes a list that will not repeat: the fields, behind a `:status` if one is given.
    ///
    /// # Errors
    /// A list that would be malformed. Then nothing was written.
    pub(super) fn write_once<N: AsRef<[u8]>, V: AsRef<[u8]>>(
        &mut self,
        out: &mut Vec<u8>,
        (stream, end): (u32, bool),
        status: Option<u16>,
        fields: &[(N, V)],
    ) -> Result<(), Misuse> {
        self.list.clear();
        let kind = match status {
            Some(status) => {
                self.list.push_status(status);
                Kind::Response
            }
            None => Kind::Trailers,
        };
        push_all(&mut self.list, fields);
        self.write_list(out, (stream, end), kind)
    }

    /// Writes the head of a response that will not repeat, whose names may be in any case.
    ///
    /// # Errors
    /// A list that would be malformed. Then nothing was written.
    pub(super) fn write_response<'f>(
        &mut self,
        out: &mut Vec<u8>,
        place: (u32, bool),
        status: u16,
        fields: impl Iterator<Item = (&'f [u8], &'f [u8])>,
    ) -> Result<(), Misuse> {
        self.list.clear();
        self.list.push_status(status);
        let list = &mut self.list;
        fields.for_each(|(name, value)| list.push_lower(name, value));
        self.write_list(out, place, Kind::Response)
    }

    /// Writes the list that was made.
    fn write_list(
        &mut self,
        out: &mut Vec<u8>,
        (stream, end): (u32, bool),
        kind: Kind,
    ) -> Result<(), Misuse> {
        check(self.list.fields(), kind)?;
        self.block.clear();
        let fields = indexed(self.list.fields(), usual_indexing);
        self.encoder.encode(fields, &mut self.block);
        frame::block(out, stream, end, &self.block);
        self.shrink();
        Ok(())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let blocks = self.remembered.iter().map(|known| known.block.capacity());
        self.encoder.memory_bytes()
            + self.list.memory_bytes()
            + self.block.capacity()
            + self.remembered.capacity() * size_of::<Remembered>()
            + blocks.sum::<usize>()
    }

    /// Remembers the block that was just made: in the place of the same head, or a new one, or the
    /// oldest.
    fn remember(&mut self, head: &Head, generation: u64) {
        let same = self.remembered.iter().position(|known| known.is(head));
        let at = match same {
            Some(at) => at,
            None if self.remembered.len() < REMEMBERED_MAX => {
                self.remembered.push(Remembered {
                    head: head.clone(),
                    generation,
                    block: Vec::new(),
                });
                self.remembered.len() - 1
            }
            None => {
                self.oldest = (self.oldest + 1) % REMEMBERED_MAX;
                self.oldest
            }
        };
        let known = &mut self.remembered[at];
        if !known.is(head) {
            known.head = head.clone();
        }
        known.generation = generation;
        known.block.clear();
        known.block.extend_from_slice(&self.block);
    }

    fn shrink(&mut self) {
        if self.block.capacity() > REMEMBERED_BYTES_MAX {
            self.block = Vec::new();
        }
    }
}

impl Remembered {
    #[inline]
    fn is(&self, head: &Head) -> bool {
        Arc::ptr_eq(&self.head.checked, &head.checked)
    }
}

/// The fields as the encoder wants them, as many for the table as fit there together.
fn indexed<'f>(
    fields: Fields<'f>,
    indexing: impl Fn(&[u8]) -> Indexing,
) -> impl Iterator<Item = Field<'f>> {
    let mut left_bytes = INDEXED_BYTES_MAX;
    fields.iter().map(move |(name, value)| {
        let bytes = name.len() + value.len() + FIELD_OVERHEAD_BYTES;
        let mut indexing = indexing(name);
        match left_bytes.checked_sub(bytes) {
            Some(left) => left_bytes = left,
            None => indexing = Indexing::No,
        }
        Field {
            name,
            value,
            indexing,
        }
    })
}

/// What changes with every message would only push out what does not.
fn usual_indexing(name: &[u8]) -> Indexing {
    match name {
        b"content-length"
        | b"etag"
        | b"location"
        | b"set-cookie"
        | b"age"
        | b"content-range"
        | b"last-modified"
        | b"grpc-message"
        | b"grpc-status-details-bin" => Indexing::No,
        _ => Indexing::Yes,
    }
}
