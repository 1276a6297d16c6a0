//! How many requests a plan may send in a second, as far as that can be known before it does.

use load::Plan;
use load::schedule::Schedule;

/// What is so much less than a second apart is a second apart.
const ROUNDING_S: f64 = 1e-6;

/// The most requests that are sent for each that the schedule has fall due; none where nothing
/// bounds them.
pub(crate) fn requests_each(plan: &Plan) -> Option<u64> {
    let users = plan.workload.as_ref();
    match users.and_then(|workload| workload.users.as_ref()) {
        Some(users) => users.journey.0.as_ref()?.requests_max(),
        None => Some(1 + u64::from(plan.follow)),
    }
}

/// The highest rate of a schedule, per second; none in a closed loop.
pub(crate) fn peak_rate(schedule: &Schedule) -> Option<f64> {
    match schedule {
        Schedule::Closed => None,
        Schedule::Trace {
            trace,
            speed,
            passes,
            ..
        } => {
            let pass_s = schedule.length_s()? / f64::from(*passes);
            let sendings = &trace.0.sendings;
            let due_s = |at: usize| sendings[at].at_ns as f64 / 1e9 / speed;
            Some(most_within_a_second(
                (sendings.len(), due_s),
                pass_s,
                *passes,
            ))
        }
        Schedule::Constant { rate } | Schedule::Poisson { rate } => Some(*rate),
        Schedule::Stages { stages, .. } => {
            let rates = stages.iter().map(|stage| stage.from.max(stage.to));
            rates.reduce(f64::max)
        }
    }
}

/// How many of so many times, in their order, lie within one second, where they come again after
/// every pass of so many seconds.
fn most_within_a_second(
    (count, due_s): (usize, impl Fn(usize) -> f64),
    pass_s: f64,
    passes: u32,
) -> f64 {
    // Whole passes within a second, and what is left of that.
    let whole = (1.0 / pass_s).floor().min(f64::from(passes));
    let left_s = 1.0 - whole * pass_s - ROUNDING_S;
    let at_s = |number: usize| match number.checked_sub(count) {
        Some(again) => due_s(again) + pass_s,
        None => due_s(number),
    };
    let (mut first, mut most) = (0, 0);
    for last in 0..count * passes.min(2) as usize {
        while first < last && at_s(last) - at_s(first) >= left_s {
            first += 1;
        }
        most = most.max(last + 1 - first);
    }
    let count = count as f64;
    (whole * count + most as f64).min(f64::from(passes) * count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replay_has_the_rate_of_its_fullest_second() {
        let most = |due_s: &[f64], pass_s, passes| {
            most_within_a_second((due_s.len(), |at: usize| due_s[at]), pass_s, passes)
        };
        assert_eq!(most(&[0.0, 0.1, 0.2, 5.0, 5.9, 6.0], 10.0, 1), 3.0);
        let evenly: Vec<f64> = (0..50).map(|at| f64::from(at) / 10.0).collect();
        assert_eq!(most(&evenly, 5.0, 1), 10.0);
        assert_eq!(most(&evenly, 5.0, 7), 10.0);
        // One pass ends where the next one begins.
        assert_eq!(most(&[0.0, 0.1, 2.0, 2.5], 2.6, 1), 2.0);
        assert_eq!(most(&[0.0, 0.1, 2.0, 2.5], 2.6, 2), 4.0);
        // Several in a second, and no more than there are.
        assert_eq!(most(&[0.0, 0.1], 0.4, 100), 6.0);
        assert_eq!(most(&[0.0, 0.1], 0.4, 2), 4.0);
    }
}
