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

const DURATION: &str = "a duration like 10s, 1.5s, 50ms, 2m or 1h30m (a bare number is seconds)";
const COUNT: &str = "a whole number like 200, 10k, 1.5M or 1G";
const SIZE: &str = "a size in bytes like 512, 4K or 64KiB (1024 each), or 1MB (1000 each)";
const RATE: &str = "a rate like 50000, 50k, 100/s or 10/m (a bare number is per second)";

/// Reads a duration: numbers with `ns`, `us`, `ms`, `s`, `m`, `h` or `d`, one after the other; a
/// bare number is seconds.
pub fn parse_duration(text: &str) -> Result<Duration, Unreadable> {
    duration(text).ok_or_else(|| unreadable(text, DURATION))
}

/// Reads a whole number with an SI suffix (k, M, G, T, P; 1000 each, in either case).
pub fn parse_count(text: &str) -> Result<u64, Unreadable> {
    let read = || {
        let (number, unit) = split(text.trim())?;
        whole(number * metric(unit)?)
    };
    read().ok_or_else(|| unreadable(text, COUNT))
}

/// Reads a size in bytes. `K` and `KiB` are 1024 bytes, `KB` is 1000, as in GNU coreutils.
pub fn parse_size(text: &str) -> Result<u64, Unreadable> {
    let read = || {
        let (number, unit) = split(text.trim())?;
        whole(number * binary(unit)?)
    };
    read().ok_or_else(|| unreadable(text, SIZE))
}

/// Reads a rate above zero, per second.
pub fn parse_rate(text: &str) -> Result<f64, Unreadable> {
    let read = || {
        let (count, per) = text.trim().split_once('/').unwrap_or((text.trim(), "s"));
        let (number, unit) = split(count.trim())?;
        let rate = number * metric(unit)? / seconds(per.trim())?;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    };
    read().ok_or_else(|| unreadable(text, RATE))
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
    if let Some(bare) = decimal(rest) {
        return Duration::try_from_secs_f64(bare).ok();
    }
    let mut sum = Duration::ZERO;
    while !rest.is_empty() {
        let unit_at = rest.find(|c: char| c.is_ascii_alphabetic())?;
        let (number, after) = rest.split_at(unit_at);
        let end = after.find(|c: char| !c.is_ascii_alphabetic());
        let (unit, after) = after.split_at(end.unwrap_or(after.len()));
        let part = decimal(number)? * seconds(unit)?;
        sum = sum.checked_add(Duration::try_from_secs_f64(part).ok()?)?;
        rest = after;
    }
    (text.trim() != "").then_some(sum)
}

/// "1.5M" is (1.5, "M").
fn split(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    Some((decimal(number)?, unit.trim_start()))
}

/// Digits with at most one point: none of the signs, exponents and names that `f64` would take.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if plain { text.parse().ok() } else { None }
}

fn whole(number: f64) -> Option<u64> {
    // 2^53: beyond it not every whole number is a float.
    let fits = number.fract() == 0.0 && number <= 9_007_199_254_740_992.0;
    fits.then_some(number as u64)
}

fn seconds(unit: &str) -> Option<f64> {
    Some(match unit.to_ascii_lowercase().as_str() {
        "ns" => 1e-9,
        "us" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    })
}

fn metric(unit: &str) -> Option<f64> {
    power(unit, 1000.0)
}

fn binary(unit: &str) -> Option<f64> {
    let lower = unit.to_ascii_lowercase();
    if let Some(prefix) = lower.strip_suffix("ib").filter(|prefix| !prefix.is_empty()) {
        return power(prefix, 1024.0);
    }
    match lower.strip_suffix('b') {
        Some(prefix) => power(prefix, 1000.0),
        None => power(&lower, 1024.0),
    }
}

fn power(prefix: &str, base: f64) -> Option<f64> {
    Some(match prefix.to_ascii_lowercase().as_str() {
        "" => 1.0,
        "k" => base,
        "m" => base.powi(2),
        "g" => base.powi(3),
        "t" => base.powi(4),
        "p" => base.powi(5),
        _ => return None,
    })
}

fn scaled(mut amount: f64, scale: f64, units: &[&str], decimals: usize) -> String {
    let mut unit = 0;
    while unit + 1 < units.len() && amount >= scale * 0.85 {
        amount /= scale;
        unit += 1;
    }
    format!("{amount:.decimals$}{}", units[unit])
}
