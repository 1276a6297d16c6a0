//! A request taken apart, so that the next one can be made of it; in buffers that are used again.

use proto::http1::fields;
use proto::http2::client::Request;
use proto::http2::hpack::{Decoder, block};

/// See the module.
#[derive(Clone, Debug, Default)]
pub(super) struct Ask {
    method: Vec<u8>,
    pub target: Vec<u8>,
    /// Over HTTP/2; otherwise it is one of the fields.
    authority: Vec<u8>,
    /// Names and values, and the body behind them.
    bytes: Vec<u8>,
    fields: Vec<Span>,
    body_at: usize,
}

/// Where the name of a field begins, its value, and where that ends.
type Span = [usize; 3];

/// What says something about a body, and isn't sent without one (RFC 9110 §15.4).
const ABOUT_BODIES: [&[u8]; 9] = [
    b"content-length",
    b"content-type",
    b"content-encoding",
    b"content-language",
    b"content-location",
    b"transfer-encoding",
    b"trailer",
    b"digest",
    b"expect",
];

impl Ask {
    fn clear(&mut self) {
        self.method.clear();
        self.target.clear();
        self.authority.clear();
        self.bytes.clear();
        self.fields.clear();
    }

    fn push(&mut self, name: &[u8], value: &[u8]) {
        let name_at = self.bytes.len();
        self.bytes.extend_from_slice(name);
        let value_at = self.bytes.len();
        self.bytes.extend_from_slice(value);
        self.fields.push([name_at, value_at, self.bytes.len()]);
    }

    fn end(&mut self, body: &[u8]) {
        self.body_at = self.bytes.len();
        self.bytes.extend_from_slice(body);
    }

    /// The same as another one.
    pub(super) fn copy(&mut self, other: &Ask) {
        self.method.clone_from(&other.method);
        self.target.clone_from(&other.target);
        self.authority.clone_from(&other.authority);
        self.bytes.clone_from(&other.bytes);
        self.fields.clone_from(&other.fields);
        self.body_at = other.body_at;
    }

    /// A whole request of HTTP/1.1, as we have written it.
    pub(super) fn read(&mut self, request: &[u8]) {
        self.clear();
        let end = memchr::memmem::find(request, b"\r\n\r\n").map_or(request.len(), |at| at + 4);
        let (head, body) = request.split_at(end);
        let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        self.method
            .extend_from_slice(words.next().unwrap_or_default());
        self.target
            .extend_from_slice(words.next().unwrap_or_default());
        for (name, value) in fields(head) {
            self.push(name, value);
        }
        self.end(body);
    }

    /// A request of HTTP/2.
    pub(super) fn take(&mut self, request: &Request) {
        self.clear();
        for (name, value) in request.head().fields().iter() {
            self.add(name, value);
        }
        self.end(request.body());
    }

    /// The same, of which there is a block of fields.
    pub(super) fn decode(&mut self, block: &[u8], body: &[u8]) {
        self.clear();
        // Such blocks have nothing to do with any table.
        let mut decoder = Decoder::new(0);
        let decoded = decoder.decode(block, usize::MAX, &mut |name, value| self.add(name, value));
        debug_assert!(decoded.is_ok(), "we have written it: {decoded:?}");
        self.end(body);
    }

    /// A field of HTTP/2, which may be a pseudo-header (RFC 9113 §8.3.1).
    fn add(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b":method" => self.method.extend_from_slice(value),
            b":path" => self.target.extend_from_slice(value),
            b":authority" => self.authority.extend_from_slice(value),
            b":scheme" => {}
            _ => self.push(name, value),
        }
    }

    fn fields(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let of = |span: &Span| (&self.bytes[span[0]..span[1]], &self.bytes[span[1]..span[2]]);
        self.fields.iter().map(of)
    }

    /// Host and port of the URL that is asked for (RFC 9110 §7.1).
    pub(super) fn authority(&self) -> &[u8] {
        if !self.authority.is_empty() {
            return &self.authority;
        }
        let is_host = |name: &[u8]| name.eq_ignore_ascii_case(b"host");
        let host = self.fields().find(|(name, _)| is_host(name));
        host.map_or(b"", |(_, value)| value)
    }

    pub(super) fn is_head(&self) -> bool {
        self.method == b"HEAD"
    }

    pub(super) fn body(&self) -> &[u8] {
        &self.bytes[self.body_at..]
    }

    /// What becomes of it by a redirect of this `status`: 303, and 301 and 302 to a POST, ask for
    /// a GET without a body (RFC 9110 §15.4.2 to §15.4.4). A HEAD stays one, and a GET with a body
    /// loses it.
    pub(super) fn redirect(&mut self, status: u16) {
        let is_post = self.method == b"POST";
        let changes = match status {
            303 => true,
            301 | 302 => is_post,
            _ => false,
        };
        if !changes {
            return;
        }
        if !self.is_head() {
            self.method.clear();
            self.method.extend_from_slice(b"GET");
        }
        self.bytes.truncate(self.body_at);
        let bytes = &self.bytes;
        self.fields.retain(|[name_at, value_at, _]| {
            let name = &bytes[*name_at..*value_at];
            !ABOUT_BODIES
                .iter()
                .any(|one| name.eq_ignore_ascii_case(one))
        });
    }

    /// Writes it for HTTP/1.1 (RFC 9112 §3), with more cookies if there are any.
    pub(super) fn write(&self, cookie: &[u8], out: &mut Vec<u8>) {
        for part in [&self.method, &b" "[..], &self.target, b" HTTP/1.1\r\n"] {
            out.extend_from_slice(part);
        }
        let mut rest = cookie;
        for (name, value) in self.fields() {
            for part in [name, b": ", value] {
                out.extend_from_slice(part);
            }
            if !rest.is_empty() && is_cookie(name) {
                out.extend_from_slice(b"; ");
                out.extend_from_slice(std::mem::take(&mut rest));
            }
            out.extend_from_slice(b"\r\n");
        }
        if !rest.is_empty() {
            for part in [b"Cookie: ", rest, b"\r\n"] {
                out.extend_from_slice(part);
            }
        }
        out.extend_from_slice(b"\r\n");
        out.extend_from_slice(self.body());
    }

    /// Writes its block of fields for HTTP/2, with more cookies if there are any.
    pub(super) fn write_block(&self, is_secure: bool, cookie: &[u8], block: &mut Vec<u8>) {
        let scheme = if is_secure { "https" } else { "http" };
        block::field(b":method", &self.method, block);
        block::field(b":scheme", scheme.as_bytes(), block);
        block::field(b":authority", &self.authority, block);
        block::field(b":path", &self.target, block);
        // Cookies may stand in several fields (RFC 9113 §8.2.3).
        for (name, value) in self.fields() {
            block::field(name, value, block);
        }
        if !cookie.is_empty() {
            block::field(b"cookie", cookie, block);
        }
    }
}

fn is_cookie(name: &[u8]) -> bool {
    name.eq_ignore_ascii_case(b"cookie")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_303_makes_of_a_request_has_no_body() {
        for (method, then) in [
            ("GET", "GET"),
            ("POST", "GET"),
            ("PUT", "GET"),
            ("HEAD", "HEAD"),
        ] {
            let request = format!(
                "{method} / HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\n\
                 Content-Length: 2\r\nX: y\r\n\r\nab"
            );
            let mut ask = Ask::default();
            let mut written = |status| {
                let mut out = Vec::new();
                ask.read(request.as_bytes());
                ask.redirect(status);
                ask.write(b"", &mut out);
                String::from_utf8(out).expect("text")
            };
            let plain = format!("{then} / HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n");
            assert_eq!(written(303), plain, "{method}");
            assert_eq!(written(307), request);
            assert_eq!(
                written(302),
                if method == "POST" {
                    plain
                } else {
                    request.clone()
                }
            );
        }
    }
}
