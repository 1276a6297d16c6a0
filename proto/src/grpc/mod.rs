//! gRPC over HTTP/2 (PROTOCOL-HTTP2.md of the gRPC project): what its fields and its bytes mean.
//!
//! A call is one HTTP/2 stream. Its request head names the service and the method
//! ([`call`]), its data in either direction is a sequence of messages ([`Messages`]), and it ends
//! with a [`Status`], which usually stands in the trailers of the response.
//!
//! This module does not know frames or streams, and not what is in a message.

pub mod call;
mod messages;
mod metadata;
mod status;
mod text;
mod timeout;

use std::fmt;

use crate::Violation;

pub use messages::{Event, Messages, UNNAMED, UNOFFERED, encode, encode_gzipped, prefix};
pub use metadata::{decode_binary, encode_binary};
pub use status::Status;
pub use text::{decode_message, encode_message};
pub use timeout::{decode_timeout, encode_timeout};

/// The content type of requests and responses.
pub const CONTENT_TYPE: &str = "application/grpc";

/// The one encoding of messages besides none (`identity`) that is known here.
pub const GZIP: &str = "gzip";

/// Which encodings a peer may answer in (`grpc-accept-encoding`).
pub const ACCEPTED: &str = "gzip,identity";

/// What a peer did wrong in a call, with the status that the call ends with for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The status.
    pub status: Status,
    /// What was wrong.
    pub violation: Violation,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.violation.fmt(f)
    }
}

impl std::error::Error for Rejection {}

/// Whether this is a content type of gRPC: `application/grpc`, perhaps with `+format` or
/// parameters.
#[inline]
pub fn is_content_type(value: &[u8]) -> bool {
    match value.split_at_checked(CONTENT_TYPE.len()) {
        Some((start, rest)) => {
            start.eq_ignore_ascii_case(CONTENT_TYPE.as_bytes())
                && matches!(rest.first(), None | Some(b'+' | b';'))
        }
        None => false,
    }
}
