//! Integers and string lengths (RFC 7541 §5).

use super::{CUT_OFF, Fault, INTEGER_TOO_LARGE, INTEGER_TOO_LONG};

/// Reads an integer whose first octet has `prefix_bits` of it, the others being flags.
///
/// 32 bits are the limit of this implementation, and no more octets than these need: without a
/// bound on leading zeros an integer could fill a whole block.
#[inline]
pub(super) fn read_integer(input: &mut &[u8], prefix_bits: u32) -> Result<u32, Fault> {
    let (&first, rest) = input.split_first().ok_or(&CUT_OFF)?;
    *input = rest;
    let mask = u8::MAX >> (8 - prefix_bits);
    if first & mask < mask {
        return Ok(u32::from(first & mask));
    }
    read_continuation(input, mask)
}

fn read_continuation(input: &mut &[u8], mask: u8) -> Result<u32, Fault> {
    let mut value = u64::from(mask);
    for shift in [0, 7, 14, 21, 28] {
        let (&octet, rest) = input.split_first().ok_or(&CUT_OFF)?;
        *input = rest;
        value += u64::from(octet & 0x7f) << shift;
        if octet & 0x80 == 0 {
            return u32::try_from(value).map_err(|_| &INTEGER_TOO_LARGE);
        }
    }
    Err(if value > u64::from(u32::MAX) {
        &INTEGER_TOO_LARGE
    } else {
        &INTEGER_TOO_LONG
    })
}

/// Writes an integer behind the `flags` of its first octet.
#[inline]
pub(super) fn write_integer(out: &mut Vec<u8>, flags: u8, prefix_bits: u32, value: usize) {
    let mask = u8::MAX >> (8 - prefix_bits);
    if value < usize::from(mask) {
        return out.push(flags | value as u8);
    }
    out.push(flags | mask);
    let mut left = value - usize::from(mask);
    while left >= 0x80 {
        out.push(0x80 | left as u8);
        left >>= 7;
    }
    out.push(left as u8);
}

/// The bytes of a string as they stand in a block.
#[derive(Clone, Copy)]
pub(super) struct Coded<'b> {
    pub(super) bytes: &'b [u8],
    pub(super) huffman: bool,
}

/// Takes a string off the input without decoding it.
#[inline]
pub(super) fn read_string<'b>(input: &mut &'b [u8]) -> Result<Coded<'b>, Fault> {
    let huffman = input.first().is_some_and(|first| first & 0x80 != 0);
    let length = read_integer(input, 7)? as usize;
    let (bytes, rest) = input.split_at_checked(length).ok_or(&CUT_OFF)?;
    *input = rest;
    Ok(Coded { bytes, huffman })
}
