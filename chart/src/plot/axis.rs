//! From values to places: scales, and round numbers to write beside them. Pure arithmetic.

/// The most numbers beside an axis.
const TICKS_MAX: usize = 7;
/// From this ratio of its ends on, a logarithmic axis is marked in steps of 1, 2, 5.
const DECADES_FROM: f64 = 8.0;

/// How values are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// Evenly, between round numbers around the values.
    Linear,
    /// Evenly, and from zero, so that lengths can be compared.
    FromZero,
    /// By their logarithm: equal ratios are equal distances. Values must be above zero.
    Log,
    /// Shares from 0 to below 1 by how rare the rest is: 0.9, 0.99 and 0.999 are equally far
    /// apart, so that the tail of a distribution has the room that it deserves.
    Percentile,
}

/// An axis: what it is called, how it is spread, and how its numbers are written.
#[derive(Clone, Debug)]
pub struct Axis {
    /// What it shows, with where it is measured from.
    pub name: String,
    /// How values are spread over it.
    pub scale: Scale,
    /// Writes one of its numbers, with the unit.
    pub write: fn(f64) -> String,
    /// Values that must lie on it, besides those that are shown.
    pub holds: Vec<f64>,
}

impl Axis {
    /// An axis that is as long as its values need.
    pub fn new(name: impl Into<String>, scale: Scale, write: fn(f64) -> String) -> Axis {
        Axis {
            name: name.into(),
            scale,
            write,
            holds: Vec::new(),
        }
    }

    /// With values that must lie on it.
    pub fn holding(mut self, values: &[f64]) -> Axis {
        self.holds.extend_from_slice(values);
        self
    }
}

/// An axis that has been fitted to its values.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ruler {
    scale: Scale,
    low: f64,
    high: f64,
    /// Round numbers from low to high.
    pub(super) ticks: Vec<f64>,
}

impl Ruler {
    /// Fits `axis` to these values; nothing where there are none that it can show.
    pub(super) fn fit(axis: &Axis, values: impl IntoIterator<Item = f64>) -> Option<Ruler> {
        let shown: Vec<f64> = values
            .into_iter()
            .chain(axis.holds.iter().copied())
            .filter(|value| shows(axis.scale, *value))
            .collect();
        let low = shown.iter().copied().reduce(f64::min)?;
        let high = shown.iter().copied().reduce(f64::max)?;
        let (low, high, ticks) = match axis.scale {
            Scale::FromZero => even(low.min(0.0), high),
            Scale::Linear => even(low, high),
            Scale::Log => logarithmic(low, high),
            Scale::Percentile => percentiles(high),
        };
        Some(Ruler {
            scale: axis.scale,
            low,
            high,
            ticks,
        })
    }

    /// The values at its ends.
    pub(super) fn ends(&self) -> (f64, f64) {
        (self.low, self.high)
    }

    /// Where a value lies, from 0 at the low end to 1 at the high end; what is beyond lies on it.
    pub(super) fn share(&self, value: f64) -> f64 {
        let place = |value: f64| match self.scale {
            Scale::Linear | Scale::FromZero => value,
            Scale::Log => value.max(f64::MIN_POSITIVE).ln(),
            Scale::Percentile => rarity(value),
        };
        let (low, high) = (place(self.low), place(self.high));
        ((place(value) - low) / (high - low)).clamp(0.0, 1.0)
    }
}

fn shows(scale: Scale, value: f64) -> bool {
    match scale {
        Scale::Linear | Scale::FromZero => value.is_finite(),
        Scale::Log => value.is_finite() && value > 0.0,
        Scale::Percentile => (0.0..1.0).contains(&value),
    }
}

/// How many nines, continued to every share: 0.9 is 1, 0.99 is 2.
fn rarity(share: f64) -> f64 {
    -(1.0 - share.clamp(0.0, 1.0 - 1e-12)).log10()
}

/// Both ends at a multiple of a round step.
fn even(low: f64, high: f64) -> (f64, f64, Vec<f64>) {
    let (low, high) = if high > low {
        (low, high)
    } else {
        widened(low)
    };
    let step = round_step((high - low) / (TICKS_MAX - 2) as f64);
    let (first, last) = ((low / step + 1e-9).floor(), (high / step - 1e-9).ceil());
    (first * step, last * step, multiples(first, last, step))
}

/// Around one value, so that there is something to divide.
fn widened(value: f64) -> (f64, f64) {
    match value {
        0.0 => (0.0, 1.0),
        value => (value - value.abs() / 10.0, value + value.abs() / 10.0),
    }
}

fn multiples(first: f64, last: f64, step: f64) -> Vec<f64> {
    let count = (last - first).round().clamp(0.0, 100.0) as u32;
    (0..=count)
        .map(|at| (first + f64::from(at)) * step)
        .collect()
}

/// Over less than a decade round numbers at even steps; beyond that 1, 2, 5 of each decade; beyond
/// what fits, decades, or every second or third of them.
fn logarithmic(low: f64, high: f64) -> (f64, f64, Vec<f64>) {
    let (low, high) = if high > low {
        (low, high)
    } else {
        (low / 1.1, high * 1.1)
    };
    if high / low < DECADES_FROM {
        let (from, to, ticks) = even(low, high);
        // A round number at or below zero has no place here, and one that is far away wastes room.
        let from = if from > low / 1.5 { from } else { low / 1.05 };
        let ticks = ticks.into_iter().filter(|tick| *tick >= from).collect();
        return (from, to, ticks);
    }
    let decades = |exponent: i32| [1.0, 2.0, 5.0].map(|digit| digit * 10_f64.powi(exponent));
    let exponents = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all: Vec<f64> = exponents.clone().flat_map(decades).collect();
    let from = all.iter().copied().rfind(|tick| *tick <= low * 1.0001);
    let to = all.iter().copied().find(|tick| *tick >= high * 0.9999);
    let (from, to) = (from.unwrap_or(low), to.unwrap_or(high));
    let inside = |tick: &f64| (from * 0.9999..=to * 1.0001).contains(tick);
    let mut ticks: Vec<f64> = all.into_iter().filter(inside).collect();
    let mut every = 1;
    while ticks.len() > TICKS_MAX + 1 {
        ticks = exponents
            .clone()
            .step_by(every)
            .map(|exponent| 10_f64.powi(exponent))
            .filter(inside)
            .collect();
        every += 1;
    }
    (from, to, ticks)
}

fn percentiles(high: f64) -> (f64, f64, Vec<f64>) {
    let mut ticks = vec![0.5];
    let mut rest = 0.1;
    while 1.0 - rest <= high + rest / 100.0 && rest > 1e-7 {
        ticks.push(1.0 - rest);
        rest /= 10.0;
    }
    (0.0, high.max(0.5), ticks)
}

/// The smallest of 1, 2, 2.5, 5, 10, … and 0.5, 0.25, … that is no smaller than `least`.
fn round_step(least: f64) -> f64 {
    let ten = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 2.5, 5.0]
        .iter()
        .map(|step| step * ten)
        .find(|step| *step >= least * 0.9999)
        .unwrap_or(10.0 * ten)
}

/// A number beside an axis without the zeros that a figure ends in: `1 ms` for `1.00 ms`.
pub(super) fn tick(written: &str) -> String {
    let (number, unit) = match written.split_once(' ') {
        Some((number, unit)) => (number, Some(unit)),
        None => (written, None),
    };
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    match unit {
        Some(unit) => format!("{number} {unit}"),
        None => number.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ruler(scale: Scale, values: &[f64]) -> Ruler {
        let axis = Axis::new("x", scale, |value| value.to_string());
        Ruler::fit(&axis, values.iter().copied()).expect("values")
    }

    fn near(found: &[f64], wanted: &[f64]) -> bool {
        found.len() == wanted.len()
            && found
                .iter()
                .zip(wanted)
                .all(|(found, wanted)| (found - wanted).abs() < 1e-9)
    }

    #[test]
    fn even_axes_end_at_round_numbers_around_their_values() {
        let ruler = ruler(Scale::Linear, &[3.2, 17.9]);
        assert!(
            near(&ruler.ticks, &[0.0, 5.0, 10.0, 15.0, 20.0]),
            "{ruler:?}"
        );
        assert!(near(&[ruler.share(10.0), ruler.share(99.0)], &[0.5, 1.0]));
        let one = super::tests::ruler(Scale::Linear, &[5.0]);
        assert!(one.share(5.0) > 0.0 && one.share(5.0) < 1.0, "{one:?}");
        let zero = super::tests::ruler(Scale::FromZero, &[410.0, 400.0]);
        assert_eq!(zero.share(0.0), 0.0);
    }

    #[test]
    fn equal_ratios_are_equally_far_apart_on_a_logarithmic_axis() {
        let ruler = ruler(Scale::Log, &[0.8, 900.0]);
        let first = ruler.share(10.0) - ruler.share(1.0);
        let second = ruler.share(100.0) - ruler.share(10.0);
        assert!((first - second).abs() < 1e-9);
        assert!(
            ruler.ticks.len() <= 8 && ruler.ticks.contains(&100.0),
            "{ruler:?}"
        );
        let close = super::tests::ruler(Scale::Log, &[0.97, 1.0, 1.04]);
        assert!(close.ticks.len() >= 4, "{close:?}");
        assert!(
            close.share(0.97) > 0.0 || close.ticks[0] <= 0.97,
            "{close:?}"
        );
    }

    #[test]
    fn a_logarithmic_axis_never_begins_at_zero() {
        for values in [[0.3, 2.0], [0.001, 0.004], [1e-9, 1e9], [7.0, 7.0]] {
            let ruler = ruler(Scale::Log, &values);
            assert!(ruler.ticks.iter().all(|tick| *tick > 0.0), "{ruler:?}");
            assert!((2..=8).contains(&ruler.ticks.len()), "{ruler:?}");
            assert!(values.iter().all(|value| ruler.share(*value).is_finite()));
        }
    }

    #[test]
    fn each_nine_of_a_percentile_takes_the_same_room() {
        let ruler = ruler(Scale::Percentile, &[0.0, 0.9999]);
        assert!(
            near(&ruler.ticks, &[0.5, 0.9, 0.99, 0.999, 0.9999]),
            "{ruler:?}"
        );
        assert!(near(&[ruler.share(0.9), ruler.share(0.99)], &[0.25, 0.5]));
    }

    #[test]
    fn values_that_a_scale_cannot_show_are_left_out() {
        let axis = Axis::new("x", Scale::Log, |value| value.to_string());
        assert_eq!(Ruler::fit(&axis, [0.0, -1.0, f64::NAN]), None);
        assert!(Ruler::fit(&axis, [0.0, 3.0]).is_some());
    }

    #[test]
    fn numbers_beside_an_axis_have_no_zeros_at_their_end() {
        assert_eq!(tick("1.00 ms"), "1 ms");
        assert_eq!(tick("0.500"), "0.5");
        assert_eq!(tick("400 k"), "400 k");
        assert_eq!(tick("0 KiB"), "0 KiB");
    }
}
