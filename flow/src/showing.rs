//! What messages show of answers: nothing that lets somebody in, and no whole bodies.

use std::borrow::Cow;

use crate::model::{Attribute, Filter, Found, Query};
use crate::render::Renderer;
use crate::scope::{HIDDEN, Scope};
use crate::value::Value;

/// Whether what a query looks for is a secret, by the names in it, so that neither what was found
/// nor what should have been is shown.
pub(crate) fn is_secret(found: &Found, renderer: &mut Renderer<'_>) -> bool {
    if let Some(Filter::Count) = found.filters.last() {
        return false;
    }
    match &found.query {
        Query::Cookie(_, Attribute::Value) => return true,
        Query::Cookie(..) | Query::Status | Query::Version | Query::Duration => return false,
        Query::Header(name) => {
            // Its name may be made of placeholders.
            let name = renderer.text(name);
            if name.is_ok_and(|name| renderer.scope.hides(&name)) {
                return true;
            }
        }
        _ => {}
    }
    let words = found.text.split(|c: char| !is_of_name(c));
    // The first is the query's own.
    words.skip(1).any(|word| renderer.scope.hides(word))
}

/// What was found, or should have been, as a message shows it.
pub(crate) fn shown(value: &Value, is_secret: bool, scope: &Scope<'_>) -> String {
    match value {
        Value::Null | Value::Bool(_) => scope.shown(value),
        _ if is_secret => HIDDEN.to_owned(),
        _ => scope.shown(value),
    }
}

/// What a query found in an answer.
pub(crate) fn came(found: &Found, value: &Value, is_secret: bool, scope: &Scope<'_>) -> String {
    let is_scalar = matches!(
        value,
        Value::Null | Value::Bool(_) | Value::Integer(_) | Value::Float(_)
    );
    match (&found.query, value) {
        _ if is_scalar || is_secret => shown(value, is_secret, scope),
        (Query::Body | Query::Bytes, _) => size(value),
        (Query::Url, Value::Text(text)) => scope.shown(&Value::text(location(text))),
        (Query::Header(name), Value::Text(text)) => {
            field(name.constant().unwrap_or_default(), text, scope)
        }
        _ => scope.shown(&scope.of_answer(value)),
    }
}

/// The value of an answer's field.
pub(crate) fn field(name: &str, value: &str, scope: &Scope<'_>) -> String {
    let is_location = ["location", "content-location", "refresh", "link"]
        .iter()
        .any(|one| one.eq_ignore_ascii_case(name));
    match scope.hides(name) {
        true => HIDDEN.to_owned(),
        false if is_location => scope.shown(&Value::text(location(value))),
        false => scope.shown(&scope.of_answer(&Value::text(value))),
    }
}

/// How much of what it is.
pub(crate) fn size(value: &Value) -> String {
    let (kind, count) = match value {
        Value::Text(text) => ("a text of", text.len()),
        Value::Bytes(bytes) if bytes.len() == 1 => return "1 byte".to_owned(),
        Value::Bytes(bytes) => return format!("{} bytes", bytes.len()),
        Value::List(items) => return format!("a list of {}", items.len()),
        other => return format!("{} of {} bytes", other.kind(), other.held()),
    };
    let noun = if count == 1 { "byte" } else { "bytes" };
    format!("{kind} {count} {noun}")
}

/// A URL, or a reference to one, without user and query, which often hold tokens.
pub(crate) fn location(url: &str) -> String {
    let end = url.find(['?', '#']).unwrap_or(url.len());
    let (whole, more) = (&url[..end], if end < url.len() { "?…" } else { "" });
    let from = whole.find("//").map_or(0, |at| at + 2);
    let authority = whole[from..].split('/').next().unwrap_or_default();
    let user = match from > 0 {
        true => authority.rfind('@').map_or(0, |at| at + 1),
        false => 0,
    };
    format!("{}{}{more}", &whole[..from], &whole[from + user..])
}

/// Whether it may stand in the name of a field, a parameter or a member of an object.
fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '%')
}

impl Scope<'_> {
    /// Whether values of this name are secrets.
    fn hides(&self, name: &str) -> bool {
        let hides = self.known.hides.as_ref();
        !name.is_empty() && hides.is_some_and(|hides| hides(name))
    }

    /// A value out of an answer, with nothing in the place of what has the name of a secret.
    fn of_answer<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        match value {
            Value::Text(text) if self.holds_secret(text) => Cow::Owned(Value::text(HIDDEN)),
            Value::List(items) => {
                let items = items.iter().map(|item| self.of_answer(item).into_owned());
                Cow::Owned(Value::List(items.collect()))
            }
            Value::Object(members) => {
                let members = members.iter().map(|(name, is)| {
                    let is = match self.hides(name) {
                        true => Value::text(HIDDEN),
                        false => self.of_answer(is).into_owned(),
                    };
                    (name.clone(), is)
                });
                Cow::Owned(Value::Object(members.collect()))
            }
            other => Cow::Borrowed(other),
        }
    }

    /// Whether a text has a secret behind its name: `token=…`, `"password": …`, `Bearer …`.
    fn holds_secret(&self, text: &str) -> bool {
        let mut names = text.match_indices(['=', ':']).map(|(at, _)| {
            let before = text[..at].trim_end_matches([' ', '"', '\'', '\\']);
            before.rsplit(|c| !is_of_name(c)).next().unwrap_or_default()
        });
        let is_bearer = text.split_whitespace().rev().skip(1);
        let mut is_bearer = is_bearer.filter(|word| word.eq_ignore_ascii_case("bearer"));
        is_bearer.next().is_some() || names.any(|name| self.hides(name))
    }
}
