//! The clock. The only file that may read it; everything else takes the time as an argument.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC` (clock_gettime(2)), which every thread and every
//! process of one host shares. A simulated driver makes up its own.

use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A point in time: nanoseconds of `CLOCK_MONOTONIC`, or of a simulator's virtual clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// Later than every time that a clock will ever show.
    pub const NEVER: Time = Time(u64::MAX);

    /// Reads the clock. About 25 ns through the vDSO; call it once a turn, not once an exchange.
    pub fn now() -> Time {
        let spec = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Time(spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64)
    }

    /// Nanoseconds from `earlier` to here; zero if `earlier` is later.
    pub fn since(self, earlier: Time) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// This time and `nanoseconds` more, or [`Time::NEVER`] where that does not fit.
    pub fn plus(self, nanoseconds: u64) -> Time {
        Time(self.0.saturating_add(nanoseconds))
    }
}

impl Add<Duration> for Time {
    type Output = Time;

    fn add(self, length: Duration) -> Time {
        self.plus(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl Sub for Time {
    type Output = Duration;

    fn sub(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.since(earlier))
    }
}

/// Wall-clock seconds since 1970-01-01 UTC, for names of files and `Date` fields; never for
/// lengths.
pub fn unix_seconds() -> u64 {
    wall_clock().as_secs()
}

/// Wall-clock nanoseconds since 1970-01-01 UTC.
pub fn unix_nanoseconds() -> u128 {
    wall_clock().as_nanos()
}

/// The UTC date of a wall-clock time, as `2026-11-21`.
pub fn utc_date(unix_seconds: u64) -> String {
    // Days to a civil date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
    let days = unix_seconds / 86_400 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Gives the processor away until `until`. Not for the data plane, whose driver does the waiting.
#[allow(clippy::disallowed_methods)] // This file is the exception that clippy.toml names.
pub fn sleep_until(until: Time) {
    loop {
        let now = Time::now();
        if now >= until {
            return;
        }
        std::thread::sleep(until - now);
    }
}

#[allow(clippy::disallowed_methods)] // This file is the exception that clippy.toml names.
fn wall_clock() -> Duration {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_goes_forward_and_sleep_waits_for_it() {
        let before = Time::now();
        let until = before + Duration::from_millis(2);
        sleep_until(until);
        assert!(Time::now() >= until);
        sleep_until(before);
    }

    #[test]
    fn lengths_never_go_below_zero_nor_beyond_never() {
        assert_eq!(Time(5).since(Time(7)), 0);
        assert_eq!(Time(7) - Time(5), Duration::from_nanos(2));
        assert_eq!(Time(7) - Time::NEVER, Duration::ZERO);
        assert_eq!(Time(7).plus(u64::MAX), Time::NEVER);
        assert_eq!(Time(7) + Duration::MAX, Time::NEVER);
    }

    #[test]
    fn the_wall_clock_counts_from_1970() {
        let seconds = unix_seconds();
        // 2020-01-01 and 2100-01-01.
        assert!(
            (1_577_836_800..4_102_444_800).contains(&seconds),
            "{seconds}"
        );
        assert!(unix_nanoseconds() / 1_000_000_000 >= u128::from(seconds));
    }
}
