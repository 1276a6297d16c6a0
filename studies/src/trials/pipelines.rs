//! Trials for pipelines: as JUnit's XML, a suite for each, and what they came to as figures for
//! services that draw them.

use report::benchmark::Measure;
use report::junit::{Case, Suite, junit as document, state};
use statistics::Spread;

use super::{Trial, Trials};

/// What was said in each of them.
pub fn junit(trials: &Trials) -> String {
    let summary = &trials.summary;
    let measured = match summary.intervals {
        0 => Err("No trial came to an interval.".to_owned()),
        _ => Ok(trials.words().join("\n")),
    };
    let suite = |trial: &Trial| {
        let name = super::folder(trial.number);
        let measured = Ok(String::new());
        let mut suite = Suite::new(name, None, measured, trial.seconds);
        let findings = trial.findings.iter();
        suite.cases.extend(findings.map(|one| {
            let state = state(one.kind);
            Case::new(&one.subject, "verdict", state, &one.sentence)
        }));
        suite
    };
    let began = Some(trials.began.as_str());
    let mut suites = vec![Suite::new(&trials.comparison, began, measured, 0.0)];
    suites.extend(trials.trials.iter().map(suite));
    document("ringside compare", &suites)
}

/// How long a comparison takes, and how closely it tells: of both less is better.
pub fn measures(trials: &Trials) -> Vec<Measure> {
    let of = |figure: &str, unit, spread: Option<Spread>, times: f64| {
        spread.map(|spread| Measure {
            range: Some((times * spread.lowest, times * spread.highest)),
            ..Measure::smaller(&trials.comparison, figure, unit, times * spread.median)
        })
    };
    let summary = &trials.summary;
    let measures = [
        of("duration of a comparison", "s", summary.seconds, 1.0),
        of(
            "half-width of the intervals",
            "%",
            summary.half_width,
            100.0,
        ),
    ];
    measures.into_iter().flatten().collect()
}
