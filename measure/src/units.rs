//! Amounts as people write them: durations, counts, sizes and rates in, wrk's short forms out.
//!
//! Reading takes what wrk takes (`10s`, `2m`, `1k`, `1M`) and more. An error is a sentence that
//! names the text and what was expected. Printing follows wrk to the letter, because scrapers do:
//! two decimals, and the next unit from 85 % of it on (`850us` is `0.85ms`).

use std::fmt;
use std::time::Duration;

/// A text that is not the amount it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    text: String,
    expected: &'static str,
}

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not {}", self.text, self.expected)
    }
}

impl std::error::Error for Unreadable {}

const NS_PER_S: u64 = 1_000_000_000;

const DURATION: &str = "a duration like 10s, 1.5s, 50ms, 2m or 1h30m (a bare number is seconds)";
const COUNT: &str = "a whole number like 200, 10k, 1.5M or 1G";
const SIZE: &str = "a size in bytes like 512, 4K or 64KiB (1024 each), or 1MB (1000 each)";
const NO_RATE: &str = "a rate above zero, like 50000, 50k, 100/s or 10/m";
const RATE: &str = "a rate like 50000, 50k, 100/s or 10/m (a bare number is per second)";

/// Reads a duration: numbers with `ns`, `us`, `ms`, `s`, `m`, `h` or `d`, one after the other, with
/// or without blanks; a bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, Unreadable> {
    duration(text).ok_or_else(|| unreadable(text, DURATION))
}

/// Reads a whole number with an SI suffix (k, M, G, T, P; 1000 each, in either case).
pub fn parse_count(text: &str) -> Result<u64, Unreadable> {
    let read = || {
        let (number, unit) = split(text.trim())?;
        number.times(metric(unit)?)
    };
    read().ok_or_else(|| unreadable(text, COUNT))
}

/// Reads a size in bytes. `K` and `KiB` are 1024 bytes, `KB` is 1000, as in GNU coreutils.
pub fn parse_size(text: &str) -> Result<u64, Unreadable> {
    let read = || {
        let (number, unit) = split(text.trim())?;
        number.times(binary(unit)?)
    };
    read().ok_or_else(|| unreadable(text, SIZE))
}

/// Reads a rate above zero, per second.
pub fn parse_rate(text: &str) -> Result<f64, Unreadable> {
    let read = || {
        let (count, per) = text.trim().split_once('/').unwrap_or((text.trim(), "s"));
        let (number, unit) = split(count.trim())?;
        let per_s = NS_PER_S as f64 / unit_ns(per.trim())? as f64;
        let rate = number.to_f64() * metric(unit)? as f64 * per_s;
        rate.is_finite().then_some(rate)
    };
    match read() {
        Some(rate) if rate > 0.0 => Ok(rate),
        Some(_) => Err(unreadable(text, NO_RATE)),
        None => Err(unreadable(text, RATE)),
    }
}

/// A time in microseconds in wrk's form: `635.91us`, `0.89ms`, `1.02s`, `0.85m`.
pub fn wrk_time_us(microseconds: f64) -> String {
    if microseconds >= 1e6 {
        scaled(microseconds / 1e6, 60.0, &["s", "m"], 2)
    } else {
        scaled(microseconds, 1000.0, &["us", "ms"], 2)
    }
}

/// A time in seconds in wrk's form without decimals: `30s`, `2m`.
pub fn wrk_time_s(seconds: f64) -> String {
    scaled(seconds, 60.0, &["s", "m"], 0)
}

/// A count or rate in wrk's form: `56.20k`.
pub fn wrk_metric(count: f64) -> String {
    scaled(count, 1000.0, &["", "k", "M", "G", "T"], 2)
}

/// Bytes in wrk's form, 1024 each: `17.76GB`.
pub fn wrk_bytes(bytes: f64) -> String {
    scaled(bytes, 1024.0, &["", "K", "M", "G", "T"], 2) + "B"
}

/// `text` flush right in a column of `width`, with wrk's habit of lining up the digits and letting
/// units stick out to the right.
pub fn wrk_column(text: &str, width: usize) -> String {
    let letters = text
        .bytes()
        .rev()
        .take(2)
        .filter(u8::is_ascii_alphabetic)
        .count();
    let pad = 2 - letters;
    format!("{text:>0$}{1:2$}", width.saturating_sub(pad), "", pad)
}

fn unreadable(text: &str, expected: &'static str) -> Unreadable {
    Unreadable {
        text: text.to_owned(),
        expected,
    }
}

fn duration(text: &str) -> Option<Duration> {
    let mut rest = text.trim();
    if let Some(bare) = Decimal::read(rest) {
        return bare.times(NS_PER_S).map(Duration::from_nanos);
    }
    let mut sum_ns = 0u64;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, after) = rest.split_at(unit_at);
        let end = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let part_ns = Decimal::read(number.trim())?.times(unit_ns(unit)?)?;
        sum_ns = sum_ns.checked_add(part_ns)?;
        rest = after;
    }
    (!text.trim().is_empty()).then(|| Duration::from_nanos(sum_ns))
}

/// A number as it was written, so that 1.001k is 1001 and not a float near it.
#[derive(Clone, Copy)]
struct Decimal {
    digits: u64,
    /// How many of the digits stand behind the point.
    places: u32,
}

impl Decimal {
    /// Digits with at most one point; no sign, no exponent.
    fn read(text: &str) -> Option<Decimal> {
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let digits = [whole, part].concat();
        // `parse` would take a sign.
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Some(Decimal {
            digits: digits.parse().ok()?,
            places: u32::try_from(part.len()).ok()?,
        })
    }

    /// The product, which must be whole.
    fn times(self, scale: u64) -> Option<u64> {
        let product = u128::from(self.digits) * u128::from(scale);
        let divisor = 10u128.checked_pow(self.places)?;
        if !product.is_multiple_of(divisor) {
            return None;
        }
        u64::try_from(product / divisor).ok()
    }

    fn to_f64(self) -> f64 {
        self.digits as f64 / 10f64.powf(f64::from(self.places))
    }
}

/// "1.5M" is (1.5, "M").
fn split(text: &str) -> Option<(Decimal, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    Some((Decimal::read(number)?, unit.trim_start()))
}

fn unit_ns(unit: &str) -> Option<u64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => NS_PER_S,
        "m" => 60 * NS_PER_S,
        "h" => 3_600 * NS_PER_S,
        "d" => 86_400 * NS_PER_S,
        _ => return None,
    })
}

fn metric(unit: &str) -> Option<u64> {
    power(unit, 1000)
}

fn binary(unit: &str) -> Option<u64> {
    let lower = unit.to_ascii_lowercase();
    if let Some(prefix) = lower.strip_suffix("ib").filter(|prefix| !prefix.is_empty()) {
        return power(prefix, 1024);
    }
    match lower.strip_suffix('b') {
        Some(prefix) => power(prefix, 1000),
        None => power(&lower, 1024),
    }
}

fn power(prefix: &str, base: u64) -> Option<u64> {
    let exponent = match prefix.to_ascii_lowercase().as_str() {
        "" => 0,
        "k" => 1,
        "m" => 2,
        "g" => 3,
        "t" => 4,
        "p" => 5,
        _ => return None,
    };
    Some(base.pow(exponent))
}

fn scaled(mut amount: f64, scale: f64, units: &[&str], decimals: usize) -> String {
    let mut unit = 0;
    while unit + 1 < units.len() && amount >= scale * 0.85 {
        amount /= scale;
        unit += 1;
    }
    format!("{amount:.decimals$}{}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Option<u128> {
        parse_duration(text).ok().map(|length| length.as_millis())
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, expected) in [
            ("10s", 10_000),
            ("2m", 120_000),
            ("1h", 3_600_000),
            ("50ms", 50),
            ("1h30m", 5_400_000),
            ("1m30s500ms", 90_500),
            ("10", 10_000),
            ("0.25", 250),
            ("1.5s", 1_500),
            (".5s", 500),
            ("2M", 120_000),
            ("1d", 86_400_000),
            ("0", 0),
            (" 3s ", 3_000),
            ("5 ms", 5),
            ("1h 30 m", 5_400_000),
        ] {
            assert_eq!(ms(text), Some(expected), "{text}");
        }
        assert_eq!(parse_duration("1500ns"), Ok(Duration::from_nanos(1500)));
        assert_eq!(parse_duration("2.5us"), Ok(Duration::from_nanos(2500)));
    }

    #[test]
    fn what_is_no_duration_is_named_with_what_was_expected() {
        for text in [
            "",
            " ",
            "s",
            "10x",
            "-1s",
            "+1",
            "1e3",
            "inf",
            "nan",
            "1h30",
            "1..5s",
            ".",
            "1 0 s",
            "99999999999999999999s",
            "0.1ns",
            "999999999999d",
            "10s!",
            "é",
        ] {
            let error = parse_duration(text).expect_err(text);
            assert!(
                error
                    .to_string()
                    .starts_with(&format!("\"{text}\" is not a duration"))
            );
        }
    }

    #[test]
    fn counts_take_si_suffixes_and_are_exact() {
        for (text, expected) in [
            ("200", 200),
            ("10k", 10_000),
            ("1K", 1_000),
            ("1.5M", 1_500_000),
            ("1.001k", 1_001),
            ("1G", 1_000_000_000),
            ("2T", 2_000_000_000_000),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse_count(text), Ok(expected), "{text}");
        }
        for text in [
            "",
            "k",
            "1.5",
            "1kk",
            "-1",
            "1KiB",
            "0.0001k",
            "18446744073709551616",
            "99999P",
        ] {
            let error = parse_count(text).expect_err(text).to_string();
            assert!(error.contains("is not a whole number"), "{error}");
        }
    }

    #[test]
    fn sizes_tell_1024_from_1000() {
        for (text, expected) in [
            ("512", 512),
            ("512B", 512),
            ("4K", 4096),
            ("4k", 4096),
            ("64KiB", 65_536),
            ("64kib", 65_536),
            ("1MB", 1_000_000),
            ("1M", 1 << 20),
            ("1.5K", 1536),
            ("1G", 1 << 30),
        ] {
            assert_eq!(parse_size(text), Ok(expected), "{text}");
        }
        for text in ["", "K", "iB", "1iB", "1X", "0.3K", "-4K"] {
            let error = parse_size(text).expect_err(text).to_string();
            assert!(error.contains("is not a size"), "{error}");
        }
    }

    #[test]
    fn rates_are_per_second_unless_they_say_otherwise() {
        for (text, expected) in [
            ("50000", 50_000.0),
            ("50k", 50_000.0),
            ("100/s", 100.0),
            ("10/m", 1.0 / 6.0),
            ("1/h", 1.0 / 3600.0),
            ("0.5", 0.5),
            ("1.5k / s", 1500.0),
            ("1/ms", 1000.0),
        ] {
            let rate = parse_rate(text).expect(text);
            assert!((rate / expected - 1.0).abs() < 1e-12, "{text}: {rate}");
        }
        for text in ["", "0", "-5", "10/", "10/x", "/s", "1e5", "5/s/s", "inf"] {
            let error = parse_rate(text).expect_err(text).to_string();
            assert!(error.contains("is not a rate"), "{error}");
            assert_eq!(error.contains("above zero"), text == "0", "{error}");
        }
    }

    #[test]
    fn printing_is_that_of_wrk() {
        for (told, expected) in [
            (wrk_time_us(635.91), "635.91us"),
            (wrk_time_us(890.0), "0.89ms"),
            (wrk_time_us(849.9), "849.90us"),
            (wrk_time_us(12_920.0), "12.92ms"),
            (wrk_time_us(999_999.0), "1000.00ms"),
            (wrk_time_us(1_020_000.0), "1.02s"),
            (wrk_time_us(51e6), "0.85m"),
            (wrk_time_us(0.0), "0.00us"),
            (wrk_time_us(7200e6), "120.00m"),
            (wrk_time_s(30.0), "30s"),
            (wrk_time_s(120.0), "2m"),
            (wrk_metric(56_200.0), "56.20k"),
            (wrk_metric(62_000.0), "62.00k"),
            (wrk_metric(849.0), "849.00"),
            (wrk_metric(850.0), "0.85k"),
            (wrk_metric(1.2e16), "12000.00T"),
            (wrk_bytes(17.76 * 1024f64.powi(3)), "17.76GB"),
            (wrk_bytes(606.33 * 1024f64.powi(2)), "606.33MB"),
            (wrk_bytes(512.0), "512.00B"),
            (wrk_bytes(900.0), "0.88KB"),
        ] {
            assert_eq!(told, expected);
        }
    }

    #[test]
    fn columns_line_up_as_those_of_wrk() {
        for (name, cells, share, line) in [
            (
                "Latency",
                ["635.91us", "0.89ms", "12.92ms"],
                93.69,
                "    Latency   635.91us    0.89ms  12.92ms   93.69%",
            ),
            (
                "Req/Sec",
                ["56.20k", "8.07k", "62.00k"],
                86.54,
                "    Req/Sec    56.20k     8.07k   62.00k    86.54%",
            ),
            (
                "Req/Sec",
                ["56.20", "8.07", "62.00"],
                100.0,
                "    Req/Sec    56.20      8.07    62.00    100.00%",
            ),
        ] {
            let widths = [8, 10, 9];
            let cells = cells.into_iter().zip(widths);
            let cells: String = cells.map(|(cell, width)| wrk_column(cell, width)).collect();
            assert_eq!(format!("    {name:<10}{cells}{share:>8.2}%"), line);
        }
    }
}
