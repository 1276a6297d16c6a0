//! The Huffman code of strings (RFC 7541 §5.2, Appendix B).
//!
//! The code is canonical: codes of one length are consecutive and in the order of their symbols. So
//! the lengths are all there is to know, and the tables for both directions are computed from them.
//! Decoding looks at eight bits at once, which is enough for every symbol that is usual in fields;
//! longer codes are found by comparing with the last code of each length.

use super::{Fault, HUFFMAN_EOS, HUFFMAN_PADDING, HUFFMAN_PADDING_BITS};

/// Appends the decoded string to `out`: at most 8/5 of the bytes of `coded`.
pub(super) fn decode(coded: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
    out.reserve(decoded_bytes_max(coded.len()));
    let mut rest = coded;
    // The bits that are not decoded yet, the first one on top, with zeros behind the last.
    let mut bits = 0u64;
    let mut left = 0u32;
    loop {
        if left < LENGTH_MAX {
            refill(&mut rest, &mut bits, &mut left);
        }
        let (symbol, length) = first_symbol(bits);
        if length > left {
            // Too few bits for a code: what remains is padding.
            return check_padding(bits, left);
        }
        let Ok(byte) = u8::try_from(symbol) else {
            return Err(&HUFFMAN_EOS);
        };
        out.push(byte);
        bits <<= length;
        left -= length;
    }
}

/// The longest string that so many bytes can stand for.
pub(super) const fn decoded_bytes_max(coded_bytes: usize) -> usize {
    coded_bytes * 8 / LENGTH_MIN as usize
}

/// Bytes that [`encode`] writes.
#[inline]
pub(super) fn encoded_bytes(string: &[u8]) -> usize {
    let bits: usize = string
        .iter()
        .map(|&byte| usize::from(LENGTHS[usize::from(byte)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends the code of `string`, padded with the first bits of the end-of-string symbol.
pub(super) fn encode(string: &[u8], out: &mut Vec<u8>) {
    let mut bits = 0u64;
    let mut left = 0u32;
    for &byte in string {
        let symbol = usize::from(byte);
        let length = u32::from(LENGTHS[symbol]);
        bits = bits << length | u64::from(CODES[symbol]);
        left += length;
        while left >= 8 {
            left -= 8;
            out.push((bits >> left) as u8);
        }
    }
    if left > 0 {
        out.push((bits << (8 - left)) as u8 | (0xff >> left));
    }
}

/// Fills up to at least 56 bits, or with all there are.
#[inline]
fn refill(rest: &mut &[u8], bits: &mut u64, left: &mut u32) {
    if let Some((word, _)) = rest.split_first_chunk::<8>() {
        let bytes = (63 - *left) / 8;
        *bits |= u64::from_be_bytes(*word) >> *left;
        *left += bytes * 8;
        // The rest of the word comes again with the next one.
        *bits &= u64::MAX << (64 - *left);
        *rest = &rest[bytes as usize..];
        return;
    }
    while *left <= 56
        && let Some((&byte, behind)) = rest.split_first()
    {
        *bits |= u64::from(byte) << (56 - *left);
        *left += 8;
        *rest = behind;
    }
}

/// The symbol whose code `bits` starts with, and the length of its code. There always is one, since
/// the code is complete; whether all of its bits came from the string is the caller's question.
#[inline]
fn first_symbol(bits: u64) -> (u16, u32) {
    let [symbol, length] = SHORT[(bits >> 56) as usize];
    if length > 0 {
        return (u16::from(symbol), u32::from(length));
    }
    let top = (bits >> 32) as u32;
    let mut length = SHORT_BITS + 1;
    while length < LENGTH_MAX && top >= ENDS[length as usize] {
        length += 1;
    }
    let code = top >> (32 - length);
    let place = code.wrapping_sub(FIRST_CODES[length as usize]);
    let start = usize::from(STARTS[length as usize]);
    (SORTED[start + place as usize], length)
}

#[cold]
fn check_padding(bits: u64, left: u32) -> Result<(), Fault> {
    if left >= 8 {
        Err(&HUFFMAN_PADDING)
    } else if bits.leading_ones() < left {
        Err(&HUFFMAN_PADDING_BITS)
    } else {
        Ok(())
    }
}

/// Byte values, and the end-of-string symbol.
const SYMBOLS: usize = 257;
const LENGTH_MIN: u32 = 5;
const LENGTH_MAX: u32 = 30;
/// Codes up to this length are found by one look at [`SHORT`].
const SHORT_BITS: u32 = 8;

/// How many bits the code of each symbol has (RFC 7541 Appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; SYMBOLS] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The code of each symbol, in its low bits.
static CODES: [u32; SYMBOLS] = TABLES.codes;
/// By the next eight bits: the symbol they start with and the length of its code, or length 0.
static SHORT: [[u8; 2]; 1 << SHORT_BITS] = TABLES.short;
/// By length: the first code.
static FIRST_CODES: [u32; LENGTH_MAX as usize + 1] = TABLES.first_codes;
/// By length: the end of its codes, with its bits on top of 32.
static ENDS: [u32; LENGTH_MAX as usize + 1] = TABLES.ends;
/// By length: where in [`SORTED`] the symbols with such codes start.
static STARTS: [u16; LENGTH_MAX as usize + 1] = TABLES.starts;
/// All symbols in the order of their codes.
static SORTED: [u16; SYMBOLS] = TABLES.sorted;

struct Tables {
    codes: [u32; SYMBOLS],
    short: [[u8; 2]; 1 << SHORT_BITS],
    first_codes: [u32; LENGTH_MAX as usize + 1],
    ends: [u32; LENGTH_MAX as usize + 1],
    starts: [u16; LENGTH_MAX as usize + 1],
    sorted: [u16; SYMBOLS],
}

const TABLES: Tables = tables();

const fn tables() -> Tables {
    let mut tables = Tables {
        codes: [0; SYMBOLS],
        short: [[0; 2]; 1 << SHORT_BITS],
        first_codes: [0; LENGTH_MAX as usize + 1],
        ends: [0; LENGTH_MAX as usize + 1],
        starts: [0; LENGTH_MAX as usize + 1],
        sorted: [0; SYMBOLS],
    };
    let mut code = 0u32;
    let mut place = 0;
    let mut length = 1;
    while length <= LENGTH_MAX {
        code <<= 1;
        tables.first_codes[length as usize] = code;
        tables.starts[length as usize] = place as u16;
        let mut symbol = 0;
        while symbol < SYMBOLS {
            if LENGTHS[symbol] as u32 == length {
                tables.codes[symbol] = code;
                tables.sorted[place] = symbol as u16;
                if length <= SHORT_BITS {
                    fill_short(&mut tables.short, code, length, symbol as u8);
                }
                code += 1;
                place += 1;
            }
            symbol += 1;
        }
        // The last code is all ones, so its end does not fit and is never asked for.
        tables.ends[length as usize] = ((code as u64) << (32 - length)) as u32;
        length += 1;
    }
    tables
}

/// Every byte that starts with `code` finds `symbol`.
const fn fill_short(short: &mut [[u8; 2]; 1 << SHORT_BITS], code: u32, length: u32, symbol: u8) {
    let free_bits = SHORT_BITS - length;
    let mut at = (code << free_bits) as usize;
    let end = ((code + 1) << free_bits) as usize;
    while at < end {
        short[at] = [symbol, length as u8];
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_codes_are_those_of_the_standard() {
        let expected = [
            (b'0' as usize, 0x0, 5),
            (b'a' as usize, 0x3, 5),
            (b'z' as usize, 0x7b, 7),
            (b'~' as usize, 0x1ffd, 13),
            (0, 0x1ff8, 13),
            (249, 0xffffffe, 28),
            (22, 0x3ffffffe, 30),
            (256, 0x3fffffff, 30),
        ];
        for (symbol, code, length) in expected {
            assert_eq!(CODES[symbol], code, "symbol {symbol}");
            assert_eq!(LENGTHS[symbol], length, "symbol {symbol}");
        }
    }

    #[test]
    fn every_byte_comes_back_at_every_bit_position() {
        for byte in 0..=u8::MAX {
            for before in 0..8 {
                // `0` has five bits, so up to seven of them start the next code anywhere.
                let mut string = vec![b'0'; before];
                string.extend([byte, b'x', byte]);
                let mut coded = Vec::new();
                encode(&string, &mut coded);
                assert_eq!(coded.len(), encoded_bytes(&string));
                let mut decoded = Vec::new();
                assert_eq!(decode(&coded, &mut decoded), Ok(()));
                assert_eq!(decoded, string);
                assert!(decoded.len() <= decoded_bytes_max(coded.len()));
            }
        }
    }

    #[test]
    fn padding_is_checked() {
        let cases: [(&[u8], Result<(), Fault>); 9] = [
            (b"", Ok(())),
            // `a` is 00011, then three bits of padding.
            (&[0b0001_1111], Ok(())),
            (&[0b0001_1110], Err(&HUFFMAN_PADDING_BITS)),
            (&[0b0001_1011], Err(&HUFFMAN_PADDING_BITS)),
            (&[0b0001_1111, 0xff], Err(&HUFFMAN_PADDING)),
            (&[0xff], Err(&HUFFMAN_PADDING)),
            // The byte 0 has 13 bits.
            (&[0xff, 0b1100_0000], Err(&HUFFMAN_PADDING_BITS)),
            (&[0xff, 0b1100_0111], Ok(())),
            (&[0xff, 0xff, 0xff, 0xff], Err(&HUFFMAN_EOS)),
        ];
        for (coded, expected) in cases {
            assert_eq!(decode(coded, &mut Vec::new()), expected, "{coded:x?}");
        }
    }
}
