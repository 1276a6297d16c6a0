//! Secrets in texts that nobody could make sense of: an argument that is wrong, a file that cannot
//! be read. Nothing is known of them but what they look like.

use std::borrow::Cow;

use super::{ALWAYS, ALWAYS_AS_NAMES, ENDINGS};

/// What stands in the place of what looks like a secret.
const HIDDEN: &str = "…";

/// A text without what looks like the value of a secret's name, and without the user in URLs.
pub fn guessed(text: &str) -> Cow<'_, str> {
    // As long as the text, byte by byte.
    let lower = text.to_ascii_lowercase().replace('-', "_");
    let mut cuts: Vec<(usize, usize)> = users(text);
    for name in ALWAYS.iter().chain(&ALWAYS_AS_NAMES).chain(&ENDINGS) {
        let places = lower
            .match_indices(name)
            .map(|(at, _)| (at, at + name.len()));
        let begins_a_word = |(at, _): &(usize, usize)| {
            let before = lower[..*at].chars().next_back();
            match before {
                _ if ENDINGS.contains(name) => true,
                // A word of other things is one only as a parameter.
                before if ALWAYS_AS_NAMES.contains(name) => matches!(before, Some('?' | '&')),
                before => !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_'),
            }
        };
        cuts.extend(
            places
                .filter(begins_a_word)
                .filter_map(|(_, end)| value(text, end)),
        );
    }
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    cuts.sort_unstable();
    let mut made = String::new();
    let mut from = 0;
    for (start, end) in cuts {
        if start >= from {
            made.push_str(&text[from..start]);
            made.push_str(HIDDEN);
        }
        from = from.max(end);
    }
    made.push_str(&text[from..]);
    Cow::Owned(made)
}

/// The value behind a name that ends at `end`, up to what closes it: none where no value follows.
fn value(text: &str, end: usize) -> Option<(usize, usize)> {
    let rest = &text[end..];
    let behind_name = rest.trim_start_matches(['"', '\'', ' ', '\t']);
    let behind_sign = behind_name.strip_prefix([':', '='])?;
    let inside = behind_sign.trim_start_matches([' ', '\t']);
    let quote = inside.chars().next().filter(|c| ['"', '\''].contains(c));
    let inside = quote.map_or(inside, |quote| &inside[quote.len_utf8()..]);
    let start = text.len() - inside.len();
    let parameter = behind_sign.len() == inside.len() && rest.starts_with('=');
    let ends = |c: char| match quote {
        Some(quote) => c == quote || c == '\n',
        None if parameter => c.is_whitespace() || ['&', '"', '\'', '`'].contains(&c),
        None => ['\n', '"', '\'', '`'].contains(&c),
    };
    let length = inside.find(ends).unwrap_or(inside.len());
    (length > 0).then_some((start, start + length))
}

/// The users of URLs (RFC 3986 §3.2.1), with their passwords.
fn users(text: &str) -> Vec<(usize, usize)> {
    let schemes = text.match_indices("://").map(|(at, sign)| at + sign.len());
    let user = |start: usize| {
        let authority = &text[start..];
        let ends = |c: char| c.is_whitespace() || ['/', '?', '#', '"', '\'', '`'].contains(&c);
        let authority = &authority[..authority.find(ends).unwrap_or(authority.len())];
        Some((start, start + authority.rfind('@')?))
    };
    schemes.filter_map(user).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_secret_is_left_out() {
        let table = [
            ("-H 'Authorization: Bearer x y'", "-H 'Authorization: …'"),
            (
                "Authorization = \"Bearer x\" oops",
                "Authorization = \"…\" oops",
            ),
            (
                "headers = { Cookie = 'a=b', X = 1 }",
                "headers = { Cookie = '…', X = 1 }",
            ),
            (
                "http://me:pw@h/p?a=1&token=xyz&b=2",
                "http://…@h/p?a=1&token=…&b=2",
            ),
            ("\"x-api-key\": \"abc\"", "\"x-api-key\": \"…\""),
            (
                "a token is missing: give one",
                "a token is missing: give one",
            ),
            ("http://host/a@b", "http://host/a@b"),
        ];
        for (text, expected) in table {
            assert_eq!(guessed(text), expected, "{text}");
        }
    }
}
