//! A line of JSON: an object for each request, as nginx, Caddy, Traefik and programs write them.
//!
//! | what | names |
//! |---|---|
//! | when | those of [`TIMES`] |
//! | method | `method`, `request_method`, `RequestMethod` |
//! | target | those of [`TARGETS`], with `args` or `query` |
//! | both | `request`, as in a log, or an object that has them |
//! | host | `host`, `RequestHost` |
//! | fields | `headers`: an object of texts, or of lists of texts |
//! | content | `body`, or `body_base64` |
//!
//! Logs are written at the end of a request: `request_time` and `duration` (seconds, or as Go
//! writes it) are taken off.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use crate::stamp::Stamp;
use crate::{Entry, Request, har, log, stamp, unquoted};

const TIMES: [&str; 8] = [
    // Traefik writes `time`, too, of the end and to a second.
    "StartUTC",
    "time",
    "timestamp",
    "@timestamp",
    "ts",
    "msec",
    "time_iso8601",
    "time_local",
];
/// Of these the moment is that of the beginning already.
const BEGINNINGS: [&str; 1] = ["StartUTC"];
const METHODS: [&str; 3] = ["method", "request_method", "RequestMethod"];
const TARGETS: [&str; 6] = ["target", "request_uri", "path", "uri", "url", "RequestPath"];
const QUERIES: [&str; 2] = ["args", "query"];
const HOSTS: [&str; 2] = ["host", "RequestHost"];
const BODIES: [&str; 2] = ["body", "body_base64"];
const LENGTHS: [&str; 2] = ["request_time", "duration"];

type Object = Map<String, Value>;

/// Reads one.
pub(crate) fn entry(line: &[u8]) -> Result<Entry, String> {
    let object = serde_json::from_slice::<Object>(line);
    let object = object.map_err(|why| match line.strip_suffix(b",") {
        Some(line) if serde_json::from_slice::<Object>(line).is_ok() => {
            "a comma stands behind its object: write objects alone on their lines".to_owned()
        }
        _ => format!("it's no object in JSON ({})", unquoted(&why)),
    })?;
    // Caddy writes of what failed twice.
    let logger = object.get("logger").and_then(Value::as_str);
    if logger.is_some_and(|name| name.starts_with("http.log.error")) {
        return Err("it's of Caddy's log of errors: the request has another line".to_owned());
    }
    let at = moment(&object)?;
    // Caddy has all but the time in an object of its own.
    let inner = object.get("request").and_then(Value::as_object);
    let of = inner.unwrap_or(&object);
    let (method, target, mut host) = asked(&object, of)?;
    if host.is_none() {
        host = text(of, &HOSTS).map(|host| host.to_ascii_lowercase());
    }
    let fields = of.get("headers").and_then(Value::as_object);
    Ok(Entry {
        at,
        request: Request {
            method,
            target,
            fields: fields.map_or(Vec::new(), listed),
            body: body(of)?,
        },
        host,
        is_bare: BODIES
            .iter()
            .all(|name| of.get(*name).is_none_or(Value::is_null)),
        lacks_body: false,
    })
}

fn text<'o>(object: &'o Object, names: &[&str]) -> Option<&'o str> {
    let mut values = names.iter().filter_map(|name| object.get(*name)?.as_str());
    values.find(|text| !text.is_empty())
}

/// A number, or a text that is one: nginx can write texts only.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

/// How long something took: seconds, or as Go writes it, such as `1.5ms` or `1m2.5s`.
fn seconds(value: &Value) -> Option<f64> {
    if let Some(number) = number(value) {
        return Some(number);
    }
    let (mut rest, mut sum) = (value.as_str()?, 0.0);
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let count: f64 = rest[..end].parse().ok()?;
        let unit = &rest[end..];
        let end = unit.find(|c: char| c.is_ascii_digit());
        let (unit, behind) = unit.split_at(end.unwrap_or(unit.len()));
        sum += count
            * match unit {
                "ns" => 1e-9,
                "us" | "µs" | "μs" => 1e-6,
                "ms" => 1e-3,
                "s" => 1.0,
                "m" => 60.0,
                "h" => 3600.0,
                _ => return None,
            };
        rest = behind;
    }
    Some(sum)
}

fn moment(object: &Object) -> Result<Stamp, String> {
    for name in TIMES {
        let Some(value) = object.get(name) else {
            continue;
        };
        let written = value.as_str();
        // A number with decimals is known better, even if they're zeros.
        let is_whole = !(value.is_f64() || written.is_some_and(|text| text.contains('.')));
        let at = number(value)
            .and_then(|number| stamp::of_number(number, is_whole))
            .or_else(|| stamp::of_text(written?))
            .or_else(|| stamp::of_log(written?));
        let at = at.ok_or_else(|| format!("its `{name}` is no time that is known here"))?;
        let mut lengths = LENGTHS
            .iter()
            .filter_map(|name| seconds(object.get(*name)?));
        let length = lengths.next().filter(|_| !BEGINNINGS.contains(&name));
        // Of a whole second it can't be taken off.
        return Ok(match length.filter(|_| !at.is_coarse) {
            Some(seconds) => at.earlier(seconds),
            None => at,
        });
    }
    Err(format!("it has no time: none of {}", TIMES.join(", ")))
}

/// Method, target, and the host if the target has one.
fn asked(object: &Object, of: &Object) -> Result<(String, String, Option<String>), String> {
    let Some(target) = text(of, &TARGETS) else {
        let line = object.get("request").and_then(Value::as_str);
        let line =
            line.ok_or_else(|| format!("it has no target: none of {}", TARGETS.join(", ")))?;
        return log::request_line(line.as_bytes());
    };
    let method = log::method_of(text(of, &METHODS).unwrap_or("GET").as_bytes())?;
    let (mut target, host) = log::target_of(target.as_bytes())?;
    if let Some(query) = text(of, &QUERIES).filter(|_| !target.contains('?')) {
        let (query, _) = log::target_of(format!("/?{query}").as_bytes())?;
        target.push_str(&query[1..]);
    }
    Ok((method, target, host))
}

fn listed(fields: &Object) -> Vec<(String, String)> {
    let mut listed = Vec::new();
    for (name, value) in fields {
        let one = std::slice::from_ref(value);
        let values = value.as_array().map_or(one, Vec::as_slice);
        let texts = values.iter().filter_map(Value::as_str);
        listed.extend(texts.filter(|text| har::is_sent(name, text)).map(|text| {
            let name: &str = name;
            (name.to_owned(), text.trim().to_owned())
        }));
    }
    listed
}

fn body(of: &Object) -> Result<Vec<u8>, String> {
    if let Some(text) = of.get("body_base64").and_then(Value::as_str) {
        let body = STANDARD.decode(text);
        return body.map_err(|why| format!("its `body_base64` can't be decoded: {why}"));
    }
    Ok(match of.get("body") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => text.clone().into_bytes(),
        Some(other) => other.to_string().into_bytes(),
    })
}
