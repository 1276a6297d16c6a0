//! Figures as text: three digits, a unit, and plain letters where Unicode is not wanted.

use crate::Spread;

/// Three significant digits, without an exponent: `412`, `41.2`, `4.12`, `0.412`.
pub fn digits(number: f64) -> String {
    let decimals = match number.abs() {
        99.95.. => 0,
        9.995.. => 1,
        0.9995.. => 2,
        0.0 => 0,
        _ => 3,
    };
    format!("{number:.decimals$}")
}

/// `412 k`, `1.32 M`, `950`.
pub fn count(number: f64) -> String {
    match number {
        999_500.0.. => format!("{} M", digits(number / 1e6)),
        999.5.. => format!("{} k", digits(number / 1e3)),
        _ => digits(number),
    }
}

/// A rate, with as many digits as tell two apart that differ by a tenth of a percent: `20,270/s`.
pub fn per_second(rate: f64) -> String {
    if rate < 1000.0 {
        return format!("{}/s", (rate * 100.0).round() / 100.0);
    }
    in_threes(&format!("{rate:.0}")) + "/s"
}

/// A count to its last digit: `1,234,567`.
pub fn whole(count: u64) -> String {
    in_threes(&count.to_string())
}

fn in_threes(digits: &str) -> String {
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A time in microseconds: `380 µs`, `1.52 ms`, `2.10 s`.
pub fn time_us(us: f64) -> String {
    match us {
        999_500.0.. => format!("{} s", digits(us / 1e6)),
        999.5.. => format!("{} ms", digits(us / 1e3)),
        _ => format!("{} µs", digits(us)),
    }
}

/// From so many seconds on a length of time is told in minutes.
const MINUTES_FROM: f64 = 120.0;

/// A length of time as people plan with it: `45 s`, `6 min`.
pub fn time(seconds: f64) -> String {
    match seconds < MINUTES_FROM {
        true => format!("{:.0} s", seconds.max(1.0)),
        false => format!("{:.0} min", (seconds / 60.0).ceil()),
    }
}

/// `6.10 MiB`, `812 KiB`, `35 B`.
pub fn bytes(bytes: f64) -> String {
    const KIB: f64 = 1024.0;
    match bytes / KIB {
        kib if kib >= KIB * KIB => format!("{} GiB", digits(kib / KIB / KIB)),
        kib if kib >= KIB => format!("{} MiB", digits(kib / KIB)),
        kib if kib >= 1.0 => format!("{} KiB", digits(kib)),
        _ => format!("{bytes:.0} B"),
    }
}

/// Half of the distance between the lowest and the highest round, in percent of the median.
pub fn give_or_take(spread: &Spread) -> String {
    match 100.0 * spread.share() {
        // Nobody needs to know how far beyond all use it is.
        1000.0.. => ">±999 %".to_owned(),
        percent => format!("±{percent:.1} %"),
    }
}

/// A ratio, as near to 1 as it must be told apart from it: `1.003`, `3.16`, `13.2`, `109`.
pub fn ratio(ratio: f64) -> String {
    match ratio {
        ..2.0 => format!("{ratio:.3}"),
        2.0..10.0 => format!("{ratio:.2}"),
        10.0..100.0 => format!("{ratio:.1}"),
        _ => format!("{ratio:.0}"),
    }
}

/// A share in percent: `98 %`.
pub fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

/// Text in letters that every terminal has.
pub fn ascii(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'µ' => plain.push('u'),
            '±' => plain.push_str("+-"),
            '≥' => plain.push_str(">="),
            '≤' => plain.push_str("<="),
            '×' => plain.push('x'),
            '–' | '−' | '─' => plain.push('-'),
            '…' => plain.push_str("..."),
            '├' | '┤' | '│' => plain.push('|'),
            '●' => plain.push('o'),
            '√' => plain.push_str("sqrt"),
            c if c.is_ascii() => plain.push(c),
            _ => plain.push('?'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_beyond_all_use_has_no_digits() {
        let spread = |rounds: [f64; 3]| give_or_take(&Spread::of(rounds).expect("numbers"));
        assert_eq!(spread([90.0, 100.0, 110.0]), "±10.0 %");
        assert_eq!(spread([0.0, 1.0, 1e6]), ">±999 %");
    }

    #[test]
    fn figures_have_three_digits_and_a_unit() {
        assert_eq!(count(412_345.0), "412 k");
        assert_eq!(count(1_318_000.0), "1.32 M");
        assert_eq!(count(999_600.0), "1.00 M");
        assert_eq!(count(950.4), "950");
        assert_eq!(time_us(2.314), "2.31 µs");
        assert_eq!(time_us(0.4), "0.400 µs");
        assert_eq!(time_us(1520.0), "1.52 ms");
        assert_eq!(time_us(2_100_000.0), "2.10 s");
        assert_eq!(bytes(6.1 * 1024.0 * 1024.0), "6.10 MiB");
        assert_eq!(bytes(0.0), "0 B");
        assert_eq!(bytes(35.2), "35 B");
        assert_eq!([ratio(0.3331), ratio(3.162)], ["0.333", "3.16"]);
    }

    #[test]
    fn rates_keep_the_digits_that_tell_them_apart() {
        assert_eq!(per_second(20_270.4), "20,270/s");
        assert_eq!(per_second(1_234_567.0), "1,234,567/s");
        assert_eq!(per_second(999.5), "999.5/s");
        assert_eq!(per_second(1.005), "1/s");
        assert_eq!(per_second(12.345), "12.35/s");
    }

    #[test]
    fn plain_letters_stand_in_for_all_others() {
        assert_eq!(
            ascii("3.1–3.4 × ±2 % … 5 µs ü"),
            "3.1-3.4 x +-2 % ... 5 us ?"
        );
    }
}
