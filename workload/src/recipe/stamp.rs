//! The date and time of a second, without allocating.

/// Bytes of `2026-11-21T20:12:54`.
pub(super) const STAMP_BYTES: usize = 19;

const DAY_S: u64 = 86_400;
/// Days of 400 years, after which the calendar repeats itself.
const ERA_DAYS: u64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: u64 = 719_468;

/// A second since 1970-01-01 UTC as RFC 3339 writes it, without its end. Years behind 9999 would
/// need more digits; the clock's nanoseconds end before.
pub(super) fn stamp(unix_seconds: u64) -> [u8; STAMP_BYTES] {
    let (year, month, day) = civil(unix_seconds / DAY_S);
    let of_day = unix_seconds % DAY_S;
    let (hour, minute, second) = (of_day / 3600, of_day / 60 % 60, of_day % 60);
    let mut text = *b"0000-00-00T00:00:00";
    let pairs = [
        (0, year / 100),
        (2, year),
        (5, month),
        (8, day),
        (11, hour),
        (14, minute),
        (17, second),
    ];
    for (at, number) in pairs {
        text[at] = b'0' + (number / 10 % 10) as u8;
        text[at + 1] = b'0' + (number % 10) as u8;
    }
    text
}

/// The date of a day since 1970-01-01, as year, month and day (Howard Hinnant, "chrono-compatible
/// low-level date algorithms", `civil_from_days`). Years begin in March, so that the day that is
/// not in every year is the last.
fn civil(day: u64) -> (u64, u64, u64) {
    let day = day + EPOCH_DAYS;
    let (era, of_era) = (day / ERA_DAYS, day % ERA_DAYS);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let (month, later) = match from_march {
        0..10 => (from_march + 3, 0),
        _ => (from_march - 9, 1),
    };
    (400 * era + year + later, month, day)
}

#[cfg(test)]
mod tests {
    use measure::time::utc_stamp;

    use super::*;

    #[test]
    fn every_day_until_2554_is_that_of_the_calendar() {
        // A prime number of seconds more than a day, so that times of day differ.
        let step = DAY_S as usize + 7;
        let last = u64::MAX / 1_000_000_000;
        for second in (0..=last).step_by(step).chain([last, DAY_S - 1, DAY_S]) {
            let expected = utc_stamp(second);
            assert_eq!(
                &stamp(second),
                &expected.as_bytes()[..STAMP_BYTES],
                "{expected}"
            );
        }
    }
}
