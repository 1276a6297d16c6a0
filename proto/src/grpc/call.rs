//! The head of a call: what a client writes and a server reads.

use std::time::Duration;

use super::{CONTENT_TYPE, Status, decode_timeout, encode_timeout, is_content_type, metadata};
use crate::Misuse;

/// A call as the client role sends it.
#[derive(Clone, Copy, Debug)]
pub struct CallSpec<'a> {
    /// `http` or `https`.
    pub scheme: &'a str,
    /// The host, with the port unless it is the scheme's own.
    pub authority: &'a str,
    /// `/package.Service/Method`.
    pub path: &'a str,
    /// The deadline that the server is told, counted from its arrival.
    pub timeout: Option<Duration>,
    /// What the caller adds, in order. Names are written in lower case; the values of names that
    /// end in `-bin` are any bytes, and encoded here.
    pub metadata: &'a [(&'a str, &'a [u8])],
}

impl CallSpec<'_> {
    /// The fields of the request head, pseudo-header fields first.
    ///
    /// # Errors
    /// A path without service and method, and metadata that cannot be sent.
    pub fn fields(&self) -> Result<Vec<(String, Vec<u8>)>, Misuse> {
        if split_path(self.path.as_bytes()).is_none() {
            return Err(Misuse::new(format!(
                "the path {:?} of a call is not /package.Service/Method",
                self.path
            )));
        }
        let mut fields = Vec::with_capacity(7 + self.metadata.len());
        let mut add = |name: &str, value: &str| fields.push((name.to_owned(), value.into()));
        add(":method", "POST");
        add(":scheme", self.scheme);
        add(":path", self.path);
        add(":authority", self.authority);
        add("te", "trailers");
        if let Some(timeout) = self.timeout {
            add("grpc-timeout", &encode_timeout(timeout));
        }
        add("content-type", CONTENT_TYPE);
        for (name, value) in self.metadata {
            fields.push(metadata::field(name, value)?);
        }
        Ok(fields)
    }
}

/// The fields of a request that say what call it is, as they were sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head<'a> {
    /// The method of HTTP.
    pub http_method: &'a [u8],
    /// The path.
    pub path: &'a [u8],
    /// `content-type`.
    pub content_type: Option<&'a [u8]>,
    /// `grpc-timeout`.
    pub timeout: Option<&'a [u8]>,
    /// `grpc-encoding`.
    pub encoding: Option<&'a [u8]>,
}

/// A call as the server role reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Call<'a> {
    /// `package.Service`.
    pub service: &'a [u8],
    /// The method of the service.
    pub method: &'a [u8],
    /// The deadline, counted from the arrival of the head.
    pub timeout: Option<Duration>,
}

/// Why a request is no call that can be served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It is not gRPC, and answered with this status of HTTP.
    Http(u16),
    /// It is a call that ends at once with this status and text.
    Status(Status, &'static str),
}

impl<'a> Head<'a> {
    /// What call this is. Compressed messages are not served, so an encoding is refused.
    ///
    /// # Errors
    /// How to answer a request that is none.
    pub fn call(&self) -> Result<Call<'a>, Refusal> {
        if !self.content_type.is_some_and(is_content_type) {
            return Err(Refusal::Http(415));
        }
        if self.http_method != b"POST" {
            return Err(Refusal::Http(405));
        }
        let Some((service, method)) = split_path(self.path) else {
            let text = "a path that is not /package.Service/Method";
            return Err(Refusal::Status(Status::Unimplemented, text));
        };
        if self.encoding.is_some_and(|name| name != b"identity") {
            let text = "an encoding of messages besides identity";
            return Err(Refusal::Status(Status::Unimplemented, text));
        }
        let timeout = match self.timeout {
            None => None,
            Some(value) => match decode_timeout(value) {
                None => {
                    let text = "a grpc-timeout that is not up to eight digits and a unit";
                    return Err(Refusal::Status(Status::Internal, text));
                }
                timeout => timeout,
            },
        };
        Ok(Call {
            service,
            method,
            timeout,
        })
    }
}

/// `/package.Service/Method` in its two names. A service may have slashes in its name, a method
/// has none.
fn split_path(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let path = path.strip_prefix(b"/")?;
    let slash = memchr::memrchr(b'/', path)?;
    let (service, method) = (&path[..slash], &path[slash + 1..]);
    (!service.is_empty() && !method.is_empty()).then_some((service, method))
}

/// The fields of a response head, besides the HTTP status 200.
pub const RESPONSE_FIELDS: [(&str, &str); 1] = [("content-type", CONTENT_TYPE)];

/// The trailers of a call that succeeded. Others carry [`Status::text`] here and, encoded by
/// [`encode_message`](super::encode_message), a `grpc-message`.
pub const TRAILERS_OK: [(&str, &str); 1] = [("grpc-status", "0")];
