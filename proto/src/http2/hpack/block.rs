//! Blocks that mean the same on every connection, whatever was sent there before: fields of the
//! static table (RFC 7541 §6.1) and literals without indexing (§6.2.2), none in Huffman code. So
//! they can be made ahead, before it is known where they go.
//!
//! [`Client::request_block`](crate::http2::client::Client::request_block) sends them.

use super::primitives::write_integer;
use super::static_table;

/// Appends a field to a block. Names are in lower case (RFC 9113 §8.2); what may stand in a request
/// is the caller's business.
pub fn field(name: &[u8], value: &[u8], out: &mut Vec<u8>) {
    let first = static_table::first(name);
    if let Some(index) = first.and_then(|first| static_table::with_value(first, value)) {
        return write_integer(out, 0x80, 7, index);
    }
    begin_field(name, out);
    write_integer(out, 0x00, 7, value.len());
    out.extend_from_slice(value);
}

/// Appends a field up to its value, which the caller appends between [`begin_string`] and
/// [`end_string`].
pub fn begin_field(name: &[u8], out: &mut Vec<u8>) {
    match static_table::first(name) {
        Some(index) => write_integer(out, 0x00, 4, index),
        None => {
            out.push(0x00);
            write_integer(out, 0x00, 7, name.len());
            out.extend_from_slice(name);
        }
    }
}

/// Begins a string whose bytes are appended next; [`end_string`] takes what this returns.
#[inline]
pub fn begin_string(out: &mut Vec<u8>) -> usize {
    out.push(0);
    out.len() - 1
}

/// Ends the string that [`begin_string`] began at `at`: writes its length in front of it.
#[inline]
pub fn end_string(at: usize, out: &mut Vec<u8>) {
    let length = out.len() - (at + 1);
    match length < 0x7f {
        true => out[at] = length as u8,
        false => end_long_string(at, length, out),
    }
}

/// A length of several octets (RFC 7541 §5.1), so that the string moves.
#[cold]
fn end_long_string(at: usize, length: usize, out: &mut Vec<u8>) {
    let end = out.len();
    write_integer(out, 0x00, 7, length);
    let octets = out.len() - end;
    out[at + 1..].rotate_right(octets);
    out.remove(at);
}

#[cfg(test)]
mod tests {
    use super::super::Decoder;
    use super::*;

    fn decoded(block: &[u8]) -> Vec<(String, String)> {
        let mut fields = Vec::new();
        // Whatever is in its table: a decoder that was told to have none reads the same.
        let mut decoder = Decoder::new(0);
        let mut push = |name: &[u8], value: &[u8]| {
            fields.push(
                [name, value]
                    .map(|text| String::from_utf8_lossy(text).into_owned())
                    .into(),
            );
        };
        decoder
            .decode(block, usize::MAX, &mut push)
            .expect("a valid block");
        assert_eq!(decoder.generation(), Decoder::new(0).generation());
        fields
    }

    #[test]
    fn a_block_is_read_as_its_fields_and_leaves_the_table_alone() {
        let long = "x".repeat(70_000);
        let fields = [
            (":method", "GET"),
            (":path", "/a"),
            ("accept", ""),
            ("accept", "*/*"),
            ("x-own", "v"),
            ("cookie", &long),
        ];
        let mut block = Vec::new();
        for (name, value) in fields {
            field(name.as_bytes(), value.as_bytes(), &mut block);
        }
        assert_eq!(block[..5], [0x82, 0x04, 2, b'/', b'a']);
        assert_eq!(block[5], 0x80 | 19, "accept without a value");
        let expected = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(decoded(&block), expected);
    }

    #[test]
    fn a_string_has_its_length_in_front_whatever_that_is() {
        for length in [0, 1, 126, 127, 128, 254, 255, 256, 16_510, 16_511, 70_000] {
            let value: Vec<u8> = (0..length).map(|at| b'a' + (at % 26) as u8).collect();
            let (mut apart, mut whole) = (b"?".to_vec(), b"?".to_vec());
            begin_field(b"x-own", &mut apart);
            let at = begin_string(&mut apart);
            apart.extend_from_slice(&value);
            end_string(at, &mut apart);
            field(b"x-own", &value, &mut whole);
            assert!(apart == whole, "{length} bytes");
            assert_eq!(
                decoded(&apart[1..])[0].1.as_bytes(),
                value,
                "{length} bytes"
            );
        }
    }
}
