//! What requests are called on their way: `X-Request-Id`, and `traceparent` (W3C Trace Context).

use std::fs::File;
use std::io::Read;

use measure::random::Random;

/// The longest identity of a client that is handed on.
const BYTES_MAX: usize = 128;

/// Makes identities. They're different from all others, and no secrets.
#[derive(Debug)]
pub(crate) struct Identities(Random);

impl Identities {
    /// Those of one worker of this process.
    pub(crate) fn new(worker: usize) -> Identities {
        let mut seed = [0; 8];
        let read = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut seed));
        let seed = match read {
            Ok(()) => u64::from_ne_bytes(seed),
            Err(_) => measure::time::unix_nanoseconds() as u64 ^ u64::from(std::process::id()),
        };
        Identities(Random::new(seed, worker as u64))
    }

    /// 32 hexadecimal digits.
    pub(crate) fn request(&mut self) -> [u8; 32] {
        let mut text = [0; 32];
        hex(self.0.next(), &mut text[..16]);
        hex(self.0.next(), &mut text[16..]);
        text
    }

    /// The root of a trace: `00-…-…-01`. It's marked as sampled, since a parent that isn't would
    /// have everybody behind it record nothing.
    pub(crate) fn trace(&mut self) -> [u8; 55] {
        let mut text = *b"00-00000000000000000000000000000000-0000000000000000-01";
        hex(self.0.next() | 1, &mut text[3..19]);
        hex(self.0.next(), &mut text[19..35]);
        hex(self.0.next() | 1, &mut text[36..52]);
        text
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// Whether one in so many comes up.
    pub(crate) fn happens(&mut self, share: f64) -> bool {
        self.0.unit() < share
    }
}

fn hex(value: u64, text: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (at, digit) in text.iter_mut().rev().enumerate() {
        *digit = DIGITS[(value >> (4 * at)) as usize & 15];
    }
}

/// Whether an identity that a client has given its request is handed on: short, and nothing that
/// could end a line in a log or need an escape there.
pub(crate) fn is_identity(value: &[u8]) -> bool {
    let usual = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(byte);
    !value.is_empty() && value.len() <= BYTES_MAX && value.iter().all(usual)
}

/// Whether this is a `traceparent` (W3C Trace Context §3.2): one that isn't is replaced, and the
/// `tracestate` beside it dropped (§3.3).
pub(crate) fn is_traceparent(value: &[u8]) -> bool {
    let digits = |range: std::ops::Range<usize>| {
        let lower = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        value.get(range).is_some_and(|part| part.iter().all(lower))
    };
    let zero = |range: std::ops::Range<usize>| value[range].iter().all(|byte| *byte == b'0');
    let dashes = [2, 35, 52].iter().all(|&at| value.get(at) == Some(&b'-'));
    if !dashes || ![0..2, 3..35, 36..52, 53..55].into_iter().all(digits) {
        return false;
    }
    let length = match &value[..2] {
        b"ff" => false,
        b"00" => value.len() == 55,
        _ => matches!(value.get(55), None | Some(b'-')),
    };
    length && !zero(3..35) && !zero(36..52)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_made_is_valid_and_different_each_time() {
        let mut made = Identities::new(3);
        let (one, other) = (made.request(), made.request());
        assert_ne!(one, other);
        assert!(is_identity(&one) && is_identity(&other));
        let (one, other) = (made.trace(), made.trace());
        assert_ne!(one, other);
        assert!(is_traceparent(&one), "{}", one.escape_ascii());
    }

    #[test]
    fn only_a_traceparent_is_one() {
        let fine = [
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
        ];
        let wrong = [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
            "00_0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ];
        fine.iter()
            .for_each(|one| assert!(is_traceparent(one.as_bytes()), "{one}"));
        wrong
            .iter()
            .for_each(|one| assert!(!is_traceparent(one.as_bytes()), "{one}"));
    }

    #[test]
    fn an_identity_that_could_break_a_log_is_none() {
        for wrong in ["", "a b", "a\"b", "a\u{e9}", &"x".repeat(129)] {
            assert!(!is_identity(wrong.as_bytes()), "{wrong}");
        }
    }
}
