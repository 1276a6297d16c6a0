//! What is judged of timed commands besides their time: a number that they write, and whether they
//! do at all what they are for.

use lab::manifest::Outcome;

use super::{Evidence, Judgement, Rounds, Word, words};
use crate::claims::file::{Completes, Printed};
use crate::claims::little::APART_MAX;
use crate::claims::stated::Multiple;

/// The ratio of two numbers that commands write.
pub(super) fn printed(asked: &Printed, evidence: &Evidence<'_>) -> Result<Judgement, Judgement> {
    let printed = |row: &str| {
        Rounds::find(row, evidence)?;
        let output = evidence.outputs.get(row);
        let output = output.map(String::as_str).unwrap_or_default();
        number_after(output, &asked.word)
            .ok_or_else(|| Judgement::of(Word::Void, words::no_number(row, &asked.word)))
    };
    let (a, b) = (printed(&asked.of)?, printed(&asked.to)?);
    let sentence = words::printed(
        &asked.word,
        (&asked.of, a),
        (&asked.to, b),
        &asked.published,
    );
    Ok(Judgement::of(word(a / b, &asked.published), sentence))
}

/// What a ratio without noise says about a published one. A single figure was rounded.
pub(super) fn word(ratio: f64, published: &Multiple) -> Word {
    if published.least < 1.0 {
        return word(ratio.recip(), &published.inverse());
    }
    let rounding = match published.least == published.most {
        true => 1.0 + APART_MAX,
        false => 1.0,
    };
    match ratio {
        _ if ratio > published.most * rounding => Word::Stronger,
        _ if ratio <= 1.0 => Word::DoesNotHold,
        _ if ratio >= published.least / rounding => Word::Holds,
        _ => Word::Weaker,
    }
}

/// The number that follows a word.
fn number_after(text: &str, word: &str) -> Option<f64> {
    let mut words = text.split_whitespace();
    words.find(|found| *found == word)?;
    words.next()?.parse().ok().filter(|number| *number > 0.0)
}

/// Whether it was the command that failed: it ended badly or wrote something else. What couldn't be
/// built, or was cut short, says nothing of what it's for.
fn is_its_own(what: &str) -> bool {
    ["exited with status", "was killed by", "printed "]
        .iter()
        .any(|own| what.contains(own))
}

/// Whether a timed command ended well each time, with the output that its subject names: the lab
/// measures no other.
pub(super) fn completes(
    asked: &Completes,
    evidence: &Evidence<'_>,
) -> Result<Judgement, Judgement> {
    let mut rows = evidence.kept.manifest.rows.iter();
    let failed = rows.find_map(|row| match &row.outcome {
        Outcome::Failed { what, .. } if row.name == asked.of && is_its_own(what) => Some(what),
        _ => None,
    });
    if let Some(what) = failed {
        let sentence = words::plain(&format!("{} {what}", asked.of));
        return Ok(Judgement::of(Word::DoesNotHold, sentence));
    }
    let rounds = Rounds::find(&asked.of, evidence)?;
    if rounds.samples.iter().any(|sample| sample.seconds.is_none()) {
        return Err(Judgement::of(Word::Void, words::no_command(&asked.of)));
    }
    let samples = || rounds.samples.iter();
    let slowest = samples().filter_map(|sample| sample.seconds);
    let memory = samples()
        .filter_map(|sample| sample.memory_peak_bytes)
        .max();
    let sentence = words::completes(
        &asked.of,
        rounds.samples.len(),
        slowest.fold(0.0, f64::max),
        memory,
    );
    Ok(Judgement::of(Word::Holds, sentence))
}

#[cfg(test)]
mod tests {
    use lab::manifest::RowFacts;
    use lab::round::Round;

    use super::super::tests::found;
    use super::*;
    use crate::claims::file::Judge;
    use crate::made_up;

    #[test]
    fn the_number_after_a_word_is_found_in_what_a_command_wrote() {
        assert_eq!(number_after("bytes 642\nitems 15\n", "items"), Some(15.0));
        for text in ["", "bytes", "bytes many", "bytes 0", "kilobytes 3"] {
            assert_eq!(number_after(text, "bytes"), None, "{text}");
        }
    }

    #[test]
    fn a_ratio_of_sizes_is_held_against_a_rounded_figure_or_a_range() {
        let range = |least: f64, most: f64| Multiple {
            least,
            most,
            figures: Vec::new(),
        };
        for (ratio, published, expected) in [
            (1.5, range(1.5, 1.5), Word::Holds),
            (1.7, range(1.5, 1.5), Word::Holds),
            (1.8, range(1.5, 1.5), Word::Stronger),
            (1.2, range(1.5, 1.5), Word::Weaker),
            (0.9, range(1.5, 1.5), Word::DoesNotHold),
            (0.97, range(1.1, 1.1), Word::DoesNotHold),
            (0.25, range(0.2, 0.3), Word::Holds),
            (0.56, range(0.2, 0.3), Word::Weaker),
            (0.15, range(0.2, 0.3), Word::Stronger),
            (1.1, range(0.2, 0.3), Word::DoesNotHold),
        ] {
            assert_eq!(word(ratio, &published), expected, "{ratio}");
        }
    }

    #[test]
    fn a_command_that_fails_once_does_not_do_what_it_is_for() {
        let completes = Judge::Completes(Completes { of: "a".into() });
        let row = |outcome, seconds: Option<f64>| -> Vec<(RowFacts, Vec<Round>)> {
            let mut samples = made_up::rounds(1.0, 1.0);
            for sample in &mut samples {
                sample.seconds = seconds;
            }
            vec![made_up::row("a", outcome, samples)]
        };
        let good = found(&completes, row(Outcome::Measured, Some(2.5)));
        assert_eq!(good.word, Word::Holds, "{good:?}");
        assert!(good.sentence.en.contains("2.50 s"), "{good:?}");
        let failed = Outcome::Failed {
            what: "exited with status 2".into(),
            log: Vec::new(),
        };
        let failed = found(&completes, row(failed, Some(2.5)));
        assert_eq!(failed.word, Word::DoesNotHold, "{failed:?}");
        let unbuilt = Outcome::Failed {
            what: "could not be built".into(),
            log: Vec::new(),
        };
        let unbuilt = found(&completes, row(unbuilt, Some(2.5)));
        assert_eq!(unbuilt.word, Word::Void, "{unbuilt:?}");
        // A server is no command.
        let server = found(&completes, row(Outcome::Measured, None));
        assert_eq!(server.word, Word::Void, "{server:?}");
    }
}
