//! Where `{{templates}}` are in a text. What is in them is not read here.

use crate::recipe::end_of_expression;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    /// As it is.
    Text(&'t [u8]),
    /// What stands between `{{` and `}}`.
    Template(&'t [u8]),
    /// What follows a `{{` that isn't closed.
    Unclosed(&'t [u8]),
}

/// The pieces of a text, in order. A template begins at the first `{{` that no odd number of
/// backslashes precedes, and ends at the next `}}` that is in no quotes.
pub(super) fn pieces(text: &[u8]) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    let mut escaped_until = 0;
    std::iter::from_fn(move || {
        if let Some(inner) = rest.strip_prefix(b"{{").filter(|_| escaped_until == 0) {
            return Some(match end_of_expression(inner) {
                Some(end) => {
                    rest = &inner[end + 2..];
                    Piece::Template(&inner[..end])
                }
                None => {
                    rest = &[];
                    Piece::Unclosed(inner)
                }
            });
        }
        let from = std::mem::take(&mut escaped_until);
        let end = find(&rest[from..], b"{{").map_or(rest.len(), |at| from + at);
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        let backslashes = piece.iter().rev().take_while(|byte| **byte == b'\\');
        if backslashes.count() % 2 == 1 && !behind.is_empty() {
            escaped_until = 2;
        }
        (!piece.is_empty()).then_some(Piece::Text(piece))
    })
}

/// Whether a text has a `{{`, whatever it means.
pub(super) fn has_braces(text: &[u8]) -> bool {
    find(text, b"{{").is_some()
}

/// Whether a text that has no templates has what would be one elsewhere: a name in braces.
pub(super) fn looks_like_one(text: &[u8]) -> bool {
    has_braces(text)
        && pieces(text).any(|piece| match piece {
            Piece::Template(inner) => {
                let first = inner.trim_ascii_start().first();
                first.is_some_and(|byte| byte.is_ascii_alphabetic() || b"$_".contains(byte))
            }
            Piece::Text(_) | Piece::Unclosed(_) => false,
        })
}

/// Where two or more bytes stand first.
pub(super) fn find(text: &[u8], sought: &[u8]) -> Option<usize> {
    text.windows(sought.len())
        .position(|window| window == sought)
}

#[cfg(test)]
mod tests {
    use super::Piece::{Template, Text, Unclosed};
    use super::*;

    #[test]
    fn a_name_in_braces_looks_like_a_template() {
        let table = [
            ("Hello {{world}}!", true),
            ("{\"a\":\"{{ $uuid }}\"}", true),
            ("{{random 1 9}}", true),
            ("{{_id}}", true),
            ("", false),
            ("{\"a\":{\"b\":{}}}", false),
            ("{{ }}", false),
            ("{{{}}}", false),
            ("{{1}}", false),
            ("{{a", false),
            ("\\{{a}}", false),
        ];
        for (text, expected) in table {
            assert_eq!(looks_like_one(text.as_bytes()), expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_cut_where_templates_are() {
        let table: [(&str, &[Piece<'_>]); 10] = [
            (
                "{{pick \"a}}b#c\" d}}e",
                &[Template(b"pick \"a}}b#c\" d"), Text(b"e")],
            ),
            ("", &[]),
            ("a", &[Text(b"a")]),
            ("{{a}}", &[Template(b"a")]),
            ("{{a}}{{b}}", &[Template(b"a"), Template(b"b")]),
            ("x{{ a b }}y", &[Text(b"x"), Template(b" a b "), Text(b"y")]),
            (
                "{\"a\":{{b}}}",
                &[Text(b"{\"a\":"), Template(b"b"), Text(b"}")],
            ),
            ("a{{b", &[Text(b"a"), Unclosed(b"b")]),
            (
                "a\\{{b}}{{c}}",
                &[Text(b"a\\"), Text(b"{{b}}"), Template(b"c")],
            ),
            ("\\{{", &[Text(b"\\"), Text(b"{{")]),
        ];
        for (text, expected) in table {
            let found: Vec<Piece<'_>> = pieces(text.as_bytes()).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
