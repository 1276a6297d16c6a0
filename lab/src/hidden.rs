//! A comparison's file as it is kept: without the secrets that its workloads send.

use std::borrow::Cow;
use std::ops::Range;

use load::Redaction;
use load::redaction::without_hashes;
use toml::de::{DeTable, DeValue};

/// The text of a comparison's file with its secrets hidden. All else stands as it was written.
pub(crate) fn hidden(text: &str, redaction: &Redaction) -> String {
    let mut places = Vec::new();
    // A file that is kept was read before.
    if let Ok(table) = DeTable::parse(text) {
        of_table(table.get_ref(), redaction, &mut places);
    }
    places.sort_by_key(|(span, _)| span.start);
    let mut made = String::new();
    let mut from = 0;
    for (span, value) in places {
        made.push_str(&text[from..span.start]);
        made.push_str(&toml::Value::String(value).to_string());
        from = span.end;
    }
    made.push_str(&text[from..]);
    // What a comment quotes.
    redaction.scrub(&made).into_owned()
}

/// Whether what is kept of a file may be that of `text`: all but the secrets is the same, and where
/// one has a secret the other has one. Which it was, only whoever has the key of then can tell.
pub fn is_kept_of(kept: &str, text: &str) -> bool {
    let now = || hidden(text, &Redaction::default());
    kept == text || without_hashes(kept) == without_hashes(&now())
}

/// Finds what is hidden in a table and inside it: where it stands, and what stands there instead.
fn of_table(table: &DeTable<'_>, redaction: &Redaction, places: &mut Vec<(Range<usize>, String)>) {
    for (key, value) in table {
        let (name, span) = (key.get_ref().as_ref(), value.span());
        match value.get_ref() {
            DeValue::Table(fields) if name == "headers" => {
                for (name, value) in fields {
                    let Some(text) = value.get_ref().as_str() else {
                        continue;
                    };
                    let shown = redaction.value(name.get_ref(), text);
                    if shown != text {
                        places.push((value.span(), shown));
                    }
                }
            }
            DeValue::Table(inside) => of_table(inside, redaction, places),
            DeValue::Array(items) if name == "command" => {
                for (text, span) in items
                    .iter()
                    .filter_map(|item| Some((item.get_ref().as_str()?, item.span())))
                {
                    redaction.learn_word(text);
                    if let Cow::Owned(shown) = redaction.word(text) {
                        places.push((span, shown));
                    }
                }
            }
            DeValue::Array(items) => {
                let tables = items.iter().filter_map(|item| item.get_ref().as_table());
                tables.for_each(|inside| of_table(inside, redaction, places));
            }
            DeValue::String(text) => {
                let shown = match name {
                    "path" => redaction.path(text),
                    "message" if !text.starts_with('@') && !redaction.shows_bodies() => {
                        redaction.hidden_body(text.as_bytes())
                    }
                    _ => continue,
                };
                if shown != **text {
                    places.push((span, shown));
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"# the old one was canary-5
name = "x"
[workload] # stays
path = '/a?token=canary-1&b=2'
message = """
canary-2"""
headers = { Authorization = "Bearer canary-3", Accept = "text/plain" }
[[rows]]
name = "r"
workload = { headers = { "x-mine" = 'canary-4' }, message = "@file" }
generator = { command = ["sh", "-c", "echo canary-6; wrk -H 'X-Mine: canary-6' {url}"] }
"#;

    #[test]
    fn secrets_are_hidden_and_all_else_stands() {
        let redaction = Redaction::default().naming(["X-Mine"]);
        redaction.learn([("cookie", "canary-5")], "/");
        let kept = hidden(FILE, &redaction);
        assert!(!kept.contains("canary"), "{kept}");
        for part in [
            "[workload] # stays",
            "b=2'",
            "Accept = \"text/plain\"",
            "\"@file\"",
            "; wrk -H 'X-Mine: redacted:",
        ] {
            assert!(kept.contains(part.trim_end_matches('\'')), "{part}: {kept}");
        }
        let read: toml::Table = kept.parse().expect("TOML");
        let token = redaction.path("/a?token=canary-1&b=2");
        assert_eq!(read["workload"]["path"].as_str(), Some(&*token));
        let shown = hidden(FILE, &redaction.showing_bodies(true));
        assert!(shown.contains("\ncanary-2\"\"\""), "{shown}");
    }

    #[test]
    fn what_is_kept_is_known_again_whatever_its_secrets_were() {
        let kept = hidden(FILE, &Redaction::default());
        assert!(kept != FILE && is_kept_of(&kept, FILE) && is_kept_of(FILE, FILE));
        let quoted = FILE.replace("X-Mine:", "Authorization:");
        assert!(is_kept_of(&hidden(&quoted, &Redaction::default()), &quoted));
        let other = FILE.replace("canary-3", "canary-9");
        assert!(is_kept_of(&kept, &other), "only the key of then could tell");
        for (from, to) in [
            ("b=2", "b=3"),
            ("text/plain", "text/html"),
            ("Authorization = ", "Accept-Language = "),
            (
                "headers = { Authorization = \"Bearer canary-3\",",
                "headers = {",
            ),
        ] {
            assert!(!is_kept_of(&kept, &FILE.replace(from, to)), "{from}");
        }
    }
}
