//! Ratios in words: with as many digits as they deserve.

use statistics::Ratio;

/// `3.1 ×`, with as many digits as a figure of that size deserves.
pub fn times(ratio: f64) -> String {
    format!("{} ×", trimmed(ratio, decimals(ratio)))
}

pub(super) fn times_range(ratio: Ratio) -> String {
    let decimals = decimals(ratio.centre);
    let (low, high) = (trimmed(ratio.low, decimals), trimmed(ratio.high, decimals));
    match low == high {
        true => format!("{low} ×"),
        false => format!("{low}–{high} ×"),
    }
}

fn decimals(ratio: f64) -> usize {
    match ratio {
        100.0.. => 0,
        10.0.. => 1,
        _ => 2,
    }
}

pub(super) fn percent_range(ratio: Ratio) -> String {
    let percent = |ratio: f64| format!("{:.1}", 100.0 * (ratio - 1.0));
    match (percent(ratio.low), percent(ratio.high)) {
        (low, high) if low == high => format!("{low} %"),
        (low, high) => format!("{low}–{high} %"),
    }
}

/// `−0.8 … +1.2`: the percent by which the ends of a ratio differ from 1.
pub(super) fn signed_range(ratio: Ratio) -> String {
    let signed = |ratio: f64| {
        let percent = 100.0 * (ratio - 1.0);
        match percent < 0.0 {
            true => format!("−{:.1}", -percent),
            false => format!("+{percent:.1}"),
        }
    };
    format!("{} … {}", signed(ratio.low), signed(ratio.high))
}

pub(super) fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}
