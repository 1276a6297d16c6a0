//! Deadlines as `grpc-timeout` carries them (Timeout).

use std::time::Duration;

/// Digits at most.
const DIGITS_MAX: usize = 8;
const VALUE_MAX: u128 = 10u128.pow(DIGITS_MAX as u32) - 1;

/// The units from the longest to the shortest, with their length in nanoseconds.
const UNITS: [(u8, u128); 6] = [
    (b'H', 3_600_000_000_000),
    (b'M', 60_000_000_000),
    (b'S', 1_000_000_000),
    (b'm', 1_000_000),
    (b'u', 1_000),
    (b'n', 1),
];

/// The value of a `grpc-timeout` field: exact in the longest unit possible, else rounded up in the
/// shortest one whose number has eight digits. It is at least 1 ns and at most 99,999,999 hours.
pub fn encode_timeout(timeout: Duration) -> String {
    let nanos = timeout.as_nanos().max(1);
    let exact = UNITS.iter().find(|(_, unit)| nanos.is_multiple_of(*unit));
    let fitting = |&&(_, unit): &&(u8, u128)| nanos.div_ceil(unit) <= VALUE_MAX;
    let &(unit, unit_ns) = exact
        .filter(fitting)
        .or_else(|| UNITS.iter().rev().find(fitting))
        .unwrap_or(&UNITS[0]);
    let value = nanos.div_ceil(unit_ns).min(VALUE_MAX);
    format!("{value}{}", char::from(unit))
}

/// Reads a `grpc-timeout` field. `None` if it is malformed.
pub fn decode_timeout(value: &[u8]) -> Option<Duration> {
    let (&letter, digits) = value.split_last()?;
    let &(_, unit_ns) = UNITS.iter().find(|(unit, _)| *unit == letter)?;
    if digits.is_empty() || digits.len() > DIGITS_MAX {
        return None;
    }
    let mut count = 0u128;
    for &digit in digits {
        if !digit.is_ascii_digit() {
            return None;
        }
        count = count * 10 + u128::from(digit - b'0');
    }
    let nanos = count * unit_ns;
    let whole = u64::try_from(nanos / 1_000_000_000).ok()?;
    Some(Duration::new(whole, (nanos % 1_000_000_000) as u32))
}
