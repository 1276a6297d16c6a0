//! What the ledger says in its own words, in the two languages that its readers have.

use crate::claims::{Ground, Word, Words};

/// The language of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English.
    #[default]
    English,
    /// Chinese, which the posts are written in.
    Chinese,
}

impl Language {
    /// One of two wordings.
    pub(super) fn of<T>(self, english: T, chinese: T) -> T {
        match self {
            Language::English => english,
            Language::Chinese => chinese,
        }
    }

    /// Words that are there in both.
    pub(super) fn one(self, words: &Words) -> &str {
        self.of(&words.en, &words.zh)
    }

    /// Its code, as HTML has it.
    pub(super) fn code(self) -> &'static str {
        self.of("en", "zh-CN")
    }

    /// A finding, as people write it; none where nothing was run.
    pub(super) fn word(self, word: Option<Word>) -> &'static str {
        let chinese = match word {
            None => "本机未运行",
            Some(Word::CannotBeTested) => "此处无法检验",
            Some(Word::NotRun) => "尚无测试",
            Some(Word::Void) => "作废",
            Some(Word::DoesNotHold) => "不成立",
            Some(Word::Undecided) => "无法判定",
            Some(Word::Weaker) => "弱于原文",
            Some(Word::Stronger) => "强于原文",
            Some(Word::Holds) => "成立",
        };
        self.of(word.map_or("not run here", Word::name), chinese)
    }

    /// What a sentence follows from.
    pub(super) fn ground(self, ground: Ground) -> &'static str {
        match ground {
            Ground::Arithmetic => self.of("arithmetic", "算术"),
            Ground::Text => self.of("the post's text", "原文"),
            Ground::Measurement => self.of("our measurement", "本次实测"),
        }
    }

    /// How many of several came to a word: `3 hold`.
    pub(super) fn count(self, word: Option<Word>, count: usize) -> String {
        if self == Language::Chinese {
            return format!("{count} 条{}", self.word(word));
        }
        let (one, many) = match word {
            Some(Word::Holds) => ("holds", "hold"),
            Some(Word::Stronger) => ("is stronger here", "are stronger here"),
            Some(Word::Weaker) => ("is weaker", "are weaker"),
            Some(Word::Undecided) => ("is undecided", "are undecided"),
            Some(Word::DoesNotHold) => ("does not hold", "do not hold"),
            Some(Word::Void) => ("is void", "are void"),
            Some(Word::CannotBeTested) => ("cannot be tested here", "cannot be tested here"),
            Some(Word::NotRun) => ("has no test yet", "have no test yet"),
            None => ("was not run here", "were not run here"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }

    /// What stands at the head of the page.
    pub(super) fn opening(self) -> &'static str {
        self.of(
            "Five published posts compare servers under high concurrency. Here is what each of \
             them claims, what we ran to test it, scaled to this machine, and what we found. Every \
             figure under “the post says” stands in the section that is named, as it is written \
             there. “Why” says of each sentence what it follows from: the published figures by \
             arithmetic, the post's own text, or our measurement.",
            "五篇公开文章比较了各种服务器在高并发下的表现。本页逐条列出它们的说法、我们按本机规模所做的检验，\
             以及检验结果。“原文说法”中的每个数字都能在所注章节里原样找到。“原因”中的每句话都注明了依据：\
             由原文数字推算、原文本身，或本次实测。压测端为何先到极限、缺少的程序如何安装，这些由程序给出的句子保留英文。",
        )
    }

    /// The same where all claims are ours.
    pub(super) fn opening_of_ours(self) -> &'static str {
        self.of(
            "Here is what we claim of our own software, what was run to test it, and what was \
             found. Every figure under “we say” stands in the section that is named, as it is \
             written there.",
            "本页列出我们对自己软件的说法、所做的检验，以及检验结果。“我们的说法”中的\
             每个数字都能在所注章节里原样找到。",
        )
    }

    /// Whose claims they are that we wrote ourselves.
    pub(super) fn bias(self) -> &'static str {
        self.of(
            "These claims are ours: we wrote what they are about, the load generator, and the \
             rules they are judged by. They are judged like any other's; METHODOLOGY.md says in \
             “Our own bias” what we do about that.",
            "这些说法出自我们自己：被测的软件、压测端和判定规则都是我们写的。判定方式与其他说法完全相同；\
             METHODOLOGY.md 的“Our own bias”一节说明了我们为此做了什么。",
        )
    }

    /// How a page says what its words mean.
    pub(super) fn rule(self) -> &'static str {
        self.of(
            "A claim holds if the published ratio lies within the interval we measured here, and \
             is stronger if the whole interval lies above it. It is weaker if we can show the \
             direction, but the whole interval lies below the published ratio. It does not hold if \
             the interval excludes the published ratio and shows no difference in that direction. \
             It is undecided if both the published ratio and no difference at all are possible, \
             whether because of the noise floor or because the generator was the limit. Void means \
             that the measurement doesn't count; the sentence says why. A claim with several \
             findings gets the weakest word, in this order: does not hold, cannot be tested here, \
             no test yet, void, undecided, weaker, holds, stronger. A direction counts only beyond \
             the noise floor, which is named where it decides; METHODOLOGY.md has the rules for \
             single figures, conditions and errors. Ratios, orders and shapes carry over from \
             one machine to another; absolute figures do so only roughly.",
            "如果原文的比值落在我们实测的区间内，该说法成立；如果整个区间都高于原文的比值，则强于原文。\
             如果能证明差异的方向，但整个区间都低于原文的比值，则弱于原文。如果区间排除了原文的比值，\
             也没有显示出该方向的差异，则不成立。如果原文的比值和“毫无差异”都有可能（噪声太大，\
             或者压测端先到极限），则无法判定。作废表示这次测量不算数，后面会说明原因。一条说法有多个判定时，\
             取最弱的一个，由弱到强依次为：不成立、此处无法检验、尚无测试、作废、无法判定、弱于原文、成立、强于原文。差异须超出噪声下限才算数，起决定作用时会注明；\
             单个数字、条件和错误率的判定规则见 METHODOLOGY.md。\
             比值、排序和曲线形状可以从一台机器搬到另一台；绝对数值只能大致参考。",
        )
    }
}

/// Words of findings, in the order in which they are counted.
pub(super) const COUNTED: [Option<Word>; 9] = [
    Some(Word::Holds),
    Some(Word::Stronger),
    Some(Word::Weaker),
    Some(Word::Undecided),
    Some(Word::DoesNotHold),
    Some(Word::Void),
    Some(Word::CannotBeTested),
    Some(Word::NotRun),
    None,
];
