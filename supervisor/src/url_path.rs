//! The path of a URL, as a comparison or a subject writes it.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

/// What stands for the payload: in a path its length, elsewhere so many bytes.
pub(crate) const PAYLOAD: &str = "{payload}";

/// The path of a URL: begins with a slash and holds no blanks outside of `{{templates}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UrlPath(String);

impl UrlPath {
    /// `/`.
    pub(crate) fn root() -> UrlPath {
        UrlPath("/".to_owned())
    }

    /// The same with `{payload}` filled in.
    pub(crate) fn with_payload(&self, bytes: u64) -> UrlPath {
        UrlPath(self.0.replace(PAYLOAD, &bytes.to_string()))
    }

    /// The path.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UrlPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for UrlPath {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<UrlPath, D::Error> {
        let text = String::deserialize(from)?;
        let graphic = |part: &str| part.bytes().all(|byte| byte.is_ascii_graphic());
        let (before, templates) = text.split_once("{{").unwrap_or((text.as_str(), ""));
        // What stands before the end of a template is its own.
        let behind = |part: &str| graphic(part.split_once("}}").map_or(part, |(_, rest)| rest));
        if text.starts_with('/') && graphic(before) && templates.split("{{").all(behind) {
            return Ok(UrlPath(text));
        }
        Err(D::Error::custom(format!(
            "`{text}` isn't a path; it must start with `/` and have no spaces"
        )))
    }
}
