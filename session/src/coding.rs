//! The codings of bodies (RFC 9110 §8.4), undone for rules that look into them.

use std::io::Read;

use flate2::bufread::GzDecoder;
use flate2::{Decompress, FlushDecompress, Status};
use proto::gzip::{self, Unpacked, after_member};

/// How a body is coded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Coding {
    /// Not at all.
    #[default]
    None,
    Gzip,
    Deflate,
    /// In another way, or in several.
    Other,
}

/// Why a body isn't decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Undecoded {
    /// It isn't what it says to be, or it ends too soon.
    Broken,
    /// It becomes longer than is kept.
    TooLong,
    /// We don't know its coding.
    Unknown,
}

impl From<Unpacked> for Undecoded {
    fn from(why: Unpacked) -> Undecoded {
        match why {
            Unpacked::Broken => Undecoded::Broken,
            Unpacked::TooLong => Undecoded::TooLong,
        }
    }
}

impl Coding {
    /// The one that these fields of an answer name.
    pub(crate) fn of<'f>(fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> Coding {
        let is_named = |name: &[u8]| name.eq_ignore_ascii_case(b"content-encoding");
        let values = fields.filter(|(name, _)| is_named(name));
        let names = values.flat_map(|(_, value)| value.split(|byte| *byte == b','));
        let mut coding = Coding::None;
        for name in names.map(<[u8]>::trim_ascii) {
            let named = match &*name.to_ascii_lowercase() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Coding::Gzip,
                b"deflate" => Coding::Deflate,
                _ => Coding::Other,
            };
            coding = match coding {
                Coding::None => named,
                _ => Coding::Other,
            };
        }
        coding
    }

    /// Whether these fields of an answer say that its body is coded, in whatever way.
    pub(crate) fn is_named<'f>(mut fields: impl Iterator<Item = (&'f [u8], &'f [u8])>) -> bool {
        fields.any(|(name, value)| {
            let value = value.trim_ascii();
            name.eq_ignore_ascii_case(b"content-encoding")
                && !value.is_empty()
                && !value.eq_ignore_ascii_case(b"identity")
        })
    }

    /// Appends what a body becomes to an empty buffer, up to so many bytes.
    pub(crate) fn decode(
        self,
        body: &[u8],
        most: usize,
        to: &mut Vec<u8>,
    ) -> Result<(), Undecoded> {
        match self {
            Coding::None => to.extend_from_slice(body),
            Coding::Gzip => gzip::unpack(body, most, to)?,
            Coding::Deflate => inflate(body, most, to)?,
            Coding::Other => return Err(Undecoded::Unknown),
        }
        match to.len() > most {
            true => Err(Undecoded::TooLong),
            false => Ok(()),
        }
    }
}

/// How a text begins whose gzipped form begins like this, in `to`; none if it is no gzip. Its
/// length, and whether that is all of it.
pub(crate) fn gunzipped(bytes: &[u8], to: &mut [u8]) -> Option<(usize, bool)> {
    // RFC 1952 §2.3.1.
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return None;
    }
    let (mut reader, mut length) = (GzDecoder::new(bytes), 0);
    while length < to.len() {
        match reader.read(&mut to[length..]) {
            Ok(0) => match after_member(reader.into_inner()) {
                None => return Some((length, true)),
                Some(next) => reader = GzDecoder::new(next),
            },
            Ok(more) => length += more,
            Err(_) => break,
        }
    }
    Some((length, false))
}

/// What `deflate` says is zlib's format, and from some servers without its wrapper (RFC 9110
/// §8.4.1.2).
fn inflate(body: &[u8], most: usize, to: &mut Vec<u8>) -> Result<(), Undecoded> {
    const PIECE_BYTES: usize = 16 * 1024;
    // RFC 1950 §2.2: method 8, and the first two bytes are a multiple of 31.
    let is_wrapped = match body {
        [first, second, ..] => {
            first & 15 == 8 && (u16::from(*first) << 8 | u16::from(*second)).is_multiple_of(31)
        }
        _ => false,
    };
    let mut machine = Decompress::new(is_wrapped);
    loop {
        to.reserve(PIECE_BYTES);
        let before = (machine.total_in(), machine.total_out());
        let rest = &body[before.0 as usize..];
        let status = machine.decompress_vec(rest, to, FlushDecompress::None);
        match status.map_err(|_| Undecoded::Broken)? {
            Status::StreamEnd => return Ok(()),
            _ if to.len() > most => return Err(Undecoded::TooLong),
            // It goes nowhere: there is more to come, and nothing left.
            _ if before == (machine.total_in(), machine.total_out()) => {
                return Err(Undecoded::Broken);
            }
            Status::Ok | Status::BufError => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zlib(text: &[u8]) -> Vec<u8> {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn raw(text: &[u8]) -> Vec<u8> {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn decoded(coding: Coding, body: &[u8]) -> Result<Vec<u8>, Undecoded> {
        let mut to = Vec::new();
        coding.decode(body, 100_000, &mut to)?;
        Ok(to)
    }

    #[test]
    fn a_coding_is_known_by_its_name() {
        for (values, expected) in [
            (&[][..], Coding::None),
            (&["gzip"], Coding::Gzip),
            (&["X-GZIP"], Coding::Gzip),
            (&["identity, deflate"], Coding::Deflate),
            (&["br"], Coding::Other),
            (&["gzip, gzip"], Coding::Other),
            (&["gzip", "deflate"], Coding::Other),
        ] {
            let fields = values.iter();
            let fields = fields.map(|value| (&b"Content-Encoding"[..], value.as_bytes()));
            assert_eq!(Coding::of(fields), expected, "{values:?}");
        }
    }

    #[test]
    fn what_was_coded_comes_back_unless_it_was_cut() {
        let text: Vec<u8> = (0..90_000u32)
            .map(|n| (n.wrapping_mul(n) >> 7) as u8)
            .collect();
        let two = [gzip(b"a"), gzip(b"b")].concat();
        assert_eq!(decoded(Coding::Gzip, &two).as_deref(), Ok(&b"ab"[..]));
        let padded = [&two[..], &[0; 512]].concat();
        assert_eq!(decoded(Coding::Gzip, &padded).as_deref(), Ok(&b"ab"[..]));
        let mut to = [0; 16];
        assert_eq!(gunzipped(&padded, &mut to), Some((2, true)));
        let other = [&two[..], b"\0more"].concat();
        assert_eq!(decoded(Coding::Gzip, &other), Err(Undecoded::Broken));
        for (coding, body) in [
            (Coding::None, text.clone()),
            (Coding::Gzip, gzip(&text)),
            (Coding::Deflate, zlib(&text)),
            (Coding::Deflate, raw(&text)),
        ] {
            assert_eq!(decoded(coding, &body).as_ref(), Ok(&text), "{coding:?}");
            if coding != Coding::None {
                for cut in [1, 2, 5, body.len() / 2, body.len() - 1] {
                    let cut = decoded(coding, &body[..cut]);
                    assert_eq!(cut, Err(Undecoded::Broken), "{coding:?}");
                }
                assert_eq!(decoded(coding, b"no such thing"), Err(Undecoded::Broken));
            }
        }
        assert_eq!(decoded(Coding::Other, b"x"), Err(Undecoded::Unknown));
    }

    #[test]
    fn the_beginning_of_what_is_gzipped_is_that_of_a_text() {
        let mut to = [0; 16];
        assert_eq!(gunzipped(b"a text", &mut to), None);
        assert_eq!(gunzipped(&gzip(b"a text"), &mut to), Some((6, true)));
        assert_eq!(&to[..6], b"a text");
        let long = gzip("a word, ".repeat(100).as_bytes());
        assert_eq!(gunzipped(&long, &mut to), Some((16, false)));
        assert_eq!(&to, b"a word, a word, ");
        assert_eq!(
            gunzipped(&long[..11], &mut to).map(|(_, is_all)| is_all),
            Some(false)
        );
    }

    #[test]
    fn a_bomb_does_not_go_off() {
        let zeros = vec![0; 50_000_000];
        for (coding, body) in [
            (Coding::Gzip, gzip(&zeros)),
            (Coding::Deflate, zlib(&zeros)),
        ] {
            let mut to = Vec::new();
            assert_eq!(
                coding.decode(&body, 100_000, &mut to),
                Err(Undecoded::TooLong)
            );
            assert!(to.capacity() < 1_000_000, "{}", to.capacity());
        }
    }
}
