//! Finding known secrets in texts that may quote them.

use std::borrow::Cow;
use std::collections::BTreeSet;

/// Shorter ones are words that stand in any text.
const SECRET_CHARACTERS_MIN: usize = 6;

/// Whether a text may hold it by chance: a number, or a word of a language.
fn is_common(part: &str) -> bool {
    part.bytes().all(|byte| byte.is_ascii_digit())
        || part.bytes().all(|byte| byte.is_ascii_lowercase())
}

/// What stands before credentials (RFC 9110 §11.4), and is none.
const SCHEMES: [&str; 4] = ["basic", "bearer", "digest", "negotiate"];

/// Remembers a value, and those of its parts that a text may quote alone: the credentials behind an
/// authorization's scheme, the values of cookies. Numbers and plain words are left out: they stand
/// in figures and sentences that have nothing to do with them, and to spoil those helps nobody.
pub(super) fn learn(seen: &mut BTreeSet<String>, value: &str) {
    let words = value.split([' ', ';', ',']);
    let values = words.clone().filter_map(|word| {
        word.split_once('=')
            .map(|(_, value)| value.trim_matches('"'))
    });
    for part in [value].into_iter().chain(words).chain(values) {
        let is_scheme = SCHEMES
            .iter()
            .any(|scheme| part.eq_ignore_ascii_case(scheme));
        if part.chars().count() >= SECRET_CHARACTERS_MIN && !is_scheme && !is_common(part) {
            seen.insert(part.to_owned());
        }
    }
}

/// `text` with what `hide` says in the place of each of the `secrets`.
pub(super) fn scrub<'t>(
    text: &'t str,
    secrets: &BTreeSet<String>,
    hide: impl Fn(&str) -> String,
) -> Cow<'t, str> {
    let mut longest_first: Vec<&String> = secrets.iter().collect();
    longest_first.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    let is_json = text.starts_with(['{', '[']);
    let mut found: Vec<(String, String)> = Vec::new();
    for secret in longest_first {
        let quoted = format!("{secret:?}");
        let escaped = quoted.trim_matches('"').to_owned();
        for form in BTreeSet::from([secret.clone(), escaped]) {
            if text.contains(&form) {
                found.push((form, hide(secret)));
            }
        }
    }
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let clean = |text: &str| {
        let replace = |text: String, (secret, hash): &(String, String)| text.replace(secret, hash);
        found.iter().fold(text.to_owned(), replace)
    };
    Cow::Owned(match is_json {
        true => strings(text, clean),
        false => clean(text),
    })
}

/// JSON with its strings as `clean` makes them: but for keys, and for words that may be a schema's.
fn strings(json: &str, clean: impl Fn(&str) -> String) -> String {
    let mut made = String::with_capacity(json.len());
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        let (before, string) = rest.split_at(start + 1);
        made.push_str(before);
        let (inside, after) = string.split_at(end(string));
        let follows = after.get(1..).unwrap_or_default().trim_start();
        let is_word = inside
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'_');
        match follows.starts_with(':') || is_word {
            true => made.push_str(inside),
            false => made.push_str(&clean(inside)),
        }
        let (quote, after) = after.split_at(after.len().min(1));
        made.push_str(quote);
        rest = after;
    }
    made.push_str(rest);
    made
}

/// Where a JSON string ends, of which the first quote is gone.
fn end(string: &str) -> usize {
    let mut escaped = false;
    let quote = string.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    quote.unwrap_or(string.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(values: &[&str]) -> BTreeSet<String> {
        let mut seen = BTreeSet::new();
        values.iter().for_each(|value| learn(&mut seen, value));
        seen
    }

    #[test]
    fn a_secret_is_known_whole_and_by_its_parts() {
        let seen = known(&[
            "Bearer abc-123",
            "session=qwertz12; a=b; sort=requests",
            "short",
            "100000",
        ]);
        for part in ["Bearer abc-123", "abc-123", "qwertz12"] {
            assert!(seen.contains(part), "{part}: {seen:?}");
        }
        for part in ["Bearer", "a=b", "b", "short", "requests", "100000"] {
            assert!(!seen.contains(part), "{part}: {seen:?}");
        }
    }

    #[test]
    fn texts_lose_secrets_and_nothing_else() {
        let seen = known(&["Bearer abc-123"]);
        let scrub = |text| scrub(text, &seen, |_| "#".to_owned()).into_owned();
        assert_eq!(
            scrub("got `Bearer abc-123`, and abc-123."),
            "got `#`, and #."
        );
        assert_eq!(scrub("nothing"), "nothing");
    }

    #[test]
    fn json_keeps_its_keys_and_its_words() {
        let seen = BTreeSet::from(["poisson".to_owned(), "plan \"b\" \\".to_owned()]);
        let json = r#"{"poisson": "poisson", "a": ["a poisson", "x plan \"b\" \\ y"], "n": 1}"#;
        let scrubbed = scrub(json, &seen, |_| "#".to_owned());
        let expected = r##"{"poisson": "poisson", "a": ["a #", "x # y"], "n": 1}"##;
        assert_eq!(scrubbed, expected);
    }
}
