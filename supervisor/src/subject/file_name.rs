//! Names of files that can't point elsewhere.

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::is_plain_name;

/// The name of a file, without folders: it cannot point outside the place it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName(String);

impl FileName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for FileName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<FileName, D::Error> {
        let text = String::deserialize(from)?;
        match is_plain_name(&text) {
            true => Ok(FileName(text)),
            false => Err(D::Error::custom(format!(
                "`{text}` isn't a plain file name; expected one without folders, such as \
                 \"app.conf\""
            ))),
        }
    }
}
