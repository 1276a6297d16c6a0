//! Values of a comparison's keys as they're written, and those of keys that are left out.

use std::num::NonZeroU32;
use std::time::Duration;

use load::plan::workload::Order;
use load::plan::{Expect, Invalid};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};
use toml::Spanned;

use super::{PAYLOAD_MAX, WINDOW_MIN, WINDOW_TOO_SHORT};
use crate::document;
use crate::url_path::UrlPath;

pub(super) fn payload<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    parse_payload(&text).map(Some).map_err(D::Error::custom)
}

/// What is said of a flag, of the key of the same name.
pub(super) fn as_key(invalid: Invalid) -> String {
    let text = invalid.to_string();
    match text
        .strip_prefix("--")
        .and_then(|text| text.split_once(": "))
    {
        Some((key, what)) => format!("`{key}`: {what}"),
        None => text,
    }
}

pub(super) fn deadline<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    document::some_duration(from).map(Some)
}

pub(super) fn order<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Order>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

/// Rules of what answers must be.
pub(super) fn expect<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Expect>, D::Error> {
    let rules = Vec::<String>::deserialize(from)?;
    let rules = rules
        .iter()
        .map(|text| text.parse().map_err(D::Error::custom));
    rules.collect()
}

/// Reads the size of a payload: `"64"`, `"1K"`.
pub fn parse_payload(text: &str) -> Result<u64, String> {
    let bytes = measure::units::parse_size(text).map_err(|error| error.to_string())?;
    match bytes <= PAYLOAD_MAX {
        true => Ok(bytes),
        false => Err(format!(
            "{text} is too large for a payload; the limit is {} MiB",
            PAYLOAD_MAX >> 20
        )),
    }
}

pub(super) fn one_second() -> Duration {
    Duration::from_secs(1)
}

pub(super) fn root() -> Spanned<UrlPath> {
    Spanned::new(0..0, UrlPath::root())
}

/// As many as `ringside run` opens.
pub(super) fn ten() -> NonZeroU32 {
    const { NonZeroU32::new(10).unwrap() }
}

pub(super) fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

pub(super) fn yes() -> bool {
    true
}

pub(super) fn window<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    let window = document::duration(from)?;
    if window < WINDOW_MIN {
        return Err(D::Error::custom(WINDOW_TOO_SHORT));
    }
    Ok(window)
}

pub(super) fn settle() -> Duration {
    Duration::from_millis(200)
}

pub(super) fn warm_up() -> Duration {
    Duration::from_secs(1)
}

pub(super) fn timeout() -> Duration {
    Duration::from_secs(2)
}
