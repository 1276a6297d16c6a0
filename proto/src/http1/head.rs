//! Reading heads: where they end, whether they are valid, what they mean for the connection.

#[derive(Clone, Copy, Debug)]
pub(super) struct ResponseHead {}

#[derive(Clone, Copy, Debug)]
pub(super) struct RequestHead {}

/// Whether `bytes` is a token (RFC 9110 §5.6.2).
pub(super) fn is_token(bytes: &[u8]) -> bool {
    !bytes.is_empty() && bytes.iter().all(|&byte| TOKEN[byte as usize])
}

/// Whether `bytes` is a field value (RFC 9110 §5.5).
pub(super) fn is_field_value(bytes: &[u8]) -> bool {
    bytes.trim_ascii().len() == bytes.len()
        && bytes
            .iter()
            .all(|&byte| byte == b'\t' || (byte >= b' ' && byte != 0x7f))
}

/// Whether `bytes` is a host with an optional port (RFC 9110 §7.2). Only the alphabet is checked.
pub(super) fn is_host(bytes: &[u8]) -> bool {
    bytes
        .iter()
        .all(|&byte| byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=%:[]".contains(&byte))
}

static TOKEN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let marks = b"!#$%&'*+-.^_`|~";
    let mut at = 0;
    while at < marks.len() {
        table[marks[at] as usize] = true;
        at += 1;
    }
    table
};
