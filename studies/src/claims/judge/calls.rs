//! System calls for each exchange, as they were counted in a round that is never timed.

use super::{Evidence, Judgement, Word, commands, words};
use crate::claims::file::SystemCalls;

/// Counts that differ by less than this share are the same: how many requests a wait brings varies
/// from run to run.
const SAME_SHARE: f64 = 0.01;

pub(super) fn judge(asked: &SystemCalls, evidence: &Evidence<'_>) -> Result<Judgement, Judgement> {
    let few = (asked.few.as_str(), counted(&asked.few, evidence)?);
    let many = asked.many.iter();
    let many = many.map(|row| Ok((row.as_str(), counted(row, evidence)?)));
    let many = many.collect::<Result<Vec<_>, Judgement>>()?;
    let counts: Vec<(&str, f64)> = [few].into_iter().chain(many.iter().copied()).collect();
    if let (Some(published), [(_, many)]) = (&asked.published, &many[..]) {
        let ratio = match few.1 / many {
            ratio if (ratio - 1.0).abs() < SAME_SHARE => 1.0,
            ratio => ratio,
        };
        let sentence = words::fewer_calls(&counts, ratio, published);
        return Ok(Judgement::of(commands::word(ratio, published), sentence));
    }
    let fewest = many.iter().map(|(_, count)| *count);
    let fewest = fewest.fold(f64::INFINITY, f64::min);
    Ok(Judgement::of(word(few.1, fewest), words::calls(&counts)))
}

/// What counts say about few for each exchange, less than one, against several.
fn word(few: f64, fewest_of_many: f64) -> Word {
    match few < fewest_of_many {
        true if few < 1.0 && fewest_of_many > 1.0 => Word::Holds,
        true => Word::Weaker,
        false => Word::DoesNotHold,
    }
}

fn counted(row: &str, evidence: &Evidence<'_>) -> Result<f64, Judgement> {
    let mut rows = evidence.kept.manifest.rows.iter();
    let Some(facts) = rows.find(|facts| facts.name == row) else {
        return Err(Judgement::of(Word::Void, words::no_row(row)));
    };
    let profile = facts.profile.as_ref();
    let calls = profile.and_then(|profile| profile.calls.as_ref());
    calls.map(|calls| calls.per_exchange).ok_or_else(|| {
        let why = profile.and_then(|profile| profile.missing.first());
        let sentence = words::no_calls(row, why.map(|why| why.trim_end_matches('.')));
        Judgement::of(Word::CannotBeTested, sentence)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use lab::manifest::{Outcome, Profile, RowFacts};
    use lab::round::Round;
    use profiles::calls::Calls;

    use super::super::tests::found;
    use super::*;
    use crate::claims::file::Judge;
    use crate::made_up;

    fn row(name: &str, calls: Option<f64>) -> (RowFacts, Vec<Round>) {
        let (mut facts, rounds) = made_up::row(name, Outcome::Measured, made_up::rounds(1.0, 1.0));
        facts.profile = Some(Profile {
            calls: calls.map(|per_exchange| Calls {
                per_exchange,
                by_name: BTreeMap::new(),
            }),
            missing: vec!["perf isn't allowed.".into()],
            ..Profile::default()
        });
        (facts, rounds)
    }

    #[test]
    fn few_system_calls_are_less_than_one_and_less_than_the_others() {
        let asked = Judge::SystemCalls(SystemCalls {
            few: "a".into(),
            many: vec!["b".into(), "c".into()],
            published: None,
        });
        for (a, b, c, expected) in [
            (0.1, 2.0, 3.1, Word::Holds),
            (1.2, 2.0, 3.1, Word::Weaker),
            (0.1, 0.5, 3.1, Word::Weaker),
            (2.5, 2.0, 3.1, Word::DoesNotHold),
        ] {
            let rows = vec![row("a", Some(a)), row("b", Some(b)), row("c", Some(c))];
            let found = found(&asked, rows);
            assert_eq!(found.word, expected, "{found:?}");
            assert!(found.sentence.en.contains("c 3.10"), "{found:?}");
        }
        let uncounted = vec![row("a", None), row("b", Some(2.0)), row("c", Some(3.0))];
        let uncounted = found(&asked, uncounted);
        assert_eq!(uncounted.word, Word::CannotBeTested);
        let why = "the system calls of a weren't counted: perf isn't allowed";
        assert_eq!(uncounted.sentence.en, why);
    }
    #[test]
    fn a_published_share_of_system_calls_is_held_against_the_counted_one() {
        let asked: SystemCalls =
            toml::from_str("few = \"a\"\nmany = [\"b\"]\npublished = \"-30%\"")
                .expect("a judgement");
        let asked = Judge::SystemCalls(asked);
        for (a, b, expected) in [
            (2.1, 3.0, Word::Holds),
            (1.0, 3.0, Word::Stronger),
            (2.7, 3.0, Word::Weaker),
            (3.0, 3.0, Word::DoesNotHold),
            (2.98, 3.0, Word::DoesNotHold),
            (4.0, 3.0, Word::DoesNotHold),
        ] {
            let found = found(&asked, vec![row("a", Some(a)), row("b", Some(b))]);
            assert_eq!(found.word, expected, "{found:?}");
            assert!(found.sentence.en.contains("published: 0.70"), "{found:?}");
        }
    }
}
