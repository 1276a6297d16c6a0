//! Answers become bytes.

use proto::http1::Version;
use proto::http1::response::{self, Head, Length};

pub use crate::form::{Form, Framing, Rest, bodiless};
#[cfg(feature = "tower")]
use crate::headers;
use crate::pattern::Stream;
use crate::response::{Body, Response};

/// Bodies up to so long are copied behind their head; of longer ones the first so many bytes are,
/// which saves a small packet with only the head in it.
const COPIED_BYTES_MAX: usize = 16 * 1024;

/// Answers up to so long are kept encoded. Of longer ones it is not the formatting that costs.
const KEPT_BYTES_MAX: usize = 4096;

/// The `Server` field.
const SERVER: (&str, &str) = ("Server", "ringside");

impl Form {
    /// This form as far as `response` can keep it: without chunks, which HTTP/1.0 does not know,
    /// only the end of the connection ends a body of unannounced length (RFC 9112 §6.3).
    pub fn fitting(self, response: &Response) -> Form {
        #[cfg(feature = "tower")]
        if let Some(fields) = &response.headers {
            return headers::fitting(self, response, fields);
        }
        let endless = !response.body.is_announced() && self.version == Version::Http10;
        Form {
            keep_alive: self.keep_alive && (self.head_only || !endless),
            ..self
        }
    }
}

/// Appends `response` to `out`, except for what is no bytes yet, which is returned.
pub fn encode(out: &mut Vec<u8>, response: &Response, form: Form, date: &[u8; 29]) -> Rest {
    #[cfg(feature = "tower")]
    if let Some(fields) = &response.headers {
        return headers::encode(out, response, fields, form, date);
    }
    let start = out.len();
    let length = length(response, form);
    let mut fields = [SERVER; 2];
    let mut count = 1;
    if let Some(content_type) = &response.content_type {
        fields[1] = ("Content-Type", content_type);
        count = 2;
    }
    let first = usize::from(response.names(SERVER.0));
    let head = Head {
        status: response.status,
        version: form.version,
        fields: &fields[first..count],
        more: &response.fields,
        date,
        length,
        keep_alive: form.keep_alive,
    };
    if !may_be_said(response) || response::head(out, &head).is_err() {
        // A service asked for what cannot be said. The client learns whose fault it is.
        out.truncate(start);
        let length = Length::Known(0);
        let _ = response::head(
            out,
            &Head {
                status: 500,
                fields: &[SERVER],
                more: &[],
                length,
                ..head
            },
        );
        return Rest::Nothing;
    }
    if form.head_only || bodiless(response.status) {
        return Rest::Nothing;
    }
    body(out, response, length)
}

/// Appends the body, or what there is of it.
fn body(out: &mut Vec<u8>, response: &Response, length: Length) -> Rest {
    let rest = match &response.body {
        Body::Static(bytes) => {
            out.extend_from_slice(bytes);
            None
        }
        Body::Bytes(bytes) => {
            out.extend_from_slice(bytes);
            None
        }
        #[cfg(feature = "tower")]
        Body::Shared(bytes) => {
            out.extend_from_slice(bytes);
            None
        }
        Body::Pattern(bytes) => Stream::begin(false, *bytes, COPIED_BYTES_MAX, out),
        Body::Chunked(bytes) => {
            Stream::begin(length == Length::Chunked, *bytes, COPIED_BYTES_MAX, out)
        }
        Body::Stream if length == Length::Chunked => return Rest::Pieces(Framing::Chunks),
        Body::Stream => return Rest::Pieces(Framing::Close),
        Body::Sized(bytes @ 1..) => return Rest::Pieces(Framing::Announced(*bytes)),
        _ => None, // It's empty.
    };
    rest.map_or(Rest::Nothing, Rest::Pattern)
}

fn length(response: &Response, form: Form) -> Length {
    match &response.body {
        _ if bodiless(response.status) => Length::None,
        body if body.is_announced() => Length::Known(body.len()),
        _ if form.version == Version::Http10 => Length::None,
        _ => Length::Chunked,
    }
}

/// Whether a service may say this at all. The encoders judge names and values; this is about what
/// connections write by themselves (RFC 9110 §7.6.1, RFC 9112 §6, RFC 9113 §8.2.2), and about
/// answers that are none yet (RFC 9110 §15.2).
#[inline]
pub fn may_be_said(response: &Response) -> bool {
    (200..=599).contains(&response.status)
        && (response.fields.is_empty() || may_stand_there(response))
}

fn may_stand_there(response: &Response) -> bool {
    const OURS: [&str; 6] = [
        "connection",
        "content-length",
        "date",
        "keep-alive",
        "proxy-connection",
        "transfer-encoding",
    ];
    let twice = response.content_type.is_some() && response.names("content-type");
    !twice && !OURS.iter().any(|name| response.names(name))
}

/// The answer to the last request whose like always gets the same, encoded.
///
/// Clients under load repeat themselves. The same head without a body takes the same route to the
/// same answer, so a repeated request costs a comparison and a copy: no routing, no formatting.
#[derive(Debug, Default)]
pub struct Kept {
    head: Vec<u8>,
    answer: Vec<u8>,
    /// Where the date stands in `answer`.
    date_at: usize,
}

impl Kept {
    /// The answer to the request with `head`, which had no body.
    #[inline]
    pub fn answer(&self, head: &[u8]) -> Option<&[u8]> {
        (self.head == head).then_some(&self.answer[..])
    }

    /// Keeps `answer`, if it is not too long. It was encoded whole, with `date` in it.
    pub fn keep(&mut self, head: &[u8], answer: &[u8], date: &[u8; 29]) {
        let date_at = answer.windows(date.len()).position(|window| window == date);
        let (Some(date_at), true) = (date_at, answer.len() <= KEPT_BYTES_MAX) else {
            return;
        };
        debug_assert!(!head.is_empty(), "an empty head stands for nothing kept");
        self.forget();
        self.head.extend_from_slice(head);
        self.answer.extend_from_slice(answer);
        self.date_at = date_at;
    }

    /// Puts a new date in.
    pub fn renew(&mut self, date: &[u8; 29]) {
        debug_assert!(
            self.answer.is_empty() || self.date_at + date.len() <= self.answer.len(),
            "the date stands outside of the answer that is kept"
        );
        if let Some(place) = self.answer.get_mut(self.date_at..self.date_at + date.len()) {
            place.copy_from_slice(date);
        }
    }

    /// Keeps nothing any more. No request has an empty head.
    pub fn forget(&mut self) {
        self.head.clear();
        self.answer.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::response::TEXT;

    const DATE: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:37 GMT";
    const LATER: &[u8; 29] = b"Sun, 06 Nov 1994 08:49:38 GMT";
    const KEPT: Form = Form {
        version: Version::Http11,
        head_only: false,
        keep_alive: true,
    };

    fn encoded(response: &Response, form: Form) -> String {
        let mut out = Vec::new();
        let _ = encode(&mut out, response, form.fitting(response), DATE);
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn answers_are_these_bytes() {
        let hello = Response::fixed(TEXT, b"Hello");
        let head = "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
                    Server: ringside\r\nContent-Type: text/plain\r\n";
        let length = "Content-Length: 5\r\n";
        assert_eq!(encoded(&hello, KEPT), format!("{head}{length}\r\nHello"));
        let head_only = Form {
            head_only: true,
            ..KEPT
        };
        assert_eq!(encoded(&hello, head_only), format!("{head}{length}\r\n"));
        let last = Form {
            keep_alive: false,
            ..KEPT
        };
        assert_eq!(
            encoded(&hello, last),
            format!("{head}{length}Connection: close\r\n\r\nHello")
        );
        let old = Form {
            version: Version::Http10,
            ..KEPT
        };
        let kept = format!("{head}{length}Connection: keep-alive\r\n\r\nHello");
        assert_eq!(encoded(&hello, old), kept);
        let chunks = Response::of(TEXT, Body::Chunked(12));
        let coded =
            format!("{head}Transfer-Encoding: chunked\r\n\r\nc\r\n012345678901\r\n0\r\n\r\n");
        assert_eq!(encoded(&chunks, KEPT), coded);
        let endless = format!("{head}Connection: close\r\n\r\n012345678901");
        assert_eq!(encoded(&chunks, old), endless);
    }

    #[test]
    fn an_answer_that_cannot_be_said_becomes_a_500() {
        let hello = || Response::fixed(TEXT, b"Hello");
        for response in [
            Response::of("text/plain\r\nX: injected", "Hello"),
            hello().with_field("X", "a\r\nX: injected"),
            hello().with_field("X: injected\r\nY", "a"),
            hello().with_field("X injected", "a"),
            hello().with_field("", "injected"),
            hello().with_field("content-length", "5"),
            hello().with_field("Content-Length", "6"),
            hello().with_field("Transfer-Encoding", "injected"),
            hello().with_field("Connection", "injected"),
            hello().with_field("Keep-Alive", "injected"),
            hello().with_field("Date", "injected"),
            hello().with_field("Content-Type", "injected"),
            hello().with_status(199),
            hello().with_status(600),
        ] {
            let text = encoded(&response, KEPT);
            assert!(
                text.starts_with("HTTP/1.1 500 Internal Server Error\r\n")
                    && text.ends_with("Content-Length: 0\r\n\r\n"),
                "{text}"
            );
            assert!(!text.contains("injected"), "{text}");
        }
    }

    #[test]
    fn further_fields_stand_behind_the_others_and_a_server_field_takes_its_place() {
        let response = Response::fixed(TEXT, b"Hello")
            .with_field("X-A", "1")
            .with_field("set-cookie", "a=b")
            .with_field("Set-Cookie", "c=d");
        let head = "HTTP/1.1 200 OK\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n";
        let rest = "Content-Type: text/plain\r\nX-A: 1\r\nset-cookie: a=b\r\nSet-Cookie: c=d\r\n\
                    Content-Length: 5\r\n\r\nHello";
        let server = "Server: ringside\r\n";
        assert_eq!(encoded(&response, KEPT), format!("{head}{server}{rest}"));
        let own = Response::empty(204).with_field("server", "own");
        assert_eq!(
            encoded(&own, KEPT),
            format!(
                "HTTP/1.1 204 No Content\r\n{}server: own\r\n\r\n",
                &head[17..]
            )
        );
    }

    #[test]
    fn a_kept_answer_fits_its_own_head_only_and_follows_the_date() {
        let mut kept = Kept::default();
        let answer = encoded(&Response::fixed(TEXT, b"Hello"), KEPT).into_bytes();
        assert_eq!(kept.answer(b"GET /\r\n\r\n"), None);
        kept.keep(b"GET /\r\n\r\n", &answer, DATE);
        assert_eq!(kept.answer(b"GET /\r\n\r\n"), Some(&answer[..]));
        assert_eq!(kept.answer(b"GET /x\r\n\r\n"), None);
        kept.renew(LATER);
        let renewed = kept.answer(b"GET /\r\n\r\n").expect("still kept");
        assert_eq!(
            renewed.windows(29).position(|window| window == LATER),
            Some(23)
        );
        assert_eq!(renewed.len(), answer.len());
        kept.forget();
        kept.renew(DATE);
        assert_eq!(kept.answer(b"GET /\r\n\r\n"), None);
    }

    #[test]
    fn long_answers_are_not_kept() {
        let mut kept = Kept::default();
        let mut answer = DATE.to_vec();
        answer.resize(KEPT_BYTES_MAX + 1, b'x');
        kept.keep(b"GET /\r\n\r\n", &answer, DATE);
        assert_eq!(kept.answer(b"GET /\r\n\r\n"), None);
    }
}
