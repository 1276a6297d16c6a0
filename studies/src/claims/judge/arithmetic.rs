//! Published figures held against each other. Nothing is measured.

use super::{Judgement, Word, words};
use crate::claims::file::Arithmetic;
use crate::claims::little::APART_MAX;

/// Whether the figures agree, as far as rounding lets them.
pub(in crate::claims) fn judge(asked: &Arithmetic) -> Judgement {
    let comes_to = asked.from.value * asked.times;
    let published = asked.published.value;
    let agrees = (comes_to / published - 1.0).abs() <= APART_MAX;
    let text = asked.published.text.as_str();
    let made_of = text.contains(' ').then_some(text);
    let sentence = words::sum(&asked.what, &asked.from.text, comes_to, published, made_of);
    let word = match agrees {
        true => Word::Holds,
        false => Word::DoesNotHold,
    };
    Judgement::of(word, sentence)
}
