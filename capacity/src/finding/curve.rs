//! The probes of a search as a curve over rates.

use statistics::Spread;

use super::{CurvePoint, Kind, Point};

/// The probes put together by rate, in the order of rates. A probe that says nothing about the
/// subject is left out, and so is one that it died of, or that had other connections.
pub(super) fn curve(points: &[Point]) -> Vec<CurvePoint> {
    let known = |point: &&Point| {
        point.held().is_some() && point.seconds > 0.0 && point.kind != Kind::Connections
    };
    let mut known: Vec<&Point> = points.iter().filter(known).collect();
    known.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    known
        .chunk_by(|a, b| a.rate == b.rate)
        .map(|probes| {
            let sum = |of: fn(&Point) -> u64| probes.iter().map(|p| of(p)).sum::<u64>() as f64;
            let failed = sum(|point| point.failed);
            CurvePoint {
                rate: probes[0].rate,
                probes: probes.len() as u32,
                held: probes.iter().filter(|p| p.held() == Some(true)).count() as u32,
                achieved: middle(probes, |p| Some(p.achieved)).unwrap_or_default(),
                p50_us: middle(probes, |p| p.p50_us),
                p99_us: middle(probes, |p| p.p99_us),
                failed_share: failed / (failed + sum(|point| point.completed)).max(1.0),
                server_busy: middle(probes, |p| p.server_busy),
                server_cpu_us_per_exchange: middle(probes, |p| p.server_cpu_us_per_exchange),
            }
        })
        .collect()
}

fn middle(probes: &[&Point], of: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
    let values = probes.iter().filter_map(|point| of(point));
    Spread::of(values).map(|spread| spread.median)
}
