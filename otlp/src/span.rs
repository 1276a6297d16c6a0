//! Spans: what took how long, and what came of it.

use std::hash::{BuildHasher, RandomState};

use prost::Message;

use crate::messages::{
    Any, AnyValue, ERROR, EventMessage, INTERNAL, KeyValue, OK, Resource, ResourceSpans, Scope,
    ScopeSpans, SpanMessage, StatusMessage, TraceRequest,
};

/// A name with its value.
pub type Attribute = (String, Value);

/// What an attribute says.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(String),
    /// A count.
    Whole(u64),
    /// A measurement.
    Real(f64),
    /// Whether something is so.
    Yes(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Whole(count)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Real(number)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Value {
        Value::Yes(yes)
    }
}

/// Which span it is: unlike any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Id([u8; 8]);

/// Something that happened during a span.
#[derive(Clone, Debug, PartialEq)]
pub struct Moment {
    /// When, in nanoseconds since 1970.
    pub at_unix_ns: u64,
    /// What.
    pub name: String,
    /// What is to be said of it.
    pub attributes: Vec<Attribute>,
}

/// What took how long, and what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// Which one it is.
    pub id: Id,
    /// The span that it's a part of.
    pub parent: Option<Id>,
    /// What it was.
    pub name: String,
    /// When it began, in nanoseconds since 1970.
    pub from_unix_ns: u64,
    /// When it ended.
    pub until_unix_ns: u64,
    /// What came of it.
    pub attributes: Vec<Attribute>,
    /// What happened during it.
    pub moments: Vec<Moment>,
    /// Whether it went well, and if not, why.
    pub went: Result<(), String>,
}

/// Spans that belong together.
#[derive(Clone, Debug, PartialEq)]
pub struct Trace {
    id: [u8; 16],
    /// Its spans, in any order.
    pub spans: Vec<Span>,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace::new()
    }
}

impl Id {
    /// A new one.
    pub fn new() -> Id {
        Id(random())
    }
}

impl Default for Id {
    fn default() -> Id {
        Id::new()
    }
}

impl Trace {
    /// One without spans.
    pub fn new() -> Trace {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&random());
        id[8..].copy_from_slice(&random());
        let spans = Vec::new();
        Trace { id, spans }
    }

    pub(crate) fn encoded(&self, resource: &Resource, scope: &Scope) -> Vec<u8> {
        let request = TraceRequest {
            resource_spans: vec![ResourceSpans {
                resource: Some(resource.clone()),
                scope_spans: vec![ScopeSpans {
                    scope: Some(scope.clone()),
                    spans: self.messages(),
                }],
            }],
        };
        request.encode_to_vec()
    }

    fn messages(&self) -> Vec<SpanMessage> {
        let spans = self.spans.iter();
        spans.map(|span| span.message(&self.id)).collect()
    }
}

impl Span {
    fn message(&self, trace: &[u8; 16]) -> SpanMessage {
        let (code, message) = match &self.went {
            Ok(()) => (OK, String::new()),
            Err(why) => (ERROR, why.clone()),
        };
        let moments = self.moments.iter().map(|moment| EventMessage {
            time_unix_nano: moment.at_unix_ns,
            name: moment.name.clone(),
            attributes: key_values(&moment.attributes),
        });
        SpanMessage {
            trace_id: trace.to_vec(),
            span_id: self.id.0.to_vec(),
            parent_span_id: self.parent.map_or(Vec::new(), |parent| parent.0.to_vec()),
            name: self.name.clone(),
            kind: INTERNAL,
            start_time_unix_nano: self.from_unix_ns,
            end_time_unix_nano: self.until_unix_ns,
            attributes: key_values(&self.attributes),
            events: moments.collect(),
            status: Some(StatusMessage { message, code }),
        }
    }
}

pub(crate) fn key_values(attributes: &[Attribute]) -> Vec<KeyValue> {
    let each = attributes.iter();
    each.map(|(name, value)| key_value(name, value.clone()))
        .collect()
}

pub(crate) fn key_value(key: &str, value: Value) -> KeyValue {
    let value = match value {
        Value::Text(text) => Any::Text(text),
        Value::Whole(count) => Any::Whole(whole(count)),
        Value::Real(number) => Any::Real(number),
        Value::Yes(yes) => Any::Yes(yes),
    };
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
    }
}

/// A count as OTLP has it.
pub(crate) fn whole(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// Eight bytes at random, never all zero, which no identifier may be (W3C Trace Context §3.2.2.3).
pub(crate) fn random() -> [u8; 8] {
    (RandomState::new().hash_one(0u8) | 1).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn identifiers_differ_and_are_never_zero() {
        let drawn: BTreeSet<[u8; 8]> = (0..10_000).map(|_| random()).collect();
        assert_eq!(drawn.len(), 10_000);
        assert!(!drawn.contains(&[0; 8]));
    }

    #[test]
    fn a_part_names_what_it_is_a_part_of() {
        let span = |parent, went| Span {
            id: Id::new(),
            parent,
            name: "a".to_owned(),
            from_unix_ns: 5,
            until_unix_ns: 9,
            attributes: vec![("n".to_owned(), 7.into())],
            moments: Vec::new(),
            went,
        };
        let whole = span(None, Ok(()));
        let part = span(Some(whole.id), Err("broke".to_owned()));
        let mut trace = Trace::new();
        trace.spans = vec![whole, part];
        let messages = trace.messages();
        assert_eq!(messages[0].parent_span_id, Vec::<u8>::new());
        assert_eq!(messages[1].parent_span_id, messages[0].span_id);
        assert_eq!(messages[0].trace_id, messages[1].trace_id);
        let status = |at: usize| messages[at].status.clone().expect("a status");
        assert_eq!((status(0).code, status(1).code), (OK, ERROR));
        assert_eq!(status(1).message, "broke");
    }
}
