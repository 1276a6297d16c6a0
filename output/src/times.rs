//! Distributions as rows of a table.

use measure::histogram::samples_for;
use measure::record::Times;
use measure::units::wrk_time_us;

use super::table;
use super::terminal::Paint;

type Figure = fn(&Times) -> Option<f64>;

/// The percentiles that are shown, each with the share of the samples that it doesn't exceed.
const PERCENTILES: [(&str, f64, Figure); 6] = [
    ("p50", 0.50, |times| times.p50),
    ("p75", 0.75, |times| times.p75),
    ("p90", 0.90, |times| times.p90),
    ("p99", 0.99, |times| times.p99),
    ("p99.9", 0.999, |times| times.p99_9),
    ("p99.99", 0.9999, |times| times.p99_99),
];

/// A row for each distribution, under a line of heads. A percentile of too few samples is a dash,
/// and a note says how many it takes.
pub(super) fn table(rows: &[(&str, &Times)], paint: Paint) -> String {
    let heads = PERCENTILES.iter().map(|(name, ..)| (*name).to_owned());
    let (first, last) = ([String::new(), "mean".to_owned()], "max".to_owned());
    let mut lines: Vec<Vec<String>> = vec![first.into_iter().chain(heads).chain([last]).collect()];
    lines.extend(rows.iter().map(|(name, times)| row(name, times)));
    let note = note(rows.iter().map(|(_, times)| *times));
    format!("{}{note}", in_parts(&lines, paint))
}

/// A table under its heads, in several parts where the reader has too few columns.
pub(super) fn in_parts(rows: &[Vec<String>], paint: Paint) -> String {
    let parts = table::parts("  ", rows, paint.columns());
    let painted = parts.iter().map(|part| paint_first_line(part, paint));
    painted.collect()
}

/// A percentile, where there are enough samples for it; older records don't say how many there are.
pub(super) fn percentile(times: &Times, share: f64, value: Option<f64>) -> Option<f64> {
    value.filter(|_| times.count.is_none_or(|count| count >= samples_for(share)))
}

fn paint_first_line(text: &str, paint: Paint) -> String {
    match text.split_once('\n') {
        Some((first, rest)) => format!("{}\n{rest}", paint.strong(first)),
        None => text.to_string(),
    }
}

fn row(name: &str, times: &Times) -> Vec<String> {
    let cell = |value: Option<f64>| value.map_or_else(|| "-".to_string(), wrk_time_us);
    let percentiles = PERCENTILES
        .iter()
        .map(|(_, share, of)| cell(percentile(times, *share, of(times))));
    let (first, last) = ([name.to_string(), cell(times.mean)], cell(times.max));
    first.into_iter().chain(percentiles).chain([last]).collect()
}

/// How many samples the percentiles take of which one is left out; nothing where none is.
fn note<'a>(rows: impl Iterator<Item = &'a Times> + Clone) -> String {
    let is_left_out = |share: f64, of: Figure| {
        let mut rows = rows.clone();
        rows.any(|times| of(times).is_some() && percentile(times, share, of(times)).is_none())
    };
    let left_out = PERCENTILES.iter();
    let left_out = left_out.filter(|(_, share, of)| is_left_out(*share, *of));
    let needs: Vec<String> = left_out
        .map(|(name, share, _)| format!("{name} needs {}", samples_for(*share)))
        .collect();
    match needs.is_empty() {
        true => String::new(),
        false => format!("  -: too few samples; {}\n", needs.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use measure::histogram::Histogram;

    use super::*;

    fn times(count: u64) -> Times {
        let mut histogram = Histogram::new();
        (0..count).for_each(|_| histogram.record(1_000_000));
        Times::of(&histogram)
    }

    #[test]
    fn a_reader_with_few_columns_is_shown_every_percentile() {
        let many = times(30_000);
        let rows = [("response time", &many)];
        let (wide, narrow) = (table(&rows, Paint::PLAIN), table(&rows, Paint::narrow(60)));
        assert!(wide.lines().any(|line| line.chars().count() > 60));
        assert!(
            narrow.lines().all(|line| line.chars().count() <= 60),
            "{narrow}"
        );
        for (name, ..) in PERCENTILES {
            assert!(
                narrow.split_whitespace().any(|word| word == name),
                "{narrow}"
            );
        }
    }

    #[test]
    fn percentiles_of_too_few_samples_are_dashes_and_a_note_says_how_many_they_take() {
        let (few, many) = (times(298), times(30_000));
        let text = table(&[("few", &few), ("many", &many)], Paint::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        let cells: Vec<&str> = lines[1].split_whitespace().collect();
        let ms = "1.00ms";
        assert_eq!(cells, ["few", ms, ms, ms, ms, "-", "-", "-", ms]);
        assert!(!lines[2].contains(" - "), "{text}");
        assert_eq!(
            lines[3],
            "  -: too few samples; p99 needs 299, p99.9 needs 2995, p99.99 needs 29956"
        );
        assert_eq!(table(&[("many", &many)], Paint::PLAIN).lines().count(), 2);
        // What was never measured is a dash, too, and no matter of more samples.
        assert_eq!(
            table(&[("none", &times(0))], Paint::PLAIN).lines().count(),
            2
        );
        let older = Times { count: None, ..few };
        assert!(!table(&[("older", &older)], Paint::PLAIN).contains(" - "));
    }
}
