//! Where response times take off: a heuristic, and to be called one.
//!
//! Whatever has noise has a point that lies farthest from some line, so a bend is named only where
//! what lies behind it is far above what came before. The level is that of the lower half of the
//! loads. The curve takes off where it comes to at least twice that level, and to more than three
//! times the noise of the lower half; both of the curve that never falls (a single high point at a
//! low load bends nothing) and of most of what was measured behind the bend (a single high point
//! there is no rise).

use super::isotonic::rising;
use super::median;

/// Values behind a bend are so many times the level before it, at least.
const RISE_MIN: f64 = 2.0;
/// And so many standard deviations of what lies before it.
const NOISES_MIN: f64 = 3.0;
/// The standard deviation of a normal distribution by its median absolute deviation.
const DEVIATION: f64 = 1.4826;
/// So many loads are needed to speak of a curve.
const LOADS_MIN: usize = 5;
/// And so many of them in the lower half.
const LOW_MIN: usize = 2;

/// What a curve does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Course {
    /// It stays at its level, and takes off at this x.
    TakesOff(f64),
    /// It does not take off.
    Level,
    /// There are too few points to tell.
    TooFew,
}

/// What a response time does over the load. `points` are a load and a time each, ascend in load,
/// several may be of one load, and all are finite and above zero. The last load is the highest
/// that held: what is beyond shows a queue that grows for as long as the window lasts.
pub fn course(points: &[(f64, f64)]) -> Course {
    let loads: Vec<&[(f64, f64)]> = points.chunk_by(|a, b| a.0 == b.0).collect();
    let edge = points.last().map_or(0.0, |point| point.0);
    let low = loads.iter().filter(|load| load[0].0 <= edge / 2.0).count();
    if loads.len() < LOADS_MIN || low < LOW_MIN {
        return Course::TooFew;
    }
    // Noise multiplies a response time, so all but the bend itself is judged by logarithms.
    let middles: Vec<f64> = loads.iter().map(|load| median(&logs(load))).collect();
    let level = median(&middles[..low]);
    let off: Vec<f64> = middles[..low].iter().map(|y| (y - level).abs()).collect();
    let noise = NOISES_MIN * DEVIATION * median(&off);
    let high = level + noise.max(RISE_MIN.ln());
    let weighted = middles.iter().zip(&loads);
    let weighted: Vec<(f64, f64)> = weighted.map(|(y, load)| (*y, load.len() as f64)).collect();
    let curve = rising(&weighted).into_iter().zip(&loads);
    let curve: Vec<(f64, f64)> = curve.map(|(y, load)| (load[0].0, y.exp())).collect();
    let Some(bend) = kneedle(&curve) else {
        return Course::Level;
    };
    let at = curve[bend].0;
    let behind: Vec<(f64, f64)> = points.iter().copied().filter(|p| p.0 > at).collect();
    let rises = curve.last().is_some_and(|last| last.1.ln() >= high);
    match rises && !behind.is_empty() && median(&logs(&behind)) >= high {
        true => Course::TakesOff(at),
        false => Course::Level,
    }
}

fn logs(points: &[(f64, f64)]) -> Vec<f64> {
    points.iter().map(|point| point.1.ln()).collect()
}

/// The index of the point where a rising curve bends up most (Satopaa, Albrecht, Irwin and
/// Raghavan, "Finding a 'Kneedle' in a Haystack", 2011, with the sensitivity 1): the farthest below
/// the straight line between its first and its last point, once both axes are stretched to 0 … 1.
/// Nothing where it is as good as straight. `points` ascend in x and do not fall.
fn kneedle(points: &[(f64, f64)]) -> Option<usize> {
    let (first, last) = (points.first()?, points.last()?);
    let (width, height) = (last.0 - first.0, last.1 - first.1);
    if width <= 0.0 || height <= 0.0 {
        return None;
    }
    let below = |(x, y): &(f64, f64)| (x - first.0) / width - (y - first.1) / height;
    let distances = points.iter().map(below).enumerate();
    let (index, farthest) = distances.max_by(|a, b| a.1.total_cmp(&b.1))?;
    // The paper's threshold: the curve of distances has to fall by the mean step of x again.
    (farthest > 1.0 / (points.len() - 1) as f64).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    fn knee(ys: &[f64]) -> Option<usize> {
        let points: Vec<(f64, f64)> = (0..).map(f64::from).zip(ys.iter().copied()).collect();
        kneedle(&points)
    }

    #[test]
    fn the_figure_of_the_paper_bends_where_the_paper_says() {
        // Figure 2: y = 5 - 1/(x + 0.1) at ten points from 0 to 1, whose knee is at 0.22; turned
        // round it rises ever faster.
        let points: Vec<(f64, f64)> = (0..10)
            .rev()
            .map(|i| f64::from(i) / 9.0)
            .map(|x| (1.0 - x, 1.0 / (x + 0.1) - 5.0))
            .collect();
        let knee = kneedle(&points).expect("a knee");
        assert!((points[knee].0 - (1.0 - 0.22)).abs() < 0.005, "{knee}");
    }

    #[test]
    fn only_what_rises_ever_faster_bends_up() {
        let ys = [1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0, 40.0, 100.0];
        assert_eq!(knee(&ys), Some(7));
        assert_eq!(knee(&[10.0, 20.0, 30.0, 40.0, 41.0, 41.0, 41.5]), None);
        assert_eq!(knee(&[1.0, 2.0, 3.0, 4.05, 5.0, 6.0]), None);
        assert_eq!(knee(&[1.0; 6]), None);
        assert_eq!(knee(&[]), None);
    }

    /// Loads as a search tries them that ends at the load `edge`, and how often each.
    fn tried(edge: f64) -> Vec<f64> {
        let doubled = [0.05, 0.1, 0.2, 0.25, 0.25, 0.4, 0.5, 0.5, 0.8, 0.8];
        let halved = [0.8, 0.9, 0.9, 0.9, 0.95, 0.975, 0.9875, 0.9875];
        let confirmed = [1.0; 8];
        let loads = doubled.iter().chain(&halved).chain(&confirmed);
        loads.map(|load| load * edge).collect()
    }

    /// What is found of a response time over loads up to `edge` with a noise of so many powers of
    /// e, in each of many draws.
    fn drawn(edge: f64, noise: f64, time: impl Fn(f64) -> f64) -> Vec<Course> {
        let draw = |seed| {
            let mut random = Random::new(seed);
            let point = |load| (load, time(load) * (noise * random.normal()).exp());
            let points: Vec<(f64, f64)> = tried(edge).into_iter().map(point).collect();
            course(&points)
        };
        (0..400).map(draw).collect()
    }

    /// In how many of the draws it takes off between these loads.
    fn between(draws: &[Course], low: f64, high: f64) -> usize {
        let within = |course: &&Course| match course {
            Course::TakesOff(at) => (low..=high).contains(at),
            Course::Level | Course::TooFew => false,
        };
        draws.iter().filter(within).count()
    }

    #[test]
    fn a_level_curve_has_no_knee_however_noisy_it_is() {
        for noise in [0.0, 0.05, 0.2, 0.5, 1.0] {
            let draws = drawn(20_000.0, noise, |_| 400.0);
            let named = between(&draws, 0.0, f64::INFINITY);
            assert!(named <= 4, "{named} of 400 at a noise of {noise}");
        }
    }

    #[test]
    fn times_that_are_high_at_low_loads_are_no_knee() {
        // Processors that fell asleep, caches that are cold.
        let asleep = |load: f64| if load <= 2000.0 { 3000.0 } else { 400.0 };
        for noise in [0.0, 0.2, 0.5] {
            let named = between(&drawn(20_000.0, noise, asleep), 0.0, f64::INFINITY);
            assert!(named <= 4, "{named} of 400 at a noise of {noise}");
        }
    }

    #[test]
    fn one_high_time_is_no_rise_wherever_it_stands() {
        for high in 0..tried(1.0).len() {
            let points = tried(1000.0).into_iter().zip(0..);
            let time = |at| if at == high { 9000.0 } else { 400.0 };
            let points: Vec<(f64, f64)> = points.map(|(load, at)| (load, time(at))).collect();
            assert_eq!(course(&points), Course::Level, "{high}");
        }
    }

    #[test]
    fn a_hockey_stick_bends_where_it_is_bent() {
        let stick = |load: f64| 400.0 * (1.0 + 90.0 * (load / 1000.0 - 0.9).max(0.0));
        assert_eq!(between(&drawn(1000.0, 0.0, stick), 900.0, 900.0), 400);
        let found = between(&drawn(1000.0, 0.2, stick), 800.0, 976.0);
        assert!(found >= 380, "{found} of 400");
    }

    #[test]
    fn a_queue_takes_off_before_its_server_is_full() {
        // M/M/1: the 99th percentile is ln 100 / (service rate - load); the knee is where its
        // slope is that of its chord, at 1 - sqrt(1 - 0.98) of the service rate.
        let queue = |load: f64| 4.605e6 / (10_000.0 - load);
        let exact = drawn(9800.0, 0.0, queue);
        assert_eq!(
            between(&exact, 0.78 * 9800.0, 0.92 * 9800.0),
            400,
            "{:?}",
            exact[0]
        );
        let found = between(&drawn(9800.0, 0.2, queue), 0.75 * 9800.0, 0.99 * 9800.0);
        assert!(found >= 380, "{found} of 400");
    }

    #[test]
    fn a_queue_that_is_never_half_full_has_no_knee() {
        let queue = |load: f64| 4.605e6 / (10_000.0 - load);
        let named = between(&drawn(4000.0, 0.1, queue), 0.0, f64::INFINITY);
        assert!(named <= 4, "{named} of 400");
    }

    #[test]
    fn a_few_loads_are_no_curve() {
        let few = [(1.0, 1.0), (2.0, 1.0), (4.0, 1.0), (8.0, 9.0)];
        assert_eq!(course(&few), Course::TooFew);
        let high = [(6.0, 1.0), (7.0, 1.0), (8.0, 1.0), (9.0, 5.0), (10.0, 9.0)];
        assert_eq!(course(&high), Course::TooFew, "nothing in the lower half");
        assert_eq!(course(&[]), Course::TooFew);
    }
}
