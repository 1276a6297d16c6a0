//! What the rest of the ledger is written in: a text in two languages, and a finding as a word.

use serde::Deserialize;

/// The same in two languages.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// In English.
    pub en: String,
    /// In Chinese.
    pub zh: String,
}

impl Words {
    /// The same, in one language and in the other.
    pub fn new(en: impl Into<String>, zh: impl Into<String>) -> Words {
        Words {
            en: en.into(),
            zh: zh.into(),
        }
    }

    /// This, and `more` right behind it.
    pub(super) fn with(self, more: &Words) -> Words {
        Words::new(self.en + &more.en, self.zh + &more.zh)
    }

    /// All of them, with what stands between two in each language.
    pub(super) fn joined(all: &[Words], [en, zh]: [&str; 2]) -> Words {
        let texts = |of: fn(&Words) -> &str| all.iter().map(of).collect::<Vec<_>>();
        Words::new(texts(|one| &one.en).join(en), texts(|one| &one.zh).join(zh))
    }
}

/// What was found about a claim, as a word. Ordered from the weakest: of several the weakest
/// counts. A claim that says several things is refuted with one of them, and is not known to hold
/// while one is not known; where all hold, what holds by least counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Word {
    /// What was published is ruled out, and no difference in its direction was shown.
    DoesNotHold,
    /// Something is missing here, or the claim is about what no test shows.
    CannotBeTested,
    /// What it needs here isn't written yet.
    NotRun,
    /// What was measured counts for nothing.
    Void,
    /// What was published and no difference at all are both possible: it is too wide to tell, or
    /// the generator was the limit in a way that leaves it open.
    Undecided,
    /// The direction is proven, by less than was published.
    Weaker,
    /// It holds.
    Holds,
    /// It holds, by more than was published.
    Stronger,
}

impl Word {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            Word::CannotBeTested => "cannot be tested here",
            Word::NotRun => "no test yet",
            Word::Void => "void",
            Word::DoesNotHold => "does not hold",
            Word::Undecided => "undecided",
            Word::Weaker => "weaker",
            Word::Stronger => "stronger",
            Word::Holds => "holds",
        }
    }
}
