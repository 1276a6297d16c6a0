//! The lab against itself: whole comparisons, one after another, whose outcome is known.
//!
//! Each has new processes, an order and resamples of its own. A subject compared with itself must
//! not be called faster more often than the error allows (A/A), a difference that was put in must
//! be found, and intervals must hold it. What came of each is written to `trials.json` as soon as
//! it is known. Knows nothing of how a comparison is made.

mod pipelines;
mod text;

use std::path::PathBuf;

use lab::compare::{self, Place};
use lab::comparison::Comparison;
use lab::event::{Event, Observer};
use lab::store::{Store, TRIALS};
use lab::verdict::{Kind, Metric};
use lab::{CannotBegin, End, Options};
use load::{Signal, Stop};
use measure::time::{Time, unix_seconds, utc_stamp};
use report::pages::{File, Page};
use report::{Report, Row, for_pipelines};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::{Ratio, Spread};
use supervisor::document;
use supervisor::document::indented;
use supervisor::loads::Loads;

pub use pipelines::{junit, measures};
pub use text::{csv, html, markdown, terminal};
pub(crate) use text::{question, said};

/// The version of `trials.json`.
pub const SCHEMA_VERSION: u32 = 1;

/// More trials than this are a mistake.
pub const TRIALS_MAX: u32 = 1000;

/// Which trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// How many comparisons.
    pub trials: u32,
    /// Whether the baseline is compared with itself instead of with the file's other rows.
    pub against_itself: bool,
    /// The true ratio of every subject to the baseline, if it is known.
    pub truth: Option<f64>,
}

/// What came of trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trials {
    /// The version of this structure.
    pub schema_version: u32,
    /// The comparison's name.
    pub comparison: String,
    /// When the first began, UTC.
    pub began: String,
    /// The version of ringside.
    pub ringside: String,
    /// How many were asked for.
    pub wanted: u32,
    /// Whether the baseline was compared with itself.
    pub against_itself: bool,
    /// The true ratio, if it is known: 1 where the baseline is compared with itself.
    pub truth: Option<f64>,
    /// What they came to.
    pub summary: Summary,
    /// Each of them.
    pub trials: Vec<Trial>,
}

/// One comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// Its number, from 1.
    pub number: u32,
    /// How long it took from its file to its report.
    pub seconds: f64,
    /// What it said of each subject beside the baseline.
    pub findings: Vec<Finding>,
}

/// What a comparison said of a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The subject.
    pub subject: String,
    /// The verdict as a word.
    pub kind: Kind,
    /// The verdict as a sentence.
    pub sentence: String,
    /// The subject's figure as a multiple of the baseline's.
    pub ratio: Option<Ratio>,
    /// The same of the median processor time per exchange: what the ratio should about be the
    /// inverse of, where the server is the limit.
    pub cpu_ratio: Option<f64>,
    /// The verdict by that, where the comparison has one and its main figure is a rate.
    #[serde(default)]
    pub by_cpu: Option<Kind>,
}

/// What trials came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// How many comparisons ended.
    pub trials: usize,
    /// How many verdicts there are: one for each subject in each.
    pub verdicts: usize,
    /// In how many a difference was said.
    pub said_a_difference: usize,
    /// In how many the difference that was said is in the direction of the truth.
    pub said_the_truth: Option<usize>,
    /// How many have an interval.
    pub intervals: usize,
    /// How many intervals hold the truth.
    pub held_the_truth: Option<usize>,
    /// How long a comparison took, in seconds.
    pub seconds: Option<Spread>,
    /// By how much the intervals reach to either side, as a share.
    pub half_width: Option<Spread>,
    /// The subjects' processor time per exchange as a multiple of the baseline's.
    pub cpu_ratio: Option<Spread>,
    /// How many verdicts by processor time per exchange there are.
    #[serde(default)]
    pub verdicts_by_cpu: usize,
    /// In how many of these a difference was said.
    #[serde(default)]
    pub said_by_cpu: usize,
    /// In how many it is in the direction of the truth: who answers more needs less for each.
    #[serde(default)]
    pub said_the_truth_by_cpu: Option<usize>,
}

/// What trials brought, and where it is.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What came of them.
    pub trials: Trials,
    /// The folder, absolute, with a folder for each trial.
    pub folder: PathBuf,
    /// Files that could not be written, with the reasons.
    pub unwritten: Vec<String>,
    /// What ended them early, if something did.
    pub stopped: Option<Signal>,
}

impl Outcome {
    /// Nothing, if no trial came to an interval; a part, if a file could not be written.
    pub fn end(&self) -> End {
        let measured = self.trials.summary.intervals > 0;
        End::of(self.stopped, measured, self.unwritten.is_empty())
    }
}

/// Carries out one comparison after another. A stop ends them, with a summary of those before; the
/// one that it ended counts for nothing.
///
/// # Errors
/// What prevents a comparison from beginning.
pub fn trials(
    options: &Options,
    wanted: &Wanted,
    stop: &Stop,
    observer: &mut dyn Observer,
) -> Result<Outcome, CannotBegin> {
    trials_from(options, wanted, (stop, Loads::HERE), observer)
}

/// The same with loads that are sent by whom `loads` says.
///
/// # Errors
/// Those of [`trials`].
pub fn trials_from(
    options: &Options,
    wanted: &Wanted,
    (stop, loads): (&Stop, Loads<'_>),
    observer: &mut dyn Observer,
) -> Result<Outcome, CannotBegin> {
    if !(1..=TRIALS_MAX).contains(&wanted.trials) {
        let what = format!("{} trials: use 1 to {TRIALS_MAX}", wanted.trials);
        return Err(CannotBegin::Impossible(what));
    }
    let (comparison, file) = read(options, wanted)?;
    let began = unix_seconds();
    let name = format!("{}-trials", comparison.name);
    let mut store = open(options, &comparison, &name, began).map_err(CannotBegin::Impossible)?;
    let mut trials = Trials {
        schema_version: SCHEMA_VERSION,
        comparison: comparison.name.clone(),
        began: utc_stamp(began),
        ringside: env!("CARGO_PKG_VERSION").to_owned(),
        wanted: wanted.trials,
        against_itself: wanted.against_itself,
        truth: match wanted.against_itself {
            true => Some(1.0),
            false => wanted.truth,
        },
        summary: Summary::default(),
        trials: Vec::new(),
    };
    for number in 1..=wanted.trials {
        let mut comparison = comparison.clone();
        comparison.seed = comparison.seed.wrapping_add(u64::from(number));
        let folder = store.folder().join(folder(number));
        let place = Place::New(Some(&folder));
        let since = Time::now();
        // What is the same in each is told once.
        let mut told = |event: &Event<'_>| {
            let same = matches!(event, Event::Begun { .. } | Event::Caution { .. });
            if number == 1 || !same {
                observer.event(event);
            }
        };
        let with = (stop, loads);
        let compared = compare::one(&comparison, &file, place, options, with, &mut told)?;
        let outcome = crate::Outcome::of(compared);
        if outcome.stopped.is_some() {
            break;
        }
        let seconds = Time::now().since(since) as f64 / 1e9;
        let trial = Trial::of(number, seconds, &outcome.report);
        let said = trial.findings.iter();
        let said: Vec<&str> = said.map(|finding| finding.sentence.as_str()).collect();
        observer.event(&Event::Tried {
            number,
            trials: wanted.trials,
            seconds,
            said: &said,
        });
        trials.add(trial);
        for (file, text) in files(&trials) {
            store.put(file.name().as_ref(), text.into_bytes());
        }
    }
    Ok(Outcome {
        trials,
        folder: store.folder().to_owned(),
        unwritten: store.unwritten(),
        stopped: stop.requested(),
    })
}

/// A folder in which there are no trials yet, and no secrets ever.
fn open(
    options: &Options,
    comparison: &Comparison,
    name: &str,
    began: u64,
) -> Result<Store, String> {
    let mut store = Store::create(options.out.as_deref(), name, began)?;
    store.hide(&comparison.redaction)?;
    Ok(store)
}

/// What is tried, with its file as it stands.
fn read(options: &Options, wanted: &Wanted) -> Result<(Comparison, Vec<u8>), CannotBegin> {
    let (mut comparison, file) = compare::read(options)?;
    // What the generator can do at most is no question of noise.
    comparison.ceiling = comparison.ceiling.or(Some(false));
    if !comparison.points.is_empty() || options.resume.is_some() {
        let what = "trials repeat whole comparisons: they can't have a [sweep] or be resumed";
        return Err(CannotBegin::Impossible(what.to_owned()));
    }
    if wanted.against_itself {
        comparison.compare_baseline_with_itself();
    }
    Ok((comparison, file))
}

/// The folder of a trial's comparison.
pub(crate) fn folder(number: u32) -> String {
    format!("trial-{number:03}")
}

/// Every file of a folder of trials, by its name; each trial has a folder besides.
pub(crate) fn files(trials: &Trials) -> Vec<(File, String)> {
    let mut files = vec![
        (File::Record(TRIALS), indented(trials)),
        (File::Page(Page::HTML), html(trials)),
        (File::Page(Page::MARKDOWN), markdown(trials)),
        (File::Page(Page::CSV), csv(trials)),
    ];
    files.extend(for_pipelines(junit(trials), &measures(trials)));
    files
}

impl Trial {
    /// What a comparison said that took so many seconds.
    pub(crate) fn of(number: u32, seconds: f64, report: &Report) -> Trial {
        let cpu = |name: &str| {
            let row = report.subjects.iter().find(|row| row.facts.name == name)?;
            let cpu = row.figures.as_ref()?.server_cpu_us_per_exchange?;
            (cpu.median > 0.0).then_some(cpu.median)
        };
        let baseline = cpu(&report.setup.baseline);
        let judged = report.subjects.iter().filter(|row| {
            let beside = matches!(
                row.verdict.kind,
                Kind::Baseline | Kind::Noise | Kind::Ceiling
            );
            !beside
        });
        let by_cpu = |row: &Row| {
            let mut further = row.further.iter();
            let found = further.find(|one| one.metric == Metric::ServerCpuPerExchange)?;
            let rate = report.setup.metric.more_is_better();
            rate.then_some(found.verdict.kind)
        };
        Trial {
            number,
            seconds,
            findings: judged
                .map(|row| Finding {
                    subject: row.facts.name.clone(),
                    kind: row.verdict.kind,
                    sentence: row.verdict.sentence(),
                    ratio: row.ratio,
                    cpu_ratio: cpu(&row.facts.name)
                        .zip(baseline)
                        .map(|(own, base)| own / base),
                    by_cpu: by_cpu(row),
                })
                .collect(),
        }
    }
}

impl Trials {
    /// Reads `trials.json`. A newer schema and what are no trials are told apart in a sentence.
    pub fn from_json(text: &str) -> Result<Trials, String> {
        document::versioned(text, SCHEMA_VERSION, "record of trials")
    }

    /// The same trials, each judged anew by what `again` says of it.
    pub(crate) fn judged(mut self, mut again: impl FnMut(Trial) -> Trial) -> Trials {
        for trial in std::mem::take(&mut self.trials) {
            self.add(again(trial));
        }
        self
    }

    fn add(&mut self, trial: Trial) {
        self.trials.push(trial);
        self.summary = Summary::of(&self.trials, self.truth);
    }

    /// What they came to, in a few sentences.
    pub fn words(&self) -> Vec<String> {
        let summary = &self.summary;
        let kind = match self.against_itself {
            true => "of the baseline with itself",
            false => "as in the file",
        };
        let mut lines = vec![format!(
            "{}: {} comparisons {kind}, {} verdicts",
            self.comparison, summary.trials, summary.verdicts
        )];
        let said = summary.said_a_difference;
        lines.push(claimed(said, summary.said_the_truth, self.truth));
        if let Some((held, truth)) = summary.held_the_truth.zip(self.truth) {
            let intervals = summary.intervals;
            lines.push(format!(
                "{held} of {intervals} intervals contain the true ratio, {truth}"
            ));
        }
        let percent = |share: f64| format!("{:.1}", 100.0 * share);
        if let Some(width) = summary.half_width {
            lines.push(format!(
                "the intervals' half-width is {} % (median; {} to {})",
                percent(width.median),
                percent(width.lowest),
                percent(width.highest)
            ));
        }
        if let Some(cpu) = summary.cpu_ratio {
            lines.push(format!(
                "CPU time per exchange is {:.3} × the baseline's (median; {:.3} to {:.3})",
                cpu.median, cpu.lowest, cpu.highest
            ));
        }
        if summary.verdicts_by_cpu > 0 {
            lines.push(format!(
                "by CPU time per exchange, {}",
                claimed(
                    summary.said_by_cpu,
                    summary.said_the_truth_by_cpu,
                    self.truth
                )
            ));
        }
        if let Some(seconds) = summary.seconds {
            lines.push(format!(
                "a comparison took {:.1} s (median; {:.1} at most)",
                seconds.median, seconds.highest
            ));
        }
        lines
    }
}

/// How many verdicts said a difference, and how many of them in the direction of the truth.
fn claimed(said: usize, right: Option<usize>, truth: Option<f64>) -> String {
    let verdicts = match said {
        1 => "1 verdict",
        _ => &format!("{said} verdicts"),
    };
    match right {
        Some(_) if truth == Some(1.0) => {
            format!("{verdicts} claimed a difference, although there is none")
        }
        Some(right) => {
            format!("{verdicts} claimed a difference, {right} of them in the right direction")
        }
        None => format!("{verdicts} claimed a difference"),
    }
}

impl Summary {
    fn of(trials: &[Trial], truth: Option<f64>) -> Summary {
        let findings = || trials.iter().flat_map(|trial| &trial.findings);
        let ratios = || findings().filter_map(|finding| finding.ratio);
        let said = || findings().filter(|finding| finding.kind.says_a_difference());
        let by_cpu = || findings().filter_map(|finding| finding.by_cpu);
        let said_by_cpu = || by_cpu().filter(|kind| kind.says_a_difference());
        let higher = |kind: Kind| matches!(kind, Kind::Higher | Kind::AtLeast);
        // Of two that are the same no difference is the truth.
        let differ = |truth: f64, right: usize| if truth == 1.0 { 0 } else { right };
        let right = |truth: f64| {
            let right = |finding: &&Finding| higher(finding.kind) == (truth > 1.0);
            differ(truth, said().filter(right).count())
        };
        let right_by_cpu = |truth: f64| {
            let right = |kind: &Kind| higher(*kind) == (truth < 1.0);
            differ(truth, said_by_cpu().filter(right).count())
        };
        let held = |truth: f64| {
            let holds = |ratio: &Ratio| ratio.low <= truth && truth <= ratio.high;
            ratios().filter(holds).count()
        };
        Summary {
            trials: trials.len(),
            verdicts: findings().count(),
            said_a_difference: said().count(),
            said_the_truth: truth.map(right),
            intervals: ratios().count(),
            held_the_truth: truth.map(held),
            seconds: Spread::of(trials.iter().map(|trial| trial.seconds)),
            half_width: Spread::of(ratios().map(|ratio| ratio.half_width())),
            cpu_ratio: Spread::of(findings().filter_map(|finding| finding.cpu_ratio)),
            verdicts_by_cpu: by_cpu().count(),
            said_by_cpu: said_by_cpu().count(),
            said_the_truth_by_cpu: truth.map(right_by_cpu),
        }
    }
}

#[cfg(test)]
mod tests {
    use statistics::Pair;

    use super::*;

    fn finding(kind: Kind, centre: f64) -> Finding {
        let pairs = [0.99, 1.0, 1.01].map(|noise| Pair {
            start: 1,
            a: centre * noise,
            b: 1.0,
        });
        Finding {
            subject: "slow".into(),
            kind,
            sentence: "a sentence".into(),
            ratio: Ratio::of(&pairs, 0.95, 1),
            cpu_ratio: Some(1.0 / centre),
            by_cpu: Some(match kind {
                Kind::Higher => Kind::Lower,
                other => other,
            }),
        }
    }

    fn trials(truth: Option<f64>, findings: Vec<Finding>) -> Trials {
        let mut trials = Trials {
            schema_version: SCHEMA_VERSION,
            comparison: "power".into(),
            began: "2026-11-21T20:12:54Z".into(),
            ringside: "0.1.0".into(),
            wanted: 9,
            against_itself: truth == Some(1.0),
            truth,
            summary: Summary::default(),
            trials: Vec::new(),
        };
        for (number, finding) in (1..).zip(findings) {
            trials.add(Trial {
                number,
                seconds: f64::from(number),
                findings: vec![finding],
            });
        }
        trials
    }

    #[test]
    fn what_was_said_and_what_intervals_hold_is_counted_against_the_truth() {
        let found = trials(
            Some(1.05),
            vec![
                finding(Kind::Higher, 1.05),
                finding(Kind::NoDifference, 1.03),
                finding(Kind::Lower, 0.9),
                finding(Kind::TooSmall, 1.06),
            ],
        );
        let summary = &found.summary;
        assert_eq!(
            (summary.trials, summary.verdicts, summary.intervals),
            (4, 4, 4)
        );
        assert_eq!(summary.said_a_difference, 2);
        assert_eq!(
            (summary.said_the_truth, summary.held_the_truth),
            (Some(1), Some(3))
        );
        let words = terminal(&found);
        assert!(
            words.contains("2 verdicts claimed a difference, 1 of them in the right direction"),
            "{words}"
        );
        // The one that is called lower by both isn't one that needs more.
        let by_cpu = "by CPU time per exchange, 2 verdicts claimed a difference, 2 of them in";
        assert!(words.contains(by_cpu), "{words}");
        assert!(
            words.contains("3 of 4 intervals contain the true ratio, 1.05"),
            "{words}"
        );
    }

    #[test]
    fn of_a_baseline_with_itself_every_difference_is_wrong() {
        let findings = vec![finding(Kind::Higher, 1.2), finding(Kind::NoDifference, 1.0)];
        let found = trials(Some(1.0), findings);
        assert_eq!(found.summary.said_the_truth, Some(0));
        assert_eq!(found.summary.held_the_truth, Some(1));
        let words = terminal(&found);
        assert!(words.contains("of the baseline with itself"), "{words}");
        assert!(
            words.contains("1 verdict claimed a difference, although there is none"),
            "{words}"
        );
    }

    #[test]
    fn without_a_known_truth_nothing_is_held_against_it() {
        let found = trials(None, vec![finding(Kind::Higher, 1.2)]);
        assert_eq!(found.summary.held_the_truth, None);
        let words = terminal(&found);
        assert!(!words.contains("true"), "{words}");
        let again = Trials::from_json(&indented(&found)).expect("what was written");
        assert_eq!(again, found);
        assert_eq!(again.judged(|trial| trial), found);
    }
}
