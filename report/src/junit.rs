//! What was judged, as JUnit's XML, which pipelines show beside their tests: a suite for each
//! measurement, whose first case is that it took place, and a case for each question asked of it.
//!
//! A case fails only where the verb ends with 99 for it, and is an error where the verb says that
//! nothing can be told, or that something wasn't measured. Where an open question doesn't change
//! the exit code, the case is skipped. So a pipeline that reads this and one that reads the exit
//! code see the same.

use std::time::Duration;

use lab::manifest::{Outcome, Role, Setup};
use lab::sample::Sample;
use lab::verdict::Kind;
use measure::foreign::document;
use quick_junit::{NonSuccessKind, TestCase, TestCaseStatus, TestSuite};

use super::figures::judged_by;
use super::{Report, Row};

/// The case that says whether there's something to judge at all.
pub const MEASURED: &str = "measured";

/// One measurement, with what was asked of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Suite {
    /// What was measured.
    pub name: String,
    /// When it began, UTC (RFC 3339), where that is known.
    pub began: Option<String>,
    /// Its cases, in their order.
    pub cases: Vec<Case>,
}

/// A question, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Of what it was asked, such as a subject.
    pub of: String,
    /// The question, such as a threshold or the name of a figure.
    pub name: String,
    /// What came of it.
    pub state: State,
    /// The same in a sentence.
    pub says: String,
    /// Seconds that were measured for it. Judging takes none, so that the times of all cases add
    /// up to that of the measurement.
    pub seconds: f64,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It's answered, and nothing is wrong.
    Passed,
    /// It's answered, and the verb ends with 99.
    Failed,
    /// It can't be answered, and the verb says so by its exit code.
    Error,
    /// It can't be answered, which changes no exit code.
    Skipped,
}

impl Suite {
    /// One with the case that it took `seconds` and was `measured`, or why it wasn't.
    pub fn new(
        name: impl Into<String>,
        began: Option<&str>,
        measured: Result<String, String>,
        seconds: f64,
    ) -> Suite {
        let name = name.into();
        let (state, says) = match measured {
            Ok(says) => (State::Passed, says),
            Err(why) => (State::Error, why),
        };
        Suite {
            began: began.map(str::to_owned),
            cases: vec![Case {
                seconds,
                ..Case::new(&name, MEASURED, state, says)
            }],
            name,
        }
    }

    fn seconds(&self) -> f64 {
        self.cases.iter().map(|case| case.seconds).sum()
    }

    fn written(&self) -> TestSuite {
        let mut suite = TestSuite::new(clean(&self.name));
        suite.set_time(length(self.seconds()));
        if let Some(began) = &self.began {
            suite.extra.insert("timestamp".into(), clean(began).into());
        }
        suite.add_test_cases(self.cases.iter().map(Case::written));
        suite
    }
}

impl Case {
    /// One that took no time.
    pub fn new(of: &str, name: &str, state: State, says: impl Into<String>) -> Case {
        Case {
            of: of.to_owned(),
            name: name.to_owned(),
            state,
            says: says.into(),
            seconds: 0.0,
        }
    }

    fn written(&self) -> TestCase {
        let says = clean(&self.says);
        let mut status = match self.state {
            State::Passed => TestCaseStatus::success(),
            State::Failed => TestCaseStatus::non_success(NonSuccessKind::Failure),
            State::Error => TestCaseStatus::non_success(NonSuccessKind::Error),
            State::Skipped => TestCaseStatus::skipped(),
        };
        // Some readers show the attribute, and some the text.
        status.set_message(&says).set_description(&says);
        let mut case = TestCase::new(clean(&self.name), status);
        case.set_classname(clean(&self.of));
        case.set_time(length(self.seconds));
        if self.state == State::Passed && !says.is_empty() {
            case.set_system_out(&says);
        }
        case
    }
}

/// These suites as a document, under the name of what made them.
pub fn junit(name: &str, suites: &[Suite]) -> String {
    let mut all = quick_junit::Report::new(clean(name));
    all.set_time(length(suites.iter().map(Suite::seconds).sum()));
    all.add_test_suites(suites.iter().map(Suite::written));
    // Only a writer that refuses bytes makes an error, and memory doesn't.
    all.to_string()
        .unwrap_or_else(|error| format!("<error>{error}</error>\n"))
}

/// A length of time. A record may have been written by anybody, and hold any number.
fn length(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// Text in characters that XML has (<https://www.w3.org/TR/xml/#charsets>), with what can't be seen
/// escaped as everywhere else.
fn clean(text: &str) -> String {
    let text = text.replace('\t', " ");
    document(&text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// A comparison: a case for each subject and figure that it's judged by.
pub fn comparison(report: &Report) -> String {
    let setup = &report.setup;
    let measured = match (&setup.ended_early, report.has_figures()) {
        (Some(why), _) => Err(format!("The measurement ended early: {why}.")),
        (None, false) => Err("Nothing was measured.".to_owned()),
        (None, true) => Ok(report.ranking.join(" ")),
    };
    let mut suite = Suite::new(
        &setup.name,
        Some(&setup.began),
        measured,
        report.subjects.iter().map(|row| seconds(row, setup)).sum(),
    );
    let rows = report.subjects.iter();
    suite.cases.extend(rows.flat_map(|row| of_row(row, setup)));
    junit("ringside compare", &[suite])
}

/// Seconds in which a row was measured.
fn seconds(row: &Row, setup: &Setup) -> f64 {
    let length = |sample: &Sample| sample.seconds.unwrap_or(setup.window_s);
    let equal = row.at_equal_rate.as_ref().map_or(0, |found| found.rounds);
    row.samples.iter().map(length).sum::<f64>() + equal as f64 * setup.window_s
}

fn of_row(row: &Row, setup: &Setup) -> Vec<Case> {
    let name = &row.facts.name;
    let whole = |state, says: &str| vec![Case::new(name, MEASURED, state, says)];
    match &row.facts.outcome {
        // Without it, less can be said of the generator, and the exit code is the same.
        Outcome::Failed { .. } if row.facts.role == Role::Ceiling => Vec::new(),
        Outcome::Failed { what, .. } => whole(State::Error, what),
        Outcome::Missing { install: why } | Outcome::Cannot { why } => whole(State::Skipped, why),
        Outcome::NotReached => whole(State::Skipped, "The measurement ended before its turn."),
        Outcome::Measured if row.is_for_the_measuring() => Vec::new(),
        Outcome::Measured => judged(row, setup),
    }
}

/// What was said of a row that was measured, by each figure, and of each of its requests where
/// they differ.
fn judged(row: &Row, setup: &Setup) -> Vec<Case> {
    let name = &row.facts.name;
    let figures = judged_by(setup).into_iter().filter_map(|metric| {
        let verdict = row.said(metric, setup)?.verdict;
        let (state, says) = (state(verdict.kind), verdict.sentence());
        Some(Case::new(name, metric.name(), state, says))
    });
    let requests = row.steps.iter().flat_map(|step| {
        step.judged.iter().map(move |one| {
            let question = format!("{}: {}", step.name, one.metric.name());
            let (state, says) = (state(one.verdict.kind), one.verdict.sentence());
            Case::new(name, &question, state, says)
        })
    });
    figures.chain(requests).collect()
}

/// What a verdict is for a pipeline: no exit code depends on what is said of a subject.
pub fn state(kind: Kind) -> State {
    match kind {
        Kind::Baseline
        | Kind::Noise
        | Kind::Ceiling
        | Kind::Higher
        | Kind::Lower
        | Kind::AtLeast
        | Kind::AtMost
        | Kind::NoDifference
        | Kind::TooSmall => State::Passed,
        Kind::Undecided | Kind::Void | Kind::NotMeasured => State::Skipped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEGAN: &str = "2026-11-21T20:12:54Z";
    /// Everything that may be in a text and not in a document.
    const NASTY: &str = "a\x1b[31m<b>&\"c'\0\x08\u{b}\u{9b}\u{fffe}\u{ffff}]]>\u{202e}\td\r\ne";

    #[test]
    fn whatever_a_name_or_an_error_holds_the_document_is_xml_and_says_it() {
        let mut suite = Suite::new(NASTY, Some(BEGAN), Err(NASTY.to_owned()), f64::NAN);
        let states = [State::Passed, State::Failed, State::Error, State::Skipped];
        let cases = states.map(|state| Case::new(NASTY, NASTY, state, NASTY));
        suite.cases.extend(cases);
        let text = junit(NASTY, &[suite]);
        let allowed = |c: char| c == '\n' || !c.is_control() && c < '\u{fffe}';
        assert!(text.chars().all(allowed), "{text:?}");
        let read = quick_junit::Report::deserialize_from_str(&text)
            .unwrap_or_else(|error| panic!("{error}: {text}"));
        let counts = (read.tests, read.failures, read.errors, read.skipped);
        assert_eq!(counts, (5, 1, 2, 1), "{text}");
        assert_eq!(read.time, Some(Duration::ZERO), "{text}");
        let part = "a\\u{1b}[31m<b>&\"c'\\u{0}\\u{8}\\u{b}\\u{9b}\u{fffd}\u{fffd}]]>\\u{202e} d";
        let cases = &read.test_suites[0].test_cases;
        for case in &cases[1..] {
            assert!(case.name.starts_with(part), "{}", case.name.as_str());
            let TestCaseStatus::NonSuccess { description, .. } = &case.status else {
                continue;
            };
            let says = description.as_ref().expect("a sentence");
            assert!(says.starts_with(part), "{}", says.as_str());
        }
        let passed = cases[1].system_out.as_ref().expect("a sentence");
        assert!(passed.starts_with(part), "{}", passed.as_str());
    }

    #[test]
    fn the_times_of_the_cases_are_those_of_the_suite_and_of_the_document() {
        let suite = |seconds| {
            let mut suite = Suite::new("a", None, Ok(String::new()), seconds);
            suite.cases.push(Case::new("a", "b", State::Passed, ""));
            suite
        };
        let text = junit("x", &[suite(1.5), suite(2.0)]);
        assert!(
            text.contains("<testsuites name=\"x\" tests=\"4\""),
            "{text}"
        );
        assert!(text.contains("time=\"3.500\""), "{text}");
        let cases = text.matches("<testcase ").count();
        assert_eq!((cases, text.matches("time=\"0.000\"").count()), (4, 2));
    }
}
