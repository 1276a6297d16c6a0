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
    /// `sub`: who it's about.
    pub subject: Option<String>,
    /// `exp`: from when on it isn't good any more, in seconds since 1970-01-01 UTC; `u64::MAX`
    /// without one.
    pub expires_at: u64,
    /// What else was asked for by [`Rules::claims`](crate::Rules::claims): names and values, texts
    /// as they are, numbers and truth values as JSON writes them, lists of those with spaces
    /// between.
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
        let mut seen: Vec<Cow<'de, str>> = Vec::with_capacity(8);
        while let Some(Name(name)) = map.next_key()? {
            // Two readers of one token must not read two values (RFC 7519 §4).
            if seen.contains(&name) || seen.len() >= MEMBERS_MAX {
                return Err(A::Error::custom(
                    "a member comes twice, or there are too many",
                ));
            }
            match &*name {
                "sub" => payload.subject = Some(map.next_value()?),
                "iss" => payload.issuer = Some(map.next_value()?),
                "aud" => payload.audiences = map.next_value::<OneOrMany>()?.0,
                "exp" => payload.expires = Some(map.next_value::<NumericDate>()?.0),
                "nbf" => payload.not_before = Some(map.next_value::<NumericDate>()?.0),
                "iat" => {
                    map.next_value::<NumericDate>()?;
                }
                _ if !self.0.iter().any(|wanted| *wanted == name) => {
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    if let Plain(Some(text)) = map.next_value()? {
                        payload.others.push((name.clone().into_owned(), text));
                    }
                }
            }
            seen.push(name);
        }
        Ok(payload)
    }
}

/// A name, borrowed where it has no escapes.
struct Name<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Name<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Name<'de>, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Name<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a name")
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
struct NumericDate(f64);

impl<'de> Deserialize<'de> for NumericDate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<NumericDate, D::Error> {
        let seconds = f64::deserialize(from)?;
        match seconds.is_finite() && seconds >= 0.0 {
            true => Ok(NumericDate(seconds)),
            false => Err(D::Error::custom("no time")),
        }
    }
}

/// A text, or a list of texts.
struct OneOrMany(Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<OneOrMany, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = OneOrMany;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of texts")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(vec![text.to_owned()]))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<OneOrMany, A::Error> {
                let mut all = Vec::new();
                while let Some(one) = list.next_element()? {
                    all.push(one);
                }
                Ok(OneOrMany(all))
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
            serde_json::Value::Number(number) => Some(number.to_string()),
            serde_json::Value::Bool(truth) => Some(truth.to_string()),
            _ => None,
        };
        Ok(Plain(match &value {
            serde_json::Value::Array(list) => {
                let texts: Option<Vec<String>> = list.iter().map(plain).collect();
                texts.map(|texts| texts.join(" "))
            }
            one => plain(one),
        }))
    }
}
