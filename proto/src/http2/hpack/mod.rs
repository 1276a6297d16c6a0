//! Header compression for HTTP/2 (RFC 7541): one direction of one connection.
//!
//! [`Decoder`] turns the field block of a peer into fields, [`Encoder`] turns fields into a block.
//! Blocks are whole: putting HEADERS and CONTINUATION together is the frame layer's business. So is
//! everything that fields mean; to this module they are pairs of bytes.
//!
//! Either keeps one dynamic table in step with its peer. Its [`generation`](Decoder::generation)
//! changes whenever the table does, so the bytes of a block that left it alone mean the same for as
//! long as the generation stays: both roles remember blocks by it.
//!
//! A new decoder or encoder holds no memory. It grows with what the peer really stores, up to three
//! times the size of the table; reading a block takes up to 8/5 of its bytes besides, which is how
//! much the Huffman code can shrink.

pub mod block;
mod decoder;
mod encoder;
mod huffman;
mod primitives;
mod static_table;
mod table;

use std::fmt;

use crate::Violation;

pub use decoder::Decoder;
pub use encoder::{Encoder, Field, Indexing};

/// The size of a dynamic table until settings say otherwise, in bytes (RFC 9113 §6.5.2).
pub const TABLE_BYTES_DEFAULT: u32 = 4096;

/// What a field counts beyond its bytes, in a table and in a list (RFC 7541 §4.1, RFC 9113
/// §6.5.2).
pub const FIELD_OVERHEAD_BYTES: usize = 32;

/// Why a block gave no list of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The block is broken and the table with it: a connection error of the type
    /// `COMPRESSION_ERROR` (RFC 9113 §4.3). Every further block repeats it.
    Compression(&'static Violation),
    /// The fields are longer than the limit of a list. The table has taken in the whole block, so
    /// only this message is lost, not the connection.
    ListTooLong,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Compression(violation) => violation.fmt(f),
            Error::ListTooLong => f.write_str("a list of fields longer than the limit"),
        }
    }
}

impl std::error::Error for Error {}

/// What the parts of the decoder fail with: an address, so that a poisoned decoder stays small.
type Fault = &'static Violation;

macro_rules! faults {
    ($($name:ident = $clause:literal, $what:literal;)*) => {
        $(static $name: Violation = Violation { clause: $clause, what: $what };)*
    };
}

faults! {
    CUT_OFF = "RFC 7541 §6", "a field block that ends inside a field";
    INTEGER_TOO_LARGE = "RFC 7541 §5.1", "an integer beyond 32 bits";
    INTEGER_TOO_LONG = "RFC 7541 §5.1", "an integer longer than 32 bits need";
    HUFFMAN_EOS = "RFC 7541 §5.2", "a Huffman string with the end-of-string symbol in it";
    HUFFMAN_PADDING = "RFC 7541 §5.2", "a Huffman string padded with more than 7 bits";
    HUFFMAN_PADDING_BITS = "RFC 7541 §5.2", "a Huffman string whose padding is not all ones";
    INDEX_ZERO = "RFC 7541 §6.1", "an indexed field with the index 0";
    INDEX_BEYOND = "RFC 7541 §2.3.3", "an index beyond both tables";
    UPDATE_LATE = "RFC 7541 §4.2", "a table size update behind the start of a block";
    UPDATE_TOO_LARGE = "RFC 7541 §6.3", "a table size update beyond the size that was set";
    UPDATE_MISSING = "RFC 7541 §4.2", "a block without the update that a smaller table demands";
}

#[cfg(test)]
mod tests;
