//! Every combination of who was bounded, where the interval lies and what may be noise, with its
//! word: written to `snapshots/words.md`, which is there to be read, and held against what the
//! figures allow to be true.

use std::fmt::Write as _;

use statistics::Method;

use super::*;
use crate::finding::{Check, Finding, Severity};
use crate::snapshot;

/// Where an interval lies: its name, low, centre and high.
const PLACES: [(&str, f64, f64, f64); 10] = [
    ("below 1", 0.80, 0.85, 0.90),
    ("below 1", 0.81, 0.89, 0.99),
    ("below 1", 0.97, 0.98, 0.99),
    ("across 1, centre below", 0.77, 0.93, 1.11),
    ("across 1, centre below", 0.98, 0.995, 1.01),
    ("across 1, centre above", 0.90, 1.08, 1.30),
    ("across 1, centre above", 0.99, 1.005, 1.02),
    ("above 1", 1.003, 1.006, 1.01),
    ("above 1", 1.01, 1.12, 1.23),
    ("above 1", 1.10, 1.18, 1.25),
];

const BASIS: Basis<'_> = Basis {
    smallest: 0.02,
    floor: Some(0.05),
    looks: None,
    apart: false,
    seed: 1,
};

/// Whose rounds the generator bounded: A is the subject, B the baseline.
const BOUNDS: [(&str, bool, bool); 4] = [
    ("neither", false, false),
    ("A", true, false),
    ("B", false, true),
    ("both", true, true),
];

/// One for each way in which a metric is judged, and whether the two were measured in sessions of
/// their own.
const METRICS: [(Metric, bool); 4] = [
    (Metric::RequestsPerSecond, false),
    (Metric::ResponseTimeP99, false),
    (Metric::ServerCpuPerExchange, false),
    (Metric::RequestsPerSecond, true),
];

fn rounds(bounded: bool) -> Vec<Sample> {
    let finding = Finding {
        check: Check::Generator,
        severity: Severity::Bound,
        sentence: "its worker was busy".into(),
    };
    let sample = |round| Sample {
        round,
        server_busy: 0.8,
        generator_busy: Some(if bounded { 0.99 } else { 0.5 }),
        findings: if bounded {
            vec![finding.clone()]
        } else {
            Vec::new()
        },
        ..Sample::default()
    };
    (1..=7).map(sample).collect()
}

fn ratio(low: f64, centre: f64, high: f64) -> Ratio {
    Ratio {
        centre,
        low,
        high,
        confidence: 1.0 - ALPHA,
        p_value: 0.01,
        rounds: 7,
        starts: 1,
        method: Method::StudentT,
    }
}

/// How an interval lies to the noise floor of [`BASIS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Floor {
    /// Its centre is within.
    Inside,
    /// Its centre is not, but one of its ends is.
    OneEnd,
    /// It has left it.
    Outside,
}

impl Floor {
    fn of(ratio: &Ratio) -> Floor {
        let floor = BASIS.floor.expect("there is one");
        match (ratio.effect() <= floor, ratio.nearest() <= floor) {
            (true, _) => Floor::Inside,
            (false, true) => Floor::OneEnd,
            (false, false) => Floor::Outside,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Floor::Inside => "inside",
            Floor::OneEnd => "one end inside",
            Floor::Outside => "outside",
        }
    }
}

/// A cell of the table.
struct Entry {
    metric: Metric,
    apart: bool,
    bounds: (&'static str, bool, bool),
    place: &'static str,
    floor: Floor,
    ratio: Ratio,
    verdict: Verdict,
}

fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for (metric, apart) in METRICS {
        let basis = Basis { apart, ..BASIS };
        for bounds in BOUNDS {
            let (a, b) = (rounds(bounds.1), rounds(bounds.2));
            let side = |name, samples| Side {
                samples,
                ..Side::named(name)
            };
            for (place, low, centre, high) in PLACES {
                let ratio = ratio(low, centre, high);
                entries.push(Entry {
                    metric,
                    apart,
                    bounds,
                    place,
                    floor: Floor::of(&ratio),
                    ratio,
                    verdict: judge_ratio(side("A", &a), side("B", &b), metric, ratio, &basis),
                });
            }
        }
    }
    entries
}

#[test]
fn every_combination_has_the_word_that_is_kept_in_the_table() {
    let mut text = String::from(
        "# The word for every combination\n\n\
         A beside the baseline B, with a noise floor of 5 % and a smallest difference of 2 %. \
         *Bound*: whose rounds the generator bounded. *Floor*: how the interval lies to the \
         noise floor: its centre inside, only one of its ends inside, or all of it outside. A \
         difference in one session has to have its centre outside, a bound and a difference of two \
         sessions all of the interval. Written by the tests of `lab/src/verdict/table.rs`.\n",
    );
    for (metric, apart) in METRICS {
        let _ = write!(
            text,
            "\n## {}{}\n\n| bound | interval | A ÷ B | floor | word | sentence |\n\
             |---|---|---|---|---|---|\n",
            metric.name(),
            if apart { ", of two sessions" } else { "" }
        );
        let is_asked = |entry: &&Entry| (entry.metric, entry.apart) == (metric, apart);
        for entry in entries().iter().filter(is_asked) {
            let Ratio {
                low, centre, high, ..
            } = entry.ratio;
            let sentence = &entry.verdict.says;
            let _ = writeln!(
                text,
                "| {} | {} | {centre} [{low}, {high}] | {} | **{:?}** | {sentence} |",
                entry.bounds.0,
                entry.place,
                entry.floor.name(),
                entry.verdict.kind,
            );
        }
    }
    snapshot::check("verdict", "words.md", &text);
}

/// The ratios that can be true: a bounded rate may be larger by any amount, and of a time that is
/// also the generator's nothing is known.
fn possible(entry: &Entry) -> (f64, f64) {
    let Ratio { low, high, .. } = entry.ratio;
    let (_, a, b) = entry.bounds;
    match entry.metric {
        Metric::RequestsPerSecond => (
            if b { 0.0 } else { low },
            if a { f64::INFINITY } else { high },
        ),
        Metric::ResponseTimeP99 if a || b => (0.0, f64::INFINITY),
        _ => (low, high),
    }
}

#[test]
fn no_word_says_more_than_the_figures_allow() {
    for entry in entries() {
        let (least, most) = possible(&entry);
        let (kind, sentence) = (entry.verdict.kind, entry.verdict.sentence());
        let bounded = !most.is_finite() || least == 0.0;
        let leaves_floor = match entry.floor {
            Floor::Inside => false,
            Floor::OneEnd => !entry.apart && !bounded,
            Floor::Outside => true,
        };
        let right = match kind {
            Kind::Higher => least > 1.0 && leaves_floor && !bounded,
            Kind::AtLeast => least > 1.0 && leaves_floor && bounded,
            Kind::Lower => most < 1.0 && leaves_floor && !bounded,
            Kind::AtMost => most < 1.0 && leaves_floor && bounded,
            // That nothing is shown, or nothing that matters, is said of a ratio that is bounded
            // to both sides.
            Kind::NoDifference => {
                let across = least <= 1.0 && most >= 1.0;
                !bounded && (across || entry.apart && entry.floor == Floor::OneEnd)
            }
            Kind::TooSmall => !bounded && entry.floor == Floor::Inside,
            Kind::Undecided => bounded,
            _ => false,
        };
        assert!(right, "{kind:?} of {least} to {most}: {sentence}");
        // What leaves 1 and the noise, whatever the generator left open, is said.
        assert_eq!(
            (least > 1.0 || most < 1.0) && leaves_floor,
            kind.says_a_difference(),
            "{sentence}"
        );
    }
}

#[test]
fn a_bound_within_the_noise_floor_is_not_said() {
    let (limited, free) = (rounds(true), rounds(false));
    let side = |name, samples| Side {
        samples,
        ..Side::named(name)
    };
    let metric = Metric::RequestsPerSecond;
    let near = ratio(1.003, 1.006, 1.01);
    for (basis, expected) in [
        (
            Basis {
                floor: Some(0.05),
                smallest: 0.0,
                ..BASIS
            },
            Kind::Undecided,
        ),
        (
            Basis {
                floor: None,
                smallest: 0.05,
                ..BASIS
            },
            Kind::Undecided,
        ),
        (
            Basis {
                floor: None,
                smallest: 0.0,
                ..BASIS
            },
            Kind::AtLeast,
        ),
    ] {
        let found = judge_ratio(side("A", &limited), side("B", &free), metric, near, &basis);
        assert_eq!(found.kind, expected, "{}", found.sentence());
        let (a, b) = (side("A", &free), side("B", &limited));
        let mirrored = judge_ratio(a, b, metric, near.inverse(), &basis);
        let expected = match expected {
            Kind::AtLeast => Kind::AtMost,
            other => other,
        };
        assert_eq!(mirrored.kind, expected, "{}", mirrored.sentence());
    }
}
