//! Dates as cookies have them (RFC 6265 §5.1.1), of which there are more forms than HTTP's.

const MONTHS: [&[u8; 3]; 12] = [
    b"jan", b"feb", b"mar", b"apr", b"may", b"jun", b"jul", b"aug", b"sep", b"oct", b"nov", b"dec",
];

/// Seconds from 1970 to a date; none if it is none.
pub(crate) fn seconds(text: &[u8]) -> Option<i64> {
    let (mut time, mut day, mut month, mut year) = (None, None, None, None);
    for token in text.split(|byte| is_delimiter(*byte)) {
        if time.is_none()
            && let Some(found) = time_of(token)
        {
            time = Some(found);
        } else if day.is_none()
            && let Some(found) = number(token, 1..=2)
        {
            day = Some(found);
        } else if month.is_none()
            && let Some(found) = month_of(token)
        {
            month = Some(found);
        } else if year.is_none()
            && let Some(found) = number(token, 2..=4)
        {
            year = Some(match found {
                0..=69 => found + 2000,
                70..=99 => found + 1900,
                _ => found,
            });
        }
    }
    let ((hour, minute, second), day, month, year) = (time?, day?, month?, year?);
    if !(1..=31).contains(&day) || year < 1601 || hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let days = days(year, month, day);
    Some(((days * 24 + hour) * 60 + minute) * 60 + second)
}

fn is_delimiter(byte: u8) -> bool {
    matches!(byte, 0x09 | 0x20..=0x2f | 0x3b..=0x40 | 0x5b..=0x60 | 0x7b..=0x7e)
}

/// A number of so many digits, behind which anything but a digit may stand.
fn number(token: &[u8], digits: std::ops::RangeInclusive<usize>) -> Option<i64> {
    let end = token.iter().position(|byte| !byte.is_ascii_digit());
    let token = &token[..end.unwrap_or(token.len())];
    let value = |token: &[u8]| std::str::from_utf8(token).ok()?.parse().ok();
    value(token).filter(|_| digits.contains(&token.len()))
}

fn time_of(token: &[u8]) -> Option<(i64, i64, i64)> {
    let mut parts = token.splitn(3, |byte| *byte == b':');
    let mut next = || number(parts.next()?, 1..=2);
    Some((next()?, next()?, next()?))
}

fn month_of(token: &[u8]) -> Option<i64> {
    let name = token.get(..3)?;
    let found = MONTHS
        .iter()
        .zip(1..)
        .find(|(month, _)| name.eq_ignore_ascii_case(&month[..]));
    found.map(|(_, number)| number)
}

/// Days from 1970-01-01 to a day of the Gregorian calendar: years are counted from March, so that
/// the leap day is the last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let of_year = (153 * month + 2) / 5 + day - 1;
    year * 365 + year / 4 - year / 100 + year / 400 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_every_form() {
        for (text, expected) in [
            ("Thu, 01 Jan 1970 00:00:00 GMT", Some(0)),
            ("Thu, 01-Jan-1970 00:00:01 GMT", Some(1)),
            ("Thu, 01-Jan-70 00:00:01 GMT", Some(1)),
            ("Sun Nov  6 08:49:37 1994", Some(784_111_777)),
            ("Sunday, 06-Nov-94 08:49:37 GMT", Some(784_111_777)),
            ("Tue, 29 Feb 2028 12:00:00 GMT", Some(1_835_438_400)),
            ("Wed, 01 Mar 2000 00:00:00 GMT", Some(951_868_800)),
            ("Fri, 31 Dec 9999 23:59:59 GMT", Some(253_402_300_799)),
            ("1 jan 69 0:0:0", Some(3_124_224_000)),
            ("Thu, 01 Jan 1600 00:00:00 GMT", None),
            ("Thu, 32 Jan 2000 00:00:00 GMT", None),
            ("Thu, 01 Jan 2000 24:00:00 GMT", None),
            ("Thu, 01 Jan 2000", None),
            ("00:00:00", None),
            ("", None),
            ("never", None),
        ] {
            assert_eq!(seconds(text.as_bytes()), expected, "{text}");
        }
    }
}
