//! Thresholds, as talk: each with what was measured.

use measure::record::{Judged, Met};

use super::terminal::{self, Paint};

/// Says how each threshold was met or crossed, and whether any was crossed.
pub fn say_crossed(thresholds: &[Judged], paint: Paint) -> bool {
    for judged in thresholds {
        terminal::say(&sentence(judged, paint));
    }
    thresholds
        .iter()
        .any(|judged| judged.outcome == Met::Crossed)
}

/// The same as sentences, for elsewhere than a terminal: of those that hold, and of all others.
pub fn sentences(thresholds: &[Judged]) -> (Vec<String>, Vec<String>) {
    let (holding, others): (Vec<&Judged>, Vec<&Judged>) = thresholds
        .iter()
        .partition(|judged| judged.outcome == Met::Holds);
    let all = |of: Vec<&Judged>| of.iter().map(|one| sentence(one, Paint::PLAIN)).collect();
    (all(holding), all(others))
}

/// Whether one could not be judged.
pub fn some_not_judged(thresholds: &[Judged]) -> bool {
    thresholds
        .iter()
        .any(|judged| judged.outcome == Met::NotJudged)
}

fn sentence(judged: &Judged, paint: Paint) -> String {
    let rule = &judged.rule;
    let measured = judged.measured.as_deref().unwrap_or("nothing");
    let word = match judged.outcome {
        Met::Holds => paint.good("holds"),
        Met::Crossed => paint.error("crossed"),
        Met::NotJudged => {
            let reason = judged.reason.as_deref().unwrap_or("the figures are void");
            let word = paint.warning("not judged");
            return match &judged.measured {
                Some(measured) => {
                    format!("threshold {rule} {word}: measured {measured}, but {reason}")
                }
                None => format!("threshold {rule} {word}: {reason}"),
            };
        }
    };
    format!("threshold {rule} {word}: measured {measured}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_on_a_void_figure_neither_holds_nor_is_crossed() {
        let judged = |outcome, reason: Option<&str>| Judged {
            rule: "p99<5ms".to_owned(),
            measured: Some("4.00ms".to_owned()),
            outcome,
            reason: reason.map(str::to_owned),
        };
        let void = judged(Met::NotJudged, Some("the figures are void"));
        assert_eq!(
            sentence(&void, Paint::PLAIN),
            "threshold p99<5ms not judged: measured 4.00ms, but the figures are void"
        );
        let holds = judged(Met::Holds, None);
        let crossed = judged(Met::Crossed, None);
        assert!(!say_crossed(&[void.clone(), holds], Paint::PLAIN));
        assert!(say_crossed(&[void.clone(), crossed.clone()], Paint::PLAIN));
        let (good, bad) = sentences(&[void, judged(Met::Holds, None), crossed]);
        assert_eq!(good, ["threshold p99<5ms holds: measured 4.00ms"]);
        assert_eq!(bad.len(), 2);
    }
}
