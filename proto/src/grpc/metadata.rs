//! Fields that the caller adds to a call (Custom-Metadata).

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::Misuse;

/// Names that end so carry bytes, in base64.
const BINARY_SUFFIX: &str = "-bin";

/// Written without padding, read with or without it, as the standard asks.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The value of a field whose name ends in `-bin`.
pub fn encode_binary(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// The bytes in a field whose name ends in `-bin`: several if the value is a list. `None` if one is
/// no base64.
pub fn decode_binary(value: &[u8]) -> Option<Vec<Vec<u8>>> {
    value
        .split(|&byte| byte == b',')
        .map(|item| BASE64.decode(item.trim_ascii()).ok())
        .collect()
}

/// The field that carries this metadata, with its name in lower case.
pub(super) fn field(name: &str, value: &[u8]) -> Result<(String, Vec<u8>), Misuse> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    if name.is_empty() || !name.bytes().all(allowed) {
        return Err(Misuse::new(format!(
            "the metadata name {name:?} has other characters than letters, digits, _, - and ."
        )));
    }
    let name = name.to_ascii_lowercase();
    let own = ["te", "content-type", "content-length"].contains(&name.as_str());
    if own || name.starts_with("grpc-") {
        return Err(Misuse::new(format!(
            "the metadata name {name} is one that gRPC itself uses"
        )));
    }
    if name.ends_with(BINARY_SUFFIX) {
        return Ok((name, encode_binary(value).into_bytes()));
    }
    if !value.iter().all(|byte| (b' '..=b'~').contains(byte)) {
        return Err(Misuse::new(format!(
            "the value of the metadata {name} has bytes that are not printable ASCII; with a name \
             that ends in -bin it may"
        )));
    }
    Ok((name, value.trim_ascii().to_vec()))
}
