//! What variables, queries and filters hold.

use std::cmp::Ordering;
use std::fmt::Write;

use serde_json::Value as Json;

/// A value. Those of a user are kept as they are here, so that none is larger than it must be.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// JSON's null.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number; whatever fits into 64 bits, signed or not.
    Integer(i128),
    /// Another number.
    Float(f64),
    /// Text.
    Text(Box<str>),
    /// Bytes, such as those of a body.
    Bytes(Box<[u8]>),
    /// What a path with wildcards found, an array of JSON, or a field that came more than once.
    List(Box<[Value]>),
    /// An object of JSON.
    Object(Box<[(Box<str>, Value)]>),
}

impl Value {
    /// A text.
    pub fn text(text: impl Into<Box<str>>) -> Value {
        Value::Text(text.into())
    }

    /// The value of something typed: as [`Value::read`] has it, and quotes make a text of anything.
    pub fn typed(written: &str) -> Value {
        let unquoted = written.strip_prefix('"');
        match unquoted.and_then(|rest| rest.strip_suffix('"')) {
            Some(text) => Value::text(text),
            None => Value::read(written),
        }
    }

    /// The value of a text in a row: `null`, `true`, `false`, numbers, and text. Whatever it is, a
    /// request has the same text again.
    pub fn read(written: &str) -> Value {
        match written {
            "null" => return Value::Null,
            "true" => return Value::Bool(true),
            "false" => return Value::Bool(false),
            _ => {}
        }
        if let Ok(number) = written.parse::<i64>()
            && number.to_string() == written
        {
            return Value::Integer(number.into());
        }
        let is_decimal = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
        if written.contains('.')
            && written.chars().all(is_decimal)
            && let Ok(number) = written.parse::<f64>()
            && format!("{number:?}") == written
        {
            return Value::Float(number);
        }
        Value::text(written)
    }

    /// A value of JSON.
    pub(crate) fn of_json(json: &Json) -> Value {
        match json {
            Json::Null => Value::Null,
            Json::Bool(is) => Value::Bool(*is),
            Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
                (Some(whole), ..) => Value::Integer(whole.into()),
                (_, Some(whole), _) => Value::Integer(whole.into()),
                (_, _, float) => Value::Float(float.unwrap_or(f64::NAN)),
            },
            Json::String(text) => Value::text(&**text),
            Json::Array(items) => Value::List(items.iter().map(Value::of_json).collect()),
            Json::Object(members) => {
                let members = members.iter();
                Value::Object(
                    members
                        .map(|(name, is)| (&**name, is))
                        .map(member)
                        .collect(),
                )
            }
        }
    }

    /// The same as JSON, for paths into it; none of bytes.
    pub(crate) fn to_json(&self) -> Option<Json> {
        Some(match self {
            Value::Null => Json::Null,
            Value::Bool(is) => Json::Bool(*is),
            Value::Integer(whole) => match (i64::try_from(*whole), u64::try_from(*whole)) {
                (Ok(whole), _) => whole.into(),
                (_, Ok(whole)) => whole.into(),
                _ => return None,
            },
            Value::Float(number) => (*number).into(),
            Value::Text(text) => Json::String(text.to_string()),
            Value::Bytes(_) => return None,
            Value::List(items) => items.iter().map(Value::to_json).collect::<Option<_>>()?,
            Value::Object(members) => {
                let member =
                    |(name, is): &(Box<str>, Value)| Some((name.to_string(), is.to_json()?));
                Json::Object(members.iter().map(member).collect::<Option<_>>()?)
            }
        })
    }

    /// Writes it as it stands in a request; false if it's bytes that aren't text.
    pub(crate) fn write(&self, out: &mut String) -> bool {
        // Writing to a string doesn't fail.
        let _ = match self {
            Value::Null => write!(out, "null"),
            Value::Bool(is) => write!(out, "{is}"),
            Value::Integer(whole) => write!(out, "{whole}"),
            Value::Float(number) => write!(out, "{number:?}"),
            Value::Text(text) => write!(out, "{text}"),
            Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => write!(out, "{text}"),
                Err(_) => return false,
            },
            Value::List(_) | Value::Object(_) => match self.to_json() {
                Some(json) => write!(out, "{json}"),
                None => return false,
            },
        };
        true
    }

    /// As a message names it, with its kind; long ones are cut by whoever shows it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Value::Text(text) => format!("\"{text}\""),
            Value::Bytes(bytes) => {
                let shown = &bytes[..bytes.len().min(SHOWN_BYTES_MAX)];
                let hex: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
                let more = if shown.len() < bytes.len() { "…" } else { "" };
                let noun = if bytes.len() == 1 { "byte" } else { "bytes" };
                format!("{} {noun}: hex,{hex}{more};", bytes.len())
            }
            Value::List(items) if self.to_json().is_none() => format!("a list of {}", items.len()),
            other => {
                let mut text = String::new();
                other.write(&mut text);
                text
            }
        }
    }

    /// What kind of value it is, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Integer(_) | Value::Float(_) => "a number",
            Value::Text(_) => "a text",
            Value::Bytes(_) => "bytes",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        }
    }

    /// Whether two are the same; numbers are by what they are worth.
    pub(crate) fn equals(&self, other: &Value) -> bool {
        match (self, other) {
            (Value::Integer(_) | Value::Float(_), Value::Integer(_) | Value::Float(_)) => {
                self.compare(other) == Some(Ordering::Equal)
            }
            (Value::List(own), Value::List(others)) => {
                own.len() == others.len() && own.iter().zip(others).all(|(a, b)| a.equals(b))
            }
            _ => self == other,
        }
    }

    /// Which is more, of two numbers or two texts.
    pub(crate) fn compare(&self, other: &Value) -> Option<Ordering> {
        match (self, other) {
            (Value::Integer(own), Value::Integer(other)) => Some(own.cmp(other)),
            (Value::Text(own), Value::Text(other)) => Some(own.cmp(other)),
            _ => self.number()?.partial_cmp(&other.number()?),
        }
    }

    fn number(&self) -> Option<f64> {
        match self {
            Value::Integer(whole) => Some(*whole as f64),
            Value::Float(number) => Some(*number),
            _ => None,
        }
    }

    /// Roughly the bytes that it holds beside itself.
    pub(crate) fn held(&self) -> usize {
        match self {
            Value::Text(text) => text.len(),
            Value::Bytes(bytes) => bytes.len(),
            Value::List(items) => items
                .iter()
                .map(|item| size_of::<Value>() + item.held())
                .sum(),
            Value::Object(members) => {
                let own = size_of::<(Box<str>, Value)>();
                members
                    .iter()
                    .map(|(name, is)| own + name.len() + is.held())
                    .sum()
            }
            _ => 0,
        }
    }
}

/// The most bytes of a value that a message shows.
const SHOWN_BYTES_MAX: usize = 32;

fn member((name, is): (&str, &Json)) -> (Box<str>, Value) {
    (name.into(), Value::of_json(is))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_has_the_kind_it_looks_like() {
        let table = [
            ("null", Value::Null),
            ("true", Value::Bool(true)),
            ("12", Value::Integer(12)),
            ("-3", Value::Integer(-3)),
            ("1.5", Value::Float(1.5)),
            ("012", Value::text("012")),
            ("+1", Value::text("+1")),
            ("1e3", Value::text("1e3")),
            ("1.0", Value::Float(1.0)),
            ("1.50", Value::text("1.50")),
            (
                "100000000000000000000.5",
                Value::text("100000000000000000000.5"),
            ),
            ("NaN", Value::text("NaN")),
            ("\"12\"", Value::text("12")),
            ("", Value::text("")),
        ];
        for (written, expected) in table {
            assert_eq!(Value::typed(written), expected, "{written}");
            let mut again = String::new();
            Value::read(written).write(&mut again);
            assert_eq!(again, written, "a row's text is sent as it is");
        }
    }

    #[test]
    fn json_comes_back_as_it_went() {
        let text = r#"{"a":[1,-2,1.5,18446744073709551615,null,true],"b":{"c":"d"}}"#;
        let value = Value::of_json(&serde_json::from_str(text).unwrap());
        let mut written = String::new();
        assert!(value.write(&mut written));
        assert_eq!(written, text);
        assert!(!Value::Bytes([0xff].into()).write(&mut written));
    }

    #[test]
    fn numbers_are_equal_by_what_they_are_worth() {
        assert!(Value::Integer(1).equals(&Value::Float(1.0)));
        assert!(!Value::Integer(1).equals(&Value::text("1")));
        let lists = [Value::Integer(2), Value::Float(2.0)].map(|n| Value::List([n].into()));
        assert!(lists[0].equals(&lists[1]));
        assert_eq!(Value::Integer(1).compare(&Value::text("1")), None);
    }
}
