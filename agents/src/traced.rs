//! The requests of a replay as they are sent: what was read of a log, and not the log, of which
//! most isn't sent.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use replay::{Request, Sending, Trace};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Form {
    requests: Vec<OfRequest>,
    /// When each was made, in nanoseconds from the first, and which of them it was.
    sendings: Vec<(u64, u32)>,
}

#[derive(Serialize, Deserialize)]
struct OfRequest {
    method: String,
    target: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Writes a trace.
///
/// # Errors
/// A sentence: it can't be written.
pub(crate) fn write(trace: &Trace) -> Result<Bytes, String> {
    let request = |request: &Arc<Request>| OfRequest {
        method: request.method.clone(),
        target: request.target.clone(),
        fields: request.fields.clone(),
        body: request.body.clone(),
    };
    let form = Form {
        requests: trace.requests.iter().map(request).collect(),
        sendings: trace
            .sendings
            .iter()
            .map(|sending| (sending.at_ns, sending.request))
            .collect(),
    };
    let bytes = postcard::to_allocvec(&form);
    bytes
        .map(Bytes::from)
        .map_err(|why| format!("the requests of --replay can't be sent: {why}"))
}

/// Reads one.
///
/// # Errors
/// A sentence: that's none.
pub(crate) fn read(path: &Path) -> Result<Trace, String> {
    let bytes = fs::read(path).map_err(|why| format!("can't read the requests: {why}"))?;
    of(&bytes).ok_or_else(|| "the requests of --replay that came make no sense".to_owned())
}

fn of(bytes: &[u8]) -> Option<Trace> {
    let form: Form = postcard::from_bytes(bytes).ok()?;
    let is_line = |text: &str| !text.contains(|c: char| c.is_control());
    let is_word = |text: &str| !text.is_empty() && is_line(text) && !text.contains(' ');
    let is_sound = |request: &OfRequest| {
        let fields = &request.fields;
        let fields = fields
            .iter()
            .all(|(name, value)| is_word(name) && is_line(value));
        is_word(&request.method) && is_word(&request.target) && fields
    };
    let (count, mut before) = (form.requests.len(), 0);
    let follow = form.sendings.iter().all(|(at_ns, request)| {
        let follows = *at_ns >= before && (*request as usize) < count;
        before = *at_ns;
        follows
    });
    if !follow || form.sendings.is_empty() || !form.requests.iter().all(is_sound) {
        return None;
    }
    let request = |request: OfRequest| {
        Arc::new(Request {
            method: request.method,
            target: request.target,
            fields: request.fields,
            body: request.body,
        })
    };
    let sending = |(at_ns, request)| Sending { at_ns, request };
    Some(Trace {
        requests: form.requests.into_iter().map(request).collect(),
        sendings: form.sendings.into_iter().map(sending).collect(),
        ..Trace::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(target: &str, sendings: &[(u64, u32)]) -> Trace {
        Trace {
            requests: vec![Arc::new(Request {
                method: "GET".to_owned(),
                target: target.to_owned(),
                fields: vec![("x-a".to_owned(), "b c".to_owned())],
                body: vec![0, 255],
            })],
            sendings: sendings
                .iter()
                .map(|(at_ns, request)| Sending {
                    at_ns: *at_ns,
                    request: *request,
                })
                .collect(),
            ..Trace::default()
        }
    }

    #[test]
    fn requests_arrive_as_they_were_and_what_makes_no_sense_is_refused() {
        let whole = trace("/a?b=c", &[(0, 0), (7, 0), (7, 0)]);
        assert_eq!(of(&write(&whole).unwrap()), Some(whole));
        for (target, sendings) in [
            ("/a b", &[(0, 0)][..]),
            ("/a\r\nX: y", &[(0, 0)]),
            ("/", &[(0, 1)]),
            ("/", &[(5, 0), (4, 0)]),
            ("/", &[]),
        ] {
            let written = write(&trace(target, sendings)).unwrap();
            assert_eq!(of(&written), None, "{target:?} {sendings:?}");
        }
        assert_eq!(of(b"nothing"), None);
    }
}
