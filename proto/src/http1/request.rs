//! Writing requests (RFC 9112 §3, §5, §6).

use super::head::{is_field_value, is_host, is_token};
use crate::Misuse;

/// One request. [`RequestSpec::encode`] makes its bytes once, to be sent as often as needed.
#[derive(Clone, Copy, Debug)]
pub struct RequestSpec<'a> {
    /// The method, in capitals as the standard has it: methods have a case (RFC 9110 §9.1).
    pub method: &'a str,
    /// The request target: `/path?query`, `http://host/path`, or `*` with OPTIONS.
    pub target: &'a str,
    /// The value of the `Host` field, with the port unless it is the scheme's own.
    pub host: &'a str,
    /// Further fields, in order. `Host` and `Connection` given here replace the encoder's own.
    pub fields: &'a [(&'a str, &'a str)],
    /// The body; empty means none.
    pub body: &'a [u8],
    /// Whether more requests follow on this connection. If not, `Connection: close` says so.
    pub keep_alive: bool,
}

impl RequestSpec<'_> {
    /// The bytes of the request: request line, `Host`, the given fields, framing, body.
    ///
    /// `Content-Length` is written when there is a body, and for POST, PUT and PATCH also when
    /// there is none (RFC 9110 §8.6).
    ///
    /// # Errors
    /// Whatever could not be read back as this one request: an invalid method, target, name or
    /// value (in particular line breaks), a field twice that may stand once, a length that is not
    /// the body's, a transfer coding, a CONNECT.
    pub fn encode(&self) -> Result<Vec<u8>, Misuse> {
        self.check_request_line()?;
        for (name, value) in self.fields {
            self.check_field(name, value)?;
        }
        let host = self.given_once("Host")?.unwrap_or(self.host);
        if !is_host(host.as_bytes()) {
            return Err(Misuse::new(format!(
                "{host:?} is not a host with an optional port"
            )));
        }
        let connection = self.given_once("Connection")?;
        let content_length = self.given_once("Content-Length")?;

        let mut out = Vec::with_capacity(256 + self.body.len());
        line(&mut out, &[self.method, " ", self.target, " HTTP/1.1"]);
        line(&mut out, &["Host: ", host]);
        for (name, value) in self.fields {
            if !name.eq_ignore_ascii_case("host") {
                line(&mut out, &[name, ": ", value]);
            }
        }
        let body_expected = matches!(self.method, "POST" | "PUT" | "PATCH");
        if content_length.is_none() && (body_expected || !self.body.is_empty()) {
            line(
                &mut out,
                &["Content-Length: ", &self.body.len().to_string()],
            );
        }
        if connection.is_none() && !self.keep_alive {
            line(&mut out, &["Connection: close"]);
        }
        line(&mut out, &[]);
        out.extend_from_slice(self.body);
        Ok(out)
    }

    fn check_request_line(&self) -> Result<(), Misuse> {
        let (method, target) = (self.method, self.target);
        if !is_token(method.as_bytes()) {
            return Err(Misuse::new(format!(
                "{method:?} is not a method (RFC 9110 §9.1)"
            )));
        }
        if method == "CONNECT" {
            return Err(Misuse::new(
                "CONNECT makes a tunnel, which HTTP/1.1 here cannot follow",
            ));
        }
        let known_form = target.starts_with('/')
            || target.starts_with("http://")
            || target.starts_with("https://")
            || (target == "*" && method == "OPTIONS");
        if !known_form
            || !target
                .bytes()
                .all(|byte| byte.is_ascii_graphic() && byte != b'#')
        {
            return Err(Misuse::new(format!(
                "{target:?} is not a request target: it starts with / and has neither spaces nor \
                 characters beyond ASCII nor a fragment (percent-encode them, RFC 9112 §3.2)"
            )));
        }
        Ok(())
    }

    fn check_field(&self, name: &str, value: &str) -> Result<(), Misuse> {
        if !is_token(name.as_bytes()) {
            return Err(Misuse::new(format!(
                "{name:?} is not a field name (RFC 9110 §5.1)"
            )));
        }
        if !is_field_value(value.as_bytes()) {
            return Err(Misuse::new(format!(
                "the value {value:?} of the field {name} has a control character or white space \
                 at its edge (RFC 9110 §5.5)"
            )));
        }
        if name.eq_ignore_ascii_case("transfer-encoding") {
            return Err(Misuse::new(
                "Transfer-Encoding cannot be set: the body's length is known",
            ));
        }
        if name.eq_ignore_ascii_case("content-length") && *value != self.body.len().to_string() {
            return Err(Misuse::new(format!(
                "Content-Length is {value}, but the body has {} bytes",
                self.body.len()
            )));
        }
        Ok(())
    }

    /// The value of a field that may stand once, if it was given.
    fn given_once(&self, name: &str) -> Result<Option<&str>, Misuse> {
        let mut values = self
            .fields
            .iter()
            .filter(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|(_, v)| *v);
        let value = values.next();
        match values.next() {
            Some(_) => Err(Misuse::new(format!("the field {name} is given twice"))),
            None => Ok(value),
        }
    }
}

fn line(out: &mut Vec<u8>, pieces: &[&str]) {
    for piece in pieces {
        out.extend_from_slice(piece.as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}
