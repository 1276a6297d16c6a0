//! What a ledger, or one post's part of it, comes to in a few sentences: made of the findings, and
//! of nothing that somebody wrote about them.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use super::super::Judgement;
use super::language::{COUNTED, Language};
use super::{Entry, Word};

/// What all entries together come to: `Of 12 claims, 3 hold, 4 are weaker.`
pub(super) fn counts(entries: &[&Entry], language: Language) -> String {
    let mut counts: BTreeMap<Option<Word>, usize> = BTreeMap::new();
    for entry in entries {
        *counts.entry(entry.word()).or_default() += 1;
    }
    let parts: Vec<String> = COUNTED
        .iter()
        .filter_map(|word| Some(language.count(*word, *counts.get(word)?)))
        .collect();
    let all = entries.len();
    match language {
        Language::English => {
            let claims = if all == 1 { "claim" } else { "claims" };
            format!("Of {all} {claims}, {}.", parts.join(", "))
        }
        Language::Chinese => format!("共 {all} 条说法：{}。", parts.join("，")),
    }
}

/// A post in three sentences: the counts, what is farthest from it, and what it has most right.
/// The counts alone where nothing was measured.
pub(super) fn of_post(entries: &[&Entry], language: Language) -> String {
    let untested = [
        None,
        Some(Word::CannotBeTested),
        Some(Word::NotRun),
        Some(Word::Void),
    ];
    if entries.iter().all(|entry| untested.contains(&entry.word())) {
        return counts(entries, language);
    }
    let said = [
        counts(entries, language),
        farthest(entries, language),
        firmest(entries, language),
    ];
    said.join(language.of(" ", ""))
}

fn farthest(entries: &[&Entry], language: Language) -> String {
    let short = |entry: &&&Entry| matches!(entry.word(), Some(Word::DoesNotHold | Word::Weaker));
    let by_word = |entry: &Entry| entry.word();
    let found = entries.iter().filter(short).min_by(|a, b| {
        let words = by_word(a).cmp(&by_word(b));
        words.then(share(a, f64::min).total_cmp(&share(b, f64::min)))
    });
    match found {
        Some(entry) => {
            let name = language.of("Farthest from what was published is", "与原文相差最远的是");
            sentence(name, entry, f64::min, language)
        }
        None => language
            .of(
                "None that was tested is refuted or weaker.",
                "经检验的说法没有一条被推翻或偏弱。",
            )
            .into(),
    }
}

fn firmest(entries: &[&Entry], language: Language) -> String {
    let firm = |entry: &&&Entry| matches!(entry.word(), Some(Word::Holds | Word::Stronger));
    let found = entries.iter().filter(firm).max_by(|a, b| {
        let words = a.word().cmp(&b.word());
        // Of equals the first one.
        let amounts = share(a, f64::max).total_cmp(&share(b, f64::max));
        words.then(amounts).then(Ordering::Greater)
    });
    match found {
        Some(entry) => {
            let name = language.of("What stands firmest is", "最站得住的是");
            sentence(name, entry, f64::max, language)
        }
        None => language
            .of("None is shown to hold in full.", "没有一条被证明完全成立。")
            .into(),
    }
}

/// What was measured as a share of what was published: the outermost of those of an entry's
/// findings that its word is from.
fn share(entry: &Entry, outer: fn(f64, f64) -> f64) -> f64 {
    let shares = decisive(entry).filter_map(share_of);
    shares.reduce(outer).unwrap_or(1.0)
}

fn share_of(judgement: &Judgement) -> Option<f64> {
    Some(judgement.measured?.centre / judgement.published?)
}

/// The findings that an entry has its word from.
fn decisive(entry: &Entry) -> impl Iterator<Item = &Judgement> {
    let judgements = entry.finding.iter().flat_map(|finding| &finding.judgements);
    judgements.filter(|judgement| Some(judgement.word) == entry.word())
}

/// `Name B3 (does not hold): ` and the finding that its word is from.
fn sentence(name: &str, entry: &Entry, outer: fn(f64, f64) -> f64, language: Language) -> String {
    let (id, word) = (entry.claim.id, language.word(entry.word()));
    let outermost = share(entry, outer);
    let number = decisive(entry).find(|one| share_of(one) == Some(outermost));
    let found = number.or_else(|| decisive(entry).next());
    let found = found.map(|one| language.one(&one.sentence));
    match (language, found) {
        (Language::English, Some(found)) => format!("{name} {id} ({word}): {found}."),
        (Language::Chinese, Some(found)) => format!("{name} {id}（{word}）：{found}。"),
        (Language::English, None) => format!("{name} {id} ({word})."),
        (Language::Chinese, None) => format!("{name} {id}（{word}）。"),
    }
}
