//! Words of those who write commands and files: which one was meant, what a reader expected, and
//! times with their units.

use std::fmt::Display;
use std::ops::Range;
use std::time::Duration;

use crate::units;

/// The candidate that differs least from `word`, if it differs little enough to be meant. Neither
/// the case of letters nor `-` in place of `_` is a difference.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let plain = |word: &str| word.to_ascii_lowercase().replace('-', "_");
    let wanted = plain(word);
    let limit = word.chars().count().div_ceil(3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (strsim::osa_distance(&wanted, &plain(candidate)), candidate))
        .filter(|(edits, _)| *edits <= limit)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, candidate)| candidate)
}

/// What a reader that serde made says of a value, in words for whoever wrote the file: `usize` is a
/// whole number, `struct Retry` a table, and what was found is shown as it's written.
pub fn of_reader(message: &str) -> String {
    let message = message.trim_end().replace('\n', "; ");
    if message == "wanted string or table" {
        return "expected one of its words, as a text".to_owned();
    }
    let of_value = ["invalid type: ", "invalid value: "];
    let about = of_value
        .iter()
        .find_map(|begin| message.strip_prefix(begin));
    match about.and_then(|about| about.rsplit_once(", expected ")) {
        Some(("map", "a sequence")) => {
            "expected a list, and not a table: write its name in two brackets, as in [[NAME]], \
             above each of its tables"
                .to_owned()
        }
        Some((found, expected)) => {
            format!(
                "expected {}, and not {}",
                plain(expected),
                as_written(found)
            )
        }
        None => message,
    }
}

/// What is said of a key that stands twice, the second time at these bytes of a file.
pub fn twice(text: &str, at: Range<usize>) -> String {
    let key = text.get(at.clone()).unwrap_or_default().trim();
    let before = text.get(..at.start).unwrap_or_default();
    match before.ends_with('[') && !before.ends_with("[[") {
        true => format!(
            "[{key}] stands twice: write it once, or [[{key}]] each time if it's a list of tables"
        ),
        false => format!("`{key}` stands twice"),
    }
}

/// What was expected, by its name in Rust.
fn plain(expected: &str) -> &str {
    match expected {
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" | "u64" | "usize" => "a whole number, 0 or more",
        "f32" | "f64" => "a number",
        "a string" | "string" => "a text in quotes",
        "path string" => "a path in quotes",
        "a boolean" => "true or false",
        "a sequence" => "a list in square brackets",
        "a map" => "a table",
        _ if expected.starts_with("a nonzero ") => "a whole number above zero",
        _ if expected.starts_with("struct ") => "a table",
        _ => expected,
    }
}

/// What was found, without its name in Rust.
fn as_written(found: &str) -> String {
    let bare = |found: &str| found.trim_matches('`').to_owned();
    match found.split_once(' ') {
        Some(("string", text)) => format!("the text {text}"),
        Some(("integer" | "boolean", value)) => bare(value),
        Some(("floating", value)) => bare(value.trim_start_matches("point ")),
        None if found == "sequence" => "a list".to_owned(),
        None if found == "map" => "a table".to_owned(),
        _ => found.to_owned(),
    }
}

/// Reads a duration as [`units::parse_duration`] does, and refuses a bare number: in a file, nobody
/// can see whether `"100"` was meant to be seconds.
///
/// # Errors
/// A sentence that says what to write.
pub fn duration(text: &str) -> Result<Duration, String> {
    let bare = text.trim();
    let is_number = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    match units::parse_duration(text) {
        _ if is_number => Err(without_unit(bare)),
        Ok(length) => Ok(length),
        Err(_) => Err(format!(
            "{text:?} is not a duration like 10s, 1.5s, 50ms, 2m or 1h30m"
        )),
    }
}

/// What is said of a number where a time belongs.
pub fn without_unit(number: impl Display) -> String {
    format!("expected a time with a unit: write \"{number}ms\" or \"{number}s\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_found_and_a_far_one_is_not_offered() {
        let keys = ["connections", "pipeline", "self_signed"];
        assert_eq!(nearest("conections", keys), Some("connections"));
        assert_eq!(nearest("weather", keys), None);
        assert_eq!(nearest("rnu", ["run", "rates"]), Some("run"));
        assert_eq!(nearest("Self-Signd", keys), Some("self_signed"));
    }

    #[test]
    fn what_a_reader_expected_is_said_in_words_of_the_file() {
        for (message, said) in [
            (
                "invalid type: string \"four\", expected usize",
                "expected a whole number, 0 or more, and not the text \"four\"",
            ),
            (
                "invalid value: integer `70000`, expected u16",
                "expected a whole number from 0 to 65535, and not 70000",
            ),
            (
                "invalid type: floating point `1.5`, expected a nonzero u32",
                "expected a whole number above zero, and not 1.5",
            ),
            (
                "invalid type: integer `5`, expected struct Retry",
                "expected a table, and not 5",
            ),
            (
                "invalid type: string \"a\", expected a sequence",
                "expected a list in square brackets, and not the text \"a\"",
            ),
            (
                "invalid type: string \"a, expected b\", expected a table such as [a]",
                "expected a table such as [a], and not the text \"a, expected b\"",
            ),
            (
                "unknown field `a`, expected `b`\n",
                "unknown field `a`, expected `b`",
            ),
        ] {
            assert_eq!(of_reader(message), said);
        }
        let list = of_reader("invalid type: map, expected a sequence");
        assert!(list.contains("[[NAME]]"), "{list}");
    }

    #[test]
    fn what_stands_twice_is_a_list_if_it_is_a_table() {
        let text = "[a]\nb = 1\nb = 2\n[a]\n";
        assert_eq!(twice(text, 10..11), "`b` stands twice");
        assert!(twice(text, 17..18).contains("write it once, or [[a]] each time"));
    }

    #[test]
    fn a_time_in_a_file_has_a_unit() {
        assert_eq!(duration("1m 30s"), Ok(Duration::from_secs(90)));
        for bare in ["100", " 100 "] {
            let said = duration(bare).unwrap_err();
            let what = "expected a time with a unit: write \"100ms\" or \"100s\"";
            assert_eq!(said, what);
        }
        assert!(duration("soon").unwrap_err().contains("not a duration"));
    }
}
