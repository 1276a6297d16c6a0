//! JSONPath (RFC 9535), and what a path finds.

use serde_json::Value as Json;
use serde_json_path::JsonPath;

use crate::value::Value;

/// The most bytes of a path, and how deep its brackets may stand within each other: its parser
/// calls itself.
const BYTES_MAX: usize = 4096;
const DEPTH_MAX: usize = 32;

/// Reads a path.
///
/// # Errors
/// What is wrong with it.
pub(crate) fn read(text: &str) -> Result<JsonPath, String> {
    if text.len() > BYTES_MAX || depth(text) > DEPTH_MAX {
        return Err(format!(
            "is too long for a JSONPath: {BYTES_MAX} bytes, and {DEPTH_MAX} brackets within each \
             other, are the most"
        ));
    }
    match JsonPath::parse(text) {
        Ok(path) => Ok(path),
        Err(why) => Err(format!(
            "isn't a JSONPath as RFC 9535 has them: {why}; names with other characters than \
             letters, digits and _ are written $['a-name']"
        )),
    }
}

/// What a path finds: nothing, one value, or a list where there are several, as Hurl has it.
pub(crate) fn find(path: &JsonPath, json: &Json) -> Option<Value> {
    let found = path.query(json);
    match found.len() {
        0 | 1 => found.first().map(Value::of_json),
        _ => Some(Value::List(
            found.iter().map(|json| Value::of_json(json)).collect(),
        )),
    }
}

/// How deep brackets stand in each other at most; those in strings count, too, and so does each
/// `!`, after which a parser may call itself.
fn depth(path: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in path.bytes() {
        match byte {
            b'(' | b'[' | b'!' => depth += 1,
            b')' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_finds_nothing_a_value_or_several() {
        let json: Json = serde_json::from_str(r#"{"a":[{"b":1},{"b":2}],"c*":3,"e":[]}"#).unwrap();
        let table = [
            ("$.a[0].b", Some("1")),
            ("$.a[-1].b", Some("2")),
            ("$['c*']", Some("3")),
            ("$.x", None),
            ("$.e", Some("[]")),
            ("$.e[*]", None),
            ("$.a[*].b", Some("[1,2]")),
            ("$..b", Some("[1,2]")),
            ("$.a[0:1].b", Some("1")),
            ("$.a[0,1].b", Some("[1,2]")),
            ("$.a[?@.b > 1].b", Some("2")),
            ("$.a[?(@.b == 3)]", None),
            ("$.a[?(@.b==2)].b", Some("2")),
            ("$.a[?(@.b)].b", Some("[1,2]")),
            ("$.a[:1].b", Some("1")),
            ("$..*[?(@.b == 1 || @.b == 2)].b", Some("[1,2]")),
            ("$..[?(@.b==1)].b", Some("1")),
            ("$.a[?(@['b']==1)]['b']", Some("1")),
        ];
        for (path, expected) in table {
            let found = find(&read(path).unwrap(), &json).map(|value| value.shown());
            assert_eq!(found.as_deref(), expected, "{path}");
        }
        assert!(read("$.a-b").unwrap_err().contains("$['a-name']"));
    }
}
