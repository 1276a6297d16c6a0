//! Templates to text, queries' values through filters.

use std::borrow::Cow;

use measure::random::Random;
use measure::time::{utc_date, utc_time_of_day};
use regex::Regex;

use crate::filters;
use crate::model::{Expected, Expression, Filter, Path, Pattern, Piece, Source, Template};
use crate::paths;
use crate::scope::Scope;
use crate::value::Value;

/// What templates draw on.
pub(crate) struct Renderer<'a> {
    pub scope: Scope<'a>,
    pub random: &'a mut Random,
    /// Since 1970.
    pub unix_ms: u64,
}

impl<'a> Renderer<'a> {
    /// Appends a template's text.
    ///
    /// # Errors
    /// A variable without a value, bytes that aren't text, a filter that doesn't fit.
    pub(crate) fn write(&mut self, template: &Template, out: &mut String) -> Result<(), String> {
        let mut pieces = template.0.iter();
        pieces.try_for_each(|piece| self.write_piece(piece, out))
    }

    /// Appends a part of it.
    pub(crate) fn write_piece(&mut self, piece: &Piece, out: &mut String) -> Result<(), String> {
        match piece {
            Piece::Text(text) => out.push_str(text),
            Piece::Made(made) => self.write_expression(made, out)?,
            Piece::MadeInJson(made) => {
                let start = out.len();
                self.write_expression(made, out)?;
                escape_json(out, start);
            }
        }
        Ok(())
    }

    /// A template's text, which is only made where it has placeholders.
    pub(crate) fn text<'t>(&mut self, template: &'t Template) -> Result<Cow<'t, str>, String> {
        if let Some(text) = template.constant() {
            return Ok(Cow::Borrowed(text));
        }
        let mut text = String::new();
        self.write(template, &mut text)?;
        Ok(Cow::Owned(text))
    }

    fn write_expression(&mut self, made: &Expression, out: &mut String) -> Result<(), String> {
        let is_text = match made.source {
            Source::Variable(slot) if made.filters.is_empty() => self.scope.value(slot)?.write(out),
            _ => self.evaluate(made)?.write(out),
        };
        match is_text {
            true => Ok(()),
            false => Err("a placeholder's value is bytes that aren't text".to_owned()),
        }
    }

    /// The value of an expression.
    pub(crate) fn evaluate(&mut self, made: &Expression) -> Result<Cow<'a, Value>, String> {
        let scope = self.scope;
        let value = match made.source {
            Source::Variable(slot) => Cow::Borrowed(scope.value(slot)?),
            Source::NewUuid => Cow::Owned(Value::text(uuid(self.random))),
            Source::NewDate => {
                let (seconds, ms) = (self.unix_ms / 1000, self.unix_ms % 1000);
                let (date, time) = (utc_date(seconds), utc_time_of_day(seconds));
                Cow::Owned(Value::text(format!("{date}T{time}.{ms:03}Z")))
            }
        };
        let filtered = self.filter(Some(value), &made.filters)?;
        filtered.ok_or_else(|| "the filters of a placeholder found nothing".to_owned())
    }

    /// What something is held against.
    pub(crate) fn expected<'v>(&mut self, is: &'v Expected) -> Result<Cow<'v, Value>, String>
    where
        'a: 'v,
    {
        Ok(match is {
            Expected::Value(value) => Cow::Borrowed(value),
            Expected::Text(template) => Cow::Owned(Value::text(self.text(template)?)),
            Expected::Made(made) => self.evaluate(made)?,
        })
    }

    /// The regular expression of a pattern.
    pub(crate) fn regex<'p>(&mut self, pattern: &'p Pattern) -> Result<Cow<'p, Regex>, String> {
        match pattern {
            Pattern::Fixed(regex) => Ok(Cow::Borrowed(regex)),
            Pattern::Made(template) => match Regex::new(&self.text(template)?) {
                Ok(regex) => Ok(Cow::Owned(regex)),
                Err(_) => Err("what its placeholders make isn't a regular expression".to_owned()),
            },
        }
    }

    /// What a path finds.
    pub(crate) fn find(
        &mut self,
        path: &Path,
        json: &serde_json::Value,
    ) -> Result<Option<Value>, String> {
        match path {
            Path::Fixed(path) => Ok(paths::find(path, json)),
            Path::Made(template) => match paths::read(&self.text(template)?) {
                Ok(path) => Ok(paths::find(&path, json)),
                Err(_) => Err("what its placeholders make isn't a JSONPath".to_owned()),
            },
        }
    }

    /// A value through filters; none once one finds nothing.
    pub(crate) fn filter<'v>(
        &mut self,
        value: Option<Cow<'v, Value>>,
        all: &[Filter],
    ) -> Result<Option<Cow<'v, Value>>, String> {
        let mut value = value;
        for filter in all {
            let Some(given) = value else {
                return Ok(None);
            };
            value = self.filtered(&given, filter)?.map(Cow::Owned);
        }
        Ok(value)
    }

    fn filtered(&mut self, value: &Value, filter: &Filter) -> Result<Option<Value>, String> {
        // Without its value, which an answer may have under the name of a secret.
        let wants = |what: &str| {
            let kind = value.kind();
            format!("the filter {} wants {what}, not {kind}", name(filter))
        };
        let whole = match filter {
            Filter::Count => filters::count(value).ok_or_else(|| wants("a list or bytes"))?,
            Filter::ToInt => {
                filters::to_int(value).ok_or_else(|| wants("a number or text that is one"))?
            }
            Filter::ToFloat => {
                filters::to_float(value).ok_or_else(|| wants("a number or text that is one"))?
            }
            Filter::Nth(index) => match value {
                Value::List(items) => return Ok(filters::nth(items, *index)),
                _ => return Err(wants("a list")),
            },
            Filter::ToText => {
                let mut text = String::new();
                match value.write(&mut text) {
                    true => Value::text(text),
                    false => return Err(wants("what can be text")),
                }
            }
            Filter::ToHex | Filter::Base64Encode { .. } | Filter::Utf8Decode => {
                let bytes = match value {
                    Value::Bytes(bytes) => bytes,
                    Value::Text(text) => text.as_bytes(),
                    _ => return Err(wants("bytes")),
                };
                match filter {
                    Filter::ToHex => Value::text(filters::hex(bytes)),
                    Filter::Base64Encode { url_safe } => {
                        Value::text(filters::base64_encode(bytes, *url_safe))
                    }
                    _ => match std::str::from_utf8(bytes) {
                        Ok(text) => Value::text(text),
                        Err(_) => return Err(wants("text in UTF-8")),
                    },
                }
            }
            Filter::JsonPath(path) => {
                let json = match value {
                    Value::Text(text) => serde_json::from_str(text).ok(),
                    Value::List(_) | Value::Object(_) => value.to_json(),
                    _ => return Err(wants("text")),
                };
                return self.find(path, &json.ok_or_else(|| wants("JSON"))?);
            }
            Filter::Regex(_)
            | Filter::Split(_)
            | Filter::Replace(..)
            | Filter::ReplaceRegex(..)
            | Filter::UrlEncode
            | Filter::UrlDecode
            | Filter::UrlQueryParam(_)
            | Filter::Base64Decode { .. }
            | Filter::Utf8Encode
            | Filter::HtmlEscape
            | Filter::HtmlUnescape => match value {
                Value::Text(text) => return self.filtered_text(text, filter),
                _ => return Err(wants("text")),
            },
        };
        Ok(Some(whole))
    }

    /// Filters of texts.
    fn filtered_text(&mut self, text: &str, filter: &Filter) -> Result<Option<Value>, String> {
        let scope = self.scope;
        let wants = |what: &str| format!("the filter {} wants {what}, not text", name(filter));
        let made = match filter {
            Filter::Regex(pattern) => return captured(&*self.regex(pattern)?, text),
            Filter::Split(by) => {
                let by = self.text(by)?;
                Value::List(text.split(&*by).map(Value::text).collect())
            }
            Filter::Replace(old, new) => {
                let (old, new) = (self.text(old)?, self.text(new)?);
                Value::text(text.replace(&*old, &new))
            }
            Filter::ReplaceRegex(old, new) => {
                let (old, new) = (self.regex(old)?, self.text(new)?);
                Value::text(old.replace_all(text, &*new))
            }
            Filter::UrlEncode => {
                let mut encoded = String::new();
                filters::url_encode(text.as_bytes(), b"/", &mut encoded);
                Value::text(encoded)
            }
            Filter::UrlDecode => {
                let decoded = filters::url_decode(text).ok_or_else(|| wants("text in UTF-8"))?;
                Value::text(decoded)
            }
            Filter::UrlQueryParam(name) => {
                let found = filters::url_query_param(text, &self.text(name)?);
                return Ok(found.map(Value::text));
            }
            Filter::Base64Decode { url_safe } => {
                let bytes = filters::base64_decode(text, *url_safe);
                Value::Bytes(bytes.ok_or_else(|| wants("base64"))?.into())
            }
            Filter::Utf8Encode => Value::Bytes(text.as_bytes().into()),
            Filter::HtmlEscape => Value::text(filters::html_escape(text)),
            Filter::HtmlUnescape => match filters::html_unescape(text) {
                Ok(text) => Value::text(text),
                Err(name) => {
                    let name = scope.shown(&Value::text(name));
                    return Err(format!("htmlUnescape doesn't know the character {name}"));
                }
            },
            Filter::Count
            | Filter::ToInt
            | Filter::ToFloat
            | Filter::Nth(_)
            | Filter::ToText
            | Filter::ToHex
            | Filter::Base64Encode { .. }
            | Filter::Utf8Decode
            | Filter::JsonPath(_) => return Err(format!("{} is no filter of text", name(filter))),
        };
        Ok(Some(made))
    }
}

/// The first group of the first match.
pub(crate) fn captured(regex: &Regex, text: &str) -> Result<Option<Value>, String> {
    if regex.captures_len() < 2 {
        return Err("the regular expression has no group: put what you want in ( )".to_owned());
    }
    let found = regex.captures(text).and_then(|found| found.get(1));
    Ok(found.map(|found| Value::text(found.as_str())))
}

/// As files write it.
fn name(filter: &Filter) -> &'static str {
    match filter {
        Filter::Count => "count",
        Filter::Regex(_) => "regex",
        Filter::JsonPath(_) => "jsonpath",
        Filter::Nth(0) => "first (nth 0)",
        Filter::Nth(-1) => "last (nth -1)",
        Filter::Nth(_) => "nth",
        Filter::Split(_) => "split",
        Filter::Replace(..) => "replace",
        Filter::ReplaceRegex(..) => "replaceRegex",
        Filter::ToInt => "toInt",
        Filter::ToFloat => "toFloat",
        Filter::ToText => "toString",
        Filter::ToHex => "toHex",
        Filter::UrlEncode => "urlEncode",
        Filter::UrlDecode => "urlDecode",
        Filter::UrlQueryParam(_) => "urlQueryParam",
        Filter::Base64Encode { url_safe: true } => "base64UrlSafeEncode",
        Filter::Base64Encode { .. } => "base64Encode",
        Filter::Base64Decode { url_safe: true } => "base64UrlSafeDecode",
        Filter::Base64Decode { .. } => "base64Decode",
        Filter::Utf8Encode => "utf8Encode",
        Filter::Utf8Decode => "utf8Decode",
        Filter::HtmlEscape => "htmlEscape",
        Filter::HtmlUnescape => "htmlUnescape",
    }
}

/// Escapes what stands from `start` on, to stand in a string of JSON (RFC 8259 §7).
fn escape_json(out: &mut String, start: usize) {
    let must = |c: char| c == '"' || c == '\\' || c < ' ';
    if !out[start..].contains(must) {
        return;
    }
    let quoted = serde_json::Value::String(out.split_off(start)).to_string();
    out.push_str(&quoted[1..quoted.len() - 1]);
}

/// A random UUID (RFC 9562 §5.4).
fn uuid(random: &mut Random) -> String {
    let high = random.next() & !0xf000 | 0x4000;
    let low = random.next() & !(0b11 << 62) | 0b10 << 62;
    let (a, b, c) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
    format!(
        "{a:08x}-{b:04x}-{c:04x}-{:04x}-{:012x}",
        low >> 48,
        low & 0xffff_ffff_ffff
    )
}
