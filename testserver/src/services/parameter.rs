//! Sizes and durations in paths.

use std::time::Duration;

use measure::units;
use server::{Reply, Response};

/// Nobody waits longer for a test.
const DURATION_MAX: Duration = Duration::from_secs(3600);

/// Reads `1024`, `64K`, `10M` or `1G`.
///
/// # Errors
/// A sentence for the client.
pub(super) fn size(text: &str) -> Result<u64, String> {
    units::parse_size(text).map_err(|error| format!("{error}\n"))
}

/// Reads `50ms`, `200us` or `1s`; a bare number is milliseconds.
///
/// # Errors
/// A sentence for the client.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let read = if bare {
        units::parse_duration(&format!("{text}ms"))
    } else {
        units::parse_duration(text)
    };
    match read {
        Ok(duration) if duration <= DURATION_MAX => Ok(duration),
        Ok(_) => Err("the duration must be at most one hour (3600s)\n".into()),
        Err(_) => {
            let expected = "a duration like 50ms, 200us or 1s (a bare number is milliseconds)";
            Err(format!("\"{text}\" is not {expected}\n"))
        }
    }
}

/// A 400 that says what was expected.
pub(super) fn refusal(sentence: String) -> Reply {
    Reply::Now(Response::sentence(400, sentence))
}
