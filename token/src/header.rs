//! The header of a token (RFC 7515 §4).

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::claims::{Name, Seen};

/// What matters of it. A member that comes twice is an error, whatever it's called (RFC 7515 §4:
/// they must be unique).
#[derive(Debug)]
pub(crate) struct Header<'a> {
    pub(crate) alg: Cow<'a, str>,
    pub(crate) kid: Option<Cow<'a, str>>,
    pub(crate) typ: Option<Cow<'a, str>>,
    /// Whether there's a `crit`, even one that is null: no extension is understood here.
    pub(crate) is_critical: bool,
}

impl<'de> Deserialize<'de> for Header<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Header<'de>, D::Error> {
        struct Read;
        impl<'de> Visitor<'de> for Read {
            type Value = Header<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the header of a token")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Header<'de>, A::Error> {
                let (mut alg, mut kid, mut typ, mut is_critical) = (None, None, None, false);
                let mut seen = Seen::default();
                while let Some(Name(name)) = map.next_key()? {
                    match &*name {
                        "alg" => alg = Some(map.next_value::<Name<'de>>()?.0),
                        "kid" => kid = map.next_value::<Option<Name<'de>>>()?.map(|Name(kid)| kid),
                        "typ" => typ = map.next_value::<Option<Name<'de>>>()?.map(|Name(typ)| typ),
                        _ => {
                            is_critical |= name == "crit";
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                    seen.add(name)?;
                }
                let alg = alg.ok_or_else(|| A::Error::missing_field("alg"))?;
                Ok(Header {
                    alg,
                    kid,
                    typ,
                    is_critical,
                })
            }
        }
        from.deserialize_map(Read)
    }
}
