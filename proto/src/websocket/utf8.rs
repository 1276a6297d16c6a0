//! UTF-8 that comes in pieces (RFC 3629 §4).

/// What a piece left unfinished.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Utf8 {
    /// Bytes that the character still needs.
    needed: u8,
    /// What the next of them must lie between.
    low: u8,
    high: u8,
}

impl Utf8 {
    /// Reads on: how many of `bytes` may stand there. Where it is not all of them, the next one may
    /// not, and this is done for.
    #[inline]
    pub(super) fn check(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        while self.needed > 0 {
            match bytes.get(at) {
                Some(&byte) if self.step(byte) => at += 1,
                _ => return at,
            }
        }
        // The standard library reads ASCII by words, and tells where it stopped.
        match std::str::from_utf8(&bytes[at..]) {
            Ok(_) => bytes.len(),
            Err(error) => {
                let stopped = at + error.valid_up_to();
                let stepped = bytes[stopped..].iter().take_while(|byte| self.step(**byte));
                stopped + stepped.count()
            }
        }
    }

    /// Whether the last character is whole.
    pub(super) fn is_whole(self) -> bool {
        self.needed == 0
    }

    /// Takes one byte; false if it may not stand here.
    fn step(&mut self, byte: u8) -> bool {
        if self.needed > 0 {
            let fits = (self.low..=self.high).contains(&byte);
            (self.low, self.high) = (0x80, 0xbf);
            self.needed -= 1;
            return fits;
        }
        // Overlong forms, surrogates and what lies beyond U+10FFFF show in the second byte.
        (self.needed, self.low, self.high) = match byte {
            0x00..=0x7f => (0, 0, 0),
            0xc2..=0xdf => (1, 0x80, 0xbf),
            0xe0 => (2, 0xa0, 0xbf),
            0xed => (2, 0x80, 0x9f),
            0xe1..=0xef => (2, 0x80, 0xbf),
            0xf0 => (3, 0x90, 0xbf),
            0xf4 => (3, 0x80, 0x8f),
            0xf1..=0xf3 => (3, 0x80, 0xbf),
            _ => return false,
        };
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every sequence of up to three bytes, and of four with few choices, cut everywhere.
    #[test]
    fn it_agrees_with_the_standard_library_wherever_it_is_cut() {
        const BYTES: [u8; 22] = [
            0x00, 0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc2, 0xdf, 0xe0,
            0xe1, 0xed, 0xef, 0xf0, 0xf1, 0xf4, 0xf5, 0xff,
        ];
        let mut text = [0; 4];
        for number in 0..22usize.pow(4) {
            let mut rest = number;
            for byte in &mut text {
                *byte = BYTES[rest % 22];
                rest /= 22;
            }
            let whole = accepted(&[&text]);
            assert_eq!(
                whole == (4, true),
                std::str::from_utf8(&text).is_ok(),
                "{text:x?}"
            );
            for cut in 1..4 {
                let (a, b) = text.split_at(cut);
                assert_eq!(accepted(&[a, b]), whole, "{text:x?} cut at {cut}");
            }
        }
    }

    /// How many bytes were accepted, and whether that is all and ends with a whole character.
    fn accepted(pieces: &[&[u8]]) -> (usize, bool) {
        let (mut utf8, mut sum) = (Utf8::default(), 0);
        for piece in pieces {
            let taken = utf8.check(piece);
            sum += taken;
            if taken < piece.len() {
                return (sum, false);
            }
        }
        (sum, utf8.is_whole())
    }
}
