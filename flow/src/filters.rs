//! What filters do to values: pure functions of texts and bytes.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use crate::value::Value;

/// Names of characters in HTML that are read back; others are only read as numbers.
const NAMED: [(&str, char); 6] = [
    ("amp", '&'),
    ("lt", '<'),
    ("gt", '>'),
    ("quot", '"'),
    ("apos", '\''),
    ("nbsp", '\u{a0}'),
];

/// How many there are; none of what can't be counted.
pub(crate) fn count(value: &Value) -> Option<Value> {
    let count = match value {
        Value::List(items) => items.len(),
        Value::Object(members) => members.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => return None,
    };
    Some(Value::Integer(count as i128))
}

/// The item at an index, from the end if it's negative.
pub(crate) fn nth(items: &[Value], index: i64) -> Option<Value> {
    let from_end = usize::try_from(index.unsigned_abs()).ok()?;
    let at = match index < 0 {
        true => items.len().checked_sub(from_end)?,
        false => from_end,
    };
    items.get(at).cloned()
}

/// A whole number; a fraction is cut off.
pub(crate) fn to_int(value: &Value) -> Option<Value> {
    match value {
        Value::Integer(_) => Some(value.clone()),
        Value::Float(number) if number.is_finite() => Some(Value::Integer(*number as i128)),
        Value::Text(text) => {
            let whole = text.trim().parse::<i64>().ok()?;
            Some(Value::Integer(whole.into()))
        }
        _ => None,
    }
}

/// A number with a fraction.
pub(crate) fn to_float(value: &Value) -> Option<Value> {
    match value {
        Value::Integer(whole) => Some(Value::Float(*whole as f64)),
        Value::Float(_) => Some(value.clone()),
        Value::Text(text) => Some(Value::Float(text.trim().parse().ok()?)),
        _ => None,
    }
}

/// Percent-encodes all but unreserved characters (RFC 3986 §2.3) and those in `also`.
pub(crate) fn url_encode(text: &[u8], also: &[u8], out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for &byte in text {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || also.contains(&byte) {
            out.push(byte.into());
            continue;
        }
        out.push('%');
        out.push(HEX[usize::from(byte >> 4)].into());
        out.push(HEX[usize::from(byte & 15)].into());
    }
}

/// Takes percent-encoding off; none if what comes out isn't text.
pub(crate) fn url_decode(text: &str) -> Option<String> {
    let digit = |byte: Option<&u8>| (*byte? as char).to_digit(16);
    let bytes = text.as_bytes();
    let (mut out, mut at) = (Vec::with_capacity(bytes.len()), 0);
    while at < bytes.len() {
        let pair = (digit(bytes.get(at + 1)), digit(bytes.get(at + 2)));
        match (bytes[at], pair) {
            (b'%', (Some(high), Some(low))) => {
                out.push((high << 4 | low) as u8);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(out).ok()
}

/// The value of a parameter in the query of a URL.
pub(crate) fn url_query_param(url: &str, name: &str) -> Option<String> {
    let (_, query) = url.split('#').next()?.split_once('?')?;
    let plain = |text: &str| url_decode(&text.replace('+', " "));
    query.split('&').find_map(|pair| {
        let (found, value) = pair.split_once('=').unwrap_or((pair, ""));
        (plain(found)? == name).then(|| plain(value))?
    })
}

pub(crate) fn base64_encode(bytes: &[u8], url_safe: bool) -> String {
    match url_safe {
        true => URL_SAFE_NO_PAD.encode(bytes),
        false => STANDARD.encode(bytes),
    }
}

pub(crate) fn base64_decode(text: &str, url_safe: bool) -> Option<Vec<u8>> {
    match url_safe {
        true => URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok(),
        false => STANDARD.decode(text).ok(),
    }
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn html_escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#x27;"),
            c => out.push(c),
        }
    }
    out
}

/// Reads references to characters, numbers also without a semicolon, as browsers do; an error is
/// the name of one that isn't known.
pub(crate) fn html_unescape(text: &str) -> Result<String, &str> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let is_of_names = |c: char| c.is_ascii_alphanumeric() || c == '#';
        let end = rest.find(|c| !is_of_names(c)).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() || !(behind.starts_with(';') || name.starts_with('#')) {
            out.push('&');
            continue;
        }
        out.push(referenced(name).ok_or(name)?);
        rest = behind.strip_prefix(';').unwrap_or(behind);
    }
    out.push_str(rest);
    Ok(out)
}

fn referenced(name: &str) -> Option<char> {
    let Some(number) = name.strip_prefix('#') else {
        let named = NAMED.iter().find(|(known, _)| *known == name);
        return named.map(|(_, c)| *c);
    };
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    char::from_u32(code.ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_comes_back() {
        let text = "a b/ü?&=%";
        let mut encoded = String::new();
        url_encode(text.as_bytes(), b"/", &mut encoded);
        assert_eq!(encoded, "a%20b/%C3%BC%3F%26%3D%25");
        assert_eq!(url_decode(&encoded).as_deref(), Some(text));
        assert_eq!(url_decode("%zz%4"), Some("%zz%4".to_owned()));
        assert_eq!(url_decode("%ff"), None);
        for url_safe in [false, true] {
            let encoded = base64_encode(b"\xff\xfe", url_safe);
            assert_eq!(
                base64_decode(&encoded, url_safe).as_deref(),
                Some(&b"\xff\xfe"[..])
            );
        }
        let escaped = html_escape("<a href=\"'&'\">");
        assert_eq!(escaped, "&lt;a href=&quot;&#x27;&amp;&#x27;&quot;&gt;");
        assert_eq!(html_unescape(&escaped).as_deref(), Ok("<a href=\"'&'\">"));
        assert_eq!(
            html_unescape("a & b &; &#169; &#xe9;").as_deref(),
            Ok("a & b &; © é")
        );
        assert_eq!(html_unescape("&#65 x&y").as_deref(), Ok("A x&y"));
        assert_eq!(html_unescape("&copy;"), Err("copy"));
        let url = "http://h/?a=1&b=x+%C3%BC&c#b=2";
        let table = [
            ("a", Some("1")),
            ("b", Some("x ü")),
            ("c", Some("")),
            ("d", None),
        ];
        for (name, expected) in table {
            assert_eq!(url_query_param(url, name).as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn an_index_counts_from_either_end() {
        let items = [1, 2, 3].map(Value::Integer);
        let table = [
            (0, Some(1)),
            (2, Some(3)),
            (3, None),
            (-1, Some(3)),
            (-3, Some(1)),
            (-4, None),
        ];
        for (index, expected) in table {
            assert_eq!(nth(&items, index), expected.map(Value::Integer), "{index}");
        }
        assert_eq!(nth(&items, i64::MIN), None);
    }
}
