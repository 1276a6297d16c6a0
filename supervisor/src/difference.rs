//! Two answers that should be the same and are not, in words: each around the first byte in which
//! they differ, with what can't be seen in them escaped.

use std::fmt::Write;

use measure::foreign::Foreign;

/// So many bytes are shown before the first one that differs, and from there on.
const BEFORE: usize = 24;
const AFTER: usize = 56;
/// A text of so many bytes is shown whole.
const WHOLE: usize = BEFORE + AFTER;

/// What `found` is in the place of `expected`: "`a\n` instead of `a`: from byte 2 on there's `\n`,
/// where it should end".
pub fn difference(found: &[u8], expected: &[u8]) -> String {
    difference_but_for(found, expected, |found, expected| found == expected)
}

/// The same of texts whose bytes needn't be equal to be alike.
pub(crate) fn difference_but_for(
    found: &[u8],
    expected: &[u8],
    alike: fn(u8, u8) -> bool,
) -> String {
    let pairs = found.iter().zip(expected);
    let same = pairs.take_while(|(found, expected)| alike(**found, **expected));
    let same = same.count();
    let shown = |text| around(text, same);
    let rest = |text: &[u8]| match text.get(same..) {
        None | Some([]) => None,
        Some(rest) => Some(visible(&rest[..rest.len().min(8)])),
    };
    let from = format!("they differ from byte {} on", same + 1);
    let how = match (rest(found), rest(expected)) {
        (Some(more), None) => format!("{from}, where it has `{more}` and should end"),
        (None, Some(missing)) => format!("{from}, where it ends and `{missing}` is missing"),
        (Some(is), Some(should)) => format!("{from}, where it has `{is}` instead of `{should}`"),
        (None, None) => "they are equal".to_owned(),
    };
    let is_all_shown = found.len().max(expected.len()) <= WHOLE;
    let (found, expected) = (shown(found), shown(expected));
    if same == 0 && is_all_shown {
        return format!("`{found}` instead of `{expected}`");
    }
    format!("`{found}` instead of `{expected}`: {how}")
}

/// A text, or its part around byte `at`.
fn around(text: &[u8], at: usize) -> String {
    if text.len() <= WHOLE {
        return visible(text);
    }
    let start = at.min(text.len()).saturating_sub(BEFORE);
    let end = (start + WHOLE).min(text.len());
    let (before, after) = (
        if start > 0 { "…" } else { "" },
        if end < text.len() { "…" } else { "" },
    );
    format!("{before}{}{after}", visible(&text[start..end]))
}

/// Bytes as text that shows every one of them: blanks other than spaces, what has no width, what
/// is no text, and backticks, between which it stands.
fn visible(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                ' ' => shown.push(' '),
                '`' => shown.push_str("\\u{60}"),
                c if c.is_whitespace() => shown.extend(c.escape_default()),
                c => {
                    // Writing to a string doesn't fail.
                    let _ = write!(shown, "{}", Foreign::new(c));
                }
            }
        }
        for byte in chunk.invalid() {
            let _ = write!(shown, "\\x{byte:02x}");
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn what_cannot_be_seen_is_shown() {
        for (found, expected, told) in [
            (
                &b"Hello\n"[..],
                &b"Hello"[..],
                "`Hello\\n` instead of `Hello`: they differ from byte 6 on, where it has `\\n` and \
                 should end",
            ),
            (
                b"a",
                b"a\t b",
                "`a` instead of `a\\t b`: they differ from byte 2 on, where it ends and `\\t b` is \
                 missing",
            ),
            (
                b"a\xffb",
                b"a\xc2\xa0b",
                "`a\\xffb` instead of `a\\u{a0}b`: they differ from byte 2 on, where it has \
                 `\\xffb` instead of `\\u{a0}b`",
            ),
            (b"", b"`x`", "`` instead of `\\u{60}x\\u{60}`"),
        ] {
            assert_eq!(difference(found, expected), told);
        }
        // No command reaches a terminal.
        let told = difference(b"\x1b[2J\r", b"x");
        assert!(told.starts_with("`\\u{1b}[2J\\r` instead"), "{told}");
    }

    #[test]
    fn of_long_texts_the_part_that_differs_is_shown() {
        let long = |middle: &str| format!("{}{middle}{}", "a".repeat(5000), "b".repeat(5000));
        let told = difference(long("X").as_bytes(), long("Y").as_bytes());
        assert!(told.contains("aaXbb") && told.contains("aaYbb"), "{told}");
        assert!(told.contains("from byte 5001 on"), "{told}");
        assert!(
            told.starts_with("`…a") && told.contains("b…` instead of `…a"),
            "{told}"
        );
        assert!(told.len() < 400, "{told}");
        // The one that is cut short ends in the middle.
        let told = difference(&long("X").as_bytes()[..5000], long("X").as_bytes());
        assert!(told.contains("where it ends and `X"), "{told}");
        // A character of several bytes may be cut.
        let told = difference("ä".repeat(300).as_bytes(), "ä".repeat(299).as_bytes());
        assert!(told.contains("from byte 599 on"), "{told}");
    }
}
