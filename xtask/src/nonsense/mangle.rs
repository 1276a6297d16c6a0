//! Damage to traffic, one piece at a time. Knows no sockets.

use super::random::Random;

/// The longest piece that damage makes.
const PIECE_BYTES_MAX: usize = 256 * 1024;

/// What becomes of the connection after a damaged piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    /// The next piece follows.
    GoesOn,
    /// Nothing follows, and the end is said (FIN).
    Ends,
    /// It is torn down (RST).
    Resets,
    /// Nothing follows, and nothing is said or read.
    Stalls,
}

/// Bytes that parsers tend to trip over.
const TRAPS: [&[u8]; 14] = [
    b"\r\n\r\n",
    b"\r\n",
    b"\n",
    b"\0",
    b": ",
    b"Content-Length: 18446744073709551615\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"ffffffffffffffff\r\n",
    b"HTTP/1.1 ",
    &[0xff; 9],
    &[0x00; 9],
    &[0x7f, 0xff, 0xff, 0xff],
    &[0x80, 0x00, 0x00, 0x00],
    &[0x16, 0x03, 0x03, 0xff, 0xff],
];

/// Damages `piece` in one way.
pub(super) fn mangle(random: &mut Random, piece: &mut Vec<u8>) -> After {
    let length = piece.len();
    let at = random.below(length);
    let end = at + random.below(length - at + 1);
    match random.below(12) {
        0 | 1 if length > 0 => piece[at] ^= 1 << random.below(8),
        2 if length > 0 => piece[at] = random.next() as u8,
        3 => {
            let count = random.below(64);
            let noise = random.bytes(count);
            piece.splice(at..at, noise);
        }
        4 => {
            let trap = random.pick(&TRAPS);
            piece.splice(at..at, trap.iter().copied());
        }
        5 => {
            let trap = random.pick(&TRAPS);
            for (byte, trap) in piece[at..].iter_mut().zip(trap) {
                *byte = *trap;
            }
        }
        6 => drop(piece.drain(at..end)),
        7 => {
            let twice = piece[at..end].to_vec();
            piece.splice(at..at, twice);
        }
        8 => {
            let (whole, times) = (piece.clone(), 1 + random.below(20));
            for _ in 0..times {
                if piece.len() + whole.len() > PIECE_BYTES_MAX {
                    break;
                }
                piece.extend_from_slice(&whole);
            }
        }
        9 => piece.rotate_left(at),
        _ => {
            piece.truncate(at);
            return random.pick(&[After::Ends, After::Resets, After::Stalls]);
        }
    }
    After::GoesOn
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_damages_the_same_piece_in_the_same_way() {
        for seed in 0..2000 {
            let damaged = || {
                let mut piece = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec();
                let after = mangle(&mut Random::new(seed, 1), &mut piece);
                (piece, after)
            };
            assert_eq!(damaged(), damaged(), "seed {seed}");
        }
    }

    #[test]
    fn every_kind_of_end_occurs_and_no_piece_grows_without_bound() {
        let mut seen = Vec::new();
        for seed in 0..2000 {
            let mut random = Random::new(seed, 0);
            let count = random.below(3000);
            let mut piece = random.bytes(count);
            let after = mangle(&mut random, &mut piece);
            assert!(piece.len() <= PIECE_BYTES_MAX, "seed {seed}");
            if !seen.contains(&after) {
                seen.push(after);
            }
        }
        assert_eq!(seen.len(), 4);
    }
}
