//! The share of exchanges that fail, held against a published share. A window here is shorter than
//! the published ones, so that rare errors may not have had the time to show: what was counted is
//! taken as a draw, and only a share that it excludes is ruled out.

use super::{Evidence, Judgement, Rounds, Word, void_but_for_failures, words};
use crate::claims::file::Errors;
use crate::claims::stated::Share;

pub(super) fn judge(asked: &Errors, evidence: &Evidence<'_>) -> Result<Judgement, Judgement> {
    let rounds = Rounds::find_with_failures(&asked.of, evidence)?;
    let samples = rounds.samples.iter();
    let good = || {
        let samples = samples.clone();
        samples.filter(|one| void_but_for_failures(one).is_none())
    };
    let failed: u64 = good().map(|one| one.failed).sum();
    let all: u64 = failed + good().map(|one| one.completed).sum::<u64>();
    if all == 0 {
        return Err(Judgement::of(Word::Void, words::no_exchanges(&asked.of)));
    }
    let sentence = words::errors(&asked.of, failed, all, &asked.published);
    Ok(Judgement::of(word(failed, all, &asked.published), sentence))
}

/// What so many failures say about a published share.
fn word(failed: u64, all: u64, published: &Share) -> Word {
    let expected = published.value * all as f64;
    if published.value == 0.0 {
        // `0.0%` is written of whatever rounds to that.
        let most = published.rounding * all as f64;
        return match failed {
            0 if most == 0.0 => Word::Holds,
            _ if most == 0.0 || at_least(failed, most) < TAIL => Word::DoesNotHold,
            // Nothing had to fail in so few.
            _ if at_most(failed, most) >= TAIL => Word::Undecided,
            _ => Word::Holds,
        };
    }
    let (fewer, more) = (at_most(failed, expected), at_least(failed, expected));
    match (fewer < TAIL, more < TAIL) {
        (true, _) if failed == 0 => Word::DoesNotHold,
        (true, _) => Word::Weaker,
        (_, true) => Word::Stronger,
        // Nothing failed, and nothing had to in so few.
        _ if failed == 0 => Word::Undecided,
        _ => Word::Holds,
    }
}

/// What is left out at either end of an interval of 95 %.
const TAIL: f64 = 0.025;

/// The chance of `count` or fewer where `expected` are to be expected (Poisson).
fn at_most(count: u64, expected: f64) -> f64 {
    let mut sum = 0.0;
    let mut log_factorial = 0.0;
    for k in 0..=count {
        if k > 0 {
            log_factorial += (k as f64).ln();
        }
        sum += (k as f64 * expected.ln() - expected - log_factorial).exp();
        // Far above what is expected nothing is added any more.
        if k as f64 > expected + 20.0 * expected.sqrt() + 50.0 {
            break;
        }
    }
    sum.min(1.0)
}

/// The chance of `count` or more.
fn at_least(count: u64, expected: f64) -> f64 {
    match count {
        0 => 1.0,
        _ => 1.0 - at_most(count - 1, expected),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(value: f64, rounding: f64) -> Share {
        Share {
            value,
            rounding,
            figures: Vec::new(),
        }
    }

    #[test]
    fn a_share_is_ruled_out_only_by_counts_that_exclude_it() {
        for (failed, all, published, expected) in [
            (0, 1_000, 0.0, Word::Holds),
            (1, 1_000_000, 0.0, Word::DoesNotHold),
            // One in a hundred thousand has no time to show in a thousand.
            (0, 1_000, 0.00001, Word::Undecided),
            // Of twenty that were to be expected there are none, few, as many, many.
            (0, 1_000, 0.02, Word::DoesNotHold),
            (5, 1_000, 0.02, Word::Weaker),
            (18, 1_000, 0.02, Word::Holds),
            (60, 1_000, 0.02, Word::Stronger),
            (1_000_000, 1_000_000, 0.02, Word::Stronger),
        ] {
            let found = word(failed, all, &share(published, 0.0));
            assert_eq!(found, expected, "{failed} of {all} against {published}");
        }
        // Half a tenth of a percent is the most that is written 0.0 %.
        for (failed, all, expected) in [
            (0, 1_000, Word::Undecided),
            (0, 10_000, Word::Holds),
            (5, 10_000, Word::Undecided),
            (12, 10_000, Word::DoesNotHold),
        ] {
            assert_eq!(
                word(failed, all, &share(0.0, 0.0005)),
                expected,
                "{failed} of {all}"
            );
        }
    }

    #[test]
    fn chances_are_those_of_a_poisson_distribution() {
        let near = |a: f64, b: f64| (a - b).abs() < 1e-4;
        assert!(near(at_most(0, 3.0), 0.0498));
        assert!(near(at_most(2, 2.0), 0.6767));
        assert!(near(at_least(3, 2.0), 0.3233));
        assert!(near(at_most(1_000, 1_000.0), 0.5084));
    }
}
