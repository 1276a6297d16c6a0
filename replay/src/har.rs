//! HAR files, version 1.2 (<http://www.softwareishard.com/blog/har-12-spec/>), read entry by entry:
//! what servers answered, which is most of such a file, is never kept.

use std::fmt;
use std::io::BufRead;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::{Entry, Making, Request, log, stamp, unquoted};

/// Some programs begin texts with it.
pub(crate) const MARK: &[u8] = b"\xef\xbb\xbf";

/// Fields that a client makes itself, or that belong to its connection (RFC 9110 §7.6.1).
const OWN_FIELDS: [&str; 12] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "upgrade-insecure-requests",
];

/// Whether a field is sent again: it's none that a client makes itself, and it's one (RFC 9110 §5).
pub(crate) fn is_sent(name: &str, value: &str) -> bool {
    let is_field = log::is_token(name.as_bytes());
    let is_own = OWN_FIELDS.iter().any(|own| own.eq_ignore_ascii_case(name));
    is_field && !is_own && !value.chars().any(char::is_control)
}

/// Reads all entries.
pub(crate) fn read(reader: &mut impl BufRead, made: &mut Making<'_>) -> Result<(), String> {
    let name = made.name;
    let begin = reader
        .fill_buf()
        .map_err(|why| format!("can't read {name}: {why}"))?;
    if begin.starts_with(MARK) {
        reader.consume(MARK.len());
    }
    let mut seen = Seen {
        made,
        entries: 0,
        has_entries: false,
        refused: None,
    };
    let mut json = serde_json::Deserializer::from_reader(reader);
    let read = Top(&mut seen).deserialize(&mut json);
    let (refused, has_entries) = (seen.refused.take(), seen.has_entries);
    if let Some(why) = refused {
        return Err(why);
    }
    read.map_err(|why| format!("{name} is no HAR file: {}", unquoted(&why)))?;
    match has_entries {
        true => Ok(()),
        false => Err(format!(
            "{name} is no HAR file: it has no `entries` in its `log`"
        )),
    }
}

struct Seen<'m, 'a> {
    made: &'m mut Making<'a>,
    entries: u64,
    has_entries: bool,
    /// Why no more is read.
    refused: Option<String>,
}

/// The whole file.
struct Top<'s, 'm, 'a>(&'s mut Seen<'m, 'a>);
/// Its `log`.
struct Log<'s, 'm, 'a>(&'s mut Seen<'m, 'a>);
/// The entries of that.
struct Entries<'s, 'm, 'a>(&'s mut Seen<'m, 'a>);

impl<'de> DeserializeSeed<'de> for Top<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Top<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with a `log`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "log" => map.next_value_seed(Log(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Log<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Log<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a `log` with `entries`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "entries" => map.next_value_seed(Entries(self.0))?,
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Entries<'_, '_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Entries<'_, '_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of `entries`")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        self.0.has_entries = true;
        while let Some(raw) = list.next_element::<Raw>()? {
            self.0.entries += 1;
            let added = match entry(raw) {
                Ok(entry) => self.0.made.add(entry),
                Err(why) => self.0.made.strange(self.0.entries, &[], &why),
            };
            if let Err(why) = added {
                self.0.refused = Some(why);
                return Err(A::Error::custom("no more is read"));
            }
        }
        Ok(())
    }
}

/// An entry, of which only what matters is kept: the answer may be as large as the file.
#[derive(Default)]
struct Raw {
    started: Option<Box<RawValue>>,
    request: Option<Box<RawValue>>,
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Raw, D::Error> {
        from.deserialize_any(OfRaw)
    }
}

/// Takes whatever stands in the list: what is no object is no entry, and the next one may be.
struct OfRaw;

impl<'de> Visitor<'de> for OfRaw {
    type Value = Raw;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an entry")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw, A::Error> {
        let mut raw = Raw::default();
        while let Some(key) = map.next_key::<String>()? {
            match key.as_str() {
                "startedDateTime" => raw.started = Some(map.next_value()?),
                "request" => raw.request = Some(map.next_value()?),
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(raw)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Raw, A::Error> {
        while list.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Raw::default())
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<Raw, E> {
        Ok(Raw::default())
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<Raw, E> {
        Ok(Raw::default())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<Raw, E> {
        Ok(Raw::default())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<Raw, E> {
        Ok(Raw::default())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<Raw, E> {
        Ok(Raw::default())
    }

    fn visit_unit<E: Error>(self) -> Result<Raw, E> {
        Ok(Raw::default())
    }
}

#[derive(Deserialize)]
struct Asked {
    method: String,
    url: String,
    #[serde(default, deserialize_with = "or_default")]
    headers: Vec<Pair>,
    #[serde(default, rename = "postData")]
    post: Option<Post>,
    #[serde(default, rename = "bodySize")]
    body_size: Option<f64>,
}

#[derive(Deserialize)]
struct Pair {
    name: String,
    #[serde(default, deserialize_with = "or_default")]
    value: String,
}

#[derive(Default, Deserialize)]
struct Post {
    #[serde(default, rename = "mimeType", deserialize_with = "or_default")]
    mime_type: String,
    #[serde(default)]
    text: Option<String>,
    #[serde(default, alias = "_encoding")]
    encoding: Option<String>,
    #[serde(default, deserialize_with = "or_default")]
    params: Vec<Pair>,
}

fn entry(raw: Raw) -> Result<Entry, String> {
    let (Some(started), Some(request)) = (raw.started, raw.request) else {
        return Err("it's no entry of a HAR file: it has no `startedDateTime` or `request`".into());
    };
    let wrong = |why| format!("it's no entry of a HAR file ({})", unquoted(&why));
    let started: String = serde_json::from_str(started.get()).map_err(wrong)?;
    let Asked {
        method,
        url,
        headers,
        post,
        body_size,
    } = serde_json::from_str(request.get()).map_err(wrong)?;
    let at = stamp::of_text(&started);
    let at = at.ok_or("its `startedDateTime` is no time (RFC 3339)")?;
    let (target, host) = log::target_of(url.as_bytes())?;
    let post = post.unwrap_or_default();
    let has_body = !post.params.is_empty() || body_size.is_some_and(|bytes| bytes > 0.0);
    let body = body(post)?;
    let fields = headers
        .into_iter()
        .filter(|field| is_sent(&field.name, &field.value));
    Ok(Entry {
        at,
        lacks_body: has_body && body.is_none(),
        is_bare: false,
        request: Request {
            method: log::method_of(method.as_bytes())?,
            target,
            fields: fields
                .map(|field| (field.name, field.value.trim().to_owned()))
                .collect(),
            body: body.unwrap_or_default(),
        },
        host,
    })
}

/// The content, if it's in the file.
fn body(post: Post) -> Result<Option<Vec<u8>>, String> {
    if let Some(text) = post.text.filter(|text| !text.is_empty()) {
        return match post.encoding.as_deref() {
            Some("base64") => STANDARD
                .decode(text)
                .map(Some)
                .map_err(|why| format!("its `postData` isn't base64: {why}")),
            _ => Ok(Some(text.into_bytes())),
        };
    }
    let is_form = post
        .mime_type
        .starts_with("application/x-www-form-urlencoded");
    if post.params.is_empty() || !is_form {
        return Ok(None);
    }
    let pairs = post.params.iter().map(|pair| {
        let (name, value) = (encoded(&pair.name), encoded(&pair.value));
        format!("{name}={value}")
    });
    Ok(Some(pairs.collect::<Vec<_>>().join("&").into_bytes()))
}

/// As forms are sent (WHATWG URL §5.2).
fn encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'*' | b'-' | b'.' | b'_' => {
                encoded.push(char::from(byte));
            }
            b' ' => encoded.push('+'),
            other => encoded.push_str(&format!("%{other:02X}")),
        }
    }
    encoded
}

/// Some programs write null for what they leave out.
fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(from).map(Option::unwrap_or_default)
}
