//! Whether a value is what an assert says.

use std::net::{Ipv4Addr, Ipv6Addr};

use regex::Regex;

use crate::model::{Kind, Predicate};
use crate::value::Value;

/// What a value is held against, with its placeholders filled in.
pub(crate) enum Held<'a> {
    Value(&'a Value),
    Pattern(&'a Regex),
    Nothing,
}

/// Whether a predicate holds, of nothing none but that it's there; none if it can't be said of such
/// a value, which fails either way.
pub(crate) fn holds(predicate: &Predicate, value: Option<&Value>, held: &Held<'_>) -> Option<bool> {
    if let Predicate::Exists = predicate {
        return Some(value.is_some());
    }
    // As Hurl has it: `not` before one holds then.
    let Some(value) = value else {
        return Some(false);
    };
    match (predicate, held) {
        (Predicate::Equal(_), Held::Value(other)) => Some(value.equals(other)),
        (Predicate::NotEqual(_), Held::Value(other)) => Some(!value.equals(other)),
        (Predicate::Ordered(right, _), Held::Value(other)) => {
            Some(right.contains(&value.compare(other)?))
        }
        (Predicate::StartsWith(_), Held::Value(other)) => {
            Some(bytes(value, other)?.0.starts_with(bytes(value, other)?.1))
        }
        (Predicate::EndsWith(_), Held::Value(other)) => {
            Some(bytes(value, other)?.0.ends_with(bytes(value, other)?.1))
        }
        (Predicate::Contains(_), Held::Value(other)) => match value {
            Value::List(items) => Some(items.iter().any(|item| item.equals(other))),
            _ => {
                let (whole, part) = bytes(value, other)?;
                Some(memchr::memmem::find(whole, part).is_some())
            }
        },
        (Predicate::Includes(_), Held::Value(other)) => match value {
            Value::List(items) => Some(items.iter().any(|item| item.equals(other))),
            _ => None,
        },
        (Predicate::Matches(_), Held::Pattern(regex)) => match value {
            Value::Text(text) => Some(regex.is_match(text)),
            _ => None,
        },
        (Predicate::IsEmpty, _) => match value {
            Value::Text(text) => Some(text.is_empty()),
            Value::Bytes(bytes) => Some(bytes.is_empty()),
            Value::List(items) => Some(items.is_empty()),
            Value::Object(members) => Some(members.is_empty()),
            _ => None,
        },
        (Predicate::Is(kind), _) => Some(is(value, *kind)),
        _ => None,
    }
}

/// Two texts, or two bytes.
fn bytes<'a>(value: &'a Value, other: &'a Value) -> Option<(&'a [u8], &'a [u8])> {
    match (value, other) {
        (Value::Text(value), Value::Text(other)) => Some((value.as_bytes(), other.as_bytes())),
        (Value::Bytes(value), Value::Bytes(other)) => Some((value, other)),
        _ => None,
    }
}

fn is(value: &Value, kind: Kind) -> bool {
    let text = match value {
        Value::Text(text) => text,
        _ => "",
    };
    match kind {
        Kind::Boolean => matches!(value, Value::Bool(_)),
        Kind::Number => matches!(value, Value::Integer(_) | Value::Float(_)),
        Kind::Integer => matches!(value, Value::Integer(_)),
        Kind::Float => matches!(value, Value::Float(_)),
        Kind::String => matches!(value, Value::Text(_)),
        Kind::Collection => matches!(value, Value::List(_) | Value::Object(_) | Value::Bytes(_)),
        Kind::List => matches!(value, Value::List(_)),
        Kind::Object => matches!(value, Value::Object(_)),
        Kind::IsoDate => is_date(text),
        Kind::Ipv4 => text.parse::<Ipv4Addr>().is_ok(),
        Kind::Ipv6 => text.parse::<Ipv6Addr>().is_ok(),
        Kind::Uuid => {
            let parts = text.split('-').map(str::len);
            parts.eq([8, 4, 4, 4, 12]) && text.chars().all(|c| c == '-' || c.is_ascii_hexdigit())
        }
    }
}

/// A date and time (RFC 3339 §5.6).
fn is_date(text: &str) -> bool {
    let digits = |text: &str, least: u32, most: u32| {
        let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number
            && text
                .parse()
                .is_ok_and(|number: u32| (least..=most).contains(&number))
    };
    let fields = |text: &str, bounds: &[(u32, u32)], by: char| {
        let parts = text.split(by);
        parts.clone().count() == bounds.len()
            && parts
                .zip(bounds)
                .all(|(part, (least, most))| digits(part, *least, *most))
    };
    let Some((date, time)) = text.split_once(['T', 't', ' ']) else {
        return false;
    };
    let Some(end) = time.find(['Z', 'z', '+', '-']) else {
        return false;
    };
    let (clock, zone) = time.split_at(end);
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let is_zone = match &zone[1..] {
        "" => zone.eq_ignore_ascii_case("z"),
        offset => !zone.starts_with(['Z', 'z']) && fields(offset, &[(0, 23), (0, 59)], ':'),
    };
    is_zone
        && is_day(date)
        && fields(clock, &[(0, 23), (0, 59), (0, 60)], ':')
        && !fraction.is_empty()
        && fraction.bytes().all(|byte| byte.is_ascii_digit())
}

/// A day that there is.
fn is_day(date: &str) -> bool {
    let parts: Vec<&str> = date.split('-').collect();
    let is_written = parts.iter().map(|part| part.len()).eq([4, 2, 2])
        && date
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
    let numbers: Vec<u32> = parts.iter().filter_map(|part| part.parse().ok()).collect();
    let &[year, month, day] = &*numbers else {
        return false;
    };
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let last = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => 0,
    };
    is_written && (1..=last).contains(&day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_rfc_3339() {
        let right = [
            "2026-11-21T20:12:54Z",
            "2026-11-21T20:12:54.120Z",
            "2026-11-21t20:12:60+01:30",
            "2024-02-29 00:00:00-00:00",
        ];
        let wrong = [
            "",
            "2026-11-21",
            "2026-11-21T20:12:54",
            "2026-11-21T20:12Z",
            "2026-11-21T25:12:54Z",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "26-11-21T20:12:54Z",
            "2026-11-21T20:12:54.Z",
            "2026-11-21T20:12:54Z1",
            "2026-11-21T20:12:54+0130",
            "2026-11-21T+0:12:54Z",
            "2026-11-21T20:12:54+é",
        ];
        for text in right {
            assert!(is(&Value::text(text), Kind::IsoDate), "{text}");
        }
        for text in wrong {
            assert!(!is(&Value::text(text), Kind::IsoDate), "{text}");
        }
    }
}
