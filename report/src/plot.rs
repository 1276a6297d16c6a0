//! Intervals as a picture of text: a dot for the ratio, whiskers for its interval.

use statistics::Spread;

use super::Row;

/// Columns of the axis, at most and at least.
const WIDTH: usize = 56;
const WIDTH_MIN: usize = 20;
/// The last number of the axis reaches so far beyond it.
const NUMBER: usize = 4;
/// The most stretches that the axis is divided into.
const STRETCHES_MAX: f64 = 5.0;

/// One line a subject, and an axis, for a reader with `room` columns; empty if no subject has a
/// ratio.
pub(super) fn plot(rows: &[Row], baseline: &str, room: usize) -> Vec<String> {
    let label = rows
        .iter()
        .map(|row| row.facts.name.chars().count())
        .max()
        .unwrap_or(0);
    let width = room.saturating_sub(label + 2 + NUMBER);
    let Some(axis) = Axis::around(rows, width.clamp(WIDTH_MIN, WIDTH)) else {
        return Vec::new();
    };
    let mut lines = vec![format!("{:label$}  {}", "", axis.scale())];
    for row in rows {
        let cells = match &row.ratio {
            Some(ratio) => axis.whiskers(ratio.low, ratio.centre, ratio.high),
            None if row.facts.name == baseline && row.figures.is_some() => {
                axis.whiskers(1.0, 1.0, 1.0)
            }
            None => continue,
        };
        lines.push(
            format!("{:label$}  {cells}", row.facts.name)
                .trim_end()
                .to_owned(),
        );
    }
    lines
}

/// How sure the rows' intervals are, in words that end a sentence; none where there is no interval.
/// Several subjects and early looks widen some of them.
pub(super) fn confidence(rows: &[Row]) -> Option<String> {
    let of = |row: &Row| Some(100.0 * row.ratio.as_ref()?.confidence);
    let found = Spread::of(rows.iter().filter_map(of))?;
    let percent = |confidence: f64| number((100.0 * confidence).round() / 100.0);
    let (lowest, highest) = (percent(found.lowest), percent(found.highest));
    Some(match lowest == highest {
        true => format!("with {lowest} % confidence intervals"),
        false => format!("with confidence intervals of {lowest} % to {highest} %"),
    })
}

struct Axis {
    low: f64,
    high: f64,
    /// From one number on the axis to the next.
    step: f64,
    /// How many columns it takes.
    width: usize,
}

impl Axis {
    /// From zero, unless all ratios are so close to 1 that nothing would be seen. It begins and
    /// ends at a multiple of its step.
    fn around(rows: &[Row], width: usize) -> Option<Axis> {
        let ratios = || rows.iter().filter_map(|row| row.ratio.as_ref());
        ratios().next()?;
        let lowest = ratios().map(|ratio| ratio.low).fold(1.0, f64::min);
        let highest = ratios()
            .map(|ratio| ratio.high)
            .fold(1.0, f64::max)
            .max(1.001);
        let from = if lowest < 0.7 || highest > 1.5 {
            0.0
        } else {
            lowest
        };
        let step = round_step((highest - from) / STRETCHES_MAX);
        Some(Axis {
            low: (from / step).floor() * step,
            high: (highest / step).ceil() * step,
            step,
            width,
        })
    }

    fn column(&self, value: f64) -> usize {
        let share = (value - self.low) / (self.high - self.low);
        (share.clamp(0.0, 1.0) * (self.width - 1) as f64).round() as usize
    }

    fn whiskers(&self, low: f64, centre: f64, high: f64) -> String {
        let mut cells = vec![' '; self.width];
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
        let stretches = ((self.high - self.low) / self.step).round() as usize;
        for stretch in 0..=stretches {
            let value = self.low + self.step * stretch as f64;
            let column = self.column(value);
            let width = scale.chars().count();
            // Where there is no room between two, one of them is left out.
            if width > 0 && column <= width {
                continue;
            }
            scale.push_str(&" ".repeat(column - width));
            scale.push_str(&number(value));
        }
        scale
    }
}

/// The smallest of 1, 2, 5, 10, 20, … (and 0.5, 0.2, 0.1, …) that is no smaller than `least`.
fn round_step(least: f64) -> f64 {
    let ten = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .iter()
        .map(|step| step * ten)
        .find(|step| *step >= least)
        .unwrap_or(10.0 * ten)
}

/// Without the noise of adding up steps, and without zeros at its end.
fn number(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
