//! What lets somebody in: a token that is made anew for each run.

use std::fmt::{self, Write};
use std::fs::File;
use std::io::{self, Read};

use subtle::ConstantTimeEq;

/// 128 bits, in hexadecimal.
const BYTES: usize = 16;

/// The token of one run. It's in the page's URL and nowhere else.
pub(super) struct Key(String);

impl Key {
    /// A new one, from the kernel's generator.
    pub(super) fn random() -> io::Result<Key> {
        let mut bytes = [0; BYTES];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut text = String::with_capacity(2 * BYTES);
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Key(text))
    }

    /// As it is written into the URL.
    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Whether `given` is it. How long this takes says nothing of where they differ.
    pub(super) fn is(&self, given: &[u8]) -> bool {
        self.0.as_bytes().ct_eq(given).into()
    }
}

/// So that it's never in a message.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_but_the_token_itself_lets_in() {
        let (key, other) = (Key::random().unwrap(), Key::random().unwrap());
        let text = key.text().as_bytes();
        assert_eq!(text.len(), 32);
        assert!(key.is(text) && !other.is(text));
        let (longer, shorter) = ([text, b"0"].concat(), &text[1..]);
        assert!(!key.is(&longer) && !key.is(shorter) && !key.is(b""));
        assert_eq!(format!("{key:?}"), "Key");
    }
}
