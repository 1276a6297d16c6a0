//! What a gate found: one model, which each format writes down.

use std::path::{Path, PathBuf};

use lab::manifest::{Manifest, Outcome, RowFacts};
use lab::round::Round;
use load::Signal;
use schemars::JsonSchema;
use serde::Serialize;
use statistics::format;

use crate::course::median;
use crate::figure::Spoken;
use crate::rule::{Judged, State};
use crate::sides::{BASE, HEAD, Revision};

/// The version of the model in JSON.
pub const SCHEMA_VERSION: u32 = 1;

/// The smallest slowdown that is said to have been visible: smaller ones would be shown as none.
const SHOWN_MIN: f64 = 0.001;

/// What came of it, as a word for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The head is worse, by as much as counts.
    Regression,
    /// No regression that counts is possible.
    NoRegression,
    /// No regression is proven, and one that counts is possible: by how far the figures may
    /// differ, or because one of them couldn't be judged.
    NotProven,
    /// There was nothing to compare: both are the same, or the head is the first.
    NothingToCompare,
    /// Nothing could be judged, because the rounds are void or the generator was the limit.
    Void,
    /// There were too few rounds to judge anything.
    CannotTell,
    /// A side couldn't be built, started or measured.
    Failed,
    /// A signal came before it was decided.
    Stopped,
}

/// One side.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Side {
    /// How sentences call it.
    pub label: String,
    /// Its commit; null if it isn't a revision.
    pub revision: Option<Revision>,
}

/// A figure of both sides.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FigureFound {
    /// The median of the base's rounds, in the unit of the figure: 1/s, µs or bytes.
    pub base: Option<f64>,
    /// The same of the head's.
    pub head: Option<f64>,
    /// What can be said of it; in JSON its fields stand among these.
    #[serde(flatten)]
    pub judged: Judged,
}

/// What a gate found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Found {
    /// The version of this structure.
    pub schema_version: u32,
    /// What came of it.
    pub verdict: Verdict,
    /// The same in a sentence, without a full stop.
    pub sentence: String,
    /// The side that is held against.
    pub base: Side,
    /// The side that is in question.
    pub head: Side,
    /// The figures that count, in their order.
    pub figures: Vec<FigureFound>,
    /// The rounds that were measured of both.
    pub rounds: u32,
    /// How many there would have been.
    pub rounds_max: u32,
    /// Seconds that starts, warm-ups and rounds took.
    pub seconds: f64,
    /// Why it ended before the last round, if it did.
    pub stopped: Option<String>,
    /// What a reader must know before the figures.
    pub cautions: Vec<String>,
    /// The last lines of what failed.
    pub log: Vec<String>,
    /// Where the whole log of that is.
    pub log_file: Option<PathBuf>,
}

impl Found {
    /// Nothing was measured, and why not.
    pub(crate) fn nothing(sides: [Side; 2], why: &str) -> Found {
        let [base, head] = sides;
        Found {
            schema_version: SCHEMA_VERSION,
            verdict: Verdict::NothingToCompare,
            sentence: format!("nothing to compare: {why}"),
            base,
            head,
            figures: Vec::new(),
            rounds: 0,
            rounds_max: 0,
            seconds: 0.0,
            stopped: None,
            cautions: Vec::new(),
            log: Vec::new(),
            log_file: None,
        }
    }

    /// Nothing could be measured of `[base, head]`: why, with the last lines of what failed.
    pub fn failed(labels: [&str; 2], why: &str, log: &[String]) -> Found {
        let sides = labels.map(|label| Side {
            label: label.to_owned(),
            revision: None,
        });
        Found {
            verdict: Verdict::Failed,
            sentence: format!("failed: {why}"),
            log: log.to_vec(),
            ..Found::nothing(sides, "")
        }
    }

    /// What was measured in `folder`, judged; `signal` ended it before it was decided.
    pub(crate) fn new(
        sides: [Side; 2],
        manifest: &Manifest,
        rounds: &[Round],
        judged: Vec<Judged>,
        signal: Option<Signal>,
        folder: &Path,
    ) -> Found {
        let [base, head] = sides;
        let figure = |judged: Judged| FigureFound {
            base: median(judged.figure, BASE, manifest, rounds),
            head: median(judged.figure, HEAD, manifest, rounds),
            judged,
        };
        let figures: Vec<FigureFound> = judged.into_iter().map(figure).collect();
        let mut found = Found {
            schema_version: SCHEMA_VERSION,
            verdict: verdict(&figures),
            sentence: String::new(),
            base,
            head,
            figures,
            rounds: whole_rounds(rounds),
            rounds_max: manifest.setup.rounds,
            seconds: manifest.spent_s,
            stopped: manifest.stopped.clone(),
            cautions: manifest.cautions.clone(),
            log: Vec::new(),
            log_file: None,
        };
        found.sentence = found.says();
        if let Some(signal) = signal {
            found.verdict = Verdict::Stopped;
            found.sentence = match found.rounds {
                0 => format!("stopped by {signal} before anything was measured"),
                rounds => format!(
                    "stopped by {signal} after {rounds} rounds: {}",
                    found.sentence
                ),
            };
        } else if let Some((row, label)) = found.lost(manifest) {
            found.fail(&row, &label, folder);
        }
        found
    }

    /// The side that couldn't be measured, if there is one.
    fn lost(&self, manifest: &Manifest) -> Option<(RowFacts, String)> {
        let sides = [(BASE, &self.base.label), (HEAD, &self.head.label)];
        sides.into_iter().find_map(|(name, label)| {
            let row = manifest.row(name)?;
            let lost = matches!(
                row.outcome,
                Outcome::Failed { .. } | Outcome::Missing { .. } | Outcome::Cannot { .. }
            );
            lost.then(|| (row.clone(), label.clone()))
        })
    }

    fn fail(&mut self, row: &RowFacts, label: &str, folder: &Path) {
        let (what, log) = match &row.outcome {
            Outcome::Failed { what, log } => (format!("{label} {what}"), log.clone()),
            Outcome::Missing { install: why } | Outcome::Cannot { why } => {
                (format!("{label} can't run here: {why}"), vec![])
            }
            Outcome::Measured | Outcome::NotReached => return,
        };
        let own = folder.join("subjects").join(&row.name);
        let built = matches!(&row.outcome, Outcome::Failed { what, .. }
            if what.starts_with("can't be built"));
        let file = own.join(if built { "build.log" } else { "output.log" });
        self.verdict = Verdict::Failed;
        self.sentence = match self.rounds {
            0 => format!("failed: {what}"),
            rounds => format!("failed after {rounds} rounds: {what}"),
        };
        self.log = log;
        self.log_file = Some(file).filter(|file| file.is_file());
    }

    /// The verdict in a sentence.
    fn says(&self) -> String {
        let with = |state: State| {
            let figures = self
                .figures
                .iter()
                .filter(move |one| one.judged.state == state);
            figures.collect::<Vec<_>>()
        };
        let clauses = |figures: &[&FigureFound]| {
            let said = figures.iter().filter_map(|one| self.clause(one));
            said.collect::<Vec<_>>().join(" and ")
        };
        let (worse, open) = (with(State::Regression), with(State::Open));
        let unknown = [with(State::NotJudged), with(State::TooFew)].concat();
        match self.verdict {
            Verdict::Regression => {
                format!("regression: {} {}", self.head.label, clauses(&worse))
            }
            Verdict::NoRegression | Verdict::NotProven => {
                let is_known = |one: &&FigureFound| {
                    matches!(one.judged.state, State::NoRegression | State::Open)
                };
                let known: Vec<&FigureFound> = self.figures.iter().filter(is_known).collect();
                let seen = known.iter().filter_map(|one| one.judged.worse_at_most);
                let seen = seen.fold(0.0, f64::max);
                let what = match known.iter().any(|one| one.judged.figure.is_a_size()) {
                    true => "regression",
                    false => "slowdown",
                };
                let begins = match self.verdict {
                    Verdict::NoRegression => "no regression",
                    _ => "no regression proven",
                };
                let only = if open.is_empty() { "a" } else { "only a" };
                let mut says = format!("{begins}: {} {}", self.head.label, clauses(&known));
                // Otherwise it's better, for certain.
                if seen > 0.0 {
                    let seen = percent(seen.max(SHOWN_MIN));
                    says.push_str(&format!(
                        "; {only} {what} of {seen} or more would have been seen"
                    ));
                }
                let names = unknown.iter().map(|one| one.judged.figure.metric().name());
                match names.collect::<Vec<_>>().join(" and ") {
                    names if names.is_empty() => says,
                    names => format!("{says}; {names} couldn't be judged"),
                }
            }
            Verdict::CannotTell if self.rounds == 1 => {
                "can't tell: 1 round of each side is too few; raise the budget".to_owned()
            }
            Verdict::CannotTell => format!(
                "can't tell: {} rounds of each side are too few; raise the budget",
                self.rounds
            ),
            _ => {
                let why = self.figures.first().map(|one| one.judged.says.as_str());
                let why = why.unwrap_or("nothing was measured");
                format!(
                    "nothing could be judged: {}",
                    why.trim_start_matches("void: ")
                )
            }
        }
    }

    /// What the head does with a figure, beside the base.
    fn clause(&self, one: &FigureFound) -> Option<String> {
        let ratio = shown(one.judged.ratio.as_ref()?);
        Some(one.judged.figure.clause(&ratio, &self.base.label))
    }
}

/// `0.997× (0.985–1.009)`.
pub(crate) fn shown(ratio: &statistics::Ratio) -> String {
    let [centre, low, high] = [ratio.centre, ratio.low, ratio.high].map(format::ratio);
    format!("{centre}× ({low}–{high})")
}

/// `1.5 %`.
pub(crate) fn percent(share: f64) -> String {
    let text = format!("{:.1}", 100.0 * share);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

fn verdict(figures: &[FigureFound]) -> Verdict {
    let any = |state: State| figures.iter().any(|one| one.judged.state == state);
    if any(State::Regression) {
        Verdict::Regression
    } else if any(State::Open) {
        Verdict::NotProven
    } else if any(State::NoRegression) {
        // Of what couldn't be judged nothing is known.
        match any(State::NotJudged) || any(State::TooFew) {
            true => Verdict::NotProven,
            false => Verdict::NoRegression,
        }
    } else if any(State::TooFew) {
        Verdict::CannotTell
    } else {
        Verdict::Void
    }
}

/// In how many rounds both were measured.
pub(crate) fn whole_rounds(rounds: &[Round]) -> u32 {
    let of = |name: &'static str| rounds.iter().filter(move |round| round.row == name);
    let both = of(BASE).filter(|one| of(HEAD).any(|other| other.round == one.round));
    both.count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Figure;
    use statistics::{Method, Ratio};

    fn ratio(low: f64, centre: f64, high: f64) -> Ratio {
        Ratio {
            centre,
            low,
            high,
            confidence: 0.95,
            p_value: 0.5,
            rounds: 8,
            starts: 8,
            method: Method::Bootstrap,
        }
    }

    fn one(figure: Figure, state: State, ratio: Ratio, worse: f64) -> FigureFound {
        FigureFound {
            base: Some(1000.0),
            head: Some(990.0),
            judged: Judged {
                figure,
                state,
                ratio: Some(ratio),
                worse_at_most: Some(worse),
                smallest: 0.03,
                says: "the lab's sentence".to_owned(),
            },
        }
    }

    fn found(figures: Vec<FigureFound>) -> Found {
        let side = |label: &str| Side {
            label: label.to_owned(),
            revision: None,
        };
        let mut found = Found::nothing([side("main"), side("HEAD")], "x");
        found.verdict = verdict(&figures);
        found.figures = figures;
        found.sentence = found.says();
        found
    }

    #[test]
    fn the_sentence_says_the_ratio_and_what_would_have_been_seen() {
        let rate = || {
            one(
                Figure::Rate,
                State::NoRegression,
                ratio(0.985, 0.997, 1.009),
                0.015,
            )
        };
        let none = found(vec![rate()]);
        assert_eq!(none.verdict, Verdict::NoRegression);
        assert_eq!(
            none.sentence,
            "no regression: HEAD answers 0.997× (0.985–1.009) the requests of main; a slowdown of \
             1.5 % or more would have been seen"
        );
        let open = one(Figure::P99, State::Open, ratio(0.9, 1.0, 1.2), 0.2);
        let open = found(vec![rate(), open]);
        assert_eq!(open.verdict, Verdict::NotProven);
        assert_eq!(
            open.sentence,
            "no regression proven: HEAD answers 0.997× (0.985–1.009) the requests of main and has \
             1.000× (0.900–1.200) the p99 response time of main; only a slowdown of 20 % or more \
             would have been seen"
        );
    }

    #[test]
    fn a_figure_that_could_not_be_judged_may_hide_a_regression() {
        let none = one(
            Figure::Cpu,
            State::NoRegression,
            ratio(0.985, 0.997, 1.009),
            0.009,
        );
        let mut unknown = one(Figure::Rate, State::NotJudged, ratio(1.0, 1.0, 1.0), 0.0);
        (unknown.judged.ratio, unknown.judged.worse_at_most) = (None, None);
        let found = found(vec![unknown, none]);
        assert_eq!(found.verdict, Verdict::NotProven);
        assert_eq!(
            found.sentence,
            "no regression proven: HEAD has 0.997× (0.985–1.009) the CPU time per exchange of \
             main; a slowdown of 0.9 % or more would have been seen; requests/s couldn't be judged"
        );
    }

    #[test]
    fn a_regression_in_one_figure_is_one_whatever_the_others_say() {
        let worse = one(
            Figure::Cpu,
            State::Regression,
            ratio(1.04, 1.06, 1.08),
            0.08,
        );
        let rate = one(
            Figure::Rate,
            State::NoRegression,
            ratio(0.985, 0.997, 1.009),
            0.015,
        );
        let found = found(vec![rate, worse]);
        assert_eq!(found.verdict, Verdict::Regression);
        let said = "regression: HEAD has 1.060× (1.040–1.080) the CPU time per exchange of main";
        assert_eq!(found.sentence, said);
    }

    #[test]
    fn what_cannot_be_judged_is_void_and_what_is_too_short_is_open() {
        let unknown = |state| {
            let mut one = one(Figure::Rate, state, ratio(1.0, 1.0, 1.0), 0.0);
            (one.judged.ratio, one.judged.worse_at_most) = (None, None);
            one
        };
        let void = found(vec![unknown(State::NotJudged), unknown(State::NotJudged)]);
        assert_eq!(void.verdict, Verdict::Void);
        assert_eq!(void.sentence, "nothing could be judged: the lab's sentence");
        let few = found(vec![unknown(State::NotJudged), unknown(State::TooFew)]);
        assert_eq!(few.verdict, Verdict::CannotTell);
        assert!(
            few.sentence.starts_with("can't tell: 0 rounds"),
            "{}",
            few.sentence
        );
    }
}
