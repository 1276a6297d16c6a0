//! A step with its templates read.

use measure::foreign::Foreign;
use plan::{Step, Target};
use serde::de::IgnoredAny;

use super::escape::{BodyKind, Escape};
use super::functions::Known;
use super::template::Template;

/// A request whose texts are templates.
pub(super) struct Parts<'s> {
    pub(super) method: &'s str,
    pub(super) target: &'s Target,
    pub(super) path: Template,
    pub(super) fields: Vec<(&'s str, Template)>,
    pub(super) body: Template,
    pub(super) body_kind: BodyKind,
    /// Whether it is a gRPC call, whose fields are metadata and whose body is JSON.
    pub(super) is_call: bool,
}

/// Fields whose values decide where a message ends, or what becomes of its connection.
const FRAMING: [&str; 7] = [
    "connection",
    "content-length",
    "keep-alive",
    "proxy-connection",
    "te",
    "transfer-encoding",
    "upgrade",
];

impl<'s> Parts<'s> {
    /// Reads the templates of a step.
    ///
    /// # Errors
    /// What is wrong, without where the step stands.
    pub(super) fn of(step: &'s Step, known: &Known<'_>) -> Result<Parts<'s>, String> {
        let is_call = step.target.is_grpc();
        let path = Template::parse(step.target.path.as_bytes(), "the path", known)?;
        let mut fields = Vec::with_capacity(step.request.headers.len());
        for (name, value) in &step.request.headers {
            let place = format!("the field {}", Foreign::new(&**name));
            let value = Template::parse(value.as_bytes(), &place, known)?;
            let frames = FRAMING
                .iter()
                .any(|framing| name.eq_ignore_ascii_case(framing));
            if frames && !value.is_text() {
                return Err(format!(
                    "{place} can't have values put into it, since it says how the connection is \
                     used: write it out, or drop it"
                ));
            }
            if is_call && is_binary(name) && !value.is_text() {
                return Err(format!(
                    "{place} can't have values put into it: a name that ends in -bin has base64, \
                     which is checked before the load; write it out"
                ));
            }
            fields.push((&**name, value));
        }
        let body = &*step.request.body;
        let body = match step.body_is_template {
            true => Template::parse(body, "the body", known)?,
            false => Template::literal(body),
        };
        let parts = Parts {
            method: &step.request.method,
            target: &step.target,
            path,
            body_kind: match is_call {
                true => BodyKind::Json,
                false => body_kind(&fields),
            },
            fields,
            body,
            is_call,
        };
        match parts.field("content-length") {
            Some(_) if !parts.body.is_text() => Err(
                "the body changes, so Content-Length can't be given: drop it, and it is worked \
                 out for each request"
                    .to_owned(),
            ),
            _ => Ok(parts),
        }
    }

    /// Takes the body for JSON if it is an object or an array, maybe behind a number as those of
    /// Socket.IO: the fields of a message are those of an upgrade, which mostly don't say it.
    pub(super) fn guess_kind(&mut self) {
        let sample = self.body.sample();
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        let digits = sample.iter().take_while(is_digit).count();
        let text = sample[digits..].trim_ascii_start();
        let looks_so = text.starts_with(b"{") || text.starts_with(b"[");
        let is_json = || serde_json::from_slice::<IgnoredAny>(text).is_ok();
        if self.body_kind == BodyKind::Other && looks_so && is_json() {
            self.body_kind = BodyKind::Json;
        }
    }

    /// The value of the first field of this name.
    pub(super) fn field(&self, name: &str) -> Option<&Template> {
        let field = |(other, _): &&(&str, Template)| other.eq_ignore_ascii_case(name);
        self.fields.iter().find(field).map(|(_, value)| value)
    }

    /// The value of `Host` or `:authority`.
    pub(super) fn host(&self) -> Template {
        let own = || Template::literal(self.target.authority().as_bytes());
        self.field("host").cloned().unwrap_or_else(own)
    }

    /// What of the environment is in the request: each value by the name of its variable, and by
    /// that of the field that it is in.
    pub(super) fn environment(&self) -> Vec<(String, String)> {
        let mut found = Vec::new();
        let texts = [(None, &self.path), (None, &self.body)];
        let fields = self.fields.iter().map(|(name, value)| (Some(*name), value));
        for (field, template) in texts.into_iter().chain(fields) {
            for (name, value) in template.environment() {
                let value = String::from_utf8_lossy(value);
                let names = [Some(name), field].into_iter().flatten();
                found.extend(names.map(|name| (name.to_owned(), value.clone().into_owned())));
            }
        }
        found
    }

    /// The fields with a `1` in the place of each value, to be checked.
    pub(super) fn sample_fields(&self) -> Vec<(&'s str, String)> {
        let fields = self.fields.iter();
        fields.map(|(name, value)| (*name, sample(value))).collect()
    }

    /// What a field does to the values in it.
    pub(super) fn escape_of(&self, name: &str) -> Escape {
        match name.eq_ignore_ascii_case("host") {
            true => Escape::Host,
            false if self.is_call => Escape::Metadata,
            false => Escape::Field,
        }
    }
}

/// Whether metadata of this name has bytes, in base64.
fn is_binary(name: &str) -> bool {
    let end = name.len().checked_sub(BINARY.len());
    let end = end.and_then(|at| name.get(at..));
    end.is_some_and(|end| end.eq_ignore_ascii_case(BINARY))
}

/// How names of metadata end that has bytes.
const BINARY: &str = "-bin";

/// A template of which everything was text once, so that its sample is, too.
pub(super) fn sample(template: &Template) -> String {
    String::from_utf8_lossy(&template.sample()).into_owned()
}

/// That of the `Content-Type`; of one that is put together from values, as far as it is known.
fn body_kind(fields: &[(&str, Template)]) -> BodyKind {
    let of_body = |(name, _): &&(&str, Template)| name.eq_ignore_ascii_case("content-type");
    let content_type = fields.iter().find(of_body);
    content_type.map_or(BodyKind::Other, |(_, value)| BodyKind::of(&sample(value)))
}
