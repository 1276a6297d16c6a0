//! What changes from request to request, and how it is written down without allocating.

use measure::random::Random;

use super::stamp::{STAMP_BYTES, stamp};

/// Tells the wall clock, in nanoseconds since 1970-01-01 UTC: [`measure::time::unix_nanoseconds`],
/// or a test's own.
pub type Clock = fn() -> u128;

/// The streams of a seed that are drawn from here. Those below are of schedules, of connections
/// and of the picking of steps and rows.
const STREAM: u64 = 4 << 32;

/// What changes from request to request of one worker: random numbers, the count of requests, the
/// time. The same seed gives the same values, but for the time.
#[derive(Debug)]
pub struct Chance {
    random: Random,
    worker: u32,
    workers: u32,
    /// `{{seq}}` of the request that is being made, and of the one behind it.
    sequence: u64,
    next_sequence: u64,
    clock: Clock,
    /// The time of the request that is being made, in milliseconds since 1970.
    now_ms: u64,
    /// The second that `stamp` is of, as RFC 3339 writes it without its end.
    stamp_second: Option<u64>,
    stamp: [u8; STAMP_BYTES],
    /// The body that is being made, which is kept for its memory.
    pub(super) body: Vec<u8>,
}

impl Chance {
    /// That of `worker`, counted from 0, out of `workers`.
    pub fn new(seed: u64, worker: u32, workers: u32, clock: Clock) -> Chance {
        Chance {
            random: Random::new(seed, STREAM | u64::from(worker)),
            worker,
            workers,
            sequence: 0,
            next_sequence: u64::from(worker) + 1,
            clock,
            now_ms: 0,
            stamp_second: None,
            stamp: [b'0'; STAMP_BYTES],
            body: Vec::new(),
        }
    }

    /// Counts a request.
    #[inline]
    pub(super) fn count(&mut self) {
        self.sequence = self.next_sequence;
        self.next_sequence += u64::from(self.workers);
    }

    /// Reads the clock for a request.
    #[inline]
    pub(super) fn look(&mut self) {
        // Nanoseconds fit 64 bits until 2554, and dividing those is cheap.
        let nanoseconds = u64::try_from((self.clock)()).unwrap_or(u64::MAX);
        self.now_ms = nanoseconds / 1_000_000;
    }

    #[inline]
    pub(super) fn append_sequence(&self, out: &mut Vec<u8>) {
        append_number(self.sequence, out);
    }

    #[inline]
    pub(super) fn append_worker(&self, out: &mut Vec<u8>) {
        append_number(self.worker.into(), out);
    }

    #[inline]
    pub(super) fn append_unix_seconds(&self, out: &mut Vec<u8>) {
        append_number(self.now_ms / 1000, out);
    }

    #[inline]
    pub(super) fn append_unix_milliseconds(&self, out: &mut Vec<u8>) {
        append_number(self.now_ms, out);
    }

    /// The time as RFC 3339 has it, in UTC with milliseconds. The date is worked out once a second.
    #[inline]
    pub(super) fn date(&mut self) -> [u8; STAMP_BYTES + 5] {
        let (second, ms) = (self.now_ms / 1000, self.now_ms % 1000);
        if self.stamp_second != Some(second) {
            self.stamp = stamp(second);
            self.stamp_second = Some(second);
        }
        let mut text = *b"0000-00-00T00:00:00.000Z";
        text[..STAMP_BYTES].copy_from_slice(&self.stamp);
        for (place, digit) in [(20, ms / 100), (21, ms / 10 % 10), (22, ms % 10)] {
            text[place] = b'0' + digit as u8;
        }
        text
    }

    /// One of `count` numbers from `lowest` on, each as likely; of all 2^64 where `count` is 0.
    #[inline]
    pub(super) fn append_integer(&mut self, lowest: i64, count: u64, out: &mut Vec<u8>) {
        let drawn = match count {
            0 => self.random.next(),
            count => self.random.below(count),
        };
        let number = lowest.wrapping_add_unsigned(drawn);
        if number < 0 {
            out.push(b'-');
        }
        append_number(number.unsigned_abs(), out);
    }

    /// A place in a list of so many.
    #[inline]
    pub(super) fn index(&mut self, count: usize) -> usize {
        self.random.index(count)
    }

    /// A random UUID, version 4 (RFC 9562 §5.4).
    #[inline]
    pub(super) fn append_uuid(&mut self, out: &mut Vec<u8>) {
        let high = self.random.next() & !0xf000 | 0x4000;
        let low = self.random.next() & !(0b11 << 62) | 0b10 << 62;
        let mut text = [b'-'; 36];
        let bytes = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
        for (byte, at) in bytes.into_iter().zip(UUID_PLACES) {
            text[at..at + 2].copy_from_slice(&HEX[usize::from(byte)]);
        }
        out.extend_from_slice(&text);
    }
}

/// Where the two digits of each byte of a UUID stand (RFC 9562 §4).
const UUID_PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

static HEX: [[u8; 2]; 256] = pairs(b"0123456789abcdef");
static DECIMAL: [[u8; 2]; 100] = pairs(b"0123456789");

/// Every pair of digits, in order.
const fn pairs<const COUNT: usize>(digits: &[u8]) -> [[u8; 2]; COUNT] {
    let mut table = [[0; 2]; COUNT];
    let mut at = 0;
    while at < COUNT {
        table[at] = [digits[at / digits.len()], digits[at % digits.len()]];
        at += 1;
    }
    table
}

/// Appends a number in decimal.
#[inline]
pub(super) fn append_number(number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    let mut left = number;
    while left >= 100 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&DECIMAL[(left % 100) as usize]);
        left /= 100;
    }
    if left >= 10 {
        start -= 2;
        digits[start..start + 2].copy_from_slice(&DECIMAL[left as usize]);
    } else {
        start -= 1;
        digits[start] = b'0' + left as u8;
    }
    out.extend_from_slice(&digits[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(append: impl FnOnce(&mut Vec<u8>)) -> String {
        let mut out = Vec::new();
        append(&mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn numbers_are_written_as_they_are() {
        let mut random = Random::seeded(3);
        let edges = (0..20).map(|power| 10_u64.pow(power));
        let edges = edges.flat_map(|edge| [edge - 1, edge, edge + 1]);
        let drawn = (0..2000).map(|_| random.length(63));
        for number in edges.chain(drawn).chain([u64::MAX, u64::MAX - 1]) {
            assert_eq!(text(|out| append_number(number, out)), number.to_string());
        }
    }

    #[test]
    fn uuids_are_random_ones_of_version_4() {
        let mut chance = Chance::new(7, 0, 1, || 0);
        let mut seen = std::collections::BTreeSet::new();
        let (mut ones, count) = ([0_u32; 128], 4000);
        for _ in 0..count {
            let uuid = text(|out| chance.append_uuid(out));
            let parts: Vec<usize> = uuid.split('-').map(str::len).collect();
            assert_eq!(parts, [8, 4, 4, 4, 12], "{uuid}");
            let bits = u128::from_str_radix(&uuid.replace('-', ""), 16).unwrap();
            assert_eq!(uuid, uuid.to_lowercase());
            assert_eq!((bits >> 76 & 0xf, bits >> 62 & 0b11), (4, 0b10), "{uuid}");
            (0..128).for_each(|bit| ones[bit] += (bits >> bit & 1) as u32);
            seen.insert(uuid);
        }
        assert_eq!(seen.len(), count);
        // Six standard deviations of √(4000/4) around the half.
        let fixed = [62, 63, 76, 77, 78, 79];
        for (bit, ones) in ones
            .into_iter()
            .enumerate()
            .filter(|(bit, _)| !fixed.contains(bit))
        {
            assert!(ones.abs_diff(2000) < 190, "bit {bit}: {ones} of {count}");
        }
    }

    #[test]
    fn dates_have_milliseconds_and_change_with_the_second() {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NOW_MS: AtomicU64 = AtomicU64::new(0);
        let mut chance = Chance::new(1, 0, 1, || {
            u128::from(NOW_MS.load(Ordering::Relaxed)) * 1_000_000 + 999_999
        });
        for (ms, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (1_795_291_974_007, "2026-11-21T20:12:54.007Z"),
            (1_795_291_974_120, "2026-11-21T20:12:54.120Z"),
            (1_795_291_975_999, "2026-11-21T20:12:55.999Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
        ] {
            NOW_MS.store(ms, Ordering::Relaxed);
            chance.look();
            assert_eq!(chance.date(), expected.as_bytes());
            assert_eq!(
                text(|out| chance.append_unix_milliseconds(out)),
                ms.to_string()
            );
            assert_eq!(
                text(|out| chance.append_unix_seconds(out)),
                (ms / 1000).to_string()
            );
        }
    }

    #[test]
    fn integers_reach_both_ends_and_nothing_beyond() {
        let mut chance = Chance::new(5, 0, 1, || 0);
        let mut drawn = |lowest: i64, count: u64| -> i64 {
            text(|out| chance.append_integer(lowest, count, out))
                .parse()
                .unwrap()
        };
        let mut seen = [0; 5];
        for _ in 0..1000 {
            seen[(drawn(-2, 5) + 2) as usize] += 1;
        }
        assert!(seen.iter().all(|times| *times > 120), "{seen:?}");
        assert_eq!(
            (drawn(i64::MIN, 1), drawn(i64::MAX, 1)),
            (i64::MIN, i64::MAX)
        );
        let all: Vec<i64> = (0..100).map(|_| drawn(i64::MIN, 0)).collect();
        assert!(
            all.iter().any(|n| *n < 0) && all.iter().any(|n| *n > 0),
            "{all:?}"
        );
    }

    #[test]
    fn the_count_of_all_workers_has_each_number_once() {
        let mut all = Vec::new();
        for worker in 0..3 {
            let mut chance = Chance::new(1, worker, 3, || 0);
            for _ in 0..100 {
                chance.count();
                all.push(
                    text(|out| chance.append_sequence(out))
                        .parse::<u32>()
                        .unwrap(),
                );
            }
        }
        all.sort_unstable();
        assert_eq!(all, (1..=300).collect::<Vec<u32>>());
    }
}
