//! A user, as a store has him.

use serde_json::{Map, Value};

/// A longer record is none: 64 KiB.
const RECORD_BYTES_MAX: usize = 64 * 1024;

/// The field that bars a user.
const DISABLED: &str = "disabled";

/// A user: a JSON object, and what of it was wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    json: Box<str>,
    disabled: bool,
    /// By the place of what was wanted.
    fields: Box<[Option<Box<str>>]>,
}

impl Record {
    /// Reads what Redis has; `None` if that isn't a JSON object of at most 64 KiB.
    pub(crate) fn read(bytes: &[u8], wanted: &[String]) -> Option<Record> {
        if bytes.len() > RECORD_BYTES_MAX {
            return None;
        }
        let text = std::str::from_utf8(bytes).ok()?;
        let object: Map<String, Value> = serde_json::from_str(text).ok()?;
        Some(Record::of(
            |name| object.get(name),
            text.trim().into(),
            wanted,
        ))
    }

    /// Of a row: its columns, in their order; `None` if it's too long.
    pub(crate) fn of_row(row: &[(String, Value)], wanted: &[String]) -> Option<Record> {
        let members = row.iter().map(|(name, value)| {
            let name = Value::from(&**name);
            format!("{name}:{value}")
        });
        let json = format!("{{{}}}", members.collect::<Vec<_>>().join(","));
        let get = |name: &str| {
            row.iter()
                .find(|(one, _)| one == name)
                .map(|(_, value)| value)
        };
        let fits = json.len() <= RECORD_BYTES_MAX;
        fits.then(|| Record::of(get, json.into(), wanted))
    }

    fn of<'a>(
        get: impl Fn(&str) -> Option<&'a Value>,
        json: Box<str>,
        wanted: &[String],
    ) -> Record {
        let fields = wanted.iter().map(|name| match get(name)? {
            Value::Null => None,
            Value::String(text) => Some(text.as_str().into()),
            other => Some(other.to_string().into()),
        });
        Record {
            json,
            disabled: get(DISABLED).is_some_and(bars),
            fields: fields.collect(),
        }
    }

    /// All of it, as JSON.
    pub fn json(&self) -> &str {
        &self.json
    }

    /// He may not, whatever he shows.
    pub fn is_disabled(&self) -> bool {
        self.disabled
    }

    /// What was wanted, by its place: texts as they are, everything else as JSON; `None` where
    /// there is nothing.
    pub fn field(&self, at: usize) -> Option<&str> {
        self.fields.get(at)?.as_deref()
    }
}

/// Whether this bars somebody. What can't be understood does.
fn bars(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !matches!(&**text, "" | "0" | "false"),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wanted_of_an_object_is_text() {
        let wanted = ["balance", "name", "tags", "none", "absent"].map(String::from);
        let text = br#" {"balance":1554,"name":"a b","tags":["x"],"none":null} "#;
        let record = Record::read(text, &wanted).expect("it's an object");
        let fields: Vec<_> = (0..6).map(|at| record.field(at)).collect();
        let expected = [Some("1554"), Some("a b"), Some("[\"x\"]"), None, None, None];
        assert_eq!(fields, expected);
        assert!(record.json().starts_with('{') && record.json().ends_with('}'));
        assert!(!record.is_disabled());
    }

    #[test]
    fn nonsense_is_no_record() {
        let long = format!("{{\"a\":\"{}\"}}", "x".repeat(RECORD_BYTES_MAX));
        for text in [
            "", "1", "[]", "{", "\"a\"", "null", "{}x", "\u{fffd}", &long,
        ] {
            assert_eq!(Record::read(text.as_bytes(), &[]), None, "{text:.20}");
        }
        assert_eq!(Record::read(b"{\"a\":\"\xff\"}", &[]), None);
    }

    #[test]
    fn who_is_disabled_is_told_from_who_is_not() {
        let rows = [
            ("{}", false),
            (r#"{"disabled":null}"#, false),
            (r#"{"disabled":false}"#, false),
            (r#"{"disabled":0}"#, false),
            (r#"{"disabled":"0"}"#, false),
            (r#"{"disabled":true}"#, true),
            (r#"{"disabled":1}"#, true),
            (r#"{"disabled":"yes"}"#, true),
            (r#"{"disabled":{}}"#, true),
        ];
        for (text, expected) in rows {
            let record = Record::read(text.as_bytes(), &[]).expect("an object");
            assert_eq!(record.is_disabled(), expected, "{text}");
        }
    }
}
