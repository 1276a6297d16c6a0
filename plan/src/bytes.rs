//! Bytes as they stand in JSON.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::redaction;

/// Bytes in JSON: in base64, or what stands in their place, which is no base64.
pub(crate) mod body_base64 {
    use serde::{Deserialize, Deserializer, Serializer};

    use super::{bytes_of, text_of};

    pub(crate) fn serialize<S: Serializer>(body: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&text_of(body))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u8>, D::Error> {
        bytes_of(String::deserialize(from)?).map_err(serde::de::Error::custom)
    }
}

/// The same of a list.
pub(crate) mod base64_list {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use super::{bytes_of, text_of};

    pub(crate) fn serialize<S: Serializer>(items: &[Vec<u8>], to: S) -> Result<S::Ok, S::Error> {
        let texts: Vec<String> = items.iter().map(|item| text_of(item)).collect();
        texts.serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Vec<Vec<u8>>, D::Error> {
        let texts = Vec::<String>::deserialize(from)?;
        let decoded = texts.into_iter().map(bytes_of);
        decoded
            .collect::<Result<_, _>>()
            .map_err(serde::de::Error::custom)
    }
}

fn text_of(body: &[u8]) -> String {
    match redaction::is_hidden_body(body) {
        true => String::from_utf8_lossy(body).into_owned(),
        false => STANDARD.encode(body),
    }
}

fn bytes_of(text: String) -> Result<Vec<u8>, base64::DecodeError> {
    match redaction::is_hidden_body(text.as_bytes()) {
        true => Ok(text.into_bytes()),
        false => STANDARD.decode(text),
    }
}
