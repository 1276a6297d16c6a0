//! Text that comes from outside: from a server, a subject, a file. Where it is shown it must not
//! command: no escape sequence reaches a terminal, nothing hides or turns around what stands beside
//! it, and none of it is endless.
//!
//! [`Foreign`] is such a text. It shows itself in one way only, so whoever puts it into a sentence
//! cannot forget to clean it. What goes to a terminal or into a file as a whole is looked through
//! once more on its way out, by [`screened`] and [`json`].

use std::borrow::Cow;
use std::fmt::{self, Write};

/// The most characters that are shown of a foreign text.
pub const CHARACTERS_MAX: usize = 300;

/// The colours that our own programs ask a terminal for (ECMA-48 §8.3.117, SGR).
const OWN_COLOURS: [&str; 6] = [
    "\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[31m", "\x1b[32m", "\x1b[33m",
];

/// A text from outside. Shown with what is not visible in it escaped, on one line, and cut where it
/// is long.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Foreign(String);

impl Foreign {
    /// A text.
    pub fn new(text: impl Into<String>) -> Foreign {
        Foreign(text.into())
    }

    /// Bytes that should be text.
    pub fn of_bytes(bytes: &[u8]) -> Foreign {
        Foreign(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it is exactly this.
    pub fn is(&self, text: &str) -> bool {
        self.0 == text
    }
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars().take(CHARACTERS_MAX) {
            match is_visible(c) {
                true => f.write_char(c)?,
                false => write!(f, "{}", c.escape_default())?,
            }
        }
        match self.0.chars().count() {
            all if all > CHARACTERS_MAX => {
                write!(f, "… (and {} characters more)", all - CHARACTERS_MAX)
            }
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{self}\"")
    }
}

/// Whether a character is one that is seen, and that leaves those around it where they are: no
/// control character, no sign of the other direction of writing, nothing without width.
fn is_visible(c: char) -> bool {
    let hides = matches!(c,
        '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}');
    !c.is_control() && !hides
}

/// A whole output, fit for a terminal or a file to read: lines and our own colours stay, whatever
/// else is not visible is escaped.
pub fn screened(text: &str) -> Cow<'_, str> {
    without_unseen(text, &OWN_COLOURS)
}

/// The same of a document, which has no colours of that kind: those in it are somebody else's.
pub fn document(text: &str) -> Cow<'_, str> {
    without_unseen(text, &[])
}

fn without_unseen<'t>(text: &'t str, colours: &[&str]) -> Cow<'t, str> {
    let stays = |c: char| is_visible(c) || c == '\n' || c == '\t';
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let colour = colours.iter().find(|colour| rest.starts_with(**colour));
        let length = colour.map_or(c.len_utf8(), |colour| colour.len());
        match stays(c) || colour.is_some() {
            true => made.push_str(&rest[..length]),
            false => made.extend(c.escape_default()),
        }
        rest = &rest[length..];
    }
    Cow::Owned(made)
}

/// JSON whose strings hold nothing that is not visible but as an escape, which reads back as what
/// it was (RFC 8259 §7). Between strings JSON has nothing of that kind but white space.
pub fn json(text: &str) -> Cow<'_, str> {
    let stays = |c: char| is_visible(c) || matches!(c, '\n' | '\r' | '\t');
    if text.chars().all(stays) {
        return Cow::Borrowed(text);
    }
    let mut made = String::with_capacity(text.len());
    for c in text.chars() {
        if stays(c) {
            made.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            // Writing to a string does not fail.
            let _ = write!(made, "\\u{unit:04x}");
        }
    }
    Cow::Owned(made)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A title, a cleared screen, a bell, C1's CSI, a turned text, a hidden one, a tag, a line end.
    const NASTY: &str =
        "a\x1b]0;x\x07\x1b[2J\u{9b}2J\u{202e}b\u{200b}c\u{e0041}d\r\ne\x7f\x1b[31m ü 漢";

    #[test]
    fn a_foreign_text_shows_what_cannot_be_seen() {
        let shown = Foreign::new(NASTY).to_string();
        let expected = "a\\u{1b}]0;x\\u{7}\\u{1b}[2J\\u{9b}2J\\u{202e}b\\u{200b}c\\u{e0041}d\\r\\n\
                        e\\u{7f}\\u{1b}[31m ü 漢";
        assert_eq!(shown, expected);
        assert_eq!(format!("{:?}", Foreign::new("a\x1b")), "\"a\\u{1b}\"");
        assert_eq!(
            Foreign::of_bytes(b"\xff\x1b").to_string(),
            "\u{fffd}\\u{1b}"
        );
    }

    #[test]
    fn a_document_has_no_colours_of_a_terminal() {
        assert_eq!(screened("a\x1b[31mb\x1b"), "a\x1b[31mb\\u{1b}");
        assert_eq!(document("a\x1b[31mb\n"), "a\\u{1b}[31mb\n");
    }

    #[test]
    fn a_foreign_text_has_an_end() {
        let shown = Foreign::new("\x1b".repeat(1_000_000)).to_string();
        assert!(shown.len() < 3000, "{}", shown.len());
        assert!(shown.ends_with("… (and 999700 characters more)"), "{shown}");
    }

    #[test]
    fn an_output_keeps_its_lines_and_our_colours_and_no_other_command() {
        let ours = "\x1b[1mbold\x1b[0m\tand\nmore";
        assert_eq!(screened(ours), ours);
        let shown = screened(NASTY);
        let red = "\x1b[31m";
        assert_eq!(shown.matches('\x1b').count(), 1);
        assert!(shown.contains("\ne") && shown.contains(red), "{shown:?}");
        assert_eq!(screened("\x1b[8mhidden"), "\\u{1b}[8mhidden");
        let seen = |c: char| is_visible(c) || c == '\n' || c == '\x1b';
        assert!(shown.chars().all(seen), "{shown:?}");
    }

    #[test]
    fn json_means_the_same_and_shows_nothing_raw() {
        let text = serde_json::to_string_pretty(&[NASTY]).expect("JSON");
        let shown = json(&text);
        assert!(
            shown.chars().all(|c| is_visible(c) || c == '\n'),
            "{shown:?}"
        );
        let read: Vec<String> = serde_json::from_str(&shown).expect("JSON");
        assert_eq!(read, [NASTY]);
    }
}
