//! The json format of vegeta 12: a JSON object in each line (its `lib/target.schema.json`).
//!
//! No message quotes a value: it may be a secret.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use measure::foreign::Foreign;
use plan::Invalid;
use serde_json::{Map, Value};

use super::draft::{Body, Collector, Draft};
use super::{Defaults, Source, Targets};

pub(super) fn parse(source: &Source<'_>, defaults: &Defaults) -> Result<Targets, Invalid> {
    let mut collector = Collector::new(source, defaults);
    for line in source.lines() {
        if line.bytes.trim_ascii().is_empty() {
            continue;
        }
        let text = source.text(line)?;
        let draft = target(text, defaults).map_err(|what| source.mistake(line.number, what))?;
        collector.note_literal(line.number, draft.body.as_ref());
        collector.add(Draft {
            line: line.number,
            ..draft
        })?;
    }
    collector.finish()
}

/// A request, or what is wrong with it.
fn target(text: &str, defaults: &Defaults) -> Result<Draft, String> {
    let value: Value = serde_json::from_str(text).map_err(|why| unreadable(&why))?;
    let Value::Object(mut object) = value else {
        return Err(
            "this isn't an object: write {\"method\": …, \"url\": …}, each request in a \
                    line of its own"
                .to_owned(),
        );
    };
    let method = string(&mut object, "method")?.filter(|text| !text.is_empty());
    if method.is_none() && defaults.method.is_none() {
        return Err("`method` is missing: add \"method\": \"GET\"".to_owned());
    }
    let url = string(&mut object, "url")?.filter(|text| !text.is_empty());
    let url = url.ok_or("`url` is missing: add \"url\": \"http://HOST[:PORT]/PATH\"")?;
    let mut draft = Draft {
        method,
        url,
        body: body(&mut object)?,
        ..Draft::default()
    };
    headers(object.remove("header"), &mut draft)?;
    match object.keys().next() {
        Some(unknown) => Err(format!(
            "{:?} isn't a property of a target: there are method, url, body and header",
            Foreign::new(&**unknown)
        )),
        None => Ok(draft),
    }
}

/// Why a line is no JSON. The library counts lines of what it was given, which is one.
fn unreadable(why: &serde_json::Error) -> String {
    let text = why.to_string();
    let text = text.split(" at line ").next().unwrap_or_default();
    let column = why.column();
    format!("this isn't JSON: {text}, in column {column}; each request is one line")
}

/// A property that is a text, if it is there. As for vegeta, null is the same as nothing.
fn string(object: &mut Map<String, Value>, name: &str) -> Result<Option<String>, String> {
    match object.remove(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(format!("`{name}` isn't a text: put it in quotes")),
    }
}

/// The body. As for vegeta, an empty one is the same as none.
fn body(object: &mut Map<String, Value>) -> Result<Option<Body>, String> {
    let Some(text) = string(object, "body")?.filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let bytes = STANDARD.decode(text).map_err(|_| {
        "`body` isn't base64 (RFC 4648 §4, with padding): jq makes it with `@base64`".to_owned()
    })?;
    Ok(Some(Body {
        bytes,
        is_template: false,
    }))
}

/// The fields, by name.
fn headers(value: Option<Value>, draft: &mut Draft) -> Result<(), String> {
    let wrong = || "`header` isn't an object of lists: write {\"Name\": [\"value\"]}".to_owned();
    let object = match value {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::Object(object)) => object,
        Some(_) => return Err(wrong()),
    };
    for (name, values) in object {
        let values = match values {
            Value::Null => continue,
            Value::Array(values) => values,
            _ => return Err(wrong()),
        };
        for value in values {
            match value {
                Value::String(text) => draft.add_header(&name, text.trim())?,
                _ => return Err(wrong()),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
