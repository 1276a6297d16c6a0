use std::fmt::Write as _;

use super::*;
use crate::snapshot;

const LEAST: Least = Least {
    smallest: 0.02,
    floor: 0.0,
};

fn interval(low: f64, high: f64) -> Interval {
    Interval {
        low,
        centre: (low * high).sqrt(),
        high,
    }
}

#[test]
fn a_measured_multiple_is_judged_by_where_its_interval_lies() {
    use Bound::{AtLeast, AtMost, Exact};
    for (low, high, bound, published, expected) in [
        (2.9, 3.2, Exact, 3.06, Word::Holds),
        (3.2, 3.4, Exact, 3.06, Word::Stronger),
        (1.5, 1.7, Exact, 3.06, Word::Weaker),
        (0.9, 1.1, Exact, 3.06, Word::DoesNotHold),
        (0.4, 0.5, Exact, 3.06, Word::DoesNotHold),
        // Proven, but by less than what counts as a difference.
        (1.001, 1.01, Exact, 1.135, Word::DoesNotHold),
        // The interval holds what was published and no difference at all.
        (0.9, 1.3, Exact, 1.135, Word::Undecided),
        (0.9, 4.0, Exact, 3.06, Word::Undecided),
        // Of an order nothing was published but that there is a difference.
        (0.9, 1.3, Exact, 1.0, Word::Undecided),
        (0.99, 1.01, Exact, 1.0, Word::DoesNotHold),
        (0.7, 0.9, Exact, 1.0, Word::DoesNotHold),
        (3.2, 3.4, AtLeast, 3.06, Word::Stronger),
        (2.9, 3.2, AtLeast, 3.06, Word::Holds),
        (1.5, 1.7, AtLeast, 3.06, Word::Undecided),
        (0.5, 0.7, AtLeast, 3.06, Word::Undecided),
        (0.9, 1.3, AtLeast, 1.0, Word::Undecided),
        (0.9, 4.0, AtLeast, 3.06, Word::Undecided),
        (0.5, 0.7, AtMost, 3.06, Word::DoesNotHold),
        (1.5, 1.7, AtMost, 3.06, Word::DoesNotHold),
        // As wide as that, it holds what was published and no difference at all.
        (0.9, 4.0, AtMost, 3.06, Word::Undecided),
        (3.2, 3.4, AtMost, 3.06, Word::Undecided),
    ] {
        let found = multiple(interval(low, high), bound, published, LEAST);
        assert_eq!(
            found, expected,
            "[{low}, {high}] {bound:?} against {published}"
        );
    }
}

#[test]
fn what_the_noise_may_hide_does_not_refute_a_claim() {
    let noisy = Least {
        smallest: 0.02,
        floor: 0.3,
    };
    // The interval holds what was published; the baseline differs from itself by more than that.
    let measured = interval(1.05, 1.2);
    assert_eq!(multiple(measured, Bound::Exact, 1.135, LEAST), Word::Holds);
    assert_eq!(
        multiple(measured, Bound::Exact, 1.135, noisy),
        Word::Undecided
    );
    assert_eq!(
        multiple(measured, Bound::Exact, 3.06, noisy),
        Word::DoesNotHold
    );
    assert_eq!(
        equal(interval(1.18, 1.22), Bound::Exact, 0.15, noisy),
        Word::Undecided
    );
    assert_eq!(
        equal(interval(0.98, 1.02), Bound::Exact, 0.15, noisy),
        Word::Undecided
    );
}

#[test]
fn two_that_were_said_to_be_alike_have_to_be_within_the_share() {
    use Bound::{AtLeast, AtMost, Exact};
    for (low, high, bound, expected) in [
        (0.95, 1.05, Exact, Word::Holds),
        (1.2, 1.3, Exact, Word::DoesNotHold),
        (0.5, 0.6, Exact, Word::DoesNotHold),
        (0.95, 1.4, Exact, Word::Undecided),
        (0.95, 1.05, AtLeast, Word::Undecided),
        (1.2, 1.3, AtLeast, Word::DoesNotHold),
        (0.5, 0.6, AtLeast, Word::Undecided),
        (1.2, 1.3, AtMost, Word::Undecided),
        (0.5, 0.6, AtMost, Word::DoesNotHold),
    ] {
        let found = equal(interval(low, high), bound, 0.15, LEAST);
        assert_eq!(found, expected, "[{low}, {high}] {bound:?}");
    }
}

#[test]
fn a_figure_is_judged_by_its_best_round_and_not_by_rounds_on_both_sides_of_everything() {
    for (best, worst, limited, expected) in [
        (1.3, 1.1, false, Word::Stronger),
        (1.3, 0.8, false, Word::Holds),
        (1.3, 0.2, false, Word::Undecided),
        (1.3, 0.2, true, Word::Holds),
        (0.9, 0.2, false, Word::Weaker),
        (0.4, 0.2, false, Word::DoesNotHold),
        (0.9, 0.2, true, Word::Undecided),
        (0.4, 0.2, true, Word::Undecided),
    ] {
        assert_eq!(
            figure(best, worst, limited),
            expected,
            "{worst} to {best}, {limited}"
        );
    }
}

/// What is published in the table below.
const PUBLISHED: f64 = 3.0;

/// Every interval between these, as the places where something changes lie between two of them.
const ENDS: [f64; 7] = [0.5, 0.9, 1.01, 1.1, 2.5, 3.5, 4.0];

const FLOORS: [f64; 2] = [0.0, 0.5];

/// The multiples that can be true of what was measured.
fn possible(measured: Interval, bound: Bound, floor: f64) -> (f64, f64) {
    let wider = |end: f64| end * (1.0 + floor);
    let low = measured.low.min(measured.centre / (1.0 + floor));
    let high = measured.high.max(wider(measured.centre));
    match bound {
        Bound::Exact => (low, high),
        Bound::AtLeast => (low, f64::INFINITY),
        Bound::AtMost => (0.0, high),
    }
}

fn every(mut see: impl FnMut(Interval, Bound, Least, Word)) {
    for bound in [Bound::Exact, Bound::AtLeast, Bound::AtMost] {
        for floor in FLOORS {
            let least = Least {
                smallest: 0.02,
                floor,
            };
            for (at, low) in ENDS.iter().enumerate() {
                for high in &ENDS[at + 1..] {
                    let measured = interval(*low, *high);
                    let word = multiple(measured, bound, PUBLISHED, least);
                    see(measured, bound, least, word);
                }
            }
        }
    }
}

#[test]
fn every_combination_has_the_word_that_is_kept_in_the_table() {
    let mut text = format!(
        "# The word of a claim for every combination\n\n\
         {PUBLISHED} times was published; the smallest difference is 2 %. *Bound*: whether the \
         generator left the multiple open upwards (at least) or downwards (at most). Written by \
         the tests of `studies/src/claims/judge.rs`.\n\n\
         | bound | noise floor | measured | word |\n|---|---|---|---|\n"
    );
    every(|measured, bound, least, word| {
        let _ = writeln!(
            text,
            "| {} | {:.0} % | {} | **{}** |",
            match bound {
                Bound::Exact => "none",
                _ => bound.words().trim_end(),
            },
            100.0 * least.floor,
            measured.words(),
            word.name()
        );
    });
    snapshot::check("claims", "words.md", &text);
}

#[test]
fn no_word_says_more_than_the_figures_allow() {
    every(|measured, bound, least, word| {
        let (lowest, highest) = possible(measured, bound, least.floor);
        let right = match word {
            Word::DoesNotHold => highest < PUBLISHED,
            // As ever with an interval, the words of what holds speak of where it lies.
            Word::Weaker => bound == Bound::Exact && measured.low > 1.0 && highest < f64::INFINITY,
            Word::Holds => measured.low > 1.0 && highest >= PUBLISHED && bound != Bound::AtMost,
            Word::Stronger => measured.low > PUBLISHED && bound != Bound::AtMost,
            Word::Undecided => lowest < 1.0 + least.proven() || bound != Bound::Exact,
            Word::CannotBeTested | Word::Void => false,
        };
        let name = word.name();
        assert!(right, "{name}: {measured:?} {bound:?} {least:?}");
        // What holds both is never refuted.
        let both = lowest <= 1.0 && highest >= PUBLISHED;
        assert!(
            !both || word == Word::Undecided,
            "{name}: {measured:?} {bound:?} {least:?}"
        );
    });
}

#[test]
fn the_word_of_a_claim_is_the_weakest_of_its_parts() {
    let words = [
        Word::Stronger,
        Word::Holds,
        Word::Weaker,
        Word::Undecided,
        Word::Void,
        Word::CannotBeTested,
        Word::DoesNotHold,
    ];
    let mut found = Vec::new();
    for expected in words {
        found.push(Judgement::of(expected, ""));
        assert_eq!(word(&found), expected);
        found.reverse();
        assert_eq!(word(&found), expected, "in any order");
    }
    assert_eq!(word(&[]), Word::Void);
}

#[test]
fn the_number_after_a_word_is_found_in_what_a_command_wrote() {
    assert_eq!(number_after("bytes 642\nitems 15\n", "items"), Some(15.0));
    for text in ["", "bytes", "bytes many", "bytes 0", "kilobytes 3"] {
        assert_eq!(number_after(text, "bytes"), None, "{text}");
    }
}

#[test]
fn intervals_are_written_with_about_three_figures() {
    assert_eq!(interval(2.954, 3.171).words(), "3.06 [2.95, 3.17]");
    assert_eq!(
        interval(109_400.0, 109_600.0).words(),
        "109,500 [109,400, 109,600]"
    );
}
