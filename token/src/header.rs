//! The header of a token (RFC 7515 §4).

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// What matters of it. A member that comes twice is an error (RFC 7515 §4: they must be unique).
#[derive(Debug, Deserialize)]
pub(crate) struct Header<'a> {
    #[serde(borrow)]
    pub(crate) alg: Cow<'a, str>,
    #[serde(borrow, default)]
    pub(crate) kid: Option<Cow<'a, str>>,
    /// That it's there is enough: no extension is understood here.
    #[serde(default)]
    pub(crate) crit: Option<IgnoredAny>,
}
