//! What a gate found, as JUnit's XML: a case for each figure that counts, which fails where a
//! regression is proven. So a pipeline that shows tests shows it beside them, and its failures and
//! errors come together with the gate's exit code.

use report::junit::{Case, State as Shown, Suite, junit};

use crate::found::{FigureFound, Found, Verdict};
use crate::rule::State;

/// The document.
pub fn document(found: &Found) -> String {
    let measured = match found.verdict {
        Verdict::Failed | Verdict::Stopped => {
            let log = found.log.iter().map(|line| format!("\n{line}"));
            Err(format!("{}{}", found.sentence, log.collect::<String>()))
        }
        _ => Ok(found.sentence.clone()),
    };
    let name = format!("{} against {}", found.head.label, found.base.label);
    let mut suite = Suite::new(name, None, measured, found.seconds);
    let figures = found.figures.iter();
    suite.cases.extend(figures.map(|one| of_figure(one, found)));
    junit("ringside gate", &[suite])
}

fn of_figure(one: &FigureFound, found: &Found) -> Case {
    // Where no figure could be judged, the exit code says so.
    let is_open = !matches!(found.verdict, Verdict::Void | Verdict::CannotTell);
    let state = match one.judged.state {
        State::Regression => Shown::Failed,
        State::NoRegression => Shown::Passed,
        State::Open => Shown::Skipped,
        State::NotJudged | State::TooFew if is_open => Shown::Skipped,
        State::NotJudged | State::TooFew => Shown::Error,
    };
    let name = one.judged.figure.metric().name();
    Case::new(&found.head.label, name, state, &one.judged.says)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Side;
    use crate::{Figure, Judged};

    fn found(verdict: Verdict, states: &[State]) -> Found {
        let side = |label: &str| Side {
            label: label.to_owned(),
            revision: None,
        };
        let mut found = Found::nothing([side("main"), side("<a>&b")], "x");
        let figures = [Figure::Rate, Figure::Cpu, Figure::P99].into_iter();
        let figures = figures.zip(states).map(|(figure, state)| FigureFound {
            base: None,
            head: None,
            judged: Judged {
                figure,
                state: *state,
                ratio: None,
                worse_at_most: None,
                smallest: 0.03,
                says: format!("{state:?} is what it says"),
            },
        });
        found.figures = figures.collect();
        found.verdict = verdict;
        found.sentence = "what was found".to_owned();
        found.log = vec!["the compiler said no".to_owned()];
        found
    }

    #[test]
    fn a_figure_fails_where_a_regression_is_proven_and_is_skipped_where_none_is() {
        let states = [State::Regression, State::NoRegression, State::Open];
        let text = document(&found(Verdict::Regression, &states));
        assert!(text.contains(r#"tests="4""#), "{text}");
        assert!(text.contains(r#"failures="1" errors="0""#), "{text}");
        assert!(text.contains("&lt;a&gt;&amp;b against main"), "{text}");
        assert!(text.contains("Regression is what it says"), "{text}");
        assert_eq!(text.matches("<skipped").count(), 1, "{text}");
        assert!(!text.contains("the compiler"), "{text}");
    }

    #[test]
    fn what_cannot_be_told_is_an_error_only_where_the_exit_code_says_so() {
        let states = [State::NotJudged, State::TooFew, State::NoRegression];
        let text = document(&found(Verdict::NoRegression, &states));
        assert!(text.contains(r#"failures="0" errors="0""#), "{text}");
        let text = document(&found(Verdict::Void, &states[..2]));
        assert!(text.contains(r#"failures="0" errors="2""#), "{text}");
        let text = document(&found(Verdict::Failed, &[]));
        assert!(text.contains(r#"failures="0" errors="1""#), "{text}");
        assert!(
            text.contains("what was found\nthe compiler said no"),
            "{text}"
        );
    }
}
