//! What the rounds so far allow to say of each figure, and whether that is enough to end.
//!
//! A regression is proven where the lab says a difference to the worse: the interval of the ratio
//! leaves out 1, and the difference is as large as what counts. No regression is possible where the
//! whole interval lies nearer than that. Both are decided by the same intervals, which allow for
//! there being several figures (Holm's method) and for having looked before (a part of the error is
//! spent at each look, see `statistics::sequential`). So ending because of either keeps to the
//! error of 5 %, whatever is looked at first. Pure functions of samples.

use lab::verdict::{self, Basis, Kind, Side};
use schemars::JsonSchema;
use serde::Serialize;
use statistics::sequential::Looks;
use statistics::{ALPHA, Pair, ROUNDS_MIN, Ratio, holm};

use crate::Figure;

/// What is asked of one figure.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) figure: Figure,
    /// The smallest regression that counts, as a share.
    pub(crate) smallest: f64,
    /// What the base seems to differ from itself by, where that was measured.
    pub(crate) floor: Option<f64>,
    pub(crate) base: Side<'a>,
    pub(crate) head: Side<'a>,
}

/// What can be said of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The head is worse, by as much as counts.
    Regression,
    /// Whatever the difference is, it's no regression that counts.
    NoRegression,
    /// There may be a regression that counts, and none is proven.
    Open,
    /// The rounds don't allow to compare it: the generator was the limit, or they are void.
    NotJudged,
    /// There are too few rounds for an interval.
    TooFew,
}

/// A figure, judged.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Judged {
    /// The figure.
    pub figure: Figure,
    /// What can be said of it.
    pub state: State,
    /// The head's as a multiple of the base's, with the interval that was judged; null without.
    pub ratio: Option<Ratio>,
    /// By what share the head may be worse, at most; null where that isn't known.
    pub worse_at_most: Option<f64>,
    /// The smallest regression that counts, as a share.
    pub smallest: f64,
    /// The lab's sentence.
    pub says: String,
}

/// Judges all figures at look `looks.1`.
pub(crate) fn judge(asked: &[Asked<'_>], looks: (&Looks, usize), seed: u64) -> Vec<Judged> {
    let pairs: Vec<Vec<Pair>> = asked.iter().map(Asked::pairs).collect();
    let p_value = |pairs: &Vec<Pair>| Some(Ratio::of(pairs, 1.0 - ALPHA, seed)?.p_value);
    let p_values: Vec<Option<f64>> = pairs.iter().map(p_value).collect();
    let counted: Vec<f64> = p_values.iter().flatten().copied().collect();
    let at_look = |alpha: f64| looks.0.alpha(looks.1, alpha);
    let mut levels = holm::levels(&counted, ALPHA, at_look).into_iter();
    let each = asked.iter().zip(&pairs).zip(&p_values);
    each.map(|((one, pairs), p_value)| {
        let level = p_value.and_then(|_| levels.next());
        let ratio = level.and_then(|level| Ratio::of(pairs, 1.0 - level, seed));
        let basis = Basis {
            smallest: one.smallest,
            floor: one.floor,
            looks: Some(looks),
            apart: false,
            seed,
        };
        one.judged(pairs, ratio, &basis)
    })
    .collect()
}

impl Asked<'_> {
    fn pairs(&self) -> Vec<Pair> {
        match self.head.spoilt.or(self.base.spoilt) {
            Some(_) => Vec::new(),
            None => verdict::pairs(self.head, self.base, self.figure.metric()),
        }
    }

    fn judged(&self, pairs: &[Pair], ratio: Option<Ratio>, basis: &Basis<'_>) -> Judged {
        let metric = self.figure.metric();
        let void = |side: Side<'_>| {
            let void = side.samples.iter().filter(|sample| sample.void().is_some());
            side.spoilt.is_some() || 2 * void.count() > side.samples.len()
        };
        let is_void = void(self.head) || void(self.base);
        let verdict = match ratio.filter(|_| !is_void) {
            Some(ratio) => verdict::judge_ratio(self.head, self.base, metric, ratio, basis),
            None => {
                let asked = verdict::Asked {
                    subject: self.head,
                    baseline: self.base,
                    basis: *basis,
                };
                // Why there is none is the lab's to say.
                let judgements = verdict::judge_each(&[asked], metric).into_iter();
                let void = || verdict::Verdict::new(Kind::Void, "nothing was measured");
                judgements
                    .map(|one| one.verdict)
                    .next()
                    .unwrap_or_else(void)
            }
        };
        let worse_at_most = ratio.map(|ratio| self.worse(&ratio).1.max(0.0));
        let state = match verdict.kind {
            Kind::Undecided => State::NotJudged,
            Kind::Void | Kind::NotMeasured if !is_void && pairs.len() < ROUNDS_MIN => State::TooFew,
            Kind::Void | Kind::NotMeasured => State::NotJudged,
            kind if kind.says_a_difference() && is_worse(kind, self.figure) => State::Regression,
            // It's better by some amount that isn't known.
            Kind::AtLeast => State::NoRegression,
            _ if worse_at_most.is_some_and(|most| most < self.smallest) => State::NoRegression,
            _ => State::Open,
        };
        let is_known = !matches!(state, State::NotJudged | State::TooFew);
        Judged {
            figure: self.figure,
            state,
            ratio: ratio.filter(|_| is_known),
            worse_at_most: worse_at_most.filter(|_| is_known),
            smallest: self.smallest,
            says: verdict.sentence(),
        }
    }

    /// By what shares the head is worse, at least and at most; below 0 it is better.
    fn worse(&self, ratio: &Ratio) -> (f64, f64) {
        match self.figure.metric().more_is_better() {
            true => (1.0 - ratio.high, 1.0 - ratio.low),
            false => (ratio.low - 1.0, ratio.high - 1.0),
        }
    }
}

fn is_worse(kind: Kind, figure: Figure) -> bool {
    let is_more = matches!(kind, Kind::Higher | Kind::AtLeast);
    is_more != figure.metric().more_is_better()
}

/// Why nothing more needs to be measured after look `index`, if so.
pub(crate) fn enough(judged: &[Judged], index: usize) -> Option<String> {
    let is = |state: State| judged.iter().filter(move |one| one.state == state).count();
    if is(State::Regression) > 0 {
        return Some("a regression was proven".to_owned());
    }
    let (unknown, none) = (is(State::NotJudged), is(State::NoRegression));
    // One moment may be a bad one.
    let is_all = unknown + none == judged.len() && (unknown == 0 || index > 0);
    is_all.then(|| {
        let why = match (unknown, none) {
            (0, _) => "no regression that counts was possible any more",
            (_, 0) => "no figure could be judged",
            _ => "no regression that counts was possible any more in what could be judged",
        };
        why.to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lab::finding::{Check, Finding, Severity};
    use lab::sample::Sample;
    use statistics::Random;

    /// One side's rounds: figures around 1,000, this much slower, with noise of this size.
    fn side(rounds: u32, slower: f64, noise: f64, random: &mut Random) -> Vec<Sample> {
        let sample = |round: u32| {
            let mut figure = || (1.0 + slower) * (noise * random.normal()).exp();
            Sample {
                round,
                start: round,
                requests_per_second: 1000.0 / figure(),
                server_cpu_us_per_exchange: Some(10.0 * figure()),
                completed: 1000,
                ..Sample::default()
            }
        };
        (1..=rounds).map(sample).collect()
    }

    fn asked<'a>(base: &'a [Sample], head: &'a [Sample], smallest: f64) -> [Asked<'a>; 2] {
        let side = |name, samples| Side {
            name,
            samples,
            spoilt: None,
        };
        [Figure::Rate, Figure::Cpu].map(|figure| Asked {
            figure,
            smallest,
            floor: None,
            base: side("base", base),
            head: side("head", head),
        })
    }

    /// How a gate ends, and after how many rounds.
    fn course(slower: f64, noise: f64, smallest: f64, seed: u64) -> (Vec<State>, u32) {
        let mut random = Random::new(seed);
        let looks = Looks::plan(6, 30);
        let base = side(30, 0.0, noise, &mut random);
        let head = side(30, slower, noise, &mut random);
        for (index, rounds) in looks.at.iter().enumerate() {
            let until = *rounds as usize;
            let asked = asked(&base[..until], &head[..until], smallest);
            let judged = judge(&asked, (&looks, index), seed);
            if enough(&judged, index).is_some() || *rounds == 30 {
                return (judged.iter().map(|one| one.state).collect(), *rounds);
            }
        }
        unreachable!("the last look ends it")
    }

    fn found(trials: u64, slower: f64, noise: f64, smallest: f64) -> u64 {
        let is_found = |seed: &u64| {
            course(slower, noise, smallest, *seed)
                .0
                .contains(&State::Regression)
        };
        (0..trials).filter(is_found).count() as u64
    }

    #[test]
    fn equal_servers_are_called_slower_no_more_often_than_is_said() {
        // Whatever is shown counts: half of the 5 % is to either side, and both figures share it.
        // 2.5 % of 100 are 2.5 ± 3.1 (two standard errors).
        let wrong = found(100, 0.0, 0.03, 1e-9);
        println!("{wrong} of 100");
        assert!(wrong <= 5, "{wrong}");
        // What has to be as large as 3 % is called one hardly ever.
        let wrong = found(40, 0.0, 0.03, 0.03);
        assert!(wrong <= 1, "{wrong}");
    }

    #[test]
    fn a_server_that_is_five_percent_slower_is_found() {
        // Rounds that differ by 3 % on either side: the mean of 30 ratios is 0.8 % wide.
        let found = found(40, 0.05, 0.03, 0.03);
        println!("{found} of 40");
        assert!(found >= 37, "{found}");
    }

    #[test]
    fn a_slowdown_that_is_proven_and_too_small_is_no_regression() {
        let states: Vec<_> = (0..12)
            .map(|seed| course(0.01, 0.003, 0.03, seed))
            .collect();
        let none = |(states, _): &(Vec<State>, u32)| *states == [State::NoRegression; 2];
        assert!(states.iter().all(none), "{states:?}");
    }

    #[test]
    fn what_is_known_early_ends_early() {
        let rounds = |slower, noise| {
            let of = |seed| course(slower, noise, 0.03, seed).1;
            (0..12).map(of).collect::<Vec<u32>>()
        };
        // A gross regression, and none: the first looks are the strictest.
        let gross = rounds(1.0, 0.02);
        assert!(gross.iter().all(|rounds| *rounds <= 12), "{gross:?}");
        let none = rounds(0.0, 0.01);
        assert!(none.iter().all(|rounds| *rounds < 30), "{none:?}");
        // Where noise hides it, everything is looked at.
        let open = rounds(0.0, 0.2);
        assert!(
            open.iter().filter(|rounds| **rounds == 30).count() >= 11,
            "{open:?}"
        );
    }

    #[test]
    fn a_figure_that_cannot_be_judged_leaves_the_others_their_say() {
        let mut random = Random::new(7);
        let base = side(12, 0.0, 0.005, &mut random);
        let mut head = side(12, 0.0, 0.005, &mut random);
        for sample in &mut head {
            // The generator was the limit: nothing is known of the rate.
            sample.findings.push(Finding {
                check: Check::Generator,
                severity: Severity::Bound,
                sentence: "its worker had no time left".to_owned(),
            });
        }
        let looks = Looks::plan(12, 12);
        let judged = judge(&asked(&base, &head, 0.03), (&looks, 0), 1);
        let states: Vec<State> = judged.iter().map(|one| one.state).collect();
        assert_eq!(
            states,
            [State::NotJudged, State::NoRegression],
            "{judged:?}"
        );
        assert!(judged[0].says.contains("generator"), "{}", judged[0].says);
        assert_eq!(judged[0].ratio, None);
        // The next look may be at a better moment.
        assert_eq!(enough(&judged, 0), None);
        assert!(enough(&judged, 1).is_some_and(|why| why.ends_with("in what could be judged")));
        assert!(enough(&judged[1..], 0).is_some_and(|why| why.contains("no regression")));
        assert_eq!(enough(&judged[..1], 0), None);
        assert!(enough(&judged[..1], 1).is_some_and(|why| why.contains("could be judged")));
    }

    #[test]
    fn void_rounds_and_too_few_are_told_apart() {
        let mut random = Random::new(8);
        let base = side(6, 0.0, 0.01, &mut random);
        let mut head = base.clone();
        let looks = Looks::plan(6, 6);
        let few = judge(&asked(&base[..2], &head[..2], 0.03), (&looks, 0), 1);
        assert!(few.iter().all(|one| one.state == State::TooFew), "{few:?}");
        for sample in &mut head {
            sample.findings.push(Finding {
                check: Check::Errors,
                severity: Severity::Void,
                sentence: "every request failed".to_owned(),
            });
        }
        let void = judge(&asked(&base, &head, 0.03), (&looks, 0), 1);
        assert!(
            void.iter().all(|one| one.state == State::NotJudged),
            "{void:?}"
        );
        assert!(
            void[0].says.contains("every request failed"),
            "{}",
            void[0].says
        );
    }
}
