//! What is sent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::redaction::Redaction;
use crate::target::Target;

/// What is sent, the same for each exchange. Of a WebSocket it is the upgrade request, of gRPC the
/// headers are the metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Request {
    /// HTTP method.
    pub method: String,
    /// Fields besides the ones that ringside sets; these win.
    pub headers: Vec<(String, String)>,
    /// Body; base64 in JSON, or `redacted:HASH, N bytes`.
    #[serde(with = "crate::bytes::body_base64")]
    #[schemars(with = "String")]
    pub body: Vec<u8>,
}

impl Request {
    /// It without its secrets.
    pub(crate) fn shown(&self, redaction: &Redaction) -> Request {
        let Request {
            method,
            headers,
            body,
        } = self;
        let shown = |(name, value): &(String, String)| (name.clone(), redaction.value(name, value));
        Request {
            method: method.clone(),
            headers: headers.iter().map(shown).collect(),
            body: redaction.body(body),
        }
    }

    /// Has `redaction` know the secrets that this sends to `target`.
    pub(crate) fn tell_secrets(&self, target: &Target, redaction: &Redaction) {
        let fields = self.headers.iter().map(|(name, value)| (&**name, &**value));
        redaction.learn(fields, &target.path);
    }
}
