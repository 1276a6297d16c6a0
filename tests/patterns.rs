//! Bytes for tests that pass them on, and a comparison that doesn't print them. Included by path.

use measure::random::Random;

/// Bytes that show a gap, a repetition or an exchange anywhere.
pub(crate) fn pattern(length: usize, seed: u64) -> Vec<u8> {
    let mut random = Random::seeded(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend_from_slice(&random.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Compares long byte strings without printing them.
#[track_caller]
pub(crate) fn assert_same(got: &[u8], expected: &[u8], what: &str) {
    let differs = got.iter().zip(expected).position(|(a, b)| a != b);
    assert_eq!(differs, None, "{what}: first difference");
    assert_eq!(got.len(), expected.len(), "{what}: length");
}
