//! What a token says (RFC 7519 §4).

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};

/// Members of a token: more of them are no token of anybody's.
const MEMBERS_MAX: usize = 128;

/// What a good token says, as far as it was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Claims {
    /// `sub`: who it's about. Never empty; like all values here it can be that of a field (RFC 9110
    /// §5.5) and arrives as it is: no control characters, no white space at its ends.
    pub subject: Option<String>,
    /// `exp`: from when on it isn't good any more, in seconds since 1970-01-01 UTC; `u64::MAX`
    /// without one.
    pub expires_at: u64,
    /// What else was asked for by [`Rules::claims`](crate::Rules::claims): names and values, texts
    /// as they are, numbers and truth values as JSON writes them, lists of those with spaces
    /// between. What can't be told so (objects, lists of lists, lists with texts that have spaces
    /// or are empty) is left out. `iss`, `aud`, `exp`, `nbf` and `iat` can be asked for like any
    /// other; an `aud` that is a list is written as one.
    pub others: Vec<(String, String)>,
}

/// All that matters of a payload, before anything of it is judged.
#[derive(Debug, Default)]
pub(crate) struct Payload {
    pub(crate) subject: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) audiences: Vec<String>,
    pub(crate) expires: Option<f64>,
    pub(crate) not_before: Option<f64>,
    pub(crate) others: Vec<(String, String)>,
}

/// Reads a payload, and of its other members those with these names.
pub(crate) struct Wanted<'a>(pub(crate) &'a [String]);

impl<'de> DeserializeSeed<'de> for Wanted<'_> {
    type Value = Payload;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Payload, D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Wanted<'_> {
    type Value = Payload;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the claims of a token")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Payload, A::Error> {
        let mut payload = Payload::default();
        let mut seen = Seen::default();
        while let Some(Name(name)) = map.next_key()? {
            let is_wanted = self.0.iter().any(|wanted| *wanted == name);
            let text = match &*name {
                "sub" => {
                    payload.subject = Some(subject(map.next_value()?)?);
                    None
                }
                "iss" => {
                    let issuer: String = map.next_value()?;
                    let text = is_wanted.then(|| issuer.clone());
                    payload.issuer = Some(issuer);
                    text
                }
                "aud" => {
                    let OneOrMany(audiences, is_list) = map.next_value()?;
                    let text = match is_list {
                        true => is_wanted.then(|| joined(&audiences)).flatten(),
                        false => audiences.first().filter(|_| is_wanted).cloned(),
                    };
                    payload.audiences = audiences;
                    text
                }
                "exp" | "nbf" | "iat" => {
                    let date: NumericDate = map.next_value()?;
                    match &*name {
                        "exp" => payload.expires = Some(date.seconds),
                        "nbf" => payload.not_before = Some(date.seconds),
                        _ => {}
                    }
                    is_wanted.then(|| written(&date.number)).flatten()
                }
                _ if is_wanted => map.next_value::<Plain>()?.0,
                _ => {
                    map.next_value::<IgnoredAny>()?;
                    None
                }
            };
            if let Some(text) = text {
                let text = fit_for_a_field(text)?;
                payload.others.push((name.clone().into_owned(), text));
            }
            seen.add(name)?;
        }
        Ok(payload)
    }
}

/// The names of an object so far.
#[derive(Default)]
pub(crate) struct Seen<'a>(Vec<Cow<'a, str>>);

impl<'a> Seen<'a> {
    /// Adds a name. Two readers of one token must not read two values (RFC 7515 §4, RFC 7519 §4).
    pub(crate) fn add<E: Error>(&mut self, name: Cow<'a, str>) -> Result<(), E> {
        if self.0.contains(&name) || self.0.len() >= MEMBERS_MAX {
            return Err(E::custom("a member comes twice, or there are too many"));
        }
        self.0.push(name);
        Ok(())
    }
}

/// Somebody.
fn subject<E: Error>(text: String) -> Result<String, E> {
    if text.is_empty() {
        return Err(E::custom("a token about nobody"));
    }
    fit_for_a_field(text)
}

/// A text that servers behind a gateway are told in a field. It must neither end the field and
/// begin another one nor become somebody else's by the white space that a parser drops (RFC 9110
/// §5.5).
fn fit_for_a_field<E: Error>(text: String) -> Result<String, E> {
    match text.chars().any(char::is_control) || text.trim().len() != text.len() {
        true => Err(E::custom("a text that can't be the value of a field")),
        false => Ok(text),
    }
}

/// A text, borrowed where it has no escapes.
#[derive(Debug)]
pub(crate) struct Name<'a>(pub(crate) Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name<'de>, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Name<'de>, E> {
                Ok(Name(Cow::Owned(text.to_owned())))
            }
        }
        from.deserialize_str(Read)
    }
}

/// Seconds since 1970-01-01 UTC, perhaps with a fraction (RFC 7519 §2); none before.
struct NumericDate {
    seconds: f64,
    number: serde_json::Number,
}

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<NumericDate, D::Error> {
        let number = serde_json::Number::deserialize(from)?;
        let seconds = number.as_f64();
        match seconds.filter(|seconds| seconds.is_finite() && *seconds >= 0.0) {
            Some(seconds) => Ok(NumericDate { seconds, number }),
            None => Err(D::Error::custom("no time")),
        }
    }
}

/// A text, or a list of texts, and whether it's a list.
struct OneOrMany(Vec<String>, bool);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<OneOrMany, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()], false))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(OneOrMany(all, true))
            }
        }
        from.deserialize_any(Read)
    }
}

/// A value that can be the value of a field; `None` for all others.
struct Plain(Option<String>);

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Plain, D::Error> {
        let value = serde_json::Value::deserialize(from)?;
        let plain = |value: &serde_json::Value| match value {
            serde_json::Value::String(text) => Some(text.clone()),
            serde_json::Value::Number(number) => written(number),
            serde_json::Value::Bool(truth) => Some(truth.to_string()),
            _ => None,
        };
        Ok(Plain(match &value {
            serde_json::Value::Array(list) => {
                let texts: Option<Vec<String>> = list.iter().map(plain).collect();
                texts.and_then(|texts| joined(&texts))
            }
            one => plain(one),
        }))
    }
}

/// A list with spaces between; `None` if one would be read as two, or as none.
fn joined(texts: &[String]) -> Option<String> {
    let one = |text: &String| !text.is_empty() && !text.contains(' ');
    texts.iter().all(one).then(|| texts.join(" "))
}

/// A number as the token has it, but for zeros and the form of its exponent. Beyond these, two
/// numbers could be written the same.
fn written(number: &serde_json::Number) -> Option<String> {
    let small = |value: f64| value.abs() < 9e15;
    let is_exact = number.is_i64() || number.is_u64() || number.as_f64().is_some_and(small);
    is_exact.then(|| number.to_string())
}
