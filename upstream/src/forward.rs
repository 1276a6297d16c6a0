//! What a proxy does to the fields of a message before it passes it on (RFC 9110 §7.6.1).

use std::borrow::Cow;
use std::collections::BTreeSet;

use exchange::response;

use crate::answer::Head;
use crate::request::{Body, Request, is_ours};

/// The fields of a message that aren't about its connection: without those that `Connection` names,
/// and those that are about it anyway (RFC 9110 §7.6.1). The framing isn't among them either,
/// because who sends the message on writes it anew: so what one reads as two messages never
/// reaches the other (RFC 9112 §11.2).
pub fn forwarded<'a, I>(fields: I) -> impl Iterator<Item = (&'a [u8], &'a [u8])>
where
    I: Iterator<Item = (&'a [u8], &'a [u8])> + Clone,
{
    let options: BTreeSet<Vec<u8>> = fields
        .clone()
        .filter(|(name, _)| name.eq_ignore_ascii_case(b"connection"))
        .flat_map(|(_, value)| value.split(|&byte| byte == b','))
        .map(|option| option.trim_ascii().to_ascii_lowercase())
        .collect();
    let is_listed =
        move |name: &[u8]| !options.is_empty() && options.contains(&name.to_ascii_lowercase());
    fields.filter(move |(name, _)| !is_ours(name) && !is_listed(name))
}

impl Request {
    /// The request of a client, to be sent on: method, path and query, host, and its fields without
    /// those of its connection (RFC 9110 §7.6.1). `Expect` is left out, because the body that it's
    /// about is fetched by this side, and `Host` says what the client said.
    ///
    /// `streams` says whether its body is on its way ([`Intake::Stream`]); it's announced as the
    /// client announced it. If not, a body that was collected is the request's.
    ///
    /// [`Intake::Stream`]: https://docs.rs/ringside-server
    pub fn forward(request: &exchange::request::Request<'_>, streams: bool) -> Request {
        Request::forward_where(request, streams, |_| true)
    }

    /// [`Request::forward`] with only those of its fields whose names `keeps` says yes to. Names
    /// are as the client wrote them.
    pub fn forward_where(
        request: &exchange::request::Request<'_>,
        streams: bool,
        keeps: impl Fn(&[u8]) -> bool,
    ) -> Request {
        let path = request.path();
        let query = request.query();
        let target: Cow<'_, [u8]> = match query {
            Some(query) => [path, b"?", query].concat().into(),
            None => path.into(),
        };
        let host = request.host().unwrap_or_default();
        let mut sent = Request::new(request.method(), target, host);
        let fields: Vec<(&[u8], &[u8])> = request.fields().collect();
        // Over HTTP/2 they may come one by one, and have to be one over HTTP/1.1 (RFC 9113 §8.2.3).
        let mut cookies: Vec<&[u8]> = Vec::new();
        for (name, value) in forwarded(fields.iter().copied()) {
            if !keeps(name) {
                continue;
            }
            match name.eq_ignore_ascii_case(b"cookie") {
                true => cookies.push(value),
                false => sent.push(name, value),
            }
        }
        if !cookies.is_empty() {
            sent.push(b"cookie", &cookies.join(&b"; "[..]));
        }
        let te = fields
            .iter()
            .filter(|(name, _)| name.eq_ignore_ascii_case(b"te"));
        sent.takes_trailers = te
            .flat_map(|(_, value)| value.split(|&byte| byte == b','))
            .any(|coding| coding.trim_ascii().eq_ignore_ascii_case(b"trailers"));
        let body = match (streams, request.body()) {
            (true, _) => Body::Stream(length(&fields)),
            (false, []) => Body::Empty,
            (false, bytes) => Body::Whole(bytes.to_vec()),
        };
        match body {
            Body::Empty => sent,
            Body::Whole(bytes) => sent.with_body(bytes),
            Body::Stream(length) => sent.streamed(length),
        }
    }
}

/// What `Content-Length` says; the server's machines have seen that it's one number.
fn length(fields: &[(&[u8], &[u8])]) -> Option<u64> {
    let (_, value) = fields
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(b"content-length"))?;
    std::str::from_utf8(value).ok()?.parse().ok()
}

impl Head<'_> {
    /// The answer of an upstream, to be sent on with a body in pieces: its status, and its fields
    /// without those of its connection (RFC 9110 §7.6.1). `Date` is left out, because every answer
    /// of this server has its own, and so is a field whose value isn't UTF-8, which a
    /// [`Response`](response::Response) can't hold.
    pub fn forward(&self) -> response::Response {
        let mut response = response::Response::empty(self.status());
        for (name, value) in forwarded(self.fields().iter()) {
            if name.eq_ignore_ascii_case(b"date") {
                continue;
            }
            let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).ok();
            if let (Some(name), Some(value)) = (text(name), text(value)) {
                response.fields.push((name.into(), value.into()));
            }
        }
        response.body = match self.content_length() {
            Some(bytes) => response::Body::Sized(bytes),
            None => response::Body::Stream,
        };
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proto::http1::HeadMemo;
    use proto::http1::server::{Event, Limits, Server};

    fn passed_on(head: &str, streams: bool) -> Request {
        let (mut server, mut memo) = (Server::new(Limits::default()), HeadMemo::new());
        match server.next(&mut head.as_bytes(), &mut memo) {
            Ok(Some(Event::Request(request))) => {
                let request = exchange::request::Request::of_http1(&request);
                Request::forward(&request, streams)
            }
            other => panic!("{head}: {other:?}"),
        }
    }

    #[test]
    fn fields_of_the_connection_stay_behind() {
        let head = "PUT http://up.org/a?b HTTP/1.1\r\nHost: other\r\nAccept: x\r\n\
                    Connection: close, X-Mine\r\nConnection: x-too\r\nX-Mine: 1\r\nX-Too: 2\r\n\
                    Keep-Alive: 5\r\nProxy-Connection: y\r\nTE: gzip, trailers\r\n\
                    Upgrade: websocket\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\
                    X-Kept: 1\r\nx-kept: 2\r\n\r\n";
        let request = passed_on(head, true);
        assert_eq!(request.method(), b"PUT");
        assert_eq!(request.target(), b"/a?b");
        assert_eq!(request.authority(), b"up.org");
        assert_eq!(request.body(), &Body::Stream(Some(3)));
        assert!(request.takes_trailers);
        let names: Vec<_> = request.fields().collect();
        let expected: [(&[u8], &[u8]); 3] =
            [(b"Accept", b"x"), (b"X-Kept", b"1"), (b"x-kept", b"2")];
        assert_eq!(names, expected);
        assert!(request.check().is_ok());
    }

    #[test]
    fn what_a_server_may_take_for_the_framing_stays_behind() {
        let head = "GET / HTTP/1.1\r\nHost: h\r\nTransfer_Encoding: chunked\r\n\
                    content_length: 5\r\nTransfer-encoding_: x\r\nProxy_Connection: y\r\n\
                    Keep_Alive: 5\r\nX_Kept: 1\r\n\r\n";
        let request = passed_on(head, false);
        let fields: Vec<_> = request.fields().collect();
        let expected: [(&[u8], &[u8]); 2] = [(b"Transfer-encoding_", b"x"), (b"X_Kept", b"1")];
        assert_eq!(fields, expected);
    }

    #[test]
    fn cookies_that_came_one_by_one_are_one() {
        let head = "GET / HTTP/1.1\r\nHost: h\r\nCookie: a=1\r\nX: y\r\ncookie: b=2\r\n\r\n";
        let request = passed_on(head, false);
        let fields: Vec<_> = request.fields().collect();
        let expected: [(&[u8], &[u8]); 2] = [(b"X", b"y"), (b"cookie", b"a=1; b=2")];
        assert_eq!(fields, expected);
    }

    #[test]
    fn a_field_that_is_not_wanted_stays_behind() {
        let head = "GET / HTTP/1.1\r\nHost: h\r\nX-User: me\r\nX: y\r\nCookie: a=1\r\n\r\n";
        let (mut server, mut memo) = (Server::new(Limits::default()), HeadMemo::new());
        let Ok(Some(Event::Request(request))) = server.next(&mut head.as_bytes(), &mut memo) else {
            panic!("a request in good order");
        };
        let request = exchange::request::Request::of_http1(&request);
        let wanted = |name: &[u8]| !name.eq_ignore_ascii_case(b"x-user") && name != b"Cookie";
        let request = Request::forward_where(&request, false, wanted);
        let fields: Vec<_> = request.fields().collect();
        assert_eq!(fields, [(&b"X"[..], &b"y"[..])]);
    }

    #[test]
    fn a_body_of_unknown_length_stays_one() {
        let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
        assert_eq!(passed_on(head, true).body(), &Body::Stream(None));
        let head = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";
        assert_eq!(passed_on(head, false).body(), &Body::Empty);
    }

    #[test]
    fn an_answer_loses_what_is_of_its_connection_and_its_date() {
        let head = b"HTTP/1.1 200 OK\r\nDate: x\r\nConnection: X-Mine\r\nX-Mine: 1\r\n\
                     Content-Length: 5\r\nServer: s\r\nX-Odd: \xff\r\nSet-Cookie: a\r\n\
                     Set-Cookie: b\r\n\r\n";
        let response = Head::of_http1(200, head).forward();
        assert_eq!(response.status, 200);
        let pair = |name: &'static str, value: &'static str| (name.into(), value.into());
        let expected = [
            pair("Server", "s"),
            pair("Set-Cookie", "a"),
            pair("Set-Cookie", "b"),
        ];
        assert_eq!(response.fields, expected);
        assert!(matches!(response.body, response::Body::Sized(5)));
    }
}
