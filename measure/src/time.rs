//! The clock. The only file that may read it; everything else takes the time as an argument.
//!
//! All times are nanoseconds of `CLOCK_MONOTONIC` (clock_gettime(2)), which every thread and every
//! process of one host shares. A simulated driver makes up its own.

use std::ops::{Add, Sub};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use time::OffsetDateTime;

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

/// CPU time that the calling thread has used, in nanoseconds (`CLOCK_THREAD_CPUTIME_ID`).
pub fn thread_cpu_ns() -> u64 {
    let spec = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64
}

/// Nanoseconds since the machine started, those in which it was asleep among them, which [`Time`]
/// leaves out (`CLOCK_BOOTTIME`).
pub fn boot_ns() -> u64 {
    let spec = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64
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
    utc(unix_seconds).date().to_string()
}

/// The UTC time of day of a wall-clock time, as `20:12:54`.
pub fn utc_time_of_day(unix_seconds: u64) -> String {
    let (hour, minute, second) = utc(unix_seconds).time().as_hms();
    format!("{hour:02}:{minute:02}:{second:02}")
}

/// A wall-clock time as RFC 3339 has it: `2026-11-21T20:12:54Z`.
pub fn utc_stamp(unix_seconds: u64) -> String {
    let (date, time) = (utc_date(unix_seconds), utc_time_of_day(unix_seconds));
    format!("{date}T{time}Z")
}

/// The calendar is the `time` crate's. Behind the year 9999 it's always that year's last second.
fn utc(unix_seconds: u64) -> OffsetDateTime {
    const LAST_SECOND: u64 = 253_402_300_799;
    OffsetDateTime::from_unix_timestamp(unix_seconds.min(LAST_SECOND) as i64)
        .expect("every second to the end of 9999 has a date")
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
        let now = Time::now();
        assert!(boot_ns() >= now.0);
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
    fn dates_and_times_are_those_of_the_calendar() {
        for (seconds, date, time) in [
            (0, "1970-01-01", "00:00:00"),
            (951_782_400, "2000-02-29", "00:00:00"),
            (951_868_799, "2000-02-29", "23:59:59"),
            (951_868_800, "2000-03-01", "00:00:00"),
            (1_795_291_974, "2026-11-21", "20:12:54"),
            (4_107_542_399, "2100-02-28", "23:59:59"),
            (4_107_542_400, "2100-03-01", "00:00:00"),
            (u64::MAX, "9999-12-31", "23:59:59"),
        ] {
            assert_eq!(utc_date(seconds), date);
            assert_eq!(utc_time_of_day(seconds), time);
            assert_eq!(utc_stamp(seconds), format!("{date}T{time}Z"));
        }
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
