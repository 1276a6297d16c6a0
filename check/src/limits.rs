//! How limits of thresholds are written.

use measure::units;

/// Why a name means nothing.
pub fn unknown(name: &str) -> String {
    format!("there's no figure called {name:?}")
}

/// A limit in percent as a share; none if it is not in percent at all.
pub fn percent(limit: &str) -> Option<Option<f64>> {
    let percent = limit.strip_suffix('%')?.trim().parse().ok();
    Some(percent.map(|percent: f64| percent / 100.0))
}

/// A limit that is a count.
pub fn count(limit: &str) -> Option<f64> {
    units::parse_count(limit).ok().map(|count| count as f64)
}

/// A limit that is a length of time, in nanoseconds. A bare number could be meant in any unit.
pub fn length_ns(name: &str, limit: &str) -> Result<f64, String> {
    if limit.parse::<f64>().is_ok() {
        return Err(format!(
            "a time needs a unit, such as `{name}<{limit}ms` or `{name}<{limit}us`"
        ));
    }
    let length = units::parse_duration(limit)
        .map_err(|_| format!("{limit:?} isn't a time; write it with a unit, like 5ms or 1.5s"))?;
    Ok(length.as_nanos() as f64)
}

/// A share in percent.
pub fn print_share(share: f64) -> String {
    format!("{:.3}%", share * 100.0)
}
