//! When something was done, in the ways in which that is written down.

use time::format_description::well_known::Rfc3339;
use time::{Date, Month, OffsetDateTime, Time, UtcOffset};

const SECOND_NS: u64 = 1_000_000_000;
/// Larger numbers count milliseconds since 1970, then microseconds, then nanoseconds: as seconds
/// they'd be thousands of years away.
const UNITS: [(f64, f64); 3] = [(1e17, 1.0), (1e14, 1e3), (1e11, 1e6)];

/// A moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stamp {
    /// Nanoseconds since 1970.
    pub(crate) ns: i64,
    /// It's known to a second only.
    pub(crate) is_coarse: bool,
}

impl Stamp {
    /// So many seconds before.
    pub(crate) fn earlier(self, seconds: f64) -> Stamp {
        let ns = (seconds.clamp(0.0, 86_400.0) * SECOND_NS as f64) as i64;
        Stamp {
            ns: self.ns.saturating_sub(ns),
            ..self
        }
    }
}

/// As access logs have it: `10/Oct/2000:13:55:36 -0700`.
pub(crate) fn of_log(text: &str) -> Option<Stamp> {
    let (moment, offset) = text.split_once(' ')?;
    let mut parts = moment.splitn(4, ['/', ':']);
    let (day, month, year, clock) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let date = Date::from_calendar_date(year.parse().ok()?, named(month)?, day.parse().ok()?);
    let mut clock = clock.split(':').map(|part| part.parse::<u8>().ok());
    let (hour, minute, second) = (clock.next()??, clock.next()??, clock.next()??);
    // There are leap seconds in logs.
    let second = if second == 60 { 59 } else { second };
    let time = Time::from_hms(hour, minute, second).ok()?;
    let (sign, digits) = match offset.as_bytes() {
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let digits: u16 = std::str::from_utf8(digits).ok()?.parse().ok()?;
    let (hours, minutes) = ((digits / 100) as i8, (digits % 100) as i8);
    let offset = UtcOffset::from_hms(sign * hours, sign * minutes, 0).ok()?;
    stamp(date.ok()?.with_time(time).assume_offset(offset), true)
}

fn named(month: &str) -> Option<Month> {
    const NAMES: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let at = NAMES.iter().position(|name| *name == month)?;
    Month::try_from(at as u8 + 1).ok()
}

/// RFC 3339, such as `2026-11-27T23:18:27.5+01:00`.
pub(crate) fn of_text(text: &str) -> Option<Stamp> {
    let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    stamp(moment, !text.contains('.'))
}

fn stamp(moment: OffsetDateTime, is_coarse: bool) -> Option<Stamp> {
    let ns = i64::try_from(moment.unix_timestamp_nanos()).ok()?;
    Some(Stamp { ns, is_coarse })
}

/// A number that counts from 1970: seconds, whole ones or not, or what is too large to be that.
pub(crate) fn of_number(number: f64, is_whole: bool) -> Option<Stamp> {
    if !number.is_finite() || number < 0.0 {
        return None;
    }
    let unit = UNITS.iter().find(|(from, _)| number >= *from);
    let unit_ns = unit.map_or(SECOND_NS as f64, |(_, ns)| *ns);
    let ns = number * unit_ns;
    (ns < i64::MAX as f64).then(|| Stamp {
        ns: ns as i64,
        is_coarse: unit.is_none() && is_whole,
    })
}

/// Nanoseconds since the first of these, which are in their order. Those of the same second, where
/// no more is known, are spread over it evenly: a burst at the beginning of each second is nothing
/// that happened.
pub(crate) fn spread(times: impl Iterator<Item = Stamp>) -> Vec<u64> {
    let times: Vec<Stamp> = times.collect();
    let first = times.first().map_or(0, |first| first.ns);
    let mut spread = Vec::with_capacity(times.len());
    let mut latest = 0;
    for run in times.chunk_by(|one, next| one == next && one.is_coarse) {
        let from = run.first().map_or(0, |one| one.ns.abs_diff(first));
        for place in 0..run.len() as u64 {
            let within = u128::from(SECOND_NS) * u128::from(place) / run.len() as u128;
            latest = from.saturating_add(within as u64).max(latest);
            spread.push(latest);
        }
    }
    spread
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fine(ns: i64) -> Stamp {
        Stamp {
            ns,
            is_coarse: false,
        }
    }

    fn coarse(seconds: i64) -> Stamp {
        Stamp {
            ns: seconds * SECOND_NS as i64,
            is_coarse: true,
        }
    }

    #[test]
    fn every_way_to_write_a_moment_is_the_same_moment() {
        let moment = coarse(971_211_336);
        assert_eq!(of_log("10/Oct/2000:13:55:36 -0700"), Some(moment));
        assert_eq!(of_text("2000-10-10T13:55:36-07:00"), Some(moment));
        assert_eq!(of_text("2000-10-10T20:55:36Z"), Some(moment));
        assert_eq!(of_number(971_211_336.0, true), Some(moment));
        let later = fine(moment.ns + 500_000_000);
        assert_eq!(of_text("2000-10-10T20:55:36.5Z"), Some(later));
        assert_eq!(of_number(971_211_336.5, false), Some(later));
        assert_eq!(of_number(971_211_336_500.0, true), Some(later));
        assert_eq!(of_number(971_211_336_500_000.0, true), Some(later));
        assert_eq!(of_number(971_211_336_500_000_000.0, true), Some(later));
        assert_eq!(later.earlier(0.5), fine(moment.ns));
    }

    #[test]
    fn what_is_no_moment_is_none() {
        for text in [
            "",
            "10/Oct/2000:13:55:36",
            "10/Okt/2000:13:55:36 -0700",
            "32/Oct/2000:13:55:36 -0700",
            "10/Oct/2000:25:55:36 -0700",
            "10/Oct/2000:13:55 -0700",
            "10/Oct/2000:13:55:61 -0700",
            "10/Oct/2000:13:55:36 0700",
            "10/Oct/2000:13:55:36 +9999",
            "10/Oct/99999999999:13:55:36 +0000",
        ] {
            assert_eq!(of_log(text), None, "{text}");
        }
        assert_eq!(of_text("yesterday"), None);
        for number in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(of_number(number, true), None, "{number}");
        }
    }

    #[test]
    fn requests_of_a_second_are_spread_over_it_and_what_is_known_better_stays() {
        let times = [
            coarse(7),
            coarse(7),
            coarse(8),
            coarse(8),
            coarse(8),
            coarse(8),
        ];
        let half = SECOND_NS / 2;
        let expected = [
            0,
            half,
            2 * half,
            2 * half + half / 2,
            3 * half,
            3 * half + half / 2,
        ];
        assert_eq!(spread(times.into_iter()), expected);
        let times = [fine(5), fine(5), fine(9)];
        assert_eq!(spread(times.into_iter()), [0, 0, 4]);
        assert_eq!(spread(std::iter::empty()), [0; 0]);
    }
}
