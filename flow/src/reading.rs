//! What answers hold: queries.

use std::borrow::Cow;
use std::time::Duration;

use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::model::{Attribute, Found, Query, Version};
use crate::render::{Renderer, captured};
use crate::value::Value;

/// Codings that have been taken off.
const CODINGS: [&str; 3] = ["gzip", "x-gzip", "deflate"];

/// An answer to a request, as it came; content codings have been taken off its body.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// What it came with.
    pub version: Version,
    /// Its status.
    pub status: u16,
    /// Its fields, in their order.
    pub fields: &'a Fields,
    /// Its body.
    pub body: &'a [u8],
    /// The body went on behind that.
    pub is_cut: bool,
    /// It isn't in the coding that its fields name, so it stands as it came.
    pub is_broken: bool,
    /// From when the request was sent to the answer's end.
    pub took: Duration,
}

/// The fields of an answer, in a buffer that serves one answer after the other: heads come before
/// bodies, and what was received is lent for a moment only.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    bytes: Vec<u8>,
    /// Where each name and its value end.
    ends: Vec<(u32, u32)>,
}

impl Fields {
    /// None.
    pub fn new() -> Fields {
        Fields::default()
    }

    /// One more.
    pub fn push(&mut self, name: &[u8], value: &[u8]) {
        self.bytes.extend_from_slice(name);
        let end = self.bytes.len() as u32;
        self.bytes.extend_from_slice(value);
        self.ends.push((end, self.bytes.len() as u32));
    }

    /// Forgets them, and keeps the buffer.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// Names and values.
    pub fn iter(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let mut start = 0;
        self.ends.iter().map(move |&(name, value)| {
            let (name, value) = (name as usize, value as usize);
            let field = (&self.bytes[start..name], &self.bytes[name..value]);
            start = value;
            field
        })
    }
}

impl<'a> Answer<'a> {
    /// The values of a field, of which what isn't UTF-8 is read as Latin-1.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = Cow<'a, str>> {
        let named = self
            .fields
            .iter()
            .filter(move |(found, _)| found.eq_ignore_ascii_case(name.as_bytes()));
        named.map(|(_, value)| text(value))
    }
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(bytes.iter().map(|byte| char::from(*byte)).collect()),
    }
}

/// An answer that is looked into: text, bytes and JSON are read once, and only if they're asked
/// for.
pub(crate) struct Reading<'a> {
    pub answer: &'a Answer<'a>,
    /// What was asked for last.
    url: &'a str,
    text: Option<Result<Value, String>>,
    bytes: Option<Value>,
    json: Option<Result<Json, String>>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(answer: &'a Answer<'a>, url: &'a str) -> Reading<'a> {
        Reading {
            answer,
            url,
            text: None,
            bytes: None,
            json: None,
        }
    }

    /// What a query finds behind its filters.
    pub(crate) fn found<'v>(
        &'v mut self,
        found: &Found,
        renderer: &mut Renderer<'v>,
    ) -> Result<Option<Cow<'v, Value>>, String> {
        if found.query.is_of_body() {
            self.whole()?;
        }
        let value = match &found.query {
            Query::Body => Some(Cow::Borrowed(self.text_value()?)),
            Query::Bytes => Some(Cow::Borrowed(self.bytes_value())),
            Query::Variable(slot) => renderer.scope.find(*slot).map(Cow::Borrowed),
            query => self.query(query, renderer)?.map(Cow::Owned),
        };
        renderer.filter(value, &found.filters)
    }

    /// What other queries find.
    fn query(
        &mut self,
        query: &Query,
        renderer: &mut Renderer<'_>,
    ) -> Result<Option<Value>, String> {
        let answer = self.answer;
        Ok(match query {
            Query::Status => Some(Value::Integer(answer.status.into())),
            Query::Version => {
                let name = answer.version.name();
                Some(Value::text(name.strip_prefix("HTTP/").unwrap_or(name)))
            }
            Query::Url => Some(Value::text(self.url)),
            Query::Duration => Some(Value::Integer(answer.took.as_millis() as i128)),
            Query::Sha256 => Some(Value::Bytes(Sha256::digest(answer.body).to_vec().into())),
            Query::Header(name) => {
                let name = renderer.text(name)?;
                let mut values: Vec<Value> = answer.values(&name).map(Value::text).collect();
                match values.len() {
                    0 | 1 => values.pop(),
                    _ => Some(Value::List(values.into())),
                }
            }
            Query::Cookie(name, attribute) => self.cookie(&renderer.text(name)?, *attribute),
            Query::Regex(pattern) => {
                let regex = renderer.regex(pattern)?;
                captured(&regex, self.text()?)?
            }
            Query::JsonPath(path) => {
                let json = self.json()?;
                renderer.find(path, json)?
            }
            Query::Body | Query::Bytes | Query::Variable(_) => None,
        })
    }

    /// Nothing, if all of the body is here, and without a coding.
    ///
    /// # Errors
    /// It's longer than what was kept of it, or in a coding that isn't known.
    pub(crate) fn whole(&self) -> Result<(), String> {
        let fields = self.answer.values("content-encoding");
        let codings = fields.flat_map(|field| field.split(',').map(coding).collect::<Vec<_>>());
        let codings: Vec<String> = codings.filter(|name| name != "identity").collect();
        let is_known = |name: &String| CODINGS.contains(&&**name);
        if codings.len() > 1 || !codings.iter().all(is_known) {
            return Err(format!(
                "the body is in the coding {}, which can't be decoded",
                codings.join(", ")
            ));
        }
        if self.answer.is_broken {
            return Err(format!(
                "the body can't be decoded: it's no {}, or it ends too soon",
                codings.join(", ")
            ));
        }
        match self.answer.is_cut {
            true => Err(format!(
                "the body is too long to look into: only its first {} MiB were kept",
                self.answer.body.len() >> 20
            )),
            false => Ok(()),
        }
    }

    /// The body as text.
    ///
    /// # Errors
    /// It isn't text, or of a charset that isn't known.
    pub(crate) fn text(&mut self) -> Result<&str, String> {
        match self.text_value()? {
            Value::Text(text) => Ok(text),
            _ => Ok(""),
        }
    }

    fn text_value(&mut self) -> Result<&Value, String> {
        let answer = self.answer;
        match self
            .text
            .get_or_insert_with(|| body_text(answer).map(Value::text))
        {
            Ok(text) => Ok(text),
            Err(why) => Err(why.clone()),
        }
    }

    fn bytes_value(&mut self) -> &Value {
        let answer = self.answer;
        self.bytes
            .get_or_insert_with(|| Value::Bytes(answer.body.into()))
    }

    fn json(&mut self) -> Result<&Json, String> {
        if self.json.is_none() {
            let read = |text: &str| {
                serde_json::from_str(text).map_err(|why| format!("the body isn't JSON: {why}"))
            };
            self.json = Some(self.text().and_then(read));
        }
        match &self.json {
            Some(Ok(json)) => Ok(json),
            Some(Err(why)) => Err(why.clone()),
            None => Err("the body isn't JSON".to_owned()),
        }
    }

    /// What the answer sets of a cookie; of several fields the last one.
    fn cookie(&self, name: &str, attribute: Attribute) -> Option<Value> {
        let fields = self.answer.values("set-cookie");
        let is_named = |field: &Cow<'_, str>| set_cookie(field).is_some_and(|(is, ..)| is == name);
        let field = fields.filter(is_named).last()?;
        let (_, value, attributes) = set_cookie(&field)?;
        let wanted = match attribute {
            Attribute::Value => return Some(Value::text(value)),
            Attribute::Expires => "expires",
            Attribute::MaxAge => "max-age",
            Attribute::Domain => "domain",
            Attribute::Path => "path",
            Attribute::Secure => "secure",
            Attribute::HttpOnly => "httponly",
            Attribute::SameSite => "samesite",
        };
        let mut named = attributes.filter(|(key, _)| key.eq_ignore_ascii_case(wanted));
        let (_, value) = named.next()?;
        Some(match attribute {
            Attribute::Secure | Attribute::HttpOnly => Value::Bool(true),
            Attribute::MaxAge => value.parse::<i64>().map_or_else(
                |_| Value::text(value),
                |seconds| Value::Integer(seconds.into()),
            ),
            _ => Value::text(value),
        })
    }
}

/// The name of a content coding (RFC 9110 §8.4.1), of which none at all is one, too.
fn coding(written: &str) -> String {
    match written.trim() {
        "" => "identity".to_owned(),
        name => name.to_ascii_lowercase(),
    }
}

impl Query {
    /// Whether it looks into the body.
    fn is_of_body(&self) -> bool {
        matches!(
            self,
            Query::Body | Query::Bytes | Query::JsonPath(_) | Query::Regex(_) | Query::Sha256
        )
    }
}

fn body_text<'a>(answer: &Answer<'a>) -> Result<Cow<'a, str>, String> {
    let content_type = answer.values("content-type").next().unwrap_or_default();
    let lower = content_type.to_ascii_lowercase();
    let charset = lower
        .split_once("charset=")
        .map_or("utf-8", |(_, rest)| rest);
    let charset = charset
        .split([';', ' '])
        .next()
        .unwrap_or_default()
        .trim_matches('"');
    match charset {
        "utf-8" | "utf8" | "us-ascii" | "ascii" => match std::str::from_utf8(answer.body) {
            Ok(text) => Ok(Cow::Borrowed(text)),
            Err(why) => {
                let at = why.valid_up_to();
                Err(format!(
                    "the body isn't text in UTF-8: byte {at} can't stand there"
                ))
            }
        },
        "iso-8859-1" | "latin1" => Ok(Cow::Owned(
            answer.body.iter().map(|byte| char::from(*byte)).collect(),
        )),
        other => Err(format!(
            "the body is text in {other}, which isn't supported: use bytes"
        )),
    }
}

/// What a field says of its cookie: name, value, and attributes with their values.
fn set_cookie(field: &str) -> Option<(&str, &str, impl Iterator<Item = (&str, &str)>)> {
    let mut parts = field.split(';');
    let (name, value) = parts.next()?.split_once('=')?;
    let attributes = parts.map(|part| {
        let (key, value) = part.split_once('=').unwrap_or((part, ""));
        (key.trim(), value.trim())
    });
    Some((name.trim(), value.trim(), attributes))
}
