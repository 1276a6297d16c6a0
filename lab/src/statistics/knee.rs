//! Where a curve bends: a heuristic, and to be called one.

/// The index of the point where a curve bends most (Satopaa, Albrecht, Irwin and Raghavan, "Finding
/// a 'Kneedle' in a Haystack", 2011, with the sensitivity 1): the farthest from the straight line
/// between its first and its last point, once both axes are stretched to 0 … 1. Curves that rise
/// ever slower (throughput) and ever faster (response time) are told apart by themselves.
///
/// Nothing where the curve has fewer than four points or is as good as straight. `points` ascend
/// in x and are finite.
pub fn kneedle(points: &[(f64, f64)]) -> Option<usize> {
    let (first, last) = (points.first()?, points.last()?);
    let ys = points.iter().map(|point| point.1);
    let low = ys.clone().fold(f64::INFINITY, f64::min);
    let high = ys.fold(f64::NEG_INFINITY, f64::max);
    let (width, height) = (last.0 - first.0, high - low);
    if points.len() < 4 || width <= 0.0 || height <= 0.0 {
        return None;
    }
    let chord = |x: f64| first.1 + (last.1 - first.1) * (x - first.0) / width;
    let distance = |point: &(f64, f64)| ((point.1 - chord(point.0)) / height).abs();
    let (index, farthest) = points
        .iter()
        .map(distance)
        .enumerate()
        .max_by(|a, b| a.1.total_cmp(&b.1))?;
    // The paper's threshold: the curve of distances has to fall by the mean step of x again.
    (farthest > 1.0 / (points.len() - 1) as f64).then_some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn knee(ys: &[f64]) -> Option<usize> {
        let points: Vec<(f64, f64)> = (0..).map(f64::from).zip(ys.iter().copied()).collect();
        kneedle(&points)
    }

    #[test]
    fn the_figure_of_the_paper_bends_where_the_paper_says() {
        // Figure 2: y = 5 - 1/(x + 0.1) at ten points from 0 to 1; its knee is at 0.22.
        let points: Vec<(f64, f64)> = (0..10)
            .map(|i| f64::from(i) / 9.0)
            .map(|x| (x, 5.0 - 1.0 / (x + 0.1)))
            .collect();
        let knee = kneedle(&points).expect("a knee");
        assert!((points[knee].0 - 0.22).abs() < 0.005, "{knee}");
    }

    #[test]
    fn a_response_time_that_takes_off_bends_before_it_does() {
        let ys = [1.0, 2.0, 3.0, 4.0, 5.0, 10.0, 15.0, 20.0, 40.0, 100.0];
        assert_eq!(knee(&ys), Some(7));
    }

    #[test]
    fn throughput_that_saturates_bends_where_it_stops_to_rise() {
        assert_eq!(knee(&[10.0, 20.0, 30.0, 40.0, 41.0, 41.0, 41.5]), Some(3));
        // Past its capacity it falls.
        assert_eq!(knee(&[10.0, 20.0, 30.0, 40.0, 38.0, 36.0, 35.0]), Some(3));
    }

    #[test]
    fn a_straight_line_has_no_knee() {
        assert_eq!(knee(&[1.0, 2.0, 3.0, 4.05, 5.0, 6.0]), None);
        assert_eq!(knee(&[1.0; 6]), None);
        assert_eq!(knee(&[1.0, 5.0, 5.0]), None);
        assert_eq!(knee(&[]), None);
    }
}
