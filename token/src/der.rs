//! As much of DER (ITU-T X.690) as a public key takes.

/// What follows an element's tag and length, and what follows the element. `None` where the bytes
/// are no such element.
pub(crate) fn element(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        // Longer ones than 65,535 bytes are no key of ours.
        0x81 => (usize::from(*rest.first()?), &rest[1..]),
        0x82 => {
            let length = [*rest.first()?, *rest.get(1)?];
            (usize::from(u16::from_be_bytes(length)), &rest[2..])
        }
        _ => return None,
    };
    let content = rest.get(..length)?;
    (found == tag).then_some((content, &rest[length..]))
}

const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const OBJECT: u8 = 0x06;
const SEQUENCE: u8 = 0x30;

/// Object identifiers of algorithms and curves.
const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
const EC: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
const P256: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07];
const ED25519: &[u8] = &[0x2b, 0x65, 0x70];

/// A public key as a file has it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Public<'a> {
    /// Modulus and exponent, without leading zeros.
    Rsa(&'a [u8], &'a [u8]),
    /// A point, uncompressed.
    P256(&'a [u8]),
    Ed25519(&'a [u8]),
}

/// Reads a SubjectPublicKeyInfo (RFC 5280 §4.1).
pub(crate) fn public_key(bytes: &[u8]) -> Option<Public<'_>> {
    let (info, rest) = element(bytes, SEQUENCE)?;
    let (algorithm, info) = element(info, SEQUENCE)?;
    let (key, end) = element(info, BIT_STRING)?;
    if !rest.is_empty() || !end.is_empty() {
        return None;
    }
    let (&0, key) = key.split_first()? else {
        return None;
    };
    let (object, parameters) = element(algorithm, OBJECT)?;
    match object {
        RSA => {
            let (key, _) = element(key, SEQUENCE)?;
            let (modulus, key) = element(key, INTEGER)?;
            let (exponent, _) = element(key, INTEGER)?;
            Some(Public::Rsa(unsigned(modulus), unsigned(exponent)))
        }
        EC => {
            let (curve, _) = element(parameters, OBJECT)?;
            (curve == P256).then_some(Public::P256(key))
        }
        ED25519 => Some(Public::Ed25519(key)),
        _ => None,
    }
}

/// A positive integer without the zero that keeps it positive.
fn unsigned(bytes: &[u8]) -> &[u8] {
    match bytes {
        [0, rest @ ..] => rest,
        all => all,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_are_taken_apart_and_what_is_cut_off_is_none() {
        let short = [SEQUENCE, 2, 1, 2, 9];
        assert_eq!(element(&short, SEQUENCE), Some((&[1, 2][..], &[9][..])));
        assert_eq!(element(&short, INTEGER), None);
        let long: Vec<u8> = [SEQUENCE, 0x82, 1, 0].into_iter().chain([7; 256]).collect();
        assert_eq!(
            element(&long, SEQUENCE).map(|(content, _)| content.len()),
            Some(256)
        );
        for cut in 0..long.len() {
            assert_eq!(element(&long[..cut], SEQUENCE), None, "{cut}");
        }
        for length in [0x80, 0x83, 0xff] {
            assert_eq!(element(&[SEQUENCE, length, 0, 0, 0, 0], SEQUENCE), None);
        }
    }
}
