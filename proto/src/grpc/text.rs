//! The text of a status (Status-Message): UTF-8, percent-encoded where it is not printable ASCII.

/// Appends the `grpc-message` that carries `text`.
pub fn encode_message(text: &str, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        match byte {
            b'%' | 0..b' ' | 0x7f.. => out.extend_from_slice(&[
                b'%',
                DIGITS[usize::from(byte >> 4)],
                DIGITS[usize::from(byte & 15)],
            ]),
            _ => out.push(byte),
        }
    }
}

/// The text that a `grpc-message` carries. Nothing in it is an error: what is not an escape stays
/// as it is, and what is not UTF-8 then becomes U+FFFD.
pub fn decode_message(value: &[u8]) -> String {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&first, behind)) = rest.split_first() {
        rest = behind;
        match behind {
            &[high, low, ref behind @ ..] if first == b'%' => match (digit(high), digit(low)) {
                (Some(high), Some(low)) => {
                    bytes.push(high << 4 | low);
                    rest = behind;
                }
                _ => bytes.push(first),
            },
            _ => bytes.push(first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn digit(byte: u8) -> Option<u8> {
    char::from(byte).to_digit(16).map(|digit| digit as u8)
}
