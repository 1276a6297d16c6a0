//! What an argument holds itself, or names a file for.

use std::fs;

/// The longest body that `-b` sends, in bytes: each worker keeps a copy in memory.
const BODY_BYTES_MAX: usize = 64 << 20;

/// What an argument says itself, or what is in the file that it names behind an @.
///
/// # Errors
///
/// A sentence if that file can't be read, or is longer than 64 MiB.
pub fn read(flag: &str, text: &str) -> Result<Vec<u8>, String> {
    let Some(path) = text.strip_prefix('@') else {
        return Ok(text.as_bytes().to_vec());
    };
    let bytes = fs::read(path).map_err(|error| {
        format!("{flag} @{path}: can't read it: {error}; give the path of a readable file")
    })?;
    if bytes.len() > BODY_BYTES_MAX {
        return Err(format!(
            "{flag} @{path}: the file is longer than the limit of {BODY_BYTES_MAX} bytes"
        ));
    }
    Ok(bytes)
}

/// The body that `-b` names or is.
///
/// # Errors
///
/// As [`read`], and for an empty file.
pub fn read_body(text: &str) -> Result<Vec<u8>, String> {
    let body = read("-b", text)?;
    if body.is_empty() && text.starts_with('@') {
        return Err(format!(
            "-b {text}: the file is empty; drop -b to send no body"
        ));
    }
    Ok(body)
}
