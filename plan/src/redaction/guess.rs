//! Secrets in texts that nobody could make sense of: an argument that is wrong, a file that cannot
//! be read. Nothing is known of them but what they look like.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::{ALWAYS, ALWAYS_AS_NAMES, ENDINGS};

/// What stands in the place of what looks like a secret.
const HIDDEN: &str = "…";

/// A text without what looks like the value of a secret's name, and without the user and the values
/// of queries in URLs: which parameters the user calls secret may not be known yet.
pub fn guessed(text: &str) -> Cow<'_, str> {
    let mut cuts = named(text, &BTreeSet::new());
    cuts.extend(queries(text));
    replaced(text, cuts, |_| HIDDEN.to_owned())
}

/// A text with what `hide` says in the place of each of the `cuts`.
pub(super) fn replaced(
    text: &str,
    mut cuts: Vec<(usize, usize)>,
    hide: impl Fn(&str) -> String,
) -> Cow<'_, str> {
    if cuts.is_empty() {
        return Cow::Borrowed(text);
    }
    cuts.sort_unstable();
    let mut made = String::new();
    let mut from = 0;
    for (start, end) in cuts {
        if start >= from {
            made.push_str(&text[from..start]);
            made.push_str(&hide(&text[start..end]));
        }
        from = from.max(end);
    }
    made.push_str(&text[from..]);
    Cow::Owned(made)
}

/// Where the values of secrets' names are, of those that the user `gave`, too, and the users of
/// URLs.
pub(super) fn named(text: &str, gave: &BTreeSet<String>) -> Vec<(usize, usize)> {
    // As long as the text, byte by byte.
    let lower = text.to_ascii_lowercase().replace('-', "_");
    let mut cuts: Vec<(usize, usize)> = users(text);
    let gave: Vec<String> = gave.iter().map(|name| name.replace('-', "_")).collect();
    let known = ALWAYS.iter().chain(&ALWAYS_AS_NAMES).chain(&ENDINGS);
    for name in known.copied().chain(gave.iter().map(String::as_str)) {
        let places = lower
            .match_indices(name)
            .map(|(at, _)| (at, at + name.len()));
        let begins_a_word = |(at, _): &(usize, usize)| {
            let before = lower[..*at].chars().next_back();
            match before {
                _ if ENDINGS.contains(&name) => true,
                // A word of other things is one only as a parameter.
                before if ALWAYS_AS_NAMES.contains(&name) => matches!(before, Some('?' | '&')),
                before => !before.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_'),
            }
        };
        cuts.extend(
            places
                .filter(begins_a_word)
                .filter_map(|(_, end)| value(text, end)),
        );
    }
    cuts
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

/// A URL that cannot be read, or that somebody else wrote, so that none of its parts is known to be
/// what it looks like: without its user, and without the values of its query and of its fragment.
pub fn guessed_url(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
        _ => (None, url),
    };
    let (place, query) = match rest.find(['?', '#']) {
        Some(at) => (&rest[..at], &rest[at..]),
        None => (rest, ""),
    };
    let mut made = scheme.map_or(String::new(), |scheme| format!("{scheme}://"));
    // A password may have characters that no authority may.
    match place.rsplit_once('@') {
        Some((_, place)) => made.push_str(&format!("{HIDDEN}@{}", guessed(place))),
        None => made.push_str(&guessed(place)),
    }
    for parameter in query.split_inclusive(['?', '#', '&']) {
        let sign = parameter.chars().next_back();
        let sign = sign.filter(|sign| ['?', '#', '&'].contains(sign));
        let whole = parameter.trim_end_matches(['?', '#', '&']);
        match whole.split_once('=') {
            Some((name, _)) => made.push_str(&format!("{name}={HIDDEN}")),
            None if whole.is_empty() => {}
            None => made.push_str(HIDDEN),
        }
        made.extend(sign);
    }
    made
}

/// Whether it is a scheme's name (RFC 3986 §3.1).
pub(crate) fn is_scheme(text: &str) -> bool {
    let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(is_of_it)
}

/// The values in queries (RFC 3986 §3.4), each up to the end of its parameter.
fn queries(text: &str) -> Vec<(usize, usize)> {
    let ends_word = |c: char| c.is_whitespace() || ['"', '\'', '`'].contains(&c);
    let mut cuts = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find('?') {
        let start = from + at + 1;
        let rest = &text[start..];
        let query = &rest[..rest.find(ends_word).unwrap_or(rest.len())];
        let mut at = start;
        for parameter in query.split('&') {
            let value = parameter.find('=').map_or(parameter.len(), |sign| sign + 1);
            if value < parameter.len() {
                cuts.push((at + value, at + parameter.len()));
            }
            at += parameter.len() + 1;
        }
        from = start + query.len();
    }
    cuts
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
                "http://…@h/p?a=…&token=…&b=…",
            ),
            (
                "unexpected '127.0.0.1:1/?foo=a&b&c=d' found. What? a=b",
                "unexpected '127.0.0.1:1/?foo=…&b&c=…' found. What? a=b",
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

    #[test]
    fn of_a_url_that_cannot_be_read_no_value_is_told() {
        let table = [
            ("htp://h/p?foo=a b&c=d", "htp://h/p?foo=…&c=…"),
            ("h:99999/?canary", "h:99999/?…"),
            ("http://me:p/w@h/p?x=1#y=2", "http://…@h/p?x=…#y=…"),
            ("http://me:p?w@h/", "http://me:p?…"),
            ("h/?to=http://me:pw@x/", "h/?to=…"),
            ("h/token=xyz", "h/token=…"),
            ("http://h:port/a", "http://h:port/a"),
        ];
        for (url, expected) in table {
            assert_eq!(guessed_url(url), expected, "{url}");
        }
    }
}
