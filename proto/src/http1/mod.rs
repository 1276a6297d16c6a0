//! HTTP/1.1 and HTTP/1.0 (RFC 9110, RFC 9112): both roles of a connection, and the encoders.
//!
//! [`client::Client`] reads responses, [`server::Server`] reads requests. Both are pulled: `next`
//! takes as much of the input as makes one event and lends the bytes it speaks of. [`request`] and
//! [`response`] write heads; [`fields`] reads single fields out of a head that an event lent.
//!
//! A head is judged when it is whole, so its meaning cannot depend on how it was cut. The only
//! things said earlier are those that a single byte decides: a first byte no message starts with, a
//! line feed without its carriage return, and a head that is too long.

mod chunked;
pub mod client;
pub mod connect;
mod faults;
mod fields;
mod head;
mod memo;
pub mod request;
pub mod response;
pub mod server;

pub use fields::{Fields, field, fields};
pub(crate) use head::number;
pub use head::{is_field_value, is_host, is_token};
pub use memo::HeadMemo;

/// The version in a start line. A higher minor version counts as 1.1 (RFC 9110 §2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.0: a connection ends after one exchange unless both sides say `keep-alive`.
    Http10,
    /// HTTP/1.1: a connection lasts unless one side says `close`.
    Http11,
}

/// Takes the first `bytes` of `input`.
pub(crate) fn take<'i>(input: &mut &'i [u8], bytes: usize) -> &'i [u8] {
    let (taken, rest) = input.split_at(bytes);
    *input = rest;
    taken
}
