//! Figures as posts write them: `"98,432"`, `"10万"`, `"4.26ms"`, and quotients of two of them.
//! Where a claim is judged by a ratio, its file gives the two figures and not their quotient, so
//! that each can be looked up in the post.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};

/// A published value together with the figures that it is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Stated {
    /// What they come to.
    pub value: f64,
    /// The figures as they are written in the claim's file.
    pub text: String,
}

impl Stated {
    /// The figures by themselves, without the factors that stand between two units.
    pub fn figures(&self) -> Vec<f64> {
        let mut figures = numbers(&self.text, Letters::Count);
        figures.retain(|figure| ![1e3, 1e6, 1e9].contains(figure));
        figures
    }

    /// Reads a figure, or several with ` / `, ` * ` or ` + ` between them, from left to right.
    pub fn parse(text: &str) -> Option<Stated> {
        let mut words = text.split(' ');
        let mut value = whole(words.next()?)?;
        while let Some(sign) = words.next() {
            let next = whole(words.next()?)?;
            value = match sign {
                "/" => value / next,
                "*" => value * next,
                "+" => value + next,
                _ => return None,
            };
        }
        let good = value.is_finite() && value > 0.0;
        good.then(|| Stated {
            value,
            text: text.to_owned(),
        })
    }
}

impl From<f64> for Stated {
    fn from(value: f64) -> Stated {
        Stated {
            value,
            text: value.to_string(),
        }
    }
}

/// A number that is all of `text`, thousands apart or not.
fn whole(text: &str) -> Option<f64> {
    let plain = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    let digits = text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(plain);
    digits
        .then(|| text.replace(',', "").parse().ok())
        .flatten()
        .filter(|number| *number > 0.0)
}

impl<'de> Deserialize<'de> for Stated {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Stated, D::Error> {
        from.deserialize_any(Reader)
    }
}

struct Reader;

impl Reader {
    fn number<E: serde::de::Error>(value: f64) -> Result<Stated, E> {
        match value.is_finite() && value > 0.0 {
            true => Ok(value.into()),
            false => Err(E::custom(format!("{value} isn't above zero"))),
        }
    }
}

impl Visitor<'_> for Reader {
    type Value = Stated;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a number, or published figures such as \"98,432 / 86,741\"")
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Stated, E> {
        Reader::number(value)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<Stated, E> {
        Reader::number(value as f64)
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Stated, E> {
        Stated::parse(text).ok_or_else(|| E::invalid_value(Unexpected::Str(text), &self))
    }
}

/// A published multiple, or the range that a post gives for it.
#[derive(Clone, Debug, PartialEq)]
pub struct Multiple {
    /// The least; the same as the most where one figure was published.
    pub least: f64,
    /// The most.
    pub most: f64,
    /// The figures that it is made of.
    pub figures: Vec<f64>,
}

impl Multiple {
    /// The same from the other side: how many times the second is of the first.
    pub fn inverse(&self) -> Multiple {
        Multiple {
            least: self.most.recip(),
            most: self.least.recip(),
            figures: self.figures.clone(),
        }
    }

    /// Whether it says that there is no difference.
    pub fn is_one(&self) -> bool {
        (self.least, self.most) == (1.0, 1.0)
    }

    /// Reads published figures, or by how much one thing is above or below another: `+15%`, `-60%`.
    fn parse(text: &str) -> Option<Multiple> {
        let Some(percent) = text.strip_suffix('%') else {
            return Stated::parse(text).map(Multiple::from);
        };
        let (sign, amount) = match percent.strip_prefix('+') {
            Some(amount) => (1.0, amount),
            None => (-1.0, percent.strip_prefix('-')?),
        };
        let amount = whole(amount).filter(|_| !amount.contains(','))?;
        let value = 1.0 + sign * amount / 100.0;
        (value > 0.0).then(|| Multiple {
            least: value,
            most: value,
            figures: vec![amount],
        })
    }

    /// From the least to the most, which have to be on one side of 1.
    fn range(least: Multiple, most: Multiple) -> Option<Multiple> {
        let ordered = least.least < most.most;
        let one_sided = least.least >= 1.0 || most.most <= 1.0;
        (ordered && one_sided).then(|| Multiple {
            least: least.least,
            most: most.most,
            figures: [least.figures, most.figures].concat(),
        })
    }
}

impl From<Stated> for Multiple {
    fn from(stated: Stated) -> Multiple {
        Multiple {
            least: stated.value,
            most: stated.value,
            figures: stated.figures(),
        }
    }
}

impl From<f64> for Multiple {
    fn from(value: f64) -> Multiple {
        Stated::from(value).into()
    }
}

impl<'de> Deserialize<'de> for Multiple {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Multiple, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(f64),
            Text(String),
            Range(String, String),
        }
        let read = match Written::deserialize(from) {
            Ok(Written::Number(value)) if value.is_finite() && value > 0.0 => Some(value.into()),
            Ok(Written::Text(text)) => Multiple::parse(&text),
            Ok(Written::Range(least, most)) => Multiple::parse(&least)
                .zip(Multiple::parse(&most))
                .and_then(|(least, most)| Multiple::range(least, most)),
            _ => None,
        };
        read.ok_or_else(|| {
            D::Error::custom(
                "expected a published multiple above zero: a number, figures such as \
                 \"98,432 / 86,741\", a gain or a loss such as \"+15%\" or \"-60%\", or the least \
                 and the most of these, both above 1 or both below",
            )
        })
    }
}

/// A published share, which may be zero: `"0.2%"`, or a quotient.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// The share, from 0 to 1.
    pub value: f64,
    /// What rounds to it as well, to either side: half of the last decimal that is written.
    pub rounding: f64,
    /// The figures that it is made of.
    pub figures: Vec<f64>,
}

impl Share {
    fn parse(text: &str) -> Option<Share> {
        let (value, rounding, figures) = match text.strip_suffix('%') {
            Some(number) => {
                let percent: f64 = number.parse().ok()?;
                let decimals = number.split_once('.').map(|(_, decimals)| decimals.len());
                let decimals = match decimals {
                    Some(0) => return None,
                    decimals => decimals,
                };
                let last = decimals.map_or(0.0, |count| 10f64.powi(-(count as i32)));
                (percent / 100.0, last / 200.0, vec![percent])
            }
            None => {
                let stated = Stated::parse(text)?;
                (stated.value, 0.0, stated.figures())
            }
        };
        let good = (0.0..=1.0).contains(&value);
        good.then_some(Share {
            value,
            rounding,
            figures,
        })
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Share, D::Error> {
        let text = String::deserialize(from)?;
        Share::parse(&text).ok_or_else(|| {
            D::Error::custom(format!(
                "`{text}` isn't a share; expected a percentage such as \"0.2%\", or published \
                 figures such as \"12 / 23,450 / 30\""
            ))
        })
    }
}

/// What a number right behind a letter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Letters {
    /// A number like any other: `4C8G` has two.
    Count,
    /// Part of a name: `P99` has none.
    Name,
}

/// The numbers in a text. `10k`, `10万` and `百万` are the numbers that they stand for.
pub(super) fn numbers(text: &str, letters: Letters) -> Vec<f64> {
    let chars: Vec<char> = text.chars().collect();
    let digit = |at: usize| chars.get(at).is_some_and(char::is_ascii_digit);
    let (mut found, mut at) = (Vec::new(), 0);
    while at < chars.len() {
        if chars[at] == '百' && chars.get(at + 1) == Some(&'万') {
            found.push(1e6);
        }
        if !digit(at) {
            at += 1;
            continue;
        }
        let start = at;
        while digit(at) || (matches!(chars.get(at), Some('.' | ',')) && digit(at + 1)) {
            at += 1;
        }
        let named = start > 0 && chars[start - 1].is_ascii_alphabetic();
        let written: String = chars[start..at].iter().filter(|c| **c != ',').collect();
        let Ok(number) = written.parse::<f64>() else {
            continue;
        };
        let next = chars.get(at + 1);
        let times = match chars.get(at) {
            Some('万') => 1e4,
            Some(' ') if next == Some(&'万') => 1e4,
            Some('k') if !next.is_some_and(char::is_ascii_alphabetic) => 1e3,
            _ => 1.0,
        };
        if letters == Letters::Count || !named {
            found.push(number * times);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        for (text, letters, expected) in [
            ("98,432", Letters::Count, &[98_432.0][..]),
            ("10万并发", Letters::Count, &[1e5]),
            ("90 万 QPS", Letters::Name, &[9e5]),
            ("百万级", Letters::Count, &[1e6]),
            ("5k, 8k and 10k", Letters::Name, &[5e3, 8e3, 1e4]),
            ("4C8G", Letters::Count, &[4.0, 8.0]),
            ("P99 of 42ms, 4.26ms", Letters::Name, &[42.0, 4.26]),
            ("10 kB of 1.5", Letters::Name, &[10.0, 1.5]),
            ("none at all.", Letters::Name, &[]),
        ] {
            assert_eq!(numbers(text, letters), expected, "{text}");
        }
    }

    #[test]
    fn a_published_multiple_is_one_figure_or_the_ends_of_a_range() {
        #[derive(Deserialize)]
        struct File {
            published: Multiple,
        }
        let read = |text: &str| {
            let file: Result<File, _> = toml::from_str(&format!("published = {text}"));
            file.ok().map(|file| {
                let Multiple { least, most, .. } = file.published;
                ([least, most], file.published.figures)
            })
        };
        for (text, ends, figures) in [
            ("6.5", [6.5, 6.5], &[6.5][..]),
            ("\"45.6 / 42.3\"", [45.6 / 42.3; 2], &[45.6, 42.3]),
            ("\"+13.5%\"", [1.135; 2], &[13.5]),
            ("\"-60%\"", [0.4; 2], &[60.0]),
            ("[\"+15%\", \"+20%\"]", [1.15, 1.2], &[15.0, 20.0]),
            ("[\"0.2\", \"0.3\"]", [0.2, 0.3], &[0.2, 0.3]),
        ] {
            let (found, of) = read(text).expect(text);
            let near = |(a, b): (f64, f64)| (a / b - 1.0).abs() < 1e-12;
            assert!(found.into_iter().zip(ends).all(near), "{text}: {found:?}");
            assert_eq!(of, figures, "{text}");
        }
        for wrong in [
            "0",
            "-1",
            "\"15%\"",
            "\"-100%\"",
            "\"+%\"",
            "[\"+20%\", \"+15%\"]",
            "[\"0.9\", \"1.1\"]",
            "[\"2\"]",
            "[\"2\", \"2\"]",
            "true",
        ] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
        let inverse = Multiple::range(2.0.into(), 4.0.into())
            .expect("a range")
            .inverse();
        assert_eq!([inverse.least, inverse.most], [0.25, 0.5]);
    }

    #[test]
    fn a_published_value_is_a_figure_or_made_of_figures() {
        let value = |text: &str| Stated::parse(text).map(|stated| stated.value);
        assert_eq!(value("876,000 / 8"), Some(109_500.0));
        assert_eq!(value("256 + 320"), Some(576.0));
        assert_eq!(value("6.7"), Some(6.7));
        for wrong in ["", "six", "6 /", "6 - 5", "6/5", "6 / 0", "-6", "1e9"] {
            assert_eq!(value(wrong), None, "{wrong}");
        }
        let stated = Stated::parse("98,432 / 86,741").expect("two figures");
        assert_eq!(stated.figures(), [98_432.0, 86_741.0]);
        let share = |text: &str| Share::parse(text).map(|share| (share.value, share.figures));
        assert_eq!(share("0.2%"), Some((0.002, vec![0.2])));
        assert_eq!(share("0%"), Some((0.0, vec![0.0])));
        assert_eq!(share("1 / 4"), Some((0.25, vec![1.0, 4.0])));
        let rounding = |text: &str| Share::parse(text).map(|share| share.rounding);
        assert_eq!(
            ["0%", "0.0%", "0.01%", "1 / 4"].map(rounding),
            [0.0, 0.0005, 0.00005, 0.0].map(Some)
        );
        assert_eq!(
            (share("4 / 1"), share("-1%"), share("0.%")),
            (None, None, None)
        );
    }
}
