//! What an answer means (OTLP, *OTLP/HTTP Response*).

use std::time::{Duration, UNIX_EPOCH};

use measure::foreign::Foreign;
use prost::Message;
use proto::http1::field;

use crate::client::Answer;
use crate::messages::{Refusal, Response};

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It was taken, perhaps but for a part.
    Taken(Option<Partial>),
    /// It wasn't, and may be sent again, after that time if one was named.
    Later(String, Option<Duration>),
    /// It wasn't, and mustn't be sent again.
    Refused(String),
}

/// What of a request wasn't taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Partial {
    /// So many points or spans.
    pub(crate) rejected: u64,
    /// Why, or what else is to be said.
    pub(crate) why: String,
}

/// What `answer` means; `now` is in seconds since 1970.
pub(crate) fn judge(answer: &Answer, now_unix_s: u64) -> Outcome {
    match answer.status {
        200..=299 => taken(answer),
        429 | 502..=504 => Outcome::Later(told(answer), wait(answer, now_unix_s)),
        300..=399 => Outcome::Refused(format!(
            "it answered {} and redirects aren't followed; give the URL that it leads to",
            answer.status
        )),
        _ => Outcome::Refused(told(answer)),
    }
}

/// A receiver says what it didn't take. Whoever answers with something else is none.
fn taken(answer: &Answer) -> Outcome {
    let kind = field(&answer.head, "content-type").unwrap_or_default();
    let kind = kind.to_ascii_lowercase();
    let is_json = kind.starts_with(b"application/json");
    if answer.body.is_empty() || is_json {
        return Outcome::Taken(None);
    }
    let response = match kind.starts_with(b"application/x-protobuf") {
        true => Response::decode(&*answer.body).ok(),
        false => None,
    };
    let Some(response) = response else {
        return Outcome::Refused(format!(
            "it answered {}, but not as an OTLP receiver does; check the URL",
            answer.status
        ));
    };
    let partial = response.partial_success.map(|partial| Partial {
        rejected: u64::try_from(partial.rejected).unwrap_or(0),
        why: Foreign::new(partial.error_message).to_string(),
    });
    Outcome::Taken(partial.filter(|partial| *partial != Partial::default()))
}

/// The status, and what the receiver says about it: as a message of protobuf, or as text.
fn told(answer: &Answer) -> String {
    let kind = field(&answer.head, "content-type").unwrap_or_default();
    let said = match kind.starts_with(b"application/x-protobuf") {
        true => Refusal::decode(&*answer.body).map_or(String::new(), |refusal| refusal.message),
        false => String::from_utf8_lossy(&answer.body).into_owned(),
    };
    let said = said.trim();
    match said.is_empty() {
        true => format!("it answered {}", answer.status),
        false => format!("it answered {}: {}", answer.status, Foreign::new(said)),
    }
}

/// How long it asks us to wait: seconds, or a date (RFC 9110 §10.2.3).
fn wait(answer: &Answer, now_unix_s: u64) -> Option<Duration> {
    let text = field(&answer.head, "retry-after")?;
    let text = std::str::from_utf8(text).ok()?.trim();
    if let Ok(seconds) = text.parse::<u32>() {
        return Some(Duration::from_secs(seconds.into()));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    let then = date.duration_since(UNIX_EPOCH).ok()?;
    Some(then.saturating_sub(Duration::from_secs(now_unix_s)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::PartialSuccess;

    fn answer(status: u16, fields: &str, body: &[u8]) -> Answer {
        Answer {
            status,
            head: format!("HTTP/1.1 {status} x\r\n{fields}\r\n").into_bytes(),
            body: body.to_vec(),
        }
    }

    const PROTOBUF: &str = "Content-Type: application/x-protobuf\r\n";

    #[test]
    fn only_what_the_specification_names_is_sent_again() {
        for status in [429, 502, 503, 504] {
            let outcome = judge(&answer(status, "", b""), 0);
            assert!(matches!(outcome, Outcome::Later(_, None)), "{status}");
        }
        for status in [301, 308, 400, 401, 404, 408, 413, 500, 501] {
            let outcome = judge(&answer(status, "Retry-After: 1\r\n", b""), 0);
            assert!(matches!(outcome, Outcome::Refused(_)), "{status}");
        }
    }

    #[test]
    fn a_receiver_may_say_when_to_come_again() {
        let wait = |value: &str, now| {
            let field = format!("Retry-After: {value}\r\n");
            match judge(&answer(503, &field, b""), now) {
                Outcome::Later(_, wait) => wait.map(|wait| wait.as_secs()),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(wait("7", 0), Some(7));
        let date = "Sun, 06 Nov 1994 08:49:37 GMT";
        assert_eq!(wait(date, 784_111_770), Some(7));
        assert_eq!(wait(date, 784_111_779), Some(0));
        assert_eq!((wait("soon", 0), wait("-3", 0)), (None, None));
    }

    #[test]
    fn what_a_receiver_says_is_told() {
        let refusal = Refusal {
            message: "no such\ttenant".to_owned(),
        };
        let refused = answer(400, PROTOBUF, &refusal.encode_to_vec());
        let said = "it answered 400: no such\\ttenant".to_owned();
        assert_eq!(judge(&refused, 0), Outcome::Refused(said));
        let text = answer(404, "Content-Type: text/plain\r\n", b"404 page not found\n");
        let said = "it answered 404: 404 page not found".to_owned();
        assert_eq!(judge(&text, 0), Outcome::Refused(said));
        let broken = answer(500, PROTOBUF, b"\xff\xff");
        assert_eq!(
            judge(&broken, 0),
            Outcome::Refused("it answered 500".to_owned())
        );
    }

    #[test]
    fn a_part_that_was_not_taken_is_told() {
        let response = |rejected, error_message: &str| Response {
            partial_success: Some(PartialSuccess {
                rejected,
                error_message: error_message.to_owned(),
            }),
        };
        let judged = |response: Response| {
            let body = response.encode_to_vec();
            judge(&answer(200, PROTOBUF, &body), 0)
        };
        let partial = Partial {
            rejected: 3,
            why: "too old".to_owned(),
        };
        assert_eq!(
            judged(response(3, "too old")),
            Outcome::Taken(Some(partial))
        );
        assert_eq!(judged(response(0, "")), Outcome::Taken(None));
        assert_eq!(judged(Response::default()), Outcome::Taken(None));
        let json = answer(200, "Content-Type: application/json\r\n", b"{}");
        assert_eq!(judge(&json, 0), Outcome::Taken(None));
    }

    #[test]
    fn who_answers_otherwise_is_no_receiver() {
        for (fields, body) in [
            ("Content-Type: text/html\r\n", &b"<html>"[..]),
            ("", b"OK"),
            (PROTOBUF, b"\xff\xff"),
        ] {
            let outcome = judge(&answer(200, fields, body), 0);
            assert!(
                matches!(outcome, Outcome::Refused(_)),
                "{fields}{outcome:?}"
            );
        }
    }
}
