//! What is sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::invalid::Invalid;
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

/// Adds basic authentication (RFC 7617) to `headers`, unless they have an `Authorization` already.
/// `redaction` learns the password of `who`, which is `NAME:PASSWORD`; a password may have colons.
///
/// # Errors
/// What is wrong with `who`, without quoting it.
pub fn authenticate(
    headers: &mut Vec<(String, String)>,
    who: &str,
    redaction: &Redaction,
) -> Result<(), Invalid> {
    let Some((_, password)) = who.split_once(':') else {
        return Err(Invalid(
            "--user: there's no colon; write NAME:PASSWORD (or NAME: without a password)".into(),
        ));
    };
    redaction.learn_secret(password);
    if who.chars().any(char::is_control) {
        return Err(Invalid(
            "--user: names and passwords can't have control characters (RFC 7617 §2): remove them"
                .into(),
        ));
    }
    let given = |(name, _): &(String, String)| name.eq_ignore_ascii_case(AUTHORIZATION);
    if !headers.iter().any(given) {
        let value = format!("Basic {}", STANDARD.encode(who));
        headers.push((AUTHORIZATION.to_owned(), value));
    }
    Ok(())
}

/// Asks for compressed answers (RFC 9110 §12.5.3), unless `headers` say which are wanted.
pub(crate) fn accept_compressed(headers: &mut Vec<(String, String)>) {
    let given = |(name, _): &(String, String)| name.eq_ignore_ascii_case(ACCEPT_ENCODING);
    if !headers.iter().any(given) {
        headers.push((ACCEPT_ENCODING.to_owned(), "gzip, deflate".to_owned()));
    }
}

const ACCEPT_ENCODING: &str = "Accept-Encoding";

/// Who asks (RFC 9110 §11.6.2).
const AUTHORIZATION: &str = "Authorization";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_password_become_a_field() {
        let of = |who: &str| {
            let mut headers = Vec::new();
            authenticate(&mut headers, who, &Redaction::default()).unwrap();
            headers.remove(0)
        };
        for (who, value) in [
            // The examples of RFC 7617, §2 and §2.1.
            ("Aladdin:open sesame", "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
            ("test:123\u{a3}", "Basic dGVzdDoxMjPCow=="),
            ("me:a:b", "Basic bWU6YTpi"),
            ("me:", "Basic bWU6"),
            (":", "Basic Og=="),
        ] {
            assert_eq!(of(who), ("Authorization".into(), value.into()), "{who}");
        }
    }

    #[test]
    fn a_header_that_is_there_stays_and_the_password_is_a_secret_all_the_same() {
        let redaction = Redaction::default();
        let mut headers = vec![("authorization".to_owned(), "Bearer x".to_owned())];
        authenticate(&mut headers, "me:Hunter:22", &redaction).unwrap();
        assert_eq!(headers, [("authorization".into(), "Bearer x".into())]);
        assert!(!redaction.scrub("it said Hunter:22").contains("Hunter"));
    }

    #[test]
    fn compressed_answers_are_asked_for_unless_others_are() {
        let mut headers = Vec::new();
        accept_compressed(&mut headers);
        let asked = ("Accept-Encoding".to_owned(), "gzip, deflate".to_owned());
        assert_eq!(headers, [asked]);
        let mut headers = vec![("accept-encoding".to_owned(), "br".to_owned())];
        accept_compressed(&mut headers);
        assert_eq!(headers, [("accept-encoding".to_owned(), "br".to_owned())]);
    }

    #[test]
    fn what_cannot_be_sent_is_refused_without_being_quoted() {
        let redaction = Redaction::default();
        for (who, part) in [
            ("canary", "there's no colon; write NAME:PASSWORD"),
            ("me:canary\n", "control characters"),
            ("m\0e:canary", "control characters"),
        ] {
            let mut headers = Vec::new();
            let Invalid(text) = authenticate(&mut headers, who, &redaction).unwrap_err();
            assert!(text.contains(part) && !text.contains("canary"), "{text}");
            assert!(headers.is_empty());
        }
    }
}
