use std::fmt::Write as _;

use lab::finding::{Check, Finding, Severity};

use super::*;
use crate::{made_up, snapshot};

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
        let found = multiple(interval(low, high), bound, &published.into(), LEAST);
        assert_eq!(
            found, expected,
            "[{low}, {high}] {bound:?} against {published}"
        );
    }
}

#[test]
fn a_published_range_holds_where_the_interval_reaches_into_it() {
    let range = Multiple {
        least: 1.15,
        most: 1.2,
        figures: Vec::new(),
    };
    for (low, high, expected) in [
        (1.16, 1.18, Word::Holds),
        (1.1, 1.16, Word::Holds),
        (1.19, 1.3, Word::Holds),
        (1.21, 1.3, Word::Stronger),
        (1.05, 1.12, Word::Weaker),
        (0.98, 1.02, Word::DoesNotHold),
        (0.9, 1.16, Word::Undecided),
    ] {
        let found = multiple(interval(low, high), Bound::Exact, &range, LEAST);
        assert_eq!(found, expected, "[{low}, {high}]");
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
    assert_eq!(
        multiple(measured, Bound::Exact, &1.135.into(), LEAST),
        Word::Holds
    );
    assert_eq!(
        multiple(measured, Bound::Exact, &1.135.into(), noisy),
        Word::Undecided
    );
    assert_eq!(
        multiple(measured, Bound::Exact, &3.06.into(), noisy),
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
                    let word = multiple(measured, bound, &PUBLISHED.into(), least);
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
                Bound::Exact => "none".into(),
                _ => bound.words().en.trim_end().to_owned(),
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
            Word::CannotBeTested | Word::NotRun | Word::Void => false,
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
        Word::NotRun,
        Word::CannotBeTested,
        Word::DoesNotHold,
    ];
    let mut found = Vec::new();
    for expected in words {
        found.push(Judgement::of(expected, Words::default()));
        assert_eq!(word(&found), expected);
        found.reverse();
        assert_eq!(word(&found), expected, "in any order");
    }
    assert_eq!(word(&[]), Word::Void);
}

#[test]
fn intervals_are_written_with_about_three_figures() {
    assert_eq!(interval(2.954, 3.171).words(), "3.06 [2.95, 3.17]");
    assert_eq!(
        interval(109_400.0, 109_600.0).words(),
        "109,500 [109,400, 109,600]"
    );
}

/// Rounds of a row whose requests cost so much processor time; where the generator was full, its
/// rate is the generator's.
fn side(name: &str, rate: f64, cpu_us: f64, full: bool) -> (RowFacts, Vec<Round>) {
    let finding = Finding {
        check: Check::Generator,
        severity: Severity::Bound,
        sentence: "its worker was busy".into(),
    };
    let samples = made_up::rounds(rate, rate * cpu_us / 1e6).into_iter();
    // The noise of two rows isn't the same.
    let noise = |round: u32| {
        if name == "a" || round.is_multiple_of(2) {
            1.0
        } else {
            1.02
        }
    };
    let samples = samples.map(|sample| Sample {
        server_cpu_us_per_exchange: Some(cpu_us * noise(sample.round)),
        generator_busy: Some(if full { 0.99 } else { 0.5 }),
        findings: if full {
            vec![finding.clone()]
        } else {
            Vec::new()
        },
        ..sample
    });
    made_up::row(name, Outcome::Measured, samples.collect())
}

pub(super) fn found(judged: &Judge, rows: Vec<(RowFacts, Vec<Round>)>) -> Judgement {
    let (manifest, rounds) = made_up::kept(made_up::setup(), Vec::new(), rows);
    let kept = Kept { manifest, rounds };
    let measured = Measured::all(&kept.manifest, &kept.rounds);
    let outputs = BTreeMap::new();
    let evidence = Evidence {
        kept: &kept,
        measured: &measured,
        outputs: &outputs,
    };
    judge(judged, &evidence)
}

#[test]
fn requests_per_second_that_the_generator_left_open_are_judged_by_cpu_time() {
    let by_rate = |of: &str, to: &str, published: f64| {
        Judge::Ratio(Ratio {
            metric: Metric::RequestsPerSecond,
            of: of.into(),
            to: to.into(),
            published: published.into(),
            within: None,
        })
    };
    // Our rate is twice theirs, and may be more: a request costs us a third.
    let rows = |full| {
        vec![
            side("a", 40_000.0, 10.0, full),
            side("b", 20_000.0, 30.0, false),
        ]
    };
    for (of, to, published, full, expected) in [
        ("a", "b", 3.0, true, Word::Holds),
        ("a", "b", 2.8, true, Word::Stronger),
        ("a", "b", 6.0, true, Word::Weaker),
        ("b", "a", 1.0 / 3.0, true, Word::Holds),
        // What requests/s show is not taken back.
        ("a", "b", 1.5, true, Word::Stronger),
        // Nor do they need anything beside them where the generator had room left.
        ("a", "b", 3.0, false, Word::Weaker),
    ] {
        let found = found(&by_rate(of, to, published), rows(full));
        let case = format!("{of} / {to}, published {published}, {full}: {found:?}");
        assert_eq!(found.word, expected, "{case}");
        let sentence = &found.sentence.en;
        assert!(sentence.contains("requests/s of a is"), "{case}");
        let cpu = "CPU time per exchange of b is 3.04 [3.00, 3.08] times that of a; published: ";
        assert_eq!(sentence.contains(cpu), full, "{case}");
        let why = "the generator was the limit: its core was 99 % busy";
        assert_eq!(sentence.matches(why).count(), usize::from(full), "{case}");
        let measured = found.measured.expect("an interval");
        let by_cpu = full && published != 1.5;
        assert_eq!(measured.centre > 2.5, by_cpu, "{case}");
    }
}

#[test]
fn where_both_were_bounded_cpu_time_says_which_is_above() {
    let rows = || {
        vec![
            side("a", 40_000.0, 10.0, true),
            side("b", 40_100.0, 12.0, true),
            side("c", 20_000.0, 30.0, false),
        ]
    };
    let order = |rows: [&str; 3]| {
        Judge::Order(Order {
            metric: Metric::RequestsPerSecond,
            rows: rows.map(str::to_owned).to_vec(),
        })
    };
    let right = found(&order(["a", "b", "c"]), rows());
    assert_eq!(right.word, Word::Holds, "{right:?}");
    for words in [
        "the generator was the limit for both",
        "; CPU time per exchange of b is 1.21 [1.20, 1.23] times that of a; b above c: at least",
    ] {
        assert!(right.sentence.en.contains(words), "{words}: {right:?}");
    }
    let wrong = found(&order(["b", "a", "c"]), rows());
    assert_eq!(wrong.word, Word::DoesNotHold, "{wrong:?}");
    // Of a server whose processor time nobody saw nothing is said that requests/s don't say.
    let mut unseen = rows();
    for (_, rounds) in &mut unseen {
        for round in rounds {
            round.sample.server_cpu_us_per_exchange = None;
        }
    }
    let unseen = found(&order(["a", "b", "c"]), unseen);
    assert_eq!(unseen.word, Word::Undecided, "{unseen:?}");
    let few = "too few rounds in common with a CPU time per exchange";
    assert!(unseen.sentence.en.contains(few), "{unseen:?}");
}
