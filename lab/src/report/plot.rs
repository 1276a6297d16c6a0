//! Intervals as a picture of text: a dot for the ratio, whiskers for its interval.

use super::Row;
use super::format::digits;

/// Columns of the axis.
const WIDTH: usize = 56;
/// How many stretches the axis is divided into.
const STRETCHES: usize = 4;

/// One line a subject, and an axis; empty if no subject has a ratio.
pub(super) fn plot(rows: &[Row], baseline: &str) -> Vec<String> {
    let Some(axis) = Axis::around(rows) else {
        return Vec::new();
    };
    let label = rows
        .iter()
        .map(|row| row.name.chars().count())
        .max()
        .unwrap_or(0);
    let mut lines = vec![format!("{:label$}  {}", "", axis.scale())];
    for row in rows {
        let cells = match &row.ratio {
            Some(ratio) => axis.whiskers(ratio.low, ratio.centre, ratio.high),
            None if row.name == baseline && row.figures.is_some() => axis.whiskers(1.0, 1.0, 1.0),
            None => continue,
        };
        lines.push(
            format!("{:label$}  {cells}", row.name)
                .trim_end()
                .to_owned(),
        );
    }
    lines
}

struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    /// From zero, unless all ratios are so close to 1 that nothing would be seen.
    fn around(rows: &[Row]) -> Option<Axis> {
        let ratios = || rows.iter().filter_map(|row| row.ratio.as_ref());
        ratios().next()?;
        let lowest = ratios().map(|ratio| ratio.low).fold(1.0, f64::min);
        let highest = ratios().map(|ratio| ratio.high).fold(1.0, f64::max);
        if lowest < 0.7 || highest > 1.5 {
            return Some(Axis {
                low: 0.0,
                high: highest,
            });
        }
        let margin = ((highest - lowest) * 0.1).max(0.005);
        Some(Axis {
            low: lowest - margin,
            high: highest + margin,
        })
    }

    fn column(&self, value: f64) -> usize {
        let share = (value - self.low) / (self.high - self.low);
        (share.clamp(0.0, 1.0) * (WIDTH - 1) as f64).round() as usize
    }

    fn whiskers(&self, low: f64, centre: f64, high: f64) -> String {
        let mut cells = [' '; WIDTH];
        cells[self.column(1.0)] = '│';
        let (low, centre, high) = (self.column(low), self.column(centre), self.column(high));
        cells[low..=high].fill('─');
        cells[low] = '├';
        cells[high] = '┤';
        cells[centre] = '●';
        cells.iter().collect()
    }

    /// The numbers of the axis, each beginning where its value is.
    fn scale(&self) -> String {
        let mut scale = String::new();
        for stretch in 0..=STRETCHES {
            let value = self.low + (self.high - self.low) * stretch as f64 / STRETCHES as f64;
            let column = self.column(value);
            let width = scale.chars().count();
            scale.push_str(&" ".repeat(column.saturating_sub(width)));
            scale.push_str(&digits(value));
        }
        scale
    }
}
