//! Why a plan cannot be carried out.

use std::fmt;

use measure::foreign::screened;

/// The plan cannot be run, and why. The sentence says what to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&screened(&self.0))
    }
}

impl std::error::Error for Invalid {}

/// Checks a number that a flag gives against 1 to `max`.
pub(crate) fn within(flag: &str, value: u32, max: u32) -> Result<(), Invalid> {
    if (1..=max).contains(&value) {
        return Ok(());
    }
    Err(Invalid(format!(
        "{flag} {value} is out of range: use 1 to {max}"
    )))
}

/// Checks a length of time that a flag gives.
pub(crate) fn positive(flag: &str, seconds: f64) -> Result<(), Invalid> {
    if seconds > 0.0 && seconds <= 366.0 * 86_400.0 {
        return Ok(());
    }
    Err(Invalid(format!(
        "{flag} must be above zero and at most a year"
    )))
}

/// Checks that every thread has a connection.
pub(crate) fn spread(connections: u32, threads: u32) -> Result<(), Invalid> {
    if connections >= threads {
        return Ok(());
    }
    Err(Invalid(format!(
        "{connections} connections can't be spread over {threads} threads: use at least {threads} \
         connections (-c), or fewer threads (-t)"
    )))
}
