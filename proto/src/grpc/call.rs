//! The head of a call: what a client writes and a server reads.

use std::time::Duration;

use super::{
    ACCEPTED, CONTENT_TYPE, GZIP, Status, decode_timeout, encode_timeout, is_content_type, metadata,
};
use crate::Misuse;

/// What is compressed in a call; gzip is the only way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compression {
    /// The client's messages may be (`grpc-encoding`).
    pub sends: bool,
    /// The server's may be (`grpc-accept-encoding`).
    pub accepts: bool,
}

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
    /// What is compressed.
    pub compression: Compression,
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
        let mut fields = Vec::with_capacity(9 + self.metadata.len());
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
        if self.compression.sends {
            add("grpc-encoding", GZIP);
        }
        if self.compression.accepts {
            add("grpc-accept-encoding", ACCEPTED);
        }
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
    /// `grpc-accept-encoding`.
    pub accept_encoding: Option<&'a [u8]>,
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
    /// What may be compressed.
    pub compression: Compression,
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
    /// What call this is. An encoding that isn't known is refused, as the client has to be told.
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
        let sends = match self.encoding {
            None | Some(b"identity") => false,
            Some(name) if name == GZIP.as_bytes() => true,
            Some(_) => {
                let text = "an encoding of messages besides gzip and identity";
                return Err(Refusal::Status(Status::Unimplemented, text));
            }
        };
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
            compression: Compression {
                sends,
                accepts: self.accept_encoding.is_some_and(names_gzip),
            },
        })
    }
}

/// Whether a list of encodings has gzip.
fn names_gzip(list: &[u8]) -> bool {
    let mut names = list.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    names.any(|name| name == GZIP.as_bytes())
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

/// The same of one whose messages are compressed.
pub const GZIPPED_FIELDS: [(&str, &str); 2] =
    [("content-type", CONTENT_TYPE), ("grpc-encoding", GZIP)];

/// The trailers of a call that succeeded. Others carry [`Status::text`] here and, encoded by
/// [`encode_message`](super::encode_message), a `grpc-message`.
pub const TRAILERS_OK: [(&str, &str); 1] = [("grpc-status", "0")];
