//! Messages out of JSON, by the JSON mapping of proto3, and where such JSON does not fit.

use prost::Message as _;
use prost_reflect::{DeserializeOptions, DynamicMessage, FieldDescriptor, Kind, MessageDescriptor};
use serde::Deserializer;
use serde_json::{Value, json};

use super::nearest_first;

/// The message whose JSON form is an array.
pub(super) const LIST_VALUE: &str = "google.protobuf.ListValue";
/// How much of a wrong value is shown.
const SHOWN_CHARACTERS: usize = 60;

/// What is said of values that don't fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quoting {
    /// How they begin.
    Values,
    /// Only what kind they are of: they may be secrets.
    Kinds,
}

/// The bytes of the message that `value` says. `place` is where it stands in what was given.
///
/// # Errors
/// What doesn't fit, and where.
pub(super) fn encode(
    message: &MessageDescriptor,
    value: &Value,
    place: &str,
    quoting: Quoting,
) -> Result<Vec<u8>, String> {
    match read(message, value) {
        Ok(read) => Ok(read.encode_to_vec()),
        Err(why) => {
            let misfit = quoting.misfit(message, value, place);
            Err(misfit.unwrap_or_else(|| quoting.unknown(place, &why)))
        }
    }
}

/// A message out of what is JSON.
pub(super) fn read<'de, D: Deserializer<'de>>(
    message: &MessageDescriptor,
    json: D,
) -> Result<DynamicMessage, D::Error> {
    let options = DeserializeOptions::new().deny_unknown_fields(true);
    DynamicMessage::deserialize_with_options(message.clone(), json, &options)
}

impl Quoting {
    /// That a place doesn't fit, with the library's reason if that may be told: it quotes values.
    fn unknown(self, place: &str, why: &serde_json::Error) -> String {
        let place = shown_place(place);
        match self {
            Quoting::Values => format!("{place}: {why}"),
            Quoting::Kinds => {
                format!("{place} has a value that doesn't fit, or several of one `oneof`")
            }
        }
    }

    /// Looks for the innermost place that does not fit; `None` where the message fits.
    fn misfit(self, message: &MessageDescriptor, value: &Value, place: &str) -> Option<String> {
        let why = read(message, value).err()?;
        let name = message.full_name();
        let wrong = |expected: &str| {
            format!(
                "{} must be {expected}, not {}",
                shown_place(place),
                self.shown(value)
            )
        };
        if let Some(expected) = well_known(name) {
            return Some(match self {
                Quoting::Values => format!("{} ({why})", wrong(expected)),
                Quoting::Kinds => wrong(expected),
            });
        }
        let Value::Object(members) = value else {
            return Some(wrong(&format!("an object of {name}")));
        };
        for (key, value) in members {
            let by_name = || message.get_field_by_name(key);
            let inner = match message.get_field_by_json_name(key).or_else(by_name) {
                Some(field) => self.misfit_in_field(message, &field, value, &joined(place, key)),
                // Extensions are not followed: the last sentence says what is wrong about one.
                None if key.starts_with('[') => None,
                None => Some(self.unknown_field(message, key, place)),
            };
            if inner.is_some() {
                return inner;
            }
        }
        Some(self.unknown(place, &why))
    }

    /// The same for one field of `message`; `None` where the value fits.
    fn misfit_in_field(
        self,
        message: &MessageDescriptor,
        field: &FieldDescriptor,
        value: &Value,
        place: &str,
    ) -> Option<String> {
        let alone = |value: Value| read(message, &json!({ field.name(): value })).err();
        alone(value.clone())?;
        let kind = field.kind();
        let wrong = |expected: &str| {
            Some(format!(
                "{place} must be {expected}, not {}",
                self.shown(value)
            ))
        };
        if field.is_map() {
            let Kind::Message(entry) = kind else {
                unreachable!("the entries of a map are messages")
            };
            let Value::Object(members) = value else {
                return wrong("an object, because the field is a map");
            };
            let (key, inner) = (entry.map_entry_key_field(), entry.map_entry_value_field());
            return members.iter().find_map(|(name, value)| {
                alone(json!({ name.as_str(): value }))?;
                let place = match self {
                    Quoting::Values => format!("{place}[{name:?}]"),
                    Quoting::Kinds => format!("{place}[…]"),
                };
                let deeper = match inner.kind() {
                    Kind::Message(inner) => self.misfit(&inner, value, &place),
                    kind => read(&entry, &json!({ "value": value })).err().map(|_| {
                        format!(
                            "{place} must be {}, not {}",
                            noun(&kind, value),
                            self.shown(value)
                        )
                    }),
                };
                let key = noun(&key.kind(), value);
                deeper.or_else(|| Some(format!("the key of {place} must be {key}")))
            });
        }
        if field.is_list() {
            let Value::Array(items) = value else {
                return wrong(&format!(
                    "an array, because the field is repeated, of {}",
                    noun(&kind, value)
                ));
            };
            return items.iter().enumerate().find_map(|(at, item)| {
                alone(json!([item]))?;
                self.misfit_in_value(&kind, item, &format!("{place}[{at}]"))
            });
        }
        self.misfit_in_value(&kind, value, place)
    }

    /// The same for a value that is known not to fit, and stands alone.
    fn misfit_in_value(self, kind: &Kind, value: &Value, place: &str) -> Option<String> {
        let simple = || {
            format!(
                "{place} must be {}, not {}",
                noun(kind, value),
                self.shown(value)
            )
        };
        match kind {
            Kind::Message(message) => self
                .misfit(message, value, place)
                .or_else(|| Some(simple())),
            _ => Some(simple()),
        }
    }

    /// That a message has no such field; which it has, the likeliest first.
    fn unknown_field(self, message: &MessageDescriptor, key: &str, place: &str) -> String {
        let fields = message.fields().map(|field| field.name().to_owned());
        let fields: Vec<String> = fields.collect();
        let has = match (fields.is_empty(), self) {
            (true, _) => "it has none".to_owned(),
            (false, Quoting::Values) => format!("it has {}", nearest_first(key, fields)),
            (false, Quoting::Kinds) => format!("it has {}", fields.join(", ")),
        };
        let name = message.full_name();
        match self {
            Quoting::Values => format!("{} isn't a field of {name}; {has}", joined(place, key)),
            Quoting::Kinds => {
                let place = shown_place(place);
                format!("{place} has a name in it that isn't a field of {name}; {has}")
            }
        }
    }

    /// A value, fit for a sentence.
    fn shown(self, value: &Value) -> String {
        let kind = match (self, value) {
            (Quoting::Values, _) => return beginning(value),
            (Quoting::Kinds, Value::Null) => "null",
            (Quoting::Kinds, Value::Bool(_)) => "true or false",
            (Quoting::Kinds, Value::Number(_)) => "that number",
            (Quoting::Kinds, Value::String(_)) => "that text",
            (Quoting::Kinds, Value::Array(_)) => "an array",
            (Quoting::Kinds, Value::Object(_)) => "an object",
        };
        kind.to_owned()
    }
}

/// What a value of this kind looks like in JSON. Of names the ones like `found` come first.
fn noun(kind: &Kind, found: &Value) -> String {
    match kind {
        Kind::Double | Kind::Float => "a number".into(),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => "a 32-bit integer".into(),
        Kind::Uint32 | Kind::Fixed32 => "an unsigned 32-bit integer".into(),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => {
            "a 64-bit integer, optionally in quotes".into()
        }
        Kind::Uint64 | Kind::Fixed64 => "an unsigned 64-bit integer, optionally in quotes".into(),
        Kind::Bool => "true or false".into(),
        Kind::String => "a string".into(),
        Kind::Bytes => "a base64 string".into(),
        Kind::Enum(choices) => {
            let names = choices.values().map(|value| value.name().to_owned());
            format!(
                "one of {}",
                nearest_first(found.as_str().unwrap_or_default(), names.collect())
            )
        }
        Kind::Message(message) => match well_known(message.full_name()) {
            Some(form) => form.to_owned(),
            None => format!("an object of {}", message.full_name()),
        },
    }
}

/// The messages that have a JSON form of their own.
fn well_known(name: &str) -> Option<&'static str> {
    Some(match name.strip_prefix("google.protobuf.")? {
        "Any" => "an object with \"@type\": \"type.googleapis.com/package.Message\"",
        "Timestamp" => "a time such as \"2026-01-31T12:00:00Z\"",
        "Duration" => "a duration in seconds such as \"1.5s\"",
        "FieldMask" => "a string of comma-separated field names",
        "Struct" => "an object",
        "ListValue" => "an array",
        "DoubleValue" | "FloatValue" => "a number",
        "Int32Value" | "Int64Value" => "an integer",
        "UInt32Value" | "UInt64Value" => "an unsigned integer",
        "BoolValue" => "true or false",
        "StringValue" => "a string",
        "BytesValue" => "a base64 string",
        "Empty" => "an empty object",
        _ => return None,
    })
}

fn joined(place: &str, key: &str) -> String {
    if place.is_empty() {
        key.to_owned()
    } else {
        format!("{place}.{key}")
    }
}

fn shown_place(place: &str) -> &str {
    if place.is_empty() {
        "the message"
    } else {
        place
    }
}

/// The beginning of a value.
fn beginning(value: &Value) -> String {
    let text = value.to_string();
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}
