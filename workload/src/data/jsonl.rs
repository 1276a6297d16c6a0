//! Rows of JSON lines: an object each (RFC 8259, in UTF-8). serde_json reads them; what it lends as
//! text is decoded here, into a buffer that is used again.

use std::borrow::Cow;
use std::fmt;

use measure::foreign::Foreign;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::fields::Fields;
use super::split::without_end;

/// The keys of a row, in their order, and what is wrong if anything.
pub(super) fn names(row: &[u8]) -> Result<Vec<String>, String> {
    let mut names = Vec::new();
    let mut each = |key: &str, _: &RawValue| {
        names.push(key.to_owned());
        Ok(())
    };
    read(row, &mut each)?;
    Ok(names)
}

/// Finds the values of the columns in a row.
pub(super) fn cut(row: &[u8], columns: &[String], fields: &mut Fields) -> Result<(), String> {
    fields.clear(columns.len());
    // Rows mostly have their keys in the same order.
    let mut next = 0;
    let mut each = |key: &str, value: &RawValue| {
        let found = match columns.get(next) {
            Some(column) if column == key => Some(next),
            _ => columns.iter().position(|column| column == key),
        };
        let Some(column) = found else {
            return Ok(());
        };
        next = column + 1;
        if fields.has(column) {
            return Err(format!(
                "{:?} stands there twice; keep one of them",
                Foreign::new(key)
            ));
        }
        fields.decode(column, |to| append(value.get(), to))
    };
    read(row, &mut each)?;
    match fields.missing().and_then(|column| columns.get(column)) {
        None => Ok(()),
        Some(column) => Err(format!(
            "{:?} is missing, which the first line has; add it, as null if it has no value",
            Foreign::new(column)
        )),
    }
}

/// Calls `each` with every key and the text of its value.
fn read<F>(row: &[u8], each: &mut F) -> Result<(), String>
where
    F: FnMut(&str, &RawValue) -> Result<(), String>,
{
    let mut said = None;
    let mut reader = serde_json::Deserializer::from_slice(without_end(row));
    let members = Members {
        each,
        said: &mut said,
    };
    let read = members.deserialize(&mut reader);
    let Err(error) = read.and_then(|()| reader.end()) else {
        return Ok(());
    };
    Err(said.unwrap_or_else(|| {
        let text = error.to_string();
        let why = text.split(" at line ").next().unwrap_or_default();
        let place = match error.column() {
            0 => String::new(),
            column => format!(", at byte {column} of the line"),
        };
        format!("{why}{place}; write one JSON object a line")
    }))
}

/// The members of an object; what is wrong with one goes to `said`.
struct Members<'a, F> {
    each: &'a mut F,
    said: &'a mut Option<String>,
}

impl<'de, F> DeserializeSeed<'de> for Members<'_, F>
where
    F: FnMut(&str, &RawValue) -> Result<(), String>,
{
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de, F> Visitor<'de> for Members<'_, F>
where
    F: FnMut(&str, &RawValue) -> Result<(), String>,
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key)? {
            let value = map.next_value::<&RawValue>()?;
            if let Err(what) = (self.each)(&key, value) {
                *self.said = Some(what);
                return Err(A::Error::custom(""));
            }
        }
        Ok(())
    }
}

/// A key, lent where it has no escapes.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Cow<'de, str>;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Cow<'de, str>, D::Error> {
        from.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key {
    type Value = Cow<'de, str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_borrowed_str<E>(self, key: &'de str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Borrowed(key))
    }

    fn visit_str<E>(self, key: &str) -> Result<Cow<'de, str>, E> {
        Ok(Cow::Owned(key.to_owned()))
    }
}

/// Appends a value: of a string what it says, nothing for null, and all else as it is written.
fn append(json: &str, to: &mut Vec<u8>) -> Result<(), String> {
    let unquoted = json
        .strip_prefix('"')
        .and_then(|json| json.strip_suffix('"'));
    match unquoted {
        Some(text) => append_unescaped(text, to),
        None if json == "null" => Ok(()),
        None => {
            to.extend_from_slice(json.as_bytes());
            Ok(())
        }
    }
}

/// Appends the text of a string whose grammar was checked (RFC 8259 §7).
fn append_unescaped(text: &str, to: &mut Vec<u8>) -> Result<(), String> {
    let mut pieces = text.split('\\');
    to.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
    while let Some(piece) = pieces.next() {
        let mut rest = piece.chars();
        let c = match rest.next() {
            // Two backslashes: what is between them is nothing, what is behind them is text.
            None => {
                to.push(b'\\');
                to.extend_from_slice(pieces.next().unwrap_or_default().as_bytes());
                continue;
            }
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => {
                let (unit, behind) = hexadecimal(rest.as_str());
                let c = match unit {
                    0xd800..=0xdfff if behind.is_empty() => {
                        let (low, behind) = low_half(pieces.next());
                        rest = behind.chars();
                        paired(unit, low)
                    }
                    unit => {
                        rest = behind.chars();
                        char::from_u32(unit)
                    }
                };
                c.ok_or_else(|| {
                    format!("\\u{unit:04x} is half of a character; write the other half behind it")
                })?
            }
            Some(c) => c,
        };
        to.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        to.extend_from_slice(rest.as_str().as_bytes());
    }
    Ok(())
}

/// The number that four digits write, and what stands behind them.
fn hexadecimal(text: &str) -> (u32, &str) {
    let (digits, behind) = text.split_at_checked(4).unwrap_or((text, ""));
    (u32::from_str_radix(digits, 16).unwrap_or_default(), behind)
}

/// The code unit of the escape that must follow a first half; zero where it doesn't.
fn low_half(piece: Option<&str>) -> (u32, &str) {
    match piece.and_then(|piece| piece.strip_prefix('u')) {
        Some(text) => hexadecimal(text),
        None => (0, ""),
    }
}

/// The character of two halves (RFC 2781 §2.2).
fn paired(high: u32, low: u32) -> Option<char> {
    let is_pair = (0xd800..0xdc00).contains(&high) && (0xdc00..0xe000).contains(&low);
    let c = 0x1_0000 + ((high & 0x3ff) << 10 | low & 0x3ff);
    is_pair.then(|| char::from_u32(c)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(row: &str, columns: &[&str]) -> Result<Vec<String>, String> {
        let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
        let mut fields = Fields::default();
        cut(row.as_bytes(), &columns, &mut fields)?;
        let value = |column| fields.value(row.as_bytes(), column).to_vec();
        Ok((0..columns.len())
            .map(|column| String::from_utf8(value(column)).unwrap())
            .collect())
    }

    #[test]
    fn values_are_what_strings_say_and_else_what_is_written() {
        let table: &[(&str, &[&str])] = &[
            ("{\"a\":1,\"b\":\"x\"}\n", &["1", "x"]),
            ("{\"b\":\"x\",\"c\":[],\"a\":1.50e3}\r\n", &["1.50e3", "x"]),
            ("{\"a\":null,\"b\":true}", &["", "true"]),
            (
                " { \"a\" : {\"x\": [1, 2]} , \"b\":\"\" } ",
                &["{\"x\": [1, 2]}", ""],
            ),
            (
                "{\"\\u0061\":12345678901234567890123,\"b\":-0}",
                &["12345678901234567890123", "-0"],
            ),
        ];
        for (row, expected) in table {
            assert_eq!(values(row, &["a", "b"]).unwrap(), *expected, "{row}");
        }
        assert_eq!(names(b"{\"b\":1,\"a\":{\"c\":2}}").unwrap(), ["b", "a"]);
    }

    #[test]
    fn escapes_are_decoded_as_serde_json_decodes_them() {
        let escapes = [
            "\\n",
            "\\\\",
            "\\\"",
            "\\/",
            "\\b\\f\\r\\t",
            "\\u00fC",
            "\\ud83e\\uDD80",
            "\\\\u0041",
            "\\\\\\\\",
            "\\u005c",
            "\\\\\\n",
            "ü",
            "\\u0000",
        ];
        for first in escapes {
            for second in escapes {
                let json = format!("\"{first}x{second}{first}\"");
                let expected: String = serde_json::from_str(&json).unwrap();
                let row = format!("{{\"a\":{json}}}");
                assert_eq!(values(&row, &["a"]).unwrap(), [expected], "{row}");
            }
        }
        let halves = [
            "\\ud83e",
            "\\udd80",
            "\\ud83ex\\udd80",
            "\\ud83e\\n",
            "\\ud83e\\u0041",
        ];
        for half in halves {
            let said = values(&format!("{{\"a\":\"{half}\"}}"), &["a"]).unwrap_err();
            assert!(said.contains("is half of a character"), "{half}: {said}");
        }
    }

    #[test]
    fn a_line_that_is_no_row_says_why() {
        let table = [
            ("{\"a\":1}", "\"b\" is missing, which the first line has"),
            ("{\"a\":1,\"b\":2,\"a\":3}", "\"a\" stands there twice"),
            (
                "{\"a\":1 \"b\":2}",
                "expected `,` or `}`, at byte 8 of the line",
            ),
            ("[1,2]", "invalid type: sequence, expected an object"),
            ("{\"a\":1,\"b\":2} x", "trailing characters, at byte 15"),
            ("", "EOF while parsing a value"),
            ("{\"a\":01,\"b\":2}", "invalid number"),
        ];
        for (row, what) in table {
            let said = values(row, &["a", "b"]).unwrap_err();
            assert!(said.starts_with(what), "{row}: {said}");
        }
        let mut fields = Fields::default();
        let said = cut(b"{\"a\":\"\xff\"}", &["a".to_owned()], &mut fields).unwrap_err();
        assert!(said.starts_with("invalid unicode"), "{said}");
    }
}
